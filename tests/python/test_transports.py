# SPDX-License-Identifier: Apache-2.0
"""`quiltmd bench --transports`: all that there are, the same bits, and what messages cost."""

from __future__ import annotations

import json

import pytest
from test_cli import quiltmd

from quiltmd import QuiltError
from quiltmd.analysis.trace import Message
from quiltmd.commands.information import transports_between
from quiltmd.engine.libraries import UCX
from quiltmd.running.transports import EdgeCost, compare_transports, edge_cost


def test_what_messages_of_an_edge_cost() -> None:
    """Two from rank 0 to 1, of which the second takes 3 us longer, and one back."""
    messages = [
        Message("forces", 0, 1, 100, 1.0, 1.0 + 2e-6, 1.1),
        Message("forces", 0, 1, 100, 2.0, 2.0 + 5e-6, 2.1),
        Message("forces", 1, 0, 40, 1.0, 1.0 + 4e-6, 1.1),
    ]
    found = edge_cost("forces", messages, 3e-6, 2)
    assert (found.name, found.messages, found.bytes) == ("forces", 1.5, 120)
    assert (found.ideal, found.flight, found.waited) == pytest.approx((4, 5.5, 1.5), abs=1e-3)
    assert isinstance(found, EdgeCost)


def test_transports_on_cpus(openmmtools_data: object) -> None:
    command = ("bench", "--transports", "--system", "alanine", "--steps", 4, "--device", "cpu")
    done = quiltmd(*command, "--ranks", 2, "--threads", 1, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {row["transport"]: row for row in found["transports"]}
    ways = ["staged", "unix", "tcp", "ucx"]
    if UCX.why_none():
        assert "UCX cannot be used" in rows.pop("ucx")["note"]
        ways.remove("ucx")
    assert list(rows) == [*ways, "peer", "peer, processes", "nccl"]
    assert "'peer' connects GPUs" in rows.pop("peer")["note"]
    assert "'peer' connects GPUs" in rows.pop("peer, processes")["note"]
    assert "'nccl' connects GPUs" in rows.pop("nccl")["note"]
    assert len({row["digest"] for row in rows.values()}) == 1
    sizes = [
        {edge["name"]: (edge["messages"], edge["bytes"]) for edge in row["edges"]}
        for row in rows.values()
    ]
    assert sizes[0].keys() >= {"positions", "forces", "charges", "spectrum", "agreement"}
    # Ranks agree where a run looks for interrupts, too, which it does by the clock.
    agreed = {bytes_sent / messages for messages, bytes_sent in (e.pop("agreement") for e in sizes)}
    assert len({round(size) for size in agreed}) == 1
    assert sizes == [sizes[0]] * len(ways)
    for row in rows.values():
        assert row["us_per_step"] > 0
        assert 0 <= row["hidden"] <= 1
        assert all(0 <= edge["ideal"] <= edge["flight"] for edge in row["edges"])


@pytest.mark.parametrize(
    ("system", "ranks", "said"),
    [
        ("alanine", 1, "choose two ranks or more"),
        ("alanine", 1000, "1000 ranks are too many for a machine"),
        ("nonsense", 2, "nonsense"),
    ],
)
def test_what_cannot_be_compared_is_refused(system: str, ranks: int, said: str) -> None:
    with pytest.raises(QuiltError, match=said):
        compare_transports(system, ranks=ranks, device="cpu")


def test_devices_say_how_messages_travel() -> None:
    def gpu(number: int, *reached: int) -> dict[str, object]:
        links = [{"ordinal": n, "access": n in reached} for n in range(3) if n != number]
        return {"kind": "cuda", "ordinal": number, "usable": True, "links": links}

    cpu = {"kind": "cpu"}
    broken = {"kind": "cuda", "ordinal": 3, "usable": False}
    *lines, of_processes, _, _ = transports_between([cpu, gpu(0, 1), gpu(1, 0, 2), gpu(2), broken])
    assert "in separate processes: on one machine as above" in of_processes
    assert "nccl" in of_processes
    assert lines == [
        "messages between cuda:0 and cuda:1, in one process: peer",
        "messages between cuda:0 and cuda:2, in one process: staged, not peer: cuda:0 has no "
        "direct access to cuda:2",
        "messages between cuda:1 and cuda:2, in one process: staged, not peer: cuda:2 has no "
        "direct access to cuda:1",
    ]
    assert len(transports_between([cpu])) == 2
