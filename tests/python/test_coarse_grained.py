# SPDX-License-Identifier: Apache-2.0
"""Coarse-grained force fields and GROMOS: forms of terms, long time steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import coarse_grained
import numpy as np
import pytest
from boxes import relative_rms
from coarse_grained import MDP
from gromacs_programs import GMX, compute, off_by_term

import quiltmd
from quiltmd import (
    InputError,
    LangevinMiddle,
    Nonbonded,
    Simulation,
    State,
    System,
    VelocityVerlet,
)
from quiltmd.description.sites import average, out_of_plane, resolved
from quiltmd.description.term_forms import form_named
from quiltmd.inputs.constrain import constrain
from quiltmd.inputs.control_files import read_control

CUTOFF = 1.1
# kJ/mol, by gmx_d 2022.5; test_gromacs_has_the_same repeats them.
ENERGIES = {
    "bond": 1558.607101,
    "angle": 379.3556103 - 29.423428968,  # less bonds of function type 6
    "urey_bradley": 29.423428968,
    "torsion": 7.725300559,
    "improper": 68.1187663,
    "lj": -19157.83395,
    "coulomb": -35.10451268,
    "potential": -17179.13168083,
}


def settings(folder: Path) -> Nonbonded:
    """As the mdp file has them."""
    text = MDP.format(continuation="yes", cutoff=CUTOFF, define="")
    (folder / "md.mdp").write_text(text.replace("nsteps = 0", "nsteps = 5"))
    control = read_control(str(folder / "md.mdp"))
    assert control is not None
    assert control.refused == []
    return Nonbonded(**control.settings["nonbonded"])


def beads(folder: Path) -> tuple[System, State]:
    return quiltmd.load(*coarse_grained.write(folder), rigid_water=False)


def test_energies_by_term(tmp_path: Path) -> None:
    system, state = beads(tmp_path)
    found, _ = quiltmd.reference(system, state, settings(tmp_path))
    assert {name: found[name] for name in ENERGIES} == pytest.approx(ENERGIES, rel=1e-6)
    simulation = Simulation(system, state, nonbonded=settings(tmp_path), device="cpu", threads=1)
    assert simulation.energies()["potential"] == pytest.approx(found["potential"], rel=1e-6)


@pytest.mark.skipif(GMX is None, reason="needs gmx_d")
def test_gromacs_has_the_same(tmp_path: Path) -> None:
    top, gro = coarse_grained.write(tmp_path)
    chosen = settings(tmp_path)
    theirs = compute(tmp_path, top.name, gro.name, cutoff=CUTOFF, mdp=MDP)
    system, state = quiltmd.load(top, gro, rigid_water=False)
    energies, forces = quiltmd.reference(system, state, chosen)
    off = off_by_term(energies, theirs.energies)
    assert max(off.values()) < 1e-6, off
    assert relative_rms(forces, theirs.forces) < 1e-5
    simulation = Simulation(system, state, nonbonded=chosen, device="cpu", threads=1)
    assert relative_rms(simulation.forces(), theirs.forces) < 1e-5


# ---- terms ----


def test_a_quartic_bond_becomes_a_constraint_and_a_fene_bond_does_not() -> None:
    quartic = System.of([12.0, 1.008], terms={"quartic_bond": ([[0, 1]], [[0.11, 1e7]])})
    found = constrain(quartic, "h-bonds")
    assert found.constraint_lengths.tolist() == [0.11]
    assert len(found.terms["quartic_bond"]) == 0
    fene = System.of([12.0, 1.008], terms={"fene": ([[0, 1]], [[0.15, 9e4, 0, 0]])})
    assert not form_named("fene").may_be_constrained
    with pytest.raises(InputError, match="FENE bond, which 'h-bonds' cannot constrain"):
        constrain(fene, "h-bonds")


def test_an_overstretched_fene_bond_is_named() -> None:
    system = System.of(
        np.full(3, 72.0), terms={"fene": ([[0, 1], [1, 2]], [[0.7, 5000.0, 0, 0]] * 2)}
    )
    places = np.array([[1, 1, 1], [1.5, 1, 1], [1.5, 1.5, 1]])
    state = State(places, [[0, 0, 0], [0, 0, 0], [0, 30, 0]], 4 * np.eye(3))
    simulation = Simulation(system, state, integrator=VelocityVerlet(0.02), device="cpu", threads=1)
    with pytest.raises(quiltmd.SimulationError, match="FENE bond"):
        simulation.run(50)


def test_sites_of_sites_have_the_parents_of_those() -> None:
    first = average(4, (0, 1), (0.25, 0.75))
    second = average(5, (4, 2), (0.4, 0.6))
    third = out_of_plane(6, (5, 0, 3), 0.2, 0.3, 1.5)
    found = resolved([third, second, first])
    places = np.random.default_rng(2).normal(size=(7, 3))

    def placed(site: Any) -> Any:
        o, x, y = (
            np.array(weights or [0.0] * len(site.parents)) @ places[list(site.parents)]
            for weights in (site.origin, site.x, site.y)
        )
        return o + site.cross * np.cross(x, y)

    for site in (first, second, third):
        places[site.atom] = placed(site)
    for before, after in zip((third, second, first), found, strict=True):
        assert max(after.parents) < 4
        np.testing.assert_allclose(placed(after), placed(before), rtol=1e-12)
    itself = average(5, (5, 1), (0.5, 0.5))
    assert 5 in resolved([itself])[0].parents


# ---- long time steps ----


def water(edge: int = 8) -> tuple[System, State]:
    """Beads of Martini's water, P4: 72 amu, 5 kJ/mol, 0.47 nm."""
    count = edge**3
    system = System.of(np.full(count, 72.0), sigma=0.47, epsilon=5.0)
    rng = np.random.default_rng(3)
    places = 0.49 * np.stack(np.meshgrid(*[np.arange(edge)] * 3), -1).reshape(-1, 3)
    places = places + rng.normal(0, 0.02, places.shape)
    return system, State(places, 0 * places, 0.49 * edge * np.eye(3))


SHIFTED = Nonbonded(cutoff=1.1, method="cutoff", potential_shift=True, dispersion_correction=False)


def test_energy_is_conserved_at_20_fs() -> None:
    system, state = water()
    simulation = Simulation(
        system, state, nonbonded=SHIFTED, integrator=LangevinMiddle(310, 5.0, 0.02, seed=2)
    )
    simulation.draw_velocities(310, seed=1)
    simulation.run(400)
    simulation = Simulation(
        system, simulation.state(), nonbonded=SHIFTED, integrator=VelocityVerlet(0.02)
    )

    def total() -> float:
        found = simulation.energies()
        return found["potential"] + found["kinetic"]

    simulation.run(100)  # the drift of the centre of mass is gone
    start = total()
    simulation.run(500)  # 10 ps
    kinetic = simulation.energies()["kinetic"]
    assert abs(total() - start) < 1e-3 * kinetic
    assert 250 < simulation.temperature() < 370


def lists(masses: Any, timestep: float) -> tuple[float, float]:
    """Steps that pair lists live, and their buffer, nm."""
    system, state = water(6)
    system = replace(system, masses=np.full(system.atoms, 1.0) * masses)
    integrator = LangevinMiddle(300, 1.0, timestep)
    simulation = Simulation(system, state, nonbonded=SHIFTED, integrator=integrator, device="cpu")
    found = simulation.describe()
    return found["list_life"], found["list_buffer"]


def test_pair_lists_follow_the_lightest_mass() -> None:
    """Four times the masses: the same in twice the time.  Hydrogens need what they needed."""
    life, buffer = lists(72.0, 0.02)
    assert lists(18.0, 0.01) == (life, pytest.approx(buffer, rel=1e-9))
    assert life >= 10
    assert buffer < 0.16
    one_hydrogen = np.where(np.arange(216) == 7, 1.008, 72.0)
    assert lists(one_hydrogen, 0.02) == lists(1.008, 0.02) == lists(3.024, 0.02)
    assert lists(1.008, 0.02)[0] == 4


@pytest.mark.parametrize("timestep", [0.02, 0.03])
def test_ranks_make_no_difference_to_long_steps(timestep: float, tmp_path: Path) -> None:
    system, state = beads(tmp_path)
    chosen = settings(tmp_path)
    found = []
    for ranks in (1, 2):
        simulation = Simulation(
            system,
            state,
            nonbonded=chosen,
            integrator=LangevinMiddle(300, 2.0, timestep, seed=1),
            device="cpu",
            ranks=ranks,
        )
        simulation.run(120)
        assert simulation.temperature() < 500
        found.append(simulation.state().positions.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(("k", "slope"), [(1e-9, 1e8), (5000.0, 5e9)])
def test_beyond_its_length_a_fene_bond_is_stiff(k: float, slope: float) -> None:
    """However weak it is within: E' = slope r, and E its integral from the limit on."""
    system = System.of([72.0, 72.0], terms={"fene": ([[0, 1]], [[0.5, k, 0, 0]])})
    limit = 0.5 * np.sqrt(1 - 1e-6)
    for r in (0.6, 0.9):
        state = State(np.array([[1, 1, 1], [1 + r, 1, 1]]), np.zeros((2, 3)), 4 * np.eye(3))
        energies, forces = quiltmd.reference(system, state)
        np.testing.assert_allclose(forces[0], [slope * r, 0, 0], rtol=1e-9)
        energy = slope / 2 * (r**2 - limit**2) - k / 2 * 0.25 * np.log(1e-6)
        assert energies["bond"] == pytest.approx(energy, rel=1e-9)
