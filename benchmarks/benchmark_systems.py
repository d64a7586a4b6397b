# SPDX-License-Identifier: Apache-2.0
"""The systems that benchmarks and GPU tests run, for quiltmd and for OpenMM alike.

The main one is dihydrofolate reductase in water, from OpenMM's own benchmark, tiled.  Both
programs get the same arrays: the OpenMM System is written from those of quiltmd, so that a million
atoms take seconds and the force fields are identical.  Building the single box from its
PDB file takes OpenMM and about ten seconds; a cached file spares both.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import quiltmd
from quiltmd.description.box import box_from_lengths_angles
from quiltmd.description.term_forms import TERM_FORMS
from quiltmd.description.terms import Terms
from quiltmd.inputs.constrain import constrain
from quiltmd.inputs.standard_systems import system_files

PDB = "dhfr_openmm/5dfr_solv-cube_equil.pdb"
CACHE = "dhfr-system.npz"
HYDROGEN_MASS = 1.5  # amu, as in OpenMM's benchmark
_TOPOLOGY = (
    "atom_names",
    "elements",
    "residue_of_atom",
    "residue_names",
    "residue_ids",
    "chain_ids",
)

Pair = tuple[quiltmd.System, quiltmd.State]


def dhfr(inputs: Path, hydrogen_mass: float | None = HYDROGEN_MASS) -> Pair:
    """DHFR in TIP3P (23,558 atoms, amber99sb), bonds to hydrogen constrained, at rest.

    `inputs` holds the cache or the PDB file; with the latter alone, OpenMM builds the system, and
    the cache is written where that is possible.
    """
    cache = inputs / CACHE
    if cache.is_file():
        system, state = read(cache)
    else:
        system, state = _dhfr_by_openmm(inputs / PDB)
        with suppress(OSError):
            write(cache, system, state)
    return constrain(system, "h-bonds", True, hydrogen_mass), state


def water(edge: float, truncated_octahedron: bool = False, seed: int = 1) -> Pair:
    """TIP3P waters at liquid density on a lattice, turned at random; edge in nm, forces finite."""
    angles = (109.4712206,) * 3 if truncated_octahedron else (90.0,) * 3
    box = box_from_lengths_angles((edge,) * 3, angles)
    spacing = 0.339 if truncated_octahedron else 0.3105  # of neighbours on the lattice, 33.4/nm^3
    per_edge = round(edge / spacing)
    oxygens = (np.indices((per_edge,) * 3).reshape(3, -1).T + 0.5) / per_edge @ box
    random = np.random.default_rng(seed)
    axes = np.linalg.qr(random.normal(size=(len(oxygens), 3, 3)))[0]
    half, leg = 0.15139 / 2, 0.09572
    height = np.sqrt(leg**2 - half**2)
    hydrogens = [oxygens + height * axes[:, 0] + side * half * axes[:, 1] for side in (1, -1)]
    positions = np.stack([oxygens, *hydrogens], axis=1).reshape(-1, 3)
    system = tip3p(len(oxygens))
    return system, quiltmd.State.start(system, positions, box)


def tip3p(waters: int) -> quiltmd.System:
    oxygen, hydrogen = 15.99943, 1.007947
    first = 3 * np.arange(waters, dtype=np.int32)
    pairs = np.concatenate([np.stack([first + i, first + j], axis=1) for i, j in _WATER_PAIRS])
    masses = np.tile([oxygen, hydrogen, hydrogen], waters)
    sigma, epsilon = 0.31507524, 0.635968
    return quiltmd.System.of(
        masses,
        np.tile([-0.834, 0.417, 0.417], waters),
        np.tile(np.array([0, 1, 1], dtype=np.int32), waters),
        np.array([[4 * epsilon * sigma**12, 0.0], [0.0, 0.0]]),
        np.array([[4 * epsilon * sigma**6, 0.0], [0.0, 0.0]]),
        exclusions=pairs,
        constraints=pairs,
        constraint_lengths=np.repeat([0.09572, 0.09572, 0.15139], waters),
        topology=quiltmd.Topology.unnamed(masses),
    )


_WATER_PAIRS = ((0, 1), (0, 2), (1, 2))


def standard(name: str) -> Pair:
    """A standard system of `quiltmd bench`, bonds to hydrogen constrained, with HMR."""
    return quiltmd.load(*system_files(name), constraints="h-bonds", hydrogen_mass=2 * HYDROGEN_MASS)


def parse(name: str) -> tuple[str, tuple[int, int, int]]:
    """A system's name and its tiling: "dhfr-2x2x1" is ("dhfr", (2, 2, 1))."""
    match = re.fullmatch(r"(.+?)(?:-(\d+)x(\d+)x(\d+))?", name)
    assert match
    x, y, z = (int(match[k] or 1) for k in (2, 3, 4))
    return match[1], (x, y, z)


def apoa1(inputs: Path, hydrogen_mass: float | None = HYDROGEN_MASS) -> Pair:
    """Apolipoprotein A1 with lipids in water (92,224 atoms, CHARMM), from NAMD's benchmark."""
    folder = inputs / "apoa1"
    return quiltmd.load(
        folder / "apoa1.psf",
        folder / "apoa1.pdb",
        parameters=[folder / "apoa1_c22_namd.prm"],
        box=(10.88612, 10.88612, 7.7758),
        constraints="h-bonds",
        hydrogen_mass=hydrogen_mass,
    )


def membrane(cache: Path, hydrogen_mass: float | None = 2 * HYDROGEN_MASS) -> Pair:
    """128 POPC in TIP3P (32,512 atoms, lipid17), bonds to hydrogen constrained, at rest.

    Read from `cache`; where there is no such file, OpenMM builds the system, and it is written.
    """
    if not cache.is_file():
        write(cache, *from_openmm(*openmm_membrane()))
    system, state = read(cache)
    return constrain(system, "h-bonds", True, hydrogen_mass), state


def build(name: str, inputs: Path, hydrogen_mass: float | None = HYDROGEN_MASS) -> Pair:
    """A system by name, single: "dhfr", "apoa1", "water<atoms>" or one of `quiltmd bench`."""
    if name == "dhfr":
        return dhfr(inputs, hydrogen_mass)
    if name == "apoa1":
        return apoa1(inputs, hydrogen_mass)
    if name.startswith("water"):
        return water(0.3105 * round((int(name.removeprefix("water")) / 3) ** (1 / 3)))
    return standard(name)


def write(path: Path, system: quiltmd.System, state: quiltmd.State) -> None:
    """A system and its positions and box as one compressed file."""
    names = {f"topology_{name}": getattr(system.topology, name) for name in _TOPOLOGY}
    place = {"positions": state.positions, "box": state.box}
    np.savez_compressed(path, **system.arrays(), **names, **place)


def read(path: Path) -> Pair:
    """What `write` wrote, at rest; a file of an older version has no terms of forms made since."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    topology = quiltmd.Topology(**{name: arrays.pop(f"topology_{name}") for name in _TOPOLOGY})
    positions, box = arrays.pop("positions"), arrays.pop("box")
    terms = [
        Terms(
            form.name,
            arrays.pop(form.plural),
            arrays.pop(form.parameter_array),
            arrays.pop(form.shared) if form.shared else (),
        )
        for form in TERM_FORMS
        if form.plural in arrays
    ]
    del arrays["molecules"]  # follows from the rest
    system = quiltmd.System(**arrays, terms={one.name: one for one in terms}, topology=topology)
    return system, quiltmd.State.start(system, positions, box)


def openmm_membrane() -> tuple[Any, Any]:
    """POPC in water as an OpenMM System without constraints, and its PDBFile.

    The coordinates are the patch in the package openmm from which `Modeller.addMembrane` makes
    bilayers: 64 lipids in each leaflet, 40 waters for each lipid, no ions.
    """
    from openmm import app

    patch = Path(app.__file__).parent / "data" / "POPC.pdb"
    return _openmm_system(patch, "amber14/lipid17.xml", "amber14/tip3p.xml")


def from_openmm(openmm_system: Any, pdb: Any) -> Pair:
    """An OpenMM System and the positions of its PDBFile, at rest."""
    system = quiltmd.System.from_openmm(openmm_system, pdb.topology)
    box = openmm_system.getDefaultPeriodicBoxVectors()
    return system, quiltmd.State.from_openmm(system, pdb.positions, box)


def _dhfr_by_openmm(pdb_path: Path) -> Pair:
    return from_openmm(*_openmm_system(pdb_path, "amber99sb.xml", "tip3p.xml"))


def _openmm_system(pdb_path: Path, *force_field: str) -> tuple[Any, Any]:
    """An OpenMM System without constraints, with PME, and the PDBFile that it is made from."""
    from openmm import app, unit

    pdb = app.PDBFile(str(pdb_path))
    openmm_system = app.ForceField(*force_field).createSystem(
        pdb.topology,
        nonbondedMethod=app.PME,
        nonbondedCutoff=0.9 * unit.nanometer,
        rigidWater=False,
    )
    return openmm_system, pdb
