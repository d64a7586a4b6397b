# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a file, a reader gives what it read or an error made for the user.

Files of small systems are damaged at random: bytes, spans and numbers are replaced, removed and
repeated. What is read nevertheless must be something that the engine takes or refuses, too. Some
seconds by default; for a long search, with other damage each time:

    QUILTMD_FUZZ=100000 pytest tests/python/test_fuzz_readers.py --timeout 0
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from boxes import water_box
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.io import netcdf_file

import quiltmd
from quiltmd.errors import QuiltError
from quiltmd.running.config import build_config, read_config

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


def fuzz(read: Read, path: Path, data: bytes) -> None:
    """Reads the file as it is, then with damage of all kinds."""
    path.write_bytes(data)
    read(path)

    @settings(
        max_examples=int(EXAMPLES or 120),
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


def simulated(loaded: tuple[quiltmd.System, quiltmd.State]) -> object:
    return quiltmd.Simulation(*loaded, device="cpu", threads=1).energies()


@pytest.fixture(scope="module")
def peptide(openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A molecule of 22 atoms, put into a box: prmtop and inpcrd."""
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    coordinates = tmp_path_factory.mktemp("peptide") / "peptide.inpcrd"
    lines = (folder / "alanine-dipeptide.crd").read_text().rstrip("\n").split("\n")
    box = "".join(f"{value:12.7f}" for value in (25.0, 26.0, 27.0, 90.0, 90.0, 90.0))
    coordinates.write_text("\n".join([*lines[:13], box]) + "\n")
    return folder / "alanine-dipeptide.prmtop", coordinates


def test_amber_topology(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    topology, coordinates = peptide
    read = lambda path: simulated(quiltmd.load(path, coordinates, constraints="h-bonds"))  # noqa: E731
    fuzz(read, tmp_path / "bad.prmtop", topology.read_bytes())


def test_amber_text_coordinates(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    topology, coordinates = peptide
    read = lambda path: simulated(quiltmd.load(topology, path))  # noqa: E731
    fuzz(read, tmp_path / "bad.inpcrd", coordinates.read_bytes())


def test_amber_netcdf_coordinates(peptide: tuple[Path, Path], tmp_path: Path) -> None:
    topology, coordinates = peptide
    state = quiltmd.load(topology, coordinates)[1]
    path = tmp_path / "bad.nc"
    with netcdf_file(path, "w") as file:
        for name, size in (("frame", 2), ("atom", 22), ("spatial", 3)):
            file.createDimension(name, size)
        for name, of in (("coordinates", "frame atom spatial"), ("cell_lengths", "frame spatial")):
            variable = file.createVariable(name, "f8", of.split())
            variable[:] = 10 * (state.positions if "atom" in of else np.diag(state.box))
    fuzz(lambda path: simulated(quiltmd.load(topology, path, frame=1)), path, path.read_bytes())


def test_checkpoint(tmp_path: Path) -> None:
    state = water_box((6, 6, 6))[1]
    path = tmp_path / "bad.qmd"
    quiltmd.write_checkpoint(path, quiltmd.Checkpoint(state))
    fuzz(quiltmd.read_checkpoint, path, path.read_bytes())


def test_configuration(tmp_path: Path) -> None:
    text = (
        '[system]\ntopology = "a.prmtop"\ncoordinates = "a.rst7"\nhmr = true\n\n'
        "[nonbonded]\ncutoff = 0.9\npme_alpha = 3.0\npme_grid = [32, 32, 32]\n\n"
        '[integrator]\nensemble = "nvt"\ntemperature = 300.0\nseed = 7\n\n'
        '[run]\nsteps = 1000\nranks = 2\ndevice = "cpu"\n\n[output]\ndir = "out"\nlog_every = 10\n'
    )
    fuzz(lambda path: build_config(read_config(path)), tmp_path / "bad.toml", text.encode())
