# SPDX-License-Identifier: Apache-2.0
"""Lengths of time in words, of a simulation and by the clock."""

from __future__ import annotations


def span(time: float) -> str:
    """A time, ps, with the unit that suits it."""
    return f"{time / 1000:g} ns" if time >= 1000 else f"{time:g} ps"


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss, from a day on with days before it."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return (f"{days} d " if days else "") + f"{hour}:{minute:02d}:{second:02d}"
