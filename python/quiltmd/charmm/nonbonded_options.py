# SPDX-License-Identifier: Apache-2.0
"""Options of CHARMM's NONBONDED and X-PLOR's NBONds statements: which matter, which do not."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import InputError
from .parameters import Parameters, numbers

# Options by their first four letters: pair lists, and the ending of interactions at the cutoff.
_WITH_VALUE = (
    *("CUTN", "CTOF", "CTON", "CTEX", "WMIN", "WRNM", "INBF", "IMGF", "CUTI", "TOLE", "INHI"),
    *("E14F", "NBXM", "EPS"),
)
_WORDS = (
    *("ATOM", "GROU", "VATO", "VGRO", "VDIS", "BYGR", "BYCB", "BYCU", "NOEX", "EXTE", "CDIE"),
    *("SHIF", "SWIT", "FSHI", "FSWI", "TRUN", "VSHI", "VSWI", "VFSH", "VFSW", "VTRU"),
)


def take_options(words: Iterator[str], into: Parameters, file: str, line: int) -> None:
    """Adds the options of a statement.

    Raises
    ------
    InputError
        For one that is not known, or that asks for what is not supported.
    """
    for word in words:
        key = word.upper()[:4]
        if key in _WITH_VALUE:
            value = numbers([next(words, "")], file, line)[0]
            _take_value(key, value, into, file, line)
        elif key not in _WORDS:
            message = f"the option {word} of nonbonded interactions is not supported"
            raise InputError(message, file=file, line=line)
        into.options[key] = word


def _take_value(key: str, value: float, into: Parameters, file: str, line: int) -> None:
    if key == "E14F":
        into.scale14 = value
    elif key == "NBXM" and abs(value) != 5:
        raise InputError(f"NBXMOD {value:g} is not supported, only 5", file=file, line=line)
    elif key == "EPS" and value != 1:
        message = f"a dielectric constant of {value:g} is not supported"
        raise InputError(message, file=file, line=line)
    into.cutoffs[key] = value
