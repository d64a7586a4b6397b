# SPDX-License-Identifier: Apache-2.0
"""Single structures: mmCIF and PDB.

mmCIF holds systems of any size.  More programs open PDB, but its columns are too narrow for
large systems: `pdb_limit` says whether one fits.  Molecules are whole, their centres in the cell.
"""

from __future__ import annotations

import os

import gemmi
import numpy as np
from numpy.typing import NDArray

from ..description.box import lengths_angles
from ..description.elements import SYMBOLS
from ..description.selection import select as select_atoms
from .columns import check_columns, fit_columns, within_columns
from .files import replace_file
from .readout import Readout, path_first
from .wrapping import wrapped

_ANGSTROM = 10.0  # per nm
_PDB_ATOMS = 99_999
_PDB_RESIDUES = range(-999, 10_000)
_Atoms = NDArray[np.int64]


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


def pdb_limit(simulation: Readout, select: str = "all") -> str | None:
    """Why these atoms do not fit the columns of a PDB file; None where they do.

    Parameters
    ----------
    simulation:
        The simulation whose structure is written.
    select:
        Atoms to write: a selection, as for `quiltmd.select`.
    """
    topology = simulation.system.topology
    atoms = select_atoms(simulation.system, select)
    residues = np.unique(topology.residue_of_atom[atoms])
    if len(atoms) > _PDB_ATOMS:
        return f"PDB files number no more than {_PDB_ATOMS} atoms"
    numbers = topology.residue_ids[residues]
    if numbers.max() > _PDB_RESIDUES[-1]:
        return f"PDB files number no more than {_PDB_RESIDUES[-1]} residues"
    if numbers.min() < _PDB_RESIDUES[0]:
        return f"PDB files have no room for residue numbers below {_PDB_RESIDUES[0]}"
    if np.char.str_len(topology.residue_names[residues].astype(str)).max() > 3:
        return "PDB files name residues with three letters"
    if not fit_columns(wrapped(simulation)[atoms] * _ANGSTROM, 8, 3):
        return "PDB files have no room for coordinates as large as these"
    if not fit_columns(lengths_angles(simulation.box)[0] * _ANGSTROM, 9, 3):
        return "PDB files have no room for a box as large as this"
    return None


@path_first
def write_pdb(path: str | os.PathLike[str], simulation: Readout, select: str = "all") -> None:
    """Writes positions as PDB.

    Serial numbers beyond 99,999 and residue numbers beyond 9,999 start again from 0, which some
    programs misread; `write_cif` has no such limits.

    Parameters
    ----------
    path:
        The file.
    simulation:
        The simulation whose structure is written.
    select:
        Atoms to write: a selection, as for `quiltmd.select`.

    Raises
    ------
    QuiltError
        If the box or a coordinate is too large for its columns.
    """
    lengths, angles = lengths_angles(simulation.box)
    check_columns(lengths * _ANGSTROM, 9, 3, "the box in a PDB file")
    edges = "".join(f"{length * _ANGSTROM:9.3f}" for length in lengths)
    corners = "".join(f"{angle:7.2f}" for angle in angles)
    step, time = simulation.step, simulation.time
    head = f"REMARK  quiltmd, step {step}, time {time:.4f} ps\n"
    if simulation.box is not None:
        head += f"CRYST1{edges}{corners} P 1           1\n"
    lines = [head, *_atom_lines(simulation, select_atoms(simulation.system, select)), "END\n"]
    replace_file(path, "".join(lines).encode("ascii", errors="replace"))


@path_first
def write_cif(path: str | os.PathLike[str], simulation: Readout, select: str = "all") -> None:
    """Writes positions as mmCIF; residues without a named chain are in chain A.

    Parameters
    ----------
    path, simulation, select:
        As for `write_pdb`.
    """
    document = gemmi.cif.Document()
    block = document.add_new_block("quiltmd")
    block.set_pair("_struct.title", gemmi.cif.quote(f"quiltmd, step {simulation.step}"))
    if simulation.box is not None:
        _describe_cell(block, simulation.box)
    table = block.init_loop("_atom_site.", list(_CIF_COLUMNS))
    table.set_all_values(_cif_columns(simulation, select_atoms(simulation.system, select)))
    replace_file(path, document.as_string().encode("utf-8"))


def _describe_cell(block: gemmi.cif.Block, box: NDArray[np.float64]) -> None:
    lengths, angles = lengths_angles(box)
    for name, length in zip("abc", lengths, strict=True):
        block.set_pair(f"_cell.length_{name}", f"{length * _ANGSTROM:.5f}")
    for name, angle in zip(("alpha", "beta", "gamma"), angles, strict=True):
        block.set_pair(f"_cell.angle_{name}", f"{angle:.5f}")
    block.set_pair("_symmetry.space_group_name_H-M", "'P 1'")


def _cif_columns(simulation: Readout, atoms: _Atoms) -> list[list[str]]:
    topology = simulation.system.topology
    count = len(atoms)
    positions = wrapped(simulation)[atoms] * _ANGSTROM
    quote = {text: gemmi.cif.quote(text) for text in set(topology.atom_names.tolist())}
    names = [quote[name] for name in topology.atom_names[atoms].tolist()]
    groups = [gemmi.cif.quote(str(name)) for name in topology.residue_names]
    chains = [gemmi.cif.quote(str(chain)) if chain else "A" for chain in topology.chain_ids]
    numbers = [str(number) for number in topology.residue_ids.tolist()]
    residues = topology.residue_of_atom[atoms].tolist()
    chain = [chains[residue] for residue in residues]
    number = [numbers[residue] for residue in residues]
    return [
        ["ATOM"] * count,
        [str(i + 1) for i in range(count)],
        [SYMBOLS[element] or "X" for element in topology.elements[atoms].tolist()],
        names,
        ["."] * count,
        [groups[residue] for residue in residues],
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


def _atom_lines(simulation: Readout, atoms: _Atoms) -> list[str]:
    topology = simulation.system.topology
    positions = wrapped(simulation)[atoms] * _ANGSTROM
    check_columns(positions, 8, 3, "coordinates in a PDB file")
    lines = []
    for serial, (atom, (x, y, z)) in enumerate(
        zip(atoms.tolist(), positions.tolist(), strict=True), 1
    ):
        residue = int(topology.residue_of_atom[atom])
        symbol = SYMBOLS[topology.elements[atom]]
        chain = str(topology.chain_ids[residue])[:1] or " "
        name = _atom_name(str(topology.atom_names[atom]), symbol)
        group = str(topology.residue_names[residue])[:3]
        number = within_columns(int(topology.residue_ids[residue]), _PDB_RESIDUES)
        lines.append(
            f"ATOM  {serial % (_PDB_ATOMS + 1):5d} {name} {group:>3s} {chain}{number:4d}    "
            f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbol.upper():>2s}\n"
        )
    return lines


def _atom_name(name: str, symbol: str) -> str:
    """A name in its four columns: the element's symbol ends in the second."""
    if len(name) >= 4 or len(symbol) == 2:
        return f"{name[:4]:<4s}"
    return f" {name:<3s}"
