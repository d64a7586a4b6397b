# SPDX-License-Identifier: Apache-2.0
"""OpenMM's files: System XML, State XML, and PDB or mmCIF with ForceField XML.

OpenMM itself reads them, and is asked for by name where it is not installed.  A System that it has
made is translated as `System.from_openmm` does; what that cannot represent is refused by name.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from ..description.box import reduce_box
from ..description.nonbonded import Nonbonded
from ..description.system import System
from ..errors import InputError, one_line
from ..reading.fixed_width import read_bytes
from ..reading.formats import (
    CoordinateFormat,
    Coordinates,
    Described,
    Expected,
    Sources,
    TopologyFormat,
)
from ..reading.pdb import is_mmcif, is_pdb
from ..reading.record import mark_incomplete
from .values import plain

_ROOT = r"\s*(<\?xml[^>]*\?>)?\s*(<!--.*?-->\s*)*<%s\b"
_SYSTEM = re.compile((_ROOT % "System").encode(), re.DOTALL)
_STATE = re.compile((_ROOT % "State").encode(), re.DOTALL)
_FORCE_FIELD = re.compile((_ROOT % "ForceField").encode(), re.DOTALL)


def find_force_field(path: Path) -> Path:
    """A ForceField file: as named, else the one of that name that comes with OpenMM.

    Where the path names a folder of its own that is not there, it is not found: whoever writes
    `old/tip3p.xml` does not mean that of OpenMM.
    """
    spec = None if path.exists() else find_spec("openmm")
    if spec is not None and spec.origin is not None:
        data = Path(spec.origin).parent / "app" / "data"
        # amber14/tip3p.xml is another file than tip3p.xml.
        for parts in (2, 1) if path.absolute().parent.is_dir() else (2,):
            found = data.joinpath(*path.parts[-parts:])
            if path.suffix == ".xml" and found.is_file():
                return found
    return path


def _read_system(sources: Sources) -> Described:
    system = _deserialize(sources.topology)
    if type(system).__name__ != "System":
        raise InputError(
            f"holds an OpenMM {type(system).__name__}, not a System", file=sources.topology
        )
    translated = _translated(system, None, sources.topology)
    if not system.usesPeriodicBoundaryConditions():  # the box that it has nevertheless is of no use
        return Described(translated, complete=True, periodic=False)
    box = _box(system.getDefaultPeriodicBoxVectors(), sources.topology)
    return Described(translated, box, complete=True)


def _read_state(file: str, expected: Expected) -> Coordinates:
    state = _deserialize(file)
    try:
        positions = np.array(plain(state.getPositions(asNumpy=True)))
    except Exception as error:
        raise InputError(
            f"an OpenMM State without positions ({error}): save one with getState(positions=True)",
            file=file,
        ) from None
    moving = state.getDataTypes() & type(state).Velocities
    velocities = np.array(plain(state.getVelocities(asNumpy=True))) if moving else None
    box = _box(state.getPeriodicBoxVectors(), file) if expected.box else None
    return Coordinates(positions, velocities, box)


def _read_force_field(sources: Sources) -> Described:
    file = sources.topology
    app = _openmm(file).app
    if not sources.parameters:
        raise InputError(
            "a PDB or mmCIF file has no force field: name ForceField XML files as parameters "
            "(amber14-all.xml amber14/tip3p.xml)",
            file=file,
        )
    names = [os.fspath(find_force_field(Path(name))) for name in sources.parameters]
    for parameters in names:
        if not _FORCE_FIELD.match(read_bytes(parameters, limit=8192)):
            raise InputError(
                "not an OpenMM ForceField XML, whose root element is <ForceField>", file=parameters
            )
    mark_incomplete()  # OpenMM reads these files, and what they include
    reader = app.PDBxFile if is_mmcif(read_bytes(file, limit=8192)) else app.PDBFile
    try:
        topology = reader(file).topology
        made = app.ForceField(*names).createSystem(
            topology,
            nonbondedMethod=app.PME
            if topology.getPeriodicBoxVectors() is not None
            else app.NoCutoff,
            constraints=None,
            rigidWater=False,
            removeCMMotion=False,
        )
    except Exception as error:
        raise InputError(f"OpenMM: {one_line(error)}", file=file) from None
    vectors = topology.getPeriodicBoxVectors()
    box = None if vectors is None else _box(vectors, file)
    system = _translated(made, topology, file)
    stated = system.nonbonded  # of which the force field says the tail correction alone
    corrected = box is None or stated is None or stated.dispersion_correction
    settings = None if corrected else Nonbonded(dispersion_correction=False)
    return Described(replace(system, nonbonded=settings), box)


def _translated(openmm_system: Any, topology: Any, file: str) -> System:
    try:
        return System.from_openmm(openmm_system, topology)
    except InputError as error:
        raise InputError(str(error), file=file) from None


def _refuse_broken(file: str, text: str) -> None:
    """InputError if this is no whole XML: OpenMM takes a file that ends after some forces."""
    try:
        expat.ParserCreate().Parse(text, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        message = f"the XML is damaged ({what}); was the file written to its end?"
        raise InputError(message, file=file, line=error.lineno) from None


def _deserialize(file: str) -> Any:
    """The object in an XML file."""
    openmm = _openmm(file)
    text = read_bytes(file).decode("utf-8", "replace")
    _refuse_broken(file, text)
    try:
        return openmm.XmlSerializer.deserialize(text)
    except Exception as error:  # OpenMMException, or the like of a damaged file
        raise InputError(f"OpenMM cannot read it: {one_line(error)}", file=file) from None


def _openmm(file: str) -> Any:
    try:
        import openmm
        import openmm.app
    except ImportError as error:
        raise InputError(
            f"needs OpenMM to be read, which cannot be imported ({one_line(error)}): "
            "pip install 'quiltmd[openmm]'",
            file=file,
        ) from None
    return openmm


def _box(vectors: Any, file: str) -> npt.NDArray[np.float64]:
    try:
        return reduce_box(plain(vectors))
    except (InputError, ZeroDivisionError) as error:
        raise InputError(f"periodic box: {error}", file=file) from None


SYSTEM = TopologyFormat("OpenMM System XML", lambda head: bool(_SYSTEM.match(head)), _read_system)
STATE = CoordinateFormat("OpenMM State XML", lambda head: bool(_STATE.match(head)), _read_state)
STRUCTURE = TopologyFormat(
    "PDB or mmCIF with OpenMM ForceField XML",
    lambda head: is_pdb(head) or is_mmcif(head),
    _read_force_field,
    parameters="OpenMM ForceField XML files",
)
