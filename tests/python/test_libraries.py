# SPDX-License-Identifier: Apache-2.0
"""Where NCCL is looked for: a wheel goes before the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from quiltmd.engine import nccl


def wheel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As pip unpacks it: `nvidia` is no package of its own."""
    library = folder / "nvidia" / "nccl" / "lib" / "libnccl.so.2"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.syspath_prepend(str(folder))
    return library


def test_a_wheel_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = wheel(tmp_path, monkeypatch)
    assert nccl.library_path() == str(library)
    assert "quiltmd[nccl]" in nccl.why_none()  # it is no library


def test_without_a_wheel_the_system_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path, monkeypatch).unlink()
    assert nccl.library_path() == ""
