# SPDX-License-Identifier: Apache-2.0
"""Positions, velocities and box for carrying on with NAMD.

Its binary files have double precision, molecules in the cell that its .xsc describes.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..outputs.files import replace_file
from ..outputs.readout import Readout, path_first
from ..outputs.wrapping import wrapped

_ANGSTROM = 10.0  # per nm
_VELOCITY = 20.45482706  # A/ps in its unit, as its User's Guide has it ("File formats")


@path_first
def write_namd(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes NAMD's binary coordinates and velocities, and, with a box, its extended system.

    Parameters
    ----------
    path:
        File of the coordinates; the other files have the same name with the suffixes .vel and .xsc.
    simulation:
        The simulation whose structure is written.
    """
    path = Path(path)
    positions = wrapped(simulation) * _ANGSTROM
    velocities = simulation.state().velocities * (_ANGSTROM / _VELOCITY)
    replace_file(path.with_suffix(".vel"), _binary(velocities))
    replace_file(path, _binary(positions))
    if simulation.box is None:
        return
    box = simulation.box * _ANGSTROM
    names = [f"{vector}_{axis}" for vector in "abco" for axis in "xyz"]
    values = np.concatenate([box.ravel(), box.sum(axis=0) / 2])  # the origin is the cell's middle
    lines = (
        "# NAMD extended system configuration output file",
        f"#$LABELS step {' '.join(names)}",
        f"{simulation.step} {' '.join(f'{value:.10g}' for value in values)}",
    )
    replace_file(path.with_suffix(".xsc"), ("\n".join(lines) + "\n").encode("ascii"))


def _binary(values: NDArray[np.float64]) -> bytes:
    """The number of atoms, then doubles, all little-endian."""
    return struct.pack("<i", len(values)) + values.astype("<f8").tobytes()
