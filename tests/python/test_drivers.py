# SPDX-License-Identifier: Apache-2.0
"""Drivers that cannot serve, each played by a library of its name: the message says why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import quiltmd

DRIVER = """
#include <stdlib.h>
int cuDriverGetVersion(int* version) { *version = atoi(getenv("DRIVER_VERSION")); return 0; }
int cuInit(unsigned flags) { return 100; /* no device */ }
int cuGetProcAddress(const char* name, void** function, int version, unsigned long flags) {
  *function = 0;
  return 500; /* not found */
}
"""
CHOOSE = """
from quiltmd.engine.execution import choose_device
from quiltmd.errors import QuiltError
try:
    choose_device("cuda")
except QuiltError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    reasons = [device.get("reason", "") for device in quiltmd.devices()]
    if any("no CUDA device" in reason for reason in reasons) or not compiler:
        pytest.skip("this build has no CUDA device, or there is no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER, encoding="ascii")
    library = folder / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, folder / "driver.c"], check=True)
    return folder


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (0, "no NVIDIA driver is installed"),
        (9020, "the NVIDIA driver supports CUDA 9.2, this program needs CUDA "),
        (99000, "the NVIDIA driver finds no GPU"),
    ],
)
def test_a_driver_that_cannot_serve(driver: Path, version: int, reason: str) -> None:
    paths = {"LD_LIBRARY_PATH": str(driver), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", CHOOSE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **paths, "DRIVER_VERSION": str(version)},
    )
    assert f"'cuda' was asked for, but there is no usable GPU: {reason}" in done.stdout
