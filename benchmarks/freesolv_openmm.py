# SPDX-License-Identifier: Apache-2.0
"""Hydration free energies by OpenMM, with the Hamiltonian and the inputs of freesolv.py.

    python benchmarks/freesolv_openmm.py FreeSolv [--molecules methane] [--out FOLDER]
        [--waters 900] [--path short] [--platform CUDA] [--picoseconds 100] [--equilibration 40]
        [--seconds 60] [--energies]

Charges of the molecule are parameter offsets of a NonbondedForce, its Lennard-Jones interactions
with water a CustomNonbondedForce with the soft core of docs/theory/alchemy.md; pairs inside the
molecule are exceptions, which keep their interactions.  Each state is simulated for so many
picoseconds, one after the other (4 fs steps, heavier hydrogens, 298.15 K, 1.01325 bar), or for as
long as its part of the seconds lasts, and quiltmd's MBAR estimates the free energy.  --energies
compares energies of four states with those of Quilt at one configuration instead.  Only for
molecules whose atoms are all at most three bonds apart.
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from freesolv import (
    KJ_PER_KCAL,
    PATHS,
    PRESSURE,
    TEMPERATURE,
    entries_by_name,
    read_molecule,
    solvated,
)
from numpy.typing import NDArray
from openmm import app, unit

import quiltmd
from quiltmd.description.decoupling import at_lambdas
from quiltmd.running.free_energies import free_energies_of
from quiltmd.running.lambda_samples import Samples

CUTOFF, SWITCH, ALPHA, LEAST_SIGMA = 1.0, 0.9, 0.5, 0.3  # nm
SOFT = (
    "(1-lambda_vdw)*4*epsilon*(1/d^2 - 1/d);"
    f"d = {ALPHA}*lambda_vdw*(max(sigma,{LEAST_SIGMA})/sigma)^6 + (r/sigma)^6;"
    "sigma = 0.5*(sigma1+sigma2); epsilon = sqrt(epsilon1*epsilon2)"
)
STEP, SAMPLE = 0.004, 100  # ps; steps between samples
LEAST = 10  # samples of a state


def context_on(platform: str, precision: str, system: Any, integrator: Any) -> Any:
    """A context; only some platforms have precisions."""
    properties = {"Precision": precision} if platform in ("CUDA", "OpenCL") else {}
    where = openmm.Platform.getPlatformByName(platform)
    return openmm.Context(system, integrator, where, properties)


def tail_energy(force: Any, positions: Any, box: Any) -> float:
    """Energy of the tail correction of a NonbondedForce, kJ/mol."""
    energies = []
    for corrected in (True, False):
        alone = openmm.System()
        alone.setDefaultPeriodicBoxVectors(*box)
        own = copy.deepcopy(force)
        own.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)  # the tail is the same
        own.setUseDispersionCorrection(corrected)
        alone.addForce(own)
        for _ in range(own.getNumParticles()):
            alone.addParticle(1.0)
        context = context_on("Reference", "double", alone, openmm.VerletIntegrator(0.001))
        context.setPositions(positions)
        found = context.getState(getEnergy=True).getPotentialEnergy()
        energies.append(found.value_in_unit(unit.kilojoule_per_mole))
    return float(energies[0] - energies[1])


def hydrated(topology: Path, coordinates: Path, solute: int) -> tuple[Any, Any, Any]:
    """System with the parameters lambda_coulomb and lambda_vdw, positions and box vectors."""
    places = app.GromacsGroFile(str(coordinates))
    top = app.GromacsTopFile(str(topology), periodicBoxVectors=places.getPeriodicBoxVectors())
    system = top.createSystem(
        nonbondedMethod=app.PME,
        nonbondedCutoff=CUTOFF * unit.nanometer,
        constraints=app.HBonds,
        hydrogenMass=3.024 * unit.amu,
    )
    plain = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    plain.setUseSwitchingFunction(True)
    plain.setSwitchingDistance(SWITCH)
    plain.setUseDispersionCorrection(True)
    plain.setEwaldErrorTolerance(1e-5)
    box, positions = top.topology.getPeriodicBoxVectors(), places.getPositions(asNumpy=True)
    before = tail_energy(plain, positions, box)
    plain.addGlobalParameter("lambda_coulomb", 0.0)
    soft = openmm.CustomNonbondedForce(SOFT)
    soft.addGlobalParameter("lambda_vdw", 0.0)
    for name in ("sigma", "epsilon"):
        soft.addPerParticleParameter(name)
    for atom in range(system.getNumParticles()):
        charge, sigma, epsilon = plain.getParticleParameters(atom)
        soft.addParticle([sigma, epsilon])
        if atom < solute:
            plain.setParticleParameters(atom, charge, sigma, 0.0)
            plain.addParticleParameterOffset("lambda_coulomb", atom, -charge, 0.0, 0.0)
    volume = box[0][0] * box[1][1] * box[2][2] / unit.nanometer**3
    of_solute = volume * (before - tail_energy(plain, positions, box))
    tail = openmm.CustomVolumeForce(f"(1-lambda_vdw)*({of_solute})/v")
    tail.addGlobalParameter("lambda_vdw", 0.0)
    for k in range(plain.getNumExceptions()):
        i, j, *_ = plain.getExceptionParameters(k)
        soft.addExclusion(i, j)
    inside = range(solute)
    soft.addInteractionGroup(inside, range(solute, system.getNumParticles()))
    soft.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    soft.setCutoffDistance(CUTOFF)
    soft.setUseSwitchingFunction(True)
    soft.setSwitchingDistance(SWITCH)
    system.addForce(soft)
    system.addForce(tail)
    return system, positions, box


def energy(context: Any, lambdas: NDArray[np.float64]) -> float:
    """Potential energy at these lambdas, kJ/mol."""
    for name, value in zip(("lambda_coulomb", "lambda_vdw"), lambdas, strict=True):
        context.setParameter(name, value)
    found = context.getState(getEnergy=True).getPotentialEnergy()
    return float(found.value_in_unit(unit.kilojoule_per_mole))


def largest_difference(
    files: tuple[Path, Path], states: NDArray[np.float64], context: Any
) -> float:
    """Between energies of states, less that of the first, by OpenMM and by Quilt; kJ/mol."""
    system, state = quiltmd.load(*files)
    nonbonded = quiltmd.Nonbonded(cutoff=CUTOFF, switching="potential", switch_distance=SWITCH)
    decoupled = quiltmd.decouple(system, "moltype MOL", *states.T)
    ours = [
        quiltmd.reference(at_lambdas(decoupled, *row), state, nonbonded)[0]["potential"]
        for row in states
    ]
    theirs = [energy(context, row) for row in states]
    return float(np.abs(np.subtract(ours, ours[0]) - np.subtract(theirs, theirs[0])).max())


def relax(context: Any, integrator: Any, start: NDArray[np.float64], picoseconds: float) -> None:
    """Waters that lie on a grid: minimized, then with short steps first."""
    energy(context, start)
    openmm.LocalEnergyMinimizer.minimize(context, maxIterations=300)
    context.setVelocitiesToTemperature(TEMPERATURE, 1)
    for step, count in ((0.0005, 4000), (0.002, 2000), (STEP, round(picoseconds / STEP))):
        integrator.setStepSize(step)
        integrator.step(count)


def sample(
    context: Any, integrator: Any, states: NDArray[np.float64], picoseconds: float, seconds: float
) -> Samples:
    """Energies of all states less that of the sampled one, of each state."""
    found = []
    begin, wanted = time.perf_counter(), round(picoseconds / (SAMPLE * STEP))
    for k, own in enumerate(states):
        energy(context, own)
        rows: list[NDArray[np.float64]] = []
        end = begin + seconds * (k + 1) / len(states)
        while len(rows) < wanted and time.perf_counter() < end:
            integrator.step(SAMPLE)
            energies = np.array([energy(context, row) for row in states])
            rows.append(energies - energies[k])
            energy(context, own)
        if len(rows) < LEAST:
            raise SystemExit(
                f"state {k} has {len(rows)} samples, fewer than {LEAST}: give more --picoseconds, "
                "or more --seconds"
            )
        found.append(np.array(rows))
    none = tuple(np.empty((len(rows), 0)) for rows in found)  # derivatives
    return Samples((), np.empty((len(states), 0)), TEMPERATURE, none, tuple(found))


def hydrate(given: argparse.Namespace, name: str, number: str) -> str:
    """A row of the table."""
    begin = time.perf_counter()
    folder = given.out / name
    folder.mkdir(parents=True, exist_ok=True)
    molecule = read_molecule(given.data, number)
    files = solvated(molecule, given.waters, folder)
    charges, cores = PATHS[given.path]
    states = np.array([(one, 0.0) for one in charges] + [(1.0, one) for one in cores])
    system, positions, box = hydrated(*files, len(molecule.places))
    if not given.energies:
        system.addForce(openmm.MonteCarloBarostat(PRESSURE * unit.bar, TEMPERATURE, 25))
    integrator = openmm.LangevinMiddleIntegrator(TEMPERATURE, 1.0, STEP)
    precision = "double" if given.energies else "mixed"
    context = context_on(given.platform, precision, system, integrator)
    context.setPeriodicBoxVectors(*box)
    context.setPositions(positions)
    if given.energies:
        some = states[[0, len(charges) - 1, len(states) // 2, -1]]
        difference = largest_difference(files, some, context)
        return f"{name:10s} energies differ by at most {difference:.1e} kJ/mol"
    relax(context, integrator, states[0], given.equilibration)
    ready = time.perf_counter()
    samples = sample(context, integrator, states, given.picoseconds, given.seconds)
    sampled = time.perf_counter()
    found = free_energies_of(samples)
    lengths = samples.counts * SAMPLE * STEP
    return (
        f"{name:10s} {-found.mbar[-1].value:8.2f} +- {found.mbar[-1].error:.2f}  "
        f"{lengths.min():.0f} to {lengths.max():.0f} ps in each of {len(states)} states, "
        f"overlap {found.neighbour_overlaps().min():.2f}; {ready - begin:.0f} s until relaxed, "
        f"{sampled - ready:.0f} of sampling, {time.perf_counter() - sampled:.0f} of MBAR"
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of FreeSolv")
    parser.add_argument("--molecules", nargs="+", default=["methane"])
    parser.add_argument("--out", type=Path, default=Path("freesolv-openmm"))
    parser.add_argument("--waters", type=int, default=900)
    parser.add_argument("--picoseconds", type=float, default=100.0, help="of each state")
    parser.add_argument("--seconds", type=float, default=60.0, help="of sampling, at most")
    parser.add_argument("--equilibration", type=float, default=40.0, help="ps")
    parser.add_argument("--energies", action="store_true", help="compare energies, sample nothing")
    parser.add_argument("--path", choices=PATHS, default="short")
    parser.add_argument("--platform", default="CUDA")
    given = parser.parse_args()
    given.out = given.out.resolve()
    entries = entries_by_name(given.data)
    print("hydration free energy, kJ/mol, by OpenMM; FreeSolv (GROMACS) beside it")
    for name in given.molecules:
        number, entry = entries[name]
        row = hydrate(given, name, number)
        print(f"{row}; FreeSolv {KJ_PER_KCAL * float(entry['calc']):.2f}", flush=True)


if __name__ == "__main__":
    main()
