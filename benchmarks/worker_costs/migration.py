# SPDX-License-Identifier: Apache-2.0
"""What lost devices cost, by phase: `python benchmarks/workers.py migration`.

The worker of a simulation is lost, again and again, at steps that are chosen at random; each time
the simulation goes on in a new process on the same device.  Its State at the end must be that of an
undisturbed run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quiltmd.engine.worker_settings import Workers
from quiltmd.errors import QuiltWarning
from quiltmd.outputs.checkpoint import digest
from quiltmd.running.benchmark import prepare
from quiltmd.running.simulation import Simulation
from quiltmd.workers.pool import PHASES, Event

KINDS = ("kill", "drop", "stop", "hang", "sticky")
_CALM = 100  # steps
_SILENCE, _PATIENCE = 2.0, 3.0  # s, so that stopped and hanging workers are soon noticed


def time_faults(
    device: str,
    system: str,
    kinds: Sequence[str],
    faults: int,
    *,
    steps: int = 50,
    seed: int = 1,
    tell: Callable[[str], object] = lambda text: None,
) -> dict[str, Any]:
    """Times what becomes of faults.

    Parameters
    ----------
    device:
        Its name, without a worker.
    system:
        One of those of `quiltmd bench`.
    kinds:
        Among which each is chosen at random: see `quiltmd.engine.injection`.
    faults:
        How many.
    steps:
        Of each stretch, in which there is one.
    seed:
        Of kinds and steps.
    tell:
        Is told how far it is.

    Returns
    -------
    atoms, steps, faults, survived (after how many the run went on), same_bits (as an undisturbed
    run), and rows: kind, number, and by phase the median and the longest, in ms.
    """
    rng = np.random.default_rng(seed)
    chosen = [str(kind) for kind in rng.choice(kinds, faults)]
    disturbed, undisturbed = _simulations(device, system)
    phases: dict[str, list[dict[str, float]]] = {kind: [] for kind in chosen}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuiltWarning)
        for number, kind in enumerate(chosen, 1):
            event = _disturb(
                disturbed, f"{kind}@{disturbed.step + int(rng.integers(steps))}", steps
            )
            phases[kind].append(event.phases)
            tell(f"{number} of {faults}, step {event.step}: {event.text}")
    undisturbed.run(faults * steps)
    return {
        "atoms": disturbed.system.atoms,
        "steps": faults * steps,
        "faults": faults,
        "survived": sum(map(len, phases.values())),
        "same_bits": digest(disturbed.state()) == digest(undisturbed.state()),
        "rows": [
            {"kind": kind, "faults": len(those), **_summary(those)}
            for kind, those in phases.items()
        ],
    }


def _simulations(device: str, system: str) -> tuple[Simulation, Simulation]:
    """Two with the same State: one that outlives faults, and one that has none."""
    undisturbed = prepare(system, device=device)
    workers = Workers(spares=(device,), silence=_SILENCE, patience=_PATIENCE)
    disturbed = Simulation(
        undisturbed.system,
        undisturbed.state(),
        integrator=undisturbed.integrator,
        device=device,
        workers=workers,
    )
    disturbed.run(_CALM)  # so that it is known how long steps take
    undisturbed.run(_CALM)
    return disturbed, undisturbed


def _disturb(simulation: Simulation, fault: str, steps: int) -> Event:
    """Runs with a fault; what the simulation has noted of it."""
    supervisor: Any = simulation._engine
    before = len(supervisor.events)
    supervisor.inject([fault])
    simulation.run(steps)
    events: list[Event] = [event for event in supervisor.events[before:] if event.phases]
    if not events:
        raise RuntimeError(f"{fault} was not noticed")
    return events[-1]


def _summary(those: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Median and longest of each phase, ms."""
    taken = {phase: [1e3 * phases[phase] for phases in those] for phase in PHASES}
    return {
        "median_ms": {phase: float(np.median(values)) for phase, values in taken.items()},
        "longest_ms": {phase: max(values) for phase, values in taken.items()},
    }
