# SPDX-License-Identifier: Apache-2.0
"""`quiltmd energy`: one structure, its energies and forces."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from ..description.integrators import VelocityVerlet
from ..description.overlaps import check_overlaps
from ..description.state import State
from ..description.system import System
from ..engine.core import EngineFactory
from ..errors import QuiltError
from ..inputs import count_frames
from ..inputs.frames import read_frames
from ..outputs.files import replace_file
from ..running.config import Config, build_config, merge
from ..running.progress import warn
from ..running.run_inputs import load_system
from ..running.simulation import Simulation
from ..workers.factory import make_engine
from .arguments import InputFiles, with_all_inputs
from .options import Settings, with_settings
from .sectioned_command import AsJson
from .tables import show_table

# Always listed, around those kinds of bonded terms that a system may lack: terms, then their sums.
_FIRST = ("bond", "angle", "torsion")
_LAST = ("lj", "lj14", "coulomb", "coulomb14", "pme", "dispersion", "nonbonded", "potential")
_OF_MOTION = ("kinetic", "total", "heat", "conserved")


@with_settings(
    "system.topology",
    "system.coordinates",
    "system.parameters",
    "system.defines",
    "system.box",
    "system.rigid_water",
    "nonbonded",
    "solvent",
    "run.ranks",
    "run.threads",
    "run.device",
    defaults={("run", "device"): "cpu"},
)
def energy(
    settings: Settings,
    files: InputFiles = None,
    forces: Annotated[
        Path | None,
        typer.Option(metavar="OUT.npy", help="Save forces: float64 (atoms, 3), kJ/mol/nm."),
    ] = None,
    frame: Annotated[
        int | None,
        typer.Option(
            help="Frame of a trajectory, counted from 0, or from the end if negative; default: the "
            "first."
        ),
    ] = None,
    all_frames: Annotated[
        bool,
        typer.Option(
            "--all-frames", help="Evaluate every frame; forces are then (frames, atoms, 3)."
        ),
    ] = False,
    trajectory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Evaluate every frame of a trajectory (DCD, XTC, TRR, NetCDF, ...) and print CSV; "
            "if it has no box, the box of COORDINATES is used.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the energy terms of a structure or trajectory, kJ/mol.

    For a trajectory choose one frame (--frame) or all (--all-frames, --trajectory).  With
    all frames, --json prints a list with an object for each frame.
    """
    if (trajectory is not None) + all_frames + (frame is not None) > 1:
        raise QuiltError("give one of --frame, --all-frames and --trajectory")
    run: dict[str, Any] = {"run": {"steps": 0}, "output": {"dir": "."}}
    run["system"] = {"constraints": "none"}
    config = build_config(merge(run, with_all_inputs(files, settings)))
    coordinates = config.system.coordinates
    if trajectory is not None:
        _rerun(config, trajectory, forces, as_json)
        return
    count = count_frames(coordinates)
    if count > 1 and frame is None and not all_frames:
        warn(
            f"{coordinates} has {count} frames; these are the energies of frame 0 (for others: "
            f"--frame, --all-frames)"
        )
    wanted = range(count) if all_frames else [frame or 0]
    found = [evaluate(config, frame=number) for number in wanted]
    if forces is not None:
        values = [one["forces"] for one in found]
        _save(forces, np.array(values) if all_frames else values[0])
    results = [{key: one[key] for key in ("atoms", "energy", "virial")} for one in found]
    if as_json:
        print(json.dumps(results if all_frames else results[0]))
    else:
        for number, result in zip(wanted, results, strict=True):
            _print_energies(result, f", frame {number}" if count > 1 else "")


def _save(path: Path, array: NDArray[np.float64]) -> None:
    content = io.BytesIO()
    np.save(content, array)
    replace_file(path, content.getvalue())


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

    Raises QuiltError if atoms overlap so much that a force leaves the range of the accumulators.
    """
    return _read_off(_simulation(config, *load_system(config, frame), engine))


def evaluate_trajectory(
    config: Config, trajectory: Path, engine: EngineFactory = make_engine
) -> Iterator[dict[str, Any]]:
    """Result of `evaluate`, and time (ps), for each frame of a trajectory.

    Ewald coefficient and PME grid are those of the first frame's box for all of them, as in a run.
    """
    system, state = load_system(config)
    simulation = None
    for number, frame in enumerate(read_frames(trajectory, system.atoms)):
        box = state.box if frame.box is None else frame.box
        try:
            now = State.start(system, frame.positions, box)
            if simulation is None:
                simulation = _simulation(config, system, now, engine)
            simulation.set_state(now)
            yield {"time": frame.time, **_read_off(simulation)}
        except QuiltError as error:
            raise QuiltError(f"{trajectory}, frame {number}: {error}") from None


def _rerun(config: Config, trajectory: Path, forces: Path | None, as_json: bool) -> None:
    """Prints the energies of a trajectory, frame by frame."""
    results, kept = [], []
    columns: list[str] = []
    for number, found in enumerate(evaluate_trajectory(config, trajectory)):
        values = found.pop("forces")
        if forces is not None:
            kept.append(values)
        if as_json:
            results.append(found)
            continue
        if not columns:
            columns = list(found["energy"])
            print(",".join(("frame", "time", *columns)))
        energies = ",".join(f"{found['energy'][name]:.6f}" for name in columns)
        print(f"{number},{found['time']:.6f},{energies}")
    if as_json:
        print(json.dumps(results))
    if forces is not None:
        _save(forces, np.array(kept))


def _simulation(config: Config, system: System, state: State, engine: EngineFactory) -> Simulation:
    check_overlaps(system, state)
    run = config.run
    return Simulation(
        system,
        state,
        config.following(system).nonbonded,
        VelocityVerlet(),
        device=run.device,
        ranks=run.ranks,
        threads=run.threads,
        external=[section.build() for section in config.external],
        engine=engine,
    )


def _read_off(simulation: Simulation) -> dict[str, Any]:
    energies = simulation.energies()
    return {
        "atoms": simulation.system.atoms,
        "forces": simulation.forces(),
        "energy": {term: energies[term] for term in _told(energies)},
        "virial": simulation.virial().tolist(),
    }


def _told(energies: dict[str, float]) -> list[str]:
    """Names of energies in their order: all but those of motion and of kinds without a term."""
    known = {*_FIRST, *_LAST, *_OF_MOTION}
    others = [term for term, value in energies.items() if term not in known and value != 0]
    return [*_FIRST, *others, *_LAST]
