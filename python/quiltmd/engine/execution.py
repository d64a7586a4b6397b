# SPDX-License-Identifier: Apache-2.0
"""Where a simulation runs: the devices of this machine, and the choice of one."""

from __future__ import annotations

import os
from typing import Any, Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ..description.checks import user_settings
from ..description.settings import Ranks, Threads
from ..errors import QuiltError
from .core import load_core

DeviceName = Literal["auto", "cpu", "cuda"]


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Execution:
    """Where a simulation runs.  None of this changes its results, bit for bit (on one device kind).

    Attributes
    ----------
    device:
        "auto" (a usable GPU, else the CPU), "cpu" or "cuda".
    ranks:
        Workers that share the patches among them.
    threads:
        Threads of each rank on the CPU; None shares the machine's cores among the ranks.
    balance:
        Move computes from the busiest rank to the least busy one.
    away:
        Patches between which computes reach, 1 or 2: 2 gives more, smaller patches.
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


def choose_device(asked: str) -> str:
    """The device kind to run on: "cpu" or "cuda".

    "auto" takes a usable GPU where there is one.  "cuda" without a usable GPU is an error, never a
    silent fall back to the CPU.
    """
    if asked not in ("auto", "cuda"):
        return asked
    gpus = [device for device in devices() if device.get("kind") == "cuda"]
    if any(gpu.get("usable", True) for gpu in gpus):
        return "cuda"
    if asked == "auto":
        return "cpu"
    reasons = [str(gpu["reason"]) for gpu in gpus if gpu.get("reason")]
    raise QuiltError(
        "device 'cuda' was asked for, but there is no usable GPU: "
        + ("; ".join(reasons) if reasons else "none was found, or this build has no CUDA part")
    )
