# SPDX-License-Identifier: Apache-2.0
"""Readers of Amber's, CHARMM's and GROMACS' files beside OpenMM's readers of the same files.

Inputs are in the packages of tests/data-packages.txt, and in wrappers/python/tests/systems of
OpenMM's source where QUILTMD_OPENMM_TESTS names that folder.  By itself it prints the rows of
docs/user/inputs.md.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from openmm import app, unit
from openmm_terms import difference, openmm_terms, quilt_terms
from quick import slowly

import quiltmd
from quiltmd import InputError, Nonbonded

OPENMM_TESTS = Path(os.environ.get("QUILTMD_OPENMM_TESTS", "absent")).absolute()
SMALL = 60_000  # bytes of a topology that is compared in a second
LARGE = 2_000_000  # whose pairs take OpenMM's loops minutes
BESIDE = (".crd", ".inpcrd", ".rst7", ".nc", ".ncrst")
PSF = {  # coordinates and parameters
    "ala_ala_ala.psf": ("ala_ala_ala.crd", "charmm22.rtf", "charmm22.par"),
    "ala_ala_ala.xpsf": ("ala_ala_ala.crd", "charmm22.rtf", "charmm22.par"),
    "ala_ala_ala.vpsf": ("ala_ala_ala.crd", "charmm22.rtf", "charmm22.par"),
    "ala3_solv.psf": ("ala3_solv.crd", "par_all36_prot.prm", "toppar_water_ions.str"),
    "chlb_cgenff.psf": ("chlb_cgenff.crd", "top_all36_cgenff.rtf", "par_all36_cgenff.prm"),
    "MoS2.psf": ("MoS2.pdb", "MoS2.prm"),
    "ions.psf": ("ions.pdb", "toppar_water_ions.str"),
}
REFUSED = {  # of OpenMM's own tests
    "Mg_water.prmtop": "12-6-4 Lennard-Jones potential is not supported",
    "1ppt.top": "bonds of function type 2 are not supported",
}


@dataclass(frozen=True)
class Files:
    """A topology with its coordinates and parameter files."""

    topology: Path
    coordinates: Path
    parameters: tuple[Path, ...] = ()


def package(name: str) -> Path:
    spec = find_spec(name)
    return Path((spec.submodule_search_locations or [""])[0]) / "data" if spec else OPENMM_TESTS


def amber(folder: Path) -> Iterator[Files]:
    """The topologies of Amber that have coordinates beside them."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".prmtop", ".parm7", ".top"):
            beside = (path.with_suffix(suffix) for suffix in BESIDE)
            found = next((file for file in beside if file.is_file()), None)
            if found and path.read_bytes().startswith(b"%VERSION"):
                yield Files(path, found)


def gromacs(folder: Path) -> Iterator[Files]:
    """The topologies of GROMACS with coordinates of their name up to the first full stop."""
    for path in sorted(folder.glob("*.top")):
        coordinates = [path.with_suffix(".gro"), folder / f"{path.name.split('.')[0]}.gro"]
        found = next((file for file in coordinates if file.is_file()), None)
        if found:
            yield Files(path, found)


def psf(folder: Path) -> Iterator[Files]:
    for name, (coordinates, *parameters) in PSF.items():
        if (folder / name).is_file():
            files = tuple(folder / file for file in parameters)
            yield Files(folder / name, folder / coordinates, files)


PACKAGED = [row for name in ("openmmtools", "MDAnalysisTests") for row in amber(package(name))]
OF_OPENMM = [row for rows in (amber, gromacs, psf) for row in rows(OPENMM_TESTS)]
ROWS = [row for row in PACKAGED + OF_OPENMM if row.topology.stat().st_size < LARGE]
QUICK = [row for row in PACKAGED if row.topology.stat().st_size < SMALL]


def by_openmm(files: Files) -> Any:
    """The System, without a box, without the bonds of virtual sites that Amber leaves out."""
    name = str(files.topology)
    if files.parameters:
        given = [app.CharmmParameterSet(*map(str, files.parameters))]
        reader = app.CharmmPsfFile(name)
    elif files.topology.read_bytes().startswith(b"%VERSION"):
        reader, given = app.AmberPrmtopFile(name), []
    else:
        reader, given = app.GromacsTopFile(name, includeDir="/usr/share/gromacs/top"), []
    system = reader.createSystem(*given, nonbondedMethod=app.NoCutoff, rigidWater=False)
    for force in system.getForces():
        if type(force).__name__ == "HarmonicBondForce":
            _leave_out_sites(system, force)
    return system


def _leave_out_sites(system: Any, bonds: Any) -> None:
    for bond in range(bonds.getNumBonds()):
        i, j, length, _ = bonds.getBondParameters(bond)
        if system.isVirtualSite(i) or system.isVirtualSite(j):
            bonds.setBondParameters(bond, i, j, length, 0)


def compared(files: Files) -> Any:
    """The difference, or why the files are refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            system, state = quiltmd.load(
                files.topology,
                files.coordinates,
                parameters=files.parameters,
                rigid_water=False,
                box=(),
            )
    except InputError as error:
        return str(error).rpartition("/")[2]
    ours = quilt_terms(system, state, Nonbonded(method="no-cutoff"))
    theirs = openmm_terms(by_openmm(files), state.positions * unit.nanometer)
    return difference(ours, theirs, system.masses > 0)


@pytest.mark.parametrize(
    "files", slowly(ROWS, QUICK), ids=lambda row: f"{row.topology.parent.name}/{row.topology.name}"
)
def test_readers_agree(files: Files) -> None:
    found = compared(files)
    refused = REFUSED.get(files.topology.name)
    if refused:
        assert refused in str(found)
        return
    assert not isinstance(found, str), found
    # Amber's charges have nine digits after 18.2223 is divided out.
    assert found.energy < 2e-9, found
    assert found.forces < 5e-9, found


def test_the_packages_have_topologies() -> None:
    assert len(QUICK) > 5


def table() -> None:
    """Prints a row for each topology."""
    for row in ROWS:
        name = f"{row.topology.parent.name}/{row.topology.name}"
        print(f"| {name} | {compared(row)} |", flush=True)


if __name__ == "__main__":
    sys.exit(table())
