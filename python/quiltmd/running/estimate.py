# SPDX-License-Identifier: Apache-2.0
"""Estimated speed of a run on this machine, from a few steps; no file is written."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

from ..description.state import State
from ..description.system import System
from ..engine.core import EngineFactory
from ..errors import QuiltWarning
from ..workers.factory import make_engine
from .config import Config
from .runner import make_simulation
from .simulation import Simulation

_SECONDS = 1.0  # of timed steps
_FEW = 20  # iterations of a minimisation
_DAY = 86400.0


@dataclass(frozen=True)
class Estimate:
    """Time of a step and of an iteration of the minimisation, s, and the device."""

    step: float
    iteration: float
    device: str

    def seconds(self, config: Config) -> float:
        """Estimated seconds of a run, with all iterations of its minimisation."""
        iterations = config.run.minimize_iterations if config.run.minimize else 0
        return config.run.steps * self.step + iterations * self.iteration

    def speed(self, config: Config) -> float:
        """Steps as ns/day."""
        return config.make_integrator().timestep * 1e-3 * _DAY / self.step


def estimate(
    config: Config, system: System, state: State, engine: EngineFactory = make_engine
) -> Estimate:
    """Times a run from its beginning, for a second or two.

    Velocities are drawn where the input has none.

    Raises
    ------
    QuiltError
        As the run itself would: where settings do not suit the system, or it blows up.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuiltWarning)  # the run gives them
        simulation = make_simulation(config, system, state, engine)
        config.annealing().set_at(simulation)
        iteration = 0.0
        if config.run.minimize:
            begin = time.perf_counter()
            found = simulation.minimize(config.run.minimize_tolerance, _FEW)
            iteration = (time.perf_counter() - begin) / max(1, found["iterations"])
        if config.run.begins_anew() or not state.velocities.any():
            simulation.draw_velocities(max(1.0, config.integrator.temperature), seed=0)
        return Estimate(_step_of(simulation), iteration, simulation.device)


def _step_of(simulation: Simulation) -> float:
    """Seconds of a step: of as many as take some time, the shorter attempts before as warm-up."""
    steps, taken = 1, 0.0
    while taken < _SECONDS or steps == 1:
        steps *= 2
        begin = time.perf_counter()
        simulation.run(steps)
        simulation.energies()  # not before this are the steps known to be done on a GPU
        taken = time.perf_counter() - begin
    return taken / steps
