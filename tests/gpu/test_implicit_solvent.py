# SPDX-License-Identifier: Apache-2.0
"""Systems without a periodic box on the GPU, with implicit solvent and in a vacuum: energies and
forces against double precision, the same bits for any blocks and stops, and short runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds import flying_apart
from running import Pair, relative_error

import quiltmd
from quiltmd import ImplicitSolvent, LangevinMiddle, Simulation, State, VelocityVerlet

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")]

MODELS: Any = ("hct", "obc1", "obc2", "gbn", "gbn2")
TERMS = ("bond", "angle", "torsion", "lj", "lj14", "coulomb", "coulomb14", "polarisation")
NVT = LangevinMiddle(300, 2.0, 0.002, seed=9, remove_com_every=10)
NVE = VelocityVerlet(0.001)
DEVICES = ("cuda:0", "cuda:0,0,0")


def load(folder: Path, names: tuple[str, str], **settings: Any) -> Pair:
    return quiltmd.load(folder / names[0], folder / names[1], **settings)


def dipeptide(data: Path, **settings: Any) -> Pair:
    """Alanine dipeptide by itself: 22 atoms, fewer than a warp has lanes."""
    names = ("alanine-dipeptide.prmtop", "alanine-dipeptide.crd")
    return load(data / "alanine-dipeptide-gbsa", names, **settings)


def lysozyme(data: Path, **settings: Any) -> Pair:
    """A complex of T4 lysozyme, 2,621 atoms, minimised."""
    names = ("complex.prmtop", "complex-minimized.crd")
    return load(data / "T4-lysozyme-L99A-implicit", names, **settings)


def agrees(
    system: quiltmd.System,
    state: State,
    device: str = "cuda",
    nonbonded: quiltmd.Nonbonded | None = None,
) -> None:
    """Each energy and the forces, against the reference and the cpu."""
    energies, forces = quiltmd.reference(system, state, nonbonded)
    simulations = [Simulation(system, state, nonbonded, device=kind) for kind in (device, "cpu")]
    found = simulations[0].energies()
    for term in (*TERMS, "surface", "potential"):
        assert (term in found) == (term in energies)
        if term in energies:
            assert found[term] == pytest.approx(energies[term], rel=5e-6, abs=2e-3), term
    of_gpu, of_cpu = (simulation.forces() for simulation in simulations)
    assert relative_error(of_gpu, forces) < 2e-5
    assert relative_error(of_gpu, of_cpu) < 2e-5


@pytest.mark.parametrize("surface", ["none", "ace"])
@pytest.mark.parametrize("salt", [0.0, 0.15])
@pytest.mark.parametrize("model", MODELS)
def test_models(openmmtools_data: Path, model: Any, salt: float, surface: Any) -> None:
    solvent = ImplicitSolvent(model, salt, surface=surface)
    agrees(*dipeptide(openmmtools_data, solvent=solvent))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", MODELS)
def test_a_protein(openmmtools_data: Path, model: Any, device: str) -> None:
    solvent = ImplicitSolvent(model, 0.1, surface="ace")
    system, state = lysozyme(openmmtools_data, solvent=solvent)
    rng = np.random.default_rng(2)  # forces of a minimised structure nearly cancel
    shaken = state.positions + rng.normal(0, 0.003, state.positions.shape)
    agrees(system, replace(state, positions=shaken), device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("salt", [0.0, 0.1])
@pytest.mark.parametrize("model", ["obc2", "gbn2"])
def test_a_protein_with_a_cutoff(
    openmmtools_data: Path, model: Any, salt: float, device: str
) -> None:
    system, state = lysozyme(openmmtools_data, solvent=ImplicitSolvent(model, salt))
    rng = np.random.default_rng(2)
    shaken = state.positions + rng.normal(0, 0.003, state.positions.shape)
    short = quiltmd.Nonbonded(method="cutoff", cutoff=1.2)
    agrees(system, replace(state, positions=shaken), device, short)


@pytest.mark.parametrize("far", [0.0, -7.3e3])
def test_a_vacuum(openmmtools_data: Path, far: float) -> None:
    """Also where the numbers of patches go around many times."""
    system, state = dipeptide(openmmtools_data)
    agrees(system, replace(state, positions=state.positions + far))


def test_a_protein_in_a_vacuum(openmmtools_data: Path) -> None:
    system, state = lysozyme(openmmtools_data)
    rng = np.random.default_rng(3)
    agrees(
        system,
        replace(state, positions=state.positions + rng.normal(0, 0.003, (system.atoms, 3))),
    )


def begun(pair: Pair, integrator: quiltmd.Integrator, device: str) -> Simulation:
    simulation = Simulation(*pair, integrator=integrator, device=device)
    simulation.draw_velocities(300, 1)
    return simulation


def digest(simulation: Simulation) -> str:
    return quiltmd.digest(simulation.state())


@pytest.mark.parametrize("integrator", [NVT, NVE], ids=["nvt", "nve"])
@pytest.mark.parametrize("model", ["obc2", "gbn2", None])
def test_ranks_blocks_and_stops(openmmtools_data: Path, model: Any, integrator: Any) -> None:
    """The same bits on one rank and three, in blocks of any length, from a state in mid-run."""
    solvent = ImplicitSolvent(model, 0.1) if model else None
    pair = lysozyme(openmmtools_data, solvent=solvent, constraints="h-bonds")
    digests = set()
    for device in DEVICES:
        for blocks in ((160,), (7, 31, 1, 21, 100)):
            simulation = begun(pair, integrator, device)
            for steps in blocks:
                simulation.run(steps)
            digests.add(digest(simulation))
        stopped = begun(pair, integrator, device)
        stopped.run(67)
        stopped.energies()
        again = Simulation(pair[0], stopped.state(), integrator=integrator, device="cuda:0")
        again.run(93)
        digests.add(digest(again))
    assert len(digests) == 1, digests


def test_atoms_that_spread_get_room() -> None:
    """The cell of the engine grows while atoms fly apart."""
    system, state = flying_apart(ImplicitSolvent("obc2"))
    digests, patches = set(), set()
    for device in DEVICES:
        simulation = Simulation(system, state, integrator=VelocityVerlet(0.001), device=device)
        first = simulation.state().patches
        simulation.run(2000)
        digests.add(digest(simulation))
        patches.add(simulation.state().patches)
    assert len(digests) == 1
    (last,) = patches
    assert first is not None
    assert last is not None
    assert min(last) > max(first)
    agrees(system, simulation.state())


def test_energy_is_conserved(openmmtools_data: Path) -> None:
    pair = dipeptide(openmmtools_data, solvent=ImplicitSolvent("gbn2", 0.15, surface="ace"))
    simulation = Simulation(*pair, integrator=VelocityVerlet(0.0005), device="cuda")
    simulation.minimize(10.0, 100)
    simulation.draw_velocities(300, 2)
    simulation.run(100)
    begin = simulation.energies()["total"]
    ends = []
    for _ in range(10):
        simulation.run(1000)
        ends.append(simulation.energies()["total"])
    assert np.abs(np.array(ends) - begin).max() < 0.5  # kJ/mol, of 60 kJ/mol kinetic energy


def test_a_short_langevin_run(openmmtools_data: Path) -> None:
    """From the minimum to 300 K within 10 ps, and the protein is still a protein."""
    system, state = lysozyme(
        openmmtools_data, solvent=ImplicitSolvent("obc2"), constraints="h-bonds"
    )
    integrator = LangevinMiddle(300, 10.0, 0.002, seed=1)
    simulation = Simulation(system, state, integrator=integrator, device="cuda")
    simulation.run(5000)
    temperatures = []
    for _ in range(20):
        simulation.run(100)
        temperatures.append(simulation.temperature())
    degrees = system.degrees_of_freedom
    assert np.mean(temperatures) == pytest.approx(300, abs=5 * 300 * np.sqrt(2 / degrees))
    moved = simulation.state().positions
    assert np.isfinite(moved).all()

    def gyration(positions: Any) -> float:
        return float(np.sqrt(((positions - positions.mean(axis=0)) ** 2).sum(axis=1).mean()))

    assert gyration(moved) == pytest.approx(gyration(state.positions), rel=0.1)
