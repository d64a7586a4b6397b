# SPDX-License-Identifier: Apache-2.0
"""Whole numbers in text files."""

from __future__ import annotations

import re

_DIGITS = 18  # that a 64-bit integer holds; Python refuses to read some thousand


def residue_number(text: str) -> int:
    """Of an identifier such as -3 or 12A; 0 where it has no number, or more than 32 bits hold."""
    found = re.match(r"-?\d{1,9}(?!\d)", text)
    return int(found[0]) if found else 0


def natural_number(word: str) -> int | None:
    """The number that decimal digits stand for; None for other text and beyond 18 digits."""
    return int(word) if word.isdecimal() and len(word) <= _DIGITS else None
