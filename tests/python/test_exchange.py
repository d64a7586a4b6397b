# SPDX-License-Identifier: Apache-2.0
"""Replica exchange: against theory, independent of devices, and of kills in between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command import quiltmd as quiltmd_command
from disk import Killed, Operations
from fake_engine import FakeEngine
from harmonic_engine import ATOMS, FORCES, KB, HarmonicEngine, oscillators
from numpy.typing import NDArray
from test_supervisor import FakeWorkers
from test_workers import water

import quiltmd
from quiltmd import LangevinMiddle, QuiltError, ReplicaExchange, ReplicaState, VelocityVerlet
from quiltmd.commands.digest import digest
from quiltmd.commands.exchange import exchange as command
from quiltmd.commands.report import make_report
from quiltmd.engine import hosts
from quiltmd.engine.hosts import Process
from quiltmd.engine.places import Place
from quiltmd.exchange import replicas, runner
from quiltmd.exchange.analysis import History, read_history
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.exchange.demux import demultiplex, sort_frames
from quiltmd.exchange.iterations import Iteration
from quiltmd.exchange.mixing import log_ratio, pairs_of, swaps, uniform
from quiltmd.exchange.record import Tables
from quiltmd.exchange.scaling import scale_solute
from quiltmd.exchange.states import geometric, rest2_states, temperature_states
from quiltmd.inputs.frames import read_frames
from quiltmd.outputs.reporters import TrajectoryReporter
from quiltmd.outputs.trajectory import Layout
from quiltmd.running import runner as runs
from quiltmd.running.config import Config, build_config_of, merge, read_resolved
from quiltmd.running.folder import Folder
from quiltmd.running.output_sections import TrajectorySection

pytestmark = pytest.mark.filterwarnings("ignore::quiltmd.QuiltWarning")
MINIMAL: dict[str, Any] = {
    "system": {"topology": "a", "coordinates": "b"},
    "exchange": {"temperatures": (300.0, 310.0)},
    "run": {"steps": 500},
    "output": {"dir": "out"},
}
UNIFORM = [0.7337459554446363, 0.930492527325139, 0.41048862999259594, 0.6851228382924437]
HOT = temperature_states((300.0, 360.0, 430.0))
SOFT = rest2_states((300.0, 360.0, 430.0))


def exchange_of(states: Any, **settings: Any) -> ReplicaExchange:
    system, state = oscillators()
    return ReplicaExchange(
        system, state, states, **{"every": 1, "seed": 5, "solute": np.arange(ATOMS),
        "nonbonded": FORCES, "engine": HarmonicEngine, "devices": ("cpu",), **settings}
    )  # fmt: skip


def recorded(exchange: ReplicaExchange, iterations: int) -> History:
    rows: list[Iteration] = []
    exchange.run(iterations, record=rows.append)
    return History(
        exchange.states,
        np.array([row.step * 0.002 for row in rows]),
        np.array([row.walkers for row in rows]),
        np.array([row.energies for row in rows]),
    )


def expected_acceptance(ratio: float) -> float:
    """Of two sets of oscillators whose k/T have this ratio: both energies over kT are gamma."""
    rng = np.random.default_rng(1)
    a, b = rng.gamma(1.5 * ATOMS, size=(2, 400_000))
    # Energies in units of the kT of their own states; swapped, in that of the other.
    return float(np.minimum(1, np.exp((1 - 1 / ratio) * (a - ratio * b))).mean())


# ---- theory


@pytest.mark.parametrize("states", [HOT, SOFT], ids=["temperature", "rest2"])
def test_oscillators_have_their_energies_and_swap_as_often_as_they_should(states: Any) -> None:
    history = recorded(exchange_of(states), 1200)
    own = np.einsum("ikk->ik", history.energies)
    for k, state in enumerate(states):
        blocks = own[:, k].reshape(40, -1).mean(axis=1)
        error = blocks.std() / np.sqrt(len(blocks))
        expected = 1.5 * ATOMS * KB * state.temperature
        assert abs(blocks.mean() - expected) < 4 * error
        assert error < 0.03 * expected
    for k, rate in enumerate(history.acceptance()):
        ratio = (430 / 360, 360 / 300)[1 - k]
        assert abs(rate - expected_acceptance(ratio)) < 0.05
    assert history.round_trips().min() > 25
    assert 1 < history.relaxation() < 30


def test_free_energies_by_mbar() -> None:
    """F = 3/2 N kT ln k, from all rows of energies."""
    from pymbar import MBAR

    history = recorded(exchange_of(SOFT, all_energies=True), 300)
    u_kn, counts = history.u_kn()
    found = MBAR(u_kn, counts).compute_free_energy_differences()
    for k, state in enumerate(SOFT):
        expected = 1.5 * ATOMS * np.log(state.scale)
        assert abs(found["Delta_f"][0, k] - expected) < 4 * found["dDelta_f"][0, k] + 1e-12
    assert np.array_equal(history.u_nk(1)[:, 2], u_kn[2, 300:600])
    partly = recorded(exchange_of(SOFT), 4)
    with pytest.raises(QuiltError, match="all_energies"):
        partly.u_kn()


def test_reduced_potentials_are_at_the_temperature_of_their_hamiltonian() -> None:
    """u_kn[k] is U of the sample over k T of state k, whichever state the sample is of."""
    history = recorded(exchange_of(HOT), 4)
    u_kn, counts = history.u_kn()
    assert counts.tolist() == [4, 4, 4]
    own = [history.energies[:, n, n] for n in range(3)]  # one Hamiltonian: the same for all states
    for k, state in enumerate(HOT):
        expected = np.concatenate(own) / (KB * state.temperature)
        np.testing.assert_allclose(u_kn[k], expected, rtol=1e-7)


def test_velocities_follow_the_temperature_and_heat_the_energy() -> None:
    """A swap scales velocities, and conserves what is conserved."""
    exchange = exchange_of(temperature_states((300.0, 301.0)), engine=FakeEngine, every=3)
    exchange.draw_velocities()
    before: list[Any] = []

    def spy(row: Iteration) -> None:
        before.append(row)

    for _ in range(20):
        conserved = [simulation.energies()["conserved"] for simulation in exchange.simulations]
        exchange.run(1, record=spy)
        after = [simulation.energies()["conserved"] for simulation in exchange.simulations]
        assert np.allclose(conserved, after, atol=1.0)  # of the toy's integrator
    assert any((row.walkers != [0, 1]).any() for row in before)


def test_scaled_energies_are_a_parabola_in_the_root_of_lambda(alanine: tuple[Path, Path]) -> None:
    """U = A + B s + C s^2, with A that of a solute that does not interact, but for its bonds."""
    system, state = quiltmd.load(*alanine)
    solute = quiltmd.select(system, "solute")
    assert scale_solute(system, solute, 1.0) is system
    settings = quiltmd.Nonbonded(method="cutoff", cutoff=0.9, dispersion_correction=False)
    scales = (1.0, 0.8, 0.5, 0.25, 1e-12)
    found = [
        quiltmd.reference(scale_solute(system, solute, scale), state, settings)[0]
        for scale in scales
    ]
    totals = [energies["potential"] for energies in found]
    roots = np.sqrt(scales)
    parabola = np.polyfit(roots[[0, 2, 4]], np.array(totals)[[0, 2, 4]], 2)
    assert np.allclose(np.polyval(parabola, roots), totals, rtol=0, atol=1e-6)
    assert abs(totals[0] - totals[2]) > 10
    for energies, scale in zip(found, scales, strict=True):
        assert energies["bond"] == found[0]["bond"]
        assert energies["angle"] == found[0]["angle"]
        assert np.isclose(energies["torsion"], scale * found[0]["torsion"], atol=1e-9)
        for term in ("lj14", "coulomb14"):
            assert np.isclose(energies[term], scale * found[0][term], atol=1e-9)
    water_alone = np.setdiff1d(np.arange(system.atoms), solute)
    pairs = _pair_energy(system, state, water_alone, settings)
    assert np.isclose(found[4]["lj"] + found[4]["coulomb"], pairs, atol=1e-4)


def _pair_energy(system: Any, state: Any, atoms: NDArray[np.int64], settings: Any) -> float:
    """Of the pairs of some atoms, directly: rigid waters, so exclusions are within molecules."""
    positions, box = state.positions[atoms], np.diag(state.box)
    charges, types, molecule = (
        a[atoms] for a in (system.charges, system.lj_types, system.molecules)
    )
    total = 0.0
    for i in range(len(atoms) - 1):
        shift = positions[i + 1 :] - positions[i]
        shift -= box * np.round(shift / box)
        r2 = (shift**2).sum(axis=1)
        near = (r2 < settings.cutoff**2) & (molecule[i + 1 :] != molecule[i])
        a, b = (table[types[i]][types[i + 1 :]][near] for table in (system.lj_a, system.lj_b))
        r2 = r2[near]
        q = 138.93545764 * charges[i] * charges[i + 1 :][near]
        total += float((a / r2**6 - b / r2**3 + q / np.sqrt(r2)).sum())
    return total


# ---- rules


def test_neighbours_are_tried_in_turn() -> None:
    assert pairs_of(0, 5) == [(0, 1), (2, 3)]
    assert pairs_of(1, 5) == [(1, 2), (3, 4)]
    assert pairs_of(1, 2) == pairs_of(0, 1) == []


def test_random_numbers_are_functions_of_their_counters() -> None:
    """The same on every machine and with every version of NumPy."""
    assert [uniform(5, 0, 0), uniform(5, 0, 1), uniform(5, 1, 0), uniform(6, 0, 0)] == UNIFORM
    many = [uniform(1, iteration, pair) for iteration in range(200) for pair in range(10)]
    assert abs(np.mean(many) - 0.5) < 0.03
    assert len(set(many)) == len(many)


def test_metropolis() -> None:
    states = temperature_states((300.0, 400.0))
    energies = np.array([[5.0, 3.0], [5.0, 3.0]])
    assert log_ratio(states, energies, (0, 1)) == pytest.approx(
        (states[0].beta - states[1].beta) * 2.0
    )
    assert swaps(states, energies, 1, 0) == [(0, 1)]
    hopeless = np.array([[0.0, 1e6], [0.0, 1e6]])
    assert swaps(states, hopeless, 1, 0) == []
    broken = np.array([[0.0, np.inf], [np.inf, 0.0]])
    assert swaps(states, broken, 1, 0) == []


def test_ladders() -> None:
    ladder = geometric(300.0, 600.0, 5)
    assert (ladder[0], ladder[-1]) == (300.0, 600.0)
    assert np.allclose(np.diff(np.log(ladder)), np.log(2) / 4)
    assert rest2_states((300.0, 600.0))[1] == ReplicaState(300.0, 0.5)
    for arguments in ((300.0, 200.0, 3), (300.0, 400.0, 1), (0.0, 1.0, 2)):
        with pytest.raises(QuiltError):
            geometric(*arguments)
    with pytest.raises(QuiltError, match="give the lowest, that of the bath, first"):
        rest2_states((300.0, 200.0))
    with pytest.raises(QuiltError, match="canonical"):
        exchange_of(HOT, integrator=VelocityVerlet())


# ---- independence


@pytest.mark.parametrize("states", [HOT, SOFT], ids=["temperature", "rest2"])
@pytest.mark.parametrize("settings", [{"devices": ("cpu",) * 2}, {"devices": ("cpu",) * 5},
                                      {"together": 2}])  # fmt: skip
def test_results_do_not_depend_on_devices(states: Any, settings: Any) -> None:
    one, other = exchange_of(states), exchange_of(states, **settings)
    a, b = recorded(one, 30), recorded(other, 30)
    assert np.array_equal(a.walkers, b.walkers)
    assert np.array_equal(a.energies, b.energies, equal_nan=True)
    for k in range(3):
        assert quiltmd.digest(one.simulations[k].state()) == quiltmd.digest(
            other.simulations[k].state()
        )


def test_all_energies_do_not_depend_on_devices() -> None:
    one, other = (exchange_of(SOFT, all_energies=True, devices=("cpu",) * n) for n in (1, 3))
    a, b = recorded(one, 20), recorded(other, 20)
    assert np.array_equal(a.walkers, b.walkers)
    assert len(np.unique(a.walkers, axis=0)) > 1
    assert np.array_equal(a.energies, b.energies)
    for simulation, same in zip(one.simulations, other.simulations, strict=True):
        assert quiltmd.digest(simulation.state()) == quiltmd.digest(same.state())
        assert simulation.heat() == same.heat()


@pytest.mark.parametrize("kind", ["temperature", "rest2"])
def test_a_slow_replica_elsewhere_does_not_hold_up_a_pair(kind: str) -> None:
    """The last of four ends its steps only when the first two have swapped."""
    swapped, made = threading.Semaphore(0), []

    class Waiting(HarmonicEngine):
        has_run = False

        def __init__(self, *settings: Any) -> None:
            super().__init__(*settings)
            made.append(self)

        def run(self, steps: int) -> None:
            super().run(steps)
            self.has_run = True
            if self is made[3]:
                assert all(swapped.acquire(timeout=20) for _ in range(2))

        def set_state(self, *values: Any, **fields: Any) -> None:
            super().set_state(*values, **fields)
            if self.has_run and self in made[:2]:
                swapped.release()

    states = {"temperature": temperature_states, "rest2": rest2_states}[kind](
        (300.0, 300.001, 300.002, 300.003)  # of which all swaps are accepted
    )
    exchange = exchange_of(states, engine=Waiting, devices=("cpu",) * 4)
    exchange.run(1)
    assert exchange.walkers.tolist() == [1, 0, 3, 2]


def test_a_replica_goes_ahead_of_one_that_is_slow() -> None:
    """As far as its neighbours let it, and as it is asked to; nothing else changes."""
    states = temperature_states((300.0, 300.001, 300.002, 300.003))

    def run(ahead: int, engine: Any = HarmonicEngine) -> tuple[Any, ...]:
        exchange = exchange_of(states, engine=engine, devices=("cpu",) * 4, every=2)
        rows: list[Iteration] = []
        exchange.run(5, record=rows.append, ahead=ahead)
        return (
            [(row.number, row.step, row.walkers.tolist(), row.energies.tobytes()) for row in rows],
            [quiltmd.digest(simulation.state()) for simulation in exchange.simulations],
        )

    made: list[Any] = []
    third = threading.Event()  # begins when the first two have done two iterations

    class Slow(HarmonicEngine):
        runs = 0

        def __init__(self, *settings: Any) -> None:
            super().__init__(*settings)
            made.append(self)

        def run(self, steps: int) -> None:
            self.runs += 1
            if self is made[0] and self.runs == 2:
                third.set()
            if self is made[3] and self.runs == 1:
                assert third.wait(timeout=20)
            super().run(steps)

    assert run(1, Slow) == run(0)


@pytest.mark.parametrize("seed", range(8))
def test_no_delay_changes_results(seed: int) -> None:
    """Replicas that take any time, on any devices, however far ahead they may go."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 8))
    kind = (temperature_states, rest2_states)[seed % 2]
    states = kind(300 + 0.3 * np.arange(count))
    given = {"every": 2, "all_energies": seed % 4 == 3}

    class Delayed(HarmonicEngine):
        def run(self, steps: int) -> None:
            time.sleep(0.003 * rng.random())
            super().run(steps)

    def run(exchange: ReplicaExchange, ahead: int) -> tuple[Any, ...]:
        rows: list[Iteration] = []
        exchange.run(8, record=rows.append, ahead=ahead)
        return (
            [(row.number, row.step, row.walkers.tolist(), row.energies.tobytes()) for row in rows],
            [quiltmd.digest(simulation.state()) for simulation in exchange.simulations],
        )

    devices = ("cpu",) * int(rng.integers(1, count + 1))
    together = int(rng.integers(1, 3))
    delayed = exchange_of(states, engine=Delayed, devices=devices, together=together, **given)
    assert run(delayed, int(rng.integers(0, 5))) == run(exchange_of(states, **given), 0)


def test_an_exchange_that_goes_ahead_stops_at_one_iteration() -> None:
    exchange = exchange_of(HOT, engine=FakeEngine, devices=("cpu",) * 3, every=2)
    rows: list[Iteration] = []

    def record(row: Iteration) -> bool:
        rows.append(row)
        return row.number == 3

    exchange.run(50, record=record, ahead=2)
    assert 4 <= len(rows) <= 4 + 3
    assert [row.number for row in rows] == list(range(len(rows)))
    assert {simulation.step for simulation in exchange.simulations} == {2 * len(rows)}
    assert exchange.iteration == len(rows)


def test_walkers_are_true_after_an_error() -> None:
    """Where a replica fails while others swap."""
    begun = threading.Barrier(4)

    class Failing(HarmonicEngine):
        def run(self, steps: int) -> None:
            begun.wait(20)
            super().run(steps)
            if self._integrator["temperature"] > 300.0025:
                raise QuiltError("the device is lost")

    states = temperature_states((300.0, 300.001, 300.002, 300.003))
    exchange = exchange_of(states, engine=Failing, devices=("cpu",) * 4)
    expected = exchange_of(states, devices=("cpu",) * 4)
    expected.run(1)
    with pytest.raises(QuiltError, match=r"^state 3 \(300 K\): the device is lost$"):
        exchange.run(1)
    assert (exchange.iteration, exchange.walkers.tolist()) == (0, [1, 0, 2, 3])
    for k in range(2):
        assert quiltmd.digest(exchange.simulations[k].state()) == quiltmd.digest(
            expected.simulations[k].state()
        )


@pytest.mark.parametrize(
    ("settings", "threads"),
    [
        ({"devices": ("cpu",)}, 12),
        ({"devices": ("cpu", "cpu"), "threads": None}, 6),
        ({"devices": ("cpu",) * 5}, 4),  # three replicas
        ({"together": 2}, 6),
        ({"devices": ("cpu", "cpu"), "ranks": 2}, 3),
        ({"devices": ("cpu", "cpu"), "threads": 5}, 5),
    ],
)
def test_replicas_that_run_at_the_same_time_share_the_cores(
    settings: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("engine.execution", "exchange.replicas"):
        monkeypatch.setattr(f"quiltmd.{module}.core_numbers", lambda: list(range(12)))
    found: list[int] = []

    class Noting(HarmonicEngine):
        def __init__(self, system: Any, nonbonded: Any, integrator: Any, run: Any) -> None:
            found.append(run.threads)
            super().__init__(system, nonbonded, integrator, run)

    exchange_of(HOT, engine=Noting, **settings)
    assert found == [threads] * 3


def test_replicas_in_processes_of_a_launcher_share_their_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two processes of one host have the same eight cores, a third has four of another."""
    shared = tuple(range(8))
    found = [("a", shared), ("a", shared), ("b", (0, 1, 2, 3))]
    started = [Process(host, 7000, cores, (0,)) for host, cores in found]
    monkeypatch.setattr(hosts, "started_together", started)
    devices = hosts.devices_of_processes("cpu")
    assert devices == ["mpi:0/cpu", "mpi:1/cpu", "mpi:2/cpu"]
    for groups, expected in (
        (devices, [4, 4, None]),
        (devices * 2, [2, 2, 2]),
        (hosts.devices_of_processes("cuda:0,1"), [None] * 3),
    ):
        shares = replicas._shares_of_cores(groups, 1)
        assert list(shares.values()) == expected
    with pytest.raises(QuiltError, match="cannot be used with several hosts or processes"):
        hosts.devices_of_processes("worker:cpu")


def test_there_is_no_process_where_no_launcher_has_started_one() -> None:
    with pytest.raises(QuiltError, match="no launcher has started a process mpi:1"):
        exchange_of(HOT, devices=("mpi:1/cpu",))


def test_any_hamiltonians_can_be_exchanged() -> None:
    """A System for each state: those that REST2 makes are exchanged as by REST2, bit for bit."""
    system, state = oscillators()
    solute = np.arange(ATOMS)
    systems = [scale_solute(system, solute, one.scale) for one in SOFT]
    settings = {"every": 1, "seed": 5, "nonbonded": FORCES, "engine": HarmonicEngine}
    given = ReplicaExchange(
        systems, state, temperature_states([300.0] * 3), devices=("cpu",), **settings
    )
    one, other = exchange_of(SOFT), given
    a, b = recorded(one, 40), recorded(other, 40)
    assert len({tuple(row) for row in a.walkers}) > 1
    assert np.array_equal(a.walkers, b.walkers)
    assert np.array_equal(a.energies, b.energies, equal_nan=True)
    for k in range(3):
        assert quiltmd.digest(one.simulations[k].state()) == quiltmd.digest(
            other.simulations[k].state()
        )


def test_systems_that_cannot_be_exchanged() -> None:
    system, state = oscillators()
    heavy = replace(system, masses=2 * system.masses)
    settings = {"nonbonded": FORCES, "engine": HarmonicEngine, "devices": ("cpu",)}
    with pytest.raises(QuiltError, match="between states 0 and 1, whose systems have other masses"):
        ReplicaExchange([system, heavy], state, HOT[:2], **settings)
    with pytest.raises(QuiltError, match="3 states need one system, or as many, not 2"):
        ReplicaExchange([system, system], state, HOT, **settings)


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"every": 1.5}, "every must be a whole number"),
        ({"together": 0}, "together must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"devices": "cpu"}, r"devices must be a list of names"),
        ({"devices": ()}, r"devices must be a list of names"),
        ({"devices": ("gpu",)}, "there is no such device"),
        ({"solute": None}, "states with a scale need `solute`"),
        ({"solute": [-1]}, "indices of atoms, from 0 to"),
        ({"solute": [ATOMS]}, "indices of atoms, from 0 to"),
        ({"solute": [0.5]}, "indices of atoms"),
        ({"barostat": quiltmd.MonteCarloBarostat()}, "leave out the barostat"),
    ],
)
def test_settings_that_make_no_exchange(settings: dict[str, Any], because: str) -> None:
    with pytest.raises(QuiltError, match=because):
        exchange_of(quiltmd.rest2_states([300.0, 310.0]), **settings)


def test_arguments_that_make_no_exchange() -> None:
    system, state = oscillators()
    for arguments, because in (
        ((state, system, HOT), "start must be a State, or a list with one for each state"),
        ((system, [state], HOT), "3 states need one start, or as many, not 1"),
        ((system, state, [300.0]), "needs states, such as temperature_states"),
        ((system, state, []), "needs states"),
    ):
        with pytest.raises(QuiltError, match=because):
            ReplicaExchange(*arguments)
    with pytest.raises(QuiltError, match="iterations must be a whole number"):
        exchange_of(HOT).run(-1)
    with pytest.raises(QuiltError, match="3 states need as many lists of reporters, not 1"):
        exchange_of(HOT).run(1, [[]])


def test_an_exchange_outlives_its_devices() -> None:
    """Every replica loses its device some time."""
    fakes: list[FakeWorkers] = []

    def factory(*settings: Any) -> Any:
        fakes.append(FakeWorkers([Place("ssh", "cpu", "b")], [Place("worker", "cpu")]))
        fakes[-1].engine = HarmonicEngine
        fakes[-1].settings = quiltmd.Workers(inject_fault=(f"drop@{4 + 3 * len(fakes)}",))
        return fakes[-1].factory(*settings)

    lost, other = exchange_of(SOFT, engine=factory), exchange_of(SOFT)
    a, b = recorded(lost, 20), recorded(other, 20)
    assert np.array_equal(a.walkers, b.walkers)
    assert np.array_equal(a.energies, b.energies, equal_nan=True)
    assert [len(workers.told()) for workers in fakes] == [1, 1, 1]


def test_real_replicas_here_in_workers_and_stopped() -> None:
    """State and heat of each are the same to the last bit."""
    started = water("cpu")
    started.minimize(max_iterations=30)

    def exchange_on(*devices: str) -> ReplicaExchange:
        made = ReplicaExchange(
            started.system, started.state(), temperature_states((300.0, 302.0, 304.0)), every=5,
            seed=2, integrator=LangevinMiddle(), nonbonded=started.nonbonded, threads=1,
            devices=devices,
        )  # fmt: skip
        made.draw_velocities()
        return made

    def ends(exchange: ReplicaExchange) -> Any:
        found = [(quiltmd.digest(one.state()), one.heat()) for one in exchange.simulations]
        return exchange.walkers.tolist(), found

    here, there = exchange_on("cpu"), exchange_on("worker:cpu", "cpu")
    here.run(2)
    resumed = exchange_on("cpu")
    saved = [one.checkpoint() for one in here.simulations]
    states = [checkpoint.state for checkpoint in saved]
    resumed.go_on(2, here.walkers, states, [checkpoint.heat for checkpoint in saved])
    for exchange, iterations in ((here, 1), (there, 3), (resumed, 1)):
        exchange.run(iterations)
    assert ends(here) == ends(there) == ends(resumed)


# ---- files


def config_of(files: tuple[Path, Path], out: Path, **changes: Any) -> ExchangeConfig:
    settings: dict[str, Any] = {
        "system": {"topology": files[0], "coordinates": files[1]},
        "integrator": {"seed": 3},
        "exchange": {"temperatures": (300.0, 301.0, 302.0), "every": 5},
        "run": {"steps": 40, "device": "cpu"},
        "output": {"dir": out, "log_every": 5, "trajectory_every": 10, "checkpoint_every": 10,
                   "final": ("ncrst",)},
    }  # fmt: skip
    changed = {("exchange", key): value for key, value in changes.items()}
    return build_config_of(ExchangeConfig, merge(settings, changed), "test")


def files_of(folder: Path) -> dict[str, Any]:
    """All that must be the same, whatever happened on the way."""
    manifest = json.loads((folder / "manifest.json").read_text())
    found: dict[str, Any] = {"manifest": manifest}
    for name in ("exchange.csv", "energies.csv"):
        found[name] = (folder / name).read_bytes()
    for k in range(3):
        own = folder / f"state-{k:02d}"
        found[f"dcd {k}"] = (own / "trajectory.dcd").read_bytes()
        rows = (own / "log.csv").read_text().splitlines()
        found[f"log {k}"] = [row.rpartition(",")[0] for row in rows]
        found[f"checkpoints {k}"] = sorted(path.name for path in own.glob("checkpoint-*"))
    return found


@pytest.fixture(scope="module")
def whole(openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    files = folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"
    out = tmp_path_factory.mktemp("exchange") / "out"
    runner.start(config_of(files, out), engine=FakeEngine)
    return files, out


def test_an_exchange_tells_what_it_has_no_use_for(
    whole: tuple[Any, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a run does."""
    config = config_of(whole[0], tmp_path / "out")
    late = config.output.model_copy(update={"trajectory_every": 50})
    runner.start(config.model_copy(update={"output": late}), engine=FakeEngine)
    assert "trajectory.dcd will have no frames" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("asked", [False, True])
def test_an_exchange_draws_velocities_where_asked(
    whole: tuple[Any, Path], tmp_path: Path, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the coordinates have some."""
    drawn = []
    load, draw = runner.load_system, ReplicaExchange.draw_velocities

    def with_velocities(config: Any) -> Any:
        system, state = load(config)
        return system, replace(state, velocities=np.full_like(state.velocities, 0.1))

    def count(self: ReplicaExchange) -> None:
        drawn.append(self)
        draw(self)

    monkeypatch.setattr(runner, "load_system", with_velocities)
    monkeypatch.setattr(ReplicaExchange, "draw_velocities", count)
    config = config_of(whole[0], tmp_path / "out")
    run = config.run.model_copy(update={"draw_velocities": asked})
    runner.start(config.model_copy(update={"run": run}), engine=FakeEngine)
    assert len(drawn) == asked


def test_generations_by_the_clock_are_minutes_apart(whole: tuple[Any, Path]) -> None:
    config = config_of(whole[0], whole[1])
    changes = {"checkpoint_every": 0, "checkpoint_minutes": 2.0}
    output = config.output.model_copy(update=changes)
    saving = object.__new__(runner._Saving)
    saving._run = SimpleNamespace(config=config.model_copy(update={"output": output}))
    saving._run.exchange = SimpleNamespace(simulations=[SimpleNamespace(step=10**6)])
    saving._saved_step = 0
    for seconds, due in ((115, False), (121, True)):
        saving._saved_time = time.monotonic() - seconds
        assert saving.is_due() == due


def test_an_exchange_leaves_what_it_promises(whole: tuple[Any, Path]) -> None:
    out = whole[1]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["iteration"] == 8
    assert sorted(manifest["walkers"]) == [0, 1, 2]
    assert sorted(path.name for path in (out / "state-01").iterdir()) == [
        "checkpoint-6.qmd", "checkpoint-8.qmd", "final.ncrst", "log.csv", "trajectory.dcd",
    ]  # fmt: skip
    history = read_history(out)
    assert history.walkers.shape == (8, 3)
    assert (history.walkers[-1] == manifest["walkers"]).all()
    assert (history.walkers != [0, 1, 2]).any()
    assert history.times[-1] == pytest.approx(0.08)


@pytest.mark.parametrize("seed", range(6))
def test_a_kill_anywhere_loses_and_doubles_nothing(
    whole: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    resume = partial(runner.resume, tmp_path / "out")
    config = config_of(whole[0], tmp_path / "out", devices=("cpu",) * int(rng.integers(1, 4)))
    for attempt in range(2):
        left = [int(rng.integers(12, 50)) if attempt == 0 else int(rng.integers(1, 12))]

        def write(handle: int, data: bytes, offset: int, left: list[int] = left) -> int:
            left[0] -= 1
            if left[0] <= 0:
                os.pwrite(handle, data[: int(rng.integers(0, len(data) + 1))], offset)
                raise Killed
            return os.pwrite(handle, data, offset)

        with monkeypatch.context() as patch:
            patch.setattr("quiltmd.outputs.files.os", Operations(pwrite=write))
            begin = partial(runner.start, config) if attempt == 0 else resume
            with pytest.raises(Killed):
                begin(engine=FakeEngine)
    resume(engine=FakeEngine)
    assert files_of(tmp_path / "out") == files_of(whole[1])


def test_a_signal_stops_an_exchange_that_can_be_carried_on(
    whole: tuple[Any, Path], tmp_path: Path
) -> None:
    class Stopped(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            if self._step == 20:
                os.kill(os.getpid(), signal.SIGTERM)

    outcome = runner.start(config_of(whole[0], tmp_path / "out"), engine=Stopped)
    assert (outcome.interrupted, outcome.signal, outcome.step) == (True, signal.SIGTERM, 20)
    outcome = runner.resume(tmp_path / "out", engine=FakeEngine)
    assert (outcome.interrupted, outcome.step) == (False, 40)
    assert files_of(tmp_path / "out") == files_of(whole[1])


def test_an_exchange_that_fails_says_what_is_kept(whole: tuple[Any, Path], tmp_path: Path) -> None:
    class Failing(FakeEngine):
        def run(self, steps: int) -> None:
            super().run(steps)
            if self._step == 20:
                raise QuiltError("the device is lost")

    said = (
        r"^state 0 \(300 K\): the device is lost; the results up to iteration 2 are kept: "
        r"'quiltmd exchange --resume .*/out'"
    )
    with pytest.raises(QuiltError, match=said):
        runner.start(config_of(whole[0], tmp_path / "out"), engine=Failing)
    runner.resume(tmp_path / "out", engine=FakeEngine)
    assert files_of(tmp_path / "out") == files_of(whole[1])


def test_a_damaged_generation_is_not_taken(
    whole: tuple[Any, Path], tmp_path: Path, capsys: Any
) -> None:
    config = config_of(whole[0], tmp_path / "out")
    runner.start(config, engine=FakeEngine)
    last = tmp_path / "out" / "state-01" / "checkpoint-8.qmd"
    last.write_bytes(last.read_bytes()[:-1])
    runner.resume(tmp_path / "out", engine=FakeEngine)
    assert "continuing from the previous generation, iteration 6" in " ".join(
        capsys.readouterr().err.split()
    )
    assert files_of(tmp_path / "out") == files_of(whole[1])


@pytest.mark.parametrize("walkers", [[0, 0, 1], [0, 1], [0, 1, 3]])
def test_a_manifest_has_each_replica_in_one_state(
    whole: tuple[Any, Path], tmp_path: Path, walkers: list[int]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[1], out)
    for name in ("manifest.json", "manifest.prev.json"):
        manifest = json.loads((out / name).read_text())
        (out / name).write_text(json.dumps({**manifest, "walkers": walkers}))
    with pytest.raises(QuiltError, match=r"cannot resume: .*json: the manifest is damaged"):
        runner.resume(out, {("run", "steps"): 50}, engine=FakeEngine)


@pytest.mark.parametrize(
    ("table", "line", "text", "because"),
    [
        ("exchange.csv", 3, "1,10,0,0,2", "exchange.csv, line 3: each of 3 replicas must be in"),
        ("exchange.csv", 4, "2,15,0,1,7", "exchange.csv, line 4: each of 3 replicas"),
        ("exchange.csv", 4, "3,15,0,1,2", "exchange.csv, line 4: not the 5 numbers of iteration 2"),
        ("exchange.csv", 2, "0", "exchange.csv, line 2: not the 5 numbers"),
        ("energies.csv", 2, "0,1,2", "energies.csv, line 2: not the 10 numbers of iteration 0"),
        (
            "energies.csv",
            1,
            "iteration,u_0_0",
            "energies.csv: not a table of this replica exchange",
        ),
    ],
)
def test_damaged_tables_are_refused(
    whole: tuple[Any, Path], tmp_path: Path, table: str, line: int, text: str, because: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[1], out)
    lines = (out / table).read_text().splitlines()
    lines[line - 1] = text
    (out / table).write_text("\n".join(lines) + "\n")
    with pytest.raises(QuiltError, match=because):
        read_history(out)


def test_trajectories_of_replicas_are_moved_aside_too(
    whole: tuple[Any, Path], tmp_path: Path
) -> None:
    config = config_of(whole[0], tmp_path / "out")
    runner.start(config, engine=FakeEngine)
    demultiplex(tmp_path / "out")
    runner.start(config, overwrite=True, engine=FakeEngine)
    assert not (tmp_path / "out" / "replica-00").exists()
    assert (tmp_path / "out" / "backup.1" / "replica-00" / "trajectory.dcd").exists()


def test_another_exchange_is_not_carried_on(whole: tuple[Any, Path], tmp_path: Path) -> None:
    runner.start(config_of(whole[0], tmp_path / "out"), engine=FakeEngine)
    with pytest.raises(QuiltError, match=r"changed exchange\.temperatures"):
        runner.resume(tmp_path / "out", {("exchange", "temperatures"): (300.0, 301.0, 303.0)})
    with pytest.raises(QuiltError, match="already at step 40"):
        runner.resume(tmp_path / "out", {("run", "steps"): 20})
    with pytest.raises(QuiltError, match="already has files"):
        runner.start(config_of(whole[0], tmp_path / "out"), engine=FakeEngine)


@pytest.mark.parametrize(
    ("section", "key", "value", "because"),
    [
        ("run", "steps", 42, "must be a multiple of"),
        ("integrator", "temperature", 310.0, r"leave out temperature of \[integrator\]"),
        ("run", "start_temperature", 310.0, r"leave out \[run\] start_temperature"),
        ("integrator", "ensemble", "nve", "canonical"),
        ("restraints", "annealing", [[0, 1]], "annealing of"),
        ("exchange", "lowest", 300.0, "give either"),
        ("exchange", "temperatures", (310.0, 300.0), "ascend"),
        ("exchange", "temperatures", (300.0, 300.0), "ascend"),
        ("exchange", "solute", "protein", "leave out solute of"),
        ("exchange", "all_energies", True, "leave out all_energies of"),
        ("exchange", "kinds", 3, "not a known key"),
        ("output", "profile", True, "cannot be profiled"),
    ],
)
def test_configurations_that_are_refused(section: str, key: str, value: Any, because: str) -> None:
    with pytest.raises(QuiltError, match=because):
        build_config_of(ExchangeConfig, merge(MINIMAL, {(section, key): value}), "")


def test_a_section_of_runs_acts_in_an_exchange_or_is_refused() -> None:
    """Each optional section of a run is one that exchanges use, or they refuse it by its name."""
    used = {"alchemy", "bath", "custom", "restraint", "trajectory"}
    given: dict[str, Any] = {
        "external": [{"kind": "python", "factory": "a:b"}],
        "imd": {"port": 1},
        "metadynamics": {"variables": ["phi"], "width": [20.0], "height": 1.0},
        "reporter": [{"factory": "a:b"}],
    }
    optional = {name for name, one in Config.model_fields.items() if one.default in (None, ())}
    assert optional == used | given.keys()
    for name, value in given.items():
        with pytest.raises(QuiltError, match=rf"leave out \[+{name}\]+: replica exchange"):
            build_config_of(ExchangeConfig, {**MINIMAL, name: value}, "")


def test_more_replicas_than_memory_has_room_for_are_refused() -> None:
    """By their number alone, or once it is known what one of them takes."""
    settings: dict[str, Any] = {
        "system": {"topology": "a", "coordinates": "b"},
        "exchange": {"lowest": 300.0, "highest": 400.0, "replicas": 10**9},
        "run": {"steps": 500},
        "output": {"dir": "out"},
    }
    with pytest.raises(QuiltError, match=r"1000000000 replicas need 1.6e\+10 GB of memory, and"):
        build_config_of(ExchangeConfig, settings, "")
    made = []

    class Large(HarmonicEngine):
        def describe(self) -> dict[str, Any]:
            made.append(self)
            return super().describe() | {"bytes_per_atom": 1e12}

    with pytest.raises(QuiltError, match=r"^30 replicas need 2.4e\+05 GB .*: take fewer"):
        exchange_of(temperature_states(geometric(300, 400, 30)), solute=None, engine=Large)
    assert len(set(map(id, made))) == 1


def test_the_default_temperature_is_refused_too(tmp_path: Path) -> None:
    """The lowest of the states is not; folders of exchanges do not state another."""
    settings: dict[str, Any] = {
        "system": {"topology": "a", "coordinates": "b"},
        "exchange": {"temperatures": (310.0, 320.0)},
        "run": {"steps": 500},
        "output": {"dir": "out"},
    }
    config = build_config_of(ExchangeConfig, settings, "")
    assert "temperature =" not in config.as_toml(tmp_path).partition("[exchange]")[0]
    stated = merge(settings, {("integrator", "temperature"): 310.0})
    assert "temperature = 310" in build_config_of(ExchangeConfig, stated, "").as_toml(tmp_path)
    wrong = merge(settings, {("integrator", "temperature"): 300.0})
    with pytest.raises(QuiltError, match=r"own: leave out temperature of \[integrator\]"):
        build_config_of(ExchangeConfig, wrong, "")
    (tmp_path / "config.toml").write_text("[exchange]\n[integrator]\ntemperature = 300.0\n")
    assert read_resolved(tmp_path / "config.toml")["integrator"] == {}


def test_a_configuration_without_its_section() -> None:
    single = {
        "system": {"topology": "a", "coordinates": "b"},
        "run": {"steps": 1},
        "output": {"dir": "c"},
    }
    with pytest.raises(QuiltError, match=r"^x: the section \[exchange\] is missing$"):
        build_config_of(ExchangeConfig, single, "x")


class Still(HarmonicEngine):
    """Atoms stay where they are, so replicas can be told apart; each swap is accepted."""

    def run(self, steps: int) -> None:
        self._step += steps

    def _potential(self) -> float:
        return 0.0


def replicas_that_stay(folder: Path, every: int) -> NDArray[np.int32]:
    """Trajectories of three states between which replica k, at +0.1 k nm, goes; its walkers."""
    system, state = oscillators()
    starts = [replace(state, positions=state.positions + 0.1 * k) for k in range(3)]
    settings = {"every": 10, "seed": 5, "nonbonded": FORCES, "engine": Still}
    exchange = ReplicaExchange(system, starts, HOT, devices=("cpu",), **settings)
    reporters = []
    for k, simulation in enumerate(exchange.simulations):
        (folder / f"state-{k:02d}").mkdir()
        path = folder / f"state-{k:02d}" / "trajectory.xtc"
        reporters.append([TrajectoryReporter(path, every, simulation, wrap=False)])
    rows: list[Iteration] = []
    exchange.run(12, reporters, record=rows.append)
    for (reporter,) in reporters:
        reporter.close()
    return np.array([row.walkers for row in rows])


@pytest.mark.parametrize("every", [3, 10, 25])
def test_frames_are_sorted_by_replica(tmp_path: Path, every: int) -> None:
    walkers = replicas_that_stay(tmp_path, every)
    assert len({tuple(row) for row in walkers.tolist()}) > 2
    history = History(HOT, np.arange(12.0), walkers, np.zeros((12, 3, 3)))
    section = TrajectorySection(file="trajectory.xtc", every=every)
    written = sort_frames(tmp_path, history, section, 10, Layout(ATOMS, every, 0.002))
    _, state = oscillators()
    for k, path in enumerate(written):
        frames = list(read_frames(path, ATOMS))
        assert len(frames) == 120 // every
        for number, frame in enumerate(frames, 1):
            assert frame.time == pytest.approx(0.002 * every * number, rel=1e-5)
            assert frame.positions == pytest.approx(state.positions + 0.1 * k, abs=2e-3)


def test_demux_has_each_frame_once(whole: tuple[Any, Path], tmp_path: Path) -> None:
    """To the last bit; what was there before is replaced."""
    out = tmp_path / "out"
    shutil.copytree(whole[1], out)
    written = demultiplex(out)
    assert written == demultiplex(out)
    assert written == [out / f"replica-{k:02d}" / "trajectory.dcd" for k in range(3)]
    frames = {
        kind: [
            list(read_frames(out / f"{kind}-{k:02d}" / "trajectory.dcd", 2269)) for k in range(3)
        ]
        for kind in ("state", "replica")
    }
    for at in range(4):
        of_states, of_replicas = (
            sorted(one[at].positions.tobytes() for one in frames[kind])
            for kind in ("state", "replica")
        )
        assert of_states == of_replicas
    assert [len(one) for one in frames["replica"]] == [4, 4, 4]
    for k in range(3):
        (out / f"state-{k:02d}" / "trajectory.dcd").unlink()
    with pytest.raises(QuiltError, match="not every state of this exchange has a trajectory"):
        demultiplex(out)


def test_the_command(alanine: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "c.toml").write_text(
        f'[system]\ntopology = "{alanine[0]}"\ncoordinates = "{alanine[1]}"\n'
        '[exchange]\nkind = "rest2"\nlowest = 300\nhighest = 310\nreplicas = 2\nevery = 4\n'
        '[run]\nsteps = 4\ndevice = "cpu"\nthreads = 1\n[output]\ndir = "out"\nlog_every = 2\n'
    )
    done = quiltmd_command("exchange", tmp_path / "c.toml")
    assert done.returncode == 0, done.stderr
    assert "2 replicas of 2269 atoms from 300 K to 300 K, solute at 310 K" in done.stderr
    command(resume=tmp_path / "out", steps=8, devices="cpu;cpu;worker:cpu")
    assert "without a replica: worker:cpu" in capsys.readouterr().err
    command(analyse=tmp_path / "out", as_json=True)
    assert json.loads(capsys.readouterr().out)["iterations"] == 2
    assert (tmp_path / "out" / "exchange.png").stat().st_size > 1000
    command(analyse=tmp_path / "out")
    assert "300 K, solute at 310 K" in capsys.readouterr().out
    for single in (runs.resume, digest, lambda path: make_report(Folder(path))):
        with pytest.raises(QuiltError, match="/out holds a replica exchange: use 'quiltmd"):
            single(tmp_path / "out")
    with pytest.raises(QuiltError, match="give one of"):
        command()
    for act in (lambda: command(analyse=tmp_path), lambda: command(demux=tmp_path)):
        with pytest.raises(QuiltError, match="not the folder of a replica exchange"):
            act()


def test_energies_are_written_to_the_last_bit(tmp_path: Path) -> None:
    """Of rows that are alike, of -0.0 beside 0.0, and of what is not known."""
    rng = np.random.default_rng(3)
    energies = np.array([rng.normal(size=3)] * 2 + [[0.0, np.nan, -0.0]])
    for name, table in enumerate((energies, energies[[2, 0, 1]], np.abs(energies))):
        folder = tmp_path / str(name)
        folder.mkdir()
        tables = Tables(folder, 3, None)
        tables.add(Iteration(7, 70, table, np.arange(3, dtype=np.int32)))
        tables.close()
        last = (folder / "energies.csv").read_text().splitlines()[-1]
        cells = ["" if np.isnan(one) else repr(one) for one in table.reshape(-1).tolist()]
        assert last == ",".join(["7", *cells])
