# SPDX-License-Identifier: Apache-2.0
"""`quiltmd info` and `quiltmd devices`, and how results are shown as tables on stdout."""

from __future__ import annotations

import platform
from typing import Any

from rich.console import Console
from rich.table import Table

from ..engine.execution import available_cores, devices
from ..errors import QuiltError
from ..version import package_version

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
        facts["devices"] = devices()
    except QuiltError as error:
        facts["problem"] = str(error)
    return facts


def describe_devices() -> list[dict[str, Any]]:
    """The devices of this machine, tested."""
    return devices(self_test=True)


def print_facts(facts: dict[str, Any]) -> None:
    """Facts as lines, devices last."""
    for name, value in facts.items():
        if name != "devices":
            _out.print(f"{name + ':':10s} {value}", markup=False)
    if "devices" in facts:
        print_devices(facts["devices"])


def print_devices(found: list[dict[str, Any]]) -> None:
    """One line per device; of one that cannot be used, the reason."""
    for device in found:
        _out.print(_device_line(device), markup=False)


def _device_line(device: dict[str, Any]) -> str:
    kind = device["kind"] + (f":{device['ordinal']}" if device.get("ordinal", -1) >= 0 else "")
    if not device.get("usable", True):
        return f"{kind:8s} not usable: {device['reason']}"
    parts = [device["name"], device["architecture"], f"{device['memory'] / 2**30:.1f} GiB"]
    if device["kind"] == "cuda":
        parts.append(f"{device['free_memory'] / 2**30:.1f} GiB free")
        parts.append(f"{device['processors']} multiprocessors")
        parts += [f"reaches {list(device['reaches'])} directly"] if device["reaches"] else []
    if device.get("bandwidth"):
        verdict = "passed" if device["healthy"] else "FAILED"
        parts.append(f"self-test {verdict}, {device['bandwidth'] / 1e9:.0f} GB/s")
    return f"{kind:8s} {', '.join(parts)}"


def print_energies(result: dict[str, Any]) -> None:
    """Energies of `quiltmd energy` as a table."""
    table = Table("term", "kJ/mol", title=f"{result['atoms']} atoms", title_justify="left")
    table.columns[1].justify = "right"
    for term, value in result["energy"].items():
        table.add_row(term, f"{value:.6f}")
    _out.print(table)
