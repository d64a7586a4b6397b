# SPDX-License-Identifier: Apache-2.0
"""Soft cores of every form: energies and forces beside OpenMM's, states, derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import openmm
import pytest
from alchemical_systems import LENGTH, atoms_may_meet, settings, softened, solute_in_water
from numpy.typing import NDArray
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import InputError, QuiltError
from quiltmd.description.decoupling import at_lambdas
from quiltmd.description.soft_cores import FORMS

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
STATES = [(k / 10, k**2 / 100) for k in range(11)]
HERE = 6  # of the states, where the core is
KAPPA, CUTOFF, LEAST_SIGMA = 5.6, 0.7, 0.3

# Written apart from the core, from the equations of docs/theory/alchemy.md. `q` is the product of
# the full charges, `x` the fraction of an atom that is gone; from `coulomb` the part that
# NonbondedForce has, erfc(kappa r)/r, is subtracted.
LINEAR = "lj = select(step(r - l), a/r^12 - b/r^6, (78*a/l^14 - 21*b/l^8)*r^2"
LINEAR += " - (168*a/l^13 - 48*b/l^7)*r + 91*a/l^12 - 28*b/l^6);"
LINEAR += "coulomb = select(step(r - m), 1/r, r^2/m^3 - 3*r/m^2 + 3/m) - 1/r;"
LINEAR += "l = alpha*(26/7*s6*x)^(1/6); m = ac*(1 + abs(q))*x^(1/6); w = 1 - x; x = lv;"
BEUTLER = "lj = a/d^2 - b/d; d = alpha*x*s6 + r^6;"
AMBER = BEUTLER + "coulomb = erfc(kappa*r)*(1/sqrt(r^2 + ac*x) - 1/r); w = 1 - x;"
EXPRESSIONS = {
    "beutler": BEUTLER + "coulomb = (ac*x*s6 + r^6)^(-1/6) - 1/r; w = 1 - x; x = lv;",
    "gapsys": LINEAR,
    "amber": AMBER + "x = lv;",
    "smoothstep": AMBER + "x = 6*lv^5 - 15*lv^4 + 10*lv^3;",
}
HEAD = "w*lj + 138.93545764438198*(1 - lc)*q*coulomb;"
TAIL = "q = q1*q2; s6 = max(a/max(b, 1e-30), ls^6); a = ta(t1,t2); b = tb(t1,t2)"


def by_openmm(
    plain: Any, state: Any, form: str, lambdas: tuple[float, float]
) -> tuple[float, NDArray[np.float64]]:
    """Energy and forces but for what is the same in all states."""
    made = openmm.System()
    made.setDefaultPeriodicBoxVectors(*state.box)
    charges = openmm.NonbondedForce()
    charges.setNonbondedMethod(openmm.NonbondedForce.PME)
    charges.setPMEParameters(KAPPA, 64, 64, 64)
    charges.setCutoffDistance(CUTOFF)
    charges.setUseDispersionCorrection(False)
    soft = openmm.CustomNonbondedForce(HEAD + EXPRESSIONS[form] + TAIL)
    for name, table in (("ta", plain.lj_a), ("tb", plain.lj_b)):
        values = openmm.Discrete2DFunction(*table.shape, table.T.ravel().tolist())
        soft.addTabulatedFunction(name, values)
    one = FORMS[form]
    names = ("lc", "lv", "alpha", "ac", "ls", "kappa")
    numbers = (*lambdas, one.alpha, one.alpha_coulomb, LEAST_SIGMA, KAPPA)
    for name, value in zip(names, numbers, strict=True):
        soft.addGlobalParameter(name, value)
    soft.addPerParticleParameter("t")
    soft.addPerParticleParameter("q")
    soft.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    soft.setCutoffDistance(CUTOFF)
    soft.addInteractionGroup(range(LENGTH), range(LENGTH, plain.atoms))
    for atom in range(plain.atoms):
        made.addParticle(1.0)
        scale = 1 - lambdas[0] if atom < LENGTH else 1.0
        charges.addParticle(scale * plain.charges[atom], 1.0, 0.0)
        soft.addParticle([float(plain.lj_types[atom]), float(plain.charges[atom])])
    inner = {(i, j) for i in range(LENGTH) for j in range(i + 1, LENGTH)}
    for i, j in sorted(inner | {(int(i), int(j)) for i, j in plain.exclusions}):
        charges.addException(i, j, 0.0, 1.0, 0.0)
        soft.addExclusion(i, j)
    made.addForce(charges)
    made.addForce(soft)
    return energy_and_forces(made, state.positions)


def moved_solute(moved: float) -> tuple[quiltmd.System, quiltmd.State]:
    """The molecule in water, moved so far, perhaps onto atoms of the water."""
    plain, state = solute_in_water()
    positions = np.array(state.positions)
    positions[:LENGTH] += moved
    return plain, quiltmd.State.start(plain, positions, state.box)


def decoupled(plain: Any, form: str, **others: Any) -> quiltmd.System:
    """A molecule that vanishes, charges and van der Waals interactions together."""
    return softened(plain, form, STATES, **others)


def of_states(system: Any, state: Any, nonbonded: Any) -> tuple[Any, Any]:
    """Energies and forces in double precision in each state."""
    found = [quiltmd.reference(at_lambdas(system, *one), state, nonbonded) for one in STATES]
    return np.array([e["potential"] for e, _ in found]), np.array([f for _, f in found])


@pytest.mark.parametrize("moved", [0.0, 0.12], ids=["apart", "close"])
@pytest.mark.parametrize("form", FORMS)
def test_energies_and_forces_are_those_of_openmm(form: str, moved: float) -> None:
    """Differences between states: to 1e-4 kJ/mol, or to 1e-7 where atoms are on others."""
    plain, state = moved_solute(moved)
    nonbonded = settings(state, pme_grid=(64,) * 3, pme_alpha=KAPPA, dispersion_correction=False)
    energies, forces = of_states(decoupled(plain, form), state, nonbonded)
    theirs = [by_openmm(plain, state, form, one) for one in STATES]
    their_energies = np.array([energy for energy, _ in theirs])
    their_forces = np.array([force for _, force in theirs])
    last = len(STATES) - 1
    np.testing.assert_allclose(
        energies - energies[last], their_energies - their_energies[last], rtol=1e-7, atol=1e-4
    )
    np.testing.assert_allclose(
        forces - forces[last], their_forces - their_forces[last], rtol=1e-6, atol=5e-3
    )
    assert np.ptp(energies) > (1000 if moved else 5)


@pytest.mark.parametrize("moved", [0.0, 0.12], ids=["apart", "close"])
@pytest.mark.parametrize("form", FORMS)
def test_the_core_has_energies_of_all_states_derivatives_and_forces(
    form: str, moved: float
) -> None:
    """Derivatives to 1e-6 by charges, and 2e-5 kJ/mol of the mesh, else to 1e-7."""
    plain, state = moved_solute(moved)
    system, nonbonded = decoupled(plain, form, state=HERE), settings(state)
    simulation = quiltmd.Simulation(system, state, nonbonded, device="cpu", ranks=1, threads=1)
    energies, forces = of_states(system, state, nonbonded)
    np.testing.assert_allclose(simulation.state_energies(), energies - energies[HERE], atol=3e-5)
    assert np.abs(simulation.forces() - forces[HERE])[:LENGTH].max() < 2e-3

    def energy(which: int, step: float) -> float:
        lambdas = np.array(STATES[HERE])
        lambdas[which] += step
        there = at_lambdas(system, *lambdas)
        return float(quiltmd.reference(there, state, nonbonded)[0]["potential"])

    for which, relative, beside in ((0, 1e-6, 2e-5), (1, 1e-7, 1e-6)):
        near, far = (energy(which, h) - energy(which, -h) for h in (1e-3, 2e-3))
        slope = (8 * near - far) / 12e-3
        assert simulation.dhdl()[which] == pytest.approx(slope, rel=relative, abs=beside)


@pytest.mark.parametrize("form", FORMS)
def test_atoms_may_meet(form: str) -> None:
    atoms_may_meet(form, "cpu")


def test_both_lists_of_forms_have_the_same_names() -> None:
    plain, state = solute_in_water()
    system = decoupled(plain, "beutler")
    assert system.alchemy is not None
    odd = replace(system.alchemy)
    object.__setattr__(odd, "soft_core", "hard")
    with pytest.raises(QuiltError, match="there is no soft core 'hard'") as told:
        quiltmd.reference(replace(system, alchemy=odd), state, settings(state))
    names = str(told.value).partition("choose one of ")[2]
    assert names.split(", ") == list(FORMS)


def test_parameters_have_a_range_in_each_form() -> None:
    plain, _ = solute_in_water()
    with pytest.raises(InputError, match=r"alpha_coulomb must be 0, or from 0\.01 to 2 nm"):
        quiltmd.decouple(plain, [0], soft_core="amber", alpha_coulomb=12.0)
    with pytest.raises(InputError, match="soft_core must be one of beutler, gapsys"):
        quiltmd.decouple(plain, [0], soft_core="none")  # type: ignore[arg-type]
    usual = quiltmd.decouple(plain, [0], soft_core="gapsys").alchemy
    assert usual is not None
    assert usual.alpha == 0.85


@pytest.mark.parametrize("form", [name for name in FORMS if name != "beutler"])
def test_any_number_of_ranks_gives_the_same_bits(form: str) -> None:
    plain, state = solute_in_water()
    system = decoupled(plain, form, state=HERE)
    found = []
    for ranks in (1, 3):
        simulation = quiltmd.Simulation(
            system,
            state,
            settings(state),
            quiltmd.LangevinMiddle(seed=5),
            device="cpu",
            ranks=ranks,
            threads=1,
        )
        simulation.run(12)
        found.append([simulation.state().positions, simulation.state_energies()])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("form", FORMS)
def test_atoms_appear_as_they_vanish(form: str) -> None:
    """The path of atoms that appear is that of atoms that vanish, backwards."""
    plain, state = solute_in_water()
    away = decoupled(plain, form)
    assert away.alchemy is not None
    none = len(plain.lj_a)
    charges, types = np.array(plain.charges), np.array(plain.lj_types)
    charges[:LENGTH], types[:LENGTH] = 0, none
    back = replace(
        away,
        charges=charges,
        lj_types=types,
        lj_a=np.pad(away.lj_a, (0, 1)),
        lj_b=np.pad(away.lj_b, (0, 1)),
        alchemy=replace(
            away.alchemy,
            states=1 - away.alchemy.states,
            start=1 - away.alchemy.states[2],
            last_charges=plain.charges[:LENGTH],
            last_types=plain.lj_types[:LENGTH],
        ),
    )
    nonbonded = settings(state, dispersion_correction=False)
    found = []
    for system in (at_lambdas(away, *STATES[2]), back):
        simulation = quiltmd.Simulation(system, state, nonbonded, device="cpu", ranks=1, threads=1)
        found.append((simulation.state_energies(), simulation.dhdl(), simulation.forces()))
    np.testing.assert_allclose(found[1][0], found[0][0], atol=1e-4)
    np.testing.assert_allclose(found[1][1], -np.array(found[0][1]), rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(found[1][2], found[0][2], atol=2e-3)
