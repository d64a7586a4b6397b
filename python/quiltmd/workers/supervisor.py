# SPDX-License-Identifier: Apache-2.0
"""An engine of several workers: it outlives the loss of a device, and notices wrong results.

The supervisor keeps a recent State.  When a worker is lost (its process killed or stopped, its
connection cut, its device hanging), another one goes on from that State; since a restart changes no
bit, and frames that had not arrived are captured again, nothing that is written shows it.  With
several workers at once all do the same steps, and digests of their States are compared after each
piece of a run and before anything is written; `settlement.py` finds out who is right when they
differ.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..engine.places import Place
from ..engine.worker_settings import Workers
from ..errors import QuiltError, SimulationError
from .channel import LostError
from .client import WorkerEngine, WorkerFrame
from .crew import Crew, Event, Kept, Member, Result
from .frames import SupervisedFrame
from .settlement import settle

_STATE = ("step", "box", "positions", "velocities", "list_step", "list_positions", "patches")
_KEEP_EVERY = 1.0  # s, between States that are kept
_KEEP_SHARE = 50  # times as long as it takes to fetch one
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
        As for `Crew`.
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
        self._crew = Crew(places, spares, start, settings)
        self._settings = settings
        self._keeping: tuple[WorkerFrame, float] | None = None
        self._kept_at = self._keep_every = 0.0
        self._pace = _Pace()
        self._pieces = 0

    @property
    def events(self) -> list[Event]:
        """What went wrong so far."""
        return self._crew.events

    def set_state(self, *values: Any, **named: Any) -> None:
        """Sets the state."""
        with self._crew.lock:
            self._await_frames()
            state = {**dict(zip(_STATE, values, strict=False)), **named}
            self._keep(Kept(state, 0.0))
            self._crew.furthest = self._crew.step
            self._crew.each(self._crew.restore)

    def run(self, steps: int) -> None:
        """Advances all, and goes on when they agree."""
        with self._crew.lock:
            target = self._crew.step + steps
            while True:
                outcomes = self._advance(target)
                if outcomes is None:
                    continue
                texts = [str(outcome) for outcome in outcomes]
                if len(set(texts)) == 1:
                    break
                settle(self._crew, target, texts)
            if isinstance(outcomes[0], Exception):
                raise outcomes[0]
            self._crew.step = target
            self._keep_now_and_then()

    def capture(
        self, *, energies: bool = False, positions: bool = False, state: bool = False
    ) -> SupervisedFrame:
        """Captures data, of all that are compared."""
        contents = {"energies": energies, "positions": positions, "state": state}
        with self._crew.lock:
            sources = self._crew.each(lambda member: member.engine.capture(**contents))
            frame = SupervisedFrame(self.recapture, sources, contents)
            for member in self._crew.members:  # also where the last run was broken off
                self._crew.step = member.step = frame.step
            alive = [(ref, ref()) for ref in self._crew.pending]
            self._crew.pending = [
                ref for ref, kept in alive if kept is not None and not kept.is_safe()
            ]
            self._crew.pending.append(weakref.ref(frame))
            return frame

    def forces(self) -> Any:
        """Forces (N, 3)."""
        return self._crew.first(lambda engine: engine.forces())

    def force_sum(self) -> tuple[int, int, int]:
        """Sum of forces as integers."""
        return self._crew.first(lambda engine: engine.force_sum())

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
        return self._crew.first(lambda engine: engine.describe())

    def profile(self) -> list[dict[str, Any]]:
        """Calls and seconds of each task, of one device."""
        return self._crew.first(lambda engine: engine.profile())

    def start_profile(self) -> None:
        """Starts timing, of one device."""
        self._crew.first(lambda engine: engine.start_profile())

    def stop_profile(self) -> list[dict[str, Any]]:
        """The calls since the last start."""
        return self._crew.first(lambda engine: engine.stop_profile())

    def profiled_messages(self) -> list[dict[str, Any]]:
        """Messages between ranks during the profile that ended last, of one device."""
        return self._crew.first(lambda engine: engine.profiled_messages())

    def loads(self) -> list[dict[str, Any]]:
        """What each rank holds, of one device."""
        return self._crew.first(lambda engine: engine.loads())

    def recapture(self, frame: SupervisedFrame, lost: list[WorkerFrame]) -> None:
        """Makes the frame anew whose sources were lost; all others too that were lost with it."""
        with self._crew.lock:
            if frame.sources == lost:
                self._crew.first(lambda engine: engine.describe())  # who is lost is replaced
            if frame.sources == lost:
                raise LostError(f"the data of step {frame.step} are lost")

    def _advance(self, target: int) -> list[str | Exception] | None:
        """What became of each: the digest of its state, or its error; None where one was lost."""
        at_start = all(member.step == self._crew.step < target for member in self._crew.members)
        verified = at_start and self._is_verified()
        if verified:
            self._crew.each(lambda member: member.engine.mark())
        begun = time.monotonic()
        first = min(member.step for member in self._crew.members)
        compared = len(self._crew.members) > 1 or verified
        runs = [
            (member, member.engine.begin_run(target - member.step)) for member in self._crew.members
        ]
        digests = [
            member.engine.begin_digest() if compared else None for member in self._crew.members
        ]
        outcomes: list[str | Exception] = []
        lost = []
        for (member, run), digest in zip(runs, digests, strict=True):
            try:
                run.result(self._pace.limit(target - member.step, self._settings.patience))
                member.step = target
                outcomes.append("" if digest is None else digest.result())
            except LostError as error:
                lost.append((member, str(error)))
            except TookTooLong:
                lost.append((member, f"the device of {member.place} hangs"))
            except (SimulationError, MemoryError) as error:
                outcomes.append(error)
        if verified and not lost and not isinstance(outcomes[0], Exception):
            try:
                outcomes.append(self._crew.members[0].engine.rerun(target - self._crew.step))
            except LostError as error:
                lost.append((self._crew.members[0], str(error)))
        if lost:
            self._crew.replace(lost)
            return None
        self._pace.note(target - first, time.monotonic() - begun)
        return outcomes

    def _is_verified(self) -> bool:
        """Whether this piece of the run is done twice on the same device."""
        if not self._settings.verify or len(self._crew.members) > 1:
            return False
        self._pieces += 1
        return self._pieces % self._settings.verify == 0

    def _keep(self, kept: Kept) -> None:
        self._crew.kept, self._keeping, self._kept_at = kept, None, time.monotonic()
        self._crew.step = kept.step

    def _keep_now_and_then(self) -> None:
        """Fetches the state once in a while; it counts when it has arrived, after older frames."""
        now = time.monotonic()
        if self._keeping is not None:
            frame, asked = self._keeping
            if not frame.has_arrived():
                return
            self._keeping = None
            with suppress(LostError):
                self._crew.kept = Kept(frame.state(), frame.heat())
                self._kept_at, self._keep_every = now, _KEEP_SHARE * (now - asked)
        if now - self._kept_at >= max(_KEEP_EVERY, self._keep_every):
            with suppress(LostError):  # the next call finds out
                self._keeping = (self._crew.members[0].engine.capture(state=True), now)

    def _change(
        self, action: Callable[[WorkerEngine], Result], conditions: dict[str, float] | None = None
    ) -> Result:
        """Changes the state on the first device; the others follow."""

        def changed(member: Member) -> tuple[Result, Kept]:
            self._crew.restore(member)
            found = action(member.engine)
            frame = member.engine.capture(state=True)
            return found, Kept(frame.state(), frame.heat())

        with self._crew.lock:
            self._await_frames()
            self._fetch_now()
            found, kept = self._crew.on_first(changed)
            self._keep(kept)
            self._crew.conditions |= conditions or {}
            self._crew.members[0].step = kept.step
            self._crew.each(self._follow)
            return found

    def _follow(self, member: Member) -> None:
        if member is not self._crew.members[0]:
            self._crew.restore(member)

    def _fetch_now(self) -> None:
        """Keeps the state as it is."""
        if self._crew.state_to_go_on_from().step == self._crew.step:
            return

        def fetched(member: Member) -> Kept:
            frame = member.engine.capture(state=True)
            return Kept(frame.state(), frame.heat())

        self._keep(self._crew.on_first(fetched))

    def _await_frames(self) -> None:
        """Returns when no frame is under way."""
        for ref in self._crew.pending:
            frame = ref()
            if frame is not None:
                with suppress(QuiltError):  # told to who reads it
                    frame._data()
        self._crew.pending = []
