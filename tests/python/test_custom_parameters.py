# SPDX-License-Identifier: Apache-2.0
"""Custom forces: tabulated functions, pairs without a cutoff, parameters, energies by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import Array
from openmm_reference import energy_and_forces

import quiltmd
from quiltmd import (
    CustomBond,
    CustomCompound,
    CustomExternal,
    CustomPairs,
    InputError,
    LangevinMiddle,
    Nonbonded,
    QuiltError,
    Simulation,
    State,
    System,
    Tabulated,
)
from quiltmd.openmm.write import to_openmm

ATOMS = 24
RNG = np.random.default_rng(8)
POSITIONS = np.cumsum(RNG.normal(0, 0.12, (ATOMS, 3)), axis=0)
DUST = System.of(np.full(ATOMS, 12.0))
STATE = State(positions=POSITIONS, velocities=0 * POSITIONS, box=None)
OPEN = Nonbonded(method="no-cutoff")
CHAIN = np.column_stack([np.arange(ATOMS - 1), np.arange(1, ATOMS)])
pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box")


def simulation(system: System, **others: Any) -> Simulation:
    settings = {"integrator": LangevinMiddle(300.0, 1.0, 0.001, seed=3), "device": "cpu"}
    return Simulation(system, STATE, OPEN, threads=1, **settings | others)


# ---- tabulated functions


def table(*shape: int, periodic: bool = False) -> Array:
    values = np.random.default_rng(sum(shape)).normal(size=shape)
    for axis in range(len(shape) if periodic else 0):
        values[(*[slice(None)] * axis, -1)] = values[(*[slice(None)] * axis, 0)]
    return values


ONE, TWO, THREE = [(0.1, 0.4)], [(0.1, 0.4), (-0.5, 0.6)], [(0.05, 0.5), (-0.5, 0.6), (-1.0, 1.0)]
XY = "distance(p1,p2), x1-x2"
TABLES = {
    "one": ("f(r)", Tabulated(table(9), ONE)),
    "periodic": ("f(r)", Tabulated(table(7, periodic=True), [(0.1, 0.2)], periodic=True)),
    "two": (f"f({XY})", Tabulated(table(6, 8), TWO)),
    "two periodic": (f"f({XY})^2", Tabulated(table(5, 4, periodic=True), TWO, periodic=True)),
    "three": (f"f({XY}, y2-y1)", Tabulated(table(4, 5, 6), THREE)),
    "three periodic": (
        f"f({XY}, y2-y1)",
        Tabulated(table(4, 3, 5, periodic=True), THREE, periodic=True),
    ),
    "whole numbers": ("f(n)*r", Tabulated(table(5))),
    "pairs of whole numbers": ("f(n,1.2+n)*r", Tabulated(table(5, 7))),
    "triples of whole numbers": ("f(n,n,1)*r^2", Tabulated(table(5, 5, 3))),
}


@pytest.mark.parametrize("name", TABLES)
def test_tabulated_functions_are_those_of_openmm(name: str) -> None:
    """Energies and forces, from our description and from OpenMM's; outside their ranges, too."""
    energy, function = TABLES[name]
    kind: Any = CustomBond if "r" in energy and "distance" not in energy else CustomCompound
    parameters = {"n": np.arange(len(CHAIN)) % 5} if "n)" in energy or "n," in energy else {}
    force = kind(energy, CHAIN, parameters, functions={"f": function})
    system = quiltmd.add_forces(DUST, force)
    theirs = to_openmm(system, OPEN)
    expected, forces = energy_and_forces(theirs, POSITIONS)
    size = np.abs(forces).max()
    assert size > 0.1
    for made in (system, System.from_openmm(theirs)):
        found, of_reference = quiltmd.reference(made, STATE)
        assert found["custom"] == pytest.approx(expected, rel=1e-9)
        assert of_reference == pytest.approx(forces, abs=1e-9 * size)
    run = simulation(system)
    assert run.energies()["custom"] == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert run.forces() == pytest.approx(forces, abs=1e-7 * size)


def test_a_tabulated_function_is_what_the_core_evaluates() -> None:
    """Calls of the object, for a function of two variables."""
    function = Tabulated(table(6, 8), TWO)
    away = POSITIONS[:-1] - POSITIONS[1:]
    values = function(np.linalg.norm(away, axis=1), away[:, 0])
    system = quiltmd.add_forces(DUST, CustomCompound(f"f({XY})", CHAIN, functions={"f": function}))
    assert quiltmd.reference(system, STATE)[0]["custom"] == pytest.approx(values.sum(), rel=1e-12)
    assert (values == 0).any()
    assert (values != 0).any()
    whole = Tabulated([1.0, 4.0])
    np.testing.assert_array_equal(whole([0.2, 0.6, 1.6]), [1.0, 4.0, np.nan])


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: Tabulated([]), "finite values"),
        (lambda: Tabulated([1.0, np.inf]), "finite values"),
        (lambda: Tabulated(np.zeros((2, 2, 2, 2))), "one to three arguments"),
        (lambda: Tabulated([1.0, 2.0], [(1.0, 0.0)]), "ends above its beginning"),
        (lambda: Tabulated([1.0, 2.0], [(0.0, 1.0)] * 2), "as many ranges"),
        (lambda: Tabulated([1.0], [(0.0, 1.0)]), "at least 2 values"),
        (lambda: Tabulated([1.0, 2.0, 3.0], [(0.0, 1.0)], periodic=True), "equal to the first"),
        (lambda: Tabulated([1.0, 2.0], periodic=True), "cannot be periodic"),
        (lambda: CustomBond("f(r,r)", CHAIN, functions={"f": Tabulated([1.0])}), "it needs 1"),
        (lambda: CustomBond("f(r)", CHAIN, functions={"f": np.sin}), "must be a Tabulated"),
    ],
)
def test_tables_that_make_no_sense_are_refused(make: Callable[[], Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        make()


def test_a_whole_number_beyond_a_table_ends_the_run() -> None:
    force = CustomBond("f(2)*r", CHAIN, functions={"f": Tabulated([1.0, 2.0])})
    with pytest.raises(quiltmd.SimulationError, match="has no finite energy"):
        simulation(quiltmd.add_forces(DUST, force)).run(1)


# ---- pairs without a cutoff


def pair_force(groups: bool) -> Any:
    force = openmm.CustomNonbondedForce("a*q1*q2*(1+g(r))/(r+0.1)")
    force.addGlobalParameter("a", 2.0)
    force.addPerParticleParameter("q")
    force.addTabulatedFunction("g", openmm.Continuous1DFunction([1.0, 0.3, 0.2, 0.4], 0.0, 0.5))
    for k in range(ATOMS):
        force.addParticle([0.1 * k - 1.0])
    for i, j in CHAIN.tolist():
        force.addExclusion(i, j)
    if groups:
        force.addInteractionGroup([0, 1, 2, 3, 4], list(range(3, ATOMS)))
    return force


@pytest.mark.parametrize("groups", [False, True])
def test_pairs_without_a_cutoff_are_those_of_openmm(groups: bool) -> None:
    original = openmm.System()
    for _ in range(ATOMS):
        original.addParticle(12.0)
    original.addForce(pair_force(groups))
    expected, forces = energy_and_forces(original, POSITIONS)
    system = System.from_openmm(original)
    size = np.abs(forces).max()
    for made in (system, System.from_openmm(to_openmm(system, OPEN))):
        found, of_reference = quiltmd.reference(made, STATE)
        assert found["custom"] == pytest.approx(expected, rel=1e-9)
        assert of_reference == pytest.approx(forces, abs=1e-9 * size)
    one, other = simulation(system), simulation(system, ranks=3)
    assert one.forces() == pytest.approx(forces, abs=1e-8 * size)
    for run in (one, other):
        run.run(40)
    assert one.positions().tobytes() == other.positions().tobytes()


def test_pairs_without_a_cutoff_need_open_space() -> None:
    system = quiltmd.add_forces(DUST, CustomPairs("1/r", None))
    periodic = replace(STATE, box=4 * np.eye(3))
    with pytest.raises(QuiltError, match="has no cutoff, which a periodic box needs"):
        Simulation(system, periodic, device="cpu")
    with pytest.raises(InputError, match="between 0 and the cutoff"):
        CustomPairs("1/r", None, switch_distance=0.5)
    many = quiltmd.add_forces(System.of(np.ones(5001)), CustomPairs("1/r", None))
    assert many.custom is not None
    with pytest.raises(InputError, match="5001 atoms are too many for all pairs"):
        many.custom.arrays(many)


# ---- parameters


def springs(k: float) -> System:
    return quiltmd.add_forces(
        DUST,
        CustomBond("0.5*k*(r-r0)^2", CHAIN, {"k": k, "r0": np.linspace(0.1, 0.2, len(CHAIN))}),
        CustomExternal("0.01*k*x^2", np.arange(ATOMS), {"k": k}, name="trap"),
        CustomPairs("c*exp(-9*r)", None, {"c": 2.0}, name="pairs"),
    )


def test_parameters_change_as_conditions(tmp_path: Path) -> None:
    """In all forces that have them; the rest of the run is that of a new simulation."""
    changed = simulation(springs(900.0), ranks=2)
    changed.run(30)
    new = simulation(springs(400.0))
    new.set_state(changed.state())
    changed.set_conditions(parameters={"k": 400.0})
    assert changed.energies()["potential"] == new.energies()["potential"]
    for run in (changed, new):
        run.run(30)
    assert changed.positions().tobytes() == new.positions().tobytes()
    changed.set_conditions(parameters={"k": 900.0, "c": 0.0})
    assert changed.energies()["pairs"] == 0
    changed.set_state(new.state())
    assert changed.energies()["pairs"] == 0  # a State does not contain them


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"q": 1.0}, "no custom force has a parameter 'q' with one value for all terms"),
        ({"r0": 1.0}, "no custom force has a parameter 'r0' with one value"),
        ({"k": np.nan}, "'k'"),
    ],
)
def test_parameters_that_do_not_exist_are_refused(values: Any, fault: str) -> None:
    run = simulation(springs(900.0))
    before = run.energies()
    with pytest.raises(QuiltError, match=fault):
        run.set_conditions(parameters=values)
    assert run.energies() == before


def test_a_correction_beyond_the_cutoff_does_not_follow() -> None:
    pair = CustomPairs("c/r^6", 0.9, {"c": 1.0}, tail=(1.0, 2.0))
    state = replace(STATE, box=4 * np.eye(3))
    cutoff = Nonbonded(method="cutoff", cutoff=0.9)
    run = Simulation(quiltmd.add_forces(DUST, pair), state, cutoff, device="cpu")
    with pytest.raises(QuiltError, match="does not follow a change of the parameter 'c'"):
        run.set_conditions(parameters={"c": 2.0})


# ---- energies by name


def test_energies_have_the_names_of_forces() -> None:
    """Forces of one name have one energy, and those without a name are `custom`."""
    bonds = [CustomBond("3*r", CHAIN[k::2], name=name) for k, name in ((0, "even"), (1, ""))]
    again = CustomBond("5*r", CHAIN[::2], name="even")
    lengths = np.linalg.norm(POSITIONS[1:] - POSITIONS[:-1], axis=1)
    system = quiltmd.add_forces(DUST, *bonds, again)
    for found in (simulation(system).energies(), quiltmd.reference(system, STATE)[0]):
        assert found["even"] == pytest.approx(8 * lengths[::2].sum(), abs=1e-6)
        assert found["custom"] == pytest.approx(3 * lengths[1::2].sum(), abs=1e-6)
        assert found["potential"] == pytest.approx(found["even"] + found["custom"], abs=1e-6)
    assert {"even", "custom"} <= set(simulation(system).terms())
    assert "custom" not in simulation(quiltmd.add_forces(DUST, again)).terms()


class Push(quiltmd.ExternalForce):
    name = "even"
    outside = True

    def compute(self, step: int, positions: Array, box: Array | None) -> tuple[float, Array]:
        return 1.5, np.zeros_like(positions)


def test_names_that_are_taken_are_refused() -> None:
    with pytest.raises(InputError, match="only letters, digits and _"):
        CustomBond("r", CHAIN, name="my bond")
    for name in ("bond", "total", "custom"):
        system = quiltmd.add_forces(DUST, CustomBond("r", CHAIN, name=name))
        with pytest.raises(QuiltError, match=f"custom force '{name}': there is an energy"):
            simulation(system)
    named = quiltmd.add_forces(DUST, CustomBond("r", CHAIN, name="even"))
    with pytest.raises(QuiltError, match="custom force 'even': there is an energy"):
        simulation(named, external=[Push()])


def test_external_and_custom_energies_do_not_mix() -> None:
    system = quiltmd.add_forces(
        DUST, CustomBond("r", CHAIN, name="a"), CustomExternal("7", [0], name="b")
    )
    found = simulation(system, external=[Push()], ranks=2).energies()
    assert (found["even"], found["b"]) == (1.5, 7.0)
    lengths = [np.linalg.norm(b - a) for a, b in pairwise(POSITIONS)]
    assert found["a"] == pytest.approx(sum(lengths), abs=1e-6)


def test_names_of_openmm_are_those_of_energies() -> None:
    original = openmm.System()
    for name in ("CustomExternalForce", "a wall"):
        force = openmm.CustomExternalForce("3*z^4")
        force.setName(name)
        force.addParticle(0)
        original.addForce(force)
    for _ in range(ATOMS):
        original.addParticle(12.0)
    system = System.from_openmm(original)
    found = quiltmd.reference(system, STATE)[0]
    assert found["a_wall"] == pytest.approx(found["custom"])
    assert found["custom"] == pytest.approx(3 * POSITIONS[0, 2] ** 4)
