# SPDX-License-Identifier: Apache-2.0
"""Words of text files as whole numbers."""

from __future__ import annotations

_DIGITS = 18  # that a 64-bit integer holds; Python refuses to read some thousand


def natural_number(word: str) -> int | None:
    """The number that decimal digits stand for; None for other text and beyond 18 digits."""
    return int(word) if word.isdecimal() and len(word) <= _DIGITS else None
