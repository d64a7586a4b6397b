# SPDX-License-Identifier: Apache-2.0
"""Writing files such that failures are told well: which file, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ..errors import QuiltError


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an OSError inside into a QuiltError that names the file."""
    try:
        yield
    except OSError as error:
        raise QuiltError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from None


def write_all(file: BinaryIO, data: bytes) -> None:
    """Writes every byte to an unbuffered file, which may take only some at a time."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
