# SPDX-License-Identifier: Apache-2.0
"""What is imported when: names of the package and commands when they are first used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import quiltmd
from quiltmd.commands import catalogue

# Each takes a tenth of a second or more.
LARGE = {"numpy", "scipy", "pydantic", "rich", "gemmi", "matplotlib", "quiltmd._core"}

WATCHED = """
import json, sys
sys.argv[1:] = {arguments}
try:
    {action}
except SystemExit as end:
    assert not end.code, end
print("\\n" + json.dumps(sorted(sys.modules)))
"""


def imported_by(action: str, *arguments: str) -> set[str]:
    """Modules that a new interpreter has after an action."""
    code = WATCHED.format(action=action, arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_package_alone_imports_nothing_large() -> None:
    assert not imported_by("import quiltmd") & LARGE


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_import_nothing_large(option: str) -> None:
    found = imported_by("from quiltmd.commands.start import main; main()", option)
    assert "quiltmd.commands.cli" in found
    assert not found & LARGE


def test_a_command_imports_no_other() -> None:
    found = imported_by("from quiltmd.commands.start import main; main()", "digest", "--help")
    commands = {place.split(".")[0] for place, _ in catalogue.COMMANDS.values()}
    assert {name for name in commands if f"quiltmd.commands.{name}" in found} == {"digest"}


def test_the_help_of_commands_imports_no_part_of_scipy() -> None:
    """They take a quarter of a second; a part is imported when a function of it is first used."""
    load_all = "from quiltmd.commands.catalogue import *; list(map(load, COMMANDS))"
    found = {name for name in imported_by(load_all) if name.startswith("scipy.")}
    assert not {name for name in found if name.count(".") == 1 and "._" not in name} - {
        "scipy.version"
    }


@pytest.mark.parametrize("command", ["prepare", "serve"])
def test_commands_without_settings_import_no_configuration(command: str) -> None:
    found = imported_by("from quiltmd.commands.start import main; main()", command, "--help")
    assert "quiltmd.running.config" not in found


@pytest.mark.parametrize("name", catalogue.COMMANDS)
def test_the_catalogue_says_what_the_command_does(name: str) -> None:
    first = str(catalogue.load(name).help).split("\n\n")[0]
    assert " ".join(first.split()) == catalogue.COMMANDS[name][1]


def test_names_of_the_package_are_those_of_its_stub() -> None:
    stub = ast.parse(Path(f"{quiltmd.__file__}i").read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(quiltmd.__all__) == {name for name in names if not name.startswith("_")}
    assert names <= set(dir(quiltmd))
    for name in names:
        assert getattr(quiltmd, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Sytem'"):
        _ = quiltmd.Sytem
    with pytest.raises(AttributeError, match=r"; there is .*LogReporter, .*TrajectoryReporter$"):
        _ = quiltmd.DCDReporter
    with pytest.raises(AttributeError, match=r"; there is LangevinMiddle$"):
        _ = quiltmd.LangevinMiddleIntegrator
    with pytest.raises(AttributeError, match=r"no attribute 'Context'$"):
        _ = quiltmd.Context
