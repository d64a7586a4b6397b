# SPDX-License-Identifier: Apache-2.0
"""Commands at a terminal: a bar that moves, lines above it, and Ctrl-C."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import tomli_w
from nbclient import NotebookClient
from terminal import CTRL_C, Terminal, at_terminal

import quiltmd

QUILTMD = ("-m", "quiltmd")
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def peptide(openmmtools_data: Path) -> tuple[Path, Path]:
    """Alanine dipeptide without water, 22 atoms: prmtop and inpcrd."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    return folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"


def run_of(files: tuple[Path, Path], out: Path, *options: Any) -> tuple[Any, ...]:
    names = ("--topology", files[0], "--coordinates", files[1], "--out", out)
    return (*QUILTMD, "run", *names, "--device", "cpu", "--threads", 1, *options)


def bars(text: str) -> list[tuple[int, int]]:
    """Steps done and to do of each bar that was drawn."""
    return [(int(a), int(b)) for a, b in re.findall(r"step +(\d+)/(\d+) [━╸╺ ]", text)]


def test_a_run_draws_its_bar_and_ends(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    status, text = at_terminal(
        *run_of(peptide, tmp_path / "out", "--minimize", "--steps", 200, "--log-every", 100)
    )
    assert status == 0, text
    assert bars(text)[0] == (0, 200)
    assert bars(text)[-1] == (200, 200)
    assert text.count("minimised in") == text.count("done: ") == 1
    assert "minimising" in text.split("minimised in")[0]
    assert "Traceback" not in text


def test_a_minimisation_alone_has_no_bar_of_steps(
    peptide: tuple[Path, Path], tmp_path: Path
) -> None:
    status, text = at_terminal(*run_of(peptide, tmp_path / "out", "--minimize", "--steps", 0))
    assert status == 0, text
    assert "minimised in" in text
    assert bars(text) == []
    assert "ETA" not in text


def test_ctrl_c_ends_a_run_whose_bar_moves(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Terminal(*run_of(peptide, out, "--steps", 10**9)) as terminal:
        terminal.wait_for(r"step +[1-9]\d*/1000000000 .* ns/day ETA +[1-9\d:-]+")
        terminal.type(CTRL_C)
        assert terminal.finish() == 130, terminal.text()
        assert bars(terminal.text())[0] == (0, 10**9)
        assert "Traceback" not in terminal.text()
    assert quiltmd.read_checkpoint(out / "checkpoint.qmd").state.step > 0


# The command, with a minimiser that goes on until it is told to stop.
ENDLESS = """
import itertools, time
from quiltmd.commands.cli import main
from quiltmd.running.simulation import Simulation

def minimize(self, tolerance, max_iterations, watch):
    for iteration in itertools.count(1):
        if watch(iteration, -1.5, 20.0):
            return {}
        time.sleep(0.01)

Simulation.minimize = minimize
main()
"""


def test_ctrl_c_ends_a_minimisation(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    options = run_of(peptide, tmp_path / "out", "--minimize", "--steps", 1)[len(QUILTMD) :]
    with Terminal("-c", ENDLESS, *options) as terminal:
        terminal.wait_for(r"minimising: iteration [1-9]\d*, potential -1.5 kJ/mol")
        terminal.type(CTRL_C)
        assert terminal.finish() == 130, terminal.text()
        assert "in the minimisation, which will begin again (SIGINT)" in terminal.text()


def test_an_exchange_draws_its_bar_and_ends(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    settings = {
        "system": {"topology": str(peptide[0]), "coordinates": str(peptide[1])},
        "exchange": {"temperatures": [300.0, 310.0], "every": 5},
        "run": {"steps": 20, "device": "cpu", "threads": 1},
        "output": {"dir": str(tmp_path / "out")},
    }
    (tmp_path / "exchange.toml").write_text(tomli_w.dumps(settings))
    status, text = at_terminal(*QUILTMD, "exchange", tmp_path / "exchange.toml")
    assert status == 0, text
    assert bars(text)[0] == (0, 20)
    assert bars(text)[-1] == (20, 20)


DEMO = """
import sys
from pathlib import Path
from fake_engine import FakeEngine
from quiltmd.commands.demo import run_demo
run_demo(Path(sys.argv[1]), seconds=0, device="cpu", system="alanine", engine=FakeEngine)
"""


def test_the_demo_draws_its_bar_and_ends(tmp_path: Path) -> None:
    status, text = at_terminal("-c", DEMO, tmp_path / "demo", PYTHONPATH=str(HERE))
    assert status == 0, text
    assert (0, 100) in bars(text)
    assert (100, 100) in bars(text)


# The command, on an engine that takes its time.
SLOW_DEMO = """
import time
from functools import partial
from fake_engine import FakeEngine
from quiltmd.commands import demo
from quiltmd.commands.cli import main

class Slow(FakeEngine):
    def run(self, steps):
        time.sleep(0.02 * steps)
        super().run(steps)

demo.run_demo = partial(demo.run_demo, system="alanine", engine=Slow)
main()
"""


def test_ctrl_c_ends_the_demo(tmp_path: Path) -> None:
    """With the status of a run, whose folder it is, and without a plot of half of it."""
    options = ("demo", "--out", tmp_path / "demo", "--seconds", 1000, "--device", "cpu")
    with Terminal("-c", SLOW_DEMO, *options, PYTHONPATH=str(HERE)) as terminal:
        terminal.wait_for(r"step +[1-9]\d*/")
        terminal.type(CTRL_C)
        assert terminal.finish() == 130, terminal.text()
        assert "continue with: quiltmd run --resume" in terminal.text()
        assert "what is there now" not in terminal.text()
    assert not (tmp_path / "demo" / "energies.svg").exists()


# A run of two steps of 2 fs, during which others write to stderr and stdout.
TALK = """
import sys
from quiltmd.running import progress
progress._LINE_SECONDS = 0.0
with progress.MinimizeProgress() as minimisation:
    minimisation.update(7, -1.5, 20.0)
    progress.say("message :key: [red]")
with progress.RunProgress(10, 12, 0.002) as run:
    print("a note", file=sys.stderr)
    print("a result", flush=True)
    progress.warn("a problem")
    run.update(11)
    run.update(12)
"""
SAID = ("message :key: [red]", "a note", "a result", "warning: a problem")


def test_others_write_above_the_bar() -> None:
    status, text = at_terminal("-c", TALK)
    assert status == 0, text
    assert [text.count(line) for line in SAID] == [1] * len(SAID)
    assert bars(text)[0] == (10, 12)
    assert bars(text)[-1] == (12, 12)
    assert "minimising" in text


def test_results_go_to_stdout_while_the_bar_is_drawn(tmp_path: Path) -> None:
    script = TALK.replace(
        "import sys", f"import sys\nsys.stdout = open({str(tmp_path / 'o')!r}, 'w')"
    )
    status, text = at_terminal("-c", script)
    assert status == 0, text
    assert (tmp_path / "o").read_text() == "a result\n"
    assert bars(text)


def lines(text: str) -> list[str]:
    """Lines of a run that draws no bar; speeds and times left are not known beforehand."""
    return re.sub(r", [\d.e+]+ ns/day, \d:\d\d:\d\d left", "", text).splitlines()


LINES = [
    "minimising: iteration 7, potential -1.5 kJ/mol, largest force 20 kJ/mol/nm",
    "message :key: [red]",
    "a note",
    "a result",
    "warning: a problem",
    "step 11 of 12",
    "step 12 of 12",
]


@pytest.mark.parametrize("environment", [{"TERM": "dumb", "NO_COLOR": "1"}, {"TERM": "unknown"}])
def test_a_terminal_without_a_cursor_gets_lines(environment: dict[str, str]) -> None:
    with Terminal("-c", TALK, **environment) as terminal:
        assert terminal.finish() == 0, terminal.text()
        assert lines(terminal.text()) == LINES
        assert b"\x1b" not in terminal.drawn


def test_a_pipe_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where something asks for colours, as continuous integration does."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.setenv(name, "1")
    done = subprocess.run([sys.executable, "-c", TALK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = re.sub(r"\x1b\[\d*m", "", done.stderr)
    assert lines(text) == [line for line in LINES if line != "a result"]
    assert done.stdout == "a result\n"


def outputs_of(*cells: str) -> tuple[list[str], list[str]]:
    """What the cells of a notebook show, as plain text, and what its widgets show in the end."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=250, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    widgets = notebook.metadata.get("widgets", {}).values()
    states = [state["state"] for page in widgets for state in page["state"].values()]
    drawn = [output for state in states for output in state.get("outputs", [])]
    return [_plain(output) for output in outputs], [_plain(output) for output in drawn]


def _plain(output: Any) -> str:
    text = output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text)


def test_a_notebook(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    """Lines without ipywidgets, a widget with them; in a command, a bar as at a terminal."""
    command = (sys.executable, *run_of(peptide, tmp_path / "out", "--steps", 20))
    shown, widgets = outputs_of(
        'import sys; sys.modules["ipywidgets"] = None' + TALK,
        'del sys.modules["ipywidgets"]\nprint("next")' + TALK,
        'print("last")\n!' + shlex.join(map(str, command)),
    )
    text = "".join(shown)
    without, _, rest = text.partition("next\n")
    with_widgets, _, of_the_command = rest.partition("last\n")
    assert sorted(lines(without)) == sorted(LINES)  # streams and what is displayed: in any order
    assert not bars(with_widgets)
    assert "step" not in with_widgets
    assert bars(widgets[-1]) == [(12, 12)]
    assert bars(of_the_command)[0] == (0, 20)
    assert bars(of_the_command)[-1] == (20, 20)
    assert "done: step 20" in of_the_command


def test_a_bar_has_no_colours_where_none_are_wanted() -> None:
    with Terminal("-c", TALK, NO_COLOR="1") as terminal:
        assert terminal.finish() == 0, terminal.text()
        assert bars(terminal.text())
        assert not re.search(rb"\x1b\[[\d;]*(3\d|4\d|9\d)m", terminal.drawn)


@pytest.mark.parametrize(("columns", "last"), [(20, 12), (59, 12), (60, 12), (60, 10**8)])
def test_a_bar_fits_the_window(columns: int, last: int) -> None:
    """A bar that takes two lines would leave one behind each time that it is drawn.

    Steps are shown in full, whatever the width.
    """
    with Terminal("-c", TALK.replace("12", str(last)), columns=columns) as terminal:
        assert terminal.finish() == 0, terminal.text()
        drawn = re.split(r"[\r\n]+", terminal.text())
        assert all(len(line) <= columns for line in drawn), drawn
        assert terminal.text().count("a note") == 1
        assert f"step {last}/{last} " in terminal.text()
