# SPDX-License-Identifier: Apache-2.0
"""Coordinates, box and names from PDB and mmCIF files.

PDB lines are read by their columns, all at once, and atoms by their order: serial numbers beyond
99,999 are written in many ways, and none of them matters here.

Sources: wwpdb.org, "PDB File Format v3.3" (ATOM, CRYST1) and the PDBx/mmCIF dictionary.
"""

from __future__ import annotations

import re

import gemmi
import numpy as np
import numpy.typing as npt

from ..description.box import box_from_lengths_angles
from ..description.topology import Topology
from ..errors import InputError
from .fixed_width import Columns, decoded, read_bytes
from .formats import CoordinateFormat, Coordinates, Expected
from .units import ANGSTROM
from .words import real, residue_number

F64 = npt.NDArray[np.float64]

_PDB_START = re.compile(
    rb"\s*(HEADER|TITLE |COMPND|SOURCE|KEYWDS|EXPDTA|AUTHOR|REVDAT|REMARK|SEQRES|HELIX |SHEET |"
    rb"CRYST1|ORIGX|SCALE|MODEL |ATOM  |HETATM|SPLIT |CAVEAT|NUMMDL|JRNL  |DBREF|SSBOND|LINK  )"
)
_ATOM = (b"ATOM  ", b"HETATM")


def is_pdb(head: bytes) -> bool:
    """Whether a file that begins so is in PDB format."""
    return bool(_PDB_START.match(head))


def is_mmcif(head: bytes) -> bool:
    """Whether a file that begins so is in mmCIF format."""
    lines = (line for line in head.splitlines() if line.strip() and not line.startswith(b"#"))
    return next(lines, b"").lower().startswith(b"data_")


def read_pdb(file: str, expected: Expected) -> Coordinates:
    """Coordinates of one model of a PDB file."""
    lines = read_bytes(file).split(b"\n")
    numbers = _models(lines)[expected.frame]
    chosen = [lines[number] for number in numbers]
    if len(chosen) != expected.atoms:
        others = sum(line[16:17] not in b" A" for line in chosen)
        hint = f"; {others} of them are alternate locations (column 17): keep one of each atom"
        raise InputError(
            f"{len(chosen)} atoms, but the topology has {expected.atoms}{hint if others else ''}",
            file=file,
        )
    block = _Lines(file, "coordinates", 1, [line[30:54] for line in chosen], 3, 8, 3, numbers)
    positions = block.numbers(3 * len(chosen), float).reshape(-1, 3) * ANGSTROM
    names = decoded(line[12:16] for line in chosen)
    box = _cell(file, lines, numbers) if expected.box else None
    return Coordinates(positions, None, box, names)


def read_mmcif(file: str, expected: Expected) -> Coordinates:
    """Coordinates of one model of an mmCIF file."""
    block, columns, models = _mmcif_atoms(file)
    if not models:
        raise InputError("has no coordinates", file=file)
    model = list(dict.fromkeys(models))[expected.frame]
    chosen = [k for k, other in enumerate(models) if other == model]
    try:
        values = np.array([[real(columns[d][k].split("(")[0]) for d in range(3)] for k in chosen])
    except ValueError as error:
        raise InputError(f"_atom_site: {error}", file=file) from None
    names = np.array([gemmi.cif.as_string(columns[3][k]) for k in chosen])
    box = _mmcif_cell(file, block) if expected.box else None
    return Coordinates(values.reshape(-1, 3) * ANGSTROM, None, box, names)


def _mmcif_atoms(file: str) -> tuple[gemmi.cif.Block, list[list[str]], list[str]]:
    """The data, and of each atom x, y, z and name, and the model that it belongs to."""
    try:
        block = gemmi.cif.read_string(read_bytes(file).decode("latin-1"))[0]
        table = block.find("_atom_site.", ["Cartn_x", "Cartn_y", "Cartn_z", "label_atom_id"])
        models = list(block.find_values("_atom_site.pdbx_PDB_model_num")) or ["1"] * len(table)
        return block, [list(table.column(k)) for k in range(4)], models
    except (ValueError, RuntimeError, IndexError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"damaged mmCIF file: {text}", file=file) from None


def read_pdb_names(file: str, frame: int) -> Topology:
    """Names of the atoms and residues in one model of a PDB file, without elements."""
    lines = read_bytes(file).split(b"\n")
    chosen = [lines[number] for number in _models(lines)[frame]]
    fields = (slice(12, 16), slice(17, 21), slice(22, 27), slice(21, 22), slice(72, 76))
    return _topology(*(decoded(line[field] for line in chosen) for field in fields))


def read_mmcif_names(file: str, frame: int) -> Topology:
    """Names of the atoms and residues in one model of an mmCIF file, without elements."""
    block, _, models = _mmcif_atoms(file)
    model = list(dict.fromkeys(models))[frame]

    def column(*names: str) -> npt.NDArray[np.str_]:
        found = next(
            (c for c in (list(block.find_values(f"_atom_site.{n}")) for n in names) if c), []
        )
        values = found or ["?"] * len(models)
        chosen = zip(values, models, strict=True)
        return np.array([gemmi.cif.as_string(value) for value, other in chosen if other == model])

    return _topology(
        column("label_atom_id"),
        column("auth_comp_id", "label_comp_id"),
        column("auth_seq_id", "label_seq_id"),
        column("auth_asym_id", "label_asym_id"),
        column("pdbx_PDB_ins_code"),
    )


def _topology(
    atoms: npt.NDArray[np.str_],
    residues: npt.NDArray[np.str_],
    numbers: npt.NDArray[np.str_],
    chains: npt.NDArray[np.str_],
    other: npt.NDArray[np.str_],
) -> Topology:
    """Residues begin where one of these names (N,) changes; `other`: segment or insertion code."""
    begins = np.zeros(len(atoms), bool)
    begins[:1] = True
    for names in (residues, numbers, chains, other):
        begins[1:] |= names[1:] != names[:-1]
    return Topology(
        atom_names=atoms,
        elements=np.zeros(len(atoms), np.int32),
        residue_of_atom=(np.cumsum(begins) - 1).astype(np.int32),
        residue_names=residues[begins],
        residue_ids=np.array([residue_number(text) for text in numbers[begins]], np.int32),
        chain_ids=chains[begins],
    )


class _Lines(Columns):
    """Columns of lines that do not follow one another in the file."""

    def __init__(self, *columns: object) -> None:
        super().__init__(*columns[:-1])  # type: ignore[arg-type]
        object.__setattr__(self, "numbers_of_lines", columns[-1])

    def line_of(self, index: int) -> int:
        """Line of the file where value `index` stands."""
        at: int = self.numbers_of_lines[index // self.per_line]  # type: ignore[attr-defined]
        return at + 1


def _models(lines: list[bytes]) -> list[list[int]]:
    """The numbers of the lines with atoms, for each model."""
    models: list[list[int]] = [[]]
    for number, line in enumerate(lines):
        if line.startswith(_ATOM):
            models[-1].append(number)
        elif line.startswith(b"MODEL ") and models[-1]:
            models.append([])
    return models if models[-1] or len(models) == 1 else models[:-1]


def _cell(file: str, lines: list[bytes], atoms: list[int]) -> F64 | None:
    """The box of the model of these lines: the last one before them."""
    cells = [k for k, line in enumerate(lines) if line.startswith(b"CRYST1")]
    before = [k for k in cells if not atoms or k < atoms[0]]
    if cells and not before:
        message = "CRYST1 stands after the atoms that it is the box of: move it before them"
        raise InputError(message, file=file, line=cells[0] + 1)
    if not before:
        return None
    line = lines[before[-1]]
    edges = [line[start : start + 9] for start in (6, 15, 24)]
    angles = [line[start : start + 7] for start in (33, 40, 47)]
    numbers = Columns(file, "CRYST1", before[-1] + 1, [b"".join(edges)], 3, 9).numbers(3, float)
    turns = Columns(file, "CRYST1", before[-1] + 1, [b"".join(angles)], 3, 7).numbers(3, float)
    try:
        return _box(numbers.tolist(), turns.tolist())
    except InputError as error:
        raise InputError(f"CRYST1: {error}", file=file, line=before[-1] + 1) from None


def _mmcif_cell(file: str, block: gemmi.cif.Block) -> F64 | None:
    lengths = ("length_a", "length_b", "length_c")
    angles = ("angle_alpha", "angle_beta", "angle_gamma")
    found = [block.find_value(f"_cell.{name}") for name in (*lengths, *angles)]
    missing = [
        name
        for name, value in zip((*lengths, *angles), found, strict=True)
        if value in (None, "?", ".")
    ]
    if len(missing) == len(found):
        return None
    if missing:
        raise InputError(f"incomplete box: _cell.{missing[0]} is missing", file=file)
    try:
        numbers = [real(value.split("(")[0]) for value in found]
        return _box(numbers[:3], numbers[3:])
    except (ValueError, InputError) as error:
        raise InputError(f"_cell: {error}", file=file) from None


def _box(edges: list[float], angles: list[float]) -> F64 | None:
    """The box; None for what files without one say: zeros, or a cube of 1 angstrom."""
    if not any(edges) or edges == [1.0, 1.0, 1.0]:
        return None
    return box_from_lengths_angles(np.array(edges) * ANGSTROM, angles)


def _count_models(file: str) -> int:
    return len(_models(read_bytes(file).split(b"\n")))


def _count_mmcif_models(file: str) -> int:
    return len(set(_mmcif_atoms(file)[2]))


PDB = CoordinateFormat(
    "PDB", is_pdb, read_pdb, _count_models, of_velocities=1.0, names=read_pdb_names
)  # A/ps
MMCIF = CoordinateFormat("mmCIF", is_mmcif, read_mmcif, _count_mmcif_models, names=read_mmcif_names)
