# SPDX-License-Identifier: Apache-2.0
"""Reads the frames of a trajectory and hands them on by a pipe; a process for each trajectory.

The libraries that read these formats are C code which damaged files can crash.  In a process of its
own that ends a reading with an error, not the program.

    python -m quiltmd.inputs.frames_process FILE ATOMS EVERY
    python -m quiltmd.inputs.frames_process FILE count

A record begins with a byte: F, a frame: time, whether it has a box, positions, box (float64); X, an
error: its length (uint32), its text; E, the end; N, how many frames there are (uint32).
"""

from __future__ import annotations

import os
import struct
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from ..description.box import box_from_lengths_angles, reduce_box
from ..errors import InputError

F64 = npt.NDArray[np.float64]
Frame = tuple[float, F64, F64 | None]  # ps, (N, 3) nm, (3, 3) nm

_HEAD, _LENGTH = struct.Struct("<d?"), struct.Struct("<I")
_BOX = (3, 3)


def receive(stream: IO[bytes], atoms: int) -> Iterator[Frame]:
    """The frames that the process sends; EOFError where it ends in their middle."""
    while (kind := _exactly(stream, 1)) == b"F":
        time, has_box = _HEAD.unpack(_exactly(stream, _HEAD.size))
        positions = _array(stream, (atoms, 3))
        box = _array(stream, _BOX)
        yield time, positions, box if has_box else None
    if kind == b"X":
        raise InputError(_exactly(stream, _number(stream)).decode())


def receive_count(stream: IO[bytes]) -> int:
    """How many frames there are, as the process says; EOFError where it ends before."""
    if _exactly(stream, 1) == b"N":
        return _number(stream)
    raise InputError(_exactly(stream, _number(stream)).decode())


def _number(stream: IO[bytes]) -> int:
    return int(_LENGTH.unpack(_exactly(stream, _LENGTH.size))[0])


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data


def _array(stream: IO[bytes], shape: tuple[int, int]) -> F64:
    data = _exactly(stream, 8 * shape[0] * shape[1])
    return np.frombuffer(data, np.float64).reshape(shape)


def _send(stream: IO[bytes], frames: Iterator[Frame]) -> None:
    try:
        for time, positions, box in frames:
            cell = np.zeros(_BOX) if box is None else box
            stream.write(b"F" + _HEAD.pack(time, box is not None))
            stream.write(np.ascontiguousarray(positions, np.float64).tobytes())
            stream.write(np.ascontiguousarray(cell, np.float64).tobytes())
    except InputError as error:
        _send_error(stream, error)
    else:
        stream.write(b"E")


def _send_count(stream: IO[bytes], file: str) -> None:
    from MDAnalysis.lib.formats import libdcd, libmdaxdr

    kinds = {".xtc": libmdaxdr.XTCFile, ".trr": libmdaxdr.TRRFile, ".dcd": libdcd.DCDFile}
    try:
        with kinds[Path(file).suffix.lower()](file) as reader:
            stream.write(b"N" + _LENGTH.pack(len(reader)))
    except Exception as error:  # of whatever kind: that of a library on a damaged file
        words = str(error).replace("\n", " ")
        _send_error(stream, InputError(f"its frames cannot be counted ({words})", file=file))


def _send_error(stream: IO[bytes], error: InputError) -> None:
    text = str(error).encode()
    stream.write(b"X" + _LENGTH.pack(len(text)) + text)


def _frames(file: str, atoms: int, every: int) -> Iterator[Frame]:
    from MDAnalysis.coordinates.core import get_reader_for
    from MDAnalysis.lib.formats import libmdaxdr

    # The readers of XTC and TRR would leave an index beside the file; those beneath them do not.
    plain = {".xtc": libmdaxdr.XTCFile, ".trr": libmdaxdr.TRRFile}.get(Path(file).suffix.lower())
    try:
        if plain is None:
            with get_reader_for(file)(file, n_atoms=atoms) as reader:
                for frame in reader[::every]:
                    yield _checked(
                        file, frame.positions / 10.0, atoms, frame.time, frame.dimensions
                    )
        else:
            with plain(file) as reader:
                for number, frame in enumerate(reader):
                    if number % every == 0:
                        yield _checked(file, frame.x, atoms, frame.time, frame.box)
    except InputError:
        raise
    except Exception as error:  # of whatever kind: that of a library on a damaged file
        words = str(error).replace("\n", " ")
        raise InputError(f"not a trajectory of {atoms} atoms ({words})", file=file) from None


def _checked(file: str, positions: F64, atoms: int, time: float, cell: F64 | None) -> Frame:
    if len(positions) != atoms:
        raise InputError(f"{len(positions)} atoms instead of {atoms}", file=file)
    return float(time), positions, _box(cell)


def _box(cell: F64 | None) -> F64 | None:
    """The box of three vectors, nm, or of lengths (angstrom) and angles (degrees)."""
    if cell is None:
        return None
    if np.shape(cell) == _BOX:
        return reduce_box(cell)
    return box_from_lengths_angles(cell[:3] / 10.0, cell[3:]) if np.any(cell[:3]) else None


def main() -> None:
    """Sends the frames to what is standard output at the start; libraries may print elsewhere."""
    file, *asked = sys.argv[1:]
    with os.fdopen(os.dup(1), "wb") as stream:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")  # about changes to come in MDAnalysis
        if asked == ["count"]:
            _send_count(stream, file)
        else:
            atoms, every = map(int, asked)
            _send(stream, _frames(file, atoms, every))


if __name__ == "__main__":
    main()
