# SPDX-License-Identifier: Apache-2.0
"""The files that preparation writes for `quiltmd run`, and a check that nothing is lost."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..description.system import System
from ..errors import QuiltError
from ..inputs import describe
from ..outputs.files import replace_file
from .force_fields import ForceField
from .libraries import import_openmm
from .notes import Note, as_text, listed
from .repair import Model

STRUCTURE, PDB, RUN, LOG = "system.cif", "system.pdb", "run.toml", "prepare.log"


def refuse_to_replace(folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Refuses a folder that has files of an earlier preparation.

    Raises
    ------
    QuiltError
        Names the first of them.
    """
    for name in (STRUCTURE, PDB, RUN, LOG):
        if (Path(folder) / name).exists() and not overwrite:
            raise QuiltError(
                f"{Path(folder) / name} exists: choose another --out, or give --overwrite to "
                "replace what an earlier preparation wrote"
            )


def write_system(
    model: Model,
    force_field: ForceField,
    folder: str | os.PathLike[str],
    *,
    run: str = "",
    texts: Mapping[str, str] | None = None,
) -> tuple[System, Model]:
    """Writes a model and its force field, reads them back, and compares.

    Parameters
    ----------
    model:
        The whole system.
    force_field:
        Force field of the model; files that do not come with OpenMM are copied.
    folder:
        Folder for the files, created if missing; files in it are replaced.
    run:
        The text of run.toml; none is written where it is empty.
    texts:
        Further files to write, by name, such as parameters of ligands.

    Returns
    -------
    The System as it is read back, and the model with what was noted.

    Raises
    ------
    QuiltError
        If what is read back differs from what was written.
    """
    app = import_openmm().app
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    _name_chains(model.topology)
    for name, text in {**(texts or {}), **_copies(force_field)}.items():
        _write(out / name, text)
    for name, writer in ((STRUCTURE, app.PDBxFile), (PDB, app.PDBFile)):
        stream = io.StringIO()
        writer.writeFile(model.topology, model.positions, stream, keepIds=True)
        _write(out / name, stream.getvalue())
    if run:
        _write(out / RUN, run)
    system, notes = _read_back(model, force_field, out)
    model = model.noting(*notes)
    _write(out / LOG, as_text(model.notes))
    return system, model


def parameter_names(force_field: ForceField) -> list[str]:
    """Names of the force field's files as a run.toml beside them has them."""
    return [os.path.basename(name) if os.path.isabs(name) else name for name in force_field.files]


def _copies(force_field: ForceField) -> dict[str, str]:
    """Texts of the files that do not come with OpenMM, by name."""
    own = [Path(name) for name in force_field.files if os.path.isabs(name)]
    names = [path.name for path in own]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise QuiltError(f"two files of the force field have the name {twice[0]}: rename one")
    return {path.name: path.read_text(encoding="utf-8") for path in own}


def _write(path: Path, text: str) -> None:
    replace_file(path, text.encode("utf-8"))


def _name_chains(topology: Any) -> None:
    """Gives chains that OpenMM has added names that no other chain has."""
    names: set[str] = set()
    for number, chain in enumerate(topology.chains(), 1):
        if chain.id in names:
            chain.id = f"X{number}"
        names.add(chain.id)


def _read_back(model: Model, force_field: ForceField, out: Path) -> tuple[System, list[Note]]:
    files = [
        os.fspath(out / name) if os.path.isabs(of) else name
        for name, of in zip(parameter_names(force_field), force_field.files, strict=True)
    ]
    app = import_openmm().app
    periodic = model.topology.getPeriodicBoxVectors() is not None
    method = app.PME if periodic else app.NoCutoff
    made = force_field.create_system(model.topology, nonbondedMethod=method)
    read = describe(out / STRUCTURE, files).system
    ours = replace(System.from_openmm(made, model.topology), nonbonded=read.nonbonded)
    if differing := differences(ours, read):
        raise QuiltError(
            f"{out / STRUCTURE}: read back, {listed(differing)} are not as they were written; "
            "please report this as a defect of quiltmd prepare"
        )
    charge = round(float(np.sum(read.charges)), 2) + 0.0  # no minus zero
    odd = abs(charge) > 0.01
    text = f"{read.atoms} atoms, net charge {charge:+.2f}: " + (
        "not neutral; PME adds a uniform background charge."
        if odd and periodic
        else "as read back."
    )
    return read, [
        Note("files", f"{STRUCTURE}: all atoms with box, for quiltmd run; {PDB}: for viewers."),
        Note("files", f"Force field: {force_field.title}."),
        Note("system", text, check=odd and periodic),
    ]


def differences(first: System, second: System) -> list[str]:
    """Differences between two systems with the same atoms in the same order.

    Terms are compared by number and by the sum of each parameter, as readers order them freely.
    """
    if first.atoms != second.atoms:
        return [f"the numbers of atoms, {first.atoms} and {second.atoms},"]
    found = [
        name
        for name in ("masses", "charges")
        if not np.allclose(getattr(first, name), getattr(second, name), rtol=0, atol=1e-12)
    ]
    own = [np.diag(one.lj_a)[one.lj_types] for one in (first, second)]
    if not np.allclose(own[0], own[1], rtol=1e-12):
        found.append("Lennard-Jones parameters")
    for name in sorted({*first.terms, *second.terms}):
        ours, theirs = first.terms[name], second.terms[name]
        sums = [one.parameters.sum(axis=0) for one in (ours, theirs)]
        if len(ours) != len(theirs) or not np.allclose(sums[0], sums[1], 1e-9, 1e-9):
            found.append(ours.form.plural)
    return found
