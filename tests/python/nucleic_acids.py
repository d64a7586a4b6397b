# SPDX-License-Identifier: Apache-2.0
"""PDB files of heavy atoms: the Dickerson-Drew dodecamer as DNA, and as the RNA of its sequence."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

_RNA = {"DA": "A", "DC": "C", "DG": "G", "DT": "U"}
_C_O = 1.41  # Å


def dna() -> list[str]:
    """ATOM lines of 4C64, one place of each atom, without water and ions."""
    spec = find_spec("openmmtools")
    assert spec is not None and spec.origin is not None  # noqa: PT018
    data = Path(spec.origin).parent / "data" / "dna_dodecamer_explicit"
    lines = (data / "4c64_no_mg.pdb").read_text().splitlines()
    return [
        f"{line[:16]} {line[17:]}" for line in lines if line.startswith("ATOM") and line[16] in " A"
    ]


def rna() -> list[str]:
    """The DNA with uracil instead of thymine and a 2'-hydroxyl in each sugar."""
    residues: dict[str, list[str]] = {}
    for line in dna():
        residues.setdefault(line[21:26], []).append(line)
    found = []
    for lines in residues.values():
        named = {line[12:16].strip(): line for line in lines}
        kept = [line for line in lines if line[12:16].strip() != "C7"]
        after = 1 + next(k for k, line in enumerate(kept) if line[12:16].strip() == "C2'")
        kept.insert(after, _hydroxyl(named))
        found += [f"{line[:17]}{_RNA[line[17:20].strip()]:>3}{line[20:]}" for line in kept]
    return found


def _hydroxyl(atoms: dict[str, str]) -> str:
    """The line of O2', on a free corner of the tetrahedron around C2', on the side of O3'."""
    middle, *others = (_place(atoms[name]) for name in ("C2'", "C1'", "C3'"))
    arms = [(other - middle) / np.linalg.norm(other - middle) for other in others]
    out = -sum(arms) / np.linalg.norm(sum(arms))
    across = np.cross(*arms) / np.linalg.norm(np.cross(*arms))
    corners = [middle + _C_O * (0.58 * out + side * 0.81 * across) for side in (1, -1)]
    oxygen = _place(atoms["O3'"])
    place = min(corners, key=lambda corner: float(np.linalg.norm(corner - oxygen)))
    line = atoms["C2'"]
    numbers = "".join(f"{x:8.3f}" for x in place)
    return f"{line[:12]} O2'{line[16:30]}{numbers}{line[54:76]} O{line[78:]}"


def _place(line: str) -> np.ndarray:
    return np.array([float(line[k : k + 8]) for k in (30, 38, 46)])


def write_pdb(path: Path, lines: list[str]) -> Path:
    """A PDB file of these lines, with a TER after each chain."""
    text: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        text.append(line)
        if line[21] != following[21:22]:
            text.append("TER")
    path.write_text("\n".join([*text, "END", ""]))
    return path
