# SPDX-License-Identifier: Apache-2.0
"""Implicit solvent of an OpenMM System.

It is a GBSAOBCForce, or the CustomGBForce of a model of `openmm.app`, known by its expressions.
Radii are kept; screening factors too, except those of GBn and GBn2, which follow from elements and
residues here and must be the same there.  A force that differs from all models in any number is
refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .implicit_solvent import ImplicitSolvent, Model, solvent_arrays
from .nonbonded import Nonbonded
from .topology import Topology

OBC, CUSTOM = "GBSAOBCForce", "CustomGBForce"
FORCES = (OBC, CUSTOM)

_OFFSET = 0.009  # nm, by which radii are reduced; of GBn2 another
_OFFSETS = {"gbn2": 0.0195141}
_TENSION = 2.25936  # kJ/mol/nm^2, of OpenMM's surface energy
_CLOSE = 1e-6  # that numbers of a model may differ by
_CONSTANT = "138.935485"

# The expressions of openmm.app, without spaces.
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
# Of each model: its integral, radius, and parameters of an atom.
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
_SETTINGS = (
    r";solventDielectric=(?P<dielectric>[^;]+);soluteDielectric=(?P<solute>[^;]+)"
    r";kappa=(?P<kappa>[^;]+);offset=(?P<offset>[^;]+)"
)
_PLAIN, _SALTED = "1/solventDielectric", "exp(-kappa*{})/solventDielectric"
_OWN = "-0.5*{constant}*(1/soluteDielectric-{screened})*charge^2/B"
_PAIR = (
    "-{constant}*(1/soluteDielectric-{screened})*charge1*charge2/f;"
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
        Of the OpenMM System.
    charges:
        (N,) of its NonbondedForce, which those here must be.
    topology:
        For elements and residues, by which GBn and GBn2 choose parameters.
    nonbonded:
        With whose cutoff the solvent ends, or without one.

    Raises
    ------
    InputError
        Where there are several such forces, or one is no model that is known.
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


def _without_cutoff(force: Any, text: str) -> str:
    """An energy as it is spelled without a cutoff, where this one has the force's."""
    if force.getNonbondedMethod() == 0:
        return text
    cutoff = force.getCutoffDistance()._value
    places = [(r";cutoff=([^;]+)$", "", cutoff)]
    if "charge1" in text:
        places.append((r"\*\(1/f-([^();]+)\);", "/f;", 1 / cutoff))
    for pattern, plain, value in places:
        found = re.search(pattern, text)
        try:
            same = found is not None and np.isclose(float(found[1]), value, rtol=1e-9)
        except ValueError:
            same = False
        if found is None or not same:
            raise _unknown(force)
        text = text[: found.start()] + plain + text[found.end() :]
    return text


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
    made = [(name, _squeezed(text), kind) for name, text, kind in values]
    model = next(
        (
            model
            for model, (integral, radius, parameters) in _MODELS.items()
            if made == [("I", integral, force.ParticlePairNoExclusions),
                        ("B", radius, force.SingleParticle)]
            and tuple(names) == parameters
        ),
        None,
    )  # fmt: skip
    terms = [force.getEnergyTermParameters(k) for k in range(force.getNumEnergyTerms())]
    if model is None or force.getNumGlobalParameters() or force.getNumExclusions():
        raise _unknown(force)
    settings = [
        _settings(force, text, kind, expected, of)
        for (text, kind), (expected, of) in zip(terms, _energies(force, terms), strict=True)
    ]
    if any(each != settings[0] for each in settings):
        raise _unknown(force)
    dielectric, solute, kappa, offset = settings[0]
    if solute != 1:
        raise InputError(f"{CUSTOM}: soluteDielectric {solute:g} is not supported, only 1")
    if offset != _OFFSETS.get(model, _OFFSET):
        raise _unknown(force)
    return _described(model, dielectric, kappa, len(terms) == 3), _rows(force)


def _energies(force: Any, terms: list[Any]) -> list[tuple[tuple[str, ...], int]]:
    """What the energy terms may be: spellings, with salt and without, and over what they go."""
    own, pair = (
        tuple(
            text.format(constant=_CONSTANT, screened=screened.format(length))
            for screened in (_PLAIN, _SALTED)
        )
        for text, length in ((_OWN, "B"), (_PAIR, "f"))
    )
    one, two = force.SingleParticle, force.ParticlePairNoExclusions
    known = [(own, one), ((_SURFACE,), one), (pair, two)]
    if len(terms) == 2:
        del known[1]
    if len(terms) != len(known):
        raise _unknown(force)
    return known


def _settings(
    force: Any, text: str, kind: int, expected: tuple[str, ...], of: int
) -> tuple[float, ...]:
    """Dielectric constants of solvent and solute, kappa, and offset, as an energy term has them."""
    squeezed = _without_cutoff(force, _squeezed(text))
    head, mark, tail = squeezed.partition(";solventDielectric=")
    found = re.fullmatch(_SETTINGS, mark + tail)
    if found is None or kind != of or head not in expected:
        raise _unknown(force)
    names = ("dielectric", "solute", "kappa", "offset")
    try:
        numbers = tuple(float(found[name]) for name in names)
    except ValueError:
        raise _unknown(force) from None
    if len(expected) == 2 and (head == expected[1]) != (numbers[2] > 0):
        raise _unknown(force)
    return numbers


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


def _squeezed(expression: str) -> str:
    return "".join(expression.split())


def _unknown(force: Any) -> InputError:
    return InputError(
        f"the OpenMM system has the force {type(force).__name__} ({force.getName()}), which is not "
        "supported: its expressions are not those of HCT, OBC1, OBC2, GBn or GBn2 in openmm.app"
    )
