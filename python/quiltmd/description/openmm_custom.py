# SPDX-License-Identifier: Apache-2.0
"""Custom forces of OpenMM that are known by their expressions.

OpenMM has no harmonic improper and no table of Lennard-Jones pairs; its readers of CHARMM's and
GROMACS' files, and `quiltmd convert`, make custom forces of them, always with the same words.  Any
other expression is refused by name.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

IMPROPER, PAIRS, EXCEPTIONS = "CustomTorsionForce", "CustomNonbondedForce", "CustomBondForce"
FORCES = (IMPROPER, PAIRS)

_HARMONIC = re.compile(
    r"(0\.5\*)?k\*(?:min\(dtheta,2\*pi-dtheta\)\^2;dtheta=abs\(theta-theta0\);pi=3\.14159\d*;?"
    r"|dtheta\^2;dtheta=min\(diff,2\*pi-diff\);diff=abs\(theta-theta0\);pi=3\.14159\d*;?)"
)
_TABLE = re.compile(r"\(a/r6\)\^2-b/r6;r6=r\^6;a=acoef\(type1,type2\);b=bcoef\(type1,type2\);?")


def improper_fields(forces: list[Any]) -> dict[str, npt.NDArray[Any]]:
    """The fields `impropers` and `improper_parameters` of `System`.

    Raises
    ------
    InputError
        Where a CustomTorsionForce is anything else than harmonic impropers.
    """
    atoms: list[list[int]] = []
    values: list[list[float]] = []
    for force in forces:
        if type(force).__name__ != IMPROPER:
            continue
        found = _HARMONIC.fullmatch(_squeezed(force.getEnergyFunction()))
        names = [
            force.getPerTorsionParameterName(k) for k in range(force.getNumPerTorsionParameters())
        ]
        if found is None or sorted(names) != ["k", "theta0"] or force.getNumGlobalParameters():
            raise _unknown(force)
        scale = 1.0 if found[1] else 2.0
        for term in range(force.getNumTorsions()):
            *members, row = force.getTorsionParameters(term)
            given = dict(zip(names, row, strict=True))
            atoms.append(members)
            values.append([given["theta0"], scale * given["k"]])
    return {
        "impropers": np.array(atoms, dtype=np.int32).reshape(-1, 4),
        "improper_parameters": np.array(values, dtype=np.float64).reshape(-1, 2),
    }


def pair_fields(
    forces: list[Any], nonbonded: Any, exclusions: npt.NDArray[np.int32]
) -> dict[str, npt.NDArray[Any]]:
    """The fields `lj_types`, `lj_a`, `lj_b` of `System` from a table of pairs; {} without one.

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
    known = (
        len(found) == 1
        and _TABLE.fullmatch(_squeezed(force.getEnergyFunction()))
        and force.getNumPerParticleParameters() == 1
        and force.getNumGlobalParameters() == force.getNumInteractionGroups() == 0
        and force.getNonbondedMethod() == force.CutoffPeriodic
    )
    if not known:
        raise _unknown(force)
    _refuse_other_settings(force, nonbonded)
    tables = {
        force.getTabulatedFunctionName(k): _table(force, k)
        for k in range(force.getNumTabulatedFunctions())
    }
    atoms = range(force.getNumParticles())
    types = np.array([force.getParticleParameters(atom)[0] for atom in atoms])
    pairs = [sorted(force.getExclusionParticles(k)) for k in range(force.getNumExclusions())]
    theirs = np.unique(np.array(pairs, dtype=np.int64).reshape(-1, 2), axis=0)
    if theirs.shape != exclusions.shape or (theirs != exclusions).any():
        raise InputError(f"{PAIRS}: other pairs are excluded than in the NonbondedForce")
    if any(nonbonded.getParticleParameters(atom)[2]._value for atom in atoms):
        raise InputError(f"{PAIRS}: atoms have Lennard-Jones interactions in NonbondedForce too")
    return {
        "lj_types": types.astype(np.int32),
        "lj_a": tables["acoef"] ** 2,
        "lj_b": tables["bcoef"],
    }


def _refuse_other_settings(force: Any, nonbonded: Any) -> None:
    for getter in ("getCutoffDistance", "getUseSwitchingFunction", "getSwitchingDistance"):
        ours, theirs = getattr(nonbonded, getter)(), getattr(force, getter)()
        used = getter != "getSwitchingDistance" or force.getUseSwitchingFunction()
        if used and ours != theirs:
            noun = getter.removeprefix("get").removeprefix("Use")
            raise InputError(f"{PAIRS}: its {noun} is {theirs}, that of NonbondedForce {ours}")


def _table(force: Any, number: int) -> npt.NDArray[np.float64]:
    size, other, values = force.getTabulatedFunction(number).getFunctionParameters()
    return np.array(values, dtype=np.float64).reshape(other, size)


def _squeezed(expression: str) -> str:
    return "".join(expression.split())


def _unknown(force: Any) -> InputError:
    kind, name = type(force).__name__, force.getName()
    named = kind if name == kind else f"{kind} ({name})"
    return InputError(
        f"the OpenMM system has a {named}, which is not supported: its expression "
        f"'{force.getEnergyFunction()}' is not one that is known"
    )
