# SPDX-License-Identifier: Apache-2.0
"""Virtual sites on the GPU: forces against double precision, and the same bits for any blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from boxes import COULOMB, water_box
from running import INTEGRATORS, Pair, Run, both_ensembles, energy_errors, relative_error, thermal

import quiltmd
from quiltmd.description.sites import Site, average, out_of_plane, site_fields
from quiltmd.description.topology import Topology

pytestmark = pytest.mark.gpu

# Site k of the water whose oxygen is atom o, as in TIP4P-Ew, in TIP5P, and with all that there is;
# and the charge of hydrogens.
MODELS: dict[str, Any] = {
    "four": (
        0.417,
        [lambda o, k: average(o + k, (o, o + 1, o + 2), (0.786646558, 0.106676721, 0.106676721))],
    ),
    "five": (
        0.241,
        [
            lambda o, k: out_of_plane(o + k, (o, o + 1, o + 2), -0.344908, -0.344908, -6.4437903),
            lambda o, k: out_of_plane(o + k, (o, o + 1, o + 2), -0.344908, -0.344908, 6.4437903),
        ],
    ),
    "local": (
        0.417,
        [
            lambda o, k: Site(
                o + k,
                (o + 1, o, o + 2),
                (0.1, 0.85, 0.05),
                (1, -0.6, -0.4),
                (-0.5, -0.1, 0.6),
                (0.005, -0.01, 0.01),
                0.5,
            )
        ],
    ),
}
models = pytest.mark.parametrize("model", MODELS)


def add_sites(system: Any, state: Any, charge: float, makers: list[Any]) -> Pair:
    """Water with sites that have the charge of the oxygen."""
    size, waters = 3 + len(makers), system.atoms // 3
    old, first = 3 * np.arange(waters)[:, None], size * np.arange(waters)
    atoms = np.full((waters, size), -1)
    atoms[:, :3] = old + np.arange(3)
    order = np.where(atoms < 0, old, atoms).ravel()  # a site begins as a copy of the oxygen
    new = np.flatnonzero((atoms >= 0).ravel())
    charges = np.tile([0, charge, charge] + [-2 * charge / len(makers)] * len(makers), waters)
    masses = np.tile([15.999, 1.008, 1.008] + [0.0] * len(makers), waters)
    types = np.tile([0, 1, 1] + [1] * len(makers), waters)
    pairs = np.array([[i, j] for j in range(size) for i in range(j)])
    made = [make(int(o), 3 + k) for o in first for k, make in enumerate(makers)]
    topology = Topology.unnamed(masses)
    with_sites = quiltmd.System(
        **{name: getattr(system, name) for name in ("lj_a", "lj_b", "constraint_lengths")},
        **{name: [] for name in ("bonds", "bond_parameters", "angles", "angle_parameters")},
        **{name: [] for name in ("torsions", "torsion_parameters", "pairs14", "pair14_parameters")},
        masses=masses,
        charges=charges,
        lj_types=types,
        exclusions=(first[:, None, None] + pairs).reshape(-1, 2),
        constraints=new[system.constraints],
        topology=topology,
        **site_fields(made),
    )
    return with_sites, quiltmd.State.start(with_sites, state.positions[order], state.box)


def relaxed(system: Any, state: Any) -> Pair:
    run = Run(system, state)
    run.engine.minimize(200.0, 300)
    now = run.state()
    return system, thermal(system, quiltmd.State(now.positions, 0 * now.velocities, now.box))


@pytest.fixture(scope="module")
def waters() -> dict[str, Pair]:
    """512 molecules of each model, and enough of two for the kernels of large systems."""
    plain = water_box((8, 8, 8), seed=3)
    found = {model: relaxed(*add_sites(*plain, *chosen)) for model, chosen in MODELS.items()}
    for model in ("four", "five"):
        system, state = found[model]
        found[f"{model}, many"] = system.tile(4, 4, 3), state.tile(4, 4, 3)
    return found


everything = pytest.mark.parametrize("name", [*MODELS, "four, many", "five, many"])


@models
def test_forces_and_energies(waters: dict[str, Pair], model: str, record_property: Any) -> None:
    system, state = waters[model]
    settings = quiltmd.Nonbonded(cutoff=1.0, pme_order=5, pme_alpha=3.5, pme_grid=(36, 36, 36))
    energies, forces = quiltmd.reference(system, state, settings)
    run = Run(system, state, nonbonded=settings)
    error = relative_error(run.engine.forces(), forces)
    record_property("force_error", error)
    assert error < 2e-5
    assert max(energy_errors(run.engine.energies(), energies).values()) < 1e-5
    assert np.all(run.engine.forces()[system.masses == 0] == 0)
    assert tuple(run.engine.force_sum()) == (0, 0, 0)


@models
def test_virial(waters: dict[str, Pair], model: str) -> None:
    system, state = waters[model]
    settings = quiltmd.Nonbonded(cutoff=1.0, pme_split="gaussian")
    exact = quiltmd.reference_virial(system, state, settings)
    energies, _ = quiltmd.reference(system, state, settings)
    simulation = quiltmd.Simulation(system, state, settings, device="cuda")
    alpha = float(simulation.describe()["pme_alpha"])
    # What the mesh adds up has the size of the charges' energies with themselves, which cancel: in
    # the model with five sites they are larger than all that remains.
    own = COULOMB * alpha / np.sqrt(np.pi) * np.sum(system.charges**2)
    scale = abs(energies["lj"]) + abs(energies["coulomb"]) + own
    np.testing.assert_allclose(simulation.virial(), exact, atol=9e-7 * scale)


def dynamics(ensemble: str) -> Any:
    return replace(INTEGRATORS[ensemble], timestep=0.002)


@both_ensembles
@everything
def test_any_blocks(waters: dict[str, Pair], name: str, ensemble: str) -> None:
    plans = [(150,), (50,) * 3, (1,) * 40 + (110,), (7, 31, 1, 111)]
    digests = [Run(*waters[name], dynamics(ensemble)).advance(*plan).digest() for plan in plans]
    assert len(set(digests)) == 1, digests


@both_ensembles
@everything
def test_restart(waters: dict[str, Pair], name: str, ensemble: str) -> None:
    whole = Run(*waters[name], dynamics(ensemble)).advance(120)
    first = Run(*waters[name], dynamics(ensemble)).advance(37)
    second = Run(waters[name][0], first.state(), dynamics(ensemble)).advance(83)
    assert second.digest() == whole.digest()


@both_ensembles
@pytest.mark.parametrize("device", ["cuda:0,0", "cuda:0,0,0"])
@pytest.mark.parametrize("name", [*MODELS, "five, many"])
def test_ranks(waters: dict[str, Pair], name: str, ensemble: str, device: str) -> None:
    plan, settings = dynamics(ensemble), quiltmd.Nonbonded(coulomb_cutoff=0.9)
    ranks = quiltmd.Simulation(*waters[name], settings, plan, device=device)
    ranks.run(120)
    one = Run(*waters[name], plan, settings).advance(120)
    assert quiltmd.digest(ranks.state()) == one.digest()


@everything
def test_sites_are_where_the_host_puts_them(waters: dict[str, Pair], name: str) -> None:
    system, start = waters[name]
    now = Run(system, start, dynamics("nvt")).advance(100).state()
    bare = quiltmd.State(now.positions, now.velocities, now.box)
    placed = Run(system, bare, device="cpu").state()
    np.testing.assert_allclose(now.positions, placed.positions, rtol=0, atol=1e-12)
    assert np.all(now.velocities[system.masses == 0] == 0)
    assert np.abs(now.positions - start.positions).max() > 0.01


@pytest.mark.parametrize("name", ["four", "five", "local"])
def test_energy_is_conserved(waters: dict[str, Pair], name: str, record_property: Any) -> None:
    """Over 20 ps, per degree of freedom."""
    system, state = waters[name]
    warm = quiltmd.Simulation(system, state, integrator=dynamics("nvt"), device="cuda")
    warm.run(5000)
    now = warm.state()
    run = quiltmd.Simulation(
        system,
        quiltmd.State(now.positions, now.velocities, now.box),
        quiltmd.Nonbonded(pme_tolerance=1e-5),
        quiltmd.VelocityVerlet(0.001),
        device="cuda",
    )
    before = run.energies()["conserved"]
    run.run(20000)
    drift = (run.energies()["conserved"] - before) / system.degrees_of_freedom
    record_property("drift_kj_mol_per_degree_in_20_ps", drift)
    assert abs(drift) < 0.02


def test_barostats(waters: dict[str, Pair]) -> None:
    """Sites follow their molecules; blocks of any length have the same bits."""
    for barostat in (
        quiltmd.CellRescaling(time_constant=0.5, seed=1, every=10),
        quiltmd.MonteCarloBarostat(seed=1, every=10),
    ):
        digests = set()
        for blocks in ((120,), (7, 113), (10,) * 12):
            run = quiltmd.Simulation(
                *waters["five"], integrator=dynamics("nvt"), barostat=barostat, device="cuda"
            )
            for steps in blocks:
                run.run(steps)
            digests.add(quiltmd.digest(run.state()))
        assert len(digests) == 1
