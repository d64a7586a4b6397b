# SPDX-License-Identifier: Apache-2.0
"""Locations of libraries that runs may need, if they are installed.

The core opens them when a run needs them; a wheel beside this package goes before what the system
has.
"""

from __future__ import annotations

import importlib.util
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Library:
    """A library of a wheel, or of the system.

    Attributes
    ----------
    name:
        Name of its file.
    package:
        Package of the wheel, whose folder `lib` has it.
    extra:
        Extra of this package that installs the wheel.
    folder:
        Where the system has it, beside the places of the loader.
    """

    name: str
    package: str
    extra: str
    folder: str = ""

    def path(self) -> str:
        """Path of the library, in a wheel or the folder; empty if the loader has to find it."""
        try:
            found = importlib.util.find_spec(self.package)
        except ModuleNotFoundError:
            found = None
        folders = [] if found is None else found.submodule_search_locations or []
        paths = [Path(folder) / "lib" / self.name for folder in folders]
        paths += [Path(self.folder) / self.name] if self.folder else []
        return next((str(path) for path in paths if path.exists()), "")

    def why_none(self) -> str:
        """Why there is no library to open; empty if there is one."""
        try:
            CDLL(self.path() or self.name)
        except OSError:
            return f"there is no {self.name} (pip install 'quiltmd[{self.extra}]')"
        return ""


NCCL = Library("libnccl.so.2", "nvidia.nccl", "nccl")  # between GPUs
UCX = Library("libucp.so.0", "libucx", "ucx")  # between processors
# Compiles custom forces for GPUs.
NVRTC = Library("libnvrtc.so.13", "nvidia.cu13", "nvrtc", "/usr/local/cuda/lib64")
