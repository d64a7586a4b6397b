# SPDX-License-Identifier: Apache-2.0
"""The command `quiltmd`: flags in, library calls, results on stdout, all else on stderr.

No logic lives here.  Errors made for the user end in one line and a non-zero exit; anything else is
a defect and keeps its traceback.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..engine.execution import DeviceName, choose_device
from ..errors import QuiltError
from ..inputs.standard_systems import SYSTEMS
from ..outputs.checkpoint import digest as digest_of
from ..outputs.checkpoint import read_checkpoint
from ..running import runner
from ..running.config import build_config, merge, read_config
from ..running.progress import console
from ..version import package_version
from . import bench as benchmarks
from . import demo as demonstration
from . import information
from .energy import evaluate

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_INTERRUPTED = 130  # exit code of a program stopped by Ctrl-C

Ranks = Annotated[int | None, typer.Option(help="Workers that share the patches.")]
Threads = Annotated[int | None, typer.Option(help="Threads per rank; default: share all cores.")]
Device = Annotated[
    DeviceName | None, typer.Option(help="auto (a usable GPU, else the CPU), cpu or cuda.")
]
Cutoff = Annotated[float | None, typer.Option(help="Direct-space and Lennard-Jones cutoff, nm.")]
PmeOrder = Annotated[int | None, typer.Option(help="Order of the PME splines, 4 or 5.")]
PmeTolerance = Annotated[
    float | None, typer.Option(help="Relative force error that sets alpha and grid.")
]
PmeAlpha = Annotated[float | None, typer.Option(help="Ewald alpha, 1/nm; with --pme-grid.")]
PmeGrid = Annotated[str | None, typer.Option(help="Charge grid NX,NY,NZ; with --pme-alpha.")]
Dispersion = Annotated[
    bool | None,
    typer.Option("--dispersion-correction/--no-dispersion-correction", help="Lennard-Jones tail."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(package_version())
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Quilt: molecular dynamics of biomolecules."""


@app.command()
def energy(
    topology: Annotated[Path, typer.Argument(help="Amber prmtop.")],
    coordinates: Annotated[Path, typer.Argument(help="Amber inpcrd, rst7 or NetCDF restart.")],
    cutoff: Cutoff = 0.9,
    pme_order: PmeOrder = None,
    pme_tolerance: PmeTolerance = 5e-4,
    pme_alpha: PmeAlpha = None,
    pme_grid: PmeGrid = None,
    dispersion_correction: Dispersion = True,
    ranks: Ranks = 1,
    threads: Threads = None,
    device: Device = "cpu",
    as_json: AsJson = False,
    forces: Annotated[
        Path | None, typer.Option(help="Save forces here: .npy, (atoms, 3), kJ/mol/nm.")
    ] = None,
) -> None:
    """Energies (kJ/mol) and forces of one structure."""
    settings = _nonbonded_flags(
        cutoff, pme_order, pme_tolerance, pme_alpha, pme_grid, dispersion_correction
    )
    execution = {("run", "ranks"): ranks, ("run", "threads"): threads, ("run", "device"): device}
    config = build_config(
        merge(
            {
                "system": {"topology": topology, "coordinates": coordinates, "constraints": "none"},
                "run": {"steps": 0},
                "output": {"dir": "."},
            },
            settings | execution,
        )
    )
    result = evaluate(config, forces)
    if as_json:
        print(json.dumps(result))
    else:
        information.print_energies(result)


@app.command()
def run(
    config: Annotated[Path | None, typer.Argument(help="Settings in TOML; flags win.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Carry on the run in this folder.")] = None,
    topology: Annotated[Path | None, typer.Option(help="Amber prmtop.")] = None,
    coordinates: Annotated[
        Path | None, typer.Option(help="Amber inpcrd, rst7 or NetCDF restart.")
    ] = None,
    minimize: Annotated[
        bool | None, typer.Option("--minimize/--no-minimize", help="Minimise first.")
    ] = None,
    ensemble: Annotated[Literal["nve", "nvt"] | None, typer.Option(help="nve or nvt.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Of the bath and the start velocities, K.")
    ] = None,
    friction: Annotated[float | None, typer.Option(help="Langevin friction, 1/ps.")] = None,
    timestep: Annotated[float | None, typer.Option(help="ps.")] = None,
    long_range_every: Annotated[
        int | None, typer.Option(help="Steps between impulses of PME's mesh.")
    ] = None,
    hmr: Annotated[
        bool | None, typer.Option("--hmr/--no-hmr", help="Heavy hydrogens, for 4 fs steps.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps in all.")] = None,
    cutoff: Cutoff = None,
    pme_order: PmeOrder = None,
    pme_tolerance: PmeTolerance = None,
    pme_alpha: PmeAlpha = None,
    pme_grid: PmeGrid = None,
    dispersion_correction: Dispersion = None,
    seed: Annotated[int | None, typer.Option(help="Of velocities and random forces.")] = None,
    ranks: Ranks = None,
    threads: Threads = None,
    device: Device = None,
    balance: Annotated[
        bool | None, typer.Option("--balance/--no-balance", help="Balance load among ranks.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    log_every: Annotated[int | None, typer.Option(help="Steps; 0 = never.")] = None,
    trajectory_every: Annotated[int | None, typer.Option(help="Steps; 0 = never.")] = None,
    checkpoint_every: Annotated[int | None, typer.Option(help="Steps; 0 = at the end.")] = None,
    profile: Annotated[
        bool | None,
        typer.Option("--profile/--no-profile", help="Show where the time of a stretch goes."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that is in the folder.")
    ] = False,
) -> None:
    """Run a simulation from a TOML file, from flags, or on from a checkpoint.

    With --resume only --steps, --ranks, --threads, --device, --balance and --profile may change.
    """
    execution = {
        ("run", "steps"): steps,
        ("run", "ranks"): ranks,
        ("run", "threads"): threads,
        ("run", "device"): device,
        ("run", "balance"): balance,
        ("output", "profile"): profile,
    }
    physics = {
        ("system", "topology"): topology,
        ("system", "coordinates"): coordinates,
        ("system", "hmr"): hmr,
        ("run", "minimize"): minimize,
        ("integrator", "ensemble"): ensemble,
        ("integrator", "temperature"): temperature,
        ("integrator", "friction"): friction,
        ("integrator", "timestep"): timestep,
        ("integrator", "long_range_every"): long_range_every,
        ("integrator", "seed"): seed,
        ("output", "dir"): out,
        ("output", "log_every"): log_every,
        ("output", "trajectory_every"): trajectory_every,
        ("output", "checkpoint_every"): checkpoint_every,
    } | _nonbonded_flags(
        cutoff, pme_order, pme_tolerance, pme_alpha, pme_grid, dispersion_correction
    )
    if resume is not None:
        _refuse_with_resume(config, physics, overwrite)
        outcome = runner.resume(resume, execution)
    else:
        if config is None and topology is None:
            raise QuiltError(
                "nothing to run: give a configuration file, or --topology and the rest"
            )
        settings = read_config(config) if config is not None else {}
        source = str(config) if config is not None else ""
        outcome = runner.start(
            build_config(merge(settings, physics | execution), source), overwrite
        )
    if outcome.interrupted:
        raise typer.Exit(_INTERRUPTED)


@app.command()
def info(as_json: AsJson = False) -> None:
    """What this installation is made of and what it runs on."""
    _print(information.describe_installation(), as_json)


@app.command()
def devices(as_json: AsJson = False) -> None:
    """The devices that simulations can run on."""
    found = information.describe_devices()
    if as_json:
        print(json.dumps(found))
    else:
        information.print_devices(found)


@app.command()
def bench(
    system: Annotated[
        str | None, typer.Option(help="One of: " + ", ".join(SYSTEMS) + "; default: dhfr.")
    ] = None,
    tile: Annotated[
        str | None, typer.Option(help="Copies along a, b, c, such as 2x2x1; default: one.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Timed steps; 0 = about ten seconds.")] = 0,
    long_range_every: Annotated[
        int, typer.Option(min=1, help="Steps between impulses of PME's mesh.")
    ] = 1,
    ranks: Ranks = 1,
    threads: Threads = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Speed on a standard system, and where the time goes.

    On a GPU, without --system and --tile, a table of DHFR in several sizes up to a million atoms.
    """
    plain = not system and not tile and ranks in (None, 1)
    if plain and choose_device(device or "auto") == "cuda":
        results = benchmarks.bench_gpu(steps, long_range_every=long_range_every)
        if as_json:
            print(json.dumps(results))
        else:
            benchmarks.print_results(results)
        return
    result = benchmarks.bench(
        system or "dhfr",
        benchmarks.parse_tile(tile or "1x1x1"),
        steps,
        long_range_every=long_range_every,
        ranks=ranks or 1,
        threads=threads,
        device=device or "auto",
    )
    if as_json:
        print(json.dumps(result))
    else:
        benchmarks.print_result(result)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    seconds: Annotated[float, typer.Option(help="About how long the dynamics may take.")] = 60.0,
    device: Device = "auto",
) -> None:
    """A protein in water, from input files to a plot."""
    demonstration.demo(out, seconds, device or "auto")


@app.command()
def digest(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint, or the folder of a run.")],
) -> None:
    """SHA-256 of a checkpoint's step, box, positions and velocities."""
    path = checkpoint / "checkpoint.qmd" if checkpoint.is_dir() else checkpoint
    print(digest_of(read_checkpoint(path).state))


def main() -> None:
    """Entry point: runs a command; errors made for the user become one line and exit code 1."""
    try:
        app()
    except QuiltError as error:
        _fail(str(error))
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        _fail(f"{name}{error.strerror or error}")
    except MemoryError:
        _fail("out of memory: the system is too large for this machine")


def _fail(message: str) -> None:
    console.print(f"error: {message}", markup=False, style="bold red")
    sys.exit(1)


def _print(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(facts))
    else:
        information.print_facts(facts)


def _nonbonded_flags(
    cutoff: float | None,
    order: int | None,
    tolerance: float | None,
    alpha: float | None,
    grid: str | None,
    dispersion_correction: bool | None,
) -> dict[tuple[str, str], Any]:
    flags = {
        "cutoff": cutoff,
        "pme_order": order,
        "pme_tolerance": tolerance,
        "pme_alpha": alpha,
        "pme_grid": _parse_grid(grid),
        "dispersion_correction": dispersion_correction,
    }
    return {("nonbonded", key): value for key, value in flags.items()}


def _parse_grid(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isdigit() for part in parts):
        raise QuiltError(f"--pme-grid: expected three whole numbers NX,NY,NZ, found {text!r}")
    return [int(part) for part in parts]


def _refuse_with_resume(
    config: Path | None, physics: dict[tuple[str, str], Any], overwrite: bool
) -> None:
    """A resumed run takes its settings from its folder; saying otherwise is a mistake."""
    given = [f"{section}.{key}" for (section, key), value in physics.items() if value is not None]
    if config is not None:
        given.append(str(config))
    if overwrite:
        given.append("--overwrite")
    if given:
        names = ", ".join(given)
        raise QuiltError(f"--resume takes its settings from the run's folder; leave out {names}")
