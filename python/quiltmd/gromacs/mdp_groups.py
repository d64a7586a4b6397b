# SPDX-License-Identifier: Apache-2.0
"""GROMACS' temperature groups (tc-grps) as heat baths with selections.

Groups are those of an index file, where one is given.  Without one, groups that GROMACS makes by
itself have selections here, and of others only the name is known: make_ndx joins the names of what
it joins by "_", down to names of residues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..reading.entries import Control
from .index import as_selection

_DEFAULT_GROUPS = {
    "system": "all",
    "protein": "protein",
    "non-protein": "not protein",
    "water": "water",
    "sol": "water",
    "non-water": "not water",
    "ion": "ions",
    "ions": "ions",
    "water_and_ions": "water or ions",
    "dna": "nucleic",
    "rna": "nucleic",
}

Index = dict[str, list[int]]  # of an index file: numbers of atoms by names in lower case
Curve = tuple[tuple[float, float], ...]  # ps and K


@dataclass(frozen=True)
class TemperatureGroup:
    """A temperature group as an mdp has it: ref-t (K), tau-t (ps), and its annealing, if any."""

    name: str
    temperature: float
    time: float
    annealing: Curve | None = None

    def is_alike(self, other: TemperatureGroup) -> bool:
        """Whether both have the same bath."""
        one = self.annealing or self.temperature
        return one == (other.annealing or other.temperature) and self.time == other.time


def has_known_part(name: str) -> bool:
    """Whether a group is one that GROMACS makes by itself, or is named after one."""
    lower = name.lower()
    return lower in _DEFAULT_GROUPS or any(part in _DEFAULT_GROUPS for part in lower.split("_"))


def add_baths(
    control: Control,
    groups: Sequence[TemperatureGroup],
    strength: Callable[[float], tuple[str, float]],
    index: Index | None,
) -> None:
    """A [[bath]] for each group; `strength`: what tau-t sets in it, and the value."""
    for group in groups:
        select = _selection(control, group.name, index)
        setting, value = strength(group.time)
        bath = {"select": select, "temperature": group.temperature, setting: value}
        if group.annealing is not None:
            del bath["temperature"]
            bath["annealing"] = group.annealing
        control.add("bath", **bath)


def _selection(control: Control, group: str, index: Index | None) -> str:
    if index is not None:
        atoms = index.get(group.lower())
        if not atoms:
            names = ", ".join(index)
            control.refused.append(f"tc-grps {group}: not in the index file, which has {names}")
        return as_selection(atoms or [1])
    known = _DEFAULT_GROUPS.get(group.lower())
    if known is not None:
        return known
    parts = [part for part in group.split("_") if part]
    select = " or ".join(_DEFAULT_GROUPS.get(part.lower(), f"resname {part}") for part in parts)
    control.notes.append(
        f"tc-grps {group}: taken as '{select}', by its name; for what else an index file may have "
        "under it give that file (--index)"
    )
    return select
