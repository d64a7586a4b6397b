# SPDX-License-Identifier: Apache-2.0
"""The bonded terms of a hybrid.

Terms with an atom that vanishes or appears stay as they are at both ends, but for 1-4 pairs, which
are nonbonded interactions.  Terms of mapped atoms have two states: where both molecules have one of
the same atoms (and periodicity), parameters are interpolated; where one has none, its strength is 0
there.  Of a 1-4 pair that differs one term vanishes and another appears, so its energy is linear in
lambda, as in GROMACS.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .alchemy import ChangedTerms, Intramolecular
from .hybrid_mapping import HybridMap
from .system import System
from .term_forms import TERM_FORMS, TermForm
from .terms import Terms, TermTable

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
_Key = tuple[float, ...]


def hybrid_terms(
    a: System, b: System, atoms: HybridMap, inner: Intramolecular
) -> tuple[TermTable, tuple[ChangedTerms, ...]]:
    """All terms as they are at lambda 0, and those that change.

    With `inner` "keep", pairs of atoms that vanish, or appear, are not among the latter.
    """
    tables, changed = [], []
    for form in TERM_FORMS:
        first = a.terms[form]
        last_atoms = atoms.of_last[b.terms[form].atoms]
        if not form.may_change:
            _refuse_changed(first, replace(b.terms[form], atoms=last_atoms), atoms)
            tables.append(first)
            continue
        made = _Made(form, first, atoms, inner)
        made.add(last_atoms, b.terms[form].parameters, a)
        tables.append(made.terms())
        if made.changed():
            changed.append(made.changed_terms())
    return TermTable(tuple(tables)), tuple(changed)


def _refuse_changed(first: Terms, last: Terms, atoms: HybridMap) -> None:
    """InputError unless the molecules have the same of these terms, all of mapped atoms."""
    in_molecules = np.asarray((atoms.is_mapped | atoms.is_unique)[first.atoms].any(axis=1))
    inside = first.chosen(in_molecules)
    if not len(inside) and not len(last):
        return
    if atoms.is_unique[inside.atoms].any() or _rows(inside) != _rows(last):
        raise InputError(
            f"the molecules differ in {first.form.plural}, which cannot change: "
            f"{first.form.noun} has one state"
        )


def _rows(terms: Terms) -> set[bytes]:
    """Atoms and parameters of each; shared data in place of its number."""
    parameters = terms.parameters
    if len(terms.shared):
        parameters = terms.shared[parameters[:, 0].astype(int)].reshape(len(terms), -1)
    return {
        atoms.tobytes() + own.tobytes() for atoms, own in zip(terms.atoms, parameters, strict=True)
    }


class _Made:
    """The terms of one form."""

    def __init__(
        self, form: TermForm, first: Terms, atoms: HybridMap, inner: Intramolecular
    ) -> None:
        self._form, self._atoms, self._inner = form, atoms, inner
        self._rows: list[I32] = list(first.atoms)
        self._first: list[F64] = list(first.parameters)
        self._last: list[F64] = list(first.parameters)
        self._unmatched: dict[_Key, list[int]] = defaultdict(list)
        inside = (atoms.is_mapped | atoms.is_unique)[first.atoms].any(axis=1)
        for k in np.flatnonzero(inside).tolist():
            row = first.atoms[k]
            if atoms.is_unique[row].any():
                if self._vanishes(row):
                    self._last[k] = self._without_strength(first.parameters[k])
            elif atoms.is_mapped[row].all():
                self._unmatched[self._key(row, first.parameters[k])].append(k)

    def add(self, rows: I32, parameters: F64, a: System) -> None:
        """Terms of the second molecule, by atoms of the hybrid."""
        for row, own in zip(rows, parameters, strict=True):
            if self._atoms.is_unique[row].any():
                self._append(row, self._without_strength(own) if self._vanishes(row) else own, own)
                continue
            candidates = self._unmatched.get(self._key(row, own), [])
            if candidates:
                same = (k for k in candidates if (self._first[k] == own).all())
                k = next(same, candidates[0])
                if self._form.part != "pair" or (self._first[k] == own).all():
                    candidates.remove(k)
                    self._last[k] = own
                    continue
            else:
                self._refuse_bond(row, a)
            self._append(row, self._without_strength(own), own)
        for k in (k for candidates in self._unmatched.values() for k in candidates):
            self._refuse_bond(self._rows[k], a)
            self._last[k] = self._without_strength(self._first[k])

    def _vanishes(self, row: I32) -> bool:
        """Whether a term of atoms of which some vanish or appear does so with them."""
        stays = self._inner == "keep" and self._atoms.is_unique[row].all()
        return self._form.part == "pair" and not stays

    def terms(self) -> Terms:
        """At lambda 0."""
        form = self._form
        rows = np.array(self._rows, dtype=np.int32).reshape(-1, form.atoms)
        return Terms(form.name, rows, np.array(self._first).reshape(-1, form.columns))

    def changed(self) -> list[int]:
        """Which differ at lambda 1."""
        pairs = zip(self._first, self._last, strict=True)
        return [k for k, (one, other) in enumerate(pairs) if (one != other).any()]

    def changed_terms(self) -> ChangedTerms:
        """The terms that differ between the two states."""
        which = self.changed()
        return ChangedTerms(
            self._form.name,
            np.array(which, dtype=np.int32),
            np.array([self._last[k] for k in which]),
        )

    def _append(self, row: I32, first: F64, last: F64) -> None:
        self._rows.append(row)
        self._first.append(first)
        self._last.append(last)

    def _without_strength(self, parameters: F64) -> F64:
        changed = np.array(parameters)
        changed[list(self._form.strengths)] = 0
        return changed

    def _key(self, row: I32, parameters: F64) -> _Key:
        """Terms between which parameters can be interpolated have the same."""
        atoms = tuple(int(atom) for atom in row)
        fixed = [
            float(parameters[k])
            for k, one in enumerate(self._form.parameters)
            if one.values == "periodicity"
        ]
        return (*min(atoms, atoms[::-1]), *fixed)

    def _refuse_bond(self, row: I32, a: System) -> None:
        if self._form.links_atoms:
            named = " and ".join(a.topology.describe(int(atom)) for atom in row)
            raise InputError(
                f"{named} are bonded in one molecule and not in the other, or their bond is "
                "constrained in one of them: such bonds cannot change; do not map one of the atoms"
            )
