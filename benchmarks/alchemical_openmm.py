# SPDX-License-Identifier: Apache-2.0
"""What alchemical atoms cost OpenMM: the systems of alchemical_speed.py with custom forces.

    python benchmarks/alchemical_openmm.py [--platform CUDA] [--atoms 50] [--steps 5000]
        [--rounds 3]

Charges of the alchemical atoms are parameter offsets of the NonbondedForce, their Lennard-Jones
interactions a CustomNonbondedForce between them and all atoms (interaction groups), with the soft
core of docs/theory/alchemy.md, as openmmtools' alchemical factory makes them.  Plain steps and
alchemical ones take turns.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from typing import Any

from compare import preload_cuda_libraries

import quiltmd
from quiltmd.openmm.write import to_openmm
from quiltmd.running.benchmark import prepare

preload_cuda_libraries()
import openmm  # noqa: E402

SOFT = (
    "(1-lambda_vdw)*4*epsilon*(1/d^2 - 1/d);"
    "d = 0.5*lambda_vdw*(max(sigma,0.3)/sigma)^6 + (r/sigma)^6;"
    "sigma = 0.5*(sigma1+sigma2); epsilon = sqrt(epsilon1*epsilon2)"
)


def alchemical(plain: openmm.System, chosen: range, coulomb: float, vdw: float) -> openmm.System:
    """A copy in which these atoms are alchemical, at these lambdas."""
    system = copy.deepcopy(plain)
    force = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    force.addGlobalParameter("lambda_coulomb", coulomb)
    soft = openmm.CustomNonbondedForce(SOFT)
    soft.addGlobalParameter("lambda_vdw", vdw)
    for name in ("sigma", "epsilon"):
        soft.addPerParticleParameter(name)
    for atom in range(system.getNumParticles()):
        charge, sigma, epsilon = force.getParticleParameters(atom)
        soft.addParticle([sigma, epsilon])
        if atom in chosen:
            force.setParticleParameters(atom, charge, sigma, 0.0)
            force.addParticleParameterOffset("lambda_coulomb", atom, -charge, 0.0, 0.0)
    for k in range(force.getNumExceptions()):
        i, j, *_ = force.getExceptionParameters(k)
        soft.addExclusion(i, j)
    soft.addInteractionGroup(set(chosen), set(range(system.getNumParticles())))
    soft.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    soft.setCutoffDistance(force.getCutoffDistance())
    system.addForce(soft)
    return system


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", default="CUDA")
    parser.add_argument("--atoms", type=int, default=50)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    quilt = prepare("dhfr", device="cpu")
    state = quilt.state()
    plain = to_openmm(quilt.system, quiltmd.Nonbonded(cutoff=0.9), state.box)
    plain.addForce(openmm.CMMotionRemover(100))
    chosen = range(200, 200 + given.atoms)
    systems = {
        "plain": plain,
        "charges": alchemical(plain, chosen, 0.5, 0.0),
        "van der Waals": alchemical(plain, chosen, 1.0, 0.5),
    }
    runs: dict[str, tuple[Any, Any]] = {}
    for name, system in systems.items():
        integrator = openmm.LangevinMiddleIntegrator(300.0, 1.0, 0.004)
        platform = openmm.Platform.getPlatformByName(given.platform)
        properties = {"Precision": "mixed"} if given.platform == "CUDA" else {}
        context = openmm.Context(system, integrator, platform, properties)
        context.setPositions(state.positions)
        context.setVelocities(state.velocities)
        runs[name] = (context, integrator)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(given.rounds + 1):
        for name, (context, integrator) in runs.items():
            begin = time.perf_counter()
            integrator.step(given.steps)
            context.getState(getEnergy=True)
            if turn:
                seconds[name].append(time.perf_counter() - begin)
    us = {name: 1e6 * statistics.median(took) / given.steps for name, took in seconds.items()}
    print(f"OpenMM {openmm.version.version}, {quilt.system.atoms:,} atoms, {given.platform}")
    print("| atoms | us a step | to plain |")
    print("| --- | --- | --- |")
    for name, took in us.items():
        print(f"| {name} | {took:.1f} | {took / us['plain']:.3f} |")


if __name__ == "__main__":
    main()
