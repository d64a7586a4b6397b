# SPDX-License-Identifier: Apache-2.0
"""Load balancing gives patches of a slow rank to others: same bits, shorter steps, no way back."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from boxes import digest, engine, state_of, water_box
from test_processes import Ranks

import quiltmd
from quiltmd import LangevinMiddle, MonteCarloBarostat, Nonbonded, Simulation, VelocityVerlet
from quiltmd.engine import core as cores
from quiltmd.running import runner
from quiltmd.running.config import build_config

NVT = LangevinMiddle(timestep=0.002, seed=5)
NVE = VelocityVerlet(timestep=0.002)
SHORT = Nonbonded(cutoff=0.8)
# Balanced after twenty steps, in the middle of a life for runs of 23.
LISTS: dict[str, Any] = {"list_life": 5, "list_buffer": 0.06}
# All devices wait for most of the time, as if each had a core of its own.
SLOW, SLOWEST = 4.0, 32.0


def slow_down(core: Any, ranks: int, slow: int = 1) -> None:
    for rank in range(ranks):
        core.slow_down(rank, SLOWEST if rank < slow else SLOW)


def slowed(ranks: int, slow: int = 1) -> cores.EngineFactory:
    """Makes engines whose first ranks are slow."""

    def make(*arguments: Any) -> Any:
        core = cores.make_engine(*arguments)
        slow_down(core, ranks, slow)
        return core

    return make


@pytest.fixture(scope="module")
def water() -> tuple[Any, Any]:
    """Eight patches, or 125 of half width; the atoms move."""
    system, state = water_box((9, 9, 9))
    core = engine(system, state, SHORT, NVT)
    core.minimize(1000, 10)
    core.draw_velocities(300.0, 1)
    return system, state_of(core)


def atoms_of(core: Any) -> list[int]:
    return [load["atoms"] for load in core.loads()]


@pytest.mark.parametrize("integrator", [NVT, NVE], ids=["nvt", "nve"])
@pytest.mark.parametrize(("ranks", "slow"), [(2, 1), (3, 1), (12, 2)])
def test_moved_patches_keep_the_bits(water: Any, integrator: Any, ranks: int, slow: int) -> None:
    """Also of what follows on other ranks from a state in the middle of a list's life."""
    halves = {**LISTS, "patch_reach": 2}
    straight = engine(*water, SHORT, integrator, **halves)
    core = engine(*water, SHORT, integrator, ranks=ranks, **halves)
    slow_down(core, ranks, slow)
    core.set_state(**water[1].arrays())
    for steps in (23, 20, 4):
        straight.run(steps)
        core.run(steps)
        assert digest(core) == digest(straight)
    assert core.describe()["patch_moves"] >= 1
    assert core.describe()["early_rebuilds"] == straight.describe()["early_rebuilds"]
    assert (core.forces() == straight.forces()).all()
    assert core.force_sum() == (0, 0, 0)
    resumed = engine(water[0], state_of(core), SHORT, integrator, ranks=2, **halves)
    for one in (resumed, core, straight):
        one.run(17)
    assert digest(resumed) == digest(core) == digest(straight)


def test_a_slow_rank_gets_fewer_atoms_and_steps_get_shorter(water: Any) -> None:
    seconds = []
    for balance in (False, True):
        core = engine(*water, SHORT, NVT, ranks=3, balance=balance, **LISTS)
        slow_down(core, 3)
        core.set_state(**water[1].arrays())
        core.run(60)
        began = time.perf_counter()
        core.run(20)
        seconds.append(time.perf_counter() - began)
    about, atoms = core.describe(), atoms_of(core)
    assert about["step_by_patches"] < 0.9 * about["step_by_computes"]
    assert about["step_by_computes"] < about["step_before_move"]
    assert 2 * atoms[0] < min(atoms[1:])
    assert seconds[1] < 0.7 * seconds[0]
    # It stays with that: whatever is measured later says the same.
    core.run(60)
    assert core.describe()["patch_moves"] == 1
    assert core.describe()["patches_moved_at"] == about["patches_moved_at"]


def test_ranks_that_are_alike_keep_their_patches(water: Any) -> None:
    core = engine(*water, SHORT, NVT, ranks=3, **LISTS)
    before = atoms_of(core)
    core.run(60)
    assert core.describe()["patch_moves"] == 0
    assert atoms_of(core) == before


def one_is_slow(core: Any, rank: int) -> Any:
    core.slow_down(0, SLOWEST if rank == 1 else SLOW)
    core.set_state(**one_is_slow.state.arrays())  # type: ignore[attr-defined]
    core.run(50)
    described = core.describe()
    return digest(core), described["patch_moves"], described["patches_moved_at"]


def test_patches_move_between_processes(water: Any) -> None:
    one_is_slow.state = water[1]  # type: ignore[attr-defined]
    straight = engine(*water, SHORT, NVT, **LISTS)
    straight.run(50)
    found = Ranks(3, one_is_slow, *water, nonbonded=SHORT, integrator=NVT, **LISTS).results()
    assert set(found) == {0, 1, 2}
    ((bits, moves, _),) = set(found.values())
    assert bits == digest(straight)
    assert moves >= 1


def test_a_barostat_goes_on_after_a_move(water: Any) -> None:
    ends = []
    for ranks in (1, 3):
        simulation = Simulation(
            *water,
            SHORT,
            NVT,
            barostat=MonteCarloBarostat(3000.0, seed=7, every=6),
            device="cpu",
            ranks=ranks,
            threads=1,
            engine=slowed(ranks),
        )
        simulation.run(4 * int(simulation.describe()["list_life"]) + 30)
        ends.append(simulation)
    assert ends[1].describe()["patch_moves"] >= 1
    assert quiltmd.digest(ends[0].state()) == quiltmd.digest(ends[1].state())
    assert (ends[0].state().box != water[1].box).any()


def test_output_files_do_not_depend_on_moves(
    alanine: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor does a resumed run; the log says that patches have moved, and what that took."""
    written = []
    for ranks in (1, 2):
        out = tmp_path / str(ranks)
        settings: dict[str, Any] = {
            "system": {"constraints": "h-bonds"},
            "integrator": {"seed": 3},
            "run": {"steps": 120, "device": "cpu", "ranks": ranks, "threads": 1},
            "output": {"dir": str(out), "trajectory_every": 7, "log_every": 9},
        }
        for name, path in zip(("topology", "coordinates"), alanine, strict=True):
            settings["system"][name] = str(path)
        factory = slowed(ranks)
        runner.start(build_config(settings), engine=factory)
        told = capfd.readouterr().err
        runner.resume(out, {("run", "steps"): 140}, engine=factory)
        moves = re.search(r"gave patches to other ranks (\d+) time", " ".join(told.split()))
        assert (moves is not None) == (ranks == 2), told
        written.append((out / "trajectory.dcd").read_bytes())
    assert written[0] == written[1]
