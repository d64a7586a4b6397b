# SPDX-License-Identifier: Apache-2.0
"""Positions, velocities and box from Amber files: text (inpcrd, rst7) and NetCDF.

The text format does not say what it holds; that follows from the number of
lines. NetCDF files (AMBER and AMBERRESTART conventions) do say.

Source of the formats: ambermd.org/FileFormats.php, ambermd.org/netcdf/nctraj.xhtml.
"""

from __future__ import annotations

import os
import re

import numpy as np
import numpy.typing as npt
import scipy

from ..description.box import box_from_lengths_angles
from ..errors import InputError
from ..reading.fixed_width import Columns, read_bytes
from ..reading.formats import CoordinateFormat, Coordinates, Expected
from ..reading.units import ANGSTROM

_NOT_WRITTEN = 1e30  # what NetCDF has where nothing was written is 9.97e36
AMBER_VELOCITY = 20.455  # A/ps in Amber's unit of velocity, A/(ps/20.455)
_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")  # beginnings of NetCDF before version 4
_FASTEST = 30.0  # beyond any component of a velocity in that unit; angles of boxes are larger

F64 = npt.NDArray[np.float64]


def read_coordinates(path: str | os.PathLike[str], expected: Expected) -> Coordinates:
    """Coordinates from an Amber file, text or NetCDF.

    Parameters
    ----------
    path:
        inpcrd, rst7, restart or trajectory; told apart by content.
    expected:
        Expected number of atoms, frame, and parts of the box.

    Raises
    ------
    InputError
        With file and line or atom: damaged files, another number of atoms, values that are not
        numbers.
    """
    file = os.fspath(path)
    head = read_bytes(path, limit=8)
    if head.startswith(b"\x89HDF"):
        message = "a NetCDF-4 file; Amber's convention is NetCDF-3 (try nccopy -k nc6, or cpptraj)"
        raise InputError(message, file=file)
    if head.startswith(_CLASSIC):
        return _read_netcdf(file, expected)
    return _read_text(file, expected)


def count_frames(path: str | os.PathLike[str]) -> int:
    """Frames in an Amber coordinate file: 1 but for NetCDF trajectories.

    Raises InputError if a NetCDF file cannot be read.
    """
    file = os.fspath(path)
    if not read_bytes(path, limit=8).startswith(_CLASSIC):
        return 1
    try:
        with scipy.io.netcdf_file(file, "r", mmap=True, maskandscale=False) as content:
            shape = content.variables["coordinates"].shape
    except (ValueError, TypeError, IndexError, KeyError, OSError, AssertionError) as error:
        raise InputError(f"damaged or truncated NetCDF file ({error})", file=file) from None
    return int(shape[0]) if len(shape) == 3 else 1


def _is_netcdf(head: bytes) -> bool:
    """Whether a file that begins so is NetCDF; version 4 is HDF5, of which H5MD is another kind."""
    return head.startswith(_CLASSIC) or (head.startswith(b"\x89HDF") and b"h5md" not in head)


# A title, the number of atoms, and a line of numbers in twelve columns each.
_RESTART = re.compile(rb"[^\n]*\n *\d+(?=\s)[^\n]*\n([ \d-]{4}\.\d{7}){3,6}\s*(\n|$)")

NETCDF = CoordinateFormat("Amber NetCDF", _is_netcdf, read_coordinates, count_frames)
# Whatever the title is, which may look like the beginning of another format.
RESTART = CoordinateFormat(
    "Amber inpcrd or rst7", lambda head: bool(_RESTART.match(head)), read_coordinates
)
# A file that matches no other format is read as this one.
TEXT = CoordinateFormat("Amber inpcrd or rst7", lambda _: True, read_coordinates)


def _read_text(file: str, expected: Expected) -> Coordinates:
    atoms = expected.atoms
    lines = read_bytes(file).rstrip().split(b"\n")
    _check_count(file, lines, atoms)
    body = lines[2:]
    block = -(-atoms // 2)  # lines of positions, and again of velocities
    # A single line after the positions is taken for the box, even where it could be the velocities
    # of two atoms: without a box the file could not be used.
    has_velocities = len(body) > block + 1
    positions = _vectors(file, "positions", 3, body[:block], atoms) * ANGSTROM
    velocities = None
    if has_velocities:
        second = body[block : 2 * block]
        velocities = _vectors(file, "velocities", 3 + block, second, atoms)
        if len(body) == 2 * block and (np.abs(velocities[-1]) > _FASTEST).all():
            message = "this line of velocities is a box: is a line of velocities missing?"
            raise InputError(message, file=file, line=2 + 2 * block)
        velocities *= AMBER_VELOCITY * ANGSTROM
    start = block * (2 if has_velocities else 1)
    if len(body) == start:
        return Coordinates(positions, velocities)
    if len(body) > start + 1:
        message = f"text after the box; are there really {atoms} atoms?"
        raise InputError(message, file=file, line=start + 4)
    box = None
    if expected.box:
        box = _text_box(file, start + 3, body[start], expected.box_angle)
    return Coordinates(positions, velocities, box)


def _check_count(file: str, lines: list[bytes], atoms: int) -> None:
    match = re.match(rb"\s*(\d{1,18})(?=\s|$)", lines[1]) if len(lines) > 1 else None
    if match is None:
        message = (
            "not an Amber coordinate file, and of no other format that is known: the second line "
            "does not begin with the number of atoms"
        )
        raise InputError(message, file=file, line=min(2, len(lines)))
    if int(match[1]) != atoms:
        message = f"{int(match[1])} atoms, but the topology has {atoms}"
        raise InputError(message, file=file, line=2)


def _vectors(file: str, name: str, line: int, lines: list[bytes], atoms: int) -> F64:
    columns = Columns(file, name, line, lines, per_line=6, width=12, per_atom=3)
    values: F64 = columns.numbers(3 * atoms, float).reshape(atoms, 3)
    return values


def _text_box(file: str, line: int, text: bytes, angle: float | None) -> F64 | None:
    count = 3 if len(text.rstrip()) <= 36 else 6
    values = Columns(file, "box", line, [text], per_line=6, width=12).numbers(count, float)
    if count == 3 and angle is None:
        message = "the box has lengths but no angles, and the topology does not give all three"
        raise InputError(message, file=file, line=line)
    return _box(file, line, values[:3], values[3:] if count == 6 else np.full(3, angle))


def _box(file: str, line: int | None, lengths: F64, angles: F64) -> F64 | None:
    if not np.any(lengths):
        return None
    try:
        return box_from_lengths_angles(lengths * ANGSTROM, angles)
    except InputError as error:
        raise InputError(str(error), file=file, line=line) from None


def _read_netcdf(file: str, expected: Expected) -> Coordinates:
    atoms = expected.atoms
    try:
        with scipy.io.netcdf_file(file, "r", mmap=True, maskandscale=False) as content:
            values = _netcdf_frame(file, content, expected.frame)
    except (ValueError, TypeError, IndexError, KeyError, OSError, AssertionError) as error:
        raise InputError(f"damaged or truncated NetCDF file ({error})", file=file) from None
    positions, velocities = values["coordinates"], values.get("velocities")
    if len(positions) != atoms:
        raise InputError(f"{len(positions)} atoms, but the topology has {atoms}", file=file)
    if velocities is not None and len(velocities) != len(positions):
        message = f"{len(velocities)} velocities of {len(positions)} atoms"
        raise InputError(message, file=file)
    for name in ("coordinates", "velocities"):
        if name in values:
            there = np.abs(values[name]) < _NOT_WRITTEN
            if not there.all():
                atom = int(np.argmin(there.all(axis=1)))
                raise InputError(f"{name} are not finite numbers", file=file, atom=atom)
    box = _netcdf_box(file, values) if expected.box else None
    speed = None if velocities is None else velocities * ANGSTROM
    return Coordinates(positions * ANGSTROM, speed, box)


def _netcdf_box(file: str, values: dict[str, F64]) -> F64 | None:
    """The box, whose lengths and angles must both be there or both not."""
    given = [name for name in ("cell_lengths", "cell_angles") if name in values]
    if not given:
        return None
    if len(given) == 1:
        raise InputError(
            f"incomplete box: the file has {given[0]} but not both lengths and angles", file=file
        )
    for name in given:
        if not (np.abs(values[name]) < _NOT_WRITTEN).all():
            raise InputError(f"{name} are not finite numbers", file=file)
    return _box(file, None, values["cell_lengths"], values["cell_angles"])


def _netcdf_frame(file: str, content: scipy.io.netcdf_file, frame: int) -> dict[str, F64]:
    """The variables of one frame in angstrom, angstrom/ps and degrees.

    Nothing of the memory-mapped file may outlive the call, not even in the
    traceback of an error: hence no names for its variables.
    """
    if "coordinates" not in content.variables:
        raise InputError(
            "not an Amber coordinate file: it has no variable 'coordinates'", file=file
        )
    shape = content.variables["coordinates"].data.shape
    frames = shape[0] if len(shape) == 3 else 1
    if not -frames <= frame < frames:
        raise InputError(f"has {frames} frames, so there is no frame {frame}", file=file)
    values: dict[str, F64] = {}
    for name in ("coordinates", "velocities", "cell_lengths", "cell_angles"):
        if name in content.variables:
            at = frame if len(shape) == 3 else slice(None)
            # Velocities are stored in Amber's unit, with the factor to angstrom/ps beside them.
            scale = float(getattr(content.variables[name], "scale_factor", 1.0))
            values[name] = np.array(content.variables[name].data[at], dtype=np.float64) * scale
    return values
