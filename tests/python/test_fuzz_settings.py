# SPDX-License-Identifier: Apache-2.0
"""Combinations of settings drawn at random, each checked as `settings_checks` says.

`make fuzz-settings` goes on with other numbers for as long as one likes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from random_settings import BOXES, KINDS, draw
from settings_checks import check

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_combination_of_settings(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


def test_choices_are_many_and_the_same_each_time() -> None:
    drawn = [draw(seed) for seed in range(300)]
    assert drawn == [draw(seed) for seed in range(300)]
    for name in ("box", "solvent", "integrator", "thermostat", "barostat", "coupling", "ranks"):
        counts = Counter(getattr(one, name) for one in drawn)
        assert min(counts.values()) >= 3, (name, counts)
    assert {one.box for one in drawn} == set(BOXES)
    assert {kind for one in drawn for kind in one.kinds} == set(KINDS)
    methods = Counter(one.nonbonded["method"] for one in drawn)
    assert min(methods.values()) >= 10, methods
