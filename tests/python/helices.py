# SPDX-License-Identifier: Apache-2.0
"""GROMACS files of helices whose beads are joined by constraints, in a solvent, like Martini's.

A helix has a bead of backbone for each residue, at 100 degrees and 0.15 nm from the one before, and
side chains on some of them: chains of constraints, all of them in one hydrogen group.
"""

from __future__ import annotations

from pathlib import Path

import coarse_grained
import numpy as np
from numpy.typing import NDArray

RESIDUES, SIDE_CHAINS, HELICES = 11, 4, 3
BEADS = RESIDUES + SIDE_CHAINS
BOX = np.array([8.6, 3.4, 3.4])
SPACING, APART = 0.48, 0.44  # nm, of beads of solvent, and from the helices
RISE, RADIUS, OUT, LENGTH = 0.15, 0.177, 0.3, 0.31
TURN = np.radians(100)


def shape() -> NDArray[np.float64]:
    """(BEADS, 3) nm: backbone along x, then side chains."""
    turns = TURN * np.arange(RESIDUES)
    circle = np.stack([0 * turns, np.cos(turns), np.sin(turns)], axis=1)
    backbone = RADIUS * circle + RISE * np.arange(RESIDUES)[:, None] * [1, 0, 0]
    side = (RADIUS + OUT) * circle + RISE * np.arange(RESIDUES)[:, None] * [1, 0, 0]
    return np.concatenate([backbone, side[1::3][:SIDE_CHAINS]])


def held() -> list[tuple[int, int, float]]:
    """Pairs of beads, counted from 0, and how far apart they are, nm."""
    chain = [(k, k + 1, LENGTH) for k in range(RESIDUES - 1)]
    return chain + [(1 + 3 * k, RESIDUES + k, OUT) for k in range(SIDE_CHAINS)]


def molecule(section: str) -> str:
    """The type of molecule, held by a [ constraints ] or [ bonds ] section."""
    atoms = "".join(
        f"{k + 1} {'H' if k < RESIDUES else 'S'} {k + 1} HLX B{k + 1} {k + 1} 0\n"
        for k in range(BEADS)
    )
    stiffness = "5000" if section == "bonds" else ""
    pairs = "".join(f"{i + 1} {j + 1} 1 {length} {stiffness}\n" for i, j, length in held())
    chain = range(1, RESIDUES + 1)
    angles = "".join(f"{k} {k + 1} {k + 2} 2 96 700\n" for k in chain[:-2])
    dihedrals = "".join(f"{k} {k + 1} {k + 2} {k + 3} 1 -120 400 1\n" for k in chain[:-3])
    return (
        f"[ moleculetype ]\nHLX 1\n[ atoms ]\n{atoms}[ {section} ]\n{pairs}"
        f"[ angles ]\n{angles}[ dihedrals ]\n{dihedrals}"
    )


def write(
    folder: Path, section: str = "constraints", edges: NDArray[np.float64] = BOX
) -> tuple[Path, Path]:
    """helices.top and helices.gro in a folder, of a box with these edges, nm."""
    corner = np.array([0.6, edges[1] / 2, edges[2] / 2])
    step = np.array([edges[0] / HELICES, 0, 0])
    beads = np.concatenate([corner + k * step + shape() for k in range(HELICES)])
    counts = (edges / SPACING).astype(int)
    lattice = edges / counts * (np.stack(np.indices(counts), -1).reshape(-1, 3) + 0.5)
    apart = np.linalg.norm(lattice[:, None] - beads, axis=2).min(axis=1)
    solvent = lattice[apart > APART]
    before, after = coarse_grained.topology(0).split("[ moleculetype ]\nLIP", 1)
    assert "SOLV" in before
    assert after
    (folder / "helices.top").write_text(
        f"{before}{molecule(section)}[ system ]\nhelices\n[ molecules ]\n"
        f"HLX {HELICES}\nSOLV {len(solvent)}\n"
    )
    places = np.concatenate([beads, solvent])
    names = [f"B{k + 1}" for k in range(BEADS)] * HELICES + ["W"] * len(solvent)
    lines = [
        f"{1:5d}{'MOL':<5s}{name:>5s}{(k + 1) % 100000:5d}" + "".join(f"{x:11.6f}" for x in place)
        for k, (name, place) in enumerate(zip(names, places, strict=True))
    ]
    box = "".join(f"{edge:10.5f}" for edge in edges)
    text = "\n".join(["helices", str(len(names)), *lines, box, ""])
    (folder / "helices.gro").write_text(text)
    return folder / "helices.top", folder / "helices.gro"
