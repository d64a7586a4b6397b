# SPDX-License-Identifier: Apache-2.0
"""Steps with many-body potentials on a device, and the time of each kernel.

    python benchmarks/many_body.py [--device cuda] [--potentials lj chain copper ...]
        [--atoms 32000 256000 2048000] [--rounds 3] [--seconds 1.0]

The systems of LAMMPS' benchmarks (https://www.lammps.org/bench.html).  lj: a Lennard-Jones liquid,
reduced density 0.8442, cutoff 2.5 sigma, 0.005 tau, from a lattice at the reduced temperature 1.44.
chain: bead-spring chains of 100 beads (Kremer and Grest, J. Chem. Phys. 92, 5057 (1990)), which
wind through a cubic lattice at first, reduced density 0.85, Langevin dynamics, 0.012 tau.  Units
of both are those of argon.  copper: the potential of Sutton and Chen (Phil. Mag. Lett. 61, 139
(1990)) in tables that end at 0.495 nm, the cutoff of Cu_u3.eam, 2 fs.  stillinger-weber (Phys. Rev.
B 31, 5262 (1985)) and tersoff (Phys. Rev. B 37, 6991 (1988)): silicon, 1 fs.  Copper and silicon
are crystals at 300 K.  Constant energy but for chain.  A time is that of a step without energies,
us: of each round of about so many seconds, and the least.  Those of kernels are of one call, from a
profile of further steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

import quiltmd
from quiltmd.running.benchmark import steps_within, time_steps

EV = 96.485332  # kJ/mol
SIGMA, EPSILON, MASS = 0.34, 0.996, 39.948  # of argon, nm, kJ/mol, amu
TAU = SIGMA * (MASS / EPSILON) ** 0.5  # ps
KELVIN = EPSILON / 0.00831446261815324  # the reduced temperature 1
FCC = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
CHAIN = 100  # beads
PROFILED_STEPS = 300


@dataclass(frozen=True)
class Case:
    """A system, how it moves, the temperature of its first velocities, K, and steps not timed."""

    system: quiltmd.System
    state: quiltmd.State
    integrator: quiltmd.VelocityVerlet | quiltmd.LangevinMiddle
    kelvin: float
    nonbonded: quiltmd.Nonbonded | None = None
    warm_up: int = 300


def crystal(
    basis: npt.NDArray[np.float64], constant: float, atoms: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Places and box of about so many atoms."""
    cells = round((atoms / len(basis)) ** (1 / 3))
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + basis).reshape(-1, 3) * constant
    return places, np.eye(3) * cells * constant


def liquid(atoms: int) -> Case:
    places, box = crystal(FCC, (4 / 0.8442) ** (1 / 3) * SIGMA, atoms)
    system = quiltmd.System.of(np.full(len(places), MASS), sigma=SIGMA, epsilon=EPSILON)
    return Case(
        system,
        quiltmd.State.start(system, places, box),
        quiltmd.VelocityVerlet(0.005 * TAU),
        1.44 * KELVIN,
        quiltmd.Nonbonded(cutoff=2.5 * SIGMA, method="cutoff", dispersion_correction=False),
    )


def winding(atoms: int) -> npt.NDArray[np.int64]:
    """Points of a lattice of about so many, in an order in which each is next to the one before.

    It has a x 2a x 2a points with a a multiple of 10, so that they are a multiple of `CHAIN`.
    """
    edge = 10 * round((atoms / 4) ** (1 / 3) / 10)
    x, y, z = np.indices((edge, 2 * edge, 2 * edge))
    y = np.where(x % 2, 2 * edge - 1 - y, y)
    z = np.where((x + y) % 2, 2 * edge - 1 - z, z)
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)


def chains(atoms: int) -> Case:
    apart = 0.85 ** (-1 / 3) * SIGMA
    places = winding(atoms)
    beads = np.arange(len(places)).reshape(-1, CHAIN)
    bonds = np.stack([beads[:, :-1], beads[:, 1:]], axis=-1).reshape(-1, 2)
    values = [1.5 * SIGMA, 30 * EPSILON / SIGMA**2, SIGMA, EPSILON]
    system = quiltmd.System.of(
        np.full(len(places), MASS),
        sigma=SIGMA,
        epsilon=EPSILON,
        terms={"fene": (bonds, np.tile(values, (len(bonds), 1)))},
    )
    box = np.diag((places.max(axis=0) + 1) * apart)
    return Case(
        system,
        quiltmd.State.start(system, places * apart, box),
        quiltmd.LangevinMiddle(KELVIN, 1 / (10 * TAU), 0.012 * TAU, seed=1),
        KELVIN,
        quiltmd.Nonbonded(
            cutoff=1.12 * SIGMA, method="cutoff", potential_shift=True, dispersion_correction=False
        ),
        warm_up=1500,  # the lattice of chains melts
    )


def copper(atoms: int) -> Case:
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
    state = quiltmd.State.start(system, places, box)
    return Case(system, state, quiltmd.VelocityVerlet(0.002), 600)


def silicon(form: str, parameters: list[float], atoms: int) -> Case:
    potential = quiltmd.ThreeBodyPotential(form, ("Si",), [[[parameters]]])
    places, box = crystal(np.concatenate([FCC, FCC + 0.25]), 0.5431, atoms)
    system = quiltmd.three_body_system(potential, ["Si"] * len(places))
    state = quiltmd.State.start(system, places, box)
    return Case(system, state, quiltmd.VelocityVerlet(0.001), 600)


STILLINGER_WEBER = [
    *(2.1683 * EV, 0.20951, 1.8, 21.0, 1.2, -1 / 3),
    *(7.049556277, 0.6022245584, 4, 0),
]
TERSOFF = [
    *(3, 1, 13.258, 4.8381, 2.0417, 0, 22.956, 0.33675),
    *(13.258, 95.373 * EV, 0.3, 0.02, 32.394, 3264.7 * EV),
]
POTENTIALS: dict[str, Callable[[int], Case]] = {
    "lj": liquid,
    "chain": chains,
    "copper": copper,
    "stillinger-weber": partial(silicon, "stillinger-weber", STILLINGER_WEBER),
    "tersoff": partial(silicon, "tersoff", TERSOFF),
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
    case = POTENTIALS[name](atoms)
    simulation = quiltmd.Simulation(
        case.system,
        case.state,
        integrator=case.integrator,
        nonbonded=case.nonbonded,
        device=given.device,
    )
    simulation.draw_velocities(case.kelvin, seed=1)
    simulation.run(case.warm_up)
    before = simulation.energies()["total"]
    steps = steps_within(given.seconds, simulation, 50)
    us = [1e6 * time_steps(simulation, steps) / steps for _ in range(given.rounds)]
    size = simulation.system.atoms
    drift = (simulation.energies()["total"] - before) / size
    rounds = ", ".join(f"{value:.1f}" for value in us)
    print(
        f"{name}, {size:,} atoms: {min(us):.1f} us a step ({rounds}; {steps} steps each); "
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
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for name in given.potentials:
        for atoms in given.atoms:
            measure(name, atoms, given)


if __name__ == "__main__":
    main()
