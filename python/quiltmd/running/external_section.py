# SPDX-License-Identifier: Apache-2.0
"""Forces from outside, by name: [[external]] of a configuration."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..description.external_force import ExternalForce
from ..errors import QuiltError
from .factory_section import FactorySection


class ExternalSection(FactorySection):
    """[[external]]: a force from outside, made by a function of the user's.

    The function is called with the keywords of `options`, and returns an `ExternalForce`.
    """

    table: ClassVar[str] = "external"

    kind: Literal["python"] = Field(description="What it is: python, a function in Python.")

    def make(self) -> ExternalForce:
        """The force; QuiltError where the function returns none, or fails."""
        factory = self.find()
        try:
            made = factory(**self.options)
        except Exception as error:
            raise QuiltError(f"{self.where}: {type(error).__name__}: {error}") from error
        if not isinstance(made, ExternalForce):
            raise QuiltError(
                f"{self.where}: it returns {type(made).__name__}, not an ExternalForce"
            )
        return made
