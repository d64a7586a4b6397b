# SPDX-License-Identifier: Apache-2.0
"""`System.of`: systems made on the spot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quiltmd import InputError, Nonbonded, State, System, reference
from quiltmd.description.sites import average, site_fields


def potential(system: System, places: list[list[float]]) -> float:
    state = State.start(system, np.array(places), None)
    return float(reference(system, state, Nonbonded(method="no-cutoff"))[0]["potential"])


def lennard_jones(sigma: float, epsilon: float, r: float) -> float:
    return 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)


def test_argon_in_one_line() -> None:
    argon = System.of(np.full(2, 39.948), sigma=0.34, epsilon=0.996)
    assert argon.topology.elements.tolist() == [18, 18]
    assert argon.topology.describe(1) == "atom 2 (A1 of UNK 1)"
    expected = lennard_jones(0.34, 0.996, 0.4)
    assert potential(argon, [[0, 0, 0], [0.4, 0, 0]]) == pytest.approx(expected, rel=1e-12)


def test_sigma_and_epsilon_of_each_atom_follow_lorentz_and_berthelot() -> None:
    system = System.of([12.0, 16.0, 12.0], sigma=[0.3, 0.4, 0.3], epsilon=[1.0, 0.25, 1.0])
    assert len(system.lj_a) == 2
    expected = lennard_jones(0.35, 0.5, 0.4) + lennard_jones(0.35, 0.5, 0.5)
    expected += lennard_jones(0.3, 1.0, 0.9)
    places = [[0, 0, 0], [0.4, 0, 0], [0.9, 0, 0]]
    assert potential(system, places) == pytest.approx(expected, rel=1e-12)


def test_atoms_alone_do_not_interact() -> None:
    system = System.of([4.0, 40.0])
    assert potential(system, [[0, 0, 0], [0.1, 0, 0]]) == 0
    assert len(system.terms.present()) == len(system.constraints) == len(system.exclusions) == 0


def test_what_is_joined_is_excluded() -> None:
    system = System.of(
        [16.0, 1.008, 1.008, 0.0, 12.0],
        charges=0.1,
        terms={"bond": ([[1, 0]], [[0.1, 1e5]]), "pair14": ([[4, 0]], [[0.1, 0.3, 1.0]])},
        constraints=[[0, 2]],
        constraint_lengths=[0.1],
        **site_fields([average(3, (0, 1, 2), (0.8, 0.1, 0.1))]),
    )
    expected = [[0, 1], [0, 2], [0, 3], [0, 4], [1, 3], [2, 3]]
    assert system.exclusions.tolist() == expected
    assert system.topology.elements[:3].tolist() == [8, 1, 1]
    assert len(System.of([1.0, 1.0], bonds=[[0, 1]], bond_parameters=[[1, 1]]).exclusions) == 1
    apart = {"bonds": [[0, 1]], "bond_parameters": [[1, 1]], "exclusions": []}
    assert len(System.of([1.0, 1.0], **apart).exclusions) == 0


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(InputError, match="sigma and epsilon must be given together"):
        System.of([40.0], sigma=0.3)
    with pytest.raises(InputError, match="either sigma and epsilon or lj_types"):
        System.of([40.0], sigma=0.3, epsilon=1.0, lj_a=[[1.0]])
    with pytest.raises(InputError, match=r"bonds\[0\] names an atom that does not exist"):
        System.of([40.0], bonds=[[0, 1]], bond_parameters=[[0.1, 1.0]])
    one_bond = [[0, 1]], [[0.1, 1.0]]
    with pytest.raises(InputError, match=r"either bonds or terms\['bond'\], not both"):
        System.of(
            [4.0, 4.0], bonds=one_bond[0], bond_parameters=one_bond[1], terms={"bond": one_bond}
        )
    bond = System.of([4.0, 4.0], terms={"bond": one_bond}).terms["bond"]
    with pytest.raises(InputError, match=r"terms\['angle'\] are of the form 'bond'"):
        System.of([4.0, 4.0], terms={"angle": bond})
    with pytest.raises(InputError, match=r"terms\['bond'\] are given twice"):
        System.of([4.0, 4.0], terms={"bond": one_bond, bond.form: one_bond})
    with pytest.raises(InputError, match=r"masses has shape \(1, 2\)"):
        System.of([[4.0, 4.0]])
    with pytest.raises(TypeError, match="spring"):
        System.of([40.0], spring=1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sigma": -0.3, "epsilon": 1.0}, "atom 1: sigma is -0.3, not 0 or more"),
        ({"sigma": 0.3, "epsilon": [1.0, -1.0, -1.0]}, "atom 2: epsilon is -1, not 0 or more"),
        ({"sigma": float("inf"), "epsilon": 1.0}, "atom 1: sigma is inf"),
        ({"sigma": 0.3, "epsilon": float("nan")}, "atom 1: epsilon is nan"),
        ({"sigma": [0.3, 0.3], "epsilon": 1.0}, r"sigma has shape \(2,\): .* or 3, one for each"),
        ({"sigma": "wide", "epsilon": 1.0}, "sigma must be a number, in nm"),
        ({"charges": [1.0]}, r"charges has shape \(1,\): .* or 3, one for each"),
        ({"charges": "+1"}, "charges must be"),
        ({"constraints": [[0], [1, 2]]}, "system.constraints must be an array of numbers"),
        ({"constraints": [0, 1, 2]}, r"system.constraints has shape \(3,\)"),
    ],
)
def test_numbers_of_atoms_that_make_no_sense(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        System.of([4.0, 4.0, 4.0], **given)
