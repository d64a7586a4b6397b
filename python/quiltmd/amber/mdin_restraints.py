# SPDX-License-Identifier: Apache-2.0
"""Position restraints of mdin files: E = weight (x - reference)^2, in kcal/mol/A^2, without a half.

The atoms are those of `restraintmask`, or of groups in lines after the namelists: a title, a
weight, ranges of residues (RES) or atoms (ATOM), END; and one END more after the last group.

Source: Amber 2023 Reference Manual, "GROUP Specification".
"""

from __future__ import annotations

from ..errors import InputError
from ..reading.entries import Control, Entries, number_of
from ..reading.units import ANGSTROM, KCAL
from .mask import selection_of_mask

_Lines = list[tuple[int, str]]
_KINDS = {"RES": "residue", "ATOM": "index"}  # and what selections call them


def take_restraints(control: Control, entries: Entries, after: _Lines) -> None:
    """Reads ntr and related keywords, and the groups of atoms after the namelists."""
    kind = entries.whole("ntr", 0)
    if kind == 0:
        return
    stated, weight = entries.has("restraint_wt"), entries.number("restraint_wt", 0.0)
    mask = entries.take("restraintmask")
    if kind != 1:
        control.refused.append(f"ntr {kind}: only 1")
    elif mask is None and not stated:
        _groups(control, after)
    elif mask is None:
        control.refused.append("ntr 1: restraintmask is missing")
    elif not weight:
        control.refused.append("ntr 1: restraint_wt is missing or 0, which restrains nothing")
    else:
        try:
            _hold(control, selection_of_mask(mask.value.strip("'\"")), weight)
        except InputError as error:
            control.refused.append(f"line {mask.line}, restraintmask: {error}")
    control.notes.append(
        "ntr 1: atoms are restrained to the positions in `reference` (--reference, Amber's "
        "-ref), by default those of the coordinates"
    )
    if control.settings["integrator"]["ensemble"] == "npt":
        control.notes.append(
            "ntr 1: reference positions follow the box with the centre of mass of all "
            "(reference_scaling); in Amber those of each molecule follow its own centre"
        )


def _hold(control: Control, selection: str, weight: float) -> None:
    k = 2 * weight * KCAL / ANGSTROM**2
    control.add("restraint", kind="position", select=selection, k=k)


def _groups(control: Control, after: _Lines) -> None:
    """Each group with its own weight."""
    lines = [one for one in after if "=" not in one[1] and one[1].lower() not in ("/", "&end")]
    at = 0
    while at < len(lines) and lines[at][1].upper() != "END":
        at = _group(control, lines, at)
    if at == 0:
        control.refused.append(
            "ntr 1: neither restraintmask and restraint_wt nor groups of atoms after the namelists"
        )


def _group(control: Control, lines: _Lines, at: int) -> int:
    """The group whose title is line `at`; returns the line after its END."""
    (number, title), *rest = lines[at:]
    last = next((k for k, (_, line) in enumerate(rest) if line.upper() == "END"), 0)
    weight = number_of(rest[0][1]) if last > 1 else 0.0
    if not weight > 0:
        why = "a group of atoms is a title, a weight, lines of RES or ATOM, and END"
        control.refused.append(f"line {number}, {title}: {why}")
        return len(lines)
    selections = []
    for number, line in rest[1:last]:
        selection = _ranges(line)
        if selection is None:
            control.refused.append(
                f"line {number}, {line}: only RES and ATOM with pairs of numbers"
            )
            return len(lines)
        selections.append(selection)
    _hold(control, " or ".join(selections), weight)
    return at + last + 2


def _ranges(line: str) -> str | None:
    """The selection that a line of a group is; None where it is none."""
    kind, *words = line.split()
    if (
        kind.upper() not in _KINDS
        or not words
        or len(words) % 2
        or not all(map(str.isdigit, words))
    ):
        return None
    ranges = zip(words[::2], words[1::2], strict=True)
    return f"{_KINDS[kind.upper()]} {' '.join(f'{first}-{last}' for first, last in ranges)}"
