# SPDX-License-Identifier: Apache-2.0
"""The engine of a simulation: who may use it, where it is, and what it says of itself.

One thread at a time uses a simulation; a second one gets an error, since waiting for a run could
take days.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.external_force import ExternalForce
from ..engine.core import Captured, Engine
from ..engine.external_calls import ExternalCalls, refuse_calls_within, states_of
from ..errors import QuiltError
from ..outputs.readout import Frame, Readout, read_from
from ..outputs.reporters import Need
from ..workers.pool import Event
from .simulation_checks import AtomNames

_COMES_WITH: dict[str, tuple[Need, ...]] = {"tensors": ("energies",), "heat": ()}
_LARGEST_FORCE = 5e5  # kJ/mol/nm; kLargestForce of src/math/fixed.h


class EngineAccess(Readout):
    """A simulation with an engine, which belongs to one thread at a time."""

    _engine: Engine
    _external: tuple[ExternalCalls, ...]
    _earlier_faults: list[Event]  # of devices that it has left
    _heat_before: float
    _lock: threading.RLock
    _is_running: bool

    def forces(self) -> NDArray[np.float64]:
        """Forces now, (N, 3), kJ/mol/nm, in the order of the input.

        Raises QuiltError, naming the atom, if atoms overlap so much that forces are not correct.
        """
        with self._owned() as engine:
            forces = np.asarray(engine.forces(), dtype=np.float64)
        if not np.abs(forces).max() < _LARGEST_FORCE:
            largest = np.abs(forces).max(axis=1)
            worst = self.system.topology.describe(int(largest.argmax()))
            raise QuiltError(
                f"{worst} overlaps with another atom: the force on it is out of range; minimise or "
                "correct the structure"
            )
        return forces

    def fields(self) -> dict[str, Any]:
        """The fields of `state()` from the engine, without checks and copies."""
        with self._owned() as engine:
            fields: dict[str, Any] = engine.read(state=True).state()
        return fields

    def describe(self) -> dict[str, Any]:
        """Technical data: patches, pair lists, ranks, devices, PME parameters."""
        with self._owned() as engine:
            found = engine.describe()
        return found | {"external": [calls.describe() for calls in self._external]}

    def profile(self) -> list[dict[str, Any]]:
        """Time spent so far: rank, name, calls and seconds of each task."""
        with self._owned() as engine:
            return engine.profile()

    def start_profile(self) -> None:
        """Starts timing every task, or on a GPU every kernel; results do not change.

        Another call before `stop_profile` starts again.
        """
        with self._owned() as engine:
            engine.start_profile()

    def stop_profile(self) -> list[dict[str, Any]]:
        """Stops timing and returns the calls.

        Returns
        -------
        rank, stream (0 main, 1 side, 2 halo, 3 boundary), name, begin and end, s since the last
        `start_profile`.
        """
        with self._owned() as engine:
            return engine.stop_profile()

    def profiled_messages(self) -> list[dict[str, Any]]:
        """Messages between ranks during the last profile.

        Returns
        -------
        name, from, to (ranks), from_stream, to_stream, bytes, carrier ("host", or "kernels", which
        write into the memory of other GPUs), and s since the `start_profile`: sent, arrived, used.
        """
        with self._owned() as engine:
            return engine.profiled_messages()

    def loads(self) -> list[dict[str, Any]]:
        """Load of each rank: patches, proxies, computes, atoms, list_entries, device_bytes."""
        with self._owned() as engine:
            return engine.loads()

    @property
    def faults(self) -> list[Event]:
        """The failures of devices so far, for simulations with spares or redundant devices."""
        return [*self._earlier_faults, *getattr(self._engine, "events", ())]

    @property
    def external(self) -> tuple[ExternalForce, ...]:
        """The external forces, in the given order."""
        return tuple(calls.force for calls in self._external)

    def _external_states(self) -> dict[str, bytes]:
        return states_of(self._external, self.step)

    def _note(self, step: int, box: NDArray[np.float64] | None = None) -> None:
        """Notes where the engine is now."""
        super().__setattr__("step", step)
        if box is not None:
            super().__setattr__("box", box)

    def _box_now(self) -> NDArray[np.float64] | None:
        """The box of the engine, where a barostat changes it."""
        if self.barostat is None:
            return None
        box = self._engine.capture().box
        return None if box is None else np.asarray(box, dtype=np.float64)

    @contextmanager
    def _owned(self) -> Iterator[Engine]:
        """The engine, which belongs to one thread at a time."""
        if not self._lock.acquire(blocking=False):
            raise QuiltError(
                "the simulation is in use by another thread: a reporter may read its frame only, "
                "and a second thread needs a simulation of its own"
            )
        try:
            refuse_calls_within(self._external)
            yield self._engine
        finally:
            self._lock.release()

    @contextmanager
    def _changing(self) -> Iterator[Engine]:
        """The engine, to change the state; not in the middle of a run."""
        with self._owned() as engine:
            if self._is_running:
                raise QuiltError("the simulation is running: `watch` may read it, not change it")
            self._cache = {}
            try:
                yield engine
            finally:
                self._cache = {}

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Keeps the engine from other threads and from changes for the time of a run."""
        with self._changing():
            self._is_running = True
            try:
                yield
            finally:
                self._is_running = False

    def _frame(self, captured: Captured, needs: Collection[Need]) -> Frame:
        """The simulation now, of which these data have been captured, with what else is needed."""
        forces = self.forces() if "forces" in needs else None
        external = self._external_states() if "state" in needs else None
        return Frame(self, captured, self._heat_before, forces, external)

    def _fetch(self, what: str) -> Any:
        with self._owned() as engine:
            needs = {need: True for need in _COMES_WITH.get(what, (what,))}
            captured = engine.read(**needs)
        return read_from(captured, what, self._heat_before)

    def _naming_atoms(self) -> AtomNames:
        return AtomNames(self.system)
