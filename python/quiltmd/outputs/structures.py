# SPDX-License-Identifier: Apache-2.0
"""Single structures as files: PDB for looking at, Amber restarts for going on elsewhere.

PDB columns are too narrow for large systems: atom serials above 99,999 and residue numbers above
9,999 start again from 0, as most programs write and read them.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from scipy.io import netcdf_file

from ..description.box import lengths_angles
from ..description.topology import SYMBOLS
from .readout import Readout
from .trajectory import MoleculeWrapper

_ANGSTROM = 10.0  # per nm
_AMBER_VELOCITY = 20.455  # angstrom/ps per internal unit of Amber


def write_pdb(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes the simulation's positions, molecules whole and centred in the cell, as PDB."""
    state = simulation.state()
    wrapped = MoleculeWrapper(simulation.system.molecules).wrap(state.positions, state.box)
    lengths, angles = lengths_angles(state.box)
    edges = "".join(f"{length * _ANGSTROM:9.3f}" for length in lengths)
    corners = "".join(f"{angle:7.2f}" for angle in angles)
    with open(path, "w", encoding="ascii", errors="replace") as file:
        file.write(f"REMARK  quiltmd, step {state.step}, time {simulation.time:.4f} ps\n")
        file.write(f"CRYST1{edges}{corners} P 1           1\n")
        file.writelines(_atom_lines(simulation, wrapped * _ANGSTROM))
        file.write("END\n")


def write_restart(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes the simulation's positions, velocities and box as an Amber NetCDF restart."""
    state = simulation.state()
    lengths, angles = lengths_angles(state.box)
    with netcdf_file(path, "w", version=2) as file:
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
        _variable(file, "coordinates", ("atom", "spatial"), state.positions * 10, "angstrom")
        velocities = state.velocities * (_ANGSTROM / _AMBER_VELOCITY)
        _variable(file, "velocities", ("atom", "spatial"), velocities, "angstrom/picosecond")
        file.variables["velocities"].scale_factor = _AMBER_VELOCITY
        _variable(file, "cell_lengths", ("cell_spatial",), lengths * _ANGSTROM, "angstrom")
        _variable(file, "cell_angles", ("cell_angular",), angles, "degree")


def _variable(
    file: netcdf_file,
    name: str,
    dimensions: tuple[str, ...],
    value: NDArray[np.float64],
    units: str,
) -> None:
    variable = file.createVariable(name, "d", dimensions)
    variable.units = units
    variable[...] = value


def _atom_lines(simulation: Readout, positions: NDArray[np.float64]) -> list[str]:
    topology = simulation.system.topology
    residues = topology.residue_of_atom
    symbols = [SYMBOLS[element] for element in topology.elements]
    lines = []
    for i, (x, y, z) in enumerate(positions.tolist()):
        residue = int(residues[i])
        chain = str(topology.chain_ids[residue])[:1] or " "
        name = _atom_name(str(topology.atom_names[i]), symbols[i])
        group = str(topology.residue_names[residue])[:3]
        lines.append(
            f"ATOM  {(i + 1) % 100000:5d} {name} {group:>3s} "
            f"{chain}{int(topology.residue_ids[residue]) % 10000:4d}    "
            f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbols[i].upper():>2s}\n"
        )
    return lines


def _atom_name(name: str, symbol: str) -> str:
    """A name in its four columns: the element's symbol ends in the second."""
    if len(name) >= 4 or len(symbol) == 2:
        return f"{name[:4]:<4s}"
    return f" {name:<3s}"
