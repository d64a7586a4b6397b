# SPDX-License-Identifier: Apache-2.0
"""CHARMM's and NAMD's files: PSF with parameters of CHARMM or X-PLOR, CRD, binary coordinates."""

from __future__ import annotations

from ..errors import InputError
from ..reading.fixed_width import read_bytes
from ..reading.formats import Described, Sources, TopologyFormat
from .assign import assemble
from .charmm_format import read_charmm
from .parameters import Parameters
from .psf import PsfFile, is_psf
from .xplor_format import is_xplor, read_xplor


def _read(sources: Sources) -> Described:
    if not sources.parameters:
        raise InputError(
            "a PSF has no force field: name CHARMM's parameter files (par, prm, str) as parameters",
            file=sources.topology,
        )
    return Described(assemble(PsfFile(sources.topology), read_parameters(sources.parameters)))


def read_parameters(files: tuple[str, ...]) -> Parameters:
    """Parameters of all files; X-PLOR's and CHARMM's formats are distinguished by content."""
    found = Parameters()
    for file in files:
        found.files.append(file)
        text = read_bytes(file).decode("latin-1")
        (read_xplor if is_xplor(text) else read_charmm)(file, found)
    return found


PSF = TopologyFormat(
    "CHARMM or NAMD PSF", is_psf, _read, parameters="CHARMM or X-PLOR parameter files"
)
