# SPDX-License-Identifier: Apache-2.0
"""A profile of a run that goes on from its last checkpoint, and leaves the run as it is."""

from __future__ import annotations

from typing import Any

from ..engine.core import EngineFactory
from ..engine.places import device_in_words
from ..outputs.checkpoint import read_latest
from ..workers.factory import make_engine
from .config import build_config, merge
from .folder import Folder
from .profiling import Profile, run_profiled
from .progress import say
from .run_inputs import find_inputs, load_system
from .runner import make_simulation

_MANY = 10**9  # steps: as many as a profile wants


def profile_run(
    folder: Folder,
    flags: dict[tuple[str, str], Any],
    steps: int | None = None,
    engine: EngineFactory = make_engine,
) -> Profile:
    """Profiles the steps after the last checkpoint of a run, as they would run with `flags`.

    Parameters
    ----------
    folder:
        Folder of the run; its files are not changed.
    flags:
        Settings of [run] that differ: ranks, threads, device, balance, transport, mesh.
    steps:
        Number of steps to record after a warm-up; by default ten pair-list lifetimes.
    engine:
        As for `Simulation`.

    Raises
    ------
    QuiltError
        If the folder holds no run with a checkpoint, or its inputs are missing.
    """
    settings = merge(folder.settings_of_run(), {**flags, ("output", "dir"): folder.path})
    config = build_config(settings, str(folder.config))
    find_inputs(config, folder)
    state = read_latest(folder.checkpoint)[0].state
    simulation = make_simulation(config, load_system(config)[0], state, engine)
    ranks = "1 rank" if simulation.ranks == 1 else f"{simulation.ranks} ranks"
    say(f"profiling from step {state.step} on {device_in_words(simulation.device)}, {ranks}")
    return run_profiled(simulation, _MANY, stretch=steps)
