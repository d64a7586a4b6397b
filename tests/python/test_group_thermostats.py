# SPDX-License-Identifier: Apache-2.0
"""Velocity rescaling and Nose-Hoover chains with a heat bath for each group of atoms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import momentum, stopped_and_not, warm_water
from scipy import stats

import quiltmd
from quiltmd import (
    Barostat,
    BathGroup,
    BerendsenBarostat,
    BerendsenThermostat,
    CellRescaling,
    LangevinMiddle,
    Nonbonded,
    NoseHooverChain,
    QuiltError,
    Simulation,
    State,
    Thermostat,
    VelocityRescaling,
    VelocityVerlet,
)

PLAIN = Nonbonded(method="cutoff", cutoff=0.9)


@pytest.fixture(scope="module")
def water() -> tuple[Any, Any]:
    """344 waters, relaxed, drawn at 300 K."""
    return warm_water((7, 7, 8), 300)


def in_halves(system: Any, one: float, other: float, time_constant: float = 0.05) -> Any:
    """Groups of the first half of the atoms and of the second, at temperatures."""
    half = system.atoms // 2
    return (
        BathGroup(f"index 1-{half}", one, time_constant=time_constant),
        BathGroup(f"not index 1-{half}", other, time_constant=time_constant),
    )


def coupled(
    start: tuple[Any, Any], thermostat: Thermostat, timestep: float = 0.002, **more: Any
) -> Simulation:
    return Simulation(
        *start, None, VelocityVerlet(timestep), thermostat=thermostat, device="cpu", **more
    )


# ---- what they do


@pytest.mark.filterwarnings("ignore:the Berendsen thermostat:quiltmd.QuiltWarning")
@pytest.mark.parametrize(
    ("one", "of_groups"),
    [
        (
            VelocityRescaling(350, 0.1, seed=3, every=2),
            VelocityRescaling(groups=(BathGroup("all", 350, time_constant=0.1),), seed=3, every=2),
        ),
        (
            NoseHooverChain(350, 0.1, every=2),
            NoseHooverChain(groups=(BathGroup("all", 350, time_constant=0.1),), every=2),
        ),
        (
            BerendsenThermostat(350, 0.1, every=2),
            BerendsenThermostat(groups=(BathGroup("all", 350, time_constant=0.1),), every=2),
        ),
    ],
    ids=["rescaling", "chain", "berendsen"],
)
def test_one_group_of_all_atoms_is_one_bath(
    water: tuple[Any, Any], one: Thermostat, of_groups: Thermostat
) -> None:
    alone, grouped = coupled(water, one), coupled(water, of_groups, ranks=2)
    for simulation in (alone, grouped):
        simulation.run(45)
    assert (alone.state().positions == grouped.state().positions).all()
    assert (alone.state().velocities == grouped.state().velocities).all()
    assert [*alone.state().variables.values()] == [*grouped.state().variables.values()]
    assert alone.heat() == pytest.approx(grouped.heat(), abs=1e-9)
    assert abs(alone.heat()) > 1
    assert grouped.degrees_of_freedom == alone.degrees_of_freedom
    assert grouped.group_temperatures() == pytest.approx([alone.temperature()], rel=1e-6)


def test_each_gas_is_canonical_at_its_temperature() -> None:
    """4 atoms at 200 K and 6 at 400 K side by side: chi-squared kinetic energies, and no drift."""
    masses = np.array([4.0, 40.0] * 5)
    system = quiltmd.System.of(masses)
    rng = np.random.default_rng(3)
    start = State(rng.uniform(0, 4, (10, 3)), rng.normal(0, 0.5, (10, 3)), np.eye(3) * 4)
    groups = (
        BathGroup("index 1-4", 200, time_constant=0.02),
        BathGroup("index 5-10", 400, time_constant=0.03),
    )
    simulation = Simulation(
        system,
        start,
        PLAIN,
        VelocityVerlet(0.01, remove_com_every=0),
        thermostat=VelocityRescaling(groups=groups, seed=1, every=1),
        device="cpu",
    )
    assert simulation.group_degrees_of_freedom() == pytest.approx([12, 18])
    found = []

    class Series:
        every = 10  # of which kinetic energies remember exp(-0.1 / 0.03), 4 %
        needs = ("energies", "state")

        def report(self, frame: Any) -> None:
            found.append((*frame.group_temperatures(), frame.energies()["conserved"]))

    simulation.run(30_000, [Series()])
    cold, hot, conserved = np.array(found[10:]).T
    assert stats.kstest(12 * cold / 200, stats.chi2(12).cdf).pvalue > 1e-3
    assert stats.kstest(18 * hot / 400, stats.chi2(18).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(cold, hot)[0, 1]) < 5 / np.sqrt(len(cold))
    assert np.ptp(conserved) < 1e-3


@pytest.mark.parametrize("chained", [False, True], ids=["rescaling", "chains"])
def test_waters_in_contact(water: tuple[Any, Any], chained: bool) -> None:
    """Halves of a drop stay apart in temperature; heat flows, and what is conserved is."""
    groups = in_halves(water[0], 250, 350, 0.02)
    thermostat = (
        NoseHooverChain(groups=groups, every=2)
        if chained
        else VelocityRescaling(groups=groups, seed=2, every=2)
    )
    ends = []
    for ranks in (1, 3):
        simulation = coupled(water, thermostat, 0.001, ranks=ranks)
        before, heat, temperatures = simulation.energies(), [], []
        for _ in range(60):
            simulation.run(10)
            heat.append(simulation.heat())
            temperatures.append(simulation.group_temperatures())
        conserved = simulation.energies()["conserved"]
        ends.append((quiltmd.digest(simulation.state()), *heat))
    assert ends[0] == ends[1]
    cold, hot = np.mean(temperatures[20:], axis=0)
    assert cold == pytest.approx(250, abs=10)
    assert hot == pytest.approx(350, abs=10)
    assert np.abs(np.diff(heat)).sum() > 1000
    assert conserved == pytest.approx(before["conserved"], abs=10)
    assert simulation.degrees_of_freedom == pytest.approx(water[0].degrees_of_freedom - 3)


def test_the_centre_of_mass_is_brought_to_rest(water: tuple[Any, Any]) -> None:
    """Factors that differ set it in motion; its removal is counted as heat."""
    system, state = water
    push = np.where(np.arange(system.atoms) < system.atoms // 2, 0.2, -0.2)[:, None]
    start = replace(state, velocities=state.velocities + push * [1.0, 0.0, 0.0])
    moved = []
    for every in (0, 20):
        simulation = Simulation(
            system,
            start,
            None,
            VelocityVerlet(0.001, remove_com_every=every),
            thermostat=VelocityRescaling(groups=in_halves(system, 100, 500, 0.02), seed=1, every=1),
            device="cpu",
        )
        before = simulation.energies()["conserved"]
        simulation.run(19)
        moved.append(momentum(system, simulation.state().velocities))
        simulation.run(41)
        moved.append(momentum(system, simulation.state().velocities))
        assert simulation.energies()["conserved"] == pytest.approx(before, abs=10)
        missing = system.degrees_of_freedom - simulation.degrees_of_freedom
        assert missing == pytest.approx(3 if every else 0)
    assert min(moved[0], moved[1], moved[2]) > 1e-2
    assert moved[3] < 0.4 * moved[1]  # what 20 steps since the last removal have done


def test_a_run_goes_on_with_its_baths(water: tuple[Any, Any], tmp_path: Path) -> None:
    """From a checkpoint between two actions, on other ranks."""
    for thermostat in (
        VelocityRescaling(groups=in_halves(water[0], 280, 350), seed=2, every=4),
        NoseHooverChain(groups=in_halves(water[0], 280, 350), every=4),
    ):
        whole, stopped = stopped_and_not(
            lambda ranks, thermostat=thermostat: coupled(water, thermostat, ranks=ranks), tmp_path
        )
        assert (whole.group_temperatures() == stopped.group_temperatures()).all()


# ---- conditions


@pytest.mark.parametrize("kind", ["rescaling", "chains", "langevin"])
def test_conditions_are_those_of_a_new_simulation(water: tuple[Any, Any], kind: str) -> None:
    """One temperature for both groups, or one for each, from a step on; on any ranks."""
    half = f"index 1-{water[0].atoms // 2}"

    def simulation(state: Any, cold: float, hot: float, ranks: int) -> Simulation:
        if kind == "langevin":
            groups = BathGroup(half, cold, 5), BathGroup(f"not {half}", hot, 5)
            bath = LangevinMiddle(groups=groups, seed=1)
            return Simulation(water[0], state, integrator=bath, device="cpu", ranks=ranks)
        halves = in_halves(water[0], cold, hot)
        thermostat = (
            NoseHooverChain(groups=halves, every=4)
            if kind == "chains"
            else VelocityRescaling(groups=halves, seed=1, every=4)
        )
        return coupled((water[0], state), thermostat, ranks=ranks)

    changed, several = simulation(water[1], 250, 290, 1), simulation(water[1], 250, 290, 2)
    for one in (changed, several):
        one.run(22)
        one.set_conditions(temperature=280)
        one.run(10)
        one.set_conditions(temperature=(200.0, 300.0))
    made = simulation(changed.state(), 200, 300, 3)
    for one in (changed, several, made):
        one.run(22)
    assert quiltmd.digest(changed.state()) == quiltmd.digest(made.state())
    assert quiltmd.digest(changed.state()) == quiltmd.digest(several.state())
    bath = changed.integrator if kind == "langevin" else changed.thermostat
    assert bath.temperatures() == (200, 300)  # type: ignore[union-attr]
    with pytest.raises(QuiltError, match="temperature: 3 values for 2 groups of atoms"):
        changed.set_conditions(temperature=(1, 2, 3))
    if kind == "langevin":
        changed.set_conditions(friction=(1, 20))
        assert changed.integrator.groups[1].friction == 20  # type: ignore[union-attr]
    else:
        with pytest.raises(QuiltError, match=r"(Rescaling|Chain) has no friction"):
            changed.set_conditions(friction=2)


# ---- what goes together


def test_a_barostat_needs_one_temperature(water: tuple[Any, Any]) -> None:
    unlike = VelocityRescaling(groups=in_halves(water[0], 280, 350), seed=1)
    alike = VelocityRescaling(groups=in_halves(water[0], 300, 300), seed=1)
    with pytest.raises(QuiltError, match=r"CellRescaling: .* one temperature, .* have 280, 350 K"):
        coupled(water, unlike, barostat=CellRescaling())
    with pytest.warns(quiltmd.QuiltWarning, match="ensemble"):
        coupled(water, unlike, barostat=BerendsenBarostat()).run(20)
    ends = []
    for ranks in (1, 2):
        simulation = coupled(water, alike, barostat=CellRescaling(seed=1), ranks=ranks)
        simulation.run(45)
        ends.append((quiltmd.digest(simulation.state()), simulation.heat()))
    assert ends[0] == ends[1]
    with pytest.raises(QuiltError, match=r"one temperature, .* have 280, 300 K"):
        simulation.set_conditions(temperature=(280, 300))
    simulation.set_conditions(temperature=310)
    simulation.run(20)


def test_nonsense_is_refused(water: tuple[Any, Any]) -> None:
    groups = (BathGroup("index 1-3", 300, 5.0), BathGroup("not index 1-3"))
    with pytest.raises(
        QuiltError, match="bath of 'index 1-3' takes a time_constant, not a friction"
    ):
        VelocityRescaling(groups=groups)
    with pytest.raises(QuiltError, match="takes a friction, not a time_constant"):
        LangevinMiddle(groups=(BathGroup("all", time_constant=1.0),))
    with pytest.raises(QuiltError, match="VelocityRescaling: there may be up to 16 groups"):
        VelocityRescaling(groups=(BathGroup("all"),) * 17)
    with pytest.raises(QuiltError, match=r"each group has its own temperature: leave out .* .310"):
        VelocityRescaling(310, groups=(BathGroup("all"),))
    with pytest.raises(QuiltError, match="each group has its own friction"):
        LangevinMiddle(friction=2, groups=(BathGroup("all"),))
    with pytest.raises(QuiltError, match="BathGroup: time_constant"):
        BathGroup("all", time_constant=0)
    with pytest.raises(QuiltError, match="VelocityRescaling cannot be combined with Langevin"):
        Simulation(*water, thermostat=VelocityRescaling(groups=(BathGroup("all"),)), device="cpu")
    short = NoseHooverChain(groups=(BathGroup("all", time_constant=0.05),), every=10)
    with pytest.raises(QuiltError, match="lower 'every', or raise 'time_constant'"):
        coupled(water, short)
    with pytest.raises(QuiltError, match="the temperature must be positive"):
        coupled(water, NoseHooverChain(groups=(BathGroup("all", 0.0),)))
    assert VelocityRescaling(groups=(BathGroup("all"),)).groups[0].time_constant == 1
    for base in (Thermostat, Barostat):
        with pytest.raises(
            QuiltError, match=rf"{base.__name__} is the base class of .* use one of them"
        ):
            base()
