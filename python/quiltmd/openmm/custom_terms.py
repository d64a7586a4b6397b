# SPDX-License-Identifier: Apache-2.0
"""Custom forces of OpenMM whose expressions the core evaluates: those that `custom` does not know.

Global parameters have their default values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.custom_forces import (
    CustomAngle,
    CustomBond,
    CustomCompound,
    CustomExternal,
    CustomForces,
    CustomTerms,
    CustomTorsion,
)
from ..description.custom_names import as_energy_name, has_own_energy
from ..description.custom_pairs import CustomPairs
from ..errors import InputError
from . import centroids, compounds, custom
from .tabulated import add_functions_of, functions_of

_CLASSES: dict[str, Any] = {
    custom.BOND: CustomBond,
    custom.ANGLE: CustomAngle,
    custom.TORSION: CustomTorsion,
    custom.EXTERNAL: CustomExternal,
    custom.COMPOUND: CustomCompound,
}


def divided(forces: list[Any]) -> tuple[list[Any], list[Any]]:
    """Forces without those that become `CustomTerms`, and those.

    Parameters
    ----------
    forces:
        Forces of an OpenMM System.
    """
    free = [one for one in forces if _is_free(one)]
    return [one for one in forces if not any(one is other for other in free)], free


def _is_free(force: Any) -> bool:
    if type(force).__name__ in _CLASSES:
        return not custom.is_known(force)
    return compounds.is_compound(force)


def part_of(free: list[Any]) -> CustomForces | None:
    """The custom forces of `System`.

    Parameters
    ----------
    free:
        Forces of the classes above.

    Raises
    ------
    InputError
        If an expression has an error, or uses a function that is not known.
    """
    terms = [_terms_of(force) for force in free]
    return CustomForces(terms) if terms else None


def joined(part: CustomForces | None, pairs: list[CustomPairs]) -> CustomForces | None:
    """Forces of terms and of pairs together."""
    forces = [*(() if part is None else part.forces), *pairs]
    return CustomForces(forces) if forces else None


def members_of(
    free: list[Any], part: CustomForces | None
) -> list[tuple[str, npt.NDArray[np.int32]]]:
    """Names of the forces, and the atoms of their terms."""
    forces = () if part is None else part.terms
    return [(type(a).__name__, np.asarray(b.atoms)) for a, b in zip(free, forces, strict=True)]


def refuse_distant(
    free: list[Any], part: CustomForces | None, molecules: npt.NDArray[np.int32]
) -> None:
    """Refuse terms that join molecules where OpenMM would not take nearest images.

    Parameters
    ----------
    free, part:
        The forces, and what they have become.
    molecules:
        (N,) the molecule of each atom.
    """
    for force, terms in zip(free, () if part is None else part.terms, strict=True):
        if force.usesPeriodicBoundaryConditions():
            continue
        atoms = np.asarray(terms.atoms)
        apart = (molecules[atoms] != molecules[atoms[:, :1]]).any(axis=1)
        if apart.any():
            joined = "-".join(str(atom + 1) for atom in atoms[np.argmax(apart)])
            raise InputError(
                f"{type(force).__name__}: the term of atoms {joined} joins different molecules; "
                "its atoms are taken as nearest images here, in OpenMM only with "
                "setUsesPeriodicBoundaryConditions(True)"
            )


def write_forces(openmm: Any, part: CustomForces | None, periodic: bool) -> Iterator[Any]:
    """The custom forces as OpenMM's.

    Parameters
    ----------
    openmm:
        The module.
    part:
        The custom forces of a System.
    periodic:
        Whether atoms of a term are nearest images.
    """
    kinds = {made: kind for kind, made in _CLASSES.items()}
    for terms in map(_with_functions, () if part is None else part.terms):
        kind, atoms = kinds[type(terms)], np.asarray(terms.atoms)
        size = (atoms.shape[1],) if kind == custom.COMPOUND else ()
        force = getattr(openmm, kind)(*size, terms.energy)
        if has_own_energy(terms):
            force.setName(terms.name)
        add_functions_of(openmm, force, terms.functions)
        for name, value in terms.shared.items():
            force.addGlobalParameter(name, value)
        for name in terms.by_term:
            getattr(force, f"addPer{terms.noun}Parameter")(name)
        if kind != custom.EXTERNAL:
            force.setUsesPeriodicBoundaryConditions(periodic)
        rows = [[float(value[k]) for value in terms.by_term.values()] for k in range(len(terms))]
        add = getattr(force, f"add{terms.noun}")
        for members, row in zip(atoms.tolist(), rows, strict=True):
            add(*([members] if size else members), row)
        yield force


def _with_functions(terms: CustomTerms) -> CustomTerms:
    """The terms as those of a class that may have tabulated functions, if they have some."""
    if not terms.functions or isinstance(terms, CustomCompound):
        return terms
    kind = next(one for one, made in _CLASSES.items() if made is type(terms))
    energy = f"{terms.energy}; {compounds.AS_COMPOUND[kind]}"
    name = terms.name if has_own_energy(terms) else ""
    return CustomCompound(energy, terms.atoms, terms.parameters, name, terms.functions)


def _terms_of(force: Any) -> Any:
    with custom.naming(force):
        if type(force).__name__ == centroids.CENTROID:
            return compounds.of_centroids(force, name_of(force))
        if type(force).__name__ == centroids.VARIABLES:
            return compounds.of_variables(force, name_of(force), _terms_of)
        names, atoms, values = custom.read_terms(force)
        by_term = dict(zip(names, values.T, strict=True))
        return _CLASSES[type(force).__name__](
            force.getEnergyFunction(),
            atoms,
            {**custom.globals_of(force), **by_term},
            name_of(force),
            functions_of(force),
        )


def name_of(force: Any) -> str:
    """The name that a user has given to a force of OpenMM; "" where it has that of its class."""
    name = force.getName()
    return "" if name == type(force).__name__ else as_energy_name(name)
