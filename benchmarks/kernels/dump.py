# SPDX-License-Identifier: Apache-2.0
"""Dumps what a run holds, for the programs of the kernel workshop.

    python benchmarks/kernels/dump.py dhfr-2x2x1 build/kernels/dhfr-2x2x1.dump [--steps 5000]

Runs a benchmark system at 300 K and 4 fs with default settings, then writes its arrays, settings
and state.  A dump is a sequence of arrays, each a line "name type count" and then its values as
they lie in memory; dump.h reads it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import benchmark_systems  # noqa: E402
from compare import default_inputs  # noqa: E402

import quiltmd  # noqa: E402
from quiltmd.description.coulomb_cutoff import with_coulomb_cutoff  # noqa: E402

NONBONDED = (
    "cutoff",
    "coulomb_cutoff",
    "pme_alpha",
    "pme_bandwidth",
    "pme_order",
    "pme_grid",
    "pme_window",
)
INTEGRATOR = ("timestep", "temperature", "friction", "constraint_tolerance")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("system", help="as in compare.py: dhfr-3x3x5, water24000, ...")
    parser.add_argument("path", type=Path)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--inputs", type=Path, default=default_inputs())
    options = parser.parse_args()
    single, tile = benchmark_systems.parse(options.system)
    system, state = benchmark_systems.build(single, options.inputs)
    arrays = run(system.tile(*tile), state.tile(*tile), options.steps, options.device)
    options.path.parent.mkdir(parents=True, exist_ok=True)
    write(options.path, arrays)


def run(
    system: quiltmd.System, state: quiltmd.State, steps: int, device: str
) -> dict[str, np.ndarray]:
    """The arrays of a system, the settings of a run, and the state after so many steps of it."""
    nonbonded = with_coulomb_cutoff(system, quiltmd.Nonbonded(), state.box)
    integrator = quiltmd.LangevinMiddle(timestep=0.004, seed=0)
    simulation = quiltmd.Simulation(system, state, nonbonded, integrator, device=device)
    simulation.minimize(200.0)
    simulation.draw_velocities(integrator.temperature, 1)
    simulation.run(steps)
    after = simulation.state()
    settings = {name: nonbonded.resolve(after.box)[name] for name in NONBONDED}
    settings |= {name: integrator.resolve()[name] for name in INTEGRATOR}
    place = {"box": after.box, "positions": after.positions, "velocities": after.velocities}
    numbers = {name: np.array(value, dtype=float) for name, value in settings.items()}
    return {**system.arrays(), **numbers, **place}


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with path.open("wb") as file:
        for name, array in arrays.items():
            kind = {"f": "<f8", "i": "<i4"}[array.dtype.kind]
            file.write(f"{name} {kind[1:]} {array.size}\n".encode("ascii"))
            file.write(np.ascontiguousarray(array, dtype=kind).tobytes())


if __name__ == "__main__":
    main()
