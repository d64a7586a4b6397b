# SPDX-License-Identifier: Apache-2.0
"""Bonded terms of Amber topologies beyond bonds, angles and torsions.

Urey-Bradley terms and harmonic impropers of CHARMM's force field (chamber
files, which ParmEd and CHAMBER write), and torsion maps (CMAP), of it and of
ff19SB. Atoms and parameters are counted from 1 here, not as 3 times an index.

Phases of impropers are in radians, as Amber takes them, whatever the comment
in the file says. Earlier versions of ParmEd wrote degrees; a file with a phase
beyond 2 pi is one of theirs.

Sources: M. F. Crowley, M. J. Williamson and R. C. Walker, Int. J. Quantum
Chem. 109, 3767 (2009) (CHAMBER); ambermd.org/prmtop.pdf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..reading.units import ANGSTROM, KCAL
from .prmtop_file import PrmtopFile

_Fields = dict[str, Any]


def further_terms(prmtop: PrmtopFile) -> _Fields:
    """The fields of `System` for Urey-Bradley terms, impropers and torsion maps of the file.

    Raises
    ------
    InputError
        With file, line and section: counts, atoms or maps that do not fit together.
    """
    return {**_urey_bradleys(prmtop), **_impropers(prmtop), **_maps(prmtop)}


def _urey_bradleys(prmtop: PrmtopFile) -> _Fields:
    """Amber's energy is k (r - r0)^2, ours k/2 (r - r0)^2."""
    name = "CHARMM_UREY_BRADLEY"
    if not _present(prmtop, name):
        return {}
    count, types = _counts(prmtop, f"{name}_COUNT", 2)
    if count == 0:
        return {}
    atoms, kinds = _terms(prmtop, name, count, 2, types)
    k = 2.0 * KCAL / ANGSTROM**2 * prmtop.reals(f"{name}_FORCE_CONSTANT", types)
    r0 = ANGSTROM * prmtop.reals(f"{name}_EQUIL_VALUE", types)
    return {
        "urey_bradleys": atoms,
        "urey_bradley_parameters": np.column_stack([r0[kinds], k[kinds]]),
    }


def _impropers(prmtop: PrmtopFile) -> _Fields:
    """Amber's energy is k (psi - psi0)^2, ours k/2 (psi - psi0)^2."""
    if not _present(prmtop, "CHARMM_NUM_IMPR") and not _present(prmtop, "CHARMM_IMPROPER"):
        return {}
    count = _counts(prmtop, "CHARMM_NUM_IMPROPERS", 1)[0]
    if count == 0:
        return {}
    types = _counts(prmtop, "CHARMM_NUM_IMPR_TYPES", 1)[0]
    atoms, kinds = _terms(prmtop, "CHARMM_IMPROPERS", count, 4, types)
    k = 2.0 * KCAL * prmtop.reals("CHARMM_IMPROPER_FORCE_CONSTANT", types)
    phase = prmtop.reals("CHARMM_IMPROPER_PHASE", types)
    if (np.abs(phase) > 2 * np.pi).any():
        phase = np.radians(phase)
    return {
        "impropers": atoms,
        "improper_parameters": np.column_stack([phase[kinds], k[kinds]]),
    }


def _maps(prmtop: PrmtopFile) -> _Fields:
    """Torsion maps; the file lists energies from -180 degrees on, psi varying fastest."""
    prefixes = [name for name in ("CMAP_", "CHARMM_CMAP_") if _present(prmtop, name)]
    if not prefixes:
        return {}
    prefix = prefixes[0]
    if len(prefixes) > 1:
        raise prmtop.error(f"{prefix}COUNT", 0, "CHARMM_CMAP_COUNT also defines torsion maps")
    count, maps = _counts(prmtop, f"{prefix}COUNT", 2)
    for name in prmtop.sections:
        number = name.removeprefix(f"{prefix}PARAMETER_")
        if number != name and not 1 <= int(number) <= maps:
            raise prmtop.error(name, 0, f"{prefix}COUNT says that there are only {maps} maps")
    if count == 0:
        return {}
    size = _resolution(prmtop, f"{prefix}RESOLUTION", maps)
    atoms, numbers = _terms(prmtop, f"{prefix}INDEX", count, 5, maps)
    names = [f"{prefix}PARAMETER_{number + 1:02d}" for number in range(maps)]
    tables = np.array([prmtop.reals(name, size**2).reshape(size, size) for name in names])
    return {
        "cmaps": atoms,
        "cmap_parameters": numbers[:, None].astype(np.float64),
        "cmap_maps": KCAL * np.roll(tables, (size // 2, size // 2), axis=(1, 2)),
    }


def _resolution(prmtop: PrmtopFile, name: str, maps: int) -> int:
    """Energies along each side of all maps."""
    sizes = prmtop.integers(name, maps)
    if maps == 0:
        raise prmtop.error(name, 0, "there are terms, but no maps")
    other = sizes != sizes[0]
    if other.any():
        message = "torsion maps of different resolutions are not supported"
        raise prmtop.error(name, int(np.argmax(other)), message)
    if sizes[0] < 4 or sizes[0] % 2:
        message = f"a torsion map needs an even number of energies from 4 on, not {sizes[0]}"
        raise prmtop.error(name, 0, message)
    return int(sizes[0])


def _present(prmtop: PrmtopFile, prefix: str) -> bool:
    return any(name.startswith(prefix) for name in prmtop.sections)


def _counts(prmtop: PrmtopFile, name: str, count: int) -> list[int]:
    values = prmtop.integers(name, count)
    if (values < 0).any():
        raise prmtop.error(name, int(np.argmax(values < 0)), f"{values.min()} is not a count")
    return [int(value) for value in values]


def _terms(
    prmtop: PrmtopFile, name: str, count: int, arity: int, kinds: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Atoms (count, arity) and parameter index (count,) of terms, both from 0."""
    values = prmtop.integers(name, count * (arity + 1)).reshape(count, arity + 1)
    wrong = (values < 1) | (values > [*[prmtop.counts["NATOM"]] * arity, kinds])
    if wrong.any():
        index = int(np.argmax(wrong.ravel()))
        message = f"{values.ravel()[index]} is not an atom or parameter of this file"
        raise prmtop.error(name, index, message)
    return (values[:, :arity] - 1).astype(np.int32), values[:, arity] - 1
