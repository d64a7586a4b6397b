# SPDX-License-Identifier: Apache-2.0
"""The tail correction: the mean-field energy of all that is left out, and its virial.

Against quadrature of textbook formulas, against differences of energies by the box, and against
GROMACS 2022.5 (double precision) on single atoms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from boxes import BAR, Array, lj_table
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from test_pair_forms import FORMS
from test_switching import energy_at
from test_tabulated_pairs import DISTANCES, LAST, ROW, tables
from test_tabulated_pairs import energies as tabulated_energies

import quiltmd
from quiltmd import Nonbonded, Simulation, State, System

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

CUTOFF, START = 0.9, 0.7  # START: of switching, as in test_switching
ALPHA = 3.3
Energy = Callable[[float], float]

_A, _B = lj_table(np.array([0.34, 0.28, 1.0]), np.array([1.0, 0.4, 0.0]))
_SPECIAL = np.array([[1, 1.3, 0], [1.3, 1, 0], [0, 0, 0]])  # follows no combination rule
TABLES: dict[str, Array] = {
    "lennard-jones": np.stack([_A, _B]),
    "special": np.stack([_A * _SPECIAL, _B * np.sqrt(_SPECIAL)]),
    **{form: of_types for form, (of_types, _) in FORMS.items()},
    "tabulated": tables(),
}


def energy_of(form: str, i: int, j: int) -> Energy:
    """Of a pair of types, by the textbook."""
    if form == "tabulated":
        spline = CubicSpline(DISTANCES, tabulated_energies()[ROW[i, j]], bc_type="natural")
        return lambda r: float(spline(r)) if r < LAST else 0.0
    p = TABLES[form][:, i, j]
    if form not in FORMS:
        return lambda r: p[0] / r**12 - p[1] / r**6
    words = FORMS[form][1].format(r="r").replace("^", "**")
    given = {"exp": np.exp, **dict(zip("abcd", p, strict=False))}
    return lambda r: float(eval(words, given | {"r": r}))


def on_mesh(form: str, i: int, j: int) -> Energy:
    """What Lennard-Jones PME has of a pair: -c_i c_j (1 - g)/r^6, by the geometric rule."""
    product = np.sqrt(TABLES[form][1, i, i] * TABLES[form][1, j, j])

    def energy(r: float) -> float:
        x2 = (ALPHA * r) ** 2
        return float(-product / r**6 * (1 - np.exp(-x2) * (1 + x2 + x2 * x2 / 2)))

    return energy


def atoms(form: str) -> tuple[System, State]:
    """Single atoms of three kinds on a shaken lattice."""
    rng = np.random.default_rng(4)
    places = np.indices((6, 6, 6)).reshape(3, -1).T * 0.4 + rng.normal(scale=0.02, size=(216, 3))
    kinds, zeros = np.arange(216) % 3, np.zeros(216)
    if form in ("lennard-jones", "special"):
        system = System.of(zeros + 40.0, zeros, kinds, *TABLES[form])
    else:
        forms = {"pair_form": form, "pair_tables": list(TABLES[form])}
        system = System.of(zeros + 40.0, zeros, kinds, [], [], **forms)
    return system, State(places, 0 * places, 2.4 * np.eye(3))


def settings(ending: str, correction: bool = True) -> Nonbonded:
    chosen: dict[str, Any] = {"cutoff": CUTOFF, "dispersion_correction": correction}
    if ending == "mesh":
        mesh: dict[str, Any] = {"lj_pme_alpha": ALPHA, "lj_pme_grid": (32, 32, 32)}
        return Nonbonded(lennard_jones="pme", pme_order=5, **mesh, **chosen)
    if ending in ("none", "shift"):
        return Nonbonded(method="cutoff", potential_shift=ending == "shift", **chosen)
    return Nonbonded(method="cutoff", switching=ending, switch_distance=START, **chosen)  # type: ignore[arg-type]


def left_out(form: str, ending: str, i: int, j: int) -> float:
    """The integral of (E - what is computed of it) r^2."""
    full = energy_of(form, i, j)
    far = LAST if form == "tabulated" else np.inf
    if ending == "mesh":
        mesh = on_mesh(form, i, j)
        constant = full(CUTOFF) - mesh(CUTOFF)
        tail = quad(lambda r: (full(r) - mesh(r)) * r * r, CUTOFF, far, epsabs=1e-13)[0]
        return float(constant * CUTOFF**3 / 3 + tail)
    tail = quad(lambda r: full(r) * r * r, CUTOFF, far, epsabs=1e-13)[0]
    if ending == "shift":
        return float(full(CUTOFF) * CUTOFF**3 / 3 + tail)
    if ending == "none":
        return float(tail)
    a, b = TABLES[form][:, i, j]
    lost = lambda r: full(r) - energy_at(ending, r, a, b)  # noqa: E731
    inside = quad(lambda r: lost(r) * r * r, START, CUTOFF, epsabs=1e-13)[0]
    return float(lost(START - 1e-9) * START**3 / 3 + inside + tail)


CASES = [
    *[(form, "shift") for form in TABLES],
    *[(form, "none") for form in TABLES],
    *[("special", ending) for ending in ("potential", "charmm", "charmm-force", "gromacs-force")],
    ("lennard-jones", "mesh"),
    ("special", "mesh"),
]


@pytest.mark.parametrize(("form", "ending"), CASES)
def test_the_energy_is_the_integral_of_all_that_is_left_out(form: str, ending: str) -> None:
    system, state = atoms(form)
    count, total, n = np.bincount(system.lj_types), 0.0, system.atoms
    for i in range(3):
        for j in range(i + 1):
            pairs = count[i] * (count[i] + 1) / 2 if i == j else count[i] * count[j]
            total += pairs * left_out(form, ending, i, j)
    expected = 2 * np.pi * n**2 / 2.4**3 * total / (n * (n + 1) / 2)
    found = [
        quiltmd.reference(system, state, settings(ending, on))[0]["dispersion"]
        for on in (False, True)
    ]
    assert found[1] - found[0] == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize(("form", "ending"), [case for case in CASES if case[1] != "none"])
def test_the_virial_is_the_slope_of_the_energy(form: str, ending: str) -> None:
    """Where no energy jumps at the cutoff."""
    system, state = atoms(form)
    chosen = settings(ending)

    def energy(scale: float) -> float:
        there = State(state.positions * scale, state.velocities, state.box * scale)
        return float(quiltmd.reference(system, there, chosen)[0]["potential"])

    step = 1e-7  # no pair comes across the cutoff
    slope = (energy(1 - step) - energy(1 + step)) / (2 * step)
    virial = np.trace(quiltmd.reference_virial(system, state, chosen))
    assert virial == pytest.approx(slope, rel=1e-5)
    simulation = Simulation(system, state, chosen, device="cpu")
    assert np.trace(simulation.virial()) == pytest.approx(virial, rel=1e-5, abs=1e-3)


def argon() -> tuple[System, State]:
    eps, sigma, n, edge = 0.997, 0.34, 512, 2.9
    rng = np.random.default_rng(1)
    places = np.indices((8, 8, 8)).reshape(3, -1).T / 8 * edge + rng.normal(0, 0.02, (n, 3))
    a, b = [[4 * eps * sigma**12]], [[4 * eps * sigma**6]]
    system = System.of(np.full(n, 39.948), lj_a=a, lj_b=b)
    return system, State(places, 0 * places, edge * np.eye(3))


@pytest.mark.parametrize(
    ("ending", "energy", "pressure"),
    [
        ("none", -190.057, -258.552),
        ("shift", -376.787, -258.552),
        ("potential", -273.958, -186.526),
        ("gromacs-force", -502.352, -345.729),
    ],
)
def test_it_is_that_of_gromacs(ending: str, energy: float, pressure: float) -> None:
    """DispCorr = AllEnerPres: "Disper. corr." and "Pres. DC" of its log.

    GROMACS takes atoms out of the spheres around themselves, where the energy is lower by a
    constant: N/2 times this, at any volume, which is a constant.
    """
    system, state = argon()
    a, b = (float(np.asarray(table)[0, 0]) for table in (system.lj_a, system.lj_b))
    near = START - 1e-9
    constants = {
        "shift": a / CUTOFF**12 - b / CUTOFF**6,
        "gromacs-force": a / near**12 - b / near**6 - energy_at("gromacs-force", near, a, b),
    }
    own = system.atoms / 2 * constants.get(ending, 0.0)
    found = quiltmd.reference(system, state, settings(ending))[0]["dispersion"]
    assert found - own == pytest.approx(energy, rel=2e-5)
    virials = [
        np.trace(quiltmd.reference_virial(system, state, settings(ending, on)))
        for on in (False, True)
    ]
    assert (virials[1] - virials[0]) / 3 / 2.9**3 * BAR == pytest.approx(pressure, rel=2e-5)
