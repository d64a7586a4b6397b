# SPDX-License-Identifier: Apache-2.0
"""From a structure to files for a run: all steps with one set of choices."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..description.checks import user_settings
from ..description.system import System
from ..errors import InputError, QuiltError
from .files import STRUCTURE, parameter_names, refuse_to_replace, write_system
from .force_fields import ForceField, read_force_field
from .gaps import LONGEST_LOOP, Treatment
from .hydrogens import add_hydrogens, note_disulphides, note_metals
from .libraries import import_openmm, import_pdbfixer
from .ligands import Ligand, add_ligands, read_ligand
from .notes import Note
from .protocol import write_protocol
from .quantities import (
    Concentration,
    Height,
    LoopLength,
    ModelNumber,
    Nanoseconds,
    Padding,
    Ph,
    Pressure,
    Seed,
    Temperature,
)
from .repair import (
    Model,
    Termini,
    note_kept,
    refuse_unknown_residues,
    repair,
    replace_residues,
)
from .solvent import Anion, Cation, Lipid, Shape, add_membrane, add_water
from .structure import (
    Structure,
    read_structure,
    remove_hydrogens,
    remove_residues,
    remove_water,
)


@partial(user_settings, title="")
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Choices:
    """Choices for the preparation of a structure.

    Attributes
    ----------
    model, chains:
        See `read_structure`.
    remove:
        Names of residues to remove.
    replacements:
        See `replace_residues`.
    water:
        "keep" or "remove" the water molecules of the input.
    hydrogens:
        "keep" the hydrogens of the input and add what is missing, or "rebuild" all.
    gaps, longest_loop, termini:
        See `repair`.
    ph, protonation:
        See `add_hydrogens`.
    force_field, water_model:
        See `read_force_field`.
    ligands:
        SDF files.
    box:
        Shape of the box, or "none": no water and no box.
    membrane, membrane_centre:
        Lipid and height, nm, of `add_membrane`; no membrane by default.
    padding, concentration, neutralise, cation, anion:
        See `add_water`.
    temperature, pressure, nanoseconds:
        See `write_protocol`.
    seed:
        Random seed of all steps.

    Raises
    ------
    QuiltError
        If a choice does not exist, or a number is beyond its limits.
    """

    model: ModelNumber = 1
    chains: tuple[str, ...] | None = None
    remove: tuple[str, ...] = ()
    replacements: Mapping[str, str] = Field(default_factory=dict)
    water: Literal["keep", "remove"] = "keep"
    hydrogens: Literal["keep", "rebuild"] = "keep"
    gaps: Treatment = "build"
    longest_loop: LoopLength = LONGEST_LOOP
    termini: Termini = "charged"
    ph: Ph = 7.0
    protonation: Mapping[str, str] = Field(default_factory=dict)
    force_field: tuple[str | Path, ...] = ("amber14",)
    water_model: str | None = None
    ligands: tuple[str | Path, ...] = ()
    box: Literal[Shape, "none"] = "cube"
    membrane: Lipid | None = None
    membrane_centre: Height = 0.0
    padding: Padding = 1.0
    concentration: Concentration = 0.15
    neutralise: bool = True
    cation: Cation = "Na+"
    anion: Anion = "Cl-"
    temperature: Temperature = 300.0
    pressure: Pressure = 1.0
    nanoseconds: Nanoseconds = 10.0
    seed: Seed = 1


def prepare(
    structure: str | os.PathLike[str],
    out: str | os.PathLike[str],
    choices: Choices | None = None,
    *,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[System, tuple[Note, ...]]:
    """Prepares a structure for simulation and writes the files for it.

    Parameters
    ----------
    structure:
        A PDB or mmCIF file.
    out:
        Folder for the files: system.cif, system.pdb, run.toml, prepare.log.
    choices:
        The choices.
    overwrite:
        Whether files of an earlier preparation are replaced.
    say:
        Called with a line when a step begins.

    Returns
    -------
    The System, with nothing constrained, and what was done.

    Raises
    ------
    QuiltError
        If something cannot be decided without the user: it names the residue and the remedy.
    """
    chosen = choices or Choices()
    refuse_to_replace(out, overwrite)
    for file in (structure, *chosen.ligands):
        if not os.path.exists(file):
            raise InputError("no such file", file=os.fspath(file))
    import_openmm()
    import_pdbfixer()
    say(f"reading {os.fspath(structure)}")
    read = _chosen_structure(structure, chosen)
    say("reading the force field")
    force_field, ligands = _parameters(chosen, Path(out), say)
    refuse_unknown_residues(read, force_field, [ligand.name for ligand in ligands])
    read = note_kept(read)
    say("adding missing atoms and hydrogens")
    model = repair(
        read,
        gaps=chosen.gaps,
        longest_loop=chosen.longest_loop,
        termini=chosen.termini,
        seed=chosen.seed,
    )
    model = add_hydrogens(model, ph=chosen.ph, protonation=chosen.protonation, seed=chosen.seed)
    model = add_ligands(note_metals(note_disulphides(model)), ligands)
    if chosen.membrane is not None or chosen.box != "none":
        say("adding " + ("membrane, " if chosen.membrane else "") + "water and ions")
    model = _surrounded(model, force_field, chosen)
    say("writing files, and reading them back")
    texts = {f"{ligand.name}.xml": ligand.parameters for ligand in ligands}
    run = write_protocol(
        STRUCTURE,
        parameter_names(force_field),
        periodic=chosen.membrane is not None or chosen.box != "none",
        membrane=chosen.membrane is not None,
        temperature=chosen.temperature,
        pressure=chosen.pressure,
        nanoseconds=chosen.nanoseconds,
        seed=chosen.seed,
    )
    system, model = write_system(model, force_field, out, run=run, texts=texts)
    return system, model.notes


def _parameters(
    chosen: Choices, out: Path, say: Callable[[str], None]
) -> tuple[ForceField, list[Ligand]]:
    """The force field, with the parameters of ligands, which are written for it."""
    names = ["LIG", *(f"LG{number}" for number in range(2, 10))]
    if len(chosen.ligands) > len(names):
        raise QuiltError(f"{len(chosen.ligands)} ligands: at most {len(names)} are taken")
    ligands = []
    for file, name in zip(chosen.ligands, names, strict=False):
        say(f"computing charges of {file}")
        ligands.append(read_ligand(file, name))
    files = []
    for ligand in ligands:
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{ligand.name}.xml"
        path.write_text(ligand.parameters, encoding="utf-8")
        files.append(os.fspath(path))
    made = read_force_field([*chosen.force_field, *files], water_model=chosen.water_model)
    return made, ligands


def _chosen_structure(file: str | os.PathLike[str], chosen: Choices) -> Structure:
    read = read_structure(file, model=chosen.model, chains=chosen.chains)
    if chosen.remove:
        read = remove_residues(read, chosen.remove)
    if chosen.water == "remove":
        read = remove_water(read)
    if chosen.replacements:
        read = replace_residues(read, chosen.replacements)
    if chosen.hydrogens == "rebuild":
        read = remove_hydrogens(read)
    return read


def _surrounded(model: Model, force_field: ForceField, chosen: Choices) -> Model:
    around = {
        "padding": chosen.padding,
        "concentration": chosen.concentration,
        "neutralise": chosen.neutralise,
        "cation": chosen.cation,
        "anion": chosen.anion,
        "seed": chosen.seed,
    }
    if chosen.membrane is not None:
        return add_membrane(
            model,
            force_field,
            lipid=chosen.membrane,
            centre=chosen.membrane_centre,
            **around,  # type: ignore[arg-type]
        )
    if chosen.box != "none":
        return add_water(model, force_field, shape=chosen.box, **around)  # type: ignore[arg-type]
    model.topology.setPeriodicBoxVectors(None)
    return model
