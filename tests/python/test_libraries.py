# SPDX-License-Identifier: Apache-2.0
"""Where NCCL and UCX are looked for: a wheel goes before the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from quiltmd.engine.libraries import NCCL, UCX, Library

BOTH = pytest.mark.parametrize("library", [NCCL, UCX], ids=["nccl", "ucx"])


def wheel(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As pip unpacks it: `nvidia` is no package of its own."""
    path = folder.joinpath(*library.package.split("."), "lib", library.name)
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.syspath_prepend(str(folder))
    return path


@BOTH
def test_a_wheel_is_found(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = wheel(library, tmp_path, monkeypatch)
    assert library.path() == str(path)
    assert f"quiltmd[{library.extra}]" in library.why_none()  # it is no library


@BOTH
def test_without_a_wheel_the_system_is_asked(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(library, tmp_path, monkeypatch).unlink()
    assert library.path() == ""
