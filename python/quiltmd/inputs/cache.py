# SPDX-License-Identifier: Apache-2.0
"""Keeps what topologies say, so that the second load of large ones is fast.

An entry is a file of NumPy's format npz: the arrays, and a text in JSON with all else and with the
record of what was read.  Its name is a digest of the files that were named, of the options and of
the program; its record must hold when it is read.  Entries are written beside and renamed, and zip
files have checksums, so whatever is not whole counts as absent.  The alternative, pickle, would
execute what somebody else may have written.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..description.implicit_solvent import ImplicitSolvent
from ..description.nonbonded import Nonbonded
from ..description.restraints import Held
from ..description.system import System
from ..description.topology import Topology
from ..errors import QuiltWarning
from ..version import package_version
from .formats import Described
from .record import Record, digest, digest_of_file, recording

_WORTH = 0.5  # seconds that reading took; below, nothing is kept
_LARGEST = 2 * 10**9  # bytes, of all entries
_ABANDONED = 3600.0  # seconds, after which a temporary file has no writer any more
_NAME = re.compile(r"loaded-[0-9a-f]{32}\.npz(\.\w+\.tmp)?")
_VARIABLE = "QUILTMD_CACHE"
_Arrays = dict[str, Any]
_REST = "rest"  # name of what is no array
_CLASSES: dict[str, Any] = {
    kind.__name__: kind for kind in (Described, System, Topology, Held, Nonbonded, ImplicitSolvent)
}


def cached(
    files: Sequence[str],
    options: Sequence[object],
    read: Callable[[], Described],
    say: Callable[[str], None],
) -> Described:
    """What `read` returns, or returned when the same files were last read with the same options.

    Parameters
    ----------
    files:
        Paths of the files that are named; which others are read, the record tells.
    options:
        All else that decides what comes of them.
    read:
        Reads the files.
    say:
        Told, in one line, where the result is from the cache.
    """
    place = _folder()
    if place is None:
        return read()
    digests = {file: digest_of_file(file) for file in files}
    if None in digests.values():
        return read()
    key = repr((_program(), list(files), digests, list(options)))
    entry = place / f"loaded-{digest(key.encode())}.npz"
    found = _kept(entry, digests)
    if found is not None:
        say(f"{files[0]} was loaded from the cache in {place} ({_VARIABLE}=off reads it again)")
        return found
    begun = time.monotonic()
    with recording() as record:
        described = read()
    if record.complete and time.monotonic() - begun > _WORTH:
        _keep(entry, described, record)
    return described


def _folder() -> Path | None:
    """Where entries are; None: nowhere."""
    named = os.environ.get(_VARIABLE)
    if named == "off":
        return None
    if named and os.path.isabs(named):
        return Path(named)
    if named:
        _warn(f"nothing is cached: {_VARIABLE} is {named!r}, neither an absolute path nor off")
        return None
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # As its specification says, a relative path counts as none.
        return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "quiltmd"
    except RuntimeError:  # a user without a home
        return None


@functools.cache
def _program() -> tuple[str, ...]:
    """What reads: versions, and the sources of readers, which change between two versions."""
    package = Path(__file__).parents[1]
    sources = sorted(
        file for name in ("description", "inputs") for file in package.glob(f"{name}/**/*.py")
    )
    return package_version(), np.__version__, digest(b"".join(map(Path.read_bytes, sources)))


def _kept(entry: Path, digests: dict[str, str | None]) -> Described | None:
    """What an entry holds; None where there is none, or files are not as they were."""
    try:
        if not entry.is_file():  # a pipe would be waited for
            return None
        _refuse_of_others(entry.parent)
        with entry.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            rest = json.loads(stored[_REST].tobytes())
            if not Record(**rest["record"]).holds(digests):
                return None
            found: Described = _put_together(rest["described"], stored)
    except Exception:  # damage can show in any way
        return None
    with suppress(OSError):
        os.utime(entry)  # the least recently used goes first
    return found


def _keep(entry: Path, described: Described, record: Record) -> None:
    """Writes an entry, at once to all readers; warns where that cannot be."""
    arrays: _Arrays = {}
    rest = {
        "record": asdict(record),
        "described": _taken_apart(described, "described", arrays),
    }
    arrays[_REST] = np.frombuffer(json.dumps(rest, default=np.generic.item).encode(), np.uint8)
    if sum(array.nbytes for array in arrays.values()) > _LARGEST:  # all others would go for it
        return
    try:
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_of_others(entry.parent)
        handle, temporary = tempfile.mkstemp(".tmp", f"{entry.name}.", entry.parent)
        try:
            with open(handle, "wb") as file:
                np.savez(file, **arrays)
            os.replace(temporary, entry)
        except BaseException:
            os.unlink(temporary)
            raise
        _remove_oldest(entry.parent)
    except OSError as error:
        _warn(
            f"the loaded system cannot be cached in {entry.parent} ({error.strerror or error}): "
            f"{_VARIABLE} names another folder, or off"
        )


def _warn(text: str) -> None:
    """Warns, as if the caller of `load` did."""
    warnings.warn(text, QuiltWarning, stacklevel=5)


def _refuse_of_others(place: Path) -> None:
    """PermissionError where others than the user may write to a folder."""
    found = os.stat(place)
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "others may write to this folder")


def _remove_oldest(place: Path) -> None:
    """Removes entries, the least recently used first, until the others fit; and old temporaries."""
    found = []
    for file in place.iterdir():
        with suppress(FileNotFoundError):
            if _NAME.fullmatch(file.name):
                found.append((file.stat().st_mtime, file.stat().st_size, file))
    total = 0
    for used, size, file in sorted(found, reverse=True):
        total += size
        temporary = file.suffix == ".tmp"
        if time.time() - used > _ABANDONED if temporary else total > _LARGEST:
            file.unlink(missing_ok=True)


def _taken_apart(value: Any, name: str, arrays: _Arrays) -> Any:
    """What JSON can hold of a value; its arrays by name."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if is_dataclass(value):
        parts = {
            field.name: _taken_apart(getattr(value, field.name), f"{name}.{field.name}", arrays)
            for field in fields(value)
        }
        return {"class": type(value).__name__, "fields": parts}
    if isinstance(value, tuple):
        return [_taken_apart(one, f"{name}.{k}", arrays) for k, one in enumerate(value)]
    return value


def _put_together(value: Any, arrays: Mapping[str, Any]) -> Any:
    """The value that was taken apart."""
    if isinstance(value, list):
        return tuple(_put_together(one, arrays) for one in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    parts = {name: _put_together(part, arrays) for name, part in value["fields"].items()}
    return _CLASSES[value["class"]](**parts)
