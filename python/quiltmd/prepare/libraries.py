# SPDX-License-Identifier: Apache-2.0
"""The libraries that prepare systems, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import QuiltError, one_line


def import_openmm() -> Any:
    """OpenMM, with `openmm.app`.

    Raises
    ------
    QuiltError
        If it is not installed.
    """
    import_or_refuse("openmm.app", "OpenMM")
    return import_module("openmm")


def import_pdbfixer() -> Any:
    """PDBFixer.

    Raises
    ------
    QuiltError
        If it is not installed.
    """
    return import_or_refuse("pdbfixer", "PDBFixer")


def import_or_refuse(module: str, name: str) -> Any:
    """A module of the extra `prepare`, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise QuiltError(
            f"preparing a system needs {name}, which cannot be imported "
            f"({one_line(error)}): pip install 'quiltmd[prepare]'"
        ) from None
