# SPDX-License-Identifier: Apache-2.0
"""Files that one configuration leaves for the next: NAME.coor, NAME.vel, NAME.xsc.

NAMD writes them beside the name that `outputname` gives; here that name is the folder of a run, in
which they are final.coor, final.vel and final.xsc.
"""

from __future__ import annotations

from pathlib import Path

from ..reading.entries import Control

_SUFFIXES = (".coor", ".vel", ".xsc")


def last_file(control: Control, path: str) -> str:
    """The path itself; where there is no such file, that of the run which has its name."""
    file = Path(path)
    if file.exists() or file.suffix not in _SUFFIXES:
        return path
    folder = file.with_suffix("")
    folder = folder.with_suffix("") if folder.suffix == ".restart" else folder
    last = folder / f"final{file.suffix}"
    if not last.exists():
        return path
    control.notes.append(f"{file.name}: it is {last.name} of the run in {folder}")
    return str(last)
