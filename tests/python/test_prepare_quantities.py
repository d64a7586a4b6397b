# SPDX-License-Identifier: Apache-2.0
"""Numbers that `quiltmd prepare` and its functions take: with units, and within their limits."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from openmm import unit
from typer.testing import CliRunner

import quiltmd
from quiltmd import prepare
from quiltmd.commands import catalogue
from quiltmd.commands.cli import app
from quiltmd.description.units import Unit
from quiltmd.inputs.frames import read_frames
from quiltmd.prepare.solvent import add_membrane, add_water
from quiltmd.running.external_section import ExternalSection

# Units as descriptions of options name them.
NAMED = re.compile(
    r"\b(nm|K|bar|ps|ns|s|h|amu|degrees|mol/l|kJ/mol|1/nm|1/ps|V/nm|[Ss]econds|hours|minutes)\b(?!\+)"
)
CHOICES = {
    name: next(one for one in get_args(kind) if isinstance(one, Unit))
    for name, kind in get_type_hints(prepare.Choices, include_extras=True).items()
    if get_origin(kind) is Annotated and any(isinstance(one, Unit) for one in get_args(kind))
}


def options_of(command: str) -> list[Any]:
    found = catalogue.load(command)
    commands = getattr(found, "commands", {"": found}).values()
    return [one for each in commands for one in each.params]


@pytest.mark.parametrize("command", catalogue.COMMANDS)
def test_every_option_of_a_number_with_a_unit_takes_units(command: str) -> None:
    for option in options_of(command):
        described = option.type_descriptor
        if described.annotation in (float, float | None) and not described.parameter_info.parser:
            assert not NAMED.search(option.help), option.opts


def test_choices_with_a_unit_are_those_of_the_help() -> None:
    numbers = {one.name for one in options_of("prepare") if one.help and NAMED.search(one.help)} - {
        "out"
    }
    assert numbers == set(CHOICES)
    assert len(CHOICES) == 6


@pytest.mark.parametrize("name", CHOICES)
def test_choices_take_units_and_refuse_others(name: str, tmp_path: Path) -> None:
    own = CHOICES[name].name
    default = getattr(prepare.Choices(), name)
    made = prepare.Choices(**{name: f"{default} {own}"})
    assert made == prepare.Choices()
    quantity = default * CHOICES[name]._made(lambda name: getattr(unit, name), unit.dimensionless)
    assert prepare.Choices(**{name: quantity}) == made
    texts = ("much", "1 furlong", f"1 {own} {own}", "1e999")
    for wrong in (*texts, [1, 2], float("nan"), True, np.True_):
        with pytest.raises(quiltmd.QuiltError, match=rf"^{name}: .*\(found .*\)$"):
            prepare.Choices(**{name: wrong})
    option = "--" + name.replace("_", "-")
    (tmp_path / "protein.pdb").touch()
    given = ["prepare", str(tmp_path / "protein.pdb"), option, "1 furlong"]
    refused = CliRunner().invoke(app, given)
    assert f"'{option}': the unit 'furlong' is not known; give it in {own}" in refused.output
    assert f"such as '1 {own}' (found '1 furlong')" in refused.output


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"concentration": 150}, "at most 5 mol/l; did you mean '150 mM'?"),
        ({"concentration": -0.1}, "greater than or equal to 0"),
        ({"padding": 12}, "at most 6 nm; did you mean '12 A'?"),
        ({"padding": 0}, "greater than 0"),
        ({"padding": "-3 A"}, "greater than 0"),
        ({"temperature": 0}, "greater than 0"),
        ({"temperature": 3e4}, "less than or equal to 1000"),
        ({"pressure": 101325}, "from pascals?"),
        ({"nanoseconds": 0}, "greater than 0"),
        ({"nanoseconds": 1e9}, "less than or equal to"),
        ({"seed": 2**31}, "less than"),
        ({"ph": 15}, "less than or equal to 14"),
        ({"model": 0}, "greater than or equal to 1"),
        ({"longest_loop": -1}, "greater than or equal to 0"),
        ({"cation": "Ca+"}, "should be 'Na+', 'K+'"),
        ({"membrane": "POP"}, "should be 'POPC'"),
        ({"box": "ball"}, "should be 'cube'"),
        ({"chains": "A"}, "valid tuple"),
    ],
)
def test_absurd_values_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(quiltmd.QuiltError, match=rf"^{next(iter(wrong))}: ") as refused:
        prepare.Choices(**wrong)
    assert said in str(refused.value)


def test_choices_in_any_case() -> None:
    made = prepare.Choices(membrane="popc", cation="k+", box="Cube")  # type: ignore[arg-type]
    assert (made.membrane, made.cation, made.box) == ("POPC", "K+", "cube")


def test_single_steps_take_the_same() -> None:
    text = prepare.write_protocol("a.cif", [], temperature="310 K", nanoseconds="500 ps")  # type: ignore[arg-type]
    assert text == prepare.write_protocol("a.cif", [], temperature=310, nanoseconds=0.5)
    nothing: Any = None
    for call, said in (
        (lambda: add_water(nothing, nothing, padding=0), "padding: input should be greater"),
        (lambda: add_water(nothing, nothing, concentration=150), "concentration: .* '150 mM'"),
        (lambda: add_water(nothing, nothing, cation="Ca+"), "unknown ion Ca"),  # type: ignore[arg-type]
        (lambda: add_membrane(nothing, nothing, centre="3 s"), "centre: must be in nm"),  # type: ignore[arg-type]
        (lambda: add_membrane(nothing, nothing, lipid="fat"), "no membrane of fat"),  # type: ignore[arg-type]
        (lambda: prepare.add_hydrogens(nothing, ph=-1), "ph: input should be greater"),
        (lambda: prepare.repair(nothing, seed=-1), "seed: input should be greater"),
        (lambda: prepare.write_protocol("", [], pressure=True), "pressure: must be a number"),
    ):
        with pytest.raises(quiltmd.QuiltError, match=said):
            call()


def test_missing_files_are_named_before_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("openff.toolkit", "openmm.app", "pdbfixer"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "protein.pdb").touch()
    ligand = prepare.Choices(ligands=(tmp_path / "ligand.sdf",))
    for file, choices in (("no.pdb", None), ("protein.pdb", ligand)):
        with pytest.raises(quiltmd.QuiltError, match=r"(no.pdb|ligand.sdf): no such file"):
            prepare.prepare(tmp_path / file, tmp_path / "out", choices)
    with pytest.raises(quiltmd.QuiltError, match=r"ligand.sdf: no such file"):
        prepare.read_ligand(tmp_path / "ligand.sdf")
    model = ExternalSection(kind="torch", file=tmp_path / "model.pt")
    with pytest.raises(quiltmd.QuiltError, match=r"model.pt: no such file"):
        model.build()
    monkeypatch.setattr("quiltmd.inputs.frames.find_spec", lambda _: None)
    with pytest.raises(quiltmd.QuiltError, match=r"frames.xtc: no such file"):
        next(iter(read_frames(tmp_path / "frames.xtc", 3)))
