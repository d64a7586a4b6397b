# SPDX-License-Identifier: Apache-2.0
"""Where a simulation runs: the devices of this machine, and the choice of one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from glob import glob
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict
from pydantic.dataclasses import dataclass

from ..description.checks import user_settings
from ..description.settings import Ranks, Threads
from ..errors import QuiltError, QuiltWarning
from .core import load_core
from .hosts import HostEntry, device_of_ranks, in_words
from .injection import parse_injection
from .places import (
    as_spelt,
    has_rank_on_each,
    is_forwarded,
    listed_ranks,
    parse_device,
    parse_place,
)
from .where import RunHere, RunInWorkers
from .worker_settings import Workers

_GPU_FILES = ("/dev/nvidia[0-9]*", "/dev/dxg")  # of the driver; the latter in WSL


def _check_name(name: str) -> str:
    parse_device(name)
    return as_spelt(name)


Transport = Literal["auto", "peer", "nccl", "staged", "unix", "tcp", "ucx"]
IN_ONE_PROCESS: tuple[Transport, ...] = ("auto", "peer", "staged")
BETWEEN_PROCESSES: tuple[Transport, ...] = ("auto", "peer", "nccl", "unix", "tcp", "ucx")
_BETWEEN_GPUS = ("peer", "nccl")
_MOST_RANKS = 64  # where there are fewer cores; of 2,300 atoms they take 1.5 GB
MeshSharing = Literal["auto", "distributed", "pencils", "replicated"]
PatchReach = Literal[1, 2, "x", "xy"]
# In patches along x, y and z.
REACHES: dict[PatchReach, tuple[int, int, int]] = {
    1: (1, 1, 1),
    2: (2, 2, 2),
    "x": (2, 1, 1),
    "xy": (2, 2, 1),
}
Grain = Literal["patch", "pair"]
PATCH_REACH_BY_NAME = {str(patch_reach): patch_reach for patch_reach in REACHES}
DeviceName = Annotated[str, AfterValidator(_check_name)]


@partial(user_settings, title="")  # its settings are named as those of `Simulation` are
@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Execution:
    """Where a simulation runs.

    On devices of one kind, only `patch_reach` and `grain` change the results.

    Attributes
    ----------
    device:
        "auto" (a usable GPU, else the CPU), "cpu", "cuda" (the first GPU, or with several ranks one
        GPU for each), one GPU by the name that `quiltmd devices` shows ("cuda:0", "cuda:1", ...),
        or the GPU of each rank: "cuda:0,1", and "cuda:0,0" for two ranks on one GPU.  With the
        prefix "worker:" the simulation runs in a separate process; if that process ends, an error
        is raised here.
    hosts:
        Names of hosts, each with its number of ranks (default: 1): ("a:2", "b:2").  The ranks are
        started by ssh (on "localhost" without ssh) and use `device` of their host; the GPUs of a
        host are assigned to its ranks in turn.
    ranks:
        Number of ranks.  None: one for each GPU in `device`, otherwise one.
    threads:
        Threads of each rank on the CPU; None shares the machine's cores among the ranks.
    balance:
        Dynamic load balancing between ranks on CPUs.
    transport:
        Message transport.  "peer": kernels write into the memory of the other GPU, of this process
        or of another process of the machine.  "nccl", between processes: from GPU to GPU by NCCL.
        Through the host, as always on CPUs: "staged" in one process, "unix" (Unix sockets) between
        processes of one machine, "tcp", or, if it is installed, "ucx": UCX, which uses InfiniBand,
        RoCE, shared memory or TCP.  "auto": the fastest transport for each pair of ranks;
        if one pair needs the host (such as two ranks on one GPU), all messages go through the host.
    mesh:
        How ranks share the Fourier transforms of PME: "distributed", a slab of planes on each rank;
        "pencils", for more CPU ranks than grid planes; "replicated", all transforms on every rank,
        which avoids messages for small grids; "auto", by the size of the grid and the number of
        ranks.
    patch_reach:
        Number of patches that the cutoff spans: 1, or 2 for patches half as wide; "x", "xy": 2
        along these axes only.  Forces are then rounded differently, so energies differ in their
        last digits.
    grain:
        What ranks share: "patch", a patch with its half of the patches around it; "pair", on CPUs,
        pairs of patches, which give work to more ranks than there are patches.  Sums of forces are
        then rounded differently, too.
    workers:
        Settings of workers.
    """

    device: DeviceName = "auto"
    ranks: Ranks = None
    threads: Threads = None
    balance: bool = True
    transport: Transport = "auto"
    mesh: MeshSharing = "auto"
    patch_reach: PatchReach = 1
    workers: Workers = Workers()
    hosts: tuple[HostEntry, ...] = ()
    grain: Grain = "patch"

    def settings(self) -> dict[str, Any]:
        """All attributes by name, as `Simulation` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def warning(self) -> str | None:
        """A warning if there are more ranks or threads than cores; otherwise None."""
        ranks = self._rank_count()
        cores, workers = available_cores(), ranks * (self.threads or 1)
        if self._is_in_workers():
            return None  # its machine may be another
        if workers <= cores or choose_device(self.device, ranks) != "cpu":
            return None
        return (
            f"{ranks} rank(s) of {self.threads or 1} thread(s) share {cores} core(s) and will "
            f"wait for each other; {cores} or fewer are faster"
        )

    def resolve(self) -> RunHere | RunInWorkers:
        """Place of an engine, with the chosen device and the cores of each rank.

        For workers only the number of ranks is resolved here; each of them resolves the rest.
        """
        ranks = self._rank_count()
        self._check_workers()
        self._check_transport()
        if self._is_in_workers():
            device = self._device_of_ranks()
            _check_number(sum(place.kind in ("here", "worker") for place in parse_device(device)))
            asked = self.settings()
            del asked["workers"], asked["hosts"]
            return RunInWorkers(device, ranks, self.workers, asked)
        _check_number(ranks)
        return RunHere(
            choose_device(self.device, ranks),
            ranks,
            self.threads or max(1, available_cores() // ranks),
            REACHES[self.patch_reach],
            self.balance,
            self.transport,
            self.mesh,
            self.grain,
        )

    def resolve_here(self) -> RunHere:
        """The same where it must be in this process; QuiltError if it is not."""
        where = self.resolve()
        if isinstance(where, RunInWorkers):
            raise QuiltError(
                f"device '{self.device}' is in another process: name one of this machine"
            )
        return where

    def _check_workers(self) -> None:
        """QuiltError if settings of workers would be ignored."""
        of_wholes = self.workers.spares or self.workers.verify or self.workers.inject_fault
        if of_wholes and has_rank_on_each(self._device_of_ranks()):
            raise QuiltError(
                "spares, verify and inject_fault need a device that runs the whole simulation: "
                "leave them out"
            )
        devices = len(parse_device(self.device))
        for text in self.workers.inject_fault:
            if parse_injection(text).device >= devices:
                raise QuiltError(
                    f"inject_fault '{text}' is for a device that '{self.device}' does not have: it "
                    f"has {devices}, counted from 0"
                )
        if not is_forwarded(self.device):
            return
        if of_wholes:
            raise QuiltError(
                "spares, verify and inject_fault cannot be used with forward: devices: leave "
                "them out, or use {self.device.removeprefix('forward:')}"
            )
        if self._rank_count() > 1:
            raise QuiltError(f"device '{self.device}' has one rank: leave out the number of ranks")

    def _check_transport(self) -> None:
        """QuiltError if the transport that was asked for does not join these ranks."""
        device = self._device_of_ranks()
        between, places = has_rank_on_each(device), parse_device(device)
        those = BETWEEN_PROCESSES if between else IN_ONE_PROCESS
        on_cpu = [str(place) for place in places if place.device == "cpu"]
        fitting = [name for name in those[1:] if not on_cpu or name not in _BETWEEN_GPUS]
        instead = f"leave it out, or choose {' or '.join(fitting)}"
        if self.transport not in those:
            where = "in processes of their own" if between else "of one process"
            if self.hosts:
                where = f"on the hosts {in_words(self.hosts)}"
            raise QuiltError(f"transport '{self.transport}' does not join ranks {where}: {instead}")
        if on_cpu and self.transport in _BETWEEN_GPUS:
            raise QuiltError(
                f"transport '{self.transport}' connects GPUs, and {on_cpu[0]} is not a GPU: "
                f"{instead}"
            )

    def is_compared(self) -> bool:
        """Whether several devices, or one several times, do the same and are compared by bits."""
        places = parse_device(self._device_of_ranks())
        has_wholes = not has_rank_on_each(self._device_of_ranks()) and len(places) > 1
        return bool(self.workers.spares or self.workers.verify or has_wholes)

    def _device_of_ranks(self) -> str:
        return device_of_ranks(self.device, self.hosts)

    def _is_in_workers(self) -> bool:
        supervised = self.workers.spares or self.workers.verify or self.workers.inject_fault
        device = self._device_of_ranks()
        is_here = [place.kind for place in parse_device(device)] == ["here"]
        return bool(supervised) or has_rank_on_each(device) or not is_here

    def _rank_count(self) -> int:
        listed = listed_ranks(self._device_of_ranks())
        if self.ranks and listed and self.ranks != listed:
            raise QuiltError(self._not_so_many(listed))
        return self.ranks or listed or 1

    def _not_so_many(self, listed: int) -> str:
        """Message: the number of ranks differs from the number of listed devices or hosts."""
        if self.hosts:
            where = in_words(self.hosts)
            return (
                f"there are {listed} rank(s) on the hosts {where}, and not {self.ranks}: leave out "
                "the number of ranks, or change the hosts ('localhost' is this machine alone)"
            )
        if has_rank_on_each(self._device_of_ranks()) and not has_rank_on_each(self.device):
            return (
                f"a launcher has started {listed} processes with a rank each, and {self.ranks} "
                "ranks are asked for: leave out the number of ranks"
            )
        return (
            f"device '{self.device}' lists {listed} device(s) for {self.ranks} rank(s): list one "
            "for each rank, or leave out the number of ranks"
        )


def _check_number(ranks: int) -> None:
    """QuiltError for more ranks than this machine should have: each has memory and threads."""
    cores = available_cores()
    most = max(_MOST_RANKS, cores)
    if ranks > most:
        raise QuiltError(
            f"{ranks} ranks are too many for a machine with {cores} core(s): at most {most} are "
            f"accepted, and {cores} or fewer are fastest"
        )


def core_numbers() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(core_numbers())


def devices(self_test: bool = False) -> list[dict[str, Any]]:
    """The devices of this machine, including the CPU.

    Parameters
    ----------
    self_test:
        Also check each GPU and measure its memory, which takes about a second.
    """
    found: list[dict[str, Any]] = load_core().devices(self_test)
    return found


def is_gpu(device: str) -> bool:
    """Whether a device that was chosen is a GPU."""
    return parse_device(device)[0].device.startswith("cuda")


def choose_device(asked: str, ranks: int = 1) -> str:
    """The device to run on: "cpu", "cuda" (the only GPU, or the first), or the GPU of each rank.

    "auto" takes a usable GPU where there is one.  A GPU that was asked for and cannot be used is an
    error, never a silent fall back to the CPU or to another GPU.
    """
    if asked == "cpu":
        return asked
    gpus = {gpu.get("ordinal", 0): gpu for gpu in devices() if gpu.get("kind") == "cuda"}
    usable = [ordinal for ordinal, gpu in gpus.items() if gpu.get("usable", True)]
    if asked == "auto" and not usable:
        _warn_of_unused(gpus)
        return "cpu"
    listed = parse_place(asked).ordinals()
    missing = [ordinal for ordinal in listed if ordinal not in usable]
    if missing or not usable:
        concerned = missing if usable else gpus
        reasons = [gpu["reason"] for n, gpu in gpus.items() if n in concerned and gpu.get("reason")]
        raise QuiltError(_why_not(asked, usable, reasons))
    if ranks > len(listed or usable):
        raise QuiltError(
            f"{ranks} ranks on device '{asked}' need a GPU each, and {len(usable)} can be used: "
            f"use fewer ranks, or name the GPU of each, such as cuda:0,0 for two on one"
        )
    chosen = listed or usable[:ranks]
    only_first = not listed and len(chosen) == 1 and chosen[0] <= 0
    return "cuda" if only_first else "cuda:" + ",".join(map(str, chosen))


def _warn_of_unused(gpus: Mapping[int, Mapping[str, Any]]) -> None:
    """Warns where the machine has a GPU that cannot be used, and that the user does not hide."""
    reason = next((gpu["reason"] for gpu in gpus.values() if gpu.get("reason")), None)
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if reason is not None and not is_hidden and any(map(glob, _GPU_FILES)):
        warnings.warn(
            f"the CPU is used, as the GPU of this machine cannot be: {reason}",
            QuiltWarning,
            stacklevel=2,
        )


def _why_not(asked: str, usable: list[int], reasons: list[str]) -> str:
    others = f"; others are: {', '.join(f'cuda:{n}' for n in usable)}" if usable else ""
    return (
        f"device '{asked}' was asked for, but there is no usable GPU"
        + (" of that number: " if usable else ": ")
        + ("; ".join(reasons) if reasons else "none was found, or this build has no CUDA part")
        + others
    )
