# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's own, by name: what [[reporter]] and [[external]] have in common."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import Field, field_validator

from ..errors import QuiltError
from .section import AbsolutePath, Section

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_FACTORY = re.compile(f"({_NAME}):({_NAME})")


class FactorySection(Section):
    """A table that names a function, which makes what the table is about."""

    table: ClassVar[str]

    factory: str = Field(description='Module and function, "module:function".')
    path: AbsolutePath | None = Field(
        default=None,
        description="Folder in which the module lies; by default that of the configuration file.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Keywords that the function is called with."
    )

    @field_validator("factory")
    @classmethod
    def _names_a_function(cls, text: str) -> str:
        if _FACTORY.fullmatch(text) is None:
            raise ValueError('must be "module:function"')
        return text

    @property
    def where(self) -> str:
        """What opens messages about it."""
        return f"[[{self.table}]] factory = '{self.factory}'"

    def find(self) -> Callable[..., Any]:
        """The function; QuiltError where there is none, or its module cannot be imported."""
        module, _, name = self.factory.partition(":")
        added = [] if self.path is None else [str(self.path)]
        sys.path[:0] = added
        try:
            found: Any = importlib.import_module(module)
        except Exception as error:
            kind = type(error).__name__
            places = f" in {self.path} or where Python finds modules" if added else ""
            raise QuiltError(
                f"{self.where}: the module cannot be imported{places} ({kind}: {error})"
            ) from error
        finally:
            del sys.path[: len(added)]
        for part in name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise QuiltError(f"{self.where}: the module has no function or class of this name")
        factory: Callable[..., Any] = found
        return factory
