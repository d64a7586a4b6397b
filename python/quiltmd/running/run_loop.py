# SPDX-License-Identifier: Apache-2.0
"""The loop that advances a simulation.

The loop goes from one due report to the next.  There it captures a frame of the simulation, which
another thread writes while the engine continues.  Long stretches are cut into pieces of about half
a second so that Ctrl-C and progress work; since the engine's results do not depend on how steps are
grouped, this changes nothing else.  Ctrl-C stops a run between two pieces, when all is consistent.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from ..description.checks import LAST_STEP, whole_number
from ..engine.core import Captured
from ..errors import QuiltError, QuiltWarning
from ..outputs.readout import Frame
from ..outputs.reporters import Need, Reporter
from .engine_access import EngineAccess
from .interrupts import interrupt_deferred
from .shutdown import core_calls
from .simulation_checks import refuse_other_than_reporters
from .writer import Writer

_EVERYTHING: tuple[Need, ...] = ("energies", "state")
_PIECE_SECONDS = 0.5
_FIRST_PIECE = 10  # steps, before the speed is known
_HOLD_SECONDS = 0.01  # between questions whether a run that is held may continue


class RunLoop(EngineAccess):
    """A simulation that runs."""

    _piece = _FIRST_PIECE
    _step_oddities: Iterator[str]  # found by the first run

    def run(
        self,
        steps: int,
        reporters: Sequence[Reporter] = (),
        watch: Callable[[int], bool] | None = None,
    ) -> None:
        """Advances by `steps` steps.

        Parameters
        ----------
        steps:
            Number of steps.
        reporters:
            Each reports at multiples of its `every`, in the given order, in another thread; all
            reports are complete on return.  The run waits while one of them `holds` it.
        watch:
            Called with the step number about twice a second; returning True stops the run at this
            step, after its reports.

        Raises
        ------
        SimulationError
            If the simulation blows up; the error names the atoms.  Earlier reports are written.
        KeyboardInterrupt
            On Ctrl-C, after the run has stopped at a step and the reports up to it are complete;
            another call continues from there.  A second Ctrl-C acts at once.

        An error in a reporter is raised here soon afterwards; later reports are omitted.
        """
        steps = whole_number("steps", steps)
        if self.step + steps > LAST_STEP:
            raise QuiltError(f"step {self.step + steps} is beyond the last step, {LAST_STEP}")
        refuse_other_than_reporters(reporters)
        with self._running(), interrupt_deferred() as interrupted, Writer() as writer:
            self._warn(self._step_oddities)
            end = self.step + steps  # known only here: another thread's run may have just ended

            def asks_to_stop(step: int) -> bool:
                return (watch is not None and watch(step)) or interrupted()

            try:
                self._run(end, reporters, asks_to_stop, writer)
            except BaseException:
                with suppress(QuiltError):
                    self._note(self._engine.capture().step, self._box_now())
                raise

    def _run(
        self,
        end: int,
        reporters: Sequence[Reporter],
        watch: Callable[[int], bool],
        writer: Writer,
    ) -> None:
        stop = False
        while self.step < end and not stop and not self._hold(reporters, watch, writer.check):
            active = [(one, every) for one in reporters if (every := one.every) > 0]
            next_due = (self.step - self.step % every + every for _, every in active)
            target = min([end, *next_due])
            due = [reporter for reporter, every in active if target % every == 0]
            stop, frame = self._advance(target, due, watch, writer)
            if frame is not None:
                writer.put(partial(_report, frame, due))

    def _hold(
        self, reporters: Sequence[Reporter], watch: Callable[[int], bool], check: Callable[[], None]
    ) -> bool:
        """Waits while a reporter holds the run; whether `watch` asks to stop meanwhile."""
        questions = [holds for one in reporters if callable(holds := getattr(one, "holds", None))]
        while any([holds() for holds in questions]):
            check()
            if watch(self.step):
                return True
            time.sleep(_HOLD_SECONDS)
        return False

    def _advance(
        self,
        target: int,
        due: Sequence[Reporter],
        watch: Callable[[int], bool],
        writer: Writer,
    ) -> tuple[bool, Frame | None]:
        """Runs a piece, at most up to `target`, where these reporters are due.

        Whether `watch` asks to stop there, and the frame for the reporters if it is the target.
        """
        steps = min(self._piece, target - self.step)
        reached = due if self.step + steps == target else ()
        if reached:
            writer.wait_for_room()
        begin = time.perf_counter()
        self._cache = {}
        with self._naming_atoms(), core_calls:
            captured = self._run_piece(steps, reached)
        seconds = max(time.perf_counter() - begin, 1e-9)
        self._note(self.step + steps, self._box_now())
        if steps == self._piece or seconds > _PIECE_SECONDS:
            self._piece = max(1, min(int(steps * _PIECE_SECONDS / seconds), 10 * self._piece))
        stop = watch(self.step)
        writer.check()
        return stop, None if captured is None else self._frame(captured, _needs(reached))

    def _run_piece(self, steps: int, due: Sequence[Reporter]) -> Captured | None:
        """Advances; captures what reporters need that are due after it, if there are any."""
        if not due:
            self._engine.run(steps)
            return None
        contents = {need: True for need in _needs(due) if need != "forces"}
        return self._engine.run_and_capture(steps, **contents)

    def _warn(self, oddities: Iterable[str]) -> None:
        for text in oddities:
            warnings.warn(QuiltWarning(text), stacklevel=3)


def _needs(reporters: Sequence[Reporter]) -> set[Need]:
    """All data that these reporters read."""
    return set().union(*(getattr(reporter, "needs", _EVERYTHING) for reporter in reporters))


def _report(frame: Frame, due: Sequence[Reporter]) -> None:
    for reporter in due:
        reporter.report(frame)
