# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: a State on disk that survives crashes, full disks and power cuts.

One flat file, so that a checksum covers every byte of it:

    8 bytes   magic "QUILTMD" and a newline
    uint32    version of the format (5)
    uint64    length of the header
    header    JSON: step, list_step, patches, variables, heat, stage, outputs, provenance, and name,
              dtype, shape of each array
    arrays    raw, C order: box, positions, velocities, where lists exist list_positions, and what
              each output carries along (carried/NAME)
    32 bytes  SHA-256 of all the above, in every version

Integers and floats are little-endian.  A file is written beside its final name, synced and renamed;
the one before it is kept.  HDF5 would be self-describing for other tools, but its files can be left
broken by a kill, and the point of a checkpoint is that it cannot.  Version 1 lacks stage and
outputs; it is read as a checkpoint of the dynamics that says nothing about other files.  Versions 1
and 2 lack patches: those that suit the box, which until then was the only one.  Versions 1 to 3
lack variables: until then no thermostat had any.  Versions 1 to 4 lack what outputs carry along:
until then no file depended on more than the simulation's state.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..description.checks import real_number, whole_number
from ..description.state import State
from ..errors import QuiltError
from .files import (
    Mark,
    keep_under,
    put_in_place,
    read_file,
    refuse_other_than_file,
    remove,
    write_beside,
)

MAGIC = b"QUILTMD\n"
_VERSION = 5
_CARRIED = "carried/"
_PREFIX = struct.Struct("<8sIQ")
_CHECKSUM = 32
_REAL = "<f8"
_OF_STATE = ("box", "positions", "velocities", "list_positions")
# Errors that a header not written by this program, or its numbers, may raise.
_NONSENSE = (
    *(QuiltError, ArithmeticError, AttributeError, LookupError),
    *(RecursionError, TypeError, ValueError),
)

Stage = Literal["minimize", "dynamics"]


class CheckpointError(QuiltError):
    """A checkpoint is missing, damaged or of another format."""


class NewerCheckpointError(CheckpointError):
    """A checkpoint was written by a later version of this program."""


@dataclass(frozen=True)
class Checkpoint:
    """All data that a run needs to continue bitwise.

    Attributes
    ----------
    state:
        Positions, velocities, box, step and the positions of the last list build.
    heat:
        Energy added by the thermostat since step 0, kJ/mol.
    provenance:
        Hashes of inputs, and physical settings; compared on resume.
    outputs:
        Lengths and checksums of the files of the run, by name.
    stage:
        The next part of the run: "minimize" (starting from this state) or "dynamics".
    carried:
        For each file, by name, the data besides the state on which its next frame depends
        (`TrajectoryReporter`).
    external:
        The variables of external forces, by name (`ExternalForce.state`).
    """

    state: State
    heat: float = 0.0
    provenance: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Mark] = field(default_factory=dict)
    stage: Stage = "dynamics"
    carried: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    external: dict[str, bytes] = field(default_factory=dict)


def previous_path(path: Path) -> Path:
    """Path of the checkpoint before the one at `path`."""
    return path.with_suffix(f".prev{path.suffix}")


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Writes a checkpoint so that `path` is at every instant the old file or the new one.

    Raises OSError if the disk refuses; the old checkpoint then stays as it was.  Raises
    QuiltError if `path` is a folder, or a checkpoint of a later version of this program.
    """
    path = Path(path)
    refuse_other_than_file(path)
    if path.exists():
        _refuse_newer(path)
    temporary = write_beside(path, _encode(checkpoint))
    try:
        if path.exists():
            keep_under(path, previous_path(path))
    except OSError:
        remove(temporary)
        raise
    put_in_place(temporary, path)


def _refuse_newer(path: Path) -> None:
    head = read_file(path, _PREFIX.size)
    if len(head) == _PREFIX.size and _PREFIX.unpack(head)[:2] > (MAGIC, _VERSION):
        try:
            read_checkpoint(path)
        except NewerCheckpointError:
            raise
        except CheckpointError:
            pass  # damaged: it is replaced like any other


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Reads one checkpoint; CheckpointError if it is missing or any byte is wrong."""
    try:
        data = read_file(path)
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
    try:
        return _decode(data)
    except CheckpointError as error:
        raise type(error)(f"{path}: {error}") from None


def read_latest(path: str | os.PathLike[str]) -> tuple[Checkpoint, str | None]:
    """The checkpoint at `path`, else the one before it.

    Returns it and, where the previous one had to serve, the reason why.  One of a later version of
    this program is not damaged: the previous one must not take its place.
    """
    path = Path(path)
    try:
        return read_checkpoint(path), None
    except NewerCheckpointError:
        raise
    except CheckpointError as error:
        previous = previous_path(path)
        if not previous.exists():
            raise
        reason = str(error)
    return read_checkpoint(previous), reason


def digest(state: State) -> str:
    """SHA-256 of a State, in hexadecimal; equal States have equal digests.

    The digest is that of step (int64), box (if any), positions, velocities (float64, C order), and
    variables in the order of their names, all little-endian.
    """
    sha = hashlib.sha256(struct.pack("<q", state.step))
    arrays = (state.box, state.positions, state.velocities)
    for array in (array for array in arrays if array is not None):
        sha.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    for name in sorted(state.variables):
        sha.update(struct.pack("<d", state.variables[name]))
    return sha.hexdigest()


def _encode(checkpoint: Checkpoint) -> bytes:
    arrays = {
        name: np.ascontiguousarray(array, dtype=_REAL)
        for name in _OF_STATE
        if (array := getattr(checkpoint.state, name)) is not None
    }
    for name, array in checkpoint.carried.items():
        arrays[_CARRIED + name] = np.ascontiguousarray(array, dtype=_REAL)
    header = {
        "step": checkpoint.state.step,
        "list_step": checkpoint.state.list_step,
        "patches": checkpoint.state.patches,
        "variables": checkpoint.state.variables,
        "heat": checkpoint.heat,
        "stage": checkpoint.stage,
        "outputs": {name: asdict(mark) for name, mark in checkpoint.outputs.items()},
        "provenance": checkpoint.provenance,
        "external": {name: state.hex() for name, state in checkpoint.external.items()},
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
    }
    text = json.dumps(header).encode()
    parts = [_PREFIX.pack(MAGIC, _VERSION, len(text)), text]
    body = b"".join(parts + [array.tobytes() for array in arrays.values()])
    return body + hashlib.sha256(body).digest()


def _decode(data: bytes) -> Checkpoint:
    if not data.startswith(MAGIC):
        raise CheckpointError("not a quiltmd checkpoint")
    if len(data) < _PREFIX.size + _CHECKSUM:
        raise CheckpointError("the checkpoint is cut short")
    _, version, length = _PREFIX.unpack_from(data)
    if hashlib.sha256(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise CheckpointError("the checkpoint is damaged: its checksum does not match")
    if version > _VERSION:
        raise NewerCheckpointError(
            f"written by a later version of quiltmd (checkpoint format {version}, this one knows "
            f"up to {_VERSION}); use that version"
        )
    end = _PREFIX.size + length
    try:
        return _contents(json.loads(data[_PREFIX.size : end]), data[end:-_CHECKSUM])
    except _NONSENSE as error:
        raise CheckpointError(
            f"the checkpoint's contents make no sense ({error}): it was not written by quiltmd"
        ) from None


def _contents(header: dict[str, Any], body: bytes) -> Checkpoint:
    """Contents of header and arrays; raises one of `_NONSENSE` if they are impossible."""
    arrays = {"box": None, "list_positions": None} | _arrays(header["arrays"], body)
    of_files = [name for name in arrays if name.startswith(_CARRIED)]
    carried = {name.removeprefix(_CARRIED): arrays.pop(name) for name in of_files}
    state = State(
        step=header["step"],
        list_step=header["list_step"],
        patches=header.get("patches"),
        variables=header.get("variables", {}),
        **arrays,
    )
    outputs = {name: _mark(**mark) for name, mark in header.get("outputs", {}).items()}
    external = {name: bytes.fromhex(text) for name, text in header.get("external", {}).items()}
    stage, provenance = header.get("stage", "dynamics"), header["provenance"]
    if stage not in get_args(Stage) or not isinstance(provenance, dict):
        raise ValueError(f"stage {stage!r}, provenance {provenance!r:.40}")
    heat = real_number("heat", header["heat"])
    return Checkpoint(state, heat, provenance, outputs, stage, carried, external)


def _arrays(listed: list[tuple[str, str, list[int]]], body: bytes) -> dict[str, Any]:
    """The arrays by name; all bytes belong to one."""
    arrays: dict[str, Any] = {}
    offset = 0
    for name, dtype, shape in listed:
        if dtype != _REAL or name in arrays or not (name in _OF_STATE or name.startswith(_CARRIED)):
            raise ValueError(f"an array {name!r} of {dtype!r}")
        count = math.prod(whole_number("a length", length) for length in shape)
        array = np.frombuffer(body, dtype=_REAL, count=count, offset=offset)
        arrays[name] = array.reshape(shape).astype(np.float64)
        offset += array.nbytes
    if offset != len(body):
        raise ValueError(f"{len(body) - offset} bytes too many")
    return arrays


def _mark(length: int, tail: str | None) -> Mark:
    if tail is not None and not isinstance(tail, str):
        raise ValueError(f"a checksum {tail!r}")
    return Mark(whole_number("a length", length), tail)
