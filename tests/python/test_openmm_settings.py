# SPDX-License-Identifier: Apache-2.0
"""What an OpenMM System says is done or refused by name, whatever it says.

Every getter of every class of forces is walked: its value is changed, and then our forces must be
those of OpenMM's Reference platform, or the System must be refused. So a setting that OpenMM heeds
cannot be dropped in silence, nor one that a later OpenMM adds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import relative_rms
from openmm import unit

import quiltmd
from quiltmd.errors import QuiltError

pytestmark = [
    pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning"),
]

EDGE, CUTOFF, TOLERANCE = 2.0, 0.8, 1e-5
READ = (
    *("HarmonicBondForce", "HarmonicAngleForce", "PeriodicTorsionForce", "RBTorsionForce"),
    "NonbondedForce",
)
WATERS = 27
PEPTIDE = 5  # atoms of a chain, which come first
Change = Callable[[Any], None]


def small_system() -> Any:
    """A bent chain of five charged atoms in flexible water; all that readers read has a value."""
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*(EDGE * np.eye(3)))
    bonds, angles = openmm.HarmonicBondForce(), openmm.HarmonicAngleForce()
    torsions, pairs = openmm.PeriodicTorsionForce(), openmm.NonbondedForce()
    powers = openmm.RBTorsionForce()
    powers.addTorsion(0, 1, 2, 3, 1.0, 4.0, -3.0, 2.5, 1.5, -2.0)
    for i in range(PEPTIDE):
        system.addParticle(12.0 + i)
        pairs.addParticle(0.2 * (i - 2), 0.3, 0.4)
    for i in range(PEPTIDE - 2):
        bonds.addBond(i, i + 1, 0.15, 2e5)
    system.addConstraint(PEPTIDE - 2, PEPTIDE - 1, 0.15)
    for i in range(PEPTIDE - 2):
        angles.addAngle(i, i + 1, i + 2, 1.9, 400.0)
    for i in range(PEPTIDE - 3):
        torsions.addTorsion(i, i + 1, i + 2, i + 3, 2, 0.4, 5.0)
        pairs.addException(i, i + 3, -0.05, 0.28, 0.2)
    for apart in (1, 2):
        for i in range(PEPTIDE - apart):
            pairs.addException(i, i + apart, 0, 1, 0)
    for water in range(WATERS):
        first = PEPTIDE + 3 * water
        for mass, charge, epsilon in ((16.0, -0.8, 0.6), (1.0, 0.4, 0.0), (1.0, 0.4, 0.0)):
            system.addParticle(mass)
            pairs.addParticle(charge, 0.31, epsilon)
        for i, j in ((0, 1), (0, 2)):
            bonds.addBond(first + i, first + j, 0.0957, 4e5)
        angles.addAngle(first + 1, first, first + 2, 1.82, 800.0)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            pairs.addException(first + i, first + j, 0, 1, 0)
    pairs.setNonbondedMethod(openmm.NonbondedForce.PME)
    pairs.setCutoffDistance(CUTOFF)
    pairs.setEwaldErrorTolerance(TOLERANCE)
    for force in (bonds, angles, torsions, powers, pairs, openmm.CMMotionRemover(7)):
        system.addForce(force)
    return system


def positions() -> np.ndarray:
    """(N, 3) nm: the chain along a diagonal, waters on a grid, some cut by the boundary."""
    random = np.random.default_rng(3)
    chain = np.array([[0, 0, 0], [0.15, 0, 0], [0.2, 0.14, 0], [0.3, 0.18, 0.1], [0.4, 0.1, 0.19]])
    grid = np.indices((3, 3, 3)).reshape(3, -1).T * (EDGE / 3) + 0.33
    grid[:, 0] += 0.2
    arm = np.array([[0, 0, 0], [0.0957, 0, 0], [-0.024, 0.0927, 0]])
    turns, _ = np.linalg.qr(random.normal(size=(WATERS, 3, 3)))
    waters = (grid[:, None] + arm @ turns).reshape(-1, 3)
    return np.concatenate([chain + 0.02, waters])


def theirs(system: Any) -> np.ndarray:
    """Forces of OpenMM's Reference platform; raises OpenMMException where it refuses."""
    context = openmm.Context(
        system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    context.setPositions(positions())
    forces = context.getState(getForces=True).getForces(asNumpy=True)
    return np.asarray(forces.value_in_unit_system(unit.md_unit_system))


def open_system() -> Any:
    """The same without a periodic box, in implicit solvent."""
    system = small_system()
    pairs, solvent = force_of(system, "NonbondedForce"), openmm.GBSAOBCForce()
    pairs.setNonbondedMethod(openmm.NonbondedForce.NoCutoff)
    pairs.setSwitchingDistance(0.5 * CUTOFF)  # which OpenMM checks even where it is not used
    for atom in range(system.getNumParticles()):
        charge = pairs.getParticleParameters(atom)[0]
        solvent.addParticle(charge, 0.12 + 0.01 * (atom % 5), 0.7 + 0.1 * (atom % 3))
    solvent.setNonbondedMethod(openmm.GBSAOBCForce.NoCutoff)
    system.addForce(solvent)
    return system


def ours(system: Any) -> np.ndarray:
    """Our forces of the System with nothing said beside it."""
    described = quiltmd.System.from_openmm(system)
    is_open = described.nonbonded == quiltmd.Nonbonded(method="no-cutoff")
    state = quiltmd.State.start(described, positions(), None if is_open else EDGE * np.eye(3))
    return quiltmd.Simulation(described, state, device="cpu", threads=1).forces()


def is_honoured(
    change: Change, tolerance: float = TOLERANCE, make: Callable[[], Any] = small_system
) -> str | None:
    """Checks that a changed System is simulated as OpenMM does, or gives the words of refusal."""
    system = make()
    change(system)
    try:
        found = ours(system)
    except QuiltError as error:
        return str(error)
    # Above: what our tolerance of PME parameters and that of OpenMM may differ by.
    assert relative_rms(found, theirs(system)) < 1e-4 + 5 * tolerance
    return None


def force_of(system: Any, name: str) -> Any:
    return next(force for force in system.getForces() if type(force).__name__ == name)


def other_values(value: Any) -> list[Any]:
    """Some values of the same kind that are not this one."""
    if unit.is_quantity(value):
        return [item * value.unit for item in other_values(value._value)]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value + 2]
    return [0.5 * value + 0.07, 1.2 * value + 0.02] if isinstance(value, float) else ["changed"]


def changes_of(name: str, make: Callable[[], Any] = small_system) -> Iterator[tuple[str, Change]]:
    """All the ways to give one argument of one setter of a class another value."""
    system = make()  # which owns the force
    force = force_of(system, name)
    for setter in sorted(member for member in dir(force) if member.startswith("set")):
        noun = setter.removeprefix("set")
        getters = (f"get{noun}", noun[0].lower() + noun[1:])
        getter = next((getter for getter in getters if hasattr(force, getter)), None)
        if getter is None:
            yield setter, lambda system, noun=noun: pytest.fail(f"no getter for {noun}")
            continue
        of_a_term = len(inspect.signature(getattr(force, getter)).parameters) > 0
        index = (0,) if of_a_term else ()
        try:
            value = getattr(force, getter)(*index)
        except openmm.OpenMMException:
            continue  # of something that there is none of: see test_what_is_added
        row = list(value) if isinstance(value, (list, tuple)) else [value]
        for at, item in enumerate(row):
            methods = range(6 if name == "NonbondedForce" else 3)
            values = methods if noun == "NonbondedMethod" else other_values(item)
            for other in values:
                if noun == "PMEParameters":  # together or not at all
                    arguments = [3.9, 32, 32, 32]
                else:
                    arguments = [*index, *row[:at], other, *row[at + 1 :]]

                def change(system: Any, arguments: Any = arguments, setter: str = setter) -> None:
                    getattr(force_of(system, name), setter)(*arguments)

                yield f"{setter}{tuple(arguments)}", change


ALL_CHANGES = [
    pytest.param(change, id=f"{name}.{label}")
    for name in (*READ, "CMMotionRemover")
    for label, change in changes_of(name)
]


OPEN_CHANGES = [
    pytest.param(change, id=f"{name}.{label}")
    for name in (*READ, "GBSAOBCForce")
    for label, change in changes_of(name, open_system)
]


def test_the_system_itself_agrees() -> None:
    assert is_honoured(lambda system: None) is None
    assert is_honoured(lambda system: None, make=open_system) is None


@pytest.mark.parametrize("change", OPEN_CHANGES)
def test_settings_without_a_box_are_honoured_or_refused(change: Change) -> None:
    refused = is_honoured(change, make=open_system)
    assert refused is None or any(
        word in refused for word in (*READ, "GBSAOBCForce", "system.", "cutoff", "radius")
    )


@pytest.mark.parametrize("change", ALL_CHANGES)
def test_every_setting_is_honoured_or_refused(change: Change) -> None:
    system = small_system()
    change(system)
    tolerance = force_of(system, "NonbondedForce").getEwaldErrorTolerance()
    refused = is_honoured(change, tolerance)
    assert refused is None or any(word in refused for word in (*READ, "system.", "cutoff"))


@pytest.mark.parametrize("name", sorted(kind.__name__ for kind in openmm.Force.__subclasses__()))
def test_every_other_class_is_refused_by_name(name: str) -> None:
    """By a stand-in, since some classes take a good deal to make."""
    # Maps: test_torsion_maps.py. Custom forces: test_custom_forces.py, test_restraints.py.
    custom = (
        *("CustomNonbondedForce", "CustomTorsionForce", "CustomExternalForce"),
        *("CustomAngleForce", "CustomCompoundBondForce"),
        *("CustomCentroidBondForce", "CustomCVForce"),
    )
    solvents = ("GBSAOBCForce", "CustomGBForce")  # of the latter: test_implicit_solvent.py
    sometimes = ("CMAPTorsionForce", "CustomBondForce", *custom, *solvents)
    if name in (*READ, *sometimes, "CMMotionRemover"):
        return
    force = type(name, (), {"getName": lambda self: name})()
    system = type("System", (), {"getForces": lambda self: [force]})()
    with pytest.raises(QuiltError, match=f"the OpenMM system has the force {name}"):
        quiltmd.System.from_openmm(system)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MonteCarloBarostat", "constant volume"),
        ("AndersenThermostat", "the integrator is the thermostat"),
    ],
)
def test_refusals_say_what_to_do(name: str, words: str) -> None:
    system = small_system()
    system.addForce(getattr(openmm, name)(1.0, 300.0))
    with pytest.raises(QuiltError, match=words):
        quiltmd.System.from_openmm(system)


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda force: force.setIncludeDirectSpace(False), "setIncludeDirectSpace"),
        (lambda force: force.setUseSwitchingFunction(True), "switch_distance"),
        *[
            (lambda force, method=method: force.setNonbondedMethod(method), name)
            for method, name in enumerate((None, "CutoffNonPeriodic", None, None, None))
            if name is not None
        ],
    ],
)
def test_what_is_refused_of_nonbonded_forces(add: Any, words: str) -> None:
    def change(system: Any) -> None:
        add(force_of(system, "NonbondedForce"))

    refused = is_honoured(change)
    assert refused is not None
    assert words in refused


@pytest.mark.parametrize("correction", [False, True])
def test_switching_function(correction: bool) -> None:
    def change(system: Any) -> None:
        force = force_of(system, "NonbondedForce")
        force.setUseSwitchingFunction(True)
        force.setSwitchingDistance(0.6)
        force.setUseDispersionCorrection(correction)

    assert is_honoured(change) is None
    system = small_system()
    change(system)
    stated = quiltmd.System.from_openmm(system).nonbonded
    assert stated is not None
    assert (stated.switching, stated.switch_distance) == ("potential", 0.6)


ACROSS = {  # terms between a water and the chain, which lie on both sides of the boundary
    "HarmonicAngleForce": lambda force: force.addAngle(0, PEPTIDE + 3 * 8, 4, 1.0, 50.0),
    "PeriodicTorsionForce": lambda force: force.addTorsion(0, 1, 2, PEPTIDE + 3 * 8, 1, 0.3, 9.0),
    "NonbondedForce": lambda force: force.addException(0, PEPTIDE + 3 * 8, 0.1, 0.3, 0.2),
}


@pytest.mark.parametrize("name", ACROSS)
@pytest.mark.parametrize("periodic", [False, True])
def test_terms_across_molecules_need_periodic_boundaries(name: str, periodic: bool) -> None:
    def change(system: Any) -> None:
        force = force_of(system, name)
        ACROSS[name](force)
        if name == "NonbondedForce":
            force.setExceptionsUsePeriodicBoundaryConditions(periodic)
        else:
            force.setUsesPeriodicBoundaryConditions(periodic)

    refused = is_honoured(change)
    assert (refused is None) == periodic
    assert refused is None or (name in refused and "PeriodicBoundaryConditions(True)" in refused)


def test_settings_given_in_place_of_the_systems() -> None:
    system = small_system()
    force = force_of(system, "NonbondedForce")
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    own = quiltmd.Nonbonded(cutoff=0.7)
    assert quiltmd.System.from_openmm(system, nonbonded=own).nonbonded == own


def test_copies_keep_the_settings() -> None:
    system = small_system()
    force_of(system, "NonbondedForce").setPMEParameters(3.9, 24, 25, 28)
    described = quiltmd.System.from_openmm(system)
    assert described.nonbonded == quiltmd.Nonbonded(
        cutoff=CUTOFF, pme_order=5, pme_alpha=3.9, pme_grid=(24, 25, 28)
    )
    assert described.tile(2, 1, 3).nonbonded.pme_grid == (48, 25, 84)


def test_settings_given_replace_what_goes_with_them() -> None:
    """A method without PME all of PME, a cutoff the coefficient, no switching its distance."""
    mesh = {"pme_order": 5, "pme_alpha": 3.9, "pme_grid": (24, 25, 28)}
    stated = quiltmd.Nonbonded(cutoff=CUTOFF, switching="potential", switch_distance=0.5, **mesh)
    truncated = stated.overridden({"method": "cutoff"})
    assert truncated == quiltmd.Nonbonded(
        cutoff=CUTOFF, method="cutoff", switching="potential", switch_distance=0.5
    )
    assert stated.overridden({"method": "no-cutoff"}).resolve(None)["method"] == "no-cutoff"
    field = quiltmd.Nonbonded(cutoff=CUTOFF, method="reaction-field", dielectric=2)
    assert field.overridden({"method": "pme"}) == quiltmd.Nonbonded(cutoff=CUTOFF)
    assert field.overridden({"cutoff": 0.6}).dielectric == 2
    assert stated.overridden({"switching": "none"}) == quiltmd.Nonbonded(cutoff=CUTOFF, **mesh)
    shorter = stated.overridden({"cutoff": 0.6})
    assert (shorter.pme_alpha, shorter.pme_grid, shorter.switching) == (None, None, "potential")
    assert stated.overridden({"cutoff": CUTOFF}) == stated
    own = {"pme_alpha": 4.5, "pme_grid": (32, 32, 32)}
    assert stated.overridden({"cutoff": 0.6, **own}).pme_alpha == 4.5
    assert stated.overridden({"pme_tolerance": 1e-4}).pme_grid is None
    with pytest.raises(quiltmd.QuiltError, match=r"switch_distance 0\.5 nm must be less"):
        stated.overridden({"cutoff": 0.4})
