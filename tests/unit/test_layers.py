# SPDX-License-Identifier: Apache-2.0
"""The layer check finds what it must find: it is run on small source trees with planted faults."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools" / "layer_check.py"
TABLE = (ROOT / "src" / "CMakeLists.txt").read_text()


def layer_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("layer_check", CHECK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_check(root: Path) -> subprocess.CompletedProcess[str]:
    """The check on a copy of the script in `root`/tools, which looks at `root`/src."""
    tools = root / "tools"
    tools.mkdir(exist_ok=True)
    script = tools / CHECK.name
    script.write_text(CHECK.read_text())
    command = [sys.executable, str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def plant(root: Path, files: dict[str, str]) -> Path:
    """A source tree with the true table and the given files."""
    files = {"CMakeLists.txt": TABLE, "transport/transport.h": "", "runtime/rank.h": "", **files}
    for name, text in files.items():
        path = root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_project_obeys_its_layers() -> None:
    done = subprocess.run([sys.executable, CHECK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_no_layer_sees_more_than_it_needs() -> None:
    """Else the table loosens until it says nothing."""
    assert list(layer_check().unused_grants(ROOT / "src")) == []


def test_a_grant_that_nothing_uses_is_found(tmp_path: Path) -> None:
    table = "quiltmd_layer(math)\nquiltmd_layer(system SEES math)\n"
    plant(tmp_path, {"CMakeLists.txt": table, "system/system.h": "", "math/box.h": ""})
    unused = layer_check().unused_grants
    assert list(unused(tmp_path / "src")) == ["src/CMakeLists.txt: system need not see math"]
    plant(tmp_path, {"CMakeLists.txt": table, "system/system.h": '#include "math/box.h"\n'})
    assert list(unused(tmp_path / "src")) == []


@pytest.mark.parametrize(
    ("file", "header"),
    [
        ("computes/long_range/pme/host.cpp", "transport/transport.h"),
        ("computes/bonded/cuda.cu", "runtime/rank.h"),
        ("integrators/operations.h", "transport/transport.h"),
        ("decomposition/patches.cpp", "runtime/rank.h"),
        ("transport/local/local.cpp", "computes/long_range/pme/operations.h"),
        ("device/host/host_device.cpp", "transport/transport.h"),
        ("math/box.h", "system/system.h"),
        ("computes/long_range/pme/host.cpp", "../../../transport/transport.h"),
    ],
)
def test_forbidden_include_is_rejected(tmp_path: Path, file: str, header: str) -> None:
    files = {"computes/long_range/pme/operations.h": "", "system/system.h": ""}
    plant(tmp_path, {**files, file: f'#include <vector>\n\n#  include "{header}"\n'})
    done = run_check(tmp_path)
    assert done.returncode == 1
    assert f"src/{file}:3: " in done.stdout


def test_allowed_includes_pass(tmp_path: Path) -> None:
    lines = ['#include "computes/long_range/pme/operations.h"', '#include "transport/transport.h"']
    files = {"computes/long_range/pme/operations.h": "", "schedule/step.cpp": "\n".join(lines)}
    done = run_check(plant(tmp_path, files))
    assert done.returncode == 0, done.stdout


def test_a_new_family_of_forces_needs_no_line(tmp_path: Path) -> None:
    """Its folder sees what families see, and no other one."""
    listed = '#include "computes/lists/operations.h"\n'
    files = {"computes/lists/operations.h": "", "computes/embedded/host.cpp": listed}
    assert run_check(plant(tmp_path, files)).returncode == 0
    done = run_check(plant(tmp_path, {"computes/embedded/cuda.cu": '#include "runtime/rank.h"\n'}))
    assert done.returncode == 1
    assert "src/computes/embedded/cuda.cu:1: " in done.stdout


def test_folder_outside_the_table_is_rejected(tmp_path: Path) -> None:
    done = run_check(plant(tmp_path, {"extras/tool.h": ""}))
    assert done.returncode == 1
    assert "src/extras/tool.h: belongs to no layer" in done.stdout
