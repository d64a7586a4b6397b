# SPDX-License-Identifier: Apache-2.0
"""Checks of what a user hands over, with messages that say what was wanted."""

from __future__ import annotations

import functools
from dataclasses import fields
from typing import Any, TypeVar

from pydantic import ValidationError

from ..errors import QuiltError

Settings = TypeVar("Settings")


def whole_number(name: str, value: Any, minimum: int = 0) -> int:
    """The value as an int; 1e3 is one too.

    Raises
    ------
    QuiltError
        If it is not a whole number of at least `minimum`.
    """
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        whole = minimum - 1
    if isinstance(value, bool | str) or whole != value or whole < minimum:
        raise QuiltError(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    return whole


def user_settings(kind: type[Settings]) -> type[Settings]:
    """Makes a pydantic dataclass take OpenMM quantities and raise QuiltError.

    Parameters
    ----------
    kind:
        A class made by `pydantic.dataclasses.dataclass`.
    """
    init = kind.__init__
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        try:
            init(self, *map(plain, values), **{key: plain(value) for key, value in named.items()})
        except ValidationError as error:
            faults = "; ".join(_describe(fault, names) for fault in error.errors())
            raise QuiltError(f"{kind.__name__}: {faults}") from None

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


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
    message = str(fault["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if not name or isinstance(found, dict):
        return message
    return f"{name}: {message} (found {found!r})"
