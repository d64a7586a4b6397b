# SPDX-License-Identifier: Apache-2.0
"""Who is right when devices that do the same come to different results.

All do the steps in question again, in fresh processes, from the last State on which they agreed.
Since the same kind of device gives the same bits each time, a result that is not repeated is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a fault.

    Attributes
    ----------
    kind:
        "transient": all agree the second time; "unrepeatable": some do not repeat themselves;
        "outvoted": each repeats itself, and a majority agrees; "undecided": nothing of all this.
    faulty:
        The devices that were wrong, by their places in the list; with "transient" in the first
        attempt only.
    """

    kind: Literal["transient", "unrepeatable", "outvoted", "undecided"]
    faulty: tuple[int, ...]


def diagnose(first: Sequence[str], again: Sequence[str]) -> Diagnosis:
    """The diagnosis on devices with these results, and these when they tried again."""
    changed = tuple(k for k, (a, b) in enumerate(zip(first, again, strict=True)) if a != b)
    if len(set(again)) == 1:
        return Diagnosis("transient", changed)
    steady = [k for k in range(len(first)) if k not in changed]
    if changed and steady and len({again[k] for k in steady}) == 1:
        return Diagnosis("unrepeatable", changed)
    result, votes = Counter(again).most_common(1)[0]
    if 2 * votes > len(again):
        return Diagnosis("outvoted", tuple(k for k, found in enumerate(again) if found != result))
    return Diagnosis("undecided", changed)
