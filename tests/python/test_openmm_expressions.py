# SPDX-License-Identifier: Apache-2.0
"""Expressions of OpenMM's custom forces: what they mean counts, not how they are spelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import app, unit

import quiltmd
from quiltmd import InputError, Nonbonded, State, System
from quiltmd.description.expression_values import evaluate
from quiltmd.description.expressions import Expression, ExpressionError
from quiltmd.openmm.custom import COULOMB
from quiltmd.openmm.expressions import are_equal

pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box:quiltmd.QuiltWarning")

ATOMS = 6
Row = tuple[list[int], list[float]]
EXCLUDED = [(i, j) for i in range(ATOMS) for j in range(i)]
PLACES = np.random.default_rng(5).uniform(0, 0.6, (4, ATOMS, 3))


def reference(made: openmm.System, places: Any) -> tuple[float, Any]:
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(made, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(places)
    found = context.getState(getEnergy=True, getForces=True)
    forces = found.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    return found.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole), forces


@pytest.mark.parametrize(
    "text",
    [
        "-r^2+1",
        "2^-r^2",
        "r-1-2-3",
        "8/r/2*3",
        "-2*r^3^0.5",
        "a*b;a=b+1;b=c^2;c=r+.5e-1",
        "select(step(r-0.3),r,1-r)+select(0,5,6)",
        "min(r,0.3)+max(r,0.4)+abs(r-1)",
        "sin(r)*cos(r)/tan(r)+sec(r)-csc(r)+cot(r)",
        "asin(r/9)+acos(r/9)+atan(r)+atan2(r,2)",
        "sinh(r)+cosh(r)-tanh(r)",
        "erf(r)+2*erfc(2*r)",
        "exp(-r)+log(r)+sqrt(r)",
        "square(r)+cube(r)+recip(r)",
        "floor(7*r)+ceil(9*r)+delta(r-100)",
        "(r)*((1+r))",
        "3.14159*r",
    ],
)
def test_values_are_openmms(text: str) -> None:
    made = openmm.System()
    force = openmm.CustomBondForce(text)
    force.addBond(0, 1, [])
    made.addForce(force)
    for _ in range(2):
        made.addParticle(1.0)
    expression = Expression(text)
    for r in (0.137, 0.35, 0.91, 2.5):
        energy, _ = reference(made, [[0, 0, 0], [r, 0, 0]])
        (ours,) = evaluate([expression.root], {"r": r})
        assert float(ours) == pytest.approx(energy, rel=1e-12 if "3.14" not in text else 1e-5)


@pytest.mark.parametrize(
    "text", ["", "r+", "(r", "r)", "r r", "sin(r", "f()", "r;a", "r;1=2", "r$"]
)
def test_texts_that_are_no_expressions(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("(a+b)^2", "a^2+2*a*b+b*b", True),
        ("exp(2*a)", "x*x;x=exp(a)", True),
        ("select(step(a-b),a,b)", "max(a,b)", True),
        ("abs(a-b)", "sqrt((b-a)^2)", True),
        ("a", "a+step(a-4.9)*1e-3", False),
        ("a/b", "a/c", False),
        ("a", "what(a)", False),
        ("a", "a+", False),
    ],
)
def test_equal_expressions(one: str, other: str, same: bool) -> None:
    assert are_equal(one, other) == same


def molecule(*forces: openmm.Force, box: float = 0) -> openmm.System:
    """Six atoms, all pairs excluded, with these forces."""
    made = openmm.System()
    nonbonded = openmm.NonbondedForce()
    for _ in range(ATOMS):
        made.addParticle(12.0)
        nonbonded.addParticle(0.0, 1.0, 0.0)
    for i, j in EXCLUDED:
        nonbonded.addException(i, j, 0.0, 1.0, 0.0)
    for force in (nonbonded, *forces):
        made.addForce(force)
    if box:
        made.setDefaultPeriodicBoxVectors(*np.eye(3) * box)
        nonbonded.setNonbondedMethod(nonbonded.PME)
    return made


def agree(made: openmm.System) -> System:
    """What is read, with energies and forces as OpenMM's at several places."""
    system = System.from_openmm(made)
    for places in PLACES:
        state = State.start(system, places, None)
        energies, forces = quiltmd.reference(system, state)
        energy, expected = reference(made, places)
        assert energies["potential"] == pytest.approx(energy, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(forces, expected, atol=1e-8 * np.abs(expected).max() + 1e-9)
    return system


BONDS = [([0, 1], [900.0, 0.21]), ([2, 5], [300.0, 0.33]), ([1, 4], [0.0, 0.3])]


def bond_force(text: str, rows: list[Row] = BONDS, names: tuple[str, ...] = ("k", "r0")) -> Any:
    force = openmm.CustomBondForce(text)
    for name in names:
        force.addPerBondParameter(name)
    for atoms, values in rows:
        force.addBond(*atoms, values)
    return force


@pytest.mark.parametrize(
    "text",
    [
        "0.5*k*(r-r0)^2",
        "k/2*(r0-r)*(r0-r)",
        "k*square(x)/2; x=r-r0",
        "0.5*k*(r^2-2*r*r0+r0^2)",
        "k*max(0,r-r0)^2",
        "k*select(step(r-r0),(r-r0)^2,0)",
        "k*step(d)*d^2; d=r-r0",
        "k*(max(0,0.2-r)^2+max(0,r-r0-0.1)^2)",
        "k*(r-0.25)^2",
        "k*(abs(r-r0)-0)^2",
        "k*r*r",
    ],
)
def test_springs(text: str) -> None:
    system = agree(molecule(bond_force(text)))
    assert len(system.distance_restraints) == 3


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("4*epsilon*((sigma/r)^12-(sigma/r)^6)", ("sigma", "epsilon"), (0.3, 0.4)),
        ("4*0.5*epsilon*(s-sqrt(s)); s=(sigma/r)^12", ("sigma", "epsilon"), (0.3, 0.4)),
        ("-C/r^6+A/r^12", ("C", "A"), (2e-3, 3e-6)),
        ("epsilon*((rmin/r)^12-2*(rmin/r)^6)", ("rmin", "epsilon"), (0.35, 0.4)),
        (f"{COULOMB!r}*qq/r", ("qq",), (-0.2,)),
        ("138.935456*qq/r+C12/r^12-C6/r^6", ("qq", "C6", "C12"), (0.1, 2e-3, 3e-6)),
        ("A/r^12", ("A",), (3e-6,)),
    ],
)
def test_pairs_of_their_own(text: str, names: tuple[str, ...], rows: tuple[float, ...]) -> None:
    terms: list[Row] = [
        (list(pair), [value * (1 + k) for value in rows])
        for k, pair in enumerate([(0, 1), (3, 5), (0, 1)])
    ]
    system = agree(molecule(bond_force(text, terms, names)))
    assert len(system.pairs14) == 2  # the first has two terms


TORSIONS = [([0, 1, 2, 3], [20.0, 0.3]), ([1, 2, 3, 4], [35.0, -2.9]), ([5, 1, 0, 2], [8.0, 3.1])]


def torsion_force(text: str, rows: list[Row] = TORSIONS) -> Any:
    force = openmm.CustomTorsionForce(text)
    force.addPerTorsionParameter("k")
    force.addPerTorsionParameter("theta0")
    for atoms, values in rows:
        force.addTorsion(*atoms, values)
    return force


GROMACS = (  # as openmm.app writes the impropers of GROMACS topologies
    "0.5*k*(thetap-theta0)^2; thetap = step(-(theta-theta0+pi))*2*pi+theta+"
    "step(theta-theta0-pi)*(-2*pi); pi = 3.14159265358979"
)
FLAT = (
    "k*max(0, abs(diff+wrap)-0.4)^2; wrap=2*pi*(step(-diff-pi)-step(diff-pi)); diff=theta-theta0;"
    "pi=3.1415926535"
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("k*min(dtheta, 2*pi-dtheta)^2; dtheta=abs(theta-theta0); pi=3.1415926535", "impropers"),
        (GROMACS, "impropers"),
        ("k*x^2; x=d-2*pi*floor(d/(2*pi)+0.5); d=theta-theta0; pi=3.14159265358979", "impropers"),
        ("k*acos(cos(theta-theta0))^2", "impropers"),
        ("k*(1+cos(3*theta-theta0))", "torsions"),
        ("k*(1-cos(theta-theta0))", "torsions"),
        ("k*(1+cos(3*(theta-theta0)))", "torsions"),
        ("k-k*cos((theta0-theta)*n);n=2", "torsions"),
        ("2*k*cos((2*theta-theta0)/2)^2", "torsions"),
        ("k*(1+cos(2*theta)*cos(theta0)+sin(2*theta)*sin(theta0))", "torsions"),
        (FLAT, "torsion_restraints"),
    ],
)
def test_torsions(text: str, kind: str) -> None:
    system = agree(molecule(torsion_force(text)))
    assert len(getattr(system, kind)) == 3


@pytest.mark.parametrize(
    ("text", "radius", "weights"),
    [
        ("k*periodicdistance(x,y,z,x0,y0,z0)^2", 0, (1, 1, 1)),
        ("k*((x-x0)^2+(y-y0)^2+(z-z0)^2)", 0, (1, 1, 1)),
        ("k*(dx*dx+dy*dy+dz*dz);dx=x-x0;dy=y-y0;dz=z0-z", 0, (1, 1, 1)),
        ("k*(z-z0)^2", 0, (0, 0, 1)),
        ("k*periodicdistance(x,y,z,x,y,z0)^2", 0, (0, 0, 1)),
        ("k*((x-x0)^2+0.25*(y-y0)^2)", 0, (1, 0.25, 0)),
        ("0.5*k*periodicdistance(x,y,z,0.3,0.3,0.3)^2", 0, (1, 1, 1)),
        ("k*max(0,periodicdistance(x,y,z,x0,y0,z0)-rad)^2", 0.1, (1, 1, 1)),
        ("k*max(0,sqrt((x-x0)^2+(y-y0)^2)-rad)^2", 0.1, (1, 1, 0)),
        ("k*max(0,abs(y-y0)-rad)^2", 0.1, (0, 1, 0)),
    ],
)
def test_position_restraints(text: str, radius: float, weights: tuple[float, ...]) -> None:
    force = openmm.CustomExternalForce(text)
    for name in ("k", "x0", "y0", "z0"):
        force.addPerParticleParameter(name)
    force.addGlobalParameter("rad", radius)
    for atom in range(ATOMS):
        force.addParticle(atom, [100.0 * (1 + atom), 0.1 * atom, 0.2, 0.5 - 0.1 * atom])
    values = agree(molecule(force)).position_restraint_parameters
    assert values[:, 7] == pytest.approx(radius)
    np.testing.assert_allclose(values[:, 8:], np.tile(weights, (ATOMS, 1)))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("0.5*k*(r-r0)^2+1e-4*step(r-1)", "bond"),
        ("0.5*k*(r-r0)^2*select(step(r-2)*step(2.05-r),2,1)", "bond"),
        ("0.25*k*(r^2-r0^2)^4", "bond"),
        ("0.5*k*(r-r0)^2+1", "bond"),
        ("k*abs(r-r0)", "bond"),
        ("k*(1+cos(theta-theta0)^3)", "torsion"),
        ("k*cos(theta-theta0)", "torsion"),
        ("k*(1+cos(1.5*theta-theta0))", "torsion"),
        ("k", "torsion"),
    ],
)
def test_other_meanings_are_those_of_the_expression(text: str, where: str) -> None:
    force = bond_force(text) if where == "bond" else torsion_force(text)
    found = agree(molecule(force))
    assert found.custom is not None
    assert found.custom.terms[0].energy == text


def test_names_that_are_not_known_are_refused() -> None:
    with pytest.raises(InputError, match="'r1' is not known, only "):
        System.from_openmm(molecule(bond_force("0.5*k*(r-r1)^2")))


def test_what_jumps_is_refused_by_its_first_term() -> None:
    rows = [([0, 1, 2, 3], [20.0, 0.0]), ([1, 2, 3, 4], [35.0, 0.5])]
    with pytest.raises(InputError, match="atoms 2-3-4-5 is not periodic: its energy jumps"):
        System.from_openmm(molecule(torsion_force("k*(theta-theta0)^2", rows)))
    agree(molecule(torsion_force("k*(theta-theta0)^2", rows[:1])))


def test_springs_that_push_atoms_away_are_refused() -> None:
    force = openmm.CustomExternalForce("-50*(z-0.2)^2")
    force.addParticle(0, [])
    with pytest.raises(InputError, match="the force constant of a restraint is negative"):
        System.from_openmm(molecule(force))


def test_pairs_that_are_no_exceptions_are_refused() -> None:
    made = molecule(bond_force("A/r^12-B/r^6", [([0, 1], [1e-6, 1e-3])], ("A", "B")))
    (nonbonded,) = (one for one in made.getForces() if isinstance(one, openmm.NonbondedForce))
    clean = openmm.NonbondedForce()
    for _ in range(ATOMS):
        clean.addParticle(0.0, 1.0, 0.0)
    made.removeForce([f.this for f in made.getForces()].index(nonbonded.this))
    made.addForce(clean)
    with pytest.raises(InputError, match="atoms 1 and 2, which interact by it, are not an except"):
        System.from_openmm(made)


PARAMETERS = np.array([[0.3, 0.5], [0.25, 0.9], [0.0, 0.0]])  # two numbers of three kinds of atoms
TABLE = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])


def pair_force(text: str) -> Any:
    force = openmm.CustomNonbondedForce(text)
    force.addPerParticleParameter("s")
    force.addPerParticleParameter("e")
    force.addPerParticleParameter("kind")
    force.addTabulatedFunction("t", openmm.Discrete2DFunction(3, 3, TABLE.ravel().tolist()))
    force.addTabulatedFunction("u", openmm.Discrete1DFunction([0.2, 0.3, 0.35]))
    for atom in range(ATOMS):
        force.addParticle([*PARAMETERS[atom % 3], atom % 3])
    return force


def beside_plain(text: str) -> openmm.System:
    """Pairs with this energy, and a NonbondedForce with the same exclusions and no energy."""
    made, force, plain = molecule(), pair_force(text), openmm.NonbondedForce()
    for _ in range(ATOMS):
        plain.addParticle(0.0, 1.0, 0.0)
    for i, j in EXCLUDED[:3]:
        force.addExclusion(i, j)
        plain.addException(i, j, 0.0, 1.0, 0.0)
    made.removeForce(0)
    made.addForce(plain)
    made.addForce(force)
    return made


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("4*eps*((sig/r)^12-(sig/r)^6); sig=0.5*(s1+s2); eps=sqrt(e1*e2)", "lennard-jones"),
        ("4*sqrt(e1*e2)*x*(x-1); x=(s1*s2)^3/r^6", "lennard-jones"),
        ("e1*e2/r^12-s1*s2/r^6*1e-3", "lennard-jones"),
        ("1e-6*t(kind1,kind2)/r^12-1e-3/(r^6)*t(kind2,kind1)", "lennard-jones"),
        ("(a/r6)^2-b/r6; r6=r^6; a=1e-3*t(kind1,kind2); b=u(kind1)*u(kind2)", "lennard-jones"),
        ("select(r, 1e-6/r^12, 0)*(u(kind1)+u(kind2))", "lennard-jones"),
        ("1e4*e1*e2*exp(-30*r)-1e-3*e1*e2/r^6", "buckingham"),
        ("exp(log(1e4*e1*e2+1)-(s1+s2)*50*r)", "buckingham"),
        ("e1*e2*(exp(-2*x)-2*exp(-x)); x=20*(r-r0); r0=s1+s2", "morse"),
        ("sqrt(e1*e2)*((1-exp(-a*(r-0.3)))^2-1); a=12", "morse"),
        ("c*sqrt(e1*e2)*(q^n-q^6); q=(s1+s2)/r; c=n/(n-6)*(n/6)^(6/(n-6)); n=14", "mie"),
    ],
)
def test_pair_forms(text: str, form: str) -> None:
    assert agree(beside_plain(text)).pair_form == form


@pytest.mark.parametrize(
    "text",
    [
        "t(kind1,kind2)/r^9-1/r^6",
        "e1*e2/r^12-s1*s2/r^6+1e-6*step(r-1)",
        "e1*e2*(1-exp(-20*(r-0.3)))^2",  # does not end at zero
    ],
)
def test_other_pair_forms_are_evaluated(text: str) -> None:
    custom = agree(beside_plain(text)).custom
    assert custom is not None
    assert custom.pairs


def test_a_pair_energy_that_depends_on_the_order_is_refused() -> None:
    with pytest.raises(InputError, match="depends on the order of its atoms"):
        System.from_openmm(beside_plain("e1/r^12-s1/r^6"))


def test_numbers_beyond_a_table_end_a_run() -> None:
    system = System.from_openmm(beside_plain("t(kind1+9,kind2)/r^12"))
    state = State.start(system, PLACES[0], None)
    simulation = quiltmd.Simulation(system, state, device="cpu", threads=1)
    with pytest.raises(quiltmd.QuiltError, match="custom"):
        simulation.run(1)


OPLS = """
[ defaults ]
1 {rule} {generate} 0.5 0.5
[ atomtypes ]
C1 6 12.011  0.1 A {c}
C2 6 12.011 -0.1 A {d}
OW 8 15.9994 -0.82 A {o}
HW 1 1.008 0.41 A 0 0
[ moleculetype ]
CHN 3
[ atoms ]
1 C1 1 CHN C1 1
2 C2 1 CHN C2 1
3 C1 1 CHN C3 1
4 C2 1 CHN C4 1
5 C1 1 CHN C5 1 0.0
[ bonds ]
1 2 1 0.153 224262
2 3 1 0.153 224262
3 4 1 0.153 224262
4 5 1 0.153 224262
[ angles ]
1 2 3 1 112 400
2 3 4 1 112 400
[ dihedrals ]
1 2 3 4 3 0.6 1.7 -0.3 -2.1 0.25 0.1
2 3 4 5 2 35 160
[ pairs ]
1 4 1 {pair}
2 5 1 {pair}
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1
2 HW 1 SOL HW1 1
3 HW 1 SOL HW2 1
[ settles ]
1 1 0.1 0.1633
[ exclusions ]
1 2 3
2 3
[ system ]
of both
[ molecules ]
CHN 3
SOL 20
"""


@pytest.mark.parametrize("method", [app.PME, app.NoCutoff, app.CutoffPeriodic])
@pytest.mark.parametrize("rule", [1, 3])
def test_gromacs_files_read_by_openmm(rule: int, method: Any, tmp_path: Path) -> None:
    """OpenMM makes custom forces of the combination rules 1 and 3; ours read the file as well."""
    own = {"c": "0.35 0.28", "d": "0.34 0.36", "o": "0.3166 0.65", "pair": ""}
    if rule == 1:
        own = {"c": "2.1e-3 4.1e-6", "d": "2e-3 3e-6", "o": "2.6e-3 2.6e-6", "pair": "1e-3 2e-6"}
    path = tmp_path / "a.top"
    path.write_text(OPLS.format(rule=rule, generate="no" if rule == 1 else "yes", **own))
    vectors = np.eye(3) * 2.4 * unit.nanometer
    top = app.GromacsTopFile(str(path), periodicBoxVectors=vectors)
    made = top.createSystem(nonbondedMethod=method, nonbondedCutoff=1.0)
    rng = np.random.default_rng(3)
    starts = np.stack(np.meshgrid(*[0.7 * np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)
    chain = np.array([[0.153 * k, 0.06 * (k % 2), 0.03 * k * k] for k in range(5)])
    water = np.array([[0, 0, 0], [0.1, 0, 0], [-0.0333, 0.0943, 0]])
    shapes = [chain] * 3 + [water] * 20
    places = np.concatenate([s + c for s, c in zip(starts, shapes, strict=False)]) + rng.normal(
        0, 1e-3, (75, 3)
    )
    for force in made.getForces():  # the same mesh in both
        if isinstance(force, openmm.NonbondedForce) and method is app.PME:
            force.setPMEParameters(3.5, 24, 24, 24)
    energy, forces = reference(made, places)
    system = System.from_openmm(made, top.topology)
    state = State.start(system, places, None if method is app.NoCutoff else np.eye(3) * 2.4)
    energies, ours = quiltmd.reference(system, state)
    assert energies["potential"] == pytest.approx(energy, rel=1e-6)
    np.testing.assert_allclose(ours, forces, atol=2e-6 * np.abs(forces).max())
    direct = quiltmd.inputs.describe(path).system
    assert len(direct.pairs14) == len(system.pairs14) == 6
    settings = system.nonbonded
    assert isinstance(settings, Nonbonded)
    again, _ = quiltmd.reference(direct, state, settings)
    assert again["potential"] == pytest.approx(energies["potential"], rel=1e-9)
