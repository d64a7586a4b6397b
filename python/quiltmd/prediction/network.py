# SPDX-License-Identifier: Apache-2.0
"""Networks between ranks: routes as lists of links, and messages that take links in turn.

A message holds each link of its route for the time that its bytes take, in the order in which
messages are sent; its head moves on as soon as a link is free (cut-through).  Routes are the
shortest: dimension by dimension in a torus, up and down in a fat tree, through one global link of a
dragonfly.  Adaptive routing would share links better than this.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from .machine import Machine, Network

_MOST_KNOWN = 500_000  # routes that are kept


@dataclass(frozen=True, slots=True)
class Route:
    """Links with the us that a byte takes on each; latency without waiting, us; hops."""

    links: tuple[tuple[Hashable, float], ...]
    latency: float
    hops: int


class Fabric:
    """The network of a machine with so many ranks."""

    def __init__(self, machine: Machine, ranks: int) -> None:
        self._island = machine.island
        self._size = machine.island.size if machine.island else 1
        self._network = machine.network
        nodes = -(-ranks // self._size)
        self._per_byte = 1e-3 / machine.network.bandwidth  # us
        self._torus = machine.network.dimensions or _cubic(nodes)
        self._free: dict[Hashable, float] = {}
        self._known: dict[tuple[int, int], Route] = {}  # by node

    def deliver(self, time: float, sender: int, receiver: int, size: int) -> float:
        """When a message that is sent now has arrived, us."""
        route = self.route(sender, receiver)
        slowest = 0.0
        for link, per_byte in route.links:
            time = max(time, self._free.get(link, 0.0))
            self._free[link] = time + size * per_byte
            slowest = max(slowest, per_byte)
        return time + route.latency + size * slowest

    def route(self, sender: int, receiver: int) -> Route:
        """From rank to rank."""
        a, b = sender // self._size, receiver // self._size
        if a == b:
            island = self._island
            if island is None:
                return Route((), 0.0, 0)
            per_byte = 1e-3 / island.bandwidth
            own: tuple[tuple[Hashable, float], ...]
            own = ((("out", sender), per_byte), (("in", receiver), per_byte))
            return Route(own, island.latency, 1)
        route = self._known.get((a, b))
        if route is None:
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            route = self._known[a, b] = self._between(a, b)
        return route

    def _between(self, a: int, b: int) -> Route:
        inner = _ROUTES[self._network.topology](self._network, self._torus, a, b)
        names: list[tuple[Hashable, float]] = [(("leaves", a), 1.0)]
        names += inner
        names.append((("enters", b), 1.0))
        links = tuple((name, self._per_byte / share) for name, share in names)
        hops = len(inner) + 1
        return Route(links, self._network.latency + hops * self._network.hop, hops)


def _cubic(nodes: int) -> tuple[int, int, int]:
    """Three numbers, as equal as they get, of which the product suffices and is not much more."""
    found = [
        (x, y, -(-nodes // (x * y)))
        for x in range(1, round(nodes ** (1 / 3)) + 2)
        for y in range(x, int((nodes / x) ** 0.5) + 2)
    ]
    enough = [d for d in found if d[0] * d[1] * d[2] <= 1.1 * nodes]
    return min(enough or [(nodes, 1, 1)], key=lambda d: (sum(d), d[0] * d[1] * d[2]))


_Links = list[tuple[Hashable, float]]
_Dimensions = tuple[int, int, int]


def _flat(_network: Network, _torus: _Dimensions, _a: int, _b: int) -> _Links:
    return []


def _fat_tree(network: Network, _torus: _Dimensions, a: int, b: int) -> _Links:
    """Links between a switch and the one above count as one, as wide as all its ports below."""
    up: _Links = []
    down: _Links = []
    level, width = 1, 1.0
    a, b = a // network.radix, b // network.radix
    while a != b:
        width *= network.radix * network.taper
        up.append((("up", level, a), width))
        down.append((("down", level, b), width))
        a, b, level = a // network.radix, b // network.radix, level + 1
    return up + down[::-1]


def _torus(_network: Network, torus: _Dimensions, a: int, b: int) -> _Links:
    links: _Links = []
    place, goal = _place(a, torus), _place(b, torus)
    for d, n in enumerate(torus):
        ahead = (goal[d] - place[d]) % n
        step = 1 if ahead <= n - ahead else -1
        while place[d] != goal[d]:
            links.append((("torus", tuple(place), d, step), 1.0))
            place[d] = (place[d] + step) % n
    return links


def _place(node: int, torus: _Dimensions) -> list[int]:
    return [node // (torus[1] * torus[2]), node // torus[2] % torus[1], node % torus[2]]


def _dragonfly(network: Network, _torus: _Dimensions, a: int, b: int) -> _Links:
    here, there = a // network.hosts, b // network.hosts
    if here == there:
        return []
    group, goal = here // network.routers, there // network.routers
    if group == goal:
        return [(("local", here, there), 1.0)]
    leaves = group * network.routers + goal % network.routers
    enters = goal * network.routers + group % network.routers
    links: _Links = [] if here == leaves else [(("local", here, leaves), 1.0)]
    links.append((("global", group, goal), 1.0))
    if enters != there:
        links.append((("local", enters, there), 1.0))
    return links


_ROUTES = {"flat": _flat, "fat-tree": _fat_tree, "torus": _torus, "dragonfly": _dragonfly}
