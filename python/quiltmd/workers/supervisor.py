# SPDX-License-Identifier: Apache-2.0
"""An engine of several workers: it outlives the loss of a device, and notices wrong results.

The supervisor saves a State now and then.  When a worker is lost (its process killed or stopped,
its connection cut, its device hanging), another one continues from that State; since a restart
changes no bit, and frames that had not arrived are captured again, nothing that is written shows
it.  With several workers at once all do the same steps, and digests of their States are compared
after each piece of a run and before anything is written; `disagreement.py` finds out who is right
when they differ.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..engine.places import Place
from ..engine.worker_settings import Workers
from ..errors import LostError, QuiltError
from .client import WorkerEngine, WorkerFrame
from .disagreement import resolve_disagreement
from .frames import SupervisedFrame
from .pool import Event, PoolWorker, Result, SavedState, WorkerPool

_STATE = (
    *("step", "box", "positions", "velocities", "list_step", "list_positions", "patches"),
    "variables",
)
_SAVE_EVERY = 1.0  # s, between States that are saved
_SAVE_SHARE = 50  # times as long as it takes to fetch one
_EXPECTED = 50  # times as long as expected before a device counts as hanging
_FIRST_PIECE = 600.0  # s, while nothing is known of its speed


@dataclass
class _Pace:
    """How long a step takes, of the slowest lately."""

    seconds: float | None = None

    def note(self, steps: int, seconds: float) -> None:
        if steps:
            self.seconds = max(0.9 * (self.seconds or 0.0), seconds / steps)

    def limit(self, steps: int, least: float) -> float:
        """Seconds after which so many steps will not come to an end."""
        if self.seconds is None:
            return _FIRST_PIECE
        return max(least, _EXPECTED * steps * self.seconds)


class Supervisor:
    """An engine of workers; see `quiltmd.engine.core.Engine`, whose methods these are.

    Parameters
    ----------
    places, spares, start:
        As for `WorkerPool`.
    settings:
        How often is verified, how long is waited.
    """

    def __init__(
        self,
        places: Sequence[Place],
        spares: Sequence[Place],
        start: Callable[[Place], WorkerEngine],
        settings: Workers,
    ) -> None:
        self._pool = WorkerPool(places, spares, start, settings)
        self._settings = settings
        self._saving: tuple[WorkerFrame, float] | None = None
        self._saved_at = self._save_every = 0.0
        self._pace = _Pace()
        self._pieces = 0

    @property
    def events(self) -> list[Event]:
        """What went wrong so far."""
        return self._pool.events

    def set_state(self, *values: Any, **named: Any) -> None:
        """Sets the state."""
        with self._pool.lock:
            self._await_frames()
            state = {**dict(zip(_STATE, values, strict=False)), **named}
            self._save(SavedState(state, 0.0))
            self._pool.furthest = self._pool.step
            self._pool.on_all(self._pool.restore)

    def run(self, steps: int) -> None:
        """Advances all, and goes on when they agree."""
        with self._pool.lock:
            target = self._pool.step + steps
            while True:
                outcomes = self._advance(target)
                if outcomes is None:
                    continue
                texts = [str(outcome) for outcome in outcomes]
                if len(set(texts)) == 1:
                    break
                resolve_disagreement(self._pool, target, texts)
            if isinstance(outcomes[0], Exception):
                raise outcomes[0]
            self._pool.step = target
            self._save_now_and_then()

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> SupervisedFrame:
        """Captures data, of all that are compared."""
        contents = {"energies": energies, "positions": positions, "state": state}
        with self._pool.lock:
            sources = self._pool.on_all(lambda worker: worker.engine.capture(**contents))
            frame = SupervisedFrame(self.recapture, sources, contents)
            for worker in self._pool.workers:  # also where the last run was broken off
                self._pool.step = worker.step = frame.step
            alive = [(ref, ref()) for ref in self._pool.pending]
            self._pool.pending = [
                ref for ref, kept in alive if kept is not None and not kept.is_safe()
            ]
            self._pool.pending.append(weakref.ref(frame))
            return frame

    def forces(self) -> Any:
        """Forces (N, 3)."""
        return self._pool.on_first_engine(lambda engine: engine.forces())

    def force_sum(self) -> tuple[int, int, int]:
        """Sum of forces as integers."""
        return self._pool.on_first_engine(lambda engine: engine.force_sum())

    def minimize(
        self,
        tolerance: float,
        max_iterations: int,
        watch: Callable[[int, float, float], bool] | None = None,
    ) -> dict[str, Any]:
        """Minimises on one device; the others follow."""
        return self._change(lambda engine: engine.minimize(tolerance, max_iterations, watch))

    def draw_velocities(self, temperature: float, seed: int) -> None:
        """Maxwell-Boltzmann velocities."""
        self._change(lambda engine: engine.draw_velocities(temperature, seed))

    def set_conditions(self, values: dict[str, float], box: Any = None) -> None:
        """New conditions, and perhaps a new box."""
        more = () if box is None else (box,)
        self._change(lambda engine: engine.set_conditions(values, *more), values)

    def describe(self) -> dict[str, Any]:
        """Layout of the run."""
        return self._pool.on_first_engine(lambda engine: engine.describe())

    def profile(self) -> list[dict[str, Any]]:
        """Calls and seconds of each task, of one device."""
        return self._pool.on_first_engine(lambda engine: engine.profile())

    def start_profile(self) -> None:
        """Starts timing, of one device."""
        self._pool.on_first_engine(lambda engine: engine.start_profile())

    def stop_profile(self) -> list[dict[str, Any]]:
        """The calls since the last start."""
        return self._pool.on_first_engine(lambda engine: engine.stop_profile())

    def profiled_messages(self) -> list[dict[str, Any]]:
        """Messages between ranks during the profile that ended last, of one device."""
        return self._pool.on_first_engine(lambda engine: engine.profiled_messages())

    def loads(self) -> list[dict[str, Any]]:
        """What each rank holds, of one device."""
        return self._pool.on_first_engine(lambda engine: engine.loads())

    def recapture(self, frame: SupervisedFrame, lost: list[WorkerFrame]) -> None:
        """Makes the frame anew whose sources were lost; all others too that were lost with it."""
        with self._pool.lock:
            if frame.sources == lost:
                self._pool.on_first_engine(lambda engine: engine.describe())  # replaces a lost one
            if frame.sources == lost:
                raise LostError(f"the data of step {frame.step} are lost")

    def _advance(self, target: int) -> list[str | Exception] | None:
        """What became of each: the digest of its state, or its error; None where one was lost."""
        at_start = all(worker.step == self._pool.step < target for worker in self._pool.workers)
        verified = at_start and self._is_verified()
        if verified:
            self._pool.on_all(lambda worker: worker.engine.save_start())
        begun = time.monotonic()
        first = min(worker.step for worker in self._pool.workers)
        compared = len(self._pool.workers) > 1 or verified
        runs = [
            (worker, worker.engine.begin_run(target - worker.step)) for worker in self._pool.workers
        ]
        digests = [
            worker.engine.begin_digest() if compared else None for worker in self._pool.workers
        ]
        outcomes: list[str | Exception] = []
        lost = []
        for (worker, run), digest in zip(runs, digests, strict=True):
            try:
                limit = self._pace.limit(target - worker.step, self._settings.patience)
                worker.engine.result(run, limit)
                worker.step = target
                outcomes.append("" if digest is None else worker.engine.result(digest))
            except LostError as error:
                lost.append((worker, str(error)))
            except (QuiltError, MemoryError) as error:  # also what only one refuses
                outcomes.append(error)
        if verified and not lost and not isinstance(outcomes[0], Exception):
            try:
                engine, steps = self._pool.workers[0].engine, target - self._pool.step
                limit = self._pace.limit(steps, self._settings.patience)
                outcomes.append(engine.result(engine.begin_rerun(steps), limit))
            except LostError as error:
                lost.append((self._pool.workers[0], str(error)))
        if lost:
            self._pool.replace(lost, begun)
            return None
        self._pace.note(target - first, time.monotonic() - begun)
        return outcomes

    def _is_verified(self) -> bool:
        """Whether this piece of the run is done twice on the same device."""
        if not self._settings.verify or len(self._pool.workers) > 1:
            return False
        self._pieces += 1
        return self._pieces % self._settings.verify == 0

    def _save(self, saved: SavedState) -> None:
        self._pool.saved, self._saving, self._saved_at = saved, None, time.monotonic()
        self._pool.step = saved.step

    def _save_now_and_then(self) -> None:
        """Fetches the state once in a while; it counts when it has arrived, after older frames."""
        now = time.monotonic()
        if self._saving is not None:
            frame, asked = self._saving
            if not frame.has_arrived():
                return
            self._saving = None
            with suppress(LostError):
                self._pool.saved = SavedState(frame.state(), frame.heat())
                self._saved_at, self._save_every = now, _SAVE_SHARE * (now - asked)
        if now - self._saved_at >= max(_SAVE_EVERY, self._save_every):
            with suppress(LostError):  # the next call finds out
                self._saving = (self._pool.workers[0].engine.capture(state=True), now)

    def _change(
        self, action: Callable[[WorkerEngine], Result], conditions: dict[str, float] | None = None
    ) -> Result:
        """Changes the state on the first device; the others follow."""

        def changed(worker: PoolWorker) -> tuple[Result, SavedState]:
            self._pool.restore(worker)
            found = action(worker.engine)
            frame = worker.engine.capture(state=True)
            return found, SavedState(frame.state(), frame.heat())

        with self._pool.lock:
            self._await_frames()
            self._save_now()
            found, saved = self._pool.on_first(changed)
            self._save(saved)
            self._pool.conditions |= conditions or {}
            self._pool.workers[0].step = saved.step
            self._pool.on_all(self._follow)
            return found

    def _follow(self, worker: PoolWorker) -> None:
        if worker is not self._pool.workers[0]:
            self._pool.restore(worker)

    def _save_now(self) -> None:
        """Saves the state as it is."""
        if self._pool.saved_state().step == self._pool.step:
            return

        def fetched(worker: PoolWorker) -> SavedState:
            frame = worker.engine.capture(state=True)
            return SavedState(frame.state(), frame.heat())

        self._save(self._pool.on_first(fetched))

    def _await_frames(self) -> None:
        """Returns when no frame is under way."""
        for ref in self._pool.pending:
            frame = ref()
            if frame is not None:
                with suppress(QuiltError):  # raised again where it is read
                    frame._data()
        self._pool.pending = []
