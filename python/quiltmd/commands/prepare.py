# SPDX-License-Identifier: Apache-2.0
"""`quiltmd prepare`: from a PDB or mmCIF file to files for a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import QuiltError
from ..prepare.files import LOG, RUN
from ..prepare.gaps import Treatment
from ..prepare.notes import Note
from ..prepare.repair import Termini
from ..prepare.steps import Choices
from ..prepare.steps import prepare as prepare_all
from ..running.progress import say


def prepare(
    structure: Annotated[Path, typer.Argument(help="PDB or mmCIF file.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("system"),
    ligand: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.sdf", help="Add a ligand, with OpenFF; may be repeated."),
    ] = None,
    model: Annotated[int, typer.Option(help="Model of the file, from 1.")] = Choices.model,
    chains: Annotated[str, typer.Option(metavar="A,B", help="Keep only these chains.")] = "",
    remove: Annotated[
        str, typer.Option(metavar="NAME,...", help="Remove residues of these names.")
    ] = "",
    replace: Annotated[
        str, typer.Option(metavar="MSE=MET,...", help="Replace residues by standard ones.")
    ] = "",
    water: Annotated[
        Literal["keep", "remove"], typer.Option(help="Water molecules of the file.")
    ] = Choices.water,
    hydrogens: Annotated[
        Literal["keep", "rebuild"], typer.Option(help="Hydrogens of the file.")
    ] = Choices.hydrogens,
    gaps: Annotated[
        Treatment,
        typer.Option(help="Missing residues within chains: build them, or cut and cap the chain."),
    ] = Choices.gaps,
    longest_loop: Annotated[
        int, typer.Option(min=0, help="Longest run of missing residues to build.")
    ] = Choices.longest_loop,
    termini: Annotated[
        Termini, typer.Option(help="Ends of proteins; caps are ACE and NME.")
    ] = Choices.termini,
    ph: Annotated[float, typer.Option("--ph", min=0, max=14, help="pH.")] = Choices.ph,
    protonation: Annotated[
        str,
        typer.Option(
            metavar="A:57=HIE,...", help="Protonation of residues: HID HIE HIP ASH GLH LYN CYM ..."
        ),
    ] = "",
    force_field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE.xml",
            help="amber14 (default), amber19, charmm36, or ForceField XML; may be repeated.",
        ),
    ] = None,
    water_model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Water model: tip3p, spce, opc, ...; default: that of the force field.",
        ),
    ] = "",
    box: Annotated[
        Literal["cube", "dodecahedron", "octahedron", "none"],
        typer.Option(help="Shape of the water box; none: no water."),
    ] = Choices.box,
    padding: Annotated[
        float,
        typer.Option(help="Distance from a sphere around the solute to the faces of the box, nm."),
    ] = Choices.padding,
    membrane: Annotated[
        str,
        typer.Option(metavar="POPC", help="Add a membrane in the xy plane: POPC, POPE, DPPC, ..."),
    ] = "",
    membrane_centre: Annotated[
        float, typer.Option(help="Coordinate z of the membrane centre in the file, nm.")
    ] = Choices.membrane_centre,
    concentration: Annotated[
        float, typer.Option(help="Salt concentration, mol/l.")
    ] = Choices.concentration,
    neutralise: Annotated[
        bool, typer.Option(help="Add ions until the charge is 0.")
    ] = Choices.neutralise,
    cation: Annotated[
        str, typer.Option(metavar="ION", help="Cation of the salt.")
    ] = Choices.cation,
    anion: Annotated[str, typer.Option(metavar="ION", help="Anion of the salt.")] = Choices.anion,
    temperature: Annotated[
        float, typer.Option(help="Temperature in run.toml, K.")
    ] = Choices.temperature,
    pressure: Annotated[float, typer.Option(help="Pressure in run.toml, bar.")] = Choices.pressure,
    nanoseconds: Annotated[
        float, typer.Option(help="Length of production in run.toml, ns.")
    ] = Choices.nanoseconds,
    seed: Annotated[int, typer.Option(help="Random seed.")] = Choices.seed,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files.")] = False,
) -> None:
    """Prepare a protein or nucleic acid from a PDB or mmCIF file for simulation.

    Adds missing atoms, hydrogens, water, ions and, with --membrane, a membrane, and writes
    run.toml.  If a choice is needed, the command ends with an error that names the residue and the
    options.  prepare.log is a record of all steps.
    """
    choices = Choices(
        model=model,
        chains=_names(chains) or None,
        remove=_names(remove),
        replacements=_pairs("--replace", replace, "MSE=MET"),
        water=water,
        hydrogens=hydrogens,
        gaps=gaps,
        longest_loop=longest_loop,
        termini=termini,
        ph=ph,
        protonation=_pairs("--protonation", protonation, "A:57=HIE"),
        force_field=tuple(force_field or Choices.force_field),
        water_model=water_model or None,
        ligands=tuple(map(str, ligand or ())),
        box=box,
        membrane=membrane or None,
        membrane_centre=membrane_centre,
        padding=padding,
        concentration=concentration,
        neutralise=neutralise,
        cation=cation,
        anion=anion,
        temperature=temperature,
        pressure=pressure,
        nanoseconds=nanoseconds,
        seed=seed,
    )
    _, notes = prepare_all(structure, out, choices, overwrite=overwrite, say=say)
    _tell(out, notes)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _pairs(option: str, text: str, example: str) -> dict[str, str]:
    pairs = {}
    for one in _names(text):
        first, equals, second = one.partition("=")
        if not (equals and first and second):
            raise QuiltError(f"{option} {one}: expected {example}")
        pairs[first.strip()] = second.strip()
    return pairs


def _tell(out: Path, notes: tuple[Note, ...]) -> None:
    """What must be looked at, what there is, and what comes next."""
    for note in notes:
        if note.check:
            say(f"look at: {note.topic}: {note.text}")
    say(f"{out / LOG}: everything that was done")
    say(f"next: quiltmd info {out / RUN}, then quiltmd run {out / RUN}")
