# SPDX-License-Identifier: Apache-2.0
"""Numbers in text files, as C and Fortran read them.

Python also takes "1_5" for 15, and digits of other scripts; in a file of another program either is
damage or a slip, which must not become another number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

_DIGITS = 18  # that a 64-bit integer holds; Python refuses to read some thousand


def residue_number(text: str) -> int:
    """Number of an identifier such as -3 or 12A; 0 if it has none, or one beyond 32 bits."""
    found = re.match(r"-?\d{1,9}(?!\d)", text)
    return int(found[0]) if found else 0


def natural_number(word: str) -> int | None:
    """The number that decimal digits stand for; None for other text and beyond 18 digits."""
    return int(word) if word.isdecimal() and len(word) <= _DIGITS else None


def real(text: str) -> float:
    """The number that a text is.

    Raises
    ------
    ValueError
        If it is none.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)


def whole(text: str) -> int:
    """The whole number that a text is; ValueError if it is none."""
    if "_" in text or not text.isascii():
        raise ValueError(f"invalid literal for int(): {text!r}")
    return int(text)


def reals(texts: Iterable[str]) -> npt.NDArray[np.float64]:
    """The numbers that texts are; nan where a text is none."""
    found = []
    for text in texts:
        try:
            found.append(real(text))
        except ValueError:
            found.append(float("nan"))
    return np.array(found, dtype=np.float64)


def converted(texts: npt.NDArray[np.bytes_], dtype: type) -> npt.NDArray[Any]:
    """An array of texts as numbers of a type, int or float, at once.

    Raises
    ------
    ValueError, OverflowError
        If a text is no number of this type.
    """
    if b"_" in texts.tobytes():
        raise ValueError("a number with an underscore")
    values: npt.NDArray[Any] = texts.astype(dtype)
    return values
