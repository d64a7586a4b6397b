# SPDX-License-Identifier: Apache-2.0
"""Amber's changes over time: namelists &wt, which count where nmropt is 1.

Those of the temperature of the heat bath (TEMP0) become a schedule, others are refused, and so are
the restraints (DISANG) that nmropt brings as well.

Source: Amber 2023 Reference Manual, "Weight change information".
"""

from __future__ import annotations

from itertools import pairwise

from ..reading.entries import Control, Entries
from .namelists import Namelist

_OF_A_CHANGE = ("istep1", "istep2", "value1", "value2")
_STEPS = 200  # between changes here, the default of annealing_every


def take_changes(
    control: Control, entries: Entries, groups: list[Namelist], after: list[tuple[int, str]]
) -> None:
    """Reads nmropt, &wt and the lines after the namelists."""
    kind = entries.whole("nmropt", 0)
    if kind == 0:
        for group in groups:
            control.notes.append(f"line {group.line}, &wt: no effect without nmropt = 1")
        return
    if kind != 1:
        control.refused.append(f"nmropt {kind}: only 0 and 1")
    for number, line in after:
        if line.partition("=")[0].strip().upper() == "DISANG":
            why = "restraints of distances and angles: say them as [[restraint]] of a TOML file"
            control.refused.append(f"line {number}, {line}: {why}")
        elif "=" in line:
            control.notes.append(f"line {number}, {line}: this output is not written")
    if "minimize" in control.settings["run"]:
        control.notes.extend(
            f"line {group.line}, &wt: no effect in a minimisation" for group in groups
        )
        return
    changes = [change for group in groups if (change := _change(control, group)) is not None]
    if changes:
        _schedule(control, changes)
    elif not any(line.upper().startswith("DISANG") for _, line in after):
        control.notes.append("nmropt 1: nothing is changed")


def _change(control: Control, group: Namelist) -> tuple[float, ...] | None:
    """First and last step and temperature of a change; None for the mark of the end."""
    entries = Entries(control, group.entries)
    kind = entries.text("type")
    if kind == "end":
        entries.finish()
        return None
    if kind == "rest":
        control.notes.append(f"line {group.line}, &wt REST: of restraints that nmropt brings")
        return None
    if kind != "temp0":
        control.refused.append(f"line {group.line}, &wt {kind}: only TEMP0 may change")
        return None
    change = tuple(entries.number(name, 0.0) or 0.0 for name in _OF_A_CHANGE)
    entries.refuse("only changes that are linear in time", "imult", "iinc")
    entries.finish()
    return change


def _schedule(control: Control, changes: list[tuple[float, ...]]) -> None:
    """The temperature over time: temp0 until the first change, between changes what it was."""
    dynamics = control.settings["integrator"]
    if dynamics["ensemble"] == "nve":
        control.refused.append("&wt TEMP0: needs a thermostat")
        return
    before = dynamics.pop("temperature")
    points = _points(before, changes)
    if any(a[0] >= b[0] for a, b in pairwise(points)):
        control.refused.append("&wt TEMP0: changes must follow each other, step by step")
        return
    timestep = dynamics["timestep"]
    dynamics["annealing"] = [(round(step * timestep, 9), value) for step, value in points]
    control.notes.append(
        f"&wt TEMP0: temp0 {before:g} holds until the first change; the temperature changes every "
        f"{_STEPS} steps (annealing_every), not in each"
    )


def _points(temperature: float, changes: list[tuple[float, ...]]) -> list[tuple[float, float]]:
    """Steps and temperatures; the first one is step 0."""
    points: list[tuple[float, float]] = []
    for first, last, begin, end in changes:
        if not points and first <= 1:
            points = [(0.0, begin)]
        elif not points:
            points = [(0.0, temperature)]
        if first > points[-1][0] + 1:
            points.append((first - 1, points[-1][1]))
        if first > 1 and (first, begin) != points[-1]:
            points.append((first, begin))
        if last:
            points.append((last, end))
    return points
