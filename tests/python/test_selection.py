# SPDX-License-Identifier: Apache-2.0
"""Selections: words, names, numbers, how they are joined, and what is said of mistakes."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import quiltmd
from quiltmd import QuiltError, select
from quiltmd.description.elements import SYMBOLS


@pytest.fixture(scope="module")
def system(openmmtools_data: Path) -> Any:
    """ACE-ALA-NME, 22 atoms, then water."""
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    files = folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"
    return quiltmd.load(*files, constraints="h-bonds")[0]


@pytest.mark.parametrize(
    "text", ["(" * 3000 + "all" + ")" * 3000, "not " * 5000 + "all", "index " + "1" * 5000]
)
def test_very_long_ones_are_refused(system: Any, text: str) -> None:
    with pytest.raises(QuiltError, match=r"more than 200|takes numbers"):
        select(system, text)


def test_kinds(system: Any) -> None:
    assert select(system, "solute").tolist() == list(range(22))
    assert select(system, "protein").tolist() == list(range(22))
    assert len(select(system, "water")) == system.atoms - 22
    assert len(select(system, "solute and heavy")) == 10
    assert len(select(system, "solute and hydrogen")) == 12
    names = system.topology.atom_names[select(system, "backbone and resname ALA")]
    assert names.tolist() == ["N", "CA", "C", "O"]


def test_fields_and_joins(system: Any) -> None:
    assert select(system, "index 2-4 9").tolist() == [1, 2, 3, 8]
    assert (
        select(system, "resid 2 and name C*").tolist()
        == select(system, "resname ALA and element C").tolist()
    )
    either = select(system, "name CA or not solute")
    assert len(either) == system.atoms - 22 + 1
    grouped = select(system, "solute and (name CA or name N) and not resname NME")
    assert system.topology.atom_names[grouped].tolist() == ["N", "CA"]
    everything = select(system, "hydrogen or heavy")
    np.testing.assert_array_equal(everything, np.arange(system.atoms))


@pytest.mark.parametrize(
    "text",
    [
        "protein and not name H*",
        "resid 1:2 or (resname NME and name C CA)",
        "(resnum 2-3 or bynum 1:4 100-103) and not backbone",
        "segid SYSTEM and element O and not protein",
    ],
)
def test_what_mdanalysis_selects(system: Any, openmmtools_data: Path, text: str) -> None:
    file = openmmtools_data / "alanine-dipeptide-explicit" / "alanine-dipeptide.prmtop"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe(file)
        universe.add_TopologyAttr("elements", np.array(SYMBOLS)[system.topology.elements])
    chains = dataclasses.replace(
        system.topology, chain_ids=np.full(len(system.topology.residue_names), "SYSTEM")
    )
    named = dataclasses.replace(system, topology=chains)
    assert select(named, text).tolist() == universe.select_atoms(text).indices.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty selection"),
        ("protien", "cannot be read at 'protien'; known are all, solute"),
        ("protein and", "cannot be read at its end"),
        ("(protein", "lacks a closing parenthesis"),
        ("protein water", "cannot be read at 'water'"),
        ("name", "no value for 'name'"),
        ("resid A", "takes numbers and ranges such as 1-10, not 'A'"),
        ("resname XXX", "has no atoms"),
    ],
)
def test_mistakes(system: Any, text: str, message: str) -> None:
    with pytest.raises(QuiltError, match=message.replace("(", r"\(")):
        select(system, text)
