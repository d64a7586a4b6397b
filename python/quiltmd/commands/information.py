# SPDX-License-Identifier: Apache-2.0
"""`quiltmd info` and `quiltmd devices`: what this installation is and can run on; input files."""

from __future__ import annotations

import json
import platform
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from ..engine.execution import available_cores
from ..engine.execution import devices as find_devices
from ..engine.nccl import why_none
from ..errors import QuiltError
from ..inputs.openmm_files import find_force_field
from ..version import package_version
from .options import AsJson, Settings, with_settings
from .system_facts import facts_of_files
from .tables import out

_UNITS = {"net charge": " e", "mass": " amu", "box": " (nm, degrees)"}  # of facts of files


@with_settings("system.parameters", "system.defines")
def info(
    settings: Settings,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILES]", help="A topology, and coordinates; or a control file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What is in input files; without any, what this installation is.

    Of files: atoms, molecules, charges, terms, box, and what is refused.  Of control files of other
    programs: the settings of a run here, what is not taken over, and what is refused.
    """
    if files:
        parameters = settings.get(("system", "parameters"), ())
        facts = facts_of_files(
            files,
            tuple(find_force_field(path) for path in parameters),
            tuple(settings.get(("system", "defines"), ())),
        )
    else:
        facts = describe_installation()
    if as_json:
        print(json.dumps(facts))
    elif files:
        _print_nested(facts)
    else:
        print_facts(facts)


def devices(as_json: AsJson = False) -> None:
    """The devices that simulations can run on, each GPU tested."""
    found = find_devices(self_test=True)
    if as_json:
        print(json.dumps(found))
    else:
        print_devices(found)
        for line in transports_between(found):
            out.print(line, markup=False)


def transports_between(found: list[dict[str, Any]]) -> list[str]:
    """For ranks on these devices the transport that would be used, and why not a faster one."""
    usable = [gpu for gpu in found if gpu["kind"] == "cuda" and gpu.get("usable", True)]
    reached = {
        (gpu["ordinal"], link["ordinal"])
        for gpu in usable
        for link in gpu["links"]
        if link["access"]
    }
    lines = []
    for a, b in combinations([gpu["ordinal"] for gpu in usable], 2):
        missing = [pair for pair in ((a, b), (b, a)) if pair not in reached]
        used = "peer"
        if missing:
            first, second = missing[0]
            used = f"staged, not peer: cuda:{first} has no direct access to cuda:{second}"
        lines.append(f"messages between cuda:{a} and cuda:{b}, in one process: {used}")
    if usable:
        missing_nccl = why_none()
        between = f"tcp, not nccl: {missing_nccl}" if missing_nccl else "nccl"
        lines += [
            "messages between GPUs, a process each: as in one process on this machine, where a "
            f"test of each pair passes; else and between machines: {between}"
        ]
    return [
        *lines,
        "messages between ranks on the CPU, in one process: staged",
        "messages between processes on CPUs: unix on this machine, tcp between machines",
    ]


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


def _print_nested(facts: dict[str, Any], indent: str = "") -> None:
    """Facts as lines, those that have parts with these below."""
    for name, value in facts.items():
        if isinstance(value, dict):
            out.print(f"{indent}{name}:", markup=False)
            _print_nested(value, indent + "  ")
        elif isinstance(value, list) and not value:
            out.print(f"{indent}{name}: nothing", markup=False)
        elif isinstance(value, list) and isinstance(value[0], str):
            out.print(f"{indent}{name}:", markup=False)
            for item in value:
                out.print(f"{indent}  {item}", markup=False, soft_wrap=True)
        else:
            shown = " ".join(map(str, value)) if isinstance(value, list) else value
            unit = _UNITS.get(name, "")
            shown, unit = ("none", "") if value is None else (shown, unit)
            out.print(f"{indent}{name}: {shown}{unit}", markup=False, soft_wrap=True)


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
