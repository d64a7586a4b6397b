# SPDX-License-Identifier: Apache-2.0
"""One structure, its energies and forces: `quiltmd energy`, and the reference to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .config import Config
from .engine import EngineFactory, load_core, make_engine
from .errors import QuiltError
from .files import writing
from .inputs import load
from .integrators import VelocityVerlet
from .nonbonded import Nonbonded
from .overlaps import check_overlaps
from .simulation import Simulation
from .state import State
from .system import System

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


def reference(
    system: System, state: State, nonbonded: Nonbonded | None = None
) -> tuple[dict[str, float], NDArray[np.float64]]:
    """Energies and forces in double precision by plain loops: slow, to compare with.

    `reference_virial` gives the virial.

    Returns
    -------
    Energies by term, kJ/mol, named as in `Simulation.energies`; forces (N, 3), kJ/mol/nm.
    """
    result = _reference(system, state, nonbonded)
    return result["energies"], result["forces"]


def reference_virial(
    system: System, state: State, nonbonded: Nonbonded | None = None
) -> NDArray[np.float64]:
    """Virial (3, 3), kJ/mol, in double precision by plain loops: see `Simulation.virial`."""
    virial: NDArray[np.float64] = _reference(system, state, nonbonded)["virial"]
    return virial


def _reference(system: System, state: State, nonbonded: Nonbonded | None) -> dict[str, Any]:
    settings = (nonbonded or Nonbonded()).resolve(state.box)
    result: dict[str, Any] = load_core().reference(
        system.arrays(), settings, state.box, state.positions
    )
    return result
