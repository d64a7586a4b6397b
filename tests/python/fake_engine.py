# SPDX-License-Identifier: Apache-2.0
"""A toy engine with the interface of the core, so that the application is tested by itself.

Every atom hangs on a spring from where it first was, with deterministic noise of its step.  The
force also depends a little on the positions of the last list build: whoever fails to carry these
across a restart gets another trajectory.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from quiltmd import QuiltError, SimulationError
from quiltmd.engine.core import RunsThenCaptures
from quiltmd.engine.where import RunHere

_SPRING = 50.0  # kJ/mol/nm^2
_LIST_LIFE = 7  # steps
_PARTS = ("bond", "angle", "torsion", "lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion")


class FakeFrame:
    """What `FakeEngine.capture` took; `alive` are those that somebody still holds."""

    alive: ClassVar[set[int]] = set()

    def __init__(self, step: int, box: Any, heat: float, *taken: Any) -> None:
        self.step, self.box = step, box
        self._heat = heat
        self._energies, self._tensors, self._positions, self._state = taken
        self.alive.add(id(self))

    def __del__(self) -> None:
        self.alive.discard(id(self))

    def heat(self) -> float:
        return self._heat

    def energies(self) -> dict[str, float]:
        return self._given(self._energies, "energies")

    def tensors(self) -> dict[str, Any]:
        return self._given(self._tensors, "energies")

    def positions(self) -> Any:
        state = self._state or {}
        return self._given(state.get("positions", self._positions), "positions")

    def state(self) -> dict[str, Any]:
        return self._given(self._state, "state")

    def _given(self, data: Any, name: str) -> Any:
        if data is None:
            raise QuiltError(f"the frame of step {self.step} was captured without {name}")
        return data


class FakeEngine(RunsThenCaptures):
    """Springs and noise.  Counts the calls of `run`, and blows up at `explode_at`."""

    explode_at: int | None = None

    def __init__(
        self,
        system: dict[str, Any],
        nonbonded: dict[str, Any],
        integrator: dict[str, Any],
        run: RunHere,
    ) -> None:
        assert len(nonbonded["pme_grid"]) == 3
        assert run.device in ("cpu", "cuda")
        self._masses = system["masses"][:, None]
        self._integrator = integrator
        self._run = run
        self._heat = 0.0
        self.calls = 0

    def set_state(
        self,
        step: int,
        box: Any,
        positions: Any,
        velocities: Any,
        list_step: int,
        list_positions: Any,
        patches: Any = None,
        variables: Any = None,
    ) -> None:
        self._step, self._box, self._heat = step, box, 0.0
        self._positions, self._velocities = positions.copy(), velocities.copy()
        self._list_step = list_step
        self._list_positions = positions.copy() if list_positions is None else list_positions.copy()

    def place_atoms(self, positions: Any) -> None:
        self._positions, self._heat = positions.copy(), 0.0

    def run(self, steps: int) -> None:
        self.calls += 1
        dt = self._integrator["timestep"]
        for _ in range(steps):
            if self._step == self.explode_at:
                raise SimulationError(self._step, "atom 3 moves at 1e9 nm/ps")
            if self._step - self._list_step >= _LIST_LIFE:
                self._list_step, self._list_positions = self._step, self._positions.copy()
            self._velocities = self._velocities + dt * self.forces() / self._masses
            self._thermostat()
            self._positions = self._positions + dt * self._velocities
            self._step += 1

    def _thermostat(self) -> None:
        if self._integrator["kind"] != "langevin_middle":
            return
        before = self._kinetic()
        noise = np.random.Generator(
            np.random.Philox(key=self._integrator["seed"], counter=self._step)
        )
        self._velocities = 0.99 * self._velocities + 0.05 * noise.normal(size=self._positions.shape)
        self._heat += self._kinetic() - before

    def _kinetic(self) -> float:
        return float(0.5 * (self._masses * self._velocities**2).sum())

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> FakeFrame:
        return FakeFrame(
            self._step,
            self._box,
            self._heat,
            self._energies() if energies else None,
            self._tensors() if energies else None,
            self._positions.copy() if positions else None,
            self._state() if state else None,
        )

    def read(self, **contents: bool) -> FakeFrame:
        return self.capture(**contents)

    def _state(self) -> dict[str, Any]:
        return {
            "step": self._step,
            "box": self._box,
            "positions": self._positions.copy(),
            "velocities": self._velocities.copy(),
            "list_step": self._list_step,
            "list_positions": self._list_positions.copy(),
        }

    def _energies(self) -> dict[str, float]:
        potential = self._potential()
        parts = dict.fromkeys(_PARTS, 0.0) | {"lj": potential}
        return parts | {"potential": potential, "kinetic": self._kinetic(), "heat": self._heat}

    def _potential(self) -> float:
        return float(0.5 * _SPRING * (self._stretch() ** 2).sum())

    def _tensors(self) -> dict[str, Any]:
        momenta = self._masses * self._velocities
        return {
            "virial": self._stretch().T @ self.forces(),
            "kinetic": momenta.T @ self._velocities,
        }

    def forces(self) -> Any:
        return -_SPRING * self._stretch() - 0.1 * (self._positions - self._list_positions)

    def _stretch(self) -> Any:
        return self._positions - np.round(self._positions, 1)

    def force_sum(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def minimize(self, tolerance: float, max_iterations: int, watch: Any = None) -> dict[str, Any]:
        for iteration in range(4):
            if watch is not None and watch(iteration, self._potential(), 1e3):
                break
            self._positions = self._positions - 0.2 * self._stretch()
        outcome = {"potential": self._potential(), "largest_force": 99.0}
        return outcome | {"iterations": 4, "converged": True}

    def draw_velocities(self, temperature: float, seed: int) -> None:
        scale = np.sqrt(0.00831446 * temperature / self._masses)
        generator = np.random.default_rng(seed)
        self._velocities = scale * generator.normal(size=self._positions.shape)

    def set_conditions(self, values: dict[str, float], box: Any = None) -> None:
        self._integrator = self._integrator | values
        self._box = self._box if box is None else box

    def describe(self) -> dict[str, Any]:
        return {
            "ranks": self._run.ranks,
            "early_rebuilds": 0,
            "grid_changes": 0,
            "grid_changed_at": 0,
            "list_life": _LIST_LIFE,
            "remove_com_every": self._integrator["remove_com_every"],
            "bytes_per_atom": 100.0,
            "devices": [{"name": "toy"}],
        }

    def profile(self) -> list[dict[str, Any]]:
        return [{"rank": 0, "name": "springs", "calls": self.calls, "seconds": 0.1 * self.calls}]

    def start_profile(self) -> None:
        self._profiled_from = self._step

    def stop_profile(self) -> list[dict[str, Any]]:
        """Each step takes 10 us, half of it springs."""
        begins = 1e-5 * np.arange(self._step - self._profiled_from)
        kinds = ((0, "springs", 0.0), (1, "noise", 5e-6))
        return [
            {"rank": 0, "stream": stream, "name": name, "begin": t + shift, "end": t + shift + 5e-6}
            for t in begins.tolist()
            for stream, name, shift in kinds
        ]

    def profiled_messages(self) -> list[dict[str, Any]]:
        return []

    def loads(self) -> list[dict[str, Any]]:
        return []
