# SPDX-License-Identifier: Apache-2.0
"""Energies term by term, and forces, of ApoA1 and STMV beside OpenMM's Reference platform.

    python benchmarks/terms.py FOLDER [--systems apoa1,stmv] [--device cpu] [--json FILE]

FOLDER has apoa1/ (PSF, PDB and parameters of NAMD's benchmark) and stmv/ (a GROMACS topology and a
frame).  Both programs read the files by themselves and have the same PME; what is compared is a
single state.  Of STMV the Reference platform takes five minutes and 10 GB.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openmm
from numpy.typing import NDArray
from openmm import app, unit
from provenance import provenance

import quiltmd
from quiltmd import Nonbonded, State, System

ALPHA = 3.0  # 1/nm
APOA1_BOX = (10.88612, 10.88612, 7.7758)  # nm
NAMES = {
    "HarmonicAngleForce": "angle",
    "PeriodicTorsionForce": "torsion",
    "CustomTorsionForce": "improper",
    "CMAPTorsionForce": "cmap",
    "NonbondedForce": "nonbonded",
}
VAN_DER_WAALS = ("lj", "lj14", "dispersion")
KILOJOULE = unit.kilojoule_per_mole


class Case(NamedTuple):
    """A system read by us, its settings, and how OpenMM reads the same."""

    system: System
    state: State
    nonbonded: Nonbonded
    read: Callable[[State], Any]


def main() -> None:
    options = parse_options()
    results = []
    for name in options.systems.split(","):
        row = compared(name, CASES[name](options.folder / name), options.device)
        results.append(row)
        for term, (ours, theirs) in row["energies"].items():
            print(f"{name:6} {term:13} {ours:18.4f} {theirs:18.4f} {difference(ours, theirs):9.1e}")
        print(f"{name:6} forces, relative rms {row['force_error']:.1e}", flush=True)
    if options.json:
        document = {**provenance(), "device": options.device, "results": results}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("folder", type=Path, help="of the inputs")
    add("--systems", default=",".join(CASES))
    add("--device", default="cpu")
    add("--json", type=Path)
    return parser.parse_args()


def apoa1(folder: Path) -> Case:
    """All flexible, with OpenMM's switching function from 1.0 to 1.2 nm."""
    psf, parameters = folder / "apoa1.psf", folder / "apoa1_c22_namd.prm"
    system, state = quiltmd.load(
        psf, folder / "apoa1.pdb", parameters=[parameters], box=APOA1_BOX, rigid_water=False
    )
    chosen = Nonbonded(
        cutoff=1.2,
        switching="potential",
        switch_distance=1.0,
        pme_alpha=ALPHA,
        pme_grid=(108, 108, 80),
        pme_order=5,
        dispersion_correction=True,
    )

    def read(_: State) -> Any:
        file = app.CharmmPsfFile(str(psf), unitCellDimensions=APOA1_BOX * unit.nanometer)
        file.dihedral_list = listed_once(file.dihedral_list)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = app.CharmmParameterSet(str(parameters))
        return file.createSystem(
            parsed,
            nonbondedMethod=app.PME,
            nonbondedCutoff=chosen.cutoff,
            switchDistance=chosen.switch_distance,
            constraints=None,
            rigidWater=False,
        )

    return Case(system, state, chosen, read)


def stmv(folder: Path) -> Case:
    """Water rigid, as the topology has it, all else flexible."""
    top = folder / "stmv.top"
    system, state = quiltmd.load(top, folder / "stmv.xtc", rigid_water=False)
    chosen = Nonbonded(
        cutoff=0.9,
        pme_alpha=ALPHA,
        pme_grid=(240, 240, 240),
        pme_order=5,
        dispersion_correction=True,
    )

    def read(state: State) -> Any:
        box = [openmm.Vec3(*row) for row in state.box] * unit.nanometer
        file = app.GromacsTopFile(str(top), periodicBoxVectors=box)
        made = file.createSystem(
            nonbondedMethod=app.PME,
            nonbondedCutoff=chosen.cutoff,
            constraints=None,
            rigidWater=False,
        )
        water = {atom.index for atom in file.topology.atoms() if atom.residue.name == "HOH"}
        loosen(made, water)
        return made

    return Case(system, state, chosen, read)


CASES = {"apoa1": apoa1, "stmv": stmv}


def listed_once(torsions: Any) -> list[Any]:
    """Without repetitions, by which X-PLOR says how many terms a torsion has; OpenMM adds them."""
    found = {}
    for one in torsions:
        atoms = tuple(atom.idx for atom in (one.atom1, one.atom2, one.atom3, one.atom4))
        found.setdefault(min(atoms, atoms[::-1]), one)
    return list(found.values())


def loosen(made: Any, water: set[int]) -> None:
    """Takes the strength of bonds and angles of waters that are rigid here."""
    for force in made.getForces():
        if isinstance(force, openmm.HarmonicBondForce):
            for k in range(force.getNumBonds()):
                i, j, length, _ = force.getBondParameters(k)
                if i in water:
                    force.setBondParameters(k, i, j, length, 0.0)
        if isinstance(force, openmm.HarmonicAngleForce):
            for k in range(force.getNumAngles()):
                i, j, other, theta, _ = force.getAngleParameters(k)
                if i in water:
                    force.setAngleParameters(k, i, j, other, theta, 0.0)


def compared(name: str, case: Case, device: str) -> dict[str, Any]:
    """Energies of both by name, kJ/mol, and the relative error of forces."""
    simulation = quiltmd.Simulation(case.system, case.state, case.nonbonded, device=device)
    ours, forces = simulation.energies(), simulation.forces()
    theirs, exact = by_openmm(case)
    ours["lj, lj14, dispersion"] = sum(ours[term] for term in VAN_DER_WAALS)
    error = np.sqrt(((forces - exact) ** 2).sum() / (exact**2).sum())
    return {
        "system": name,
        "atoms": case.system.atoms,
        "energies": {term: (ours[term], value) for term, value in theirs.items()},
        "force_error": float(error),
    }


def by_openmm(case: Case) -> tuple[dict[str, float], NDArray[np.float64]]:
    """Energies by our names, kJ/mol, and forces, in double precision."""
    made = case.read(case.state)
    (nonbonded,) = (one for one in made.getForces() if isinstance(one, openmm.NonbondedForce))
    nonbonded.setPMEParameters(ALPHA, *case.nonbonded.pme_grid)
    nonbonded.setUseDispersionCorrection(True)
    names = []
    for group, force in enumerate(made.getForces()):
        force.setForceGroup(group)
        kind = type(force).__name__
        bond = "urey_bradley" if "bond" in names else "bond"  # OpenMM's reader makes them in turn
        names.append(bond if kind == "HarmonicBondForce" else NAMES.get(kind, kind))
    context = placed(made, case.state)
    found: dict[str, float] = defaultdict(float)
    for group, name in enumerate(names):
        if name != "CMMotionRemover":
            found[name] += energy(context, {group})
    forces = context.getState(getForces=True).getForces(asNumpy=True)
    without_charges(nonbonded)
    found["lj, lj14, dispersion"] = energy(placed(made, case.state), {nonbonded.getForceGroup()})
    return dict(found), forces.value_in_unit(KILOJOULE / unit.nanometer)


def placed(made: Any, state: State) -> Any:
    """A context of the Reference platform."""
    made.setDefaultPeriodicBoxVectors(*state.box)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(made, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(state.positions)
    return context


def energy(context: Any, groups: set[int]) -> float:
    found = context.getState(getEnergy=True, groups=groups).getPotentialEnergy()
    return float(found.value_in_unit(KILOJOULE))


def without_charges(force: Any) -> None:
    for k in range(force.getNumParticles()):
        _, sigma, epsilon = force.getParticleParameters(k)
        force.setParticleParameters(k, 0.0, sigma, epsilon)
    for k in range(force.getNumExceptions()):
        i, j, _, sigma, epsilon = force.getExceptionParameters(k)
        force.setExceptionParameters(k, i, j, 0.0, sigma, epsilon)


def difference(ours: float, theirs: float) -> float:
    return abs(ours - theirs) / max(abs(theirs), 1e-3)


if __name__ == "__main__":
    main()
