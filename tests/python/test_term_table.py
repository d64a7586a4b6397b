# SPDX-License-Identifier: Apache-2.0
"""`System.terms`: the table, its views, and that forms do what they say."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from boxes import water_box

import quiltmd
from quiltmd import InputError, Nonbonded, QuiltError, State, System, VelocityVerlet
from quiltmd.description.expression_values import evaluate
from quiltmd.description.expressions import Expression
from quiltmd.description.impulses import check_impulses
from quiltmd.description.term_forms import TERM_FORMS, TermForm
from quiltmd.description.terms import VIEWS, Terms
from quiltmd.description.vibrations import fastest_vibration
from quiltmd.inputs.constrain import constrain

ALL = [pytest.param(form, id=form.name) for form in TERM_FORMS]
WITH_MINIMUM = [pytest.param(form, id=form.name) for form in TERM_FORMS if form.minimum]


def parameters(form: TermForm) -> Any:
    """Some that all forms accept: positive, lower <= upper <= linear."""
    values = np.sort(np.random.default_rng(len(form.name)).uniform(0.05, 0.3, form.columns))
    for column, parameter in enumerate(form.parameters):
        if parameter.values == "periodicity":
            values[column] = 3
        if parameter.name in ("a", "b", "c"):  # fractions of a box, which there is not
            values[column] = 0
        if parameter.name == "longest":
            values[column] = 3  # beyond the distances here
    return np.zeros((1, 1)) if form.shared else values[None]


def of_one(form: TermForm, values: Any) -> System:
    """Atoms that interact by one term alone."""
    count = max(form.atoms, 2)
    shared = np.random.default_rng(3).normal(size=(1, 5, 5)) if form.shared else ()
    return System.of(
        np.full(count, 12.0),
        terms={form.name: ([range(form.atoms)], values, shared)},
    )


def energy(system: System, places: Any) -> float:
    state = State.start(system, places, None)
    return float(quiltmd.reference(system, state, Nonbonded(method="no-cutoff"))[0]["potential"])


def chain(atoms: int) -> Any:
    rng = np.random.default_rng(atoms)
    count = max(atoms, 2)
    return np.cumsum([0.8, 0.6, 0.4] * rng.uniform(0.5, 1.5, (count, 3)), axis=0)


@pytest.mark.parametrize("form", ALL)
def test_strengths_scale_the_energy(form: TermForm) -> None:
    system, places = of_one(form, parameters(form)), chain(form.atoms)
    whole = energy(system, places)
    assert whole != 0
    scaled = system.with_terms(system.terms[form].scaled(0.25))
    assert energy(scaled, places) == pytest.approx(0.25 * whole, rel=1e-12)


@pytest.mark.parametrize("form", ALL)
def test_energies_are_those_that_forms_state(form: TermForm) -> None:
    if not form.energy:
        # which no expression of OpenMM says
        assert form.name in ("cmap", "opposite_force", "bending_torsion")
        return
    values, r = parameters(form), chain(form.atoms)
    if form.atoms == 1:  # from the place that holds the atom
        place = values[0, 3:6] if form.name == "position_restraint" else 0  # the origin
        coordinates = dict(zip("xyz", r[0] - place, strict=True))
    else:
        coordinates = {"r": np.linalg.norm(r[1] - r[0]), "theta": angle(r)}
    known = {p.symbol: value for p, value in zip(form.parameters, values[0], strict=True)}
    (stated,) = evaluate([Expression(form.energy).root], known | coordinates)
    assert energy(of_one(form, values), r) == pytest.approx(float(stated), rel=1e-9)


def angle(r: Any) -> float:
    """Of three or four atoms."""
    if len(r) < 3:
        return 0.0
    first, second = r[0] - r[1], r[2] - r[1]
    if len(r) == 3:
        return float(np.arctan2(np.linalg.norm(np.cross(first, second)), first @ second))
    left, right = np.cross(-first, second), np.cross(second, r[3] - r[2])
    return float(np.arctan2(np.linalg.norm(second) * (-first @ right), left @ right))


@pytest.mark.parametrize("form", WITH_MINIMUM)
def test_minima_are_where_forms_say(form: TermForm) -> None:
    values = parameters(form)
    if form.part == "restraint":
        values[0, 1] = values[0, 0]  # without a flat bottom
    assert form.minimum is not None
    at = form.minimum.at(values)[0]
    step = 1e-4
    system = of_one(form, values)
    low, middle, high = (energy(system, bent(form, at + off)) for off in (-step, 0.0, step))
    if form.name != "fene":  # whose repulsion has an energy there
        assert middle == pytest.approx(0, abs=1e-12)
    assert high - middle == pytest.approx(low - middle, rel=0.01)
    stiffness = (high + low - 2 * middle) / step**2
    assert stiffness == pytest.approx(form.minimum.stiffness(values)[0], rel=1e-4)


def bent(form: TermForm, value: float) -> Any:
    """Atoms whose distance, angle or dihedral angle has a value."""
    turned = [np.cos(value), np.sin(value), 0.0]
    if form.atoms == 2:
        return np.array([[0.0, 0, 0], [value, 0, 0]])
    if form.atoms == 3:
        return np.array([[1.0, 0, 0], [0, 0, 0], turned])
    return np.array([[1.0, 0, 0], [0, 0, 0], [0, 0, 1], [*turned[:2], 1.0]])


def test_views_are_the_arrays_of_the_table() -> None:
    system, _ = water_box((2, 2, 2), rigid=False)
    for name, view in VIEWS.items():
        assert getattr(system, name) is getattr(system.terms[view.form], view.part)
    same = replace(system, terms={"bond": (system.bonds, system.bond_parameters)})
    assert same.bonds is system.bonds
    assert len(same.angles) == 0
    fewer = replace(system, bonds=system.bonds[1:], bond_parameters=system.bond_parameters[1:])
    assert len(fewer.terms["bond"]) == len(system.bonds) - 1
    assert fewer.angles is system.angles
    again = pickle.loads(pickle.dumps(system))
    np.testing.assert_array_equal(again.terms["angle"].parameters, system.angle_parameters)
    with pytest.raises(AttributeError):
        system.bonds = system.bonds[1:]
    with pytest.raises(ValueError, match="read-only"):
        system.bonds[0, 0] = 1


def test_tables_are_made_of_others() -> None:
    system, _ = water_box((2, 2, 2), rigid=False)
    bonds = system.terms["bond"]
    assert repr(system.terms) == "<TermTable: 16 bonds, 8 angles>"
    assert len(bonds.chosen(bonds.atoms[:, 1] % 3 == 1)) == 8
    both = bonds.joined([[1, 2]], [[0.15, 100.0]])
    assert both.atoms[-1].tolist() == [1, 2]
    assert len(system.with_terms(both).links) == 17
    assert system.terms[bonds.form] is bonds


def test_what_is_wrong_with_terms_is_named() -> None:
    system, _ = water_box((2, 2, 2), rigid=False)
    with pytest.raises(InputError, match=r"bonds\[0\] names an atom that does not exist"):
        system.with_terms(Terms("bond", [[0, 99]], [[0.1, 1.0]]))
    with pytest.raises(InputError, match="bond_parameters differ in length"):
        Terms("bond", [[0, 1]], [])
    with pytest.raises(InputError, match=r"bond_parameters has shape \(1, 3\), not \(n, 2\)"):
        Terms("bond", [[0, 1]], [[0.1, 1.0, 1.0]])
    with pytest.raises(InputError, match="bonds share no data"):
        Terms("bond", [[0, 1]], [[0.1, 1.0]], np.zeros((1, 4, 4)))
    with pytest.raises(InputError, match="no form of terms 'spring'"):
        replace(system, terms={"spring": ([[0, 1]], [[1.0]])})
    with pytest.raises(KeyError, match="no form of terms 'spring', only bond, angle"):
        system.terms["spring"]
    with pytest.raises(InputError, match=r"Urey-Bradley term of atom 1 .* has the k -1, which is"):
        system.with_terms(Terms("urey_bradley", [[0, 1]], [[0.1, -1.0]]))


@pytest.mark.parametrize("form", [pytest.param(f, id=f.name) for f in TERM_FORMS if f.holds_atoms])
def test_springs_between_two_atoms_limit_impulses(form: TermForm) -> None:
    """Two atoms of 12 amu on a spring of 3e6 kJ/mol/nm^2: 2 pi sqrt(6 / 3e6) ps, 8.9 fs."""
    stiffest = parameters(form)
    assert form.minimum is not None
    factor = 3e6 / form.minimum.stiffness(stiffest)[0]
    system = of_one(form, stiffest)
    system = system.with_terms(system.terms[form].scaled(factor))
    found = fastest_vibration(system)
    assert found.period == pytest.approx(2 * np.pi * np.sqrt(6 / 3e6), rel=1e-9)
    assert (found.term, found.atoms) == (form.the, (0, 1))
    check_impulses(VelocityVerlet(timestep=0.0005, long_range_every=7), system)
    with pytest.raises(QuiltError, match=r"at most 4 fs are allowed"):
        check_impulses(VelocityVerlet(timestep=0.0005, long_range_every=9), system)


BONDS = [pytest.param(form, id=form.name) for form in TERM_FORMS if form.part == "bond"]


@pytest.mark.parametrize("form", BONDS)
def test_bonds_to_hydrogen_are_bonds_whatever_their_form(form: TermForm) -> None:
    """They join molecules, lend mass to the hydrogen, and are constrained or refused by name."""
    values = parameters(form)
    system = System.of([12.011, 1.008], terms={form.name: ([[0, 1]], values)})
    assert system.molecules.tolist() == [0, 0]
    assert constrain(system, hydrogen_mass=3.0).masses.tolist() == pytest.approx([10.019, 3.0])
    assert form.minimum is not None
    if not form.minimum.is_length:
        with pytest.raises(InputError, match=f"has {form.noun}, which 'h-bonds' cannot constrain"):
            constrain(system, "h-bonds")
        return
    found = constrain(system, "h-bonds")
    assert found.constraint_lengths.tolist() == form.minimum.at(values).tolist()
    assert found.terms.present() == ()
