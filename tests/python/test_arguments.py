# SPDX-License-Identifier: Apache-2.0
"""Topology and coordinates in one form for all commands: as arguments, or by -p and -c."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from quiltmd.commands.cli import app
from quiltmd.errors import QuiltError
from quiltmd.running import runner

Files = tuple[Path, Path]
WATER = """\
ATOM      1  O   HOH A   1       0.000   0.000   0.000  1.00  0.00           O
ATOM      2  H1  HOH A   1       0.957   0.000   0.000  1.00  0.00           H
ATOM      3  H2  HOH A   1      -0.240   0.927   0.000  1.00  0.00           H
END
"""


def call(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_commands_take_files_in_either_form(alanine: Files) -> None:
    top, crd = alanine
    forms = ((top, crd), ("-p", top, "-c", crd), ("-p", top, crd), (top, "--coordinates", crd))
    found = [call("energy", *form, "--json", "--threads", 1).stdout for form in forms]
    assert json.loads(found[0])["atoms"] == 2269
    assert len(set(found)) == 1
    facts = {call("info", *form, "--json").stdout for form in forms}
    assert len(facts) == 1
    assert json.loads(facts.pop())["waters"] == 749


@pytest.mark.parametrize("command", ["energy", "convert", "predict"])
def test_what_is_missing_or_too_much_is_named(command: str, alanine: Files, tmp_path: Path) -> None:
    top, crd = alanine
    out = ("--system", tmp_path / "a.xml") if command == "convert" else ()
    for files, missing in (((), "no topology (-p)"), ((top,), "no coordinates (-c)")):
        found = call(command, *files, *out)
        assert found.exit_code == 2
        assert missing.replace("(-p)", "(--topology)").replace("(-c)", "(--coordinates)") in (
            " ".join(found.output.split())
        )
    for files in ((top, crd, crd), ("-p", top, crd, crd)):
        with pytest.raises(QuiltError, match=r"found \d files"):
            raise call(command, *files, *out).exception
    with pytest.raises(QuiltError, match=r"a.toml is a configuration, for 'quiltmd run'"):
        raise call(command, "a.toml", *out).exception


def started(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    """The configuration that a command runs."""
    found = []

    def start(config: Any, *_: Any) -> runner.Outcome:
        found.append(config)
        return runner.Outcome(0, False, 0.0)

    monkeypatch.setattr("quiltmd.running.runner.start", start)
    result = call("run", *arguments)
    if result.exception is not None:
        raise result.exception
    return found[0]


@pytest.mark.parametrize("form", [(), ("-p",)], ids=["argument", "option"])
def test_a_structure_alone_is_topology_and_coordinates(
    form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    water = tmp_path / "water.pdb"
    water.write_text(WATER)
    settings = ("--parameters", "tip3p.xml", "--method", "cutoff")
    once = call("energy", *form, water, *settings, "--json", "--threads", 1)
    twice = call("energy", water, water, *settings, "--json", "--threads", 1)
    assert once.exit_code == 0, once.output
    assert json.loads(once.stdout)["atoms"] == 3
    assert once.stdout == twice.stdout
    config = started(monkeypatch, *form, water, *settings, "--steps", 1, "--out", tmp_path / "out")
    assert config.system.coordinates == config.system.topology == water


def test_run_takes_topology_and_coordinates(
    monkeypatch: pytest.MonkeyPatch, alanine: Files, tmp_path: Path
) -> None:
    top, crd = alanine
    monkeypatch.chdir(tmp_path)
    config = started(monkeypatch, top, crd, "--steps", 5, "--out", "there")
    assert (config.system.topology, config.system.coordinates) == (top, crd)
    assert config.output.dir == tmp_path / "there"
    mdp = tmp_path / "md.mdp"
    mdp.write_text("integrator = sd\nnsteps = 7\ntc-grps = system\ntau-t = 1\nref-t = 300\n")
    for files in ((mdp, top, crd), (top, mdp, crd), (mdp, "-p", top, crd), (mdp, "-c", crd, top)):
        config = started(monkeypatch, *files)
        assert (config.system.topology, config.system.coordinates) == (top, crd)
        assert config.run.steps == 7
    toml = tmp_path / "a.toml"
    toml.write_text(
        '[system]\ntopology = "x"\ncoordinates = "y"\n[run]\nsteps = 3\n[output]\ndir = "o"'
    )
    assert started(monkeypatch, toml, top).system.topology == top
    assert started(monkeypatch, toml, top).system.coordinates == tmp_path / "y"


def test_run_says_which_files_do_not_go_together(
    monkeypatch: pytest.MonkeyPatch, alanine: Files, tmp_path: Path
) -> None:
    top, crd = alanine
    monkeypatch.chdir(tmp_path)
    rest = ("--steps", 5, "--out", "there")
    with pytest.raises(QuiltError, match="expected a topology and coordinates, found 3 files"):
        started(monkeypatch, top, crd, crd, *rest)
    with pytest.raises(QuiltError, match=r"two configurations, a\.toml and b\.toml"):
        started(monkeypatch, "a.toml", "b.toml", *rest)
    with pytest.raises(QuiltError, match="or also --coordinates, --steps, --out"):
        started(monkeypatch, top)
    os.mkdir("done")
    Path("done/config.toml").write_text("[run]\nsteps = 1\n")
    with pytest.raises(QuiltError, match="continue it with 'quiltmd run --resume done'"):
        started(monkeypatch, "done")
    with pytest.raises(QuiltError, match=r"leave out --timestep, md\.toml, top"):
        raise call("run", "--resume", "done", "md.toml", "top", "--timestep", 1e-3).exception


def test_exchange_takes_topology_and_coordinates(
    monkeypatch: pytest.MonkeyPatch, alanine: Files, tmp_path: Path
) -> None:
    top, crd = alanine
    found = []

    def start(config: Any, *_: Any) -> runner.Outcome:
        found.append(config)
        return runner.Outcome(0, False, 0.0)

    monkeypatch.setattr("quiltmd.exchange.runner.start", start)
    toml = tmp_path / "a.toml"
    toml.write_text(
        '[system]\ntopology = "x"\ncoordinates = "y"\n[run]\nsteps = 4\n[output]\ndir = "o"\n'
        "[exchange]\nevery = 2\ntemperatures = ['300 K', 310]\n"
    )
    for files in ((toml, top, crd), (toml, "-p", top, "-c", crd), (toml, "-p", top, crd)):
        result = call("exchange", *files)
        assert result.exception is None, result.exception
        assert (found[-1].system.topology, found[-1].system.coordinates) == (top, crd)
        assert found[-1].exchange.temperatures == (300.0, 310.0)
    with pytest.raises(QuiltError, match="are only used with a configuration: leave them out"):
        raise call("exchange", "--analyse", tmp_path, "-p", top).exception


def test_help_names_the_arguments() -> None:
    shown = " ".join(call("run", "-h").stdout.split())
    assert "[CONFIG] [TOPOLOGY] [COORDINATES]" in shown


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        (
            "run -f md.mdp -p a.top -c a.gro",
            "-f is not an option of this command: name the control",
        ),
        ("run md.mdp -deffnm md", "-deffnm .*--out FOLDER names the folder"),
        ("run md.mdp -t nvt.cpt", "-t .*-c FOLDER takes positions, velocities and box"),
        ("run md.mdp -ntomp 4", "-ntomp .*--threads"),
        ("run -O -i md.in -o md.out", "-O .*--overwrite"),
        ("run -in in.melt", "-in .*name the control file without an option"),
        ("run md.in -ref a.rst7", "-ref .*-r FILE"),
        ("run +p4 eq.conf", r"\+p4 is not an option.*--threads"),
        ("+p4 eq.conf", r"\+p4 is not a command: 'quiltmd run FILE'.*--threads"),
        ("mdrun -deffnm md", "no command mdrun: 'quiltmd run md.mdp"),
        ("pdb2gmx -f a.pdb", "no command pdb2gmx: 'quiltmd prepare protein.pdb'"),
    ],
)
def test_habits_of_other_programs_are_answered(typed: str, advice: str) -> None:
    with pytest.raises(QuiltError, match=advice):
        raise call(*typed.split()).exception


def test_a_file_in_the_place_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "eq.conf").write_text("run 10")
    with pytest.raises(QuiltError, match=r"eq.conf is a file, not a command: .*'quiltmd run /"):
        raise call(tmp_path / "eq.conf").exception


def test_options_that_a_command_has_keep_their_meaning(alanine: Files) -> None:
    found = call("info", "-p", alanine[0], "-c", alanine[1])
    assert found.exit_code == 0


def test_completion_goes_on_behind_an_option_of_another_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("_QUILTMD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "quiltmd run -f --baros")
    monkeypatch.setenv("COMP_CWORD", "3")
    found = CliRunner().invoke(app, [], prog_name="quiltmd")
    assert "--barostat" in found.output.split()
