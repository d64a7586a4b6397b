# SPDX-License-Identifier: Apache-2.0
"""Frames of an engine of several workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import QuiltError
from .client import WorkerFrame

Recapture = Callable[["SupervisedFrame", list[WorkerFrame]], None]


class SupervisedFrame:
    """A frame that is captured again where the worker that had it is lost."""

    def __init__(
        self, recapture: Recapture, sources: list[WorkerFrame], contents: dict[str, bool]
    ) -> None:
        self.step, self.box = sources[0].step, sources[0].box
        self.sources, self.contents = sources, contents
        self._recapture = recapture
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
        """Whether a source has arrived."""
        return self._chosen is not None or any(source.has_data() for source in self.sources)

    def _data(self) -> WorkerFrame:
        """The source that has arrived; QuiltError where two have different data."""
        while self._chosen is None:
            sources = list(self.sources)
            good = [source for source in sources if source.wait()]
            for other in good[1:]:
                if not other.equals(good[0]):
                    raise QuiltError(
                        f"step {self.step}: two devices agree on the state, and not on its "
                        "energies or positions as they were sent: nothing of this step is written"
                    )
            if good:
                self._chosen, self.sources = good[0], []
            else:
                self._recapture(self, sources)
        return self._chosen
