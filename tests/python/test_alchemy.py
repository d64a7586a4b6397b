# SPDX-License-Identifier: Apache-2.0
"""Alchemical atoms: energies and forces at any lambda, energies of all states, bits."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from alchemical_systems import LENGTH, settings, solute_in_water
from command import quiltmd as quiltmd_command
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import QuiltError, QuiltWarning
from quiltmd.description.decoupling import at_lambdas
from quiltmd.description.overlaps import check_overlaps
from quiltmd.description.settings import BOLTZMANN
from quiltmd.description.terms import Terms
from quiltmd.outputs.free_energy import StateEnergyReporter

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
POINTS = [(0.0, 0.0), (0.37, 0.0), (1.0, 0.0), (1.0, 0.3), (1.0, 0.85), (1.0, 1.0)]
ALPHA, LEAST_SIGMA = 0.5, 0.3
_PROLATE: dict[str, Any] = {}  # of the default settings

# Written apart from the core: the soft core of docs/theory/alchemy.md.
SOFT = (
    "(1-lv)*(a/d^2 - b/d); d = alpha*lv*max(a/max(b, 1e-30), ls^6) + r^6;"
    "a = ta(t1,t2); b = tb(t1,t2)"
)


def simulate(system: Any, state: Any, nonbonded: Any = None, **others: Any) -> quiltmd.Simulation:
    given = {"device": "cpu", "ranks": 1, "threads": 1, **others}
    return quiltmd.Simulation(system, state, nonbonded or settings(state), **given)


def by_openmm(
    plain: Any, state: Any, coulomb: float, vdw: float, keep: bool
) -> tuple[float, np.ndarray[Any, Any]]:
    """Nonbonded energy and forces: charges in a NonbondedForce, the soft core as a custom force."""
    made = openmm.System()
    made.setDefaultPeriodicBoxVectors(*state.box)
    charges = openmm.NonbondedForce()
    charges.setNonbondedMethod(openmm.NonbondedForce.Ewald)
    charges.setCutoffDistance(1.0)
    charges.setEwaldErrorTolerance(1e-6)
    charges.setUseDispersionCorrection(False)
    types = len(plain.lj_a)
    custom = openmm.CustomNonbondedForce(SOFT)
    hard = openmm.CustomNonbondedForce("a/r^12 - b/r^6; a = ta(t1,t2); b = tb(t1,t2)")
    for force in (custom, hard):
        for name, table in (("ta", plain.lj_a), ("tb", plain.lj_b)):
            values = openmm.Discrete2DFunction(types, types, table.T.ravel().tolist())
            force.addTabulatedFunction(name, values)
        force.addPerParticleParameter("t")
        force.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
        force.setCutoffDistance(0.7)
    for name, value in (("lv", vdw), ("alpha", ALPHA), ("ls", LEAST_SIGMA)):
        custom.addGlobalParameter(name, value)
    inside = set(range(LENGTH))
    outside = set(range(LENGTH, plain.atoms))
    for atom in range(plain.atoms):
        made.addParticle(1.0)
        alchemical = atom in inside
        scale = 1 - coulomb if alchemical else 1.0
        charges.addParticle(scale * plain.charges[atom], 1.0, 0.0)
        custom.addParticle([float(plain.lj_types[atom])])
        hard.addParticle([float(plain.lj_types[atom])])
    hard.addInteractionGroup(outside, outside)
    custom.addInteractionGroup(inside, outside)
    if not keep:
        custom.addInteractionGroup(inside, inside)
    inner = openmm.CustomBondForce("138.93545764*q/r + a/r^12 - b/r^6")
    for name in "qab":
        inner.addPerBondParameter(name)
    excluded = {(int(i), int(j)) for i, j in plain.exclusions}
    bonds14 = [
        (i, j, [q, 4 * e * s**12, 4 * e * s**6])
        for (i, j), (q, s, e) in zip(plain.pairs14, plain.pair14_parameters, strict=True)
    ]
    for i in range(LENGTH):
        for j in range(i + 1, LENGTH):
            if (i, j) in excluded or not keep:
                continue
            s, t = plain.lj_types[i], plain.lj_types[j]
            product = plain.charges[i] * plain.charges[j]
            bonds14.append((i, j, [product, plain.lj_a[s, t], plain.lj_b[s, t]]))
            excluded.add((i, j))
    for i, j, values in bonds14:
        inner.addBond(int(i), int(j), [float(value) for value in values])
    for i, j in sorted(excluded):
        charges.addException(i, j, 0.0, 1.0, 0.0)
        custom.addExclusion(i, j)
        hard.addExclusion(i, j)
    for force in (charges, custom, hard, inner):
        made.addForce(force)
    return energy_and_forces(made, state.positions)


@pytest.mark.parametrize("intramolecular", ["keep", "scale"])
def test_energies_and_forces_are_those_of_openmm(intramolecular: str) -> None:
    """Differences between states to 1e-4 kJ/mol; what all have in common is the mesh's error."""
    plain, state = solute_in_water(7)
    nonbonded = settings(state, pme_grid=(64,) * 3, pme_alpha=5.6, dispersion_correction=False)
    system = quiltmd.decouple(plain, range(LENGTH), intramolecular=intramolecular)
    found, expected = [], []
    for coulomb, vdw in POINTS[:5]:
        here = at_lambdas(system, coulomb, vdw)
        bare = here.with_terms(Terms("bond"), Terms("angle"))
        energies, forces = quiltmd.reference(bare, state, nonbonded)
        theirs, their_forces = by_openmm(plain, state, coulomb, vdw, intramolecular == "keep")
        found.append(energies["potential"])
        expected.append(theirs)
        assert np.abs(forces - their_forces).max() < 0.1
    differences = np.array(found) - np.array(expected)
    assert np.ptp(differences) < 1e-4
    assert np.abs(differences).max() < 0.1


@pytest.mark.parametrize(
    "others",
    [
        {},
        _PROLATE,
        {"potential_shift": True},
        {"switching": "potential", "switch_distance": 0.6},
    ],
    ids=["plain", "prolate", "shift", "switch"],
)
@pytest.mark.parametrize("intramolecular", ["keep", "scale"])
def test_the_core_has_energies_of_all_states_and_derivatives(
    intramolecular: str, others: dict[str, Any]
) -> None:
    """Of a charged solute: as the double-precision reference at each state.

    The mesh rounds charges and their potential.
    """
    plain, state = solute_in_water(net_charge=1.0)
    nonbonded = quiltmd.Nonbonded(cutoff=0.7) if others is _PROLATE else settings(state, **others)
    lambdas = np.array([(0, 0), (0.5, 0), (1, 0), (1, 0.5), (1, 1)])
    system = quiltmd.decouple(
        plain, range(LENGTH), *lambdas.T, intramolecular=intramolecular, state=1
    )

    def energy(coulomb: float, vdw: float) -> float:
        here = at_lambdas(system, coulomb, vdw)
        return quiltmd.reference(here, state, nonbonded)[0]["potential"]

    simulation = simulate(system, state, nonbonded)
    expected = np.array([energy(*state_of) for state_of in lambdas])
    np.testing.assert_allclose(simulation.state_energies(), expected - expected[1], atol=1e-4)
    step = 0.01  # the energy is quadratic in this lambda
    slope = (energy(0.5 + step, 0) - energy(0.5 - step, 0)) / (2 * step)
    assert simulation.dhdl()[0] == pytest.approx(slope, rel=1e-6)
    simulation.set_conditions(lambda_coulomb=1.0, lambda_vdw=0.5)
    assert simulation.lambdas == {"lambda_coulomb": 1.0, "lambda_vdw": 0.5}
    np.testing.assert_allclose(simulation.state_energies(), expected - expected[3], atol=1e-4)
    near, far = (energy(1, 0.5 + h) - energy(1, 0.5 - h) for h in (1e-3, 2e-3))
    assert simulation.dhdl()[1] == pytest.approx((8 * near - far) / 12e-3, rel=1e-7)


@pytest.mark.parametrize("lambdas", POINTS[::2], ids=str)
def test_forces_and_virial_of_the_core_are_those_of_the_reference(
    lambdas: tuple[float, float],
) -> None:
    plain, state = solute_in_water()
    system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), *lambdas)
    simulation = simulate(system, state)
    energies, forces = quiltmd.reference(system, state, settings(state))
    alchemical = np.abs(simulation.forces() - forces)[:LENGTH].max()
    assert alchemical < 2e-3
    assert np.abs(simulation.forces() - forces).max() < 5e-3
    expected = quiltmd.reference_virial(system, state, settings(state))
    assert np.abs(simulation.virial() - expected).max() < 0.2
    assert simulation.energies()["potential"] == pytest.approx(energies["potential"], abs=0.05)


def test_ends_are_the_plain_systems() -> None:
    """At 0 the system as it was; at 1, annihilated, the one without charges and Lennard-Jones."""
    plain, state = solute_in_water()
    nonbonded = settings(state)
    system = quiltmd.decouple(plain, range(LENGTH), intramolecular="scale")
    types = len(plain.lj_a)
    charges, kinds = np.array(plain.charges), np.array(plain.lj_types)
    charges[:LENGTH], kinds[:LENGTH] = 0, types
    tables = [np.pad(table, (0, 1)) for table in (plain.lj_a, plain.lj_b)]
    gone = replace(plain, charges=charges, lj_types=kinds, lj_a=tables[0], lj_b=tables[1])
    for end, lambdas in ((plain, (0, 0)), (gone, (1, 1))):
        here, there = (
            quiltmd.reference(one, state, nonbonded) for one in (at_lambdas(system, *lambdas), end)
        )
        assert here[0]["potential"] == pytest.approx(there[0]["potential"], rel=1e-9)
        np.testing.assert_allclose(here[1], there[1], atol=1e-7)
    kept = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 0, 0)
    here, there = (quiltmd.reference(one, state, nonbonded) for one in (kept, plain))
    assert here[0]["potential"] == pytest.approx(there[0]["potential"], rel=1e-9)


def test_a_part_of_a_molecule_can_vanish() -> None:
    """Excluded pairs with the rest of the molecule keep what the mesh has of them."""
    plain, state = solute_in_water()
    system = quiltmd.decouple(plain, [3, 4], intramolecular="scale", state=2)
    simulation = simulate(system, state)
    energies = [
        quiltmd.reference(at_lambdas(system, *lambdas), state, settings(state))[0]["potential"]
        for lambdas in system.alchemy.states
    ]
    expected = np.array(energies) - energies[2]
    np.testing.assert_allclose(simulation.state_energies(), expected, atol=1e-4)
    first = quiltmd.reference(plain, state, settings(state))[0]["potential"]
    assert energies[0] == pytest.approx(first, rel=1e-9)


def test_a_ghost_on_another_atom_has_finite_forces() -> None:
    plain, state = solute_in_water()
    positions = np.array(state.positions)
    positions[2] = positions[LENGTH]  # on the oxygen of a water
    positions[3] = positions[LENGTH + 1] + 1e-9  # and on a hydrogen
    together = quiltmd.State.start(plain, positions, state.box)
    for vdw in (0.5, 1.0):
        system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 1.0, vdw)
        forces = simulate(system, together).forces()
        expected = quiltmd.reference(system, together, settings(state))[1]
        assert np.isfinite(forces).all()
        np.testing.assert_allclose(forces[LENGTH:], expected[LENGTH:], atol=0.05)


def test_only_atoms_with_a_soft_core_may_be_overlapped() -> None:
    """Of a run that goes on from another in which water came to lie on them."""
    plain, state = solute_in_water(8)
    positions = state.positions.copy()
    positions[LENGTH] = positions[1] + 0.003
    there = replace(state, positions=positions)
    system = quiltmd.decouple(plain, range(LENGTH))
    check_overlaps(at_lambdas(system, 1.0, 0.3), there)
    for hard in (plain, at_lambdas(system, 1.0, 0.0)):
        with pytest.raises(QuiltError, match="overlapping atoms"):
            check_overlaps(hard, there)
    positions[LENGTH + 3] = positions[LENGTH] + 0.003
    there = replace(state, positions=positions)
    with pytest.raises(QuiltError, match="overlapping atoms"):
        check_overlaps(at_lambdas(system, 1.0, 0.3), there)


def test_coincident_alchemical_atoms_have_finite_derivatives() -> None:
    """The energy of two charges is scaled by a square, whose derivative at lambda 1 is 0."""
    plain, state = solute_in_water()
    system = quiltmd.decouple(plain, range(LENGTH), intramolecular="scale")
    found = []
    for apart in (0.0, 1e-5):
        positions = np.array(state.positions)
        positions[4] = positions[0] + [apart, 0, 0]
        together = quiltmd.State.start(plain, positions, state.box)
        found.append(simulate(at_lambdas(system, 1.0, 0.5), together).dhdl())
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-2)


def test_pairs_beyond_the_room_for_them_are_counted() -> None:
    """Of a droplet in a large empty box, whose mean density says little of what is near an atom."""
    plain, start = solute_in_water()
    box = np.eye(3) * 6.0
    state = quiltmd.State.start(plain, start.positions, box)
    system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 0.5, 0.0)
    nonbonded = settings(state, pme_grid=(64,) * 3, pme_alpha=3.6)
    forces = quiltmd.reference(system, state, nonbonded)[1]
    simulation = simulate(system, state, nonbonded)
    assert np.abs(simulation.forces() - forces)[:LENGTH].max() < 0.05
    simulation.run(5)


def run_of(system: Any, state: Any, **where: Any) -> tuple[Any, Any]:
    """A run whose lambdas change on the way: its end, and all energies there."""
    simulation = simulate(system, state, integrator=quiltmd.LangevinMiddle(seed=4), **where)
    simulation.run(13)
    simulation.set_conditions(lambda_coulomb=1.0)
    simulation.run(11)
    simulation.set_conditions(lambda_vdw=0.37)
    simulation.run(30)
    assert simulation._engine.force_sum() == (0, 0, 0)
    energies = simulation.energies()
    seen = np.concatenate([simulation.state_energies(), simulation.dhdl(), [energies["potential"]]])
    return simulation.state(), seen


def test_bits_do_not_depend_on_ranks() -> None:
    plain, state = solute_in_water(8)
    system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 0.37, 0.0)
    calm = simulate(system, state)
    calm.minimize(1000.0, 20)
    calm.draw_velocities(300, 1)
    start = calm.state()
    end, seen = run_of(system, start)
    for where in ({"ranks": 2}, {"ranks": 3, "mesh": "pencils"}, {"ranks": 5}, {"threads": 2}):
        other, others = run_of(system, start, **where)
        np.testing.assert_array_equal(end.positions, other.positions)
        np.testing.assert_array_equal(end.velocities, other.velocities)
        np.testing.assert_array_equal(seen, others)


def test_a_restart_has_the_same_bits() -> None:
    plain, state = solute_in_water()
    system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 1.0, 0.6)
    calm = simulate(system, state)
    calm.minimize(1000.0, 20)
    calm.draw_velocities(300, 1)
    whole = simulate(system, calm.state(), integrator=quiltmd.LangevinMiddle(seed=2))
    whole.run(17)
    half = simulate(system, whole.state(), integrator=quiltmd.LangevinMiddle(seed=2))
    whole.run(20)
    half.run(20)
    np.testing.assert_array_equal(whole.positions(), half.positions())
    np.testing.assert_array_equal(whole.state_energies(), half.state_energies())


def test_energy_is_conserved_with_a_soft_core() -> None:
    plain, state = solute_in_water()
    system = at_lambdas(quiltmd.decouple(plain, range(LENGTH)), 1.0, 0.5)
    simulation = simulate(system, state, integrator=quiltmd.VelocityVerlet(timestep=0.0005))
    simulation.minimize(200.0, 60)
    simulation.draw_velocities(300, 1)
    simulation.run(100)
    before = simulation.energies()["conserved"]
    simulation.run(400)
    assert simulation.energies()["conserved"] == pytest.approx(before, abs=0.5)


def test_a_change_of_the_net_charge_is_told_unless_an_ion_vanishes_as_well() -> None:
    plain, _ = solute_in_water(net_charge=1.0)
    with pytest.warns(QuiltWarning, match=r"changes by -1 e.* An ion of opposite charge"):
        quiltmd.decouple(plain, range(LENGTH))
    charges = np.array(plain.charges)
    charges[LENGTH : LENGTH + 3] = (-1, 0, 0)  # an ion in place of a water
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiltmd.decouple(replace(plain, charges=charges), range(LENGTH + 1))


def test_what_does_not_go_with_alchemy_is_refused_by_name() -> None:
    plain, state = solute_in_water()
    system = quiltmd.decouple(plain, range(LENGTH))
    for wrong, words in (
        ({"method": "reaction-field", "cutoff": 0.7}, "other than PME"),
        ({"lennard_jones": "pme", "cutoff": 0.7}, "Lennard-Jones PME"),
        ({"switching": "charmm", "switch_distance": 0.6, "cutoff": 0.7}, "switching function"),
    ):
        with pytest.raises(QuiltError, match=words):
            simulate(system, state, quiltmd.Nonbonded(**wrong))
    with pytest.raises(QuiltError, match="with custom forces cannot be given alchemical atoms"):
        quiltmd.add_forces(system, quiltmd.CustomPairs("exp(-r)", cutoff=0.7))
    simulation = simulate(system, state)
    with pytest.raises(QuiltError, match="must have no charges left"):
        simulation.set_conditions(lambda_vdw=0.5)
    with pytest.raises(QuiltError, match="from 0 to 1"):
        simulation.set_conditions(lambda_coulomb=1.5)
    assert simulation.lambdas == {"lambda_coulomb": 0.0, "lambda_vdw": 0.0}
    other = simulate(plain, state)
    with pytest.raises(QuiltError, match="no alchemical atoms"):
        other.set_conditions(lambda_vdw=0.5)
    with pytest.raises(QuiltError, match="no alchemical atoms"):
        other.dhdl()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"atoms": "resname XYZ"}, "has no atoms"),
        ({"atoms": [100000]}, "does not exist"),
        ({"atoms": [0.5]}, "indices"),
        ({"coulomb": [0, 1], "vdw": [0]}, "give one of each for every state"),
        ({"coulomb": [0.5], "vdw": [0.5]}, "switch charges off first"),
        ({"coulomb": [1.5], "vdw": [0]}, "from 0 .* to 1"),
        ({"coulomb": [float("nan")], "vdw": [0]}, "from 0 .* to 1|finite"),
        ({"state": 15}, "no state 15"),
        ({"alpha": 0.01}, "alpha"),
        ({"intramolecular": "both"}, "'keep' or 'scale'"),
    ],
)
def test_nonsense_is_refused(given: dict[str, Any], words: str) -> None:
    plain, _ = solute_in_water()
    with pytest.raises(QuiltError, match=words):
        quiltmd.decouple(plain, **{"atoms": range(LENGTH), **given})


def test_a_schedule_is_written_as_gromacs_writes_it(tmp_path: Any) -> None:
    """Both files have what the simulation says; so says alchemlyb's reader, where it is there."""
    plain, state = solute_in_water()
    lambdas = np.array([(0, 0), (1, 0), (1, 0.5), (1, 1)])
    system = quiltmd.decouple(plain, range(LENGTH), *lambdas.T, state=2)
    simulation = simulate(system, state, integrator=quiltmd.LangevinMiddle(300.0, seed=1))
    simulation.minimize(1000.0, 10)
    simulation.draw_velocities(300, 1)
    seen = []
    collect = quiltmd.FunctionReporter(
        lambda frame: seen.append([*frame.dhdl(), *frame.state_energies()]), 2, ("energies",)
    )
    reporters = [
        StateEnergyReporter(tmp_path / name, 2, simulation) for name in ("dhdl.csv", "dhdl.xvg")
    ]
    simulation.run(6, [collect, *reporters])
    for reporter in reporters:
        reporter.close()
    table = np.loadtxt(tmp_path / "dhdl.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, 0], [2, 4, 6])
    np.testing.assert_array_equal(table[:, 2:4], [(1, 0.5)] * 3)
    np.testing.assert_allclose(table[:, 5:], seen, atol=1e-6)
    text = (tmp_path / "dhdl.xvg").read_text()
    assert "T = 300 (K) \\xl\\f{} state 2: (coul-lambda, vdw-lambda) = (1.0000, 0.5000)" in text
    rows = np.loadtxt([line for line in text.splitlines() if line[0] not in "#@"])
    np.testing.assert_allclose(rows[:, 2:], seen, atol=1e-6)
    assert text.count(" legend ") == 1 + 2 + len(lambdas)
    parsing = pytest.importorskip("alchemlyb.parsing.gmx")
    reduced = parsing.extract_u_nk(str(tmp_path / "dhdl.xvg"), T=300).to_numpy()
    expected = np.array(seen)[:, 2:] / (BOLTZMANN * 300)
    np.testing.assert_allclose(np.diff(reduced, axis=1), np.diff(expected, axis=1), atol=1e-5)


def test_a_file_of_one_state_refuses_others(tmp_path: Any) -> None:
    plain, state = solute_in_water()
    system = quiltmd.decouple(plain, range(LENGTH))
    between = simulate(at_lambdas(system, 0.37, 0), state)
    with pytest.raises(QuiltError, match="not those of a state of the schedule"):
        StateEnergyReporter(tmp_path / "dhdl.xvg", 5, between)
    with pytest.raises(QuiltError, match="no alchemical atoms"):
        StateEnergyReporter(tmp_path / "dhdl.csv", 5, simulate(plain, state))
    simulation = simulate(system, state)
    reporter = StateEnergyReporter(tmp_path / "dhdl.xvg", 5, simulation)
    simulation.set_conditions(lambda_coulomb=0.5)
    with pytest.raises(QuiltError, match="of one state"):
        reporter.report(simulation)
    reporter.close()


def test_a_run_of_a_state_writes_energies_of_all_and_goes_on(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """A run that is resumed has the files of one that was not stopped."""
    config = tmp_path / "run.toml"
    config.write_text(f"""
[system]
topology = "{alanine[0]}"
coordinates = "{alanine[1]}"
constraints = "h-bonds"
[nonbonded]
cutoff = 0.8
[integrator]
seed = 3
[run]
steps = 12
device = "cpu"
[alchemy]
atoms = "resname ACE ALA NME"
state = 8
every = 4
[output]
dir = "whole"
""")
    done = quiltmd_command("run", config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = "22 alchemical atoms in state 8 of 0 to 14: lambda_coulomb = 1, lambda_vdw = 0.4"
    assert told in " ".join(done.stderr.split())
    done = quiltmd_command("run", config, "--steps", "8", "--out", "parts", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = quiltmd_command("run", "--resume", "parts", "--steps", "12", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("dhdl.csv", "dhdl.xvg"):
        whole, parts = ((tmp_path / one / name).read_bytes() for one in ("whole", "parts"))
        assert whole == parts
    table = np.loadtxt(tmp_path / "whole" / "dhdl.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, 0], [0, 4, 8, 12])
    np.testing.assert_array_equal(table[:, 2:4], [(1, 0.4)] * 4)
    assert (table[:, 7 + 8] == 0).all()


def test_stages_have_states_of_their_own(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """One minimises and settles in a state, the next ones sample that and another."""
    config = tmp_path / "run.toml"
    config.write_text(f"""
[system]
topology = "{alanine[0]}"
coordinates = "{alanine[1]}"
constraints = "h-bonds"
[nonbonded]
cutoff = 0.8
[run]
steps = 4
device = "cpu"
[alchemy]
atoms = "resname ACE ALA NME"
state = 8
every = 2
[output]
dir = "all"
[[stage]]
name = "settle"
run = {{ minimize = true, minimize_iterations = 3 }}
[[stage]]
name = "eight"
[[stage]]
name = "nine"
alchemy = {{ state = 9 }}
""")
    done = quiltmd_command("info", config, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    states = [line.partition(":")[0] for line in json.loads(done.stdout)["alchemy"]]
    assert states == [f"22 alchemical atoms in state {k} of 0 to 14" for k in (8, 9)]
    done = quiltmd_command("run", config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tables = [
        np.loadtxt(tmp_path / "all" / name / "dhdl.csv", delimiter=",", skiprows=1)
        for name in ("1-settle", "2-eight", "3-nine")
    ]
    for table, vdw in zip(tables, (0.4, 0.4, 0.5), strict=True):
        np.testing.assert_array_equal(table[:, 0], [0, 2, 4])
        np.testing.assert_array_equal(table[:, 2:4], [(1, vdw)] * 3)
    # Where a stage begins, the one before it has ended: the energy of its state, less the other's.
    u_8, u_9 = tables[1][-1, 7 + 8], tables[1][-1, 7 + 9]
    assert tables[2][0, 7 + 8] == pytest.approx(-u_9, abs=2e-3)
    assert u_8 == 0
    assert tables[2][0, 4] == pytest.approx(tables[1][-1, 4] + u_9, abs=0.02)


def test_replica_exchange_of_other_kinds_refuses_alchemical_atoms(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    config = tmp_path / "exchange.toml"
    config.write_text(f"""
[system]
topology = "{alanine[0]}"
coordinates = "{alanine[1]}"
[run]
steps = 20
[exchange]
every = 10
temperatures = [300, 310]
[alchemy]
atoms = "resname ALA"
[output]
dir = "out"
""")
    done = quiltmd_command("exchange", config, cwd=tmp_path)
    assert done.returncode != 0
    assert "other kinds cannot have one" in " ".join(done.stderr.split())
