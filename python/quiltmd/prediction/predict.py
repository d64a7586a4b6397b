# SPDX-License-Identifier: Apache-2.0
"""Predictions: plan, task times and network put together, and what limits the result."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .machine import Machine
from .network import Fabric
from .plan import Plan, Planner, Sharing
from .simulate import Simulator, Step, message_cause
from .tasks import Graph, step_graph

_MANY_TASKS = 300_000  # more are simulated for two steps, fewer for four
_MOST_REPLICATED = 64  # ranks; on more, charges to all of them are never the faster way
_DAY = 86400e6  # us
# Bytes of device memory that a rank takes for each atom of the system, and of its own with its
# proxies (docs/decisions.md, "Slot arrays for the whole system on every rank").
_PER_ATOM_OF_SYSTEM, _PER_ATOM_AT_HAND = 300, 550

# Where time on the critical path goes, in words, by what a task's or a message's name begins with.
_PARTS = (
    ("pairs", "pairs"),
    ("terms", "bonded terms"),
    ("positions", "messages of the halo"),
    ("forces.clear", "integration"),
    ("forces", "messages of the halo"),
    ("integrate", "integration"),
    ("charges", "messages of PME"),
    ("spectrum", "messages of PME"),
    ("potential", "messages of PME"),
    ("pme.charges", "messages of PME"),
    ("pme.spectrum", "messages of PME"),
    ("pme.potential", "messages of PME"),
    ("pme.spread", "spreading and gathering"),
    ("pme.gather", "spreading and gathering"),
    ("pme.", "transforms of PME"),
    ("launches", "launches for atoms of other ranks"),
)
_SHARING = "work of other streams of the device"
_MESSAGES = ("messages of the halo", "messages of PME", "messages of rebuilds")


@dataclass(frozen=True)
class Prediction:
    """A step on so many ranks.

    Attributes
    ----------
    us_per_step, ns_per_day:
        Its time, rebuilds included, and the speed.
    efficiency:
        Speed per rank, against the smallest number of ranks that was predicted.
    communication:
        Share of messages, their sending and receiving included, in the time of a step.
    messages, bytes:
        Sent per rank and step, mean.
    hops:
        Hops of a byte, mean: hop-bytes over bytes.
    memory:
        Bytes of the rank that needs most.
    idle_ranks:
        Ranks without a patch.
    parts:
        Time of a step by what the critical path consists of, us.
    limiter:
        What holds it back, in words.
    """

    ranks: int
    us_per_step: float
    ns_per_day: float
    efficiency: float
    communication: float
    messages: float
    bytes: float
    hops: float
    memory: float
    idle_ranks: int
    parts: dict[str, float]
    limiter: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def predict(
    planner: Planner, machine: Machine, ranks: list[int], mesh: Sharing | None = None
) -> list[Prediction]:
    """Predictions for several numbers of ranks; `mesh` left out: the faster of both."""
    found: list[Prediction] = []
    for count in sorted(ranks):
        ways: tuple[Sharing, ...] = ("distributed", "replicated") if mesh is None else (mesh,)
        if count == 1 or count > _MOST_REPLICATED:
            ways = ("distributed",)
        tried = [_predict(planner, machine, planner.plan(count, way)) for way in ways]
        best = min(tried, key=lambda one: one.us_per_step)
        first = found[0] if found else best
        speedup = first.us_per_step * first.ranks / (best.us_per_step * best.ranks)
        found.append(Prediction(**{**asdict(best), "efficiency": speedup}))
    return found


def _predict(planner: Planner, machine: Machine, plan: Plan) -> Prediction:
    graph = step_graph(plan, machine.costs, planner.grid, machine.overlap)
    fabric = Fabric(machine, plan.count)
    simulator = Simulator(graph, fabric, plan.count, machine.execution == "serial")
    count = 2 if len(graph.names) > _MANY_TASKS else 4
    ends = [[0.0] * plan.count]
    for _ in range(count):
        step = simulator.run(ends[-1])
        ends.append(step.rank_end)
    one = (max(ends[-1]) - max(ends[1])) / (count - 1)
    parts = _parts_of_path(graph, step)
    total = sum(parts.values()) or 1.0
    parts = {name: us * one / total for name, us in parts.items()}
    life = int(planner.about["list_life"])
    for name, us in _rebuild(plan, machine).items():
        parts[name] = parts.get(name, 0.0) + us / life
    time = sum(parts.values())
    parts = dict(sorted(parts.items(), key=lambda item: -item[1]))
    sizes, hops = _traffic(plan, fabric)
    has = plan.ranks
    at_hand = float((has["atoms"] + has["proxy_atoms"]).max())
    idle = int((has["patches"] == 0).sum())
    return Prediction(
        ranks=plan.count,
        us_per_step=time,
        ns_per_day=1e-3 * planner.timestep * _DAY / time,
        efficiency=1.0,
        communication=sum(parts.get(name, 0.0) for name in _MESSAGES) / time,
        messages=len(graph.size) / plan.count,
        bytes=sizes / plan.count,
        hops=hops,
        memory=_PER_ATOM_OF_SYSTEM * planner.about["atoms"] + _PER_ATOM_AT_HAND * at_hand,
        idle_ranks=idle,
        parts=parts,
        limiter=_limiter(plan, parts, time, idle),
    )


def _part_of(name: str) -> str:
    return next((part for begins, part in _PARTS if name.startswith(begins)), "other")


def _parts_of_path(graph: Graph, step: Step) -> dict[str, float]:
    """Time on the critical path of a step by part: from the last task back to its causes."""
    if not step.end:
        return {}
    parts: dict[str, float] = defaultdict(float)
    task = max(range(len(step.end)), key=step.end.__getitem__)
    until = step.end[task]
    while True:
        took = until - step.begin[task]
        own = min(took, graph.fixed[task] + graph.work[task])
        parts[_part_of(graph.names[task])] += own
        if took > own:  # others had the device meanwhile
            parts[_SHARING] += took - own
        until = step.begin[task]
        cause = step.cause[task]
        if cause == -1:
            return dict(parts)
        if cause < -1:
            message = message_cause(cause)
            parts[_part_of(graph.kind[message])] += until - step.sent[message]
            until = step.sent[message]
            task = graph.source[message]
        else:
            parts[_part_of(graph.names[task])] += until - step.end[cause]
            until = step.end[cause]
            task = cause


def _rebuild(plan: Plan, machine: Machine) -> dict[str, float]:
    """Parts of a rebuild, us: work of the rank that has most, and messages of all to all."""
    costs, has = machine.costs, plan.ranks
    pairs = has["interior_pairs"] + has["boundary_pairs"]
    atoms = has["atoms"] + has["proxy_atoms"]
    work = costs.lists.time(float(pairs.max())) + costs.rebuild.time(float(atoms.max()))
    others = plan.count - 1
    exchange = 0.0
    if others:
        latency = machine.network.latency
        if machine.island is not None and plan.count <= machine.island.size:
            latency = machine.island.latency
        for size in (plan.migrant_bytes, plan.agreement_bytes):
            both = costs.send.time(size) + costs.receive.time(size)
            exchange += latency + others * max(both, 1e-3 * size / machine.network.bandwidth)
        halo = plan.messages.get("proxies")
        if halo is not None and len(halo):
            sent = np.bincount(halo[:, 0], minlength=plan.count).max()
            both = costs.send.time(float(halo[:, 2].max())) + costs.receive.time(0)
            exchange += latency + float(sent) * both
    return {"rebuilds": work, "messages of rebuilds": exchange}


def _traffic(plan: Plan, fabric: Fabric) -> tuple[float, float]:
    """Bytes of a step, and the mean number of hops of a byte."""
    total, hop_bytes = 0.0, 0.0
    known: dict[tuple[int, int], int] = {}
    for rows in plan.of_step().values():
        for sender, receiver, size in rows.tolist():
            hops = known.get((sender, receiver))
            if hops is None:
                hops = known[sender, receiver] = fabric.route(sender, receiver).hops
            total += size
            hop_bytes += size * hops
    return total, hop_bytes / total if total else 0.0


def _limiter(plan: Plan, parts: dict[str, float], time: float, idle: int) -> str:
    name, us = next(iter(parts.items()))
    text = f"{name}, {us / time:.0%} of a step"
    work = plan.ranks["interior_pairs"] + plan.ranks["boundary_pairs"]
    uneven = float(work.max() / work.mean()) if work.mean() > 0 else 1.0
    if name == "pairs" and uneven > 1.15:
        text += f"; the fullest rank has {uneven:.2g} times the mean"
    without_planes = int((plan.ranks["planes"] == 0).sum())
    if name in ("transforms of PME", "messages of PME") and without_planes:
        text += f"; {without_planes} ranks have no plane of the grid"
    if idle:
        text += f"; {idle} ranks have no patch"
    return text
