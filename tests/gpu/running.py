# SPDX-License-Identifier: Apache-2.0
"""Engines of the compiled core, without the loop of `Simulation`, so that blocks are as asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

import quiltmd
from quiltmd.description.dynamics import resolve_dynamics
from quiltmd.engine.core import make_engine
from quiltmd.engine.execution import Execution

Pair = tuple[quiltmd.System, quiltmd.State]
INTEGRATORS = {
    "nvt": quiltmd.LangevinMiddle(timestep=0.004, seed=3),
    "nve": quiltmd.VelocityVerlet(timestep=0.004),
}


# Both squeeze the box.
BAROSTATS = {
    "cell rescaling": quiltmd.CellRescaling(3000.0, 0.5, seed=3, every=10),
    "monte carlo": quiltmd.MonteCarloBarostat(9000.0, compressibility=1e-4, seed=3, every=10),
}


@dataclass(frozen=True)
class AtPressure:
    """An integrator with a barostat that squeezes the box."""

    integrator: quiltmd.Integrator
    thermostat: quiltmd.Thermostat | None = None
    barostat: quiltmd.Barostat = BAROSTATS["cell rescaling"]

    def resolve(self) -> dict[str, Any]:
        return resolve_dynamics(self.integrator, self.thermostat, self.barostat)


def _resolved(dynamics: quiltmd.Integrator | AtPressure, system: quiltmd.System) -> dict[str, Any]:
    if isinstance(dynamics, AtPressure):
        return dynamics.resolve()
    return resolve_dynamics(dynamics, None, system=system)


AT_PRESSURE = {
    "langevin": AtPressure(INTEGRATORS["nvt"]),
    "verlet": AtPressure(
        INTEGRATORS["nve"], quiltmd.VelocityRescaling(time_constant=0.1, seed=3, every=5)
    ),
    "monte carlo": AtPressure(INTEGRATORS["nvt"], barostat=BAROSTATS["monte carlo"]),
}
both_ensembles = pytest.mark.parametrize("ensemble", INTEGRATORS)


def stated(method: Literal["pme", "fmm"], box: Any) -> quiltmd.Nonbonded:
    """What is chosen for a box, so that it holds in others."""
    chosen = quiltmd.Nonbonded(method=method).resolve(box)
    if method == "fmm":
        return quiltmd.Nonbonded(
            method=method,
            fmm_order=chosen["pme_order"],
            fmm_bandwidth=chosen["pme_bandwidth"],
            fmm_grid=chosen["pme_grid"],
            fmm_box=chosen["stencil_box"],
        )
    return quiltmd.Nonbonded(
        pme_order=chosen["pme_order"],
        pme_bandwidth=chosen["pme_bandwidth"],
        pme_window=chosen["pme_window"],
        pme_grid=chosen["pme_grid"],
    )


def usable_gpu() -> dict[str, Any] | None:
    """The first usable GPU as `quiltmd devices` has it."""
    try:
        found = quiltmd.devices()
    except quiltmd.QuiltError:
        return None
    usable = (device for device in found if device["kind"] == "cuda" and device["usable"])
    return next(usable, None)


def gpu_count() -> int:
    """Usable GPUs of this machine."""
    return sum(device["kind"] == "cuda" and device["usable"] for device in quiltmd.devices())


def all_gpus() -> str:
    """The device of several ranks, each with a GPU of its own: all that there are, at most four."""
    return "cuda:" + ",".join(map(str, range(min(gpu_count(), 4))))


class Run:
    """An engine at a state; `nonbonded` and the device as in `Simulation`."""

    def __init__(
        self,
        system: quiltmd.System,
        state: quiltmd.State,
        integrator: quiltmd.Integrator | AtPressure | None = None,
        nonbonded: quiltmd.Nonbonded | None = None,
        device: Any = "cuda",
    ) -> None:
        self.engine = make_engine(
            system.arrays(),
            (nonbonded or quiltmd.Nonbonded()).resolve(state.box),
            _resolved(integrator or quiltmd.LangevinMiddle(seed=0), system),
            Execution(device).resolve_here(),
        )
        self.place(state)

    def place(self, state: quiltmd.State) -> None:
        self.engine.set_state(**state.arrays())

    def advance(self, *blocks: int) -> Run:
        for steps in blocks:
            self.engine.run(steps)
        return self

    def state(self) -> quiltmd.State:
        return quiltmd.State(**self.engine.state())

    def digest(self) -> str:
        return quiltmd.digest(self.state())


def thermal(
    system: quiltmd.System, state: quiltmd.State, temperature: float = 300.0
) -> quiltmd.State:
    """The state with velocities drawn, lists not yet built."""
    run = Run(system, state)
    run.engine.draw_velocities(temperature, 1)
    return quiltmd.State(state.positions, run.state().velocities, state.box)


def relaxed(system: quiltmd.System, state: quiltmd.State) -> quiltmd.State:
    """The state near a minimum, with velocities of 300 K."""
    run = Run(system, state)
    run.engine.minimize(200.0, 500)
    return thermal(system, quiltmd.State(run.state().positions, state.velocities, state.box))


def relative_error(found: np.ndarray, exact: np.ndarray) -> float:
    """Root mean square of the difference over that of the exact values."""
    return float(np.linalg.norm(np.asarray(found) - exact) / np.linalg.norm(exact))


TERMS = (
    "bond",
    "angle",
    "torsion",
    "lj",
    "lj14",
    "coulomb",
    "coulomb14",
    "pme",
    "dispersion",
    "potential",
)


def energy_errors(found: dict[str, float], exact: dict[str, float]) -> dict[str, float]:
    """Relative error of each term; of a term below 1 kJ/mol the absolute one."""
    return {term: abs(found[term] - exact[term]) / max(abs(exact[term]), 1.0) for term in TERMS}
