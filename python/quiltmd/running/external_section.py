# SPDX-License-Identifier: Apache-2.0
"""Forces from outside: [[external]] of a configuration."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ..description.model_region import model_region
from ..description.system import System
from ..description.units import Nanometres
from ..engine.external_factory import ExternalFactory
from ..errors import InputError
from .factory_section import FactorySection
from .section import AbsolutePath

_PLUMED, _TORCH = "quiltmd.external.plumed:Plumed", "quiltmd.torch:TorchForce"


class ExternalSection(FactorySection):
    """[[external]]: a force from outside, made by a function of the user's, PLUMED or a model.

    The function is called with the keywords of `options`, and returns an `ExternalForce`.
    """

    table: ClassVar[str] = "external"

    kind: Literal["python", "plumed", "torch"] = Field(
        description="Kind: python (a function in Python), plumed or torch (a model in PyTorch)."
    )
    factory: str = Field(default="", description='Module and function, "module:function".')
    region: str | None = Field(
        default=None,
        description="Whole molecules between whose atoms this force replaces all interactions.",
    )
    extent: Nanometres | None = Field(
        default=None,
        gt=0,
        description="Largest distance between the first atom of the first molecule of the region "
        "and the first atom of each other molecule, nm.",
    )
    file: AbsolutePath | None = Field(default=None, description="Input of PLUMED, or the model.")

    @model_validator(mode="after")
    def _has_its_source(self) -> ExternalSection:
        if self.kind != "python" and (self.file is None or self.factory or self.path):
            raise ValueError(
                f"kind = '{self.kind}' needs `file`, and has no `factory` and no `path`"
            )
        if self.kind == "python" and (self.file is not None or not self.factory):
            raise ValueError("kind = 'python' needs `factory`, and has no `file`")
        if self.extent is not None and self.region is None:
            raise ValueError("`extent` needs `region`")
        return self

    def apply(self, system: System) -> System:
        """The system without the forces that this one replaces."""
        if self.region is None:
            return system
        return model_region(system, self.region, self.extent)

    def build(self) -> ExternalFactory:
        """Factory of the force, used in the process of the engine."""
        if self.file is not None and not self.file.exists():
            raise InputError("no such file", file=str(self.file))
        if self.kind == "plumed":
            return ExternalFactory(_PLUMED, None, {"file": str(self.file), **self.options})
        if self.kind == "torch":
            return ExternalFactory(_TORCH, None, {"model": str(self.file), **self.options})
        path = None if self.path is None else str(self.path)
        return ExternalFactory(self.factory, path, self.options)
