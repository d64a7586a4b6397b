# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: exact round trips, damage of every kind, full disks."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quiltmd import Checkpoint, CheckpointError, State, digest, read_checkpoint, write_checkpoint
from quiltmd.outputs.checkpoint import previous_path, read_latest


def make(step: int = 7, lists: bool = True) -> Checkpoint:
    rng = np.random.default_rng(step)
    positions = rng.normal(size=(6, 3))
    state = State(
        positions,
        rng.normal(size=(6, 3)),
        np.diag([2.0, 3.0, 4.0]),
        step,
        positions + 0.1 if lists else None,
        max(step - 2, 0) if lists else 0,
        (2, 3, 1) if lists else None,
        {"a.velocity": 1 / 7, "a.position": -0.0} if lists else {},
    )
    return Checkpoint(state, heat=1 / 3, provenance={"topology": "abc"})


def same(a: State, b: State) -> bool:
    arrays = ("positions", "velocities", "box", "list_positions")
    numbers = ("step", "list_step", "patches", "variables")
    return all(getattr(a, name) == getattr(b, name) for name in numbers) and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays
    )


@pytest.mark.parametrize("lists", [True, False])
def test_round_trip_keeps_every_bit(tmp_path: Path, lists: bool) -> None:
    checkpoint = make(lists=lists)
    write_checkpoint(tmp_path / "checkpoint.qmd", checkpoint)
    read = read_checkpoint(tmp_path / "checkpoint.qmd")
    assert read.heat == checkpoint.heat
    assert read.provenance == checkpoint.provenance
    if lists:
        assert same(read.state, checkpoint.state)
    else:
        assert read.state.list_positions is None
        assert read.state.patches is None


@pytest.mark.parametrize(("version", "lacks"), [(2, ["patches", "variables"]), (3, ["variables"])])
def test_earlier_formats_are_read(tmp_path: Path, version: int, lacks: list[str]) -> None:
    path = tmp_path / "checkpoint.qmd"
    checkpoint = make()
    write_checkpoint(path, checkpoint)
    data = path.read_bytes()
    length = struct.unpack_from("<8sIQ", data)[2]
    header = json.loads(data[20 : 20 + length])
    for name in lacks:
        assert header.pop(name)
    text = json.dumps(header).encode()
    body = struct.pack("<8sIQ", b"QUILTMD\n", version, len(text)) + text + data[20 + length : -32]
    path.write_bytes(body + hashlib.sha256(body).digest())
    state = read_checkpoint(path).state
    assert state.variables == {}
    assert (state.patches is None) == ("patches" in lacks)
    kept = {name: getattr(checkpoint.state, name) for name in lacks}
    assert same(replace(state, **kept), checkpoint.state)


def test_digest_is_of_what_makes_states_equal() -> None:
    """Step, box, positions, velocities, and variables by name."""
    state = make().state
    expected = hashlib.sha256(struct.pack("<q", 7))
    for array in (state.box, state.positions, state.velocities):
        expected.update(array.astype("<f8").tobytes())
    expected.update(struct.pack("<2d", -0.0, 1 / 7))
    assert digest(state) == expected.hexdigest()


def test_the_previous_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.qmd"
    for step in (7, 8, 9):
        write_checkpoint(path, make(step))
    assert read_checkpoint(path).state.step == 9
    assert read_checkpoint(previous_path(path)).state.step == 8
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "checkpoint.prev.qmd",
        "checkpoint.qmd",
    ]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other", "absent"])
def test_damage_falls_back_to_the_previous_one(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "checkpoint.qmd"
    write_checkpoint(path, make(1))
    write_checkpoint(path, make(2))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    contents = {"flip": data, "cut": data[:-40], "empty": b"", "other": b"PK" + data}
    if damage == "absent":
        path.unlink()
    else:
        path.write_bytes(contents[damage])
    checkpoint, fault = read_latest(path)
    assert checkpoint.state.step == 1
    assert fault is not None
    assert str(path) in fault


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.qmd"
    write_checkpoint(path, make())
    data = path.read_bytes()
    for position in range(0, len(data), 11):
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError):
            read_checkpoint(path)


def test_both_damaged(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.qmd"
    write_checkpoint(path, make(1))
    write_checkpoint(path, make(2))
    for file in (path, previous_path(path)):
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="checksum"):
        read_latest(path)


def test_a_full_disk_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.qmd"
    write_checkpoint(path, make(1))

    def full(handle: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_checkpoint(path, make(2))
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.qmd"]
    assert read_checkpoint(path).state.step == 1


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CheckpointError, match="pipe: not a quiltmd checkpoint"):
        read_checkpoint(pipe)


def crafted(data: bytes, edit: Callable[[dict[str, Any]], Any], more: bytes = b"") -> bytes:
    """A checkpoint with another header, and a checksum that fits."""
    magic, version, length = struct.unpack_from("<8sIQ", data)
    header = json.loads(data[20 : 20 + length])
    edit(header)
    text = json.dumps(header).encode()
    body = struct.pack("<8sIQ", magic, version, len(text)) + text + data[20 + length : -32] + more
    return body + hashlib.sha256(body).digest()


NONSENSE = (None, [], {"a": 1}, "x", -1, 1.5, float("inf"), 2**70, [1, 2], True)
NEEDED = ("step", "list_step", "heat", "provenance", "arrays")
SENSE = {  # of these values what each key may have
    "list_step": [-1],
    "patches": [None],
    "heat": [-1, 1.5, 2**70],
    "provenance": [{"a": 1}],
    "variables": [{"a": 1}],
}


@pytest.mark.parametrize(
    "key",
    [*NEEDED, "patches", "variables", "stage", "outputs", "external"],
)
def test_crafted_headers_are_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.qmd"
    write_checkpoint(path, make())
    data = path.read_bytes()
    wrong = [value for value in NONSENSE if value not in SENSE.get(key, [])]
    for value in wrong:
        path.write_bytes(crafted(data, lambda header, value=value: header.update({key: value})))
        with pytest.raises(CheckpointError, match=r"checkpoint.qmd: .* make no sense"):
            read_checkpoint(path)
    if key in NEEDED:
        path.write_bytes(crafted(data, lambda header: header.pop(key)))
        with pytest.raises(CheckpointError, match="make no sense"):
            read_checkpoint(path)


SHAPES = ([], [18], [5, 3], [-6, -3], [6, -3], [6, 3, 1], [2**40, 2**40], ["a", 3], [6.0, 3], None)
TYPES = ("<f4", ">f8", "<i8", "|O", "<U5", "V8", "<f8,<f8", "", None, 8)


@pytest.mark.parametrize(
    "edit",
    [
        *(
            lambda header, shape=shape: header["arrays"][1].__setitem__(2, shape)
            for shape in SHAPES
        ),
        *(lambda header, dtype=dtype: header["arrays"][1].__setitem__(1, dtype) for dtype in TYPES),
        lambda header: header["arrays"].append(header["arrays"][1]),
        lambda header: header["arrays"].pop(),
        lambda header: header["arrays"].pop(0),
        lambda header: header["arrays"][3].__setitem__(0, "step"),
        lambda header: header["arrays"][3].__setitem__(0, 5),
        lambda header: header["outputs"].update({"a": {"length": -1, "tail": None}}),
        lambda header: header["outputs"].update({"a": {"length": 1, "tail": 2}}),
        lambda header: header["outputs"].update({"a": {"length": 1}}),
        lambda header: header["external"].update({"a": "xyz"}),
        lambda header: header["variables"].update({"a": "b"}),
    ],
)
def test_crafted_arrays_are_refused(edit: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.qmd"
    write_checkpoint(path, make())
    path.write_bytes(crafted(path.read_bytes(), edit))
    with pytest.raises(CheckpointError, match="make no sense"):
        read_checkpoint(path)


@pytest.mark.parametrize("text", [b"[1]", b"5", b"{", b"[" * 100_000, b'{"step": ' + b"9" * 5000])
def test_headers_that_are_no_header_are_refused(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.qmd"
    body = struct.pack("<8sIQ", b"QUILTMD\n", 5, len(text)) + text
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(CheckpointError, match="make no sense"):
        read_checkpoint(path)


def test_bytes_behind_the_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.qmd"
    write_checkpoint(path, make())
    path.write_bytes(crafted(path.read_bytes(), lambda header: None, b"abc"))
    with pytest.raises(CheckpointError, match="3 bytes too many"):
        read_checkpoint(path)
