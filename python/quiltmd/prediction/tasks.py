# SPDX-License-Identifier: Apache-2.0
"""The tasks of a step on all ranks, from a plan: their times, orders and messages.

Kinds of tasks, what they wait for and where they run are those of the core's schedules
(`step_kinds.py`), with the integrator's stage behind.  Tasks of a kind are made for all ranks at
once, so that a step of sixteen thousand ranks takes a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError
from .machine import Costs
from .plan import Plan
from .step_kinds import LOCAL, MAIN, Kind, Mesh, Place, kinds_of_step

Numbers = NDArray[np.int32]

# For tasks other than messages: costs, each with the work of the rank to which it is proportional.
COSTS: dict[str, tuple[tuple[str, str], ...]] = {
    "forces.clear": (("clear", "at_hand"),),
    "terms": (("terms", "atoms"),),
    "pairs.boundary": (("pairs", "boundary_pairs"), ("coulomb", "boundary_coulomb")),
    "pairs.interior": (("pairs", "interior_pairs"), ("coulomb", "interior_coulomb")),
    "pme.spread": (("spread", "atoms"),),
    "pme.planes": (("planes", "plane_points"),),
    "pme.rows": (("planes", "half_plane_points"),),
    "pme.columns": (("planes", "half_plane_points"),),
    "pme.lines": (("lines", "line_points"),),
    "pme.columns.back": (("inverse", "half_plane_points"),),
    "pme.rows.back": (("inverse", "half_plane_points"),),
    "pme.inverse": (("inverse", "plane_points"),),
    "pme.gather": (("gather", "atoms"),),
    "fmm.spread": (("spread", "atoms"),),
    "fmm.restrict": (("restrict", "plane_points"),),
    "fmm.stencil": (("stencil", "stencil_terms"),),
    "fmm.levels": (("levels", "level_terms"),),
    "fmm.prolong": (("prolong", "plane_points"),),
    "fmm.gather": (("gather", "atoms"),),
    "integrate": (("integrate", "atoms"),),
}

_MOMENTS = ("fmm.charged",)  # that others wait for, at which nothing is done


@dataclass(frozen=True)
class Group:
    """Tasks of one kind: their numbers, and the rank of each."""

    tasks: Numbers
    ranks: Numbers


@dataclass
class Graph:
    """Tasks by number, times in us, and messages by number.

    `kinds` and `message_kinds` name what each task does and each message carries.
    """

    kinds: list[str] = field(default_factory=list)
    message_kinds: list[str] = field(default_factory=list)
    _kind: list[Numbers] = field(default_factory=list)
    _columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    _messages: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    _before: list[Numbers] = field(default_factory=list)
    _after: list[Numbers] = field(default_factory=list)
    count: int = 0

    def tasks(
        self,
        name: str,
        ranks: NDArray[Any],
        place: Place,
        fixed: NDArray[np.float64] | float,
        work: NDArray[np.float64] | float,
    ) -> Group:
        """Adds tasks of one kind, with a fixed time and a time of work each."""
        n = len(ranks)
        on = np.asarray(ranks, np.int32)
        columns: dict[str, NDArray[Any]] = {
            "rank": on,
            "priority": np.full(n, place[0], np.int32),
            "stream": np.full(n, place[1], np.int32),
            "fixed": np.broadcast_to(np.asarray(fixed, np.float64), n),
            "work": np.broadcast_to(np.asarray(work, np.float64), n),
        }
        for column, values in columns.items():
            self._columns.setdefault(column, []).append(values)
        self._kind.append(np.full(n, len(self.kinds), np.int32))
        self.kinds.append(name)
        numbers = np.arange(self.count, self.count + n, dtype=np.int32)
        self.count += n
        return Group(numbers, on)

    def order(self, before: Iterable[Group], after: Group) -> None:
        """Has each task of `after` wait for all tasks of `before` on its rank."""
        for group in before:
            pairs = _of_same_rank(group, after)
            self._before.append(pairs[0])
            self._after.append(pairs[1])

    def message(self, kind: str, source: Numbers, user: Numbers, size: NDArray[Any]) -> None:
        """Adds messages, from the end of a task to the start of another; sizes in bytes."""
        n = len(source)
        columns: dict[str, NDArray[Any]] = {
            "source": source,
            "user": user,
            "bytes": np.asarray(size, np.float64),
        }
        for column, values in columns.items():
            self._messages.setdefault(column, []).append(values)
        self._messages.setdefault("kind", []).append(np.full(n, len(self.message_kinds), np.int32))
        self.message_kinds.append(kind)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For the core: tasks, orders and messages as flat arrays."""
        found = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        found["before"] = np.concatenate([*self._before, np.empty(0, np.int32)])
        found["after"] = np.concatenate([*self._after, np.empty(0, np.int32)])
        for name, kind in (("source", np.int32), ("user", np.int32), ("bytes", np.float64)):
            found[name] = np.concatenate([*self._messages.get(name, []), np.empty(0, kind)])
        return found

    def kind(self) -> Numbers:
        """Index of the kind of each task."""
        return np.concatenate(self._kind)

    def message_kind(self) -> Numbers:
        """Index of the kind of each message."""
        return np.concatenate([*self._messages.get("kind", []), np.empty(0, np.int32)])


def _of_same_rank(a: Group, b: Group) -> tuple[Numbers, Numbers]:
    """All pairs of a task of `a` and one of `b` that are on the same rank."""
    order = np.argsort(a.ranks, kind="stable")
    sorted_ranks = a.ranks[order]
    first = np.searchsorted(sorted_ranks, b.ranks, "left")
    count = np.searchsorted(sorted_ranks, b.ranks, "right") - first
    after = np.repeat(b.tasks, count)
    within = np.arange(len(after)) - np.repeat(np.cumsum(count) - count, count)
    return a.tasks[order][np.repeat(first, count) + within], after


class _Builder:
    def __init__(self, plan: Plan, costs: Costs, overlap: float) -> None:
        self.plan, self.costs, self.overlap = plan, costs, overlap
        self.all = np.arange(plan.count, dtype=np.int32)
        self.graph = Graph()
        self.senders: dict[str, Group] = {}

    def build(self, with_mesh: bool) -> Graph:
        groups: list[Group] = []
        has_mesh = with_mesh and bool(self.plan.ranks["planes"].any())
        mesh = Mesh(self.plan.method, self.plan.sharing) if has_mesh else None
        kinds = kinds_of_step(self.plan.count > 1, mesh)
        for kind in kinds:
            before = [groups[number] for number in kind.before]
            if kind.is_message and any(kinds[number].is_message for number in kind.before):
                before = [self._at_once(f"{kind.name}.ready", kind.place, before)]
            groups.append(self._add(kind, before))
        self._one("integrate", (LOCAL, MAIN), groups)
        return self.graph

    def _add(self, kind: Kind, before: list[Group]) -> Group:
        if kind.sends:
            return self._send(kind.sends, kind.name, kind.place, before)
        if kind.awaits:
            return self._receive(kind.awaits, kind.name, kind.place, before)
        if kind.name in _MOMENTS:
            return self._at_once(kind.name, kind.place, before)
        return self._one(kind.name, kind.place, before)

    def _times(self, cost: str, units: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Fixed times and times of work; none where there is nothing to do."""
        one = getattr(self.costs, cost)
        fixed = np.where(units > 0, one.fixed, 0.0)
        return fixed * self.overlap, fixed * (1 - self.overlap) + 1e-3 * one.each * units

    def _one(self, name: str, place: Place, before: list[Group]) -> Group:
        """A task on each rank."""
        if name not in COSTS:
            raise QuiltError(f"predictions have no cost for the task '{name}': add it to COSTS")
        units = work_of(self.plan)
        times = [self._times(cost, units[work]) for cost, work in COSTS[name]]
        group = self.graph.tasks(name, self.all, place, *map(sum, zip(*times, strict=True)))
        self.graph.order(before, group)
        return group

    def _at_once(self, name: str, place: Place, before: list[Group]) -> Group:
        """On each rank the moment at which many tasks are done, for others to wait for."""
        group = self.graph.tasks(name, self.all, place, 0.0, 0.0)
        self.graph.order(before, group)
        return group

    def _send(self, kind: str, name: str, place: Place, before: list[Group]) -> Group:
        rows = self.plan.messages.get(kind, _NONE)
        group = self.graph.tasks(name, rows[:, 0], place, *self._times("send", rows[:, 2]))
        self.graph.order(before, group)
        self.senders[kind] = group
        return group

    def _receive(self, kind: str, name: str, place: Place, before: list[Group]) -> Group:
        rows = self.plan.messages.get(kind, _NONE)
        group = self.graph.tasks(name, rows[:, 1], place, *self._times("receive", rows[:, 2]))
        self.graph.order(before, group)
        self.graph.message(kind, self.senders[kind].tasks, group.tasks, rows[:, 2])
        return group


_NONE = np.empty((0, 3), np.int64)


def work_of(plan: Plan) -> dict[str, NDArray[np.float64]]:
    """Work of each rank, by the quantity to which the time of tasks is proportional."""
    has = plan.ranks
    at_hand = has["atoms"] + has["proxy_atoms"]
    return {**has, "at_hand": at_hand, "half_plane_points": has["plane_points"] / 2}


def step_graph(plan: Plan, costs: Costs, overlap: float = 1.0, with_mesh: bool = True) -> Graph:
    """The tasks of a step on all ranks of a plan.

    `overlap` as of `Machine`; without the mesh: a step without the long-range sum.
    """
    return _Builder(plan, costs, overlap).build(with_mesh)
