# SPDX-License-Identifier: Apache-2.0
"""A cache of loaded topologies, so that large ones are read only once.

An entry is a file in NumPy's npz format: the arrays, and a JSON text with everything else and the
record of what was read.  Its name is a digest of the named files, the options and the program.  It
is used only if its record still holds.  Entries are written to a temporary file that is renamed,
and zip files have checksums, so a partial or damaged entry counts as absent.  The alternative,
pickle, would execute whatever somebody else may have written.
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

from ..description.alchemy import Alchemy, ChangedTerms
from ..description.boresch import BoreschRestraint
from ..description.collective import AtomGroup, Collective, CollectiveRestraint
from ..description.custom_forces import (
    CustomAngle,
    CustomBond,
    CustomCompound,
    CustomExternal,
    CustomForces,
    CustomTorsion,
)
from ..description.custom_pairs import CustomPairs
from ..description.embedded import EmbeddedAtoms, EmbeddedFunctions
from ..description.implicit_solvent import ImplicitSolvent
from ..description.nonbonded import Nonbonded
from ..description.restraints import Held
from ..description.system import System
from ..description.tabulated import Tabulated
from ..description.terms import Terms, TermTable
from ..description.three_body import ThreeBodyAtoms, ThreeBodyPotential
from ..description.topology import Topology
from ..errors import QuiltWarning
from ..reading.formats import Described
from ..reading.record import Record, digest, digest_of_file, recording
from ..version import package_version

_MIN_SECONDS = 0.5  # topologies that are read faster are not cached
_MAX_BYTES = 2 * 10**9  # of all entries
_ABANDONED_AFTER = 3600.0  # seconds; the writer of a temporary file this old is gone
_NAME = re.compile(r"loaded-[0-9a-f]{32}\.npz(\.\w+\.tmp)?")
_VARIABLE = "QUILTMD_CACHE"
_Arrays = dict[str, Any]
_TEXT = "text"  # name of the JSON text among the arrays
_CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Described,
        System,
        Terms,
        TermTable,
        Topology,
        Held,
        Alchemy,
        ChangedTerms,
        BoreschRestraint,
        AtomGroup,
        CollectiveRestraint,
        Collective,
        EmbeddedFunctions,
        EmbeddedAtoms,
        CustomForces,
        CustomBond,
        CustomAngle,
        CustomTorsion,
        CustomExternal,
        CustomCompound,
        CustomPairs,
        Tabulated,
        ThreeBodyPotential,
        ThreeBodyAtoms,
        Nonbonded,
        ImplicitSolvent,
    )
}


def cached(
    files: Sequence[str],
    options: Sequence[object],
    read: Callable[[], Described],
    say: Callable[[str], None],
) -> Described:
    """The result of `read`, from the cache if the same files were read before with these options.

    Parameters
    ----------
    files:
        Paths of the files that the user named; `read` may read others, which the record lists.
    options:
        Everything else that the result depends on.
    read:
        Reads the files.
    say:
        Called with a line for the user if the result is from the cache.
    """
    folder = _folder()
    if folder is None:
        return read()
    digests = {file: digest_of_file(file) for file in files}
    if None in digests.values():
        return read()
    key = repr((_program(), list(files), digests, list(options)))
    entry = folder / f"loaded-{digest(key.encode())}.npz"
    found = _read_entry(entry, digests)
    if found is not None:
        say(f"{files[0]} was loaded from the cache in {folder} ({_VARIABLE}=off reads it again)")
        return found
    begun = time.monotonic()
    with recording() as record:
        described = read()
    if record.complete and time.monotonic() - begun > _MIN_SECONDS:
        _write_entry(entry, described, record)
    return described


def _folder() -> Path | None:
    """The folder of the cache; None if there is no cache."""
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
        # A relative path is ignored, according to the specification.
        return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "quiltmd"
    except RuntimeError:  # a user without a home
        return None


@functools.cache
def _program() -> tuple[str, ...]:
    """Versions, and a digest of the package's sources, which change between two versions."""
    sources = sorted(Path(__file__).parents[1].glob("**/*.py"))
    return package_version(), np.__version__, digest(b"".join(map(Path.read_bytes, sources)))


def _read_entry(entry: Path, digests: dict[str, str | None]) -> Described | None:
    """The content of an entry; None if there is none, or if anything it depends on has changed."""
    try:
        if not entry.is_file():  # a pipe would be waited for
            return None
        _require_private(entry.parent)
        with entry.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            text = json.loads(arrays[_TEXT].tobytes())
            if not Record(**text["record"]).holds(digests):
                return None
            found: Described = _from_json(text["described"], arrays)
    except Exception:  # damage can show as any error
        return None
    with suppress(OSError):
        os.utime(entry)  # the least recently used is removed first
    return found


def _write_entry(entry: Path, described: Described, record: Record) -> None:
    """Writes an entry, which appears as a whole; warns if it cannot be written."""
    arrays: _Arrays = {}
    text = {"record": asdict(record), "described": _to_json(described, "described", arrays)}
    arrays[_TEXT] = np.frombuffer(json.dumps(text, default=np.generic.item).encode(), np.uint8)
    if sum(array.nbytes for array in arrays.values()) > _MAX_BYTES:  # it would displace all others
        return
    try:
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_private(entry.parent)
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
    """Gives a warning, as from the line that called `load`."""
    warnings.warn(text, QuiltWarning, stacklevel=5)


def _require_private(folder: Path) -> None:
    """PermissionError if others than the user may write to a folder."""
    found = os.stat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "others may write to this folder")


def _remove_oldest(folder: Path) -> None:
    """Removes the least recently used entries until the others fit, and abandoned temporaries."""
    entries = []
    for file in filter(lambda file: _NAME.fullmatch(file.name), folder.iterdir()):
        with suppress(FileNotFoundError):
            found = file.stat()
            if file.suffix == ".npz":
                entries.append((found.st_mtime, found.st_size, file))
            elif time.time() - found.st_mtime > _ABANDONED_AFTER:
                file.unlink()
    total = 0
    for _, size, file in sorted(entries, reverse=True):
        total += size
        if total > _MAX_BYTES:
            file.unlink(missing_ok=True)


def _to_json(value: Any, name: str, arrays: _Arrays) -> Any:
    """A value as JSON has it, with the names of its arrays, which are put into `arrays`."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if is_dataclass(value):
        parts = {
            field.name: _to_json(getattr(value, field.name), f"{name}.{field.name}", arrays)
            for field in fields(value)
        }
        return {"class": type(value).__name__, "fields": parts}
    if isinstance(value, Mapping):
        parts = {key: _to_json(one, f"{name}.{key}", arrays) for key, one in value.items()}
        return {"mapping": parts}
    if isinstance(value, tuple):
        return [_to_json(one, f"{name}.{k}", arrays) for k, one in enumerate(value)]
    return value


def _from_json(value: Any, arrays: Mapping[str, Any]) -> Any:
    """The value that `_to_json` was given."""
    if isinstance(value, list):
        return tuple(_from_json(one, arrays) for one in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "mapping" in value:
        return {name: _from_json(part, arrays) for name, part in value["mapping"].items()}
    parts = {name: _from_json(part, arrays) for name, part in value["fields"].items()}
    return _CLASSES[value["class"]](**parts)
