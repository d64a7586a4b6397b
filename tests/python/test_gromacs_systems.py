# SPDX-License-Identifier: Apache-2.0
"""The systems that GROMACS tests itself with: energies by term and forces, or why not.

Runs where gmx_d is installed and QUILTMD_GROMACS_TESTS names folders (as PATH does) that hold
topologies beside coordinates, at any depth: GROMACS' regressiontests and src of its source, as
`apt-get source gromacs` brings both.  By itself it prints the table of docs/user/inputs.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gromacs_programs import GMX, RefusedError, compute, difference, gmx

from quiltmd import InputError

FOLDERS = [Path(name) for name in os.environ.get("QUILTMD_GROMACS_TESTS", "").split(":") if name]
COORDINATES = (".gro", ".g96", ".pdb")
# What is refused: forms of terms, perturbations, averages and models that Quilt has not.
REASONS = re.compile(
    r"of function type \d+ are not supported|a second state .* is not supported|"
    r"restraints are not supported|averages of distances are not supported|"
    r"polarizable models are not supported|virtual site, found 0: |"
    r"interactions between molecules are not supported|vanishes in its second state, which would"
)
AS_GROMACS = "refused by GROMACS:"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(GMX is None or not FOLDERS, reason="needs gmx_d and QUILTMD_GROMACS_TESTS"),
]


def coordinates_of(topology: Path) -> Path | None:
    """The coordinates that lie beside a topology: of its name, or conf."""
    stems = (topology.stem, "conf")
    beside = [topology.with_name(stem + suffix) for stem in stems for suffix in COORDINATES]
    return next((path for path in beside if path.is_file()), None)


def systems() -> Iterator[tuple[str, Path, Path]]:
    """Name, topology and coordinates of each system, once where several tests have the same."""
    seen = set()
    for folder in FOLDERS:
        for topology in sorted(folder.rglob("*.top")):
            coordinates = coordinates_of(topology)
            if coordinates is not None:
                digest = hashlib.sha256(topology.read_bytes() + coordinates.read_bytes())
                if digest.digest() not in seen:
                    yield str(topology.relative_to(folder)), topology, coordinates
                seen.add(digest.digest())


def compared(topology: Path, coordinates: Path) -> object:
    """The difference of a system, worked out in a folder of its own; or the refusal."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in topology.parent.iterdir():
            if path.suffix in (".top", ".itp", *COORDINATES):
                shutil.copy(path, folder)
        start = coordinates.name
        if coordinates.suffix == ".pdb":
            start = "converted.gro"
            gmx(folder, "editconf", "-f", coordinates.name, "-o", start)
        try:
            return difference(folder, topology.name, start, defines_of(topology))
        except InputError as error:
            refusal = str(error).rpartition(f"{name}/")[2]
        except RefusedError as error:
            return f"{AS_GROMACS} {error}"
        try:
            compute(folder, topology.name, start, define=defines_of(topology))
        except RefusedError:
            return f"{AS_GROMACS} {refusal}"
        return refusal


def defines_of(topology: Path) -> str:
    """What the mdp beside a topology defines."""
    mdp = topology.with_name("grompp.mdp")
    text = mdp.read_text() if mdp.is_file() else ""
    found = re.search(r"(?m)^\s*define\s*=([^;\n]*)", text)
    return " ".join(re.findall(r"-D\S+", found[1])) if found else ""


@pytest.mark.parametrize(
    ("topology", "coordinates"), [pytest.param(*row[1:], id=row[0]) for row in systems()]
)
def test_systems_of_gromacs(topology: Path, coordinates: Path) -> None:
    found = compared(topology, coordinates)
    if isinstance(found, str):
        assert REASONS.search(found) or found.startswith(AS_GROMACS), found
        return
    assert found.energy < 1e-6, found
    assert found.forces < 2e-5, found


def table(words: list[str]) -> None:
    """Prints a row for each system."""
    for name, topology, coordinates in systems():
        if not words or any(word in name for word in words):
            print(f"| {name} | {compared(topology, coordinates)} |", flush=True)


if __name__ == "__main__":
    sys.exit(table(sys.argv[1:]))
