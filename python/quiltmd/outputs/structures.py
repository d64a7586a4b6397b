# SPDX-License-Identifier: Apache-2.0
"""Single structures as files: mmCIF and PDB for looking at, Amber restarts for going on elsewhere.

mmCIF holds systems of any size and is always written.  PDB is what more programs open, but its
columns are too narrow for large systems: `pdb_limit` says whether one fits.
"""

from __future__ import annotations

import io
import os

import gemmi
import numpy as np
from numpy.typing import NDArray
from scipy.io import netcdf_file

from ..description.box import lengths_angles
from ..description.topology import SYMBOLS
from .files import replace_file
from .netcdf import AMBER_VELOCITY
from .readout import Readout
from .wrapping import MoleculeWrapper

_ANGSTROM = 10.0  # per nm
_PDB_ATOMS, _PDB_RESIDUES = 99_999, 9_999
_PDB_LENGTH = 9_900.0  # angstrom: of a box, so that molecules which stick out still have room


_CIF_COLUMNS = (
    "group_PDB",
    "id",
    "type_symbol",
    "label_atom_id",
    "label_alt_id",
    "label_comp_id",
    "label_asym_id",
    "label_entity_id",
    "label_seq_id",
    "Cartn_x",
    "Cartn_y",
    "Cartn_z",
    "occupancy",
    "B_iso_or_equiv",
    "auth_seq_id",
    "auth_asym_id",
    "pdbx_PDB_model_num",
)


def pdb_limit(simulation: Readout) -> str | None:
    """Why the simulation's atoms do not fit the columns of a PDB file; None where they do."""
    topology = simulation.system.topology
    if simulation.system.atoms > _PDB_ATOMS:
        return f"PDB files number no more than {_PDB_ATOMS} atoms"
    if topology.residue_ids.max(initial=0) > _PDB_RESIDUES:
        return f"PDB files number no more than {_PDB_RESIDUES} residues"
    if np.char.str_len(topology.residue_names.astype(str)).max(initial=0) > 3:
        return "PDB files name residues with three letters"
    if lengths_angles(simulation.box)[0].max() * _ANGSTROM >= _PDB_LENGTH:
        return "PDB files have no room for coordinates of this box"
    return None


def write_pdb(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes the simulation's positions, molecules whole and centred in the cell, as PDB.

    Serials above 99,999 and residue numbers above 9,999 start again from 0, which some programs
    misread; `write_cif` has no such limits.
    """
    positions, box = _wrapped(simulation)
    lengths, angles = lengths_angles(box)
    edges = "".join(f"{length * _ANGSTROM:9.3f}" for length in lengths)
    corners = "".join(f"{angle:7.2f}" for angle in angles)
    step, time = simulation.step, simulation.time
    head = f"REMARK  quiltmd, step {step}, time {time:.4f} ps\n"
    head += f"CRYST1{edges}{corners} P 1           1\n"
    lines = [head, *_atom_lines(simulation, positions), "END\n"]
    replace_file(path, "".join(lines).encode("ascii", errors="replace"))


def write_cif(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes the simulation's positions, molecules whole and centred in the cell, as mmCIF.

    A residue that belongs to no named chain is of chain A.
    """
    positions, box = _wrapped(simulation)
    document = gemmi.cif.Document()
    block = document.add_new_block("quiltmd")
    block.set_pair("_struct.title", gemmi.cif.quote(f"quiltmd, step {simulation.step}"))
    lengths, angles = lengths_angles(box)
    for name, length in zip("abc", lengths, strict=True):
        block.set_pair(f"_cell.length_{name}", f"{length * _ANGSTROM:.5f}")
    for name, angle in zip(("alpha", "beta", "gamma"), angles, strict=True):
        block.set_pair(f"_cell.angle_{name}", f"{angle:.5f}")
    block.set_pair("_symmetry.space_group_name_H-M", "'P 1'")
    atoms = block.init_loop("_atom_site.", list(_CIF_COLUMNS))
    atoms.set_all_values(_cif_columns(simulation, positions))
    replace_file(path, document.as_string().encode("utf-8"))


def write_restart(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes the simulation's positions, velocities and box as an Amber NetCDF restart.

    Programs that go by suffixes know it as `.ncrst`.
    """
    state = simulation.state()
    lengths, angles = lengths_angles(state.box)
    data = io.BytesIO()
    with netcdf_file(data, "w", version=2) as file:
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
        velocities = state.velocities * (_ANGSTROM / AMBER_VELOCITY)
        _variable(file, "velocities", ("atom", "spatial"), velocities, "angstrom/picosecond")
        file.variables["velocities"].scale_factor = AMBER_VELOCITY
        _variable(file, "cell_lengths", ("cell_spatial",), lengths * _ANGSTROM, "angstrom")
        _variable(file, "cell_angles", ("cell_angular",), angles, "degree")
        file.flush()
        content = data.getvalue()
    replace_file(path, content)


def _wrapped(simulation: Readout) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions, angstrom, molecules whole and centred in the cell, and the box, nm."""
    state = simulation.state()
    wrapper = MoleculeWrapper(simulation.system.molecules)
    return wrapper.wrap(state.positions, state.box) * _ANGSTROM, state.box


def _cif_columns(simulation: Readout, positions: NDArray[np.float64]) -> list[list[str]]:
    topology = simulation.system.topology
    residues = topology.residue_of_atom
    count = len(residues)
    quote = {text: gemmi.cif.quote(text) for text in set(topology.atom_names.tolist())}
    names = [quote[name] for name in topology.atom_names.tolist()]
    groups = [gemmi.cif.quote(str(name)) for name in topology.residue_names]
    chains = [gemmi.cif.quote(str(chain)) if chain else "A" for chain in topology.chain_ids]
    numbers = [str(number) for number in topology.residue_ids.tolist()]
    of_atom = residues.tolist()
    chain = [chains[residue] for residue in of_atom]
    number = [numbers[residue] for residue in of_atom]
    return [
        ["ATOM"] * count,
        [str(i + 1) for i in range(count)],
        [SYMBOLS[element] or "X" for element in topology.elements.tolist()],
        names,
        ["."] * count,
        [groups[residue] for residue in of_atom],
        chain,
        ["."] * count,
        number,
        *([f"{value:.4f}" for value in column] for column in positions.T.tolist()),
        ["1"] * count,
        ["0"] * count,
        number,
        chain,
        ["1"] * count,
    ]


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
