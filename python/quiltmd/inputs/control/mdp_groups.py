# SPDX-License-Identifier: Apache-2.0
"""GROMACS' temperature groups (tc-grps) as heat baths with selections.

Groups that GROMACS makes by itself have selections here.  Of others only the name is known, as an
index file is not read: make_ndx joins the names of what it joins by "_", down to names of residues.
"""

from __future__ import annotations

from .entries import Control

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


def add_baths(
    control: Control, groups: list[str], temperatures: list[float], times: list[float]
) -> None:
    """A [[bath]] for each group, with a friction that is the inverse of its time, ps."""
    for group, temperature, time in zip(groups, temperatures, times, strict=True):
        select = _selection(group)
        if group.lower() not in _DEFAULT_GROUPS:
            control.notes.append(
                f"tc-grps {group}: taken as '{select}', by its name; for what else an index file "
                "may have under it give [[bath]] in a configuration"
            )
        friction = 1.0 / time if time > 0 else 0.0
        control.add("bath", select=select, temperature=temperature, friction=friction)


def _selection(group: str) -> str:
    known = _DEFAULT_GROUPS.get(group.lower())
    if known is not None:
        return known
    parts = [part for part in group.split("_") if part]
    return " or ".join(_DEFAULT_GROUPS.get(part.lower(), f"resname {part}") for part in parts)
