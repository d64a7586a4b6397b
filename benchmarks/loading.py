# SPDX-License-Identifier: Apache-2.0
"""How long large systems take to load, the first time and from the cache: PSF and GROMACS.

    python benchmarks/loading.py FOLDER [--turns 3] [--json FILE]

FOLDER has apoa1/ (PSF, PDB and parameters of NAMD's benchmark), of which twelve copies are one PSF
of 1.1 million atoms, written here; cellulose/ and stmv/ (GROMACS topologies of 409,000 and 1.07
million atoms with a frame each).  Measured is all that `quiltmd.load` does, in a process of its own
whose modules are loaded.  Trajectories are read in another process, whose processor time is not
counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from provenance import provenance

_COPIES = 12
_PARAMETERS = ("par_all22_prot_lipid.xplor", "par_all22_popc.xplor")
_TERMS = {"!NBOND": 2, "!NTHETA": 3, "!NPHI": 4, "!NIMPHI": 4}  # atoms of each
_PER_LINE = {2: 4, 3: 3, 4: 2}  # terms
_LOAD = """
import json, resource, sys, time
import MDAnalysis, quiltmd
from quiltmd import inputs

topology, coordinates, *parameters = sys.argv[1:]
found = {}


def timed(name, function, *arguments, **named):
    begun, used = time.perf_counter(), time.process_time()
    result = function(*arguments, **named)
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    found.update({f"{name}seconds": seconds, f"{name}seconds_of_processor": used})
    return result


cached = inputs.cached
inputs.cached = lambda *arguments: timed("topology_", cached, *arguments)
system, _ = timed(
    "", quiltmd.load, topology, coordinates, parameters=parameters, box=[30, 30, 30]
)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"atoms": system.atoms, **found, "memory": memory}))
"""


def main() -> None:
    options = parse_options()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, files in cases(options.folder, Path(folder)):
            turns = [first_and_second(files) for _ in range(options.turns)]
            first, second = (
                min(found, key=lambda one: one["seconds"]) for found in zip(*turns, strict=True)
            )
            rows.append({"name": name, **first, "from_cache": second})
            print(f"{name}: {first['atoms']} atoms in {words(first)}", flush=True)
            print(f"  from the cache in {words(second)}", flush=True)
    if options.json:
        document = {**provenance(), "turns": options.turns, "results": rows}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("folder", type=Path, help="of the inputs")
    add("--turns", type=int, default=3, help="of which the fastest counts")
    add("--json", type=Path, help="write results here, too")
    return parser.parse_args()


def cases(inputs: Path, made: Path) -> Iterator[tuple[str, list[Path]]]:
    """Each a topology, coordinates and parameters."""
    apoa1 = inputs / "apoa1"
    psf, coordinates = made / "apoa1.psf", made / "apoa1.coor"
    atoms = write_copies(apoa1 / "apoa1.psf", psf)
    places = np.arange(3.0 * atoms).reshape(-1, 3) % 300
    coordinates.write_bytes(np.array([atoms], "<i4").tobytes() + places.astype("<f8").tobytes())
    yield f"PSF, {_COPIES} times ApoA1", [psf, coordinates, *(apoa1 / name for name in _PARAMETERS)]
    for name in ("cellulose", "stmv"):
        yield f"GROMACS, {name}", [inputs / name / f"{name}.top", inputs / name / f"{name}.xtc"]


def words(found: dict[str, Any]) -> str:
    """A line about a load."""
    return (
        f"{found['seconds']:.2f} s ({found['seconds_of_processor']:.2f} s of a processor), of "
        f"which the topology {found['topology_seconds']:.2f} s "
        f"({found['topology_seconds_of_processor']:.2f} s), {found['memory']:.1f} GiB"
    )


def first_and_second(files: list[Path]) -> list[dict[str, Any]]:
    """A load that fills an empty cache, and one from this cache."""
    with tempfile.TemporaryDirectory() as cache:
        found = [measured(files, Path(cache)) for _ in range(2)]
        if not any(Path(cache).iterdir()):
            raise SystemExit(f"nothing of {files[0]} was cached")
        return found


def measured(files: list[Path], cache: Path) -> dict[str, Any]:
    """Atoms, seconds (by the clock, and of a processor) and the most memory (GiB) of a load.

    The seconds that the topology takes, which is what is cached, are also given by themselves.
    """
    command = [sys.executable, "-c", _LOAD, *map(str, files)]
    environment = {**os.environ, "QUILTMD_CACHE": str(cache)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write_copies(source: Path, target: Path) -> int:
    """A PSF several times, one after the other, in the extended format; returns its atoms."""
    lines = iter(source.read_text().splitlines())
    with target.open("w", encoding="ascii") as file:
        file.write("PSF EXT XPLOR\n\n         1 !NTITLE\n copies\n")
        atoms = copy_atoms(lines, file)
        for line in lines:
            title = line.split()[1:2]
            if title and (name := title[0].rstrip(":")) in _TERMS:
                rows = takewhile(str.strip, lines)
                copy_terms(name, [int(n) for row in rows for n in row.split()], atoms, file)
    return atoms * _COPIES


def copy_atoms(lines: Iterator[str], file: Any) -> int:
    """The section of atoms; returns how many one copy has."""
    count = next(int(line.split()[0]) for line in lines if "!NATOM" in line)
    rows = [next(lines).split() for _ in range(count)]
    file.write(f"\n{_COPIES * count:10d} !NATOM\n")
    for copy in range(_COPIES):
        for number, (_, segment, residue, name, atom, kind, charge, mass, *_rest) in enumerate(
            rows
        ):
            file.write(
                f"{copy * count + number + 1:10d} {segment:8s} {residue:8s} {name:8s} {atom:8s} "
                f"{kind:6s} {float(charge):14.6f}{float(mass):14.4f}{0:8d}\n"
            )
    return count


def copy_terms(name: str, numbers: list[int], atoms: int, file: Any) -> None:
    """A section of terms."""
    size = _TERMS[name]
    file.write(f"\n{len(numbers) // size * _COPIES:10d} {name}: terms\n")
    for copy in range(_COPIES):
        shifted = [number + copy * atoms for number in numbers]
        width = size * _PER_LINE[size]
        for begin in range(0, len(shifted), width):
            file.write("".join(f"{n:10d}" for n in shifted[begin : begin + width]) + "\n")


if __name__ == "__main__":
    main()
