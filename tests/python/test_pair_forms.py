# SPDX-License-Identifier: Apache-2.0
"""Pair forms other than Lennard-Jones against OpenMM's Reference platform."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from boxes import Array, bare_system
from openmm import unit

import quiltmd

CUTOFF = 0.9
# By pair of types: A, B, C of A exp(-B r) - C / r^6; the third type has charges only.
BUCKINGHAM = np.array(
    [
        [[134e3, 2e5, 0], [2e5, 1e5, 0], [0, 0, 0]],
        [[27.6, 30, 0], [30, 31, 0], [0, 0, 0]],
        [[0.0169, 0.005, 0], [0.005, 0, 0], [0, 0, 0]],
    ]
)


def melt() -> tuple[Array, Array, Array, Array, Array]:
    """Box, positions, charges, types and exclusions of a disordered lattice."""
    rng = np.random.default_rng(7)
    sites = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).reshape(-1, 3)
    positions = 0.3 * sites + rng.uniform(-0.04, 0.04, sites.shape)
    types = (np.arange(len(sites)) % 3).astype(np.int32)
    charges = np.array([0.4, -0.6, 0.2])[types]
    charges -= charges.mean()
    first = np.arange(0, len(sites) - 1, 2)
    return np.eye(3) * 2.4, positions, charges, types, np.stack([first, first + 1], 1)


def openmm_reference(shift: bool, correction: bool) -> tuple[float, Array]:
    """Energy and forces with CustomNonbondedForce, Coulomb by a reaction field of nothing."""
    box, positions, charges, types, exclusions = melt()
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*box)
    form = "a*exp(-b*r) - c/r^6" + ("- (a*exp(-b*rc) - c/rc^6)" if shift else "")
    coulomb = "138.93545764438198*q1*q2*(1/r" + (" - 1/rc)" if shift else ")")
    tables = "; a=ta(t1,t2); b=tb(t1,t2); c=tc(t1,t2)"
    for expression, corrected in ((form + tables, correction), (coulomb, False)):
        force = openmm.CustomNonbondedForce(expression)
        force.addGlobalParameter("rc", CUTOFF)
        if corrected or "ta(" in expression:
            force.addPerParticleParameter("t")
            for name, table in zip("abc", BUCKINGHAM, strict=True):
                force.addTabulatedFunction(
                    f"t{name}", openmm.Discrete2DFunction(3, 3, table.T.ravel().tolist())
                )
        else:
            force.addPerParticleParameter("q")
        values: Any = types.astype(float) if "ta(" in expression else charges
        for value in values:
            force.addParticle([float(value)])
        for i, j in exclusions:
            force.addExclusion(int(i), int(j))
        force.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
        force.setCutoffDistance(CUTOFF)
        force.setUseLongRangeCorrection(corrected)
        system.addForce(force)
    for _ in types:
        system.addParticle(16.0)
    context = openmm.Context(
        system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    context.setPositions(positions)
    state = context.getState(getEnergy=True, getForces=True)
    per_nm = unit.kilojoule_per_mole / unit.nanometer
    return (
        state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
        state.getForces(asNumpy=True).value_in_unit(per_nm),
    )


def buckingham() -> tuple[Any, Any]:
    box, positions, charges, types, exclusions = melt()
    system = bare_system(
        np.full(len(types), 16.0),
        charges,
        types,
        [],
        [],
        exclusions=exclusions,
        pair_form="buckingham",
        pair_tables=list(BUCKINGHAM),
    )
    return system, quiltmd.State(positions=positions, box=box, velocities=np.zeros_like(positions))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("shift", "correction"), [(False, True), (True, False)])
def test_buckingham_is_openmms(ranks: int, shift: bool, correction: bool) -> None:
    system, state = buckingham()
    nonbonded = quiltmd.Nonbonded(
        method="cutoff",
        cutoff=CUTOFF,
        potential_shift=shift,
        dispersion_correction=correction,
    )
    simulation = quiltmd.Simulation(system, state, nonbonded, device="cpu", ranks=ranks)
    energy, forces = openmm_reference(shift, correction)
    found = simulation.energies()
    # Terms of a plain cutoff cancel: single precision is measured against what they amount to.
    size = abs(found["lj"]) + abs(found["coulomb"])
    assert found["potential"] == pytest.approx(energy, abs=2e-6 * size)
    exact, _ = quiltmd.reference(system, state, nonbonded)
    assert exact["potential"] == pytest.approx(energy, rel=1e-7)  # OpenMM integrates the tail
    difference = np.sqrt(((simulation.forces() - forces) ** 2).mean())
    assert difference < 3e-6 * np.sqrt((forces**2).mean())


def test_trajectories_are_the_same_on_any_ranks() -> None:
    ends = []
    for ranks in (1, 2, 3):
        system, state = buckingham()
        simulation = quiltmd.Simulation(
            system,
            state,
            quiltmd.Nonbonded(method="cutoff", cutoff=CUTOFF),
            quiltmd.VelocityVerlet(timestep=0.001),
            device="cpu",
            ranks=ranks,
        )
        simulation.run(60)
        ends.append(simulation.state().positions)
    assert all((end == ends[0]).all() for end in ends)


def test_what_no_form_can_do_is_refused() -> None:
    system, state = buckingham()
    masses, charges, types = system.masses, system.charges, system.lj_types
    tables = system.pair_tables
    bad = bare_system(masses, charges, types, [], [], pair_form="morse", pair_tables=tables)
    with pytest.raises(quiltmd.QuiltError, match="no pair form is called 'morse'"):
        quiltmd.Simulation(bad, state, quiltmd.Nonbonded(method="cutoff"), device="cpu")
    form = {"pair_form": "buckingham", "pair_tables": tables}
    with pytest.raises(quiltmd.QuiltError, match="must be empty"):
        bare_system(masses, charges, types, [[1.0]], [[1.0]], **form)
