# SPDX-License-Identifier: Apache-2.0
"""Crystals with made-up many-body potentials, which are files of LAMMPS."""

from __future__ import annotations

from pathlib import Path

import lammps_crystals
import lammps_figures
import numpy as np
from lammps_figures import METALS

import quiltmd
from quiltmd import State, System, ThreeBodyPotential

READ = {"sw": quiltmd.read_stillinger_weber, "tersoff": quiltmd.read_tersoff}


def metal(folder: Path, name: str, cells: int = 3, displaced: float = 0.15) -> tuple[System, State]:
    """A crystal of one of the made-up potentials."""
    file = folder / name
    file.write_text(lammps_figures.potential(name))
    places, edge = lammps_figures.crystal(cells, displaced=displaced)
    kinds = lammps_figures.types(METALS[name], len(places))
    system = quiltmd.embedded_system(
        quiltmd.read_eam(file), [METALS[name].elements[kind] for kind in kinds]
    )
    return system, State.start(system, places / 10, np.diag([edge / 10] * 3))


def read(folder: Path, style: str) -> ThreeBodyPotential:
    """One of the potentials with made-up parameters."""
    file = folder / style
    file.write_text(lammps_crystals.potential(style))
    return READ[style](file)


def mixed(folder: Path, style: str, cells: int = 2) -> tuple[System, State]:
    """A displaced crystal of two elements."""
    places, edge = lammps_crystals.crystal(cells)
    elements = [lammps_crystals.ELEMENTS[kind] for kind in lammps_crystals.types(len(places))]
    system = quiltmd.three_body_system(read(folder, style), elements)
    return system, State.start(system, places / 10, np.diag([edge / 10] * 3))
