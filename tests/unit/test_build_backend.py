# SPDX-License-Identifier: Apache-2.0
"""What the build says when something is missing, and when it asks for NVIDIA's compiler."""

import importlib.util
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "build_backend.py"


@pytest.fixture
def backend() -> ModuleType:
    """The backend as a module; it lies outside every package."""
    spec = importlib.util.spec_from_file_location("build_backend", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def executable(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a compiler and Python's header; returns the folder on its PATH."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    (tmp_path / "Python.h").touch()
    executable(tmp_path, "g++")
    return tmp_path


def test_complete_machine_passes(backend: ModuleType, machine: Path) -> None:
    assert backend.missing_tool() is None


def test_missing_compiler_is_one_line(backend: ModuleType, machine: Path) -> None:
    (machine / "g++").unlink()
    with pytest.raises(SystemExit, match=r"no C\+\+ compiler .*apt-get install g\+\+") as stop:
        backend.check()
    assert "\n" not in str(stop.value)


def test_named_compiler_must_exist(
    backend: ModuleType, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "icpx")
    assert "icpx" in backend.missing_tool()


def test_missing_header_is_one_line(backend: ModuleType, machine: Path) -> None:
    (machine / "Python.h").unlink()
    assert "no Python header" in backend.missing_tool()
    assert "\n" not in backend.missing_tool()


def test_nvcc_comes_from_pypi_only_where_it_is_missing(
    backend: ModuleType, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "TOOLKIT", str(machine / "none"))
    monkeypatch.setattr(backend.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(backend, "GPUS", [str(machine / "nvidia[0-9]*")])
    (machine / "nvidia0").touch()
    assert any("nvcc" in package for package in backend.cuda_requirements(None))
    assert backend.cuda_requirements({"cmake.define.QUILTMD_CUDA": "OFF"}) == []
    executable(machine, "nvcc")
    assert backend.cuda_requirements(None) == []


def test_gpu_code_is_built_where_a_gpu_is_or_where_it_is_asked_for(
    backend: ModuleType, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = Mock()
    monkeypatch.setattr("scikit_build_core.build.build_wheel", built)

    def chosen(settings: dict[str, Any] | None) -> str:
        backend.build_wheel("dist", settings)
        return str(built.call_args.args[1].get("cmake.define.QUILTMD_CUDA", "AUTO"))

    monkeypatch.setattr(backend, "GPUS", [str(machine / "nvidia[0-9]*")])
    monkeypatch.setattr(backend, "TOOLKIT", str(machine / "none"))
    monkeypatch.setattr(backend.platform, "machine", lambda: "x86_64")
    assert chosen(None) == chosen({"cmake.define.QUILTMD_CUDA": "AUTO"}) == "OFF"
    assert backend.cuda_requirements(None) == []
    for name in ("ON", "CHECK", "OFF"):
        assert chosen({"cmake.define.QUILTMD_CUDA": name}) == name
    assert chosen({"cmake.define.QUILTMD_CUDA_ARCHITECTURES": "80;90"}) == "AUTO"
    assert backend.cuda_requirements({"cmake.define.QUILTMD_CUDA": "ON"}) != []
    for asked in (
        {"cmake.args": ["-DQUILTMD_CUDA=ON"]},
        {"skbuild.cmake.define.QUILTMD_CUDA": "ON"},
    ):
        assert chosen(asked) == "AUTO"  # as it is given
        assert backend.cuda_requirements(asked) != []
    for name, text in (
        ("CMAKE_ARGS", "-DQUILTMD_CUDA:STRING="),
        ("SKBUILD_CMAKE_DEFINE", "QUILTMD_CUDA="),
    ):
        monkeypatch.setenv(name, f"{text}ON")
        assert chosen(None) == "AUTO"
        assert backend.cuda_requirements(None) != []
        monkeypatch.setenv(name, f"{text}OFF")
        assert backend.cuda_requirements(None) == []
        monkeypatch.delenv(name)
    (machine / "nvidiactl").touch()  # a driver alone
    assert chosen(None) == "OFF"
    (machine / "nvidia0").touch()
    assert chosen(None) == "AUTO"
