# SPDX-License-Identifier: Apache-2.0
"""`quiltmd energy`: one structure, its energies and forces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..description.integrators import VelocityVerlet
from ..description.overlaps import check_overlaps
from ..engine.core import EngineFactory, make_engine
from ..errors import QuiltError
from ..inputs import load
from ..outputs.files import writing
from ..running.config import Config
from ..running.simulation import Simulation

_TERMS = ("bond", "angle", "torsion", "nonbonded", "potential")
_LARGEST_FORCE = 1e6  # kJ/mol/nm; a pair of atoms that exerts more is counted as exerting 2^20
_PARTS = ("lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion")


def evaluate(
    config: Config, forces: Path | None = None, engine: EngineFactory = make_engine
) -> dict[str, Any]:
    """Number of atoms, energies and virial (3, 3), kJ/mol; saves forces where asked.

    Forces are (N, 3), kJ/mol/nm.  The virial is that of `Simulation.virial`.

    Raises QuiltError where atoms overlap so much that a force leaves the range of the accumulators.
    """
    system, state = load(
        config.system.topology, config.system.coordinates, constraints=config.system.constraints
    )
    check_overlaps(system, state)
    run = config.run
    simulation = Simulation(
        system,
        state,
        config.nonbonded,
        VelocityVerlet(),
        device=run.device,
        ranks=run.ranks,
        threads=run.threads,
        engine=engine,
    )
    energies = simulation.energies()
    values = simulation.forces()
    largest = np.abs(values).max(axis=1)
    if not largest.max() < _LARGEST_FORCE:
        worst = system.topology.describe(int(largest.argmax()))
        raise QuiltError(f"{worst} overlaps with another atom: the force on it is out of range")
    if forces is not None:
        with writing(forces), open(forces, "wb") as file:
            np.save(file, values)
    return {
        "atoms": system.atoms,
        "energy": {term: energies[term] for term in (*_TERMS, *_PARTS)},
        "virial": simulation.virial().tolist(),
    }
