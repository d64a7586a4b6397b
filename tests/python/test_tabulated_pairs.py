# SPDX-License-Identifier: Apache-2.0
"""Tabulated pair potentials against OpenMM's Reference platform, and what is refused of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from openmm_reference import energy_and_forces
from test_convert import by_openmm, is_read_as_an_expression
from test_pair_forms import Array, melt, melt_of

import quiltmd
from quiltmd.openmm.write import to_openmm

CUTOFF, FIRST, LAST, POINTS = 0.9, 0.1, 1.3, 61
DISTANCES = np.linspace(FIRST, LAST, POINTS)
# Which of the functions a pair of types has; the third type has charges only.
ROW = np.array([[0, 1, 2], [1, 3, 2], [2, 2, 2]])


def energies() -> Array:
    """(functions, POINTS): waves of several depths, and nothing."""
    fading = (1 - DISTANCES / LAST) ** 4  # to nothing at the end
    waves = [
        depth * fading * (np.exp(-2 * a * (DISTANCES - r0)) - 2 * np.cos(a * (DISTANCES - r0)))
        for depth, a, r0 in ((9.0, 12.0, 0.35), (5.0, 11.0, 0.3), (2.0, 9.0, 0.45))
    ]
    return np.array([waves[0], waves[1], np.zeros(POINTS), waves[2]])


def tables() -> Array:
    ends = [np.full(ROW.shape, FIRST), np.full(ROW.shape, LAST)]
    return np.stack([*ends, *np.moveaxis(energies()[ROW], 2, 0)])


def openmm_reference(shift: bool, correction: bool) -> tuple[float, Array]:
    """Energy and forces by a Continuous1DFunction for each function, and plain Coulomb."""
    box, positions, charges, types, exclusions = melt()
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*box)
    for _ in types:
        system.addParticle(16.0)
    functions = energies()
    spline = " + ".join(f"has{k}(t1, t2)*f{k}({{r}})" for k in range(len(functions)))
    words = spline.format(r="r") + (f" - ({spline.format(r=CUTOFF)})" if shift else "")
    pairs = openmm.CustomNonbondedForce(words)
    for k, values in enumerate(functions):
        pairs.addTabulatedFunction(
            f"f{k}", openmm.Continuous1DFunction(values.tolist(), FIRST, LAST)
        )
        has = (k == ROW).astype(float).ravel().tolist()
        pairs.addTabulatedFunction(f"has{k}", openmm.Discrete2DFunction(3, 3, has))
    coulomb = openmm.CustomNonbondedForce(
        f"138.93545764438198*t1*t2*(1/r{f' - 1/{CUTOFF}' if shift else ''})"
    )
    for force, values, corrected in ((pairs, types, correction), (coulomb, charges, False)):
        force.addPerParticleParameter("t")
        for value in values:
            force.addParticle([float(value)])
        for i, j in exclusions:
            force.addExclusion(int(i), int(j))
        force.setNonbondedMethod(force.CutoffPeriodic)
        force.setCutoffDistance(CUTOFF)
        force.setUseLongRangeCorrection(corrected)
        system.addForce(force)
    return energy_and_forces(system, positions)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("shift", "correction"), [(False, True), (True, False)])
def test_energy_and_forces_are_openmms(ranks: int, shift: bool, correction: bool) -> None:
    system, state = melt_of("tabulated", tables())
    nonbonded = quiltmd.Nonbonded(
        method="cutoff",
        cutoff=CUTOFF,
        potential_shift=shift,
        dispersion_correction=correction,
    )
    simulation = quiltmd.Simulation(system, state, nonbonded, device="cpu", ranks=ranks)
    energy, forces = openmm_reference(shift, correction)
    found = simulation.energies()
    size = abs(found["lj"]) + abs(found["coulomb"])
    assert found["potential"] == pytest.approx(energy, abs=2e-6 * size)
    exact, ours = quiltmd.reference(system, state, nonbonded)
    # OpenMM integrates the rest beyond the cutoff by a rule that feels the end of the table.
    assert exact["potential"] == pytest.approx(energy, rel=1e-6 if correction else 1e-9)
    assert np.abs(ours - forces).max() < 1e-9 * np.abs(forces).max()
    difference = np.sqrt(((simulation.forces() - forces) ** 2).mean())
    assert difference < 3e-6 * np.sqrt((forces**2).mean())


def test_trajectories_are_the_same_on_any_ranks_and_keep_their_energy() -> None:
    ends = []
    for ranks in (1, 2, 3):
        system, state = melt_of("tabulated", tables())
        simulation = quiltmd.Simulation(
            system,
            state,
            quiltmd.Nonbonded(method="cutoff", cutoff=CUTOFF, potential_shift=True),
            quiltmd.VelocityVerlet(timestep=0.0005),
            device="cpu",
            ranks=ranks,
        )
        before = simulation.energies()
        simulation.run(100)
        ends.append(simulation.state().positions)
        after = simulation.energies()
        assert after["kinetic"] > 100 * abs(after["total"] - before["total"])
    assert all((end == ends[0]).all() for end in ends)


def two_atoms(distance: float, first: float) -> dict[str, Any]:
    """Energy and the force on the second of two atoms without charges."""
    values = [np.full((1, 1), value) for value in (first, LAST, *np.linspace(40, 0, 25) ** 2)]
    pair = quiltmd.System.of(
        np.full(2, 16.0), np.zeros(2), [0, 0], [], [], pair_form="tabulated", pair_tables=values
    )
    state = quiltmd.State(
        positions=np.array([[0.2, 0.2, 0.2], [0.2 + distance, 0.2, 0.2]]),
        box=np.eye(3) * 2.4,
        velocities=np.zeros((2, 3)),
    )
    simulation = quiltmd.Simulation(
        pair, state, quiltmd.Nonbonded(method="cutoff", cutoff=CUTOFF), device="cpu"
    )
    return {"energy": simulation.energies()["lj"], "force": simulation.forces()[1, 0]}


def test_below_the_first_distance_the_force_stays() -> None:
    edge, near, nearer = (two_atoms(distance, first=0.25) for distance in (0.25, 0.2, 0.15))
    assert edge["force"] > 0
    assert near["force"] == pytest.approx(edge["force"], rel=1e-6)
    assert nearer["force"] == pytest.approx(edge["force"], rel=1e-6)
    assert near["energy"] == pytest.approx(edge["energy"] + 0.05 * edge["force"], rel=1e-6)
    assert nearer["energy"] == pytest.approx(edge["energy"] + 0.1 * edge["force"], rel=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t[:5], "two distances and at least four energies"),
        (lambda t: [t[0] - 0.2, *t[1:]], "the first distance must not be negative"),
        (lambda t: [t[1], t[0], *t[2:]], "the last must be larger"),
        (lambda t: [t[0] + 0.9, *t[1:]], "the table begins beyond the cutoff"),
        (
            lambda t: [t[0], t[1] - 0.5, *(t[2:] + 1)],
            "before the cutoff with an energy that is not zero",
        ),
    ],
)
def test_tables_without_a_meaning_are_refused(change: Any, words: str) -> None:
    system, state = melt_of("tabulated", np.array(change(tables())))
    with pytest.raises(quiltmd.QuiltError, match=f"tabulated.*types 0 and 0: .*{words}"):
        quiltmd.Simulation(
            system, state, quiltmd.Nonbonded(method="cutoff", cutoff=CUTOFF), device="cpu"
        )


def written(pair_tables: Array) -> tuple[Any, Any, Any]:
    """The melt, and as an OpenMM System, with excluded pairs that nothing holds together."""
    system, state = melt_of("tabulated", pair_tables)
    chosen = quiltmd.Nonbonded(
        cutoff=CUTOFF, pme_alpha=3.2, pme_grid=(32, 32, 32), pme_order=5, dispersion_correction=True
    )
    made = to_openmm(system, chosen, state.box)
    (force,) = (one for one in made.getForces() if isinstance(one, openmm.NonbondedForce))
    force.setExceptionsUsePeriodicBoundaryConditions(True)
    return system, state, made


def custom(made: Any) -> Any:
    (force,) = (one for one in made.getForces() if isinstance(one, openmm.CustomNonbondedForce))
    return force


@pytest.mark.parametrize("alike", [False, True])
def test_openmm_systems_have_the_tables(alike: bool) -> None:
    """Written for OpenMM they have its energy, and are read again as they were."""
    chosen = tables()
    if alike:
        chosen[2:] = chosen[2:, :1, :1]
    system, state, made = written(chosen)
    energy, forces = by_openmm(made, state)
    read = quiltmd.System.from_openmm(made)
    assert read.pair_form == "tabulated"
    assert np.array_equal(np.stack(read.pair_tables), np.stack(system.pair_tables))
    exact, ours = quiltmd.reference(read, state, read.nonbonded)
    assert exact["potential"] == pytest.approx(energy, rel=1e-6)
    assert np.abs(ours - forces).max() < 1e-5 * np.abs(forces).max()


def test_one_function_for_all_pairs_is_read() -> None:
    system, state, made = written(tables())
    place = [isinstance(one, openmm.CustomNonbondedForce) for one in made.getForces()].index(True)
    made.removeForce(place)
    force = openmm.CustomNonbondedForce("f(r)")
    function = openmm.Continuous1DFunction(energies()[0].tolist(), FIRST, LAST)
    force.addTabulatedFunction("f", function)
    for _ in range(made.getNumParticles()):
        force.addParticle([])
    for i, j in system.exclusions.tolist():
        force.addExclusion(i, j)
    force.setNonbondedMethod(force.CutoffPeriodic)
    force.setCutoffDistance(CUTOFF)
    made.addForce(force)
    read = quiltmd.System.from_openmm(made)
    energy, forces = by_openmm(made, state)
    exact, ours = quiltmd.reference(read, state, read.nonbonded)
    assert exact["potential"] == pytest.approx(energy, rel=1e-6)
    assert np.abs(ours - forces).max() < 1e-5 * np.abs(forces).max()

    around = np.append(energies()[0][:-1], energies()[0][0]).tolist()
    made = openmm.XmlSerializer.clone(made)
    custom(made).getTabulatedFunction(0).setFunctionParameters(around, FIRST, LAST)
    made = openmm.XmlSerializer.deserialize(
        openmm.XmlSerializer.serialize(made).replace('periodic="0"', 'periodic="1"')
    )
    is_read_as_an_expression(made, state)


def changed(old: str, new: str) -> tuple[Any, Any]:
    """Tables with another expression, and their state."""
    _, state, made = written(tables())
    force = custom(made)
    assert old in force.getEnergyFunction()
    force.setEnergyFunction(force.getEnergyFunction().replace(old, new))
    force.setUseLongRangeCorrection(False)
    return made, state


def test_other_expressions_are_evaluated() -> None:
    is_read_as_an_expression(*changed("energy(row", "2*energy(row"))


def test_an_expression_that_depends_on_the_order_is_refused() -> None:
    with pytest.raises(quiltmd.InputError, match=r"CustomNonbondedForce.*the order of its atoms"):
        quiltmd.System.from_openmm(changed("type2", "type1")[0])


def test_ranges_that_differ_cannot_be_written() -> None:
    chosen = tables()
    chosen[1, 0, 0] = 1.2
    with pytest.raises(quiltmd.QuiltError, match="begin or end at other distances"):
        written(chosen)


def test_beyond_the_last_distance_there_is_nothing() -> None:
    """A table may end before the cutoff where its energy is zero there."""
    system, state = melt_of("tabulated", tables())
    short = [np.array(table) for table in system.pair_tables]
    short[1][:] = 0.7
    short[-1][:] = 0
    long = [np.array(table) for table in short]
    step = 0.6 / (POINTS - 1)
    long[1][:] = 0.7 + 20 * step
    long += [np.zeros((3, 3))] * 20
    nonbonded = quiltmd.Nonbonded(method="cutoff", cutoff=0.85, dispersion_correction=True)
    found, expected = (
        quiltmd.Simulation(
            melt_of("tabulated", np.array(one))[0], state, nonbonded, device="cpu"
        ).energies()["lj"]
        for one in (short, long)
    )
    assert found == pytest.approx(expected, rel=1e-3)
