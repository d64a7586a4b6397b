# SPDX-License-Identifier: Apache-2.0
"""What a reader's result depends on, noted while it reads: files, and variables of the environment.

A cache asks later whether all of it is still so.  What was looked for and was not there counts as
well: a file that appears there later would have been read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Record:
    """What was read.

    Attributes
    ----------
    files:
        Paths as they were asked for, and a digest of each content; None: there was no such file.
    environment:
        Variables and their values; None: it was not set.
    complete:
        Whether all that was read is here.
    """

    files: dict[str, str | None] = field(default_factory=dict)
    environment: dict[str, str | None] = field(default_factory=dict)
    complete: bool = True

    def holds(self, known: Mapping[str, str | None]) -> bool:
        """Whether files and environment are as they were; `known` are digests as of now."""
        if any(os.environ.get(name) != value for name, value in self.environment.items()):
            return False
        return all(
            (known[file] if file in known else digest_of_file(file)) == found
            if found is not None
            else not os.path.isfile(file)
            for file, found in self.files.items()
        )


_record: ContextVar[Record | None] = ContextVar("record", default=None)


@contextmanager
def recording() -> Iterator[Record]:
    """Notes what is read meanwhile."""
    record = Record()
    token = _record.set(record)
    try:
        yield record
    finally:
        _record.reset(token)


def note_content(path: str | os.PathLike[str], content: bytes) -> None:
    """A file was read."""
    if (record := _record.get()) is not None:
        _note(record, os.fspath(path), digest(content))


def note_unknown() -> None:
    """Something is read that is not known here, by another program for instance."""
    if (record := _record.get()) is not None:
        record.complete = False


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether there is a file of this name, which is then to be read."""
    found = os.path.isfile(path)
    if not found and (record := _record.get()) is not None:
        _note(record, os.fspath(path), None)
    return found


def variable(name: str, default: str) -> str:
    """A variable of the environment."""
    if (record := _record.get()) is not None:
        record.environment[name] = os.environ.get(name)
    return os.environ.get(name, default)


def _note(record: Record, path: str, found: str | None) -> None:
    if record.files.setdefault(path, found) != found:  # it has changed in between
        record.complete = False


def digest(content: bytes) -> str:
    """Of 128 bits, in hexadecimal."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def digest_of_file(path: str) -> str | None:
    """That of a regular file's content; None where there is none that can be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            return digest(stream.read())
    except OSError:
        return None
