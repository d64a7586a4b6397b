# SPDX-License-Identifier: Apache-2.0
"""Readers: from the files of other programs to a System and a State.

A format is a module that reads it and knows nothing of the others (`reading.formats` says what it
offers), in the folder of the program that it belongs to; `load` chooses by content, from the tables
in `known_formats`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.alchemy import warn_of_charge
from ..description.box import box_from_lengths_angles
from ..description.checks import any_case, real_number
from ..description.dual_topology import DualHybrid, DualTopology
from ..description.electric_field import apply_electric_field
from ..description.hybrid import Hybrid, SecondMolecule
from ..description.implicit_solvent import ImplicitSolvent
from ..description.nonbonded import Nonbonded
from ..description.restraints import Restraint, Scaling, restrain
from ..description.state import State
from ..description.system import System
from ..description.units import read_box
from ..errors import InputError, QuiltWarning
from ..outputs.checkpoint import read_checkpoint
from ..reading.fixed_width import read_bytes
from ..reading.formats import (
    HEAD,
    Coordinates,
    Described,
    Expected,
    Path,
    Sources,
)
from . import checkpoints
from .cache import cached
from .constrain import Constraints, constrain, loose_hydrogens
from .known_formats import (
    COORDINATES,
    TOPOLOGIES,
    coordinate_format,
    included_files,
    is_structure,
    topology_format,
    why_no_topology,
)
from .objects import coordinates_of, is_path, refuse_as_topology

__all__ = [
    "COORDINATES",
    "TOPOLOGIES",
    "Constraints",
    "count_frames",
    "describe",
    "included_files",
    "is_structure",
    "load",
    "read_coordinates",
    "read_velocities",
    "topology_format",
    "with_names_of",
]

_Box = npt.NDArray[np.float64]


def load(
    topology: Path,
    coordinates: Path | Any,
    *,
    parameters: Sequence[Path] = (),
    defines: Sequence[str] = (),
    box: npt.ArrayLike | None = None,
    constraints: Constraints = "none",
    rigid_water: bool = True,
    hydrogen_mass: float | None = None,
    frame: int = 0,
    restraints: Sequence[Restraint] = (),
    reference: Path | None = None,
    reference_scaling: Scaling = "com",
    solvent: ImplicitSolvent | None = None,
    electric_field: Sequence[float] | None = None,
    velocities: Path | None = None,
    second_states: bool = False,
    second: SecondMolecule | DualTopology | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[System, State]:
    """Load a system and its state from the files of another program.

    Large topologies are cached, in the folder that docs/user/inputs.md names.

    Parameters
    ----------
    topology, coordinates:
        Files of the formats in docs/user/inputs.md, told apart by content.  Coordinates may also be
        the folder of a run, for its last checkpoint; or an `mdtraj.Trajectory`, a `Universe` or
        `AtomGroup` of MDAnalysis, or an `openmm.State`.
    parameters:
        Force-field files, in order, for topologies that do not contain the parameters: CHARMM's
        parameter and stream files, OpenMM's ForceField XML.
    defines:
        Macros for the preprocessor of GROMACS topologies: "POSRES", "NAME=value".
    box:
        Three lengths (nm), or three lengths and the angles alpha, beta, gamma (degrees), instead of
        the box in the files; empty, `()`: no periodic box, even if the files contain one.
    constraints:
        "none", "h-bonds" to constrain bonds to hydrogen, or "all-bonds" to constrain all bonds,
        which is possible in molecules of up to 64 atoms.
    rigid_water:
        Constrain all distances in water molecules, except those to virtual sites.
    hydrogen_mass:
        Hydrogen mass repartitioning (HMR): mass, amu, of hydrogens outside rigid water; the
        difference is taken from the heavy atoms bonded to them.  None: masses as in the file.
    frame:
        Frame of a trajectory, counted from 0.
    restraints:
        Restraints in addition to those of the topology.
    reference:
        Coordinate file with the reference positions of position restraints; by default the first
        frame of `coordinates`.
    reference_scaling:
        How reference positions follow a changing box; see `restrain`.
    solvent:
        Implicit solvent, for a topology with radii (an Amber prmtop) and no box.
    electric_field:
        Uniform electric field, V/nm; see `apply_electric_field`.
    velocities:
        File with the initial velocities, instead of those of `coordinates`; see `read_velocities`.
    second_states:
        Whether second states (B states) of a GROMACS topology become the `alchemy` of the system;
        otherwise they have no effect, and a warning says so.
    second:
        The molecule that one of the system turns into, as by `hybrid`, or which molecules of the
        topology are the two.  Coordinates have the atoms of the topology; those of a checkpoint may
        have the atoms of the hybrid.
    say:
        Called with a line for the user if the topology is from the cache.

    Returns
    -------
    The System, and its State at step 0, with whole molecules.  Velocities are zero if the file has
    none.  If neither the files nor `box` give a periodic box, the State has none, and the nonbonded
    settings of the System have no cutoff.

    Raises
    ------
    InputError
        In one line, with file and line or atom: what is wrong or unsupported.
    """
    refuse_as_topology(topology)
    if hydrogen_mass is not None:
        hydrogen_mass = real_number("hydrogen_mass", hydrogen_mass, "amu")
    constraints = any_case(Constraints, constraints)
    parameters, defines = tuple(parameters), tuple(defines)  # iterated over more than once

    def read() -> Described:
        described = _described(topology, parameters, defines)
        return _constrained(described, topology, constraints, rigid_water, hydrogen_mass)

    files = [os.fspath(file) for file in (topology, *parameters)]
    described = cached(files, [*defines, constraints, rigid_water, hydrogen_mass], read, say)
    _warn(described)
    system = _in_states(described.system, topology, second_states)
    hybrid = None if second is None else second.joined_to(system)
    system = system if hybrid is None else hybrid.system
    frames_of = _Frames(system, described, box, hybrid)
    state = frames_of.state(coordinates, frame)
    system = with_names_of(system, coordinates, frame)
    if velocities is not None:
        state = replace(state, velocities=read_velocities(velocities, system.atoms))
    if state.box is None and described.periodic and box is None:
        raise InputError(
            "no periodic box, but the topology has one: give its lengths (box)",
            file=coordinates if is_path(coordinates) else None,
        )
    if restraints or described.held is not None:
        first = reference if reference is not None else coordinates if frame else None
        place = state if first is None else frames_of.state(first, 0)
        system = restrain(
            system, restraints, place.positions, place.box, reference_scaling, described.held
        )
    if state.box is None and not described.complete:
        system = replace(system, nonbonded=Nonbonded.default(None))
    return _in_surroundings(system, solvent, electric_field), state


def _in_states(system: System, file: Path, second_states: bool) -> System:
    """The system with its second states, or without, if it has any; warns of what that means."""
    if system.alchemy is None:
        return system
    if second_states:
        warn_of_charge(system, stacklevel=4)
        return system
    warnings.warn(
        f"{os.fspath(file)}: second states (B states) of {len(system.alchemy.atoms)} atoms have "
        "no effect; [alchemy] atoms = 'second states', or load(second_states=True), uses them",
        QuiltWarning,
        stacklevel=3,
    )
    return replace(system, alchemy=None)


def with_names_of(system: System, coordinates: Path | Any, frame: int = 0) -> System:
    """The system with the names in its coordinate file, where its topology has none."""
    if system.topology.has_names or not is_path(coordinates):
        return system
    file = os.fspath(checkpoints.find_state(coordinates))
    names = coordinate_format(file).names
    if names is None:
        return system
    found = names(file, frame)
    if len(found.atom_names) != system.atoms:
        return system
    return replace(system, topology=replace(found, elements=system.topology.elements))


def _constrained(
    described: Described,
    file: Path,
    constraints: Constraints,
    rigid_water: bool,
    hydrogen_mass: float | None,
) -> Described:
    """The system with the requested constraints and masses, unless the topology sets them."""
    if described.complete:
        told = _fixed_constraints_warnings(described.system, constraints, hydrogen_mass, file)
        return replace(described, warnings=described.warnings + told)
    system = constrain(described.system, constraints, rigid_water, hydrogen_mass)
    return replace(described, system=system)


def _in_surroundings(
    system: System,
    solvent: ImplicitSolvent | None,
    electric_field: Sequence[float] | None,
) -> System:
    """The system in implicit solvent and an electric field."""
    if solvent is not None:
        system = replace(system, solvent=solvent)
    if electric_field is not None:
        system = apply_electric_field(system, electric_field)
    return system


@dataclass(frozen=True)
class _Frames:
    """Reads frames of coordinates as States of a system; `box` replaces the box of the files."""

    system: System
    described: Described
    box: npt.ArrayLike | None
    hybrid: Hybrid | DualHybrid | None = None

    def state(self, file: Path | Any, frame: int) -> State:
        """A frame, counted from 0, in the box that holds."""
        if self.hybrid is None or self._is_of_hybrid(file):
            found = self._read(file, frame, self.system)
            velocities, positions = found.velocities, found.positions
        else:
            found = self._read(file, frame, self.hybrid.first)
            velocities, positions = None, self.hybrid.place(found.positions)
        return State.start(self.system, positions, self._cell(found.box), velocities)

    def _read(self, file: Path | Any, frame: int, system: System) -> Coordinates:
        counts = self.box is None and self.described.periodic is not False
        expected = Expected(system.atoms, frame, self.described.box_angle, counts)
        return read_coordinates(file, expected, system)

    def _is_of_hybrid(self, file: Path | Any) -> bool:
        """Whether a checkpoint of this program has the atoms of the hybrid, not of the topology."""
        if not is_path(file):
            return False
        path = checkpoints.find_state(file)
        if not checkpoints.is_checkpoint(path):
            return False
        return len(read_checkpoint(path).state.positions) == self.system.atoms

    def _cell(self, found: _Box | None) -> _Box | None:
        """The box given, else that of the coordinates if it counts, else the topology's."""
        if self.box is not None:
            return _given_box(self.box)
        return self.described.box if found is None else found


def describe(
    topology: Path, parameters: Sequence[Path] = (), defines: Sequence[str] = ()
) -> Described:
    """Contents of a topology, from the reader of its format; see `load`."""
    described = _described(topology, parameters, defines)
    _warn(described)
    return described


def _described(topology: Path, parameters: Sequence[Path], defines: Sequence[str]) -> Described:
    reader = topology_format(topology)
    if reader is None:
        raise InputError(why_no_topology(read_bytes(topology, limit=HEAD)), file=topology)
    if parameters and not reader.parameters:
        raise InputError(f"{reader.name} takes no parameter files", file=topology)
    if defines and not reader.defines:
        raise InputError(f"{reader.name} has no preprocessor: leave out defines", file=topology)
    files = tuple(os.fspath(file) for file in parameters)
    try:
        return reader.read(Sources(os.fspath(topology), files, tuple(defines)))
    except InputError as error:
        if error.file is not None:
            raise
        raise InputError(str(error), file=topology) from None  # of the System made of the file


def _warn(described: Described) -> None:
    """Gives the reader's warnings, as from the line that called the caller."""
    for text in described.warnings:
        warnings.warn(text, QuiltWarning, stacklevel=3)


def read_coordinates(
    coordinates: Path | Any, expected: Expected, system: System | None = None
) -> Coordinates:
    """Coordinates, by the reader of their format; warns where names differ from the system's."""
    if not is_path(coordinates):
        found = coordinates_of(coordinates, expected.frame)
        found = found if expected.box else replace(found, box=None)
        return _matching(found, "", expected, system)
    file = os.fspath(checkpoints.find_state(coordinates))
    reader = coordinate_format(file)
    if expected.frame not in (0, -1):
        frames = reader.frames(file)
        if not -frames <= expected.frame < frames:
            held = f"{frames} frames" if frames != 1 else "a single frame"
            message = f"has {held}, so there is no frame {expected.frame} (the first is 0)"
            raise InputError(message, file=file)
    return _matching(reader.read(file, expected), file, expected, system)


def _matching(
    found: Coordinates, file: str, expected: Expected, system: System | None
) -> Coordinates:
    """Coordinates of the atoms that are expected; `file` is empty for those of an object."""
    if len(found.positions) != expected.atoms:
        raise InputError(
            f"{len(found.positions)} atoms, but the topology has {expected.atoms}",
            file=file or None,
        )
    if system is not None and found.names is not None:
        _compare_names(system, found.names, file or "the coordinates")
    return found


def read_velocities(file: Path, atoms: int) -> npt.NDArray[np.float64]:
    """Velocities (N, 3), nm/ps, from a file of velocities alone, or of coordinates that has some.

    Files of velocities alone are NAMD's: binary ones in its unit, PDB files in angstrom/ps.

    Parameters
    ----------
    file:
        A file of one of the formats in `COORDINATES`, with a single frame.
    atoms:
        Number of atoms that it must have.

    Raises
    ------
    InputError
        If it has no velocities, or several frames, and as `read_coordinates`.
    """
    reader = coordinate_format(os.fspath(checkpoints.find_state(file)))
    frames = count_frames(file)
    if frames != 1:
        raise InputError(f"velocities are taken from a single frame, this has {frames}", file=file)
    found = read_coordinates(file, Expected(atoms, box=False))
    if found.velocities is not None:
        return found.velocities
    if not reader.of_velocities:
        raise InputError(f"{reader.name} without velocities", file=file)
    return found.positions * reader.of_velocities


def count_frames(coordinates: Path) -> int:
    """Frames in a coordinate file: 1 but for trajectories.

    Raises InputError if a trajectory cannot be read.
    """
    file = os.fspath(checkpoints.find_state(coordinates))
    return coordinate_format(file).frames(file)


def _given_box(box: npt.ArrayLike) -> _Box | None:
    """The box of these lengths and angles; None of no numbers."""
    try:
        numbers = np.asarray(read_box(box), dtype=np.float64)
    except ValueError as error:
        raise InputError(f"box: {error}") from None
    except TypeError:
        raise InputError(f"box: must be numbers, nm and degrees, not {box!r}") from None
    if numbers.size == 0:
        return None
    if numbers.shape not in ((3,), (6,)):
        raise InputError("box: give three lengths, nm, or three lengths and three angles, degrees")
    angles = numbers[3:] if len(numbers) == 6 else np.full(3, 90.0)
    return box_from_lengths_angles(numbers[:3], angles)


def _fixed_constraints_warnings(
    system: System, constraints: Constraints, hydrogen_mass: float | None, file: Path
) -> tuple[str, ...]:
    """Warnings for a file whose constraints hold, whatever is asked for.

    InputError if other masses are asked for.
    """
    if hydrogen_mass is not None:
        raise InputError(
            "this file contains the masses: repartition hydrogen masses in the program that "
            "creates the file",
            file=file,
        )
    loose = loose_hydrogens(system)
    if constraints == "none" or not loose:
        return ()
    return (f"{file} says what is constrained: {loose} bonds to hydrogen are flexible and stay so",)


def _compare_names(system: System, names: npt.NDArray[np.str_], file: str) -> None:
    """Warns where names begin with different letters, on which conventions agree (1HB, HB1)."""
    ours = system.topology.atom_names
    if not system.topology.has_names:
        return
    digits = "0123456789"
    first = [np.char.lstrip(given, digits).astype("U1") for given in (names, ours)]
    other = np.flatnonzero(first[0] != first[1])
    if len(other):
        atom = int(other[0])
        warnings.warn(
            f"{file}: {len(other)} atoms have names of other elements than in the topology, the "
            f"first is {names[atom]} for {system.topology.describe(atom)}: do the files belong "
            "together?",
            QuiltWarning,
            stacklevel=3,
        )
