# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's by name, and forces from outside that they make where the engine is."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..description.external_force import ExternalForce
from ..errors import QuiltError


def find_function(factory: str, path: str | None, where: str) -> Callable[..., Any]:
    """The function "module:function", whose module is looked for in the folder `path` first.

    QuiltError, opened by `where`, where there is none, or its module cannot be imported.
    """
    module, _, name = factory.partition(":")
    added = [] if path is None else [path]
    sys.path[:0] = added
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        missing = getattr(error, "name", None) or module
        if isinstance(error, ModuleNotFoundError) and not f"{module}.".startswith(f"{missing}."):
            raise QuiltError(
                f"{where}: the module {module} needs {missing}, which is not installed: "
                f"pip install {missing}, or the package that contains it"
            ) from error
        kind = type(error).__name__
        places = f" in {path} or where Python finds modules" if added else ""
        raise QuiltError(
            f"{where}: the module cannot be imported{places} ({kind}: {error})"
        ) from error
    finally:
        del sys.path[: len(added)]
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise QuiltError(f"{where}: the module has no function or class of this name")
    function: Callable[..., Any] = found
    return function


@dataclass(frozen=True)
class ExternalFactory:
    """An external force, given by the function that creates it, here and in workers.

    Attributes
    ----------
    factory:
        Module and function, "module:function".
    path:
        Folder that is searched first for the module.
    options:
        Keyword arguments of the function.
    """

    factory: str
    path: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def make(self) -> ExternalForce:
        """The force; raises QuiltError if the function fails or returns no force."""
        where = f"external factory '{self.factory}'"
        function = find_function(self.factory, self.path, where)
        try:
            made = function(**self.options)
        except Exception as error:
            kind = "" if isinstance(error, QuiltError) else f"{type(error).__name__}: "
            raise QuiltError(f"{where}: {kind}{error}") from error
        if not isinstance(made, ExternalForce):
            raise QuiltError(f"{where}: it returns {type(made).__name__}, not an ExternalForce")
        return made
