# SPDX-License-Identifier: Apache-2.0
"""Ethane turns into methanol, in water and in vacuum, beside both of them vanishing in water.

    python benchmarks/relative_hydration.py FreeSolv [options of freesolv.py]

The difference of the two free energies of the hybrid is the relative hydration free energy, and so
is that of the hydration free energies of methanol and ethane, which freesolv.py calculates.  Only
the heavy atoms are mapped: hydrogens have constraints of other lengths.  Results are in
benchmarks/notes/alchemy.md.
"""

from __future__ import annotations

import argparse
import json
import math
import time

import numpy as np
from freesolv import (
    KJ_PER_KCAL,
    entries_by_name,
    hydrate,
    options,
    read_molecule,
    sampled,
    solvated,
)

from quiltmd.running.statistics import Estimated

FIRST, LAST, MAPPING = "ethane", "methanol", [[0, 0], [1, 1]]
# More towards the end, where the hydrogens of ethane leave their place to water.
LAMBDAS = [*np.linspace(0, 0.9, 10).round(1).tolist(), 0.94, 0.97, 0.99, 1.0]


def less(one: Estimated, other: Estimated) -> Estimated:
    """The difference of two independent estimates."""
    return Estimated(one.value - other.value, math.hypot(one.error, other.error))


def turned(given: argparse.Namespace, waters: int, numbers: dict[str, str]) -> Estimated:
    """Free energy of the hybrid in so many waters, kJ/mol."""
    own = argparse.Namespace(**{**vars(given), "waters": waters})
    folder = given.out / ("hybrid-in-water" if waters else "hybrid-in-vacuum")
    alone = folder / LAST
    alone.mkdir(parents=True, exist_ok=True)
    (folder / "mapping.json").write_text(json.dumps(MAPPING), encoding="utf-8")
    topology, coordinates = solvated(read_molecule(given.data, numbers[LAST]), 0, alone)
    alchemy = {
        **dict.fromkeys(("coulomb", "vdw", "bonded"), LAMBDAS),
        "second": {
            "topology": str(topology),
            "coordinates": str(coordinates),
            "mapping": str(folder / "mapping.json"),
        },
    }
    files = solvated(read_molecule(given.data, numbers[FIRST]), waters, folder)
    found = sampled(own, files, alchemy, folder)
    gone = found.mbar[-1]
    print(
        f"  with {waters} waters: {gone.value:.2f} +- {gone.error:.2f} kJ/mol, smallest overlap "
        f"{found.neighbour_overlaps().min():.2f}",
        flush=True,
    )
    return gone


def main() -> None:
    """Prints both values."""
    given = options(__doc__).parse_args()
    given.out = given.out.resolve()
    entries = entries_by_name(given.data)
    numbers = {name: entries[name][0] for name in (FIRST, LAST)}
    absolute, theirs = {}, {}
    for name, number in numbers.items():
        begin = time.perf_counter()
        gone = hydrate(given, name, number).mbar[-1]
        absolute[name] = Estimated(-gone.value, gone.error)
        theirs[name] = KJ_PER_KCAL * float(entries[name][1]["calc"])
        print(
            f"{name}: {absolute[name].value:.2f} +- {absolute[name].error:.2f} kJ/mol, FreeSolv "
            f"{theirs[name]:.2f}; {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
    begin = time.perf_counter()
    legs = [turned(given, waters, numbers) for waters in (given.waters, 0)]
    by_hybrid = less(*legs)
    print(f"hybrid: {by_hybrid.value:.2f} +- {by_hybrid.error:.2f} kJ/mol", end="")
    print(f"; {time.perf_counter() - begin:.0f} s")
    by_difference = less(absolute[LAST], absolute[FIRST])
    print(f"difference: {by_difference.value:.2f} +- {by_difference.error:.2f} kJ/mol", end="")
    print(f", FreeSolv {theirs[LAST] - theirs[FIRST]:.2f}")
    gap = less(by_hybrid, by_difference)
    print(f"gap: {gap.value:.2f} kJ/mol, {abs(gap.value) / gap.error:.1f} standard errors")


if __name__ == "__main__":
    main()
