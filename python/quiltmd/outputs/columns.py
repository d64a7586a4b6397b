# SPDX-License-Identifier: Apache-2.0
"""Numbers in text formats whose columns are fixed: one that is too wide would shift all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatLimitError


def fit_columns(values: NDArray[np.float64], width: int, digits: int) -> bool:
    """Whether numbers with `digits` decimals are no wider than their columns."""
    half = 0.5 * 10.0**-digits  # what rounding may add
    largest, lowest = 10.0 ** (width - digits - 1), -(10.0 ** (width - digits - 2))
    return not values.size or bool(values.max() < largest - half and values.min() > lowest + half)


def check_columns(values: NDArray[np.float64], width: int, digits: int, what: str) -> None:
    """FormatLimitError where numbers do not fit; `what` names them and the file."""
    if not fit_columns(values, width, digits):
        worst = values.flat[int(np.argmax(np.abs(values)))]
        raise FormatLimitError(
            f"{what} have {width} columns, which {worst:.{digits}f} does not fit: choose a format "
            "with room (cif, ncrst, namd)"
        )


def within_columns(number: int, columns: range) -> int:
    """A residue number that fits its columns: those beyond start again from 0."""
    return number if number in columns else number % columns.stop
