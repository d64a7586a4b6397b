# SPDX-License-Identifier: Apache-2.0
"""Coordinates as CHARMM and NAMD write them: CRD (COR, CARD) files, and NAMD's binary ones.

Neither has a box.  NAMD writes velocities in files of the same kind.

Sources: CHARMM documentation, io.doc ("CARD file format"); NAMD User's Guide, "Binary coordinates".
"""

from __future__ import annotations

import os
import re
import struct

import numpy as np

from ..errors import InputError
from ..reading.fixed_width import Columns, decoded, read_bytes
from ..reading.formats import HEAD, CoordinateFormat, Coordinates, Expected
from ..reading.units import AKMA_VELOCITY, ANGSTROM

# First column and width of x, y and z, and of the atom's name: usual and extended.
_USUAL, _EXTENDED = (20, 10, 16, 4), (40, 20, 32, 8)


def _is_crd(head: bytes) -> bool:
    return bool(re.match(rb"(\s*\*[^\n]*\n)+\s*\d{1,18}([ \t]+EXT)?[ \t\r]*\n", head))


def _read_crd(file: str, expected: Expected) -> Coordinates:
    lines = read_bytes(file).split(b"\n")
    start = next(k for k, line in enumerate(lines) if line.strip() and line.lstrip()[:1] != b"*")
    words = lines[start].split()
    count, wide = int(words[0]), b"EXT" in words or int(words[0]) > 99999
    if count != expected.atoms:
        message = f"{count} atoms, but the topology has {expected.atoms}"
        raise InputError(message, file=file, line=start + 1)
    first, width, name, length = _EXTENDED if wide else _USUAL
    body = lines[start + 1 : start + 1 + count]
    behind = next((k for k in range(start + 1 + count, len(lines)) if lines[k].strip()), None)
    if behind is not None:
        message = f"text after the last of {count} atoms"
        raise InputError(message, file=file, line=behind + 1)
    block = [line[first : first + 3 * width] for line in body]
    columns = Columns(file, "coordinates", start + 2, block, 3, width, 3)
    positions = columns.numbers(3 * count, float).reshape(-1, 3) * ANGSTROM
    names = decoded(line[name : name + length] for line in body)
    return Coordinates(positions, names=names)


def _is_binary(head: bytes) -> bool:
    """An int32 count, then doubles: recognised by its length and plausible values."""
    if len(head) < 28:
        return False
    numbers = np.frombuffer(head[4 : 4 + (len(head) - 4) // 8 * 8])
    count = max(struct.unpack(order + "i", head[:4])[0] for order in "<>")
    whole = len(head) == HEAD or len(head) in (4 + 24 * n for n in (count, _swapped(count)))
    reasonable = [
        (np.abs(values) < 1e6) & ((np.abs(values) > 1e-30) | (values == 0))
        for values in (numbers, numbers.byteswap())
    ]
    return whole and any(one.all() for one in reasonable)


def _swapped(count: int) -> int:
    return int(struct.unpack(">i", struct.pack("<i", count))[0])


def _read_binary(file: str, expected: Expected) -> Coordinates:
    data = read_bytes(file)
    for order in "<>":
        count = struct.unpack(order + "i", data[:4])[0]
        if len(data) == 4 + 24 * count:
            values = np.frombuffer(data[4:], dtype=order + "f8").astype(np.float64)
            if not np.isfinite(values).all():
                atom = int(np.argmin(np.isfinite(values))) // 3
                raise InputError("coordinates are not finite numbers", file=file, atom=atom)
            return Coordinates(values.reshape(-1, 3) * ANGSTROM)
    raise InputError(
        f"NAMD's binary coordinates of {expected.atoms} atoms are {4 + 24 * expected.atoms} bytes, "
        f"this file has {os.path.getsize(file)}",
        file=file,
    )


CRD = CoordinateFormat("CHARMM CRD (COR)", _is_crd, _read_crd)
BINARY = CoordinateFormat("NAMD binary", _is_binary, _read_binary, of_velocities=AKMA_VELOCITY)
