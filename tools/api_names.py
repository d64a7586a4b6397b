# SPDX-License-Identifier: Apache-2.0
"""Names that API pages have without listing them: those of the package from a folder of modules.

`<!-- names from quiltmd.description.thermostats -->` in a page of `docs/api` stands for all names
that `quiltmd/__init__.pyi` takes from modules there, but for those that the page names itself.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

_STUB = Path(__file__).resolve().parents[1] / "python" / "quiltmd" / "__init__.pyi"
_FOLDER = re.compile(r"^<!-- names from quiltmd\.([\w.]+) -->$", re.MULTILINE)


def with_names(page: str) -> str:
    """The Markdown of a page with the names of its folders, in alphabetical order."""

    def listed(folder: re.Match[str]) -> str:
        names = [name for name in _names_from(folder[1]) if f"::: quiltmd.{name}\n" not in page]
        return "\n\n".join(f"::: quiltmd.{name}" for name in names)

    return _FOLDER.sub(listed, page)


def _names_from(folder: str) -> list[str]:
    nodes = ast.parse(_STUB.read_text(encoding="utf-8")).body
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return sorted(
        alias.name
        for node in imports
        for alias in node.names
        if f"{node.module}.".startswith(f"{folder}.")
    )
