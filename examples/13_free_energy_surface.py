# SPDX-License-Identifier: Apache-2.0
"""Free energy of alanine dipeptide in vacuum along phi and psi, in three ways.

A long plain run, well-tempered metadynamics, and umbrella windows that exchange replicas, all at
500 K.  `python 13_free_energy_surface.py` runs a few steps of each; with 400 as its argument, it
runs 400 times as many (40 ns, 8 ns, and 18 windows of 0.4 ns).  Parts whose files exist are not
run again.  With matplotlib, it draws free_energy_surface.png.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

import quiltmd
from quiltmd.inputs.standard_systems import system_files

KT = 0.00831446 * 500.0  # kJ/mol
PLAIN, HILLS, WINDOW = 50_000, 10_000, 500  # steps
EVERY = 50  # steps between samples
BINS = 36
CENTRES = np.arange(-180, 180, 20.0)
STIFF = 100.0  # kJ/mol/rad^2
ANGLES = {"phi": (5, 7, 9, 15), "psi": (7, 9, 15, 17)}
LONGER = int(sys.argv[1]) if len(sys.argv) > 1 else 1
LANGEVIN = quiltmd.LangevinMiddle(500.0, 5.0, 0.002, seed=1)


def restrained(k):
    """The system with restraints on both angles, of this force constant on phi and none on psi."""
    given = []
    for name, atoms in ANGLES.items():
        groups = [f"index {n}" for n in atoms]
        stiff = k if name == "phi" else 0.0
        given.append(quiltmd.Restraint("torsion", groups, stiff, angle=0.0, name=name))
    return quiltmd.restrain(system, given, state.positions, None)


class Samples:
    """A reporter that collects phi and psi."""

    every, needs = EVERY, ("energies",)

    def __init__(self):
        self.rows = []

    def report(self, frame):
        """Takes the values of a frame."""
        found = frame.collective()
        self.rows.append([found[name].value for name in ANGLES])


def minimised(given):
    simulation = quiltmd.Simulation(given, state, integrator=LANGEVIN, device="cpu", threads=1)
    simulation.minimize(max_iterations=200)
    simulation.draw_velocities(500.0, 1)
    return simulation


def plain():
    """Samples of a plain run."""
    simulation, samples = minimised(restrained(0.0)), Samples()
    simulation.run(PLAIN * LONGER, reporters=[samples])
    np.save("plain.npy", samples.rows)


def metadynamics():
    """Minus the bias of well-tempered metadynamics, scaled: the mean of the second half."""
    simulation = minimised(restrained(0.0))
    settings = quiltmd.Metadynamics(("phi", "psi"), (20.0, 20.0), 1.2, 8.0, every=500)
    hills = quiltmd.Hills("HILLS", settings, simulation)
    last = HILLS * LONGER
    while simulation.step < last:
        simulation.run(min(last, hills.set_at(simulation)) - simulation.step)
    hills.close()
    half = np.linspace(0.5, 1.0, 11)[1:] * simulation.time
    bias = [[[hills.energy([x, y], before) for y in GRID] for x in GRID] for before in half]
    np.save("metadynamics.npy", -8.0 / 7.0 * np.mean(bias, axis=0))


def windows():
    """Samples of umbrella windows along phi."""
    start = minimised(restrained(0.0)).state()
    exchange = quiltmd.ReplicaExchange(
        restrained(STIFF),
        start,
        quiltmd.window_states("phi", CENTRES, 500.0),
        every=100,
        seed=1,
        integrator=LANGEVIN,
        devices=["cpu"],
        threads=1,
    )
    exchange.draw_velocities()
    settle = max(1, WINDOW * LONGER // 1000)
    exchange.run(settle)
    samples = [Samples() for _ in CENTRES]
    exchange.run(max(1, WINDOW * LONGER // 100), [[one] for one in samples])
    np.save("windows.npy", [one.rows for one in samples])


def surface(values, weights=None):
    """(BINS, BINS) free energy, kJ/mol; infinite where there are no samples."""
    square = [[-180, 180]] * 2
    counts, _, _ = np.histogram2d(*np.transpose(values), BINS, square, weights=weights)
    with np.errstate(divide="ignore"):
        return -KT * np.log(counts)


def of_windows(rows):
    """The surface from windows, which the WHAM equations combine; k phi^2/2 is the bias."""
    values = rows.reshape(-1, 2)
    away = np.radians((values[:, :1] - CENTRES + 180) % 360 - 180)
    factors = np.exp(-0.5 * STIFF * away**2 / KT)
    free = np.ones(len(CENTRES))
    for _ in range(500):
        weights = 1 / (factors @ (1 / free))
        free = weights @ factors / weights.sum()
    return surface(values, weights)


def compared(name, values, reference):
    """The surface, shifted to that of the plain run, and how far it is from it.

    In bins with at least a thousandth of the samples of the plain run.
    """
    sure = (counts >= 1e-3 * counts.sum()) & np.isfinite(values)
    shift = np.average((values - reference)[sure], weights=counts[sure])
    away = np.abs(values - reference - shift)[sure]
    print(f"{name}: mean {away.mean():.2f}, largest {away.max():.2f} kJ/mol, {sure.sum()} bins")
    return values - shift


def draw(surfaces):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
    lowest = min(values.min() for values in surfaces.values())
    for axis, (name, values) in zip(axes, surfaces.items(), strict=True):
        shown = np.where(np.isfinite(values), values - lowest, np.nan)
        levels = np.arange(0, 44, 4)
        filled = axis.contourf(GRID, GRID, shown.T, levels, cmap="viridis_r", extend="max")
        axis.set(title=name, xlabel="phi, degrees", xticks=range(-180, 181, 90))
    axes[0].set(ylabel="psi, degrees", yticks=range(-180, 181, 90))
    figure.colorbar(filled, ax=axes, label="free energy, kJ/mol")
    figure.savefig("free_energy_surface.png", dpi=120)


GRID = np.linspace(-180, 180, BINS, endpoint=False) + 180 / BINS
data = system_files("alanine")[0].parents[1] / "alanine-dipeptide-gbsa"
system, state = quiltmd.load(
    data / "alanine-dipeptide.prmtop", data / "alanine-dipeptide.crd", constraints="h-bonds"
)
for part in (plain, metadynamics, windows):
    if not Path(f"{part.__name__}.npy").exists():
        part()
samples = np.load("plain.npy")
counts, _, _ = np.histogram2d(*samples.T, BINS, [[-180, 180]] * 2)
of_plain = surface(samples)
surfaces = {"plain run": of_plain}
for name, values in (
    ("metadynamics", np.load("metadynamics.npy")),
    ("umbrella windows", of_windows(np.load("windows.npy"))),
):
    surfaces[name] = compared(name, values, of_plain)
if importlib.util.find_spec("matplotlib"):
    draw(surfaces)
