# SPDX-License-Identifier: Apache-2.0
"""Names of custom forces, under which their energies are in logs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import InputError

_NAME = re.compile(r"\w+", re.ASCII)


def has_own_energy(force: Any) -> bool:
    """Whether a custom force has a name that is not that of its class."""
    return bool(force.name != type(force).__name__)


def check_energy_name(force: Any) -> None:
    """InputError if a name cannot be that of a column of a log."""
    if not _NAME.fullmatch(force.name):
        raise InputError(f"{force}: use only letters, digits and _ in the name")


def place_of_energy(force: Any, energies: Sequence[str]) -> int:
    """The place of the energy of a force among those with names of their own; -1: it has none."""
    return energies.index(force.name) if force.name in energies else -1


def as_energy_name(name: str) -> str:
    """A name of another program as that of an energy."""
    return "_".join(re.findall(r"[A-Za-z0-9]+", name))
