# SPDX-License-Identifier: Apache-2.0
"""Checks of what a user hands over, with messages that say what was wanted."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import combinations
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from ..errors import InputError, QuiltError
from .units import Unit

Settings = TypeVar("Settings")
Kind = TypeVar("Kind", bound=np.generic)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

LAST_STEP = 2**62
_SHOWN = 80  # characters of a value in a message
_TRUTHS = (bool, np.bool_)  # which Python takes for numbers
_LARGEST = 2**63 - 1  # that the core counts to


def frozen(array: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """The array, in memory that can never be made writable again."""
    memory: object = array.base
    if isinstance(memory, bytes) and not array.flags.writeable:  # one that was pickled is
        return array
    return np.ndarray(array.shape, array.dtype, array.tobytes())


class Checked:
    """Base of frozen dataclasses: copies and unpickled ones pass their checks, read-only again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


def numbers(name: str, value: npt.ArrayLike, wanted: str, unit: str = "") -> npt.NDArray[Any]:
    """The value as an array of integers or real numbers; `wanted` says what it should be.

    Raises
    ------
    InputError
        If it is anything else, has a unit that does not convert to `unit`, or values of it are
        masked.
    """
    try:
        has_unit = unit and not _is_quoted_number(value)
        array = np.asarray(in_unit(name, value, unit) if has_unit else value)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "fiu" and array.size:
        raise InputError(f"{name} must be {wanted}")
    if np.ma.is_masked(value):
        raise InputError(f"{name}: some values are masked; give numbers for them")
    return array


def checked_array(
    label: str,
    value: npt.ArrayLike,
    dtype: np.dtype[Any],
    shape: tuple[str | int | None, ...],
    sizes: Mapping[str, int] | None = None,
) -> npt.NDArray[Any]:
    """The value of system.`label` as a read-only array; a copy if need be.

    Parameters
    ----------
    label, value, dtype:
        Its name in messages, what was given, the type that it gets.
    shape, sizes:
        Sizes, names of sizes, or None for any; and the sizes that have names.

    Raises
    ------
    InputError
        If it has another shape, or a value is not finite or not of the type.
    """
    array = numbers(f"system.{label}", value, "an array of numbers")
    wanted = [(sizes or {})[size] if isinstance(size, str) else size for size in shape]
    if array.size == 0:  # so that [] is understood
        array = array.reshape([size or 0 for size in wanted])
    good = array.ndim == len(shape) and all(
        size is None or size == actual for size, actual in zip(wanted, array.shape, strict=True)
    )
    if not good:
        words = ", ".join("n" if size is None else str(size) for size in shape)
        raise InputError(f"system.{label} has shape {array.shape}, not ({words})")
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InputError(f"system.{label}[{row}] is not a finite number")
    converted = np.asarray(array, dtype=dtype)
    if dtype.kind == "i" and (converted != array).any():
        row = int(np.argwhere(converted != array)[0][0])
        raise InputError(f"system.{label}[{row}] is not a whole number, or too large for one")
    return frozen(converted)


def refuse_repeated(label: str, atoms: npt.NDArray[np.integer]) -> None:
    """InputError if a row of system.`label` names an atom twice."""
    repeated = np.zeros(len(atoms), dtype=bool)
    for one, other in combinations(atoms.T, 2):  # several times faster than sorting rows
        repeated |= one == other
    if repeated.any():
        raise InputError(f"system.{label}[{int(np.argmax(repeated))}] names an atom twice")


def refuse_missing(label: str, atoms: npt.NDArray[np.integer], count: int) -> None:
    """InputError if a row of system.`label` names an atom beyond the `count` that there are."""
    bad = (atoms < 0) | (atoms >= count)
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        raise InputError(f"system.{label}[{row}] names an atom that does not exist")


def whole_number(name: str, value: Any, minimum: int = 0) -> int:
    """The value as an int; 1e3 is one too.

    Raises
    ------
    QuiltError
        If it is not a whole number of at least `minimum`, or more than can be counted.
    """
    try:
        whole = int(value)
        is_whole = bool(whole == value) and not isinstance(value, (*_TRUTHS, str))
    except (TypeError, ValueError, OverflowError):
        whole, is_whole = minimum, False
    if not is_whole or whole < minimum:
        raise QuiltError(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    if whole > _LARGEST:
        raise QuiltError(f"{name} must be at most {_LARGEST}, not {value!r}")
    return whole


def in_unit(name: str, value: Any, unit: str) -> Any:
    """The value, or values, in a unit: strings and quantities of OpenMM and pint are converted.

    Raises
    ------
    InputError
        If it has a unit that does not convert, or is no number.
    """
    try:
        return Unit(unit).read(value)
    except ValueError as error:
        shown = repr(value)
        found = f", not {shown}" if len(shown) < _SHOWN and "\n" not in shown else ""
        raise InputError(f"{name} {error}{found}") from None


def real_number(name: str, value: Any, unit: str = "") -> float:
    """The value as a finite float; in a unit if it has one, as `in_unit` takes it.

    Raises
    ------
    QuiltError
        If it is none.
    """
    number = in_unit(name, value, unit) if unit and not _is_quoted_number(value) else value
    if isinstance(number, (*_TRUTHS, str)):
        number = None
    try:
        real = float(number)
    except (TypeError, ValueError, OverflowError):
        real = math.nan
    if not math.isfinite(real):
        wanted = Unit(unit).wanted if unit else "a number"
        raise QuiltError(f"{name} must be {wanted}, not {value!r}")
    return real


def _is_quoted_number(value: Any) -> bool:
    """Whether a value is the text of a number without a unit, which may be meant in any unit."""
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def any_case(annotation: Any, value: Any) -> Any:
    """A choice as it is spelt, where a value differs from it in case, or in "_" for "-", only.

    Parameters
    ----------
    annotation:
        Type of a setting; where it has no `Literal` of strings, the value stays.
    value:
        The given value; for a list, each value.
    """
    if isinstance(value, list | tuple):
        return type(value)(any_case(annotation, one) for one in value)
    if not isinstance(value, str):
        return value
    spelt = value.lower().replace("_", "-")
    return next((choice for choice in _choices(annotation) if choice.lower() == spelt), value)


def _choices(annotation: Any) -> list[str]:
    """The strings among which a type lets one choose."""
    if get_origin(annotation) is Literal:
        return [choice for choice in get_args(annotation) if isinstance(choice, str)]
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def user_settings(kind: type[Settings], title: str | None = None) -> type[Settings]:
    """Makes a pydantic dataclass raise QuiltError, and take choices in any case.

    Parameters
    ----------
    kind:
        A class made by `pydantic.dataclasses.dataclass`.
    title:
        Beginning of its errors; None: its name and a colon.
    """
    title = f"{kind.__name__}: " if title is None else title
    init = kind.__init__
    names = [field.name for field in fields(kind) if not field.kw_only]  # type: ignore[arg-type]
    types = {name: field.annotation for name, field in kind.__pydantic_fields__.items()}  # type: ignore[attr-defined]

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        try:
            positional = (
                any_case(types[name], one) for name, one in zip(names, values, strict=False)
            )
            spelt = {key: any_case(types.get(key), value) for key, value in named.items()}
            init(self, *positional, *values[len(names) :], **spelt)
            given = dict(zip(names, values, strict=False)) | named
            for name in (name for name, value in given.items() if isinstance(value, _TRUTHS)):
                if not isinstance(getattr(self, name), bool):
                    raise QuiltError(f"{title}{name}: must be a number (found {given[name]!r})")
        except ValidationError as error:
            faults = "; ".join(_describe(fault, names) for fault in error.errors())
            raise QuiltError(f"{title}{faults}") from None

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


def user_arguments(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Makes a function convert and check its numbers as `Annotated` declares them.

    QuiltError says which argument is wrong.  Other arguments reach the function as they are.
    """
    signature = inspect.signature(function)

    @functools.cache
    def declared() -> dict[str, TypeAdapter[Any]]:
        hints = get_type_hints(function, include_extras=True)
        return {name: TypeAdapter(kind) for name, kind in hints.items() if _is_declared(kind)}

    @functools.wraps(function)
    def checked(*values: Arguments.args, **named: Arguments.kwargs) -> Result:
        bound = signature.bind(*values, **named)
        for name, adapter in declared().items():
            if name in bound.arguments:
                bound.arguments[name] = checked_value(name, bound.arguments[name], adapter)
        return function(*bound.args, **bound.kwargs)

    return checked


def checked_value(name: str, value: Any, adapter: TypeAdapter[Any]) -> Any:
    """A number as the type of an adapter declares it.

    Raises
    ------
    QuiltError
        If it is none, or beyond its limits; begins with the name.
    """
    where = f"{name}: " if name else ""
    if isinstance(value, _TRUTHS):
        raise QuiltError(f"{where}must be a number (found {value!r})")
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        message = _describe(error.errors()[0] | {"loc": ()}, [])
        raise QuiltError(f"{where}{message} (found {value!r})") from None


def _is_declared(kind: Any) -> bool:
    """Whether a type is `Annotated`, or may be None otherwise."""
    return Annotated in (get_origin(kind), *map(get_origin, get_args(kind)))


def plain(value: Any) -> Any:
    """The number of an OpenMM quantity in nm, ps, amu, kJ/mol, K; anything else as it is."""
    if not hasattr(value, "value_in_unit_system"):
        return value
    from openmm.unit import md_unit_system

    return value.value_in_unit_system(md_unit_system)


def _describe(fault: Any, names: list[str]) -> str:
    """A fault that pydantic found: which setting, what is wrong, what was found."""
    place, found = fault["loc"], fault["input"]
    name = "" if not place else names[place[0]] if isinstance(place[0], int) else str(place[0])
    if fault["type"] == "unexpected_keyword_argument":
        return f"{name} is not a known setting"
    if fault["type"] == "missing" and len(place) > 1:
        return f"{name}: too few values (found {found!r})"
    message = str(fault["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if not name or isinstance(found, dict):
        return message
    return f"{name}: {message} (found {found!r})"
