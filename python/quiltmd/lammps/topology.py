# SPDX-License-Identifier: Apache-2.0
"""The system of a LAMMPS input script: units, box, atoms, and pair_style with its coefficients.

Sources: https://docs.lammps.org/Commands_all.html, and the page of each command.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.box import reduce_box
from ..description.molecules import cut_link, make_whole
from ..description.state import State
from ..description.system import System
from ..description.topology import Topology
from ..errors import InputError
from ..reading.entries import Control
from ..reading.formats import (
    CoordinateFormat,
    Coordinates,
    Described,
    Expected,
    Sources,
    TopologyFormat,
)
from .bonded import Bonded
from .data import ATOMS, STYLES, DataFile, read_data
from .dynamics import DYNAMICS
from .lattice import SLIGHTLY, lattice_points, read_lattice
from .molecules import Commands, molecular_fields
from .pairs import Pairs
from .script import Command, commands, is_script, types_of
from .shake import STYLES as SHAKE
from .shake import Shake
from .special import Special
from .units import UNITS, Units

F64 = npt.NDArray[np.float64]
Block = tuple[float, float, float, float, float, float]

_GO_ON = (
    "read the data file of the script before this one, and start from the folder of its run, "
    "'quiltmd run SCRIPT -c FOLDER'"
)


class _Model:
    """A script as it is read: what its commands have said so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.units: Units = UNITS["lj"]
        self.style = "atomic"
        self.atoms: DataFile | None = None
        self.origin = np.zeros(3)
        self.regions: dict[str, Block] = {}
        self.lattice: tuple[float, F64] | None = None  # constant, and places in the cell
        self.pairs, self.bonded, self.special = Pairs(), Bonded(), Special()
        self.shake = Shake()
        self.copies = (1, 1, 1)
        self.masses: dict[int, float] = {}  # given after the last pair_coeff
        ran: Command | None = None
        known = Control(file)
        check_commands(known)
        known.check()
        for command in commands(file):
            if command.name == "fix" and command.words[2:3] and command.words[2] in SHAKE:
                self.shake.read(command)
            if command.name in DYNAMICS:
                ran = command if command.name in ("run", "minimize") else ran
                continue
            if ran is not None:
                raise command.error(
                    f"after {ran.text} (line {ran.line}): put what follows it into another script"
                )
            _SETUP[command.name](self, command)

    @property
    def placed(self) -> DataFile:
        """The atoms; InputError where there are none."""
        if self.atoms is None or not len(self.atoms.types):
            raise InputError(
                "no atoms: use read_data, or create_box and create_atoms", file=self.file
            )
        return self.atoms

    @property
    def box(self) -> F64:
        """(3, 3) nm, reduced rows."""
        return reduce_box(self.placed.box * self.units.length)

    def set_units(self, command: Command) -> None:
        chosen = UNITS[command.only(*UNITS)]
        if self.atoms is not None or self.regions or self.pairs.style is not None:
            raise command.error("must come first")
        self.units = chosen

    def set_style(self, command: Command) -> None:
        self.style = command.only(*STYLES)

    def read_atoms(self, command: Command) -> None:
        if len(command.words) != 1:
            raise command.error("only the name of a file, without options")
        if self.atoms is not None:
            raise command.error("there is a box already")
        if not os.path.exists(command.path(0)):
            raise command.error(f"no such file; Quilt writes none: {_GO_ON}")
        self.atoms = read_data(command.path(0), self.style)
        for one in self.atoms.coefficients:
            if one.kind == "pair":
                self.pairs.add(one.command, self.atoms.type_count, one.style)
            else:
                count = self.atoms.counts[f"{one.kind} types"]
                self.bonded.add(one.kind, one.command, count, one.style)

    def read_restart(self, command: Command) -> None:
        raise command.error(f"not supported: {_GO_ON}")

    def set_lattice(self, command: Command) -> None:
        self.lattice = read_lattice(command, in_density=self.units is UNITS["lj"])

    def add_region(self, command: Command) -> None:
        words = command.words
        if (
            len(words) not in (8, 10)
            or words[1] != "block"
            or (len(words) == 10 and words[8] != "units")
        ):
            raise command.error("only ID block xlo xhi ylo yhi zlo zhi, and units box or lattice")
        scale = 1.0
        if len(words) == 8 or words[9] == "lattice":
            if self.lattice is None:
                raise command.error("its lengths are in units of a lattice, and there is none")
            scale = self.lattice[0]
        elif words[9] != "box":
            raise command.error("units must be box or lattice")
        edges = [command.number(place) * scale for place in range(2, 8)]
        if not all(low < high for low, high in zip(edges[::2], edges[1::2], strict=True)):
            raise command.error("each upper edge must be above the lower one")
        self.regions[words[0]] = (edges[0], edges[1], edges[2], edges[3], edges[4], edges[5])

    def create_box(self, command: Command) -> None:
        if len(command.words) != 2 or command.words[1] not in self.regions:
            raise command.error("only a number of types and the ID of a region")
        if self.atoms is not None:
            raise command.error("there is a box already")
        edges = np.array(self.regions[command.words[1]]).reshape(3, 2)
        self.origin = edges[:, 0]
        self.atoms = DataFile(np.diag(np.ptp(edges, axis=1)), max(command.whole(0), 1))

    def create_atoms(self, command: Command) -> None:
        kind = command.whole(0)
        if self.atoms is None or self.lattice is None:
            raise command.error("needs a lattice and a box")
        if self.copies != (1, 1, 1):
            raise command.error("only before replicate")
        if not 1 <= kind <= self.atoms.type_count:
            raise command.error(f"types are 1 to {self.atoms.type_count}")
        upper = self.origin + np.diag(self.atoms.box)
        region = self.regions.get(command.words[2]) if len(command.words) == 3 else None
        if command.words[1:2] == ("region",) and region is not None:
            low, high = np.array(region).reshape(3, 2).T
            faces = high + 2 * SLIGHTLY * self.lattice[0]  # points on them are in the region
            low, high = np.maximum(low, self.origin), np.minimum(faces, upper)
        elif command.words[1:] == ("box",):
            low, high = self.origin, upper
        else:
            raise command.error("only TYPE box, and TYPE region ID")
        points = lattice_points(*self.lattice, low, high)
        atoms = self.atoms
        atoms.types = np.append(atoms.types, np.full(len(points), kind, dtype=np.int32))
        atoms.charges = np.append(atoms.charges, np.zeros(len(points)))
        atoms.positions = np.append(atoms.positions, points, axis=0)
        atoms.velocities = None

    def replicate(self, command: Command) -> None:
        counts = command.whole(0), command.whole(1), command.whole(2)
        if len(command.words) != 3 or min(counts) < 1:
            raise command.error("only three numbers of copies, of at least 1")
        if self.copies != (1, 1, 1):
            raise command.error("only once")
        bonds = self.placed.terms["bond"][1]
        if cut_link(self.whole, self.box, bonds) is not None:
            raise command.error("a molecule is bonded to its own periodic image: not supported")
        self.copies = counts

    @property
    def whole(self) -> F64:
        """(N, 3) nm, of the atoms before they are replicated: molecules in one piece."""
        atoms = self.placed
        return make_whole(atoms.positions * self.units.length, self.box, atoms.terms["bond"][1])

    @property
    def state(self) -> State:
        """That of all copies; without velocities in the file they are 0."""
        speed = self.placed.velocities
        places = self.whole
        scaled = np.zeros_like(places) if speed is None else speed * self.units.velocity
        return State(places, scaled, self.box).tile(*self.copies)

    def set_mass(self, command: Command) -> None:
        if self.atoms is None:
            raise command.error("there is no box yet")
        mass = command.number(1)
        if len(command.words) != 2 or mass <= 0:
            raise command.error("only a type and a positive mass")
        for kind in types_of(command, 0, self.atoms.type_count):
            self.atoms.masses[kind] = mass
            self.masses[kind] = mass

    def set_pairs(self, command: Command) -> None:
        self.pairs.set_style(command)

    def set_coefficients(self, command: Command) -> None:
        if self.atoms is None:
            raise command.error("there is no box yet")
        self.pairs.add(command, self.atoms.type_count)
        self.masses.clear()

    def set_bonded_style(self, command: Command) -> None:
        self.bonded.set_style(command.name.partition("_")[0], command)

    def set_bonded(self, command: Command) -> None:
        kind = command.name.partition("_")[0]
        if self.atoms is None:
            raise command.error("there is no box yet")
        self.bonded.add(kind, command, self.atoms.counts.get(f"{kind} types", 0))

    def set_special(self, command: Command) -> None:
        self.special.read(command)

    def modify_pairs(self, command: Command) -> None:
        self.pairs.modify(command)

    def set_mesh(self, command: Command) -> None:
        if command.words[:1] == ("msm",):
            raise command.error(
                "the multilevel summation method is not supported: use pppm, or in Python "
                'Nonbonded(method="fmm"), which does without Fourier transforms as well'
            )
        if not command.words or command.words[0] not in ("pppm", "ewald"):
            raise command.error("only pppm and ewald")
        self.pairs.mesh = command

    def check_boundary(self, command: Command) -> None:
        if command.words != ("p", "p", "p"):
            raise command.error("only p p p")

    def check_dimension(self, command: Command) -> None:
        command.only("3")

    def nothing(self, _: Command) -> None:
        """For commands that have no bearing on the system."""


_SETUP: dict[str, Callable[[_Model, Command], None]] = {
    "units": _Model.set_units,
    "atom_style": _Model.set_style,
    "boundary": _Model.check_boundary,
    "dimension": _Model.check_dimension,
    "read_data": _Model.read_atoms,
    "read_restart": _Model.read_restart,
    "lattice": _Model.set_lattice,
    "region": _Model.add_region,
    "create_box": _Model.create_box,
    "create_atoms": _Model.create_atoms,
    "replicate": _Model.replicate,
    "mass": _Model.set_mass,
    "pair_style": _Model.set_pairs,
    "pair_coeff": _Model.set_coefficients,
    "pair_modify": _Model.modify_pairs,
    "kspace_style": _Model.set_mesh,
    "special_bonds": _Model.set_special,
    **{f"{kind}_style": _Model.set_bonded_style for kind in ATOMS},
    **{f"{kind}_coeff": _Model.set_bonded for kind in ATOMS},
}


def check_commands(control: Control) -> None:
    """Refuses commands of a script that are known neither here nor as those of dynamics."""
    for one in commands(control.file):
        if one.name not in _SETUP and one.name not in DYNAMICS:
            control.fault(f"{one.text}: this command is not supported", one.line)


def _read(sources: Sources) -> Described:
    model = _Model(sources.topology)
    atoms, units = model.placed, model.units
    forces = model.pairs.forces(model.file, atoms, units)
    masses = {kind: mass * units.mass for kind, mass in atoms.masses.items()} | forces.masses
    masses |= {kind: mass * units.mass for kind, mass in model.masses.items()}
    missing = sorted(set(map(int, np.unique(atoms.types))) - masses.keys())
    if missing:
        raise InputError(f"type {missing[0]} has no mass", file=model.file)
    each = np.array([masses[int(kind)] for kind in atoms.types])
    charges = atoms.charges * units.charge
    chosen = Commands(model.bonded, model.special, model.shake)
    fields: dict[str, Any] = molecular_fields(chosen, atoms, forces, charges, units)
    topology = Topology.unnamed(each, atoms.terms["bond"][1])
    if forces.elements is not None:
        topology = replace(topology, atom_names=np.array(forces.elements))
    fields |= {
        "nonbonded": forces.nonbonded,
        "topology": topology,
        "embedded": forces.embedded,
        "three_body": forces.three_body,
        "pair_form": forces.pair_form,
        "pair_tables": forces.pair_tables,
    }
    system = System.of(each, charges, atoms.types - 1, forces.a, forces.b, **fields)
    if model.copies != (1, 1, 1):
        system = system.tile(*model.copies)
    box = model.box * np.array(model.copies)[:, None]
    return Described(system, box=box, complete=True, periodic=True)


def _read_coordinates(file: str, expected: Expected) -> Coordinates:
    model = _Model(file)
    state = model.state
    if len(state.positions) != expected.atoms:
        message = f"{len(state.positions)} atoms, but the topology has {expected.atoms}"
        raise InputError(message, file=file)
    velocities = None if model.placed.velocities is None else state.velocities
    return Coordinates(state.positions, velocities, state.box)


SCRIPT = TopologyFormat("LAMMPS input script", is_script, _read)
PLACES = CoordinateFormat("LAMMPS input script", is_script, _read_coordinates)
