# SPDX-License-Identifier: Apache-2.0
"""How the command begins: without stdin, stdout or stderr, under signals, with few addresses."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import tomli_w
from test_cli import quiltmd

Files = tuple[Path, Path]
CLOSED = ("2>&-", ">&-", "<&- >&- 2>&-")


@pytest.fixture(scope="module")
def peptide(openmmtools_data: Path) -> Files:
    """Alanine dipeptide without water, 22 atoms: prmtop and inpcrd."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    return folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"


def with_closed(closed: str, *arguments: Any) -> Any:
    """A finished `quiltmd` process that a shell has started so."""
    command = shlex.join([sys.executable, "-m", "quiltmd", *map(str, arguments)])
    return subprocess.run(["bash", "-c", f"{command} {closed}"], capture_output=True, text=True)


def run_of(files: Files, out: Path, *options: Any) -> tuple[Any, ...]:
    names = ("--topology", files[0], "--coordinates", files[1], "--out", out)
    return ("run", *names, "--device", "cpu", "--threads", 1, "--seed", 5, *options)


@pytest.fixture(scope="module")
def whole(peptide: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all three streams."""
    out = tmp_path_factory.mktemp("whole") / "out"
    done = quiltmd(*run_of(peptide, out, "--steps", 8, "--log-every", 2))
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize("closed", CLOSED)
def test_a_run_without_streams(peptide: Files, whole: Path, tmp_path: Path, closed: str) -> None:
    """It does what it does otherwise, and no message gets into a file."""
    done = with_closed(closed, *run_of(peptide, tmp_path / "out", "--steps", 8, "--log-every", 2))
    assert done.returncode == 0, done.stderr
    rows, expected = (
        [line.rpartition(",")[0] for line in (out / "log.csv").read_text().splitlines()]
        for out in (tmp_path / "out", whole)
    )
    assert rows == expected
    assert (tmp_path / "out" / "final.pdb").read_bytes() == (whole / "final.pdb").read_bytes()


def test_other_commands_without_streams(peptide: Files, whole: Path, tmp_path: Path) -> None:
    settings = {
        "system": {"topology": str(peptide[0]), "coordinates": str(peptide[1])},
        "exchange": {"temperatures": [300.0, 310.0], "every": 5},
        "run": {"steps": 10, "device": "cpu", "threads": 1},
        "output": {"dir": str(tmp_path / "exchange")},
    }
    copytree(whole, tmp_path / "out")
    (tmp_path / "exchange.toml").write_text(tomli_w.dumps(settings))
    commands = (
        ("energy", *peptide, "--forces", tmp_path / "forces.npy"),
        ("exchange", tmp_path / "exchange.toml"),
        ("report", whole),
        ("run", "--resume", tmp_path / "out", "--steps", 12),
    )
    for command in commands:
        done = with_closed(CLOSED[-1], *command)
        assert done.returncode == 0, command
    assert (tmp_path / "forces.npy").exists()
    assert (tmp_path / "exchange" / "exchange.csv").exists()
    assert (whole / "report.html").exists()
    assert (tmp_path / "out" / "log.csv").read_text().splitlines()[-1].startswith("12,")


def test_what_is_open_is_used(peptide: Files, tmp_path: Path) -> None:
    """Results on stdout without stderr; an error on stderr without stdout."""
    done = with_closed("2>&-", "energy", *peptide, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["atoms"] == 22
    done = with_closed(">&-", "energy", tmp_path / "nothing", peptide[1])
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")


# In place of typer, which is imported first: says that it is here, and stays.
STAYS = """
import signal, sys, time
kinds = [kind.name for kind in signal.Signals if signal.getsignal(kind) is signal.SIG_IGN]
print(kinds, flush=True)
time.sleep(250)
"""


def importing(folder: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """A command that imports its modules, and will not come to an end of it."""
    (folder / "typer.py").write_text(STAYS)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "quiltmd", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize(
    ("kind", "status"),
    [("SIGINT", 130), ("SIGTERM", 75), ("SIGUSR1", 75), ("SIGHUP", 75), ("SIGXCPU", 75)],
)
def test_signals_while_modules_are_imported(tmp_path: Path, kind: str, status: int) -> None:
    with importing(tmp_path, "run", "--out", str(tmp_path / "out")) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.Signals[kind])
        _, said = process.communicate(timeout=250)
    assert process.returncode == status
    assert said == ""
    assert not (tmp_path / "out").exists()


# The command, at whose end Ctrl-C comes again.
INTERRUPTED_END = """
import signal
from quiltmd.running import stopping
stopping.ignore_further_signals = lambda: signal.raise_signal(signal.SIGINT)
from quiltmd.commands.start import main
main()
"""


def test_ctrl_c_at_the_end_of_a_command() -> None:
    """Ends the process, and adds no word to what was said."""
    command = [sys.executable, "-c", INTERRUPTED_END, "digest", "nothing"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_signals_that_were_ignored_stay_ignored(tmp_path: Path) -> None:
    """As under nohup, and for Ctrl-C in the background of a shell."""

    def ignore() -> None:
        for kind in (signal.SIGHUP, signal.SIGINT):
            signal.signal(kind, signal.SIG_IGN)

    with importing(tmp_path, "info", preexec_fn=ignore) as process:
        assert process.stdout is not None
        ignored = process.stdout.readline()
        process.terminate()
    assert "SIGHUP" in ignored
    assert "SIGINT" in ignored
    assert process.returncode == 75


def test_too_few_addresses_are_told() -> None:
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (300 << 20, 300 << 20))
    done = quiltmd("info", preexec_fn=limit)
    assert done.returncode == 1
    assert done.stderr.startswith("error: this process may use 300 MiB of addresses")
    assert len(done.stderr.splitlines()) == 1


def test_a_process_without_more_threads_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from quiltmd.commands import cli

    def no_more() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(cli, "app", no_more)
    monkeypatch.setattr(cli, "ignore_further_signals", lambda: None)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1
    assert "no more threads" in capsys.readouterr().err
    monkeypatch.setattr(cli, "app", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main()
