# SPDX-License-Identifier: Apache-2.0
"""Kinds of tasks of a step: those of the schedules that the core makes of a small system.

What waits for what, where and how urgently, is said once, in src/schedule/forces.cpp and the
long-range methods beside it.  A prediction takes it from the schedule of a rank of a few hundred
atoms; how many tasks of a kind there are, and how much each has to do, is for a plan to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from ..description.dynamics import resolve_dynamics
from ..description.integrators import VelocityVerlet
from ..description.nonbonded import Nonbonded
from ..description.state import State
from ..description.system import System
from ..engine.core import make_engine
from ..engine.where import RunHere
from .plan import Sharing

HALO, AWAITED, LONG_RANGE, LOCAL = range(4)  # priorities, the most urgent first
MAIN, SIDE, HALO_STREAM, BOUNDARY = range(4)  # streams

Place = tuple[int, int]  # priority and stream
Task = dict[str, Any]  # as the core describes it

# Atoms along a side of the box, nm between them: dense, or `fmm` would look for empty space.
_EDGE, _SPACING = 12, 0.25
_GRIDS: dict[str, dict[str, Any]] = {
    "pme": {"pme_grid": (20, 20, 20), "pme_alpha": 3.0},
    "fmm": {"fmm_grid": (20, 20, 20), "fmm_bandwidth": 8.0},
}
_RANKS = 12  # enough that pencils have rows and columns of several
# In pencils a spectrum travels twice each way; what plans call that, in the order of a step.
_TRAVELS = {"spectrum": ("rows", "spectrum"), "spectrum back": ("spectrum back", "rows back")}


@dataclass(frozen=True)
class Mesh:
    """A long-range sum and how ranks share it."""

    method: Literal["pme", "fmm"]
    sharing: Sharing


@dataclass(frozen=True)
class Kind:
    """Tasks of a rank that have one name, and wait for the same kinds of tasks.

    Attributes
    ----------
    name, place:
        Their name, priority and stream.
    before:
        Tasks for which they wait, by number.
    sends, awaits:
        Contents of the message that each sends or awaits; empty: none.
    """

    name: str
    place: Place
    before: tuple[int, ...]
    sends: str = ""
    awaits: str = ""

    @property
    def is_message(self) -> bool:
        """Whether there is one for each message."""
        return bool(self.sends or self.awaits)


@cache
def kinds_of_step(several: bool, mesh: Mesh | None) -> tuple[Kind, ...]:
    """Kinds of tasks of a step on one rank or on several, in the order of their schedules.

    `mesh`: its long-range sum; None: of a step without one.
    """
    schedules = _schedules(_RANKS if several else 1, mesh)
    found = max((_kinds(tasks) for tasks in schedules), key=len)
    return tuple(_as_planned(found)) if mesh == Mesh("pme", "pencils") else tuple(found)


def _schedules(ranks: int, mesh: Mesh | None) -> list[list[Task]]:
    """Schedules of all ranks of a small system, from the core."""
    atoms, length = _EDGE**3, _EDGE * _SPACING
    charges = np.where(np.arange(atoms) % 2, 0.5, -0.5)
    bonds: dict[str, Any] = {"bonds": [[0, 1]], "bond_parameters": [[_SPACING, 1000.0]]}
    system = System.of(np.full(atoms, 12.0), charges, sigma=0.3, epsilon=0.1, **bonds)
    places = (np.indices((_EDGE,) * 3).reshape(3, -1).T.astype(np.float64) + 0.5) * _SPACING
    state = State(places, np.zeros((atoms, 3)), np.eye(3) * length)
    of_mesh: dict[str, Any] = {"method": "cutoff"}
    if mesh is not None:
        of_mesh = {"method": mesh.method} | _GRIDS[mesh.method]
    sharing: Sharing = "distributed" if mesh is None else mesh.sharing
    where = RunHere("cpu", ranks, 1, (1, 1, 1), False, "staged", sharing)
    engine: Any = make_engine(
        system.arrays(),
        Nonbonded(cutoff=0.6, **of_mesh).resolve(state.box),
        resolve_dynamics(VelocityVerlet(0.001), None, system=system),
        where,
    )
    engine.set_state(**state.arrays())
    found: list[list[Task]] = engine.step_tasks()
    return found


def _kinds(tasks: list[Task]) -> list[Kind]:
    """The kinds of tasks of a rank, in the order in which they begin."""
    after: list[set[str]] = [set() for _ in tasks]  # names of those that wait for each
    for task in tasks:
        for number in task["after"]:
            after[number].add(task["name"])
    numbers: dict[Any, int] = {}
    of_task: list[int] = []
    kinds: list[Kind] = []
    for task, later in zip(tasks, after, strict=True):
        before = {tasks[number]["name"] for number in task["after"]}
        key = task["name"], frozenset(before), frozenset(later)
        number = numbers.setdefault(key, len(numbers))
        of_task.append(number)
        waits = {of_task[other] for other in task["after"]}
        if number == len(kinds):
            place = task["priority"], task["stream"]
            ends = [ends[0][0] if ends else "" for ends in (task["sends"], task["awaits"])]
            kinds.append(Kind(task["name"], place, (), *ends))
        known = set(kinds[number].before)
        kinds[number] = replace(kinds[number], before=tuple(sorted(known | waits)))
    return kinds


def _as_planned(kinds: list[Kind]) -> list[Kind]:
    """Kinds whose messages carry what plans say."""
    seen: dict[tuple[str, bool], int] = {}
    found = []
    for kind in kinds:
        carried = kind.sends or kind.awaits
        if carried in _TRAVELS:
            turn = seen.setdefault((carried, bool(kind.sends)), 0)
            seen[carried, bool(kind.sends)] += 1
            name = _TRAVELS[carried][turn]
            kind = replace(kind, sends=name) if kind.sends else replace(kind, awaits=name)
        found.append(kind)
    return found
