# SPDX-License-Identifier: Apache-2.0
"""Predictions: networks and steps against sums made by hand, GPUs against measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boxes
import numpy as np
import pytest
from typer.testing import CliRunner

import quiltmd
from quiltmd.commands.cli import app
from quiltmd.inputs.standard_systems import system_files
from quiltmd.prediction.calibrate import calibrated
from quiltmd.prediction.machine import Machine, read_machine
from quiltmd.prediction.network import Fabric
from quiltmd.prediction.plan import Planner
from quiltmd.prediction.predict import predict, predict_weak, tile_of
from quiltmd.prediction.simulate import Simulator
from quiltmd.prediction.step_kinds import (
    AWAITED,
    HALO,
    HALO_STREAM,
    LOCAL,
    MAIN,
    SIDE,
    Mesh,
    kinds_of_step,
)
from quiltmd.prediction.tasks import COSTS, Graph
from quiltmd.running import runner
from quiltmd.running.config import build_config


def machine(
    execution: str = "serial", island: Any = None, costs: Any = None, **network: Any
) -> Machine:
    return Machine.model_validate(
        {
            "name": "by hand",
            "execution": execution,
            "costs": {"pairs": {"each": 1.0}, **(costs or {})},
            "network": {"latency": 10.0, "hop": 1.0, "bandwidth": 1.0, **network},
            "island": island,
        }
    )


@pytest.mark.parametrize(
    ("network", "pairs"),
    [
        ({"topology": "flat"}, {(0, 1): 1, (0, 63): 1}),
        ({"topology": "fat-tree", "radix": 4}, {(0, 3): 1, (0, 4): 3, (0, 15): 3, (0, 16): 5}),
        (
            {"topology": "torus", "dimensions": (4, 4, 4)},
            {(0, 1): 1, (0, 3): 1, (0, 2): 2, (0, 63): 3, (0, 42): 6},
        ),
        (
            {"topology": "dragonfly", "routers": 4, "hosts": 2},
            {(0, 1): 1, (0, 2): 2, (0, 8): 3, (0, 63): 4},
        ),
    ],
)
def test_hops(network: dict[str, Any], pairs: dict[tuple[int, int], int]) -> None:
    fabric = Fabric(machine(**network), 64)
    for (a, b), hops in pairs.items():
        there, back = np.array([a]), np.array([b])
        assert fabric.hops(there, back)[0] == fabric.hops(back, there)[0] == hops, (a, b)
        # 1 GB/s: a byte takes a nanosecond
        assert fabric.deliver(0.0, a, b, 5000) == pytest.approx(10 + hops + 5)
        fabric = Fabric(machine(**network), 64)


def test_islands_have_a_network_of_their_own() -> None:
    fabric = Fabric(machine(island={"size": 4, "latency": 2.0, "bandwidth": 100.0}), 8)
    assert fabric.deliver(0.0, 0, 3, 100_000) == pytest.approx(2 + 1)
    assert fabric.deliver(0.0, 0, 4, 100_000) == pytest.approx(10 + 1 + 100)


def test_ranks_of_an_island_take_ports_in_turn() -> None:
    for ports, second in ((1, 10 + 1 + 200), (2, 10 + 1 + 100)):
        island = {"size": 4, "latency": 2.0, "bandwidth": 100.0}
        fabric = Fabric(machine(island=island, ports=ports), 8)
        assert fabric.deliver(0.0, 0, 4, 100_000) == pytest.approx(10 + 1 + 100)
        assert fabric.deliver(0.0, 1, 5, 100_000) == pytest.approx(second)


def test_messages_take_a_link_in_turn() -> None:
    fabric = Fabric(machine(), 8)
    assert fabric.deliver(0.0, 0, 1, 5000) == pytest.approx(16)
    assert fabric.deliver(0.0, 0, 2, 5000) == pytest.approx(21)  # behind the first, out of rank 0
    assert fabric.deliver(0.0, 3, 4, 5000) == pytest.approx(16)
    assert fabric.deliver(100.0, 0, 1, 5000) == pytest.approx(116)


def test_a_node_of_a_torus_sends_through_several_links() -> None:
    wide = Fabric(machine(topology="torus", dimensions=(4, 4, 4), injection=6.0), 64)
    arrived = [wide.deliver(0.0, 0, to, 6000) for to in (1, 4, 16)]  # z, y, x
    assert arrived == pytest.approx([10 + 1 + 6, 10 + 1 + 6 + 1, 10 + 1 + 6 + 2])
    narrow = Fabric(machine(topology="torus", dimensions=(4, 4, 4)), 64)
    arrived = [narrow.deliver(0.0, 0, to, 6000) for to in (1, 4, 16)]
    assert arrived == pytest.approx([17, 23, 29])


def test_a_wider_tree_has_room_for_more() -> None:
    times = []
    for taper in (1.0, 0.25):
        fabric = Fabric(machine(topology="fat-tree", radix=4, taper=taper), 16)
        times.append(max(fabric.deliver(0.0, rank, rank + 4, 8000) for rank in range(4)))
    assert times[0] == pytest.approx(
        10 + 3 + 8 + 3 * 2
    )  # a quarter of the time of each on a link up
    assert times[1] == pytest.approx(10 + 3 + 8 + 3 * 8)


def chain() -> Graph:
    """Rank 0 sends after 5 us; rank 1 has 2 us of local work, and 3 us after the message."""
    graph = Graph()
    first = graph.tasks("positions.send", np.array([0]), (HALO, HALO_STREAM), 0.0, 5.0)
    graph.tasks("pairs.interior", np.array([1]), (LOCAL, SIDE), 0.0, 2.0)
    last = graph.tasks("pairs.boundary", np.array([1]), (AWAITED, SIDE), 0.0, 3.0)
    graph.message("positions", first.tasks, last.tasks, np.array([1000]))
    return graph


@pytest.mark.parametrize("is_serial", [True, False])
def test_a_step_by_hand(is_serial: bool) -> None:
    step = Simulator(chain(), Fabric(machine(), 2), 2, is_serial).run(np.zeros(2))
    assert step.arrived == pytest.approx([5 + 10 + 1 + 1])
    assert step.end == pytest.approx([5.0, 2.0, 20.0])
    assert step.rank_end == pytest.approx([5.0, 20.0])
    assert step.cause.tolist() == [-1, -1, -2]


def test_a_message_may_come_before_the_step() -> None:
    for is_serial in (True, False):
        step = Simulator(chain(), Fabric(machine(), 2), 2, is_serial).run(np.array([0.0, 50.0]))
        assert step.rank_end[1] == pytest.approx(55.0)


def test_a_message_that_waits_holds_no_link_further_on() -> None:
    """Of rank 0 the second message waits for the first; one of rank 3 comes to rank 2 before it."""
    graph = Graph()
    ends = np.array([[0, 1], [0, 2], [3, 2]])  # of three messages; the last is sent at 1 us
    send = graph.tasks("send", ends[:, 0], (HALO, MAIN), 0.0, np.array([0.0, 0.0, 1.0]))
    receive = graph.tasks("receive", ends[:, 1], (HALO, MAIN), 0.0, 0.0)
    graph.message("positions", send.tasks, receive.tasks, np.full(3, 5000))
    step = Simulator(graph, Fabric(machine(), 4), 4, True).run(np.zeros(4))
    assert step.arrived == pytest.approx([16.0, 16.0 + 6.0, 17.0])  # rank 2's link is free at 6 us


def two_tasks() -> Graph:
    """A long task on the side stream, and a short one on the main stream that is more urgent."""
    graph = Graph()
    graph.tasks("pairs.interior", np.array([0]), (LOCAL, SIDE), 1.0, 10.0)
    graph.tasks("pme.spread", np.array([0]), (HALO, MAIN), 4.0, 2.0)
    return graph


def test_a_cpu_does_one_task_at_a_time_the_most_urgent_first() -> None:
    step = Simulator(two_tasks(), Fabric(machine(), 1), 1, True).run(np.zeros(1))
    assert step.begin == pytest.approx([6.0, 0.0])
    assert step.end == pytest.approx([17.0, 6.0])
    assert step.cause.tolist() == [1, -1]


def test_streams_share_a_gpu() -> None:
    # Pairs work from 1 on, give way from 4 to 6, and have 7 us left then.
    step = Simulator(two_tasks(), Fabric(machine(), 1), 1, False).run(np.zeros(1))
    assert step.begin == pytest.approx([0.0, 0.0])
    assert step.end == pytest.approx([13.0, 6.0])


def test_tasks_of_a_rank_wait_for_each_other() -> None:
    graph = Graph()
    one = graph.tasks("positions.send", np.array([1, 0, 1]), (HALO, MAIN), 0.0, 1.0)
    two = graph.tasks("integrate", np.array([0, 1, 2]), (LOCAL, MAIN), 0.0, 4.0)
    graph.order([one], two)
    step = Simulator(graph, Fabric(machine(), 3), 3, True).run(np.zeros(3))
    assert step.begin[two.tasks] == pytest.approx([1.0, 2.0, 0.0])


def test_a_graph_that_never_ends_is_an_error() -> None:
    graph = Graph()
    one = graph.tasks("integrate", np.array([0]), (LOCAL, MAIN), 0.0, 1.0)
    graph.order([one], one)
    with pytest.raises(quiltmd.QuiltError, match="1 of them never start"):
        Simulator(graph, Fabric(machine(), 1), 1, True).run(np.zeros(1))


@pytest.fixture(scope="module")
def water() -> Planner:
    system, state = boxes.water_box((12, 8, 8))
    nonbonded = quiltmd.Nonbonded(cutoff=0.7)
    return Planner(system, state, nonbonded, quiltmd.VelocityVerlet(timestep=0.002), tile=(2, 1, 1))


def test_one_rank_takes_the_sum_of_its_tasks(water: Planner) -> None:
    costs = {"integrate": {"fixed": 7.0, "each": 100.0}, "planes": {"each": 3.0}}
    (one,) = predict(water, machine(costs=costs), [1])
    plan = water.plan(1)
    atoms = 3 * 24 * 8 * 8
    assert water.about["atoms"] == plan.ranks["atoms"].sum() == atoms
    pairs = float((plan.ranks["interior_pairs"] + plan.ranks["boundary_pairs"]).sum())
    work = 1e-3 * pairs + 7 + 0.1 * atoms + 3e-3 * np.prod(water.grid)
    assert one.us_per_step == pytest.approx(work, rel=1e-6)
    assert one.ns_per_day == pytest.approx(86.4e6 * 0.002 / work, rel=1e-6)
    assert (one.efficiency, one.communication, one.messages) == (1.0, 0.0, 0.0)


def test_a_shorter_coulomb_cutoff_saves_the_cost_of_its_pairs() -> None:
    """Pairs between both cutoffs have no Coulomb interaction; the grid costs nothing here."""
    system, state = boxes.water_box((12, 12, 12))
    costs = {"pairs": {"each": 1.0}, "coulomb": {"each": 3.0}}
    by_cutoff = {}
    for cutoff in (0.9, 0.7):
        nonbonded = quiltmd.Nonbonded(cutoff=0.9, coulomb_cutoff=cutoff, pme_order=5)
        planner = Planner(system, state, nonbonded, quiltmd.VelocityVerlet(timestep=0.002))
        by_cutoff[cutoff] = predict(planner, machine(costs=costs), [1])[0].us_per_step
    buffer = planner.about["list_buffer"]
    near = ((0.7 + buffer) / (0.9 + buffer)) ** 3
    assert by_cutoff[0.7] / by_cutoff[0.9] == pytest.approx((1 + 3 * near) / 4, rel=1e-6)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    ("method", "sharing"),
    [
        ("none", None),
        ("pme", "distributed"),
        ("pme", "pencils"),
        ("pme", "replicated"),
        ("fmm", "distributed"),
        ("fmm", "replicated"),
    ],
)
def test_a_step_has_the_tasks_of_the_core(several: bool, method: Any, sharing: Any) -> None:
    """Those of its schedules, each with a cost, and messages with two ends."""
    kinds = kinds_of_step(several, None if sharing is None else Mesh(method, sharing))
    names = [kind.name for kind in kinds]
    work = {kind.name for kind in kinds if not kind.is_message}
    assert work <= COSTS.keys() | {"fmm.charged"}
    assert {kind.sends for kind in kinds} == {kind.awaits for kind in kinds}
    assert any(kind.is_message for kind in kinds) == several
    for one in ("pme", "fmm"):
        assert any(name.startswith(f"{one}.") for name in names) == (method == one)
    transform = {"pencils": "pme.columns", None: "terms"}.get(sharing, "pme.planes")
    assert ("fmm.stencil" if method == "fmm" else transform) in names
    for number, kind in enumerate(kinds):
        assert all(before < number for before in kind.before)
    # After all that is on the grid, and before what no other rank awaits.
    if sharing is not None:
        gather = names.index(f"{method}.gather")
        assert kinds[gather].place[1] == MAIN
        assert names.index("pairs.interior") > gather


def test_ranks_share_the_work(water: Planner) -> None:
    free = machine(latency=0.0, hop=0.0, bandwidth=1e9)
    one, two = predict(water, free, [2, 1], "distributed")
    share = max(water.plan(2).ranks["interior_pairs"] + water.plan(2).ranks["boundary_pairs"])
    assert two.us_per_step == pytest.approx(1e-3 * share, rel=1e-6)
    assert two.efficiency == pytest.approx(one.us_per_step / (2 * two.us_per_step))
    slow = predict(water, machine(latency=1000.0), [2], "distributed")[0]
    # charges, two transposes, potential: four messages one after the other
    assert slow.us_per_step > two.us_per_step + 3500
    assert slow.limiter.startswith("messages of the long-range sum")
    assert slow.communication > 0.5


@pytest.fixture(scope="module")
def water_by_fmm() -> Planner:
    system, state = boxes.water_box((12, 8, 8))
    settings = quiltmd.Nonbonded(cutoff=0.7, method="fmm", fmm_order=4)
    return Planner(system, state, settings, quiltmd.VelocityVerlet(timestep=0.002), tile=(2, 1, 1))


def test_the_fast_multipole_method_takes_the_sum_of_its_tasks(water_by_fmm: Planner) -> None:
    costs = {
        "stencil": {"each": 0.2},
        "levels": {"each": 0.3},
        "restrict": {"each": 2.0},
        "prolong": {"each": 3.0},
    }
    (one,) = predict(water_by_fmm, machine(costs=costs), [1])
    (pairs,) = predict(water_by_fmm, machine(costs={"stencil": {"each": 1e-12}}), [1])
    grid, about = float(np.prod(water_by_fmm.grid)), water_by_fmm.about
    terms = 0.2 * grid + 0.3 * about["upper_points"]
    work = 1e-3 * (terms * about["stencil_points"] + 5 * grid)
    assert one.us_per_step - pairs.us_per_step == pytest.approx(work, rel=1e-6)
    assert about["upper_points"] == pytest.approx(grid / 8, rel=0.2)


def test_the_fast_multipole_method_waits_for_its_messages(water_by_fmm: Planner) -> None:
    costs = {"stencil": {"each": 1e-12}}
    slow = predict(water_by_fmm, machine(latency=1000.0, costs=costs), [2], "distributed")[0]
    # charges, those nearby, those of level 1, potential
    assert 3900 < slow.us_per_step < 5000
    assert slow.limiter.startswith("messages of the long-range sum")


def test_machines_without_costs_of_the_fast_multipole_method_are_named(
    water_by_fmm: Planner,
) -> None:
    with pytest.raises(quiltmd.QuiltError, match="no costs of the fast multipole method"):
        predict(water_by_fmm, machine(), [2])


def test_pme_in_every_second_step_takes_half_of_its_time(water: Planner) -> None:
    system, state = boxes.water_box((12, 8, 8))
    integrator = quiltmd.VelocityVerlet(timestep=0.002, long_range_every=2)
    rarely = Planner(system, state, quiltmd.Nonbonded(cutoff=0.7), integrator, tile=(2, 1, 1))
    costs = {"planes": {"each": 3.0}}
    always, half = (predict(p, machine(costs=costs), [1])[0] for p in (water, rarely))
    transforms = 3e-3 * float(np.prod(water.grid))
    assert always.us_per_step - half.us_per_step == pytest.approx(transforms / 2, rel=1e-6)


def test_ranks_without_patches_are_told(water: Planner) -> None:
    (many,) = predict(water, machine(), [1000])
    assert many.idle_ranks == 1000 - water.about["patches"]
    assert f"{many.idle_ranks} ranks have no patch" in many.limiter


def test_copies_are_laid_out_as_a_cube() -> None:
    cube, slab = np.eye(3), np.diag([1.0, 2.0, 4.0])
    tiles = {1: (1, 1, 1), 2: (2, 1, 1), 8: (2, 2, 2), 12: (3, 2, 2), 7: (7, 1, 1)}
    for copies, tile in tiles.items():
        assert sorted(tile_of(copies, cube)) == sorted(tile)
    assert tile_of(8, slab) == (4, 2, 1)


def test_weak_scaling_repeats_the_system_for_each_rank() -> None:
    system, state = boxes.water_box((8, 8, 8))

    def planner_of(tile: tuple[int, int, int]) -> Planner:
        nonbonded = quiltmd.Nonbonded(cutoff=0.7)
        return Planner(system, state, nonbonded, quiltmd.VelocityVerlet(timestep=0.002), tile)

    one, two, four = predict_weak(planner_of, machine(), [4, 1, 2], "distributed")
    assert [found.atoms for found in (one, two, four)] == [3 * 512 * n for n in (1, 2, 4)]
    (tiled,) = predict(planner_of((2, 1, 1)), machine(), [2], "distributed")
    assert two.us_per_step == tiled.us_per_step
    for found in (one, two, four):
        assert found.efficiency == pytest.approx(one.us_per_step / found.us_per_step)
    free = machine(latency=0.0, hop=0.0, bandwidth=1e9)  # pairs alone: as many on each rank
    assert predict_weak(planner_of, free, [1, 2])[1].efficiency == pytest.approx(1.0, rel=0.05)


RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
# us per step of four H200s: benchmarks/notes/several-gpus.md ("Speed again").
ON_FOUR = {23_558: 49.7, 94_232: 77.3, 376_928: 146.0, 1_060_110: 294.3}
TILES = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (4, 4, 1), (3, 3, 5)]


@pytest.mark.parametrize("tile", TILES)
def test_gpus_as_measured(tile: tuple[int, int, int]) -> None:
    """DHFR tiled, on one and two H200s as several_gpus.py found it, and on four."""
    system, state = quiltmd.load(*system_files("dhfr"), hydrogen_mass=3.0)
    integrator = quiltmd.LangevinMiddle(timestep=0.004, seed=1)
    planner = Planner(system, state, quiltmd.Nonbonded(), integrator, tile)
    atoms = planner.about["atoms"]
    rows = json.loads((RESULTS / "two-gpus-speed.json").read_text())["speed"]
    measured = {row["gpus"]: row for row in rows if row["atoms"] == atoms}
    assert measured.keys() == {1, 2}
    machine = read_machine("h200-nvlink")
    for gpus, row in measured.items():
        (prediction,) = predict(planner, machine, [gpus])
        assert prediction.us_per_step == pytest.approx(row["us_per_step"], rel=0.1)
        assert prediction.memory / 2**20 == pytest.approx(row["memory_mib"], rel=0.1)
    if atoms in ON_FOUR:
        (prediction,) = predict(planner, machine, [4])
        assert prediction.us_per_step == pytest.approx(ON_FOUR[atoms], rel=0.1)


@pytest.mark.parametrize(("ranks", "most"), [(1, 65), (2, 50)])
def test_memory_as_counted(ranks: int, most: float) -> None:
    """94,000 atoms, MiB; on a CPU a rank of two has outboxes as well."""
    system, state = quiltmd.load(*system_files("dhfr"), constraints="h-bonds", hydrogen_mass=3.0)
    simulation = quiltmd.Simulation(
        system.tile(2, 2, 1),
        state.tile(2, 2, 1),
        integrator=quiltmd.LangevinMiddle(timestep=0.004, seed=1),
        device="cpu",
        ranks=ranks,
    )
    simulation.run(1)
    memory = [load["device_bytes"] / 2**20 for load in simulation.loads()]
    assert len(memory) == ranks
    for found in memory:
        assert 0.95 * most < found < most


def test_machines_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        quiltmd.QuiltError,
        match="cray is neither a file nor one of the machines blue-gene-l, cpu, ",
    ):
        read_machine("cray")
    file = tmp_path / "machine.toml"
    head = 'name = "x"\nexecution = "serial"\n[network]\nlatency = 1\nbandwidth = 1\n'
    file.write_text(head)
    with pytest.raises(quiltmd.QuiltError, match="costs"):
        read_machine(str(file))
    file.write_text(f"{head}[costs]\npairs = {{each = 1}}\nspreed = {{each = 1}}\n")
    with pytest.raises(
        quiltmd.QuiltError, match=r"\[costs\] spreed is not a known key \(did you mean 'spread'"
    ):
        read_machine(str(file))
    file.write_text(f"{head}dimensions = [0, 2, 2]\n[costs]\npairs = {{each = 1}}\n")
    with pytest.raises(quiltmd.QuiltError, match=r"\[network\] dimensions: input should be"):
        read_machine(str(file))
    file.write_text(f"speed = 1\n{head}[costs]\npairs = {{each = 1}}\n".replace("serial", "fast"))
    with pytest.raises(
        quiltmd.QuiltError, match=r"execution: input .* 'fast'\); \[speed\] is not a known section"
    ):
        read_machine(str(file))
    file.write_text(f"{head}[costs]\npairs = {{each = 1}}\n")
    assert read_machine(str(file)).costs.pairs.each == 1


def test_a_torus_without_room_for_all_ranks_is_refused() -> None:
    with pytest.raises(
        quiltmd.QuiltError, match="a torus of 2 x 2 x 2 nodes is too small for 9 ranks"
    ):
        Fabric(machine(topology="torus", dimensions=(2, 2, 2)), 9)


def predicted(*words: Any) -> Any:
    return CliRunner().invoke(app, ["predict", *map(str, words)])


def test_choices_side_by_side(alanine: tuple[Path, Path]) -> None:
    """Each time is that of a prediction with the same choice."""
    inputs = ["--topology", alanine[0], "--coordinates", alanine[1], "--timestep", 0.001]
    given = [*inputs, "--cutoff", 0.9, "--ranks", "1,3,100"]
    done = predicted(*given, "--choices", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["choices"]
    for name, options in (
        ("pencils", ["--pme", "pencils"]),
        ("half-width patches", ["--pme", "distributed", "--patch-reach", 2]),
        ("PME half as often", ["--pme", "distributed", "--long-range-every", 2]),
        ("ranks not placed", ["--pme", "distributed", "--not-placed"]),
    ):
        assert (
            found[name] == json.loads(predicted(*given, *options, "--json").stdout)["predictions"]
        )
    assert [one["ranks"] for one in found["replicated PME"]] == [1, 3]
    assert "half-width patches, pencils" in predicted(*given, "--choices").stdout
    for options in (["--pme", "pencils"], ["--patch-reach", 2], ["--not-placed"], ["--weak"]):
        refused = predicted(*given, "--choices", *options)
        assert "--choices varies these settings itself" in str(refused.exception)


def test_from_the_command_line_with_a_profile(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    settings = {
        "system": {"topology": alanine[0], "coordinates": alanine[1]},
        "integrator": {"timestep": 0.001},
        "run": {"steps": 4, "device": "cpu", "threads": 1},
        "output": {"dir": tmp_path / "run", "profile": True},
    }
    runner.start(build_config(settings))
    inputs = ["--topology", alanine[0], "--coordinates", alanine[1], "--timestep", 0.001]
    ranks = ["--ranks", "1..4", "--machine", "cpu", "--profile", tmp_path / "run"]
    done = predicted(*inputs, *ranks, "--json", "--plot", tmp_path / "scaling.svg")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [one["ranks"] for one in found["predictions"]] == [1, 2, 4]
    integrator = quiltmd.VelocityVerlet(timestep=0.001)
    planner = Planner(*quiltmd.load(*alanine), quiltmd.Nonbonded(), integrator)
    known = read_machine("cpu")
    costs = calibrated(known, tmp_path / "run" / "timeline.json", planner).costs
    assert costs.pairs.each != known.costs.pairs.each
    assert costs.coulomb.each / costs.pairs.each == pytest.approx(
        known.costs.coulomb.each / known.costs.pairs.each
    )
    assert (tmp_path / "scaling.svg").read_text().count("<svg") == 1
    assert "--ranks" in str(predicted(*inputs, "--ranks", "4..1").exception)
    assert "its patches differ" in str(predicted(*inputs, "--cutoff", 0.5, *ranks).exception)
    without_pme = predicted(*inputs, "--method", "cutoff", "--pme", "pencils")
    assert "run without PME" in str(without_pme.exception)
    unknown = predicted(*inputs, "--ranks", 1, "--plot", tmp_path / "scaling.docx")
    assert "the name of a figure must end in" in str(unknown.exception)


def test_weak_scaling_from_the_command_line(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """A grid that is given is that of one copy."""
    inputs = ["--topology", alanine[0], "--coordinates", alanine[1], "--timestep", 0.001]
    grid = ["--pme-alpha", 3.0, "--pme-grid", "24,24,24", "--cutoff", 0.9]
    options = ["--machine", "cpu", "--pme", "distributed", "--json"]
    done = predicted(*inputs, *grid, *options, "--weak", "--ranks", "1,2")
    assert done.exit_code == 0, done.output
    one, two = json.loads(done.stdout)["predictions"]
    assert two["atoms"] == 2 * one["atoms"]
    tile = tile_of(2, quiltmd.load(*alanine)[1].box)
    counts = ",".join(str(24 * copies) for copies in tile)
    tiled = [*inputs, *grid[:3], counts, *grid[4:], "--tile", "x".join(map(str, tile))]
    (same,) = json.loads(predicted(*tiled, *options, "--ranks", 2).stdout)["predictions"]
    assert two["us_per_step"] == same["us_per_step"]
    figure = tmp_path / "weak.svg"
    assert predicted(*inputs, "--weak", "--ranks", "1,2", "--plot", figure).exit_code == 0
    assert "atoms for each rank" in figure.read_text()  # a comment beside the outlines of letters


@pytest.mark.parametrize("text", ["{", "[]", '{"otherData": {"device": "cpu"}}'])
def test_profiles_that_cannot_be_read_are_refused(
    alanine: tuple[Path, Path], tmp_path: Path, text: str
) -> None:
    given = ["--topology", alanine[0], "--coordinates", alanine[1], "--timestep", 0.001]
    given += ["--machine", "cpu", "--profile", tmp_path]
    assert "has no profile (timeline.json)" in str(predicted(*given).exception)
    (tmp_path / "timeline.json").write_text(text)
    assert "is not a profile by quiltmd, or damaged" in str(predicted(*given).exception)


def test_gpus_are_not_predicted_with_pencils(water: Planner) -> None:
    costs = {"lines": {"each": 10.0}}  # which more ranks share in pencils
    for execution, chosen in (("streams", "distributed"), ("serial", "pencils")):
        given = machine(execution, costs=costs)
        slabs, pencils, auto = (
            predict(water, given, [128], mesh)[0].us_per_step
            for mesh in ("distributed", "pencils", None)
        )
        assert pencils < slabs
        assert auto == {"distributed": slabs, "pencils": pencils}[chosen]
