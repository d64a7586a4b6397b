# SPDX-License-Identifier: Apache-2.0
"""The settings of a configuration, as their declarations describe them.

Type, default, description and what a resumed run does with a setting are declared once, in its
section.  Options, help, what a checkpoint compares and the defaults of earlier versions follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..description.checks import any_case
from ..description.settings import OnResume

Place = tuple[str, str]  # section and key of a setting


def setting_fields(section: str, config: type[BaseModel]) -> dict[str, FieldInfo]:
    """The settings of a section: type, default and description of each."""
    return fields_of(section_kind(config, section))


def section_kind(config: type[BaseModel], section: str) -> Any:
    """The class of a section, of one that may be missing, or of each of several of one name."""
    kind: Any = config.model_fields[section].annotation
    return get_args(kind)[0] if get_origin(kind) is not None else kind


def fields_of(kind: Any) -> dict[str, FieldInfo]:
    """The settings of a class of sections."""
    # pydantic 2.5 to 2.9 have them under two names, one for models and one for dataclasses.
    name = "model_fields" if issubclass(kind, BaseModel) else "__pydantic_fields__"
    found: dict[str, FieldInfo] = getattr(kind, name)
    return found


def single_sections(config: type[BaseModel]) -> list[str]:
    """Sections that every configuration has once; keys of others have no options."""
    kinds = {name: field.annotation for name, field in config.model_fields.items()}
    return [name for name, kind in kinds.items() if get_origin(kind) is None]


def optional_sections(config: type[BaseModel]) -> list[str]:
    """Sections that a configuration has once or not at all, and by default not."""
    kinds = {name: get_args(field.annotation) for name, field in config.model_fields.items()}
    return [name for name, kind in kinds.items() if type(None) in kind]


def required_settings(section: str, config: type[BaseModel]) -> list[str]:
    """Keys of a section that have no default."""
    return [key for key, field in setting_fields(section, config).items() if field.is_required()]


def may_change(config: type[BaseModel]) -> list[Place]:
    """Settings that may be given anew when a run is resumed, in the order of the declarations."""
    return [
        (section, key)
        for section in (*single_sections(config), *optional_sections(config))
        for key, field in setting_fields(section, config).items()
        if OnResume.MAY_CHANGE in field.metadata
    ]


def settings_of(section: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of a section's settings, as they are."""
    for name in fields_of(type(section)):
        yield name, getattr(section, name)


def several_of(section: Any) -> tuple[Any, ...]:
    """The sections of one name: several, one, or none."""
    if section is None:
        return ()
    return section if isinstance(section, tuple) else (section,)


def kept_settings(section: Any) -> dict[str, Any]:
    """Settings of a section that a resumed run must keep, as JSON has them."""
    declared = fields_of(type(section))
    return {
        key: as_json(value)
        for key, value in settings_of(section)
        if not any(isinstance(mark, OnResume) for mark in declared[key].metadata)
    }


def defaults(config: type[BaseModel]) -> dict[str, Any]:
    """Defaults of all settings that have one, as "section.key" and as JSON has them."""
    return {
        f"{section}.{key}": value
        for section in single_sections(config)
        for key, value in section_defaults(section, config).items()
    }


def section_defaults(section: str, config: type[BaseModel]) -> dict[str, Any]:
    """Defaults of a section's settings that have one, as JSON has them."""
    return {
        key: as_json(field.get_default(call_default_factory=True))
        for key, field in setting_fields(section, config).items()
        if not field.is_required()
    }


def as_json(value: Any) -> Any:
    """A value as it is after a way through a file: lists for tuples, words for paths."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    return json.loads(json.dumps(value, default=_as_words))


def _as_words(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return dict(settings_of(value))


def as_spelt(settings: dict[str, Any], config: type[BaseModel]) -> dict[str, Any]:
    """Settings with choices as they are spelt here: "npt" of "NPT"."""

    def section(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [section(name, one) for one in value]
        if not isinstance(value, dict) or name not in config.model_fields:
            return value
        known = setting_fields(name, config)
        return {
            key: any_case(known[key].annotation, one) if key in known else one
            for key, one in value.items()
        }

    return {name: section(name, value) for name, value in settings.items()}


def as_toml(settings: dict[str, Any]) -> Iterator[str]:
    """Settings as lines of a TOML file, lists on one line as people write them."""
    for name, section in settings.items():
        for one in section if isinstance(section, list) else [section]:
            yield f"[[{name}]]" if isinstance(section, list) else f"[{name}]"
            for key, value in one.items():
                # JSON has these values as TOML has them.
                yield f"{key} = {json.dumps(as_json(value), ensure_ascii=False)}"
            yield ""
