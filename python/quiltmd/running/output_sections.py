# SPDX-License-Identifier: Apache-2.0
"""Output of a run: the sections [output] and [[trajectory]] of a configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from ..description.checks import LAST_STEP
from ..description.settings import Needs, OnResume
from ..description.units import Nanometres, Unit
from ..errors import QuiltError
from ..outputs.files import read_file, reading
from ..outputs.formats import FINAL, FinalFormat, check_contents
from .section import AbsolutePath, Section

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


TRAJECTORY = "trajectory.dcd"  # what `trajectory_every` writes
TRAJECTORY_EVERY = 1000  # its default
_LOG = Needs("log_every", "there is no log", "give log_every")


class OutputSection(Section):
    """[output]: what is left behind; intervals in steps (`checkpoint_minutes`: minutes), 0 = never.

    A checkpoint is written whenever one of its two intervals is over.  `profile` times a stretch of
    the run, once it has warmed up.  `copy_inputs` puts copies of the input files into the folder.
    """

    dir: Annotated[AbsolutePath, OnResume.NOT_COMPARED] = Field(
        description="Output folder; required, except with a control file of another program, "
        "where the default is NAME-quilt for NAME.mdp or in.NAME, and outputname of NAMD."
    )
    log_every: int = Field(
        default=100,
        ge=0,
        le=LAST_STEP,
        description="Steps between rows of the energy log; 0: no log.",
    )
    log_terms: Annotated[bool, _LOG] = Field(
        default=False, description="Write every energy term to the log."
    )
    log_box: Annotated[bool, _LOG] = Field(default=False, description="Write the box to the log.")
    thermo: Annotated[Literal["lj", "real", "metal"] | None, _LOG] = Field(
        default=None,
        description="Also write thermo.log: the log in the columns of LAMMPS and in its units lj, "
        "real or metal.",
    )
    trajectory_every: int | None = Field(
        default=None,
        ge=0,
        le=LAST_STEP,
        description="Steps between frames of trajectory.dcd; 0: none. Default: 1000, or 0 if there "
        "is a [[trajectory]].",
    )
    checkpoint_every: Annotated[int, OnResume.MAY_CHANGE] = Field(
        default=5000,
        ge=0,
        le=LAST_STEP,
        description="Steps between checkpoints; 0: none at fixed steps.",
    )
    checkpoint_minutes: Annotated[float, Unit("min"), OnResume.MAY_CHANGE] = Field(
        default=15.0, ge=0, description="Minutes between checkpoints; 0: none at fixed times."
    )
    profile: Annotated[bool, OnResume.MAY_CHANGE] = Field(
        default=False,
        description="Measure the time of every task or kernel in a short part of the run.",
    )
    final: Annotated[tuple[FinalFormat, ...], OnResume.MAY_CHANGE] = Field(
        default=FINAL,
        description="Formats of the last structure: cif, pdb (if it fits), gro, "
        "ncrst, rst7, namd (files coor, vel and xsc).",
    )
    copy_inputs: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False, description="Copy the input files into the output folder."
    )


class TrajectorySection(Section):
    """[[trajectory]]: a file of frames; all of it stays when a run is resumed.

    The suffix of `file` names the format: .dcd, .xtc, .nc (NetCDF by Amber's conventions), .h5md.
    """

    file: str = Field(description="Name of the file; its suffix names the format.")
    every: int = Field(ge=1, le=LAST_STEP, description="Steps between frames.")
    select: str = Field(default="all", description="Atoms to write, such as 'solute'.")
    wrap: bool = Field(default=True, description="Put whole molecules into the cell.")
    center: str | None = Field(
        default=None, description="Atoms to keep in the middle of the cell, such as 'protein'."
    )
    velocities: bool = Field(default=False, description="Also write velocities (.nc, .h5md).")
    forces: bool = Field(
        default=False, description="Also write forces (.nc, .h5md); the run waits for them."
    )
    precision: Nanometres | None = Field(
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
            raise ValueError(f"{self.file}: center needs wrap = true")
        return self


def earlier_names(path: Path) -> list[str]:
    """Names of trajectories, files of reporters and folders of stages in a configuration file.

    None where it is no configuration.
    """
    with reading(path):
        data = read_file(path)
    try:
        settings = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return []
    trajectories = [table.get("file") for table in tables_of(settings, "trajectory")]
    stages = enumerate(tables_of(settings, "stage"), 1)
    reporters = [table.get("files") for table in tables_of(settings, "reporter")]
    files = [name for names in reporters if isinstance(names, list) for name in names]
    folders = [stage_folder(number, str(table.get("name"))) for number, table in stages]
    return [Path(name).name for name in (*trajectories, *files, *folders) if isinstance(name, str)]


def stage_folder(number: int, name: str) -> str:
    """Name of the folder of a stage, counted from 1."""
    return f"{number}-{name}"


def tables_of(settings: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The tables of a section of which a configuration has several; others are passed over."""
    found = settings.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
