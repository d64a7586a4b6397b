# SPDX-License-Identifier: Apache-2.0
"""System, State, box and molecules: what they promise, for random boxes and molecules."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiltmd.description.box import box_from_lengths_angles, check_box, lengths_angles, reduce_box
from quiltmd.description.elements import elements_of
from quiltmd.description.molecules import make_whole, molecule_of_atom
from quiltmd.description.state import State
from quiltmd.description.system import System
from quiltmd.description.term_forms import TERM_FORMS
from quiltmd.description.topology import Topology
from quiltmd.engine.core import load_core
from quiltmd.errors import InputError, SimulationError
from quiltmd.inputs import load


def chains(*sizes: int, **changes: Any) -> System:
    """Chains of argon atoms, bonded one to the next."""
    atoms = sum(sizes)
    ends = np.cumsum(sizes) - 1
    first = np.setdiff1d(np.arange(atoms), ends)
    masses = np.full(atoms, 39.9)
    fields: dict[str, Any] = {
        "masses": masses,
        "charges": np.zeros(atoms),
        "lj_types": np.zeros(atoms, dtype=int),
        "lj_a": [[1e-6]],
        "lj_b": [[1e-3]],
        "bonds": np.column_stack([first, first + 1]),
        "bond_parameters": np.tile([0.3, 1000.0], (len(first), 1)),
        "topology": Topology.unnamed(masses),
    }
    for name in ("angles", "torsions", "pairs14", "exclusions", "constraints"):
        fields[name] = []
    for name in ("angle", "torsion", "pair14"):
        fields[f"{name}_parameters"] = []
    return System(**{**fields, "constraint_lengths": [], **changes})


def test_arrays_are_typed_contiguous_and_the_systems_own() -> None:
    system = chains(3, 2)
    arrays = system.arrays()
    assert {a.dtype for a in arrays.values()} == {np.dtype(np.float64), np.dtype(np.int32)}
    assert all(a.flags.c_contiguous and a.flags.writeable for a in arrays.values())
    assert arrays["torsions"].shape == (0, 4)
    arrays["masses"][:] = 0
    assert (system.masses == 39.9).all()
    with pytest.raises(ValueError, match="read-only"):
        system.masses[0] = 1
    with pytest.raises(FrozenInstanceError):
        system.masses = arrays["masses"]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"charges": np.zeros(4)}, r"charges has shape \(4,\), not \(N\)"),
        ({"charges": [0, 0, np.nan]}, r"charges\[2\] is not a finite number"),
        ({"bonds": [[0, 1], [1, 3]]}, r"bonds\[1\] names an atom that does not exist"),
        ({"bonds": [[0, 1], [1, 1]]}, r"bonds\[1\] names an atom twice"),
        ({"bonds": [[0, 1]]}, "differ in length"),
        ({"masses": [1, 0, 1]}, r"atom 2 \(X of UNK 1\) has mass 0"),
        ({"lj_types": [0, 0, 1]}, "atom 3 .* without parameters"),
        ({"exclusions": [[1, 0]]}, "lower atom first"),
        ({"lj_a": [[1, 2], [3, 1]], "lj_b": np.ones((2, 2))}, "not symmetric"),
        ({"constraints": [[0, 1]], "constraint_lengths": [0]}, "atom 1 .* no positive length"),
        (
            {"constraints": [[1, 0], [1, 2], [2, 0]], "constraint_lengths": [0.1, 0.25, 0.1]},
            r"atom 2 .* atom 3 .* is 0\.25 nm long, .* of its triangle \(0\.1 and 0\.1 nm\)",
        ),
        ({"topology": Topology.unnamed(np.ones(2))}, "names 2 atoms, not 3"),
    ],
)
def test_bad_systems_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        chains(3, **changes)


def test_bad_states_are_refused() -> None:
    box = 3.0 * np.eye(3)
    good = np.zeros((3, 3))
    bad = good.copy()
    bad[1, 2] = np.inf
    with pytest.raises(InputError, match="atom 2: velocities are not finite"):
        State(good, bad, box)
    with pytest.raises(InputError, match="shape"):
        State(good, np.zeros((2, 3)), box)
    with pytest.raises(InputError, match="reduced"):
        State(good, good, [[3, 0, 0], [2, 3, 0], [0, 0, 3]])
    with pytest.raises(InputError, match="lower triangular"):
        State(good, good, [[3, 1, 0], [0, 3, 0], [0, 0, 3]])


def test_molecules_are_numbered_by_first_atom() -> None:
    links = np.array([[4, 1], [2, 5], [5, 3]])
    assert molecule_of_atom(6, links).tolist() == [0, 1, 2, 2, 1, 2]
    assert chains(2, 1, 3).molecules.tolist() == [0, 0, 1, 2, 2, 2]


lengths = st.floats(1.0, 9.0)


@st.composite
def boxes(draw: st.DrawFn) -> np.ndarray:
    shape = draw(st.sampled_from(["right", "octahedron", "hexagonal", "any"]))
    if shape == "octahedron":
        return box_from_lengths_angles([draw(lengths)] * 3, [109.4712206] * 3)
    if shape == "any":
        angles = draw(st.lists(st.floats(65, 115), min_size=3, max_size=3))
    else:
        angles = [90.0, 90.0, 60.0 if shape == "hexagonal" else 90.0]
    return box_from_lengths_angles([draw(lengths), draw(lengths), draw(lengths)], angles)


@given(boxes())
@settings(max_examples=100, deadline=None)
def test_boxes_are_reduced_and_keep_their_lattice(box: np.ndarray) -> None:
    check_box(box)
    np.testing.assert_allclose(reduce_box(box), box, atol=1e-12)
    edges, angles = lengths_angles(box)
    again = box_from_lengths_angles(edges, angles)
    images = np.linalg.solve(box.T, again.T)
    np.testing.assert_allclose(images, np.round(images), atol=1e-6)
    assert np.linalg.det(again) == pytest.approx(np.linalg.det(box), rel=1e-6)


@given(boxes(), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 40), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_molecules_are_made_whole(box: np.ndarray, seed: int, sizes: list[int]) -> None:
    random = np.random.default_rng(seed)
    system = chains(*sizes)
    step = 0.15 * box[2, 2] * random.random((system.atoms, 1))
    direction = random.normal(size=(system.atoms, 3))
    steps = step * direction / np.linalg.norm(direction, axis=1)[:, None]
    whole = np.cumsum(steps * min(1.0, box[0, 0] / box[2, 2], box[1, 1] / box[2, 2]), axis=0)
    cut = whole + random.integers(-2, 3, size=whole.shape) @ box
    healed = make_whole(cut, box, system.links)
    first = np.unique(system.molecules, return_index=True)[1]
    np.testing.assert_array_equal(healed[first], cut[first])
    moved = healed - whole
    np.testing.assert_allclose(moved, moved[first][system.molecules], atol=1e-9)
    np.testing.assert_array_equal(make_whole(healed, box, system.links), healed)


def test_a_molecule_that_closes_on_itself_is_left_connected_by_a_tree() -> None:
    ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    positions = np.array([[0.1, 0, 0], [0.9, 0, 0], [1.7, 0, 0], [2.5, 0, 0]])
    healed = make_whole(positions, 3.2 * np.eye(3), ring)
    images = (healed - positions) / 3.2
    np.testing.assert_allclose(images, np.round(images), atol=1e-12)


@given(boxes(), st.tuples(*[st.integers(1, 3)] * 3))
@settings(max_examples=50, deadline=None)
def test_tiles_repeat_the_lattice(box: np.ndarray, counts: tuple[int, int, int]) -> None:
    system = chains(2, 3)
    positions = np.random.default_rng(0).random((5, 3)) @ box
    state = State(positions, positions, box)
    tiled, many = state.tile(*counts), system.tile(*counts)
    copies = int(np.prod(counts))
    assert many.atoms == len(tiled.positions) == 5 * copies
    assert many.molecules.max() + 1 == 2 * copies
    assert len(many.topology.residue_names) == copies
    assert np.linalg.det(tiled.box) == pytest.approx(copies * np.linalg.det(box))
    images = (tiled.positions.reshape(copies, 5, 3) - positions) @ np.linalg.inv(box)
    np.testing.assert_allclose(images, np.round(images), atol=1e-9)
    inside = images[:, 0] @ box @ np.linalg.inv(tiled.box)
    distinct = np.unique(np.round((inside - np.floor(inside + 1e-9)) * 60).astype(int), axis=0)
    assert len(distinct) == copies


def test_tiling_keeps_terms_and_parameters_together(alanine: tuple[Path, Path]) -> None:
    system, state = load(*alanine, constraints="h-bonds")
    many, tiled = system.tile(2, 1, 2), state.tile(2, 1, 2)
    for name in ("bonds", "angles", "torsions", "pairs14", "exclusions", "constraints"):
        terms = getattr(many, name).reshape(4, -1, getattr(system, name).shape[1])
        np.testing.assert_array_equal(terms[3] - 3 * system.atoms, getattr(system, name))
    ends = tiled.positions[many.constraints]
    distances = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    one = np.linalg.norm(np.diff(state.positions[system.constraints], axis=1)[:, 0], axis=1)
    np.testing.assert_allclose(distances, np.tile(one, 4), atol=1e-12)
    assert many.topology.describe(system.atoms).startswith(f"atom {system.atoms + 1} (HH31 of ACE")


def test_elements_survive_mass_repartitioning() -> None:
    masses = np.array([1.008, 3.024, 4.0, 15.999, 12.01, 35.45, 22.99, 65.4, 4.003])
    names = np.array(["H", "HA", "2HB", "O", "CA", "Cl-", "Na+", "ZN", "He"])
    expected = [1, 1, 1, 8, 6, 17, 11, 30, 1]
    assert elements_of(masses, names).tolist() == expected


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(InputError("wrong", file="a.prmtop", line=3, atom=6)))
    assert str(error) == "a.prmtop, line 3, atom 7: wrong"
    assert (error.file, error.line, error.atom) == ("a.prmtop", 3, 6)
    failure = pickle.loads(pickle.dumps(SimulationError(12, "atom 5 flew off")))
    assert (failure.step, str(failure)) == (12, "step 12: atom 5 flew off")


def test_replacing_shares_arrays() -> None:
    system = chains(3)
    other = replace(system, charges=np.ones(3))
    assert other.masses is system.masses


def test_forms_of_terms_are_those_of_the_core() -> None:
    theirs = {form.pop("name"): form for form in load_core().term_forms()}
    for form in theirs.values():
        del form["energies"]
    ours = {
        form.name: {
            "noun": form.noun,
            "part": form.part,
            "atoms": form.atoms,
            "atom_array": form.plural,
            "parameter_array": form.parameter_array,
            "shared_array": form.shared or None,
            "parameters": [(one.name, one.unit) for one in form.parameters],
            "holds_atoms": form.holds_atoms,
            "may_change": form.may_change,
        }
        for form in TERM_FORMS
    }
    assert ours == theirs
