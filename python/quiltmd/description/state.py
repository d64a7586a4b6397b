# SPDX-License-Identifier: Apache-2.0
"""The state of a simulation: positions, velocities, box, step.

With the System, the settings and the seed, a State determines the rest of the trajectory,
bit for bit. It therefore also has the positions from which the pair lists were last built: a
continued run rebuilds the same lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .box import check_box, reduce_box
from .checks import whole_number
from .molecules import make_whole
from .openmm_objects import plain
from .system import System

F64 = npt.NDArray[np.float64]

_LARGEST = 1e6  # nm and nm/ps: beyond, numbers leave the range of the engine
_LAST_STEP = 2**62


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """State of N atoms. Units: nm, ps.

    Attributes
    ----------
    positions:
        (N, 3) nm, unwrapped, molecules whole.
    velocities:
        (N, 3) nm/ps.
    box:
        (3, 3) nm, rows a, b, c in reduced lower-triangular form.
    step:
        Steps done since the start of the simulation.
    list_positions, list_step:
        (N, 3) nm and step at which pair lists were last built; None before the
        first time.

    Raises
    ------
    InputError
        If shapes differ, a value is not a finite number, or a position is beyond 1e6 nm; names the
        atom.
    """

    positions: F64
    velocities: F64
    box: F64
    step: int = 0
    list_positions: F64 | None = None
    list_step: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "box", _read_only(check_box(self.box)))
        for name in ("step", "list_step"):
            value = whole_number(name, getattr(self, name))
            if value > _LAST_STEP:
                raise InputError(f"{name} {value} is beyond the last step, {_LAST_STEP}")
            object.__setattr__(self, name, value)
        atoms = len(self.positions)
        for name in ("positions", "velocities", "list_positions"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _vectors(name, value, atoms))

    def __repr__(self) -> str:
        return f"<State: {len(self.positions)} atoms at step {self.step}>"

    @classmethod
    def start(
        cls,
        system: System,
        positions: npt.ArrayLike,
        box: npt.ArrayLike,
        velocities: npt.ArrayLike | None = None,
    ) -> State:
        """State at step 0 with the system's molecules made whole.

        Parameters
        ----------
        system:
            Its bonds and constraints tell what a molecule is.
        positions:
            (N, 3) nm; molecules may be cut by the periodic boundary.
        box:
            (3, 3) nm, reduced rows.
        velocities:
            (N, 3) nm/ps; zero when left out.
        """
        place = _vectors("positions", positions, system.atoms)
        cell = check_box(box)
        speed = np.zeros_like(place) if velocities is None else velocities
        return cls(make_whole(place, cell, system.links), np.asarray(speed), cell)

    @classmethod
    def from_openmm(cls, system: System, positions: Any, box: Any, velocities: Any = None) -> State:
        """State at step 0 from OpenMM quantities, or plain numbers in nm and ps.

        Parameters
        ----------
        system:
            `System.from_openmm(...)` of the same system.
        positions, velocities:
            As `modeller.positions` or `openmm.State.getPositions()` give them.
        box:
            Three vectors, as `topology.getPeriodicBoxVectors()` or
            `openmm_system.getDefaultPeriodicBoxVectors()` give them.
        """
        speed = None if velocities is None else plain(velocities)
        return cls.start(system, plain(positions), plain(box), speed)

    def tile(self, nx: int, ny: int, nz: int) -> State:
        """The state repeated along the box vectors, in the order of `System.tile`; step 0."""
        counts = (nx, ny, nz)
        if min(counts) < 1:
            raise InputError(f"cannot tile {nx}x{ny}x{nz}: every count must be at least 1")
        cells = np.indices(counts).reshape(3, -1).T @ self.box
        positions = (self.positions[None] + cells[:, None]).reshape(-1, 3)
        velocities = np.tile(self.velocities, (nx * ny * nz, 1))
        return State(positions, velocities, reduce_box(self.box * np.array(counts)[:, None]))


def _vectors(name: str, value: npt.ArrayLike, atoms: int) -> F64:
    array = np.ascontiguousarray(value, dtype=np.float64)
    if array.shape != (atoms, 3):
        raise InputError(f"{name} have shape {array.shape}, not ({atoms}, 3)")
    if not np.isfinite(array).all():
        atom = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise InputError(f"{name} are not finite numbers", atom=atom)
    if atoms and np.abs(array).max() > _LARGEST:
        atom = int(np.abs(array).max(axis=1).argmax())
        raise InputError(f"{name} beyond {_LARGEST:g} (nm, ps) are out of range", atom=atom)
    return _read_only(array)


def _read_only(array: F64) -> F64:
    """The array, if nobody can write to it, else a copy."""
    if array.flags.writeable or array.base is not None:
        array = array.copy()
        array.setflags(write=False)
    return array
