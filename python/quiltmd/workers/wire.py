# SPDX-License-Identifier: Apache-2.0
"""Messages as bytes: plain values as JSON, arrays raw behind them.

    4 bytes   magic "QMW1"
    uint32    length of the header
    uint64    length of the body
    header    JSON: {"value": ..., "arrays": [[dtype, shape], ...]}
    body      the arrays, C order, each padded to a multiple of 8 bytes

Integers and floats are little-endian.  JSON keeps every bit of a float; an array stands in `value`
as {"array": its number}.  Nothing in a message is code, and what does not follow this form exactly
is refused.  msgpack or cbor2 would spare nothing that can be measured: what is large is arrays.
"""

from __future__ import annotations

import json
import struct
from functools import partial
from typing import Any

import numpy as np

from ..errors import QuiltError

HEAD = struct.Struct("<4sIQ")
LARGEST_HEADER = 2**30
LARGEST_BODY = 2**36  # a State of a billion atoms
_MAGIC = b"QMW1"
_ARRAY = "array"
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<u8", "|u1")
_MOST_DIMENSIONS = 8
_COMPACT = json.JSONEncoder(separators=(",", ":"))


class WireError(QuiltError):
    """Bytes that are no message."""


def encode(value: Any) -> list[bytes | memoryview]:
    """A message, as buffers to be written one after the other.

    Parameters
    ----------
    value:
        None, bool, int, float, str, arrays of numbers, and lists, tuples and dictionaries of these;
        tuples arrive as lists.
    """
    arrays: list[np.ndarray[Any, Any]] = []
    _refuse_odd_keys(value)
    plain = json.dumps(value, separators=(",", ":"), default=partial(_plain, arrays=arrays))
    layout = _COMPACT.encode([[a.dtype.str, a.shape] for a in arrays]) if arrays else "[]"
    header = f'{{"value":{plain},"arrays":{layout}}}'.encode()
    body: list[bytes | memoryview] = []
    for array in arrays:
        body.append(array.reshape(-1).view(np.uint8).data)
        body.append(bytes(-array.nbytes % 8))
    length = sum(len(part) for part in body)
    return [HEAD.pack(_MAGIC, len(header), length), header, *(part for part in body if len(part))]


def lengths(head: bytes | memoryview) -> tuple[int, int]:
    """Lengths of header and body, from the head of a message."""
    magic, header, body = HEAD.unpack(head)
    if magic != _MAGIC:
        raise WireError(
            "unexpected output from the remote shell instead of a worker's message: does ~/.bashrc "
            "there print something? Let it print in interactive shells only"
        )
    if header > LARGEST_HEADER or body > LARGEST_BODY:
        raise WireError(f"a message of {header} + {body} bytes is too large")
    return header, body


def decode(header: bytes | memoryview, body: bytes | memoryview) -> Any:
    """The value of a message; its arrays are views of `body`."""
    named: list[None] = []  # one for each array that the value names

    def note(item: dict[str, Any]) -> dict[str, Any]:
        if _ARRAY in item:
            named.append(None)
        return item

    try:
        outer = json.loads(str(header, "utf-8"), object_hook=note)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a message cannot be read: {error}") from None
    if not isinstance(outer, dict) or set(outer) != {"value", "arrays"}:
        raise WireError("a message lacks its parts")
    arrays = _arrays(outer["arrays"], body)
    return _with_arrays(outer["value"], arrays) if named else outer["value"]


def _refuse_odd_keys(value: Any) -> None:
    """WireError where a dictionary has keys that JSON would change, or that stand for an array."""
    items = value
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value) or _ARRAY in value:
            raise WireError("a dictionary has keys that cannot be sent")
        items = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in items:
        if isinstance(item, dict | list | tuple):
            _refuse_odd_keys(item)


def _plain(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """JSON value for a value of numpy; an array is added to `arrays`."""
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise WireError(f"a {type(value).__name__} cannot be sent")
    array = np.ascontiguousarray(value).reshape(value.shape)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in _DTYPES or array.ndim > _MOST_DIMENSIONS:
        raise WireError(f"arrays of {array.dtype} cannot be sent")
    arrays.append(array)
    return {_ARRAY: len(arrays) - 1}


def _arrays(layout: Any, body: bytes | memoryview) -> list[np.ndarray[Any, Any]]:
    """The arrays that a header announces; they must fill the body."""
    if not isinstance(layout, list):
        raise WireError("a message does not list its arrays")
    arrays: list[np.ndarray[Any, Any]] = []
    offset = 0
    for entry in layout:
        dtype, shape = _checked_layout(entry)
        count = 1
        for size in shape:
            count *= size
        if offset + count * dtype.itemsize > len(body):
            raise WireError("a message is shorter than its arrays")
        flat = np.frombuffer(body, dtype, count, offset) if count else np.empty(0, dtype)
        arrays.append(flat.reshape(shape))
        offset += count * dtype.itemsize
        offset += -offset % 8
    if offset != len(body):
        raise WireError("a message is longer than its arrays")
    return arrays


def _checked_layout(entry: Any) -> tuple[np.dtype[Any], list[int]]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise WireError("a message has an array without a layout")
    name, shape = entry
    if not isinstance(name, str) or name not in _DTYPES:
        raise WireError("a message has an array of an unknown type")
    sizes_are_good = (
        isinstance(shape, list)
        and len(shape) <= _MOST_DIMENSIONS
        and all(type(size) is int and 0 <= size <= LARGEST_BODY for size in shape)
    )
    if not sizes_are_good:
        raise WireError("a message has an array of an impossible shape")
    return np.dtype(name), shape


def _with_arrays(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """A dictionary or list with its arrays put in, or the array that it stands for."""
    if isinstance(value, dict) and _ARRAY in value:
        number = value[_ARRAY]
        if len(value) != 1 or type(number) is not int or not 0 <= number < len(arrays):
            raise WireError("a message names an array that it does not have")
        return arrays[number]
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            value[key] = _with_arrays(item, arrays)
    return value
