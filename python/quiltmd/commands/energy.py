# SPDX-License-Identifier: Apache-2.0
"""`quiltmd energy`: one structure, its energies and forces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from ..description.integrators import VelocityVerlet
from ..description.overlaps import check_overlaps
from ..engine.core import EngineFactory, make_engine
from ..inputs import load
from ..outputs.files import writing
from ..running.config import Config, build_config, merge
from ..running.simulation import Simulation
from .options import AsJson, Settings, with_settings
from .tables import show_table

_TERMS = ("bond", "angle", "torsion", "nonbonded", "potential")
_PARTS = ("lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion")


@with_settings(
    "nonbonded", "run.ranks", "run.threads", "run.device", defaults={("run", "device"): "cpu"}
)
def energy(
    settings: Settings,
    topology: Annotated[Path, typer.Argument(help="Amber prmtop (parm7).")],
    coordinates: Annotated[Path, typer.Argument(help="Amber inpcrd, rst7 or NetCDF restart.")],
    forces: Annotated[
        Path | None,
        typer.Option(metavar="OUT.npy", help="Save forces: float64 (atoms, 3), kJ/mol/nm."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Energies of one structure by term, kJ/mol, and its forces."""
    files = {"topology": topology, "coordinates": coordinates, "constraints": "none"}
    run: dict[str, Any] = {"system": files, "run": {"steps": 0}, "output": {"dir": "."}}
    result = evaluate(build_config(merge(run, settings)), forces)
    if as_json:
        print(json.dumps(result))
    else:
        _print_energies(result)


def _print_energies(result: dict[str, Any]) -> None:
    table = Table("term", "kJ/mol", title=f"{result['atoms']} atoms", title_justify="left")
    table.columns[1].justify = "right"
    for term, value in result["energy"].items():
        table.add_row(term, f"{value:.6f}")
    show_table(table)


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
    if forces is not None:
        with writing(forces), open(forces, "wb") as file:
            np.save(file, values)
    return {
        "atoms": system.atoms,
        "energy": {term: energies[term] for term in (*_TERMS, *_PARTS)},
        "virial": simulation.virial().tolist(),
    }
