# SPDX-License-Identifier: Apache-2.0
"""Values with units: of settings in TOML, options and Python, and quantities of OpenMM and pint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import openmm
import pint
import pytest
from openmm import unit
from typer.testing import CliRunner

import quiltmd
from quiltmd.commands.cli import app
from quiltmd.description.units import Unit
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running.config import build_config

REGISTRY = pint.UnitRegistry()
BASE: dict[str, Any] = {
    "system": {"topology": "a.prmtop", "coordinates": "a.inpcrd"},
    "run": {"steps": 10},
    "output": {"dir": "out"},
}


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("ps", "4 fs"),
        ("ps", "4fs"),
        ("ps", "2.5e-6 ns"),
        ("ps", "4 femtoseconds"),
        ("K", "300 K"),
        ("K", "300 kelvin"),
        ("1/ps", "5 /ns"),
        ("1/ps", "5 ps^-1"),
        ("1/ps", "1 per fs"),
        ("bar", "1 atm"),
        ("bar", "101325 Pa"),
        ("nm", "9 angstrom"),
        ("kJ/mol/nm^2", "10 kcal/mol/angstrom^2"),
        ("kJ/mol/nm^2", "10 kcal/(mol*angstrom**2)"),
        ("kJ/mol/rad^2", "10 kcal/mol/rad^2"),
        ("mol/l", "150 mmol/l"),
        ("degree", "1 rad"),
        ("h", "90 min"),
        ("V/nm", "0.1 V/angstrom"),
        ("bar nm", "10 mN/m"),
    ],
)
def test_texts_are_converted_as_pint_does(wanted: str, text: str) -> None:
    names = {"1/ps": "1/picosecond", "h": "hour", "bar nm": "bar nanometer", "K": "kelvin"}
    number = text.replace("5 /ns", "5 / ns")
    expected = REGISTRY.Quantity(number).to(names.get(wanted, wanted)).magnitude
    assert Unit(wanted).read(text) == pytest.approx(expected, rel=1e-14)


def test_texts_are_rounded_once() -> None:
    for tenths in range(1, 400):
        assert Unit("ps").read(f"{tenths / 10} fs") == float(f"{tenths / 10}e-3")
    assert Unit("ps").read("0.004") == 0.004
    assert Unit("ps").read(0.004) == 0.004


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("4 K", "must be in ps, such as '1 ps': 'K' does not convert to it"),
        ("4 furlongs", "the unit 'furlongs' is not known; give it in ps, such as '1 ps'"),
        ("4 fs/", "'fs/' is not a unit; give it in ps, such as '1 ps'"),
        ("four", "must be a number, in ps, or a value with a unit, such as '1 ps'"),
        ("nan", "must be a number, in ps, or a value with a unit, such as '1 ps'"),
        ("1e999999999 fs", "'999999 fs' is not a unit; give it in ps, such as '1 ps'"),
        ("1e999 fs", "is too large for a number, in ps"),
        ("4 fs^999999999", "'fs^999999999' is not a unit; give it in ps, such as '1 ps'"),
        (300 * unit.kelvin, "must be in ps, such as '1 ps': 'kelvin' does not convert to it"),
        (
            REGISTRY.Quantity(300, "kelvin"),
            "must be in ps, such as '1 ps': 'kelvin' does not convert to it",
        ),
    ],
)
def test_other_units_are_refused_with_the_value(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match="ps") as caught:
        Unit("ps").read(value)
    assert str(caught.value) == said
    with pytest.raises(quiltmd.QuiltError) as refused:
        quiltmd.LangevinMiddle(timestep=value)
    assert str(refused.value) == f"LangevinMiddle: timestep: {said} (found {value!r})"


def test_every_unit_of_a_setting_is_known_to_openmm_and_pint() -> None:
    from quiltmd.commands.options import _units
    from quiltmd.running.setting_fields import setting_fields

    units = {
        found
        for section in ExchangeConfig.model_fields
        for field in setting_fields(section, ExchangeConfig).values()
        for found in _units((field.annotation, *field.metadata))
    }
    assert len(units) >= 12
    for one in units | {
        Unit("kJ/mol/nm^2"),
        Unit("kJ/mol/rad^2"),
        Unit("nm/ps"),
        Unit("kJ/mol"),
        Unit("amu"),
        Unit("ns"),
    }:
        of_openmm = 2 * one._made(lambda name: getattr(unit, name), unit.dimensionless)
        of_pint = 2 * one._made(lambda name: getattr(REGISTRY, name), REGISTRY.dimensionless)
        assert one.read(of_openmm) == one.read(of_pint) == one.read(f"2 {one.name}") == 2.0


def test_quantities_are_taken_in_python() -> None:
    integrator = quiltmd.LangevinMiddle(300 * unit.kelvin, 1 / unit.picosecond, "4 fs")
    assert integrator == quiltmd.LangevinMiddle(300, 1, 0.004)
    assert quiltmd.MonteCarloBarostat(pressure=1 * unit.atmosphere).pressure == 1.01325
    assert quiltmd.MonteCarloBarostat(pressure=REGISTRY.Quantity(1, "atm")).pressure == 1.01325
    assert quiltmd.Nonbonded(cutoff="9 A").cutoff == 0.9
    selections = ("index 1", "index 2", "index 3", "index 4")
    spring = quiltmd.Restraint(
        "torsion", selections, k="1 kcal/mol/rad^2", angle=90 * unit.degree, width="0.1 rad"
    )
    assert (spring.k, spring.angle) == (4.184, 90.0)
    assert spring.width == pytest.approx(np.degrees(0.1), rel=1e-15)
    with pytest.raises(
        quiltmd.QuiltError, match=r"must be in kJ/mol/rad\^2, such as .* 'kcal/mol/A"
    ):
        quiltmd.Restraint("torsion", selections, k="1 kcal/mol/A^2", angle=90)


def test_scales_of_restraints_that_there_are_not_are_refused() -> None:
    system, state = argon()
    spring = quiltmd.Restraint("position", "all", k=1)
    with pytest.raises(quiltmd.QuiltError, match="scaling must be 'com', 'all' or 'none'"):
        quiltmd.restrain(system, [spring], state.positions, None, scaling="each")  # type: ignore[arg-type]


def argon() -> tuple[quiltmd.System, quiltmd.State]:
    made = openmm.System()
    force = openmm.NonbondedForce()
    for _ in range(3):
        made.addParticle(40)
        force.addParticle(0, 0.34, 1)
    made.addForce(force)
    system = quiltmd.System.from_openmm(made)
    place = np.array([[0, 0, 0], [4.0, 0, 0], [0, 4.0, 0]]) * unit.angstrom
    context = openmm.Context(
        made, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
    )
    context.setPositions(place)
    context.setVelocities(np.ones((3, 3)))
    state = context.getState(getPositions=True, getVelocities=True)
    return system, quiltmd.State.from_openmm(system, state)


def test_states_of_openmm_and_arrays_with_units() -> None:
    system, state = argon()
    assert state.positions[1, 0] == pytest.approx(0.4)
    assert (state.velocities == 1).all()
    assert state.box is None
    of_pint = quiltmd.State.start(system, REGISTRY.Quantity(state.positions * 10, "angstrom"), None)
    np.testing.assert_allclose(of_pint.positions, state.positions, rtol=1e-15)
    with pytest.raises(
        quiltmd.InputError, match="positions must be in nm, such as '1 nm': 'kelvin'"
    ):
        quiltmd.State.start(system, state.positions * unit.kelvin, None)
    simulation = quiltmd.Simulation(system, state, device="cpu", threads=1)
    simulation.draw_velocities("50 K", seed=1)
    drawn = simulation.state().velocities
    simulation.draw_velocities(50 * unit.kelvin, seed=1)
    assert (simulation.state().velocities == drawn).all()
    simulation.set_conditions(temperature="310 K", friction=REGISTRY.Quantity(2, "1/ps"))
    assert simulation.integrator.temperature == 310  # type: ignore[union-attr]
    assert simulation.integrator.friction == 2  # type: ignore[union-attr]


def test_objects_of_openmm_in_place_of_ours_are_named() -> None:
    _, state = argon()
    with pytest.raises(quiltmd.QuiltError) as caught:
        quiltmd.Simulation(openmm.System(), state)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "a simulation is made of a System and a State, in this order, not of openmm.System and "
        "State: System.from_openmm(openmm_system) and State.from_openmm(system, openmm_state) make "
        "them of OpenMM's"
    )


def test_a_configuration_has_units() -> None:
    settings = BASE | {
        "integrator": {
            "ensemble": "npt",
            "timestep": "4 fs",
            "annealing": [["0 ps", "10 K"], ["1 ns", 300]],
        },
        "barostat": {"pressure": "1 atm", "compressibility": ["4.5e-5 /bar"]},
        "nonbonded": {"cutoff": "9 angstrom"},
        "run": {"steps": 10, "max_hours": "90 min"},
        "restraint": [{"kind": "position", "select": "all", "k": "1 kcal/mol/A^2"}],
    }
    settings["system"] = BASE["system"] | {"box": ["30 A", 3, 3, 90, "90 degrees", 90]}
    config = build_config(settings)
    assert config.integrator.timestep == 0.004
    assert config.integrator.annealing == ((0.0, 10.0), (1000.0, 300.0))
    assert (config.barostat.pressure, config.barostat.compressibility) == (1.01325, (4.5e-5,))
    assert config.nonbonded.cutoff == 0.9
    assert config.run.max_hours == 1.5
    assert config.restraint[0].k == pytest.approx(418.4, rel=1e-15)
    assert config.system.box == (3.0, 3.0, 3.0, 90.0, 90.0, 90.0)
    with pytest.raises(quiltmd.QuiltError) as caught:
        build_config(BASE | {"integrator": {"timestep": "4 K"}})
    expected = (
        "[integrator] timestep: must be in ps, such as '1 ps': 'K' does not convert to it "
        "(found '4 K')"
    )
    assert str(caught.value) == expected


def sections(kind: Any) -> Iterator[Any]:
    """The classes of a configuration, one within the other."""
    yield kind
    for field in (getattr(kind, "model_fields", None) or kind.__pydantic_fields__).values():
        for found in parts_of(field.annotation):
            if isinstance(found, type) and hasattr(found, "__pydantic_fields__"):
                yield from sections(found)


def parts_of(annotation: Any) -> Iterator[Any]:
    yield annotation
    for one in get_args(annotation):
        yield from parts_of(one)


NAMED = re.compile(
    r"(?<![\w/^-])(nm|K|bar|ps|amu|degrees|kJ/mol|s|mol/l|V/nm|1/ps|hours|minutes)(?!\w)"
)
OTHERWISE = {
    "box",  # read_box
    "k",  # of a restraint, whose kind says the unit
    *("width", "range", "centres"),  # of a variable
    "alpha_coulomb",  # the soft core says the unit
}


def test_every_number_of_a_configuration_whose_description_names_a_unit_has_it() -> None:
    found = {one: None for one in sections(ExchangeConfig)}
    assert len(found) > 25
    for one in found:
        for name, field in one.__pydantic_fields__.items():
            kind = f"{field.annotation} {field.metadata}"
            if "float" in kind and NAMED.search(field.description or "") and "Unit(" not in kind:
                assert name in OTHERWISE, (one, name)


def test_options_have_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = CliRunner().invoke(app, ["run", "--timestep", "4 K"])
    assert wrong.exit_code == 2
    said = "'--timestep': must be in ps, such as '1 ps': 'K' does not convert to it (found '4 K')"
    assert said in wrong.output
    options = ["--timestep", "4 fs", "--annealing", "0:10 K,1 ns:300", "--box", "30 A,3 nm,3"]
    options += ["--electric-field", "1,0,0", "--fmm-box", "3,0,3,0,0,3"]
    right = CliRunner().invoke(app, ["run", *options, "--ensemble", "NPT"])
    assert "nothing to run" in str(right.exception)


def test_choices_in_any_case() -> None:
    settings = BASE | {
        "integrator": {"ensemble": "NPT"},
        "barostat": {"kind": "Monte_Carlo"},
        "thermostat": {"kind": "Velocity_Rescaling"},
        "nonbonded": {"method": "PME"},
        "solvent": {"model": "None"},
        "restraint": [{"kind": "Position", "select": "all", "k": 1}],
        "output": {"dir": "out", "final": ["CIF"]},
    }
    settings["system"] = BASE["system"] | {"constraints": "H-Bonds"}
    settings["run"] = BASE["run"] | {"device": "CPU", "transport": "Staged"}
    config = build_config(settings)
    assert config.integrator.ensemble == "npt"
    assert config.barostat.kind == "monte-carlo"
    assert config.thermostat.kind == "velocity-rescaling"
    assert config.nonbonded.method == "pme"
    assert config.restraint[0].kind == "position"
    assert config.output.final == ("cif",)
    assert config.system.constraints == "h-bonds"
    assert (config.run.device, config.run.transport) == ("cpu", "staged")
    assert quiltmd.Nonbonded(method="Cutoff").method == "cutoff"  # type: ignore[arg-type]
    with pytest.raises(quiltmd.QuiltError, match=r"\(found 'NPTT'\)"):
        build_config(BASE | {"integrator": {"ensemble": "NPTT"}})
    # What has no use with a choice follows from it in any case.
    with pytest.raises(quiltmd.QuiltError, match="the ensemble nve has no friction"):
        build_config(BASE | {"integrator": {"ensemble": "NVE", "friction": 1}})


@pytest.mark.parametrize(("given", "hint"), [(4, "; did you mean 0.004?"), ("4 ns", "")])
def test_long_time_steps_are_refused(given: Any, hint: str) -> None:
    """A thousandth is suggested where it is a time step."""
    with pytest.raises(quiltmd.QuiltError) as caught:
        quiltmd.LangevinMiddle(timestep=given)
    assert f",000 fs{hint} (found" in str(caught.value)
