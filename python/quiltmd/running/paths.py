# SPDX-License-Identifier: Apache-2.0
"""Paths in a configuration, which count from the folder of its file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .output_sections import tables_of

# Sections, and the keys in them that are paths.
_PATHS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("system",): ("topology", "coordinates", "velocities", "parameters", "reference"),
    ("alchemy", "second"): ("topology", "coordinates", "mapping", "parameters"),
    ("output",): ("dir",),
    ("workers",): ("key",),
}


def make_absolute(settings: dict[str, Any], folder: Path) -> None:
    """Makes the paths of a configuration absolute; relative ones count from `folder`."""
    for names, keys in _PATHS.items():
        section: Any = settings
        for name in names:
            section = section.get(name) if isinstance(section, dict) else None
        if isinstance(section, dict):
            section |= {key: _from(folder, section[key]) for key in keys if key in section}
    for table in (*tables_of(settings, "reporter"), *tables_of(settings, "external")):
        if table.get("factory") or "path" in table:
            table["path"] = os.path.normpath(folder / str(table.get("path", "")))
        if "file" in table:
            table["file"] = _from(folder, table["file"])


def _from(folder: Path, value: Any) -> Any:
    """A path, or each of several; other values are refused later."""
    if isinstance(value, list):
        return [_from(folder, item) for item in value]
    return os.path.normpath(folder / value) if isinstance(value, str | os.PathLike) else value
