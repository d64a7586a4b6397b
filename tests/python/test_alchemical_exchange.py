# SPDX-License-Identifier: Apache-2.0
"""Replica exchange between states of lambda: energies of all, files, the same results anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alchemical_systems import LENGTH, settings, solute_in_water
from command import quiltmd as quiltmd_command

import quiltmd
from quiltmd import QuiltError
from quiltmd.description.decoupling import at_lambdas
from quiltmd.exchange.analysis import read_history

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")

STATES = np.array([(0, 0), (0.5, 0), (1, 0), (1, 0.5)])


def exchange_of(**others: Any) -> tuple[quiltmd.ReplicaExchange, Any]:
    plain, state = solute_in_water()
    system = quiltmd.decouple(plain, range(LENGTH), *STATES.T)
    made = quiltmd.ReplicaExchange(
        system,
        state,
        quiltmd.alchemical_states(system.alchemy, 300.0),
        every=4,
        seed=5,
        nonbonded=settings(state),
        integrator=quiltmd.LangevinMiddle(timestep=0.001),
        **{"devices": ["cpu"], "threads": 1, **others},
    )
    made.simulations[0].minimize(500.0, 20)
    for simulation in made.simulations[1:]:
        simulation.set_state(made.simulations[0].state())
    made.draw_velocities()
    return made, system


def test_all_energies_are_those_of_each_hamiltonian() -> None:
    """Of one evaluation of each replica, against the reference in every state."""
    made, system = exchange_of()
    positions: list[Any] = []
    seen: list[Any] = []
    advance = made._advance

    def noting(*given: Any) -> None:
        advance(*given)
        positions.append(given[-1].state())

    made._advance = noting
    made.run(1, record=lambda done: seen.append(done.energies))
    energies = seen[0]
    assert not np.isnan(energies).any()
    for k, lambdas in enumerate(STATES):
        here = at_lambdas(system, *lambdas)
        for n, state in enumerate(positions):
            nonbonded = made.simulations[0].nonbonded
            expected = quiltmd.reference(here, state, nonbonded)[0]["potential"]
            own = quiltmd.reference(at_lambdas(system, *STATES[n]), state, nonbonded)[0]
            found = energies[k, n] - energies[n, n]
            assert found == pytest.approx(expected - own["potential"], abs=4e-4)


def test_results_depend_neither_on_devices_nor_on_workers() -> None:
    ends = []
    for others in ({}, {"devices": ["cpu", "worker:cpu"]}, {"ranks": 2, "together": 2}):
        made, _ = exchange_of(**others)
        rows: list[Any] = []
        made.run(6, record=rows.append)
        ends.append(
            (
                [quiltmd.digest(one.state()) for one in made.simulations],
                np.array([row.walkers for row in rows]).tolist(),
                np.array([row.energies for row in rows]).tobytes(),
            )
        )
    assert ends[0][1][-1] != [0, 1, 2, 3]  # there were swaps
    assert ends[1] == ends[0]
    assert ends[2] == ends[0]


def test_states_that_make_no_sense_are_refused() -> None:
    plain, state = solute_in_water()
    system = quiltmd.decouple(plain, range(LENGTH), *STATES.T)
    states = quiltmd.alchemical_states(system.alchemy, 300.0)
    assert states[3].lambdas == (1.0, 0.5)
    other = quiltmd.ReplicaState(300.0, lambdas=(0.25, 0.0))
    for wrong_system, wrong, words in (
        (plain, states, "need alchemical atoms"),
        (system, (states[0], quiltmd.ReplicaState(300.0)), "give all or none"),
        (system, (states[0], other), "no state with the lambdas 0.25, 0"),
        ([system, at_lambdas(system, 1, 0)], states[:2], "one system for all"),
    ):
        with pytest.raises(QuiltError, match=words):
            quiltmd.ReplicaExchange(
                wrong_system, state, wrong, nonbonded=settings(state), devices=["cpu"]
            )


CONFIG = """
[system]
topology = "{0}"
coordinates = "{1}"
constraints = "h-bonds"
[nonbonded]
cutoff = 0.8
[integrator]
seed = 3
temperature = 310
[run]
steps = 24
device = "cpu"
threads = 1
[exchange]
kind = "alchemical"
every = 4
[alchemy]
atoms = "resname ACE ALA NME"
coulomb = [0, 0.5, 1, 1]
vdw = [0, 0, 0, 0.2]
every = 8
[output]
dir = "whole"
"""


def test_each_state_has_files_and_an_exchange_goes_on(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    config = tmp_path / "exchange.toml"
    config.write_text(CONFIG.format(*alanine))
    done = quiltmd_command("exchange", config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "lambda_coulomb = 1, lambda_vdw = 0.2, 310 K" in " ".join(done.stderr.split())
    config.write_text(CONFIG.format(*alanine).replace("steps = 24", "steps = 12"))
    done = quiltmd_command("exchange", config, cwd=tmp_path)
    assert done.returncode != 0
    assert "overwrite" in done.stderr
    config.write_text(config.read_text().replace('"whole"', '"parts"'))
    for words in ((config,), ("--resume", "parts", "--steps", "24")):
        done = quiltmd_command("exchange", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for k in range(4):
        for name in ("dhdl.csv", "dhdl.xvg"):
            whole, parts = (tmp_path / one / f"state-{k:02d}" / name for one in ("whole", "parts"))
            assert whole.read_bytes() == parts.read_bytes()
    assert (tmp_path / "whole" / "energies.csv").read_bytes() == (
        tmp_path / "parts" / "energies.csv"
    ).read_bytes()
    check_tables(tmp_path / "whole")
    done = quiltmd_command("exchange", "--analyse", "whole", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["states"]) == 4
    done = quiltmd_command("alchemy", "analyse", "whole/state-01", cwd=tmp_path)
    assert "is a state of a replica exchange: analyse the exchange, whole" in done.stderr
    done = quiltmd_command("report", "whole", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Free energies" in (tmp_path / "whole" / "report.html").read_text()


def check_tables(folder: Path) -> None:
    """The rows of a state are those of the exchange at the same step."""
    history = read_history(folder)
    u_kn, numbers = history.u_kn()
    assert u_kn.shape == (4, 24)
    assert numbers.tolist() == [6] * 4
    for k in range(4):
        table = np.loadtxt(folder / f"state-{k:02d}" / "dhdl.csv", delimiter=",", skiprows=1)
        assert table[:, 0].tolist() == [8, 16, 24]
        energies = history.energies[1::2, :, k]
        np.testing.assert_allclose(table[:, 7:], energies - energies[:, [k]], atol=2e-6, rtol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("every = 4\n[alchemy]", "every = 4\ntemperatures = [300]\n[alchemy]", "leave out temp"),
        ('kind = "alchemical"', "temperatures = [310, 320]", "needs a section [alchemy]"),
        ("every = 8", "every = 8\nstate = 2", "leave out [alchemy] state"),
        ("vdw = [0, 0, 0, 0.2]", "vdw = [0, 0, 0]", "give one of each for every state"),
        ("coulomb = [0, 0.5, 1, 1]", "coulomb = [0, 0.5, 1, 0.5]", "switch charges off first"),
    ],
)
def test_configurations_that_make_no_sense_are_refused(
    alanine: tuple[Path, Path], tmp_path: Path, old: str, new: str, words: str
) -> None:
    config = tmp_path / "exchange.toml"
    text = CONFIG.format(*alanine)
    assert old in text
    config.write_text(text.replace(old, new))
    done = quiltmd_command("exchange", config, cwd=tmp_path)
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())
