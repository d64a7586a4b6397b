# SPDX-License-Identifier: Apache-2.0
"""Reads the frames of a trajectory and hands them on by a pipe; a process for each trajectory.

The libraries that read these formats are C code which damaged files can crash.  In a process of its
own that ends a reading with an error, not the program.

    python -m quiltmd.inputs.frames_process FILE ATOMS EVERY BOX
    python -m quiltmd.inputs.frames_process FILE count

BOX is 1 or, where boxes are not to be read, 0. A record begins with a byte: F, a frame: time,
whether it has a box and velocities, positions, box, velocities if there are any (float64); X, an
error: its length (uint32), its text; W, a warning: the same; E, the end; N, how many whole frames
there are (uint32).

A file that was cut off, while it was written or copied, ends in the middle of a frame.  The frames
before are read, with a warning; the libraries would pass over the rest in silence, or give up.
"""

from __future__ import annotations

import os
import struct
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..description.box import box_from_lengths_angles, reduce_box
from ..errors import InputError, QuiltWarning

F64 = npt.NDArray[np.float64]
Frame = tuple[float, F64, F64 | None, F64 | None]  # ps, (N, 3) nm, (3, 3) nm, (N, 3) nm/ps

_HEAD, _LENGTH = struct.Struct("<d??"), struct.Struct("<I")
_BOX = (3, 3)
_COUNTED = (".dcd", ".xtc", ".trr")


def receive(stream: IO[bytes], atoms: int) -> Iterator[Frame]:
    """The frames that the process sends; EOFError where it ends in their middle."""
    while (kind := _kind(stream)) == b"F":
        time, has_box, has_velocities = _HEAD.unpack(_exactly(stream, _HEAD.size))
        positions = _array(stream, (atoms, 3))
        box = _array(stream, _BOX)
        velocities = _array(stream, (atoms, 3)) if has_velocities else None
        yield time, positions, box if has_box else None, velocities
    if kind == b"X":
        raise InputError(_text(stream))


def receive_count(stream: IO[bytes]) -> int:
    """Number of complete frames, from the process; EOFError if the process ends early."""
    if _kind(stream) == b"N":
        return _number(stream)
    raise InputError(_text(stream))


def _kind(stream: IO[bytes]) -> bytes:
    """Kind of the next record; passes warnings on."""
    while (kind := _exactly(stream, 1)) == b"W":
        warnings.warn(_text(stream), QuiltWarning, stacklevel=2)
    return kind


def _text(stream: IO[bytes]) -> str:
    return _exactly(stream, _number(stream)).decode()


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


def _send(stream: IO[bytes], file: str, atoms: int, every: int, with_box: bool) -> None:
    try:
        for time, positions, box, velocities in _frames(file, atoms, every, with_box):
            cell = np.zeros(_BOX) if box is None else box
            stream.write(b"F" + _HEAD.pack(time, box is not None, velocities is not None))
            for values in (positions, cell, velocities):
                if values is not None:
                    stream.write(np.ascontiguousarray(values, np.float64).tobytes())
        if Path(file).suffix.lower() in _COUNTED:
            _send_cut(stream, file, *_whole_frames(file))
    except InputError as error:
        _send_text(stream, b"X", str(error))
    else:
        stream.write(b"E")


def _send_count(stream: IO[bytes], file: str) -> None:
    try:
        count, is_cut = _whole_frames(file)
    except Exception as error:  # of whatever kind: that of a library on a damaged file
        words = str(error).replace("\n", " ")
        _send_text(stream, b"X", f"{file}: its frames cannot be counted ({words})")
    else:
        _send_cut(stream, file, count, is_cut)
        stream.write(b"N" + _LENGTH.pack(count))


def _send_cut(stream: IO[bytes], file: str, frames: int, is_cut: bool) -> None:
    if is_cut:
        message = f"{file}: frame {frames} (from 0), the last, is incomplete and left out"
        _send_text(stream, b"W", message)


def _send_text(stream: IO[bytes], kind: bytes, message: str) -> None:
    text = message.encode()
    stream.write(kind + _LENGTH.pack(len(text)) + text)


def _frames(file: str, atoms: int, every: int, with_box: bool) -> Iterator[Frame]:
    """Frames at an interval, up to one that is cut off."""
    from MDAnalysis.coordinates.core import get_reader_for

    plain = _xdr(file)
    done = 0
    try:
        if plain is None:
            with get_reader_for(file)(file, n_atoms=atoms) as reader:
                for frame in reader[::every]:
                    cell = frame.dimensions if with_box else None
                    speed = frame.velocities / 10.0 if frame.has_velocities else None
                    place = frame.positions / 10.0
                    yield _checked(file, (frame.time, place, cell, speed), atoms)
        else:
            with plain(file) as reader:
                for done, frame in enumerate(reader, 1):
                    if (done - 1) % every == 0:
                        if not getattr(frame, "hasx", True):
                            message = f"frame {done - 1} (from 0) has no positions"
                            raise InputError(message, file=file)
                        speed = frame.v if getattr(frame, "hasv", False) else None
                        cell = frame.box if with_box else None
                        yield _checked(file, (frame.time, frame.x, cell, speed), atoms)
    except InputError:
        raise
    except Exception as error:  # of whatever kind: that of a library on a damaged file
        if done and _whole_frames(file) == (done, True):
            return
        words = str(error).replace("\n", " ")
        what = f"not a trajectory of {atoms} atoms"
        if done:
            what = f"frame {done} (from 0) cannot be read"
        raise InputError(f"{what} ({words})", file=file) from None


def _xdr(file: str) -> Any:
    """The reader of XTC or TRR, None for other formats.

    Those that MDAnalysis lays over them would leave an index beside the file.
    """
    from MDAnalysis.lib.formats import libmdaxdr

    kinds = {".xtc": libmdaxdr.XTCFile, ".trr": libmdaxdr.TRRFile}
    return kinds.get(Path(file).suffix.lower())


def _whole_frames(file: str) -> tuple[int, bool]:
    """The number of whole frames of a trajectory, and, but for H5MD, whether a part of one follows.

    Of formats that are not `_COUNTED` H5MD alone is asked for.
    """
    from MDAnalysis.lib.formats import libdcd

    if Path(file).suffix.lower() not in _COUNTED:
        import h5py

        with h5py.File(file) as found:
            group = next(iter(found["particles"].values()))
            return len(group["position/value"]), False
    size = os.path.getsize(file)
    if plain := _xdr(file):
        with plain(file) as reader:
            count = len(reader)
            if count == 0:
                return 0, size > 0
            reader.seek(count - 1)
            try:
                reader.read()
            except OSError:
                return count - 1, True
            return count, reader._bytes_tell() < size
    with libdcd.DCDFile(file) as reader:
        count = reader.n_frames
        frames = reader._firstframesize + (count - 1) * reader._framesize if count else 0
        return count, reader._header_size + frames < size


def _checked(file: str, frame: Frame, atoms: int) -> Frame:
    time, positions, cell, velocities = frame
    for values, name in ((positions, "atoms"), (velocities, "velocities")):
        if values is not None and len(values) != atoms:
            raise InputError(f"{len(values)} {name} instead of {atoms}", file=file)
    return float(time), positions, _box(cell), velocities


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
            atoms, every, with_box = map(int, asked)
            _send(stream, file, atoms, every, bool(with_box))


if __name__ == "__main__":
    main()
