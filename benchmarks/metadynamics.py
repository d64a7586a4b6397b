# SPDX-License-Identifier: Apache-2.0
"""Free energy of alanine dipeptide in vacuum along phi and psi, by four ways that must agree.

Plain runs; well-tempered metadynamics, from its bias; a run with the bias that metadynamics left,
which does not change any more, with each sample weighted by exp(V/kT); and, with `--openmm`,
metadynamics of OpenMM (Reference platform).  Each runs for the same time in a process of its own.

    python benchmarks/metadynamics.py --plain 2 --seconds 600 --openmm
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quiltmd
from quiltmd.inputs.standard_systems import system_files

F64 = NDArray[np.float64]
DATA = system_files("alanine")[0].parents[1] / "alanine-dipeptide-gbsa"
FILES = [DATA / f"alanine-dipeptide.{suffix}" for suffix in ("prmtop", "crd")]
ANGLES = {"phi": (5, 7, 9, 15), "psi": (7, 9, 15, 17)}
TIMESTEP, FRICTION = 0.002, 5.0  # ps, 1/ps
BOLTZMANN = 0.00831446261815324  # kJ/mol/K
WIDTH, HEIGHT, FACTOR, PACE = 20.0, 1.2, 8.0, 500  # degrees, kJ/mol, and steps between hills
EVERY = 50  # steps between samples
BINS = 36
BLOCKS = 10
MOST = 20_000  # samples whose bias is calculated
CENTRES = np.linspace(-180, 180, BINS, endpoint=False) + 180 / BINS


@dataclass(frozen=True)
class Found:
    """What a run has sampled: phi and psi in degrees, the weight of each sample, and its length."""

    kelvin: float
    values: F64
    weights: F64
    steps: int
    is_sampled: bool = True  # else values and weights are a table of probabilities

    def row(self) -> str:
        """Its length, and the share of phi > 0; of samples with its error and crossings of phi."""
        length = f"{self.steps * TIMESTEP / 1000:7.1f} ns  phi > 0: "
        length += f"{100 * _share(self.values, self.weights):.2f}"
        if not self.is_sampled:
            return f"{length} %"
        blocks = np.array_split(np.arange(len(self.values)), BLOCKS)
        shares = [_share(self.values[part], self.weights[part]) for part in blocks]
        error = 100 * np.std(shares, ddof=1) / np.sqrt(BLOCKS)
        return f"{length} +- {error:.2f} %, {_crossings(self.values[:, 0])} crossings"

    def profile(self, axis: int) -> F64:
        """(BINS,) free energy along an angle, kJ/mol."""
        counts, _ = np.histogram(self.values[:, axis], BINS, (-180, 180), weights=self.weights)
        with np.errstate(divide="ignore"):
            return -BOLTZMANN * self.kelvin * np.log(counts / counts.sum())


def _share(values: F64, weights: F64) -> float:
    return float(weights[values[:, 0] > 0].sum() / weights.sum())


def _crossings(phi: F64) -> int:
    sides = np.where((phi > 30) & (phi < 110), 1, np.where(phi < -30, -1, 0))
    return int((np.diff(sides[sides != 0]) != 0).sum())


class Samples:
    """A reporter that collects phi and psi."""

    every, needs = EVERY, ("energies",)

    def __init__(self) -> None:
        self.rows: list[list[float]] = []

    def report(self, frame: Any) -> None:
        """Takes the values of a frame."""
        found = frame.collective()
        self.rows.append([found[name].value for name in ANGLES])


def started(device: str, kelvin: float, seed: int) -> quiltmd.Simulation:
    """A minimised simulation whose angles are read."""
    system, state = quiltmd.load(*FILES, constraints="h-bonds")
    angles = [
        quiltmd.Restraint("torsion", [f"index {n}" for n in atoms], 0.0, angle=0.0, name=name)
        for name, atoms in ANGLES.items()
    ]
    system = quiltmd.restrain(system, angles, state.positions, None)
    langevin = quiltmd.LangevinMiddle(kelvin, FRICTION, TIMESTEP, seed=seed)
    threads = 1 if device == "cpu" else None
    made = quiltmd.Simulation(system, state, integrator=langevin, device=device, threads=threads)
    made.minimize(max_iterations=200)
    made.draw_velocities(kelvin, seed)
    return made


def plain(device: str, kelvin: float, seed: int, seconds: float) -> dict[str, Found]:
    """A run without a bias."""
    run, samples, end = started(device, kelvin, seed), Samples(), time.monotonic() + seconds
    while time.monotonic() < end:
        run.run(20_000, reporters=[samples])
    values = np.array(samples.rows)
    return {"plain": Found(kelvin, values, np.ones(len(values)), run.step)}


def biased(device: str, kelvin: float, seed: int, seconds: float) -> dict[str, Found]:
    """Metadynamics for half of the time, then its last bias for the other half."""
    run, samples, fixed = started(device, kelvin, seed), Samples(), Samples()
    settings = quiltmd.Metadynamics(("phi", "psi"), (WIDTH, WIDTH), HEIGHT, FACTOR, every=PACE)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        hills = quiltmd.Hills(Path(folder) / "HILLS", settings, run)
        while time.monotonic() < begin + seconds / 2:
            run.run(hills.set_at(run) - run.step, reporters=[samples])
        hills.close()
    last = run.step
    while time.monotonic() < begin + seconds:
        run.run(20_000, reporters=[fixed])
    at = last * TIMESTEP * np.linspace(0.5, 1.0, 11)[1:]
    bias = np.mean([bias_of(hills, before) for before in at], axis=0)
    values = np.array(fixed.rows)[:: 1 + len(fixed.rows) // MOST]
    weights = np.exp(np.array([hills.energy(one) for one in values]) / (BOLTZMANN * kelvin))
    crossed = _crossings(np.array(samples.rows)[:, 0])
    print(f"metadynamics on {device}: {crossed} crossings while hills were added")
    return {
        f"bias of metadynamics, {device}": of_bias(kelvin, bias, last),
        f"constant bias, {device}": Found(kelvin, values, weights, run.step - last),
    }


def bias_of(hills: quiltmd.Hills, before: float) -> F64:
    """(BINS, BINS) bias in the middle of bins, by phi and psi."""
    return np.array([[hills.energy([x, y], before) for y in CENTRES] for x in CENTRES])


def of_bias(kelvin: float, bias: F64, steps: int) -> Found:
    """The distribution whose free energy is -bias, scaled: a weight for each bin."""
    values = np.stack(np.meshgrid(CENTRES, CENTRES, indexing="ij"), -1).reshape(-1, 2)
    energies = (bias - bias.max()).ravel() * FACTOR / (FACTOR - 1)
    weights = np.exp(energies / (BOLTZMANN * kelvin))
    return Found(kelvin, values, weights, steps, is_sampled=False)


def by_openmm(_: str, kelvin: float, seed: int, seconds: float) -> dict[str, Found]:
    """Metadynamics of OpenMM with the same settings: its mean bias in the second half."""
    import openmm
    from openmm import app
    from openmm.app.metadynamics import BiasVariable, Metadynamics

    topology, places = app.AmberPrmtopFile(str(FILES[0])), app.AmberInpcrdFile(str(FILES[1]))
    system = topology.createSystem(nonbondedMethod=app.NoCutoff, constraints=app.HBonds)
    variables = []
    for atoms in ANGLES.values():
        force = openmm.CustomTorsionForce("theta")
        force.addTorsion(*[n - 1 for n in atoms], [])
        variables.append(BiasVariable(force, -np.pi, np.pi, np.radians(WIDTH), True))
    meta = Metadynamics(system, variables, kelvin, FACTOR, HEIGHT, PACE)
    langevin = openmm.LangevinMiddleIntegrator(kelvin, FRICTION, TIMESTEP)
    langevin.setRandomNumberSeed(seed)
    platform = openmm.Platform.getPlatformByName("Reference")
    run = app.Simulation(topology.topology, system, langevin, platform)
    run.context.setPositions(places.positions)
    run.minimizeEnergy()
    run.context.setVelocitiesToTemperature(kelvin, seed)
    end, biases = time.monotonic() + seconds, []
    while time.monotonic() < end:
        meta.step(run, 20 * PACE)
        unit = openmm.unit.kilojoules_per_mole
        biases.append(-meta.getFreeEnergy().value_in_unit(unit) * (FACTOR - 1) / FACTOR)
    bias = np.mean(biases[len(biases) // 2 :], axis=0).T  # the last variable is its first axis
    points = np.linspace(-180, 180, bias.shape[0])
    return {"OpenMM's metadynamics": of_bias(kelvin, on_bins(points, bias), run.currentStep)}


def on_bins(points: F64, values: F64) -> F64:
    """A table over all angles, ends included, in the middle of bins: linear in both."""
    along = np.array([np.interp(CENTRES, points, column) for column in values.T]).T
    return np.array([np.interp(CENTRES, points, row) for row in along])


def joined(runs: list[Found]) -> Found:
    return Found(
        runs[0].kelvin,
        np.concatenate([one.values for one in runs]),
        np.concatenate([one.weights for one in runs]),
        sum(one.steps for one in runs),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plain", type=int, default=1, help="number of plain runs")
    parser.add_argument("--kelvin", type=float, default=500.0, help="temperature")
    parser.add_argument("--seconds", type=float, default=60.0, help="time of each run")
    parser.add_argument("--devices", default="cpu", help="of metadynamics, as cpu,cuda")
    parser.add_argument("--openmm", action="store_true", help="also metadynamics of OpenMM")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    works: list[tuple[Callable[..., Any], str]] = [(plain, "cpu")] * options.plain
    works += [(biased, device) for device in options.devices.split(",")]
    works += [(by_openmm, "")] * options.openmm
    with ProcessPoolExecutor(len(works), get_context("spawn")) as pool:
        waiting = [
            pool.submit(work, device, options.kelvin, seed, options.seconds)
            for seed, (work, device) in enumerate(works, 1)
        ]
        results = [one.result() for one in waiting]
    found = {"plain runs": joined([one["plain"] for one in results[: options.plain]])}
    for one in results[options.plain :]:
        found.update(one)
    reference = next(one for name, one in found.items() if name.startswith("constant"))
    for name, one in found.items():
        away = []
        for axis in range(2):
            profile, expected = one.profile(axis), reference.profile(axis)
            low = expected < expected.min() + 20.0
            away.append(f"{np.abs(profile - expected)[low].max():.2f}")
        print(f"{name:30} {one.row()}; largest differences {' and '.join(away)} kJ/mol")


if __name__ == "__main__":
    main()
