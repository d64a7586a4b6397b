# SPDX-License-Identifier: Apache-2.0
"""Amber's masks (ambmask) as selections here: ":1-10@CA,N & !@H=" and the like.

Residues are numbered in the order of the file, as in Amber.  Distances (<:, >@), atom types (@%)
and molecules (^) are refused.

Source: Amber Reference Manual, "ambmask".
"""

from __future__ import annotations

import re

from ..errors import InputError

_TOKEN = re.compile(r"\s*([&|!()]|[:@][^&|!()\s]*(?:\s*,\s*[\w=*?+'\-]+)*|\*)")
_NUMBERS = re.compile(r"\d+(-\d+)?")


def selection_of_mask(mask: str) -> str:
    """The selection of a mask.

    Raises
    ------
    InputError
        Names what of the mask is not understood.
    """
    words: list[str] = []
    at = 0
    text = mask.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _not_understood(mask, text[at:])
        words.append(_word(found[1], mask))
        at = found.end()
    return " ".join(words)


def _word(token: str, mask: str) -> str:
    if token in "&|!()":
        return {"&": "and", "|": "or", "!": "not"}.get(token, token)
    if token == "*":
        return "all"
    residues, at, atoms = token.partition("@")
    parts = []
    if residues:
        parts.append(_one_of("residue", "resname", residues.removeprefix(":"), mask))
    if at and atoms.startswith("/"):
        parts.append("element " + " ".join(atoms.removeprefix("/").split(",")))
    elif at:
        parts.append(_one_of("index", "name", atoms, mask))
    return "( " + " and ".join(parts) + " )"


def _one_of(numbered: str, named: str, values: str, mask: str) -> str:
    """Numbers and names, of which one must hold."""
    items = [item.strip() for item in values.split(",")]
    if not all(items) or any(set(item) & set("%<>^;:") for item in items):
        raise _not_understood(mask, values)
    numbers = [item for item in items if _NUMBERS.fullmatch(item)]
    names = [item.replace("=", "*") for item in items if not _NUMBERS.fullmatch(item)]
    parts = [f"{numbered} {' '.join(numbers)}"] if numbers else []
    parts += [f"{named} {' '.join(names)}"] if names else []
    return "( " + " or ".join(parts) + " )"


def _not_understood(mask: str, what: str) -> InputError:
    return InputError(
        f"the mask '{mask}' is not understood at '{what}': residues (:), atoms (@), elements (@/), "
        "&, |, ! and parentheses are"
    )
