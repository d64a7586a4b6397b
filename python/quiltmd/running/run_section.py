# SPDX-License-Identifier: Apache-2.0
"""Start, length and devices of a run: the section [run] of a configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ..description.checks import LAST_STEP
from ..description.settings import HOTTEST, MOST, Needs, OnResume, Ranks, Threads
from ..description.units import Kelvins, Unit
from ..engine.execution import DeviceName, Execution, Grain, MeshSharing, Transport
from ..engine.hosts import HostEntry
from .section import Section

_MINIMISATION = Needs("minimize", "nothing is minimised", "say minimize = true")


class RunSection(Section):
    """[run]: how a run begins, how far it goes and where.

    It begins with `minimize`, `draw_velocities` and what belongs to them.  After `max_hours` a run
    stops with a checkpoint.
    """

    steps: Annotated[int, OnResume.MAY_CHANGE] = Field(
        ge=0, le=LAST_STEP, description="Number of steps, counted from the start of the run."
    )
    first_step: int = Field(
        default=0,
        ge=0,
        le=LAST_STEP,
        description="Number of the first step, for a run that continues another one: steps and "
        "times in log and trajectories, random numbers and annealing start from this number.",
    )
    minimize: bool = Field(default=False, description="Minimise the energy before the dynamics.")
    minimize_iterations: Annotated[int, _MINIMISATION] = Field(
        default=200, ge=0, le=MOST, description="Maximum number of iterations of the minimisation."
    )
    minimize_tolerance: Annotated[float, Unit("kJ/mol/nm"), _MINIMISATION] = Field(
        default=100.0,
        ge=0,
        description="End the minimisation when the largest force on an atom is below this value, "
        "kJ/mol/nm.",
    )
    draw_velocities: bool = Field(
        default=False,
        description="Draw initial velocities at the temperature of the heat bath, even if the "
        "coordinate file has velocities.",
    )
    start_temperature: Kelvins | None = Field(
        default=None,
        ge=0,
        le=HOTTEST,
        description="Draw initial velocities at this temperature, K, even if the coordinate file "
        "has velocities.",
    )
    require_velocities: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False,
        description="End with an error if the coordinate file has no velocities, instead of "
        "drawing them (Amber's ntx = 5).",
    )
    ranks: Annotated[Ranks, OnResume.MAY_CHANGE] = Execution.ranks
    threads: Annotated[Threads, OnResume.MAY_CHANGE] = Execution.threads
    device: Annotated[DeviceName, OnResume.MAY_CHANGE] = Field(
        default=Execution.device,
        description="Device: auto (a usable GPU, else the CPU), cpu, cuda (the first GPU), cuda:1 "
        "(one of several; `quiltmd devices` lists them), cuda:0,1 (a GPU for each rank), or one of "
        "these in a worker: worker:cuda:0, ssh:HOST/cuda:0, remote:HOST:PORT/cuda:0. The user "
        "guide explains redundant:..., ranks:... and forward:....",
    )
    hosts: Annotated[tuple[HostEntry, ...], OnResume.MAY_CHANGE] = Field(
        default=Execution.hosts,
        description="Hosts that share the simulation, reached by ssh, each with its number of "
        "ranks (default: 1): a:2,b:2.",
    )
    balance: Annotated[bool, OnResume.MAY_CHANGE] = Field(
        default=Execution.balance, description="Dynamic load balancing between ranks on CPUs."
    )
    transport: Annotated[Transport, OnResume.MAY_CHANGE] = Field(
        default=Execution.transport,
        description="Message transport between ranks. From GPU to GPU: peer (kernels write to "
        "the other GPU's memory) or, between processes, nccl. Through the host: staged (in one "
        "process), unix (processes of one machine), tcp, or ucx (UCX, for InfiniBand and RoCE). "
        "auto: the fastest that works, without ucx.",
    )
    mesh: Annotated[MeshSharing, OnResume.MAY_CHANGE] = Field(
        default=Execution.mesh,
        description="How ranks share the Fourier transforms of PME: distributed (slabs), pencils "
        "(for more CPU ranks than grid planes), replicated (every rank computes all of them) or "
        "auto (by grid size and number of ranks; several GPUs time distributed and replicated when "
        "the run starts).",
    )
    patch_reach: Annotated[Literal["1", "2", "x", "xy"], BeforeValidator(str)] = Field(
        default="1",
        description="Number of patches (cells of the domain decomposition) that the cutoff spans: "
        "1, or 2 for patches half as wide, which give work to more ranks; x, xy: 2 along these "
        "axes only.",
    )
    grain: Grain = Field(
        default=Execution.grain,
        description="What ranks share: patch (a patch with its half of the patches around it), or, "
        "on CPUs, pair (pairs of patches), which gives work to more ranks than there are patches.",
    )
    max_hours: Annotated[Annotated[float, Unit("h")] | None, OnResume.MAY_CHANGE] = Field(
        default=None, gt=0, description="Stop with a checkpoint after this many hours."
    )

    @property
    def last_step(self) -> int:
        """The step at which the run ends."""
        return self.first_step + self.steps

    def only_minimizes(self) -> bool:
        """Whether there is a minimisation and no dynamics after it."""
        return self.minimize and not self.steps

    def begins_anew(self) -> bool:
        """Whether velocities are drawn, whatever the coordinates or the stage before have."""
        return self.minimize or self.draw_velocities or self.start_temperature is not None
