# SPDX-License-Identifier: Apache-2.0
"""Predictions: plan, task times and network put together, and what limits the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError
from .machine import Cost, Machine
from .network import Fabric, shape_of
from .plan import Plan, Planner, Sharing
from .simulate import Simulator, Step, message_cause
from .tasks import Graph, step_graph

_STEPS = 4  # that are simulated; of the first one ranks begin at once, which they do not later
MOST_REPLICATED = 64  # ranks; on more, charges to all of them are never the faster way
_DAY = 86400e6  # us

Tile = tuple[int, int, int]  # how often a box is repeated in each dimension

# Bytes of device memory that a rank takes for each atom of the system (tables by atom, grids), for
# each of its own and its proxies, and for what grids leave free in their pages, as counted for one
# rank and two (benchmarks/notes/several-gpus.md).
_PER_ATOM_OF_SYSTEM, _PER_ATOM_AT_HAND, _PAGES = 115, 577, 3 * 2**20

# Parts of the time on the critical path, in words, by the prefix of a task's or message's name.
_PARTS = (
    ("pairs", "pairs"),
    ("terms", "bonded terms"),
    ("positions", "messages of the halo"),
    ("forces.clear", "integration"),
    ("forces", "messages of the halo"),
    ("integrate", "integration"),
    ("charges", "messages of the long-range sum"),
    ("spectrum", "messages of the long-range sum"),
    ("rows", "messages of the long-range sum"),
    ("potential", "messages of the long-range sum"),
    ("pme.charges", "messages of the long-range sum"),
    ("pme.spectrum", "messages of the long-range sum"),
    ("pme.potential", "messages of the long-range sum"),
    ("pme.spread", "spreading and gathering"),
    ("pme.gather", "spreading and gathering"),
    ("pme.", "transforms of PME"),
    ("fmm.charge", "messages of the long-range sum"),
    ("fmm.near", "messages of the long-range sum"),
    ("fmm.level.", "messages of the long-range sum"),
    ("fmm.pass", "messages of the long-range sum"),
    ("fmm.potential", "messages of the long-range sum"),
    ("fmm.spread", "spreading and gathering"),
    ("fmm.gather", "spreading and gathering"),
    ("fmm.", "levels of the fast multipole method"),
)
_SHARING = "work of other streams of the device"
_OF_GRIDS = ("transforms of PME", "levels of the fast multipole method")
_NO_MESSAGES = np.empty((0, 3), np.int64)
_MESSAGES = ("messages of the halo", "messages of the long-range sum", "messages of rebuilds")


@dataclass(frozen=True)
class Prediction:
    """A step on a number of ranks.

    Attributes
    ----------
    atoms:
        Number of atoms of the system.
    us_per_step, ns_per_day:
        Its time, rebuilds included, and the speed.
    efficiency:
        Atoms times speed per rank, against the smallest number of ranks that was predicted.
    communication:
        Share of messages, their sending and receiving included, in the time of a step.
    messages, bytes:
        Sent per rank and step, mean.
    hops:
        Hops of a byte, mean: hop-bytes over bytes.
    memory:
        Bytes of the rank that needs most.
    idle_ranks:
        Ranks without a patch and without a pair of patches.
    parts:
        Time of a step by what the critical path consists of, us.
    limiter:
        Limits of the speed, in words.
    """

    ranks: int
    atoms: int
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
    planner: Planner,
    machine: Machine,
    ranks: list[int],
    mesh: Sharing | None = None,
    is_placed: bool = True,
) -> list[Prediction]:
    """Predictions for several numbers of ranks.

    Parameters
    ----------
    planner, machine, ranks:
        Planner of the system, machine, and numbers of ranks.
    mesh:
        Sharing of PME; by default the faster of two ways.
    is_placed:
        Whether the assignment of patches heeds which ranks are near each other.

    Raises
    ------
    QuiltError
        If the machine has no room for this number of ranks.
    """
    return _with_efficiency(
        [_fastest(planner, machine, count, mesh, is_placed) for count in sorted(ranks)]
    )


def predict_weak(
    planner_of: Callable[[Tile], Planner],
    machine: Machine,
    ranks: list[int],
    mesh: Sharing | None = None,
    is_placed: bool = True,
) -> list[Prediction]:
    """Weak scaling: predictions of systems that are repeated once for each rank.

    Parameters
    ----------
    planner_of:
        The planner of the system, repeated in each dimension.
    machine, ranks, mesh, is_placed:
        As for `predict`.
    """
    box = planner_of((1, 1, 1)).box
    found = []
    for count in sorted(ranks):
        planner = planner_of(tile_of(count, box))
        found.append(_fastest(planner, machine, count, mesh, is_placed))
    return _with_efficiency(found)


def tile_of(copies: int, box: NDArray[np.float64]) -> Tile:
    """Numbers of copies along each axis: `count` in all, as close to a cube as possible."""
    edges, tile = np.linalg.norm(box, axis=1), np.ones(3, int)
    for prime in reversed(_primes_of(copies)):
        tile[int(np.argmin(edges * tile))] *= prime
    return int(tile[0]), int(tile[1]), int(tile[2])


def _primes_of(number: int) -> list[int]:
    """Its prime factors, the smallest first."""
    found, prime = [], 2
    while number > 1:
        while number % prime == 0:
            found.append(prime)
            number //= prime
        prime += 1
    return found


def _fastest(
    planner: Planner, machine: Machine, count: int, mesh: Sharing | None, is_placed: bool
) -> Prediction:
    _check_costs(planner, machine)
    ways = _ways(planner, machine, count) if mesh is None else (mesh,)
    if count == 1:
        ways = ("distributed",)
    shape = shape_of(machine, count) if is_placed else None
    tried = [_predict(planner, machine, planner.plan(count, way, shape)) for way in ways]
    return min(tried, key=lambda one: one.us_per_step)


def _with_efficiency(found: list[Prediction]) -> list[Prediction]:
    def rate(one: Prediction) -> float:  # atoms and steps, of a rank and us
        return one.atoms / (one.ranks * one.us_per_step)

    return [replace(one, efficiency=rate(one) / rate(found[0])) for one in found]


def _check_costs(planner: Planner, machine: Machine) -> None:
    if planner.method == "fmm" and machine.costs.stencil == Cost():
        raise QuiltError(
            f"the machine '{machine.name}' has no costs of the fast multipole method: give "
            "restrict, stencil, levels and prolong in its file"
        )


def _ways(planner: Planner, machine: Machine, ranks: int) -> tuple[Sharing, ...]:
    """The ways of sharing the long-range sum among which the fastest may be.

    GPUs, which work in streams, have no pencils.
    """
    if ranks <= MOST_REPLICATED:
        return ("distributed", "replicated")
    has_pencils = planner.method == "pme" and machine.execution == "serial"
    return ("distributed", "pencils") if has_pencils else ("distributed",)


def _predict(planner: Planner, machine: Machine, plan: Plan) -> Prediction:
    fabric = Fabric(machine, plan.count)
    if machine.execution == "streams":
        plan = plan.on_gpus()
    every = planner.long_range_every if planner.has_mesh else 1
    time_by = {True: 1 / every, False: (every - 1) / every}  # shares of steps, by whether with PME
    parts: dict[str, float] = defaultdict(float)
    sent = 0.0
    for with_mesh, share in time_by.items():
        if share == 0:
            continue
        graph = step_graph(plan, machine.costs, machine.overlap, with_mesh)
        for name, us in _simulated(graph, fabric, plan.count, machine).items():
            parts[name] += share * us
        sent += share * len(graph.message_kind())
    life = int(planner.about["list_life"])
    for name, us in _rebuild(plan, machine).items():
        parts[name] += us / life
    time = sum(parts.values())
    parts = dict(sorted(parts.items(), key=lambda item: -item[1]))
    sizes, hops = _traffic(plan, fabric, every)
    has = plan.ranks
    at_hand = float((has["atoms"] + has["proxy_atoms"]).max())
    idle = int(((has["patches"] == 0) & (has["computes"] == 0)).sum())
    return Prediction(
        ranks=plan.count,
        atoms=int(planner.about["atoms"]),
        us_per_step=time,
        ns_per_day=1e-3 * planner.timestep * _DAY / time,
        efficiency=1.0,
        communication=sum(parts.get(name, 0.0) for name in _MESSAGES) / time,
        messages=sent / plan.count,
        bytes=sizes / plan.count,
        hops=hops,
        memory=_PER_ATOM_OF_SYSTEM * planner.about["atoms"] + _PER_ATOM_AT_HAND * at_hand + _PAGES,
        idle_ranks=idle,
        parts=parts,
        limiter=_limiter(plan, parts, time, idle),
    )


def _simulated(graph: Graph, fabric: Fabric, ranks: int, machine: Machine) -> dict[str, float]:
    """The parts of the time between the ends of two steps, us, after the first few."""
    simulator = Simulator(graph, fabric, ranks, machine.execution == "serial")
    ends = [np.zeros(ranks)]
    for _ in range(_STEPS):
        step = simulator.run(ends[-1])
        ends.append(step.rank_end)
    one = float(ends[-1].max() - ends[1].max()) / (_STEPS - 1)
    parts = _parts_of_path(graph, simulator.tables, step)
    total = sum(parts.values()) or 1.0
    return {name: us * one / total for name, us in parts.items()}


def _part_of(name: str) -> str:
    return next((part for begins, part in _PARTS if name.startswith(begins)), "other")


def _parts_of_path(graph: Graph, tables: dict[str, Any], step: Step) -> dict[str, float]:
    """Time on the critical path of a step by part: from the last task back to its causes."""
    parts: dict[str, float] = defaultdict(float)
    kind, message_kind = graph.kind(), graph.message_kind()
    own_time = tables["fixed"] + tables["work"]
    task = int(np.argmax(step.end))
    until = float(step.end[task])
    while True:
        took = until - float(step.begin[task])
        own = min(took, float(own_time[task]))
        parts[_part_of(graph.kinds[kind[task]])] += own
        if took > own:  # others had the device meanwhile
            parts[_SHARING] += took - own
        until = float(step.begin[task])
        cause = int(step.cause[task])
        if cause == -1:
            return dict(parts)
        if cause < -1:
            message = message_cause(cause)
            name = graph.message_kinds[message_kind[message]]
            parts[_part_of(name)] += until - float(step.sent[message])
            until = float(step.sent[message])
            task = int(tables["source"][message])
        else:
            parts[_part_of(graph.kinds[kind[task]])] += until - float(step.end[cause])
            until = float(step.end[cause])
            task = cause


def _rebuild(plan: Plan, machine: Machine) -> dict[str, float]:
    """Parts of a rebuild, us: work and messages of the rank that has most of them."""
    costs, has = machine.costs, plan.ranks
    pairs = has["interior_pairs"] + has["boundary_pairs"]
    atoms = has["atoms"] + has["proxy_atoms"]
    work = costs.lists.time(float(pairs.max())) + costs.rebuild.time(float(atoms.max()))
    latency = machine.network.latency
    if machine.island is not None and plan.count <= machine.island.size:
        latency = machine.island.latency
    exchange = 0.0
    for rows in (*_rounds_of_agreement(plan), plan.messages.get("migrants", _NO_MESSAGES)):
        exchange += _exchange(rows, plan.count, machine, latency)
    halo = plan.messages.get("proxies", _NO_MESSAGES)
    if len(halo):
        sent = np.bincount(halo[:, 0], minlength=plan.count).max()
        both = costs.send.time(float(halo[:, 2].max())) + costs.receive.time(0)
        exchange += latency + float(sent) * both
    return {"rebuilds": work, "messages of rebuilds": exchange}


def _rounds_of_agreement(plan: Plan) -> list[NDArray[np.int64]]:
    rows = plan.messages.get("agreement", _NO_MESSAGES)
    return [rows[plan.agreement_rounds == number] for number in np.unique(plan.agreement_rounds)]


def _exchange(rows: NDArray[np.int64], ranks: int, machine: Machine, latency: float) -> float:
    """Time in which all ranks send messages and then receive them, us."""
    if not len(rows):
        return 0.0
    sizes = rows[:, 2].astype(float)
    send, receive = machine.costs.send, machine.costs.receive
    sent = np.bincount(rows[:, 0], send.fixed + 1e-3 * send.each * sizes, ranks)
    received = np.bincount(rows[:, 1], receive.fixed + 1e-3 * receive.each * sizes, ranks)
    on_wire = np.bincount(rows[:, 0], 1e-3 * sizes / machine.network.bandwidth, ranks)
    return latency + max(float(sent.max() + received.max()), float(on_wire.max()))


def _traffic(plan: Plan, fabric: Fabric, every: int) -> tuple[float, float]:
    """Bytes of a step, and the mean number of hops of a byte; PME is in one step of `every`."""
    total, hop_bytes = 0.0, 0.0
    for kind, rows in plan.of_step().items():
        share = 1.0 if kind in ("positions", "forces") else 1 / every
        hops = fabric.hops(rows[:, 0], rows[:, 1])
        total += share * float(rows[:, 2].sum())
        hop_bytes += share * float(rows[:, 2] @ hops)
    return total, hop_bytes / total if total else 0.0


def _limiter(plan: Plan, parts: dict[str, float], time: float, idle: int) -> str:
    name, us = next(iter(parts.items()))
    text = f"{name}, {us / time:.0%} of a step"
    work = plan.ranks["interior_pairs"] + plan.ranks["boundary_pairs"]
    uneven = float(work.max() / work.mean()) if work.mean() > 0 else 1.0
    if name == "pairs" and uneven > 1.15:
        text += f"; the rank with most of them has {uneven:.2g} times the mean"
    without_planes = int((plan.ranks["planes"] == 0).sum())
    if name in (*_OF_GRIDS, "messages of the long-range sum") and without_planes:
        text += f"; {without_planes} ranks have no part of the grid"
    if idle:
        text += f"; {idle} ranks have no patch"
    return text
