# SPDX-License-Identifier: Apache-2.0
"""Numbers in files of other programs are read as C and Fortran read them, not as Python does."""

from __future__ import annotations

import numpy as np
import pytest

from quiltmd import InputError
from quiltmd.charmm.parameters import numbers
from quiltmd.gromacs.preprocess import Line
from quiltmd.gromacs.sections import reals as gromacs_reals
from quiltmd.reading.fixed_width import Columns
from quiltmd.reading.words import converted, real, reals, whole

PYTHONS = ("1_5", "1_5.0", "1.5_0", "1_0e1", "\u0663", "\uff15.5")


@pytest.mark.parametrize("text", PYTHONS)
def test_what_only_python_takes_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        real(text)
    with pytest.raises(ValueError, match="invalid literal"):
        whole(text)
    assert np.isnan(reals([text])).all()


def test_numbers_are_taken() -> None:
    assert reals(["1", "-2.5e3", " +.5 "]).tolist() == [1.0, -2500.0, 0.5]
    assert whole(" -12 ") == -12
    assert converted(np.array([b" 1.5", b"2"]), float).tolist() == [1.5, 2.0]


@pytest.mark.parametrize("dtype", [int, float])
def test_columns(dtype: type) -> None:
    block = Columns("a.inpcrd", "coordinates", 3, [b"  15  16", b" 1_7  18"], 2, 4)
    with pytest.raises(InputError, match="line 4: coordinates: '1_7' is not a finite number"):
        block.numbers(4, dtype)


def test_words() -> None:
    with pytest.raises(InputError, match="line 7: '1_5' is not a finite number"):
        numbers(["1.0", "1_5"], "a.prm", 7)
    with pytest.raises(InputError, match="line 7: '1_5' is not a finite number"):
        gromacs_reals(["1.0", "1_5"], Line(["1.0", "1_5"], "a.top", 7))
