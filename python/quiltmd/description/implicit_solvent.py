# SPDX-License-Identifier: Apache-2.0
"""Implicit solvent: generalized Born models and what they need of each atom.

The equations are in docs/theory/solvent.md.  A topology may bring radii and screening factors (an
Amber prmtop does); a model makes of them what the core computes with.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..errors import InputError
from . import neck_tables
from .checks import user_settings
from .parts import Part
from .topology import Topology
from .units import Unit

F64 = npt.NDArray[np.float64]
Model = Literal["hct", "obc1", "obc2", "gbn", "gbn2"]
SaltConcentration = Annotated[
    float,
    Field(ge=0, le=10, description="Concentration of monovalent ions in implicit solvent, mol/l."),
    Unit("mol/l"),
]
SaltTemperature = Annotated[
    float, Field(gt=0, description="Temperature for the Debye length, K."), Unit("K")
]
Dielectric = Annotated[
    float, Field(ge=1, le=10000, description="Dielectric constant of an implicit solvent.")
]
Surface = Annotated[
    Literal["none", "ace"],
    Field(description="Surface energy of an implicit solvent: none or ace."),
]

_OFFSETS = {"gbn2": 0.0195141}  # nm, that radii are reduced by; of all others:
_OFFSET = 0.009
# alpha, beta, gamma of the function from integrals to radii.
_SHAPES = {
    "hct": (0.0, 0.0, 0.0),
    "obc1": (0.8, 0.0, 2.909125),
    "obc2": (1.0, 0.8, 4.85),
    "gbn": (1.09511284, 1.907992938, 2.50798245),
}
_NECK_SCALES = {"gbn": 0.361825, "gbn2": 0.826836}
# Screening factors by atomic number, where the model has its own; of other elements: 0.5.
_H, _C, _N, _O, _F, _P, _S = 1, 6, 7, 8, 9, 15, 16
_OTHER_SCREENING = 0.5
_GBN_SCREENING = {
    _H: 1.09085413633,
    _C: 0.48435382330,
    _N: 0.700147318409,
    _O: 1.06557401132,
    _S: 0.602256336067,
}
_GBN2_SCREENING = {_H: 1.425952, _C: 1.058554, _N: 0.733599, _O: 1.061039, _S: -0.703469}
_GBN2_NUCLEIC_SCREENING = {
    _H: 1.696538,
    _C: 1.268902,
    _N: 1.4259728,
    _O: 0.1840098,
    _P: 1.5450597,
    _S: 0.05,
}
_GBN2_SHAPES = {
    _H: (0.788440, 0.798699, 0.437334),
    _C: (0.733756, 0.506378, 0.205844),
    _N: (0.503364, 0.316828, 0.192915),
    _O: (0.867814, 0.876635, 0.387882),
    _S: (0.867814, 0.876635, 0.387882),
}
_GBN2_NUCLEIC_SHAPES = {
    _H: (0.537050, 0.362861, 0.116704),
    _C: (0.331670, 0.196842, 0.093422),
    _N: (0.686311, 0.463189, 0.138722),
    _O: (0.606344, 0.463006, 0.142262),
    _S: (0.606344, 0.463006, 0.142262),
    _P: (0.418365, 0.290054, 0.1064245),
}
_GBN2_OTHER_SHAPE = (1.0, 0.8, 4.851)
_NUCLEIC = ("A", "C", "G", "U", "DA", "DC", "DG", "DT")
# kappa = 50.33355/A sqrt(concentration in mol/l / dielectric / K), times 0.73 for the exclusion of
# ions, as in Amber and OpenMM.
_KAPPA = 50.33355 * 0.73 * 10.0
_ACE_TENSION = 2.25936  # kJ/mol/nm^2: 5.4 cal/mol/A^2


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class ImplicitSolvent(Part):
    """A generalized Born model, for systems without a periodic box.

    Attributes
    ----------
    model:
        "hct" (Hawkins, Cramer and Truhlar; Amber's igb=1), "obc1", "obc2" (Onufriev, Bashford and
        Case; igb=2 and 5), "gbn" (Mongan et al.; igb=7) or "gbn2" (Nguyen et al.; igb=8).
    salt_concentration:
        Concentration of monovalent ions, mol/l.
    salt_temperature:
        Temperature for the Debye length, K.
    dielectric:
        Dielectric constant of the solvent; that of the solute is 1.
    surface:
        "none", or "ace", which adds the surface energy of Schaefer et al. (OpenMM's default).
    """

    called: ClassVar[str] = "implicit solvent"

    model: Model = "obc2"
    salt_concentration: SaltConcentration = 0.0
    salt_temperature: SaltTemperature = 298.15
    dielectric: Dielectric = 78.5
    surface: Surface = "none"

    @property
    def kappa(self) -> float:
        """Inverse Debye length, 1/nm, reduced for the exclusion of ions from the solute."""
        ratio = self.salt_concentration / self.dielectric / self.salt_temperature
        return _KAPPA * math.sqrt(ratio)

    def check(self, system: Any) -> None:
        """Raises InputError, naming the atom, if a radius or screening factor is invalid."""
        _check_radii(self.model, system.born_radii, system.topology)
        if self.model in ("hct", "obc1", "obc2") and len(system.born_screening) == 0:
            raise InputError(f"the topology has no screening factors, which {self.model} needs")

    def arrays(self, system: Any) -> dict[str, Any]:
        """Arrays for the core."""
        return solvent_arrays(self, system.born_radii, system.born_screening, system.topology)


def solvent_arrays(
    solvent: ImplicitSolvent, radii: F64, screening: F64, topology: Topology
) -> dict[str, Any]:
    """Arrays for the core: constants of a solvent, a row for each atom, necks by type.

    A row is radius, offset radius, scaled radius (nm), alpha, beta, gamma, and the type of neck.
    """
    factors = _screening(screening, topology, solvent.model)
    offset = radii - _OFFSETS.get(solvent.model, _OFFSET)
    types, distance, height = _necks(radii, solvent.model)
    shapes = _shapes(topology, solvent.model)
    return {
        "tanh": solvent.model != "hct",
        "dielectric": solvent.dielectric,
        "kappa": solvent.kappa,
        "surface": 4 * math.pi * _ACE_TENSION if solvent.surface == "ace" else 0.0,
        "atoms": np.column_stack([radii, offset, factors * offset, shapes, types]),
        "neck_distance": distance,
        "neck_height": height,
    }


def check_lengths(system: Any) -> None:
    """Raises InputError if some atoms have radii or screening factors, and others none."""
    for name in ("born_radii", "born_screening"):
        if len(getattr(system, name)) not in (0, system.atoms):
            raise InputError(f"system.{name} are not those of all {system.atoms} atoms")


def _check_radii(model: Model, radii: F64, topology: Topology) -> None:
    if len(radii) == 0:
        raise InputError(
            "the topology has no radii for implicit solvent: an Amber prmtop has them in its "
            "section RADII, made by LEaP's 'set default PBRadii'"
        )
    low, high = _OFFSETS.get(model, _OFFSET), math.inf
    if model in _NECK_SCALES:
        low, high = neck_tables.FIRST - 1e-9, neck_tables.FIRST + 20 * neck_tables.STEP + 1e-9
    wrong = ~((radii > low) & (radii <= high))
    if wrong.any():
        atom = int(np.argmax(wrong))
        named = f"{topology.describe(atom)} has the radius {radii[atom]:g} nm"
        bounds = "0.1 to 0.2 nm" if model in _NECK_SCALES else f"more than {low:g} nm"
        raise InputError(f"{named}; {model} needs {bounds}")


def _is_nucleic(topology: Topology) -> npt.NDArray[np.bool_]:
    names = np.char.strip(topology.residue_names.astype(str))
    found: npt.NDArray[np.bool_] = np.isin(names, _NUCLEIC)[topology.residue_of_atom]
    return found


def _by_element(elements: npt.NDArray[np.int32], table: dict[int, Any], other: Any) -> F64:
    return np.array([table.get(int(element), other) for element in elements], dtype=np.float64)


def _screening(given: F64, topology: Topology, model: Model) -> F64:
    elements = topology.elements
    if model == "gbn":
        return _by_element(elements, _GBN_SCREENING, _OTHER_SCREENING)
    if model == "gbn2":
        usual = _by_element(elements, _GBN2_SCREENING, _OTHER_SCREENING)
        nucleic = _by_element(elements, _GBN2_NUCLEIC_SCREENING, _OTHER_SCREENING)
        return np.where(_is_nucleic(topology), nucleic, usual)
    return given


def _shapes(topology: Topology, model: Model) -> F64:
    """(N, 3): alpha, beta, gamma of each atom."""
    if model != "gbn2":
        return np.broadcast_to(np.array(_SHAPES[model]), (len(topology.elements), 3))
    elements = topology.elements
    usual = _by_element(elements, _GBN2_SHAPES, _GBN2_OTHER_SHAPE)
    nucleic = _by_element(elements, _GBN2_NUCLEIC_SHAPES, _GBN2_OTHER_SHAPE)
    return np.where(_is_nucleic(topology)[:, None], nucleic, usual)


def _necks(radii: F64, model: Model) -> tuple[npt.NDArray[np.intp], F64, F64]:
    """The type of each atom, and distance and height by pair of types; radii in between linearly.

    Without necks one type, and empty tables.
    """
    if model not in _NECK_SCALES:
        return np.zeros(len(radii), dtype=np.intp), np.empty(0), np.empty(0)
    kinds, types = np.unique(radii, return_inverse=True)
    rows = np.clip((kinds - neck_tables.FIRST) / neck_tables.STEP, 0, neck_tables.COUNT - 1)
    low = np.minimum(np.floor(rows).astype(int), neck_tables.COUNT - 2)
    weights = np.zeros((len(kinds), neck_tables.COUNT))
    weights[np.arange(len(kinds)), low] = 1 - (rows - low)
    weights[np.arange(len(kinds)), low + 1] = rows - low
    distance = weights @ neck_tables.DISTANCE @ weights.T
    height = _NECK_SCALES[model] * (weights @ neck_tables.HEIGHT @ weights.T)
    return types.reshape(-1), distance, height
