# SPDX-License-Identifier: Apache-2.0
"""Random damage of files: whatever stands in one, a reader gives what it read or a QuiltError.

Bytes, spans and numbers are replaced, removed and repeated.  QUILTMD_FUZZ is the number of damaged
files for each reader, other ones each time; without it there are few, the same ones always.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quiltmd.errors import QuiltError

EXAMPLES = os.environ.get("QUILTMD_FUZZ")
NUMBERS = (
    b"nan inf -1 0 1 1e400 -1e308 1e-308 2147483648 99999999 18446744073709551617 1.5 *** 3.0D+00 "
    b"+-5 0x10 1_0"
).split()
Damage = tuple[str, float, int, bytes]
Read = Callable[[Path], object]

damages = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "remove", "repeat", "number", "cut", "flip"]),
        st.floats(0, 1),
        st.integers(1, 200),
        st.binary(max_size=20) | st.sampled_from(NUMBERS),
    ),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, damage: list[Damage]) -> bytes:
    for kind, where, length, new in damage:
        at = int(where * len(data))
        if kind == "replace":
            data = data[:at] + new + data[at + len(new) :]
        elif kind == "insert":
            data = data[:at] + new + data[at:]
        elif kind == "remove":
            data = data[:at] + data[at + length :]
        elif kind == "repeat":
            data = data[:at] + data[at : at + length] * 3 + data[at:]
        elif kind == "number":  # in the columns of a number that is there
            start = len(data[:at].rstrip(b"0123456789.Ee+-"))
            end = len(data) - len(data[at:].lstrip(b"0123456789.Ee+-"))
            data = data[:start] + new.rjust(end - start)[: end - start] + data[end:]
        elif kind == "cut":
            data = data[:at]
        elif data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (1 << length % 8)]) + data[at + 1 :]
    return data


def survives(read: Read, path: Path, data: bytes, damage: list[Damage]) -> None:
    path.write_bytes(damaged(data, damage))
    message = ""
    try:
        read(path)
    except QuiltError as error:
        message = str(error)
    assert "\n" not in message


def fuzz(read: Read, path: Path, data: bytes, examples: int = 120) -> None:
    """Reads the file as it is, then with damage of all kinds."""
    path.write_bytes(data)
    read(path)

    @settings(
        max_examples=int(EXAMPLES or examples),
        deadline=None,
        database=None,
        derandomize=EXAMPLES is None,
        suppress_health_check=list(HealthCheck),
    )
    @given(damages)
    @example([("cut", 0.0, 1, b"")])
    @example([("number", where, 1, b"99999999") for where in (0.02, 0.2, 0.5, 0.9)])
    def search(damage: list[Damage]) -> None:
        survives(read, path, data, damage)

    search()
