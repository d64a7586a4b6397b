# SPDX-License-Identifier: Apache-2.0
"""Virtual sites of an OpenMM System object. Imports nothing of OpenMM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..description.sites import Site, average, out_of_plane
from ..errors import InputError


def sites_of(openmm_system: Any) -> list[Site]:
    """The virtual sites of an OpenMM System, in the order of their atoms.

    Raises
    ------
    InputError
        Names the atom of a site of a kind that is not known here, and the kinds that are.
    """
    return [
        _site(atom, openmm_system.getVirtualSite(atom))
        for atom in range(openmm_system.getNumParticles())
        if openmm_system.isVirtualSite(atom)
    ]


def _site(atom: int, given: Any) -> Site:
    kind = type(given).__name__
    if kind not in _KINDS:
        raise InputError(
            f"a virtual site of the OpenMM system is of another kind ({kind}); "
            f"supported are {', '.join(_KINDS)}",
            atom=atom,
        )
    parents = [given.getParticle(k) for k in range(given.getNumParticles())]
    return _KINDS[kind](atom, parents, given)


def _average(atom: int, parents: list[int], given: Any) -> Site:
    return average(atom, parents, [given.getWeight(k) for k in range(len(parents))])


def _out_of_plane(atom: int, parents: list[int], given: Any) -> Site:
    a, b, c = given.getWeight12(), given.getWeight13(), given.getWeightCross()
    return out_of_plane(atom, parents, a, b, c)


def _local(atom: int, parents: list[int], given: Any) -> Site:
    place = given.getLocalPosition()
    if hasattr(place, "value_in_unit_system"):
        from openmm.unit import md_unit_system

        place = place.value_in_unit_system(md_unit_system)
    return Site(
        atom,
        tuple(parents),
        given.getOriginWeights(),
        given.getXWeights(),
        given.getYWeights(),
        tuple(np.array([*place], dtype=np.float64)),
    )


_KINDS: dict[str, Callable[[int, list[int], Any], Site]] = {
    "TwoParticleAverageSite": _average,
    "ThreeParticleAverageSite": _average,
    "OutOfPlaneSite": _out_of_plane,
    "LocalCoordinatesSite": _local,
}
