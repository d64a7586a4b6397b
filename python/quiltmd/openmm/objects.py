# SPDX-License-Identifier: Apache-2.0
"""System of an OpenMM System object.

Only what can be represented exactly is taken over; any other force or feature
is refused by its name. OpenMM itself is needed by the caller alone: this
module works on the objects that it is given and imports nothing of OpenMM.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.constant_forces import force_fields
from ..description.elements import elements_of
from ..description.molecules import molecule_of_atom
from ..description.nonbonded import Nonbonded
from ..description.sites import site_fields, site_links
from ..description.term_forms import TermForm, form_named
from ..description.terms import Terms, TermTable, table_of
from ..description.topology import Topology
from ..errors import InputError, QuiltWarning
from ..reading.words import residue_number
from . import centroids, custom, custom_pairs, custom_terms, maps, offsets, pairs, sites, solvent
from .nonbonded import forces_of, method_of, nonbonded_force, nonbonded_from_openmm
from .values import numbers


@dataclass(frozen=True)
class _Kind:
    """A class of forces: the form of its terms, what it calls them, what says that images count."""

    form: TermForm
    noun: str
    periodic: str = "usesPeriodicBoundaryConditions"


_BONDED = {
    kind: _Kind(form_named(custom.OWN_FORCES[kind]), noun)
    for kind, noun in (
        ("HarmonicBondForce", "Bond"),
        ("HarmonicAngleForce", "Angle"),
        ("PeriodicTorsionForce", "Torsion"),
        ("RBTorsionForce", "Torsion"),
    )
}
_EXCEPTIONS = "getExceptionsUsePeriodicBoundaryConditions"
_KINDS = {**_BONDED, "NonbondedForce": _Kind(form_named("pair14"), "Exception", _EXCEPTIONS)}
# CMMotionRemover keeps the centre of mass at rest; here that is a setting of the integrator.
_OTHERS = (
    *("CMMotionRemover", maps.FORCE, pairs.PAIRS),
    *(*custom.FORCES, *centroids.FORCES, *solvent.FORCES),
)
_Table = tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]


def system_fields(
    openmm_system: Any,
    topology: Any = None,
    nonbonded: Nonbonded | None = None,
    parameters: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The fields of `System`; see `System.from_openmm`."""
    _refuse_unsupported(openmm_system.getForces())
    forces = forces_of(openmm_system)
    if not nonbonded_force(forces).getIncludeDirectSpace():
        raise InputError("NonbondedForce: setIncludeDirectSpace(False) is not supported")
    values = _global_values(nonbonded_force(forces), parameters)
    forces, free = custom_terms.divided(forces)
    added = custom_terms.part_of(free)
    settings = nonbonded_from_openmm(openmm_system) if nonbonded is None else nonbonded
    atoms = openmm_system.getNumParticles()
    masses = numbers(openmm_system, "getParticleMass", atoms, 1)[:, 0]
    map_terms = maps.map_fields(forces)
    tables = [
        (force, _terms_of(force, values)) for force in forces if type(force).__name__ in _KINDS
    ]
    terms = _bonded_terms(forces, tables, atoms)
    constraints, distances = _terms(openmm_system, "Constraint", 2, 1)
    site_arrays = site_fields(sites.sites_of(openmm_system))
    for owner, members in (
        *((type(force).__name__, members) for force, (members, _) in tables),
        ("constraints", constraints),
        (maps.FORCE, map_terms["cmaps"]),
        *custom_terms.members_of(free, added),
        ("virtual sites", site_links(site_arrays["sites"])),
    ):
        _refuse_missing_atoms(owner, members, atoms)
    bonds = [] if added is None else [added.links]
    links = np.concatenate([*terms.links(), *bonds, constraints, site_links(site_arrays["sites"])])
    molecules = molecule_of_atom(atoms, links)
    _refuse_unsuited_terms(forces, tables, free, added, molecules)
    _refuse_maps_across(map_terms, molecules)
    special = custom.pair_terms(forces, molecules)
    atom_fields = _nonbonded_fields(
        nonbonded_force(forces), _joined(tables, "NonbondedForce"), special, atoms, values
    )
    named = _topology(topology, masses, links)
    by_types, of_pairs = custom_pairs.divided(
        forces, nonbonded_force(forces), atom_fields["exclusions"]
    )
    if by_types and nonbonded is None:
        settings = settings.overridden(
            {"lennard_jones": "cutoff", "dispersion_correction": _corrects(forces)}
        )
    return {
        "terms": terms,
        **map_terms,
        **site_arrays,
        **custom.restraint_fields(forces, molecules),
        **force_fields(links, custom.constant_forces(forces, atoms)),
        **solvent.solvent_fields(forces, atom_fields["charges"], named, settings),
        "masses": masses,
        "constraints": constraints,
        "constraint_lengths": distances[:, 0],
        "topology": named,
        "custom": custom_terms.joined(added, of_pairs),
        "collective": centroids.collective_of(forces, masses, molecules),
        "nonbonded": settings,
        **atom_fields,
        **by_types,
    }


def _refuse_unsuited_terms(forces: Any, tables: Any, free: Any, added: Any, molecules: Any) -> None:
    """Refuses periodic images of terms without a box, and terms across molecules in one."""
    if method_of(forces) in ("NoCutoff", "CutoffNonPeriodic"):
        for force, _ in tables:
            _refuse_images(force, getattr(force, _KINDS[type(force).__name__].periodic)())
        for force in free:
            _refuse_images(force, force.usesPeriodicBoundaryConditions())
        return
    for force, (members, _) in tables:
        _refuse_distant_terms(force, members, molecules)
    custom_terms.refuse_distant(free, added, molecules)


def _refuse_maps_across(map_terms: Any, molecules: Any) -> None:
    if (molecules[map_terms["cmaps"]] != molecules[map_terms["cmaps"][:, :1]]).any():
        raise InputError(f"{maps.FORCE}: a term joins different molecules")


def _bonded_terms(forces: Any, tables: Any, count: int) -> TermTable:
    """Bonds, angles and torsions of all forces, but for torsions of strength 0."""
    table = table_of({}, custom.torsion_fields(forces))
    found = []
    for name, kind in _BONDED.items():
        atoms, values = _joined(tables, name)
        if name == "PeriodicTorsionForce":
            strong = values[:, 2] != 0
            atoms, values = atoms[strong], values[strong]
        others = table[kind.form]
        found.append(Terms(kind.form.name, atoms, values).joined(others.atoms, others.parameters))
    return table.replaced(*found, *custom.bond_terms(forces, count))


def _corrects(forces: list[Any]) -> bool:
    """Whether the force of Lennard-Jones by types has a correction beyond the cutoff."""
    found = next(force for force in forces if type(force).__name__ == pairs.PAIRS)
    return bool(found.getUseLongRangeCorrection())


def _refuse_unsupported(forces: list[Any]) -> None:
    for index, force in enumerate(forces):
        kind = type(force).__name__
        if kind not in _KINDS and kind not in _OTHERS:
            named = kind if force.getName() == kind else f"{kind} ({force.getName()})"
            why = _why_unsupported(kind, f"remove it (system.removeForce({index}))")
            raise InputError(f"the OpenMM system has the force {named}, {why}")


def _global_values(force: Any, given: Mapping[str, float] | None) -> dict[str, float]:
    """Global parameters of the NonbondedForce; warns if offsets use default values."""
    values = offsets.global_values(force, given)
    if offsets.has_offsets(force) and given is None:
        listed = ", ".join(f"{name} = {value:g}" for name, value in values.items())
        warnings.warn(
            f"NonbondedForce: its parameter offsets are those of the default values, {listed}, and "
            "stay so: give System.from_openmm the parameters to choose others",
            QuiltWarning,
            stacklevel=4,
        )
    return values


def _why_unsupported(kind: str, remove: str) -> str:
    if kind.endswith("Thermostat"):
        return f"which is not supported: {remove}, the integrator is the thermostat here"
    if kind.endswith("Barostat"):
        return (
            f"which is not supported: {remove}, and give the simulation a barostat (ensemble = "
            "'npt' in a configuration), or it is at constant volume"
        )
    return "which is not supported"


def _refuse_distant_terms(
    force: Any, atoms: npt.NDArray[np.int32], molecules: npt.NDArray[np.int32]
) -> None:
    """Refuse terms across molecules that OpenMM would not take between nearest images.

    Terms act between nearest images here. Within a molecule that makes no difference, whatever the
    force says of periodic boundaries: a State keeps molecules whole.
    """
    name = type(force).__name__
    kind = _KINDS[name]
    if getattr(force, kind.periodic)():
        return
    apart = (molecules[atoms] != molecules[atoms[:, :1]]).any(axis=1)
    if apart.any():
        names = "-".join(str(atom + 1) for atom in atoms[np.argmax(apart)])
        getter = kind.periodic.removeprefix("get")
        setter = f"set{getter[0].upper()}{getter[1:]}"
        raise InputError(
            f"{name}: the {kind.noun.lower()} of atoms {names} joins different molecules; its "
            f"atoms are taken as nearest images here, in OpenMM only with {setter}(True)"
        )


def _refuse_images(force: Any, uses_images: bool) -> None:
    """Refuse terms between nearest images where there is no periodic box."""
    if uses_images:
        raise InputError(
            f"{type(force).__name__}: its terms use periodic boundary conditions, but "
            "NonbondedForce has the method NoCutoff, which is for systems without a periodic box"
        )


def _terms(owner: Any, noun: str, arity: int, width: int) -> _Table:
    """Atoms (n, arity) and parameters (n, width) of the bonds, angles, ... of an OpenMM object."""
    count = getattr(owner, f"getNum{noun}s")()
    rows = numbers(owner, f"get{noun}Parameters", count, arity + width)
    return rows[:, :arity].astype(np.int32), rows[:, arity:]


def _refuse_missing_atoms(where: str, members: npt.NDArray[np.int32], atoms: int) -> None:
    missing = ((members < 0) | (members >= atoms)).any(axis=1)
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(f"{where}: term {row} names an atom that does not exist")


def _terms_of(force: Any, values: Mapping[str, float]) -> _Table:
    name = type(force).__name__
    kind = _KINDS[name]
    atoms, parameters = _terms(force, kind.noun, kind.form.atoms, kind.form.columns)
    if name == "NonbondedForce":
        parameters = parameters + offsets.exception_offsets(force, values, len(atoms))
    return atoms, parameters


def _joined(tables: list[tuple[Any, _Table]], name: str) -> _Table:
    """Atoms and parameters of the terms of all forces of a class, one after the other."""
    kind = _KINDS[name]
    none = (np.empty((0, kind.form.atoms), np.int32), np.empty((0, kind.form.columns)))
    found = [table for force, table in tables if type(force).__name__ == name]
    atoms, parameters = zip(none, *found, strict=True)
    return np.concatenate(atoms), np.concatenate(parameters)


def _nonbonded_fields(
    force: Any, exceptions: _Table, special: _Table, atoms: int, values: Mapping[str, float]
) -> dict[str, npt.NDArray[Any]]:
    """Charges, Lennard-Jones types, exclusions and 1-4 pairs, of custom bonds (`special`) too."""
    if force.getNumParticles() != atoms:
        raise InputError(f"NonbondedForce has {force.getNumParticles()} particles, not {atoms}")
    particles = numbers(force, "getParticleParameters", atoms, 3)
    particles += offsets.particle_offsets(force, values, atoms)
    negative = (particles[:, 1:] < 0).any(axis=1)
    if negative.any():
        message = "NonbondedForce: sigma and epsilon must not be negative"
        raise InputError(message, atom=int(np.argmax(negative)))
    particles[particles[:, 2] == 0, 1] = 0.0  # without epsilon, sigma makes no type of its own
    both = np.ascontiguousarray(particles[:, 1:]).view(np.complex128)[:, 0]  # sorted much faster
    kinds, lj_types = np.unique(both, return_inverse=True)
    sigma = 0.5 * (kinds.real[:, None] + kinds.real[None, :])
    epsilon = np.sqrt(kinds.imag[:, None] * kinds.imag[None, :])
    excepted, _ = exceptions
    ordered = np.sort(excepted, axis=1).astype(np.int64)
    keys, first = np.unique(ordered[:, 0] * atoms + ordered[:, 1], return_index=True)
    if len(keys) < len(excepted):
        i, j = excepted[np.setdiff1d(np.arange(len(excepted)), first)[0]] + 1
        raise InputError(f"NonbondedForce: atoms {i} and {j} have more than one exception")
    return {
        "charges": particles[:, 0],
        "lj_types": lj_types.reshape(-1).astype(np.int32),
        "lj_a": 4 * epsilon * sigma**12,
        "lj_b": 4 * epsilon * sigma**6,
        **pairs.pairs14_fields(exceptions, special, keys, atoms),
        "exclusions": np.column_stack(np.divmod(keys, atoms)).astype(np.int32),
    }


def _topology(
    topology: Any, masses: npt.NDArray[np.float64], links: npt.NDArray[np.int32]
) -> Topology:
    if topology is None:
        return Topology.unnamed(masses, links)
    if topology.getNumAtoms() != len(masses):
        raise InputError(
            f"the OpenMM topology has {topology.getNumAtoms()} atoms, the system {len(masses)}"
        )
    atoms, residues = list(topology.atoms()), list(topology.residues())
    atomic = [atom.element.atomic_number if atom.element is not None else 0 for atom in atoms]
    names = np.array([atom.name for atom in atoms])
    ids = [residue.id for residue in residues]
    return Topology(
        atom_names=names,
        elements=elements_of(masses, names, links, np.array(atomic)),
        residue_of_atom=np.array([atom.residue.index for atom in atoms], dtype=np.int32),
        residue_names=np.array([residue.name for residue in residues]),
        residue_ids=np.array([residue_number(text) for text in ids], np.int32),
        chain_ids=np.array([residue.chain.id for residue in residues]),
    )
