# SPDX-License-Identifier: Apache-2.0
"""Machine and date of a measurement, written to every result of a benchmark."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from ..engine.core import load_core
from ..engine.execution import available_cores
from ..errors import QuiltError
from ..version import package_version

_HERE = Path(__file__).resolve().parent
_DRIVER = Path("/proc/driver/nvidia/version")
_FIELDS = ("name", "driver_version", "memory.used", "clocks.sm", "power.draw", "temperature.gpu")


def gpu() -> dict[str, Any]:
    """Name, driver and, at this moment, memory (MiB), clock (MHz), power (W) of the first GPU.

    Empty where nvidia-smi is missing or finds none.
    """
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(_FIELDS)}"]
    command.append("--format=csv,noheader,nounits")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    words = [word.strip() for word in done.stdout.splitlines()[0].split(",")]
    numbers = [_number(word) for word in words[2:]]
    return dict(zip(_FIELDS, [*words[:2], *numbers], strict=True))


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def commit() -> str:
    """The variable COMMIT where it is set, as beside a mere copy; else that of these sources.

    Of an installed package it is the one that the core was compiled from; "unknown" where that was
    not known.
    """
    if stated := os.environ.get("COMMIT"):
        return stated
    if not (_HERE.parents[2] / ".git").exists():
        return build()["commit"] or "unknown"
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=_HERE, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def build() -> dict[str, str]:
    """Build of the core: compiler, cuda, commit; "" if unknown."""
    try:
        found: dict[str, str] = load_core().describe_build()
    except (QuiltError, AttributeError):  # there is none, or an older one
        return {"compiler": "", "cuda": "", "commit": ""}
    return found


def driver() -> str:
    """Version of NVIDIA's driver; "" where there is none."""
    try:
        found = re.search(r"\b\d{3,}\.\d+(?:\.\d+)?", _DRIVER.read_text())
    except OSError:
        return ""
    return "" if found is None else found[0]


def program() -> dict[str, str]:
    """Versions used by a run: commit, compiler, CUDA, driver, Python."""
    made = build()
    return {
        "commit": commit(),
        "compiler": made["compiler"],
        "cuda": made["cuda"],
        "driver": driver(),
        "python": platform.python_version(),
    }


def provenance() -> dict[str, Any]:
    """Date, commit, version, machine and GPU.

    `cores` are those that this process may use, `load` is how many processes wanted one, on average
    over the last minute.
    """
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "version": package_version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": available_cores(),
        "load": round(os.getloadavg()[0], 2),
        "gpu": gpu(),
    }
