# SPDX-License-Identifier: Apache-2.0
"""Pair forms other than Lennard-Jones against OpenMM's Reference platform."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from boxes import Array
from openmm_reference import energy_and_forces
from test_convert import by_openmm, is_read_as_an_expression

import quiltmd
from quiltmd.description.pair_forms import PAIR_FORMS
from quiltmd.engine.core import load_core
from quiltmd.openmm.write import to_openmm

CUTOFF = 0.9
# By pair of types: A, B, C of A exp(-B r) - C / r^6; the third type has charges only.
BUCKINGHAM = np.array(
    [
        [[134e3, 2e5, 0], [2e5, 1e5, 0], [0, 0, 0]],
        [[27.6, 30, 0], [30, 31, 0], [0, 0, 0]],
        [[0.0169, 0.005, 0], [0.005, 0, 0], [0, 0, 0]],
    ]
)
# Morse: D, a, r0.
MORSE = np.array(
    [
        [[1.5, 0.8, 0], [0.8, 0.3, 0], [0, 0, 0]],
        [[12.0, 14, 0], [14, 9, 0], [0, 0, 0]],
        [[0.35, 0.3, 0], [0.3, 0.45, 0], [0, 0, 0]],
    ]
)
# Mie: epsilon, sigma, n, m.
MIE = np.array(
    [
        [[0.8, 0.5, 0], [0.5, 0.3, 0], [0, 0, 0]],
        [[0.3, 0.25, 1], [0.25, 0.2, 1], [1, 1, 1]],
        [[14, 12.4, 12], [12.4, 9, 12], [12, 12, 12]],
        [[6, 6.6, 6], [6.6, 5, 6], [6, 6, 6]],
    ]
)
# Tables a, b, c, d, and the energy by the textbook, in the syntax of OpenMM's custom forces.
FORMS = {
    "buckingham": (BUCKINGHAM, "a*exp(-b*{r}) - c/{r}^6"),
    "morse": (MORSE, "a*((1 - exp(-b*({r} - c)))^2 - 1)"),
    "mie": (MIE, "c/(c-d)*(c/d)^(d/(c-d))*a*((b/{r})^c - (b/{r})^d)"),
}


def test_the_list_of_forms_is_that_of_the_core() -> None:
    ours = {name: len(form.parameters) for name, form in PAIR_FORMS.items()}
    theirs = load_core().tables_of_pair_forms()
    assert {"lennard-jones": 2, "tabulated": 0} | ours == theirs
    assert {name: len(tables) for name, (tables, _) in FORMS.items()} == ours


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


def openmm_reference(
    tables: Array, form: str, shift: bool, correction: bool
) -> tuple[float, Array]:
    """Energy and forces with CustomNonbondedForce, Coulomb by a reaction field of nothing.

    `form` names the tables a, b, c, d and the distance {r}.
    """
    box, positions, charges, types, exclusions = melt()
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*box)
    names = "abcd"[: len(tables)]
    expression = form.format(r="r") + (f" - ({form.format(r='rc')})" if shift else "")
    coulomb = "138.93545764438198*q1*q2*(1/r" + (" - 1/rc)" if shift else ")")
    by_types = "".join(f"; {name}=t{name}(t1,t2)" for name in names)
    for words, corrected in ((expression + by_types, correction), (coulomb, False)):
        force = openmm.CustomNonbondedForce(words)
        force.addGlobalParameter("rc", CUTOFF)
        if "ta(" in words:
            force.addPerParticleParameter("t")
            for name, table in zip(names, tables, strict=True):
                force.addTabulatedFunction(
                    f"t{name}", openmm.Discrete2DFunction(3, 3, table.T.ravel().tolist())
                )
        else:
            force.addPerParticleParameter("q")
        values: Any = types.astype(float) if "ta(" in words else charges
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
    return energy_and_forces(system, positions)


def melt_of(form: str, tables: Array) -> tuple[Any, Any]:
    box, positions, charges, types, exclusions = melt()
    system = quiltmd.System.of(
        np.full(len(types), 16.0),
        charges,
        types,
        [],
        [],
        exclusions=exclusions,
        pair_form=form,
        pair_tables=list(tables),
    )
    return system, quiltmd.State(positions=positions, box=box, velocities=np.zeros_like(positions))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("shift", "correction"), [(False, True), (True, False)])
@pytest.mark.parametrize("form", FORMS)
def test_energy_and_forces_are_openmms(
    form: str, ranks: int, shift: bool, correction: bool
) -> None:
    tables, words = FORMS[form]
    system, state = melt_of(form, tables)
    nonbonded = quiltmd.Nonbonded(
        method="cutoff",
        cutoff=CUTOFF,
        potential_shift=shift,
        dispersion_correction=correction,
    )
    simulation = quiltmd.Simulation(system, state, nonbonded, device="cpu", ranks=ranks)
    energy, forces = openmm_reference(tables, words, shift, correction)
    found = simulation.energies()
    # Terms of a plain cutoff cancel: single precision is measured against what they amount to.
    size = abs(found["lj"]) + abs(found["coulomb"])
    assert found["potential"] == pytest.approx(energy, abs=2e-6 * size)
    exact, _ = quiltmd.reference(system, state, nonbonded)
    assert exact["potential"] == pytest.approx(energy, rel=1e-7)  # OpenMM integrates the tail
    difference = np.sqrt(((simulation.forces() - forces) ** 2).mean())
    assert difference < 3e-6 * np.sqrt((forces**2).mean())


@pytest.mark.parametrize("form", FORMS)
def test_trajectories_are_the_same_on_any_ranks(form: str) -> None:
    ends = []
    for ranks in (1, 2, 3):
        system, state = melt_of(form, FORMS[form][0])
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
    system, state = melt_of("buckingham", BUCKINGHAM)
    masses, charges, types = system.masses, system.charges, system.lj_types
    tables = system.pair_tables
    bad = quiltmd.System.of(masses, charges, types, [], [], pair_form="yukawa", pair_tables=tables)
    with pytest.raises(quiltmd.QuiltError, match="no pair form is called 'yukawa'"):
        quiltmd.Simulation(bad, state, quiltmd.Nonbonded(method="cutoff"), device="cpu")
    form = {"pair_form": "buckingham", "pair_tables": tables}
    with pytest.raises(quiltmd.QuiltError, match="must be empty"):
        quiltmd.System.of(masses, charges, types, [[1.0]], [[1.0]], **form)


@pytest.mark.parametrize(
    ("form", "table", "value", "words"),
    [
        ("morse", 0, -1.0, "D and r0 must not be negative"),
        ("morse", 1, 0.0, "a must be positive"),
        ("morse", 1, 200.0, "a times r0 must not be above 40"),
        ("mie", 1, 0.0, "sigma must be positive"),
        ("mie", 2, 5.0, "the exponents must be n > m > 3"),
        ("mie", 3, 3.0, "the exponents must be n > m > 3"),
    ],
)
def test_parameters_without_a_meaning_are_refused(
    form: str, table: int, value: float, words: str
) -> None:
    tables = FORMS[form][0].copy()
    tables[table, 0, 0] = value
    system, state = melt_of(form, tables)
    with pytest.raises(quiltmd.QuiltError, match=f"types 0 and 0: .*{words}"):
        quiltmd.Simulation(system, state, quiltmd.Nonbonded(method="cutoff"), device="cpu")


def written(form: str) -> tuple[Any, Any, Any]:
    """The melt, and as an OpenMM System, with excluded pairs that nothing holds together."""
    system, state = melt_of(form, FORMS[form][0])
    chosen = quiltmd.Nonbonded(
        cutoff=CUTOFF, pme_alpha=3.2, pme_grid=(32, 32, 32), pme_order=5, dispersion_correction=True
    )
    made = to_openmm(system, chosen, state.box)
    (force,) = (one for one in made.getForces() if isinstance(one, openmm.NonbondedForce))
    force.setExceptionsUsePeriodicBoundaryConditions(True)
    return system, state, made


@pytest.mark.parametrize("form", FORMS)
def test_openmm_systems_have_the_forms(form: str) -> None:
    """Written for OpenMM they have its energy, and are read again as they were."""
    system, state, made = written(form)
    energy, forces = by_openmm(made, state)
    read = quiltmd.System.from_openmm(made)
    assert read.pair_form == form
    exact, ours = quiltmd.reference(read, state, read.nonbonded)
    assert exact["potential"] == pytest.approx(energy, rel=1e-6)
    assert np.abs(ours - forces).max() < 1e-5 * np.abs(forces).max()
    used = system.pair_tables[0] != 0
    for again, table in zip(read.pair_tables, system.pair_tables, strict=True):
        assert (again[used] == table[used]).all()


def test_pairs_that_do_not_interact_are_written_without_divisions_by_zero() -> None:
    tables = MIE.copy()
    tables[1:, MIE[0] == 0] = 0
    system, state = melt_of("mie", tables)
    usual = written("mie")[2]
    made = to_openmm(system, quiltmd.Nonbonded(cutoff=CUTOFF), state.box)
    forces = [
        next(one for one in each.getForces() if isinstance(one, openmm.CustomNonbondedForce))
        for each in (made, usual)
    ]
    first, second = (
        [one.getTabulatedFunction(k).getFunctionParameters() for k in range(4)] for one in forces
    )
    assert first == second


def changed(old: str, new: str) -> tuple[Any, Any]:
    """Morse pairs with another expression, and their state."""
    _, state, made = written("morse")
    (force,) = (one for one in made.getForces() if isinstance(one, openmm.CustomNonbondedForce))
    assert old in force.getEnergyFunction()
    force.setEnergyFunction(force.getEnergyFunction().replace(old, new))
    force.setUseLongRangeCorrection(False)
    return made, state


@pytest.mark.parametrize(
    ("old", "new"),
    [("D*((1", "D*r*((1"), ("a=table_a(type1, type2)", "a=12*r"), ("^2-1)", "^2)")],
)
def test_other_expressions_are_evaluated(old: str, new: str) -> None:
    is_read_as_an_expression(*changed(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a=table_a(type1, type2)", "a=table_a(type1, type1)", "the order of its atoms"),
        ("r0=table_r0", "r1=table_r0", "'r0' is not known"),
    ],
)
def test_expressions_without_sense_are_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(quiltmd.InputError, match=rf"CustomNonbondedForce.*{words}"):
        quiltmd.System.from_openmm(changed(old, new)[0])
