# SPDX-License-Identifier: Apache-2.0
"""Heat baths of groups of atoms: who is in which, what each group's temperature becomes, and what
goes together with them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import free_waters, stopped_and_not, warm_water
from model_waters import model_water

import quiltmd
from quiltmd import (
    BathGroup,
    BerendsenBarostat,
    CellRescaling,
    LangevinMiddle,
    LogReporter,
    Nonbonded,
    NoseHooverChain,
    QuiltError,
    ReplicaExchange,
    Simulation,
    State,
    VelocityRescaling,
    VelocityVerlet,
    temperature_states,
)
from quiltmd.description.settings import BOLTZMANN
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running import runner, stages
from quiltmd.running.config import build_config, build_config_of

PLAIN = Nonbonded(method="cutoff", cutoff=0.9)


def in_halves(system: Any, one: tuple[float, float], other: tuple[float, float]) -> Any:
    """Groups of the first half of the atoms and of the second: temperature and friction."""
    half = system.atoms // 2
    return BathGroup(f"index 1-{half}", *one), BathGroup(f"not index 1-{half}", *other)


@pytest.fixture(scope="module")
def water() -> tuple[Any, Any]:
    """344 waters, relaxed, drawn at 300 K."""
    return warm_water((7, 7, 8), 300)


def gas(atoms: int = 1000) -> tuple[Any, Any]:
    """Atoms that do not interact, at rest: light and heavy ones in turn."""
    system = quiltmd.System.of(np.tile([4.0, 40.0], atoms // 2))
    places = np.random.default_rng(3).uniform(0, 6, (atoms, 3))
    return system, State(places, np.zeros((atoms, 3)), np.eye(3) * 6)


# ---- which atoms


@pytest.mark.parametrize(
    ("selections", "message"),
    [
        (
            ("solute", "ions or water and index 1-30"),
            r"H2 of WAT 6\) has no heat bath \(2239 atoms",
        ),
        (
            ("solute", "all"),
            r"HH31 of ACE 1\) has two heat baths, of 'solute' and of 'all' \(22 atoms",
        ),
        (("name O", "not name O"), r"O of WAT 4\) and .*H1 of WAT 4\) have different heat baths"),
        (("solute", "resname XYZ", "water"), "heat bath 2: the selection 'resname XYZ' has no"),
    ],
)
def test_each_atom_has_one_bath(
    alanine: tuple[Path, Path], selections: tuple[str, ...], message: str
) -> None:
    system, state = quiltmd.load(*alanine, constraints="h-bonds")
    bath = LangevinMiddle(groups=tuple(BathGroup(text) for text in selections))
    with pytest.raises(QuiltError, match=message):
        Simulation(system, state, integrator=bath, device="cpu")


def test_virtual_sites_go_with_their_parents() -> None:
    """Sites have no temperature of their own; a box that changes leaves the baths as they are."""
    made, state = model_water("tip4pew", (6, 6, 6))
    system = quiltmd.System.from_openmm(made)
    cut = LangevinMiddle(groups=(BathGroup("index 4"), BathGroup("not index 4")))
    with pytest.raises(QuiltError, match=r"atom 4 .* different heat baths, of 'index 4' and"):
        Simulation(system, state, system.nonbonded, cut, device="cpu")
    bath = LangevinMiddle(groups=in_halves(system, (250, 5), (350, 5)), seed=1)
    ends = []
    for ranks in (1, 3):
        simulation = Simulation(system, state, system.nonbonded, bath, device="cpu", ranks=ranks)
        assert simulation.group_degrees_of_freedom() == pytest.approx([6 * 108 - 1.5] * 2)
        simulation.minimize(500.0, 60)
        simulation.draw_velocities(seed=2)
        simulation.run(15)
        simulation.set_conditions(box=state.box * 1.001)
        simulation.run(15)
        ends.append((quiltmd.digest(simulation.state()), simulation.heat()))
    assert ends[0] == ends[1]


def test_as_many_as_there_may_be() -> None:
    for count in (17, 40):
        with pytest.raises(
            QuiltError, match=f"up to 16 groups of atoms with heat baths, not {count}"
        ):
            LangevinMiddle(groups=(BathGroup("all"),) * count)
    with pytest.raises(QuiltError, match="BathGroup: friction"):
        BathGroup("all", 300, -1)
    system, state = gas(64)
    each = tuple(BathGroup(f"index {4 * k + 1}-{4 * k + 4}", 100 + k) for k in range(16))
    simulation = Simulation(system, state, PLAIN, LangevinMiddle(groups=each), device="cpu")
    assert simulation.group_degrees_of_freedom() == pytest.approx([12 - 3 / 16] * 16)


# ---- what they do


@pytest.mark.parametrize("ranks", [1, 3])
def test_baths_that_are_alike_are_one(water: tuple[Any, Any], ranks: int) -> None:
    one = Simulation(*water, integrator=LangevinMiddle(310, 5, seed=2), device="cpu")
    groups = in_halves(water[0], (310, 5), (310, 5))
    several = Simulation(
        *water, integrator=LangevinMiddle(groups=groups, seed=2), device="cpu", ranks=ranks
    )
    for simulation in (one, several):
        simulation.draw_velocities(seed=4)
        simulation.run(45)
    assert quiltmd.digest(one.state()) == quiltmd.digest(several.state())
    assert several.heat() == pytest.approx(one.heat(), abs=1e-9)
    assert several.temperature() == pytest.approx(one.temperature(), rel=1e-12)


def test_gases_reach_the_temperatures_of_their_baths() -> None:
    """Mean kinetic energy of each within 5 standard errors, and its spread that of its bath."""
    system, state = gas()
    bath = LangevinMiddle(
        groups=in_halves(system, (200, 20), (400, 40)), timestep=0.01, seed=3, remove_com_every=0
    )
    simulation = Simulation(system, state, PLAIN, bath, device="cpu")
    simulation.run(50)
    found = []
    for _ in range(200):  # 0.2 ps apart, 4 lifetimes of a velocity in the slower bath
        simulation.run(20)
        found.append(simulation.group_temperatures())
    relative = np.array(found) / [200, 400]
    width = np.sqrt(2 / 1500)
    assert np.abs(relative.mean(axis=0) - 1).max() < 5 * width / np.sqrt(200)
    assert np.abs(relative.std(axis=0) / width - 1).max() < 5 / np.sqrt(2 * 200)
    assert found[-1].mean() == pytest.approx(simulation.temperature(), rel=1e-6)


def test_waters_in_contact_exchange_heat(water: tuple[Any, Any]) -> None:
    """Strong baths keep halves of a drop apart in temperature; weak ones do so less."""
    apart = []
    for friction in (50.0, 1.0):
        groups = in_halves(water[0], (250, friction), (350, friction))
        simulation = Simulation(
            *water, integrator=LangevinMiddle(groups=groups, seed=1), device="cpu"
        )
        simulation.run(200)
        found = []
        for _ in range(20):
            simulation.run(10)
            found.append(simulation.group_temperatures())
        cold, hot = np.mean(found, axis=0)
        apart.append(hot - cold)
    assert apart[0] > 60 > apart[1] + 15


def test_what_turned_constraints_take_is_counted_by_bath() -> None:
    """Rigid waters that turn freely, 4 fs, a quarter of them in a hot bath with much friction.

    Uncounted, that would be some -36 kJ/mol/ns per atom, and -94 with the baths exchanged.
    """
    system, state = free_waters()
    quarter = f"index 1-{system.atoms // 4}"
    groups = BathGroup(quarter, 400, 20), BathGroup(f"not {quarter}", 200, 5)
    bath = LangevinMiddle(groups=groups, timestep=0.004, seed=5, remove_com_every=0)
    simulation = Simulation(system, state, PLAIN, bath, device="cpu")
    simulation.draw_velocities(seed=1)
    simulation.run(50)  # leaves the velocities of the start, which fit the positions too well
    begun = simulation.energies()["conserved"]
    simulation.run(500)
    ended = simulation.energies()["conserved"]
    drift = 1000 * (ended - begun) / system.atoms / (0.004 * 500)
    assert abs(drift) < 5 * 0.5


def test_the_conserved_quantity_drifts_no_more_than_with_one_bath(water: tuple[Any, Any]) -> None:
    """Of heat that comes and goes by thousands of kJ/mol, and flows from bath to bath."""
    half = in_halves(water[0], (350, 20), (450, 20))
    drifts, scatters = [], []
    for bath in (
        LangevinMiddle(400, 20, 0.001, 2),
        LangevinMiddle(groups=half, timestep=0.001, seed=2),
    ):
        simulation = Simulation(*water, integrator=bath, device="cpu")
        simulation.run(100)
        rows = []
        for _ in range(60):
            simulation.run(10)
            rows.append((simulation.heat(), simulation.energies()["conserved"]))
        heat, conserved = np.array(rows).T
        assert np.abs(np.diff(heat)).sum() > 2000
        line = np.polyfit(np.arange(60), conserved, 1)
        drifts.append(abs(line[0]) * 60)
        scatters.append(np.std(conserved - np.polyval(line, np.arange(60))))
    assert scatters[1] < 1.5 * scatters[0]
    assert drifts[1] < drifts[0] + 2 * scatters[0]


def test_a_run_goes_on_with_its_baths(water: tuple[Any, Any], tmp_path: Path) -> None:
    """From a checkpoint, on other ranks."""

    def simulation(ranks: int) -> Simulation:
        groups = in_halves(water[0], (280, 2), (350, 20))
        bath = LangevinMiddle(groups=groups, seed=2, remove_com_every=10)
        return Simulation(*water, integrator=bath, device="cpu", ranks=ranks)

    whole, stopped = stopped_and_not(simulation, tmp_path)
    assert (whole.group_temperatures() == stopped.group_temperatures()).all()


def test_velocities_of_the_baths(water: tuple[Any, Any]) -> None:
    """Each group's own; the centre of mass at rest; constraints hold."""
    bath = LangevinMiddle(groups=in_halves(water[0], (100, 1), (400, 1)), seed=2)
    simulation = Simulation(*water, integrator=bath, device="cpu")
    simulation.draw_velocities(seed=7)
    degrees = simulation.group_degrees_of_freedom()
    assert degrees.sum() == pytest.approx(water[0].degrees_of_freedom - 3)
    ratio = simulation.group_temperatures() / [100, 400]
    assert np.abs(ratio - 1).max() < 5 * np.sqrt(2 / degrees.min())
    state = simulation.state()
    assert water[0].masses @ state.velocities == pytest.approx(np.zeros(3), abs=1e-6)
    first, second = water[0].constraints.T
    edge = state.positions[first] - state.positions[second]
    change = state.velocities[first] - state.velocities[second]
    assert np.abs((edge * change).sum(axis=1)).max() < 1e-5
    kinetic = 0.5 * water[0].masses @ (state.velocities**2).sum(axis=1)
    assert simulation.energies()["kinetic"] == pytest.approx(kinetic, rel=1e-6)
    assert simulation.temperature() == pytest.approx(
        2 * kinetic / (BOLTZMANN * simulation.degrees_of_freedom), rel=1e-6
    )
    nve = Simulation(*water, integrator=VelocityVerlet(), device="cpu")
    with pytest.raises(QuiltError, match="no heat bath: give a temperature"):
        nve.draw_velocities()
    with pytest.raises(QuiltError, match="VelocityVerlet has no groups of atoms"):
        nve.group_temperatures()


# ---- what goes together


def test_what_needs_one_bath_is_refused(water: tuple[Any, Any]) -> None:
    unlike = LangevinMiddle(groups=in_halves(water[0], (280, 2), (350, 2)))
    alike = LangevinMiddle(groups=in_halves(water[0], (300, 2), (300, 20)))
    with pytest.raises(
        QuiltError, match="VelocityRescaling cannot be combined with LangevinMiddle"
    ):
        Simulation(*water, integrator=unlike, thermostat=VelocityRescaling(), device="cpu")
    with pytest.raises(QuiltError, match=r"CellRescaling: .* one temperature, .* have 280, 350 K"):
        Simulation(*water, integrator=unlike, barostat=CellRescaling(), device="cpu")
    Simulation(*water, integrator=alike, barostat=CellRescaling(), device="cpu").run(20)
    with pytest.warns(quiltmd.QuiltWarning, match="ensemble"):
        simulation = Simulation(
            *water, integrator=unlike, barostat=BerendsenBarostat(), device="cpu"
        )
    simulation.run(20)
    with pytest.raises(QuiltError, match=r"canonical ensembles, .* have 280, 350 K: give them"):
        ReplicaExchange(*water, temperature_states((300.0, 310.0)), integrator=unlike, every=10)


# ---- runs


def settings(files: tuple[Path, Path], out: Path) -> dict[str, Any]:
    return {
        "system": {"topology": str(files[0]), "coordinates": str(files[1])},
        "integrator": {"seed": 5, "timestep": 0.001},
        "bath": [
            {"select": "solute", "temperature": 350.0, "friction": 10.0},
            {"select": "not solute", "temperature": 280.0},
        ],
        "run": {"steps": 20, "device": "cpu", "minimize": True, "minimize_iterations": 20},
        "output": {"dir": str(out), "log_every": 5, "checkpoint_every": 10},
    }


def test_a_run_with_groups_goes_on_and_refuses_others(
    alanine: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    """The log has the temperature of each; what a resume is told must be the same baths."""
    runner.start(build_config(settings(alanine, tmp_path / "whole")))
    told = capsys.readouterr().err
    assert "at 350, 280 K" in told
    assert "velocities drawn at the temperatures of the heat baths" in told
    short = settings(alanine, tmp_path / "short")
    short["run"] |= {"steps": 10, "ranks": 3}
    runner.start(build_config(short))
    runner.resume(tmp_path / "short", {("run", "steps"): 20, ("run", "ranks"): 2})
    digests, tables = [], []
    for name in ("whole", "short"):
        digests.append(
            quiltmd.digest(quiltmd.read_checkpoint(tmp_path / name / "checkpoint.qmd").state)
        )
        with (tmp_path / name / "log.csv").open() as file:
            tables.append(list(csv.DictReader(file)))
    assert digests[0] == digests[1]
    for row, again in zip(*tables, strict=True):
        assert {k: row[k] for k in row if k != "ns/day"} == {
            k: again[k] for k in again if k != "ns/day"
        }
    assert float(tables[0][0]["temperature_1"]) == pytest.approx(350, rel=0.6)
    assert float(tables[0][0]["temperature_2"]) == pytest.approx(280, rel=0.1)
    config = tmp_path / "short" / "config.toml"
    config.write_text(config.read_text().replace("temperature = 280.0", "temperature = 281.0"))
    with pytest.raises(QuiltError, match=r"bath\.2"):
        runner.resume(tmp_path / "short", {("run", "steps"): 30})


@pytest.mark.parametrize("kind", ["langevin", "velocity-rescaling", "nose-hoover"])
def test_a_run_with_annealed_groups(alanine: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    """One group is heated while the other stays; the same after a stop, on other ranks."""
    ends = []
    for name, ranks in (("whole", 1), ("short", 3)):
        given = settings(alanine, tmp_path / name)
        given["thermostat"] = {"kind": kind} | ({} if kind == "langevin" else {"every": 2})
        given["integrator"]["annealing_every"] = 4
        del given["run"]["minimize"], given["run"]["minimize_iterations"]
        given["bath"] = [
            {"select": "solute", "annealing": [[0.0, 250.0], [0.01, 350.0]]},
            {"select": "not solute", "temperature": 280.0},
        ]
        given["run"] |= {"steps": 20 if name == "whole" else 10, "ranks": ranks}
        config = build_config(given)
        bath = config.make_integrator() if kind == "langevin" else config.make_thermostat()
        assert bath.temperatures() == (350, 280)  # type: ignore[union-attr]
        runner.start(config)
        if name == "short":
            runner.resume(tmp_path / name, {("run", "steps"): 20, ("run", "ranks"): 2})
        end = quiltmd.read_checkpoint(tmp_path / name / "checkpoint.qmd")
        ends.append(quiltmd.digest(end.state))
    assert ends[0] == ends[1]
    annealing = config.annealing()
    assert [curve.value(0.005) for curve in annealing.curves] == [(300.0, 280.0)]


def test_a_barostat_needs_one_annealing(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    given = settings(alanine, tmp_path)
    given["integrator"]["ensemble"] = "npt"
    one, other = ([[0.0, begin], [10.0, 300.0]] for begin in (100.0, 200.0))
    for first, second in ((one, other), (one, one)):
        given["bath"] = [
            {"select": "solute", "annealing": first},
            {"select": "not solute", "annealing": second},
        ]
        if first is second:
            assert build_config(given).integrator.ensemble == "npt"
            continue
        with pytest.raises(QuiltError, match="one temperature of all groups at any time"):
            build_config(given)


def test_stages_replace_the_baths(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    given = settings(alanine, tmp_path)
    given["stage"] = [{"name": "groups"}, {"name": "one", "bath": []}]
    made = [stage.config.make_integrator() for stage in stages.stages_of(given)]
    assert [type(one) for one in made] == [LangevinMiddle, LangevinMiddle]


@pytest.mark.parametrize(
    ("section", "change", "message"),
    [
        ("integrator", {"ensemble": "nve"}, r"\[\[bath\]\]: the ensemble nve has no heat bath"),
        ("integrator", {"annealing": [[0, 300]]}, r"annealing of .integrator. is of one bath"),
        ("integrator", {"friction": 2}, "leave out friction of .integrator., or leave out"),
        ("integrator", {"temperature": 310}, "leave out temperature of .integrator."),
        ("thermostat", {"kind": "nose-hoover"}, "'solute' takes a time_constant, not a friction"),
        ("thermostat", {"kind": "berendsen", "time_constant": 2}, "leave out time_constant of"),
        ("bath", [{"select": "all", "time_constant": 2}], "takes a friction, not a time_constant"),
        ("bath", [{"select": "all", "annealing": [[0, 9], [0, 9]]}], "times, ps, are not negative"),
        (
            "bath",
            [{"select": "all", "temperature": 9, "annealing": [[0, 8]]}],
            "leave out temperature",
        ),
        ("integrator", {"annealing_every": 50}, "nothing is annealed"),
        ("integrator", {"ensemble": "npt"}, "CellRescaling: .* one temperature"),
        ("bath", [{"select": "all", "temperature": -1}], "temperature"),
        ("bath", [{"select": "all", "colour": 1}], "colour"),
        ("bath", [{"temperature": 1}], "select"),
    ],
)
def test_what_a_configuration_may_not_say(
    alanine: tuple[Path, Path], tmp_path: Path, section: str, change: Any, message: str
) -> None:
    given = settings(alanine, tmp_path)
    given[section] = given.get(section, {}) | change if isinstance(change, dict) else change
    with pytest.raises(QuiltError, match=message):
        build_config(given)


def test_an_exchange_has_one_bath(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    given = settings(alanine, tmp_path)
    given["exchange"] = {"temperatures": [300.0, 310.0], "every": 10}
    for second in ({"temperature": 280.0}, {"annealing": [[0.0, 300.0], [1.0, 310.0]]}):
        given["bath"] = [{"select": "solute"}, {"select": "not solute"} | second]
        with pytest.raises(QuiltError, match=r"each replica of an exchange has .* lowest, 300 K"):
            build_config_of(ExchangeConfig, given, "")
    given["bath"] = [{"select": "solute"}, {"select": "not solute"}]
    build_config_of(ExchangeConfig, given, "")


def test_replicas_with_groups(water: tuple[Any, Any]) -> None:
    """All groups have the temperature of the state; the same on other ranks."""
    half = f"index 1-{water[0].atoms // 2}"
    groups = BathGroup(half), BathGroup(f"not {half}")
    states = temperature_states((300.0, 320.0))
    for bath in (
        LangevinMiddle(groups=groups),
        VelocityRescaling(groups=groups, every=5),
        NoseHooverChain(groups=groups, every=5),
        NoseHooverChain(every=5),
    ):
        ends = []
        for ranks in (1, 2):
            parts: dict[str, Any] = {"integrator": bath}
            if not isinstance(bath, LangevinMiddle):
                parts = {"integrator": VelocityVerlet(), "thermostat": bath}
            replicas = ReplicaExchange(
                *water, states, every=10, seed=4, devices=("cpu",), ranks=ranks, **parts
            )
            replicas.draw_velocities()
            replicas.run(3)
            ends.append([quiltmd.digest(one.state()) for one in replicas.simulations])
        assert ends[0] == ends[1]
        owner = "thermostat" if "thermostat" in parts else "integrator"
        own = [getattr(one, owner) for one in replicas.simulations]
        if isinstance(bath, NoseHooverChain):
            assert [one.temperature for one in own] == [300, 320]
        else:
            assert [one.temperatures() for one in own] == [(300, 300), (320, 320)]
        if not isinstance(bath, NoseHooverChain):
            assert own[0].seed != own[1].seed


def test_an_atom_without_a_bath_stops_a_run_before_it_begins(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    given = settings(alanine, tmp_path / "out")
    del given["bath"][1]
    with pytest.raises(QuiltError, match=r"has no heat bath \(2247 atoms"):
        runner.start(build_config(given))
    assert not (tmp_path / "out").exists()


def test_a_worker_has_the_same_baths(water: tuple[Any, Any], tmp_path: Path) -> None:
    bath = LangevinMiddle(groups=in_halves(water[0], (250, 10), (350, 10)), seed=1)
    ends, logs = [], []
    for device in ("cpu", "worker:cpu"):
        simulation = Simulation(*water, integrator=bath, device=device, threads=1)
        log = LogReporter(tmp_path / f"{len(ends)}.csv", 5, groups=2)
        simulation.run(15, [log])
        log.close()
        ends.append(quiltmd.digest(simulation.state()))
        logs.append([row.rsplit(",", 1)[0] for row in log.path.read_text().splitlines()])
    assert ends[0] == ends[1]
    assert logs[0] == logs[1]


def test_a_log_of_groups(water: tuple[Any, Any], tmp_path: Path) -> None:
    bath = LangevinMiddle(groups=in_halves(water[0], (280, 2), (350, 2)), seed=1)
    simulation = Simulation(*water, integrator=bath, device="cpu")
    log = LogReporter(tmp_path / "log.csv", 5, groups=2, box=True)
    simulation.run(10, [log])
    log.close()
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]][-9:-6] == ["temperature_1", "temperature_2", "a_x"]
    found = [float(rows[-1][f"temperature_{k}"]) for k in (1, 2)]
    assert found == pytest.approx(simulation.group_temperatures(), abs=1e-4)
