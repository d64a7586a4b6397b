# SPDX-License-Identifier: Apache-2.0
"""`quiltmd demo`: a real protein in water, from input files to a plot.

A short first stretch measures this machine's speed; then the same run is resumed for as many steps
as fit the time allowed.  So the demo takes about as long on a laptop as on a GPU, and shows what a
user does every day: run, look, continue.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from ..description.units import Seconds
from ..engine.core import EngineFactory
from ..engine.execution import DeviceName
from ..inputs.standard_systems import SYSTEMS, system_files
from ..outputs.files import writing
from ..pages.charts import Chart
from ..pages.charts import picture as draw
from ..running import runner
from ..running.config import build_config
from ..running.progress import say
from ..running.records import read_log
from ..workers.factory import make_engine
from .declared import declared
from .options import Settings, with_settings
from .run import exit_as_stopped

_SYSTEM = "demo"
_FIRST_STEPS = 100
_LOG_EVERY = 10
_TIMESTEP = 0.004  # ps
_TEMPERATURE = 300.0  # K
_MOST_STEPS = 50_000
_Duration = Annotated[Seconds, Field(ge=0)]


@with_settings("run.device")
def demo(
    settings: Settings,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    seconds: Annotated[
        float, declared(_Duration, "Approximate wall-clock time of the dynamics, s.")
    ] = 15.0,
) -> None:
    """Simulate a protein in water and plot its energies."""
    exit_as_stopped(run_demo(out, seconds, settings.get(("run", "device"), "auto")))


def run_demo(
    out: Path,
    seconds: float = 15.0,
    device: DeviceName = "auto",
    system: str = _SYSTEM,
    engine: EngineFactory = make_engine,
) -> runner.Outcome:
    """Runs the demo into the folder `out`, which gets `energies.svg` if nothing stops it.

    Parameters
    ----------
    out:
        Made if need be; an earlier demo in it is moved to a subfolder backup.1, backup.2, ...
    seconds:
        About how long the dynamics may take; minimisation and set-up come on top.
    system:
        One of `quiltmd.inputs.standard_systems.SYSTEMS`.
    device, engine:
        As for `Simulation`.
    """
    topology, coordinates = system_files(system)
    say(f"quiltmd demo: {SYSTEMS[system].title}")
    config = build_config(
        {
            "system": {"topology": topology, "coordinates": coordinates, "hmr": True},
            "integrator": {
                "ensemble": "nvt",
                "friction": 2.0,
                "timestep": _TIMESTEP,
                "temperature": _TEMPERATURE,
            },
            "run": {"steps": _FIRST_STEPS, "minimize": True, "device": device},
            "output": {"dir": out, "log_every": _LOG_EVERY, "trajectory_every": 50},
        }
    )
    outcome = runner.start(config, overwrite=True, engine=engine)
    steps = _affordable_steps(seconds, outcome.speed)
    if steps > outcome.step and not outcome.interrupted:
        outcome = runner.resume(out, {("run", "steps"): steps}, engine)
    if outcome.interrupted:
        return outcome
    picture = out / "energies.svg"
    with writing(picture):
        plot_log(out / "log.csv", picture, SYSTEMS[system].title)
    _tell(out)
    return outcome


def plot_log(log: Path, picture: Path, title: str) -> None:
    """Draws energy and temperature of a log.csv over time, as SVG."""
    column = read_log(log)
    of_start = column["conserved"] - column["conserved"][0]
    charts = [
        Chart("potential energy", "kJ/mol", column["time"], column["potential"], "ps"),
        Chart("change of the conserved quantity", "kJ/mol", column["time"], of_start, "ps"),
        Chart("temperature", "K", column["time"], column["temperature"], "ps", _TEMPERATURE),
    ]
    picture.write_text(draw(title, charts), encoding="utf-8")


def _affordable_steps(seconds: float, speed: float) -> int:
    """Whole tens of steps that fit `seconds` at `speed` (ns/day)."""
    steps = int(seconds * speed / 86400 / (_TIMESTEP * 1e-3))
    return min(steps, _MOST_STEPS) // _LOG_EVERY * _LOG_EVERY


def _tell(out: Path) -> None:
    say("what is there now:")
    for name, meaning in (
        ("energies.svg", "energies and temperature over time"),
        ("log.csv", "the numbers behind it"),
        ("trajectory.dcd", "frames, for VMD, MDAnalysis or mdtraj, together with final.cif"),
        ("checkpoint.qmd", f"continue with: quiltmd run --resume {out} --steps N"),
    ):
        say(f"  {out / name}: {meaning}")
