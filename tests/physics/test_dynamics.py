# SPDX-License-Identifier: Apache-2.0
"""What trajectories must obey: energy, temperature, constraints, momentum.

Lengths are chosen so that each test fails when something is wrong by a few per cent and passes by
five standard errors otherwise; all seeds are fixed, and trajectories are the same everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxes import constraint_error, free_waters, momentum, residual_stretch, water_box

import quiltmd
from quiltmd import (
    LangevinMiddle,
    Nonbonded,
    NoseHooverChain,
    Readout,
    Simulation,
    State,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.description.settings import BOLTZMANN

SMOOTH = Nonbonded(cutoff=0.8, pme_alpha=3.9, pme_grid=(32, 32, 32), potential_shift=True)


class Series:
    """Energies and temperature every `every` steps."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.needs = ("energies",)
        self.rows: list[tuple[float, float, float, float]] = []

    def report(self, frame: Readout, /) -> None:
        e = frame.energies()
        self.rows.append((frame.time, e["kinetic"], e["potential"], e["conserved"]))

    @property
    def columns(self) -> Any:
        return np.array(self.rows).T


@pytest.fixture(scope="module")
def water() -> tuple[Any, Any]:
    """729 waters at 300 K."""
    system, state = water_box((9, 9, 9), seed=1)
    simulation = Simulation(
        system, state, SMOOTH, LangevinMiddle(300, friction=10, seed=1), device="cpu"
    )
    simulation.minimize(100.0, 60)
    simulation.draw_velocities(300, 1)
    simulation.run(1500)
    warm = simulation.state()
    return system, State(warm.positions, warm.velocities, warm.box)


def drift(
    water: tuple[Any, Any], steps: int, timestep: float, long_range_every: int = 1
) -> tuple[float, float]:
    """Slope in kJ/mol/ns per atom, and scatter of the total energy in kJ/mol."""
    integrator = VelocityVerlet(timestep, remove_com_every=0, long_range_every=long_range_every)
    simulation = Simulation(*water, SMOOTH, integrator, device="cpu")
    series = Series(10 * long_range_every)
    simulation.run(steps, [series])
    return slope_and_scatter(series, water[0].atoms)


def slope_and_scatter(series: Series, atoms: int) -> tuple[float, float]:
    """Of the conserved quantity: kJ/mol/ns per atom, and kJ/mol."""
    times, _, _, conserved = series.columns
    line = np.polyfit(times, conserved, 1)
    return 1000 * line[0] / atoms, float(np.std(conserved - np.polyval(line, times)))


@pytest.fixture(scope="module")
def at_constant_energy(water: tuple[Any, Any]) -> tuple[float, float]:
    """Slope and scatter over 5 ps."""
    return drift(water, 2500, 0.002)


def test_energy_is_conserved(at_constant_energy: tuple[float, float]) -> None:
    """5 ps: the bound is that of the noise, about 0.02 kJ/mol/ns per atom; benchmarks/drift.py
    measures the drift itself with a run that is long enough."""
    found, scatter = at_constant_energy
    assert abs(found) < 0.1
    assert scatter < 1.0  # of a kinetic energy of some 5500


@pytest.mark.parametrize(
    ("timestep", "every", "picoseconds"),
    [(0.001, 2, 5), (0.002, 2, 5), pytest.param(0.002, 3, 20, marks=pytest.mark.slow)],
)
def test_energy_is_conserved_between_impulses(
    water: tuple[Any, Any], timestep: float, every: int, picoseconds: float
) -> None:
    """At the steps of impulses, as without them; the scatter is that of longer steps.

    With it grows the noise of the slope: over 5 ps it would be 0.15 for impulses 6 fs apart.
    """
    found, scatter = drift(water, round(picoseconds / timestep), timestep, every)
    assert abs(found) < 0.1
    assert scatter < 4.0


def test_energy_error_falls_with_the_square_of_the_step(water: tuple[Any, Any]) -> None:
    """Velocity Verlet with constraints is of second order: what does it wrong is not."""
    coarse = drift(water, 250, 0.002)[1]
    fine = drift(water, 500, 0.001)[1]
    assert 2.5 < coarse / fine < 6.5


def test_velocity_verlet_is_reversible(water: tuple[Any, Any]) -> None:
    """Back to the start, but for forces in single precision and what constraints leave."""
    system, start = water
    there = Simulation(system, start, SMOOTH, VelocityVerlet(remove_com_every=0), device="cpu")
    there.run(25)
    end = there.state()
    back = Simulation(
        system,
        State(end.positions, -end.velocities, end.box),
        SMOOTH,
        VelocityVerlet(remove_com_every=0),
        device="cpu",
    )
    back.run(25)
    np.testing.assert_allclose(back.state().positions, start.positions, atol=2e-5)


@pytest.mark.parametrize("integrator", [VelocityVerlet(), LangevinMiddle(seed=3)], ids=["e", "t"])
def test_constraints_hold_and_momentum_stays(water: tuple[Any, Any], integrator: Any) -> None:
    simulation = Simulation(*water, SMOOTH, integrator, device="cpu", ranks=2)
    simulation.run(200)
    state = simulation.state()
    assert constraint_error(water[0], state.positions) < 1e-6
    if isinstance(integrator, VelocityVerlet):
        assert momentum(water[0], state.velocities) < 1e-4
        assert residual_stretch(water[0], state) < 1e-3


def test_heat_balances_the_energy(water: tuple[Any, Any]) -> None:
    """Total energy minus heat stays while the thermostat pulls the water from 300 K to 400 K."""
    simulation = Simulation(
        *water, SMOOTH, LangevinMiddle(400, friction=20, timestep=0.001, seed=2), device="cpu"
    )
    series = Series(10)
    simulation.run(600, [series])
    _, kinetic, potential, conserved = series.columns
    gained = (kinetic + potential)[-1] - (kinetic + potential)[0]
    assert gained > 2000
    assert np.ptp(conserved) < 0.02 * gained


def test_heat_lacks_what_constraints_take_from_the_thermostat() -> None:
    """Rigid waters that turn freely, 4 fs: uncounted, that would be -17 and -69 kJ/mol/ns per atom.

    The second bath is that of a simulation which goes on.
    """
    waters = free_waters()
    bath = LangevinMiddle(300, friction=5, timestep=0.004, seed=3, remove_com_every=0)
    simulation = Simulation(
        *waters, Nonbonded(method="cutoff", cutoff=0.9), bath, device="cpu", ranks=2
    )
    simulation.draw_velocities(300, 1)
    simulation.run(50)  # leaves the velocities of the start, which fit the positions too well
    begun = simulation.energies()["conserved"]
    for friction, steps, error in ((5, 500, 0.25), (20, 500, 0.5)):
        simulation.set_conditions(friction=friction)
        simulation.run(steps)
        ended = simulation.energies()["conserved"]
        drift = 1000 * (ended - begun) / waters[0].atoms / (0.004 * steps)
        assert abs(drift) < 5 * error
        begun = ended


def sampled(water: tuple[Any, Any], picoseconds: float, friction: float) -> Series:
    simulation = Simulation(
        *water, SMOOTH, LangevinMiddle(300, friction=friction, seed=4), device="cpu"
    )
    series = Series(100)
    simulation.run(round(picoseconds / 0.002), [series])
    return series


def check_temperature(water: tuple[Any, Any], series: Series) -> None:
    """Mean within 5 standard errors and variance within 5 of a chi-squared distribution."""
    kinetic = series.columns[1]
    freedom = water[0].degrees_of_freedom - 3
    expected = freedom * BOLTZMANN * 300 / 2
    width = expected * np.sqrt(2 / freedom)
    assert abs(kinetic.mean() - expected) < 5 * width / np.sqrt(len(kinetic) / 2) + 2e-3 * expected
    assert np.std(kinetic) == pytest.approx(width, rel=5 / np.sqrt(len(kinetic)))


def validate(water: tuple[Any, Any], series: Series) -> tuple[float, float]:
    """physical_validation's deviations (in standard errors) of temperature and its fluctuation."""
    import physical_validation as pv

    system, state = water
    data = pv.data.SimulationData(
        units=pv.data.UnitData.units("GROMACS"),
        system=pv.data.SystemData(
            natoms=system.atoms,
            nconstraints=len(system.constraints),
            ndof_reduction_tra=3,
            ndof_reduction_rot=0,
        ),
        ensemble=pv.data.EnsembleData(
            "NVT", natoms=system.atoms, volume=float(np.linalg.det(state.box)), temperature=300.0
        ),
        observables=pv.data.ObservableData(
            kinetic_energy=series.columns[1], potential_energy=series.columns[2]
        ),
    )
    np.random.seed(1)  # physical_validation draws its bootstrap from numpy's global state
    found = pv.kinetic_energy.distribution(data, strict=False, verbosity=0)
    return float(found[0]), float(found[1])


@pytest.mark.parametrize("phase", [8, 20])
def test_temperature_counts_the_motion_of_the_centre_of_mass(phase: int) -> None:
    """Of two free atoms, of whose six degrees of freedom three are removed every 20 steps and
    heated again by friction: at any step the temperature is that of the bath."""
    system = quiltmd.System.of([40.0, 20.0])
    start = State(np.array([[0.5, 0.5, 0.5], [1.5, 1.5, 1.5]]), np.zeros((2, 3)), np.eye(3) * 3)
    bath = LangevinMiddle(300, friction=20, timestep=0.002, seed=1, remove_com_every=20)
    plain = Nonbonded(method="cutoff", cutoff=0.9)
    simulation = Simulation(system, start, plain, bath, device="cpu", threads=1)
    simulation.run(1000 + phase)
    found = []
    for _ in range(1500):
        simulation.run(20)
        found.append(simulation.temperature())
    freedom = simulation.degrees_of_freedom
    assert freedom == pytest.approx(6 - 3 * np.exp(-2 * 20 * 0.002 * phase))
    error = 300 * np.sqrt(2 / freedom / len(found) * 2)  # samples are a velocity's lifetime apart
    assert np.mean(found) == pytest.approx(300, abs=5 * error)


def test_kinetic_energy_is_distributed_as_it_should(water: tuple[Any, Any]) -> None:
    """20 ps at a friction of 10 per ps, where samples 0.2 ps apart are nearly independent."""
    series = sampled(water, 20, friction=10)
    check_temperature(water, series)
    mean, width = validate(water, series)
    assert abs(mean) < 4
    assert abs(width) < 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_kinetic_energy_over_a_long_run(water: tuple[Any, Any]) -> None:
    """200 ps at the friction that users take."""
    series = sampled(water, 200, friction=1)
    mean, width = validate(water, series)
    assert abs(mean) < 4
    assert abs(width) < 4


def rescaled(
    water: tuple[Any, Any],
    picoseconds: float,
    thermostat: VelocityRescaling | NoseHooverChain,
    every: float = 0.2,
    timestep: float = 0.002,
    settling: float = 0.0,
) -> Series:
    """A row every so many ps, after `settling` ps."""
    simulation = Simulation(
        *water, SMOOTH, VelocityVerlet(timestep), thermostat=thermostat, device="cpu", threads=2
    )
    simulation.run(round(settling / timestep))
    series = Series(round(every / timestep))
    simulation.run(round(picoseconds / timestep), [series])
    return series


def test_rescaling_balances_the_energy(water: tuple[Any, Any]) -> None:
    """While the water is heated by 100 K, total energy minus heat stays but for the time step.

    Velocity Verlet keeps, of a harmonic vibration, not its energy but K + U (1 - (omega dt)^2 / 4).
    Librations of water at 400 K have more U than at 300 K, so K + U - heat rises: at 700 per cm by
    some 15 kJ/mol at 2 fs, and with the square of the step.  What is left at a step of 0 is an
    error of the heat, of which there are some 3000 kJ/mol.
    """
    rises = []
    for timestep in (0.002, 0.001):
        thermostat = VelocityRescaling(400, time_constant=0.2, seed=2)
        series = rescaled(water, 1.2, thermostat, 0.02, timestep)
        _, kinetic, potential, conserved = series.columns
        assert (kinetic + potential)[-1] - (kinetic + potential)[0] > 1000
        rises.append(conserved[-10:].mean() - conserved[0])
    coarse, fine = rises
    assert abs((4 * fine - coarse) / 3) < 2
    assert 5 < coarse < 25


def test_rescaling_at_its_temperature_scatters_as_without(
    water: tuple[Any, Any], at_constant_energy: tuple[float, float]
) -> None:
    """At its temperature, strongly coupled: no drift, and the scatter of velocity Verlet alone.

    But for that of the librations, whose temperature now varies by some 6 K: see the test above.
    Langevin-middle, which made the start, gives librations another energy: 4 ps let them settle.
    """
    thermostat = VelocityRescaling(300, time_constant=0.02, seed=3)
    series = rescaled(water, 5, thermostat, every=0.02, settling=4)
    found, scatter = slope_and_scatter(series, water[0].atoms)
    assert abs(found) < 0.1
    librations = 0.15 * 300 * np.sqrt(2 / (water[0].degrees_of_freedom - 3))  # kJ/mol/K, K
    assert scatter < 1.25 * np.hypot(at_constant_energy[1], librations)


def test_rescaled_kinetic_energy(water: tuple[Any, Any]) -> None:
    """8 ps with a time constant of 20 fs, where samples 0.2 ps apart are nearly independent."""
    series = rescaled(water, 8, VelocityRescaling(300, time_constant=0.02, seed=4))
    check_temperature(water, series)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_rescaled_ensemble_over_a_long_run(water: tuple[Any, Any]) -> None:
    """200 ps with a time constant of 0.2 ps; the conserved quantity drifts no more than at constant
    energy, and kinetic energies are canonical."""
    series = rescaled(water, 200, VelocityRescaling(300, time_constant=0.2, seed=5))
    mean, width = validate(water, series)
    assert abs(mean) < 4
    assert abs(width) < 4
    slope = 1000 * np.polyfit(series.columns[0], series.columns[3], 1)[0] / water[0].atoms
    assert abs(slope) < 0.03


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_ensemble_of_a_chain(water: tuple[Any, Any]) -> None:
    """100 ps of rigid water with a time constant of 0.05 ps: canonical kinetic energies, and the
    energy of water and chain drifts no more than that of water at constant energy."""
    series = rescaled(water, 100, NoseHooverChain(300, time_constant=0.05, every=2))
    mean, width = validate(water, series)
    assert abs(mean) < 4
    assert abs(width) < 4
    slope = 1000 * np.polyfit(series.columns[0], series.columns[3], 1)[0] / water[0].atoms
    assert abs(slope) < 0.03


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_rescaled_ensembles_of_two_temperatures(water: tuple[Any, Any]) -> None:
    """The ratio of the distributions of total energy at 300 K and 308 K is the Boltzmann factor."""
    import physical_validation as pv

    system, state = water
    found = []
    for temperature in (300.0, 308.0):
        thermostat = VelocityRescaling(temperature, time_constant=0.1, seed=6)
        columns = rescaled(water, 120, thermostat).columns[:, 100:]
        found.append(
            pv.data.SimulationData(
                units=pv.data.UnitData.units("GROMACS"),
                ensemble=pv.data.EnsembleData(
                    "NVT",
                    natoms=system.atoms,
                    volume=float(np.linalg.det(state.box)),
                    temperature=temperature,
                ),
                observables=pv.data.ObservableData(
                    kinetic_energy=columns[1],
                    potential_energy=columns[2],
                    total_energy=columns[1] + columns[2],
                ),
            )
        )
    np.random.seed(1)
    (quantiles,) = pv.ensemble.check(*found, total_energy=True, verbosity=0)
    assert abs(quantiles) < 4


def test_drawn_velocities(water: tuple[Any, Any]) -> None:
    """Temperature, equipartition among directions, rest of the centre of mass, constraints."""
    system, start = water
    simulation = Simulation(system, start, SMOOTH, device="cpu", ranks=3)
    kinetic = []
    for seed in range(40):
        simulation.draw_velocities(300, seed)
        state = simulation.state()
        assert momentum(system, state.velocities) < 1e-6
        assert residual_stretch(system, state) < 1e-3
        kinetic.append(simulation.energies()["kinetic"])
    freedom = system.degrees_of_freedom - 3
    expected = freedom * BOLTZMANN * 300 / 2
    error = expected * np.sqrt(2 / freedom / len(kinetic))
    assert np.mean(kinetic) == pytest.approx(expected, abs=4 * error)
    assert np.std(kinetic) == pytest.approx(error * np.sqrt(40), rel=0.5)
    by_axis = (system.masses @ simulation.state().velocities ** 2) / BOLTZMANN
    assert by_axis / by_axis.mean() == pytest.approx([1, 1, 1], abs=0.12)
    assert quiltmd.digest(state) == quiltmd.digest(simulation.state())
