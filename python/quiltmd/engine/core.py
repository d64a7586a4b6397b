# SPDX-License-Identifier: Apache-2.0
"""The compiled core as Python sees it: one protocol.

The application layer talks to `Engine` only, so that tests can run it on a small stand-in written
in numpy.  The core is imported when first needed: reading inputs, checkpoints and `quiltmd info`
work without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol

from ..errors import QuiltError
from .libraries import NVRTC
from .where import RunHere

_ENERGY_SCALE = 2.0**28  # kEnergyScale of src/math/fixed.h


def counted_heat(heat: float) -> float:
    """The nearest heat (kJ/mol) that the core can count, a multiple of 2^-28 kJ/mol.

    Up to 2^25 (3.4e7) kJ/mol sums of these are exact: the heat of a run is the sum of that of its
    parts, to the last bit.
    """
    units = heat * _ENERGY_SCALE
    return round(units) / _ENERGY_SCALE if abs(units) < 2.0**53 else heat


class Captured(Protocol):
    """The data of a simulation at a step, perhaps still being copied: reading waits for them.

    QuiltError if data are read that were not captured.
    """

    @property
    def step(self) -> int:
        """Its step."""

    @property
    def box(self) -> Any:
        """(3, 3)."""

    def energies(self) -> dict[str, float]:
        """Energies by term, kinetic, potential and heat."""

    def tensors(self) -> dict[str, Any]:
        """(3, 3) arrays of hydrogen groups: `virial`, and `kinetic`, the sum of their p p / m.

        They come with the energies.  Of a system with alchemical atoms also `state_energies` (K,)
        and `dhdl` (2,).
        """

    def heat(self) -> float:
        """Heat added by the thermostat since the state was set; always captured.

        A multiple of 2^-28 kJ/mol.
        """

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
        patches: tuple[int, int, int] | None = None,
        variables: dict[str, float] = ...,
    ) -> None:
        """Sets the state.

        list_positions is None where pair lists were never built, patches where they are not known.
        Heat is counted from here on.
        """

    def place_atoms(self, positions: Any) -> None:
        """The present state with atoms at these positions (N, 3); lists are kept where they serve.

        Heat is counted from here on.
        """

    def run(self, steps: int) -> None:
        """Advances; raises SimulationError on a blow-up."""

    def run_and_capture(
        self, steps: int, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> Captured:
        """Advances, and captures these data there; a GPU goes from one to the other at once."""

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> Captured:
        """Captures these data of the simulation; returns before they have arrived."""

    def read(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> Captured:
        """The same for data that are read at once, which spares messages to a worker."""

    def forces(self) -> Any:
        """Forces (N, 3)."""

    def force_sum(self) -> tuple[int, int, int]:
        """Sum of short-range and bonded forces as integers: zero."""

    def minimize(
        self,
        tolerance: float,
        max_iterations: int,
        watch: Callable[[int, float, float], bool] | None = None,
    ) -> dict[str, Any]:
        """Minimises the potential energy.

        `watch` gets iterations done, potential and largest force before each iteration, and returns
        whether to stop.
        """

    def draw_velocities(self, temperature: float, seed: int) -> None:
        """Maxwell-Boltzmann velocities."""

    def set_conditions(self, values: dict[str, float], box: Any = None) -> None:
        """New temperature (K) or friction (1/ps) of the integrator, from here on; and a new box.

        Hydrogen groups move with the box; None leaves it as it is.
        """

    def describe(self) -> dict[str, Any]:
        """Layout of the run."""

    def profile(self) -> list[dict[str, Any]]:
        """Calls and seconds of each task."""

    def start_profile(self) -> None:
        """Starts timing every task, or on a GPU every kernel; the trajectory keeps its bits."""

    def stop_profile(self) -> list[dict[str, Any]]:
        """The calls since the last start: rank, stream, name, begin and end, s."""

    def profiled_messages(self) -> list[dict[str, Any]]:
        """Messages of the last profile: name, from, to, bytes, sent, arrived, used, s."""

    def loads(self) -> list[dict[str, Any]]:
        """By rank: patches, proxies, computes, interior_computes, atoms, list_entries, bytes."""


class RunsThenCaptures:
    """An engine that captures when its run has returned."""

    def run_and_capture(self: Engine, steps: int, **contents: bool) -> Captured:
        """Advances, and captures these data there."""
        self.run(steps)
        return self.capture(**contents)


# Called with system, nonbonded settings and dynamics as the core has them, and where it runs.
EngineFactory = Callable[[dict[str, Any], dict[str, Any], dict[str, Any], Any], Engine]


def load_core() -> Any:
    """The module `quiltmd._core`; QuiltError if it is missing or does not load."""
    try:
        return importlib.import_module("quiltmd._core")
    except ImportError as error:
        raise QuiltError(
            f"the compiled core of quiltmd does not load ({error}); reinstall with 'pip install .'"
        ) from None


def make_engine(
    system: dict[str, Any],
    nonbonded: dict[str, Any],
    integrator: dict[str, Any],
    where: RunHere,
) -> Engine:
    """The engine of the compiled core."""
    core = load_core()
    if "custom" in system:
        core.set_run_time_compiler(NVRTC.path())
    engine: Engine = core.Engine(system, nonbonded, integrator, where.settings())
    return engine
