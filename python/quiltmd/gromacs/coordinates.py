# SPDX-License-Identifier: Apache-2.0
"""GROMACS' text coordinates: gro and g96.

Source: GROMACS Reference Manual, "File formats", gro and g96.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from ..description.box import reduce_box
from ..errors import InputError
from ..reading.fixed_width import Columns, decoded, read_bytes
from ..reading.formats import CoordinateFormat, Coordinates, Expected
from ..reading.words import natural_number, real

F64 = npt.NDArray[np.float64]

_FIRST = 20  # where the numbers of a gro line begin
_Blocks = dict[str, tuple[int, list[str]]]  # first line and lines of each
_G96_BLOCKS = ("TITLE", "TIMESTEP", "POSITION", "POSITIONRED", "VELOCITY", "VELOCITYRED", "BOX")
# Order of the nine numbers of a box: the diagonal comes first, then the others by vector.
_NINE = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))


def _is_gro(head: bytes) -> bool:
    """A count on the second line, then numbers and names in the columns of gro."""
    lines = head.split(b"\n", 3)
    if len(lines) < 3 or not re.fullmatch(rb"\s*\d+\s*", lines[1]):
        return False
    atom = lines[2]
    return bool(re.match(rb"[ \d]{5}[^.]{10}[ \d*]{5}\s*\S", atom))


def _gro_starts(file: str, lines: list[bytes]) -> list[int]:
    """The first line of each frame."""
    starts, at = [], 0
    while at + 1 < len(lines) and (count := _count(lines[at + 1])) is not None:
        starts.append(at)
        at += count + 3
    if any(line.strip() for line in lines[at:]):
        message = "text that is no frame: a title, a line with the number of atoms, atoms and a box"
        raise InputError(message, file=file, line=at + 1)
    return starts


def _read_gro(file: str, expected: Expected) -> Coordinates:
    lines = read_bytes(file).split(b"\n")
    starts = _gro_starts(file, lines)
    start = starts[expected.frame]
    count = _count(lines[start + 1])
    if count != expected.atoms:
        message = f"{count} atoms, but the topology has {expected.atoms}"
        raise InputError(message, file=file, line=start + 2)
    body = lines[start + 2 : start + 2 + count]
    width = _gro_width(file, start + 3, body)
    columns = _gro_columns(file, start + 3, body, width)
    block = [line[_FIRST : _FIRST + columns * width] for line in body]
    numbers = Columns(file, "coordinates", start + 3, block, columns, width, columns)
    values = numbers.numbers(columns * count, float).reshape(-1, columns)
    names = decoded(line[10:15] for line in body)
    if len(lines) <= start + 2 + count:
        raise InputError("the line of the box is missing", file=file, line=len(lines))
    box = None
    if expected.box:
        box = _box(file, start + 3 + count, lines[start + 2 + count].decode("latin-1").split())
    velocities = values[:, 3:] if columns == 6 else None
    return Coordinates(values[:, :3], velocities, box, names)


def _count(line: bytes) -> int | None:
    return natural_number(line.strip().decode("latin-1"))


def _gro_width(file: str, start: int, body: list[bytes]) -> int:
    """Columns of a number: the distance of two decimal points, in the first line that has them."""
    for line in body:
        points = [k for k, letter in enumerate(line[_FIRST:]) if letter == ord(b".")]
        if len(points) > 1:
            return points[1] - points[0]
    raise InputError("positions without decimal points", file=file, line=start, atom=0)


def _gro_columns(file: str, start: int, body: list[bytes], width: int) -> int:
    """Numbers on a line: 6 with velocities, else 3; the same for all atoms."""
    lengths = [len(line.rstrip()) for line in body]
    moving = [length > _FIRST + 3 * width for length in lengths]
    if any(moving) and not all(moving):
        wrong = moving.index(not moving[0])
        words = "a velocity, unlike atom 1" if moving[wrong] else "no velocity, unlike atom 1"
        message = f"has {words}: give velocities of all atoms or of none"
        raise InputError(message, file=file, line=start + wrong, atom=wrong)
    if max(lengths) > _FIRST + 6 * width:
        wrong = int(np.argmax(lengths))
        message = "text behind position and velocity"
        raise InputError(message, file=file, line=start + wrong, atom=wrong)
    return 6 if any(moving) else 3


def _count_gro(file: str) -> int:
    return len(_gro_starts(file, read_bytes(file).split(b"\n")))


def _g96_frames(file: str) -> list[_Blocks]:
    """The blocks of each frame; a block that was there already begins the next one."""
    lines = [line.strip() for line in read_bytes(file).decode("latin-1").split("\n")]
    frames: list[_Blocks] = [{}]
    at = 0
    while at < len(lines):
        name, end = lines[at], at
        while end < len(lines) and lines[end] != "END":
            end += 1
        if name and name not in _G96_BLOCKS:
            raise InputError(f"block {name} is not known", file=file, line=at + 1)
        if name and name != "TITLE":
            if name in frames[-1]:
                frames.append({})
            frames[-1][name] = (at + 2, lines[at + 1 : end])
        at = end + 1
    return frames


def _read_g96(file: str, expected: Expected) -> Coordinates:
    blocks = _g96_frames(file)[expected.frame]
    positions, names = _g96_block(file, blocks, "POSITION")
    if positions is None:
        raise InputError("no block POSITION or POSITIONRED", file=file)
    velocities, _ = _g96_block(file, blocks, "VELOCITY")
    if velocities is not None and len(velocities) != len(positions):
        line = next(blocks[name][0] for name in blocks if name.startswith("VELOCITY"))
        message = f"{len(velocities)} velocities of {len(positions)} atoms"
        raise InputError(message, file=file, line=line - 1)
    box = None
    if expected.box and "BOX" in blocks:
        line, rows = blocks["BOX"]
        box = _box(file, line, " ".join(rows).split())
    return Coordinates(positions, velocities, box, names)


def _count_g96(file: str) -> int:
    return len(_g96_frames(file))


def _g96_block(
    file: str, blocks: _Blocks, name: str
) -> tuple[F64 | None, npt.NDArray[np.str_] | None]:
    """Vectors of a block, and names of atoms where it has them."""
    for block, first in ((name, 24), (f"{name}RED", 0)):
        if block not in blocks:
            continue
        line, rows = blocks[block]
        kept = [(line + k, row) for k, row in enumerate(rows) if row and not row.startswith("#")]
        words = [row.split()[-3:] for _, row in kept]
        try:
            values = np.array([[*map(real, row)] for row in words]).reshape(-1, 3)
        except ValueError:
            wrong = next(k for k, row in enumerate(words) if not _numeric(row))
            message = f"{block}: '{kept[wrong][1]}' does not end in three numbers"
            raise InputError(message, file=file, line=kept[wrong][0], atom=wrong) from None
        if not np.isfinite(values).all():
            wrong = int(np.argmin(np.isfinite(values).all(axis=1)))
            message = f"{block} are not finite numbers"
            raise InputError(message, file=file, line=kept[wrong][0], atom=wrong)
        names = np.array([row.split()[2] for _, row in kept]) if first and kept else None
        return values, names
    return None, None


def _numeric(words: list[str]) -> bool:
    try:
        return len([real(word) for word in words]) == 3
    except ValueError:
        return False


def _box(file: str, line: int, words: list[str]) -> F64 | None:
    """The box of three lengths or nine numbers; None where all are zero."""
    try:
        numbers = [real(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) not in (3, 9) or not np.isfinite(numbers).all():
        raise InputError("the box must be three or nine numbers", file=file, line=line)
    box = np.zeros((3, 3))
    for value, place in zip(numbers, _NINE, strict=False):
        box[place] = value
    if not box.any():
        return None
    if (np.diag(box) <= 0).any():
        message = "the box must have positive numbers x(a), y(b), z(c), or zeros alone: no box"
        raise InputError(message, file=file, line=line)
    if np.triu(box, 1).any():
        message = "the box must be lower triangular: a along x, b in the plane of x and y"
        raise InputError(message, file=file, line=line)
    return reduce_box(box)


GRO = CoordinateFormat("GROMACS gro", _is_gro, _read_gro, _count_gro)
G96 = CoordinateFormat(
    "GROMACS g96",
    lambda head: bool(re.match(rb"(\s*#[^\n]*\n)*\s*(TITLE|POSITION(RED)?|TIMESTEP)\s*\n", head)),
    _read_g96,
    _count_g96,
)
