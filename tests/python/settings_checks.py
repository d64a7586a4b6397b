# SPDX-License-Identifier: Apache-2.0
"""What every combination of settings must obey, each by an oracle of its own.

Forces are the gradient of the energy and the virial its derivative by strain, in double precision
by differences; the engine agrees with these; degrees of freedom are counted from the constraints'
directions; the conserved quantity is conserved; a stop, and several ranks, change no bit.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from boxes import BOLTZMANN, Array, strained, through_file
from random_settings import TEMPERATURE, Choices, Made, draw, make, simulate

import quiltmd
from quiltmd import (
    BoxError,
    LangevinMiddle,
    Nonbonded,
    QuiltError,
    QuiltWarning,
    Simulation,
    State,
    System,
)

DISPLACEMENT = 1e-7  # nm, and the strain
GRADIENT, VIRIAL = 2e-5, 1e-4  # relative, of differences in double precision
SINGLE = 1e-4  # relative rms of what the engine computes in single precision
STEPS = 200
SHEARS = [(s + s.T) / 2 for s in (np.eye(3, k=1), np.eye(3, k=2), np.diag([0.0, 1.0], k=1))]
# Of the conserved quantity, in kT per root of the degrees of freedom: between the first and the
# last quarter, and from the least to the most.
DRIFT, SCATTER = 0.1, 0.6
Moved: TypeAlias = Callable[[float], State]  # by how far


class BrokenError(AssertionError):
    """A combination for which something is not as it must be."""


def check(seed: int, folder: Path) -> str:
    """What came of the combination of this number: "passed", or why it was refused or stopped.

    Raises
    ------
    BrokenError
        Says what is not as it must be, and names the combination.
    """
    choices = draw(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuiltWarning)
            try:
                made = _settled(make(choices))
            except QuiltError as refusal:
                return f"refused: {refusal}"
            for one in (energies_and_forces, virial, degrees_of_freedom, conserved, bits):
                one(made, choices, folder)
    except BoxError as error:  # a few ions have any pressure
        return f"stopped: {error}"
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {error}\n  {choices}") from error
    return "passed"


def _settled(made: Made) -> Made:
    """Near a minimum, in motion, as after some steps of it; QuiltError where it is refused."""
    simulation = simulate(made)
    simulation.minimize(300.0, 100)
    warm = Simulation(
        made.system,
        simulation.state(),
        made.settings["nonbonded"],
        LangevinMiddle(TEMPERATURE, 20.0, 0.00025, seed=1),
        device="cpu",
        threads=1,
    )
    warm.draw_velocities(TEMPERATURE, seed=2)
    warm.run(200)
    at = warm.state()
    return replace(made, state=State(at.positions, at.velocities, at.box))


# ---- Forces ------------------------------------------------------------------------------------


def energies_and_forces(made: Made, _choices: Choices, _folder: Path) -> None:
    """The engine's are those in double precision, whose forces are the gradient."""
    rng = np.random.default_rng(7)
    system, state, nonbonded = made.system, made.state, made.settings["nonbonded"]
    energies, forces = quiltmd.reference(system, state, nonbonded)
    mobile = (system.masses > 0)[:, None]

    def along() -> tuple[Array, Moved]:
        direction = rng.normal(size=forces.shape) * mobile
        return direction, lambda step: replace(state, positions=state.positions + step * direction)

    direction, slope = slope_of_energy(system, nonbonded, along)
    size = float(np.linalg.norm(forces) * np.linalg.norm(direction) / math.sqrt(forces.size))
    _near("gradient", -slope, float((forces * direction).sum()), GRADIENT * size)
    simulation = simulate(made)
    found = simulation.energies()
    largest = max(abs(value) for value in energies.values())
    for name, value in energies.items():
        _near(f"energy {name}", found[name], value, SINGLE * largest + 1e-3)
    error = float(np.linalg.norm(simulation.forces() - forces) / np.linalg.norm(forces))
    _near("forces of the engine", error, 0.0, SINGLE)


def slope_of_energy(
    system: System, nonbonded: Nonbonded, draw_path: Callable[[], tuple[Array, Moved]]
) -> tuple[Array, float]:
    """The first direction drawn on whose path no pair crosses the cutoff, and the slope there.

    Where a pair crosses it, the energy or its slope may jump.
    """
    while True:
        direction, path = draw_path()
        before, after = path(-DISPLACEMENT), path(DISPLACEMENT)
        if np.array_equal(_within(before, nonbonded), _within(after, nonbonded)):
            break
    low, high = (
        quiltmd.reference(system, state, nonbonded)[0]["potential"] for state in (before, after)
    )
    return direction, float(high - low) / (2 * DISPLACEMENT)


def _within(state: State, nonbonded: Nonbonded) -> Array:
    """By pair of atoms, whether they interact."""
    apart = state.positions[:, None] - state.positions
    if nonbonded.method == "no-cutoff":
        return np.ones(apart.shape[:2])
    if state.box is not None:  # at least two cutoffs wide
        apart -= np.round(apart @ np.linalg.inv(state.box)) @ state.box
    within: Array = np.linalg.norm(apart, axis=2) < nonbonded.cutoff
    return within


def virial(made: Made, choices: Choices, _folder: Path) -> None:
    """Minus the derivative of the energy by strains of the box and the centres of groups."""
    if made.state.box is None:
        return
    system, state, nonbonded = made.system, made.state, made.settings["nonbonded"]
    if not ends_smoothly(choices.nonbonded):  # then the mean beyond the cutoff is no derivative
        nonbonded = replace(nonbonded, dispersion_correction=False)
    exact = quiltmd.reference_virial(system, state, nonbonded)
    rng = np.random.default_rng(8)
    size = float(np.abs(exact).max()) + 0.1 * system.atoms * BOLTZMANN * TEMPERATURE

    def along() -> tuple[Array, Moved]:
        strain = np.diag(rng.normal(size=3))
        if not (len(system.position_restraints) or choices.field):  # what turns with the box
            strain += np.sum([rng.normal() * sheared for sheared in SHEARS], axis=0)
        return strain, lambda step: strained(system, state, step * strain)

    for _ in range(2):
        strain, slope = slope_of_energy(system, nonbonded, along)
        found = float((exact * strain).sum())
        _near("virial by strain", found, -slope, VIRIAL * size)
    engine = simulate(made, nonbonded=nonbonded).virial()
    _near("virial of the engine", float(np.abs(engine - exact).max()), 0.0, 10 * SINGLE * size)


def ends_smoothly(nonbonded: dict[str, Any]) -> bool:
    """Whether Lennard-Jones energies are zero at the cutoff."""
    return (
        nonbonded.get("switching", "none") != "none"
        or nonbonded.get("potential_shift", False)
        or nonbonded.get("lennard_jones") == "pme"
    )


# ---- Motion ------------------------------------------------------------------------------------


def degrees_of_freedom(made: Made, choices: Choices, _folder: Path) -> None:
    """Directions in which atoms can move, less those of the centre of mass where it rests."""
    system = made.system
    simulation = simulate(made)
    directions = _free_directions(system, made.state.positions)
    resting = _axes_at_rest(choices, system)
    _near("degrees of freedom", simulation.degrees_of_freedom, directions - resting, 1e-6)
    simulation.draw_velocities(TEMPERATURE, seed=5)
    drift = system.masses @ simulation.state().velocities / system.masses.sum()
    thermal = math.sqrt(BOLTZMANN * TEMPERATURE / system.masses.sum())
    still = int((np.abs(drift) < 1e-6 * thermal).sum())
    _near("axes on which drawn velocities rest", still, resting, 0.5)


def _free_directions(system: System, positions: Array) -> int:
    """3N of atoms with mass, less the rank of the directions that constraints forbid."""
    rows = np.zeros((len(system.constraints), system.atoms, 3))
    for row, (a, b) in zip(rows, system.constraints, strict=True):
        row[a], row[b] = positions[a] - positions[b], positions[b] - positions[a]
    forbidden = int(np.linalg.matrix_rank(rows.reshape(len(rows), -1))) if len(rows) else 0
    return 3 * int((system.masses > 0).sum()) - forbidden


def _axes_at_rest(choices: Choices, system: System) -> int:
    """Axes along which nothing holds or pulls the system, and its momentum is removed or stays."""
    free = {"x", "y", "z"}
    if "position" in choices.restraints:
        free = set()
    if "position along z" in choices.restraints:
        free -= {"z"}
    if choices.field and abs(system.charges.sum()) > 0.5:
        free -= {"y", "z"}
    stays = choices.integrator == "verlet" and "groups" not in choices.thermostat
    return len(free) if choices.remove_com_every != 0 or stays else 0


def conserved(made: Made, choices: Choices, _folder: Path) -> None:
    """The conserved quantity of the ensemble drifts and scatters little."""
    if not ends_smoothly(choices.nonbonded) or not _charges_end_smoothly(choices.nonbonded):
        return  # energies jump where pairs cross the cutoff
    if choices.field and len(made.system.constant_forces):
        return  # and where an ion comes nearer to another image of its place
    simulation = simulate(made)
    found = []
    for _ in range(STEPS // 4):
        simulation.run(4)  # between impulses it is not defined
        found.append(simulation.energies()["conserved"])
    freedom = max(1.0, simulation.degrees_of_freedom)
    scale = BOLTZMANN * TEMPERATURE * math.sqrt(freedom)
    first, last = np.mean(found[: len(found) // 4]), np.mean(found[-len(found) // 4 :])
    _near("drift of the conserved quantity", float(last - first) / scale, 0.0, DRIFT)
    _near("scatter of the conserved quantity", float(np.ptp(found)) / scale, 0.0, SCATTER)


def _charges_end_smoothly(nonbonded: dict[str, Any]) -> bool:
    method = nonbonded["method"]
    return method in ("no-cutoff", "reaction-field") or nonbonded.get("potential_shift", False)


def bits(made: Made, choices: Choices, folder: Path) -> None:
    """Neither a stop nor the number of ranks changes a bit of state, energies and heat."""
    whole = simulate(made)
    whole.run(STEPS)
    cut = int(np.random.default_rng(choices.seed).integers(1, STEPS))
    first = simulate(made)
    first.run(cut)
    saved = first.checkpoint()
    second = simulate(replace(made, state=through_file(saved.state, folder)))
    second.set_state(second.state(), saved.heat)
    second.run(STEPS - cut)
    spread = simulate(made, ranks=choices.ranks)
    spread.run(STEPS)
    for name, other in ((f"a stop at {cut}", second), (f"{choices.ranks} ranks", spread)):
        for what, one, another in zip(
            ("state", "energies", "heat", "forces"), _bits(whole), _bits(other), strict=True
        ):
            if one != another:
                raise BrokenError(
                    f"{name} changed the bits of the {what}: {one!r:.80} {another!r:.80}"
                )


def _bits(simulation: Simulation) -> tuple[str, dict[str, float], float, bytes]:
    state = quiltmd.digest(simulation.state())
    return state, simulation.energies(), simulation.heat(), simulation.forces().tobytes()


def _near(what: str, found: float, expected: float, within: float) -> None:
    if not abs(found - expected) <= within:
        raise BrokenError(f"{what}: {found:.8g}, expected {expected:.8g} within {within:.2g}")
