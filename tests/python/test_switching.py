# SPDX-License-Identifier: Apache-2.0
"""Switching functions of Lennard-Jones interactions against OpenMM's Reference platform."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from boxes import Array, lj_table
from openmm_reference import energy_and_forces
from scipy.integrate import quad

import quiltmd

CUTOFF, START = 0.9, 0.7
SIGMA, EPSILON = np.array([0.3, 0.25, 0.1]), np.array([0.7, 0.4, 0.0])

# E as a function of r, a and b, by the papers; S and its argument written apart from the core.
FORMS = {
    "charmm": "(a/r^12 - b/r^6)*s; s = select(step(rs-r), 1, t); "
    "t = (rc^2-r^2)^2*(rc^2+2*r^2-3*rs^2)/(rc^2-rs^2)^3",
    "charmm-force": "select(step(rs-r), near, far);"
    "near = a*(1/r^12 - 1/(rc*rs)^6) - b*(1/r^6 - 1/(rc*rs)^3);"
    "far = a*rc^6/(rc^6-rs^6)*(1/r^6-1/rc^6)^2 - b*rc^3/(rc^3-rs^3)*(1/r^3-1/rc^3)^2",
    "gromacs-force": "a*phi12 - b*phi6;"
    "phi12 = 1/r^12 - c12 - select(step(r-rs), (r-rs)^3*(a12/3 + b12/4*(r-rs)), 0);"
    "phi6 = 1/r^6 - c6 - select(step(r-rs), (r-rs)^3*(a6/3 + b6/4*(r-rs)), 0);"
    + ";".join(
        f"c{m} = 1/rc^{m} - a{m}/3*(rc-rs)^3 - b{m}/4*(rc-rs)^4;"
        f"a{m} = -{m}*({m + 4}*rc - {m + 1}*rs)/(rc^{m + 2}*(rc-rs)^2);"
        f"b{m} = {m}*({m + 3}*rc - {m + 1}*rs)/(rc^{m + 2}*(rc-rs)^3)"
        for m in (12, 6)
    ),
    "potential": "a/r^12 - b/r^6",  # switched by OpenMM itself
}


def melt() -> tuple[Array, Array, Array]:
    """Box, positions and types of a disordered lattice."""
    rng = np.random.default_rng(7)
    sites = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).reshape(-1, 3)
    positions = 0.3 * sites + rng.uniform(-0.04, 0.04, sites.shape)
    return np.eye(3) * 2.4, positions, (np.arange(len(sites)) % 3).astype(np.int32)


def tables(by_rule: bool) -> tuple[Array, Array]:
    """Tables of a and b; those of one pair of types may depart from the combination rules."""
    a, b = lj_table(SIGMA, EPSILON)
    if not by_rule:
        a[0, 1] = a[1, 0] = 1.1 * a[0, 1]
    return a, b


def by_openmm(kind: str, correction: bool, by_rule: bool) -> tuple[float, Array]:
    box, positions, types = melt()
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*box)
    force = openmm.CustomNonbondedForce(f"{FORMS[kind]}; a=ta(t1,t2); b=tb(t1,t2)")
    force.addGlobalParameter("rc", CUTOFF)
    force.addGlobalParameter("rs", START)
    force.addPerParticleParameter("t")
    for name, table in zip("ab", tables(by_rule), strict=True):
        values = openmm.Discrete2DFunction(3, 3, table.T.ravel().tolist())
        force.addTabulatedFunction(f"t{name}", values)
    for kind_of_atom in types:
        system.addParticle(16.0)
        force.addParticle([float(kind_of_atom)])
    force.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(CUTOFF)
    force.setUseSwitchingFunction(kind == "potential")
    force.setSwitchingDistance(START)
    force.setUseLongRangeCorrection(correction)
    system.addForce(force)
    return energy_and_forces(system, positions)


def argon(by_rule: bool = True) -> tuple[Any, Any]:
    box, positions, types = melt()
    charges = np.zeros(len(types))
    system = quiltmd.System.of(
        np.full(len(types), 16.0), charges, types, *tables(by_rule), exclusions=[]
    )
    return system, quiltmd.State(positions=positions, box=box, velocities=np.zeros_like(positions))


def settings(kind: Any, correction: bool) -> quiltmd.Nonbonded:
    return quiltmd.Nonbonded(
        method="cutoff",
        cutoff=CUTOFF,
        switching=kind,
        switch_distance=START,
        dispersion_correction=correction,
    )


@pytest.mark.parametrize(("ranks", "by_rule"), [(1, True), (3, True), (1, False)])
@pytest.mark.parametrize(
    ("kind", "correction"),
    [
        ("potential", False),
        ("potential", True),
        ("charmm", False),
        ("charmm-force", False),
        ("gromacs-force", False),
    ],
)
def test_switching_is_openmms(kind: str, correction: bool, ranks: int, by_rule: bool) -> None:
    system, state = argon(by_rule)
    chosen = settings(kind, correction)
    simulation = quiltmd.Simulation(system, state, chosen, device="cpu", ranks=ranks)
    energy, forces = by_openmm(kind, correction, by_rule)
    assert simulation.energies()["potential"] == pytest.approx(energy, rel=2e-6)
    exact, reference = quiltmd.reference(system, state, chosen)
    assert exact["potential"] == pytest.approx(energy, rel=1e-7)
    size = np.sqrt((forces**2).mean())
    assert np.sqrt(((simulation.forces() - forces) ** 2).mean()) < 3e-6 * size
    assert np.sqrt(((reference - forces) ** 2).mean()) < 1e-9 * size


def energy_at(kind: str, r: float, a: float, b: float) -> float:
    """Of a pair, by the papers."""
    full = a / r**12 - b / r**6
    x = (r - START) / (CUTOFF - START)
    square = (CUTOFF**2 - r**2) ** 2 * (CUTOFF**2 + 2 * r**2 - 3 * START**2)
    factors = {
        "potential": 1 - 10 * x**3 + 15 * x**4 - 6 * x**5,
        "charmm": square / (CUTOFF**2 - START**2) ** 3,
    }
    if kind in factors:
        return full if r < START else full * factors[kind]
    s, c = START, CUTOFF
    if kind == "gromacs-force":
        # From the slope of the energy, which is the force with its two conditions at the cutoff.
        energy = 0.0
        for factor, m in ((a, 12), (-b, 6)):
            rows = [[(c - s) ** 2, (c - s) ** 3], [2 * (c - s), 3 * (c - s) ** 2]]
            ends = [-m * c ** -(m + 1), m * (m + 1) * c ** -(m + 2)]
            second, third = np.linalg.solve(rows, ends)
            at = [max(x - s, 0) for x in (r, c)]
            near, far = (second * x**3 / 3 + third * x**4 / 4 for x in at)
            energy += factor * (r**-m - near - (c**-m - far))
        return energy
    if r < START:
        return full - a / (c * s) ** 6 + b / (c * s) ** 3
    twelve, six = (r**-6 - c**-6) ** 2, (r**-3 - c**-3) ** 2
    return a * c**6 / (c**6 - s**6) * twelve - b * c**3 / (c**3 - s**3) * six


@pytest.mark.parametrize("kind", ["potential", "charmm", "charmm-force", "gromacs-force"])
def test_correction_is_the_integral_of_what_is_left_out(kind: str) -> None:
    system, state = argon()
    lj_a, lj_b = lj_table(SIGMA, EPSILON)
    total = 0.0
    count = np.bincount(system.lj_types)
    for i, j in ((0, 0), (0, 1), (1, 1)):  # the third type has no energy
        a, b = lj_a[i, j], lj_b[i, j]
        left_out = lambda r: (a / r**12 - b / r**6 - energy_at(kind, r, a, b)) * r**2  # noqa: B023, E731
        constant = left_out(START - 1e-9) / START**2  # below the switching distance
        inside = constant * START**3 / 3 + quad(left_out, START, CUTOFF)[0]
        beyond = a / (9 * CUTOFF**9) - b / (3 * CUTOFF**3)
        pairs = count[i] * (count[i] + 1) / 2 if i == j else count[i] * count[j]
        total += pairs * (inside + beyond)
    atoms = len(system.lj_types)
    factor = 2 * np.pi * atoms**2 / np.linalg.det(state.box) / (atoms * (atoms + 1) / 2)
    found = quiltmd.reference(system, state, settings(kind, True))[0]["dispersion"]
    assert found == pytest.approx(factor * total, rel=1e-4)


def test_what_does_not_go_together() -> None:
    with pytest.raises(quiltmd.QuiltError, match="belong together"):
        quiltmd.Nonbonded(switching="charmm")
    with pytest.raises(quiltmd.QuiltError, match="belong together"):
        quiltmd.Nonbonded(switch_distance=0.8)
    with pytest.raises(quiltmd.QuiltError, match="must be less than the cutoff"):
        quiltmd.Nonbonded(cutoff=0.9, switching="charmm", switch_distance=0.9)
    _, state = argon()
    tables = [np.full((3, 3), value) for value in (1e5, 30.0, 0.0)]
    _, _, types = melt()
    other = quiltmd.System.of(
        np.full(len(types), 16.0),
        np.zeros(len(types)),
        types,
        [],
        [],
        pair_form="buckingham",
        pair_tables=tables,
    )
    with pytest.raises(quiltmd.QuiltError, match=r"'buckingham' .* and a switching function"):
        quiltmd.Simulation(other, state, settings("charmm", False), device="cpu")
