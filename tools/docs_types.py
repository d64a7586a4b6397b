# SPDX-License-Identifier: Apache-2.0
"""An extension of griffe for the API pages, for habits of our docstrings and classes.

`system, state:` documents two parameters: griffe gives both the type and default of the first, here
each has its own.  What is returned is told in a sentence: griffe takes its lines for types.
Settings are checked dataclasses, which griffe does not know as such: attributes get their defaults.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# A plain default, or that of a Field of pydantic; docstrings say what None means.
_DEFAULT = re.compile(r"^(?:Field\(.*?default=)?(?!None|_)([-\w.\"']+)(?:,.*|\))?$", re.DOTALL)
_SECTIONS = (griffe.DocstringSectionParameters, griffe.DocstringSectionAttributes)


class OwnTypes(griffe.Extension):
    """Types and defaults of documented parameters and attributes, name by name."""

    def on_package(self, *, pkg: griffe.Module, **rest: Any) -> None:
        """Corrects the docstrings of a package that has been loaded."""
        _walk(pkg)


def _walk(found: griffe.Object) -> None:
    for member in list(found.members.values()):
        if not member.is_alias:
            _walk(member)
    if found.docstring is None or found.is_module:
        return
    for section in found.docstring.parsed:
        if isinstance(section, _SECTIONS):
            for item in section.value:
                _correct(item, found)
        elif isinstance(section, griffe.DocstringSectionReturns):
            section.value = [_sentence(section.value, found)]


def _correct(item: Any, owner: griffe.Object) -> None:
    parameters = getattr(owner, "parameters", ())
    name = item.name.split(",")[0]
    if name in parameters:
        item.annotation, item.value = parameters[name].annotation, parameters[name].default
    elif name in owner.members and owner.members[name].is_attribute:
        item.annotation = owner.members[name].annotation
        default = _DEFAULT.search(str(owner.members[name].value or ""))
        if default:
            item.description += f" Default: `{default[1]}`."


def _sentence(items: list[Any], owner: griffe.Object) -> griffe.DocstringReturn:
    parts = [part for item in items for part in (str(item.annotation or ""), item.description)]
    text = " ".join(part for part in parts if part)
    return griffe.DocstringReturn(
        name="", annotation=getattr(owner, "returns", None), description=text
    )
