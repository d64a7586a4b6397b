# SPDX-License-Identifier: Apache-2.0
"""Force fields: by name, those that come with OpenMM, and ForceField XML files of users."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, QuiltError, one_line
from .libraries import import_openmm
from .notes import listed


@dataclass(frozen=True)
class Family:
    """A force field of OpenMM.

    Attributes
    ----------
    files:
        Without the one for water.
    folder:
        Folder of the files of its water models.
    water:
        The water model that goes with it unless another is chosen.
    title:
        Title of the force field.
    """

    files: tuple[str, ...]
    folder: str
    water: str
    title: str


FAMILIES = {
    "amber14": Family(
        ("amber14-all.xml",),
        "amber14",
        "tip3p",
        "Amber ff14SB, DNA OL15, RNA OL3, lipid17, GLYCAM_06j",
    ),
    "amber19": Family(
        ("amber19-all.xml",), "amber19", "opc", "Amber ff19SB, DNA OL21, RNA OL3, lipid21"
    ),
    "charmm36": Family(("charmm36.xml",), "charmm36", "water", "CHARMM36"),
}


@dataclass(frozen=True)
class ForceField:
    """A force field as OpenMM has it.

    Attributes
    ----------
    files:
        Names of files that come with OpenMM, and paths of others, in order.
    made:
        The `openmm.app.ForceField`.
    title:
        Name of the force field in messages.
    """

    files: tuple[str, ...]
    made: Any
    title: str

    def templates(self) -> set[str]:
        """Names of the residues that it describes."""
        return set(self.made._templates)

    def water_sites(self) -> int:
        """Number of sites of its water model; 0 where it has none."""
        for name, template in self.made._templates.items():
            if name.split("-")[-1] in ("HOH", "TIP3") and len(template.atoms) >= 3:
                return len(template.atoms)
        return 0

    def create_system(self, topology: Any, **settings: Any) -> Any:
        """The `openmm.System` of a topology, with nothing constrained by default.

        Raises
        ------
        QuiltError
            Names a residue without a template, and what can be done.
        """
        settings = {"constraints": None, "rigidWater": False, "removeCMMotion": False} | settings
        try:
            return self.made.createSystem(topology, **settings)
        except Exception as error:
            text = one_line(error)
        match = re.search(r"residue (\d+) \((\w+)\)\.?(.*)", text)
        if match is None:
            raise QuiltError(f"OpenMM: {text}")
        residue = self._named(topology, int(match[1]), match[2])
        why = match[3].split("For more")[0].strip().rstrip(".")
        raise QuiltError(
            f"{self.title} has no template for {residue.name} {residue.chain.id}:{residue.id} as "
            f"it is ({why or 'OpenMM gives no reason'}). Where hydrogens of the input have unknown "
            "names, give --hydrogens rebuild; where parameters are missing, add them with "
            "--force-field FILE.xml beside the force field's name; else remove the residue with "
            "--remove"
        )

    def _named(self, topology: Any, index: int, name: str) -> Any:
        """The residue of a message of OpenMM, whose versions count from 0 or from 1."""
        residues = list(topology.residues())
        unmatched = self.made.getUnmatchedResidues(topology)
        near = [residues[at] for at in (index, index - 1) if 0 <= at < len(residues)]
        fitting = [one for one in near if one.name == name and one in unmatched]
        return (fitting or near)[0]


def read_force_field(
    names: Sequence[str | os.PathLike[str]] = ("amber14",),
    *,
    water_model: str | None = None,
) -> ForceField:
    """A force field by name, or by its files.

    Parameters
    ----------
    names:
        "amber14", "amber19", "charmm36", and ForceField XML files: those that come with OpenMM by
        their names there, others by their paths.
    water_model:
        "tip3p", "spce", "opc", ... : a file of the named force field; its usual one by default.

    Raises
    ------
    QuiltError
        If there is no such force field, file or water model.
    """
    app = import_openmm().app
    data = Path(app.__file__).parent / "data"
    files: list[str] = []
    titles: list[str] = []
    family = None
    for name in [os.fspath(one) for one in names]:
        if name.endswith(".xml"):
            files.append(_file(name, data))
            titles.append(name)
        elif name in FAMILIES:
            family = FAMILIES[name]
            files += family.files
            titles.append(f"{name} ({family.title})")
        else:
            raise QuiltError(
                f"unknown force field {name!r}: choose {', '.join(FAMILIES)} or name ForceField "
                "XML files"
            )
    if family is not None:  # the file of the water has the ions as well
        model = water_model or family.water
        files.append(_water_file(model, family, data))
        titles.append(f"water {model}")
    elif water_model is not None:
        raise QuiltError(
            "--water-model needs a force field that is given by name: leave it out, and give the "
            "XML file of the water model with --force-field"
        )
    try:
        made = app.ForceField(*files)
    except Exception as error:
        text = one_line(error)
        raise QuiltError(f"OpenMM cannot read the force field {listed(files)}: {text}") from None
    return ForceField(tuple(files), made, ", ".join(titles))


def _file(name: str, data: Path) -> str:
    if os.path.isfile(name):
        return os.path.abspath(name)
    if (data / name).is_file():
        return name
    raise InputError("no such ForceField file, here or among those of OpenMM", file=name)


def _water_file(model: str, family: Family, data: Path) -> str:
    file = f"{family.folder}/{model}.xml"
    if not (data / file).is_file():
        there = [
            path.stem
            for path in sorted((data / family.folder).glob("*.xml"))
            if re.search(r'<Residue name="HOH"', path.read_text())
        ]
        raise QuiltError(f"no water model {model!r} of {family.folder}: there are {listed(there)}")
    return file
