# SPDX-License-Identifier: Apache-2.0
"""The file operations of a run: whichever of them fails, nothing is lost and the file is named.

Small files are replaced whole: written under a temporary name, synced and renamed, then the folder
is synced.  So at every instant, after a power cut too, there is the old file or the new one.  Logs
and trajectories are appended to instead; a checkpoint has their length and a checksum of their end.
All operations are calls of `os` from this module, so that a test can make each of them fail in
turn; `journal.py` has those of files that also change in the middle.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import QuiltError

_TAIL = 1 << 16  # bytes: enough to tell files apart, little enough to keep in memory
_BLOCK = 1 << 20
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # of file systems without it


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an OSError inside into a QuiltError that names the file."""
    try:
        yield
    except OSError as error:
        raise QuiltError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from None


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an OSError inside into a QuiltError that names the file."""
    try:
        yield
    except OSError as error:
        raise QuiltError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from None


def read_file(path: str | os.PathLike[str], size: int | None = None) -> bytes:
    """The whole file, or up to `size` bytes of its start; OSError if that fails."""
    # Without O_NONBLOCK, opening a named pipe would wait.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return _read(handle, 0, os.fstat(handle).st_size if size is None else size)
    finally:
        os.close(handle)


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Makes `path` a file of these bytes; at every instant it is the old file or the new one.

    Raises QuiltError, which names it, where there is a folder or a device of this name or where the
    disk refuses; what was there then stays as it was.
    """
    path = Path(path)
    with writing(path):
        refuse_other_than_file(path)
        put_in_place(write_beside(path, data), path)


def refuse_other_than_file(path: Path) -> None:
    """QuiltError if `path` is a folder or a device, which must not be replaced by a file."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "no regular file"
        raise QuiltError(f"cannot write {path}: it is {kind}")


def write_beside(path: Path, data: bytes) -> Path:
    """Writes a temporary file in the folder of `path`, syncs it and returns its path."""
    temporary = temporary_path(path)
    try:
        handle = _create(temporary)
        try:
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        remove(temporary)
        raise
    return temporary


def put_in_place(temporary: Path, path: Path) -> None:
    """Renames a synced temporary file; the new name survives a power cut."""
    try:
        os.replace(temporary, path)
    except OSError:
        remove(temporary)
        raise
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Removes a temporary file, if it can be removed."""
    with suppress(OSError):
        os.unlink(path)


def temporary_path(path: Path) -> Path:
    """A name beside `path` that no other process takes."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def keep_under(path: Path, second: Path) -> None:
    """Gives a file the name `second` too; moves it there where the file system has no links."""
    temporary = temporary_path(second)
    try:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        os.link(path, temporary)
    except OSError:
        temporary = path
    os.replace(temporary, second)
    if temporary != path:
        remove(temporary)  # it is still there where `second` was this file already


def remove_temporaries(folder: Path, names: Iterable[str]) -> None:
    """Removes the temporary files that killed processes left for files of these names."""
    known = "|".join(map(re.escape, names))
    for entry in folder.iterdir():
        if re.fullmatch(rf"\.({known})\.\d+\.tmp", entry.name):
            with writing(entry):
                os.unlink(entry)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power cut, if the file system supports that."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Makes a folder, and those above it that are missing; they survive a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(folder)
        sync_folder(folder.parent)


def move(source: Path, target: Path) -> None:
    """Renames to a name that is free; the caller syncs the folders afterwards."""
    os.rename(source, target)


def hash_file(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal; OSError if it cannot be read."""
    sha = hashlib.sha256()
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        offset = 0
        while block := os.pread(handle, _BLOCK, offset):
            sha.update(block)
            offset += len(block)
    finally:
        os.close(handle)
    return sha.hexdigest()


@dataclass(frozen=True)
class Mark:
    """Mark of a growing file: `length`, bytes, and a checksum of its end.

    Without a checksum (None) any end will do.
    """

    length: int
    tail: str | None


class GrowingFile:
    """A file that is appended to, by one process after the other.

    Parameters
    ----------
    path:
        The file.
    new:
        Whether it begins empty; else it must exist, and `carry_on` says where it goes on.
    head:
        Bytes at the start that may change, and so are left out of checksums.
    """

    def __init__(self, path: str | os.PathLike[str], new: bool, head: int = 0) -> None:
        self.path = Path(path)
        self.length = 0
        self._head = head
        self._tail = b""
        self._named = False  # whether the folder was synced since the file was opened
        self._begun = new  # whether `length` counts what is in the file
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_TRUNC if new else 0)
        with writing(self.path):
            self._handle = os.open(self.path, flags, 0o666)

    @classmethod
    def with_header(
        cls,
        path: str | os.PathLike[str],
        header: str,
        mark: Mark | None,
        take_up: Callable[[GrowingFile], None] | None = None,
    ) -> GrowingFile:
        """A new file with its header, or one that goes on where a checkpoint marks it.

        Parameters
        ----------
        path:
            The file.
        header:
            ASCII text at its beginning.
        mark:
            Length and checksum of the file to go on; None, or a length of 0: start a new file.
        take_up:
            Called with a file that goes on; the file is closed if this raises an error.
        """
        new = mark is None or mark.length == 0
        file = cls(path, new)
        try:
            if mark is None or new:
                file.append(header.encode("ascii"))
            else:
                file.carry_on(mark.length, mark.tail)
                if take_up is not None:
                    take_up(file)
        except BaseException:
            file.close()
            raise
        return file

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`."""
        with reading(self.path):
            return _read(self._handle, offset, size)

    def size(self) -> int:
        """Bytes in the file."""
        with writing(self.path):
            return os.fstat(self._handle).st_size

    def carry_on(self, length: int, tail: str | None = None) -> int:
        """Continues after the first `length` bytes; what follows them is removed.

        Parameters
        ----------
        length:
            Bytes to keep.
        tail:
            Checksum that its end must have, as a `Mark` has it.

        Returns
        -------
        How many bytes were removed.  QuiltError if the file is shorter or has another end; it
        then stays as it was.
        """
        size = self.size()
        if size < length:
            raise QuiltError(
                f"{self.path}: has {size} bytes where the checkpoint expects {length}; some were "
                "lost, so the run cannot be continued; put the complete file back"
            )
        begin = max(min(self._head, length), length - _TAIL)
        self._tail = self.read(begin, length - begin)
        if tail is not None and _checksum(self._tail) != tail:
            raise QuiltError(
                f"{self.path}: is not as the run left it: it was edited, or belongs to another "
                "run; put the original file back"
            )
        if size > length:
            with writing(self.path):
                os.ftruncate(self._handle, length)
        self.length, self._begun = length, True
        return size - length

    def append(self, data: bytes) -> None:
        """Adds bytes at the end."""
        with writing(self.path):
            _write_all_at(self._handle, data, self.length)
        begin = max(self._head - self.length, 0)
        self._tail = (self._tail + data[max(begin, len(data) - _TAIL) :])[-_TAIL:]
        self.length += len(data)

    def overwrite(self, offset: int, data: bytes) -> None:
        """Changes bytes of the head."""
        with writing(self.path):
            _write_all_at(self._handle, data, offset)

    def sync(self) -> None:
        """Returns when all is on the disk; QuiltError if the file has lost its name."""
        with writing(self.path):
            os.fsync(self._handle)
            if not self._named:
                sync_folder(self.path.parent)
                self._named = True
            if not self._has_its_name():
                raise QuiltError(
                    f"{self.path} was removed or replaced while the run was writing to it"
                )

    def mark(self) -> Mark:
        """Length and checksum of the file now."""
        return Mark(self.length, _checksum(self._tail))

    def close(self) -> None:
        """Closes the file; one to which nothing was written is removed."""
        with writing(self.path):
            try:
                if self._begun and self.length == 0 and self._has_its_name():
                    os.unlink(self.path)
            finally:
                os.close(self._handle)

    def _has_its_name(self) -> bool:
        """Whether `path` still leads to this file, and to a regular one."""
        mine = os.fstat(self._handle)
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return False
        same = (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
        return same and stat.S_ISREG(mine.st_mode)


class FileWriter:
    """Base of what writes to one growing file."""

    _file: GrowingFile

    def sync(self) -> None:
        """Returns when all is on the disk; QuiltError if the file was removed."""
        self._file.sync()

    def mark(self) -> Mark:
        """Length and checksum of the file now."""
        return self._file.mark()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(handle: int, offset: int, size: int) -> bytes:
    blocks = []
    while size > 0 and (block := os.pread(handle, size, offset)):
        blocks.append(block)
        offset, size = offset + len(block), size - len(block)
    return b"".join(blocks)


def _create(path: Path) -> int:
    """A new file, never one that another name leads to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileExistsError:
        os.unlink(path)
        return os.open(path, flags, 0o666)


def _write_all(handle: int, data: bytes) -> None:
    """Writes every byte, of which a call may take only some."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _write_all_at(handle: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view, offset)
        view, offset = view[written:], offset + written
