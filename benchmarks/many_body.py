# SPDX-License-Identifier: Apache-2.0
"""Steps with many-body potentials on a device, and the time of each kernel.

    python benchmarks/many_body.py [--device cuda] [--potentials copper] [--atoms 32000 256000]
        [--steps 2000] [--rounds 3]

copper: the potential of Sutton and Chen (Phil. Mag. Lett. 61, 139 (1990)) in tables that end at
0.495 nm, the cutoff of Cu_u3.eam, 2 fs.  Crystals at 300 K and constant energy.  A time is that of
a step without energies, us: of each round, and the least.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import quiltmd
from quiltmd.running.benchmark import time_steps

EV = 96.485332  # kJ/mol
FCC = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
PROFILED_STEPS = 200


def copper(atoms: int) -> tuple[quiltmd.System, quiltmd.State]:
    constant, cutoff = 0.361, 0.495  # nm
    r, rho = np.linspace(0, cutoff, 501), np.linspace(0, 200, 501)
    rest = np.clip((r - 0.4) / (cutoff - 0.4), 0, 1)
    x = constant / np.maximum(r, 0.1)
    ending = 1 - rest**2 * (3 - 2 * rest)
    functions = quiltmd.EmbeddedFunctions(
        elements=("Cu",),
        masses=[63.546],
        cutoff=cutoff,
        spacing=r[1],
        density_step=rho[1],
        densities=(x**6 * ending)[None, None],
        pairs=(1.2382e-2 * EV * r * x**9 * ending)[None, None],
        embedding=-1.2382e-2 * EV * 39.432 * np.sqrt(rho)[None],
    )
    cells = round((atoms / len(FCC)) ** (1 / 3))
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + FCC).reshape(-1, 3) * constant
    system = quiltmd.embedded_system(functions, ["Cu"] * len(places))
    return system, quiltmd.State.start(system, places, np.eye(3) * cells * constant)


POTENTIALS = {"copper": (copper, 0.002)}


def kernels(simulation: quiltmd.Simulation) -> list[tuple[str, float]]:
    """Seconds a step by name, the longest first."""
    simulation.start_profile()
    simulation.run(PROFILED_STEPS)
    seconds: Counter[str] = Counter()
    for call in simulation.stop_profile():
        seconds[call["name"]] += (call["end"] - call["begin"]) / PROFILED_STEPS
    return seconds.most_common(10)


def measure(name: str, atoms: int, given: argparse.Namespace) -> None:
    crystal, timestep = POTENTIALS[name]
    simulation = quiltmd.Simulation(
        *crystal(atoms), integrator=quiltmd.VelocityVerlet(timestep), device=given.device
    )
    simulation.draw_velocities(600, seed=1)
    simulation.run(500)
    before = simulation.energies()["total"]
    us = [1e6 * time_steps(simulation, given.steps) / given.steps for _ in range(given.rounds)]
    size = simulation.system.atoms
    drift = (simulation.energies()["total"] - before) / size
    rounds = ", ".join(f"{value:.1f}" for value in us)
    print(
        f"{name}, {size:,} atoms: {min(us):.1f} us a step ({rounds}); "
        f"{simulation.temperature():.0f} K, total energy {drift:+.1e} kJ/mol an atom",
        flush=True,
    )
    for kernel, seconds in kernels(simulation):
        print(f"    {kernel:32} {1e6 * seconds:9.2f} us", flush=True)


def main() -> None:
    """Prints the times."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--potentials", nargs="+", choices=POTENTIALS, default=list(POTENTIALS))
    parser.add_argument("--atoms", nargs="+", type=int, default=[32_000, 256_000])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for name in given.potentials:
        for atoms in given.atoms:
            measure(name, atoms, given)


if __name__ == "__main__":
    main()
