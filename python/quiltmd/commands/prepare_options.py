# SPDX-License-Identifier: Apache-2.0
"""The options of `quiltmd prepare`: one for each of the `Choices`.

Defaults are those of `Choices`, and so are units and limits of numbers.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from ..errors import QuiltError
from ..prepare.solvent import Anion, Cation, Lipid
from ..prepare.steps import Choices
from .declared import declared


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _pairs(option: str, example: str) -> Callable[[str], dict[str, str]]:
    """Reads A=B,C=D."""

    def read(text: str) -> dict[str, str]:
        pairs = {}
        for one in _names(text):
            first, equals, second = one.partition("=")
            if not (equals and first and second):
                raise QuiltError(f"{option} {one}: expected {example}")
            pairs[first.strip()] = second.strip()
        return pairs

    return read


class _Given(NamedTuple):
    """The option of a choice; its type and how it is read, where `Choices` has another type."""

    option: OptionInfo
    kind: Any = None
    read: Callable[[Any], Any] = lambda value: value


def _option(*flags: str, **about: Any) -> OptionInfo:
    made = typer.Option(*flags, **about)
    assert isinstance(made, OptionInfo)
    return made


def _given(help: str, **about: Any) -> _Given:
    return _Given(_option(help=help, **about))


def _choice(help: str, metavar: str, kind: Any) -> _Given:
    listed = ", ".join(get_args(kind))
    return _given(f"{help}: {listed}.", metavar=metavar, case_sensitive=False)


def _number(name: str, help: str) -> _Given:
    return _Given(declared(_TYPES[name], help))


def _text(read: Callable[[str], Any], *flags: str, **about: Any) -> _Given:
    return _Given(_option(*flags, **about), str, read)


_TYPES = get_type_hints(Choices, include_extras=True)
OPTIONS = {
    "ligands": _Given(
        _option(
            "--ligand",
            metavar="FILE.sdf",
            help="Add the molecule of this file, with parameters of OpenFF; may be repeated.",
        ),
        list[Path] | None,
        lambda files: tuple(map(str, files or ())),
    ),
    "model": _number("model", "Model of the file, from 1."),
    "chains": _text(
        lambda text: _names(text) or None, metavar="A,B", help="Keep only these chains."
    ),
    "remove": _text(_names, metavar="NAME,...", help="Remove residues with these names."),
    "replacements": _text(
        _pairs("--replace", "MSE=MET"),
        "--replace",
        metavar="MSE=MET,...",
        help="Replace modified residues by standard residues.",
    ),
    "water": _given("Keep or remove the water molecules of the file."),
    "hydrogens": _given("Keep the hydrogens of the file, or replace all of them by new ones."),
    "gaps": _given(
        "Missing residues within chains: end with an error (refuse), build them (build), or cut "
        "the chain and cap both ends (cap)."
    ),
    "longest_loop": _number("longest_loop", "Longest run of missing residues to build."),
    "termini": _given("Ends of proteins: charged, or capped with ACE and NME."),
    "ph": _number("ph", "pH that sets the protonation of residues."),
    "protonation": _text(
        _pairs("--protonation", "A:57=HIE"),
        metavar="A:57=HIE,...",
        help="Protonation of single residues: HID, HIE, HIP, ASH, GLH, LYN, CYM, ...",
    ),
    "force_field": _Given(
        _option(
            metavar="NAME|FILE.xml",
            help="Force field: amber14 (default), amber19, charmm36, or ForceField XML files; "
            "may be repeated.",
        ),
        list[str] | None,
        lambda names: tuple(names or Choices.force_field),
    ),
    "water_model": _text(
        lambda text: text or None,
        metavar="NAME",
        help="Water model: tip3p, spce, opc, ...; default: that of the force field.",
    ),
    "box": _given("Shape of the water box; none: no water and no box."),
    "padding": _number(
        "padding", "Distance from a sphere around the solute to the faces of the box, nm."
    ),
    "membrane": _choice("Add a membrane in the xy plane", "LIPID", Lipid),
    "membrane_centre": _number(
        "membrane_centre",
        "z coordinate of the centre of the membrane, nm, in the coordinates of the structure.",
    ),
    "concentration": _number("concentration", "Salt concentration, mol/l."),
    "neutralise": _given("Add ions until the charge is 0."),
    "cation": _choice("Cation of the salt", "ION", Cation),
    "anion": _choice("Anion of the salt", "ION", Anion),
    "temperature": _number("temperature", "Temperature in run.toml, K."),
    "pressure": _number("pressure", "Pressure in run.toml, bar."),
    "nanoseconds": _number("nanoseconds", "Length of the production stage in run.toml, ns."),
    "seed": _number("seed", "Random seed."),
}


def _plain(name: str) -> Any:
    """The type of a choice without unit and limits, which typer does not know."""
    kind = _TYPES[name]
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def with_choices(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command an option for each choice; it receives them as its parameter `choices`."""
    signature = inspect.signature(command, eval_str=True)
    own = [item for item in signature.parameters.values() if item.name != "choices"]
    defaults = {field.name: field.default for field in dataclasses.fields(Choices)}

    def parameter(name: str, given: _Given) -> inspect.Parameter:
        unset = "" if given.kind is str else None
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults[name] if given.kind is None else unset,
            annotation=Annotated[given.kind or _plain(name), given.option],
        )

    parameters = [*own, *(parameter(name, given) for name, given in OPTIONS.items())]

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        read = {name: given.read(values.pop(name)) for name, given in OPTIONS.items()}
        command(**values, choices=Choices(**read))

    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {item.name: item.annotation for item in parameters}
    return wrapped
