# SPDX-License-Identifier: Apache-2.0
"""A file that a library changes in many places, and that can go back to where a checkpoint was.

HDF5 keeps counts and indices in the middle of its files, so a kill between two writes can leave a
file that nothing reads.  As databases do, what is about to be overwritten is therefore saved in a
journal beside the file first, and the journal synced; a resume puts it back and cuts the rest.  The
library writes to pages in memory; these reach the disk in `commit`, after their journal.

Each mark begins a journal, and the last three are kept: going back to the checkpoint before the
last one, while a third is being written, needs no more.  Layout of a journal, little-endian: magic,
number, length and checksum of the file at the mark, SHA-256 of these; then for each saved piece its
offset and size, SHA-256 of these and the bytes, and the bytes.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import QuiltError
from .files import Mark, read_file, reading, sync_folder, writing

_PAGE = 4096
_TAIL = 1 << 16  # bytes at the end of a file that its checksum is of
_KEPT = 3
_MAGIC = b"QMDUNDO\n"
_HEAD = struct.Struct("<8sQQ32s32s")
_PIECE = struct.Struct("<QI32s")
SUFFIXES = tuple(f".undo-{slot}" for slot in range(_KEPT))


@dataclass(frozen=True)
class _Journal:
    """What a journal has: pieces as offset and bytes; `length` of it is whole."""

    number: int
    mark: Mark
    pieces: list[tuple[int, bytes]]
    length: int


class JournalledFile:
    """The file, as a library takes it: reads and writes anywhere, in memory until `commit`.

    Parameters
    ----------
    path:
        The file.
    mark:
        None begins a new file; else an existing one goes back to this mark.  One without a
        checksum takes the file as it is.

    Raises QuiltError where the file cannot go back.
    """

    def __init__(self, path: Path, mark: Mark | None) -> None:
        self.path = path
        self._pages: dict[int, bytearray] = {}
        self._saved: set[int] = set()
        self._forsaken = False  # what a library still writes is of no use
        self._error: BaseException | None = None  # of a read, raised when the library is done
        self._protected = 0  # bytes that must be saved before they change
        self._number = 0
        self._place = self._size = 0
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_TRUNC if mark is None else 0)
        with writing(path):
            if mark is None:
                self._remove_journals(range(_KEPT))
            self._handle = os.open(path, flags, 0o666)
        try:
            if mark is not None:
                with reading(path):
                    self._size = os.fstat(self._handle).st_size
                if mark.tail is not None:
                    self._go_back(mark)
        except BaseException:
            os.close(self._handle)
            raise

    # ---- what a library calls

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to a place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = base + offset
        return self._place

    def tell(self) -> int:
        """The place."""
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Reads from the place on."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._place))
        done = 0
        while done < count:
            number, within = divmod(self._place, _PAGE)
            piece = min(_PAGE - within, count - done)
            if number in self._pages:
                view[done : done + piece] = self._pages[number][within : within + piece]
            else:
                view[done : done + piece] = self._found(self._place, piece)
            done, self._place = done + piece, self._place + piece
        return done

    def read(self, size: int) -> bytes:
        """Reads from the place on."""
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(buffer)])

    def flush(self) -> None:
        """Nothing: `commit` is for the owner to call."""

    def write(self, data: Any) -> int:
        """Writes at the place, in memory."""
        view = memoryview(data).cast("B")
        if self._forsaken:
            self._place += len(view)
            return len(view)
        done = 0
        while done < len(view):
            number, within = divmod(self._place, _PAGE)
            piece = min(_PAGE - within, len(view) - done)
            page = self._pages.get(number)
            if page is None:
                page = self._pages[number] = bytearray(self._found(number * _PAGE, _PAGE))
            page[within : within + piece] = view[done : done + piece]
            done, self._place = done + piece, self._place + piece
        self._size = max(self._size, self._place)
        return done

    def truncate(self, size: int | None = None) -> int:
        """The file never gets shorter; a longer one ends with zeros."""
        self._size = max(self._size, self._place if size is None else size)
        return self._size

    def _found(self, offset: int, size: int) -> bytes:
        """Bytes of the file; errors wait, as a library of C cannot bear them in its midst."""
        if self._forsaken or self._error is not None:
            return bytes(size)
        try:
            return self._stored(offset, size)
        except BaseException as error:
            self._error = error
            return bytes(size)

    # ---- what its owner calls

    @contextmanager
    def lent(self) -> Iterator[None]:
        """To a library, inside; errors of reading come out at the end."""
        try:
            yield
        finally:
            if self._error is not None and not self._forsaken:
                with reading(self.path):
                    raise self._error

    def commit(self) -> None:
        """Brings what was written to the file, after what it replaces is in the journal."""
        with writing(self.path):
            self._save_pages()
            for number in sorted(self._pages):
                begin = number * _PAGE
                _write_at(self._handle, self._pages[number][: self._size - begin], begin)
            if os.fstat(self._handle).st_size < self._size:
                os.ftruncate(self._handle, self._size)
        self._pages = {}

    def sync(self) -> None:
        """Returns when all that was committed is on the disk."""
        with writing(self.path):
            os.fsync(self._handle)
            sync_folder(self.path.parent)

    def mark(self) -> Mark:
        """How far the synced file is; from here on it can go back to this."""
        mark = Mark(self._size, self._checksum(self._size))
        with writing(self.path):
            self._number += 1
            self._begin_journal(mark)
        self._protected, self._saved = mark.length, set()
        return mark

    def forsake(self) -> None:
        """From here on nothing is read or written: a library may close, whatever has failed."""
        self._forsaken = True

    def leave(self) -> None:
        """Closes the file; an empty one is removed, what was not committed is lost."""
        with writing(self.path):
            try:
                if self._size == 0 and self.path.exists():
                    os.unlink(self.path)
                    self._remove_journals(range(_KEPT))
            finally:
                os.close(self._handle)

    # ---- the journal

    def _slot(self, number: int) -> Path:
        return self.path.with_name(self.path.name + SUFFIXES[number % _KEPT])

    def _remove_journals(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            with suppress(FileNotFoundError):
                os.unlink(self._slot(number))

    def _begin_journal(self, mark: Mark) -> None:
        head = _HEAD.pack(
            _MAGIC, self._number, mark.length, bytes.fromhex(mark.tail or ""), bytes(32)
        )[:-32]
        self._append_to_journal(head + hashlib.sha256(head).digest(), new=True)
        sync_folder(self.path.parent)

    def _save_pages(self) -> None:
        pieces = []
        for number in sorted(self._pages):
            begin = number * _PAGE
            size = min(_PAGE, self._protected - begin)
            if size > 0 and number not in self._saved:
                data = self._stored(begin, size)
                head = struct.pack("<QI", begin, size)
                pieces.append(head + hashlib.sha256(head + data).digest() + data)
                self._saved.add(number)
        if pieces:
            self._append_to_journal(b"".join(pieces))

    def _append_to_journal(self, data: bytes, new: bool = False) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if new else 0)
        handle = os.open(self._slot(self._number), flags, 0o666)
        try:
            _write_at(handle, data, os.fstat(handle).st_size)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _go_back(self, mark: Mark) -> None:
        found = filter(None, map(self._read_journal, range(_KEPT)))
        journals = sorted(found, key=lambda journal: -journal.number)
        same = [journal for journal in journals if journal.mark == mark]
        if not same:
            raise self._lost("its journal is missing")
        self._number = same[0].number
        undone = [journal for journal in journals if journal.number >= self._number]
        with writing(self.path):
            for journal in undone:
                for begin, data in reversed(journal.pieces):
                    _write_at(self._handle, data, begin)
            if os.fstat(self._handle).st_size < mark.length:
                raise self._lost("bytes were lost")
            os.ftruncate(self._handle, mark.length)
            os.fsync(self._handle)
            # Only now that all is undone may later journals go; this one is carried on.
            self._remove_journals(journal.number for journal in undone[:-1])
            sync_folder(self.path.parent)
            self._cut_journal(undone[-1].length)
        self._size = self._protected = mark.length
        self._saved = {begin // _PAGE for begin, _ in undone[-1].pieces}
        if self._checksum(mark.length) != mark.tail:
            raise self._lost("it was edited, or belongs to another run")

    def _cut_journal(self, length: int) -> None:
        handle = os.open(self._slot(self._number), os.O_RDWR | os.O_CLOEXEC)
        try:
            os.ftruncate(handle, length)
        finally:
            os.close(handle)

    def _read_journal(self, slot: int) -> _Journal | None:
        """A journal as far as it was written; None where there is none."""
        with reading(self._slot(slot)):
            data = read_file(self._slot(slot)) if self._slot(slot).exists() else b""
        if (
            len(data) < _HEAD.size
            or hashlib.sha256(data[: _HEAD.size - 32]).digest()
            != data[_HEAD.size - 32 : _HEAD.size]
        ):
            return None
        _, number, length, tail, _ = _HEAD.unpack_from(data)
        pieces, at = [], _HEAD.size
        while at + _PIECE.size <= len(data):
            begin, size, checksum = _PIECE.unpack_from(data, at)
            piece = data[at + _PIECE.size : at + _PIECE.size + size]
            head = data[at : at + 12]
            if len(piece) < size or hashlib.sha256(head + piece).digest() != checksum:
                break  # cut short by a kill, before what it saves was changed
            pieces.append((begin, piece))
            at += _PIECE.size + size
        return _Journal(number, Mark(length, tail.hex()), pieces, at)

    def _lost(self, why: str) -> QuiltError:
        return QuiltError(
            f"{self.path}: is not as the run left it: {why}; put the original file back, with its "
            f"{self.path.name}.undo-* files"
        )

    def _checksum(self, length: int) -> str:
        begin = max(0, length - _TAIL)
        with reading(self.path):
            return hashlib.sha256(self._stored(begin, length - begin)).hexdigest()

    def _stored(self, offset: int, size: int) -> bytes:
        """Bytes of the file on the disk, with zeros behind its end."""
        blocks, left = [], size
        while left > 0 and (block := os.pread(self._handle, left, offset)):
            blocks.append(block)
            offset, left = offset + len(block), left - len(block)
        return b"".join([*blocks, bytes(left)])


def _write_at(handle: int, data: bytes | bytearray, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view, offset)
        view, offset = view[written:], offset + written
