# SPDX-License-Identifier: Apache-2.0
"""Frames of an engine of several workers."""

from __future__ import annotations

from typing import Any, Protocol

from ..errors import QuiltError
from .client import WorkerFrame
from .comparison import Comparison


class Owner(Protocol):
    """Interface of the engine for a frame that it captured."""

    def recapture(self, frame: SupervisedFrame, lost: list[WorkerFrame]) -> None:
        """Captures the frame again, whose sources were lost."""

    def agree_on(self, frame: SupervisedFrame) -> None:
        """Has the workers agree on the state that the frame is of; QuiltError if they cannot."""


class SupervisedFrame:
    """A frame whose data are given once all workers agree on the state that it is of.

    It is captured again where the worker that had it is lost, or where one of them was wrong.

    Parameters
    ----------
    owner:
        The engine of the workers.
    sources:
        The frame as each of them has captured it.
    contents:
        Contents of the frame.
    comparison:
        Comparison of the workers' states; None if nothing is compared.
    """

    def __init__(
        self,
        owner: Owner,
        sources: list[WorkerFrame],
        contents: dict[str, bool],
        comparison: Comparison | None,
    ) -> None:
        self.step, self.box = sources[0].step, sources[0].box
        self.sources, self.contents, self.comparison = sources, contents, comparison
        self._owner = owner
        self._chosen: WorkerFrame | None = None

    def heat(self) -> float:
        """Heat added by the thermostat."""
        return self._data().heat()

    def energies(self) -> dict[str, float]:
        """Energies by term."""
        return self._data().energies()

    def tensors(self) -> dict[str, Any]:
        """Virial and kinetic tensor."""
        return self._data().tensors()

    def positions(self) -> Any:
        """(N, 3)."""
        return self._data().positions()

    def state(self) -> dict[str, Any]:
        """The fields of `State`."""
        return self._data().state()

    def is_safe(self) -> bool:
        """Whether a source has arrived, and is known to be right."""
        if self._chosen is not None:
            return True
        agreed = self.comparison is None or self.comparison.is_agreed
        return agreed and any(source.has_data() for source in self.sources)

    def _data(self) -> WorkerFrame:
        """The source that has arrived; QuiltError if two have different data."""
        while self._chosen is None:
            if self.comparison is not None and not self.comparison.agrees():
                self._owner.agree_on(self)
                continue
            sources = list(self.sources)
            good = [source for source in sources if source.wait()]
            for other in good[1:]:
                if not other.equals(good[0]):
                    raise QuiltError(
                        f"step {self.step}: two devices agree on the state, but not on the "
                        f"energies or positions that they sent: this step is not written"
                    )
            if good:
                self._chosen, self.sources = good[0], []
            else:
                self._owner.recapture(self, sources)
        return self._chosen
