# SPDX-License-Identifier: Apache-2.0
"""The state of a simulation: positions, velocities, box, step.

With the System, the settings and the seed, a State determines the rest of the trajectory,
bit for bit. It therefore also has the positions from which the pair lists were last built: a
continued run rebuilds the same lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .box import check_box, reduce_box
from .checks import LAST_STEP, Checked, frozen, in_unit, numbers, real_number, whole_number
from .molecules import make_whole
from .system import System

F64 = npt.NDArray[np.float64]

_LARGEST = 1e6  # nm and nm/ps: beyond, numbers leave the range of the engine
_UNITS = {"velocities": "nm/ps"}  # of arrays; of all others nm
_MOST_PATCHES = 2**25  # along a dimension: no more can be numbered


@dataclass(frozen=True, eq=False, repr=False)
class State(Checked):
    """State of N atoms. Units: nm, ps.

    Attributes
    ----------
    positions:
        (N, 3) nm, unwrapped, molecules whole.
    velocities:
        (N, 3) nm/ps.
    box:
        (3, 3) nm, rows a, b, c in reduced lower-triangular form; None: no periodic boundary.
    step:
        Steps done since the start of the simulation.
    list_positions, list_step:
        (N, 3) nm and step at which pair lists were last built; None before the first time.  After
        `Simulation.place` the lists count as being at the end of their lifetime, so the step may be
        below 0.
    patches:
        Numbers of patches along a, b and c.  They may depend on earlier boxes or, without a box, on
        earlier positions, and a run continues bitwise only with the same patches; None: chosen for
        the box.
    variables:
        Variables of the thermostat (`NoseHooverChain`), by name.  A simulation uses the variables
        of its own thermostat and ignores others; missing ones start at their initial values.

    Raises
    ------
    InputError
        If shapes differ, a value is not a finite number, or a position is beyond 1e6 nm; names the
        atom.
    """

    positions: F64
    velocities: F64
    box: F64 | None
    step: int = 0
    list_positions: F64 | None = None
    list_step: int = 0
    patches: tuple[int, int, int] | None = None
    variables: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.box is not None:
            object.__setattr__(self, "box", frozen(check_box(self.box)))
        for name, least in (("step", 0), ("list_step", -LAST_STEP)):
            value = whole_number(name, getattr(self, name), least)
            if value > LAST_STEP:
                raise InputError(f"{name} {value} is beyond the last step, {LAST_STEP}")
            object.__setattr__(self, name, value)
        if self.patches is not None:
            object.__setattr__(self, "patches", _counts(self.patches))
        object.__setattr__(self, "variables", _by_name(self.variables))
        positions = vectors("positions", self.positions)
        object.__setattr__(self, "positions", positions)
        for name in ("velocities", "list_positions"):
            value = getattr(self, name)
            if value is not None or name == "velocities":
                object.__setattr__(self, name, vectors(name, value, len(positions)))

    def arrays(self) -> dict[str, Any]:
        """All attributes by name, as an engine's `set_state` takes them."""
        return dict(vars(self))

    def __repr__(self) -> str:
        return f"<State: {len(self.positions)} atoms at step {self.step}>"

    @classmethod
    def start(
        cls,
        system: System,
        positions: npt.ArrayLike,
        box: npt.ArrayLike | None,
        velocities: npt.ArrayLike | None = None,
    ) -> State:
        """A state at step 0, with whole molecules.

        Parameters
        ----------
        system:
            Its bonds and constraints define the molecules.
        positions:
            (N, 3) nm; molecules may be cut by the periodic boundary.
        box:
            (3, 3) nm, reduced rows; None: no periodic boundary, and positions stay as they are.
        velocities:
            (N, 3) nm/ps; zero when left out.
        """
        place = vectors("positions", positions, system.atoms)
        speed = np.zeros_like(place) if velocities is None else velocities
        if box is None:
            return cls(place, speed, None)  # type: ignore[arg-type]  # checked and converted there
        cell = check_box(box)
        return cls(make_whole(place, cell, system.links), speed, cell)  # type: ignore[arg-type]

    @classmethod
    def from_openmm(
        cls, system: System, positions: Any, box: Any = None, velocities: Any = None
    ) -> State:
        """A state at step 0 from an `openmm.State`, or from OpenMM quantities or plain numbers.

        Parameters
        ----------
        system:
            `System.from_openmm(...)` of the same system.
        positions:
            An `openmm.State`, whose box and velocities are then used if present; a PDBFile,
            PDBxFile or Modeller of OpenMM, whose box is then used if present; or as
            `modeller.positions` or `openmm.State.getPositions()` give them, plain numbers in nm.
        box:
            Three vectors, as `topology.getPeriodicBoxVectors()` or
            `openmm_system.getDefaultPeriodicBoxVectors()` give them; None: no periodic boundary.
        velocities:
            As `openmm.State.getVelocities()` gives them, plain numbers in nm/ps; None: zero.

        Raises
        ------
        InputError
            If the number of atoms differs from that of the System, the box is not reduced, or
            another object of OpenMM is given.
        """
        if hasattr(positions, "getPositions"):
            periodic = system.nonbonded is None or system.nonbonded.method != "no-cutoff"
            place, speed, cell = parts_of_openmm(positions)
            positions, velocities = place, speed if velocities is None else velocities
            box = cell if box is None and periodic else box
        return cls.start(system, positions, box, velocities)

    def tile(self, nx: int, ny: int, nz: int) -> State:
        """The state repeated along the box vectors, in the order of `System.tile`; step 0."""
        counts = (nx, ny, nz)
        if min(counts) < 1:
            raise InputError(f"cannot tile {nx}x{ny}x{nz}: every count must be at least 1")
        if self.box is None:
            raise InputError("a state without a periodic box cannot be tiled")
        cells = np.indices(counts).reshape(3, -1).T @ self.box
        positions = (self.positions[None] + cells[:, None]).reshape(-1, 3)
        velocities = np.tile(self.velocities, (nx * ny * nz, 1))
        return State(positions, velocities, reduce_box(self.box * np.array(counts)[:, None]))


def parts_of_openmm(source: Any) -> tuple[F64, F64 | None, F64 | None]:
    """Positions, nm, velocities, nm/ps, and box, nm, of a State or structure of OpenMM.

    Velocities and box are None if there are none.  InputError for a State without positions, and
    for other objects.
    """
    if hasattr(source, "getDataTypes"):
        return _parts_of_state(source)
    if hasattr(source, "topology"):
        box = source.topology.getPeriodicBoxVectors()
        return _in_nm("positions", source.getPositions()), None, box and _in_nm("box", box)
    raise InputError(
        f"State.from_openmm takes an openmm.State, PDBFile, PDBxFile or Modeller, or positions "
        f"with a box and velocities, not {type(source).__name__}: give its positions, as "
        "from_openmm(system, file.getPositions(), box, velocities)"
    )


def _parts_of_state(state: Any) -> tuple[F64, F64 | None, F64]:
    names = state.getDataTypes()
    if not names & state.Positions:
        raise InputError("an openmm.State without positions: get it with getPositions=True")
    has_velocities = names & state.Velocities
    speed = state.getVelocities(asNumpy=True) if has_velocities else None
    return (
        _in_nm("positions", state.getPositions(asNumpy=True)),
        None if speed is None else np.array(in_unit("velocities", speed, "nm/ps")),
        _in_nm("box", state.getPeriodicBoxVectors(asNumpy=True)),
    )


def _in_nm(name: str, lengths: Any) -> F64:
    return np.array(in_unit(name, lengths, "nm"))


def vectors(name: str, value: npt.ArrayLike, atoms: int | None = None) -> F64:
    """(atoms, 3) finite numbers in units of a State, or InputError; None: of any number."""
    rows = "N" if atoms is None else atoms
    value = in_unit(name, value, _UNITS.get(name, "nm"))
    given = numbers(name, value, f"an array of real numbers, shape ({rows}, 3)")
    array = np.ascontiguousarray(given, dtype=np.float64)
    if array.shape != (len(array) if atoms is None else atoms, 3):
        raise InputError(f"{name} have shape {array.shape}, not ({rows}, 3)")
    if not np.isfinite(array).all():
        atom = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise InputError(f"{name} are not finite numbers", atom=atom)
    if len(array) and np.abs(array).max() > _LARGEST:
        atom = int(np.abs(array).max(axis=1).argmax())
        raise InputError(f"{name} beyond {_LARGEST:g} (nm, ps) are out of range", atom=atom)
    return frozen(array)


def _by_name(variables: Any) -> dict[str, float]:
    if not isinstance(variables, Mapping) or not all(isinstance(name, str) for name in variables):
        raise InputError(f"variables must be numbers by name, not {variables!r}")
    return {name: real_number(f"variables['{name}']", value) for name, value in variables.items()}


def _counts(patches: Sequence[int]) -> tuple[int, ...]:
    counts = tuple(whole_number("patches", count) for count in patches)
    if len(counts) != 3 or not all(1 <= count <= _MOST_PATCHES for count in counts):
        raise InputError(f"patches must be three positive counts, not {patches!r}")
    return counts
