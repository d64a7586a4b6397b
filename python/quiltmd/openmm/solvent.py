# SPDX-License-Identifier: Apache-2.0
"""Implicit solvent of an OpenMM System.

It is a GBSAOBCForce, or the CustomGBForce of a model of `openmm.app`, known by what its expressions
mean.
Radii are kept; screening factors too, except those of GBn and GBn2, which follow from elements and
residues here and must be the same there.  A force that differs from all models in any number is
refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.expression_values import evaluate
from ..description.expressions import Expression, ExpressionError
from ..description.implicit_solvent import ImplicitSolvent, Model, solvent_arrays
from ..description.nonbonded import Nonbonded
from ..description.topology import Topology
from ..errors import InputError
from .expressions import are_equal

OBC, CUSTOM = "GBSAOBCForce", "CustomGBForce"
FORCES = (OBC, CUSTOM)

_OFFSET = 0.009  # nm, by which radii are reduced; of GBn2 another
_OFFSETS = {"gbn2": 0.0195141}
_TENSION = 2.25936  # kJ/mol/nm^2, of OpenMM's surface energy
_CLOSE = 1e-6  # that numbers of a model may differ by

# The expressions of openmm.app.
_SPHERES = (
    "select(step(r+sr2-or1),0.5*(1/L-1/U+0.25*(r-sr2^2/r)*(1/(U^2)-1/(L^2))+0.5*log(L/U)/r),0);"
    "U=r+sr2;L=max(or1,D);D=abs(r-sr2)"
)
_WITH_NECKS = (
    "Ivdw+neckScale*Ineck;Ineck=step(radius1+radius2+neckCut-r)*getm0(radindex1,radindex2)/"
    "(1+100*(r-getd0(radindex1,radindex2))^2+0.3*1000000*(r-getd0(radindex1,radindex2))^6);"
    f"Ivdw={_SPHERES};radius1=or1+offset;radius2=or2+offset;"
    "neckScale={scale};neckCut=0.68;offset={offset}"
)
_RADIUS = "1/(1/or-tanh({polynomial})/radius);psi=I*or;radius=or+offset;offset={offset}"
_CHARGED = ("charge", "or", "sr")
# Integral, radius and parameters of an atom for each model.
_MODELS: dict[Model, tuple[str, str, tuple[str, ...]]] = {
    "hct": (_SPHERES, "1/(1/or-I)", _CHARGED),
    "obc1": (
        _SPHERES,
        _RADIUS.format(polynomial="0.8*psi+2.909125*psi^3", offset="0.009"),
        _CHARGED,
    ),
    "obc2": (
        _SPHERES,
        _RADIUS.format(polynomial="psi-0.8*psi^2+4.85*psi^3", offset="0.009"),
        _CHARGED,
    ),
    "gbn": (
        _WITH_NECKS.format(scale="0.361825", offset="0.009"),
        _RADIUS.format(
            polynomial="1.09511284*psi-1.907992938*psi^2+2.50798245*psi^3", offset="0.009"
        ),
        (*_CHARGED, "radindex"),
    ),
    "gbn2": (
        _WITH_NECKS.format(scale="0.826836", offset="0.0195141"),
        _RADIUS.format(polynomial="alpha*psi-beta*psi^2+gamma*psi^3", offset="0.0195141"),
        (*_CHARGED, "alpha", "beta", "gamma", "radindex"),
    ),
}
_SETTINGS = ("solventDielectric", "soluteDielectric", "kappa", "offset")
_SCREENED = "(1/soluteDielectric-exp(-kappa*{length})/solventDielectric)"
_OWN = f"-0.5*138.935485*{_SCREENED.format(length='B')}*charge^2/B"
_PAIR = (
    f"-138.935485*{_SCREENED.format(length='f')}*charge1*charge2*(1/f-{{shift}});"
    "f=sqrt(r^2+B1*B2*exp(-r^2/(4*B1*B2)))"
)
_SURFACE = "28.3919551*(radius+0.14)^2*(radius/B)^6;radius=or+offset"


def solvent_fields(
    forces: list[Any],
    charges: npt.NDArray[np.float64],
    topology: Topology,
    nonbonded: Nonbonded,
) -> dict[str, Any]:
    """The fields `born_radii`, `born_screening`, `solvent` of `System`; {} without such a force.

    Parameters
    ----------
    forces:
        Forces of the OpenMM System.
    charges:
        (N,) of its NonbondedForce, which those here must be.
    topology:
        For elements and residues, by which GBn and GBn2 choose parameters.
    nonbonded:
        With whose cutoff the solvent ends, or without one.

    Raises
    ------
    InputError
        If there are several such forces, or one is no model that is known.
    """
    found = [force for force in forces if type(force).__name__ in FORCES]
    if not found:
        return {}
    if len(found) > 1:
        raise InputError(
            f"the OpenMM system has {len(found)} forces of implicit solvent; one can be used"
        )
    (force,) = found
    kind = type(force).__name__
    _check_cutoff(force, nonbonded)
    if force.getNumParticles() != len(charges):
        raise InputError(f"{kind} has {force.getNumParticles()} particles, not {len(charges)}")
    solvent, rows = _obc(force) if kind == OBC else _custom(force)
    others = ~np.isclose(rows[:, 0], charges, rtol=0, atol=1e-9)
    if others.any():
        raise InputError(
            f"{kind}: the charge is not that in NonbondedForce", atom=int(np.argmax(others))
        )
    if kind == CUSTOM:
        _check_numbers(force, solvent, rows, topology)
    return {
        "solvent": solvent,
        "born_radii": rows[:, 1] + _OFFSETS.get(solvent.model, _OFFSET),
        "born_screening": rows[:, 2] / rows[:, 1],
    }


def _check_cutoff(force: Any, nonbonded: Nonbonded) -> None:
    kind, is_cut = type(force).__name__, nonbonded.method == "cutoff"
    same = not is_cut or np.isclose(force.getCutoffDistance()._value, nonbonded.cutoff, rtol=1e-9)
    if force.getNonbondedMethod() != (1 if is_cut else 0) or not same:
        raise InputError(
            f"{kind}: only the method NoCutoff is supported, and CutoffNonPeriodic where "
            "NonbondedForce has that too, with the same cutoff and a reaction field of the "
            "dielectric constant 1"
        )


def _rows(force: Any) -> npt.NDArray[np.float64]:
    rows = [force.getParticleParameters(k) for k in range(force.getNumParticles())]
    bare = [[getattr(value, "_value", value) for value in row] for row in rows]
    return np.array(bare, dtype=np.float64)


def _obc(force: Any) -> tuple[ImplicitSolvent, npt.NDArray[np.float64]]:
    """The solvent, and rows of charge, offset radius and scaled radius."""
    tension = force.getSurfaceAreaEnergy()._value
    if not np.isclose(tension, _TENSION, rtol=1e-9) and tension != 0:
        raise InputError(
            f"{OBC}: surface area energy {tension:g} is not supported, only {_TENSION} and 0"
        )
    if force.getSoluteDielectric() != 1:
        found = force.getSoluteDielectric()
        raise InputError(f"{OBC}: solute dielectric {found:g} is not supported, only 1")
    rows = _rows(force)
    rows[:, 1] -= _OFFSET
    rows[:, 2] *= rows[:, 1]
    return _described("obc2", force.getSolventDielectric(), 0.0, tension != 0), rows


def _custom(force: Any) -> tuple[ImplicitSolvent, npt.NDArray[np.float64]]:
    """The same of a CustomGBForce, with further columns as its parameters."""
    values = [force.getComputedValueParameters(k) for k in range(force.getNumComputedValues())]
    names = [
        force.getPerParticleParameterName(k) for k in range(force.getNumPerParticleParameters())
    ]
    known = [("I", force.ParticlePairNoExclusions), ("B", force.SingleParticle)]
    model = next(
        (
            model
            for model, (*texts, parameters) in _MODELS.items()
            if tuple(names) == parameters
            and [(name, kind) for name, _, kind in values] == known
            and all(_same(text, ours) for (_, text, _), ours in zip(values, texts, strict=True))
        ),
        None,
    )
    if model is None or force.getNumGlobalParameters() or force.getNumExclusions():
        raise _unknown(force)
    terms = [force.getEnergyTermParameters(k) for k in range(force.getNumEnergyTerms())]
    given = _settings(force, terms)
    energies = _energies(force, given, with_surface=len(terms) == 3)
    if [kind for _, kind in terms] != [kind for _, kind in energies]:
        raise _unknown(force)
    if not all(_same(text, ours) for (text, _), (ours, _) in zip(terms, energies, strict=True)):
        raise _unknown(force)
    if given["soluteDielectric"] != 1:
        raise InputError(
            f"{CUSTOM}: soluteDielectric {given['soluteDielectric']:g} is not supported, only 1"
        )
    if given["offset"] != _OFFSETS.get(model, _OFFSET):
        raise _unknown(force)
    return (
        _described(model, given["solventDielectric"], given["kappa"], len(terms) == 3),
        _rows(force),
    )


def _settings(force: Any, terms: list[Any]) -> dict[str, float]:
    """Dielectric constants, kappa and offset, which the first energy term defines."""
    try:
        definitions = Expression(terms[0][0]).definitions
        values = evaluate([definitions[name] for name in _SETTINGS], {})
    except (ExpressionError, IndexError, KeyError):
        raise _unknown(force) from None
    return {name: float(value) for name, value in zip(_SETTINGS, values, strict=True)}


def _energies(force: Any, settings: dict[str, float], with_surface: bool) -> list[tuple[str, int]]:
    """Expected energy terms with these settings, and the atoms or pairs over which they sum."""
    shift = 0.0 if force.getNonbondedMethod() == 0 else 1 / force.getCutoffDistance()._value
    numbers = "".join(f";{name}={value!r}" for name, value in settings.items())
    one, two = force.SingleParticle, force.ParticlePairNoExclusions
    known = [(_OWN, one), (_SURFACE, one), (_PAIR.format(shift=repr(shift)), two)]
    if not with_surface:
        del known[1]
    return [(text + numbers, kind) for text, kind in known]


def _same(text: str, ours: str) -> bool:
    """Whether two expressions mean the same, whatever their tables have."""
    tables = {
        "getd0": lambda a, b: 0.3 + 0.1 * np.sin(3 * a + 5 * b),
        "getm0": lambda a, b: 0.2 + 0.1 * np.cos(4 * a + 7 * b),
    }
    return are_equal(text, ours, tables)


def _described(model: Model, dielectric: float, kappa: float, surface: bool) -> ImplicitSolvent:
    """The solvent with as much salt as gives kappa."""
    one_molar = ImplicitSolvent(model, 1.0, dielectric=dielectric)
    return replace(
        one_molar,
        salt_concentration=(kappa / one_molar.kappa) ** 2,
        surface="ace" if surface else "none",
    )


def _check_numbers(
    force: Any, solvent: ImplicitSolvent, rows: npt.NDArray[np.float64], topology: Topology
) -> None:
    """Refuse atoms whose numbers are not those that the model has for them, and other necks."""
    radii = rows[:, 1] + _OFFSETS.get(solvent.model, _OFFSET)
    made = solvent_arrays(solvent, radii, rows[:, 2] / rows[:, 1], topology)
    wanted = [rows[:, 1], rows[:, 2], *(rows[:, 3:6].T if solvent.model == "gbn2" else ())]
    for column, expected in zip((1, 2, 3, 4, 5), wanted, strict=False):
        wrong = ~np.isclose(made["atoms"][:, column], expected, rtol=_CLOSE, atol=1e-12)
        if wrong.any():
            raise InputError(
                f"{CUSTOM}: parameters are not those of {solvent.model} for this element and "
                "residue; pass topology= to System.from_openmm where there are names",
                atom=int(np.argmax(wrong)),
            )
    if force.getNumTabulatedFunctions() == 0:
        return
    theirs = {
        force.getTabulatedFunctionName(k): force.getTabulatedFunction(k).getFunctionParameters()
        for k in range(force.getNumTabulatedFunctions())
    }
    scale = {"gbn": 0.361825, "gbn2": 0.826836}[solvent.model]
    both = np.unique(np.column_stack([made["atoms"][:, 6], rows[:, -1]]).astype(int), axis=0)
    rank, index = both[:, 0], both[:, 1]
    for name, ours in (("getd0", made["neck_distance"]), ("getm0", made["neck_height"] / scale)):
        if name not in theirs:
            raise _unknown(force)
        count, _, values = theirs[name]
        table = np.array(values).reshape(count, count).T
        if not np.allclose(
            table[np.ix_(index, index)], ours[np.ix_(rank, rank)], rtol=_CLOSE, atol=1e-9
        ):
            raise InputError(f"{CUSTOM}: its table {name} is not that of {solvent.model}")


def _unknown(force: Any) -> InputError:
    return InputError(
        f"the OpenMM system has the force {type(force).__name__} ({force.getName()}), which is not "
        "supported: its expressions are not those of HCT, OBC1, OBC2, GBn or GBn2 in openmm.app"
    )
