# SPDX-License-Identifier: Apache-2.0
"""PLUMED as an external force.

Tribello, Bonomi, Branduardi, Camilloni and Bussi, Comput. Phys. Commun. 185, 604 (2014).  The
package `plumed` has the interface, and a kernel library, which the user names, the rest.  Steps may
be repeated, so a step is computed by performCalcNoUpdate, and update, which adds hills and writes
files, follows once, when the step will not be repeated.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.checks import real_number, whole_number
from ..description.external_force import ExternalForce, atoms_of
from ..description.settings import BOLTZMANN
from ..description.system import System
from ..errors import QuiltError
from .plumed_input import check_actions, read_actions, refuse_to_restart

F64 = NDArray[np.float64]
_ENGINE = "quiltmd"
_OF_SOURCE = re.compile(
    r"\(\S+:\d+\) |\+\+\+"
)  # lines of errors about PLUMED's source, all versions
_TAIL = 4096  # bytes at the end of a file that tell whether it is the one that was written


class Plumed(ExternalForce):
    """Collective variables and biases of PLUMED.

    Files that PLUMED reads and writes are in the current folder.  It needs the package `plumed` and
    PLUMED's kernel, libplumedKernel.so.

    Parameters
    ----------
    file:
        PLUMED's input, such as plumed.dat.
    update_every:
        Steps between updates, at which hills are added and files written: at least 4.  PACE and
        STRIDE must be multiples of it, and PRINT must have a STRIDE.
    atoms:
        Atoms whose positions PLUMED receives, as of `ExternalForce`; its input counts all atoms
        of the system from 1.  None: all; fewer make a step faster.
    temperature:
        K, for kT; None: that of the heat bath.
    kernel:
        Path of the kernel; None: the environment variable PLUMED_KERNEL.
    log:
        File of PLUMED's log.
    name:
        Name of the energy.
    outside:
        As of `ExternalForce`: for variables such as POSITION.
    """

    uses_box = True

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        update_every: int = 100,
        atoms: str | Sequence[int] | None = None,
        temperature: float | None = None,
        kernel: str | None = None,
        log: str = "plumed.log",
        name: str = "plumed",
        outside: bool = False,
    ) -> None:
        self.file, self.atoms, self.name, self.outside = Path(file), atoms, name, outside
        self.update_every = whole_number("update_every", update_every)
        self._log = log
        if temperature is not None:
            temperature = real_number("temperature", temperature, "K")
            if not temperature > 0:
                raise QuiltError(f"temperature must be positive, and is {temperature:g} K")
        self._temperature = temperature
        self._actions = read_actions(self.file)
        if not self._actions:
            raise QuiltError(f"{self.file}: the PLUMED input has no actions")
        check_actions(self._actions, max(1, self.update_every))
        self._make = _maker(kernel)
        self._plumed: Any = None

    def prepare(self, system: System, timestep: float, temperature: float | None) -> None:
        """Starts PLUMED."""
        given = temperature if self._temperature is None else self._temperature
        self._own = atoms_of(self, system)
        self._timestep = timestep
        self._temperature_used = given
        shape = (system.atoms, 3)
        self._masses = np.array(system.masses, dtype=np.float64)
        self._charges = np.array(system.charges, dtype=np.float64)
        # PLUMED reads what it needs alone; of atoms that it does not receive it gets no number.
        self._positions, self._forces = np.full(shape, np.nan), np.zeros(shape)
        self._before = {name: Path(name).stat().st_ino for name in self._files()}
        self._start(restart=False)

    def compute(self, step: int, positions: F64, box: F64 | None) -> tuple[Any, ...]:
        """Bias, forces and virial of a step; PLUMED remembers nothing of it."""
        self._warm_up(step, positions, box)
        energy, virial = self._calculate(step, positions, box)
        forces = self._forces[self._own]
        if not (np.isfinite(energy) and np.isfinite(forces).all()) and len(self._own) < len(
            self._masses
        ):
            raise QuiltError(
                "PLUMED's result is not a number: its input may use atoms that are not in `atoms`"
            )
        return energy, forces, virial

    def update(self, step: int, positions: F64, box: F64 | None) -> None:
        """Has PLUMED add hills and write files."""
        self._warm_up(step, positions, box)
        self._calculate(step, positions, box)
        self._plumed.cmd("update")

    def state(self) -> bytes:
        """Lengths and checksums of PLUMED's files, in which its memory is."""
        return json.dumps({name: _mark(Path(name)) for name in self._files()}).encode()

    def set_state(self, state: bytes) -> None:
        """Cuts the files to what they were, and has PLUMED read them.

        QuiltError if a file is missing or another one; the folder is then as it was before.
        """
        if not state:
            self._start(restart=False)
            return
        refuse_to_restart(self._actions)
        self._plumed.finalize()
        marks = json.loads(state)
        try:
            found = [_find(name, *mark) for name, mark in marks.items()]
        except QuiltError:
            for name in {*self._files(), self._log}:
                _put_back(Path(name), self._before.get(name))
            raise
        for file, (name, (length, _)) in zip(found, marks.items(), strict=True):
            os.replace(file, name)
            os.truncate(name, length)
        self._start(restart=True)

    def _files(self) -> list[str]:
        named = [name for action in self._actions for name in action.files()]
        return [name for name in dict.fromkeys(named) if Path(name).is_file()]

    def _start(self, restart: bool) -> None:
        if self._plumed is not None:
            self._plumed.finalize()
        plumed = self._plumed = _Kernel(self._make())
        self._is_fresh = True
        plumed.cmd("setMDEngine", _ENGINE)
        plumed.cmd("setNatoms", len(self._masses))
        plumed.cmd("setTimestep", float(self._timestep))
        if self._temperature_used is not None:
            plumed.cmd("setKbT", BOLTZMANN * self._temperature_used)
        plumed.cmd("setLogFile", self._log)
        plumed.cmd("setRestart", int(restart))
        plumed.cmd("init")
        for action in self._actions:
            plumed.cmd("readInputLine", action.line)
        if self.update_every:  # what a checkpoint relies on must be in the files
            plumed.cmd("readInputLine", f"FLUSH STRIDE={self.update_every}")

    def _warm_up(self, step: int, positions: F64, box: F64 | None) -> None:
        """PLUMED's first update adds no hill: so it is at a step at which nothing is due."""
        if self._is_fresh and self.update_every:
            self._is_fresh = False
            self._calculate(step - step % self.update_every + 1, positions, box)
            self._plumed.cmd("update")

    def _calculate(self, step: int, positions: F64, box: F64 | None) -> tuple[float, F64]:
        plumed, energy, virial = self._plumed, np.zeros(1), np.zeros((3, 3))
        self._positions[self._own] = positions
        self._forces[:] = 0.0
        self._cell = np.zeros((3, 3)) if box is None else np.array(box)  # which it may write to
        plumed.cmd("setStepLong", np.array([step], dtype=np.int_))
        for key, array in (
            ("setMasses", self._masses),
            ("setCharges", self._charges),
            ("setPositions", self._positions),
            ("setBox", self._cell),
            ("setForces", self._forces),
            ("setVirial", virial),
        ):
            plumed.cmd(key, array)
        plumed.cmd("prepareCalc")
        self._refuse_energy()
        plumed.cmd("performCalcNoUpdate")
        plumed.cmd("getBias", energy)
        return float(energy[0]), -virial  # PLUMED's is the derivative of the bias by the strain

    def _refuse_energy(self) -> None:
        needed = np.zeros(1, dtype=np.intc)
        self._plumed.cmd("isEnergyNeeded", needed)
        if needed[0]:
            raise QuiltError(
                "PLUMED's ENERGY, the energy of the system, is not available: "
                "remove it from the input"
            )


class _Kernel:
    """PLUMED's kernel, whose errors are QuiltErrors without the lines about its source code."""

    def __init__(self, plumed: Any) -> None:
        self._plumed = plumed
        self.finalize = plumed.finalize

    def cmd(self, *arguments: Any) -> None:
        """Carries out a command."""
        try:
            self._plumed.cmd(*arguments)
        except Exception as error:  # of a class that depends on the package
            lines = [line.strip() for line in str(error).splitlines()]
            what = " ".join(line for line in lines if line and not _OF_SOURCE.match(line))
            raise QuiltError(f"PLUMED: {what}") from None


def _maker(kernel: str | None) -> Any:
    """Function that makes an instance of PLUMED; QuiltError if there is none."""
    try:
        import plumed
    except ImportError as error:
        raise QuiltError(
            f"PLUMED's Python interface is missing ({error}): pip install plumed"
        ) from error
    path = kernel or os.environ.get("PLUMED_KERNEL")
    if path is None:
        raise QuiltError(
            "PLUMED's kernel is not known: give `kernel`, the path of libplumedKernel.so, or set "
            "PLUMED_KERNEL"
        )
    if not Path(path).is_file():
        raise QuiltError(f"{path}: there is no such kernel of PLUMED")
    return lambda: plumed.Plumed(kernel=path)


def _mark(path: Path) -> tuple[int, int]:
    """Length of a file, and a checksum of its end."""
    length = path.stat().st_size
    return length, _checksum(path, length)


def _checksum(path: Path, length: int) -> int:
    with path.open("rb") as file:
        file.seek(max(0, length - _TAIL))
        return zlib.crc32(file.read(min(length, _TAIL)))


def _copies(path: Path) -> list[Path]:
    """Earlier files of this name, which PLUMED keeps."""
    return list(path.parent.glob(f"bck.*.{path.name}"))


def _put_back(path: Path, number: int | None) -> None:
    """Has a file be the one with this inode again; None: there was none."""
    if path.exists() and path.stat().st_ino != number:
        path.unlink()
    for file in _copies(path):
        if file.stat().st_ino == number:
            os.replace(file, path)


def _find(name: str, length: int, checksum: int) -> Path:
    """The file that had this length, among those that PLUMED keeps if it is not this."""
    path = Path(name)
    for file in (path, *_copies(path)):
        if file.is_file() and file.stat().st_size >= length and _checksum(file, length) == checksum:
            return file
    raise QuiltError(
        f"{path.absolute()} is not the file that PLUMED had written at the checkpoint: continue in "
        "the folder where the run began"
    )
