# SPDX-License-Identifier: Apache-2.0
"""An engine of several workers: it outlives the loss of a device, and notices wrong results.

The supervisor saves a State now and then.  When a worker is lost (its process killed or stopped,
its connection cut, its device hanging), another one continues from that State; since a restart
changes no bit, and frames that had not arrived are captured again, nothing that is written shows
it.  With several workers at once all do the same steps, and digests of their States are compared
after each piece of a run and before anything is written; `disagreement.py` finds out who is right
when they differ.  A piece is compared while the next one runs, so no device waits for a digest:
what was captured after a piece is given out once its comparison has come out well, and captured
again where it has not.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..engine.core import RunsThenCaptures
from ..engine.places import Place
from ..engine.worker_settings import Workers
from ..errors import LostError, QuiltError
from .client import WorkerEngine, WorkerFrame
from .comparison import Comparison, Outcome, same
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
    """Recent time of a step of the slowest device."""

    seconds: float | None = None

    def note(self, steps: int, seconds: float) -> None:
        if steps:
            self.seconds = max(0.9 * (self.seconds or 0.0), seconds / steps)

    def limit(self, steps: int, least: float) -> float:
        """Seconds after which this number of steps will not end any more."""
        if self.seconds is None:
            return _FIRST_PIECE
        return max(least, _EXPECTED * steps * self.seconds)


@dataclass(frozen=True)
class _Saving:
    """A State on its way, which counts once the workers are known to agree on it."""

    frame: WorkerFrame
    comparison: Comparison | None

    def is_done(self) -> bool:
        agreed = self.comparison is None or self.comparison.is_agreed
        return agreed and self.frame.has_arrived()


class Supervisor(RunsThenCaptures):
    """An engine of workers; see `quiltmd.engine.core.Engine`, whose methods these are.

    Parameters
    ----------
    places, spares, start:
        As for `WorkerPool`.
    settings:
        Settings of verification and time limits.
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
        self._comparison: Comparison | None = None  # of the step that all have reached
        self._saving: _Saving | None = None
        self._saved_at = self._save_every = 0.0
        self._pace = _Pace()
        self._pieces = 0

    @property
    def events(self) -> list[Event]:
        """Faults so far."""
        return self._pool.events

    def set_state(self, *values: Any, **named: Any) -> None:
        """Sets the state."""
        with self._pool.lock:
            self._agree()
            self._await_frames()
            state = {**dict(zip(_STATE, values, strict=False)), **named}
            self._save(SavedState(state, 0.0))
            self._pool.furthest = self._pool.step
            self._pool.on_all(self._pool.restore)

    def place_atoms(self, positions: Any) -> None:
        """The present state with atoms at other positions; the others follow."""
        self._change(lambda engine: engine.place_atoms(positions))

    def run(self, steps: int) -> None:
        """Advances all; whether they agree on where they are is found out during the next run."""
        with self._pool.lock:
            target = self._pool.step + steps
            while not self._reach(target):
                pass
            self._save_now_and_then()

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> SupervisedFrame:
        """Captures data, of all that are compared."""
        contents = {"energies": energies, "positions": positions, "state": state}
        with self._pool.lock:
            sources = self._capture_of_all(contents)
            frame = SupervisedFrame(self, sources, contents, self._comparison)
            for worker in self._pool.workers:  # also where the last run was broken off
                self._pool.step = worker.step = frame.step
            alive = [(ref, ref()) for ref in self._pool.pending]
            self._pool.pending = [
                ref for ref, kept in alive if kept is not None and not kept.is_safe()
            ]
            self._pool.pending.append(weakref.ref(frame))
            return frame

    read = capture

    def forces(self) -> Any:
        """Forces (N, 3)."""
        return self._of_agreed(lambda engine: engine.forces())

    def force_sum(self) -> tuple[int, int, int]:
        """Sum of forces as integers."""
        return self._of_agreed(lambda engine: engine.force_sum())

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

    def inject(self, faults: list[str]) -> None:
        """Has faults happen in the first worker: see `injection.py`."""
        self._pool.on_first_engine(lambda engine: engine.inject(faults))

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
        """Loads of the ranks of one device."""
        return self._pool.on_first_engine(lambda engine: engine.loads())

    def recapture(self, frame: SupervisedFrame, lost: list[WorkerFrame]) -> None:
        """Makes the frame anew whose sources were lost; all others too that were lost with it."""
        with self._pool.lock:
            if frame.sources == lost:
                self._pool.on_first_engine(lambda engine: engine.describe())  # replaces a lost one
            if frame.sources == lost:
                raise LostError(f"the data of step {frame.step} are lost")

    def agree_on(self, frame: SupervisedFrame) -> None:
        """Finds out who is right about the state that a frame is of, unless that was done."""
        with self._pool.lock:
            if frame.comparison is self._comparison:
                self._try_to_agree()

    def _of_agreed(self, action: Callable[[WorkerEngine], Result]) -> Result:
        """Result of one worker, once all agree."""
        with self._pool.lock:
            self._agree()
            return self._pool.on_first_engine(action)

    def _reach(self, target: int) -> bool:
        """Advances all; False where they have to be told again, with others or from earlier on."""
        self._pool.refuse_if_over()
        self._include_replaced()
        workers = list(self._pool.workers)
        is_verified = self._is_verified(target)
        if is_verified:
            self._pool.on_all(lambda worker: worker.engine.save_start())
        begun = time.monotonic()
        first = min(worker.step for worker in workers)
        runs = [(worker, worker.engine.begin_run(target - worker.step)) for worker in workers]
        comparison = None
        if len(workers) > 1 or is_verified:
            comparison = Comparison(target, [worker.engine for worker in workers])
        errors = [self._await_run(worker, run, target) for worker, run in runs]
        if not self._try_to_agree():  # of the step before, by digests that have long been here
            return False
        if self._replace_lost(errors, begun):
            return False
        if any(errors) or is_verified:
            return self._compare_now(target, errors, comparison, is_verified)
        self._pace.note(target - first, time.monotonic() - begun)
        self._pool.step, self._comparison = target, comparison
        return True

    def _await_run(self, worker: PoolWorker, run: Future[Any], target: int) -> Exception | None:
        """The error of a worker's run, if there is one."""
        try:
            limit = self._pace.limit(target - worker.step, self._settings.patience)
            worker.engine.result(run, limit)
        except (QuiltError, MemoryError) as error:  # also what only one refuses
            return error
        worker.step = target
        return None

    def _compare_now(
        self,
        target: int,
        errors: Sequence[Exception | None],
        comparison: Comparison | None,
        is_verified: bool,
    ) -> bool:
        """Compares errors, or the results of one worker that does the piece twice; as `_reach`."""
        begun = time.monotonic()
        outcomes: list[Outcome] = [error for error in errors if error]
        if comparison is not None:
            digests = comparison.outcomes()
            outcomes = [error or found for error, found in zip(errors, digests, strict=True)]
        if is_verified and isinstance(outcomes[0], str):
            outcomes.append(self._rerun(target))
        if self._replace_lost(outcomes, begun):
            return False
        if not same(outcomes):
            resolve_disagreement(self._pool, target, [str(outcome) for outcome in outcomes])
            return False
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
        self._pool.step = target
        return True

    def _rerun(self, target: int) -> Outcome:
        """Outcome when the only worker repeats a segment."""
        engine, steps = self._pool.workers[0].engine, target - self._pool.step
        try:
            limit = self._pace.limit(steps, self._settings.patience)
            return engine.result(engine.begin_rerun(steps), limit)
        except (QuiltError, MemoryError) as error:
            return error

    def _replace_lost(self, outcomes: Sequence[Outcome | None], called: float) -> bool:
        """Whether there were LostErrors among what became of the workers, whom others replace."""
        lost = [
            (worker, str(outcome))
            for worker, outcome in zip(self._pool.workers, outcomes, strict=False)
            if isinstance(outcome, LostError)
        ]
        if lost:
            self._pool.replace(lost, called)
        return bool(lost)

    def _try_to_agree(self) -> bool:
        """Compares the workers; where False, those lost or wrong were replaced: ask again."""
        comparison = self._comparison
        if comparison is None:
            return True
        if comparison.failure is not None:
            raise comparison.failure
        self._include_replaced()
        begun = time.monotonic()
        outcomes = comparison.outcomes()
        if self._replace_lost(outcomes, begun):
            return False
        if not same(outcomes):
            self._resolve(comparison, outcomes)
            return False
        comparison.is_agreed, self._comparison = True, None
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
        return True

    def _resolve(self, comparison: Comparison, outcomes: Sequence[Outcome]) -> None:
        """Sets right those that were wrong, and captures again what was captured of them."""
        self._saving = None
        try:
            resolve_disagreement(self._pool, comparison.step, [str(one) for one in outcomes])
        except QuiltError as error:
            comparison.failure = error
            raise
        engines = [worker.engine for worker in self._pool.workers]
        self._comparison = Comparison(comparison.step, engines)
        for frame in filter(None, (ref() for ref in self._pool.pending)):
            if frame.comparison is comparison:
                frame.sources = self._capture_of_all(frame.contents)
                frame.comparison = self._comparison

    def _capture_of_all(self, contents: dict[str, bool]) -> list[WorkerFrame]:
        return self._pool.on_all(lambda worker: worker.engine.capture(**contents))

    def _include_replaced(self) -> None:
        """Also workers that have taken the place of others are compared."""
        if self._comparison is not None:
            self._comparison.include([worker.engine for worker in self._pool.workers])

    def _agree(self) -> None:
        """Returns when all agree on the step that they have reached."""
        while not self._try_to_agree():
            pass

    def _is_verified(self, target: int) -> bool:
        """Whether the piece up to this step is done twice on the same device."""
        at_start = all(worker.step == self._pool.step < target for worker in self._pool.workers)
        if not at_start or not self._settings.verify or len(self._pool.workers) > 1:
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
            if not self._saving.is_done():
                return
            frame, self._saving = self._saving.frame, None
            with suppress(LostError):
                self._pool.saved = SavedState(frame.state(), frame.heat())
                self._saved_at, self._save_every = now, _SAVE_SHARE * frame.seconds()
        if now - self._saved_at >= max(_SAVE_EVERY, self._save_every):
            with suppress(LostError):  # the next call finds out
                captured = self._pool.workers[0].engine.capture(state=True)
                self._saving = _Saving(captured, self._comparison)

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
            self._agree()
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
