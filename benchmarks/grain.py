# SPDX-License-Identifier: Apache-2.0
"""What would lift the limit of a few hundred ranks: predictions for features that did not exist.

    python benchmarks/grain.py --data FOLDER [--ranks 512,4096] [--patch-reach 1] [--only trees]

ApoA1 on the torus of Blue Gene/L as in prediction.py, pencils, and the same with
- `trees`: a patch that many ranks need goes to some of them, which pass it on; forces come back
  along the same tree and are added on their way;
- `bound`: of the positions that a rank sends and the forces that it takes in, all beyond four take
  it no time, which is more than trees can gain for it;
- `pairs`: a compute is a pair of patches instead of a patch against its half shell, and is made by
  any of the ranks that are nearest to one of the two (built since as `grain = "pair"`, where the
  pair of a patch with itself stays with its owner); `split`: those that are more than a rank's
  share of all pairs in parts.

FOLDER holds `apoa1/`.  Prints Markdown; figures in benchmarks/notes/scaling.md come from here.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prediction import apoa1, as_published

from quiltmd.description.state import State
from quiltmd.prediction import predict as predictions
from quiltmd.prediction.machine import Machine, read_machine
from quiltmd.prediction.network import Fabric, shape_of
from quiltmd.prediction.plan import Plan, Planner
from quiltmd.prediction.step_kinds import HALO, HALO_STREAM
from quiltmd.prediction.tasks import Graph, Group, Numbers, _Builder

CHOICES = (
    *("", "trees", "bound", "pairs", "pairs trees"),
    *("pairs bound", "pairs split", "pairs split trees"),
)
_CHILDREN = 4  # of a rank in a tree
_SAMPLES = 20_000
_REACH = 1.2 + 0.1  # nm: cutoff and about what lists have beyond it

Tree = list[tuple[int, int, int, int]]  # from, to, bytes, number of the edge that feeds it or -1


def tree_of(root: int, receivers: list[tuple[int, int]], fed_by: int, tree: Tree) -> None:
    """Adds edges from a rank to receivers (rank, bytes) which are split among its children."""
    for part in np.array_split(np.arange(len(receivers)), _CHILDREN):
        if len(part) == 0:
            continue
        below = [receivers[i] for i in part]
        child, size = below[0][0], max(size for _, size in below)
        tree.append((root, child, size, fed_by))
        tree_of(child, below[1:], len(tree) - 1, tree)


def trees_of(rows: NDArray[np.int64]) -> Tree:
    """Of messages (sender, receiver, bytes) with a tree for each sender."""
    receivers: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for sender, receiver, size in sorted(map(tuple, rows.tolist())):
        receivers[sender].append((receiver, size))
    tree: Tree = []
    for sender, found in receivers.items():
        tree_of(sender, found, -1, tree)
    return tree


class TreeBuilder(_Builder):
    """Tasks of a step whose halo travels along trees."""

    def build(self, with_mesh: bool) -> Graph:
        self.tree = trees_of(self.plan.messages["positions"])
        self.edges = np.array(self.tree)
        self.fed = np.flatnonzero(self.edges[:, 3] >= 0)
        self.received: dict[str, Group] = {}
        return super().build(with_mesh)

    def _rows(self, kind: str) -> NDArray[np.int64]:
        there = self.edges[:, :3]
        return there if kind == "positions" else there[:, [1, 0, 2]]

    def _after(self, before: Numbers, after: Numbers) -> None:
        self.graph._before.append(before)
        self.graph._after.append(after)

    def _send(self, kind: str, name: str, place: Any, before: list[Group]) -> Group:
        if kind not in ("positions", "forces"):
            return super()._send(kind, name, place, before)
        rows = self._rows(kind)
        group = self.graph.tasks(name, rows[:, 0], place, *self._times("send", rows[:, 2]))
        self.graph.order(before, group)
        self.senders[kind] = group
        if kind == "forces":  # received before others' forces are added to them and go on
            self._take(kind, "forces.receive", (HALO, HALO_STREAM), [])
            self._after(self.received[kind].tasks[self.fed], group.tasks[self.edges[self.fed, 3]])
        return group

    def _receive(self, kind: str, name: str, place: Any, before: list[Group]) -> Group:
        if kind not in ("positions", "forces"):
            return super()._receive(kind, name, place, before)
        if kind == "positions":
            self._take(kind, name, place, before)
            self._after(
                self.received[kind].tasks[self.edges[self.fed, 3]],
                self.senders[kind].tasks[self.fed],
            )
        return self.received[kind]

    def _take(self, kind: str, name: str, place: Any, before: list[Group]) -> None:
        rows = self._rows(kind)
        group = self.graph.tasks(name, rows[:, 1], place, *self._times("receive", rows[:, 2]))
        self.graph.order(before, group)
        self.graph.message(kind, self.senders[kind].tasks, group.tasks, rows[:, 2])
        self.received[kind] = group


class BoundBuilder(_Builder):
    """Tasks of a step of which the owner of a patch pays for four messages of the halo."""

    free: NDArray[np.bool_] | None = None

    def _times(self, cost: str, units: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        fixed, work = super()._times(cost, units)
        return (fixed, work) if self.free is None else (fixed * ~self.free, work * ~self.free)

    def _send(self, kind: str, name: str, place: Any, before: list[Group]) -> Group:
        self.free = beyond_four(self.plan.messages[kind][:, 0]) if kind == "positions" else None
        group = super()._send(kind, name, place, before)
        self.free = None
        return group

    def _receive(self, kind: str, name: str, place: Any, before: list[Group]) -> Group:
        self.free = beyond_four(self.plan.messages[kind][:, 1]) if kind == "forces" else None
        group = super()._receive(kind, name, place, before)
        self.free = None
        return group


def beyond_four(owners: NDArray[np.int64]) -> NDArray[np.bool_]:
    """By message, whether its owner has as many others before it as a rank of a tree."""
    seen: dict[int, int] = defaultdict(int)
    found = np.zeros(len(owners), bool)
    for place, owner in enumerate(owners.tolist()):
        found[place] = seen[owner] >= _CHILDREN
        seen[owner] += 1
    return found


def with_pairs(plan: Plan, planner: Planner, state: State, fabric: Fabric, is_split: bool) -> Plan:
    """The plan with a compute for each pair of patches, shared among the ranks near to them."""
    cells, atoms = np.array(planner.about["cells"]), atoms_of(state, planner)
    work = pairs_of_offsets(planner, np.asarray(state.box) / cells[:, None])
    total = float((plan.ranks["interior_pairs"] + plan.ranks["boundary_pairs"]).sum())
    places = np.stack(np.unravel_index(np.arange(len(atoms)), cells), axis=1)
    near = nearest_ranks(plan, fabric)
    computes = []
    for offset, fraction in work.items():
        others = np.ravel_multi_index(tuple(((places + offset) % cells).T), cells)
        for patch, other in enumerate(others.tolist()):
            size = atoms[patch] * atoms[other] * fraction * (0.5 if patch == other else 1.0)
            computes.append((size, patch, other))
    scale = total / sum(size for size, _, _ in computes)
    if is_split:
        share = total / (scale * plan.count)
        counts = [int(np.ceil(size / share)) for size, _, _ in computes]
        computes = [
            (size / count, patch, other)
            for (size, patch, other), count in zip(computes, counts, strict=True)
            for _ in range(count)
        ]
    load = np.zeros(plan.count)
    interior, boundary = np.zeros(plan.count), np.zeros(plan.count)
    needed: dict[tuple[int, int], set[int]] = defaultdict(set)
    for size, patch, other in sorted(computes, reverse=True):
        ranks = near[patch] if patch == other else near[patch] + near[other]
        rank = min(ranks, key=lambda r: load[r])
        load[rank] += scale * size
        away = [p for p in {patch, other} if plan.owners[p] != rank]
        (boundary if away else interior)[rank] += scale * size
        for p in away:
            needed[int(plan.owners[p]), rank].add(p)
    rows = np.array(
        [(a, b, int(32 * sum(atoms[p] for p in found))) for (a, b), found in needed.items()]
    )
    proxies = np.zeros(plan.count)
    np.add.at(proxies, rows[:, 1], rows[:, 2] / 32)
    columns = {"interior_pairs": interior, "boundary_pairs": boundary, "proxy_atoms": proxies}
    columns |= {"interior_coulomb": interior, "boundary_coulomb": boundary}  # one cutoff
    halo = {"positions": rows, "forces": rows[:, [1, 0, 2]], "proxies": rows}
    return replace(plan, ranks=plan.ranks | columns, messages=plan.messages | halo)


def atoms_of(state: State, planner: Planner) -> NDArray[np.float64]:
    """How many atoms each patch has."""
    cells = np.array(planner.about["cells"])
    fractions = (state.positions @ np.linalg.inv(state.box)) % 1.0
    places = np.minimum((fractions * cells).astype(int), cells - 1)
    numbers = np.ravel_multi_index(tuple(places.T), tuple(cells))
    return np.bincount(numbers, minlength=int(cells.prod())).astype(float)


def pairs_of_offsets(planner: Planner, edges: NDArray[np.float64]) -> dict[tuple[int, ...], float]:
    """For each offset of the half shell, the share of pairs of atoms that are within reach.

    `edges`: of a patch, (3, 3), nm.
    """
    random = np.random.default_rng(1)
    a, b = random.random((2, _SAMPLES, 3))
    found = {}
    for offset in product(*(range(-reach, reach + 1) for reach in planner.about["patch_reach"])):
        apart = np.linalg.norm((b + offset - a) @ edges, axis=1)
        share = float((apart < _REACH).mean())
        if offset >= (0, 0, 0) and share > 0:
            found[offset] = share
    return found


def nearest_ranks(plan: Plan, fabric: Fabric) -> list[list[int]]:
    """By patch, the ranks that have no patch's owner nearer than its own."""
    owners = np.unique(plan.owners)
    ranks = np.arange(plan.count)
    hops = np.stack([fabric.hops(np.full(plan.count, o), ranks) for o in owners])
    nearest = owners[hops.argmin(axis=0)]
    return [ranks[nearest == plan.owners[patch]].tolist() for patch in range(len(plan.owners))]


def predicted(planner: Planner, machine: Machine, plan: Plan, ways: set[str]) -> tuple[float, Any]:
    """Milliseconds of a step, and its parts."""
    as_it_is = predictions.step_graph
    builder = {"trees": TreeBuilder, "bound": BoundBuilder}.get(
        next(iter(ways & {"trees", "bound"}), ""), _Builder
    )
    predictions.step_graph = lambda plan, costs, overlap, with_mesh: builder(
        plan, costs, overlap
    ).build(with_mesh)
    one = predictions._predict(planner, machine, plan)
    predictions.step_graph = as_it_is
    parts = dict(one.parts)
    return 1e-3 * sum(parts.values()), parts


def longest_queue(plan: Plan, machine: Machine) -> tuple[int, float]:
    """The most messages of positions that a rank sends, and the longest it takes to, ms."""
    rows, cost = plan.messages["positions"], machine.costs.send
    took = np.bincount(rows[:, 0], cost.fixed + 1e-3 * cost.each * rows[:, 2])
    return int(np.bincount(rows[:, 0]).max()), 1e-3 * float(took.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ranks", default="512,4096")
    parser.add_argument("--patch-reach", type=int, default=1)
    parser.add_argument("--only", metavar="WORDS", help="choices of these words alone")
    given = parser.parse_args()
    machine, loaded = read_machine("blue-gene-l"), apoa1(given.data)
    planner = as_published(loaded, (108, 108, 80), 4, given.patch_reach)
    alone, _ = predicted(planner, machine, planner.plan(1), set())
    print("| ranks | with | ms a step | speed-up | halo's most receivers | send queue | parts |")
    print("|---|---|---|---|---|---|---|")
    for ranks in map(int, given.ranks.split(",")):
        plan = planner.plan(ranks, "pencils", shape_of(machine, ranks))
        fabric = Fabric(machine, ranks)
        for choice in CHOICES:
            ways = set(choice.split())
            if given.only is not None and not ways <= set(given.only.split()):
                continue
            used = plan
            if "pairs" in ways:
                used = with_pairs(plan, planner, loaded[1], fabric, "split" in ways)
            ms, parts = predicted(planner, machine, used, ways)
            most, queue = longest_queue(used, machine)
            told = sorted(parts.items(), key=lambda item: -item[1])[:3]
            words = ", ".join(f"{name} {1e-3 * us / ms:.0%}" for name, us in told)
            print(
                f"| {ranks} | {choice or 'nothing'} | {ms:.2f} | {alone / ms:.0f} | {most} "
                f"| {queue:.2f} ms | {words} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
