# SPDX-License-Identifier: Apache-2.0
"""Which bits that flip inside of a run are found: in the device's buffers, and in messages.

    python benchmarks/flips_inside.py [--flips 24] [--out benchmarks/results/flips-inside.json]

A run of 648 atoms of water on two ranks of the CPU, through two rebuilds of the pair lists.  Right
before one launch of one operation, one bit flips in what one of its fields points to, unused room
included; `in.words` is a message that has come.  For each operation of the run and each field that
it reads, so many times (ten times as many where that is a message, most of whose room is empty), at
any bit, launch and rank:

changed      the State after the run is another; or the run ended with
error        an error, or
crash        its process with a signal, or not within ten seconds
redundancy   of the changed, what `redundant:` finds: another digest, an error, the loss of a worker
force_sum    the sum of the forces as integers, looked at in each step, was not zero
silent       changed without an error or a crash; silent_force_sum: of these the sum was not zero

Each run is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import signal
import sys
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from provenance import ROOT, provenance

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation

sys.path.insert(0, str(ROOT / "tests" / "python"))
from boxes import water_box

RANKS, CALM, STEPS = 2, 200, 45  # steps before a run, and of it
OF_MESSAGES = 10  # times as many flips
PATIENCE, MEMORY = 10, 8 << 30  # of a run: seconds, bytes
SYSTEM, STATE = water_box((6, 6, 6))
Flip = tuple[int, str, str, int, int]  # rank, operation, field, launch, bit
Field = tuple[str, str]  # operation, field


# What is told together, by the last part of the fields' names.
BUFFERS = {
    "force accumulators": "force",
    "long-range forces": "long_range",
    "coordinates by slot": "position velocity reference local low from_position "
    "from_velocity origin bounds",
    "where atoms are": "atom patch patches placed records slot_of_atom slot_of atom_count "
    "placed_index slot_count group_count count groups_before slots_before owned_slots tally",
    "pair lists": "lists end entries masks first_list entry_count",
    "grid of charges, spectrum": "grid charges spectrum potential",
    "tables that stay": "charge pair_numbers group_start mass inverse_mass mass_end "
    "constraint_start constraints group_shape shapes start partners moduli planes",
    "tables of patches": "owner owned owned_index computes neighbours numbers computed_here "
    "offsets shifts exact_shifts in_terms",
    "box and conditions": "box conditions",
    "step, sums, energies": "step counter energy heat sums momentum",
    "faults and agreement": "faults faults->refused agreement overdue placed_count placed_terms",
    "counters of messages": "before",
}
MESSAGES = {
    "merge_agreement": "agreement",
    "receive_migrants": "migrants",
    "receive_counts": "proxies",
    "receive_proxies": "proxies",
    "receive_positions": "positions",
    "receive_forces": "forces",
    "add_grid": "charges on the grid",
    "receive_grid": "spectrum, potential",
    "receive_sums": "sums",
}
COUNTS = (
    "flips",
    "changed",
    "error",
    "crash",
    "redundancy",
    "force_sum",
    "silent",
    "silent_force_sum",
)
BUFFER_OF = {field: buffer for buffer, fields in BUFFERS.items() for field in fields.split()}


@dataclass
class Outcome:
    """What became of a run."""

    digest: str = ""
    arrays: bytes = b""
    error: str = ""
    sum_seen: bool = False


def simulation() -> Any:
    return Simulation(
        SYSTEM,
        STATE,
        Nonbonded(cutoff=0.8),
        LangevinMiddle(seed=3, remove_com_every=20),
        device="cpu",
        threads=1,
        ranks=RANKS,
        patch_reach=2,  # 27 patches
    )


def calm() -> dict[str, Any]:
    """The State from which all runs start, in motion."""
    made = simulation()
    made.minimize(tolerance=100)
    made.draw_velocities(300, 1)
    made.run(CALM)
    return dict(made.state().arrays())


def run(start: dict[str, Any], flip: Flip | None) -> Iterator[Outcome]:
    """With such a flip; what is known, as soon as it is."""
    engine = simulation()._engine
    outcome = Outcome()
    try:
        if flip:
            engine.inject_flip(*flip)
        engine.set_state(**start)
        for _ in range(STEPS):
            engine.run(1)
            if not outcome.sum_seen and engine.last_force_sum() != (0, 0, 0):
                outcome.sum_seen = True
                yield outcome
        end = quiltmd.State(**engine.capture(state=True).state())
        outcome.digest = quiltmd.digest(end)
        outcome.arrays = end.positions.tobytes() + end.velocities.tobytes()
    except Exception as error:
        outcome.error = str(error) or repr(error)
    yield outcome


def apart(work: Callable[[], Iterator[Any]]) -> tuple[Any, bool]:
    """What a process of its own yields last, None if nothing; and whether it ended well."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # "double free or corruption"
        try:
            with os.fdopen(writer, "wb") as out:
                for result in work():
                    pickle.dump(result, out)
                    out.flush()
        finally:
            os._exit(0)
    os.close(writer)
    last = None
    with os.fdopen(reader, "rb") as source, suppress(EOFError, pickle.UnpicklingError):
        while True:
            last = pickle.load(source)
    return last, os.waitpid(child, 0)[1] == 0


def choices(start: dict[str, Any], *flip: Any) -> list[str]:
    """The names that the error offers of a flip that names none."""
    outcome, _ = apart(lambda: run(start, flip))
    return outcome.error.partition("choose from ")[2].split(", ") if outcome.error else []


def launches(start: dict[str, Any], rank: int, operation: str) -> int:
    """How many there are in a run."""

    def has(launch: int) -> bool:
        return bool(choices(start, rank, operation, "?", launch, 0))

    return bisect_left(range(1 << 12), True, key=lambda launch: not has(launch))


def flips(start: dict[str, Any], each: int, rng: np.random.Generator) -> dict[Field, list[Flip]]:
    """So many of each field of each operation, at any rank, launch and bit."""
    those: dict[Field, list[Flip]] = {}
    for operation in choices(start, 0, "?", "?", 0, 0):
        fields = [choices(start, rank, operation, "?", 0, 0) for rank in range(RANKS)]
        counts = [launches(start, rank, operation) if fields[rank] else 0 for rank in range(RANKS)]
        for field in sorted({*fields[0], *fields[1]}):
            ranks = [rank for rank in range(RANKS) if field in fields[rank]]
            for rank in rng.choice(ranks, each * (OF_MESSAGES if field == "in.words" else 1)):
                launch, bit = int(rng.integers(counts[rank])), int(rng.integers(1 << 60))
                those.setdefault((operation, field), []).append(
                    (int(rank), operation, field, launch, bit)
                )
    return those


def trial(start: dict[str, Any], undisturbed: Outcome, flip: Flip) -> Counter[str]:
    """What is counted of one flip."""
    outcome, ended = apart(lambda: run(start, flip))
    outcome = outcome or Outcome()
    broken = not ended or bool(outcome.error)
    differs = broken or outcome.arrays != undisturbed.arrays
    found = broken or outcome.digest != undisturbed.digest
    return Counter(
        flips=1,
        changed=differs,
        error=bool(outcome.error),
        crash=not ended,
        redundancy=differs and found,
        force_sum=outcome.sum_seen,
        silent=differs and not broken,
        silent_force_sum=differs and not broken and outcome.sum_seen,
    )


def kind(operation: str, field: str) -> str:
    """The row of the table."""
    if field == "in.words":
        return f"message: {MESSAGES[operation]}"
    return BUFFER_OF[field.split(".")[-1].split("[")[0]]


def table(rows: list[dict[str, Any]]) -> str:
    """Of the kinds of what flipped, in Markdown."""
    kinds = [*BUFFERS, *(f"message: {name}" for name in dict.fromkeys(MESSAGES.values()))]
    lines = [["", *COUNTS], ["---"] * (1 + len(COUNTS))]
    for of in kinds:
        those = [row for row in rows if row["kind"] == of]
        lines.append([of, *(str(sum(row[count] for row in those)) for count in COUNTS)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flips", type=int, default=24, help="of each field of each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(chosen.seed)
    start, _ = apart(lambda: iter([calm()]))
    undisturbed, _ = apart(lambda: run(start, None))
    rows = []
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (operation, field), those in flips(start, chosen.flips, rng).items():
            counts = sum(pool.map(partial(trial, start, undisturbed), those), Counter[str]())
            row = {"kind": kind(operation, field), "operation": operation, "field": field}
            rows.append(row | {count: counts[count] for count in COUNTS})
            print(rows[-1], flush=True)
    print(table(rows))
    if chosen.out:
        result = {"provenance": provenance(), "atoms": SYSTEM.atoms, "rows": rows}
        chosen.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
