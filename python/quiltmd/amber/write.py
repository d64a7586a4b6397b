# SPDX-License-Identifier: Apache-2.0
"""Positions, velocities and box for carrying on with Amber.

The NetCDF restart has double precision and unwrapped positions, so nothing is lost.  The text
format has columns too narrow for that: there molecules are in the cell, to 1e-7 angstrom.
"""

from __future__ import annotations

import io
import os

import numpy as np
import scipy
from numpy.typing import NDArray

from ..description.box import lengths_angles
from ..outputs.columns import check_columns
from ..outputs.files import replace_file
from ..outputs.netcdf import AMBER_VELOCITY, LARGEST
from ..outputs.readout import Readout, path_first
from ..outputs.trajectory import refuse_beyond
from ..outputs.wrapping import wrapped

_ANGSTROM = 10.0  # per nm


@path_first
def write_restart(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes positions, velocities and box as an Amber NetCDF restart.

    The usual suffix is `.ncrst`.  Raises QuiltError beyond 89,478,485 atoms, the limit of the
    format.
    """
    refuse_beyond(
        LARGEST // 24,
        simulation.system.atoms,
        "an Amber NetCDF restart has room for {limit} atoms, not for {found}",
        "namd",
    )
    state = simulation.state()
    lengths, angles = lengths_angles(state.box)
    data = io.BytesIO()
    with scipy.io.netcdf_file(data, "w", version=2) as file:
        file.Conventions, file.ConventionVersion = "AMBERRESTART", "1.0"
        file.program, file.programVersion = "quiltmd", "1"
        file.title = f"step {state.step}"
        for name, size in (
            ("spatial", 3),
            ("atom", len(state.positions)),
            ("cell_spatial", 3),
            ("cell_angular", 3),
        ):
            file.createDimension(name, size)
        _variable(file, "time", (), np.array(simulation.time), "picosecond")
        positions = state.positions * _ANGSTROM
        _variable(file, "coordinates", ("atom", "spatial"), positions, "angstrom")
        velocities = state.velocities * (_ANGSTROM / AMBER_VELOCITY)
        _variable(file, "velocities", ("atom", "spatial"), velocities, "angstrom/picosecond")
        file.variables["velocities"].scale_factor = AMBER_VELOCITY
        if state.box is not None:
            _variable(file, "cell_lengths", ("cell_spatial",), lengths * _ANGSTROM, "angstrom")
            _variable(file, "cell_angles", ("cell_angular",), angles, "degree")
        file.flush()
        content = data.getvalue()
    replace_file(path, content)


@path_first
def write_rst7(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes positions, velocities and box as an Amber restart in text (rst7, inpcrd).

    Raises QuiltError if a coordinate or a velocity is too large for its columns.
    """
    state = simulation.state()
    positions = wrapped(simulation) * _ANGSTROM
    velocities = state.velocities * (_ANGSTROM / AMBER_VELOCITY)
    lengths, angles = lengths_angles(state.box)
    cell = np.concatenate([lengths * _ANGSTROM, angles])
    head = f"quiltmd, step {state.step}\n{len(positions):6d}{simulation.time:15.7e}\n"
    blocks = [_columns(positions, "coordinates"), _columns(velocities, "velocities")]
    if state.box is not None:
        blocks.append(_columns(cell, "the box"))
    replace_file(path, (head + "".join(blocks)).encode("ascii"))


def _columns(values: NDArray[np.float64], what: str) -> str:
    """Six numbers a line, each in twelve columns."""
    check_columns(values, 12, 7, f"{what} in an Amber restart")
    texts = [f"{value:12.7f}" for value in values.ravel().tolist()]
    lines = ("".join(texts[begin : begin + 6]) for begin in range(0, len(texts), 6))
    return "\n".join(lines) + "\n"


def _variable(
    file: scipy.io.netcdf_file,
    name: str,
    dimensions: tuple[str, ...],
    value: NDArray[np.float64],
    units: str,
) -> None:
    variable = file.createVariable(name, "d", dimensions)
    variable.units = units
    variable[...] = value
