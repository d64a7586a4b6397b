# SPDX-License-Identifier: Apache-2.0
"""Messages arrive as they were sent, and whatever else arrives is refused.

A long search for bytes that are neither: QUILTMD_FUZZ=100000 pytest tests/python/test_wire.py
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quiltmd.workers import wire

EXAMPLES = int(os.environ.get("QUILTMD_FUZZ", "100"))

arrays = hnp.arrays(
    st.sampled_from(["<f8", "<f4", "<i8", "<i4", "<u8", "|u1"]),
    hnp.array_shapes(min_dims=0, min_side=0),
)
numbers = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False)
leaves = st.none() | st.booleans() | numbers | st.text() | arrays
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text().filter(lambda key: key != "array"), inner, max_size=3)
    ),
    max_leaves=10,
)


def split(message: list[Any]) -> tuple[bytes, bytes, bytes]:
    """Head, header and body of an encoded message."""
    head, header, *body = message
    return bytes(head), bytes(header), b"".join(map(bytes, body))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


@settings(max_examples=EXAMPLES, deadline=None)
@given(values)
def test_a_message_arrives_as_it_was_sent(value: Any) -> None:
    head, header, body = split(wire.encode(value))
    assert wire.lengths(head) == (len(header), len(body))
    assert same(value, wire.decode(header, bytearray(body)))


def test_floats_keep_their_bits() -> None:
    numbers = np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64).view(np.float64)
    _, header, body = split(wire.encode(numbers[np.isfinite(numbers)].tolist()))
    found = np.array(wire.decode(header, body))
    assert found.tobytes() == numbers[np.isfinite(numbers)].tobytes()
    assert wire.decode(*split(wire.encode([float("inf")]))[1:]) == [float("inf")]


def test_big_endian_and_strided_arrays_arrive_as_their_values() -> None:
    for array in (np.arange(6, dtype=">i4"), np.arange(12.0).reshape(3, 4)[:, ::2]):
        _, header, body = split(wire.encode(array))
        assert np.array_equal(wire.decode(header, body), array)


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"array": 3}, np.array(["text"]), b"bytes", np.zeros(2, complex)]
)
def test_what_cannot_be_sent(value: Any) -> None:
    with pytest.raises(wire.WireError):
        wire.encode({"value": value})


whole = split(wire.encode({"do": "run", "x": np.arange(5.0), "y": [np.zeros((2, 3), "i4"), 7]}))
damages = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 8), st.binary(max_size=8)), min_size=1, max_size=4
)


def damaged(data: bytes, damage: list[tuple[float, int, bytes]]) -> bytes:
    for where, length, new in damage:
        at = int(where * len(data))
        data = data[:at] + new + data[at + length :]
    return data


@settings(max_examples=EXAMPLES, deadline=None)
@given(damages, damages, st.booleans())
def test_damaged_messages_are_read_or_refused(header: Any, body: Any, both: bool) -> None:
    with contextlib.suppress(wire.WireError):
        wire.decode(damaged(whole[1], header), damaged(whole[2], body) if both else whole[2])


layouts = st.lists(
    st.tuples(
        st.sampled_from(["<f8", "<i4", "|u1", "|O", "<f8,<f8", "no", ""]),
        st.lists(numbers, max_size=3),
    ),
    max_size=3,
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(numbers | st.text(max_size=3), layouts, st.binary(max_size=40))
def test_invented_layouts_are_read_or_refused(value: Any, layout: Any, body: bytes) -> None:
    header = {"value": {"array": value} if isinstance(value, int) else 0, "arrays": layout}
    with contextlib.suppress(wire.WireError):
        wire.decode(json.dumps(header).encode(), body)


@pytest.mark.parametrize(
    ("header", "because"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100000, "cannot be read"),
        (b"9" * 5000, "cannot be read"),
        (b"[]", "lacks its parts"),
        (b'{"value":{"array":0},"arrays":[]}', "does not have"),
        (b'{"value":{"array":true},"arrays":[]}', "does not have"),
        (b'{"value":0,"arrays":[["<f8",[9223372036854775807,9223372036854775807]]]}', "impossible"),
        (b'{"value":0,"arrays":[["<f8",[68719476736]]]}', "shorter"),
        (b'{"value":0,"arrays":[["<f8",[-1]]]}', "impossible"),
        (b'{"value":0,"arrays":[["|O",[1]]]}', "unknown type"),
    ],
)
def test_headers_that_are_refused(header: bytes, because: str) -> None:
    with pytest.raises(wire.WireError, match=because):
        wire.decode(header, b"")


def test_what_is_no_message_or_too_large_is_refused_by_its_head() -> None:
    for head in (b"GET / HTTP/1.1\r\n", wire.HEAD.pack(b"QMW1", 8, 2**40)):
        with pytest.raises(wire.WireError):
            wire.lengths(head)
