# SPDX-License-Identifier: Apache-2.0
"""GRO files: positions, velocities and box in text, molecules whole and in the cell."""

from __future__ import annotations

import os

import numpy as np

from ..outputs.columns import check_columns, within_columns
from ..outputs.files import replace_file
from ..outputs.readout import Readout, path_first
from ..outputs.wrapping import wrapped

_RESIDUES = range(-9_999, 100_000)


@path_first
def write_gro(path: str | os.PathLike[str], simulation: Readout) -> None:
    """Writes positions and velocities as GRO, GROMACS's format: to 0.001 nm and 0.0001 nm/ps.

    Numbers of atoms and residues beyond 99,999 start again from 0, as in GROMACS.  QuiltError where
    a coordinate or a velocity is too large for its columns.
    """
    state, topology = simulation.state(), simulation.system.topology
    positions = wrapped(simulation)
    check_columns(positions, 8, 3, "coordinates in a GRO file")
    check_columns(state.velocities, 8, 4, "velocities in a GRO file")
    residues = topology.residue_of_atom
    names = [str(name)[:5] for name in topology.atom_names]
    lines = [f"quiltmd, t= {simulation.time:.5f} step= {simulation.step}\n{len(names):5d}\n"]
    for i, (place, speed) in enumerate(
        zip(positions.tolist(), state.velocities.tolist(), strict=True)
    ):
        residue = residues[i]
        number = within_columns(int(topology.residue_ids[residue]), _RESIDUES)
        lines.append(
            f"{number:5d}{str(topology.residue_names[residue])[:5]:<5s}{names[i]:>5s}"
            f"{(i + 1) % 100_000:5d}"
            + "".join(f"{value:8.3f}" for value in place)
            + "".join(f"{value:8.4f}" for value in speed)
            + "\n"
        )
    a, b, c = np.zeros((3, 3)) if simulation.box is None else simulation.box
    cell = (a[0], b[1], c[2], a[1], a[2], b[0], b[2], c[0], c[1])
    lines.append(" ".join(f"{value:10.5f}" for value in cell) + "\n")
    replace_file(path, "".join(lines).encode("ascii", errors="replace"))
