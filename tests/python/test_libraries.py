# SPDX-License-Identifier: Apache-2.0
"""Where NCCL, UCX and NVRTC are looked for: a wheel goes before the system."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from quiltmd.engine.libraries import NCCL, NVRTC, UCX, Library

EACH = pytest.mark.parametrize("library", [NCCL, UCX, NVRTC], ids=["nccl", "ucx", "nvrtc"])


def wheel(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As pip unpacks it: `nvidia` is no package of its own."""
    path = folder.joinpath(*library.package.split("."), "lib", library.name)
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.syspath_prepend(str(folder))
    return path


@EACH
def test_a_wheel_is_found(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = wheel(library, tmp_path, monkeypatch)
    assert library.path() == str(path)
    assert f"quiltmd[{library.extra}]" in library.why_none()  # it is no library


@EACH
def test_without_a_wheel_the_system_is_asked(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = replace(library, package=f"{library.package}_empty", folder="")
    wheel(library, tmp_path, monkeypatch).unlink()
    assert library.path() == ""
    (tmp_path / library.name).touch()
    assert replace(library, folder=str(tmp_path)).path() == str(tmp_path / library.name)


def test_the_extra_of_nvrtc_is_of_one_version() -> None:
    """The package has no version in its name, and the library is opened by its version."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    bounds = re.search(r'"nvidia-cuda-nvrtc>=(\d+)[\d.]*,<(\d+);', project.read_text())
    assert bounds is not None
    version = int(NVRTC.name.rpartition(".")[2])
    assert [int(one) for one in bounds.groups()] == [version, version + 1]
