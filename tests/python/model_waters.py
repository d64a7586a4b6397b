# SPDX-License-Identifier: Apache-2.0
"""Water of models that have virtual sites, made by OpenMM's force fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
from boxes import water_box
from openmm import app, unit

from quiltmd import State

MODELS = ("tip4pew", "tip5p", "opc")


def model_water(model: str, molecules: tuple[int, int, int], seed: int = 1) -> tuple[Any, State]:
    """An OpenMM System of randomly turned waters on a grid, and a State; to be minimised."""
    bare, start = water_box(molecules, seed)
    topology = app.Topology()
    chain = topology.addChain()
    for _ in range(bare.atoms // 3):
        residue = topology.addResidue("HOH", chain)
        oxygen = topology.addAtom("O", app.element.oxygen, residue)
        for name in ("H1", "H2"):
            topology.addBond(oxygen, topology.addAtom(name, app.element.hydrogen, residue))
    topology.setPeriodicBoxVectors(start.box * unit.nanometer)
    field = app.ForceField(f"{model}.xml")
    modeller = app.Modeller(topology, start.positions * unit.nanometer)
    modeller.addExtraParticles(field)
    made = field.createSystem(
        modeller.topology,
        nonbondedMethod=app.PME,
        nonbondedCutoff=min(0.8, 0.49 * start.box[2, 2]),
        rigidWater=True,
    )
    pairs = next(f for f in made.getForces() if isinstance(f, openmm.NonbondedForce))
    pairs.setPMEParameters(3.8, 45, 45, 45)
    positions = np.array(modeller.positions.value_in_unit(unit.nanometer))
    return made, State(positions, np.zeros_like(positions), start.box)
