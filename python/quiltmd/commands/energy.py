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
from ..errors import QuiltError
from ..inputs import count_frames, load
from ..outputs.files import writing
from ..running.config import Config, build_config, merge
from ..running.progress import warn
from ..running.simulation import Simulation
from .options import AsJson, Settings, with_settings
from .tables import show_table

# Always told, around those kinds of bonded terms that a system may lack.
_FIRST = ("bond", "angle", "torsion")
_LAST = ("nonbonded", "potential", "lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion")
_OF_MOTION = ("kinetic", "total", "heat", "conserved")


@with_settings(
    "system.parameters",
    "system.box",
    "nonbonded",
    "run.ranks",
    "run.threads",
    "run.device",
    defaults={("run", "device"): "cpu"},
)
def energy(
    settings: Settings,
    topology: Annotated[Path, typer.Argument(help="Topology, as for `quiltmd run`.")],
    coordinates: Annotated[Path, typer.Argument(help="Coordinates, as for `quiltmd run`.")],
    forces: Annotated[
        Path | None,
        typer.Option(metavar="OUT.npy", help="Save forces: float64 (atoms, 3), kJ/mol/nm."),
    ] = None,
    frame: Annotated[
        int | None,
        typer.Option(help="Frame of a trajectory, from 0; negative counts from the end."),
    ] = None,
    all_frames: Annotated[
        bool, typer.Option("--all-frames", help="Every frame; forces are (frames, atoms, 3).")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Energies of one structure by term, kJ/mol, and its forces.

    With --all-frames JSON has one object for each frame, in a list.
    """
    if all_frames and frame is not None:
        raise QuiltError("give --frame or --all-frames, not both")
    files = {"topology": topology, "coordinates": coordinates, "constraints": "none"}
    run: dict[str, Any] = {"system": files, "run": {"steps": 0}, "output": {"dir": "."}}
    config = build_config(merge(run, settings))
    count = count_frames(coordinates)
    if count > 1 and frame is None and not all_frames:
        warn(f"{coordinates} has {count} frames, of which this is frame 0 (--frame, --all-frames)")
    wanted = range(count) if all_frames else [frame or 0]
    found = [evaluate(config, frame=number) for number in wanted]
    if forces is not None:
        values = [one["forces"] for one in found]
        with writing(forces), open(forces, "wb") as file:
            np.save(file, np.array(values) if all_frames else values[0])
    results = [{key: one[key] for key in ("atoms", "energy", "virial")} for one in found]
    if as_json:
        print(json.dumps(results if all_frames else results[0]))
    else:
        for number, result in zip(wanted, results, strict=True):
            _print_energies(result, f", frame {number}" if count > 1 else "")


def _print_energies(result: dict[str, Any], of: str) -> None:
    title = f"{result['atoms']} atoms{of}"
    table = Table("term", "kJ/mol", title=title, title_justify="left")
    table.columns[1].justify = "right"
    for term, value in result["energy"].items():
        table.add_row(term, f"{value:.6f}")
    show_table(table)


def evaluate(config: Config, frame: int = 0, engine: EngineFactory = make_engine) -> dict[str, Any]:
    """Number of atoms, energies and virial (3, 3), kJ/mol, and forces (N, 3), kJ/mol/nm.

    The virial is that of `Simulation.virial`.

    Raises QuiltError where atoms overlap so much that a force leaves the range of the accumulators.
    """
    system, state = load(
        config.system.topology,
        config.system.coordinates,
        parameters=config.system.parameters,
        box=config.system.box,
        constraints=config.system.constraints,
        frame=frame,
    )
    check_overlaps(system, state)
    config = config.following(system)
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
    return {
        "atoms": system.atoms,
        "forces": values,
        "energy": {term: energies[term] for term in _told(energies)},
        "virial": simulation.virial().tolist(),
    }


def _told(energies: dict[str, float]) -> list[str]:
    """Names of energies in their order: all but those of motion and of absent kinds of terms."""
    known = {*_FIRST, *_LAST, *_OF_MOTION}
    others = [term for term, value in energies.items() if term not in known and value != 0]
    return [*_FIRST, *others, *_LAST]
