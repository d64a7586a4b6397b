# SPDX-License-Identifier: Apache-2.0
"""System of an OpenMM System object, and the nonbonded settings that it carries.

Only what can be represented exactly is taken over; any other force or feature
is refused by its name. OpenMM itself is needed by the caller alone: this
module works on the objects that it is given and imports nothing of OpenMM.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .nonbonded import Nonbonded
from .topology import Topology

_BONDED = {
    "HarmonicBondForce": ("Bond", 2),
    "HarmonicAngleForce": ("Angle", 3),
    "PeriodicTorsionForce": ("Torsion", 4),
}
# CMMotionRemover keeps the centre of mass at rest; here that is a setting of the run.
_OTHERS = ("NonbondedForce", "CMMotionRemover")
_METHODS = ("NoCutoff", "CutoffNonPeriodic", "CutoffPeriodic", "Ewald", "PME", "LJPME")


def plain(value: Any) -> npt.NDArray[np.float64]:
    """Numbers of an OpenMM quantity in nm, ps, amu, kJ/mol, e; of plain numbers as they are."""
    if hasattr(value, "value_in_unit_system"):
        from openmm.unit import md_unit_system

        value = value.value_in_unit_system(md_unit_system)
    return np.array([plain(item) for item in value] if _nested(value) else value, dtype=np.float64)


def _nested(value: Any) -> bool:
    """Whether a list has quantities inside, as lists of Vec3 with units may."""
    return isinstance(value, (list, tuple)) and any(hasattr(item, "unit") for item in value)


def system_fields(openmm_system: Any, topology: Any = None) -> dict[str, Any]:
    """The fields of `System`; see `System.from_openmm`."""
    forces = openmm_system.getForces()
    _refuse_unsupported(openmm_system, forces)
    atoms = openmm_system.getNumParticles()
    masses = np.array([_value(openmm_system.getParticleMass(i)) for i in range(atoms)])
    terms = {kind: _bonded(forces, kind) for kind in _BONDED}
    bonds, lengths = terms["HarmonicBondForce"]
    angles, bends = terms["HarmonicAngleForce"]
    torsions, twists = terms["PeriodicTorsionForce"]
    rows = [
        openmm_system.getConstraintParameters(i) for i in range(openmm_system.getNumConstraints())
    ]
    strong = twists[:, 2] != 0
    return {
        "masses": masses,
        "bonds": bonds,
        "bond_parameters": lengths,
        "angles": angles,
        "angle_parameters": bends,
        "torsions": torsions[strong],
        "torsion_parameters": twists[strong],
        "constraints": np.array([row[:2] for row in rows], dtype=np.int32),
        "constraint_lengths": np.array([_value(row[2]) for row in rows]),
        "topology": _topology(topology, masses),
        **_nonbonded_fields(_nonbonded_force(forces), atoms),
    }


def nonbonded_from_openmm(openmm_system: Any) -> Nonbonded:
    """How an OpenMM System's NonbondedForce treats long distances.

    Raises
    ------
    InputError
        If the force does what has no counterpart here: no cutoff, a switching
        function, a reaction field (CutoffPeriodic), Lennard-Jones PME.
    """
    force = _nonbonded_force(openmm_system.getForces())
    method = _METHODS[force.getNonbondedMethod()]
    if method not in ("PME", "Ewald"):
        raise InputError(f"NonbondedForce: the method {method} is not supported; use PME")
    if force.getUseSwitchingFunction():
        raise InputError("NonbondedForce: switching functions are not supported")
    alpha, *grid = (_value(parameter) for parameter in force.getPMEParameters())
    stated = method == "PME" and alpha > 0
    return Nonbonded(
        cutoff=_value(force.getCutoffDistance()),
        dispersion_correction=bool(force.getUseDispersionCorrection()),
        pme_order=5 if stated else None,  # as OpenMM, of whose splines these are
        pme_tolerance=force.getEwaldErrorTolerance(),
        pme_alpha=alpha if stated else None,
        pme_grid=(int(grid[0]), int(grid[1]), int(grid[2])) if stated else None,
    )


def _refuse_unsupported(openmm_system: Any, forces: list[Any]) -> None:
    for force in forces:
        kind = type(force).__name__
        if kind not in _BONDED and kind not in _OTHERS:
            named = kind if force.getName() == kind else f"{kind} ({force.getName()})"
            raise InputError(f"the OpenMM system has a {named}, which is not supported")
    for atom in range(openmm_system.getNumParticles()):
        if openmm_system.isVirtualSite(atom):
            raise InputError("a virtual site of the OpenMM system: not supported", atom=atom)
    force = _nonbonded_force(forces)
    if force.getNumParticleParameterOffsets() or force.getNumExceptionParameterOffsets():
        raise InputError("NonbondedForce: parameter offsets are not supported")


def _nonbonded_force(forces: list[Any]) -> Any:
    found = [force for force in forces if type(force).__name__ == "NonbondedForce"]
    if len(found) != 1:
        raise InputError(f"the OpenMM system must have one NonbondedForce, not {len(found)}")
    return found[0]


def _value(quantity: Any) -> float:
    return float(plain(quantity))


def _bonded(forces: list[Any], kind: str) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Atoms and parameters of all forces of a class, one after the other."""
    noun, arity = _BONDED[kind]
    rows = []
    for force in forces:
        if type(force).__name__ == kind:
            get = getattr(force, f"get{noun}Parameters")
            rows += [get(i) for i in range(getattr(force, f"getNum{noun}s")())]
    width = len(rows[0]) - arity if rows else 2 if arity < 4 else 3
    parameters = [[_value(item) for item in row[arity:]] for row in rows]
    return (
        np.array([row[:arity] for row in rows], dtype=np.int32).reshape(-1, arity),
        np.array(parameters).reshape(-1, width),
    )


def _nonbonded_fields(force: Any, atoms: int) -> dict[str, npt.NDArray[Any]]:
    if force.getNumParticles() != atoms:
        raise InputError(f"NonbondedForce has {force.getNumParticles()} particles, not {atoms}")
    particles = np.array(
        [[_value(item) for item in force.getParticleParameters(i)] for i in range(atoms)]
    ).reshape(atoms, 3)
    particles[particles[:, 2] == 0, 1] = 0.0  # without epsilon, sigma makes no type of its own
    kinds, lj_types = np.unique(particles[:, 1:], axis=0, return_inverse=True)
    sigma = 0.5 * (kinds[:, None, 0] + kinds[None, :, 0])
    epsilon = np.sqrt(kinds[:, None, 1] * kinds[None, :, 1])
    rows = [force.getExceptionParameters(i) for i in range(force.getNumExceptions())]
    pairs = np.array([row[:2] for row in rows], dtype=np.int32).reshape(-1, 2)
    values = np.array([[_value(item) for item in row[2:]] for row in rows]).reshape(-1, 3)
    real = (values[:, 0] != 0) | (values[:, 2] != 0)
    return {
        "charges": particles[:, 0],
        "lj_types": lj_types.reshape(-1).astype(np.int32),
        "lj_a": 4 * epsilon * sigma**12,
        "lj_b": 4 * epsilon * sigma**6,
        "pairs14": pairs[real],
        "pair14_parameters": values[real],
        "exclusions": np.unique(np.sort(pairs, axis=1), axis=0),
    }


def _topology(topology: Any, masses: npt.NDArray[np.float64]) -> Topology:
    if topology is None:
        return Topology.unnamed(masses)
    if topology.getNumAtoms() != len(masses):
        raise InputError(
            f"the OpenMM topology has {topology.getNumAtoms()} atoms, the system {len(masses)}"
        )
    atoms, residues = list(topology.atoms()), list(topology.residues())
    numbers = [atom.element.atomic_number if atom.element is not None else 0 for atom in atoms]
    ids = [residue.id for residue in residues]
    return Topology(
        atom_names=np.array([atom.name for atom in atoms]),
        elements=np.array(numbers, dtype=np.int32),
        residue_of_atom=np.array([atom.residue.index for atom in atoms], dtype=np.int32),
        residue_names=np.array([residue.name for residue in residues]),
        residue_ids=np.array([int(i) if i.lstrip("-").isdigit() else 0 for i in ids], np.int32),
        chain_ids=np.array([residue.chain.id for residue in residues]),
    )
