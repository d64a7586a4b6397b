# SPDX-License-Identifier: Apache-2.0
"""Atoms chosen by a few words, for output: "solute", "protein and not hydrogen", "resname LIG".

Only what output needs, without a library: names, numbers and what a molecule is made of.  By
position nothing can be selected, as a selection holds for a whole run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import QuiltError
from .elements import SYMBOLS
from .system import System

_Mask = npt.NDArray[np.bool_]

_NAMES = (
    "ALA ARG ASH ASN ASP CYM CYS CYX GLH GLN GLU GLY HID HIE HIP HIS HSD HSE HSP HYP ILE LEU LYN "
    "LYS MET PHE PRO SER THR TRP TYR VAL ACE NME NHE NH2 MSE"
)
_AMINO_ACIDS = _NAMES.split()
_NUCLEOTIDES = [
    prefix + base + end
    for prefix in ("", "D", "R")
    for base in "ACGTU"
    for end in ("", "3", "5", "N")
]
_BACKBONE = ("N", "CA", "C", "O", "OXT")
_TOKEN = re.compile(r"[()]|[^\s()]+")
_JOINS = ("and", "or", "not", "(", ")")


def select(system: System, text: str) -> npt.NDArray[np.int64]:
    """The atoms of a selection.

    Parameters
    ----------
    system:
        The system whose atoms are selected.
    text:
        all, solute (neither water nor ions), water, ions (molecules of one atom), protein, nucleic,
        backbone (N, CA, C, O of a protein), hydrogen, heavy, vanishing (atoms of a GROMACS topology
        whose second state has no nonbonded interactions); `name CA CB`, `resname LIG`, `resid
        1-10 12`, `residue 1-10` (residues counted from 1 in their order), `chain A`, `moltype LIG`
        (molecule types of GROMACS topologies), `element C N`, `index 1-100` (atoms counted from 1);
        joined by and, or, not and parentheses.  Names may have the wildcards * and ?, and ranges a
        colon.  `bynum` is index, `resnum` resid, `segid` and `chainID` are chain.

    Returns
    -------
    (n,) indices from 0, ascending.

    Raises
    ------
    QuiltError
        If the text cannot be read, or no atom is selected.
    """
    parser = _Parser(system, text)
    mask = parser.whole()
    if not mask.any():
        raise QuiltError(f"the selection {text!r} has no atoms")
    return np.flatnonzero(mask)


_MOST_NESTED = 200  # each calls functions within functions, of which Python allows some 1,000


class _Parser:
    """Reads a selection by recursive descent: or, and, not, then keywords with their values."""

    def __init__(self, system: System, text: str) -> None:
        self._system, self._text = system, text
        self._tokens = _TOKEN.findall(text)

    def whole(self) -> _Mask:
        if not self._tokens:
            raise QuiltError("an empty selection: 'all' selects all atoms")
        if self._tokens.count("(") + self._tokens.count("not") > _MOST_NESTED:
            raise QuiltError(
                f"the selection {self._text[:40]!r}... has more than {_MOST_NESTED} parentheses "
                "and 'not'"
            )
        mask = self._any_of()
        if self._tokens:
            raise self._fault(self._tokens[0])
        return mask

    def _any_of(self) -> _Mask:
        mask = self._all_of()
        while self._take("or"):
            mask = mask | self._all_of()
        return mask

    def _all_of(self) -> _Mask:
        mask = self._one()
        while self._take("and"):
            mask = mask & self._one()
        return mask

    def _one(self) -> _Mask:
        if self._take("not"):
            return ~self._one()
        if self._take("("):
            mask = self._any_of()
            if not self._take(")"):
                raise QuiltError(f"the selection {self._text!r} lacks a closing parenthesis")
            return mask
        word = self._tokens.pop(0) if self._tokens else ""
        if word in _KINDS:
            return _KINDS[word](self._system)
        if word in _FIELDS:
            return self._matches(word)
        raise self._fault(word)

    def _matches(self, field: str) -> _Mask:
        values = []
        while self._tokens and self._tokens[0] not in _JOINS:
            values.append(self._tokens.pop(0))
        if not values:
            raise QuiltError(f"the selection {self._text!r} gives no value for '{field}'")
        found: Any = _FIELDS[field](self._system)
        if found.dtype.kind in "iu":
            return self._numbers(field, found, values)
        kinds, inverse = np.unique(found, return_inverse=True)
        chosen = [any(fnmatchcase(str(kind), value) for value in values) for kind in kinds]
        return np.array(chosen, dtype=bool)[inverse]

    def _numbers(self, field: str, found: npt.NDArray[np.integer], values: list[str]) -> _Mask:
        mask = np.zeros(len(found), dtype=bool)
        for value in values:
            match = re.fullmatch(r"(-?\d{1,18})(?:[-:](-?\d{1,18}))?", value)
            if match is None:
                raise QuiltError(
                    f"the selection {self._text!r}: '{field}' takes numbers and ranges such as "
                    f"1-10, not {value!r}"
                )
            first, last = int(match[1]), int(match[2] or match[1])
            mask |= (found >= first) & (found <= last)
        return mask

    def _take(self, word: str) -> bool:
        taken = bool(self._tokens) and self._tokens[0] == word
        if taken:
            self._tokens.pop(0)
        return taken

    def _fault(self, word: str) -> QuiltError:
        known = ", ".join((*_KINDS, *_FIELDS))
        where = f"at {word!r}" if word else "at its end"
        return QuiltError(
            f"the selection {self._text!r} cannot be read {where}; known are {known}, joined by "
            "and, or, not"
        )


def _of_residues(names: list[str]) -> Callable[[System], _Mask]:
    def mask(system: System) -> _Mask:
        topology = system.topology
        return np.isin(topology.residue_names, names)[topology.residue_of_atom]

    return mask


def water_atoms(system: System) -> npt.NDArray[np.bool_]:
    """(N,) Which atoms are of water.

    Of molecules of one oxygen, two hydrogens and nothing else that has an element.
    """
    elements, molecules = system.topology.elements, system.molecules

    def count(mask: _Mask) -> npt.NDArray[np.int64]:
        return np.bincount(molecules, weights=mask).astype(np.int64)

    hydrogens, oxygens, known = (
        count(mask) for mask in (elements == 1, elements == 8, elements > 0)
    )
    is_water: _Mask = (hydrogens == 2) & (oxygens == 1) & (known == 3)
    return is_water[molecules]


def _ions(system: System) -> _Mask:
    single: _Mask = np.bincount(system.molecules) == 1
    return single[system.molecules]


def _backbone(system: System) -> _Mask:
    return _of_residues(_AMINO_ACIDS)(system) & np.isin(system.topology.atom_names, _BACKBONE)


_KINDS: dict[str, Callable[[System], _Mask]] = {
    "all": lambda system: np.ones(system.atoms, dtype=bool),
    "solute": lambda system: ~(water_atoms(system) | _ions(system)),
    "water": water_atoms,
    "ions": _ions,
    "protein": _of_residues(_AMINO_ACIDS),
    "nucleic": _of_residues(_NUCLEOTIDES),
    "backbone": _backbone,
    "hydrogen": lambda system: system.topology.elements == 1,
    "heavy": lambda system: system.topology.elements > 1,
    "vanishing": lambda system: system.topology.vanishing,
}


def atoms_of_kind(system: System, kind: str) -> npt.NDArray[np.bool_]:
    """(N,) Which atoms are of a kind that selections know by one word, such as "protein"."""
    return _KINDS[kind](system)


_FIELDS: dict[str, Callable[[System], npt.NDArray[np.generic]]] = {
    "name": lambda system: system.topology.atom_names,
    "resname": lambda system: system.topology.residue_names[system.topology.residue_of_atom],
    "resid": lambda system: system.topology.residue_ids[system.topology.residue_of_atom],
    "residue": lambda system: system.topology.residue_of_atom + 1,
    "chain": lambda system: system.topology.chain_ids[system.topology.residue_of_atom],
    "moltype": lambda system: system.topology.molecule_types[system.topology.residue_of_atom],
    "element": lambda system: np.array(SYMBOLS)[system.topology.elements],
    "index": lambda system: np.arange(1, system.atoms + 1),
}
# Names that they have in MDAnalysis, whose own `index` counts from 0.
_OTHER_NAMES = {"bynum": "index", "resnum": "resid", "segid": "chain", "chainID": "chain"}
_FIELDS |= {other: _FIELDS[name] for other, name in _OTHER_NAMES.items()}
