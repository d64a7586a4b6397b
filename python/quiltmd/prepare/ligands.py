# SPDX-License-Identifier: Apache-2.0
"""Ligands: small molecules from SDF files, with OpenFF's parameters.

OpenFF's toolkit, openmmforcefields and AmberTools are used where they are installed; without them
a ligand is refused with what to install.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import InputError, QuiltError, one_line
from .libraries import import_openmm
from .notes import Note
from .repair import Model

OPENFF = "openff-2.2.1"
_PACKAGES = "conda install -c conda-forge openmmforcefields openff-toolkit ambertools"
_LONGEST = 300  # characters of a message of OpenFF, which may be pages
_FAR = 0.8  # nm: beyond that a ligand touches nothing
_NEAR = 0.12


@dataclass(frozen=True)
class Ligand:
    """A small molecule with coordinates and parameters.

    Attributes
    ----------
    file:
        The SDF file.
    name:
        Name of its residue in the written files.
    molecule:
        An `openff.toolkit.Molecule`.
    parameters:
        The text of a ForceField XML file.
    force_field:
        Name of the force field of the parameters.
    """

    file: str
    name: str
    molecule: Any
    parameters: str
    force_field: str = OPENFF


def read_ligand(
    path: str | os.PathLike[str], name: str = "LIG", *, force_field: str = OPENFF
) -> Ligand:
    """Reads a molecule with all its hydrogens and gives it parameters.

    Parameters
    ----------
    path:
        An SDF file with one molecule, placed where it is bound.
    name:
        Name of its residue.
    force_field:
        Name of an OpenFF force field.

    Raises
    ------
    QuiltError
        If OpenFF or AmberTools is not installed, the file is unsuitable, or the force field lacks
        parameters.
    """
    file = os.fspath(path)
    if not os.path.exists(file):
        raise InputError("no such file", file=file)
    toolkit, generators = _libraries(file)
    try:
        read = toolkit.Molecule.from_file(file)
    except (ImportError, SyntaxError) as error:  # some modules are imported on first use
        raise _cannot_import(file, error) from None
    except Exception as error:
        raise InputError(f"OpenFF cannot read it: {_brief(error)}", file=file) from None
    if isinstance(read, list):
        raise InputError(f"has {len(read)} molecules: give a file for each ligand", file=file)
    if not read.conformers:
        raise InputError("has no coordinates: place the ligand where it is bound", file=file)
    for number, atom in enumerate(read.atoms, 1):
        atom.metadata["residue_name"] = name
        atom.name = f"{atom.symbol}{number}x"
    try:
        made = generators.SMIRNOFFTemplateGenerator(molecules=[read], forcefield=force_field)
        parameters = made.generate_residue_template(read)
    except (ImportError, SyntaxError) as error:
        raise _cannot_import(file, error) from None
    except Exception as error:
        raise InputError(
            f"no parameters of {force_field}: {_brief(error)}{_without_ambertools()}", file=file
        ) from None
    return Ligand(file, name, read, str(parameters), force_field)


def add_ligands(model: Model, ligands: Sequence[Ligand]) -> Model:
    """The model with ligands where their files place them.

    Raises
    ------
    QuiltError
        If a ligand overlaps with atoms of the model.
    """
    openmm = import_openmm()
    nanometer = openmm.unit.nanometer
    notes = []
    modeller = openmm.app.Modeller(model.topology, model.positions)
    for ligand in ligands:
        places = np.array(ligand.molecule.conformers[0].m_as("nanometer"))
        others = np.array(modeller.positions.value_in_unit(nanometer))
        gaps = np.linalg.norm(places[:, None] - others[None], axis=2) if len(others) else None
        nearest = 0.0 if gaps is None else float(gaps.min())
        if gaps is not None and nearest < _NEAR:
            raise QuiltError(
                f"{ligand.file}: an atom of the ligand is {nearest:.3f} nm from another atom: "
                "remove a copy of it, or what is in its place, from the structure (--remove NAME, "
                "--water remove)"
            )
        topology = ligand.molecule.to_topology().to_openmm()
        for residue in topology.residues():
            residue.name = ligand.name
        modeller.add(topology, [openmm.Vec3(*place) for place in places] * nanometer)
        charge = ligand.molecule.total_charge.m_as("elementary_charge")
        text = (
            f"{ligand.name} of {ligand.file}: {len(places)} atoms, charge {charge:+.0f}, "
            f"parameters of {ligand.force_field}, {nearest:.2f} nm from the nearest other atom"
        )
        far = nearest > _FAR
        notes.append(Note("ligands", text + (": it touches nothing." if far else "."), check=far))
    made = replace(model, topology=modeller.topology, positions=modeller.positions)
    return made.noting(*notes)


def _libraries(file: str) -> tuple[Any, Any]:
    try:
        return import_module("openff.toolkit"), import_module("openmmforcefields.generators")
    except (ImportError, SyntaxError) as error:
        raise _cannot_import(file, error) from None


def _cannot_import(file: str, error: Exception) -> InputError:
    return InputError(
        "a ligand needs openmmforcefields and OpenFF's toolkit, which cannot be imported "
        f"({_brief(error)}): {_PACKAGES}, as PyPI does not have them; or give its parameters as "
        "an OpenMM ForceField XML (--force-field) and keep it, with hydrogens, in the structure",
        file=file,
    )


def _without_ambertools() -> str:
    if shutil.which("antechamber"):
        return ""
    return f"; AM1-BCC charges need AmberTools, whose antechamber is not in PATH: {_PACKAGES}"


def _brief(error: Exception) -> str:
    return textwrap.shorten(one_line(error), _LONGEST, placeholder=" ...")
