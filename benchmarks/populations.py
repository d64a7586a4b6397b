# SPDX-License-Identifier: Apache-2.0
"""Populations of alanine dipeptide's conformations: replica exchange against one long run.

    python benchmarks/populations.py [--long 40] [--replicas 10] [--plot FILE]
        [--out benchmarks/results/populations.json]

In implicit solvent (OBC2), of files that openmmtools brings.  The long run and the exchange are
done beside each other, a thread each.  Both begin in the same conformation.  Errors are standard
errors of the means of ten blocks; the plot (`--plot`) is the free energy of both by phi and psi.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from provenance import provenance

import quiltmd
from quiltmd import LangevinMiddle, ReplicaExchange, Simulation
from quiltmd.description.settings import BOLTZMANN
from quiltmd.exchange.states import geometric
from quiltmd.running.config import REPARTITIONED_HYDROGEN_MASS

TIMESTEP = 0.004  # ps
EVERY = 250  # steps between frames, and between swaps
WARM_UP = 100  # frames that do not count
BLOCKS = 10
TEMPERATURES = geometric(300.0, 600.0, 4)
# Quadruplets of atoms C-N-CA-C and N-CA-C-N of ACE-ALA-NME as Amber orders them.
PHI, PSI = (4, 6, 8, 14), (6, 8, 14, 16)
BASINS = ("extended", "right-handed", "left-handed")

Angles = NDArray[np.float64]


def start() -> tuple[quiltmd.System, quiltmd.State]:
    """The minimised molecule."""
    spec = find_spec("openmmtools")
    if spec is None or spec.origin is None:
        raise SystemExit("openmmtools, which has the molecule's files, is not installed")
    folder = Path(spec.origin).parent / "data" / "alanine-dipeptide-gbsa"
    system, state = quiltmd.load(
        folder / "alanine-dipeptide.prmtop",
        folder / "alanine-dipeptide.crd",
        constraints="h-bonds",
        hydrogen_mass=REPARTITIONED_HYDROGEN_MASS,
        solvent=quiltmd.ImplicitSolvent("obc2"),
    )
    simulation = Simulation(system, state, device="cpu", threads=1)
    simulation.minimize(max_iterations=100)
    return system, simulation.state()


def dihedral(positions: NDArray[np.float64], atoms: tuple[int, int, int, int]) -> float:
    """Degrees, IUPAC's sign."""
    a, b, c, d = positions[list(atoms)]
    first, axis, last = b - a, c - b, d - c
    across, along = np.cross(first, axis), np.cross(axis, last)
    sine = np.linalg.norm(axis) * np.dot(first, along)
    return float(np.degrees(np.arctan2(sine, np.dot(across, along))))


def angles(state: quiltmd.State) -> tuple[float, float]:
    """Phi and psi."""
    return dihedral(state.positions, PHI), dihedral(state.positions, PSI)


def long_run(frames: int) -> tuple[Angles, float]:
    """Phi and psi (frames, 2) of one simulation at the lowest temperature, and seconds."""
    system, state = start()
    integrator = LangevinMiddle(timestep=TIMESTEP, temperature=TEMPERATURES[0], seed=1)
    simulation = Simulation(system, state, integrator=integrator, device="cpu", threads=1)
    simulation.draw_velocities(TEMPERATURES[0], 1)
    found = []
    begin = time.perf_counter()
    for _ in range(WARM_UP + frames):
        simulation.run(EVERY)
        found.append(angles(simulation.state()))
    return np.array(found[WARM_UP:]), time.perf_counter() - begin


def exchange(frames: int) -> tuple[Angles, float, float]:
    """The same of the lowest state of an exchange, and the share of frames with another walker."""
    system, state = start()
    made = ReplicaExchange(
        system,
        state,
        quiltmd.temperature_states(TEMPERATURES),
        every=EVERY,
        seed=2,
        integrator=LangevinMiddle(timestep=TIMESTEP),
        devices=("cpu",),
        threads=1,
    )
    made.draw_velocities()
    found, walkers = [], []

    def record(iteration: Any) -> None:
        found.append(angles(made.simulations[0].state()))
        walkers.append(int(iteration.walkers[0]))

    begin = time.perf_counter()
    made.run(WARM_UP + frames, record=record)
    seconds = time.perf_counter() - begin
    return np.array(found[WARM_UP:]), seconds, float(np.mean(np.diff(walkers) != 0))


def basins(found: Angles) -> NDArray[np.int64]:
    """The index in BASINS of each frame."""
    phi, psi = found.T
    left = (phi > 0) & (phi < 150)
    right = ~left & (psi > -120) & (psi < 50)
    return np.where(left, 2, np.where(right, 1, 0))


def populations(found: Angles) -> dict[str, Any]:
    """Of each basin: its share and its standard error, by blocks; and how often it was entered."""
    index = basins(found)
    rows = {}
    for k, name in enumerate(BASINS):
        inside = index == k
        means = [block.mean() for block in np.array_split(inside, BLOCKS)]
        rows[name] = {
            "population": round(float(inside.mean()), 5),
            "error": round(float(np.std(means, ddof=1) / BLOCKS**0.5), 5),
            "entered": int(np.sum(inside[1:] & ~inside[:-1])),
        }
    return rows


def draw(path: Path, found: dict[str, Angles]) -> None:
    """Free energies of both by phi and psi."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(found), figsize=(9, 4), sharey=True)
    edges = np.linspace(-180, 180, 61)
    for axis, (name, values) in zip(axes, found.items(), strict=True):
        density = np.histogram2d(*values.T, bins=(edges, edges))[0].T
        free = -BOLTZMANN * TEMPERATURES[0] * np.log(np.where(density > 0, density, np.nan))
        shown = axis.pcolormesh(edges, edges, free - np.nanmin(free), vmin=0, vmax=20)
        axis.set(title=name, xlabel="phi (degrees)")
    axes[0].set_ylabel("psi (degrees)")
    figure.colorbar(shown, ax=axes, label="free energy (kJ/mol)")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--long", type=float, default=40.0, help="ns of the long run")
    parser.add_argument("--replicas", type=float, default=10.0, help="ns of each replica")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    frames = [round(1000 * ns / (EVERY * TIMESTEP)) for ns in (chosen.long, chosen.replicas)]
    with ProcessPoolExecutor(2) as pool:
        alone, together = pool.submit(long_run, frames[0]), pool.submit(exchange, frames[1])
        one, one_seconds = alone.result()
        many, many_seconds, swapped = together.result()
    result = {
        "provenance": provenance(),
        "temperatures": [round(value, 2) for value in TEMPERATURES],
        "long_run": {"ns": chosen.long, "seconds": round(one_seconds, 1), **populations(one)},
        "exchange": {
            "ns_each": chosen.replicas,
            "seconds": round(many_seconds, 1),
            "walker_changed": round(swapped, 3),
            **populations(many),
        },
    }
    text = json.dumps(result, indent=1)
    print(text)
    if chosen.out:
        chosen.out.write_text(text + "\n")
    if chosen.plot:
        draw(chosen.plot, {"long run": one, "replica exchange": many})


if __name__ == "__main__":
    main()
