# SPDX-License-Identifier: Apache-2.0
"""GROMACS' files: topologies (top, itp) with includes and defines; gro and g96 coordinates.

Each molecule type is read once and repeated as arrays, so that a million waters cost hardly more
than a hundred.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.elements import elements_of
from ..description.hybrid import with_second_states
from ..description.restraints import Held
from ..description.sites import site_fields
from ..description.system import System
from ..description.term_forms import TERM_FORMS
from ..description.terms import TermTable
from ..description.topology import Topology
from ..errors import InputError
from ..reading.formats import Described, Sources, TopologyFormat
from ..reading.words import residue_number
from .molecule import ForceField, Molecule
from .preprocess import Preprocessor
from .sections import TopologyFile

I32 = npt.NDArray[np.int32]
_Fields = dict[str, Any]

_REORDERS = "_FF_AMBER_LEAP_ATOM_REORDERING"
_MOST_ATOMS = 2**31 - 1  # the core numbers them in 32 bits
_POSITIONS = "position_restraints"  # of which files have but a part
_DIRECTIVE = re.compile(rb"#\s*(include|define|undef|ifdef|ifndef)\b|\[\s*\w+\s*\]")
_OF_OTHER_FORMATS = (b"<", b"%", b"PSF")  # beginnings of XML, prmtop and PSF files


def _is_topology(head: bytes) -> bool:
    """Any lines of text, then a directive of the preprocessor or of the topology."""
    lines = [line.strip() for line in head.split(b"\n")]
    first = next((line for line in lines if line.startswith((b"#", b"[", *_OF_OTHER_FORMATS))), b"")
    return bool(_DIRECTIVE.match(first))


def _read(sources: Sources) -> Described:
    preprocessor = Preprocessor(sources.topology, sources.defines)
    topology = TopologyFile(preprocessor.lines())
    types = ForceField(topology)
    molecules = {
        name: Molecule(topology, topology.molecule_types[name], types)
        for name in dict.fromkeys(name for name, _, _ in topology.molecules)
    }
    parts = [(molecules[name], count) for name, count, _ in topology.molecules if count]
    _check_count(topology, molecules)
    if not any(len(molecule.names) for molecule, _ in parts):
        raise InputError("[ molecules ] lists no molecules that have atoms", file=sources.topology)
    used = {name for molecule, _ in parts for name in molecule.types}
    changed = {
        name: Molecule(topology, topology.molecule_types[name], types, end=1)
        for name, molecule in molecules.items()
        if molecule.has_second_state
    }
    used |= {name for molecule in changed.values() for name in molecule.types}
    system = _system(topology, types, parts, sorted(used))
    if changed:
        second = [(changed[one.kind], count) for one, count in parts if one.kind in changed]
        last = _system(topology, types, second, sorted(used))
        where = _of_atoms(parts, [[one.kind in changed] * len(one.names) for one, _ in parts])
        system = with_second_states(system, last, np.flatnonzero(where))
    atoms, values = _repeated(parts, _POSITIONS, 1, 5)
    held = Held(atoms[:, 0], values[:, 0], values[:, 1], values[:, 2:])
    return Described(
        system,
        held=held if len(atoms) else None,
        warnings=(
            *topology.notes,
            *dict.fromkeys(types.notes),
            *_warnings(sources, preprocessor),
        ),
    )


def _system(
    topology: TopologyFile,
    types: ForceField,
    parts: list[tuple[Molecule, int]],
    used: list[str],
) -> System:
    """The system of these molecules, with Lennard-Jones parameters of these types."""
    fields: _Fields = {}
    terms = TermTable.of(
        {
            form.name: _repeated(parts, form.plural, form.atoms, form.columns)
            for form in TERM_FORMS
            if form.plural != _POSITIONS
        }
    )
    fields["constraints"], lengths = _repeated(parts, "constraints", 2, 1)
    fields["constraint_lengths"] = lengths[:, 0]
    if types.maps.maps:
        fields["cmap_maps"] = np.array(types.maps.maps)
    links = np.concatenate([*terms.links(), fields["constraints"]])
    masses = _of_atoms(parts, [molecule.masses for molecule, _ in parts])
    names = _of_atoms(parts, [molecule.names for molecule, _ in parts])
    return System(
        masses=masses,
        charges=_of_atoms(parts, [molecule.charges for molecule, _ in parts]),
        **_lennard_jones(types, parts, used),
        terms=terms,
        **fields,
        exclusions=_exclusions(parts),
        **_sites(parts),
        topology=_topology(topology, parts, masses, names, links),
    )


def _check_count(topology: TopologyFile, molecules: dict[str, Molecule]) -> None:
    """InputError at the molecules with which there are more atoms than can be numbered."""
    atoms = 0
    for name, count, line in topology.molecules:
        atoms += count * len(molecules[name].names)
        if atoms > _MOST_ATOMS:
            raise line.error(
                f"{count} molecules of {name} make more than {_MOST_ATOMS} atoms in all, the most "
                "that a system may have"
            )


def _includes(sources: Sources) -> tuple[str, ...]:
    preprocessor = Preprocessor(sources.topology, sources.defines)
    for _ in preprocessor.lines():
        pass
    return tuple(preprocessor.files[1:])


def _warnings(sources: Sources, preprocessor: Preprocessor) -> tuple[str, ...]:
    """A warning for each define that nothing asks for, and for what only grompp does."""
    given = {define.removeprefix("-D").partition("=")[0] for define in sources.defines}
    found = [
        f"{sources.topology}: the macro {name} has no effect: no #ifdef or #ifndef uses it"
        for name in sorted(given - preprocessor.used)
    ]
    if _REORDERS in preprocessor.macros:
        found.append(
            f"{sources.topology}: the force field asks grompp to order the atoms of dihedrals as "
            f"LEaP does ({_REORDERS}), which is not done here: energies of impropers between "
            "atoms of equal types can differ slightly"
        )
    return tuple(found)


def _of_atoms(parts: list[tuple[Molecule, int]], values: list[list[Any]]) -> npt.NDArray[Any]:
    """Values of the atoms of each molecule type, repeated as the system has them."""
    return np.concatenate(
        [np.tile(value, count) for value, (_, count) in zip(values, parts, strict=True)]
    )


def _offsets(parts: list[tuple[Molecule, int]]) -> list[I32]:
    """The first atom of every molecule, for each entry of [ molecules ]."""
    found, start = [], 0
    for molecule, count in parts:
        size = len(molecule.names)
        found.append((start + size * np.arange(count)).astype(np.int32))
        start += size * count
    return found


def _repeated(
    parts: list[tuple[Molecule, int]], name: str, arity: int, width: int
) -> tuple[I32, npt.NDArray[np.float64]]:
    """Atoms and parameters of all terms of a kind."""
    atoms, values = [np.empty((0, arity), np.int32)], [np.empty((0, width))]
    for (molecule, count), offsets in zip(parts, _offsets(parts), strict=True):
        rows = molecule.terms[name]
        if rows:
            one = np.array([row[0] for row in rows], dtype=np.int32)
            atoms.append((offsets[:, None, None] + one).reshape(-1, arity))
            values.append(np.tile(np.array([row[1] for row in rows]), (count, 1)))
    return np.concatenate(atoms), np.concatenate(values)


def _exclusions(parts: list[tuple[Molecule, int]]) -> I32:
    found = [np.empty((0, 2), np.int32)]
    for (molecule, _), offsets in zip(parts, _offsets(parts), strict=True):
        one = np.array(sorted(molecule.exclusions), dtype=np.int32).reshape(-1, 2)
        found.append((offsets[:, None, None] + one).reshape(-1, 2))
    return np.concatenate(found)


def _sites(parts: list[tuple[Molecule, int]]) -> _Fields:
    """The virtual sites of all molecules."""
    found = [site_fields([])]
    for (molecule, count), offsets in zip(parts, _offsets(parts), strict=True):
        one = site_fields(molecule.sites)
        shifted = np.where(one["sites"] >= 0, offsets[:, None, None] + one["sites"], -1)
        found.append(
            {
                "sites": shifted.reshape(-1, one["sites"].shape[1]),
                "site_weights": np.tile(one["site_weights"], (count, 1, 1)),
                "site_offsets": np.tile(one["site_offsets"], (count, 1)),
            }
        )
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}


def _lennard_jones(
    types: ForceField, parts: list[tuple[Molecule, int]], used: list[str]
) -> _Fields:
    """Types of atoms, and tables of those that are used."""
    number = {name: k for k, name in enumerate(used)}
    a, b = types.lennard_jones.tables(used)
    of_atoms = [[number[name] for name in molecule.types] for molecule, _ in parts]
    return {
        "lj_types": _of_atoms(parts, of_atoms).astype(np.int32),
        "lj_a": a,
        "lj_b": b,
    }


def _topology(
    topology: TopologyFile,
    parts: list[tuple[Molecule, int]],
    masses: npt.NDArray[np.float64],
    names: npt.NDArray[np.str_],
    links: I32,
) -> Topology:
    numbers = _of_atoms(
        parts, [[topology.atom_types[t].number for t in molecule.types] for molecule, _ in parts]
    ).astype(np.int32)
    of_atom, residue_names, residue_ids, kinds, start = [], [], [], [], 0
    for molecule, count in parts:
        changes = [a != b for a, b in zip(molecule.residues[1:], molecule.residues, strict=False)]
        local = np.concatenate([[0], np.cumsum(changes)]).astype(np.int32)
        firsts = [molecule.residues[k] for k in np.unique(local, return_index=True)[1]]
        size = len(firsts)
        of_atom.append((start + size * np.arange(count)[:, None] + local).reshape(-1))
        residue_names += [name for _, name in firsts] * count
        kinds += [molecule.kind] * (size * count)
        ids = [residue_number(re.sub(r"\D", "", number)) for number, _ in firsts]
        # Molecules of a single residue are numbered consecutively, as in GROMACS.
        residue_ids += ids * count if size > 1 else list(range(start + 1, start + 1 + count))
        start += size * count
    return Topology(
        atom_names=names,
        elements=elements_of(masses, names, links, numbers),
        residue_of_atom=np.concatenate(of_atom).astype(np.int32),
        residue_names=np.array(residue_names),
        residue_ids=np.array(residue_ids, dtype=np.int32),
        chain_ids=np.full(start, ""),
        molecule_types=np.array(kinds),
        vanishing=_of_atoms(parts, [molecule.vanishing for molecule, _ in parts]),
    )


TOP = TopologyFormat(
    "GROMACS topology (top)",
    _is_topology,
    _read,
    defines=True,
    includes=_includes,
)
