# SPDX-License-Identifier: Apache-2.0
"""The bonded terms of a System: one table, by form.

`System.terms["bond"]` has the atoms and parameters of all bonds; what a form is and does is in
`term_forms`.  A table is as frozen as the System that has it: `with_terms` of a System makes
another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .checks import Checked, checked_array, refuse_repeated
from .term_forms import TERM_FORMS, TermForm, form_named

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

_INTEGER, _REAL = np.dtype(np.int32), np.dtype(np.float64)
_NONE: Any = ()


@dataclass(frozen=True, eq=False, repr=False)
class Terms(Checked):
    """All n terms of one form.

    Attributes
    ----------
    name:
        Name of the form.
    atoms:
        (n, atoms of a term) int32.
    parameters:
        (n, parameters of a term), in the order and the units of `form.parameters`.
    shared:
        (rows, ...) what the first parameter counts the rows of, where the form shares data.

    Raises
    ------
    InputError
        If there is no such form, an array has the wrong shape, a value is not a finite number, a
        term names an atom twice, or there are not as many rows of parameters as of atoms.
    """

    name: str
    atoms: I32 = _NONE
    parameters: F64 = _NONE
    shared: F64 = _NONE

    def __post_init__(self) -> None:
        try:
            form = self.form
        except KeyError as error:
            raise InputError(error.args[0]) from None
        for field, label, dtype, shape in (
            ("atoms", form.plural, _INTEGER, (None, form.atoms)),
            ("parameters", form.parameter_array, _REAL, (None, form.columns)),
            ("shared", form.shared or "shared", _REAL, (None, None, None)),
        ):
            array = checked_array(label, getattr(self, field), dtype, shape)
            object.__setattr__(self, field, array)
        refuse_repeated(form.plural, self.atoms)
        if len(self.atoms) != len(self.parameters):
            raise InputError(
                f"system.{form.plural} and system.{form.parameter_array} differ in length"
            )
        if len(self.shared) and not form.shared:
            raise InputError(f"{form.plural} share no data")

    def __len__(self) -> int:
        return len(self.atoms)

    def __repr__(self) -> str:
        return f"<Terms: {len(self)} {self.form.plural}>"

    @property
    def form(self) -> TermForm:
        """The form of these terms."""
        return form_named(self.name)

    def chosen(self, which: npt.NDArray[Any]) -> Terms:
        """The terms that a mask, or indices, select."""
        return Terms(self.name, self.atoms[which], self.parameters[which], self.shared)

    def joined(self, atoms: Any, parameters: Any) -> Terms:
        """These, then others of the same form."""
        others = Terms(self.name, atoms, parameters)
        return Terms(
            self.name,
            np.concatenate([self.atoms, others.atoms]),
            np.concatenate([self.parameters, others.parameters]),
            self.shared,
        )

    def scaled(self, factors: npt.ArrayLike) -> Terms:
        """The same with energies multiplied by factors, one or (n,).

        Rows of `shared` are multiplied by the distinct factors: copies of all of them, in ascending
        order of the factors, those that stay as they are first.
        """
        each = np.broadcast_to(np.asarray(factors, dtype=np.float64), len(self))
        parameters = np.array(self.parameters)
        parameters[:, list(self.form.strengths)] *= each[:, None]
        if not self.form.shared:
            return Terms(self.name, self.atoms, parameters)
        others = np.unique(each[each != 1])
        kinds = np.concatenate([[1.0], others])
        parameters[:, 0] += len(self.shared) * np.where(
            each == 1, 0, 1 + np.searchsorted(others, each)
        )
        shared = np.concatenate([factor * self.shared for factor in kinds])
        return Terms(self.name, self.atoms, parameters, shared)

    def tiled(self, copies: int, atoms: int) -> Terms:
        """Copies one after the other, each with its atoms `atoms` further on."""
        offset = np.arange(copies, dtype=np.int32)[:, None, None] * np.int32(atoms)
        moved = (self.atoms[None] + offset).reshape(-1, self.form.atoms)
        return Terms(self.name, moved, np.tile(self.parameters, (copies, 1)), self.shared)


_EMPTY = {form.name: Terms(form.name) for form in TERM_FORMS}


@dataclass(frozen=True, eq=False, repr=False)
class TermTable(Checked, Mapping[str, Terms]):
    """The terms of a System by form: `table["bond"]`, or by the form itself.

    It has an entry for every form, in the order of `TERM_FORMS`.
    """

    tables: tuple[Terms, ...] = ()

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __post_init__(self) -> None:
        by_name = _EMPTY | {terms.name: terms for terms in self.tables}
        object.__setattr__(self, "tables", tuple(by_name.values()))
        object.__setattr__(self, "_by_name", by_name)

    def __getitem__(self, form: str | TermForm) -> Terms:
        by_name: dict[str, Terms] = self._by_name  # type: ignore[attr-defined]
        return by_name[(form if isinstance(form, TermForm) else form_named(form)).name]

    def __iter__(self) -> Iterator[str]:
        return (terms.name for terms in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        counts = (f"{len(terms)} {terms.form.plural}" for terms in self.present())
        return f"<TermTable: {', '.join(counts) or 'no terms'}>"

    @classmethod
    def of(cls, given: Mapping[Any, Any]) -> TermTable:
        """From `Terms`, or tuples of atoms, parameters and shared data, by form or its name."""
        by_name: dict[str, Terms] = {}
        for form, terms in given.items():
            name = getattr(form, "name", form)
            made = terms if isinstance(terms, Terms) else Terms(name, *terms)
            if made.name != name:
                raise InputError(f"terms[{name!r}] are of the form {made.name!r}")
            if name in by_name:
                raise InputError(f"terms[{name!r}] are given twice, by the form and by its name")
            by_name[name] = made
        return cls(tuple(by_name.values()))

    def present(self) -> tuple[Terms, ...]:
        """The terms of the forms that have some."""
        return tuple(terms for terms in self.tables if len(terms))

    def links(self) -> list[I32]:
        """The pairs of atoms that terms link, which make molecules; at least one array."""
        return [terms.atoms for terms in self.tables if terms.form.links_atoms]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by the names that the core knows them by."""
        found: dict[str, npt.NDArray[Any]] = {}
        for terms in self.tables:
            form = terms.form
            found |= {form.plural: terms.atoms, form.parameter_array: terms.parameters}
            found |= {form.shared: terms.shared} if form.shared else {}
        return found

    def replaced(self, *changed: Terms) -> TermTable:
        """The table with these terms instead of those of the same forms."""
        return TermTable((*self.tables, *changed)) if changed else self


class _Integers:
    """`system.bonds` is `system.terms["bond"].atoms`."""

    def __init__(self, form: str, part: str = "atoms") -> None:
        self.form, self.part = form, part

    def __get__(self, system: Any, _: Any = None) -> I32:
        return cast(I32, self if system is None else getattr(system.terms[self.form], self.part))


class _Reals:
    """`system.bond_parameters` is `system.terms["bond"].parameters`."""

    def __init__(self, form: str, part: str = "parameters") -> None:
        self.form, self.part = form, part

    def __get__(self, system: Any, _: Any = None) -> F64:
        return cast(F64, self if system is None else getattr(system.terms[self.form], self.part))


class TermViews:
    """The arrays of `System.terms` by names of their own, for the forms that most systems have.

    What is made of them is read-only, as the table is.  `System` takes the same names.
    """

    bonds, bond_parameters = _Integers("bond"), _Reals("bond")
    angles, angle_parameters = _Integers("angle"), _Reals("angle")
    torsions, torsion_parameters = _Integers("torsion"), _Reals("torsion")
    pairs14, pair14_parameters = _Integers("pair14"), _Reals("pair14")
    cmaps, cmap_parameters = _Integers("cmap"), _Reals("cmap")
    cmap_maps = _Reals("cmap", "shared")
    impropers, improper_parameters = _Integers("improper"), _Reals("improper")
    urey_bradleys, urey_bradley_parameters = _Integers("urey_bradley"), _Reals("urey_bradley")
    ryckaert_bellemans = _Integers("ryckaert_bellemans")
    ryckaert_bellemans_parameters = _Reals("ryckaert_bellemans")
    position_restraints = _Integers("position_restraint")
    position_restraint_parameters = _Reals("position_restraint")
    distance_restraints = _Integers("distance_restraint")
    distance_restraint_parameters = _Reals("distance_restraint")
    angle_restraints = _Integers("angle_restraint")
    angle_restraint_parameters = _Reals("angle_restraint")
    torsion_restraints = _Integers("torsion_restraint")
    torsion_restraint_parameters = _Reals("torsion_restraint")
    constant_forces = _Integers("constant_force")
    constant_force_parameters = _Reals("constant_force")
    opposite_forces = _Integers("opposite_force")
    opposite_force_parameters = _Reals("opposite_force")


VIEWS = {
    name: view for name, view in vars(TermViews).items() if isinstance(view, _Integers | _Reals)
}


def table_of(terms: Any, views: Mapping[str, Any]) -> TermTable:
    """The table that `System` makes of `terms` and of arrays by the names of views.

    Parameters
    ----------
    terms:
        A `TermTable`, or a mapping from forms to `Terms` or to tuples of what `Terms` takes.
    views:
        Arrays by name, in place of those of `terms`.
    """
    table = terms if isinstance(terms, TermTable) else TermTable.of(terms)
    changed: dict[str, dict[str, Any]] = {}
    for name, array in views.items():
        changed.setdefault(VIEWS[name].form, {})[VIEWS[name].part] = array
    return table.replaced(*(replace(table[form], **parts) for form, parts in changed.items()))
