# SPDX-License-Identifier: Apache-2.0
"""The Monte Carlo barostat: energies of proposals, the ensemble, ranks and stops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import openmm.app
import pytest
from boxes import BAR, BOLTZMANN, through_file
from numpy.typing import NDArray
from openmm import unit

import quiltmd
from quiltmd import (
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    QuiltError,
    Simulation,
    State,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.running.config import build_config

PME = Nonbonded(cutoff=0.8, pme_alpha=3.9, pme_grid=(27, 27, 27), pme_order=5)
DYNAMICS: dict[str, dict[str, Any]] = {
    "langevin": {"integrator": LangevinMiddle(300.0, 5.0, seed=5, remove_com_every=10)},
    "verlet": {
        "integrator": VelocityVerlet(timestep=0.002, remove_com_every=10),
        "thermostat": VelocityRescaling(300.0, time_constant=0.1, seed=5, every=4),
    },
}
BOTH = pytest.mark.parametrize("dynamics", ["langevin", "verlet"])
# Proposals are wide, and most that make the box smaller are accepted.
SQUEEZE = MonteCarloBarostat(8000.0, compressibility=2e-4, seed=3, every=6)


@pytest.fixture(scope="module")
def peptide(alanine: tuple[Path, Path]) -> tuple[Any, State]:
    """A peptide, which has several hydrogen groups, in 749 waters."""
    system, state = quiltmd.load(*alanine)
    simulation = Simulation(system, state, PME, DYNAMICS["langevin"]["integrator"], device="cpu")
    simulation.minimize(500.0, 20)
    simulation.draw_velocities(300.0, 1)
    simulation.run(20)
    warm = simulation.state()
    return system, State(warm.positions, warm.velocities, warm.box)


def make(peptide: tuple[Any, State], dynamics: str, barostat: Any, **more: Any) -> Simulation:
    settings = {"device": "cpu", "threads": 1, **DYNAMICS[dynamics], **more}
    return Simulation(*peptide, PME, barostat=barostat, **settings)


def same(a: State, b: State) -> bool:
    return quiltmd.digest(a) == quiltmd.digest(b) and np.array_equal(a.box, b.box)


# ---- A proposal ------------------------------------------------------------------------------


def scaled_molecules(system: Any, state: State, box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions in another box, where the mean position of each molecule keeps its fractions."""
    counts = np.bincount(system.molecules)[:, None]
    sums = [np.bincount(system.molecules, weights=axis) for axis in state.positions.T]
    centres = np.stack(sums, axis=1) / counts
    moved = centres @ np.linalg.inv(state.box) @ box - centres
    return state.positions + moved[system.molecules]


def test_the_energy_of_a_proposal_is_that_of_openmm(
    peptide: tuple[Any, State], alanine: tuple[Path, Path]
) -> None:
    """Without friction, heat is what an accepted move does to the potential energy."""
    still = {"integrator": LangevinMiddle(300.0, 0.0, timestep=1e-6, seed=1, remove_com_every=0)}
    for seed in range(20):
        barostat = MonteCarloBarostat(1.0, compressibility=5e-4, seed=seed, every=4)
        simulation = make(peptide, "langevin", barostat, **still)
        simulation.run(4)  # the barostat acts as soon as this goes on
        before, heat = simulation.state(), simulation.energies()["heat"]
        simulation.run(1)
        if not np.array_equal(simulation.box, before.box):
            break
    after = simulation.state()
    expected = scaled_molecules(peptide[0], before, after.box)
    assert np.abs(after.box[0, 0] / before.box[0, 0] - 1) > 1e-3
    assert np.abs(after.positions - expected).max() < 2e-5  # a step of 1e-6 ps follows

    system = openmm.app.AmberPrmtopFile(str(alanine[0])).createSystem(
        nonbondedMethod=openmm.app.PME, nonbondedCutoff=0.8, constraints=openmm.app.HBonds
    )
    force = next(f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))
    force.setPMEParameters(3.9, 27, 27, 27)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)

    def energy(positions: NDArray[np.float64], box: NDArray[np.float64]) -> float:
        context.setPeriodicBoxVectors(*box)
        context.setPositions(positions)
        found = context.getState(getEnergy=True).getPotentialEnergy()
        return float(found.value_in_unit(unit.kilojoule_per_mole))

    change = energy(expected, after.box) - energy(before.positions, before.box)
    assert abs(change) > 1
    assert simulation.energies()["heat"] - heat == pytest.approx(change, abs=0.03)


# ---- Ranks, stops ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def squeezed(peptide: tuple[Any, State]) -> dict[str, list[State]]:
    """States of a run on one rank, one every 7 steps."""
    found: dict[str, list[State]] = {}
    for dynamics in DYNAMICS:
        simulation = make(peptide, dynamics, SQUEEZE)
        found[dynamics] = []
        for _ in range(8):
            simulation.run(7)
            found[dynamics].append(simulation.state())
    return found


@BOTH
def test_some_boxes_are_accepted_and_some_are_not(
    squeezed: dict[str, list[State]], dynamics: str
) -> None:
    lengths = [state.box[0, 0] for state in squeezed[dynamics]]
    assert 1 < len(set(lengths)) < len(lengths)
    assert lengths[-1] < 0.998 * lengths[0]


@BOTH
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_and_stops_do_not_matter(
    peptide: tuple[Any, State], squeezed: dict[str, list[State]], dynamics: str, ranks: int
) -> None:
    simulation = make(peptide, dynamics, SQUEEZE, ranks=ranks)
    simulation.run(56)
    assert same(simulation.state(), squeezed[dynamics][-1])


def test_many_molecules_of_several_groups(peptide: tuple[Any, State]) -> None:
    """Sums of their positions are more than a message of one block holds."""
    tiled = [part.tile(3, 2, 2) for part in peptide]
    digests = []
    for ranks in (1, 2):
        settings = {"device": "cpu", "threads": 1, "ranks": ranks, **DYNAMICS["langevin"]}
        simulation = Simulation(*tiled, Nonbonded(cutoff=0.8), barostat=SQUEEZE, **settings)
        simulation.run(12)
        assert (simulation.state().box != tiled[1].box).any()
        digests.append(quiltmd.digest(simulation.state()))
    assert digests[0] == digests[1]


@BOTH
def test_a_run_goes_on_from_a_checkpoint(
    peptide: tuple[Any, State], squeezed: dict[str, list[State]], dynamics: str, tmp_path: Path
) -> None:
    states = squeezed[dynamics]
    for first, ranks in ((0, 2), (5, 1)):
        begun = through_file(states[first], tmp_path)
        simulation = make((peptide[0], begun), dynamics, SQUEEZE, ranks=ranks)
        simulation.run(7 * (7 - first))
        assert same(simulation.state(), states[-1])


def test_steps_that_are_redone_leave_no_trace(peptide: tuple[Any, State]) -> None:
    """Waters so hot that they move beyond the Verlet buffer, on one rank and two."""
    system, state = peptide
    hot = (system, State(state.positions, 2.2 * state.velocities, state.box))
    ends = []
    for ranks in (1, 2):
        simulation = make(hot, "verlet", SQUEEZE, ranks=ranks)
        simulation.run(40)
        assert simulation.describe()["early_rebuilds"] > 0
        ends.append((simulation.state(), simulation.energies()))
    assert same(ends[0][0], ends[1][0])
    assert ends[0][1] == ends[1][1]


@BOTH
def test_the_work_on_the_box_is_counted(peptide: tuple[Any, State], dynamics: str) -> None:
    """Beside the same run without a barostat."""
    barostat = replace(SQUEEZE, pressure=15000.0, every=5)
    short = {"integrator": replace(DYNAMICS[dynamics]["integrator"], timestep=0.0005)}
    errors, heats = [], []
    for made in (
        make(peptide, dynamics, None, **short),
        make(peptide, dynamics, barostat, **short),
    ):
        before = made.energies()
        made.run(60)
        after = made.energies()
        errors.append(after["conserved"] - before["conserved"])
        heats.append(after["heat"])
    assert abs(heats[1] - heats[0]) > 20
    assert abs(errors[1] - errors[0]) < 6


# ---- The ensemble ----------------------------------------------------------------------------


@pytest.mark.parametrize(("coupling", "width"), [("isotropic", 0.3), ("anisotropic", 0.035)])
def test_volumes_of_an_ideal_gas(coupling: str, width: float) -> None:
    """P(V) is proportional to V^N exp(-P V / kT), whatever the shape: by five standard errors."""
    atoms, pressure = 216, 100.0
    system = quiltmd.System.of(np.full(atoms, 20.0))
    thermal = BOLTZMANN * 300 / (pressure / BAR)
    length = ((atoms + 1) * thermal) ** (1 / 3)
    rng = np.random.default_rng(2)
    state = State.start(system, rng.uniform(0, length, (atoms, 3)), length * np.eye(3))
    barostat = MonteCarloBarostat(
        pressure, compressibility=width / pressure, coupling=coupling, seed=1, every=1
    )
    simulation = Simulation(
        system,
        state,
        Nonbonded(cutoff=0.5, method="cutoff"),
        LangevinMiddle(300.0, 5.0, 0.04, seed=2, remove_com_every=0),
        barostat=barostat,
        device="cpu",
        threads=1,
    )
    simulation.draw_velocities(300.0, 3)
    volumes = []
    for _ in range(6000):
        simulation.run(1)
        volumes.append(np.prod(np.diag(simulation.box)))
    deviations = np.array(volumes) - np.mean(volumes)
    samples = len(volumes) / correlation_time(deviations)
    variance = (atoms + 1) * thermal**2
    assert samples > 40
    assert np.mean(volumes) == pytest.approx(
        (atoms + 1) * thermal, abs=5 * np.sqrt(variance / samples)
    )
    assert np.var(volumes) == pytest.approx(variance, rel=5 * np.sqrt(2 / samples))


def correlation_time(deviations: NDArray[np.float64]) -> float:
    """Integrated autocorrelation time, summed to where it is lost in noise."""
    count = len(deviations)
    spectrum = np.fft.rfft(deviations, 2 * count)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:count] / np.arange(count, 0, -1)
    correlation /= correlation[0]
    last = int(np.argmax(correlation < 0.05))
    return float(1 + 2 * correlation[1:last].sum())


# ---- Settings --------------------------------------------------------------------------------


def test_axes_are_scaled_in_their_sets(peptide: tuple[Any, State]) -> None:
    ratios = []
    choices: tuple[dict[str, Any], ...] = (
        {"coupling": "semi-isotropic"},
        {"coupling": "semi-isotropic", "compressibility": (2e-4, 0.0)},
        {"coupling": "semi-isotropic", "surface_tension": 1e5},
        {"coupling": "anisotropic"},
    )
    for settings in choices:
        barostat = replace(SQUEEZE, pressure=1.0, every=2, **settings)
        simulation = make(peptide, "langevin", barostat)
        simulation.run(60)
        ratios.append(np.diag(simulation.box) / np.diag(peptide[1].box))
    semi, fixed, tension, each = ratios
    assert semi[0] == semi[1] != semi[2]
    assert fixed[0] == fixed[1] != 1 == fixed[2]
    assert tension[0] > 1.002 * semi[0]
    assert len(set(each)) == 3


def test_what_does_not_go_together_is_refused(peptide: tuple[Any, State]) -> None:
    with pytest.raises(QuiltError, match="need a temperature"):
        make(peptide, "langevin", SQUEEZE, integrator=VelocityVerlet())
    with pytest.raises(QuiltError, match="surface_tension needs"):
        MonteCarloBarostat(surface_tension=100.0)
    system, state = peptide
    cut = state.positions.copy()
    cut[system.molecules == 0] -= np.where(np.arange(22)[:, None] < 8, state.box[0], 0.0)
    with pytest.raises(QuiltError, match="makes them whole"):
        make((system, replace(state, positions=cut)), "langevin", SQUEEZE)
    settings: dict[str, Any] = {
        "system": {"topology": "a.prmtop", "coordinates": "a.crd"},
        "integrator": {"ensemble": "npt"},
        "barostat": {"kind": "monte-carlo", "every": 25},
        "run": {"steps": 10},
        "output": {"dir": "out"},
    }
    config = build_config(settings)
    assert config.barostat.build(config.integrator) == MonteCarloBarostat(every=25)
    settings["barostat"]["time_constant"] = 1.0
    with pytest.raises(QuiltError, match="leave out time_constant"):
        build_config(settings)
