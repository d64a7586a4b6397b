# SPDX-License-Identifier: Apache-2.0
"""Parts of a simulation of which one is chosen: thermostats, barostats.

Each is a frozen class in a file of its own, in the folder of its kind.  `kind` is its name in
configurations and, with underscores, in the core; `summary` is a few words for the help.  Sections
of the configuration, their options, and the errors for settings of other choices follow from these
classes.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, TypeVar

from ..errors import QuiltError

Chosen = TypeVar("Chosen")


def import_folder(package: str, path: list[str]) -> None:
    """Imports all modules of a package, so that their classes are known."""
    for module in sorted(found.name for found in pkgutil.iter_modules(path)):
        importlib.import_module(f"{package}.{module}")


def choices_of(base: type[Chosen]) -> dict[str, type[Chosen]]:
    """The classes derived from one that have a `kind`, by it."""
    found: dict[str, type[Chosen]] = {}
    for derived in base.__subclasses__():
        if "kind" in vars(derived):
            found[vars(derived)["kind"]] = derived
        found |= choices_of(derived)
    return found


def refuse_base(part: Any, base: type) -> None:
    """QuiltError if a part is of the class that all of its kind derive from."""
    if not hasattr(type(part), "kind"):
        derived: dict[str, Any] = choices_of(base)
        names = ", ".join(found.__name__ for found in derived.values())
        raise QuiltError(f"{base.__name__} is the base class of {names}: use one of them")
