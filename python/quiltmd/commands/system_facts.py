# SPDX-License-Identifier: Apache-2.0
"""What is in input files: molecules, charges, terms, settings; for `quiltmd info FILES`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..description.box import lengths_angles
from ..description.molecules import LARGEST_GROUP, molecule_of_atom
from ..description.nonbonded import Nonbonded
from ..description.selection import water_atoms
from ..description.system import System
from ..errors import QuiltError
from ..inputs import count_frames, describe, read_coordinates
from ..inputs.control import read_control
from ..inputs.formats import Expected
from ..running.folder import Folder

_BESIDE_TERMS = ("exclusions", "constraints", "sites")
_MOST_KINDS = 12


def facts_of_files(
    files: list[Path], parameters: tuple[Path, ...], defines: tuple[str, ...]
) -> dict[str, Any]:
    """Facts of a topology, with coordinates if there are two files, or of a control file.

    Raises
    ------
    QuiltError
        Names what of the files is not supported; for a folder or a configuration, the command that
        is for it.
    """
    for path in files:
        _refuse_other_than_inputs(path)
    control = read_control(files[0]) if len(files) == 1 else None
    if control is not None:
        return {
            "settings": control.settings,
            "not taken over": control.notes,
            "refused": control.refused,
        }
    if len(files) > 2:
        raise QuiltError(
            f"expected a topology and coordinates, found {len(files)} files; parameter files are "
            "given by --parameters"
        )
    described = describe(files[0], parameters, defines)
    facts = system_facts(described.system)
    box = described.box
    if len(files) == 2:
        counts = described.periodic is not False
        expected = Expected(described.system.atoms, 0, described.box_angle, counts)
        found = read_coordinates(files[1], expected, described.system)
        facts["frames"] = count_frames(files[1])
        facts["velocities"] = found.velocities is not None
        if found.box is not None:
            box = found.box
    if len(files) == 2:
        facts["box"] = None
    if box is not None:
        lengths, angles = lengths_angles(box)
        facts["box"] = [round(float(x), 6) for x in (*lengths, *angles)]
    return facts


def _refuse_other_than_inputs(path: Path) -> None:
    """QuiltError where this is a folder or a configuration; it says which command is for that."""
    if path.suffix == ".toml":
        raise QuiltError(
            f"{path} is a configuration: give the topology and the coordinates that its [system] "
            "names"
        )
    if not path.is_dir():
        return
    folder = Folder(path)
    if not folder.config.exists():
        raise QuiltError(f"{path} is a folder: give a topology, and coordinates")
    folder.settings_of_run()  # which says what to do with stages and replicas
    raise QuiltError(
        f"{path} is the folder of a run: 'quiltmd report {path}' makes a page of it, "
        f"'quiltmd watch {path}' shows it in the terminal"
    )


def system_facts(system: System) -> dict[str, Any]:
    """Facts of a system: counts, net charge (e), mass (amu), molecules by kind, terms."""
    numbers = system.molecules
    first = np.unique(numbers, return_index=True)[1]
    sizes = np.bincount(numbers)
    names = system.topology.residue_names[system.topology.residue_of_atom[first]]
    kinds, count = np.unique(
        np.array([f"{name} ({size} atoms)" for name, size in zip(names, sizes, strict=True)]),
        return_counts=True,
    )
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


def _refused(system: System) -> list[str]:
    """What no simulation of the system could do."""
    sizes = np.bincount(molecule_of_atom(system.atoms, system.constraints))
    large = int((sizes > LARGEST_GROUP).sum())
    if not large:
        return []
    return [
        f"constraints hold {large} set(s) of more than {LARGEST_GROUP} atoms together: only bonds "
        "to hydrogen and rigid water may be constrained"
    ]
