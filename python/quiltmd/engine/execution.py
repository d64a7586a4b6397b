# SPDX-License-Identifier: Apache-2.0
"""Where a simulation runs: the devices of this machine, and the choice of one."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict
from pydantic.dataclasses import dataclass

from ..description.checks import user_settings
from ..description.settings import Ranks, Threads
from ..errors import QuiltError
from .core import load_core


def _check_name(name: str) -> str:
    if not re.fullmatch("auto|cpu|cuda(:[0-9]{1,4})?", name):
        raise ValueError(
            "there is no such device: choose auto, cpu, cuda, or one GPU of several by a name "
            "that `quiltmd devices` shows, such as cuda:1"
        )
    return name


DeviceName = Annotated[str, AfterValidator(_check_name)]


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Execution:
    """Where a simulation runs.  On one kind of device none of this but `away` changes its results.

    Attributes
    ----------
    device:
        "auto" (a usable GPU, else the CPU), "cpu", "cuda" (the first usable GPU), or one GPU by the
        name that `quiltmd devices` shows: "cuda:0", "cuda:1", ...
    ranks:
        Workers that share the patches among them, on the CPU; a GPU works for one.
    threads:
        Threads of each rank on the CPU; None shares the machine's cores among the ranks.
    balance:
        Move computes from the busiest rank to the least busy one.
    away:
        Patches between which computes reach, 1 or 2: 2 gives more, smaller patches.  Forces
        are then rounded differently, so that energies differ in their last digits.
    """

    device: DeviceName = "auto"
    ranks: Ranks = 1
    threads: Threads = None
    balance: bool = True
    away: Literal[1, 2] = 1

    def warning(self) -> str | None:
        """What is odd about it: more ranks or threads than cores; None if nothing is."""
        cores, workers = available_cores(), self.ranks * (self.threads or 1)
        if workers <= cores or choose_device(self.device) != "cpu":
            return None
        return (
            f"{self.ranks} rank(s) of {self.threads or 1} thread(s) share {cores} core(s) and will "
            "wait for each other; fewer are faster"
        )

    def resolve(self) -> dict[str, Any]:
        """Settings for the core, the device chosen and the cores shared out."""
        return {
            "device": choose_device(self.device),
            "ranks": self.ranks,
            "threads": self.threads or max(1, available_cores() // self.ranks),
            "list_life": 0,
            "list_buffer": 0.0,
            "away": self.away,
            "balance": self.balance,
        }


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def devices(self_test: bool = False) -> list[dict[str, Any]]:
    """The devices of this machine, the CPU among them, as the core describes them.

    Parameters
    ----------
    self_test:
        Also check each GPU and measure its memory, which takes about a second.
    """
    found: list[dict[str, Any]] = load_core().devices(self_test)
    return found


def is_gpu(device: str) -> bool:
    """Whether a device that was chosen is a GPU."""
    return device.startswith("cuda")


def choose_device(asked: str) -> str:
    """The device to run on: "cpu", "cuda" (the only GPU, or the first) or "cuda:N".

    "auto" takes a usable GPU where there is one.  A GPU that was asked for and cannot be used is an
    error, never a silent fall back to the CPU or to another GPU.
    """
    if asked == "cpu":
        return asked
    gpus = [device for device in devices() if device.get("kind") == "cuda"]
    usable = [gpu.get("ordinal", 0) for gpu in gpus if gpu.get("usable", True)]
    if ":" in asked:
        ordinal = int(asked.split(":")[1])
        if ordinal in usable:
            return f"cuda:{ordinal}"
        gpus = [gpu for gpu in gpus if gpu.get("ordinal", 0) == ordinal]
    elif usable:
        return "cuda" if usable[0] <= 0 else f"cuda:{usable[0]}"
    elif asked == "auto":
        return "cpu"
    reasons = [str(gpu["reason"]) for gpu in gpus if gpu.get("reason")]
    others = f"; others are: {', '.join(f'cuda:{n}' for n in usable)}" if usable else ""
    raise QuiltError(
        f"device '{asked}' was asked for, but there is no usable GPU"
        + (" of that number: " if usable else ": ")
        + ("; ".join(reasons) if reasons else "none was found, or this build has no CUDA part")
        + others
    )
