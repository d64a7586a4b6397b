# SPDX-License-Identifier: Apache-2.0
"""The section [[trajectory]] of a configuration, of which a run may have several."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ..errors import QuiltError
from ..outputs.files import read_file, reading
from ..outputs.formats import check_contents

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class TrajectorySection(BaseModel):
    """[[trajectory]]: a file of frames; all of it stays when a run is resumed.

    The suffix of `file` names the format: .dcd, .xtc, .nc (NetCDF by Amber's conventions).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    file: str = Field(description="Name of the file; its suffix names the format.")
    every: int = Field(ge=1, description="Steps between frames.")
    select: str = Field(default="all", description="Atoms to write, such as 'solute'.")
    wrap: bool = Field(default=True, description="Put molecules, whole, into the cell.")
    center: str | None = Field(
        default=None, description="Atoms to keep in the middle of the cell, such as 'protein'."
    )
    velocities: bool = Field(default=False, description="Velocities too (.nc).")
    forces: bool = Field(default=False, description="Forces too (.nc); the run waits for them.")
    precision: float | None = Field(
        default=None, gt=0, description="Resolution of positions, nm (.xtc; 0.001 by default)."
    )

    @field_validator("file")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if Path(name).name != name or name.startswith("."):
            raise ValueError("must be the name of a file, which goes into the folder of the run")
        return name

    @model_validator(mode="after")
    def _fits_the_format(self) -> TrajectorySection:
        try:
            check_contents(self.file, self.velocities, self.forces, self.precision)
        except QuiltError as error:
            raise ValueError(str(error)) from None
        if self.center is not None and not self.wrap:
            raise ValueError(f"{self.file}: to center is to wrap: leave out one of them")
        return self


def trajectories_of(path: Path) -> list[str]:
    """Names of the trajectories of [[trajectory]] in a file, [] where it is no configuration."""
    with reading(path):
        data = read_file(path)
    try:
        sections = tomllib.loads(data.decode("utf-8")).get("trajectory")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return []
    tables = sections if isinstance(sections, list) else []
    files = [table.get("file") for table in tables if isinstance(table, dict)]
    return [Path(file).name for file in files if isinstance(file, str)]
