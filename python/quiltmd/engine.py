# SPDX-License-Identifier: Apache-2.0
"""The compiled core as Python sees it: one protocol and the choice of a device.

The application layer talks to `Engine` only, so that tests can run it on a toy in numpy.  The core
is imported when first needed: reading inputs, checkpoints and `quiltmd info` work without it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Literal, Protocol

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from .errors import QuiltError

DeviceName = Literal["auto", "cpu", "cuda"]


class Captured(Protocol):
    """A simulation as it was at a step.  Its data may still be travelling: reading waits for them.

    QuiltError where it was taken without what is read.
    """

    @property
    def step(self) -> int:
        """Of the simulation then."""

    @property
    def box(self) -> Any:
        """(3, 3)."""

    def energies(self) -> dict[str, float]:
        """Energies by term, kinetic, potential and heat."""

    def tensors(self) -> dict[str, Any]:
        """(3, 3) arrays: virial of hydrogen groups, and motion, the sum of their p p / m.

        They come with the energies.
        """

    def heat(self) -> float:
        """Of the thermostat; always there."""

    def positions(self) -> Any:
        """(N, 3), in the order of the input."""

    def state(self) -> dict[str, Any]:
        """The fields of `State`."""


class Engine(Protocol):
    """A compiled run: state on devices, advanced by `run`.  Units: nm, ps, kJ/mol."""

    def set_state(
        self,
        step: int,
        box: Any,
        positions: Any,
        velocities: Any,
        list_step: int,
        list_positions: Any,
    ) -> None:
        """Puts the atoms there; list_positions is None where lists were never built."""

    def run(self, steps: int) -> None:
        """Advances; raises SimulationError on a blow-up."""

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> Captured:
        """The simulation now, with these of its data; returns while they travel."""

    def forces(self) -> Any:
        """Forces (N, 3)."""

    def force_sum(self) -> tuple[int, int, int]:
        """Sum of short-range and bonded forces as integers: zero."""

    def minimize(self, tolerance: float, max_iterations: int) -> dict[str, Any]:
        """Goes to a minimum of the potential."""

    def draw_velocities(self, temperature: float, seed: int) -> None:
        """Maxwell-Boltzmann velocities."""

    def describe(self) -> dict[str, Any]:
        """Layout of the run."""

    def profile(self) -> list[dict[str, Any]]:
        """Calls and seconds of each task."""

    def start_profile(self) -> None:
        """Notes every task, on a GPU every kernel, from here on; the trajectory keeps its bits."""

    def stop_profile(self) -> list[dict[str, Any]]:
        """What took place since the last start: rank, stream, name, begin and end, s."""


EngineFactory = Callable[[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]], Engine]


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
    ranks: int = Field(default=1, ge=1)
    threads: int | None = Field(default=None, ge=1)
    balance: bool = True
    away: Literal[1, 2] = 1

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


def load_core() -> Any:
    """The module `quiltmd._core`; QuiltError where it is missing or does not load."""
    try:
        return importlib.import_module("quiltmd._core")
    except ImportError as error:
        raise QuiltError(
            f"the compiled core of quiltmd does not load ({error}); reinstall with 'pip install .'"
        ) from None


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


def make_engine(
    system: dict[str, Any],
    nonbonded: dict[str, Any],
    integrator: dict[str, Any],
    run: dict[str, Any],
) -> Engine:
    """The engine of the compiled core."""
    engine: Engine = load_core().Engine(system, nonbonded, integrator, run)
    return engine
