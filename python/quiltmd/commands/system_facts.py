# SPDX-License-Identifier: Apache-2.0
"""Contents of input files, for `quiltmd info FILES`: molecules, charges, terms, settings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..description.box import lengths_angles
from ..description.molecules import LARGEST_GROUP, molecule_of_atom
from ..description.nonbonded import Nonbonded
from ..description.selection import atoms_of_kind, water_atoms
from ..description.system import System
from ..errors import QuiltError
from ..inputs import count_frames, describe, read_coordinates, with_names_of
from ..reading.formats import Expected

_BESIDE_TERMS = ("exclusions", "constraints", "sites")
_MOST_KINDS = 12
_MOSTLY = 0.5  # of a polymer's atoms that are in its usual residues


def facts_of_files(
    files: list[Path], parameters: tuple[Path, ...], defines: tuple[str, ...]
) -> dict[str, Any]:
    """Facts of a topology, and of coordinates where there are two files.

    Raises
    ------
    QuiltError
        Names what of the files is not supported.
    """
    if len(files) > 2:
        raise QuiltError(
            f"expected a topology and coordinates, found {len(files)} files; parameter files are "
            "given by --parameters"
        )
    described = describe(files[0], parameters, defines)
    system, box = described.system, described.box
    facts: dict[str, Any] = {}
    if len(files) == 2:
        counts = described.periodic is not False
        expected = Expected(system.atoms, 0, described.box_angle, counts)
        found = read_coordinates(files[1], expected, system)
        system = with_names_of(system, files[1])
        facts["frames"] = count_frames(files[1])
        facts["velocities"] = found.velocities is not None
        facts["box"] = None
        if found.box is not None:
            box = found.box
    if box is not None:
        lengths, angles = lengths_angles(box)
        facts["box"] = [round(float(x), 6) for x in (*lengths, *angles)]
    return system_facts(system) | facts


def system_facts(system: System) -> dict[str, Any]:
    """Facts of a system: counts, net charge (e), mass (amu), molecules by kind, terms."""
    numbers = system.molecules
    kinds, count = np.unique(np.array(_kinds(system)), return_counts=True)
    order = np.argsort(-count, kind="stable")
    molecules = {str(kinds[k]): int(count[k]) for k in order[:_MOST_KINDS]}
    if len(kinds) > _MOST_KINDS:
        molecules["others"] = int(count[order[_MOST_KINDS:]].sum())
    facts: dict[str, Any] = {
        "atoms": system.atoms,
        "residues": len(system.topology.residue_names),
        "net charge": round(float(system.charges.sum()), 6) + 0.0,
        "mass": round(float(system.masses.sum()), 3),
        "molecules": molecules,
        "waters": len(np.unique(numbers[water_atoms(system)])),
        "terms": {terms.form.plural: len(terms) for terms in system.terms.present()}
        | {name: rows for name in _BESIDE_TERMS if (rows := len(getattr(system, name)))},
        "Lennard-Jones types": len(np.unique(system.lj_types)),
    }
    if system.custom is not None:
        facts["custom forces"] = [f"{one.name}: {one.energy}" for one in system.custom.forces]
    if refused := _refused(system):
        facts["refused"] = refused
    if system.nonbonded is not None:
        always = ("method",) if system.nonbonded.method == "no-cutoff" else ("method", "cutoff")
        facts["stated settings"] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(system.nonbonded).items()
            if name in always or value != getattr(Nonbonded, name)
        }
    return facts


def _kinds(system: System) -> list[str]:
    """Kind of each molecule: a polymer by its chain, others by their first residue."""
    topology, numbers = system.topology, system.molecules
    first, residues = np.unique(numbers, return_index=True)[1], topology.residue_of_atom
    sizes = np.bincount(numbers)
    names = topology.residue_names[residues[first]].astype(object)
    for word, polymer in (("protein", "protein"), ("nucleic", "nucleic acid")):
        atoms = atoms_of_kind(system, word)
        for molecule in np.unique(numbers[atoms]):
            own = np.unique(residues[numbers == molecule])
            if len(own) > 1 and atoms[numbers == molecule].mean() > _MOSTLY:
                chain = topology.chain_ids[own[0]]
                of = f"{polymer} chain {chain}" if chain else polymer
                names[molecule] = f"{of}, {len(own)} residues"
    return [f"{name} ({size} atoms)" for name, size in zip(names, sizes, strict=True)]


def _refused(system: System) -> list[str]:
    """Features of the system that a simulation would refuse."""
    sizes = np.bincount(molecule_of_atom(system.atoms, system.constraints))
    large = int((sizes > LARGEST_GROUP).sum())
    if not large:
        return []
    return [
        f"constraints hold {large} set(s) of more than {LARGEST_GROUP} atoms together: "
        "constrain only bonds to hydrogen in large molecules"
    ]
