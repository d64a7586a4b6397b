# SPDX-License-Identifier: Apache-2.0
"""Ranks of one simulation with a bad network between them: slow, cut, or fallen silent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from proxy import Proxy
from test_team import processes_of
from test_workers import comes_true, is_alive, water

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


# ---- Two hosts, emulated by network namespaces ---------------------------------------------------

_numbers = count(os.getpid() % 10_000)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Hosts:
    """Two namespaces that are joined by a link, and a script in place of ssh that enters them."""

    def __init__(self, folder: Path) -> None:
        number = next(_numbers)
        self.names = [f"quilt{number}{end}" for end in "ab"]
        self.addresses = ["10.213.7.1", "10.213.7.2"]
        try:
            for name in self.names:
                ip("netns", "add", name)
            first, second = self.names
            ip("link", "add", "v0", "netns", first, "type", "veth", "peer", "v0", "netns", second)
            for name, address in zip(self.names, self.addresses, strict=True):
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "v0")
                ip("-n", name, "link", "set", "v0", "up")
        except subprocess.CalledProcessError as error:
            self.close()
            pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
        script = folder / "ssh"
        names = " ".join(
            f"{address}) name={name};;"
            for address, name in zip(self.addresses, self.names, strict=True)
        )
        script.write_text(
            f'#!/bin/sh\ncase "$6" in {names} esac\nexec ip netns exec $name sh -c "$7"\n'
        )
        script.chmod(0o755)

    def cut(self) -> None:
        ip("-n", self.names[1], "link", "set", "v0", "down")

    def close(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosts]:
    if shutil.which("ip") is None:
        pytest.skip("there is no ip, which makes network namespaces, on this machine")
    made = Hosts(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    yield made
    made.close()


def test_two_hosts(hosts: Hosts) -> None:
    """The bits of one; then the link goes down, and neither end is told."""
    workers = Workers(command=f"{sys.executable} -m quiltmd", silence=6.0)
    alone = water("cpu")
    spread = water("cpu", hosts=tuple(hosts.addresses), workers=workers)
    assert spread.device == "ranks:" + ",".join(f"ssh:{one}/cpu" for one in hosts.addresses)
    for simulation in (alone, spread):
        simulation.draw_velocities(300, seed=2)
        simulation.run(12)
    assert quiltmd.digest(alone.state()) == quiltmd.digest(spread.state())
    hosts.cut()
    with pytest.raises(QuiltError, match=r"rank [01] has not been heard of for 6"):
        spread.run(10**7)
