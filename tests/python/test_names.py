# SPDX-License-Identifier: Apache-2.0
"""Names of files and folders that are not UTF-8: read where that is enough, else refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine
from test_cli import quiltmd

from quiltmd import QuiltError
from quiltmd.exchange import runner as exchange_runner
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config, build_config_of

Files = tuple[Path, Path]
ODD = os.fsdecode(b"n\xff")


def settings_of(files: Files, out: Path, **system: Any) -> dict[str, Any]:
    return {
        "system": {"topology": files[0], "coordinates": files[1], **system},
        "run": {"steps": 2, "device": "cpu"},
        "output": {"dir": out},
    }


@pytest.fixture
def odd_files(alanine: Files, tmp_path: Path) -> Files:
    topology, coordinates = tmp_path / f"{ODD}.prmtop", tmp_path / f"{ODD}.crd"
    shutil.copy(alanine[0], topology)
    shutil.copy(alanine[1], coordinates)
    return topology, coordinates


@pytest.mark.parametrize("key", ["topology", "coordinates", "reference", "velocities", "dir"])
def test_a_run_refuses_them_before_it_begins(
    alanine: Files, odd_files: Files, tmp_path: Path, key: str
) -> None:
    """Its config.toml could not name them."""
    settings = settings_of(alanine, tmp_path / "out")
    section = "output" if key == "dir" else "system"
    settings[section][key] = tmp_path / ODD if key == "dir" else odd_files[key != "topology"]
    with pytest.raises(QuiltError, match=f"^{key} = .*{ODD}.*is not UTF-8.*rename"):
        runner.start(build_config(settings), engine=FakeEngine)
    assert not (tmp_path / "out").exists()


def test_a_run_with_stages_refuses_them(alanine: Files, tmp_path: Path) -> None:
    settings = settings_of(alanine, tmp_path / ODD)
    settings["stage"] = [{"name": "first"}, {"name": "second"}]
    with pytest.raises(QuiltError, match=r"^dir = .*is not UTF-8"):
        stages.start(settings, "", engine=FakeEngine)
    assert not (tmp_path / ODD).exists()


def test_a_replica_exchange_refuses_them(alanine: Files, tmp_path: Path) -> None:
    exchange = {"temperatures": (300.0, 301.0), "every": 1}
    settings = {**settings_of(alanine, tmp_path / ODD), "exchange": exchange}
    with pytest.raises(QuiltError, match=r"^dir = .*is not UTF-8"):
        exchange_runner.start(build_config_of(ExchangeConfig, settings, "test"), engine=FakeEngine)
    assert not (tmp_path / ODD).exists()


def test_a_folder_above_counts(
    alanine: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ODD).mkdir()
    monkeypatch.chdir(tmp_path / ODD)
    with pytest.raises(QuiltError, match=r"^dir = .*is not UTF-8"):
        runner.start(build_config(settings_of(alanine, Path("out"))), engine=FakeEngine)
    assert not Path("out").exists()


def test_a_run_that_was_moved_there(alanine: Files, tmp_path: Path) -> None:
    """It can be looked at, and goes on under another name."""
    out, odd = tmp_path / "out", tmp_path / ODD
    runner.start(build_config(settings_of(alanine, out)), engine=FakeEngine)
    out.rename(odd)
    with pytest.raises(QuiltError, match=r"^dir = .*is not UTF-8"):
        runner.resume(odd, {("run", "steps"): 4}, FakeEngine)
    for command in ("report", "digest"):
        done = quiltmd(command, odd)
        assert done.returncode == 0, done.stderr
    page = (odd / "report.html").read_text(encoding="utf-8")
    assert "n&#56575;" in page
    odd.rename(out)
    assert runner.resume(out, {("run", "steps"): 4}, FakeEngine).step == 4


def test_energies_need_no_other_name(alanine: Files, odd_files: Files, tmp_path: Path) -> None:
    forces = tmp_path / f"{ODD}.npy"
    odd = quiltmd("energy", *odd_files, "--json", "--forces", forces)
    usual = quiltmd("energy", *alanine, "--json")
    assert odd.returncode == usual.returncode == 0, odd.stderr
    assert odd.stdout == usual.stdout
    assert forces.exists()


def test_messages_show_the_bytes(alanine: Files, tmp_path: Path) -> None:
    done = quiltmd("run", "-p", alanine[0], "-c", alanine[1], "--steps", 1, "--out", tmp_path / ODD)
    assert done.returncode == 1
    assert done.stderr.startswith("error: dir = ")
    assert "n\\udcff" in done.stderr
    assert "Traceback" not in done.stderr
