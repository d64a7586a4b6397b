# SPDX-License-Identifier: Apache-2.0
"""Hydration free energies by OpenMM, with the Hamiltonian and the inputs of freesolv.py.

    python benchmarks/freesolv_openmm.py FreeSolv [--molecules methane] [--out FOLDER]
        [--waters 900] [--seconds 50] [--equilibration 40] [--path short] [--platform CUDA]

Charges of the molecule are parameter offsets of a NonbondedForce, its Lennard-Jones interactions
with water a CustomNonbondedForce with the soft core of docs/theory/alchemy.md; pairs inside the
molecule are exceptions, which keep their interactions.  First the energies of four states are
compared with those of Quilt at one configuration.  Then each state is simulated for the same part
of the time (4 fs steps, heavier hydrogens, 298.15 K, 1.01325 bar), and MBAR estimates the free
energy.  Only for molecules whose atoms are all at most three bonds apart.
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pymbar
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

KT = 8.31446261815324e-3 * TEMPERATURE  # kJ/mol
CUTOFF, SWITCH, ALPHA, LEAST_SIGMA = 1.0, 0.9, 0.5, 0.3  # nm
SOFT = (
    "(1-lambda_vdw)*4*epsilon*(1/d^2 - 1/d);"
    f"d = {ALPHA}*lambda_vdw*(max(sigma,{LEAST_SIGMA})/sigma)^6 + (r/sigma)^6;"
    "sigma = 0.5*(sigma1+sigma2); epsilon = sqrt(epsilon1*epsilon2)"
)
STEP, SAMPLE = 0.004, 250  # ps; steps between samples


def context_on(platform: str, precision: str, system: Any, integrator: Any) -> Any:
    """A context; only some platforms have precisions."""
    properties = {"Precision": precision} if platform in ("CUDA", "OpenCL") else {}
    where = openmm.Platform.getPlatformByName(platform)
    return openmm.Context(system, integrator, where, properties)


def tail_energy(force: Any, positions: Any, box: Any, platform: str) -> float:
    """Energy of the tail correction of a NonbondedForce, kJ/mol."""
    energies = []
    for corrected in (True, False):
        alone = openmm.System()
        alone.setDefaultPeriodicBoxVectors(*box)
        own = copy.deepcopy(force)
        own.setUseDispersionCorrection(corrected)
        alone.addForce(own)
        for _ in range(own.getNumParticles()):
            alone.addParticle(1.0)
        context = context_on(platform, "double", alone, openmm.VerletIntegrator(0.001))
        context.setPositions(positions)
        found = context.getState(getEnergy=True).getPotentialEnergy()
        energies.append(found.value_in_unit(unit.kilojoule_per_mole))
    return float(energies[0] - energies[1])


def hydrated(topology: Path, coordinates: Path, solute: int, platform: str) -> tuple[Any, Any, Any]:
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
    before = tail_energy(plain, positions, box, platform)
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
    of_solute = volume * (before - tail_energy(plain, positions, box, platform))
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


def sample(
    context: Any, integrator: Any, states: NDArray[np.float64], seconds: float, equilibration: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Reduced energies of all states, (states, samples), and the number of samples of each."""
    energy(context, states[0])
    openmm.LocalEnergyMinimizer.minimize(context)
    context.setVelocitiesToTemperature(TEMPERATURE, 1)
    for step, count in ((0.0005, 4000), (0.002, 2000), (STEP, round(equilibration / STEP))):
        integrator.setStepSize(step)
        integrator.step(count)
    columns, counts = [], []
    begin = time.perf_counter()
    for k, own in enumerate(states):
        energy(context, own)
        integrator.step(10 * SAMPLE)
        counts.append(0)
        while time.perf_counter() - begin < seconds * (k + 1) / len(states):
            integrator.step(SAMPLE)
            columns.append([energy(context, row) / KT for row in states])
            energy(context, own)
            counts[-1] += 1
    return np.array(columns).T, np.array(counts)


def hydrate(given: argparse.Namespace, name: str, number: str) -> str:
    """A row of the table."""
    folder = given.out / name
    folder.mkdir(parents=True, exist_ok=True)
    molecule = read_molecule(given.data, number)
    files = solvated(molecule, given.waters, folder)
    charges, cores = PATHS[given.path]
    states = np.array([(one, 0.0) for one in charges] + [(1.0, one) for one in cores])
    system, positions, box = hydrated(*files, len(molecule.places), given.platform)

    def context_of(platform: str, precision: str) -> tuple[Any, Any]:
        integrator = openmm.LangevinMiddleIntegrator(TEMPERATURE, 1.0, STEP)
        made = context_on(platform, precision, system, integrator)
        made.setPeriodicBoxVectors(*box)
        made.setPositions(positions)
        return made, integrator

    some = states[[0, len(charges) - 1, len(states) // 2, -1]]
    difference = largest_difference(files, some, context_of(given.platform, "double")[0])
    system.addForce(openmm.MonteCarloBarostat(PRESSURE * unit.bar, TEMPERATURE, 25))
    context, integrator = context_of(given.platform, "mixed")
    reduced, counts = sample(context, integrator, states, given.seconds, given.equilibration)
    chosen, kept, start = [], [], 0
    for k, count in enumerate(counts):
        own = reduced[:, start : start + count]
        neighbour = k + 1 if k + 1 < len(states) else k - 1
        rows = pymbar.timeseries.subsample_correlated_data(own[neighbour] - own[k])
        chosen.append(own[:, rows])
        kept.append(len(rows))
        start += count
    found = pymbar.MBAR(
        np.concatenate(chosen, axis=1), np.array(kept)
    ).compute_free_energy_differences()
    value, error = (-KT * found["Delta_f"][0, -1], KT * found["dDelta_f"][0, -1])
    picoseconds = counts.sum() * SAMPLE * STEP
    return (
        f"{name:10s} {value:8.2f} +- {error:.2f}  {picoseconds:.0f} ps in {len(states)} states, "
        f"{sum(kept)} of {counts.sum()} samples; energies differ by at most {difference:.1e} kJ/mol"
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of FreeSolv")
    parser.add_argument("--molecules", nargs="+", default=["methane"])
    parser.add_argument("--out", type=Path, default=Path("freesolv-openmm"))
    parser.add_argument("--waters", type=int, default=900)
    parser.add_argument("--seconds", type=float, default=50.0, help="of sampling, a molecule")
    parser.add_argument("--equilibration", type=float, default=40.0, help="ps")
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
