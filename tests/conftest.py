# SPDX-License-Identifier: Apache-2.0
"""Where tests find real inputs; a test that asks for absent ones is skipped."""

from __future__ import annotations

import bz2
import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def package_data(package: str) -> Path:
    """The `data` folder of an installed package, found without importing it.

    For machines without the package, a copy may lie in the folder of the benchmark inputs.
    """
    spec = importlib.util.find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    copy = Path(os.environ.get("QUILTMD_BENCHMARK_INPUTS", "")).resolve() / package
    if not folders and copy.is_dir():
        folders = [str(copy)]
    if not folders:
        pytest.skip(f"the package {package}, which carries the inputs, is not installed")
    return Path(folders[0]) / "data"


@pytest.fixture(scope="session")
def benchmark_inputs() -> Path:
    """The benchmark inputs beside the project, or where QUILTMD_BENCHMARK_INPUTS says."""
    beside = ROOT.parent / "shared" / "data"
    folder = Path(os.environ.get("QUILTMD_BENCHMARK_INPUTS", beside)).resolve()
    if not folder.is_dir():
        pytest.skip("the benchmark inputs beside the project are absent")
    return folder


@pytest.fixture(scope="session")
def jac(benchmark_inputs: Path) -> Path:
    """DHFR in TIP3P: jac.parm7, prmtop (before Amber 7), inpcrd, ref_mdcrd.nc."""
    return benchmark_inputs / "jac_dhfr"


@pytest.fixture(scope="session")
def openmmtools_data() -> Path:
    """Inputs of openmmtools, for instance dhfr/JAC.prmtop."""
    return package_data("openmmtools")


@pytest.fixture(scope="session")
def alanine(openmmtools_data: Path) -> tuple[Path, Path]:
    """Alanine dipeptide in TIP3P, 2269 atoms: prmtop and inpcrd."""
    folder = openmmtools_data / "alanine-dipeptide-explicit"
    return folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"


@pytest.fixture(scope="session")
def amber_test_files() -> Path:
    """Amber files of MDAnalysis' own tests."""
    return package_data("MDAnalysisTests") / "Amber"


@pytest.fixture(scope="session")
def octahedron(
    amber_test_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """A peptide in a truncated octahedron of water: prmtop and NetCDF trajectory."""
    packed = (amber_test_files / "tz2.truncoct.parm7.bz2").read_bytes()
    topology = tmp_path_factory.mktemp("octahedron") / "tz2.parm7"
    topology.write_bytes(bz2.decompress(packed))
    return topology, amber_test_files / "tz2.truncoct.nc"
