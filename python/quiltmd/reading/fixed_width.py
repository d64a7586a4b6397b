# SPDX-License-Identifier: Apache-2.0
"""Fixed-width columns of numbers, the way Fortran writes them.

Columns may touch ("-100.1234567-200.1234567"), so splitting at blanks is
wrong; and files have millions of numbers, so a loop over them is slow. Lines
are therefore padded to full width and converted as one array of byte strings.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .record import note_content
from .words import converted

_HEAD = 64  # bytes, among which a binary format has a zero


def read_bytes(path: str | os.PathLike[str], limit: int = -1) -> bytes:
    """Content of a file, or its first `limit` bytes; of texts without a byte order mark.

    Raises
    ------
    InputError
        If the file cannot be read or is empty.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            raise InputError("not a regular file; save it as one", file=path)
        with open(path, "rb") as stream:
            data = stream.read(limit)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if not data:
        raise InputError("the file is empty", file=path)
    if limit < 0:  # a reader that looks at the head of a file reads all of it later
        note_content(path, data)
    is_text = b"\0" not in data[:_HEAD]
    return data.removeprefix(codecs.BOM_UTF8) if is_text else data


def decoded(texts: Iterable[bytes]) -> npt.NDArray[np.str_]:
    """Names as they stand in a file, without blanks around them; a str of each."""
    return np.char.decode(np.array([text.strip() for text in texts], dtype=np.bytes_), "latin-1")


@dataclass(frozen=True)
class Columns:
    """A block of lines with a fixed number of columns of fixed width.

    Attributes
    ----------
    file, name:
        For messages: the file, and what the block holds.
    line:
        Number of the first line in the file, from 1.
    lines:
        The lines, without their newlines.
    per_line, width:
        Columns in a full line, and characters in a column.
    per_atom:
        Values that belong to each atom, for messages; 0 where they do not go by atom.
    """

    file: str
    name: str
    line: int
    lines: list[bytes]
    per_line: int
    width: int
    per_atom: int = 0

    def texts(self, count: int) -> npt.NDArray[np.bytes_]:
        """The first `count` columns, (count,) byte strings; no more may follow."""
        size = self.per_line * self.width
        used = -(-count // self.per_line)
        block = b"".join(line.rstrip(b"\r")[:size].ljust(size) for line in self.lines[:used])
        found = np.frombuffer(block, dtype=f"S{self.width}")
        if len(found) < count or not self._rest_is_blank(found, count, used):
            present = self.count()
            hint = "; the file is truncated or damaged" if present < count else ""
            raise InputError(
                f"{self.name} should have {count} values, but has {present}{hint}",
                file=self.file,
                line=self.line + max(len(self.lines) - 1, 0),
            )
        return found[:count]

    def numbers(self, count: int, dtype: type) -> npt.NDArray[Any]:
        """The first `count` columns as finite numbers of a type, int or float."""
        texts = self.texts(count)
        try:
            values = converted(texts, dtype)
        except (ValueError, OverflowError):
            index = next(i for i, text in enumerate(texts) if not _is_number(text, dtype))
            raise self._bad_value(texts, index, count) from None
        if not np.isfinite(values).all():
            raise self._bad_value(texts, int(np.argmin(np.isfinite(values))), count)
        return values

    def line_of(self, index: int) -> int:
        """Line of the file where value `index` stands."""
        return self.line + index // self.per_line

    def count(self) -> int:
        """Columns that are there, counting up to the last that is not blank."""
        for index in range(len(self.lines) - 1, -1, -1):
            text = self.lines[index].rstrip()
            if text:
                return index * self.per_line + -(-len(text) // self.width)
        return 0

    def _bad_value(self, texts: npt.NDArray[np.bytes_], index: int, count: int) -> InputError:
        text = texts[index].decode("latin-1").strip()
        if not text and not texts[index:].tobytes().strip():
            what = f"{self.name} should have {count} values, but has {index}; the file is truncated"
        else:
            what = f"{self.name}: '{text}' is not a finite number"
        atom = index // self.per_atom if self.per_atom else None
        return InputError(what, file=self.file, line=self.line_of(index), atom=atom)

    def _rest_is_blank(self, found: npt.NDArray[np.bytes_], count: int, used: int) -> bool:
        rest = [found[count:].tobytes(), *self.lines[used:]]
        return not any(part.strip() for part in rest)


def _is_number(text: bytes, dtype: type) -> bool:
    try:
        converted(np.array([text]), dtype)
    except ValueError:
        return False
    return True
