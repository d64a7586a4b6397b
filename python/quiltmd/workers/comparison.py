# SPDX-License-Identifier: Apache-2.0
"""Whether workers that did the same steps have come to the same state.

Digests are taken of copies while the workers do the next steps: no device waits for them, only who
reads or writes what belongs to that step.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from ..errors import LostError, QuiltError
from .client import WorkerEngine

Outcome = str | Exception  # a digest, or what went wrong


class Comparison:
    """Compares the states of several engines, or of one engine, at the same step.

    Parameters
    ----------
    step:
        At which they are once they have done what they were asked.
    engines:
        All of them.

    Attributes
    ----------
    is_agreed:
        Whether the states are known to be the same.
    failure:
        Error if the faulty device cannot be determined.
    """

    def __init__(self, step: int, engines: Sequence[WorkerEngine]) -> None:
        self.step = step
        self.is_agreed = False
        self.failure: QuiltError | None = None
        self._digests: list[tuple[WorkerEngine, Future[str]]] = []
        self.include(engines)

    def include(self, engines: Sequence[WorkerEngine]) -> None:
        """From here on it is of these, of which new ones are at the step."""
        known = {id(engine): digest for engine, digest in self._digests}
        self._digests = [
            (engine, known.get(id(engine)) or engine.begin_digest()) for engine in engines
        ]

    def outcomes(self) -> list[Outcome]:
        """Outcomes in order; a LostError for a lost worker."""
        return [self._outcome(engine, digest) for engine, digest in self._digests]

    def agrees(self) -> bool:
        """Waits for the digests; False where they differ, or where a worker is lost."""
        if self.failure is not None:
            raise self.failure
        if not self.is_agreed:
            self.is_agreed = same(self.outcomes())
        return self.is_agreed

    @staticmethod
    def _outcome(engine: WorkerEngine, digest: Future[str]) -> Outcome:
        try:
            return engine.result(digest)
        except (QuiltError, MemoryError) as error:  # a LostError is one
            return error


def same(outcomes: Sequence[Outcome]) -> bool:
    """Whether nobody is lost and all have come to the same, perhaps to the same error."""
    lost = any(isinstance(outcome, LostError) for outcome in outcomes)
    return not lost and len({str(outcome) for outcome in outcomes}) == 1
