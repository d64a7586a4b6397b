# SPDX-License-Identifier: Apache-2.0
"""`quiltmd info` and `quiltmd devices`, and how results are shown as tables on stdout."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table

from .engine import available_cores, devices, load_core
from .errors import QuiltError

_out = Console(highlight=False, soft_wrap=True)


def describe_installation() -> dict[str, Any]:
    """Version, Python, cores, devices; what is wrong where the core does not load."""
    facts: dict[str, Any] = {
        "version": package_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": available_cores(),
    }
    try:
        load_core()
        facts["devices"] = devices()
    except QuiltError as error:
        facts["problem"] = str(error)
    return facts


def describe_devices() -> list[dict[str, Any]]:
    """The devices of this machine."""
    return devices()


def package_version() -> str:
    """The installed version of quiltmd."""
    try:
        return version("quiltmd")
    except PackageNotFoundError:
        return "unknown"


def print_facts(facts: dict[str, Any]) -> None:
    """Facts as lines; lists of devices as a table."""
    for name, value in facts.items():
        if name != "devices":
            _out.print(f"{name + ':':10s} {value}", markup=False)
    if "devices" in facts:
        print_devices(facts["devices"])


def print_devices(found: list[dict[str, Any]]) -> None:
    """One row per device, one column per property that any of them has."""
    columns = list(dict.fromkeys(key for device in found for key in device))
    table = Table(*columns)
    for device in found:
        table.add_row(*(str(device.get(column, "")) for column in columns))
    _out.print(table)


def print_energies(result: dict[str, Any]) -> None:
    """Energies of `quiltmd energy` as a table."""
    table = Table("term", "kJ/mol", title=f"{result['atoms']} atoms", title_justify="left")
    table.columns[1].justify = "right"
    for term, value in result["energy"].items():
        table.add_row(term, f"{value:.6f}")
    _out.print(table)
