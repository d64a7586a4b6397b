# SPDX-License-Identifier: Apache-2.0
"""Values of OpenMM objects without their units, read without importing OpenMM."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt


def plain(value: Any) -> npt.NDArray[np.float64]:
    """Numbers of an OpenMM quantity in nm, ps, amu, kJ/mol, e; of plain numbers as they are."""
    if hasattr(value, "value_in_unit_system"):
        from openmm.unit import md_unit_system

        value = value.value_in_unit_system(md_unit_system)
    return np.array([plain(item) for item in value] if _nested(value) else value, dtype=np.float64)


def _nested(value: Any) -> bool:
    """Whether a list has quantities inside, as lists of Vec3 with units may."""
    return isinstance(value, (list, tuple)) and any(hasattr(item, "unit") for item in value)


def value(quantity: Any) -> float:
    """The only number of a quantity."""
    return float(plain(quantity))


def reader(owner: Any, method: str) -> Callable[[int], Any]:
    """A method of an OpenMM object, its numbers without units: nm, ps, amu, kJ/mol, e, rad.

    OpenMM's Python layer puts a unit on every number, which takes nine tenths of the time of
    reading a large system; the compiled functions beneath it give the same numbers bare. Where an
    object or a version of OpenMM has none, units are taken off one by one.
    """
    layer = getattr(sys.modules[type(owner).__module__], "_openmm", None)
    bare = getattr(layer, f"{type(owner).__name__}_{method}", None)
    if bare is not None:
        return partial(bare, owner)
    wrapped = getattr(owner, method)
    return lambda index: _bare(wrapped(index))


def _bare(given: Any) -> Any:
    return [value(item) for item in given] if isinstance(given, (list, tuple)) else value(given)


def numbers(owner: Any, method: str, count: int, width: int) -> npt.NDArray[np.float64]:
    """(count, width): what a method of an OpenMM object gives for 0, 1, 2, ..."""
    rows = map(reader(owner, method), range(count))
    numbers = rows if width == 1 else chain.from_iterable(rows)
    return np.fromiter(numbers, dtype=np.float64, count=count * width).reshape(count, width)
