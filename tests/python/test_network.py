# SPDX-License-Identifier: Apache-2.0
"""Ranks of one simulation with a bad network between them: slow, cut, or fallen silent."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from proxy import Proxy
from test_team import processes_of
from test_workers import comes_true, is_alive, water
from worker_costs.namespaces import Hosts, Link, UnavailableError

import quiltmd
from quiltmd import QuiltError, Workers
from quiltmd.workers import team

TWO, THREE = ("ranks:" + ",".join(n * ["worker:cpu"]) for n in (2, 3))
IMPATIENT = Workers(silence=6.0)


@pytest.fixture
def proxies(monkeypatch: pytest.MonkeyPatch) -> list[Proxy]:
    """Of a network in which each rank waits behind one, each with another delay."""
    made: list[Proxy] = []

    def reached(addresses: list[dict[str, Any]]) -> list[dict[str, Any]]:
        ports = [address["port"] for address in addresses]
        made[:] = [Proxy(port, 0.0005 * (1 + rank)) for rank, port in enumerate(ports)]
        pairs = zip(addresses, made, strict=True)
        return [{**address, "port": proxy.port} for address, proxy in pairs]

    monkeypatch.setattr(team, "_reached", reached)
    return made


def test_a_slow_network_changes_nothing(proxies: list[Proxy]) -> None:
    alone, spread = water("cpu"), water(THREE, transport="tcp")
    for simulation in (alone, spread):
        simulation.draw_velocities(300, seed=2)
        simulation.run(12)
    assert quiltmd.digest(alone.state()) == quiltmd.digest(spread.state())
    assert alone.energies() == spread.energies()
    assert alone.forces().tobytes() == spread.forces().tobytes()
    # Rank 2 connects to both others, so nobody to it.
    assert [proxy.passed > 100_000 for proxy in proxies] == [True, True, False]


@pytest.mark.parametrize(
    ("fault", "said"),
    [("cut", "rank [01] has (ended|failed)"), ("silence", "rank [01] has not been heard of for 6")],
)
def test_a_broken_network_ends_the_run(proxies: list[Proxy], fault: str, said: str) -> None:
    spread = water(TWO, workers=IMPATIENT, transport="tcp")
    spread.draw_velocities(300, seed=2)
    spread.run(2)
    processes = processes_of(spread)
    before = proxies[0].passed

    def break_it() -> None:
        assert comes_true(lambda: proxies[0].passed > before + 100_000)
        getattr(proxies[0], fault)()

    breaking = threading.Thread(target=break_it)
    breaking.start()
    with pytest.raises(QuiltError, match=said):
        spread.run(10**7)
    breaking.join()
    spread._engine.close()  # type: ignore[attr-defined]
    assert comes_true(lambda: not any(is_alive(process) for process in processes))


# ---- Hosts, emulated by network namespaces -------------------------------------------------------


@pytest.fixture
def hosts_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Hosts]]:
    """Makes hosts that ssh reaches."""
    made: list[Hosts] = []

    def make(count: int, link: Link | None = None) -> Hosts:
        try:
            made.append(Hosts(tmp_path, count, link))
        except UnavailableError as error:
            pytest.skip(f"no such network namespaces here: {error}")
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return made[-1]

    yield make
    for hosts in made:
        hosts.close()


@pytest.mark.parametrize(
    ("count", "link"),
    [(2, Link()), (16, Link(rate=1.0)), (16, Link(delay=50.0, rate=1.0))],
    ids=["two", "16 with 1 Gbit/s", "16 with 1 Gbit/s, 50 us late"],
)
def test_hosts(hosts_of: Callable[..., Hosts], count: int, link: Link) -> None:
    """The bits of one; then the link of the last goes down, and neither end is told."""
    hosts = hosts_of(count, link)
    workers = Workers(command=f"{sys.executable} -m quiltmd", silence=6.0)
    alone = water("cpu")
    others = "10.213.7.4 and 12 other hosts send" if count > 2 else "10.213.7.2 send"
    with pytest.warns(quiltmd.QuiltWarning, match=others):
        spread = water("cpu", hosts=tuple(hosts.addresses), workers=workers)
    assert spread.device == "ranks:" + ",".join(f"ssh:{one}/cpu" for one in hosts.addresses)
    for simulation in (alone, spread):
        simulation.draw_velocities(300, seed=2)
        simulation.run(12)
    assert quiltmd.digest(alone.state()) == quiltmd.digest(spread.state())
    hosts.cut(count - 1)
    with pytest.raises(QuiltError, match=r"rank \d+ has not been heard of for 6"):
        spread.run(10**7)
