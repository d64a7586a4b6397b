# SPDX-License-Identifier: Apache-2.0
"""Sections of a configuration in which one of several classes is chosen by its `kind`.

A section has the settings of all of them, as they declare them.  Those that the chosen one does not
have are refused where they are given, and are not in the resolved configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from typing import Any, Literal

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from .section import Section
from .setting_fields import fields_of


class ChoiceSection(Section):
    """Base of such sections."""

    kind: str | None

    def settings_of(self, chosen: type) -> dict[str, Any]:
        """The settings that a class has."""
        names = fields_of(chosen)
        return {name: getattr(self, name) for name in type(self).model_fields if name in names}


def section_of(
    what: str,
    choices: Mapping[str, Any],
    default: str | None,
    elsewhere: Collection[str],
    others: Mapping[str, str] | None = None,
    base: type[ChoiceSection] = ChoiceSection,
) -> type[ChoiceSection]:
    """A section to choose from classes.

    Parameters
    ----------
    what:
        Name of the choice, for the description of `kind`.
    choices:
        The classes by their `kind`.
    default:
        The kind that is chosen where none is given; None: it follows from other sections.
    elsewhere:
        Their settings that other sections have.
    others:
        Kinds that have no class here, with what the help says of them.
    base:
        The class to derive the section from, with settings that it has whatever the kind.
    """
    told = {**(others or {}), **{kind: found.summary for kind, found in choices.items()}}
    if default is not None:
        told = {default: told.pop(default), **told}
    *most, last = (f"{kind} ({words})" for kind, words in told.items())
    kinds: Any = Literal[tuple(told)]
    kind = Field(default=default, description=f"{what}: {', '.join(most)} or {last}.")
    settings: dict[str, Any] = {"kind": (kinds if default else kinds | None, kind)}
    for found in choices.values():
        for name, field in fields_of(found).items():
            if name not in elsewhere:
                having = [one for one, its in choices.items() if name in fields_of(its)]
                settings.setdefault(name, (field.annotation, _of_kinds(field, having, [*told])))
    return create_model(f"{what}Section", __base__=base, **settings)


def _of_kinds(field: FieldInfo, having: list[str], kinds: list[str]) -> FieldInfo:
    """A setting whose description says which of the kinds have it, unless all have."""
    lacking = [kind for kind in kinds if kind not in having]
    if not lacking:
        return field
    few, words = (lacking, "not") if len(lacking) < len(having) else (having, "only")
    said = f"{(field.description or '').removesuffix('.')}; {words} with {' or '.join(few)}."
    described = copy(field)
    described.description = said
    described._attributes_set = {**field._attributes_set, "description": said}
    return described
