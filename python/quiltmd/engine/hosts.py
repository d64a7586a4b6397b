# SPDX-License-Identifier: Apache-2.0
"""Ranks on several hosts: from one device and a list of hosts to a device for each rank.

Hosts are those that a user lists (`--hosts a:2,b:2`), or those of the processes that a launcher of
MPI has started together with this one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

from pydantic import AfterValidator

from ..errors import QuiltError
from .places import HOST, Place, parse_device

_ENTRY = re.compile(f"(?P<host>(?:{HOST}@)?{HOST})(?::(?P<ranks>[1-9][0-9]{{0,3}}))?")
_THIS = "localhost"


def _check_entry(entry: str) -> str:
    if _ENTRY.fullmatch(entry) is None:
        raise ValueError(
            f"{entry!r} is not a host: give a name such as a or me@a, with the number of ranks "
            "where there are several: a:2"
        )
    return entry


HostEntry = Annotated[str, AfterValidator(_check_entry)]


@dataclass(frozen=True)
class Process:
    """One of the processes that a launcher has started together.

    Attributes
    ----------
    host, port:
        Its machine, and where it lets process 0 in.
    cores:
        The cores that it may use.
    gpus:
        Numbers of the usable ones that it sees.
    """

    host: str
    port: int
    cores: tuple[int, ...]
    gpus: tuple[int, ...]


# All that were started together, this process among them, by rank; none where it was started alone.
started_together: list[Process] = []


def in_words(hosts: Iterable[str], most: int = 4) -> str:
    """Each host once; beyond `most` of them the number of the others."""
    names = list(dict.fromkeys(hosts))
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} other hosts"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def ranks_of_node(hosts: Sequence[str]) -> int:
    """Ranks of each host, if all hosts have as many, with consecutive numbers; otherwise 1.

    `hosts` are those of the ranks, in order.
    """
    runs = [len(list(same)) for _, same in groupby(hosts)]
    return runs[0] if len(set(runs)) == 1 and 1 < len(runs) == len(set(hosts)) else 1


def device_of_ranks(device: str, hosts: Sequence[str] = ()) -> str:
    """A name with a device for each rank: `device` on `hosts`, or on all processes of a launcher.

    Where there are neither, that is `device`.  QuiltError if ranks cannot be made of it.
    """
    if not hosts and (not started_together or parse_device(device)[0].kind == "mpi"):
        return device
    asked = _what_each_has(device)
    if hosts and started_together:
        raise QuiltError("leave out the hosts: the MPI launcher chooses them")
    places = _on_hosts(asked, hosts) if hosts else _in_processes(asked)
    return "ranks:" + ",".join(map(str, places))


def devices_of_processes(device: str) -> list[str]:
    """`device` in each of the processes of a launcher; QuiltError if one does not have it."""
    return [str(place) for place in _in_processes(_what_each_has(device))]


def started(number: int) -> Process:
    """One of the processes of a launcher; QuiltError if there is none of that number."""
    if number >= len(started_together):
        raise QuiltError(f"no launcher has started a process mpi:{number} together with this one")
    return started_together[number]


def cores_of(place: Place) -> tuple[str, tuple[int, ...]]:
    """The host on which a process of a launcher is, and the cores that it may use there."""
    process = started(place.process)
    return process.host, process.cores


def _what_each_has(device: str) -> Place:
    """A device that does not say where it is; QuiltError if it does."""
    asked, *more = parse_device(device)
    if more or asked.kind != "here" or str(asked) != device:
        raise QuiltError(
            f"device '{device}' cannot be used with several hosts or processes: name the device "
            f"of each host: cpu, cuda, or the GPUs of a host such as cuda:0,1"
        )
    return asked


def _on_hosts(asked: Place, entries: Sequence[str]) -> list[Place]:
    hosts: list[str] = []
    for entry in entries:
        found = _ENTRY.fullmatch(entry)
        assert found is not None  # as checked
        hosts += [found["host"]] * int(found["ranks"] or 1)
    if asked.device == "auto" and len(set(hosts)) < len(hosts):
        raise QuiltError("several ranks on one host: choose their device, cpu or cuda")
    devices = [asked.device] * len(hosts)
    if asked.ordinals():
        devices = _listed(asked, hosts)
    elif asked.device == "cuda":
        devices = [
            f"cuda:{turn}" if hosts.count(host) > 1 else "cuda"
            for turn, host in zip(_turns(hosts), hosts, strict=True)
        ]
    return [
        Place("worker", device) if host == _THIS else Place("ssh", device, host)
        for host, device in zip(hosts, devices, strict=True)
    ]


def _in_processes(asked: Place) -> list[Place]:
    """A place in each process; what is in process 0, which writes files, is a worker beside it."""
    hosts = [process.host for process in started_together]
    has_gpus = all(process.gpus for process in started_together)
    devices = ["cpu"] * len(hosts)
    if asked.ordinals():
        devices = _listed(asked, hosts)
    elif asked.device == "cuda" or (asked.device == "auto" and has_gpus):
        turns = zip(started_together, _turns(hosts), strict=True)
        devices = [_gpu_of(process, turn) for process, turn in turns]
    return [Place("mpi", own, process=number) for number, own in enumerate(devices)]


def _turns(hosts: list[str]) -> list[int]:
    """For each rank, the number of earlier ranks on its host."""
    return [hosts[:rank].count(host) for rank, host in enumerate(hosts)]


def _listed(asked: Place, hosts: list[str]) -> list[str]:
    """For each rank one of the GPUs that are listed, on each host in turn."""
    listed = asked.ordinals()
    for host, ranks in Counter(hosts).items():
        if ranks > len(listed):
            raise QuiltError(
                f"device '{asked}' lists {len(listed)} GPU(s) of a host, and {host} has {ranks} "
                "ranks"
            )
    return [f"cuda:{listed[turn]}" for turn in _turns(hosts)]


def _gpu_of(process: Process, turn: int) -> str:
    """The GPU of a process with this number of processes before it on its host."""
    if not process.gpus:
        raise QuiltError(
            f"there is no usable GPU for a process on {process.host}: run 'quiltmd devices' on "
            f"that host to see why"
        )
    if len(process.gpus) == 1:  # its own, as batch systems give one to each task
        turn = 0
    if turn >= len(process.gpus):
        raise QuiltError(
            f"{process.host} has {turn + 1} ranks or more, and {len(process.gpus)} usable GPU(s): "
            "start fewer processes there"
        )
    return f"cuda:{process.gpus[turn]}"
