# SPDX-License-Identifier: Apache-2.0
"""The GPU as users meet it: chosen, listed; memory, blow-ups, minimisation, temperature."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
import pytest
from command import quiltmd as command
from running import Run, relaxed, thermal, usable_gpu

import quiltmd

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:a time step of 4 fs is long:quiltmd.QuiltWarning"),
]

Pair = tuple[quiltmd.System, quiltmd.State]
HERE = Path(__file__).resolve().parent


def test_the_gpu_is_chosen(peptide: Pair) -> None:
    simulation = quiltmd.Simulation(*peptide)
    assert simulation.device == "cuda"
    gpu = usable_gpu()
    assert gpu
    assert simulation.describe()["devices"][0]["name"] == gpu["name"]


def test_devices_are_listed() -> None:
    done = command("devices", "--json")
    assert done.returncode == 0, done.stderr
    gpu = usable_gpu()
    assert gpu
    assert gpu["name"] in done.stdout
    json.loads(done.stdout)


def test_minimisation() -> None:
    system, state = benchmark_systems.water(3.1)
    results = [Run(system, state, device=device).engine.minimize(500.0, 300)
               for device in ("cuda", "cpu")]  # fmt: skip
    start = Run(system, state).engine.energies()["potential"]
    for result in results:
        assert result["converged"]
        assert result["potential"] < start
    assert results[0]["potential"] == pytest.approx(results[1]["potential"], rel=0.02)


def test_blow_up_is_an_error(peptide: Pair) -> None:
    """Two atoms upon each other fly apart; the message says when and who."""
    system, state = peptide
    positions = state.positions.copy()
    waters = np.arange(system.atoms - 30, system.atoms).reshape(-1, 3)
    positions[waters[0]] = positions[waters[5]] + 0.003
    crash = quiltmd.State(positions, state.velocities, state.box)
    simulation = quiltmd.Simulation(
        system, crash, integrator=quiltmd.LangevinMiddle(timestep=0.004, seed=0), device="cuda"
    )
    with pytest.raises(quiltmd.SimulationError, match="atom"):
        simulation.run(200)


def test_a_machine_goes_on_after_a_blow_up(peptide: Pair) -> None:
    test_blow_up_is_an_error(peptide)
    assert np.isfinite(Run(*peptide).advance(100).state().positions).all()


def test_the_thermostat_keeps_its_temperature() -> None:
    """Mean and spread of the kinetic energy of water at 300 K, within five standard errors."""
    system, state = benchmark_systems.water(3.1)
    integrator = quiltmd.LangevinMiddle(friction=20.0, timestep=0.002, seed=2)
    run = Run(system, relaxed(system, state), integrator).advance(5000)
    samples = []
    for _ in range(400):
        run.advance(100)
        samples.append(run.engine.energies()["kinetic"])
    degrees = system.degrees_of_freedom - 3
    expected = 0.5 * degrees * 0.00831446261815324 * 300.0
    error = np.sqrt(2.0 / degrees / len(samples))
    assert np.mean(samples) / expected == pytest.approx(1.0, abs=5 * error + 2e-3)
    spread = np.std(samples) / (expected * np.sqrt(2.0 / degrees))
    assert spread == pytest.approx(1.0, abs=5 / np.sqrt(2 * len(samples)))


def test_a_million_atoms_fit_three_gigabytes() -> None:
    """All the memory that the process takes, the driver's share included."""
    before = usable_gpu()
    assert before
    done = subprocess.run(
        [sys.executable, HERE / "million_atoms.py"],
        capture_output=True,
        text=True,
        timeout=250,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    used = before["free_memory"] - json.loads(done.stdout)["free_memory"]
    assert used < 3e9


# What the benchmark's own input for constant energy says (cutoff 0.8 nm, tolerance 1e-5 at the
# cutoff). The shift changes no force; it spares the fit the jumps of pairs that cross the cutoff.
JAC_NONBONDED = quiltmd.Nonbonded(
    cutoff=0.8, pme_order=4, pme_alpha=3.9467, pme_grid=(64, 64, 64), potential_shift=True
)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("nonbonded", "timestep", "hydrogen_mass", "bound"),
    [
        (JAC_NONBONDED, 0.002, None, 3e-4),
        (JAC_NONBONDED, 0.004, 3.024, None),
        (quiltmd.Nonbonded(potential_shift=True), 0.002, None, None),
    ],
    ids=["2 fs", "4 fs", "default PME tolerance"],
)
def test_energy_is_conserved(
    jac: tuple[Path, Path], nonbonded: quiltmd.Nonbonded, timestep: float,
    hydrogen_mass: float | None, bound: float | None, record_property: Any,
) -> None:  # fmt: skip
    """Drift over 1 ns of NVE, kJ/mol/ns per atom; at 4 fs, and where a loose PME tolerance lets the
    truncated direct sum heat the system, it is only reported.  As in benchmarks/drift.py, 40 ps
    with strong friction and 20 ps at constant energy go before, in which stiff vibrations come to
    the temperature of the rest: their heat is part of what velocity Verlet conserves."""
    system, state = quiltmd.load(*jac, constraints="h-bonds", hydrogen_mass=hydrogen_mass)
    warm_up = quiltmd.LangevinMiddle(friction=5.0, timestep=0.002, seed=5)
    warm = Run(system, thermal(system, state), warm_up).advance(20000).state()
    start = quiltmd.State(warm.positions, warm.velocities, warm.box)
    integrator = quiltmd.VelocityVerlet(timestep=timestep, remove_com_every=0)
    run = Run(system, start, integrator, nonbonded).advance(round(20.0 / timestep))
    steps, block = round(1000.0 / timestep), 1000
    energies = []
    for _ in range(steps // block):
        run.advance(block)
        now = run.engine.energies()
        energies.append(now["potential"] + now["kinetic"])
    times = np.arange(len(energies)) * block * timestep * 1e-3  # ns
    drift = float(np.polyfit(times, energies, 1)[0]) / system.atoms
    record_property("drift", drift)
    print(f"\n{1000 * timestep:g} fs: drift {drift:.2e} kJ/mol/ns per atom")
    assert bound is None or abs(drift) < bound
