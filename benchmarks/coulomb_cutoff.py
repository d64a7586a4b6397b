# SPDX-License-Identifier: Apache-2.0
"""Coulomb cutoffs shorter than that of Lennard-Jones: speed, forces and bits of DHFR in water.

    python benchmarks/coulomb_cutoff.py [--tiles 1x1x1,2x2x1,4x4x1,3x3x5] [--cutoffs 0.9,0.7]
        [--places cuda:0 cuda:0,0] [--errors 0.9,0.7] [--seconds 0.7] [--minutes 6] [--json FILE]

A cutoff may be followed by the order of PME (0.7/5).  First, with each cutoff: the relative error
of forces of the reference against a converged sum, that of the kernels against the reference before
and after some steps, and digests after 2,000 steps in each place.  Then us per step of every size
and cutoff in turn.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from provenance import provenance

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation
from quiltmd.commands.bench import parse_tile
from quiltmd.inputs import load
from quiltmd.inputs.standard_systems import system_files
from quiltmd.running.benchmark import time_steps
from quiltmd.running.config import REPARTITIONED_HYDROGEN_MASS

CUTOFF = 0.9  # nm, of Lennard-Jones
TILES = "1x1x1,2x2x1,4x4x1,3x3x5"
CUTOFFS = "0.9,0.8,0.75,0.7,0.65,0.6"
Row = dict[str, Any]


def settings(choice: str) -> Nonbonded:
    cutoff, _, order = choice.partition("/")
    return Nonbonded(
        cutoff=CUTOFF,
        coulomb_cutoff=float(cutoff),
        pme_order=int(order) if order else None,  # type: ignore[arg-type]
    )


def relative(forces: Any, exact: Any) -> float:
    return float(np.linalg.norm(forces - exact) / np.linalg.norm(exact))


def errors(choices: list[str], places: list[str]) -> Iterator[Row]:
    system, state = dhfr()
    tight = Nonbonded(cutoff=CUTOFF, pme_order=5, pme_tolerance=2e-6, pme_split="gaussian")
    exact = quiltmd.reference(system, state, tight)[1]
    for choice in choices:
        nonbonded = settings(choice)
        row: Row = {"coulomb_cutoff": choice, "digests": {}}
        energies, forces = quiltmd.reference(system, state, nonbonded)
        row["error"] = relative(forces, exact)
        for place in places:
            simulation = Simulation(
                system, state, nonbonded, LangevinMiddle(timestep=0.004, seed=1), device=place
            )
            row["kernels"] = relative(simulation.forces(), forces)
            found = simulation.energies()["potential"]
            row["energy"] = found - energies["potential"]
            simulation.draw_velocities(300, 3)
            simulation.run(2007)
            if "kernels_later" not in row:
                there = quiltmd.reference(system, simulation.state(), nonbonded)[1]
                row["kernels_later"] = relative(simulation.forces(), there)
            row["digests"][place] = quiltmd.digest(simulation.state())[:16]
        yield row


def speed(tile: tuple[int, int, int], choice: str, options: argparse.Namespace) -> Row:
    system, state = dhfr()
    nonbonded, tiled = settings(choice), state.tile(*tile)
    integrator = LangevinMiddle(timestep=0.004, seed=0)
    simulation = Simulation(
        system.tile(*tile), tiled, nonbonded, integrator, device=options.places[0]
    )
    simulation.draw_velocities(300)
    simulation.run(400)
    steps = max(100, round(100 * options.seconds / 3 / time_steps(simulation, 100)))
    times = sorted(1e6 * time_steps(simulation, steps) / steps for _ in range(3))
    described = simulation.describe()
    return {
        "atoms": simulation.system.atoms,
        "coulomb_cutoff": choice,
        "grid": nonbonded.resolve(tiled.box)["pme_grid"],
        "us_per_step": round(times[1], 1),
        "list_entries": described["list_entries"],
    }


def dhfr() -> tuple[quiltmd.System, quiltmd.State]:
    return load(
        *system_files("dhfr"), constraints="h-bonds", hydrogen_mass=REPARTITIONED_HYDROGEN_MASS
    )


def rows(options: argparse.Namespace) -> Iterator[Row]:
    begin, choices = time.monotonic(), options.cutoffs.split(",")
    yield from errors([c for c in options.errors.split(",") if c], options.places)
    for tile in map(parse_tile, options.tiles.split(",")):
        for choice in choices:
            if time.monotonic() - begin < 60 * options.minutes:
                yield speed(tile, choice, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tiles", default=TILES)
    parser.add_argument("--cutoffs", default=CUTOFFS)
    parser.add_argument("--places", nargs="+", default=["cuda:0", "cuda:0,0"])
    parser.add_argument("--errors", default="0.9,0.7", help="cutoffs whose forces are compared")
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for row in rows(options):
        found.append(row)
        print(json.dumps(row), flush=True)
        if options.json:
            text = json.dumps({"provenance": provenance(), "rows": found}, indent=1)
            options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
