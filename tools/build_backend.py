# SPDX-License-Identifier: Apache-2.0
"""The build backend: scikit-build-core, with three things added.

1. The cuda device, which takes most of the time, is only built where a GPU is, or where
   `-C cmake.define.QUILTMD_CUDA=ON` or the architectures of GPUs ask for it.
2. Where it is built and no nvcc is on the machine, NVIDIA's compiler packages from PyPI (some
   120 MB) become build requirements.
3. A missing C++ compiler or Python header is reported in one line before CMake starts.

The Makefile, which builds without isolation, asks the same questions by
`python tools/build_backend.py check` and `... requirements [AUTO|ON|OFF]`.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import sysconfig
from glob import glob
from pathlib import Path

CUDA_PACKAGES = [
    "nvidia-cuda-nvcc==13.0.*",
    "nvidia-cuda-crt==13.0.*",
    "nvidia-nvvm==13.0.*",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
    "nvidia-nvtx==13.0.*",  # headers alone are used
]
TOOLKIT = "/usr/local/cuda"
GPUS = ("/dev/nvidia[0-9]*", "/dev/dxg")  # the latter in WSL
CUDA = "cmake.define.QUILTMD_CUDA"
# Variables in which settings of CMake are given, besides those of pip.
ENVIRONMENT = ("CMAKE_ARGS", "SKBUILD_CMAKE_ARGS", "SKBUILD_CMAKE_DEFINE")
Settings = dict[str, "str | list[str]"]


def missing_tool() -> str | None:
    """One line naming what a build lacks and how to get it, or None."""
    compiler = os.environ.get("CXX", "").split(" ")[0]
    names = [compiler] if compiler else ["c++", "g++", "clang++"]
    if not any(shutil.which(name) for name in names):
        return f"no C++ compiler ({' or '.join(names)}): try `apt-get install g++` or set CXX"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        return f"no Python header {header}: try `apt-get install python3-dev`"
    return None


def check() -> None:
    """Stop with that line if something is missing."""
    message = missing_tool()
    if message:
        raise SystemExit(f"quiltmd cannot be built: {message}")


def wanted(settings: Settings | None) -> str:
    """The value of QUILTMD_CUDA that settings or the environment ask for, or that suits here."""
    given = [f"{name}={value}" for name, value in (settings or {}).items()]
    text = " ".join([*given, *(os.environ.get(name, "") for name in ENVIRONMENT)])
    asked = re.search(r"QUILTMD_CUDA(?::\w+)?=(\w+)", text)
    if asked and asked[1].upper() != "AUTO":
        return asked[1].upper()
    return "AUTO" if "QUILTMD_CUDA_ARCHITECTURES" in text or any(map(glob, GPUS)) else "OFF"


def completed(settings: Settings | None) -> Settings:
    """The settings; without a GPU, and where nothing asks for it, the cuda device is off."""
    given = dict(settings or {})
    return given | {CUDA: "OFF"} if wanted(settings) == "OFF" else given


def cuda_requirements(settings: Settings | None) -> list[str]:
    """The packages that bring nvcc, unless it is there, unwanted or not made for this machine."""
    roots = [os.environ.get("CUDA_PATH", TOOLKIT), TOOLKIT]
    folders = [os.environ.get("PATH", ""), *(f"{root}/bin" for root in roots)]
    found = shutil.which("nvcc", path=os.pathsep.join(folders))
    available = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
    if found or not available or wanted(settings) in ("OFF", "0", "NO", "FALSE"):
        return []
    return CUDA_PACKAGES


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    """CMake and ninja where missing, and nvcc where missing."""
    from scikit_build_core import build

    check()
    return [
        *build.get_requires_for_build_wheel(config_settings),
        *cuda_requirements(config_settings),
    ]


def get_requires_for_build_editable(config_settings: Settings | None = None) -> list[str]:
    """As for a wheel."""
    return get_requires_for_build_wheel(config_settings)


def build_wheel(
    folder: str, config_settings: Settings | None = None, metadata: str | None = None
) -> str:
    """The wheel; with the cuda device only where it has a use."""
    from scikit_build_core import build

    return build.build_wheel(folder, completed(config_settings), metadata)


def build_editable(
    folder: str, config_settings: Settings | None = None, metadata: str | None = None
) -> str:
    """As a wheel."""
    from scikit_build_core import build

    return build.build_editable(folder, completed(config_settings), metadata)


def main(command: str, cuda: str = "AUTO") -> None:
    """`check` what a build needs; or print the `requirements` that pip must install first."""
    if command == "check":
        check()
    else:
        print("\n".join(get_requires_for_build_wheel({CUDA: cuda})))


def __getattr__(name: str) -> object:
    """Every other hook is scikit-build-core's own."""
    from scikit_build_core import build

    return getattr(build, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
