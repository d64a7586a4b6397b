# SPDX-License-Identifier: Apache-2.0
"""Steps with many-body potentials on a device, and the time of each kernel.

    python benchmarks/many_body.py [--device cuda] [--potentials copper stillinger-weber tersoff]
        [--atoms 32000 256000] [--steps 2000] [--rounds 3]

copper: the potential of Sutton and Chen (Phil. Mag. Lett. 61, 139 (1990)) in tables that end at
0.495 nm, the cutoff of Cu_u3.eam, 2 fs.  stillinger-weber (Phys. Rev. B 31, 5262 (1985)) and
tersoff (Phys. Rev. B 37, 6991 (1988)): silicon, 1 fs.  Crystals at 300 K and constant energy.  A
time is that of a step without energies, us: of each round, and the least.  Those of kernels are of
one call, from a profile of further steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

import quiltmd
from quiltmd.running.benchmark import time_steps

EV = 96.485332  # kJ/mol
FCC = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
PROFILED_STEPS = 600


def crystal(
    basis: npt.NDArray[np.float64], constant: float, atoms: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Places and box of about so many atoms."""
    cells = round((atoms / len(basis)) ** (1 / 3))
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + basis).reshape(-1, 3) * constant
    return places, np.eye(3) * cells * constant


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
    places, box = crystal(FCC, constant, atoms)
    system = quiltmd.embedded_system(functions, ["Cu"] * len(places))
    return system, quiltmd.State.start(system, places, box)


def silicon(form: str, parameters: list[float], atoms: int) -> tuple[quiltmd.System, quiltmd.State]:
    potential = quiltmd.ThreeBodyPotential(form, ("Si",), [[[parameters]]])
    places, box = crystal(np.concatenate([FCC, FCC + 0.25]), 0.5431, atoms)
    system = quiltmd.three_body_system(potential, ["Si"] * len(places))
    return system, quiltmd.State.start(system, places, box)


STILLINGER_WEBER = [
    *(2.1683 * EV, 0.20951, 1.8, 21.0, 1.2, -1 / 3),
    *(7.049556277, 0.6022245584, 4, 0),
]
TERSOFF = [
    *(3, 1, 13.258, 4.8381, 2.0417, 0, 22.956, 0.33675),
    *(13.258, 95.373 * EV, 0.3, 0.02, 32.394, 3264.7 * EV),
]
POTENTIALS: dict[str, tuple[Callable[[int], tuple[quiltmd.System, quiltmd.State]], float]] = {
    "copper": (copper, 0.002),
    "stillinger-weber": (partial(silicon, "stillinger-weber", STILLINGER_WEBER), 0.001),
    "tersoff": (partial(silicon, "tersoff", TERSOFF), 0.001),
}


def kernels(simulation: quiltmd.Simulation) -> list[tuple[str, float, int]]:
    """Seconds of a call by name, those of most time first, and calls that were timed."""
    simulation.start_profile()
    simulation.run(PROFILED_STEPS)
    calls: dict[str, list[float]] = {}
    for call in simulation.stop_profile():
        calls.setdefault(call["name"], []).append(call["end"] - call["begin"])
    found = sorted(calls.items(), key=lambda named: -sum(named[1]))
    return [(name, sum(seconds) / len(seconds), len(seconds)) for name, seconds in found[:10]]


def measure(name: str, atoms: int, given: argparse.Namespace) -> None:
    made, timestep = POTENTIALS[name]
    simulation = quiltmd.Simulation(
        *made(atoms), integrator=quiltmd.VelocityVerlet(timestep), device=given.device
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
    for kernel, seconds, timed in kernels(simulation):
        print(f"    {kernel:32} {1e6 * seconds:9.2f} us a call, {timed} timed", flush=True)


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
