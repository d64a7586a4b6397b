# SPDX-License-Identifier: Apache-2.0
"""Notes about the steps of a preparation, for prepare.log."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

_WIDTH = 96


@dataclass(frozen=True)
class Note:
    """One thing that was done or found.

    Attributes
    ----------
    topic:
        The step: "input", "missing atoms", "protonation", ...
    text:
        A sentence.
    check:
        Whether the user must check it before using the system.
    """

    topic: str
    text: str
    check: bool = False


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names in a row; beyond `most` of them the number of the others."""
    found = [str(name) for name in names]
    more = len(found) - most
    return ", ".join(found[:most]) + (f" and {more} more" if more > 0 else "")


def as_text(notes: Iterable[Note]) -> str:
    """The notes as text: points to check first, then all notes by topic, in order."""
    notes = list(notes)
    lines = []
    if checks := [note for note in notes if note.check]:
        lines += ["LOOK AT", *_items(f"{note.topic}: {note.text}" for note in checks), ""]
    for topic in dict.fromkeys(note.topic for note in notes):
        lines += [topic.upper(), *_items(note.text for note in notes if note.topic == topic), ""]
    return "\n".join(lines)


def _items(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        yield from textwrap.wrap(text, _WIDTH, initial_indent="- ", subsequent_indent="  ")
