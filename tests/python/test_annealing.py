# SPDX-License-Identifier: Apache-2.0
"""Temperatures, pressures and strengths that follow a schedule, over stops too."""

from __future__ import annotations

import csv
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_engine import FakeEngine
from stage_runs import chained, end_of, settings

import quiltmd
from quiltmd import QuiltError
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config, read_config

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")


@pytest.mark.usefixtures("_waters")
def test_heating_begins_at_its_first_temperature(tmp_path: Path, capsys: Any) -> None:
    """Neither the temperature of the file nor velocities of the stage before stand in the way."""
    given = settings(tmp_path)
    given["integrator"]["temperature"] = 300
    assert stages.stages_of(given)[1].config.integrator.temperature == 50
    stages.start(given, engine=FakeEngine)
    told = [line for line in capsys.readouterr().err.splitlines() if "velocities" in line]
    assert told == [
        "velocities drawn at 50 K",
        "velocities taken as they are",
    ]
    given["stage"][1]["integrator"]["temperature"] = 60
    with pytest.raises(QuiltError, match=r"\(heat\): .*leave out temperature \(60 K\)"):
        stages.stages_of(given)


def test_compression_begins_at_its_first_pressure(tmp_path: Path) -> None:
    given = settings(tmp_path)
    given["integrator"]["ensemble"] = "npt"
    given["barostat"] = {"pressure": 1}
    given["stage"] = [{"name": "press", "barostat": {"annealing": [[0, 20], [0.03, 10]]}}]
    assert stages.stages_of(given)[0].config.barostat.pressure == 20


@pytest.mark.parametrize("stopped", [False, True])
def test_a_minimisation_has_restraints_as_the_schedule_begins(
    alanine: tuple[Path, Path], tmp_path: Path, stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so has the first row of the log; also where the minimisation begins again."""
    hold = {"kind": "distance", "select": ["index 1", "index 20"], "lower": 3.0, "k": 1e4}
    given = chained(alanine, tmp_path / "free", {"run": {"steps": 0, "minimize": True}})
    given["output"]["log_terms"] = True
    stages.start(given)
    given["output"]["dir"] = tmp_path / "held"
    given["restraints"] = {"annealing": [[0, 0], [1, 1]]}
    given["restraint"] = [hold]
    if stopped:
        minimize = quiltmd.Simulation.minimize

        def stop(self: quiltmd.Simulation, **options: Any) -> dict[str, Any]:
            os.kill(os.getpid(), signal.SIGTERM)
            return minimize(self, **options)

        with monkeypatch.context() as patch:
            patch.setattr(quiltmd.Simulation, "minimize", stop)
            assert stages.start(given).interrupted
        stages.resume(tmp_path / "held")
    else:
        stages.start(given)
    free, held = (end_of(tmp_path / out, 1) for out in ("free", "held"))
    assert np.array_equal(free.positions, held.positions)
    (row,) = csv.DictReader((tmp_path / "held" / "1-1" / "log.csv").read_text().splitlines())
    assert float(row["restraint"]) == 0.0


@pytest.mark.parametrize(
    ("integrator", "message"),
    [
        ({"annealing": []}, "needs points whose times, ps, are not negative and ascend"),
        ({"annealing": [[5, 10], [5, 20]]}, "times, ps, are not negative and ascend"),
        ({"annealing": [[0, -1]]}, "temperatures must be from 0 to"),
        ({"annealing": [[0, 10]], "temperature": 20}, r"leave out temperature \(20 K\)"),
        ({"annealing": [[0, 10]], "ensemble": "nve"}, "nve has no heat bath"),
    ],
)
def test_mistakes_in_annealing(tmp_path: Path, integrator: Any, message: str) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = integrator
    with pytest.raises(QuiltError, match=message):
        build_config(given)


@pytest.mark.parametrize(
    ("barostat", "message"),
    [
        ({"annealing": [[-1, 10]]}, "times, ps, are not negative and ascend"),
        ({"annealing": [[0, 1e6]]}, r"pressures must be from -100000 to 100000 bar"),
        ({"annealing": [[0, 10]], "pressure": 20}, r"leave out pressure \(20 bar\)"),
    ],
)
def test_mistakes_in_annealing_of_the_pressure(tmp_path: Path, barostat: Any, message: str) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = {"ensemble": "npt"}
    given["barostat"] = barostat
    with pytest.raises(QuiltError, match=message):
        build_config(given)


@pytest.mark.usefixtures("_waters")
def test_temperatures_follow_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = {"annealing": [[0.0, 100], [0.02, 200], [0.03, 150]], "seed": 1}
    given["integrator"]["annealing_every"] = 5
    set_at: list[tuple[int, float]] = []
    real = FakeEngine.set_conditions

    def note(self: FakeEngine, values: dict[str, float], *rest: Any) -> None:
        set_at.append((self._step, values["temperature"]))
        real(self, values, *rest)

    monkeypatch.setattr(FakeEngine, "set_conditions", note)
    config = build_config(given)
    assert config.integrator.temperature == 100
    runner.start(config, engine=FakeEngine)
    assert dict(set_at) == pytest.approx({0: 100, 5: 150, 10: 200, 15: 150})
    written = build_config(read_config(config.output.dir / "config.toml"))
    cutoff = config.nonbonded.cutoff  # which a run states for Coulomb interactions, too
    stated = replace(config.nonbonded, coulomb_cutoff=cutoff)
    assert written == config.model_copy(update={"nonbonded": stated})


@pytest.mark.parametrize("thermostat", ["langevin", "velocity-rescaling"])
def test_annealing_has_the_same_bits_after_stops(
    alanine: tuple[Path, Path], tmp_path: Path, thermostat: str
) -> None:
    """In the compiled core, stopped within a stretch of one condition and at the end of each."""

    def config(out: str, steps: int) -> Any:
        return build_config(
            {
                "system": {"topology": alanine[0], "coordinates": alanine[1]},
                "integrator": {
                    "ensemble": "npt",
                    "seed": 3,
                    "annealing": [[0, 100], [0.04, 300]],
                    "annealing_every": 8,
                },
                "restraints": {
                    "annealing": [[0, 1], [0.02, 3], [0.05, 0]],
                    "annealing_every": 5,
                },
                "thermostat": {"kind": thermostat},
                "barostat": {
                    "annealing": [[0.01, 1], [0.05, 2e4]],
                    "annealing_every": 6,
                    "every": 5,
                },
                "restraint": [{"kind": "position", "select": "index 1", "k": 1000.0}],
                "run": {"steps": steps, "device": "cpu"},
                "output": {"dir": tmp_path / out, "checkpoint_every": 0},
            }
        )

    runner.start(config("whole", 30))
    runner.start(config("stopped", 11))
    for steps in (16, 24, 25, 30):
        runner.resume(tmp_path / "stopped", {("run", "steps"): steps})
    states = [
        quiltmd.read_checkpoint(tmp_path / out / "checkpoint.qmd").state
        for out in ("whole", "stopped")
    ]
    assert quiltmd.digest(states[0]) == quiltmd.digest(states[1])
    assert np.array_equal(states[0].box, states[1].box)


@pytest.mark.parametrize(
    ("restraints", "message"),
    [
        ({"annealing": [[0, -1]]}, "strengths must be from 0 to 1000"),
        ({"annealing": [[0, 1]]}, "there are no restraints"),
        ({"annealing_every": 5}, "there are no restraints"),
    ],
)
def test_mistakes_in_annealing_of_restraints(tmp_path: Path, restraints: Any, message: str) -> None:
    given = settings(tmp_path)
    del given["stage"]
    given["restraints"] = restraints
    with pytest.raises(QuiltError, match=message):
        build_config(given)


@pytest.mark.usefixtures("_waters")
def test_pressures_follow_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside temperatures, with an interval of their own; what falls together is set together."""
    given = settings(tmp_path)
    del given["stage"]
    given["integrator"] = {"ensemble": "npt", "annealing": [[0, 100], [0.03, 250]], "seed": 1}
    given["integrator"]["annealing_every"] = 10
    given["barostat"] = {"annealing": [[0.01, 100.0], [0.03, 300.0]], "annealing_every": 5}
    given["barostat"]["every"] = 5
    set_at: dict[int, list[str]] = {}
    pressures: dict[int, float] = {}
    real = FakeEngine.set_conditions

    def note(self: FakeEngine, values: dict[str, float], *rest: Any) -> None:
        set_at[self._step] = sorted(values)
        pressures[self._step] = values["pressure_x"] * 16.6053906660
        real(self, values, *rest)

    monkeypatch.setattr(FakeEngine, "set_conditions", note)
    config = build_config(given)
    assert config.barostat.pressure == 100
    runner.start(config, engine=FakeEngine)
    axes = ["pressure_x", "pressure_y", "pressure_z"]
    both = [*axes, "temperature"]
    assert set_at == {0: both, 5: axes, 10: both, 15: axes}
    assert pressures == pytest.approx({0: 100, 5: 100, 10: 200, 15: 300})
    assert build_config(read_config(config.output.dir / "config.toml")).barostat == config.barostat
