# SPDX-License-Identifier: Apache-2.0
"""Names of devices: of this process, or of a worker here or on another machine.

auto, cpu, cuda, cuda:1, cuda:0,1      in this process
worker:cuda:0                          in a process of its own on this machine
ssh:host/cuda:0, ssh:me@host/cuda:0    on another, by OpenSSH
remote:host:7411/cuda:0                on another, where `quiltmd serve` listens on that port
redundant:cuda:0,cuda:1                two that do the same and are compared; or three
ranks:ssh:a/cuda:0,ssh:b/cuda:0        a rank of one simulation on each
forward:ssh:host/cuda:0                one in a worker, whose engine is in this process
mpi:1/cuda:0                           in process 1 of those that mpirun has started together; what
                                       is in process 0 is in a worker beside it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

_DEVICE = "auto|cpu|cuda(?::[0-9]{1,4}(?:,[0-9]{1,4})*)?"
HOST = "[A-Za-z0-9][A-Za-z0-9_.-]*"  # no option of a command begins so
_NAME = re.compile(
    f"(?:worker:|ssh:(?P<ssh>(?:{HOST}@)?{HOST})/"
    f"|remote:(?P<remote>{HOST}|\\[[0-9A-Fa-f:.]+\\]):(?P<port>[0-9]{{1,5}})/"
    f"|mpi:(?P<mpi>[0-9]{{1,6}})/)?(?P<device>{_DEVICE})"
)
_WORDS = re.compile(
    r"(?<![\w.-])(auto|cpu|cuda|worker|ssh|remote|ranks|redundant|forward|mpi)(?=[:,]|$)", re.I
)
_MOST_COMPARED = 3
Kind = Literal["here", "worker", "ssh", "remote", "mpi"]


@dataclass(frozen=True)
class Place:
    """A device of some machine; `str` gives its name back.

    Attributes
    ----------
    kind:
        "here", in this process; "worker", in one of its own; "ssh" or "remote", on another machine;
        "mpi", in a process that was started together with this one.
    device:
        The name of the device on its machine.
    host, port:
        The machine of "ssh" and "remote", the port of "remote".
    process:
        The number of the process of "mpi".
    """

    kind: Kind
    device: str
    host: str = ""
    port: int = 0
    process: int = 0

    def __str__(self) -> str:
        prefix = {
            "here": "",
            "worker": "worker:",
            "ssh": f"ssh:{self.host}/",
            "remote": f"remote:{self.host}:{self.port}/",
            "mpi": f"mpi:{self.process}/",
        }
        return prefix[self.kind] + self.device

    def in_worker(self) -> Place:
        """The same device in a worker."""
        return Place("worker", self.device) if self.kind == "here" else self

    def ordinals(self) -> list[int]:
        """The GPUs that it lists; none where it leaves the choice open, or is the CPU."""
        _, _, listed = self.device.partition(":")
        return [int(ordinal) for ordinal in listed.split(",")] if listed else []


def as_spelt(name: str) -> str:
    """The name of a device with its words in lower case: cuda:0 of CUDA:0."""
    return _WORDS.sub(lambda word: word[0].lower(), name)


def parse_place(name: str) -> Place:
    """The place of a name; ValueError where it is none."""
    name = as_spelt(name)
    found = _NAME.fullmatch(name)
    if found is None or int(found["port"] or 0) > 65535:
        raise ValueError(
            f"there is no such device as {name!r}: choose auto, cpu, cuda, a GPU that 'quiltmd "
            "devices' lists (cuda:1), or a GPU for each rank (cuda:0,1); one of these in a worker "
            "(worker:cuda:1, ssh:host/cuda:1, remote:host:7411/cuda:1); two of all these whose "
            "results are compared (redundant:cuda:0,ssh:host/cuda:0); one for each rank "
            "(ranks:ssh:a/cuda:0,ssh:b/cuda:0); or one that commands are forwarded to "
            "(forward:ssh:host/cuda:0)"
        )
    device = found["device"]
    if found["ssh"]:
        return Place("ssh", device, found["ssh"])
    if found["remote"]:
        return Place("remote", device, found["remote"], int(found["port"]))
    if found["mpi"]:
        return Place("mpi", device, process=int(found["mpi"]))
    return Place("worker" if name.startswith("worker:") else "here", device)


def parse_device(name: str) -> list[Place]:
    """The places of a name of a device: one, those that are compared, or one for each rank."""
    name = as_spelt(name)
    kind, _, listed = name.partition(":")
    if kind == "forward":
        place = parse_place(listed).in_worker()
        if len(place.ordinals()) > 1:
            raise ValueError("forward: has one device, such as forward:ssh:host/cuda:0")
        return [place]
    if kind not in ("redundant", "ranks"):
        return [parse_place(name)]
    places = [parse_place(one) for one in re.split(",(?=[a-z])", listed)]
    if kind == "redundant" and not 2 <= len(places) <= _MOST_COMPARED:
        raise ValueError("redundant: needs two or three devices, such as redundant:cuda:0,cuda:1")
    if kind == "ranks" and any(len(place.ordinals()) > 1 for place in places):
        raise ValueError("ranks: has one device for each rank, such as ranks:cuda:0,cuda:1")
    return places


def device_in_words(name: str, most: int = 4) -> str:
    """The name of a device; where it lists more than `most` ranks, with equal neighbours counted.

    Beyond `most` different ones the number of the others.
    """
    if not has_rank_on_each(name) or len(parse_device(name)) <= most:
        return name
    runs = [(place, len(list(same))) for place, same in groupby(map(str, parse_device(name)))]
    parts = [f"{count} x {place}" if count > 1 else place for place, count in runs[:most]]
    if others := sum(count for _, count in runs[most:]):
        parts.append(f"{others} others")
    return f"ranks:{', '.join(parts)}"


def listed_ranks(name: str) -> int:
    """The number of ranks that a device lists places or GPUs for; 0 if it leaves that open."""
    places = parse_device(name)
    return len(places) if has_rank_on_each(name) else len(places[0].ordinals())


def is_forwarded(name: str) -> bool:
    """Whether commands to the device are forwarded by an engine in this process."""
    return as_spelt(name).startswith("forward:")


def has_rank_on_each(name: str) -> bool:
    """Whether the places of a device share one simulation."""
    return as_spelt(name).startswith("ranks:")
