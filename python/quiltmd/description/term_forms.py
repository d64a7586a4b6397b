# SPDX-License-Identifier: Apache-2.0
"""The forms of bonded terms, each described once: its atoms, its parameters, what it does.

Whoever must know which terms hold molecules together, which may become constraints, how fast they
vibrate or what REST2 scales asks the form.  The core has the same list with the formulas
(`_core.term_forms()`); a test compares the two, as inputs are read without the core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

# What terms of a form are in a molecule:
#   bond       a chemical bond: it links atoms to a molecule, and a constraint may replace it
#   angle      what else keeps the shape of an angle, Urey-Bradley terms included
#   dihedral   torsions, impropers and torsion maps
#   pair       the nonbonded interaction of two atoms
#   restraint  no part of the molecule: what a user adds to hold atoms
#   field      a force from outside
Part = Literal["bond", "angle", "dihedral", "pair", "restraint", "field"]
Values = Literal["any", "not negative", "periodicity"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a term.

    Attributes
    ----------
    name:
        As in the core.
    unit:
        "" where it has none.
    is_strength:
        Whether the energy is proportional to it, or to it and the other strengths of the term
        together.
    values:
        Which values make sense.
    """

    name: str
    unit: str
    is_strength: bool = False
    values: Values = "any"

    @property
    def symbol(self) -> str:
        """Its name in expressions."""
        return self.name.replace(" ", "_")


@dataclass(frozen=True)
class Minimum:
    """The value of a distance (nm) or an angle (rad) at which the energy of a term is least.

    Attributes
    ----------
    at:
        From the parameters of n terms, (n, columns), the n values.
    stiffness:
        Likewise the second derivative of the energy there: kJ/mol/nm^2 or kJ/mol/rad^2.
    is_length:
        Whether the minimum is the length of a bond, which a constraint can fix.
    """

    at: Callable[[F64], F64]
    stiffness: Callable[[F64], F64]
    is_length: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class TermForm:
    """A form of bonded terms.

    Attributes
    ----------
    name:
        "bond": the key of `System.terms`.
    noun:
        "a bond", for messages.
    plural:
        "bonds", the name of the view of its atoms.
    part:
        Role of its terms in a molecule.
    atoms:
        Number of atoms of a term.
    parameters:
        Parameters of a term, in order.
    energy:
        The energy of a term, in the syntax of OpenMM's custom forces: `r` the distance, `theta` the
        angle or dihedral angle of its atoms, `(x, y, z)` from the place that holds the atom; "" for
        what no such expression says.
    minimum:
        The minimum of the energy, for forms that depend on one distance or angle.
    shared:
        The name of the data to whose rows the first parameter refers, and to which the energy is
        proportional; "" where there are none.
    may_change:
        Whether terms may have two states, between which lambda interpolates the parameters.
    """

    name: str
    noun: str
    plural: str
    part: Part
    atoms: int
    parameters: tuple[Parameter, ...]
    energy: str = ""
    minimum: Minimum | None = field(default=None, kw_only=True)
    shared: str = field(default="", kw_only=True)
    may_change: bool = field(default=False, kw_only=True)

    def __repr__(self) -> str:
        return f"<TermForm: {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return form_named, (self.name,)

    @property
    def the(self) -> str:
        """Noun with article, for messages about one term: "the bond"."""
        return f"the {self.noun.partition(' ')[2]}"

    @property
    def columns(self) -> int:
        """Number of parameters of a term."""
        return len(self.parameters)

    @property
    def parameter_array(self) -> str:
        """The name of the view of its parameters."""
        return f"{self.name}_parameters"

    @property
    def strengths(self) -> tuple[int, ...]:
        """The columns that scale the energy; with `shared`, its rows do."""
        return tuple(k for k, one in enumerate(self.parameters) if one.is_strength)

    @property
    def links_atoms(self) -> bool:
        """Whether its terms make molecules."""
        return self.part == "bond"

    @property
    def may_be_constrained(self) -> bool:
        """Whether a constraint of the length `minimum.at` may replace a term."""
        return self.part == "bond" and self.minimum is not None and self.minimum.is_length

    @property
    def holds_atoms(self) -> bool:
        """Whether it is a spring between two atoms: bounds their distance and makes it vibrate."""
        return self.atoms == 2 and self.minimum is not None

    @property
    def bends(self) -> bool:
        """Whether its terms keep the angles of a molecule."""
        return self.part == "angle" and self.atoms == 3 and self.minimum is not None

    @property
    def gives_shape(self) -> bool:
        """Whether it keeps the shape of a molecule, and so has no effect within a rigid one."""
        return self.part in ("bond", "angle", "dihedral")

    @property
    def hinders_motion(self) -> bool:
        """Whether its energies keep a molecule from changing its conformation: REST2 scales them.

        Bonds and angles do not.
        """
        return self.part in ("dihedral", "pair")


_MARKS: dict[str, Values] = {"+": "not negative", "#": "periodicity"}


def parameters_of(*words: str) -> tuple[Parameter, ...]:
    """Parameters from "name: unit"; * behind a name: a strength; for other marks, `_MARKS`."""
    made = []
    for word in words:
        marked, _, unit = word.partition(":")
        values: Values = next((kind for mark, kind in _MARKS.items() if mark in marked), "any")
        made.append(Parameter(marked.rstrip("*+#"), unit.strip(), "*" in marked, values))
    return tuple(made)


_HARMONIC = Minimum(lambda p: p[:, 0], lambda p: p[:, 1])
_SPRING = Minimum(lambda p: p[:, 1], lambda p: p[:, 3])  # between `lower` and `upper` or there
_STRETCH, _BEND = "k/2*(r-length)^2", "k/2*(theta-theta0)^2"
_FLAT_BOTTOM = parameters_of("theta0: rad", "width+: rad", "k*+: kJ/mol/rad^2")
_PLACE = ("a:", "b:", "c:", "x: nm", "y: nm", "z: nm")
_FORCE = ("force x*: kJ/mol/nm", "force y*: kJ/mol/nm", "force z*: kJ/mol/nm")
_POWERS = "c0-c1*cos(theta)+c2*cos(theta)^2-c3*cos(theta)^3+c4*cos(theta)^4-c5*cos(theta)^5"


def _fene_rest(p: F64) -> F64:
    """Where the repulsion and the pull of FENE bonds are equal, by bisection."""
    longest, k, sigma, epsilon = p.T
    low, high = np.zeros(len(p)), np.minimum(longest, 2 ** (1 / 6) * sigma)
    for _ in range(60):
        r = np.maximum((low + high) / 2, 1e-300)
        s6 = (sigma / r) ** 6
        pulls = k * r * r / (1 - (r / longest) ** 2) > 24 * epsilon * s6 * (2 * s6 - 1)
        low, high = np.where(pulls, low, r), np.where(pulls, r, high)
    rest: F64 = np.where(sigma * epsilon > 0, high, 0.0)
    return rest


def _fene_stiffness(p: F64) -> F64:
    longest, k, sigma, epsilon = p.T
    r = _fene_rest(p)
    x2 = (r / longest) ** 2
    s6 = (sigma / np.where(r > 0, r, np.inf)) ** 6
    repulsion = 24 * epsilon * s6 * (26 * s6 - 7) / np.where(r > 0, r * r, 1)
    stiffness: F64 = k * (1 + x2) / (1 - x2) ** 2 + repulsion
    return stiffness


TERM_FORMS = (
    TermForm(
        "bond",
        "a bond",
        "bonds",
        "bond",
        2,
        parameters_of("length+: nm", "k*+: kJ/mol/nm^2"),
        _STRETCH,
        minimum=_HARMONIC,
        may_change=True,
    ),
    TermForm(
        "angle",
        "an angle",
        "angles",
        "angle",
        3,
        parameters_of("theta0+: rad", "k*+: kJ/mol/rad^2"),
        _BEND,
        minimum=_HARMONIC,
        may_change=True,
    ),
    TermForm(
        "torsion",
        "a torsion",
        "torsions",
        "dihedral",
        4,
        parameters_of("periodicity#:", "phase: rad", "k*: kJ/mol"),
        "k*(1+cos(periodicity*theta-phase))",
        may_change=True,
    ),
    TermForm(
        "pair14",
        "a 1-4 pair",
        "pairs14",
        "pair",
        2,
        parameters_of("charge product*: e^2", "sigma+: nm", "epsilon*+: kJ/mol"),
        "4*epsilon*((sigma/r)^12-(sigma/r)^6)+138.93545764438198*charge_product/r",
        may_change=True,
    ),
    TermForm(
        "cmap",
        "a torsion map (CMAP)",
        "cmaps",
        "dihedral",
        5,
        parameters_of("map:"),
        shared="cmap_maps",
    ),
    TermForm(
        "improper",
        "an improper torsion",
        "impropers",
        "dihedral",
        4,
        parameters_of("phi0: rad", "k*: kJ/mol/rad^2"),
        "k/2*min(d,2*pi-d)^2; d=abs(theta-phi0); pi=3.141592653589793",
        minimum=_HARMONIC,
        may_change=True,
    ),
    TermForm(
        "urey_bradley",
        "a Urey-Bradley term",
        "urey_bradleys",
        "angle",
        2,
        parameters_of("length+: nm", "k*+: kJ/mol/nm^2"),
        _STRETCH,
        minimum=_HARMONIC,
        may_change=True,
    ),
    TermForm(
        "ryckaert_bellemans",
        "a Ryckaert-Bellemans torsion",
        "ryckaert_bellemans",
        "dihedral",
        4,
        parameters_of(*(f"c{n}*: kJ/mol" for n in range(6))),
        _POWERS,
        may_change=True,
    ),
    TermForm(
        "position_restraint",
        "a position restraint",
        "position_restraints",
        "restraint",
        1,
        parameters_of(
            *(*_PLACE, "k*+: kJ/mol/nm^2", "radius+: nm"),
            *("weight x+:", "weight y+:", "weight z+:"),
        ),
        "k/2*max(0,d-radius)^2; d=sqrt(weight_x*x^2+weight_y*y^2+weight_z*z^2)",
    ),
    TermForm(
        "distance_restraint",
        "a distance restraint",
        "distance_restraints",
        "restraint",
        2,
        parameters_of("lower+: nm", "upper: nm", "linear: nm", "k*+: kJ/mol/nm^2"),
        "k*s*(d-s/2); s=min(d,linear-upper); d=max(lower-r,max(0,r-upper))",
        minimum=_SPRING,
    ),
    TermForm(
        "angle_restraint",
        "an angle restraint",
        "angle_restraints",
        "restraint",
        3,
        _FLAT_BOTTOM,
        "k/2*max(0,abs(theta-theta0)-width)^2",
    ),
    TermForm(
        "torsion_restraint",
        "a torsion restraint",
        "torsion_restraints",
        "restraint",
        4,
        _FLAT_BOTTOM,
        "k/2*max(0,min(d,2*pi-d)-width)^2; d=abs(theta-theta0); pi=3.141592653589793",
    ),
    TermForm(
        "constant_force",
        "a constant force",
        "constant_forces",
        "field",
        1,
        parameters_of(*_PLACE, *_FORCE),
        "-(force_x*x+force_y*y+force_z*z)",
    ),
    TermForm(
        "opposite_force",
        "a pair of opposite forces",
        "opposite_forces",
        "field",
        2,
        parameters_of(*_FORCE),
    ),
    TermForm(
        "morse",
        "a Morse bond",
        "morse_bonds",
        "bond",
        2,
        parameters_of("length+: nm", "D*+: kJ/mol", "beta+: 1/nm"),
        "D*(1-exp(-beta*(r-length)))^2",
        minimum=Minimum(lambda p: p[:, 0], lambda p: 2 * p[:, 1] * p[:, 2] ** 2),
    ),
    TermForm(
        "quartic_bond",
        "a quartic bond",
        "quartic_bonds",
        "bond",
        2,
        parameters_of("length+: nm", "k*+: kJ/mol/nm^4"),
        "k/4*(r^2-length^2)^2",
        minimum=Minimum(lambda p: p[:, 0], lambda p: 2 * p[:, 1] * p[:, 0] ** 2),
    ),
    TermForm(
        "fene",
        "a FENE bond",
        "fene_bonds",
        "bond",
        2,
        parameters_of("longest+: nm", "k*+: kJ/mol/nm^2", "sigma+: nm", "epsilon*+: kJ/mol"),
        "-k/2*longest^2*log(1-(r/longest)^2)"
        "+step(2^(1/6)*sigma-r)*epsilon*(4*((sigma/r)^12-(sigma/r)^6)+1)",
        minimum=Minimum(_fene_rest, _fene_stiffness, is_length=False),
    ),
    TermForm(
        "cosine_angle",
        "an angle by its cosine",
        "cosine_angles",
        "angle",
        3,
        parameters_of("theta0+: rad", "k*+: kJ/mol"),
        "k/2*(cos(theta)-cos(theta0))^2",
        minimum=Minimum(lambda p: p[:, 0], lambda p: p[:, 1] * np.sin(p[:, 0]) ** 2),
    ),
    TermForm(
        "restricted_angle",
        "a restricted angle",
        "restricted_angles",
        "angle",
        3,
        parameters_of("theta0+: rad", "k*+: kJ/mol"),
        "k/2*((cos(theta)-cos(theta0))/sin(theta))^2",
        minimum=Minimum(lambda p: p[:, 0], lambda p: p[:, 1]),
    ),
    TermForm(
        "bending_torsion",
        "a combined bending-torsion term",
        "bending_torsions",
        "dihedral",
        4,
        parameters_of(*(f"a{n}*: kJ/mol" for n in range(5))),
    ),
)
_BY_NAME = {form.name: form for form in TERM_FORMS}


def form_named(name: str) -> TermForm:
    """The form with this name; KeyError, with the names that there are, where there is none."""
    if name not in _BY_NAME:
        raise KeyError(f"there is no form of terms {name!r}, only {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
