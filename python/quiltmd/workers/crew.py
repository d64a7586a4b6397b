# SPDX-License-Identifier: Apache-2.0
"""The workers of a supervised engine: who is there, who takes the place of one that is lost.

A worker that joins is brought to where the others are: from the State that is kept, past the frames
that were lost with the one before it, to the step that all have reached.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from ..engine.injection import parse_injection
from ..engine.places import Place
from ..engine.worker_settings import Workers
from ..errors import QuiltError, QuiltWarning
from .channel import LostError
from .client import WorkerEngine
from .frames import SupervisedFrame

Result = TypeVar("Result")


@dataclass
class Member:
    """A worker: the place of its device, how far it has come."""

    place: Place
    number: int
    engine: WorkerEngine
    step: int = 0


@dataclass(frozen=True)
class Kept:
    """A State from which to go on."""

    state: dict[str, Any]
    heat: float

    @property
    def step(self) -> int:
        """Of the state."""
        return int(self.state["step"])


@dataclass(frozen=True)
class Event:
    """Something that went wrong: at which step, what, and the seconds until the run went on."""

    step: int
    text: str
    seconds: float


class Crew:
    """Workers that all do the same: one, or several to be compared.

    Parameters
    ----------
    places:
        Of their devices.
    spares:
        Of devices that take the place of one that is lost, in turn; the lost one comes last.
    start:
        Starts a worker at a place and makes its engine.
    settings:
        With the faults that are to be injected.

    Attributes
    ----------
    members:
        The workers; each knows its step.
    step:
        The step that all have reached, and on which they agree.
    kept, conditions:
        From which a worker goes on.
    pending:
        Frames that are under way.
    events:
        What went wrong so far.
    """

    def __init__(
        self,
        places: Sequence[Place],
        spares: Sequence[Place],
        start: Callable[[Place], WorkerEngine],
        settings: Workers,
    ) -> None:
        self.lock = threading.RLock()
        self.ring = deque(spares)
        self.kept: Kept | None = None
        self.conditions: dict[str, float] = {}
        self.pending: list[weakref.ref[SupervisedFrame]] = []
        self.step = self.furthest = -1
        self.faults = 0
        self.strikes: dict[str, int] = {}
        self.events: list[Event] = []
        self.members: list[Member] = []
        self._has_spares = bool(spares)
        self._faults_in_a_row = 2 * (len(places) + len(spares))
        self._start = start
        self._over: LostError | None = None
        self._kind: str | None = None  # of device, the same for all
        self._faults_to_inject = list(settings.inject_fault)
        for number, place in enumerate(places):
            self.members.append(self.started(place, number))

    def __del__(self) -> None:
        for member in getattr(self, "members", ()):
            member.engine.close()

    def each(self, action: Callable[[Member], Result]) -> list[Result]:
        """Has all members do something, again where one was lost and replaced meanwhile."""
        while True:
            self.refuse_if_over()
            results, lost = [], []
            for member in self.members:
                try:
                    results.append(action(member))
                except LostError as error:
                    lost.append((member, str(error)))
            if not lost:
                return results
            self.replace(lost)

    def on_first(self, action: Callable[[Member], Result]) -> Result:
        """Has the first member do something; another one where that one is lost."""
        while True:
            self.refuse_if_over()
            member = self.members[0]
            try:
                return action(member)
            except LostError as error:
                self.replace([(member, str(error))])

    def first(self, action: Callable[[WorkerEngine], Result]) -> Result:
        """The same, of its engine."""
        with self.lock:
            return self.on_first(lambda member: action(member.engine))

    def refuse_if_over(self) -> None:
        """LostError where no worker is left."""
        if self._over is not None:
            raise self._over

    def replace(self, lost: list[tuple[Member, str]]) -> None:
        """Others take the place of members that are lost."""
        if self.step > self.furthest:
            self.furthest, self.faults = self.step, 0
        for member, reason in lost:
            self.members.remove(member)
            member.engine.close()
            self.faults += 1
            if self.faults > self._faults_in_a_row:
                self._end(f"{reason}; after {self.faults} faults the run gets no further")
            begun = time.monotonic()
            if self._has_spares:
                self.ring.append(member.place)
            found = self.substitute(member)
            if found is not None:
                came_from = 0 if self.kept is None else self.kept.step
                self.tell(f"{reason}; going on with {found.place} from step {came_from}", begun)
            elif self.members:
                left = ", ".join(str(other.place) for other in self.members)
                self.tell(f"{reason}; going on with {left} alone", begun)
            else:
                self._end(reason + "; no spare could take its place" * self._has_spares)

    def _end(self, reason: str) -> NoReturn:
        for member in self.members:
            member.engine.close()
        self.members, self._over = [], LostError(reason)
        raise self._over

    def substitute(self, member: Member) -> Member | None:
        """A spare in place of a member, as far as the others; None where there is none."""
        for _ in range(len(self.ring)):
            place = self.ring.popleft()
            try:
                found = self.started(place, member.number)
                if self.kept is not None:
                    self._catch_up(found)
            except LostError as error:
                self.ring.append(place)
                self.tell(str(error), time.monotonic())
                continue
            except QuiltError as error:
                self.tell(f"{place} cannot be used: {error}", time.monotonic())
                continue
            self.members.append(found)
            self.members.sort(key=lambda one: one.number)
            return found
        return None

    def _catch_up(self, member: Member) -> None:
        """Restores a member, captures frames that were lost, and runs it as far as the others."""
        self.restore(member)
        frames = [frame for ref in self.pending if (frame := ref()) and not frame.is_safe()]
        for frame in sorted(frames, key=lambda one: one.step):
            if member.step <= frame.step <= self.step:
                member.engine.run(frame.step - member.step)
                member.step = frame.step
                frame.sources = [*frame.sources, member.engine.capture(**frame.contents)]
        if self.step > member.step:
            member.engine.run(self.step - member.step)
            member.step = self.step

    def started(self, place: Place, number: int) -> Member:
        """A worker; QuiltError where it does not start, or where its device is of another kind."""
        engine = self._start(place)
        if self._kind not in (None, engine.architecture):
            engine.close()
            raise QuiltError(
                f"it is of another architecture ({engine.architecture}) than the devices before "
                f"({self._kind}), whose bits it does not have"
            )
        self._kind = engine.architecture
        faults = {text: parse_injection(text) for text in self._faults_to_inject}
        own = [text for text, fault in faults.items() if fault.device == number]
        if own:
            engine.inject(own)
        self._faults_to_inject = [
            text for text, fault in faults.items() if text not in own or fault.always
        ]
        return Member(place, number, engine)

    def restore(self, member: Member) -> None:
        """Sets a member back to the State that is kept."""
        kept = self.state_to_go_on_from()
        member.engine.restore(kept.state, self.conditions, kept.heat)
        member.step = kept.step

    def state_to_go_on_from(self) -> Kept:
        """The State that is kept; QuiltError where there is none yet."""
        if self.kept is None:
            raise QuiltError("the simulation has no state yet")
        return self.kept

    def tell(self, text: str, begun: float) -> None:
        """Notes an event, and warns the user."""
        self.events.append(Event(self.step, text, time.monotonic() - begun))
        warnings.warn(QuiltWarning(f"step {self.step}: {text}"), stacklevel=2)
