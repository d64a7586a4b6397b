# SPDX-License-Identifier: Apache-2.0
"""Thermostats and conditions that change in mid-run: the same bits however runs are cut, as on a
simulation made so, and the ensemble that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import benchmark_systems
import numpy as np
import pytest
from numpy.typing import NDArray
from running import Pair, relaxed

import quiltmd
from quiltmd import (
    BathGroup,
    LangevinMiddle,
    NoseHooverChain,
    Simulation,
    Thermostat,
    VelocityRescaling,
    VelocityVerlet,
)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:a time step of 4 fs is long:quiltmd.QuiltWarning"),
]

BOLTZMANN = 0.00831446261815324
CUTS = [(240,), (40,) * 6, (10,) * 24, (1,) * 60 + (180,), (7, 31, 1, 92, 109)]


@pytest.fixture(scope="module")
def water() -> Pair:
    """990 waters, relaxed, 300 K."""
    system, state = benchmark_systems.water(3.1)
    return system, relaxed(system, state)


def chained(pair: Pair, every: int = 5, temperature: float = 350.0) -> Simulation:
    verlet = VelocityVerlet(0.004 if pair[0].atoms > 10000 else 0.002)
    thermostat = NoseHooverChain(temperature, 0.1, every=every)
    return Simulation(*pair, None, verlet, thermostat=thermostat, device="cuda")


def rescaling(pair: Pair, every: int, temperature: float = 300.0, **settings: Any) -> Simulation:
    thermostat = VelocityRescaling(temperature, seed=5, every=every, **settings)
    verlet = VelocityVerlet(0.004 if pair[0].atoms > 10000 else 0.002)
    return Simulation(*pair, None, verlet, thermostat=thermostat, device="cuda")


def cut(simulation: Simulation, blocks: tuple[int, ...]) -> tuple[str, float]:
    """State and heat after these runs."""
    for steps in blocks:
        simulation.run(steps)
    return quiltmd.digest(simulation.state()), simulation.heat()


def check_blocks(start: Pair, simulation: Callable[[Pair], Simulation]) -> None:
    """The same bits for blocks of any length, and from a state on the way."""
    ends = {cut(simulation(start), blocks) for blocks in CUTS}
    assert len(ends) == 1, ends
    first = simulation(start)
    first.run(98)
    second = simulation((start[0], first.state()))
    assert cut(second, (142,))[0] == ends.pop()[0]


def agreeing_temperatures(simulation: Callable[[str], Simulation]) -> NDArray[np.float64]:
    """Temperatures of groups after 16 steps on the GPU; so far those of the CPU, as is the heat."""
    runs = [simulation(device) for device in ("cuda", "cpu")]
    for _ in range(4):
        for run in runs:
            run.run(4)
        here, there = (run.group_temperatures() for run in runs)
        assert here == pytest.approx(there, rel=1e-4)
        assert runs[0].heat() == pytest.approx(runs[1].heat(), rel=1e-3, abs=1.0)
    return here


@pytest.mark.parametrize("every", [1, 10])
def test_rescaling_in_any_blocks(warm: Pair, every: int) -> None:
    ends = {cut(rescaling(warm, every), blocks) for blocks in CUTS}
    assert len(ends) == 1, ends


def test_rescaling_goes_on_from_a_state(warm: Pair) -> None:
    whole = cut(rescaling(warm, 4), (240,))[0]
    first = rescaling(warm, 4)
    first.run(97)
    assert cut(rescaling((warm[0], first.state()), 4), (143,))[0] == whole


def test_a_chain_in_any_blocks_and_from_a_state(warm: Pair) -> None:
    """Its variables are kept by recorded blocks, epochs that are redone, and States."""
    ends = {cut(chained(warm), blocks) for blocks in CUTS}
    assert len(ends) == 1, ends
    first = chained(warm)
    first.run(98)
    assert any(first.state().variables.values())
    assert cut(chained((warm[0], first.state())), (142,))[0] == ends.pop()[0]


@pytest.mark.parametrize(
    "thermostat",
    [
        NoseHooverChain(400.0, 0.02, every=1),
        VelocityRescaling(400.0, seed=5, every=1, time_constant=0.02),
    ],
    ids=["chains", "rescaling"],
)
def test_thermostats_act_as_on_the_cpu(water: Pair, thermostat: Thermostat) -> None:
    """Kinetic energies and chains follow those of the cpu while rounding has not yet grown."""
    verlet = VelocityVerlet(0.002)
    runs = [
        Simulation(*water, None, verlet, thermostat=thermostat, device=device)
        for device in ("cuda", "cpu")
    ]
    for _ in range(5):
        kinetic, chains = [], []
        for run in runs:
            run.run(4)
            kinetic.append(run.energies()["kinetic"])
            chains.append(run.state().variables)
        assert kinetic[0] == pytest.approx(kinetic[1], rel=1e-4)
        assert chains[0] == pytest.approx(chains[1], rel=1e-3, abs=1e-3)


def parts(pair: Pair, count: int) -> list[str]:
    """Selections of as many groups of consecutive molecules of about one size."""
    molecules = pair[0].molecules
    cuts = np.linspace(0, molecules.max() + 1, count + 1).astype(int)
    ends = np.searchsorted(molecules, cuts)
    return [f"index {begin + 1}-{end}" for begin, end in pairwise(ends)]


def of_groups(pair: Pair, *baths: tuple[float, float]) -> LangevinMiddle:
    """As many groups with temperatures and frictions."""
    groups = (
        BathGroup(part, *bath) for part, bath in zip(parts(pair, len(baths)), baths, strict=True)
    )
    timestep = 0.004 if pair[0].atoms > 10000 else 0.002
    return LangevinMiddle(groups=tuple(groups), timestep=timestep, seed=3)


SCALINGS = pytest.mark.parametrize("kind", ["rescaling", "chains"])


def scaled(
    pair: Pair, kind: str, *kelvin: float, every: int = 2, device: str = "cuda"
) -> Simulation:
    """Velocities of as many groups are scaled to temperatures, with 0.05 ps."""
    groups = tuple(
        BathGroup(part, temperature, time_constant=0.05)
        for part, temperature in zip(parts(pair, len(kelvin)), kelvin, strict=True)
    )
    thermostat = (
        NoseHooverChain(groups=groups, every=every)
        if kind == "chains"
        else VelocityRescaling(groups=groups, seed=5, every=every)
    )
    verlet = VelocityVerlet(0.002)
    return Simulation(*pair, None, verlet, thermostat=thermostat, device=device)


@pytest.fixture(scope="module")
def waters(water: Pair) -> list[Pair]:
    """A box that has a lane for each atom, and one so large that each group has a thread."""
    system, state = benchmark_systems.water(9.4)
    return [water, (system, relaxed(system, state))]


@pytest.mark.parametrize("size", [0, 1])
def test_baths_that_are_alike_are_one(waters: list[Pair], size: int) -> None:
    several = of_groups(waters[size], (310.0, 5.0), (310.0, 5.0), (310.0, 5.0))
    one = LangevinMiddle(310.0, 5.0, several.timestep, seed=3)
    ends = [
        cut(Simulation(*waters[size], None, bath, device="cuda"), (60,)) for bath in (one, several)
    ]
    assert ends[0][0] == ends[1][0]
    assert ends[0][1] == pytest.approx(ends[1][1], abs=1e-6)


@pytest.mark.parametrize("size", [0, 1])
def test_groups_follow_those_of_the_cpu(waters: list[Pair], size: int) -> None:
    """Temperatures of groups and heat, while rounding has not yet grown."""
    bath = of_groups(waters[size], (100.0, 50.0), (600.0, 50.0), (300.0, 0.0))
    here = agreeing_temperatures(
        lambda device: Simulation(*waters[size], None, bath, device=device)
    )
    assert here[1] > here[2] + 20
    assert here[0] < here[2] - 20


def test_groups_in_any_blocks_and_from_a_state(water: Pair) -> None:
    bath = of_groups(water, (250.0, 2.0), (350.0, 20.0))
    check_blocks(water, lambda start: Simulation(*start, None, bath, device="cuda"))


@SCALINGS
def test_one_group_of_all_atoms_is_one_bath(waters: list[Pair], kind: str) -> None:
    for water in waters:
        grouped = scaled(water, kind, 350.0)
        single = (
            NoseHooverChain(350.0, 0.05, every=2)
            if kind == "chains"
            else VelocityRescaling(350.0, 0.05, seed=5, every=2)
        )
        alone = Simulation(*water, None, VelocityVerlet(0.002), thermostat=single, device="cuda")
        for run in (grouped, alone):
            run.run(60)
        one, other = grouped.state(), alone.state()
        assert (one.velocities == other.velocities).all()
        assert [*one.variables.values()] == [*other.variables.values()]
        assert grouped.heat() == pytest.approx(alone.heat(), abs=1e-6)


@SCALINGS
@pytest.mark.parametrize("size", [0, 1])
def test_scaled_groups_follow_those_of_the_cpu(waters: list[Pair], kind: str, size: int) -> None:
    """Temperatures of groups and heat, while rounding has not yet grown."""
    here = agreeing_temperatures(
        lambda device: scaled(waters[size], kind, 100.0, 600.0, 300.0, device=device)
    )
    apart = 2 if kind == "chains" else 20  # K; chains begin at rest
    assert here[0] < here[2] - apart
    assert here[1] > here[2] + apart


@SCALINGS
def test_scaled_groups_in_any_blocks_and_from_a_state(water: Pair, kind: str) -> None:
    check_blocks(water, lambda start: scaled(start, kind, 250.0, 350.0, every=5))


@SCALINGS
def test_temperatures_of_groups_change(water: Pair, kind: str) -> None:
    """Recorded blocks of steps go on with the new ones, as a simulation that is made so."""
    changed = scaled(water, kind, 250.0, 290.0)
    changed.run(60)
    changed.set_conditions(temperature=(200.0, 280.0))
    made = scaled((water[0], changed.state()), kind, 200.0, 280.0)
    assert cut(changed, (90,))[0] == cut(made, (10,) * 9)[0]


@SCALINGS
def test_groups_keep_their_temperatures(water: Pair, kind: str) -> None:
    """Halves of a box of water in contact; heat flows from one to the other, none is lost.

    So each is some 4 K off (on a CPU 283.5 and 316.1 K by rescaling, 281.1 and 319.1 by chains).
    """
    simulation = scaled(water, kind, 280.0, 320.0)
    simulation.run(2000)
    found, conserved = [], []
    for _ in range(200):
        simulation.run(50)
        found.append(simulation.group_temperatures())
        conserved.append(simulation.energies()["conserved"])
    assert np.mean(found, axis=0) == pytest.approx([280.0, 320.0], abs=6.0)
    drift = np.polyfit(np.arange(200) * 0.1, conserved, 1)[0]  # kJ/mol/ps
    assert abs(drift) < 1e-3 * water[0].atoms


def moments(simulation: Simulation, samples: int, every: int) -> tuple[float, float]:
    """Mean and spread of the kinetic energy over those of the canonical ensemble at 300 K, in
    standard errors of independent samples."""
    kinetic = []
    for _ in range(samples):
        simulation.run(every)
        kinetic.append(simulation.energies()["kinetic"])
    degrees = simulation.system.degrees_of_freedom - 3
    expected = 0.5 * degrees * BOLTZMANN * 300.0
    width = expected * np.sqrt(2.0 / degrees)
    return (
        (np.mean(kinetic) - expected) / (width / np.sqrt(samples)),
        (np.std(kinetic) / width - 1.0) * np.sqrt(2 * samples),
    )


def test_rescaled_kinetic_energy_is_canonical(water: Pair) -> None:
    """Strongly coupled, so that samples 0.2 ps apart are nearly independent."""
    simulation = rescaling(water, 1, time_constant=0.02)
    simulation.run(5000)
    mean, spread = moments(simulation, 400, 100)
    assert abs(mean) < 5
    assert abs(spread) < 5


def test_conditions_in_any_blocks(warm: Pair) -> None:
    """A change of temperature and friction at step 100, and another at 150."""
    ends = set()
    for blocks in ((100, 50, 90), (100, 50) + (10,) * 9, (1,) * 40 + (60, 25, 25, 90)):
        simulation = Simulation(*warm, None, LangevinMiddle(280.0, timestep=0.004, seed=3),
                                device="cuda")  # fmt: skip
        done = 0
        for steps in blocks:
            simulation.run(steps)
            done += steps
            if done == 100:
                simulation.set_conditions(temperature=200.0, friction=20.0)
            if done == 150:
                simulation.set_conditions(temperature=250.0)
        ends.add((quiltmd.digest(simulation.state()), simulation.heat()))
    assert len(ends) == 1, ends


def test_conditions_are_those_of_a_new_simulation(warm: Pair) -> None:
    changed = Simulation(*warm, None, LangevinMiddle(280.0, 1.0, 0.004, seed=3), device="cuda")
    changed.run(60)
    changed.set_conditions(temperature=200.0, friction=20.0)
    middle = changed.state()
    made = Simulation(
        warm[0], middle, None, LangevinMiddle(200.0, 20.0, 0.004, seed=3), device="cuda"
    )
    assert cut(changed, (30, 60))[0] == cut(made, (90,))[0]


def test_a_thermostats_conditions(warm: Pair) -> None:
    changed = rescaling(warm, 4, 280.0)
    changed.run(60)
    changed.set_conditions(temperature=200.0)
    made = rescaling((warm[0], changed.state()), 4, 200.0)
    assert cut(changed, (90,))[0] == cut(made, (10,) * 9)[0]


def test_the_bath_follows_its_conditions(water: Pair) -> None:
    """From 250 K to 300 K with strong friction: then the ensemble of 300 K."""
    simulation = Simulation(*water, None, LangevinMiddle(250.0, 20.0, 0.002, seed=2), device="cuda")
    simulation.run(2000)
    simulation.set_conditions(temperature=300.0)
    simulation.run(5000)
    mean, spread = moments(simulation, 400, 100)
    assert abs(mean) < 6
    assert abs(spread) < 5
