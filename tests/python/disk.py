# SPDX-License-Identifier: Apache-2.0
"""Disks that fail, and what a disk may hold after a power cut.

Both stand in for the module `os` where the program does its file operations.  `Faults` makes the
n-th operation fail.  `Recorder` notes the operations in a folder; `images` plays back any number of
them onto a model disk, where data reach the disk by syncing the file, names by syncing the folder,
and the rest may or may not be there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OPERATIONS = (
    "open", "close", "pread", "write", "pwrite", "fsync", "ftruncate", "stat", "fstat", "replace",
    "rename", "link", "unlink", "mkdir",
)  # fmt: skip


class Killed(BaseException):
    """A kill: nothing of the program's own may catch it."""


class Operations:
    """The module os with some functions of one's own."""

    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


class Faults(Operations):
    """Counts file operations; the one of number `at` fails.

    Kinds of failure: "kill" (in the middle of a write; nothing works afterwards), "short" (a write
    takes half of its bytes, which is no error), or the name of an error of the system.
    """

    def __init__(self, at: int, kind: str) -> None:
        super().__init__(**{name: self._wrap(name) for name in OPERATIONS})
        self.count = 0
        self._at, self._kind = at, kind
        self._dead = False

    def _wrap(self, name: str) -> Any:
        real = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if self._dead:
                if name == "close":
                    os.close(*arguments)
                raise Killed
            self.count += 1
            if self.count == self._at:
                return self._fail(name, real, arguments)
            return real(*arguments, **options)

        return call

    def _fail(self, name: str, real: Any, arguments: Any) -> Any:
        if name == "close":
            os.close(*arguments)
        if name in ("write", "pwrite"):
            handle, data, *offset = arguments
            written = real(handle, data[: len(data) // 2], *offset)
            if self._kind == "short":
                return written
        elif self._kind == "short":
            return None if name == "close" else real(*arguments)
        if self._kind == "kill":
            self._dead = True
            raise Killed
        code = getattr(errno, self._kind)
        raise OSError(code, os.strerror(code))


@dataclass
class Node:
    """A file of the model disk: what was written, and what of it is surely there."""

    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""


class Model:
    """Files and names below a root, as operations leave them."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.names: dict[str, int | None] = {}  # path -> file; None: a folder
        self.synced_names: dict[str, int | None] = {}

    def apply(self, event: tuple[Any, ...]) -> None:
        """Plays one operation."""
        getattr(self, f"_{event[0]}")(*event[1:])

    def image(self, names_kept: bool, data: str) -> dict[str, bytes | None]:
        """What may be on the disk: path -> content, None for a folder.

        `data` of files that were not synced: "lost", "kept", or "zeros" of the same length.
        """
        names = self.names if names_kept else self.synced_names
        contents: dict[str, bytes | None] = {}
        for path, number in names.items():
            contents[path] = None if number is None else self._content(self.nodes[number], data)
        return contents

    def _content(self, node: Node, data: str) -> bytes:
        if data == "lost":
            return node.synced
        if data == "kept":
            return bytes(node.data)
        size = len(node.data)
        return node.synced[:size] + bytes(max(0, size - len(node.synced)))

    def _create(self, path: str, number: int) -> None:
        self.nodes[number] = Node()
        self.names[path] = number

    def _write(self, number: int, offset: int, data: bytes) -> None:
        node = self.nodes[number].data
        node.extend(bytes(max(0, offset - len(node))))
        node[offset : offset + len(data)] = data

    def _truncate(self, number: int, length: int) -> None:
        del self.nodes[number].data[length:]

    def _sync(self, number: int) -> None:
        self.nodes[number].synced = bytes(self.nodes[number].data)

    def _syncdir(self, folder: str) -> None:
        def here(path: str) -> bool:
            return os.path.dirname(path) == folder

        kept = {path: number for path, number in self.synced_names.items() if not here(path)}
        self.synced_names = kept | {p: number for p, number in self.names.items() if here(p)}

    def _rename(self, source: str, target: str) -> None:
        self.names[target] = self.names.pop(source)
        inside = [path for path in self.names if path.startswith(f"{source}/")]
        for path in inside:
            self.names[target + path[len(source) :]] = self.names.pop(path)

    def _link(self, source: str, target: str) -> None:
        self.names[target] = self.names[source]

    def _unlink(self, path: str) -> None:
        del self.names[path]

    def _mkdir(self, path: str) -> None:
        self.names[path] = None


class Recorder(Operations):
    """Does file operations and notes those that change something below `root`."""

    def __init__(self, root: Path) -> None:
        own = ("open", "close", "write", "pwrite", "fsync", "ftruncate", "replace", "rename")
        names = (*own, "link", "unlink", "mkdir")
        super().__init__(**{name: getattr(self, f"_{name}") for name in names})
        self.events: list[tuple[Any, ...]] = []
        self.opened: set[str] = set()  # for writing
        self._root = str(root)
        self._numbers: dict[str, int] = {}
        self._handles: dict[
            int, tuple[int | str, int]
        ] = {}  # file or folder, place of the next write
        self._last = 0
        for path in sorted(root.rglob("*")):
            if path.is_dir():
                self.events.append(("mkdir", str(path)))
            else:
                number = self._number(str(path))
                self.events += [
                    ("create", str(path), number),
                    ("write", number, 0, path.read_bytes()),
                ]
                self.events.append(("sync", number))
        folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
        self.events += [("syncdir", str(path)) for path in folders]
        self.begin = len(self.events)

    def _number(self, path: str) -> int:
        self._last += 1
        self._numbers[path] = self._last
        return self._last

    def _open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        name = os.fspath(path)
        existed = os.path.lexists(name)
        handle = os.open(path, flags, mode)
        if not name.startswith(self._root):
            return handle
        if flags & (os.O_WRONLY | os.O_RDWR):
            self.opened.add(name)
        if os.path.isdir(name):
            self._handles[handle] = name, 0
            return handle
        if not existed:
            self.events.append(("create", name, self._number(name)))
        elif flags & os.O_TRUNC:
            self.events.append(("truncate", self._numbers[name], 0))
        self._handles[handle] = self._numbers[name], 0
        return handle

    def _close(self, handle: int) -> None:
        self._handles.pop(handle, None)
        os.close(handle)

    def _write(self, handle: int, data: Any) -> int:
        written = os.write(handle, data)
        number, place = self._handles[handle]
        self.events.append(("write", number, place, bytes(data[:written])))
        self._handles[handle] = number, place + written
        return written

    def _pwrite(self, handle: int, data: Any, offset: int) -> int:
        written = os.pwrite(handle, data, offset)
        self.events.append(("write", self._handles[handle][0], offset, bytes(data[:written])))
        return written

    def _fsync(self, handle: int) -> None:
        os.fsync(handle)
        target = self._handles[handle][0]
        self.events.append(("syncdir" if isinstance(target, str) else "sync", target))

    def _ftruncate(self, handle: int, length: int) -> None:
        os.ftruncate(handle, length)
        self.events.append(("truncate", self._handles[handle][0], length))

    def _replace(self, source: Any, target: Any) -> None:
        os.replace(source, target)
        self._numbers[str(target)] = self._numbers.pop(str(source), 0)
        self.events.append(("rename", str(source), str(target)))

    _rename = _replace

    def _link(self, source: Any, target: Any) -> None:
        os.link(source, target)
        self._numbers[str(target)] = self._numbers[str(source)]
        self.events.append(("link", str(source), str(target)))

    def _unlink(self, path: Any) -> None:
        os.unlink(path)
        self.events.append(("unlink", str(path)))

    def _mkdir(self, path: Any, mode: int = 0o777) -> None:
        os.mkdir(path, mode)
        self.events.append(("mkdir", str(path)))


def images(recorder: Recorder) -> Iterator[tuple[int, dict[str, bytes | None]]]:
    """What the disk may hold when the power fails after each operation: its number, an image."""
    model = Model()
    for event in recorder.events[: recorder.begin]:
        model.apply(event)
    for number in range(recorder.begin, len(recorder.events) + 1):
        for names_kept, data in ((False, "lost"), (True, "lost"), (True, "zeros"), (False, "kept")):
            yield number, model.image(names_kept, data)
        if number < len(recorder.events):
            model.apply(recorder.events[number])
