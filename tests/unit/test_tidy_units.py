# SPDX-License-Identifier: Apache-2.0
"""clang-tidy is started with files through which it sees every source."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

TOOL = Path(__file__).resolve().parents[2] / "tools" / "tidy_units.py"


def tidy_units() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tidy_units", TOOL)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plant(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(root: Path, compiled: list[str]) -> list[str]:
    database = root / "compile_commands.json"
    database.write_text(json.dumps([{"file": str(root / name)} for name in compiled]))
    return [str(p.relative_to(root)) for p in tidy_units().units(database, root / "src")]


def test_sources_that_are_compiled_together_are_checked_together(tmp_path: Path) -> None:
    unit = f'#include "{tmp_path}/src/a/one.cpp"\n\n#include "{tmp_path}/src/a/two.cpp"\n'
    other = f'#include "{tmp_path}/tests/other.cpp"\n'
    sources = {
        "src/a/one.cpp": "",
        "src/a/two.cpp": "",
        "src/a/three.cpp": "",
        "tests/other.cpp": "",
    }
    units = {"build/a.dir/Unity/unity_0_cxx.cxx": unit, "build/b.dir/Unity/unity_0_cxx.cxx": other}
    plant(tmp_path, sources | units | {"src/a/not_built_absent.cpp": ""})
    assert found(tmp_path, [*units, "src/a/three.cpp"]) == [
        "build/a.dir/Unity/unity_0_cxx.cxx",
        "src/a/not_built_absent.cpp",
        "src/a/three.cpp",
    ]


def test_without_units_each_source_is_checked(tmp_path: Path) -> None:
    plant(tmp_path, {"src/a.cpp": "", "src/b/c.cpp": ""})
    assert found(tmp_path, ["src/a.cpp"]) == ["src/a.cpp", "src/b/c.cpp"]


def test_a_source_with_a_using_declaration_is_also_checked_alone(tmp_path: Path) -> None:
    unit = "build/a.dir/Unity/unity_0_cxx.cxx"
    text = f'#include "{tmp_path}/src/one.cpp"\n#include "{tmp_path}/src/two.cpp"\n'
    alias = "using Numbers = std::vector<int>;\n"
    plant(tmp_path, {unit: text, "src/one.cpp": "  using std::swap;\n", "src/two.cpp": alias})
    assert found(tmp_path, [unit]) == [unit, "src/one.cpp"]
