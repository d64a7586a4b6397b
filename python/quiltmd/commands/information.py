# SPDX-License-Identifier: Apache-2.0
"""`quiltmd info` and `quiltmd devices`: what this installation is and can run on."""

from __future__ import annotations

import json
import platform
from typing import Any

from ..engine.execution import available_cores
from ..engine.execution import devices as find_devices
from ..errors import QuiltError
from ..version import package_version
from .options import AsJson
from .tables import out


def info(as_json: AsJson = False) -> None:
    """Version, Python, cores and devices of this installation."""
    facts = describe_installation()
    if as_json:
        print(json.dumps(facts))
    else:
        print_facts(facts)


def devices(as_json: AsJson = False) -> None:
    """The devices that simulations can run on, each GPU tested."""
    found = find_devices(self_test=True)
    if as_json:
        print(json.dumps(found))
    else:
        print_devices(found)


def describe_installation() -> dict[str, Any]:
    """Version, Python, cores, devices; what is wrong where the core does not load."""
    facts: dict[str, Any] = {
        "version": package_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": available_cores(),
    }
    try:
        facts["devices"] = find_devices()
    except QuiltError as error:
        facts["problem"] = str(error)
    return facts


def print_facts(facts: dict[str, Any]) -> None:
    """Facts as lines, devices last."""
    for name, value in facts.items():
        if name != "devices":
            out.print(f"{name + ':':10s} {value}", markup=False)
    if "devices" in facts:
        print_devices(facts["devices"])


def print_devices(found: list[dict[str, Any]]) -> None:
    """One line per device; of one that cannot be used, the reason."""
    for device in found:
        out.print(_device_line(device), markup=False)


def _device_line(device: dict[str, Any]) -> str:
    kind = device["kind"] + (f":{device['ordinal']}" if device.get("ordinal", -1) >= 0 else "")
    if not device.get("usable", True):
        return f"{kind:8s} not usable: {device['reason']}"
    parts = [device["name"], device["architecture"], f"{device['memory'] / 2**30:.1f} GiB"]
    if device["kind"] == "cuda":
        parts.append(f"{device['free_memory'] / 2**30:.1f} GiB free")
        parts.append(f"{device['processors']} multiprocessors")
        parts += [_link(link) for link in device["links"]]
    if device.get("bandwidth"):
        verdict = "passed" if device["healthy"] else "FAILED"
        parts.append(f"self-test {verdict}, {device['bandwidth'] / 1e9:.0f} GB/s")
    return f"{kind:8s} {', '.join(parts)}"


def _link(link: dict[str, Any]) -> str:
    """What joins a GPU to another one."""
    other = f"cuda:{link['ordinal']}"
    if not link["access"]:
        return f"no direct access to {other}"
    by = f" by {link['kind']}" if link["kind"] else ""
    return f"reaches {other}{by}" + ("" if link["atomics"] else " without atomics")
