# SPDX-License-Identifier: Apache-2.0
"""The workers of a supervised engine: who is there, who takes the place of one that is lost.

A worker that joins is brought to where the others are: from the State that is saved, past the
frames that were lost with the one before it, to the step that all have reached.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from ..engine.injection import parse_injection
from ..engine.places import Place
from ..engine.worker_settings import Workers
from ..errors import LostError, QuiltError, QuiltWarning
from .client import WorkerEngine
from .frames import SupervisedFrame

Result = TypeVar("Result")


@dataclass
class PoolWorker:
    """A worker: the place of its device, how far it has come."""

    place: Place
    number: int
    engine: WorkerEngine
    step: int = 0


@dataclass(frozen=True)
class SavedState:
    """A State from which to go on."""

    state: dict[str, Any]
    heat: float

    @property
    def step(self) -> int:
        """Step of the state."""
        return int(self.state["step"])


@dataclass(frozen=True)
class Event:
    """Something that went wrong.

    Attributes
    ----------
    step, text, seconds:
        At which step (0 while the first workers start), what, and how long it took from when it was
        known until the run continued.
    phases:
        If another device took over, seconds by `PHASES`.
    """

    step: int
    text: str
    seconds: float
    phases: dict[str, float] = field(default_factory=dict)


# Phases of the replacement of a lost device: the failed call, until the loss was known (lost steps,
# and waiting); start of a spare; setting of the State; repetition of steps.
PHASES = ("noticed", "started", "restored", "repeated")


class _Stopwatch:
    """Times of the phases of a replacement."""

    def __init__(self, called: float) -> None:
        self.begun = self._last = time.monotonic()
        self.phases = {"noticed": self.begun - called}

    def note(self, phase: str) -> None:
        """Counts the time since the phase before to this one."""
        now = time.monotonic()
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._last
        self._last = now


class WorkerPool:
    """Workers that all do the same: one, or several to be compared.

    Parameters
    ----------
    places:
        Places of their devices.
    spares:
        Places of devices that replace a lost device, in turn; the lost one becomes the last spare.
    start:
        Starts a worker at a place and makes its engine.
    settings:
        With the faults that are to be injected.

    Attributes
    ----------
    workers:
        The workers; each knows its step.
    step:
        The step that all have reached, and on which they agree.
    saved, conditions:
        From which a worker continues.
    pending:
        Frames that are under way.
    events:
        Faults so far.
    """

    def __init__(
        self,
        places: Sequence[Place],
        spares: Sequence[Place],
        start: Callable[[Place], WorkerEngine],
        settings: Workers,
    ) -> None:
        self.workers: list[PoolWorker] = []
        self.lock = threading.RLock()
        self.spares = deque(spares)
        self.saved: SavedState | None = None
        self.conditions: dict[str, float] = {}
        self.pending: list[weakref.ref[SupervisedFrame]] = []
        self.step = self.furthest = 0
        self.faults = 0
        self.events: list[Event] = []
        self._has_spares = bool(spares)
        self._faults_in_a_row = 2 * (len(places) + len(spares))
        self._errors: Counter[Place] = Counter()  # wrong results of each device
        self._start = start
        self._over: LostError | None = None
        self._kind: str | None = None  # of device, the same for all
        self._taking_in = threading.Lock()
        self._faults_to_inject = list(settings.inject_fault)
        try:
            self._start_all(places)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends all workers."""
        for worker in self.workers:
            worker.engine.close()

    def on_all(self, action: Callable[[PoolWorker], Result]) -> list[Result]:
        """Has all workers do something, again where one was lost and replaced meanwhile."""
        while True:
            self.refuse_if_over()
            called = time.monotonic()
            results, lost = [], []
            for worker in self.workers:
                try:
                    results.append(action(worker))
                except LostError as error:
                    lost.append((worker, str(error)))
            if not lost:
                return results
            self.replace(lost, called)

    def on_first(self, action: Callable[[PoolWorker], Result]) -> Result:
        """Has the first worker do something; another one where that one is lost."""
        while True:
            self.refuse_if_over()
            worker, called = self.workers[0], time.monotonic()
            try:
                return action(worker)
            except LostError as error:
                self.replace([(worker, str(error))], called)

    def on_first_engine(self, action: Callable[[WorkerEngine], Result]) -> Result:
        """The same, of its engine."""
        with self.lock:
            return self.on_first(lambda worker: action(worker.engine))

    def refuse_if_over(self) -> None:
        """LostError if no worker is left."""
        if self._over is not None:
            raise self._over

    def replace(self, lost: list[tuple[PoolWorker, str]], called: float) -> None:
        """Others take the place of workers that are lost, in a call that began at this time."""
        if self.step > self.furthest:
            self.furthest, self.faults = self.step, 0
        for worker, reason in lost:
            self.workers.remove(worker)
            worker.engine.close()
            self.faults += 1
            if self.faults > self._faults_in_a_row:
                self._end(f"{reason}; after {self.faults} faults the run makes no progress")
            if self._has_spares:
                self.spares.append(worker.place)
            self._continue_without(worker, reason, called)
            called = time.monotonic()

    def retire(self, worker: PoolWorker, reason: str) -> None:
        """A spare takes the place of a worker that is not to be trusted any more."""
        self.workers.remove(worker)
        worker.engine.close()
        self._continue_without(worker, reason, time.monotonic())

    def _continue_without(self, worker: PoolWorker, reason: str, called: float) -> None:
        watch = _Stopwatch(called)
        found = self._add_spare(worker.number, watch)
        if found is not None:
            came_from = 0 if self.saved is None else self.saved.step
            text = f"{reason}; continuing on {found.place} from step {came_from}"
            self.report(text, watch.begun, watch.phases)
        elif self.workers:
            left = ", ".join(str(other.place) for other in self.workers)
            self.report(f"{reason}; continuing on {left} alone", watch.begun, watch.phases)
        else:
            self._end(reason + "; no spare could take its place" * self._has_spares)

    def _end(self, reason: str) -> NoReturn:
        for worker in self.workers:
            worker.engine.close()
        self.workers, self._over = [], LostError(reason)
        raise self._over

    def _add_spare(self, number: int, watch: _Stopwatch) -> PoolWorker | None:
        """A spare becomes the worker of this number, as far as the others; None without one."""
        for _ in range(len(self.spares)):
            place = self.spares.popleft()
            try:
                found = self.start_worker(place, number)
                watch.note("started")
                if self.saved is not None:
                    self._catch_up(found, watch)
            except QuiltError as error:
                self.spares.append(place)  # another time, perhaps
                self.report(f"{place} cannot be used: {error}", time.monotonic())
                continue
            self.workers.append(found)
            self.workers.sort(key=lambda one: one.number)
            return found
        return None

    def _catch_up(self, worker: PoolWorker, watch: _Stopwatch) -> None:
        """Restores a worker, captures frames that were lost, and runs it as far as the others."""
        self.restore(worker)
        watch.note("restored")
        frames = [frame for ref in self.pending if (frame := ref()) and not frame.is_safe()]
        for frame in sorted(frames, key=lambda one: one.step):
            if worker.step <= frame.step <= self.step:
                worker.engine.run(frame.step - worker.step)
                worker.step = frame.step
                frame.sources = [*frame.sources, worker.engine.capture(**frame.contents)]
        if self.step > worker.step:
            worker.engine.run(self.step - worker.step)
            worker.step = self.step
        watch.note("repeated")

    def _start_all(self, places: Sequence[Place]) -> None:
        """Starts the workers, all at once, or a spare for one that is lost at once."""
        called = time.monotonic()
        with ThreadPoolExecutor(len(places)) as at_once:
            starting = [at_once.submit(self._start, place) for place in places]
        lost: list[tuple[int, LostError]] = []
        failed: list[Exception] = []
        for number, (place, started) in enumerate(zip(places, starting, strict=True)):
            try:
                self.workers.append(self._take_in(started.result(), place, number))
            except LostError as error:
                lost.append((number, error))
            except Exception as error:
                failed.append(error)
        if failed:
            raise failed[0]
        for number, why in lost:
            watch = _Stopwatch(called)
            found = self._add_spare(number, watch)
            if found is None:
                raise why
            self.spares.append(places[number])
            self.report(f"{why}; starting on {found.place}", watch.begun, watch.phases)

    def start_worker(self, place: Place, number: int) -> PoolWorker:
        """A worker; QuiltError if it does not start, or where its device is of another kind.

        Several threads may start workers at the same time.
        """
        return self._take_in(self._start(place), place, number)

    def _take_in(self, engine: WorkerEngine, place: Place, number: int) -> PoolWorker:
        """The worker that has an engine; it is closed where it is of no use."""
        try:
            with self._taking_in:
                if self._kind not in (None, engine.architecture):
                    raise QuiltError(
                        f"it is of another architecture ({engine.architecture}) than the earlier "
                        f"devices ({self._kind}), so results would not be bitwise the same"
                    )
                self._kind = engine.architecture
                self._inject_faults(engine, number)
        except BaseException:
            engine.close()
            raise
        return PoolWorker(place, number, engine)

    def _inject_faults(self, engine: WorkerEngine, number: int) -> None:
        """Injects the faults for this worker: each once, unless its kind is permanent."""
        faults = {text: parse_injection(text) for text in self._faults_to_inject}
        own = [text for text, fault in faults.items() if fault.device == number]
        if own:
            engine.inject(own)
        self._faults_to_inject = [
            text for text, fault in faults.items() if text not in own or fault.always
        ]

    def restore(self, worker: PoolWorker) -> None:
        """Sets a worker back to the State that is saved."""
        saved = self.saved_state()
        worker.engine.restore(saved.state, self.conditions, saved.heat)
        worker.step = saved.step

    def saved_state(self) -> SavedState:
        """The State that is saved; QuiltError if there is none yet."""
        if self.saved is None:
            raise QuiltError("the simulation has no state yet")
        return self.saved

    def count_error(self, worker: PoolWorker) -> int:
        """Number of wrong results of its device, including this one."""
        self._errors[worker.place] += 1
        return self._errors[worker.place]

    def report(self, text: str, begun: float, phases: dict[str, float] | None = None) -> None:
        """Notes an event, and warns the user."""
        self.events.append(Event(self.step, text, time.monotonic() - begun, phases or {}))
        when = "" if self.saved is None else f"step {self.step}: "
        warnings.warn(QuiltWarning(f"{when}{text}"), stacklevel=2)
