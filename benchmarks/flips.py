# SPDX-License-Identifier: Apache-2.0
"""Which flipped bits are found: by two devices that are compared, and by the sum of forces.

    python benchmarks/flips.py [--flips 24] [--out benchmarks/results/flips.json]

One bit of an array of the State is flipped in a run of 648 atoms of water on the CPU, at any of its
64 places.  `changed`: the State after the run, or its error, differs from that of an undisturbed
run.  `redundancy`: found by `redundant:` with a device of each kind; `mended`: the State then has
the bits of the undisturbed run.  `force_sum`: the sum of all forces as integers, looked at after
each step until the end of the run, is not zero.  Workers are threads of this process.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from provenance import ROOT, provenance

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, SimulationError, Workers
from quiltmd.engine import core
from quiltmd.engine.injection import BUFFERS
from quiltmd.engine.places import parse_place
from quiltmd.workers.channel import Channel
from quiltmd.workers.client import Connection, WorkerEngine
from quiltmd.workers.session import Session
from quiltmd.workers.supervisor import Supervisor

sys.path.insert(0, str(ROOT / "tests" / "python"))
from boxes import water_box

STEPS, AT = 8, 3  # of the run, and the step of the flip
SYSTEM, STATE = water_box((6, 6, 6))


def channel(end: socket.socket) -> Channel:
    number = end.fileno()
    return Channel(number, number, partial(end.shutdown, socket.SHUT_RDWR))


def redundant(faults: tuple[str, ...], *settings: Any) -> Supervisor:
    """Two workers, threads of this process, that are compared."""
    workers = Workers(inject_fault=faults)

    def begin(place: Any) -> WorkerEngine:
        ours, theirs = socket.socketpair()
        session = Session(channel(theirs), core.make_engine)
        threading.Thread(target=session.serve, daemon=True).start()
        connection = Connection(channel(ours), str(place), lambda: "")
        execution = {"device": "cpu", "threads": 1}
        return WorkerEngine(connection, *settings[:3], execution, workers.patience)

    places = [parse_place("worker:cpu")] * 2
    return Supervisor(places, [], begin, workers)


def simulation(**more: Any) -> Simulation:
    """At its first step, moving."""
    made = Simulation(
        SYSTEM,
        STATE,
        Nonbonded(cutoff=0.8),
        LangevinMiddle(seed=3),
        device="cpu",
        threads=1,
        **more,
    )
    made.draw_velocities(300, 1)
    return made


def flipped(buffer: str, bit: int) -> tuple[str, bool]:
    """The digest or error of a run with a flip; and whether a sum of forces was not zero."""
    one = simulation()
    one.run(AT)
    arrays = one.state().arrays()
    changed = np.array(arrays[buffer])
    changed.reshape(-1).view(np.uint64)[bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
    engine: Any = one._engine
    seen = False
    try:
        engine.set_state(**{**arrays, buffer: changed})
        for _ in range(STEPS - AT):
            engine.run(1)
            seen |= engine.force_sum() != (0, 0, 0)
        state = engine.capture(state=True).state()
    except (SimulationError, quiltmd.QuiltError) as error:
        return str(error), seen
    return quiltmd.digest(quiltmd.State(**state)), seen


def compared(buffer: str, bit: int, device: int) -> tuple[bool, str]:
    """Whether two devices found a flip of one of them, and the digest of where they came."""
    fault = f"flip@{AT}:{device}:{buffer}:{bit}"
    one = simulation(engine=partial(redundant, (fault,)))
    one.run(STEPS)
    engine: Any = one._engine
    return bool(engine.events), quiltmd.digest(one.state())


def row(buffer: str, flips: int, rng: np.random.Generator, undisturbed: str) -> dict[str, Any]:
    """Counts of one array."""
    counts = dict.fromkeys(("changed", "redundancy", "missed", "mended", "force_sum"), 0)
    for k in range(flips):
        bit = int(rng.integers(0, 3 * 64 * SYSTEM.atoms))
        end, seen = flipped(buffer, bit)
        found, digest = compared(buffer, bit, k % 2)
        changed = end != undisturbed
        counts["changed"] += changed
        counts["redundancy"] += found
        counts["missed"] += changed and not found
        counts["mended"] += digest == undisturbed
        counts["force_sum"] += seen
    return {"buffer": buffer, "flips": flips, **counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flips", type=int, default=24, help="of each array")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    reference = simulation()
    reference.run(STEPS)
    rng = np.random.default_rng(1)
    undisturbed = quiltmd.digest(reference.state())
    rows = [row(buffer, chosen.flips, rng, undisturbed) for buffer in BUFFERS]
    for one in rows:
        print(one)
    if chosen.out:
        result = {"provenance": provenance(), "atoms": SYSTEM.atoms, "rows": rows}
        chosen.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
