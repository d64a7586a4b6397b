# SPDX-License-Identifier: Apache-2.0
"""Times of tasks from a profile of a run of the same system.

The median call of a task on each rank is set against its work there.  A task of several costs has
them in the ratio of the machine.  What a profile of one rank
cannot tell (sending, receiving, the latency of messages) stays as the machine says.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..engine.execution import is_gpu
from ..errors import QuiltError
from ..outputs.files import read_file, reading
from .machine import Cost, Costs, Machine
from .plan import Plan, Planner
from .tasks import COSTS, work_of

# As COSTS, with the tasks of a rebuild.
_TASKS = COSTS | {"lists.build": (("lists", "pairs"),), "layout.place": (("rebuild", "atoms"),)}
# Prefixes of tasks that send and receive, and the contents of their messages.
_MESSAGES = {
    "positions": "positions",
    "forces": "forces",
    "pme.charges": "charges",
    "pme.spectrum": "spectrum",
    "pme.potential": "potential",
    "fmm.charges": "charges",
    "fmm.near": "spectrum",
    "fmm.level": "spectrum back",
    "fmm.pass": "dispersion spectrum back",
    "fmm.potential": "potential",
}


def calibrated(machine: Machine, timeline: Path, planner: Planner) -> Machine:
    """The machine with the times of a profile, `timeline.json` of a run on CPU ranks.

    QuiltError if the profile is missing, damaged, of a GPU, or of another number of patches.
    """
    document = _read(timeline)
    about = document["otherData"]
    if is_gpu(about["device"]):
        raise QuiltError(
            f"{timeline} is of a GPU, on which kernels run concurrently: time each kernel alone "
            f"for "
            "two sizes of system, and write the times into the machine's file"
        )
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    ranks = max(event["pid"] for event in events) + 1
    plan = planner.plan(ranks)
    loads = about.get("loads", [])
    if sum(load["patches"] for load in loads) != planner.about["patches"]:
        raise QuiltError(f"{timeline} is of another system, box or cutoff: its patches differ")
    times = _medians(events)
    costs = machine.costs.model_dump() | _of_tasks(times, _work(plan, loads), machine.costs)
    costs |= _of_messages(times, document["traceEvents"], events)
    changed: dict[str, Any] = {"costs": costs, "execution": "serial", "name": f"{machine.name}, "}
    changed["name"] += f"tasks as in {timeline.parent.name}"
    return Machine.model_validate({**machine.model_dump(), **changed})


def _read(timeline: Path) -> dict[str, Any]:
    run = timeline.parent
    if not timeline.exists():
        raise QuiltError(f"{run} has no profile (timeline.json): make one by quiltmd profile {run}")
    with reading(timeline):
        data = read_file(timeline)
    try:
        document: dict[str, Any] = json.loads(data)
        if {"device", "first_step", "steps"} <= document["otherData"].keys():
            return document
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise QuiltError(f"{timeline} is not a profile by quiltmd, or damaged: record a new one")


def _medians(events: list[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Median time of the calls of each task on each rank, us."""
    calls: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        calls[event["name"]][event["pid"]].append(event["dur"])
    return {name: {rank: median(found) for rank, found in of.items()} for name, of in calls.items()}


def _work(plan: Plan, loads: list[dict[str, Any]]) -> dict[str, list[float]]:
    """The work of each rank; computes as they were after balancing."""
    has = {name: values.tolist() for name, values in work_of(plan).items()}
    pairs = [a + b for a, b in zip(has["interior_pairs"], has["boundary_pairs"], strict=True)]
    entries = [float(load["list_entries"]) for load in loads]
    if sum(entries) > 0:  # balancing may have moved computes since the plan
        share = [sum(pairs) * count / sum(entries) for count in entries]
        scale = [now / max(then, 1e-9) for now, then in zip(share, pairs, strict=True)]
        pairs = share
        for name in ("interior_pairs", "boundary_pairs", "interior_coulomb", "boundary_coulomb"):
            has[name] = [s * value for s, value in zip(scale, has[name], strict=True)]
    return {**has, "pairs": pairs}


def _of_tasks(
    times: dict[str, dict[int, float]], work: dict[str, list[float]], known: Costs
) -> dict[str, dict[str, float]]:
    took: dict[tuple[str, ...], float] = defaultdict(float)  # by the costs of a task
    done: dict[str, float] = defaultdict(float)
    for task, causes in _TASKS.items():
        for rank, us in times.get(task, {}).items():
            if work[causes[0][1]][rank] > 0:
                took[tuple(cost for cost, _ in causes)] += us
                for cost, units in causes:
                    done[cost] += work[units][rank]
    found: dict[str, dict[str, float]] = {}
    for costs, us in took.items():
        ratio = {cost: getattr(known, cost).each for cost in costs}
        if not any(ratio.values()):
            ratio[costs[0]] = 1.0
        share = 1e3 * us / sum(part * done[cost] for cost, part in ratio.items())
        found |= {cost: {"fixed": 0.0, "each": share * part} for cost, part in ratio.items()}
    return found


def _of_messages(
    times: dict[str, dict[int, float]], arrows: list[dict[str, Any]], spans: list[dict[str, Any]]
) -> dict[str, Any]:
    """Sending and receiving: a time for a message and one for a byte, by least squares."""
    sizes: dict[str, list[int]] = defaultdict(list)
    for arrow in arrows:
        if arrow["ph"] == "s":
            sizes[arrow["name"]].append(arrow["args"]["bytes"])
    found: dict[str, Any] = {}
    for cost in ("send", "receive"):
        points = [
            (median(sizes[message]), us)
            for task, message in _MESSAGES.items()
            if sizes.get(message)
            for us in times.get(f"{task}.{cost}", {}).values()
        ]
        if len({size for size, _ in points}) < 2:
            continue
        x, y = np.array(points).T
        each, fixed = np.polyfit(x, y, 1)
        each = max(float(each), 0.0)
        fixed = max(float(fixed), 0.0) if each else float(np.median(y))
        found[cost] = Cost(fixed=fixed, each=1e3 * each).model_dump()
    return found
