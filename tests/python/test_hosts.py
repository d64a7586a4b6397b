# SPDX-License-Identifier: Apache-2.0
"""A device for each rank, from a list of hosts or from what a launcher of MPI has started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_runner import same_results
from test_workers import short

import quiltmd
from quiltmd import QuiltError
from quiltmd.engine import hosts
from quiltmd.engine.hosts import Process, device_of_ranks
from quiltmd.running import runner
from quiltmd.workers import factory


@pytest.mark.parametrize(
    ("device", "listed", "expected"),
    [
        ("cuda:1", (), "cuda:1"),
        ("cpu", ("a:2", "me@b"), "ssh:a/cpu,ssh:a/cpu,ssh:me@b/cpu"),
        ("cpu", ("localhost", "b"), "worker:cpu,ssh:b/cpu"),
        ("auto", ("a", "b"), "ssh:a/auto,ssh:b/auto"),
        ("cuda", ("a", "b:2"), "ssh:a/cuda,ssh:b/cuda:0,ssh:b/cuda:1"),
        ("cuda", ("a", "b", "a"), "ssh:a/cuda:0,ssh:b/cuda,ssh:a/cuda:1"),
        ("cuda:2,5", ("a:2", "b"), "ssh:a/cuda:2,ssh:a/cuda:5,ssh:b/cuda:2"),
    ],
)
def test_ranks_on_hosts(device: str, listed: tuple[str, ...], expected: str) -> None:
    assert device_of_ranks(device, listed) == ("ranks:" + expected if listed else expected)


@pytest.mark.parametrize(
    ("device", "listed", "said"),
    [
        ("auto", ("a:2",), "choose their device, cpu or cuda"),
        ("cuda:0,1", ("a:3",), r"lists 2 GPU\(s\) of a host, and a has 3 ranks"),
        ("ssh:a/cpu", ("b",), "cannot be used with several hosts or processes"),
        ("ranks:cpu,cpu", ("b",), "cannot be used with several hosts or processes"),
        ("cpu", ("a:0",), "'a:0' is not a host"),
        ("cpu", ("-oProxyCommand=x",), "is not a host"),
        ("cpu", ("a b",), "is not a host"),
        ("cpu", ("localhost:9999",), r"9999 ranks are too many for a machine with \d+ core"),
    ],
)
def test_what_cannot_be_is_refused(device: str, listed: tuple[str, ...], said: str) -> None:
    with pytest.raises(QuiltError, match=said):
        quiltmd.Execution(device, hosts=listed).resolve()


def test_the_number_of_ranks_is_that_of_the_list() -> None:
    assert quiltmd.Execution("cpu", hosts=("a:2", "b")).resolve().ranks == 3
    with pytest.raises(QuiltError, match=r"3 rank\(s\) on the hosts a:2 and b, and not 2"):
        quiltmd.Execution("cpu", 2, hosts=("a:2", "b")).resolve()
    with pytest.raises(
        QuiltError, match="'staged' does not join ranks on the hosts a:2 and b: leave"
    ):
        quiltmd.Execution("cpu", transport="staged", hosts=("a:2", "b")).resolve()


def processes(*found: tuple[str, tuple[int, ...], tuple[int, ...]]) -> list[Process]:
    return [Process(host, 7000, cores, gpus) for host, cores, gpus in found]


@pytest.mark.parametrize(
    ("device", "gpus", "expected"),
    [
        ("cpu", [(), (), ()], "mpi:0/cpu,mpi:1/cpu,mpi:2/cpu"),
        ("auto", [(0, 1), (0, 1), ()], "mpi:0/cpu,mpi:1/cpu,mpi:2/cpu"),
        ("auto", [(0, 1), (0, 1), (0,)], "mpi:0/cuda:0,mpi:1/cuda:1,mpi:2/cuda:0"),
        ("cuda", [(0,), (0,), (3,)], "mpi:0/cuda:0,mpi:1/cuda:0,mpi:2/cuda:3"),
        ("cuda:4,5", [(0,), (0,), (3,)], "mpi:0/cuda:4,mpi:1/cuda:5,mpi:2/cuda:4"),
    ],
)
def test_ranks_of_processes_that_were_started_together(
    device: str, gpus: list[Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two on one host, one on another."""
    found = [(host, (0,), own) for host, own in zip("aab", gpus, strict=True)]
    monkeypatch.setattr(hosts, "started_together", processes(*found))
    assert device_of_ranks(device) == "ranks:" + expected
    with pytest.raises(QuiltError, match="leave out the hosts"):
        device_of_ranks("cpu", ("a",))
    with pytest.raises(QuiltError, match="a launcher has started 3 processes"):
        quiltmd.Execution(device, 2).resolve()


def test_too_few_gpus_for_the_processes_of_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [("a", (0,), (0, 1))] * 3
    monkeypatch.setattr(hosts, "started_together", processes(*found))
    with pytest.raises(QuiltError, match=r"a has 3 ranks or more, and 2 usable GPU"):
        device_of_ranks("cuda")


def test_no_gpu_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    found = processes(("a", (0,), (0,)), ("b", (0,), ()))
    monkeypatch.setattr(hosts, "started_together", found)
    with pytest.raises(QuiltError, match="no usable GPU for a process on b"):
        device_of_ranks("cuda")


def test_cores_are_shared_by_those_that_have_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher may give each process cores of its own, or all of them the same."""
    for cores, expected in (
        ([(0, 1), (2, 3), (0, 1)], [1, 1, 1]),
        ([(0, 1), (0, 1), (0, 1)], [2, 2, 1]),
    ):
        found = [(host, own, ()) for host, own in zip("aab", cores, strict=True)]
        monkeypatch.setattr(hosts, "started_together", processes(*found))
        monkeypatch.setattr(factory, "started_together", hosts.started_together)
        places = factory.parse_device(device_of_ranks("cpu"))
        assert factory.sharing_cores(places) == expected


def test_files_are_those_of_one_process(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    runner.start(short(alanine, tmp_path / "alone"))
    runner.start(short(alanine, tmp_path / "hosts", hosts=("localhost:2",)))
    same_results(tmp_path / "alone", tmp_path / "hosts")


@pytest.mark.parametrize(
    ("of_ranks", "expected"),
    [("aabb", 2), ("aaabbbccc", 3), ("ab", 1), ("aaaa", 1), ("abab", 1), ("aabbb", 1), ("", 1)],
)
def test_ranks_of_a_node(of_ranks: str, expected: int) -> None:
    assert hosts.ranks_of_node(of_ranks) == expected
