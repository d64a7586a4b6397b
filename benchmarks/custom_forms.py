# SPDX-License-Identifier: Apache-2.0
"""Custom forces beside built-in forms of the same energy: the time of each kernel.

    python benchmarks/custom_forms.py [--device cuda] [--atoms 32000 256000] [--steps 1000]

Liquid argon at 94 K with Lennard-Jones interactions to 1.0 nm, as the pair form (whose kernel also
evaluates charges, which are zero) and as a CustomPairs with the Lorentz-Berthelot rules.  Times of
kernels are of one call, us, from a profile; the last line of a size is the time of the custom
kernel over that of the built-in one.
"""

from __future__ import annotations

import argparse

import numpy as np
from many_body import FCC, crystal, kernels

import quiltmd
from quiltmd.running.benchmark import time_steps

SIGMA, EPSILON, CUTOFF = 0.34, 0.996, 1.0
SPACING = 0.54  # of fcc cells, nm: 1.4 g/cm^3 nearly
LJ = "4*eps*((s/r)^12-(s/r)^6); s=0.5*(sigma1+sigma2); eps=sqrt(epsilon1*epsilon2)"
CUTOFFS = quiltmd.Nonbonded(method="cutoff", cutoff=CUTOFF, dispersion_correction=False)
KERNELS = {"built-in": "pair_forces", "custom": "evaluate_pair_expression"}


def liquid(kind: str, atoms: int) -> tuple[quiltmd.System, quiltmd.State]:
    places, box = crystal(FCC, SPACING, atoms)
    places = places + np.random.default_rng(1).normal(0, 0.01, places.shape)
    size = len(places)
    mass = np.full(size, 39.948)
    if kind == "built-in":
        system = quiltmd.System.of(mass, sigma=SIGMA, epsilon=EPSILON)
    else:
        given = {"sigma": np.full(size, SIGMA), "epsilon": np.full(size, EPSILON)}
        system = quiltmd.add_forces(quiltmd.System.of(mass), quiltmd.CustomPairs(LJ, CUTOFF, given))
    return system, quiltmd.State.start(system, places, box)


def measure(kind: str, atoms: int, given: argparse.Namespace) -> float:
    """The time of a call of the kernel, s."""
    simulation = quiltmd.Simulation(
        *liquid(kind, atoms),
        CUTOFFS,
        integrator=quiltmd.VelocityVerlet(0.004),
        device=given.device,
    )
    simulation.draw_velocities(188, seed=1)
    simulation.run(500)
    us = 1e6 * time_steps(simulation, given.steps) / given.steps
    print(
        f"{kind}, {simulation.system.atoms:,} atoms: {us:.1f} us a step, "
        f"{simulation.temperature():.0f} K, potential {simulation.energies()['potential']:.6g}",
        flush=True,
    )
    timed = {name: seconds for name, seconds, _ in kernels(simulation)}
    for name, seconds in timed.items():
        print(f"    {name:32} {1e6 * seconds:9.2f} us a call", flush=True)
    return timed.get(KERNELS[kind], float("nan"))


def main() -> None:
    """Prints the times."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--atoms", nargs="+", type=int, default=[32000, 256000])
    parser.add_argument("--steps", type=int, default=1000)
    given = parser.parse_args()
    for atoms in given.atoms:
        built_in, custom = (measure(kind, atoms, given) for kind in KERNELS)
        print(f"custom over built-in, {atoms:,} atoms: {custom / built_in:.2f}", flush=True)


if __name__ == "__main__":
    main()
