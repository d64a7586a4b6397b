# SPDX-License-Identifier: Apache-2.0
"""Reporters and analyses of the user's own, by name: [[reporter]] of a configuration."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from ..errors import QuiltError
from ..outputs.reporters import Reporter
from .section import AbsolutePath, Section
from .simulation import Simulation, refuse_other_than_reporters

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_FACTORY = re.compile(f"({_NAME}):({_NAME})")

Factory = Callable[..., Reporter]


class ReporterSection(Section):
    """[[reporter]]: a function of the user's that makes a reporter.

    It is called with the keywords `simulation`, `folder` (of the run), `after` (None, or the step
    of the checkpoint from which a run is resumed) and those of `options`, and returns a reporter,
    such as a `FunctionReporter`.  One with a method `close` is closed at the end of the run.
    """

    factory: str = Field(description='Module and function, "module:function".')
    path: AbsolutePath | None = Field(
        default=None,
        description="Folder in which the module lies; by default that of the configuration file.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Keywords that the function is called with."
    )
    files: tuple[str, ...] = Field(
        default=(),
        description="Names of the files that it writes into the folder of the run, which "
        "--overwrite moves away and a new run does not replace.",
    )

    @field_validator("factory")
    @classmethod
    def _names_a_function(cls, text: str) -> str:
        if _FACTORY.fullmatch(text) is None:
            raise ValueError('must be "module:function"')
        return text

    @field_validator("files")
    @classmethod
    def _are_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if Path(name).name != name or name.startswith("."):
                raise ValueError(f"{name!r} must be the name of a file in the folder of the run")
        return names

    def find(self) -> Factory:
        """The function; QuiltError where there is none, or its module cannot be imported."""
        module, _, name = self.factory.partition(":")
        where = f"[[reporter]] factory = '{self.factory}'"
        added = [] if self.path is None else [str(self.path)]
        sys.path[:0] = added
        try:
            found: Any = importlib.import_module(module)
        except Exception as error:
            kind = type(error).__name__
            places = f" in {self.path} or where Python finds modules" if added else ""
            raise QuiltError(
                f"{where}: the module cannot be imported{places} ({kind}: {error})"
            ) from error
        finally:
            del sys.path[: len(added)]
        for part in name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise QuiltError(f"{where}: the module has no function or class of this name")
        factory: Factory = found
        return factory

    def make(self, simulation: Simulation, folder: Path, after: int | None) -> Reporter:
        """The reporter; QuiltError where the function gives none."""
        factory = self.find()
        try:
            made = factory(simulation=simulation, folder=folder, after=after, **self.options)
            refuse_other_than_reporters([made])
        except (QuiltError, TypeError) as error:
            raise QuiltError(f"[[reporter]] factory = '{self.factory}': {error}") from error
        return made
