# SPDX-License-Identifier: Apache-2.0
"""Metadynamics: energies and forces of hills, ranks, restarts, a known free energy, refusals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quiltmd
from quiltmd import (
    Hills,
    LangevinMiddle,
    Metadynamics,
    Nonbonded,
    QuiltError,
    Restraint,
    Simulation,
    State,
    System,
)
from quiltmd.outputs.collective import CollectiveReporter
from quiltmd.running.hills import read_hills

VACUUM = Nonbonded(method="no-cutoff")
KT = 0.00831446261815324 * 300
VARIABLES = [
    Restraint("distance", ("index 1", "index 4"), 0.0, lower=0.4, name="d"),
    Restraint("torsion", ("index 1", "index 2", "index 3", "index 4"), 0.0, angle=0.0, name="t"),
]
PLANE = Metadynamics(("t", "d"), (25.0, 0.03), 1.5, 8.0, every=10, range=((), (0.1, 0.8)))


@pytest.fixture(scope="module")
def chain() -> tuple[System, State]:
    """Four atoms in a row, in a vacuum, with both variables."""
    bonds = np.array([[0, 1], [1, 2], [2, 3]])
    system = System.of(
        np.full(4, 12.0),
        bonds=bonds,
        bond_parameters=np.tile([0.15, 1e5], (3, 1)),
        angles=np.array([[0, 1, 2], [1, 2, 3]]),
        angle_parameters=np.tile([1.9, 400.0], (2, 1)),
        exclusions=np.array(list(pairwise(range(4)))),
    )
    positions = np.array([[0.05, 0.14, 0.0], [0, 0, 0], [0.15, 0, 0], [0.2, 0.1, 0.1]])
    system = quiltmd.restrain(system, VARIABLES, positions, None)
    return system, State.start(system, positions, None)


def simulate(chain: tuple[System, State], **others: Any) -> Simulation:
    others.setdefault("integrator", LangevinMiddle(300.0, 5.0, seed=3))
    made = Simulation(*chain, VACUUM, device="cpu", threads=1, **others)
    if not chain[1].velocities.any():
        made.draw_velocities(300.0, 2)
    return made


def advance(simulation: Simulation, hills: Hills, last: int, *reporters: Any) -> None:
    while simulation.step < last:
        end = min(last, hills.set_at(simulation))
        simulation.run(end - simulation.step, reporters)


@pytest.mark.parametrize("names", [("t",), ("d",), ("t", "d")])
def test_forces_and_energies_are_those_of_the_hills(
    chain: tuple[System, State], names: tuple[str, ...], tmp_path: Path
) -> None:
    places = [PLANE.variables.index(name) for name in names]
    settings = Metadynamics(
        names,
        tuple(PLANE.width[k] for k in places),
        1.5,
        every=10,
        range=tuple(PLANE.range[k] for k in places) if PLANE.range else None,
    )
    made = simulate(chain)
    hills = Hills(tmp_path / "HILLS", settings, made)
    advance(made, hills, 205)
    hills.close()
    rows = read_hills(tmp_path / "HILLS", settings)
    assert len(rows) == 20
    assert rows[0, 0] == pytest.approx(10 * made.integrator.timestep)
    readings = made.collective()
    energy = hills.energy([readings[name].value for name in names])
    assert energy > 1
    assert made.energies()["restraint"] == pytest.approx(energy, abs=2e-3)
    forces = made.forces()
    bare = Simulation(*chain, VACUUM, device="cpu", threads=1)
    bare.set_state(made.state())
    of_bias = forces - bare.forces()
    assert np.abs(of_bias).max() > 1
    at = made.state()
    for atom, axis in ((0, 0), (2, 1), (3, 2)):
        energies = []
        for step in (1e-5, -1e-5):
            moved = at.positions.copy()
            moved[atom, axis] += step
            made.place(moved)
            energies.append(made.energies()["restraint"])
        slope = -(energies[0] - energies[1]) / 2e-5
        assert of_bias[atom, axis] == pytest.approx(slope, abs=2e-3)


def test_hills_do_not_depend_on_ranks_and_restarts(
    chain: tuple[System, State], tmp_path: Path
) -> None:
    whole, path = simulate(chain), tmp_path / "HILLS"
    hills = Hills(path, PLANE, whole)
    advance(whole, hills, 140)
    hills.close()
    part = simulate(chain, ranks=2)
    hills = Hills(tmp_path / "part", PLANE, part)
    advance(part, hills, 73)
    hills.sync()
    mark = hills.mark()
    advance(part, hills, 95)  # beyond the checkpoint
    hills.close()
    part = simulate(chain, ranks=2)
    hills = Hills(tmp_path / "other", PLANE, part)
    advance(part, hills, 73)
    hills.close()
    again = simulate((chain[0], part.state()), ranks=3)
    hills = Hills(tmp_path / "part", PLANE, again, mark, 0)
    advance(again, hills, 140)
    hills.close()
    assert path.read_bytes() == (tmp_path / "part").read_bytes()
    assert np.array_equal(whole.state().positions, again.state().positions)
    assert whole.energies()["potential"] == again.energies()["potential"]


def test_hills_migrate_with_the_simulation(chain: tuple[System, State], tmp_path: Path) -> None:
    stayed, moved = simulate(chain), simulate(chain)
    for name, one in (("stayed", stayed), ("moved", moved)):
        hills = Hills(tmp_path / name, PLANE, one)
        advance(one, hills, 60)
        if one is moved:
            one.migrate("cpu")
        advance(one, hills, 120)
        hills.close()
    assert np.array_equal(stayed.state().positions, moved.state().positions)
    assert (tmp_path / "stayed").read_bytes() == (tmp_path / "moved").read_bytes()


def test_the_bias_makes_a_known_free_energy_flat(tmp_path: Path) -> None:
    """Of an atom on a spring in three dimensions: F(r) = k/2 r^2 - 2 kT ln r."""
    system = System.of(
        np.full(2, 20.0), bonds=np.array([[0, 1]]), bond_parameters=np.array([[0.0, 50.0]])
    )
    one = Restraint("distance", ("index 1", "index 2"), 0.0, lower=0.3, name="r")
    positions = np.array([[0, 0, 0], [0.3, 0, 0]])
    system = quiltmd.restrain(system, [one], positions, None)
    made = Simulation(
        system,
        State.start(system, positions, None),
        VACUUM,
        LangevinMiddle(300.0, 5.0, timestep=0.004, seed=1),
        device="cpu",
        threads=1,
    )
    made.draw_velocities(300.0, 1)
    settings = Metadynamics(("r",), (0.05,), 0.6, 6.0, every=50, range=((0.0, 1.6),))
    hills = Hills(tmp_path / "HILLS", settings, made)
    advance(made, hills, 60_000)
    hills.close()
    distances = np.linspace(0.15, 0.75, 25)
    found = -6 / 5 * np.array([hills.energy([r]) for r in distances])
    exact = 25 * distances**2 - 2 * KT * np.log(distances)
    difference = (found - found.mean()) - (exact - exact.mean())
    assert np.abs(difference).max() < 2.0


def test_the_bias_is_in_the_table(chain: tuple[System, State], tmp_path: Path) -> None:
    made = simulate(chain)
    hills = Hills(tmp_path / "HILLS", PLANE, made)
    reporter = CollectiveReporter(tmp_path / "collective.csv", 5, made, bias=hills)
    advance(made, hills, 60, reporter)
    hills.close()
    reporter.close()
    rows = np.genfromtxt(tmp_path / "collective.csv", delimiter=",", names=True)
    assert (rows["bias"][:2] == 0).all()  # the first hill comes after the row of step 10
    assert (rows["bias"][2:] > 0).all()
    now = made.collective()
    assert rows["bias"][-1] == pytest.approx(
        hills.energy([now["t"].value, now["d"].value], made.time)
    )


def test_what_makes_no_sense_is_refused(chain: tuple[System, State], tmp_path: Path) -> None:
    made = simulate(chain)
    for settings, text in (
        (Metadynamics(("d",), (0.1,), 1.0), "smallest and the largest"),
        (Metadynamics(("x",), (0.1,), 1.0), "no collective restraint 'x'"),
        (Metadynamics(("t",), (20.0,), 1.0, range=((0.0, 1.0),)), "give an empty pair"),
        (Metadynamics(("d",), (0.1,), 1.0, range=((1.0, 0.0),)), "ascend"),
    ):
        with pytest.raises(QuiltError, match=text):
            Hills(tmp_path / "HILLS", settings, made)
    for wrong in ({"variables": ("a", "a")}, {"width": (0.1, 0.1)}, {"bias_factor": 1.0}):
        with pytest.raises(QuiltError, match=next(iter(wrong))):
            Metadynamics(**{"variables": ("a",), "width": (0.1,), "height": 1.0, **wrong})
    constant = simulate(chain, integrator=quiltmd.VelocityVerlet())
    with pytest.raises(QuiltError, match="one heat bath"):
        Hills(tmp_path / "HILLS", PLANE, constant)
    (tmp_path / "HILLS").write_text("#! FIELDS time a b\n0.1 0.2\n")
    with pytest.raises(QuiltError, match="the variables of this file are not t, d"):
        read_hills(tmp_path / "HILLS", PLANE)
    (tmp_path / "HILLS").write_text("#! FIELDS time t d\n0.1 0.2\n")
    with pytest.raises(QuiltError, match="line 2"):
        read_hills(tmp_path / "HILLS", PLANE)
