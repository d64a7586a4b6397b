# SPDX-License-Identifier: Apache-2.0
"""Heat baths of groups of atoms: which atoms are in which, and what each group's temperature is.

A bath has whole hydrogen groups (atoms joined by constraints, virtual sites with their parents),
since a constraint shares out what a thermostat gives to one of its atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..errors import QuiltError
from .checks import user_settings
from .selection import select
from .settings import Friction, Temperature, TimeConstant
from .sites import site_links
from .system import System

MOST_BATHS = 16  # kMaxHeatBaths of src/integrators/heat_baths.h
STRENGTHS = ("friction", "time_constant")  # how strongly a bath acts: 1/ps, ps


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class BathGroup:
    """A group of atoms with a separate heat bath.

    Attributes
    ----------
    select:
        The atoms: a selection, as for `quiltmd.select`.
    temperature:
        Temperature of the bath, K.
    friction:
        With `LangevinMiddle`: friction coefficient, 1/ps; by default 1.
    time_constant:
        With other thermostats: their time constant, ps; by default 1.
    """

    select: str = Field(description="Atoms, in the words of a selection.")
    temperature: Temperature = 300.0
    friction: Friction | None = None
    time_constant: TimeConstant | None = None


_Described = TypeVar("_Described")
_Bathed = TypeVar("_Bathed", bound="HeatBaths")


class HeatBaths:
    """Base of integrators and thermostats: a heat bath of all atoms, or one of each of its groups.

    `coupling` names the setting that says how strongly a bath acts.
    """

    coupling: ClassVar[str]
    temperature: float
    groups: tuple[BathGroup, ...]

    def settle_baths(self) -> None:
        """Checks the groups, and gives those without a strength of coupling the default."""
        if not self.groups:
            return
        name, own = type(self).__name__, self.coupling
        if len(self.groups) > MOST_BATHS:
            raise QuiltError(
                f"{name}: there may be up to {MOST_BATHS} groups of atoms with heat baths, not "
                f"{len(self.groups)}"
            )
        hottest = max(group.temperature for group in self.groups)
        self._refuse_beside_groups("temperature", hottest)
        self._refuse_beside_groups(own)
        for group in self.groups:
            for other in STRENGTHS:
                if other != own and getattr(group, other) is not None:
                    raise QuiltError(
                        f"{name}: the bath of {group.select!r} takes a {own}, not a {other}: give "
                        f"{own} instead"
                    )
        default = getattr(type(self), own)
        completed = (
            group if getattr(group, own) is not None else _changed(group, own, default)
            for group in self.groups
        )
        object.__setattr__(self, "groups", tuple(completed))
        object.__setattr__(self, "temperature", hottest)

    def _refuse_beside_groups(self, name: str, settled: float | None = None) -> None:
        """QuiltError if a setting of one bath was given beside groups, which have theirs."""
        if getattr(self, name) not in (getattr(type(self), name), settled):
            raise QuiltError(
                f"{type(self).__name__}: each group has its own {name}: leave out that of all "
                f"atoms ({getattr(self, name):g})"
            )

    def temperatures(self) -> tuple[float, ...]:
        """Temperatures of the baths, K."""
        return tuple(group.temperature for group in self.groups) or (self.temperature,)

    def strengths(self) -> tuple[float, ...]:
        """Coupling strength of each bath: the setting that `coupling` names."""
        return tuple(getattr(bath, self.coupling) for bath in self.groups or (self,))

    def frictions(self) -> tuple[float, ...]:
        """Friction with which each bath acts on the centre of mass, 1/ps; 0: it stays at rest.

        After a time t a part exp(-2 friction t) of its thermal motion is missing.
        """
        return tuple(0.0 for _ in self.strengths())

    def with_each(self: _Bathed, name: str, value: float | Sequence[float]) -> _Bathed:
        """A copy with another temperature or friction: one for all groups, or one for each."""
        if getattr(self.groups[0], name, None) is None:
            raise QuiltError(f"{type(self).__name__} has no {name}")
        several = isinstance(value, list | tuple | np.ndarray)
        values = list(value) if several else [value] * len(self.groups)  # type: ignore[arg-type]
        if len(values) != len(self.groups):
            raise QuiltError(f"{name}: {len(values)} values for {len(self.groups)} groups of atoms")
        pairs = zip(self.groups, values, strict=True)
        groups = tuple(_changed(group, name, one) for group, one in pairs)
        return replace(self, groups=groups, temperature=type(self).temperature)  # type: ignore[type-var]

    def resolve_baths(self) -> dict[str, Any]:
        """Settings of the baths for the core; with groups it needs `bath_of_atom` besides."""
        own = self.coupling
        if not self.groups:
            return {"temperature": self.temperature, own: getattr(self, own)}
        settings: dict[str, Any] = {"baths": len(self.groups)}
        for number, group in enumerate(self.groups):
            settings[f"temperature_{number}"] = group.temperature
            settings[f"{own}_{number}"] = getattr(group, own)
        return settings


def _changed(description: _Described, name: str, value: Any) -> _Described:
    changed: Any = description
    made: _Described = replace(changed, **{name: value})
    return made


def baths_of_atoms(system: System, groups: Sequence[BathGroup]) -> NDArray[np.uint8]:
    """The number of each atom's group, (N,), from 0.

    Raises
    ------
    QuiltError
        If a selection cannot be read or has no atoms; or, naming the atom, where one is in none
        of the groups or in two, or a group has only a part of a hydrogen group.
    """
    members = np.zeros((len(groups), system.atoms), dtype=bool)
    for number, group in enumerate(groups):
        try:
            members[number, select(system, group.select)] = True
        except QuiltError as error:
            raise QuiltError(f"heat bath {number + 1}: {error}") from None
    name, times = system.topology.describe, members.sum(axis=0)
    if (times == 0).any():
        atom = int(np.argmax(times == 0))
        raise QuiltError(
            f"{name(atom)} has no heat bath ({(times == 0).sum()} atoms have none): select it in "
            f"a group; 'not (...)' around the other selections selects all remaining atoms"
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
            f"{groups[bath[one]].select!r} and {groups[bath[other]].select!r}, and are joined by "
            f"a constraint or a virtual site: put both into one bath, for example by selecting "
            f"whole residues or molecules"
        )
    return bath


def degrees_of_freedom(
    system: System, bath: NDArray[np.uint8], missing: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Degrees of freedom: 3 for each atom with mass, less constraints and part of the centre.

    Parameters
    ----------
    system, bath:
        The group of each atom of a system.
    missing:
        For each group, the degrees of freedom that the centre of mass lacks, from 0 to 3.  They
        are subtracted from the groups in proportion to mass: at equal temperatures, this is the
        kinetic energy that the removal takes from a group.
    """
    count = len(missing)
    atoms = np.bincount(bath[system.masses > 0], minlength=count)
    constraints = np.bincount(bath[system.constraints[:, 0]], minlength=count)
    share = np.bincount(bath, system.masses, count) / system.masses.sum()
    degrees: NDArray[np.float64] = 3.0 * atoms - constraints - share * missing
    return degrees.clip(min=0.0)
