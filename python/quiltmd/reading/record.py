# SPDX-License-Identifier: Apache-2.0
"""Record of the files and environment variables on which a reader's result depends.

The cache checks later that nothing of it has changed.  Files that were looked for and not found are
recorded too: one that appears later would be read instead.
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
    """Files and variables that were read.

    Attributes
    ----------
    files:
        Paths as the reader gave them, with a digest of the content; None: there was no such file.
    environment:
        Variables with their values; None: it was not set.
    complete:
        Whether everything that was read is recorded.
    """

    files: dict[str, str | None] = field(default_factory=dict)
    environment: dict[str, str | None] = field(default_factory=dict)
    complete: bool = True

    def holds(self, known: Mapping[str, str | None]) -> bool:
        """Whether nothing has changed; `known` has the present digests of some files."""
        variables = self.environment.items()
        return all(os.environ.get(name) == value for name, value in variables) and all(
            _is_unchanged(file, found, known) for file, found in self.files.items()
        )


def _is_unchanged(file: str, found: str | None, known: Mapping[str, str | None]) -> bool:
    if found is None:
        return not os.path.isfile(file)
    return found == (known[file] if file in known else digest_of_file(file))


_record: ContextVar[Record | None] = ContextVar("record", default=None)


@contextmanager
def recording() -> Iterator[Record]:
    """Records what is read within it."""
    record = Record()
    token = _record.set(record)
    try:
        yield record
    finally:
        _record.reset(token)


def note_content(path: str | os.PathLike[str], content: bytes) -> None:
    """Records that a file was read."""
    if (record := _record.get()) is not None:
        _note(record, os.fspath(path), digest(content))


def mark_incomplete() -> None:
    """Records that something is read which cannot be recorded, by a library for instance."""
    if (record := _record.get()) is not None:
        record.complete = False


def is_file(path: str | os.PathLike[str]) -> bool:
    """os.path.isfile; records a missing file.  The caller reads a file that exists."""
    found = os.path.isfile(path)
    if not found and (record := _record.get()) is not None:
        _note(record, os.fspath(path), None)
    return found


def getenv(name: str, default: str) -> str:
    """os.environ.get; records the value."""
    if (record := _record.get()) is not None:
        record.environment[name] = os.environ.get(name)
    return os.environ.get(name, default)


def _note(record: Record, path: str, found: str | None) -> None:
    if record.files.setdefault(path, found) != found:  # it changed between two reads
        record.complete = False


def digest(content: bytes) -> str:
    """The BLAKE2b digest of 128 bits, in hexadecimal."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def digest_of_file(path: str) -> str | None:
    """The digest of a file's content; None if it cannot be read or is no regular file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            return digest(stream.read())
    except OSError:
        return None
