# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's own, by name: what [[reporter]] and [[external]] have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import Field, field_validator

from ..engine.external_factory import find_function
from .section import AbsolutePath, Section

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_FACTORY = re.compile(f"({_NAME}):({_NAME})")


class FactorySection(Section):
    """A table that names a function, which makes what the table is about."""

    table: ClassVar[str]

    factory: str = Field(description='Module and function, "module:function".')
    path: AbsolutePath | None = Field(
        default=None,
        description="Folder of the module; by default that of the configuration file.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Keyword arguments of the function."
    )

    @field_validator("factory")
    @classmethod
    def _names_a_function(cls, text: str) -> str:
        is_default = text == cls.model_fields["factory"].default  # as config.toml of a run has it
        if not is_default and _FACTORY.fullmatch(text) is None:
            raise ValueError('must be "module:function"')
        return text

    def find(self) -> Callable[..., Any]:
        """The function; QuiltError if there is none, or its module cannot be imported."""
        path = None if self.path is None else str(self.path)
        return find_function(self.factory, path, self.where)

    @property
    def where(self) -> str:
        """Prefix of messages about this table."""
        return f"[[{self.table}]] factory = '{self.factory}'"
