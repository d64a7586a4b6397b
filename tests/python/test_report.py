# SPDX-License-Identifier: Apache-2.0
"""`quiltmd report` and `quiltmd watch`: what is shown of a run, while it goes on and afterwards."""

from __future__ import annotations

import json
import platform
import re
import shutil
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import stage_runs
from fake_engine import FakeEngine
from scipy.spatial.transform import Rotation
from terminal import at_terminal
from typer.testing import CliRunner

import quiltmd
from quiltmd import QuiltError
from quiltmd.commands.cli import app
from quiltmd.commands.run_page import (
    _energy_drift,
    _program,
    _trend,
    _with_error,
    make_report,
)
from quiltmd.commands.watch import draw, is_done
from quiltmd.inputs.frames import read_frames
from quiltmd.pages.charts import Chart
from quiltmd.running import provenance, runner, stages
from quiltmd.running.config import build_config
from quiltmd.running.folder import Folder
from quiltmd.running.records import read_log, read_sessions
from quiltmd.running.rmsd import rmsd
from quiltmd.running.statistics import Estimated, drift, mean


class Checker(HTMLParser):
    """Elements are closed as they were opened; notes addresses of anything outside the page."""

    EMPTY: ClassVar = {"meta"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def done(openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two sessions, with a trajectory of its solute; & and < in its name."""
    files = openmmtools_data / "alanine-dipeptide-explicit"
    out = tmp_path_factory.mktemp("report") / "a <b> & c"
    config = build_config(
        {
            "system": {
                "topology": files / "alanine-dipeptide.prmtop",
                "coordinates": files / "alanine-dipeptide.crd",
            },
            "run": {"steps": 20, "device": "cpu"},
            "output": {"dir": out, "log_every": 2},
            "trajectory": [{"file": "solute.xtc", "every": 5, "select": "solute"}],
        }
    )
    runner.start(config, engine=FakeEngine)
    runner.resume(out, {("run", "steps"): 40}, FakeEngine)
    return out


def test_a_report_stands_alone(done: Path) -> None:
    page = make_report(Folder(done))
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert not checker.addresses
    assert "url(" not in page
    assert "@import" not in page
    text = checker.text
    assert "Run a <b> & c" in text
    assert "NVT at 300 K, 2 fs steps" in text
    assert "40 of 40 steps done, 0.08 ps" in text
    titles = re.findall(r"<figcaption>([^<]*) <span>", page)
    assert titles[:1] + titles[-1:] == ["Potential energy", "RMSD of the solute"]
    assert {"Temperature", "Pressure", "Density", "Speed"} <= set(titles)
    assert "from 0 to 20" in text
    assert "from 20 to 40" in text
    assert "toy" in text
    assert "integrator.temperature" in text
    assert "solvent.salt_concentration" not in text  # of no use here
    assert "100% working" in text


def test_a_report_of_a_run_that_has_just_begun(done: Path, tmp_path: Path) -> None:
    log = (done / "log.csv").read_text().splitlines(keepends=True)
    for rows in (1, 2, 3):
        for name in ("config.toml", "sessions.json"):
            (tmp_path / name).write_bytes((done / name).read_bytes())
        (tmp_path / "log.csv").write_text("".join(log[:rows]) + "123,0.5,-1")  # being written
        checker = Checker()
        page = make_report(Folder(tmp_path))
        checker.feed(page)
        assert not checker.open
        told = ("The log has no rows", "The log has one row, of step 0", "No RMSD: no trajectory")
        assert told[rows - 1] in checker.text
        assert page.count("<figure>") == (0 if rows < 3 else 7)


def test_commands(done: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["report", str(done), "--out", str(page)])
    assert result.stdout == f"{page}\n"
    assert page.read_text().startswith("<!doctype html>")
    result = CliRunner().invoke(app, ["watch", str(done)], env={"COLUMNS": "120"})
    assert "step 40 of 40 (100.0%), done" in result.stdout
    assert "temperature, K" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 120
    for name in ("watch", "report"):
        with pytest.raises(QuiltError, match=r"holds no run: config\.toml is missing"):
            CliRunner().invoke(app, [name, str(tmp_path)], catch_exceptions=False)


@pytest.mark.parametrize("size", [(80, 24), (60, 24), (80, 12), (70, 10), (120, 40)])
@pytest.mark.parametrize("failed", [False, True])
def test_a_watch_fits_the_terminal(
    done: Path, tmp_path: Path, size: tuple[int, int], failed: bool
) -> None:
    """Narrow or low: two columns, lower plots, and in the end the last values alone."""
    for name in ("config.toml", "sessions.json", "log.csv"):
        (tmp_path / name).write_bytes((done / name).read_bytes())
    if failed:
        fault = json.dumps([{"to_step": None, "error": "step 3: words of an error " * 6}])
        (tmp_path / "sessions.json").write_text(fault)
    terminal = {"COLUMNS": str(size[0]), "LINES": str(size[1])}
    lines = CliRunner().invoke(app, ["watch", str(tmp_path)], env=terminal).stdout.splitlines()
    assert max(map(len, lines)) <= size[0]
    assert len(lines) <= size[1]
    shown = "\n".join(lines)
    assert all(f"{word}" in shown for word in ("potential", "temperature", "density", "speed"))


@pytest.mark.parametrize("size", [(1, 24), (12, 24), (19, 24), (20, 24), (80, 1), (80, 3)])
def test_a_watch_in_a_tiny_terminal(done: Path, size: tuple[int, int]) -> None:
    """A pane that was made small shows what has room; it ends nothing."""
    terminal = {"COLUMNS": str(size[0]), "LINES": str(size[1])}
    result = CliRunner().invoke(app, ["watch", str(done)], env=terminal, catch_exceptions=False)
    assert max(map(len, result.stdout.splitlines())) <= size[0]
    assert "done" in result.stdout.replace("\n", "")


def test_a_watch_draws_once_where_it_cannot_draw_over(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run that goes on: at a terminal without a cursor, and in a file that takes colours."""
    for name in ("sessions.json", "log.csv"):
        (tmp_path / name).write_bytes((done / name).read_bytes())
    settings = (done / "config.toml").read_text().replace("steps = 40", "steps = 400")
    (tmp_path / "config.toml").write_text(settings)
    status, text = at_terminal("-m", "quiltmd", "watch", tmp_path, TERM="dumb")
    assert status == 0
    assert text.count("step 40 of 400") == 1
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it is drawn again"))
    shown = CliRunner().invoke(app, ["watch", str(tmp_path)], catch_exceptions=False).stdout
    assert shown.count("step 40 of 400") == 1
    assert "\x1b[?1049h" not in shown  # another screen


@pytest.mark.usefixtures("_waters")
@pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")
def test_a_run_with_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One page of all stages, and a watch of the one that the run has come to."""
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(FakeEngine, "explode_at", 13)
        with pytest.raises(QuiltError, match="stage heat: step 13"):
            stages.start(stage_runs.settings(tmp_path), engine=FakeEngine)
    watched = CliRunner().invoke(app, ["watch", str(out)], env={"COLUMNS": "120"}).stdout
    assert watched.startswith("out, stage 2 of 3, heat, step 12 of 20 (60.0%), ended with an error")
    assert not is_done(Folder(out))
    page = CliRunner().invoke(app, ["report", str(out)]).stdout.strip()
    rows = re.findall(r"<tr><td[^>]*>(.*?)</tr>", Path(page).read_text())
    cells = [re.split(r"</td><td[^>]*>", row.removesuffix("</td>"))[:4] for row in rows]
    assert cells == [
        ["1-minimise", "a minimisation", "0 of 0", "0 ps"],
        ["2-heat", "NVT from 50 to 250 K, 2 fs steps", "12 of 20, ended with an error", "0.024 ps"],
        ["3-release", "NVE, 2 fs steps", "not begun", ""],
    ]

    stages.resume(out, engine=FakeEngine)
    watched = CliRunner().invoke(app, ["watch", str(out)], env={"COLUMNS": "120"}).stdout
    assert watched.startswith("out, stage 3 of 3, release, step 20 of 20 (100.0%), done")
    assert is_done(Folder(out))
    CliRunner().invoke(app, ["report", str(out)])
    checker = Checker()
    checker.feed(Path(page).read_text())
    assert not checker.open
    assert not checker.addresses
    assert "20 of 20, ended" not in checker.text
    assert "3 stages, of which 3 have begun" in checker.text
    titles = re.findall(r"<figcaption>([^<]*) <span>", Path(page).read_text())
    assert titles == ["Potential energy", "Temperature", "Pressure", "Density"]
    marks = re.findall(r'class="mark" x1="([\d.]+)"', Path(page).read_text())
    assert marks[:2] == ["78.0", "268.0"]  # where heat and release begin: at once, and half-way


def test_temperatures_of_groups(openmmtools_data: Path, tmp_path: Path) -> None:
    """Each group with a heat bath has a chart and a panel, which says the last value."""
    files = openmmtools_data / "alanine-dipeptide-explicit"
    water = "water and not (" + " or ".join(f"index {atom}" for atom in range(12)) + ")"
    run = {
        "system": {
            "topology": files / "alanine-dipeptide.prmtop",
            "coordinates": files / "alanine-dipeptide.crd",
        },
        "bath": [{"select": f"not ({water})", "temperature": 310}, {"select": water}],
        "run": {"steps": 4, "device": "cpu", "threads": 1},
        "output": {"dir": tmp_path / "run", "log_every": 2},
    }
    runner.start(build_config(run))
    page = make_report(Folder(tmp_path / "run"))
    found = re.findall(r"<figcaption>Temperature of ([^<]*) <span>([^<]*)</span>", page)
    assert [escape(f"'not ({water})'"), escape(f"'{water}'")] == [select for select, _ in found]
    assert [unit.split()[-2] for _, unit in found] == ["310", "300"]
    assert page.count(f">Temperature of {escape(repr(water))}</td>") == 1  # of the averages
    last = read_log(tmp_path / "run" / "log.csv")["temperature_2"][-1]
    shown = CliRunner().invoke(app, ["watch", str(tmp_path / "run")], env={"COLUMNS": "120"})
    assert "temperature of 'not (water" in shown.stdout
    assert f": {last:.6g}" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 120


def test_a_run_that_stopped_is_not_said_to_go_on(done: Path, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes((done / "config.toml").read_bytes())
    log = (done / "log.csv").read_text().splitlines(keepends=True)
    (tmp_path / "log.csv").write_text("".join(log[:3]))
    for sessions, told in (
        ([{"to_step": 20}, {"to_step": 30}], "stopped at step 30"),
        ([{"to_step": 20}, {"to_step": None}], "left"),
    ):
        (tmp_path / "sessions.json").write_text(json.dumps(sessions))
        result = CliRunner().invoke(app, ["watch", str(tmp_path)], env={"COLUMNS": "120"})
        assert told in result.stdout.splitlines()[0]


def test_a_run_is_done_whatever_its_last_row_is(done: Path, tmp_path: Path) -> None:
    """As where log_every does not divide its steps; a watch would never end."""
    for name in ("config.toml", "sessions.json"):
        (tmp_path / name).write_bytes((done / name).read_bytes())
    rows = (done / "log.csv").read_text().splitlines(keepends=True)
    (tmp_path / "log.csv").write_text("".join(rows[:-1]))
    result = CliRunner().invoke(app, ["watch", str(tmp_path)], env={"COLUMNS": "120"})
    assert "step 40 of 40 (100.0%), done" in result.stdout.splitlines()[0]
    assert is_done(Folder(tmp_path))
    assert "40 of 40 steps" in make_report(Folder(tmp_path))


def test_sessions(done: Path, tmp_path: Path) -> None:
    sessions = read_sessions(done / "sessions.json")
    assert [(one["from_step"], one["to_step"]) for one in sessions] == [(0, 20), (20, 40)]
    assert all(one["ended"] >= one["begun"] and one["speed"] > 0 for one in sessions)
    assert sessions[0]["time_of_ranks"][0]["tasks"]["springs"] > 0
    (tmp_path / "sessions.json").write_text('[{"begun": ')
    assert read_sessions(tmp_path / "sessions.json") == []
    assert read_sessions(tmp_path / "none.json") == []


def test_a_session_that_failed_says_why(done: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """A blow-up is told from a kill, which leaves no end, and from a run that goes on."""
    run = tmp_path / "run"
    shutil.copytree(done, run)
    before = read_sessions(run / "sessions.json")
    with monkeypatch.context() as patch:
        patch.setattr(FakeEngine, "explode_at", 45)
        with pytest.raises(QuiltError, match="step 45"):
            runner.resume(run, {("run", "steps"): 60}, FakeEngine)
    after = read_sessions(run / "sessions.json")
    assert after[:2] == before
    assert "step 45" in after[2]["error"]
    assert after[2]["to_step"] is None
    page = make_report(Folder(run))
    assert f"Ended with an error: {after[2]['error']}" in page
    assert f"{after[2]['ended']} with an error" in page
    watched = CliRunner().invoke(app, ["watch", str(run)], env={"COLUMNS": "120"}).stdout
    assert watched.splitlines()[0].endswith("of 60 (73.3%), ended with an error")
    assert after[2]["error"][:100] in watched.splitlines()[1]

    del after[2]["error"], after[2]["ended"]
    (run / "sessions.json").write_text(json.dumps(after))
    assert "killed, or still running" in make_report(Folder(run))
    runner.resume(run, {}, FakeEngine)
    assert "with an error" not in make_report(Folder(run))


def test_a_log_being_written(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,time,potential\n0,0.0,-1.5\n10,0.02,-2.5\n20,0.0")
    assert read_log(path)["potential"].tolist() == [-1.5, -2.5]
    path.write_text("step,time,potential\n")
    assert read_log(path)["step"].size == 0
    path.write_text("a,b\n1,2\n")
    with pytest.raises(QuiltError, match="not a log"):
        read_log(path)


def test_rmsd_of_a_turned_and_a_distorted_molecule() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(20, 3))
    turned = Rotation.from_euler("xyz", [0.3, 1.1, 2.0]).apply(first) + np.arange(3.0)
    assert rmsd(turned, first) == pytest.approx(0, abs=1e-7)
    distorted = turned + 0.1 * rng.normal(size=first.shape)
    fit, _ = Rotation.align_vectors(first - first.mean(0), distorted - distorted.mean(0))
    rest = fit.apply(distorted - distorted.mean(0)) - (first - first.mean(0))
    assert rmsd(distorted, first) == pytest.approx(np.sqrt((rest**2).sum() / 20), rel=1e-6)
    mirrored = first * [1, 1, -1]
    assert rmsd(mirrored, first) > 0.1


def test_frames_leave_no_index_behind(done: Path) -> None:
    before = sorted(done.iterdir())
    frames = list(read_frames(done / "solute.xtc", 22))
    assert [round(frame.time, 4) for frame in frames][:3] == [0.01, 0.02, 0.03]
    with pytest.raises(quiltmd.InputError, match=r"solute.xtc: 22 atoms instead of 23"):
        list(read_frames(done / "solute.xtc", 23))
    assert sorted(done.iterdir()) == before


def test_a_long_chart_is_small_and_keeps_its_extremes() -> None:
    x = np.linspace(0, 1000, 100_001)
    y = np.sin(x / 50)
    y[31_416] = 9.0
    svg = Chart("A", "nm", x, y, "ps").svg()
    assert len(svg) < 30_000
    tops = [float(pair.split(",")[1]) for pair in re.findall(r"[\d.]+,[\d.]+", svg)]
    assert min(tops) < 40
    flat = Chart("A", "nm", x[:3], np.full(3, 1e3), "ps", level=1e3).svg()
    assert "nan" not in flat
    assert 'class="level"' in flat


def test_labels_of_ticks_stay_inside() -> None:
    """The last one, at the right end of the axis, too: 8 is the width of its digits."""
    svg = Chart("A", "nm", np.array([0.0, 0.4]), np.arange(2.0), "ps").svg()
    width = float(re.findall(r'viewBox="0 0 (\d+)', svg)[0])
    labels = re.findall(r'x="([\d.]+)"[^>]*text-anchor="middle">([^<]+)<', svg)
    assert labels[-1][1] == "0.4"
    assert all(float(x) + 8 * len(text) / 2 <= width for x, text in labels)


@pytest.mark.parametrize("size", [10.0**power for power in range(-4, 6)])
@pytest.mark.parametrize("top", [7.0, 9.0, 12.0, 25.0, 45.0])
def test_ticks_say_where_they_are(top: float, size: float) -> None:
    """Their texts, read as numbers, are as far apart as their lines."""
    svg = Chart("A", "nm", np.arange(3.0), np.array([0, top, 1]) * size, "ps").svg()
    found = re.findall(r'<text [^>]*y="([\d.]+)"[^>]*text-anchor="end"[^>]*>([^<a-z]+)</text>', svg)
    ticks = [(float(y), float(text.replace(chr(0x202F), ""))) for y, text in found]
    assert len(ticks) >= 4
    places, values = np.array(ticks).T
    steps = np.diff(values)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
    np.testing.assert_allclose(np.diff(places), places[1] - places[0], atol=0.2)


@pytest.mark.parametrize("states", [1, 2, 3, 8, 12, 64, 300])
def test_numbers_of_states_are_whole(states: int) -> None:
    y = np.zeros(3)
    svg = Chart("A", "state", np.arange(3.0), y, "ps", numbers=states).svg()
    found = re.findall(r'<text [^>]*text-anchor="end"[^>]*>([^<a-z]+)</text>', svg)
    assert int(found[0]) == 0
    assert max(states - 1, 1) <= int(found[-1]) <= max(1.7 * states, 1)
    assert 2 <= len(found) <= 7


@pytest.mark.parametrize("plain", [False, True])
def test_a_line_in_characters(plain: bool) -> None:
    x = np.arange(100.0)
    lines = draw(x, x, 10, 4, plain)
    assert [len(line) for line in lines] == [10] * 4
    empty = " " if plain else chr(0x2800)
    assert lines[0][0] == empty
    assert lines[0][-1] != empty
    assert lines[-1][0] != empty
    assert lines[-1][-1] == empty
    peak = np.zeros(1000)
    peak[500] = 1.0
    assert any(mark != empty for mark in draw(np.arange(1000.0), peak, 10, 4, plain)[0])
    assert len(draw(np.zeros(1), np.ones(1), 10, 4, plain)) == 4


def test_tables_have_labels_for_narrow_screens(done: Path) -> None:
    """Each cell says of which column it is, which a narrow screen shows in place of headings."""
    page = make_report(Folder(done))
    table = re.search(r"<table class=.rows.><thead>(.*?)</thead>(.*?)</table>", page)
    assert table is not None
    headings = re.findall(r"<th[^>]*>(.*?)</th>", table[1])
    for row in re.findall(r"<tr>(.*?)</tr>", table[2]):
        assert re.findall(r'data-label="([^"]*)"', row) == headings
    assert "@media (max-width" in page


def test_a_report_tells_means_errors_and_the_program(done: Path) -> None:
    checker = Checker()
    checker.feed(make_report(Folder(done)))
    log = read_log(done / "log.csv")
    found = mean(log["temperature"])
    assert _with_error(found) in checker.text
    assert "2269 atoms, " in checker.text
    session = read_sessions(done / "sessions.json")[-1]
    assert session["atoms"] == 2269
    assert session["program"]["python"] == platform.python_version()
    assert session["program"]["compiler"].startswith(("GNU ", "Clang "))
    assert session["program"]["compiler"] in checker.text
    assert f"commit {session['program']['commit'][:12]}" in checker.text


def test_drivers_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "version"
    monkeypatch.setattr(provenance, "_DRIVER", file)
    assert provenance.driver() == ""
    file.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
    )
    assert provenance.driver() == "550.54.15"
    page = _program(
        {"version": "0.1.0", "program": {"commit": "a" * 40, "cuda": "13.0.48", "driver": "550.54"}}
    )
    assert page == f"0.1.0, commit {'a' * 12}, CUDA 13.0.48, driver 550.54"
    assert _program({"version": "0.1.0"}) == "0.1.0"  # of earlier versions


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (-30625.31, 112.4, "-30630 \u00b1 110"),
        (221.4471, 5.04, "221.4 \u00b1 5.0"),
        (0.123456, 0.0234, "0.123 \u00b1 0.023"),
        (3.0, 0.0, "3"),
        (3.25, float("nan"), "3.25"),
        (1.5e-9, 2e-10, "1.5e-09 \u00b1 2e-10"),
        (1.51e9, 2.3e8, "1.51e+09 \u00b1 2.3e+08"),
    ],
)
def test_numbers_have_the_digits_that_their_errors_allow(
    value: float, error: float, shown: str
) -> None:
    assert _with_error(Estimated(value, error)) == shown


@pytest.mark.parametrize(("slope", "trend"), [(0.0, "steady"), (9.0, "rises"), (-9.0, "falls")])
def test_trends(slope: float, trend: str) -> None:
    random = np.random.default_rng(3)
    times = np.arange(400.0)
    log = {
        "step": times,
        "time": times,  # ps
        "conserved": slope * times + random.normal(size=400),
    }
    found = drift(times / 1000, log["conserved"])
    assert found.value == pytest.approx(1000 * slope, abs=3 * found.error)
    assert _trend(found) == trend
    said = _energy_drift(log, 1000)
    assert ("too large: shorten the time step" in said) == (slope != 0)
    assert _energy_drift(log, None) == ""


def test_the_drift_is_that_of_the_second_half() -> None:
    """What shifts while a system settles is not of the time step; kJ/mol/ns per atom."""
    times = np.arange(400.0)
    later = 0.2 * times + np.random.default_rng(3).normal(size=400)
    log = {"step": times, "time": times, "conserved": np.where(times < 200, 500 - times, later)}
    found = re.search(r"second half: (\S+) ", _energy_drift(log, 1000))
    assert found is not None
    assert float(found[1]) == pytest.approx(0.2, abs=0.01)
