# SPDX-License-Identifier: Apache-2.0
"""Impulses of the long-range force: the trajectory is that of a plain loop over steps.

The loop has its forces in double precision and splits them its own way: the direct Coulomb sum is
taken pair by pair from what `reference` gives for all, and what is left is long-range.  Where runs
are stopped and how many ranks there are is the matter of test_invariance.py.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from boxes import COULOMB, Array, engine, state_of, water_box
from scipy.special import erf, erfc

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State, VelocityVerlet, _core

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

CUTOFF, ALPHA = 0.6, 4.5
NONBONDED = Nonbonded(cutoff=CUTOFF, pme_alpha=ALPHA, pme_grid=(24, 24, 24), pme_order=5)
TIMESTEP, DAMPING = 0.0005, 20.0
FIRST, STEPS = 5, 36  # from and to no multiple of 2 or 3
INTEGRATORS = {
    "nve": VelocityVerlet(TIMESTEP, remove_com_every=0),
    "nvt": LangevinMiddle(0, DAMPING, TIMESTEP, remove_com_every=0),  # no noise, damping alone
}
both_ensembles = pytest.mark.parametrize("ensemble", INTEGRATORS)


@pytest.fixture(scope="module")
def water() -> tuple[Any, Any]:
    """64 flexible waters in motion, at an odd step."""
    system, state = water_box((4, 4, 4), seed=7, spacing=0.32, rigid=False)
    core = engine(system, state, NONBONDED)
    core.minimize(500.0, 50)
    core.draw_velocities(300.0, 4)
    found = state_of(core)
    return system, State(found.positions, found.velocities, found.box, step=FIRST)


def direct_coulomb(system: Any, positions: Array, box: Array) -> Array:
    """Forces of erfc within the cutoff, and of what excluded pairs have too much in the mesh."""
    apart = positions[:, None] - positions[None]
    apart -= np.round(apart / np.diag(box)) * np.diag(box)
    distance = np.linalg.norm(apart, axis=2) + np.eye(len(positions))
    screening = 2 * ALPHA / np.sqrt(np.pi) * np.exp(-((ALPHA * distance) ** 2)) / distance
    inside = (distance < CUTOFF) & ~np.eye(len(positions), dtype=bool)
    excluded = np.zeros_like(inside)
    excluded[tuple(system.exclusions.T)] = excluded[tuple(system.exclusions.T[::-1])] = True
    near = erfc(ALPHA * distance) / distance**2 + screening
    far = screening - erf(ALPHA * distance) / distance**2
    strength = COULOMB * np.outer(system.charges, system.charges) / distance
    strength *= np.where(excluded, far, np.where(inside, near, 0.0))
    forces: Array = np.einsum("ij,ijd->id", strength, apart)
    return forces


class Forces:
    """Short-range and long-range forces of positions, in double precision."""

    def __init__(self, system: Any, box: Array) -> None:
        self._system, self._box = system, box
        self._arrays = system.arrays()
        self._neutral = {**self._arrays, "charges": np.zeros(system.atoms)}
        self._settings = NONBONDED.resolve(box)

    def __call__(self, positions: Array) -> tuple[Array, Array]:
        def reference(arrays: Any) -> Array:
            found = _core.reference(arrays, self._settings, self._box, positions)
            return np.asarray(found["forces"])

        uncharged = reference(self._neutral)
        direct = direct_coulomb(self._system, positions, self._box)
        return uncharged + direct, reference(self._arrays) - uncharged - direct


def plain_loop(system: Any, state: Any, ensemble: str, every: int) -> tuple[Array, Array]:
    """Positions and velocities after STEPS steps."""
    split = Forces(system, state.box)
    x, v = np.array(state.positions), np.array(state.velocities)

    def acceleration(step: int) -> Array:
        near, far = split(x)
        total = near + every * far if step % every == 0 else near
        change: Array = total / system.masses[:, None]
        return change

    a = acceleration(state.step)
    for step in range(state.step + 1, state.step + STEPS + 1):
        if ensemble == "nve":
            v = v + 0.5 * TIMESTEP * a
            x = x + TIMESTEP * v
            a = acceleration(step)
            v = v + 0.5 * TIMESTEP * a
        else:
            v = v + TIMESTEP * a
            x = x + 0.5 * TIMESTEP * v
            v = np.exp(-DAMPING * TIMESTEP) * v
            x = x + 0.5 * TIMESTEP * v
            if step < state.step + STEPS:
                a = acceleration(step)
    return x, v


@pytest.fixture(scope="module")
def loops(water: tuple[Any, Any]) -> Any:
    """`plain_loop` of the water, once for each ensemble and interval."""
    return functools.cache(functools.partial(plain_loop, *water))


@both_ensembles
@pytest.mark.parametrize("every", [1, 2, 3])
def test_it_is_the_plain_loop(
    water: tuple[Any, Any], loops: Any, ensemble: str, every: int
) -> None:
    """To what is left by forces in single precision, and by a pair that crosses the cutoff a step
    earlier; impulses at other steps are far off."""
    core = engine(*water, NONBONDED, replace(INTEGRATORS[ensemble], long_range_every=every))
    core.run(STEPS)
    found = state_of(core)
    x, v = loops(ensemble, every)
    np.testing.assert_allclose(found.positions, x, rtol=0, atol=5e-7)
    np.testing.assert_allclose(found.velocities, v, rtol=0, atol=1e-4)
    other = loops(ensemble, every + 1)
    assert np.abs(found.positions - other[0]).max() > 1e-5


@both_ensembles
def test_energies_and_forces_are_those_of_everything(water: tuple[Any, Any], ensemble: str) -> None:
    """Whatever the step, and though the mesh was not used for it."""
    every_step, every_third = (
        engine(*water, NONBONDED, replace(INTEGRATORS[ensemble], long_range_every=n))
        for n in (1, 3)
    )
    for _ in range(4):
        every_third.run(1)
        every_step.set_state(**every_third.state())
        assert (every_third.forces() == every_step.forces()).all()
        assert every_third.energies() == {
            **every_step.energies(),
            "heat": every_third.energies()["heat"],
        }
        assert every_third.force_sum() == (0, 0, 0)


def test_minimisation_uses_all_forces(water: tuple[Any, Any]) -> None:
    """At any step."""
    minima = []
    for every in (1, 3):
        core = engine(*water, NONBONDED, VelocityVerlet(long_range_every=every))
        minima.append(core.minimize(100.0, 20))
    assert minima[0] == minima[1]


def test_without_a_mesh_it_changes_nothing(water: tuple[Any, Any]) -> None:
    digests = set()
    for every in (1, 3):
        integrator = VelocityVerlet(TIMESTEP, long_range_every=every)
        core = engine(*water, Nonbonded(cutoff=CUTOFF, method="cutoff"), integrator)
        core.run(STEPS)
        digests.add(quiltmd.digest(state_of(core)))
    assert len(digests) == 1
    rare = VelocityVerlet(0.004, long_range_every=100)
    Simulation(*water, Nonbonded(cutoff=CUTOFF, method="cutoff"), rare, device="cpu")


@pytest.mark.parametrize(
    ("rigid", "timestep", "fits", "message"),
    [
        (True, 0.004, 2, "3 steps of 4 fs are too long .* at most 8 fs"),
        (False, 0.0005, 8, "9 steps of 0.5 fs are too long .* at most 4.05 fs"),
    ],
)
def test_impulses_that_would_heat(rigid: bool, timestep: float, fits: int, message: str) -> None:
    """Half the period of a flexible O-H bond is 4.5 fs: the water would boil within picoseconds."""
    pair = water_box((4, 4, 4), seed=7, rigid=rigid)
    integrator = VelocityVerlet(timestep, long_range_every=fits)
    Simulation(*pair, NONBONDED, integrator, device="cpu")
    too_rare = replace(integrator, long_range_every=fits + 1)
    with pytest.raises(quiltmd.QuiltError, match=message):
        Simulation(*pair, NONBONDED, too_rare, device="cpu")
