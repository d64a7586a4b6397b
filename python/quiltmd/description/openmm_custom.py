# SPDX-License-Identifier: Apache-2.0
"""Custom forces of OpenMM that are known by their expressions.

OpenMM has no harmonic improper, no table of Lennard-Jones pairs and no restraints; its readers of
other programs' files, `quiltmd convert` and users make custom forces of them, nearly always with
the same words.  Any other expression is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from . import openmm_tabulated

PAIRS = "CustomNonbondedForce"
_EXTERNAL, _BOND, _TORSION = "CustomExternalForce", "CustomBondForce", "CustomTorsionForce"
FORCES = (PAIRS, _EXTERNAL, _BOND, _TORSION)

_Fields = dict[str, npt.NDArray[Any]]
_NEVER = 1e6  # nm; a distance beyond all boxes
_TABLE = re.compile(r"\(a/r6\)\^2-b/r6;r6=r\^6;a=acoef\(type1,type2\);b=bcoef\(type1,type2\);?")
# A force constant, or half of one, times what follows: k*, 0.5*k*, (k/2)*, k/2*.
_CONSTANT = (
    r"(?:(?P<half>0?\.5|1/2|\(1/2\))\*)?(?:(?P<k>[\w.]+)|\(?(?P<halved>[\w.]+)/2(?:\.0)?\)?)\*"
)
_PI = r"pi=3\.14159\d*"


def _spring(body: str) -> re.Pattern[str]:
    """A force constant times a body, whose words in braces are names of parameters or numbers."""
    return re.compile(_CONSTANT + re.sub(r"\{(\w+)\}", r"(?P<\1>[\\w.]+)", body) + ";?")


_HELD = (
    _spring(r"periodicdistance\(x,y,z,{x0},{y0},{z0}\)\^2"),
    _spring(r"\(\(x-{x0}\)\^2\+\(y-{y0}\)\^2\+\(z-{z0}\)\^2\)"),
    _spring(r"max\(0,periodicdistance\(x,y,z,{x0},{y0},{z0}\)-{radius}\)\^2"),
)
_SPRINGS = (
    _spring(r"\(r-{both}\)\^2"),
    _spring(r"max\(0,r-{upper}\)\^2"),
    _spring(r"max\(0,{lower}-r\)\^2"),
    _spring(r"\(max\(0,r-{upper}\)\^2\+max\(0,{lower}-r\)\^2\)"),
    _spring(r"step\(r-{upper}\)\*\(r-(?P=upper)\)\^2"),
)
# A sum of products, and one in parentheses with factors before it: -q*(Ex*x+Ey*y).
_AXES = ("x", "y", "z")
_PRODUCT = re.compile(r"([+-]?)([\w.]+(?:\*[\w.]+)*)")
_SUM = re.compile(r"[+-]?[\w.]+(?:[+*-][\w.]+)*")
# Pair forms by tables of types: the tables in the order of `System.pair_tables`, and spellings.
PAIR_FORMS = {
    "buckingham": (("A", "B", "C"), ("{A}*exp(-{B}*r)-{C}/r^6",)),
    "morse": (
        ("D", "a", "r0"),
        (
            "{D}*((1-exp(-{a}*(r-{r0})))^2-1)",
            "{D}*(exp(-2*{a}*(r-{r0}))-2*exp(-{a}*(r-{r0})))",
        ),
    ),
    "mie": (
        ("epsilon", "sigma", "n", "m"),
        (
            "{n}/({n}-{m})*({n}/{m})^({m}/({n}-{m}))*{epsilon}*(({sigma}/r)^{n}-({sigma}/r)^{m})",
            "{epsilon}*{n}/({n}-{m})*({n}/{m})^({m}/({n}-{m}))*(({sigma}/r)^{n}-({sigma}/r)^{m})",
        ),
    ),
}
_LOOKED_UP = re.compile(r"(\w+)=(\w+)\((\w+)1,(\w+)2\)")
_FACTORED = re.compile(r"(?P<common>[+-]?(?:[\w.]+\*)*)\((?P<sum>[^()]*)\)")
_IMPROPERS = (
    _spring(r"min\(dtheta,2\*pi-dtheta\)\^2;dtheta=abs\(theta-{theta0}\);" + _PI),
    _spring(r"dtheta\^2;dtheta=min\(diff,2\*pi-diff\);diff=abs\(theta-{theta0}\);" + _PI),
    _spring(r"dtheta\^2;dtheta=min\(dt,2\*pi-dt\);dt=abs\(theta-{theta0}\);" + _PI),
)
_IMPROPER_AT_ZERO = _spring(r"\(theta-{theta0}\)\^2")  # the same where theta0 is 0
_COSINE = _spring(r"\(1-cos\(theta-{theta0}\)\)")


@dataclass(frozen=True)
class _Rows:
    """Terms of a custom force: their atoms, and values of parameters by name."""

    force: Any
    noun: str

    def __iter__(self) -> Iterator[tuple[list[int], dict[str, float]]]:
        """Atoms of each term, and the values of all parameters that its expression may name."""
        force, noun = self.force, self.noun
        globals_ = {
            force.getGlobalParameterName(k): force.getGlobalParameterDefaultValue(k)
            for k in range(force.getNumGlobalParameters())
        }
        names = [
            getattr(force, f"getPer{noun}ParameterName")(k)
            for k in range(getattr(force, f"getNumPer{noun}Parameters")())
        ]
        for term in range(getattr(force, f"getNum{noun}s")()):
            *atoms, row = getattr(force, f"get{noun}Parameters")(term)
            yield atoms, globals_ | dict(zip(names, row, strict=True))

    def matched(self, found: re.Match[str]) -> Iterator[tuple[list[int], float, dict[str, float]]]:
        """Atoms of each term, k of E = k/2 (...)^2, and the values that an expression names."""
        words = {name: word for name, word in found.groupdict().items() if word and name != "half"}
        for atoms, values in self:
            given = {name: _value(self.force, word, values) for name, word in words.items()}
            k = given.pop("k") if "k" in given else given.pop("halved") / 2
            yield atoms, (1.0 if found["half"] else 2.0) * k, given


def _value(force: Any, word: str, values: dict[str, float]) -> float:
    try:
        return values[word] if word in values else float(word)
    except ValueError:
        raise _unknown(force) from None


def torsion_fields(forces: list[Any]) -> tuple[_Fields, _Fields]:
    """Harmonic impropers, and periodic torsions spelt k (1 - cos(theta - theta0)).

    Returns
    -------
    The fields `impropers` and `improper_parameters` of `System`; `torsions` and
    `torsion_parameters`.

    Raises
    ------
    InputError
        Where a CustomTorsionForce is anything else.
    """
    impropers: list[tuple[list[int], list[float]]] = []
    torsions: list[tuple[list[int], list[float]]] = []
    for force in _of(forces, _TORSION):
        found = _first(force, (*_IMPROPERS, _IMPROPER_AT_ZERO, _COSINE))
        for atoms, k, given in _Rows(force, "Torsion").matched(found):
            if found.re is _COSINE:  # k is twice the constant here
                torsions.append((atoms, [1, given["theta0"] + np.pi, k / 2]))
            elif found.re is _IMPROPER_AT_ZERO and given["theta0"] != 0:
                raise InputError(
                    f"{_TORSION}: the term of atoms {_numbered(atoms)} is not periodic: its energy "
                    f"jumps at 180 degrees, as theta0 is not 0 ({given['theta0']:g})"
                )
            else:
                impropers.append((atoms, [given["theta0"], k]))
    return (
        _table("impropers", "improper_parameters", 4, 2, impropers),
        _table("torsions", "torsion_parameters", 4, 3, torsions),
    )


def constant_forces(forces: list[Any], atoms: int) -> npt.NDArray[np.float64]:
    """The sum of what CustomExternalForces that are linear in x, y and z do to each atom.

    Parameters
    ----------
    forces:
        Of the OpenMM System.
    atoms:
        Their number, N.

    Returns
    -------
    (N, 3) kJ/mol/nm.

    Raises
    ------
    InputError
        Where a force names an atom that does not exist, or something that is no parameter.
    """
    total = np.zeros((atoms, 3))
    for force in _of(forces, _EXTERNAL):
        products = _linear(force)
        for (atom,), values in _Rows(force, "Particle") if products else ():
            if not 0 <= atom < atoms:
                raise InputError(f"{_EXTERNAL}: names atom {atom}, which does not exist")
            for axis, factors in products:
                slope = [_value(force, word, values) for word in factors]
                total[atom, axis] -= np.prod(slope)
    return total


def _linear(force: Any) -> list[tuple[int, list[str]]]:
    """Products in an expression that is linear in x, y and z: axis, and factors; else none."""
    expression = _squeezed(force.getEnergyFunction()).removesuffix(";")
    found = _FACTORED.fullmatch(expression)
    common, inside = (found["common"], found["sum"]) if found else ("", expression)
    if not _SUM.fullmatch(inside):
        return []
    outer = ["-1"] * common.startswith("-") + list(filter(None, common.strip("+-").split("*")))
    products = []
    for sign, product in _PRODUCT.findall(inside):
        words = product.split("*")
        places = [word for word in words if word in _AXES]
        if len(places) != 1:
            return []
        words.remove(places[0])
        products.append((_AXES.index(places[0]), [*outer, *["-1"] * (sign == "-"), *words]))
    return [] if set(outer) & set(_AXES) else products


def restraint_fields(forces: list[Any], molecules: npt.NDArray[np.int32]) -> _Fields:
    """The fields of position and distance restraints of `System`; places do not follow the box.

    Parameters
    ----------
    forces:
        Of the OpenMM System.
    molecules:
        (N,) the molecule of each atom.

    Raises
    ------
    InputError
        Where a CustomExternalForce or CustomBondForce is no spring of the usual spellings, or one
        between molecules in a periodic box does not use periodic boundaries.
    """
    in_box = any(force.usesPeriodicBoundaryConditions() for force in forces)
    held: list[tuple[list[int], list[float]]] = []
    for force in _of(forces, _EXTERNAL):
        if _linear(force):  # see constant_forces
            continue
        for atoms, k, given in _Rows(force, "Particle").matched(_first(force, _HELD)):
            place = [given[name] for name in ("x0", "y0", "z0")]
            held.append((atoms, [0, 0, 0, *place, k, given.get("radius", 0), 1, 1, 1]))
    springs: list[tuple[list[int], list[float]]] = []
    for force in _of(forces, _BOND):
        for atoms, k, given in _Rows(force, "Bond").matched(_first(force, _SPRINGS)):
            if not 0 <= min(atoms) <= max(atoms) < len(molecules):
                raise InputError(f"{_BOND}: a bond names an atom that does not exist")
            joins = molecules[atoms[0]] != molecules[atoms[1]]
            if joins and in_box and not force.usesPeriodicBoundaryConditions():
                raise InputError(
                    f"{_BOND}: the bond of atoms {_numbered(atoms)} joins different molecules; its "
                    "atoms are taken as nearest images here, in OpenMM only with "
                    "setUsesPeriodicBoundaryConditions(True)"
                )
            lower = given.get("both", given.get("lower", 0.0))
            upper = given.get("both", given.get("upper", _NEVER))
            springs.append((atoms, [lower, upper, _NEVER, k]))
    return {
        **_table("position_restraints", "position_restraint_parameters", 1, 11, held),
        **_table("distance_restraints", "distance_restraint_parameters", 2, 4, springs),
    }


def _of(forces: list[Any], kind: str) -> list[Any]:
    return [force for force in forces if type(force).__name__ == kind]


def _first(force: Any, spellings: tuple[re.Pattern[str], ...]) -> re.Match[str]:
    """How an expression is spelt; InputError where it is none of these."""
    expression = _squeezed(force.getEnergyFunction())
    for spelling in spellings:
        found = spelling.fullmatch(expression)
        if found is not None:
            return found
    raise _unknown(force)


def _table(
    terms: str, parameters: str, arity: int, width: int, rows: list[tuple[list[int], list[float]]]
) -> _Fields:
    return {
        terms: np.array([atoms for atoms, _ in rows], dtype=np.int32).reshape(-1, arity),
        parameters: np.array([values for _, values in rows], dtype=np.float64).reshape(-1, width),
    }


def _numbered(atoms: list[int]) -> str:
    return "-".join(str(atom + 1) for atom in atoms)


def pair_fields(
    forces: list[Any], nonbonded: Any, exclusions: npt.NDArray[np.int32]
) -> dict[str, Any]:
    """The fields of `System` for a pair form by tables of types; {} without one.

    Parameters
    ----------
    forces:
        Of the OpenMM System.
    nonbonded:
        Its NonbondedForce, whose cutoff and switching must be the same, and whose atoms have no
        Lennard-Jones interactions of their own.
    exclusions:
        (n, 2) pairs without ordinary interactions there, sorted.

    Raises
    ------
    InputError
        Where a CustomNonbondedForce is anything else.
    """
    found = [force for force in forces if type(force).__name__ == PAIRS]
    if not found:
        return {}
    force = found[0]
    every = openmm_tabulated.ONE.fullmatch(_squeezed(force.getEnergyFunction()))
    known = (
        len(found) == 1
        and force.getNumPerParticleParameters() == (0 if every else 1)
        and force.getNumGlobalParameters() == force.getNumInteractionGroups() == 0
    )
    if not known:
        raise _unknown(force)
    _refuse_other_settings(force, nonbonded)
    fields = _pair_tables(force)
    atoms = range(force.getNumParticles())
    types = np.array([(*force.getParticleParameters(atom), 0)[0] for atom in atoms])
    pairs = [sorted(force.getExclusionParticles(k)) for k in range(force.getNumExclusions())]
    theirs = np.unique(np.array(pairs, dtype=np.int64).reshape(-1, 2), axis=0)
    if theirs.shape != exclusions.shape or (theirs != exclusions).any():
        raise InputError(f"{PAIRS}: other pairs are excluded than in the NonbondedForce")
    if any(nonbonded.getParticleParameters(atom)[2]._value for atom in atoms):
        raise InputError(f"{PAIRS}: atoms have Lennard-Jones interactions in NonbondedForce too")
    return {"lj_types": types.astype(np.int32), **fields}


def _pair_tables(force: Any) -> dict[str, Any]:
    """The form and its tables; InputError where the expression is not known."""
    expression = _squeezed(force.getEnergyFunction())
    if openmm_tabulated.is_tabulated(expression):
        by_distance = openmm_tabulated.read_tables(force, expression)
        if by_distance is None:
            raise _unknown(force)
        return {"pair_form": "tabulated", "pair_tables": by_distance, "lj_a": [], "lj_b": []}
    tables = {
        force.getTabulatedFunctionName(k): _tabulated(force, k)
        for k in range(force.getNumTabulatedFunctions())
    }
    if _TABLE.fullmatch(expression) and {"acoef", "bcoef"} <= set(tables):
        return {"lj_a": tables["acoef"] ** 2, "lj_b": tables["bcoef"]}
    head, *definitions = expression.removesuffix(";").split(";")
    kind = force.getPerParticleParameterName(0)
    looked_up = {}
    for definition in definitions:
        found = _LOOKED_UP.fullmatch(definition)
        if not found or {found[3], found[4]} != {kind} or found[2] not in tables:
            raise _unknown(force)
        looked_up[found[1]] = tables[found[2]]
    for form, (names, spellings) in PAIR_FORMS.items():
        for spelling in spellings:
            words = _by_names(spelling).fullmatch(head)
            if words and {words[name] for name in names} == set(looked_up):
                chosen = [looked_up[words[name]] for name in names]
                return {"pair_form": form, "pair_tables": chosen, "lj_a": [], "lj_b": []}
    raise _unknown(force)


def _by_names(spelling: str) -> re.Pattern[str]:
    """A spelling whose words in braces are any names, the same in every place."""
    pattern = ""
    for k, part in enumerate(re.split(r"\{(\w+)\}", spelling)):
        if k % 2 == 0:
            pattern += re.escape(part)
        else:
            pattern += f"(?P={part})" if f"?P<{part}>" in pattern else f"(?P<{part}>[A-Za-z_]\\w*)"
    return re.compile(pattern)


def _refuse_other_settings(force: Any, nonbonded: Any) -> None:
    everywhere = nonbonded.getNonbondedMethod() == nonbonded.NoCutoff
    if force.getNonbondedMethod() != (force.NoCutoff if everywhere else force.CutoffPeriodic):
        wanted = "NoCutoff, as that" if everywhere else "CutoffPeriodic, beside a cutoff"
        raise InputError(f"{PAIRS}: its method must be {wanted} of NonbondedForce")
    if everywhere:
        return
    for getter in ("getCutoffDistance", "getUseSwitchingFunction", "getSwitchingDistance"):
        ours, theirs = getattr(nonbonded, getter)(), getattr(force, getter)()
        used = getter != "getSwitchingDistance" or force.getUseSwitchingFunction()
        if used and ours != theirs:
            noun = getter.removeprefix("get").removeprefix("Use")
            raise InputError(f"{PAIRS}: its {noun} is {theirs}, that of NonbondedForce {ours}")


def _tabulated(force: Any, number: int) -> npt.NDArray[np.float64]:
    function = force.getTabulatedFunction(number)
    if type(function).__name__ != "Discrete2DFunction":
        raise _unknown(force)
    size, other, values = function.getFunctionParameters()
    return np.array(values, dtype=np.float64).reshape(other, size)


def _squeezed(expression: str) -> str:
    return "".join(expression.split())


def _unknown(force: Any) -> InputError:
    kind, name = type(force).__name__, force.getName()
    named = kind if name == kind else f"{kind} ({name})"
    return InputError(
        f"the OpenMM system has the force {named}, which is not supported: its expression "
        f"'{force.getEnergyFunction()}' is not one that is known"
    )
