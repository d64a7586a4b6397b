# SPDX-License-Identifier: Apache-2.0
"""Which flipped bits of a State are found: `python benchmarks/workers.py flips`.

Alanine dipeptide in water on the CPU.  One bit of an array of its State is flipped, at any of its
64 places: in a run of one device, after each of whose steps the sum of all forces is looked at; and
in one of two devices that are compared, which are threads of this process.
"""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from quiltmd.description.integrators import LangevinMiddle
from quiltmd.description.state import State
from quiltmd.engine import core
from quiltmd.engine.injection import BUFFERS
from quiltmd.engine.places import parse_place
from quiltmd.engine.worker_settings import Workers
from quiltmd.errors import QuiltError, QuiltWarning
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files
from quiltmd.outputs.checkpoint import digest
from quiltmd.running.simulation import Simulation
from quiltmd.workers.client import Connection, WorkerEngine
from quiltmd.workers.session import Session
from quiltmd.workers.supervisor import Supervisor

from .null_engine import channel_of

_SYSTEM = "alanine"
_STEPS, _AT = 8, 3  # of a run, and the step of the flip
COUNTS = ("changed", "found", "missed", "mended", "force_sum")


def count_flips(flips: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Flips bits, so many of each array.

    Yields
    ------
    Rows: buffer (the array), flips, and how many: changed (positions or velocities after the run
    are others than those of an undisturbed run, or it ended with an error), found (by two devices
    of which one had it), missed (changed and not found), mended (the State of the two has the bits
    of the undisturbed run), and force_sum (the sum of forces was not zero at a step).
    """
    rng = np.random.default_rng(seed)
    flipping = _Flipping()
    for buffer in BUFFERS:
        counts = dict.fromkeys(COUNTS, 0)
        for number in range(flips):
            bit = int(rng.integers(0, 3 * 64 * flipping.system.atoms))
            for name, value in flipping.outcome(buffer, bit, number % 2).items():
                counts[name] += value
        yield {"buffer": buffer, "flips": flips, **counts}


class _Flipping:
    """Runs from one State, with and without a flip."""

    def __init__(self) -> None:
        self.system, start = load(*system_files(_SYSTEM), constraints="h-bonds")
        made = self._simulation(start)
        made.draw_velocities(300, 1)
        made.run(20)
        self._start = made.state()
        reference = self._simulation(self._start)
        reference.run(_STEPS)
        self._undisturbed = digest(reference.state())

    def outcome(self, buffer: str, bit: int, device: int) -> dict[str, bool]:
        """What becomes of a flip, by `COUNTS`; `device`: in which of the two that are compared."""
        end, not_zero = self._alone(buffer, bit)
        found, compared_end = self._compared(buffer, bit, device)
        changed = end != self._undisturbed
        return {
            "changed": changed,
            "found": found,
            "missed": changed and not found,
            "mended": compared_end == self._undisturbed,
            "force_sum": not_zero,
        }

    def _simulation(self, state: State, **more: Any) -> Simulation:
        return Simulation(
            self.system, state, integrator=LangevinMiddle(seed=3), device="cpu", threads=1, **more
        )

    def _alone(self, buffer: str, bit: int) -> tuple[str, bool]:
        """The digest or error of a run with a flip; and whether a sum of forces was not zero."""
        one = self._simulation(self._start)
        one.run(_AT)
        arrays = one.state().arrays()
        changed = np.array(arrays[buffer])
        changed.reshape(-1).view(np.uint64)[bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
        engine: Any = one._engine
        not_zero = False
        try:
            engine.set_state(**{**arrays, buffer: changed})
            for _ in range(_STEPS - _AT):
                engine.run(1)
                not_zero |= engine.force_sum() != (0, 0, 0)
            state = engine.capture(state=True).state()
        except QuiltError as error:
            return str(error), not_zero
        return digest(State(**state)), not_zero

    def _compared(self, buffer: str, bit: int, device: int) -> tuple[bool, str]:
        """Whether two devices found a flip of one of them, and the digest of where they came."""
        step = self._start.step + _AT
        faults = (f"flip@{step}:{device}:{buffer}:{bit}",)
        one = self._simulation(self._start, engine=partial(_redundant, faults))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuiltWarning)
            one.run(_STEPS)
            end = digest(one.state())
        return bool(one.faults), end


def _redundant(
    faults: tuple[str, ...], system: Any, nonbonded: Any, integrator: Any, run: Any
) -> Supervisor:
    """Two workers, threads of this process, that are compared."""
    workers = Workers(inject_fault=faults)

    def begin(place: Any) -> WorkerEngine:
        ours, theirs = socket.socketpair()
        session = Session(channel_of(theirs), core.make_engine)
        threading.Thread(target=session.serve, daemon=True).start()
        connection = Connection(channel_of(ours), str(place), lambda error: "")
        execution = {"device": "cpu", "threads": 1}
        return WorkerEngine(connection, system, nonbonded, integrator, execution, workers.patience)

    return Supervisor([parse_place("worker:cpu")] * 2, [], begin, workers)
