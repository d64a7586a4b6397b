# SPDX-License-Identifier: Apache-2.0
"""Forces by expressions: OpenMM's energies and forces, virials, ranks, restarts, files, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import Array
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import (
    CellRescaling,
    CustomAngle,
    CustomBond,
    CustomCompound,
    CustomExternal,
    CustomTorsion,
    InputError,
    LangevinMiddle,
    Nonbonded,
    Simulation,
    SimulationError,
    State,
    System,
)
from quiltmd.description.plausibility import step_oddities
from quiltmd.description.vibrations import fastest_vibration
from quiltmd.inputs.constrain import loose_hydrogens
from quiltmd.openmm.write import to_openmm

CUTOFF = Nonbonded(method="cutoff", cutoff=0.9, dispersion_correction=False)
BOX = np.array([[3.0, 0, 0], [0.4, 3.2, 0], [-0.3, 0.5, 3.4]])
ATOMS = 40
RNG = np.random.default_rng(5)
# Clusters of four atoms, each across the whole box; the atoms of each in any image.
PLACES = np.repeat(RNG.uniform(0, 3, (10, 3)), 4, axis=0) + RNG.normal(0, 0.12, (ATOMS, 3))
POSITIONS = PLACES + RNG.integers(-2, 3, (ATOMS, 3)) @ BOX
DUST = System.of(RNG.uniform(1, 40, ATOMS))
QUADS = np.arange(ATOMS).reshape(-1, 4)
K, R0 = RNG.uniform(100, 500, 10), RNG.uniform(0.1, 0.3, 10)
GIVEN = {"k": K, "r0": R0, "scale": 1.5}

# Every operator and function of the language, of r near 0.2 and with a derivative that is not 0.
EVERY = (
    "sqrt(r)+exp(-r)+log(r+1)+sin(r)+cos(r)+sec(r)+csc(r)+tan(r)+cot(r)+asin(r/9)+acos(r/9)"
    "+atan(r)+atan2(r,k)+sinh(r)+cosh(r)+tanh(r)+erf(r)+erfc(r/2)+step(r-r0)*r+delta(r-r0)"
    "+square(r)+cube(r)+recip(r)+min(r,r0)+max(r,2*r0)+abs(r-r0)+floor(10*r)*r+ceil(10*r)"
    "+select(r,r^2,3)+select(0,1,r)+r^r0+r0^r+r^-3+r^12/1e6+r^2.5+r^0.5-(-r)^2-2^-r+1.5e-1*r"
    "+min(r0,r)+max(r0,r)+r^0+(r+k)/(r-k)"
)


@dataclass(frozen=True)
class Case:
    """A force of ours, which each method makes for itself and for OpenMM."""

    kind: type[Any]
    energy: str
    atoms: Array

    def ours(self) -> Any:
        return self.kind(self.energy, self.atoms, GIVEN)


CASES = {
    "bond": Case(CustomBond, "scale*k*(r-r0)^4 - 3*exp(-r/r0)", QUADS[:, :2]),
    "every function": Case(CustomBond, EVERY, QUADS[:, :2]),
    "definitions": Case(CustomBond, "a*b; a=b*k+1; b=(r-c)^3; c=r0/2", QUADS[:, 1:3]),
    "angle": Case(CustomAngle, "k*(cos(theta)-r0)^2+theta^3", QUADS[:, :3]),
    "torsion": Case(CustomTorsion, "scale*k*cos(2*theta-r0)^3+theta", QUADS),
    "external": Case(CustomExternal, "k*sin(x*scale)+y^2*z-r0*z", QUADS[:, 0]),
    "image": Case(
        CustomExternal,
        "k*periodicdistance(x,y,z,r0,1.7,scale)^3+exp(periodicdistance(x,2*y,0,1,r0,0))",
        QUADS[:, 2],
    ),
    "compound": Case(
        CustomCompound,
        "k*distance(p1,p3)*angle(p2,p1,p4)^2 + sin(dihedral(p2,p1,p4,p3)+r0)"
        " + 0.1*(x1-z3)^2*distance(p1,p3)+y2",
        QUADS,
    ),
}


def in_openmm(system: System, box: Array | None = BOX) -> Any:
    """The same as OpenMM's system, without pairs."""
    made = to_openmm(
        system, Nonbonded(method="no-cutoff") if box is None else CUTOFF_OF_OPENMM, box
    )
    for k in reversed(range(made.getNumForces())):
        if "Nonbonded" in type(made.getForce(k)).__name__:
            made.removeForce(k)
    return made


CUTOFF_OF_OPENMM = Nonbonded(
    method="reaction-field", reaction_field_on_exclusions=False, cutoff=0.9
)


def state_of(positions: Array = POSITIONS, box: Array | None = BOX) -> State:
    return State(positions=positions, velocities=0 * positions, box=box)


def run_of(system: System, state: State | None = None, **others: Any) -> Simulation:
    others = {"device": "cpu", "ranks": 1, "threads": 1} | others
    return Simulation(system, state or state_of(), CUTOFF, **others)


@pytest.mark.parametrize("box", [BOX, None], ids=["periodic", "open"])
@pytest.mark.parametrize("name", CASES)
def test_energies_and_forces_are_those_of_openmm(name: str, box: Array | None) -> None:
    if box is None and name == "image":
        pytest.skip("OpenMM has no image without a box")
    system = quiltmd.add_forces(DUST, CASES[name].ours())
    positions = POSITIONS if box is not None else PLACES
    energy, forces = energy_and_forces(in_openmm(system, box), positions)
    size = np.abs(forces).max()
    assert abs(energy) > 0.05
    assert size > 1
    found, of_reference = quiltmd.reference(system, state_of(positions, box), CUTOFF)
    assert found["custom"] == pytest.approx(energy, rel=1e-9)
    assert of_reference == pytest.approx(forces, abs=1e-9 * size)
    simulation = run_of(system, state_of(positions, box))
    assert simulation.energies()["custom"] == pytest.approx(energy, rel=1e-8, abs=1e-7)
    assert simulation.forces() == pytest.approx(forces, abs=1e-8 * size)
    assert simulation.energies()["potential"] == simulation.energies()["custom"]


@pytest.mark.parametrize("name", CASES)
def test_virials_are_derivatives_by_strain(name: str) -> None:
    system = quiltmd.add_forces(DUST, CASES[name].ours())
    virial = run_of(system).virial()
    numerical = np.zeros((3, 3))
    for i, j in product(range(3), repeat=2):
        energies = []
        for step in (1e-5, -1e-5):
            strain = np.eye(3)
            strain[i, j] += step  # of coordinates that are not turned: an expression may have them
            if i < j:
                continue
            box = BOX @ strain
            moved = state_of(POSITIONS @ strain, box)
            energies.append(quiltmd.reference(system, moved, CUTOFF)[0]["custom"])
        if i >= j:
            numerical[i, j] = -(energies[0] - energies[1]) / 2e-5
    rotates = name in ("external", "image", "compound")  # its tensor is not symmetric
    which = np.eye(3, dtype=bool) if rotates else np.tril(np.ones((3, 3), bool))
    assert virial[which] == pytest.approx(numerical[which], abs=1e-5 * np.abs(numerical).max())


def whole() -> System:
    """All cases in one system, harmless enough to be simulated, across patches."""
    chain = np.arange(ATOMS)
    return quiltmd.add_forces(
        System.of(np.full(ATOMS, 12.0), sigma=0.25, epsilon=0.4),
        CustomBond("0.5*k*(r-0.2)^2/(1+(r-0.2)^2)", np.column_stack([chain[:-1], chain[1:]]),
                   {"k": 3000.0}),
        CustomAngle("40*(0.4+cos(theta))^2", QUADS[:, :3]),
        CustomTorsion("3*cos(3*theta)", QUADS),
        CustomExternal("-30*exp(-4*periodicdistance(x,y,z,1,1,1)^2)", chain),
        CustomCompound("9*(distance(p1,p4)-0.4)^2", QUADS),
    )  # fmt: skip


def start() -> State:
    walk = np.cumsum(np.random.default_rng(2).normal(0, 0.12, (ATOMS, 3)), axis=0)
    return State(positions=1.5 + 1.2 * walk, velocities=0 * walk, box=BOX)


def steps(ranks: int, many: int, threads: int = 1, device: str = "cpu") -> Simulation:
    made = run_of(
        whole(),
        start(),
        integrator=LangevinMiddle(300.0, 1.0, seed=4, timestep=0.001),
        barostat=CellRescaling(1.0, every=20, seed=6),
        ranks=ranks,
        threads=threads,
        device=device,
    )
    made.minimize(max_iterations=20)
    made.run(many)
    return made


def same(one: Simulation, other: Simulation) -> None:
    a, b = one.state(), other.state()
    assert np.array_equal(a.positions, b.positions)
    assert np.array_equal(a.velocities, b.velocities)
    heat = ("heat", "conserved")  # counted from the start of a Simulation
    energies = [{k: v for k, v in a.energies().items() if k not in heat} for a in (one, other)]
    assert energies[0] == energies[1]


def test_ranks_threads_and_restarts_do_not_matter(tmp_path: Path) -> None:
    one = steps(1, 80)
    assert not np.array_equal(one.state().box, BOX)
    same(one, steps(3, 80))
    same(one, steps(2, 80, device="ranks:worker:cpu,worker:cpu"))
    first = steps(2, 33, threads=2)
    again = steps(5, 0)
    again.set_state(first.state())
    again.run(47)
    same(one, again)


def test_a_run_conserves_energy() -> None:
    made = run_of(whole(), start(), integrator=quiltmd.VelocityVerlet(timestep=0.0005))
    made.minimize(max_iterations=50)
    before = made.energies()
    made.run(400)
    after = made.energies()
    assert after["kinetic"] > 10
    assert after["total"] == pytest.approx(before["total"], abs=1e-2 * after["kinetic"])


def test_openmm_systems_and_files(tmp_path: Path) -> None:
    """What is read from an XML file has the same energies, and is written with the same ones."""
    original = openmm.System()
    pairs = openmm.NonbondedForce()
    pairs.setNonbondedMethod(pairs.NoCutoff)
    for mass in DUST.masses:
        original.addParticle(float(mass))
        pairs.addParticle(0.1, 0.2, 0.3)
    original.addForce(pairs)
    for case in CASES.values():
        if case.energy not in (CASES["image"].energy, EVERY):
            mine = quiltmd.add_forces(DUST, case.ours())
            made = in_openmm(mine, None)
            for force in made.getForces():
                original.addForce(openmm.XmlSerializer.clone(force))
    path = tmp_path / "system.xml"
    path.write_text(openmm.XmlSerializer.serialize(original))
    expected = energy_and_forces(original, PLACES)
    system = System.from_openmm(original)
    assert system.custom is not None
    assert len(system.custom.forces) == len(CASES) - 2
    assert not np.array_equal(system.molecules, np.arange(ATOMS))  # bonds join atoms
    again = to_openmm(system)
    for one in (system, System.from_openmm(again)):
        energies, forces = quiltmd.reference(one, state_of(PLACES, None))
        assert energies["potential"] == pytest.approx(expected[0], rel=1e-8)
        assert forces == pytest.approx(expected[1], abs=1e-8 * np.abs(expected[1]).max())


def force_with(kind: str, energy: str, *members: Any) -> Any:
    force = getattr(openmm, kind)(energy)
    add = {"CustomAngleForce": "addAngle", "CustomBondForce": "addBond"}[kind]
    getattr(force, add)(*members)
    return force


@pytest.mark.parametrize(
    ("force", "text"),
    [
        (force_with("CustomBondForce", "r*f(r)", 0, 1), "the function 'f' is not known"),
        (force_with("CustomBondForce", "r*q", 0, 1), "'q' is not known, only r"),
        (force_with("CustomAngleForce", "theta", 0, 1, 2), "joins different molecules"),
        (force_with("CustomBondForce", "r", 0, 99), "does not exist"),
    ],
)
def test_openmm_forces_that_mean_something_else_are_refused(force: Any, text: str) -> None:
    system = openmm.System()
    pairs = openmm.NonbondedForce()
    pairs.setNonbondedMethod(pairs.CutoffPeriodic)
    for _ in range(4):
        system.addParticle(1.0)
        pairs.addParticle(0, 1, 0)
    system.addForce(pairs)
    system.addForce(force)
    with pytest.raises(InputError, match=text):
        System.from_openmm(system)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: CustomBond("k*r^2", [[0, 1]]), "'k' is not known, only r"),
        (lambda: CustomBond("foo(r)", [[0, 1]]), "the function 'foo' is not known"),
        (lambda: CustomBond("sin(r, r)", [[0, 1]]), "'sin' has 2 arguments, it needs 1"),
        (lambda: CustomBond("r*(r", [[0, 1]]), "the expression ends early"),
        (lambda: CustomBond("r", [[0, 1, 2]]), r"the shape \(n, 2\), not \(1, 3\)"),
        (lambda: CustomBond("r", [[1, 1]]), "names an atom twice"),
        (lambda: CustomBond("r*k", [[0, 1]], {"k": [1.0, 2.0]}), "needs one value, or 1"),
        (lambda: CustomBond("r*k", [[0, 1]], {"k": np.nan}), "not finite"),
        (lambda: CustomBond("r", [[0, 1]], {"r": 1.0}), "'r' cannot be the name"),
        (lambda: CustomAngle("x", [[0, 1, 2]]), "'x' is not known, only theta"),
        (lambda: CustomCompound("distance(p1,p9)", [[0, 1]]), "2 different atoms among p1, p2"),
        (lambda: CustomExternal("x", [0.5]), "whole numbers"),
        (lambda: quiltmd.add_forces(DUST, CustomExternal("x", [99])), "atom 99 does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        make()


def test_an_energy_that_is_no_number_ends_the_run() -> None:
    wrong = quiltmd.add_forces(DUST, CustomBond("log(r-a)", QUADS[:, :2], {"a": 5.0}, "bad"))
    with pytest.raises(SimulationError, match=r"bad.*log\(r-a\).*no finite"):
        run_of(wrong).run(1)
    pairs = quiltmd.CustomPairs("s1*s2*log(r-a)", 0.9, {"a": 5.0, "s": np.ones(ATOMS)}, name="far")
    with pytest.raises(SimulationError, match=r"far.*no finite energy or force for its term of"):
        run_of(quiltmd.add_forces(DUST, pairs)).run(1)
    falls = quiltmd.add_forces(DUST, CustomExternal("-1000*x*step(x)+sqrt(9-x)", [0], {}, "cliff"))
    free = replace(state_of(), positions=PLACES)
    with pytest.raises(SimulationError, match="cliff"):
        run_of(falls, free, integrator=quiltmd.VelocityVerlet(timestep=0.002)).run(4000)


# ---- Pairs ----

LJ = "4*eps*((s/r)^12-(s/r)^6); s=0.5*(sigma1+sigma2); eps=sqrt(epsilon1*epsilon2)"
LATTICE = np.array(list(product(range(6), repeat=3)))
GAS = 0.36 * LATTICE + np.random.default_rng(8).normal(0, 0.02, (216, 3))
CUBE = 2.16 * np.eye(3)
KINDS = np.random.default_rng(9).integers(0, 2, 216)
SIGMA, EPSILON = np.array([0.3, 0.34])[KINDS], np.array([0.6, 1.0])[KINDS]
SETS = [(np.arange(50), np.arange(30, 90)), ([3], np.arange(100, 216))]


def gas(pair: Any, kind: str = "PME", lj: bool = False) -> Any:
    """OpenMM's system of the gas, with a CustomNonbondedForce."""
    system, nonbonded = openmm.System(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*CUBE)
    for k in range(216):
        system.addParticle(40.0)
        nonbonded.addParticle(0.0, SIGMA[k], EPSILON[k] if lj else 0.0)
        if pair.getNumPerParticleParameters() == 2:
            pair.addParticle([SIGMA[k], EPSILON[k]])
        else:
            pair.addParticle([])
    bonds = openmm.HarmonicBondForce()
    system.addForce(bonds)
    for k in range(0, 200, 2):
        bonds.addBond(k, k + 1, 0.36, 500.0)
        nonbonded.addException(k, k + 1, 0, 1, 0)
        pair.addExclusion(k, k + 1)
    nonbonded.setExceptionsUsePeriodicBoundaryConditions(True)
    nonbonded.setNonbondedMethod(getattr(nonbonded, kind))
    nonbonded.setCutoffDistance(1.0)
    nonbonded.setUseDispersionCorrection(False)
    pair.setNonbondedMethod(pair.CutoffPeriodic)
    system.addForce(nonbonded)
    system.addForce(pair)
    return system


def lennard_jones(text: str = LJ) -> Any:
    force = openmm.CustomNonbondedForce(text)
    if "sigma1" in text:
        force.addPerParticleParameter("sigma")
        force.addPerParticleParameter("epsilon")
    force.setCutoffDistance(0.9)
    return force


def switched() -> Any:
    force = lennard_jones()
    force.setUseSwitchingFunction(True)
    force.setSwitchingDistance(0.7)
    force.setUseLongRangeCorrection(True)
    return force


def between_groups() -> Any:
    force = lennard_jones("a*exp(-(r/0.3)^2)/(r+abs(sigma1-sigma2)*epsilon1*epsilon2)")
    force.addGlobalParameter("a", 3.0)
    for both in SETS:
        force.addInteractionGroup(*(list(map(int, members)) for members in both))
    return force


def corrected() -> Any:
    force = lennard_jones("(epsilon1+epsilon2)*(erfc(3*r)/r - sigma1*sigma2/r^6)")
    force.setUseLongRangeCorrection(True)
    return force


def corrected_groups() -> Any:
    force = corrected()
    for first, second in SETS:
        force.addInteractionGroup([*map(int, first)], [*map(int, second), *range(40, 90)])
    force.addInteractionGroup(range(100, 190), range(100, 190))
    return force


PAIR_CASES = {
    "switched": switched,
    "groups": between_groups,
    "corrected": corrected,
    "corrected groups": corrected_groups,
    "alike": lambda: lennard_jones("cos(r)*exp(-9*r)/r^2"),
    "negative": lambda: lennard_jones("3*exp(-9*r)+sigma1*sigma2*epsilon1*epsilon2/r^6"),
}


PARTS = {"corrected groups": 2}  # where some pairs are in several groups


@pytest.mark.parametrize("name", PAIR_CASES)
def test_pairs_are_those_of_openmm(name: str) -> None:
    original = gas(PAIR_CASES[name](), lj=name == "groups")
    energy, forces = energy_and_forces(original, GAS)
    system = System.from_openmm(original)
    assert system.custom is not None
    assert len(system.custom.pairs) == PARTS.get(name, 1)
    state = State(positions=GAS + np.array([0.3, 0, 0]), velocities=0 * GAS, box=CUBE)
    size = np.abs(forces).max()
    for made in (system, System.from_openmm(to_openmm(system, box=CUBE))):
        found, of_reference = quiltmd.reference(made, state)
        assert found["potential"] == pytest.approx(energy, rel=1e-6)
        assert of_reference == pytest.approx(forces, abs=2e-6 * size)
    simulation = Simulation(system, state, device="cpu", ranks=1, threads=1)
    assert simulation.energies()["custom"] == pytest.approx(found["custom"], rel=1e-7)
    assert simulation.forces() == pytest.approx(forces, abs=2e-6 * size)
    assert simulation.virial() == pytest.approx(
        quiltmd.reference_virial(system, state), abs=2e-6 * np.abs(simulation.virial()).max()
    )
    integrator = LangevinMiddle(300.0, 1.0, seed=4, timestep=0.001)
    simulation = Simulation(system, state, integrator=integrator, device="cpu", ranks=1, threads=1)
    bits = simulation.forces(), simulation.energies()
    simulation.run(20)
    other = Simulation(system, state, integrator=integrator, device="cpu", ranks=3, threads=1)
    assert np.array_equal(bits[0], other.forces())
    assert bits[1] == other.energies()
    other.run(20)
    same(simulation, other)


def test_groups_of_pairs_reach_a_worker() -> None:
    system = System.from_openmm(gas(between_groups(), lj=True))
    state = State(positions=GAS, velocities=0 * GAS, box=CUBE)
    here, there = (Simulation(system, state, device=place) for place in ("cpu", "worker:cpu"))
    assert np.array_equal(here.forces(), there.forces())


def test_pairs_of_the_form_of_ours() -> None:
    """Lennard-Jones as an expression has the energy, the pressure and the tail of the built-in."""
    built_in = System.of(np.full(216, 40.0), sigma=SIGMA, epsilon=EPSILON)
    pair = quiltmd.CustomPairs(LJ, 0.9, {"sigma": SIGMA, "epsilon": EPSILON})
    custom = quiltmd.add_forces(System.of(np.full(216, 40.0)), pair)
    state = State(positions=GAS, velocities=0 * GAS, box=CUBE)
    one, other = run_of(built_in, state), run_of(custom, state)
    assert other.energies()["custom"] == pytest.approx(one.energies()["lj"], rel=1e-6)
    size = np.abs(one.forces()).max()
    assert other.forces() == pytest.approx(one.forces(), abs=2e-6 * size)
    assert other.virial() == pytest.approx(one.virial(), rel=1e-5, abs=1e-3)
    for run, task in ((one, "pairs.interior"), (other, "pair_expressions")):
        run.run(1)
        assert {row["name"] for row in run.profile()} & {"pairs.interior", "pair_expressions"} == {
            task
        }


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: quiltmd.CustomPairs("r*s", 0.9), "'s' is not known"),
        (lambda: quiltmd.CustomPairs("r*s", 0.9, {"s": [1.0]}), "'s' is not known, only r, s1, s2"),
        (lambda: quiltmd.CustomPairs("r", -1.0), "the cutoff must be positive"),
        (
            lambda: quiltmd.CustomPairs("r", "9 ps"),
            "cutoff must be in nm, such as '1 nm': 'ps' does not",
        ),
        (lambda: quiltmd.CustomPairs("r", "0.9 nm", switch_distance="far"), "must be a"),
        (lambda: quiltmd.CustomPairs("r", 0.9, {"s": "1 nm"}), "s must be a number or numbers"),
        (lambda: quiltmd.CustomBond("k*r", [[0, 1]], {"k": "5 kJ"}), "k must be a number or num"),
        (lambda: quiltmd.Tabulated(["a", "b"]), "the values of a tabulated function must be num"),
        (lambda: quiltmd.window_states("d", ["0.2 nm"], 300), "centres must be a number"),
        (lambda: quiltmd.CustomPairs("r", 0.9, switch_distance=1.0), "between 0 and the cutoff"),
        (
            lambda: quiltmd.add_forces(DUST, quiltmd.CustomPairs("s1*s2", 0.9, {"s": [1.0]})),
            "1 values for 40 atoms",
        ),
        (
            lambda: quiltmd.add_forces(DUST, quiltmd.CustomPairs("r", 0.9, groups=[([0], [99])])),
            "does not exist",
        ),
        (
            lambda: run_of(quiltmd.add_forces(DUST, quiltmd.CustomPairs("r", 1.1))).energies(),
            "has a cutoff of 1.1",
        ),
        (
            lambda: Simulation(
                quiltmd.add_forces(DUST, quiltmd.CustomPairs("r", 0.9)),
                state_of(PLACES, None),
                Nonbonded(method="no-cutoff"),
                device="cpu",
            ).energies(),
            "custom pair forces cannot be combined with .* no-cutoff",
        ),
    ],
)
def test_pairs_that_make_no_sense_are_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(quiltmd.QuiltError, match=text):
        make()


@pytest.mark.parametrize("periodic", [True, False])
def test_systems_without_a_nonbonded_force(periodic: bool) -> None:
    """A double well in a repulsive fluid, as in openmmtools' test systems; alone without a box."""
    original = openmm.System()
    original.setDefaultPeriodicBoxVectors(*CUBE)
    well = openmm.CustomBondForce("h*(1-((r-r0-w)/w)^2)^2")
    for name, value in (("h", 20.0), ("r0", 0.3), ("w", 0.1)):
        well.addGlobalParameter(name, value)
    well.addBond(0, 1, [])
    well.setUsesPeriodicBoundaryConditions(periodic)
    original.addForce(well)
    fluid = openmm.CustomNonbondedForce(
        "(4*e*((s/r)^12-(s/r)^6)+e)*step(1.12246204831*s-r); s=0.34; e=1"
    )
    fluid.setNonbondedMethod(fluid.CutoffPeriodic)
    fluid.setCutoffDistance(0.6)
    fluid.addExclusion(0, 1)
    for _ in range(216):
        original.addParticle(40.0)
        fluid.addParticle([])
    if periodic:
        original.addForce(fluid)
    energy, forces = energy_and_forces(original, GAS)
    assert energy > 1
    system = System.from_openmm(original)
    assert system.nonbonded is not None
    assert system.nonbonded.method == ("reaction-field" if periodic else "no-cutoff")
    state = State(positions=GAS, velocities=0 * GAS, box=CUBE if periodic else None)
    made = Simulation(system, state, device="cpu", ranks=1, threads=1)
    assert made.energies()["potential"] == pytest.approx(energy, rel=1e-6)
    assert made.forces() == pytest.approx(forces, abs=2e-6 * np.abs(forces).max())


# ---- Centres of groups ----

FOURS = np.arange(16).reshape(4, 4)
BEADS = (
    np.repeat([[0.1, 0.0, 3.3], [0.9, 0.4, 3.1], [1.2, 1.3, 2.6], [0.6, 1.9, 2.9]], 4, axis=0)
    + np.random.default_rng(1).normal(0, 0.1, (16, 3))
)  # fmt: skip
CENTRES = {
    "distance": ("k*(distance(g1,g2)-0.7)^2", 2),
    "flat": ("k*max(0,distance(g2,g1)-0.2)^2", 2),
    "lower": ("c*max(0,low-distance(g1,g2))^2; c=2*k; low=1.9", 2),
    "angle": ("0.5*k*(angle(g1,g2,g3)-1.2)^2", 3),
    "dihedral": ("k*min(d,2*pi-d)^2; d=abs(dihedral(g1,g2,g3,g4)-2); pi=3.141592653589793", 4),
}


def beads(force: Any) -> Any:
    """Four molecules of four atoms, with a force between them."""
    system, bonds, pairs = openmm.System(), openmm.HarmonicBondForce(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*BOX)
    pairs.setNonbondedMethod(pairs.CutoffPeriodic)
    pairs.setCutoffDistance(0.9)
    for k in range(16):
        system.addParticle(1.0 + k)
        pairs.addParticle(0, 1, 0)
        if k % 4:
            bonds.addBond(k - 1, k, 0.1, 1.0)
    for one in (bonds, pairs, force):
        system.addForce(one)
    return system


@pytest.mark.parametrize("name", CENTRES)
def test_centres_of_groups_are_collective_restraints(name: str) -> None:
    energy, count = CENTRES[name]
    force = openmm.CustomCentroidBondForce(count, energy)
    force.setUsesPeriodicBoundaryConditions(True)
    force.addPerBondParameter("k")
    for k, members in enumerate(FOURS):
        force.addGroup(members.tolist(), [1.0, 2.0, 3.0, 0.5] if k == 1 else [])
    force.addBond(list(range(count)), [300.0])
    force.addBond([3, 1, 0, 2][:count], [100.0])
    original = beads(force)
    expected, forces = energy_and_forces(original, BEADS)
    system = System.from_openmm(original)
    assert system.collective is not None
    assert len(system.collective.restraints) == 2
    energies, ours = quiltmd.reference(system, state_of(BEADS))
    assert energies["restraint"] > 1
    assert energies["potential"] == pytest.approx(expected, rel=1e-6)
    assert ours == pytest.approx(forces, abs=2e-6 * np.abs(forces).max())


def test_an_rmsd_is_a_collective_restraint() -> None:
    force = openmm.CustomCVForce("0.5*k*max(0,d-0.03)^2")
    force.addGlobalParameter("k", 4000.0)
    noisy = BEADS + np.random.default_rng(2).normal(0, 0.1, BEADS.shape)
    force.addCollectiveVariable("d", openmm.RMSDForce(noisy.tolist(), [0, 1, 2, 3]))
    original = beads(force)
    expected, forces = energy_and_forces(original, BEADS)
    system = System.from_openmm(original)
    energies, ours = quiltmd.reference(system, state_of(BEADS))
    assert energies["restraint"] > 1
    assert energies["potential"] == pytest.approx(expected, rel=1e-6)
    assert ours == pytest.approx(forces, abs=5e-6 * np.abs(forces).max())


@pytest.mark.parametrize(
    ("energy", "change", "text"),
    [
        ("k*distance(g1,g2)^3", {}, "not supported"),
        ("k*distance(g1,g2)*angle(g1,g2,g2)", {}, "not supported"),
        ("k*x1", {}, "not supported"),
        ("-k*(distance(g1,g2)-1)^2", {}, "is negative"),
        ("k*(distance(g1,g2)-1)^2", {"pbc": False}, "nearest images"),
        ("k*(distance(g1,g2)-1)^2", {"members": [0, 5]}, "several molecules"),
    ],
)
def test_other_forces_between_centres_are_refused(
    energy: str, change: dict[str, Any], text: str
) -> None:
    force = openmm.CustomCentroidBondForce(2, energy)
    force.setUsesPeriodicBoundaryConditions(change.get("pbc", True))
    force.addGlobalParameter("k", 3.0)
    force.addGroup(change.get("members", [0, 1]))
    force.addGroup([4, 5])
    force.addBond([0, 1], [])
    with pytest.raises(InputError, match=text):
        System.from_openmm(beads(force))


# ---- vibrations


@pytest.mark.parametrize(
    ("energy", "stiffness"),
    [
        ("0.5*k*(r-r0)^2", lambda k, r0: k),
        ("k*(1-exp(-(r-r0)/0.05))^2", lambda k, r0: 2 * k / 0.05**2),
        ("k*((r0/r)^12-2*(r0/r)^6)", lambda k, r0: 72 * k / r0**2),
        ("k*r", lambda k, r0: 0),
    ],
)
def test_custom_bonds_limit_time_steps(energy: str, stiffness: Any) -> None:
    """The fastest of three bonds between atoms of 12 and 1 amu."""
    k, r0 = np.array([2e4, 3e6, 1e4]), np.array([0.1, 0.1503, 0.12])
    bonds = CustomBond(energy, [[0, 1], [2, 3], [4, 5]], {"k": k, "r0": r0})
    system = quiltmd.add_forces(System.of([12.0, 1.008] * 3), bonds)
    found = fastest_vibration(system)
    stiffest = float(np.max(stiffness(k, r0)))
    if not stiffest:
        assert (found.period, found.term) == (np.inf, "")
        return
    reduced = 12 * 1.008 / 13.008
    assert found.period == pytest.approx(2 * np.pi * np.sqrt(reduced / stiffest), rel=1e-4)
    assert found.atoms == (2, 3)
    warnings = list(step_oddities(system, LangevinMiddle(300, 1.0, found.period / 4)))
    assert any("fs is long for the bond of the custom force" in one for one in warnings)


def test_custom_bonds_to_hydrogen_are_counted_among_the_flexible_ones() -> None:
    topology = replace(System.of([12.0, 1.008]).topology, elements=np.array([6, 1], np.int32))
    system = replace(System.of([12.0, 1.008]), topology=topology)
    bond = CustomBond("(r-0.1)^4", [[0, 1]])
    assert loose_hydrogens(system) == 0
    assert loose_hydrogens(quiltmd.add_forces(system, bond)) == 1
