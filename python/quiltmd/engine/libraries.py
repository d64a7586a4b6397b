# SPDX-License-Identifier: Apache-2.0
"""Location of NVIDIA's NCCL, for messages between GPUs of several hosts.

The core opens it when a run needs it; a wheel beside this package (nvidia-nccl-cu13 or -cu12) goes
before what the system has.
"""

from __future__ import annotations

import importlib.util
from ctypes import CDLL
from pathlib import Path

_NAME = "libnccl.so.2"


def library_path() -> str:
    """Path of the library of a wheel; empty where there is none, and the system has to find it."""
    try:
        found = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        return ""
    folders = [] if found is None else found.submodule_search_locations or []
    paths = [Path(folder) / "lib" / _NAME for folder in folders]
    return next((str(path) for path in paths if path.exists()), "")


def why_none() -> str:
    """Why there is no library to open; empty where there is one."""
    try:
        CDLL(library_path() or _NAME)
    except OSError:
        return f"there is no {_NAME} (pip install 'quiltmd[nccl]')"
    return ""
