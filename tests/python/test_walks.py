# SPDX-License-Identifier: Apache-2.0
"""Switching and expanded ensembles: exact free energies, files, the same results anywhere."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alchemical_systems import settings, solute_in_water
from command import quiltmd as quiltmd_command

import quiltmd
from quiltmd.description.alchemy import Alchemy, ChangedTerms
from quiltmd.description.settings import BOLTZMANN
from quiltmd.outputs.checkpoint import previous_path
from quiltmd.running import runner
from quiltmd.running.config import build_config, merge, read_config
from quiltmd.running.introduction import alchemical
from quiltmd.running.lambda_samples import read_samples
from quiltmd.running.run_inputs import load_system
from quiltmd.running.walk_sections import ExpandedSection, SwitchingSection
from quiltmd.running.walks import ExpandedEnsemble, Switching, next_state
from quiltmd.running.work import estimates_of, work_estimates

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}") for text in ("a cutoff of 0.7", "the pme_grid")
]
THERMAL = BOLTZMANN * 300.0


def test_moves_lead_to_the_distribution_of_weights() -> None:
    """The matrix of probabilities, over a grid of random numbers, keeps the distribution."""
    energies, weights = np.array([0.0, 1.3, -0.7, 5.0]), np.array([0.0, 2.0, 0.5, 3.0])
    expected = np.exp((weights - energies) / THERMAL)
    expected /= expected.sum()
    grid = (np.arange(40) + 0.5) / 40
    moves = np.zeros((4, 4))
    for now in range(4):
        for one in grid:
            for other in grid:
                moves[now, next_state(now, energies, weights, THERMAL, (one, other))] += 40**-2
    flow = expected[:, None] * moves
    np.testing.assert_allclose(flow, flow.T, atol=8e-3)
    np.testing.assert_allclose(expected @ moves, expected, atol=1.2e-2)
    far = np.array([0.0, 1e6, 1e6])
    assert next_state(0, far, np.zeros(3), THERMAL, (0.5, 0.5)) == 0
    assert next_state(1, far, np.zeros(3), THERMAL, (0.5, 0.5)) == 0


def springs(first: float = 1000.0, last: float = 4000.0, states: int = 9) -> tuple[Any, Any]:
    """Six pairs of atoms without other interactions, whose springs become stiffer."""
    corners = np.stack(np.meshgrid([0.5, 1.5, 2.5], [0.7, 1.9], [1.2], indexing="ij"), -1)
    places = np.repeat(corners.reshape(-1, 3), 2, axis=0)
    places[1::2, 0] += 0.15
    bonds = np.arange(12).reshape(6, 2)
    system = quiltmd.System.of(
        np.full(12, 12.0),
        np.zeros(12),
        np.zeros(12, np.int32),
        np.zeros((1, 1)),
        np.zeros((1, 1)),
        bonds=bonds,
        bond_parameters=[(0.15, first)] * 6,
        exclusions=bonds,
    )
    changed = ChangedTerms("bond", np.arange(6), np.array([(0.15, last)] * 6))
    points = np.column_stack([np.zeros((states, 2)), np.linspace(0, 1, states)])
    alchemy = Alchemy(np.array([0]), points, points[0], last_types=[0], changed_terms=(changed,))
    return replace(system, alchemy=alchemy), quiltmd.State.start(system, places, np.eye(3) * 3)


def exact(first: float = 1000.0, last: float = 4000.0) -> float:
    """Of six springs, kJ/mol, by quadrature: one does not reach from zero to the box."""
    r = np.linspace(0, 0.6, 20001)
    integrals = [np.sum(r**2 * np.exp(-k * (r - 0.15) ** 2 / (2 * THERMAL))) for k in (first, last)]
    return float(-6 * THERMAL * np.log(integrals[1] / integrals[0]))


def simulate(system: Any, state: Any, **others: Any) -> quiltmd.Simulation:
    nonbonded = settings(state, pme_grid=(16, 16, 16), pme_alpha=2.0)
    dynamics = quiltmd.LangevinMiddle(300.0, timestep=0.004, friction=20.0, seed=4)
    given = {"device": "cpu", "ranks": 1, "threads": 1, "integrator": dynamics, **others}
    return quiltmd.Simulation(system, state, nonbonded, **given)


def follow(walk: Any, simulation: Any, steps: int) -> None:
    """As a run does."""
    end = simulation.step + steps
    while simulation.step < end:
        simulation.run(min(walk.set_at(simulation), end) - simulation.step)


def test_work_of_springs_gives_their_free_energy(tmp_path: Path) -> None:
    """By Bennett's acceptance ratio and Jarzynski; each change by the formula of a spring."""
    pytest.importorskip("pymbar")
    system, state = springs()
    simulation = simulate(system, state)
    simulation.draw_velocities(300, 1)
    simulation.run(300)
    work: dict[Any, list[float]] = {"forwards": [], "backwards": []}
    for number in range(120):
        direction: Any = ("forwards", "backwards")[number % 2]
        section = SwitchingSection(direction=direction, every=20, equilibration=150)
        path = tmp_path / f"{number}.csv"
        walk = Switching(path, simulation, section, first=simulation.step)
        follow(walk, simulation, 150 + 8 * 20)
        walk.close()
        work[direction].append(walk.work)
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        assert len(table) == 8
        assert table[-1, 4] == pytest.approx(table[:, 3].sum(), abs=1e-9)
    found = estimates_of(np.array(work["forwards"]), np.array(work["backwards"]), 300.0)
    assert found.bar is not None
    assert found.bar.error < 0.5
    assert found.bar.value == pytest.approx(exact(), abs=3 * found.bar.error)
    for one in (found.jarzynski_forwards, found.jarzynski_backwards):
        assert one is not None
        assert one.value == pytest.approx(exact(), abs=2.0)  # an average of exponentials is biased


def test_the_work_of_a_change_is_that_of_the_springs(tmp_path: Path) -> None:
    system, state = springs(states=3)
    simulation = simulate(system, state)
    simulation.draw_velocities(300, 1)
    simulation.run(20)
    walk = Switching(tmp_path / "work.csv", simulation, SwitchingSection(every=5), first=20)
    places = simulation.positions()
    walk.set_at(simulation)
    lengths = np.linalg.norm(places[1::2] - places[::2], axis=1)
    expected = (1500.0 / 2 * (lengths - 0.15) ** 2).sum()
    assert walk.work == pytest.approx(expected, rel=1e-5)
    assert simulation.lambdas["lambda_bonded"] == 0.5
    walk.close()


def test_wang_landau_finds_the_free_energies_of_springs(tmp_path: Path) -> None:
    system, state = springs(states=5)
    simulation = simulate(system, state)
    simulation.draw_velocities(300, 1)
    section = ExpandedSection(every=5, increment=1.0, last_increment=0.05)
    walk = ExpandedEnsemble(tmp_path / "moves.csv", simulation, section, seed=7)
    follow(walk, simulation, 6000)
    walk.close()
    assert walk.weights.increment < 0.3
    assert walk.weights.values[-1] == pytest.approx(exact(), abs=2.0)


def test_moves_depend_neither_on_ranks_nor_on_restarts(tmp_path: Path) -> None:
    plain, start = solute_in_water()
    states = np.array([(0, 0), (0.01, 0), (0.02, 0), (0.03, 0)])
    system = quiltmd.decouple(plain, range(5), *states.T)
    calm = simulate(system, start, integrator=quiltmd.LangevinMiddle(300.0, timestep=0.001))
    calm.minimize(500.0, 20)
    calm.draw_velocities(300, 1)
    start, seen = calm.state(), []
    for name, ranks in (("one", 1), ("two", 2)):
        dynamics = quiltmd.LangevinMiddle(300.0, timestep=0.001, seed=5)
        simulation = simulate(system, start, ranks=ranks, integrator=dynamics)
        path = tmp_path / name
        walk = ExpandedEnsemble(path, simulation, ExpandedSection(every=3), seed=3)
        follow(walk, simulation, 24)
        walk.close()
        seen.append((path.read_bytes(), quiltmd.digest(simulation.state())))
    assert seen[0] == seen[1]
    moves = np.loadtxt(tmp_path / "one", delimiter=",", skiprows=1)[:, 2]
    assert len(set(moves)) > 1


def test_an_expanded_ensemble_needs_a_heat_bath(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    config = write_config(tmp_path / "run.toml", alanine, "[alchemy.expanded]")
    config.write_text(config.read_text().replace("seed = 3", "ensemble = 'nve'"))
    with pytest.raises(quiltmd.QuiltError, match="one constant temperature"):
        build_config(read_config(config))


def write_config(path: Path, alanine: tuple[Path, Path], more: str, steps: int = 12) -> Path:
    path.write_text(f"""
[system]
topology = "{alanine[0]}"
coordinates = "{alanine[1]}"
[nonbonded]
cutoff = 0.8
[integrator]
seed = 3
[run]
steps = {steps}
device = "cpu"
[output]
dir = "{path.stem}"
trajectory_every = 0
checkpoint_every = 7
[alchemy]
atoms = "resname ACE ALA NME"
coulomb = [0, 0.01, 0.02, 0.03]
vdw = [0, 0, 0, 0]
every = 2
{more}
""")
    return path


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("[alchemy.expanded]", "between all 4 states"),
        ("[alchemy.switching]\nevery = 1", "through all 4 states, forwards"),
        ("state = 2", "in state 2 of 0 to 3: lambda_coulomb = 0.02, lambda_vdw = 0"),
    ],
)
def test_a_run_says_which_states_it_has(
    alanine: tuple[Path, Path], tmp_path: Path, more: str, words: str
) -> None:
    config = build_config(read_config(write_config(tmp_path / "run.toml", alanine, more)))
    system, _ = load_system(config)
    assert alchemical(config, system) == f"22 alchemical atoms {words}"
    assert alchemical(config, replace(system, alchemy=None)) == ""


def begin(path: Path, **flags: Any) -> None:
    """Runs a configuration; flags of [run] and [output]."""
    output = {("output", "dir"): flags.pop("out", path.parent / path.stem)}
    settings = merge(read_config(path), {("run", key): one for key, one in flags.items()} | output)
    runner.start(build_config(settings))


def test_a_resumed_expanded_ensemble_has_the_same_files(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """On other ranks, too; alchemlyb reads them."""
    config = write_config(tmp_path / "whole.toml", alanine, "[alchemy.expanded]\nevery = 3")
    begin(config)
    begin(config, steps=6, ranks=2, out=tmp_path / "parts")
    runner.resume(tmp_path / "parts", {("run", "steps"): 12, ("run", "ranks"): 1})
    for name in ("moves.csv", "dhdl.csv", "dhdl.xvg"):
        whole, parts = ((tmp_path / one / name).read_bytes() for one in ("whole", "parts"))
        assert whole == parts, name
    ends = [
        quiltmd.read_checkpoint(tmp_path / one / "checkpoint.qmd") for one in ("whole", "parts")
    ]
    assert quiltmd.digest(ends[0].state) == quiltmd.digest(ends[1].state)
    moves = np.loadtxt(tmp_path / "whole/moves.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(moves[:, 0], [3, 6, 9])
    rows = np.loadtxt(tmp_path / "whole/dhdl.csv", delimiter=",", skiprows=1)
    after = [int(moves[moves[:, 0] < step, 2][-1]) if step > 3 else 0 for step in rows[:, 0]]
    assert len(set(after)) > 1
    np.testing.assert_allclose(rows[:, 2], 0.01 * np.array(after))
    parsing = pytest.importorskip("alchemlyb.parsing.gmx")
    reduced = parsing.extract_u_nk(str(tmp_path / "whole/dhdl.xvg"), T=300)
    np.testing.assert_allclose(reduced.index.get_level_values("coul-lambda"), rows[:, 2])
    np.testing.assert_allclose(
        np.diff(reduced.to_numpy()), np.diff(rows[:, -4:]) / THERMAL, atol=1e-5
    )


def test_switching_both_ways_is_resumed_and_analysed(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    pytest.importorskip("pymbar")
    section = '[alchemy.switching]\nevery = 3\nequilibration = 2\ndirection = "{}"'
    for name in ("forwards", "backwards"):
        config = write_config(tmp_path / f"{name}.toml", alanine, section.format(name))
        begin(config)
    table = tmp_path / "backwards/work.csv"
    rows = np.loadtxt(table, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(rows[:, 0], [2, 5, 8])
    np.testing.assert_array_equal(rows[:, 2], [2, 1, 0])
    assert not (tmp_path / "backwards/dhdl.csv").exists()
    parts = tmp_path / "parts"
    begin(config, ranks=2, out=parts)
    checkpoint = parts / "checkpoint.qmd"
    os.replace(previous_path(checkpoint), checkpoint)  # of step 7, between two changes
    assert quiltmd.read_checkpoint(checkpoint).state.step == 7
    runner.resume(parts)
    assert (tmp_path / "parts/work.csv").read_bytes() == table.read_bytes()
    folders = [tmp_path / name for name in ("forwards", "backwards", "parts")]
    found = work_estimates(folders)
    assert found.backwards.tolist() == [rows[-1, 4]] * 2
    assert found.bar is not None
    ends = sorted([-rows[-1, 4], float(found.forwards[0])])
    assert ends[0] <= found.bar.value <= ends[1]
    with pytest.raises(quiltmd.QuiltError, match="has work, not samples"):
        read_samples(folders)
    done = quiltmd_command("alchemy", "analyse", *folders)
    assert done.returncode == 0, done.stderr
    assert "BAR" in done.stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("[alchemy.switching]\nevery = 5", "needs 15 steps"),
        ("state = 1\n[alchemy.switching]\nevery = 2", "leave out state"),
        ("[alchemy.switching]\nevery = 2\n[alchemy.expanded]", "not both"),
        ("[alchemy.expanded]\nweights = [0, 1]", "2 weights and [alchemy] 4 states"),
        ("[alchemy.expanded]\n[[bath]]\nselect = 'all'", "one constant temperature"),
        ("[alchemy.expanded]\nincrement = 0\nscale = 0.5", "leave out scale"),
    ],
)
def test_walks_without_sense_are_refused(
    alanine: tuple[Path, Path], tmp_path: Path, more: str, words: str
) -> None:
    config = write_config(tmp_path / "run.toml", alanine, more)
    with pytest.raises(quiltmd.QuiltError, match=re.escape(words)):
        build_config(read_config(config))
