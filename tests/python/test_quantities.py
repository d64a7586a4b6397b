# SPDX-License-Identifier: Apache-2.0
"""Arguments with units of all public names: numbers, texts, quantities of OpenMM, and nonsense.

`walk` finds the arguments whose description names a unit.  Each is declared with its unit, or has a
call here, or the reason why it takes none.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any, NamedTuple, get_type_hints
from unittest.mock import patch

import numpy as np
import openmm
import pytest
from openmm import unit

import quiltmd
from quiltmd import prepare
from quiltmd.inputs.standard_systems import system_files

NAMED = re.compile(r"(?<![\w/^-])(nm|K|bar|ps|amu|degrees|kJ/mol|s|mol/l|ns|V/nm|1/ps)(?!\w)")
NUMBERS = re.compile(r"float|Array|F64|Any|Sequence\[|Mapping\[")
# Methods that Quilt calls, with what it has made.
CALLED = re.compile(r"\.(compute|compute_on_gpu|prepare|update|offer|arrays)\.")
OTHERWISE = {
    "made by Quilt alone": {
        "Checkpoint.heat",
        "Iteration.walkers",
        "Iteration.energies",
        "CustomPairs.tail",
    },
    "of lambdas or shares": {"Alchemy.states", "Nonbonded.lj_pme_tolerance", "ImdServer.max_wait"},
    "paths, names and numbers of atoms": {
        "Topology.residue_of_atom",
        "load.parameters",
        "prepare.write_protocol.parameters",
    },
    "units depend on the restraint": {
        "window_states.centres",
        "ReplicaState.window",
        "Metadynamics.width",
    },
    "in the units of the bias": {"Simulation.add_hills.hills"},
    "several units": {"System.pair_tables", "ThreeBodyPotential.parameters"},
    "states of OpenMM": {"State.from_openmm.positions", "State.from_openmm.velocities"},
    "read as State.start": {"State.list_positions", "State.velocities", "State.box"},
    "arrays of a System": {
        *("System.masses", "System.lj_a", "System.lj_b", "System.constraint_lengths"),
        *("System.site_weights", "System.site_offsets", "System.sites", "System.constraints"),
        *("System.born_radii", "System.born_screening"),
    },
}
nm, kelvin, energy = unit.nanometer, unit.kelvin, unit.kilojoule_per_mole
stiffness, push = energy / nm**2, energy / nm


class Case(NamedTuple):
    """A value in a unit, by its name here and of OpenMM, and what follows from it."""

    value: float
    name: str
    of_openmm: Any
    call: Callable[[Any], Any]


def cell(length: Any) -> list[list[Any]]:
    return [[length, 0, 0], [0, length, 0], [0, 0, length]]


@cache
def argon() -> tuple[quiltmd.System, quiltmd.State]:
    system = quiltmd.System.of([40, 40, 40], sigma=0.34, epsilon=1)
    return system, quiltmd.State.start(system, np.eye(3), np.eye(3) * 4)


@cache
def simulation() -> quiltmd.Simulation:
    parts = {"integrator": quiltmd.LangevinMiddle(), "barostat": quiltmd.MonteCarloBarostat()}
    return quiltmd.Simulation(*argon(), **parts, device="cpu", threads=1)  # type: ignore[arg-type]


def boresch(**changed: Any) -> quiltmd.BoreschRestraint:
    usual: dict[str, Any] = {"distance": 0.5, "angles": (90, 90), "torsions": (0, 0, 0)}
    return quiltmd.BoreschRestraint(range(6), **{**usual, **changed})


def set_conditions(**changed: Any) -> Any:
    simulation().set_conditions(**changed)
    found = simulation()
    return found.integrator, found.barostat, found.state().box


def placed(positions: Any) -> Any:
    simulation().place(positions)
    return simulation().state().positions


def minimized(tolerance: Any) -> Any:
    return simulation().minimize(tolerance, max_iterations=0)


def loaded(**settings: Any) -> Any:
    system, state = quiltmd.load(*system_files("demo"), **settings)
    return system.masses, state.box, [one.parameters for one in system.terms.present()][-1]


def embedded(**changed: Any) -> Any:
    table = np.zeros((1, 1, 20))
    usual = {"elements": ("Cu",), "masses": [63.5], "cutoff": 0.5, "spacing": 0.03}
    usual |= {"density_step": 0.1, "densities": table, "pairs": table, "embedding": table[0]}
    made = quiltmd.EmbeddedFunctions(**{**usual, **changed})  # type: ignore[arg-type]
    return made.masses, made.cutoff, made.spacing, made.pairs, made.embedding


def written(timestep: Any) -> Any:
    with TemporaryDirectory() as folder:
        return quiltmd.DcdWriter(Path(folder) / "a.dcd", 3, 1, timestep)._timestep


def pulled(centre: Any) -> Any:
    system, state = argon()
    spring = quiltmd.Restraint(
        "distance", ("index 1", "index 2"), k=1, lower=1, upper=1, name="pull"
    )
    made = quiltmd.Simulation(
        quiltmd.restrain(system, [spring], state.positions, state.box),
        state,
        device="cpu",
        threads=1,
    )
    made.set_conditions(centres={"pull": centre})
    return made.collective()["pull"].centre


def charged() -> quiltmd.System:
    return quiltmd.System.of([40, 40], charges=[1, -1], sigma=0.3, epsilon=1)


def region(extent: Any) -> Any:
    return quiltmd.model_region(argon()[0], [0, 1], extent).custom


def sprung(**changed: Any) -> Any:
    usual: dict[str, Any] = {"kind": "position", "select": "all", "k": 1.0}
    spring = quiltmd.Restraint(**{**usual, **changed})
    return spring.k, spring.path


def held(positions: Any = None, box: Any = None) -> Any:
    system, state = argon()
    spring = quiltmd.Restraint("position", "all", k=1)
    place = state.positions if positions is None else positions
    made = quiltmd.restrain(system, [spring], place, state.box if box is None else box)
    return [one.parameters for one in made.terms.present()]


def state(**changed: Any) -> Any:
    usual = {"positions": np.eye(3), "velocities": np.eye(3), "box": np.eye(3) * 4}
    made = quiltmd.State.start(argon()[0], **{**usual, **changed})
    return made.positions, made.velocities, made.box


def plumed(temperature: Any) -> Any:
    with patch("quiltmd.external.plumed._maker"), NamedTemporaryFile("w", suffix=".dat") as file:
        file.write("d: DISTANCE ATOMS=1,2\nPRINT ARG=d STRIDE=100\n")
        file.flush()
        return quiltmd.Plumed(file.name, temperature=temperature)._temperature


ZIGZAG = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [2, 1, 1.2], [2, 2, 1.1]]) * 0.15


def chosen(**changed: Any) -> Any:
    bonds = np.array([[0, 1], [1, 2], [3, 4], [4, 5]])
    system = quiltmd.System.of(
        [12] * 6, constraints=bonds, constraint_lengths=[0.15] * 4, sigma=0.3, epsilon=1
    )
    usual = {"positions": ZIGZAG, "box": np.eye(3) * 4}
    made = quiltmd.choose_boresch(
        system, ligand="index 4-6", receptor="index 1-3", **{**usual, **changed}
    )
    return made.anchors, made.distance


def silicon(mass: Any) -> Any:
    potential = quiltmd.ThreeBodyPotential("stillinger-weber", ("X",), np.ones((1, 1, 1, 10)))
    return quiltmd.three_body_system(potential, ["X"], {"X": mass}).masses


CASES = {
    "Alchemy.least_sigma": Case(
        0.3,
        "nm",
        nm,
        lambda x: quiltmd.decouple(argon()[0], [0], least_sigma=x).alchemy.least_sigma,
    ),
    "BoreschRestraint.distance": Case(0.5, "nm", nm, lambda x: boresch(distance=x).distance),
    "BoreschRestraint.angles": Case(
        90, "degree", unit.degree, lambda x: boresch(angles=(x, x)).angles
    ),
    "BoreschRestraint.torsions": Case(
        9, "degree", unit.degree, lambda x: boresch(torsions=[x, x, x]).torsions
    ),
    "BoreschRestraint.k_distance": Case(
        9, "kJ/mol/nm^2", stiffness, lambda x: boresch(k_distance=x).k_distance
    ),
    "BoreschRestraint.k_angles": Case(
        9, "kJ/mol/rad^2", energy / unit.radian**2, lambda x: boresch(k_angles=(x, x)).k_angles
    ),
    "BoreschRestraint.k_torsions": Case(
        9, "kJ/mol/rad^2", energy / unit.radian**2, lambda x: boresch(k_torsions=[x] * 3).k_torsions
    ),
    "BoreschRestraint.release.temperature": Case(300, "K", kelvin, boresch().release),
    "BoreschRestraint.release.volume": Case(
        1.6, "nm^3", nm**3, lambda x: boresch().release(300, x)
    ),
    "CustomPairs.cutoff": Case(0.9, "nm", nm, lambda x: quiltmd.CustomPairs("r", x).cutoff),
    "CustomPairs.switch_distance": Case(
        0.9, "nm", nm, lambda x: quiltmd.CustomPairs("r", 1, switch_distance=x).switch_distance
    ),
    "DcdWriter.timestep": Case(0.002, "ps", unit.picosecond, written),
    "EmbeddedFunctions.masses": Case(63, "amu", unit.amu, lambda x: embedded(masses=[x])),
    "EmbeddedFunctions.cutoff": Case(0.5, "nm", nm, lambda x: embedded(cutoff=x)),
    "EmbeddedFunctions.spacing": Case(0.03, "nm", nm, lambda x: embedded(spacing=x)),
    "EmbeddedFunctions.pairs": Case(
        0, "kJ/mol nm", energy * nm, lambda x: embedded(pairs=[[[x] * 20]])
    ),
    "EmbeddedFunctions.embedding": Case(
        0, "kJ/mol", energy, lambda x: embedded(embedding=[[x] * 20])
    ),
    "Plumed.temperature": Case(300, "K", kelvin, plumed),
    "Restraint.k": Case(1, "kJ/mol/nm^2", stiffness, lambda x: sprung(k=x)),
    "Restraint.path": Case(
        1,
        "nm",
        nm,
        lambda x: sprung(kind="distance", select=("index 1", "index 2"), path=[[0, x], [1, 2]]),
    ),
    "Simulation.minimize.tolerance": Case(99, "kJ/mol/nm", push, minimized),
    "Simulation.place.positions": Case(1, "nm", nm, lambda x: placed(cell(x))),
    "Simulation.set_conditions.temperature": Case(
        300, "K", kelvin, lambda x: set_conditions(temperature=x)
    ),
    "Simulation.set_conditions.friction": Case(
        2, "1/ps", unit.picosecond**-1, lambda x: set_conditions(friction=x)
    ),
    "Simulation.set_conditions.pressure": Case(
        2, "bar", unit.bar, lambda x: set_conditions(pressure=x)
    ),
    "Simulation.set_conditions.box": Case(4, "nm", nm, lambda x: set_conditions(box=cell(x))),
    "Simulation.set_conditions.centres": Case(1, "nm", nm, pulled),
    "Simulation.set_state.heat": Case(
        1, "kJ/mol", energy, lambda x: simulation().set_state(argon()[1], x)
    ),
    "State.positions": Case(
        1, "nm", nm, lambda x: quiltmd.State(cell(x), np.eye(3), None).positions
    ),
    "State.start.positions": Case(1, "nm", nm, lambda x: state(positions=cell(x))),
    "State.start.velocities": Case(
        1, "nm/ps", nm / unit.picosecond, lambda x: state(velocities=cell(x))
    ),
    "State.start.box": Case(4, "nm", nm, lambda x: state(box=cell(x))),
    "System.of.masses": Case(40, "amu", unit.amu, lambda x: quiltmd.System.of([x, x]).masses),
    "System.of.sigma": Case(
        0.3, "nm", nm, lambda x: quiltmd.System.of([40], sigma=x, epsilon=1).lj_a
    ),
    "System.of.epsilon": Case(
        1, "kJ/mol", energy, lambda x: quiltmd.System.of([40], sigma=1, epsilon=x).lj_a
    ),
    "Topology.unnamed.masses": Case(
        12, "amu", unit.amu, lambda x: quiltmd.Topology.unnamed([x]).elements
    ),
    "TrajectoryReporter.precision": Case(
        0.01, "nm", nm, lambda x: quiltmd.TrajectoryReporter("a.xtc", 1, precision=x)._precision
    ),
    "ViewerForce.largest": Case(
        9, "kJ/mol/nm", push, lambda x: quiltmd.ViewerForce(largest=x).largest
    ),
    "apply_electric_field.field": Case(
        1,
        "V/nm",
        unit.volt / nm,
        lambda x: (
            quiltmd.apply_electric_field(charged(), [x, 0, 0]).terms["constant_force"].parameters
        ),
    ),
    "choose_boresch.positions": Case(
        0.3, "nm", nm, lambda x: chosen(positions=[*ZIGZAG.tolist()[:5], [x, 0.3, 0.165]])
    ),
    "choose_boresch.box": Case(4, "nm", nm, lambda x: chosen(box=cell(x))),
    "load.box": Case(6, "nm", nm, lambda x: loaded(box=[x, x, x])),
    "load.hydrogen_mass": Case(3, "amu", unit.amu, lambda x: loaded(hydrogen_mass=x)),
    "load.electric_field": Case(
        1, "V/nm", unit.volt / nm, lambda x: loaded(electric_field=[0, 0, x])
    ),
    "model_region.extent": Case(1, "nm", nm, region),
    "pme_parameters.box": Case(4, "nm", nm, lambda x: quiltmd.pme_parameters(cell(x), 0.9, 5e-4)),
    "pme_parameters.cutoff": Case(
        0.9, "nm", nm, lambda x: quiltmd.pme_parameters(np.eye(3) * 4, x, 5e-4)
    ),
    "prolate_parameters.box": Case(
        4, "nm", nm, lambda x: quiltmd.prolate_parameters(cell(x), 0.9, 5e-4)
    ),
    "restrain.positions": Case(1, "nm", nm, lambda x: held(cell(x))),
    "restrain.box": Case(4, "nm", nm, lambda x: held(box=cell(x))),
    "three_body_system.masses": Case(28, "amu", unit.amu, silicon),
    "rest2_states.temperatures": Case(300, "K", kelvin, lambda x: quiltmd.rest2_states([x, x])),
    "temperature_states.temperatures": Case(
        300, "K", kelvin, lambda x: quiltmd.temperature_states([x, x])
    ),
    "window_states.temperature": Case(
        300, "K", kelvin, lambda x: quiltmd.window_states("a", [1], x)
    ),
    "prepare.write_protocol.temperature": Case(
        310, "K", kelvin, lambda x: prepare.write_protocol("a", [], temperature=x)
    ),
}


def described(documentation: str | None) -> dict[str, str]:
    """Arguments in a docstring in the form of NumPy's, with their descriptions."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(documentation or "").split("\n"):
        if named := re.fullmatch(r"([a-z_]\w*(?:, \w+)*):", line):
            names = named[1].split(", ")
        elif not line.startswith(" "):
            names = names if not line else []
        for name in names:
            found[name] = f"{found.get(name, '')} {line}"
    return found


def walk() -> Iterator[tuple[str, Any]]:
    """Arguments with a unit, and their types."""
    for prefix, module in (("", quiltmd), ("prepare.", prepare)):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isroutine(thing):
                yield from arguments(prefix + name, thing)
            elif inspect.isclass(thing) and not issubclass(thing, BaseException):
                yield from arguments(prefix + name, thing)
                for key, method in inspect.getmembers(thing, callable):
                    if not key.startswith("_"):
                        yield from arguments(f"{prefix}{name}.{key}", method)


def arguments(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    texts, hints = described(thing.__doc__), get_type_hints(thing, None, {"openmm": openmm}, True)
    for one in inspect.signature(thing).parameters.values():
        kind = hints.get(one.name, one.annotation)
        if NAMED.search(texts.get(one.name, "")) and NUMBERS.search(str(kind)):
            yield f"{name}.{one.name}", kind


FOUND = {name: kind for name, kind in walk() if not CALLED.search(name)}


def test_every_argument_with_a_unit_is_known() -> None:
    declared = {name for name, kind in FOUND.items() if "Unit(" in str(kind)}
    assert len(declared) > 40
    assert FOUND.keys() - declared - CASES.keys() == set().union(*OTHERWISE.values())


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(np.allclose(one, other, rtol=1e-14, atol=0))
    if isinstance(one, tuple | list):
        return all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("name", CASES)
def test_values_with_units_are_taken_and_others_refused(name: str) -> None:
    case = CASES[name]
    expected = case.call(case.value)
    assert same(case.call(f"{case.value} {case.name}".replace(" 1/", "/")), expected)
    assert same(case.call(case.value * case.of_openmm), expected)
    for wrong in ("much", "1 furlong", 1 * unit.mole, object(), None):
        if wrong is None and "None" in str(FOUND.get(name)):
            continue
        with pytest.raises(quiltmd.QuiltError):
            case.call(wrong)


def test_arrays_of_a_system_are_numbers() -> None:
    system = argon()[0]
    for name in OTHERWISE["arrays of a System"]:
        with pytest.raises(quiltmd.QuiltError):
            replace(system, **{name.removeprefix("System."): [1, 2, 3] * unit.amu})


@pytest.mark.parametrize("wrong", [300, None, True, 300 * unit.kelvin, object()])
def test_one_number_in_place_of_several_is_refused(wrong: Any) -> None:
    for made in (quiltmd.temperature_states, quiltmd.rest2_states):
        with pytest.raises(quiltmd.QuiltError, match=r"^temperatures must be several numbers"):
            made(wrong)
    with pytest.raises(quiltmd.QuiltError, match=r"^centres must be several numbers"):
        quiltmd.window_states("a", wrong, 300)
