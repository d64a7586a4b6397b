# SPDX-License-Identifier: Apache-2.0
"""Heat baths of groups of atoms: which atoms are in which, and what each group's temperature is.

A bath has whole hydrogen groups (atoms joined by constraints, virtual sites with their parents),
since a constraint shares out what a thermostat gives to one of its atoms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..errors import QuiltError
from .checks import user_settings
from .selection import select
from .settings import Friction, Temperature
from .sites import site_links
from .system import System

MOST_BATHS = 16  # kMaxHeatBaths of src/integrators/heat_baths.h


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class BathGroup:
    """Atoms with a heat bath of their own.

    Attributes
    ----------
    select:
        Which atoms, as `quiltmd.select` takes it.
    temperature:
        Temperature of the bath, K.
    friction:
        Friction coefficient, 1/ps.
    """

    select: str = Field(description="Atoms, in the words of a selection.")
    temperature: Temperature = 300.0
    friction: Friction = 1.0


def baths_of_atoms(system: System, groups: Sequence[BathGroup]) -> NDArray[np.uint8]:
    """The number of each atom's group, (N,), from 0.

    Raises
    ------
    QuiltError
        Where a selection cannot be read or has no atoms; or, naming the atom, where one is in none
        of the groups or in two, or a group has only a part of a hydrogen group.
    """
    members = np.zeros((len(groups), system.atoms), dtype=bool)
    for number, group in enumerate(groups):
        members[number, select(system, group.select)] = True
    name, times = system.topology.describe, members.sum(axis=0)
    if (times == 0).any():
        atom = int(np.argmax(times == 0))
        raise QuiltError(
            f"{name(atom)} has no heat bath ({(times == 0).sum()} atoms have none): select it in "
            "a group; 'not (...)' of the other selections has all that they have not"
        )
    if (times > 1).any():
        atom = int(np.argmax(times > 1))
        first, second = (groups[k].select for k in np.flatnonzero(members[:, atom])[:2])
        raise QuiltError(
            f"{name(atom)} has two heat baths, of {first!r} and of {second!r} ({(times > 1).sum()} "
            "atoms have several): leave it out of one"
        )
    bath: NDArray[np.uint8] = members.argmax(axis=0).astype(np.uint8)
    joined = np.concatenate([system.constraints, site_links(system.sites)])
    cut = np.flatnonzero(bath[joined[:, 0]] != bath[joined[:, 1]])
    if len(cut):
        one, other = (int(atom) for atom in joined[cut[0]])
        raise QuiltError(
            f"{name(one)} and {name(other)} have different heat baths, of "
            f"{groups[bath[one]].select!r} and {groups[bath[other]].select!r}, and are joined by a "
            "constraint or a virtual site, which shares out what a bath gives: select both, such "
            "as whole residues or molecules"
        )
    return bath


def degrees_of_freedom(
    system: System, bath: NDArray[np.uint8], resting: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each group: 3 for each atom with mass, less its constraints and its part of the centre.

    Parameters
    ----------
    system, bath:
        The group of each atom of a system.
    resting:
        By group, how much of the motion of the centre of mass is missing, from 0 to 1.  A group
        has of its three degrees of freedom the part that it has of the mass: at equal temperatures
        that is the kinetic energy which the removal takes from it.
    """
    count = len(resting)
    atoms = np.bincount(bath[system.masses > 0], minlength=count)
    constraints = np.bincount(bath[system.constraints[:, 0]], minlength=count)
    share = np.bincount(bath, system.masses, count) / system.masses.sum()
    degrees: NDArray[np.float64] = 3.0 * atoms - constraints - 3.0 * share * resting
    return degrees.clip(min=0.0)
