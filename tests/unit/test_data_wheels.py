# SPDX-License-Identifier: Apache-2.0
"""Slim wheels of input files hold every file that tests, examples and commands read."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
READERS = ("tests", "python", "benchmarks", "examples")


@pytest.fixture
def data_wheels() -> ModuleType:
    """The script as a module; it lies outside every package."""
    path = ROOT / "tools" / "data_wheels.py"
    spec = importlib.util.spec_from_file_location("data_wheels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folders_read() -> set[str]:
    """Folders of openmmtools' data whose names are in sources."""
    spec = importlib.util.find_spec("openmmtools")
    assert spec is not None
    (package,) = spec.submodule_search_locations or []
    text = "".join(path.read_text() for folder in READERS for path in (ROOT / folder).rglob("*.py"))
    names = re.findall(r'"([\w-]+)[/"]', text)
    return {name for name in names if (Path(package) / "data" / name).is_dir()}


def test_every_folder_that_is_read_is_kept(data_wheels: ModuleType) -> None:
    kept = data_wheels.KEPT
    folders = folders_read()
    assert len(folders) >= 4
    for folder in folders:
        path = f"openmmtools/data/{folder}/"
        assert any(path.startswith(name) or name.startswith(path) for name in kept), path


def test_inputs_of_fixtures_and_standard_systems_are_kept(
    data_wheels: ModuleType, openmmtools_data: Path, request: pytest.FixtureRequest
) -> None:
    from quiltmd.inputs.standard_systems import SYSTEMS, system_files

    files = [file for name in SYSTEMS for file in system_files(name)]
    for fixture in ("jac", "trpzip2", "alanine"):
        files += request.getfixturevalue(fixture)
    for file in files:
        assert file.is_file()
        if openmmtools_data not in file.parents:  # a system that the package itself has
            continue
        name = "openmmtools/data/" + file.relative_to(openmmtools_data).as_posix()
        assert data_wheels._is_kept(name), name
