# SPDX-License-Identifier: Apache-2.0
"""Water, ions and membranes around a model, by OpenMM's Modeller."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..description.checks import user_arguments
from ..errors import QuiltError, one_line
from .force_fields import ForceField
from .libraries import import_openmm
from .notes import Note
from .quantities import Concentration, Height, Padding, Seed
from .repair import Model, drawing

Shape = Literal["cube", "dodecahedron", "octahedron"]
Lipid = Literal["POPC", "POPE", "DLPC", "DLPE", "DMPC", "DOPC", "DPPC"]
Cation = Literal["Na+", "K+", "Li+", "Cs+", "Rb+"]
Anion = Literal["Cl-", "Br-", "F-", "I-"]
_WATER_BOXES = {3: "tip3p", 4: "tip4pew", 5: "tip5p"}  # of OpenMM, by the sites of a water molecule
_ROOM = 0.15  # nm from a water molecule of the input to the faces of the box
_FARTHEST = 5.0  # nm between the centre of a membrane and the structure
_LEAST_BOX = 2.0  # nm between opposite faces: twice a cutoff of 0.9 nm and room for a barostat


def box_vectors(shape: Shape, width: float) -> npt.NDArray[np.float64]:
    """The vectors (3, 3), nm, of a box whose images are `width` (nm) apart.

    Rhombic dodecahedron (its xy-square form) and truncated octahedron as in GROMACS' manual.
    """
    rows = {
        "cube": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "dodecahedron": [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0.5**0.5]],
        "octahedron": [
            [1, 0, 0],
            [1 / 3, 2 * 2**0.5 / 3, 0],
            [-1 / 3, 2**0.5 / 3, 6**0.5 / 3],
        ],
    }
    return width * np.array(rows[shape], float)


@user_arguments
def add_water(
    model: Model,
    force_field: ForceField,
    *,
    shape: Shape = "cube",
    padding: Padding = 1.0,
    concentration: Concentration = 0.15,
    neutralise: bool = True,
    cation: Cation = "Na+",
    anion: Anion = "Cl-",
    seed: Seed = 1,
) -> Model:
    """Adds a box of water with ions.

    Parameters
    ----------
    model:
        A model with hydrogens.
    force_field:
        A force field with a water model.
    shape:
        Shape of the box.
    padding:
        Distance from the sphere around the solute to the faces of the box, nm.  The centres of
        periodic images are the diameter of this sphere plus twice the padding apart.
    concentration:
        Concentration of salt, mol/l, in addition to the ions that neutralise the system.
    neutralise:
        Whether to add ions until the net charge is 0.
    cation, anion:
        Names of the ions.
    seed:
        Random seed of the positions of the ions.

    Raises
    ------
    QuiltError
        If the force field has no water, an atom has no parameters, or the box is too small.
    """
    openmm = import_openmm()
    _check_ions(cation, anion)
    sites = _sites(force_field)
    centre, diameter = _sphere(model)
    width = diameter + 2 * padding
    if width < _LEAST_BOX:
        enough = math.ceil(50 * (_LEAST_BOX - diameter)) / 100
        raise QuiltError(
            f"a box of {width:.2f} nm is too small for a cutoff of 0.9 nm: raise the padding to "
            f"{enough:.2f} nm"
        )
    model = _without_far_water(model, centre, width / 2 - _ROOM)
    modeller = _modeller(model)
    if sites > 3:
        _guarded(modeller.addExtraParticles, force_field.made)
    force_field.create_system(modeller.topology)
    with drawing(seed):
        _guarded(
            modeller.addSolvent,
            force_field.made,
            model=_WATER_BOXES[sites],
            boxVectors=tuple(openmm.Vec3(*row) for row in box_vectors(shape, width)),
            positiveIon=cation,
            negativeIon=anion,
            ionicStrength=concentration * openmm.unit.molar,
            neutralize=neutralise,
        )
    made = replace(model, topology=modeller.topology, positions=modeller.positions)
    text = (
        f"A {_SHAPES[shape]} with {width:.3f} nm between images: the solute has a diameter of "
        f"{diameter:.2f} nm and {padding:g} nm of water around it."
    )
    return made.noting(Note("box", text), _counts(made, concentration, neutralise))


_SHAPES = {
    "cube": "cube",
    "dodecahedron": "rhombic dodecahedron",
    "octahedron": "truncated octahedron",
}


@user_arguments
def add_membrane(
    model: Model,
    force_field: ForceField,
    *,
    lipid: Lipid = "POPC",
    centre: Height = 0.0,
    padding: Padding = 1.0,
    concentration: Concentration = 0.15,
    neutralise: bool = True,
    cation: Cation = "Na+",
    anion: Anion = "Cl-",
    seed: Seed = 1,
) -> Model:
    """Adds a membrane in the xy plane, with water and ions on both sides.

    The protein must be oriented in the input, as structures of the OPM database are.

    Parameters
    ----------
    model, force_field, concentration, neutralise, cation, anion, seed:
        As for `add_water`.
    lipid:
        One of `Lipid`.
    centre:
        z coordinate of the centre of the membrane in the coordinates of the input, nm.
    padding:
        Smallest distance from the protein to the faces of the box, nm.

    Raises
    ------
    QuiltError
        As `add_water`, or if there is no such lipid.
    """
    openmm = import_openmm()
    _check_ions(cation, anion)
    if lipid.upper() not in get_args(Lipid):
        raise QuiltError(f"no membrane of {lipid}: choose {', '.join(get_args(Lipid))}")
    sites = _sites(force_field)
    if sites != 3:
        raise QuiltError(
            f"membranes are built with water of three sites, and {force_field.title} has {sites}: "
            "choose --water-model tip3p"
        )
    _check_height(model, centre)
    modeller = _modeller(model)
    force_field.create_system(modeller.topology)
    with drawing(seed):
        _guarded(
            modeller.addMembrane,
            force_field.made,
            lipidType=lipid.upper(),
            membraneCenterZ=centre * openmm.unit.nanometer,
            minimumPadding=padding * openmm.unit.nanometer,
            positiveIon=cation,
            negativeIon=anion,
            ionicStrength=concentration * openmm.unit.molar,
            neutralize=neutralise,
        )
    made = replace(model, topology=modeller.topology, positions=modeller.positions)
    lipids = sum(
        residue.name in ("POP", "POPC", lipid.upper()[:3], lipid.upper())
        for residue in made.topology.residues()
    )
    text = (
        f"{lipids} {lipid.upper()} in the xy plane, their middle at z = {centre:g} nm of the "
        "input: the orientation of the protein is that of the input."
    )
    return made.noting(Note("membrane", text, check=True), _counts(made, concentration, neutralise))


def _check_ions(cation: str, anion: str) -> None:
    for ion, known in ((cation, get_args(Cation)), (anion, get_args(Anion))):
        if ion not in known:
            raise QuiltError(f"unknown ion {ion}: choose {', '.join(known)}")


def _check_height(model: Model, centre: float) -> None:
    """Refuses a membrane that is far from the structure."""
    heights = _places(model)[:, 2]
    lowest, highest = float(heights.min()), float(heights.max())
    if not lowest - _FARTHEST <= centre <= highest + _FARTHEST:
        raise QuiltError(
            f"a membrane with its centre at z = {centre:g} nm is more than {_FARTHEST:g} nm from "
            f"the structure, which is between z = {lowest:.1f} and {highest:.1f} nm"
        )


def _sites(force_field: ForceField) -> int:
    sites = force_field.water_sites()
    if sites not in _WATER_BOXES:
        raise QuiltError(
            f"{force_field.title} has no water: add the XML file of a water model, such as "
            "--force-field amber14/tip3p.xml"
        )
    return sites


def _modeller(model: Model) -> Any:
    return import_openmm().app.Modeller(model.topology, model.positions)


def _is_water(residue: Any) -> bool:
    return bool(residue.name == "HOH")


def _places(model: Model) -> npt.NDArray[np.float64]:
    return np.array(model.positions.value_in_unit(import_openmm().unit.nanometer))


def _sphere(model: Model) -> tuple[npt.NDArray[np.float64], float]:
    """Centre and diameter (nm) of a sphere around all that is not water."""
    solute = [atom.index for atom in model.topology.atoms() if not _is_water(atom.residue)]
    places = _places(model)[solute or slice(None)]
    centre = (places.min(axis=0) + places.max(axis=0)) / 2
    return centre, 2 * float(np.linalg.norm(places - centre, axis=1).max())


def _without_far_water(model: Model, centre: npt.NDArray[np.float64], radius: float) -> Model:
    """The model without water of the input that would overlap with images of other atoms."""
    places = _places(model)
    far = [
        residue
        for residue in model.topology.residues()
        if _is_water(residue)
        and any(np.linalg.norm(places[one.index] - centre) > radius for one in residue.atoms())
    ]
    if not far:
        return model
    modeller = _modeller(model)
    modeller.delete(far)
    made = replace(model, topology=modeller.topology, positions=modeller.positions)
    text = f"Removed: {len(far)} molecules that are outside the box."
    return made.noting(Note("water of the input", text))


def _guarded(call: Any, *arguments: Any, **settings: Any) -> None:
    try:
        call(*arguments, **settings)
    except Exception as error:
        raise QuiltError(f"OpenMM: {one_line(error)}") from None


def _counts(model: Model, concentration: float, neutralise: bool) -> Note:
    waters = 0
    ions: dict[str, int] = {}
    for residue in model.topology.residues():
        waters += _is_water(residue)
        if len(list(residue.atoms())) == 1:
            ions[residue.name] = ions.get(residue.name, 0) + 1
    found = ", ".join(f"{number} {name}" for name, number in ions.items()) or "no ions"
    aim = f"{concentration:g} mol/l of salt" + (", and neutral" if neutralise else "")
    return Note("water and ions", f"{waters} water molecules, {found} (asked for: {aim}).")
