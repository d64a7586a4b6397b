# SPDX-License-Identifier: Apache-2.0
"""Hybrids of two molecules: both ends, cycles with absolute decoupling, soft charges, refusals."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from hybrid_molecules import ETHANE, MAPPING, METHANOL, molecule
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import InputError, QuiltWarning
from quiltmd.description.decoupling import at_lambdas
from quiltmd.description.overlaps import check_overlaps

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
BACK = {last: first for first, last in MAPPING.items()}
POINTS = [k / 10 for k in range(11)]


def settings(**others: Any) -> quiltmd.Nonbonded:
    given = {"cutoff": 0.7, "pme_grid": (48, 48, 48), "pme_alpha": 4.6, **others}
    return quiltmd.Nonbonded(**given)


# Atoms without interactions count in the mean of the tail correction, which changes it by 1e-5.
WITHOUT_TAIL = settings(dispersion_correction=False)


def test_atoms_that_vanish_and_appear_may_overlap() -> None:
    """At lambda 0 those that appear have no interactions yet; two that both vanish have."""
    system, state = quiltmd.hybrid(molecule(ETHANE, 8), molecule(METHANOL), {0: 0, 4: 4})
    positions = state.positions.copy()
    positions[-1] = positions[5] + 0.003
    check_overlaps(system, replace(state, positions=positions))
    positions[6] = positions[5] + 0.003
    with pytest.raises(InputError, match="overlapping atoms"):
        check_overlaps(system, replace(state, positions=positions))


def simulate(system: Any, state: Any, **others: Any) -> quiltmd.Simulation:
    given = {"device": "cpu", "ranks": 1, "threads": 1, **others}
    return quiltmd.Simulation(system, state, settings(), **given)


def energy(system: Any, state: Any, nonbonded: Any = WITHOUT_TAIL) -> float:
    return float(quiltmd.reference(system, state, nonbonded)[0]["potential"])


def dummy_energy(system: Any, state: Any, present: set[int], solute: int) -> float:
    """Of the terms that atoms without nonbonded interactions keep: those not all in `present`."""
    total = 0.0
    for terms in system.terms.present():
        kept = [not set(map(int, row)) <= present for row in terms.atoms]
        bare = replace(system, alchemy=None, charges=np.zeros(system.atoms), terms={})
        empty = replace(bare, lj_a=0 * system.lj_a, lj_b=0 * system.lj_b)
        own = terms.chosen(np.array(kept))
        total += energy(replace(empty, terms={terms.name: own}), state)
    return total


@pytest.mark.parametrize("forward", [True, False], ids=["atoms vanish", "atoms appear"])
def test_ends_are_the_two_molecules(forward: bool) -> None:
    """But for the terms that keep atoms without interactions in place."""
    first, last, mapping = (ETHANE, METHANOL, MAPPING) if forward else (METHANOL, ETHANE, BACK)
    a, place_a = molecule(first, 6)
    b = molecule(last)
    system, state = quiltmd.hybrid((a, place_a), b, mapping)
    atoms = len(first)
    at_first = at_lambdas(system, 0, 0, 0)
    here = energy(at_first, state) - dummy_energy(system, state, set(range(a.atoms)), atoms)
    plain = quiltmd.State.start(a, state.positions[: a.atoms], state.box)
    assert here == pytest.approx(energy(a, plain), abs=1e-7)
    # The other molecule in the same water.
    solvated, _ = molecule(last, 6)
    order = np.array([*_places(system, len(last), mapping, a.atoms), *range(atoms, a.atoms)])
    waters = len(order) - len(last)
    solvated = _cut(solvated, len(last), waters)
    theirs = quiltmd.State.start(solvated, state.positions[order], state.box)
    at_last = at_lambdas(system, 1, 1, 1)
    kept = dummy_energy(_last_terms(system), state, set(map(int, order)), atoms)
    assert energy(at_last, state) - kept == pytest.approx(energy(solvated, theirs), abs=1e-7)


def _places(system: Any, count: int, mapping: dict[int, int], start: int) -> list[int]:
    """Atoms of the hybrid by atom of the second molecule."""
    found, appearing = {last: first for first, last in mapping.items()}, start
    for atom in range(count):
        if atom not in found:
            found[atom] = appearing
            appearing += 1
    return [found[atom] for atom in range(count)]


def _cut(system: Any, solute: int, waters: int) -> Any:
    """The molecule and as many atoms of water."""
    assert system.atoms >= solute + waters
    kept = solute + waters
    inside = (system.constraints < kept).all(axis=1)
    return quiltmd.System.of(
        system.masses[:kept],
        system.charges[:kept],
        system.lj_types[:kept],
        system.lj_a,
        system.lj_b,
        terms=system.terms,
        constraints=system.constraints[inside],
        constraint_lengths=system.constraint_lengths[inside],
        exclusions=system.exclusions[(system.exclusions < kept).all(axis=1)],
    )


def _last_terms(system: Any) -> Any:
    """With the parameters of lambda 1."""
    tables = []
    for changed in system.alchemy.changed_terms:
        terms = system.terms[changed.name]
        parameters = np.array(terms.parameters)
        parameters[changed.terms] = changed.parameters
        tables.append(replace(terms, parameters=parameters))
    return system.with_terms(*tables)


def by_openmm(system: Any, state: Any, coulomb: float, vdw: float) -> tuple[float, Any]:
    """Nonbonded energy and forces of a hybrid: its two ends, with soft cores, in double precision.

    Charges are those of a NonbondedForce; what the soft core of charges changes is an expression.
    """
    alchemy = system.alchemy
    alpha, least = alchemy.alpha, alchemy.least_sigma
    charge = np.stack([system.charges, system.charges])
    kind = np.stack([system.lj_types, system.lj_types])
    charge[1, alchemy.atoms], kind[1, alchemy.atoms] = alchemy.last_charges, alchemy.last_types
    inert = np.diag(system.lj_a) == 0
    absent = [(charge[end] == 0) & inert[kind[end]] for end in range(2)]
    vanishes = np.where(absent[1] & ~absent[0], 1, np.where(absent[0] & ~absent[1], -1, 0))
    made = openmm.System()
    made.setDefaultPeriodicBoxVectors(*state.box)
    plain = openmm.NonbondedForce()
    plain.setNonbondedMethod(openmm.NonbondedForce.Ewald)
    plain.setCutoffDistance(1.0)
    plain.setEwaldErrorTolerance(1e-6)
    plain.setUseDispersionCorrection(False)
    text = (
        "(1-lv)*(a0/d0^2 - b0/d0) + lv*(a1/d1^2 - b1/d1) + 138.93545764438198*q*(1/rc - 1/r);"
        "d0 = soft*alpha*lv*max(a0/max(b0,1e-30),ls^6) + r^6;"
        "d1 = soft*alpha*(1-lv)*max(a1/max(b1,1e-30),ls^6) + r^6;"
        "rc = (ac*w*max(as/max(bs,1e-30),ls^6) + r^6)^(1/6);"
        "as = select(step(v-0.5),a0,a1); bs = select(step(v-0.5),b0,b1);"
        "w = select(v,select(step(v),lv,1-lv),0);"
        "v = select(v1,v1,v2);"
        "soft = 1-step(a0-1e-30)*step(a1-1e-30);"
        "a0 = ta(s1,s2); b0 = tb(s1,s2); a1 = ta(t1,t2); b1 = tb(t1,t2);"
        "q = ((1-lc)*p1+lc*q1)*((1-lc)*p2+lc*q2)"
    )
    force = openmm.CustomNonbondedForce(text)
    types = len(system.lj_a)
    for name, table in (("ta", system.lj_a), ("tb", system.lj_b)):
        force.addTabulatedFunction(
            name, openmm.Discrete2DFunction(types, types, table.T.ravel().tolist())
        )
    for name in "stpqv":
        force.addPerParticleParameter(name)
    constants = {"lv": vdw, "lc": coulomb, "alpha": alpha, "ac": alchemy.alpha_coulomb, "ls": least}
    for name, value in constants.items():
        force.addGlobalParameter(name, value)
    force.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(0.7)
    for atom in range(system.atoms):
        made.addParticle(1.0)
        now = (1 - coulomb) * charge[0, atom] + coulomb * charge[1, atom]
        plain.addParticle(now, 1.0, 0.0)
        values = [*kind[:, atom], *charge[:, atom], vanishes[atom]]
        force.addParticle([float(value) for value in values])
    for i, j in system.exclusions:
        plain.addException(int(i), int(j), 0.0, 1.0, 0.0)
        force.addExclusion(int(i), int(j))
    for one in (plain, force):
        made.addForce(one)
    return energy_and_forces(made, state.positions)


@pytest.mark.parametrize("forward", [True, False], ids=["atoms vanish", "atoms appear"])
def test_energies_and_forces_are_those_of_openmm(forward: bool) -> None:
    """At 11 lambdas; differences between states to 1e-4 kJ/mol."""
    given = (ETHANE, METHANOL, MAPPING) if forward else (METHANOL, ETHANE, BACK)
    system, state = quiltmd.hybrid(molecule(given[0], 7), molecule(given[1]), given[2])
    nonbonded = settings(pme_grid=(80,) * 3, pme_alpha=5.6, dispersion_correction=False)
    rows = system.alchemy.states[:, :2]
    bare = replace(system.alchemy, changed_terms=(), states=rows, start=rows[0])
    found, expected, errors = [], [], []
    for point in POINTS:
        lambdas = (point, point**2)
        alone = replace(bare, start=np.array(lambdas))
        energies, forces = quiltmd.reference(
            replace(system, terms={}, alchemy=alone), state, nonbonded
        )
        theirs, others = by_openmm(system, state, *lambdas)
        found.append(energies["potential"])
        expected.append(theirs)
        errors.append(forces - others)
    assert np.ptp(errors, axis=0).max() < 0.02
    difference = np.array(found) - expected
    np.testing.assert_allclose(difference, difference.mean(), atol=1e-4)
    assert np.ptp(found) > 10


def charged(waters: int) -> tuple[Any, Any]:
    """Ethane in water with two cations, in place of oxygens; and methanol with a charge."""
    a, place = molecule(ETHANE, waters)
    charges = np.array(a.charges)
    dissolved = np.arange(len(ETHANE), len(ETHANE) + 6)
    charges[dissolved] = (0.8, 0, 0) * 2
    bonded = ~np.isin(a.constraints, dissolved).any(axis=1)
    a = replace(
        a,
        constraints=a.constraints[bonded],
        constraint_lengths=a.constraint_lengths[bonded],
        exclusions=a.exclusions[~np.isin(a.exclusions, dissolved).any(axis=1)],
    )
    b, other = molecule(METHANOL)
    cation = np.array(b.charges)
    cation[4] += 1
    return (replace(a, charges=charges), place), (replace(b, charges=cation), other)


def test_a_co_ion_keeps_the_net_charge() -> None:
    """The charges of ions change by as much; energies and forces are those of OpenMM."""
    first, last = charged(7)
    ions = [len(ETHANE), len(ETHANE) + 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error", QuiltWarning)
        system, state = quiltmd.hybrid(first, last, MAPPING, co_ion=ions)
    alchemy = system.alchemy
    named = quiltmd.hybrid(first, last, MAPPING, co_ion="index 9 12")[0].alchemy
    np.testing.assert_array_equal(alchemy.last_charges, named.last_charges)
    others, _ = hybrid_with_warning(first, last)
    assert set(alchemy.atoms) - set(others.alchemy.atoms) == set(ions)
    at_ions = np.isin(alchemy.atoms, ions)
    np.testing.assert_allclose(alchemy.last_charges[at_ions], 0.3, atol=1e-12)
    np.testing.assert_array_equal(alchemy.last_types[at_ions], system.lj_types[ions])
    assert alchemy.last_charges.sum() == pytest.approx(system.charges[alchemy.atoms].sum())
    nonbonded = settings(pme_grid=(80,) * 3, pme_alpha=5.6, dispersion_correction=False)
    rows = alchemy.states[:, :2]
    bare = replace(alchemy, changed_terms=(), states=rows, start=rows[0])
    differences = []
    for point in (0.0, 0.4, 1.0):
        alone = replace(system, terms={}, alchemy=replace(bare, start=np.array([point] * 2)))
        energies, forces = quiltmd.reference(alone, state, nonbonded)
        theirs, expected = by_openmm(system, state, point, point)
        differences.append(energies["potential"] - theirs)
        assert np.abs(forces - expected).max() < 0.1
    assert np.ptp(differences) < 1e-4
    here = at_lambdas(system, 0.4, 0.4, 0.4)
    found = simulate(here, state)
    energies = [
        energy(at_lambdas(system, *row), state, settings()) for row in alchemy.states[[0, 4, 10]]
    ]
    np.testing.assert_allclose(
        found.state_energies()[[0, 10]], np.array(energies)[[0, 2]] - energies[1], atol=1e-3
    )


def hybrid_with_warning(first: Any, last: Any) -> tuple[Any, Any]:
    with pytest.warns(QuiltWarning, match=r"changes by \+1 e.* name one as co_ion"):
        return quiltmd.hybrid(first, last, MAPPING)


@pytest.mark.parametrize(
    ("ions", "words"),
    [
        ("index 3 and index 4", "has no atoms"),
        ([], "of ions has no atoms"),
        ([-1], "co_ion names an atom that does not exist"),
        ([0], r"co_ion: .* is in the molecule that changes: select an ion"),
        ([14], r"co_ion: .* is bonded to other atoms: select ions of one atom, or all atoms of"),
        ([8, 14], r"co_ion: .* is bonded to other atoms"),
        (range(14, 20), r"co_ion: .* is bonded to other atoms"),
    ],
)
def test_ions_without_sense_are_refused(ions: Any, words: str) -> None:
    with pytest.raises(quiltmd.QuiltError, match=words):
        quiltmd.hybrid(*charged(4), MAPPING, co_ion=ions)


def test_a_co_ion_may_be_a_molecule() -> None:
    system = quiltmd.hybrid(*charged(4), MAPPING, co_ion=[14, 15, 16])[0]
    changes = system.alchemy.last_charges - system.charges[system.alchemy.atoms]
    at_ion = np.isin(system.alchemy.atoms, [14, 15, 16])
    np.testing.assert_allclose(changes[at_ion], -1 / 3, atol=1e-12)


def test_a_charge_that_changes_its_sign_is_told() -> None:
    with pytest.warns(QuiltWarning, match=r"charge of .* changes its sign, from \+0.8 to -0.2 e"):
        quiltmd.hybrid(*charged(4), MAPPING, co_ion=[8])


def test_molecules_of_one_charge_need_no_co_ion() -> None:
    with pytest.raises(InputError, match="co_ion: both molecules have the same net charge"):
        quiltmd.hybrid(molecule(ETHANE, 4), molecule(METHANOL), MAPPING, co_ion=[9])


def test_states_and_derivatives_are_differences_of_energies() -> None:
    system, state = quiltmd.hybrid(molecule(METHANOL, 5), molecule(ETHANE), BACK, state=4)
    simulation = simulate(system, state)

    def at(lambdas: Any) -> float:
        return energy(at_lambdas(system, *lambdas), state, settings())

    now = np.array([0.4] * 3)
    expected = np.array([at(row) for row in system.alchemy.states])
    np.testing.assert_allclose(simulation.state_energies(), expected - expected[4], atol=1e-4)
    slopes, h = [], 2e-3
    for which in range(3):
        way = np.eye(3)[which] * h
        near, far = (at(now + k * way) - at(now - k * way) for k in (1, 2))
        slopes.append((8 * near - far) / (12 * h))
    np.testing.assert_allclose(simulation.dhdl(), slopes, rtol=1e-6, atol=1e-4)
    forces = quiltmd.reference(at_lambdas(system, *now), state, settings())[1]
    np.testing.assert_allclose(simulation.forces()[:6], forces[:6], atol=0.02)


def test_the_hybrid_is_the_difference_of_two_decoupled_molecules() -> None:
    """Ends of a cycle: what turns one molecule into another, and what removes each from the water.

    Energies, less those of the same molecules in vacuum: solute with solvent and its images.
    """
    hybrid, state = quiltmd.hybrid(molecule(ETHANE, 5), molecule(METHANOL), MAPPING)
    ethane, _ = molecule(ETHANE, 5)
    decoupled = quiltmd.decouple(ethane, range(8), intramolecular="scale")
    ends = [energy(at_lambdas(decoupled, *end), state) for end in ((0, 0), (1, 1))]
    solvated, _ = molecule(METHANOL, 5)
    order = np.array([*range(6), *range(8, ethane.atoms)])
    solvated = _cut(solvated, 6, ethane.atoms - 8)
    other = quiltmd.State.start(solvated, state.positions[order], state.box)
    methanol = quiltmd.decouple(solvated, range(6), intramolecular="scale")
    theirs = [energy(at_lambdas(methanol, *end), other) for end in ((0, 0), (1, 1))]
    # Bonded terms and 1-4 pairs, which decoupling keeps, of both molecules.
    first = ends[0] - ends[1] + _inner(ethane, state, 8)
    last = theirs[0] - theirs[1] + _inner(solvated, other, 6)
    turned = energy(at_lambdas(hybrid, 1, 1, 1), state) - energy(at_lambdas(hybrid, 0, 0, 0), state)
    kept = dummy_energy(_last_terms(hybrid), state, {*range(6)}, 8)
    assert turned - kept == pytest.approx(last - first, abs=1e-6)


def _inner(system: Any, state: Any, count: int) -> float:
    """Energy of the terms."""
    bare = replace(system, charges=0 * system.charges, lj_a=0 * system.lj_a, lj_b=0 * system.lj_b)
    return energy(bare, state)


def test_bits_do_not_depend_on_ranks() -> None:
    system, start = quiltmd.hybrid(molecule(ETHANE, 6), molecule(METHANOL), MAPPING)
    system = at_lambdas(system, 0.37, 0.37, 0.37)
    calm = simulate(system, start)
    calm.minimize(1000.0, 20)
    calm.draw_velocities(300, 1)
    start, seen = calm.state(), []
    for where in ({"ranks": 1}, {"ranks": 2}, {"ranks": 3}, {"ranks": 5}):
        dynamics = quiltmd.LangevinMiddle(timestep=0.001, seed=3)
        simulation = simulate(system, start, integrator=dynamics, **where)
        simulation.run(20)
        simulation.set_conditions(lambda_coulomb=0.5, lambda_vdw=0.6, lambda_bonded=0.2)
        simulation.run(20)
        seen.append((simulation.positions(), simulation.state_energies(), simulation.dhdl()))
    for other in seen[1:]:
        for one, another in zip(seen[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


def test_a_molecule_into_itself_changes_nothing() -> None:
    a, place = molecule(ETHANE, 5)
    with pytest.raises(InputError, match="nothing changes"):
        quiltmd.hybrid((a, place), molecule(ETHANE), {k: k for k in range(8)})
    fewer = {k: k for k in range(6)}
    system, state = quiltmd.hybrid((a, place), molecule(ETHANE), fewer)
    # Both pairs of hydrogens are in the same places, and only one of them interacts.
    np.testing.assert_allclose(state.positions[-2:], state.positions[6:8], atol=1e-9)
    ends = [energy(at_lambdas(system, *[end] * 3), state) for end in (0, 1)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-7)


def test_mappings_are_read_from_json(tmp_path: Path) -> None:
    a, b = molecule(ETHANE), molecule(METHANOL)
    expected = quiltmd.hybrid(a, b, MAPPING)[0].alchemy
    ways = {
        "dict": {str(k): v for k, v in MAPPING.items()},
        "pairs": [list(pair) for pair in MAPPING.items()],
        "openfe": {"componentA_to_componentB": {str(k): v for k, v in MAPPING.items()}},
    }
    for name, way in ways.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(way))
        found = quiltmd.hybrid(a, b, path)[0].alchemy
        np.testing.assert_array_equal(found.last_charges, expected.last_charges)
    path = tmp_path / "wrong.json"
    for text, words in (("[1, 2", "is not a JSON file"), ("[1, 2]", "must have pairs of atoms")):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            quiltmd.hybrid(a, b, path)
    with pytest.raises(InputError, match="No such file"):
        quiltmd.hybrid(a, b, tmp_path / "none.json")


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({}, "the mapping is empty"),
        ({0: 9}, "names atom 9 of the second system, which has 6 atoms"),
        ({-1: 0}, "names atom -1 of the first system"),
        ({0: 0, 1: 0}, "names atom 0 of the second system twice"),
        ({0: 0.5}, "must have pairs of atoms"),
        ({0: 0, 1: 5}, "are bonded in one molecule and not in the other"),
        ({0: 0, 7: 1}, "do not interact in one molecule, and do in the other|are bonded in one"),
    ],
    ids=str,
)
def test_mappings_without_sense_are_refused(mapping: dict[int, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        quiltmd.hybrid(molecule(ETHANE), molecule(METHANOL), mapping)


def test_what_cannot_change_is_refused_by_name() -> None:
    (a, place_a), (b, place_b) = molecule(ETHANE), molecule(METHANOL)

    def refused(one: Any, other: Any, words: str) -> None:
        with pytest.raises(InputError, match=words):
            quiltmd.hybrid((one, place_a), (other, place_b), MAPPING)

    def held(system: Any, length: float) -> Any:
        return replace(
            system,
            constraints=np.array([(0, 4)]),
            constraint_lengths=np.array([length]),
            terms={
                name: (terms.chosen(np.arange(len(terms)) > 0) if name == "bond" else terms)
                for name, terms in system.terms.items()
            },
        )

    refused(held(a, 0.15), b, "is in the first molecule alone: constraints cannot change")
    refused(held(a, 0.15), held(b, 0.14), "0.14 nm in the second molecule and 0.15 in the first")
    refused(a, held(b, 0.14), "and none in the first")
    other = replace(b, lj_a=2 * b.lj_a - np.diag(np.diag(b.lj_a)))
    refused(a, other, "neither the Lorentz-Berthelot nor")
    with pytest.raises(InputError, match="a molecule without mapped atoms"):
        quiltmd.hybrid((a, place_a), molecule(METHANOL, 5), MAPPING)
    decoupled = quiltmd.decouple(a, [0])
    with pytest.raises(InputError, match="with alchemical atoms cannot be made into a hybrid"):
        quiltmd.hybrid((decoupled, place_a), (b, place_b), MAPPING)
    with pytest.raises(InputError, match="switch charges off first, or set alpha_coulomb"):
        quiltmd.hybrid((a, place_a), (b, place_b), MAPPING, alpha_coulomb=0)
    charged = replace(b, charges=b.charges + 1 / 6)
    with pytest.warns(quiltmd.QuiltWarning, match="the charge of the system changes by \\+1 e"):
        quiltmd.hybrid((a, place_a), (charged, place_b), MAPPING)


def test_steps_that_are_redone_leave_no_trace() -> None:
    """A fast water leaves the buffer of its list, before and after a change of all lambdas."""
    system, start = quiltmd.hybrid(molecule(ETHANE, 6), molecule(METHANOL), MAPPING)
    calm = simulate(system, start)
    calm.minimize(1000.0, 20)
    calm.draw_velocities(300, 1)
    start = calm.state()
    fast = np.array(start.velocities)
    fast[20:23] += (11.0, 0.0, 0.0)
    start, ends = replace(start, velocities=fast), []
    for ranks in (1, 3):
        dynamics = quiltmd.LangevinMiddle(timestep=0.001, seed=3, friction=0.01)
        simulation = simulate(system, start, integrator=dynamics, ranks=ranks)
        redone = 0
        for point in (0.37, 0.6):
            simulation.set_conditions(
                lambda_coulomb=point, lambda_vdw=point, lambda_bonded=1 - point
            )
            simulation.run(30)
            assert simulation.describe()["early_rebuilds"] > redone
            redone = simulation.describe()["early_rebuilds"]
        ends.append((quiltmd.digest(simulation.state()), simulation.state_energies().tolist()))
        state = simulation.state()
    assert ends[0] == ends[1]
    # Energies of the states are those of the positions where all of it ended.
    expected = [
        energy(at_lambdas(system, *row), state, settings())
        for row in (*system.alchemy.states[[0, 10]], (0.6, 0.6, 0.4))
    ]
    found = np.array(ends[0][1])[[0, 10]]
    np.testing.assert_allclose(found, np.array(expected[:2]) - expected[2], atol=3e-3)
