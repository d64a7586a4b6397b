# SPDX-License-Identifier: Apache-2.0
"""Forces from outside, by name: [[external]] of a configuration."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..engine.external_factory import ExternalFactory
from .factory_section import FactorySection


class ExternalSection(FactorySection):
    """[[external]]: a force from outside, made by a function of the user's.

    The function is called with the keywords of `options`, and returns an `ExternalForce`.
    """

    table: ClassVar[str] = "external"

    kind: Literal["python"] = Field(description="Kind: python (a function in Python).")

    def build(self) -> ExternalFactory:
        """Factory of the force, used in the process of the engine."""
        path = None if self.path is None else str(self.path)
        return ExternalFactory(self.factory, path, self.options)
