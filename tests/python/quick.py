# SPDX-License-Identifier: Apache-2.0
"""Rows of which most are slow: the quick ones are in `make test`, the others run by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slowly(rows: Iterable[Any], quick: Iterable[Any]) -> list[Any]:
    """Rows of a parametrized test, marked slow except for those that are quick."""
    chosen = list(quick)
    return [row if row in chosen else pytest.param(row, marks=pytest.mark.slow) for row in rows]
