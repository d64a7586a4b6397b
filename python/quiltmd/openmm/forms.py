# SPDX-License-Identifier: Apache-2.0
"""Recognition of OpenMM's expressions: finds the form with the same energy.

A form is a sum of functions of coordinates, each multiplied by a coefficient, with some parameters
inside of the functions.  An expression has the form if, for each of its terms, parameters can be
found among its constant parts, and coefficients by linear least squares, such that both energies
are the same at many points.  How the expression is spelled does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.expression_values import PI, Array, Real, evaluate
from ..description.expressions import Expression, ExpressionError

_F64 = npt.NDArray[np.float64]

_CLOSE = 1e-9  # relative difference of energies that are the same
_FEW, _CHUNK = 8, 2048  # terms that are tried first, and that are evaluated together
_DENSE = 50  # how many more points the former have, where a narrow step would show
_SMALL = 0.01  # relative to the energy at most points
_ROUNDED = 1e-14  # of what is small beside the energy at most points
_NOISE = 1e-12  # relative to energies; a smaller coefficient may be a rounding error
_MOST_CHOICES = 5000  # of parameters; an expression with more constants has no simple form
_ALWAYS = (0.0, 1.0)  # parameters that an expression need not mention
_DIRECTIONS = np.array(
    [(1, 0.2, -0.3), (-0.7, 0.9, 0.4), (0.1, -1, 0.6), (0.5, 0.3, 1), (-0.4, -0.6, -1)], Real
)


@dataclass(frozen=True)
class Form:
    """A form of terms.

    Attributes
    ----------
    coordinates:
        Names of the coordinates in expressions.
    points:
        Coordinates at which energies are compared, (S, 1) or (S, T) arrays, from the parameters of
        T terms; the first argument says how many, in times of the least number.
    functions:
        The functions that are multiplied by coefficients, of coordinates and parameters.
    parameters:
        Number of parameters.
    """

    coordinates: tuple[str, ...]
    points: Callable[..., tuple[Array, ...]]
    functions: Callable[..., Sequence[Array]]
    parameters: int = 0


@dataclass(frozen=True)
class Match:
    """The form of an expression.

    Attributes
    ----------
    form:
        Which one.
    coefficients:
        (T, number of functions), of each term.
    parameters:
        (T, number of parameters).
    """

    form: Form
    coefficients: _F64
    parameters: _F64


def match(
    text: str,
    terms: Mapping[str, npt.ArrayLike],
    forms: Sequence[Form],
    tables: Mapping[str, Callable[..., Array]] | None = None,
) -> Match | None:
    """The first of some forms that the energies of terms have; None if they have none.

    Parameters
    ----------
    text:
        The expression.
    terms:
        Values of what it names besides coordinates: (T,) arrays, T at least 1.
    forms:
        In the order in which they are tried.
    tables:
        Tabulated functions.
    """
    try:
        expression = Expression(text)
        with np.errstate(all="ignore"):
            every = [_Energies(expression, dict(terms), form, tables or {}) for form in forms]
            for named, energies in product((True, False), every):
                for chosen in energies.choices(named):
                    found = energies.coefficients(chosen)
                    if found is not None:
                        parameters = np.array(chosen, np.float64).reshape(len(chosen), len(found))
                        return Match(energies.form, found, parameters.T)
    except ExpressionError:
        return None
    return None


class _Energies:
    """The energies of the terms of an expression beside those of a form."""

    def __init__(
        self,
        expression: Expression,
        terms: dict[str, npt.ArrayLike],
        form: Form,
        tables: Mapping[str, Callable[..., Array]],
    ) -> None:
        self.form = form
        self._expression, self._tables = expression, tables
        self._size = max(np.size(values) for values in (*terms.values(), 0))
        self._terms = {
            name: np.broadcast_to(np.asarray(values, Real), self._size)
            for name, values in terms.items()
        }

    def choices(self, named: bool) -> Iterator[tuple[Array, ...]]:
        """Possible parameters of the form: named constants, or any parts."""
        parts = self._expression.constants(set(self.form.coordinates))
        if named:
            parts = [part for part in parts if isinstance(part.value, str) and not part.arguments]
        others = () if named else map(Real, _ALWAYS)
        values = self._distinct([*evaluate(parts, self._terms, self._tables), *others])
        if len(values) ** self.form.parameters > _MOST_CHOICES:
            return iter(())
        return product(values, repeat=self.form.parameters)

    def _distinct(self, values: Sequence[Array]) -> list[Array]:
        """(T,) values, each once."""
        distinct: dict[bytes, Array] = {}
        for one in values:
            spread = np.broadcast_to(np.asarray(one, Real), self._size)
            distinct.setdefault(spread.astype(np.float64).tobytes(), spread)
        return list(distinct.values())

    def coefficients(self, parameters: Sequence[Array]) -> _F64 | None:
        """Coefficients of all terms with these parameters; None if energies differ."""
        few = np.unique(np.linspace(0, self._size - 1, _FEW).astype(int))
        if self._fit(few, parameters) is None or self._fit(few, parameters, _DENSE) is None:
            return None
        parts = []
        for start in range(0, self._size, _CHUNK):
            found = self._fit(np.arange(start, min(start + _CHUNK, self._size)), parameters)
            if found is None:
                return None
            parts.append(found)
        return np.concatenate(parts, axis=1).T.astype(np.float64)

    def _fit(
        self, chosen: npt.NDArray[Any], parameters: Sequence[Array], density: int = 1
    ) -> Array | None:
        """(functions, terms) coefficients of some terms."""
        form, own = self.form, [one[chosen] for one in parameters]
        places = [np.asarray(place, Real) for place in form.points(density, *own)]
        values = {name: one[chosen] for name, one in self._terms.items()}
        values |= dict(zip(form.coordinates, places, strict=True))
        shape = np.broadcast_shapes(*(place.shape for place in places), (1, len(chosen)))
        (energies,) = evaluate([self._expression.root], values, self._tables)
        energies = np.broadcast_to(energies, shape)
        functions = form.functions(*places, *own)
        columns = np.array([np.broadcast_to(one, shape) for one in functions])
        if not (np.isfinite(energies).all() and np.isfinite(columns).all()):
            return None
        found = _without_noise(columns, energies, _least_squares(columns, energies))
        return found if _agree(columns, energies, found).all() else None


def _without_noise(columns: Array, energies: Array, coefficients: Array) -> Array:
    """Coefficients, 0 where they are so small that energies agree without them as well."""
    largest = np.abs(columns).max(axis=0)
    weight = np.where(largest > 0, 1 / largest, 0)
    most = np.abs(energies * weight).max(axis=0)
    small = np.abs(coefficients[:, None] * columns * weight).max(axis=1) < _NOISE * most
    alone = np.eye(len(columns), dtype=bool)[:, :, None] & small
    for chosen in (small, *alone):  # all together, which may be noise of each other, then each
        if (chosen & (coefficients != 0)).any():
            without = np.where(chosen, 0, coefficients)
            agree = _agree(columns, energies, without).all(axis=0)
            coefficients = np.where(agree, without, coefficients)
    return coefficients


def _agree(columns: Array, energies: Array, coefficients: Array) -> npt.NDArray[np.bool_]:
    """(S, T) Where energies are the sums of columns (B, S, T) with coefficients (B, T)."""
    parts = coefficients[:, None, :] * columns
    off = np.abs(energies - parts.sum(axis=0))
    scale = np.abs(parts).sum(axis=0)
    same: npt.NDArray[np.bool_] = off <= _CLOSE * scale + _ROUNDED * np.median(scale, axis=0)
    return same


def _least_squares(columns: Array, energies: Array) -> Array:
    """(B, T) coefficients of columns (B, S, T) for energies (S, T).

    Errors count relative to the sum of what columns contribute at a point, which is known once
    there are coefficients: so it is done as often as there are columns. Where that sum is small,
    an energy may be the difference of larger numbers, so that its error is not.
    """
    largest = np.abs(columns).max(axis=0)
    for _ in columns:
        least = largest + _SMALL * np.median(largest, axis=0)
        found = _weighted(columns, energies, np.where(least > 0, 1 / least, 0))
        largest = np.abs(found[:, None, :] * columns).sum(axis=0)
    return found


def _weighted(columns: Array, energies: Array, weight: Array) -> Array:
    """Least squares by the normal equations, whose digits suffice for two or three columns.

    NumPy's own solvers have no more than double precision.
    """
    scaled = columns * weight
    size = np.sqrt((scaled**2).sum(axis=1))
    size = np.where(size > 0, size, Real(1))
    scaled = scaled / size[:, None, :]
    rows = list(np.einsum("ist,jst->ijt", scaled, scaled))
    right = list(np.einsum("ist,st->it", scaled, energies * weight))
    count = len(rows)
    for k in range(count):
        pivot = np.where(rows[k][k] > 1e-12, rows[k][k], Real(np.inf))  # else it says nothing new
        for i in range(k + 1, count):
            factor = rows[i][k] / pivot
            rows[i] = rows[i] - factor * rows[k]
            right[i] = right[i] - factor * right[k]
        rows[k] = rows[k] / pivot
        right[k] = right[k] / pivot
    for k in range(count - 2, -1, -1):
        for j in range(k + 1, count):
            right[k] = right[k] - rows[k][j] * right[j]
    return np.array(right) / size


def powers(density: int) -> tuple[Array]:
    """(S, 1) distances, some so short or long that each of several powers of r dominates there."""
    exponents = [-4, -3, *np.linspace(-1.7, 0.6, 17 * density), 1, 2]
    return (np.power(Real(10), np.array(exponents, Real))[:, None],)


def distances(density: int, *parameters: Array) -> tuple[Array]:
    """(S, T) distances from 0.05 to 5 nm, and some around each parameter."""
    base = Real(0.05) * np.power(Real(100), np.linspace(0, 1, 23 * density, dtype=Real))[:, None]
    around = [np.abs(one) * np.array([0.31, 0.93, 1.07, 1.9], Real)[:, None] for one in parameters]
    shape = np.broadcast_shapes(*(one.shape[1:] for one in (base, *around)))
    spread = [np.broadcast_to(one, (len(one), *shape)) for one in (base, *around)]
    every = np.concatenate(spread)
    return (np.where(every > 0, every, Real(0.7)),)


def places(
    axes: Sequence[int], has_radius: bool = False
) -> Callable[..., tuple[Array, Array, Array]]:
    """Makes (S, T) places from parameters: a coordinate for each of some axes, and a radius.

    The places are on all sides of that of the parameters, within the radius and outside of it.
    """

    def around(density: int, *parameters: Array) -> tuple[Array, Array, Array]:
        radius = np.abs(parameters[-1]) if has_radius else np.zeros(1, Real)
        reaches = np.repeat(np.geomspace(0.13, 9, 4 * density).astype(Real), len(_DIRECTIONS))
        reach = np.where(radius > 0, radius, Real(0.6)) * reaches[:, None]
        directions = np.tile(_DIRECTIONS, (4 * density, 1))
        found = [reach * direction[:, None] for direction in directions.T]
        for axis, place in zip(axes, parameters, strict=False):
            found[axis] = found[axis] + place
        x, y, z = found
        return x, y, z

    return around


def angles(density: int, *parameters: Array) -> tuple[Array]:
    """(S, T) dihedral angles all around, and some around each parameter."""
    base = np.linspace(-0.99, 0.98, 41 * density, dtype=Real)[:, None] * PI
    around = [
        wrapped(one + np.array([-2.7, -0.4, -0.03, 0.02, 0.5, 3.0], Real)[:, None])
        for one in parameters
    ]
    shape = np.broadcast_shapes(*(one.shape[1:] for one in (base, *around)))
    return (np.concatenate([np.broadcast_to(one, (len(one), *shape)) for one in (base, *around)]),)


def wrapped(angle: Array) -> Array:
    """The angle between -pi and pi."""
    turned: Array = angle - 2 * PI * np.round(angle / (2 * PI))
    return turned
