# SPDX-License-Identifier: Apache-2.0
"""The command line itself: help in any window and encoding, options for every setting, mistakes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from command import quiltmd
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from quiltmd import QuiltError
from quiltmd.commands import tables
from quiltmd.commands.cli import app
from quiltmd.commands.options import as_options, flag_of
from quiltmd.engine import execution
from quiltmd.engine.execution import Execution
from quiltmd.running.config import Config, build_config
from quiltmd.running.setting_fields import setting_fields, single_sections

RUN: dict[str, Any] = {
    "system": {"topology": "a.prmtop", "coordinates": "a.inpcrd"},
    "run": {"steps": 10},
    "output": {"dir": "out"},
}


def help_of(*command: str, **environment: str) -> str:
    done = quiltmd(*command, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def unbroken(text: str) -> str:
    """The text in one line, with words whole that lines break at their hyphens."""
    return " ".join(text.split()).replace("- ", "-")


def test_every_setting_is_an_option_with_help() -> None:
    """In a window of 80 columns each option is whole, and its description is there."""
    text = help_of("run", "-h", COLUMNS="80")
    words = unbroken(text)
    for section in single_sections(Config):
        for key, field in setting_fields(section, Config).items():
            option = flag_of((section, key))
            assert re.search(rf"^  (-\w, )?{option}\b", text, re.MULTILINE), option
            assert field.description
            assert unbroken(as_options(field.description)) in words
    assert max(map(len, text.splitlines())) <= 80


def test_help_names_options_not_keys() -> None:
    words = unbroken(help_of("run", "-h"))
    assert "instead of --pme-tolerance; needs --pme-grid." in words
    assert not re.search(r"\b(pme|lj|fmm|rigid)_\w+", words)


def test_help_says_which_kinds_have_a_setting() -> None:
    words = unbroken(help_of("run", "-h"))
    assert "Number of thermostats in a Nose-Hoover chain; only with nose-hoover." in words
    assert "Relaxation time of the box, ps; not with monte-carlo." in words
    assert "Steps between thermostat actions; not with langevin." in words
    assert "friction coefficient, 1/ps; only with langevin-middle." in words


def test_help_says_what_configurations_are_read() -> None:
    arguments = unbroken(help_of("run", "-h")).split("Arguments:")[1].split("[system]:")[0]
    for program in ("TOML", "mdin", "mdp", "NAMD", "LAMMPS"):
        assert program in arguments


def test_defaults_of_profile_are_those_of_the_run() -> None:
    settings = unbroken(help_of("profile", "-h")).split("Options: --steps")[0]
    assert settings.count("default: that of the run]") == settings.count("default: ") == 6


def test_the_guide_has_the_options_that_are_named_otherwise_than_their_keys() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "user" / "commands.md").read_text()
    for section in single_sections(Config):
        for key in setting_fields(section, Config):
            option = flag_of((section, key))
            plain = key.replace("_", "-")
            if option not in (f"--{plain}", f"--{section}-{plain}"):
                assert re.search(rf"^\| .*`{key}`.* \| .*`{option}`", guide, re.MULTILINE), option


def test_options_of_two_sections_with_one_key() -> None:
    """The first section has the key itself; all options of a run have different names."""

    class Section(BaseModel):
        friction: float = 1.0

    class Sections(BaseModel):
        integrator: Section
        thermostat: Section

    assert flag_of(("integrator", "friction"), Sections) == "--friction"
    assert flag_of(("thermostat", "friction"), Sections) == "--thermostat-friction"
    places = [
        (name, key) for name in single_sections(Config) for key in setting_fields(name, Config)
    ]
    assert len({flag_of(place) for place in places}) == len(places)


def test_help_needs_no_unicode() -> None:
    for command in ((), ("run",), ("energy",), ("bench",)):
        assert help_of(*command, "--help", PYTHONIOENCODING="ascii").isascii()


def test_tables_keep_their_digits_in_narrow_windows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tables, "out", Console(width=30))
    table = Table("a term of the energy", "kJ/mol")
    table.add_row("potential, kinetic and total", "-187118.283912")
    tables.show_table(table)
    assert "-187118.283912" in capsys.readouterr().out


@pytest.mark.parametrize("timestep", [0.5, 1, 2, 4])
def test_femtoseconds_are_refused(timestep: float) -> None:
    with pytest.raises(QuiltError, match=rf"in ps.*did you mean {timestep / 1000:g}\?"):
        build_config({**RUN, "integrator": {"timestep": timestep}})


def test_a_short_list_is_not_missing() -> None:
    with pytest.raises(QuiltError, match=r"pme_grid: too few values \(found \[32, 32\]\)"):
        build_config({**RUN, "nonbonded": {"pme_alpha": 3.0, "pme_grid": [32, 32]}})


def test_errors_name_options_by_which_settings_are_given(tmp_path: Path) -> None:
    (tmp_path / "md.mdp").write_text(
        "integrator = md\nnsteps = 10\nrlist = 1\ntcoupl = V-rescale\ntc-grps = Protein Water\n"
        "tau-t = 1 1\nref-t = 300 300\n"
    )
    given = [str(tmp_path / "md.mdp"), "-p", "a.top", "-c", "a.gro", "--temperature", "305 K"]
    refused = CliRunner().invoke(app, ["run", *given])
    assert "leave out --temperature, or leave out [[bath]]" in str(refused.exception)


def test_a_bad_grid_is_told_at_once() -> None:
    done = quiltmd("run", "--pme-grid", "32,32")
    assert done.returncode == 2
    assert "--pme-grid" in done.stderr
    assert "NX,NY,NZ" in done.stderr


def test_more_ranks_than_cores_are_warned_about() -> None:
    warning = Execution("cpu", ranks=10_000, threads=1).warning()
    assert warning is not None
    assert "10000 rank(s)" in warning
    assert "or fewer are faster" in warning
    assert Execution("cpu").warning() is None


def test_far_more_ranks_than_cores_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "available_cores", lambda: 2)
    assert Execution("cpu", ranks=64).resolve().ranks == 64
    with pytest.raises(QuiltError, match=r"65 ranks .* 2 core\(s\).* at most 64 .* 2 or fewer"):
        Execution("cpu", ranks=65).resolve()
    monkeypatch.setattr(execution, "available_cores", lambda: 96)
    assert Execution("cpu", ranks=96).resolve().threads == 1


def test_ranks_of_other_processes_have_no_such_limit() -> None:
    places = "ranks:" + ",".join(["ssh:a/cpu"] * 100)
    assert Execution(places).resolve().ranks == 100  # type: ignore[arg-type]
