# SPDX-License-Identifier: Apache-2.0
"""The run loop on a toy engine: reports when due, energies, restarts with the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_engine import FakeEngine

import quiltmd
from quiltmd import LangevinMiddle, QuiltError, Readout, Simulation, SimulationError, State
from quiltmd.description.overlaps import check_overlaps


class Recorder:
    """Remembers the steps at which it was called."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.steps: list[int] = []

    def report(self, frame: Readout, /) -> None:
        self.steps.append(frame.step)


@pytest.fixture
def loaded(alanine: tuple[Path, Path]) -> Any:
    return quiltmd.load(*alanine, constraints="h-bonds")


def simulate(loaded: Any, **options: Any) -> Simulation:
    options.setdefault("integrator", LangevinMiddle(seed=0))
    simulation = Simulation(*loaded, device="cpu", engine=FakeEngine, **options)
    simulation.draw_velocities(300.0, seed=1)
    return simulation


def test_reports_come_at_multiples_of_their_interval(loaded: Any) -> None:
    simulation = simulate(loaded)
    three, five, never = Recorder(3), Recorder(5), Recorder(0)
    simulation.run(7, [three, five, never])
    simulation.run(9, [three, five, never])
    assert simulation.step == 16
    assert three.steps == [3, 6, 9, 12, 15]
    assert five.steps == [5, 10, 15]
    assert never.steps == []


def test_a_watcher_may_stop_the_run_without_losing_a_report(loaded: Any) -> None:
    simulation = simulate(loaded)
    recorder = Recorder(5)
    simulation.run(1000, [recorder], watch=lambda step: step >= 15)
    assert simulation.step == 15
    assert recorder.steps == [5, 10, 15]


def test_energies_add_up(loaded: Any) -> None:
    simulation = simulate(loaded)
    simulation.run(20)
    energies = simulation.energies()
    assert energies["total"] == energies["potential"] + energies["kinetic"]
    assert energies["conserved"] == energies["total"] - energies["heat"]
    assert energies["nonbonded"] == energies["lj"]
    assert energies["heat"] != 0


def test_temperature_and_density(loaded: Any) -> None:
    simulation = simulate(loaded)
    system = simulation.system
    freedom = 3 * system.atoms - len(system.constraints) - 3
    kinetic = simulation.energies()["kinetic"]
    assert simulation.temperature() == pytest.approx(2 * kinetic / freedom / 0.0083144626, rel=1e-7)
    kilograms, volume = system.masses.sum() * 1.66053907e-27, np.linalg.det(loaded[1].box) * 1e-27
    assert simulation.density() == pytest.approx(kilograms / volume, rel=1e-7)


def test_pressure(loaded: Any) -> None:
    simulation = simulate(loaded)
    simulation.run(5)
    volume = np.linalg.det(loaded[1].box)
    trace = np.trace(simulation.virial()) + 2 * simulation.energies()["kinetic"]
    assert simulation.pressure() == pytest.approx(trace / (3 * volume) * 16.6053907, rel=1e-7)
    assert simulation.pressure_tensor().shape == (3, 3)


@pytest.mark.parametrize("stop", [1, 6, 7, 8, 20])
def test_a_restart_gives_the_same_bits(loaded: Any, tmp_path: Path, stop: int) -> None:
    whole = simulate(loaded)
    whole.run(30)
    first = simulate(loaded)
    first.run(stop)
    first.save_checkpoint(tmp_path / "checkpoint.qmd")
    bath = LangevinMiddle(seed=0)
    second = Simulation(*loaded, integrator=bath, device="cpu", engine=FakeEngine)
    second.load_checkpoint(tmp_path / "checkpoint.qmd")
    assert second.step == stop
    second.run(30 - stop)
    assert quiltmd.digest(second.state()) == quiltmd.digest(whole.state())
    assert second.energies()["heat"] == pytest.approx(whole.energies()["heat"], rel=1e-12)


def test_blow_up_names_atoms(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "explode_at", 12)
    simulation = simulate(loaded)
    with pytest.raises(SimulationError, match=r"step 12: atom 4 \(HH33 of ACE 1\) moves") as caught:
        simulation.run(100)
    assert caught.value.step == 12


def test_a_state_of_another_system(loaded: Any) -> None:
    system, state = loaded
    with pytest.raises(QuiltError, match="4538 atoms, the system 2269"):
        Simulation(system, state.tile(2, 1, 1), device="cpu", engine=FakeEngine)


def test_two_simulations_have_different_noise(loaded: Any) -> None:
    """Without a seed each draws its own, and tells it, so that it can be done again."""
    first, second = (simulate(loaded, integrator=LangevinMiddle()) for _ in range(2))
    assert first.integrator != second.integrator
    third = simulate(loaded, integrator=LangevinMiddle(seed=first.integrator.seed))
    for simulation in (first, second, third):
        simulation.run(5)
    digests = [quiltmd.digest(simulation.state()) for simulation in (first, second, third)]
    assert digests[0] == digests[2] != digests[1]
    for simulation in (first, second):
        simulation.draw_velocities(300.0)
    assert (first.state().velocities != second.state().velocities).any()


def test_a_checkpoint_of_another_box_is_refused(loaded: Any, tmp_path: Path) -> None:
    system, state = loaded
    other = State(state.positions, state.velocities, state.box * 1.01)
    bath = LangevinMiddle(seed=0)
    wider = Simulation(system, other, integrator=bath, device="cpu", engine=FakeEngine)
    wider.save_checkpoint(tmp_path / "x.qmd")
    simulation = simulate(loaded)
    with pytest.raises(QuiltError, match=r"x.qmd: the checkpoint has another box"):
        simulation.load_checkpoint(tmp_path / "x.qmd")
    (tmp_path / "folder").mkdir()
    with pytest.raises(QuiltError, match="it is a folder"):
        simulation.save_checkpoint(tmp_path / "folder")


def test_one_atom_has_no_temperature() -> None:
    system = quiltmd.System.of([40.0], lj_a=[[1e-6]], lj_b=[[1e-3]])
    state = State(np.ones((1, 3)), np.ones((1, 3)), np.eye(3) * 3)
    simulation = Simulation(system, state, device="cpu", engine=FakeEngine)
    assert simulation.degrees_of_freedom == 0
    assert simulation.temperature() == 0


def test_nve_has_no_heat(loaded: Any) -> None:
    simulation = simulate(loaded, integrator=quiltmd.VelocityVerlet())
    simulation.run(10)
    assert simulation.energies()["heat"] == 0


def test_overlaps_are_found_across_the_boundary(loaded: Any) -> None:
    system, state = loaded
    check_overlaps(system, state)
    positions = state.positions.copy()
    positions[100] = positions[900] + state.box.sum(axis=0) + 0.005
    with pytest.raises(QuiltError, match=r"atom 101 .* and atom 901 .* are 0.0087 nm apart"):
        check_overlaps(system, State(positions, state.velocities, state.box))
    positions = state.positions.copy()
    positions[0] = 1e-4
    positions[50] = np.diag(state.box) - 1e-4
    with pytest.raises(QuiltError, match=r"atom 1 .* and atom 51 "):
        check_overlaps(system, State(positions, state.velocities, state.box))


def test_descriptions_are_frozen() -> None:
    with pytest.raises(AttributeError):
        LangevinMiddle().friction = 2.0  # type: ignore[misc]


def test_written_structures_read_back(loaded: Any, alanine: Any, tmp_path: Path) -> None:
    import mdtraj

    simulation = simulate(loaded)
    simulation.run(3)
    quiltmd.write_restart(tmp_path / "x.rst7", simulation)
    _, again = quiltmd.load(alanine[0], tmp_path / "x.rst7")
    state = simulation.state()
    np.testing.assert_allclose(again.positions, state.positions, atol=1e-9)
    np.testing.assert_allclose(again.velocities, state.velocities, atol=1e-9)
    np.testing.assert_allclose(again.box, state.box, atol=1e-9)
    quiltmd.write_pdb(tmp_path / "x.pdb", simulation)
    read = mdtraj.load(str(tmp_path / "x.pdb"), standard_names=False)
    names = [atom.name for atom in read.topology.atoms]
    assert names[:10] == list(simulation.system.topology.atom_names[:10])
    assert read.topology.n_residues == len(simulation.system.topology.residue_names)
    symbols = [atom.element.symbol for atom in read.topology.atoms]
    assert symbols[:5] == ["H", "C", "H", "H", "C"]
    shift = (read.xyz[0] - state.positions) @ np.linalg.inv(state.box)
    np.testing.assert_allclose(shift, np.round(shift), atol=1e-4)


def test_pdb_columns_hold_for_large_systems(loaded: Any, tmp_path: Path) -> None:
    system, state = loaded
    tiles = (5, 3, 3)
    simulation = Simulation(
        system.tile(*tiles), state.tile(*tiles), device="cpu", engine=FakeEngine
    )
    quiltmd.write_pdb(tmp_path / "x.pdb", simulation)
    lines = (tmp_path / "x.pdb").read_text().splitlines()
    atoms = [line for line in lines if line.startswith("ATOM")]
    assert len(atoms) == 45 * system.atoms
    assert {len(line) for line in atoms} == {78}
    assert atoms[99999][6:11] == "    0"
