# SPDX-License-Identifier: Apache-2.0
"""Options of commands made from the settings of a configuration.

A setting is declared once, in its section of the configuration (`quiltmd.running.config`), with
type, default and description.  `with_settings` gives a command an option for each setting that it
takes; a new setting needs no edit here.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..description.units import OF_BOX, Unit
from ..engine.hosts import HostEntry
from ..errors import QuiltError
from ..reading.words import natural_number
from ..running.config import Config
from ..running.setting_fields import (
    Place,
    optional_sections,
    setting_fields,
    single_sections,
)

Settings = dict[Place, Any]

# Others are named as their keys, after the name of the section if an earlier section has the key.
_FLAGS: dict[Place, str] = {
    ("output", "dir"): "out",
    ("solvent", "model"): "solvent",
    ("solvent", "dielectric"): "solvent_dielectric",
    ("solvent", "surface"): "solvent_surface",
    ("integrator", "kind"): "integrator",
    ("thermostat", "kind"): "thermostat",
    ("thermostat", "every"): "thermostat_every",
    ("barostat", "kind"): "barostat",
    ("barostat", "time_constant"): "box_time_constant",
    ("barostat", "every"): "barostat_every",
    ("barostat", "annealing"): "pressure_annealing",
    ("barostat", "annealing_every"): "pressure_annealing_every",
    ("imd", "port"): "imd_port",
    ("restraints", "annealing"): "restraint_annealing",
    ("restraints", "annealing_every"): "restraint_annealing_every",
}


# Short options, as in Amber's and GROMACS' programs.
_SHORT: dict[Place, tuple[str, ...]] = {
    ("system", "topology"): ("-p",),
    ("system", "coordinates"): ("-c",),
    ("system", "reference"): ("-r",),
}


def with_settings(
    *wanted: str, defaults: dict[Place, Any] | None = None, otherwise: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command options for settings; it receives them as its parameter `settings`.

    Parameters
    ----------
    wanted:
        Sections ("nonbonded") or single settings ("run.ranks") of the configuration.
    defaults:
        Defaults of the command that differ from those of the configuration.
    otherwise:
        Default of a setting, in the words of the help; by default the value
        that a configuration has without this setting.

    Returns
    -------
    A decorator.  `settings` then holds what was given, and `defaults` where nothing was.
    """
    changed = defaults or {}
    options = [_option(place, field, changed, otherwise) for place, field in _settings(wanted)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [item for item in signature.parameters.values() if item.name != "settings"]
        parameters = [*own, *(option for _, option in options)]

        @functools.wraps(command)
        def wrapped(**values: Any) -> None:
            given = {place: values.pop(option.name) for place, option in options}
            settings = {place: value for place, value in given.items() if value not in (None, [])}
            command(**values, settings=changed | settings)

        wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {item.name: item.annotation for item in parameters}
        return wrapped

    return decorate


@functools.cache
def flag_of(place: Place, config: type[BaseModel] = Config) -> str:
    """The option of a setting: "--pme-grid"."""
    section, key = place
    having = (
        name
        for name in single_sections(config)
        if key in setting_fields(name, config) and (name, key) not in _FLAGS
    )
    name = key if section == next(having, section) else f"{section}_{key}"
    return "--" + _FLAGS.get(place, name).replace("_", "-")


def as_options(text: str) -> str:
    """The text with the options of settings in place of their keys: "needs --pme-grid"."""
    return re.sub(r"\w+", lambda word: _flag_by_key().get(word[0], word[0]), text)


@contextmanager
def naming_options(settings: Settings) -> Iterator[None]:
    """Within, errors name settings that options have given by these options."""
    try:
        yield
    except QuiltError as error:
        text = str(error)
        for section, key in settings:
            text = text.replace(f"{key} of [{section}]", flag_of((section, key)))
        error.args = (text,)
        raise


def _settings(wanted: Iterable[str]) -> Iterable[tuple[Place, FieldInfo]]:
    for name in wanted:
        section, _, key = name.partition(".")
        for found, field in setting_fields(section, Config).items():
            if key in ("", found):
                yield (section, found), field


def _option(
    place: Place, field: FieldInfo, changed: dict[Place, Any], otherwise: str
) -> tuple[Place, inspect.Parameter]:
    """A setting's option; without a value it is None, and the configuration's default holds."""
    section, key = place
    flag = flag_of(place)
    name = flag[2:].replace("-", "_")
    is_optional = section in optional_sections(Config)  # without it there is no default either
    default = changed.get(place, None if field.is_required() or is_optional else field.default)
    kind = _plain(field.annotation)
    stated = _units((field.annotation, *field.metadata))
    parts = get_args(kind) if get_origin(kind) is tuple else ()
    parser, metavar = _PARSERS.get(parts, (None, None))
    if parser is not None:
        parser = _in_units(parser, stated)
    elif stated:
        parser, metavar = _in_units(_parse_number, stated), "VALUE"
    again = ""
    if parts and get_origin(parts[0]) is Literal:
        parser, metavar = _parse_words, "WORD,..."
    elif parts and parser is None:  # several values: the option is given several times
        of = _plain(parts[0])
        kind, metavar = list[of], "FILE" if of is Path else "NAME"  # type: ignore[valid-type]
        again = " May be repeated."
    if key == "kind":  # the help lists the kinds, with their summaries
        metavar = "KIND"
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        *_SHORT.get(place, ()),
        help=_help(field, again, default, otherwise),
        rich_help_panel=f"[{section}]",
        show_default=False,
        case_sensitive=False,
        parser=parser,
        metavar=metavar,
    )
    annotation: Any = Annotated[Any if parser else kind | None, option]
    return place, inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _help(field: FieldInfo, again: str, default: Any, otherwise: str) -> str:
    """The help of a setting: its description and its default."""
    text = as_options(field.description or "")
    if otherwise:
        text = text.partition("; default: ")[0].removesuffix(".") + "."
    return f"{text}{again}{_shown(otherwise or default)}"


@functools.cache
def _flag_by_key() -> dict[str, str]:
    """The options of settings whose names cannot be words of a sentence."""
    places = (place for place, _ in _settings(single_sections(Config)))
    return {place[1]: flag_of(place) for place in places if "_" in place[1]}


def _in_units(parser: Callable[..., Any], units: Any) -> Callable[[str], Any]:
    """The parser for a setting with units; a function, as older versions of click ask its name."""

    def parse(text: str) -> Any:
        return parser(text, units=units)

    return parse


def _plain(annotation: Any) -> Any:
    """A setting's type without None and units; of a choice among numbers, the number."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(kind for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    if get_origin(annotation) is tuple:
        return tuple[tuple(map(_without_unit, get_args(annotation)))]  # type: ignore[misc]
    if get_origin(annotation) is Literal and not isinstance(get_args(annotation)[0], str):
        return type(get_args(annotation)[0])
    return annotation


def _without_unit(annotation: Any) -> Any:
    parts = get_args(annotation)
    if get_origin(annotation) is tuple:
        return tuple[tuple(map(_without_unit, parts))]  # type: ignore[misc]
    is_quantity = get_origin(annotation) is Annotated and isinstance(parts[1], Unit)
    return parts[0] if is_quantity else annotation


def _shown(default: Any) -> str:
    if default is None or default == () or isinstance(default, Path):
        return ""
    if isinstance(default, bool):
        default = "on" if default else "off"
    if isinstance(default, tuple):
        default = ", ".join(map(str, default))
    return f" [default: {default}]"


def _units(places: Iterable[Any]) -> list[Unit]:
    """The units beside a setting's type and beside those that it is made of, in order."""
    found = []
    for place in places:
        found += [place] if isinstance(place, Unit) else _units(get_args(place))
    return found


def _number(text: str, unit: Unit | None) -> float:
    try:
        return float(text if unit is None else unit.read(text))
    except ValueError as error:
        why = "must be a number" if unit is None else str(error)
        raise typer.BadParameter(f"{why} (found {text.strip()!r})") from None


def _parse_number(text: str, units: list[Unit]) -> float:
    return _number(text, units[0])


def _parse_grid(text: str, units: list[Unit]) -> list[int]:
    numbers = [natural_number(part.strip()) for part in text.split(",")]
    found = [number for number in numbers if number is not None]
    if len(found) != 3 or len(numbers) != 3:
        raise typer.BadParameter(f"expected three whole numbers NX,NY,NZ, found {text!r}")
    return found


def _parse_words(text: str, units: Sequence[Unit] = ()) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_points(text: str, units: list[Unit]) -> list[list[float]]:
    points = [part.split(":") for part in text.split(",")]
    if any(len(point) != 2 for point in points):
        raise typer.BadParameter(
            f"expected times and values such as 0:10,50:300, found {text!r}"
        ) from None
    units_of_pair = [*units, None][:2]
    return [[_number(*pair) for pair in zip(point, units_of_pair, strict=True)] for point in points]


def _parse_box(text: str, units: list[Unit]) -> tuple[float, ...]:
    if text.strip().lower() == "none":
        return ()
    parts = text.split(",")
    of_each = units * len(parts) or [*OF_BOX]
    if len(parts) > len(of_each):
        raise typer.BadParameter(
            f"expected A,B,C or A,B,C,ALPHA,BETA,GAMMA or none, found {text!r}"
        )
    return tuple(map(_number, parts, of_each))


def _parse_numbers(names: str) -> tuple[Callable[..., list[float]], str]:
    """Parser of as many numbers as there are names, and the names."""
    count = names.count(",") + 1

    def parse(text: str, units: list[Unit]) -> list[float]:
        parts = text.split(",")
        if len(parts) != count:
            raise typer.BadParameter(f"expected {names}, found {text!r}")
        of_each: Sequence[Unit | None] = units or [None] * count
        return [_number(part, unit) for part, unit in zip(parts, of_each, strict=True)]

    return parse, names


# Settings of several numbers: their types, how an option gives them, and what help calls them.
_PARSERS: dict[tuple[Any, ...], tuple[Callable[..., Any], str]] = {
    (int, int, int): (_parse_grid, "NX,NY,NZ"),
    (float,) * 3: _parse_numbers("X,Y,Z"),
    (float,) * 6: _parse_numbers("AX,BX,BY,CX,CY,CZ"),
    (float, ...): (_parse_box, "A,B,C,..."),
    (HostEntry, ...): (_parse_words, "HOST,..."),
    (tuple[float, float], ...): (_parse_points, "PS:VALUE,..."),
}
