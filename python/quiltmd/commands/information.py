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
from ..engine.libraries import NCCL, UCX
from ..errors import QuiltError
from ..openmm.files import find_force_field
from ..running.folder import Folder
from ..running.setting_fields import as_toml
from ..version import package_version
from .arguments import INPUTS, IndexFile, is_configuration, with_inputs
from .dry_run import facts_of_configuration
from .options import Settings, with_settings
from .run_facts import facts_of_folder
from .sectioned_command import AsJson
from .system_facts import facts_of_files
from .tables import out

_UNITS = {"net charge": " e", "mass": " amu", "box": " (nm, degrees)"}  # of facts of files


@with_settings("system.topology", "system.coordinates", "system.parameters", "system.defines")
def info(
    settings: Settings,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[CONFIG] [TOPOLOGY] [COORDINATES] | RUN",
            help="A topology, and coordinates; a configuration, followed by topology and "
            "coordinates if it does not name them; or the folder of a run.",
        ),
    ] = None,
    index: IndexFile = None,
    as_json: AsJson = False,
) -> None:
    """Describe input files, a configuration, or the folder of a run.

    Without files: version and devices of this installation.  For input files: atoms, molecules,
    charges, terms, box, and unsupported features.  For a configuration or a control file of another
    program a dry run: stages and outputs, settings that are ignored or refused, and
    the duration on this machine, estimated from a few steps; no file is written.  For the folder of
    a run: its progress, and the command that continues it.
    """
    if not files and not settings:
        facts = describe_installation()
        print(json.dumps(facts)) if as_json else print_facts(facts)
        return
    facts = _facts(files or [], index, settings)
    if as_json:
        print(json.dumps(facts))
    else:
        _print_nested(facts)


def _facts(files: list[Path], index: Path | None, settings: Settings) -> dict[str, Any]:
    """Facts about a folder, a configuration or input files."""
    if len(files) == 1 and files[0].is_dir() and INPUTS[0] not in settings:
        folder = Folder(files[0].absolute())
        if not folder.config.exists():
            raise QuiltError(f"{files[0]} is a folder: give a topology, and coordinates")
        return facts_of_folder(folder)
    configurations = [file for file in files if is_configuration(file)]
    inputs = with_inputs([file for file in files if file not in configurations], settings)
    if len(configurations) > 1:
        raise QuiltError(f"found {len(configurations)} configurations: give one of them")
    if configurations:
        return facts_of_configuration(configurations[0], index, inputs)
    if index is not None:
        raise QuiltError("leave out --index: it is only used with an mdp file")
    topology, *coordinates = (inputs[place] for place in INPUTS if place in inputs)
    if INPUTS[0] not in inputs:
        raise QuiltError(f"{topology}: give a topology as well (--topology)")
    parameters = inputs.get(("system", "parameters"), ())
    defines = tuple(inputs.get(("system", "defines"), ()))
    return facts_of_files(
        [topology, *coordinates], tuple(find_force_field(path) for path in parameters), defines
    )


def devices(as_json: AsJson = False) -> None:
    """List the devices of this machine, and test each GPU."""
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
        missing_nccl = NCCL.why_none()
        between = f"tcp, not nccl: {missing_nccl}" if missing_nccl else "nccl"
        lines += [
            "messages between GPUs in separate processes: on one machine as above, if a test of "
            f"the pair succeeds; otherwise, and between machines: {between}"
        ]
    return [
        *lines,
        "messages between ranks on the CPU, in one process: staged",
        "messages between processes on CPUs: unix on this machine, tcp between machines"
        + ("" if UCX.why_none() else "; --transport ucx uses UCX instead"),
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
    """Facts as lines, those that have parts with these below; settings as a TOML file has them."""
    for name, value in facts.items():
        if name == "settings":
            out.print("settings:", markup=False)
            for line in as_toml(value):
                out.print(f"  {line}".rstrip(), markup=False, soft_wrap=True)
        elif isinstance(value, dict):
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
    """Link between two GPUs."""
    other = f"cuda:{link['ordinal']}"
    if not link["access"]:
        return f"no direct access to {other}"
    by = f" by {link['kind']}" if link["kind"] else ""
    return f"reaches {other}{by}" + ("" if link["atomics"] else " without atomics")
