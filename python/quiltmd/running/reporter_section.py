# SPDX-License-Identifier: Apache-2.0
"""Reporters and analyses of the user's own, by name: [[reporter]] of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from ..errors import QuiltError
from ..outputs.reporters import Reporter
from .factory_section import FactorySection
from .simulation import Simulation
from .simulation_checks import refuse_other_than_reporters


class ReporterSection(FactorySection):
    """[[reporter]]: a function of the user's that makes a reporter.

    It is called with the keywords `simulation`, `folder` (of the run), `after` (None, or the step
    of the checkpoint from which a run is resumed) and those of `options`, and returns a reporter,
    such as a `FunctionReporter`.  One with a method `close` is closed at the end of the run.
    """

    table: ClassVar[str] = "reporter"

    files: tuple[str, ...] = Field(
        default=(),
        description="Names of the files that it writes into the folder of the run, which "
        "--overwrite moves away and a new run does not replace.",
    )

    @field_validator("files")
    @classmethod
    def _are_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if Path(name).name != name or name.startswith("."):
                raise ValueError(f"{name!r} must be the name of a file in the folder of the run")
        return names

    def make(self, simulation: Simulation, folder: Path, after: int | None) -> Reporter:
        """The reporter; QuiltError if the function gives none."""
        factory = self.find()
        try:
            made: Reporter = factory(
                simulation=simulation, folder=folder, after=after, **self.options
            )
            refuse_other_than_reporters([made])
        except (QuiltError, TypeError) as error:
            raise QuiltError(f"{self.where}: {error}") from error
        return made
