# SPDX-License-Identifier: Apache-2.0
"""Hydration free energies with FreeSolv's GROMACS files, beside its calculated values.

    git clone https://github.com/MobleyLab/FreeSolv
    python benchmarks/freesolv.py FreeSolv [--molecules methane benzene methanol] [--out FOLDER]
        [--waters 900] [--picoseconds 5000] [--timestep 0.002] [--hmr] [--cutoff 1.0]
        [--equilibration 200] [--path full] [--device auto] [--threads N]
        [--together 1] [--seed 1]

Each molecule, with its GAFF parameters and AM1-BCC charges, is put into TIP3P water, and the box is
equilibrated at 298.15 K and 1.01325 bar.  From there all states of FreeSolv's path are simulated,
as by `quiltmd run`, and their free energies estimated by MBAR, as by `quiltmd alchemy analyse`.
--together states run at the same time: a GPU is not busy with one.  Lennard-Jones interactions are
switched off over the last 0.1 nm before the cutoff, with a tail correction, as in FreeSolv's input
files.  The same command again continues runs that were stopped, or makes them longer.  Values of
FreeSolv: Duarte Ramos Matos et al., J. Chem. Eng. Data 62, 1559 (2017).  Results are in
benchmarks/notes/alchemy.md.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltmd.running import runner
from quiltmd.running.config import build_config
from quiltmd.running.free_energies import FreeEnergies, free_energies

KJ_PER_KCAL = 4.184
TEMPERATURE, PRESSURE = 298.15, 1.01325
# Lambda of charges, and of van der Waals interactions once charges are gone.
PATHS = {
    "full": (
        (0.0, 0.25, 0.5, 0.75, 1.0),
        (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0),
    ),
    "short": ((0.0, 1.0), (0.2, 0.4, 0.55, 0.7, 0.8, 0.9, 1.0)),  # for methane
}
SPACING = 0.3107  # nm, of waters at 1 g/ml
VACUUM = 4.0  # nm, edge of the box without water
WATER_TYPES = """OW OW 8 15.9994 0.0 A 0.315075 0.635968
HW HW 1 1.008 0.0 A 0.0 0.0
"""
WATER = """
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL O 1 -0.834 15.9994
2 HW 1 SOL H1 1 0.417 1.008
3 HW 1 SOL H2 1 0.417 1.008
[ settles ]
1 1 0.09572 0.15139
[ exclusions ]
1 2 3
2 1 3
3 1 2
"""


@dataclass(frozen=True)
class Molecule:
    """Of the database: its topology, and names and positions (nm) of its atoms."""

    topology: str
    names: list[str]
    places: NDArray[np.float64]


def read_molecule(data: Path, number: str) -> Molecule:
    """The molecule with this number in the database."""
    with tarfile.open(data / "gromacs.tar.gz") as archive:
        texts = []
        for suffix in ("top", "gro"):
            member = archive.extractfile(f"gromacs/{number}.{suffix}")
            assert member is not None
            texts.append(io.TextIOWrapper(member, encoding="utf-8").read())
    rows = [row.split() for row in texts[1].splitlines()[2:-1]]
    places = np.array([[float(one) for one in row[-3:]] for row in rows])
    return Molecule(texts[0], [row[1] for row in rows], places)


def solvated(molecule: Molecule, waters: int, folder: Path) -> tuple[Path, Path]:
    """Writes topology and coordinates of the molecule in about so many waters, or in vacuum."""
    cells = round((waters + 4) ** (1 / 3)) if waters else 0
    edge = cells * SPACING if waters else VACUUM
    grid = np.stack(np.meshgrid(*[np.arange(cells)] * 3), -1).reshape(-1, 3) * SPACING
    solute = molecule.places - molecule.places.mean(axis=0) + edge / 2
    way = grid[:, None] - solute[None]
    way -= edge * np.round(way / edge)
    grid = grid[np.linalg.norm(way, axis=2).min(axis=1) > 0.26]
    shape = np.array([[0, 0, 0], [0.07570, 0.05859, 0], [-0.07570, 0.05859, 0]])
    water = (grid[:, None] + shape).reshape(-1, 3)
    head, _, tail = molecule.topology.partition("[ moleculetype ]")
    head = head.rstrip() + "\n" + WATER_TYPES
    before, _, counts = tail.partition("[ system ]")
    text = (
        f"{head}\n[ moleculetype ]{before}{WATER}\n[ system ]{counts.rstrip()}\nSOL {len(grid)}\n"
    )
    (folder / "system.top").write_text(text, encoding="utf-8")
    named = [("MOL", name) for name in molecule.names]
    named += [("SOL", name) for _ in grid for name in ("O", "H1", "H2")]
    residues = [1] * len(solute) + [2 + k for k in range(len(grid)) for _ in range(3)]
    lines = ["hydration", str(len(named))]
    for k, (residue, (of, name), place) in enumerate(
        zip(residues, named, np.concatenate([solute, water]), strict=True)
    ):
        numbers = "".join(f"{one:8.3f}" for one in place)
        lines.append(f"{residue % 100000:5d}{of:5s}{name:>5s}{(k + 1) % 100000:5d}{numbers}")
    lines.append(f"{edge:10.5f}" * 3)
    (folder / "system.gro").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "system.top", folder / "system.gro"


def configuration(
    given: argparse.Namespace, files: tuple[Path, Path], alchemy: dict[str, Any], out: Path
) -> dict[str, dict[str, Any]]:
    """Settings of the run of a state, from coordinates of any kind."""
    run = {"device": given.device, "minimize": files[1].is_file()}
    if given.threads:
        run["threads"] = given.threads
    settings = {
        "system": {"topology": str(files[0]), "coordinates": str(files[1]), "hmr": given.hmr},
        "nonbonded": {
            "cutoff": given.cutoff,
            "switching": "potential",
            "switch_distance": round(given.cutoff - 0.1, 6),
        },
        "alchemy": {"every": 100, **alchemy},
        "integrator": {
            "ensemble": "npt" if given.waters else "nvt",
            "temperature": TEMPERATURE,
            "timestep": given.timestep,
            "seed": given.seed + alchemy["state"],
        },
        "output": {"dir": str(out), "trajectory_every": 0, "log_every": 1000},
        "run": run,
    }
    if given.waters:
        settings["barostat"] = {"pressure": PRESSURE, "time_constant": 5}
    return settings


def run(
    given: argparse.Namespace,
    files: tuple[Path, Path],
    alchemy: dict[str, Any],
    out: Path,
    ps: float,
) -> None:
    """Runs a state up to a time; a run that is there already is continued."""
    steps = round(ps / given.timestep)
    if (out / "config.toml").exists():
        runner.resume(out, {("run", "steps"): steps})
        return
    settings = configuration(given, files, alchemy, out)
    settings["run"]["steps"] = steps
    runner.start(build_config(settings))


def sampled(
    given: argparse.Namespace, files: tuple[Path, Path], alchemy: dict[str, Any], folder: Path
) -> FreeEnergies:
    """Runs all states of a schedule, [alchemy] but for its state; their free energies."""
    topology, start = files
    before = folder / "equilibration"
    run(given, (topology, start), {**alchemy, "state": 0}, before, given.equilibration)
    states = [folder / f"state-{state:02d}" for state in range(len(alchemy["vdw"]))]

    def sample(state: int) -> None:
        own = {**alchemy, "state": state}
        run(given, (topology, before), own, states[state], given.picoseconds)

    with ThreadPoolExecutor(given.together) as pool:
        list(pool.map(sample, range(len(states))))
    return free_energies(states)


def vanishing(path: str) -> dict[str, Any]:
    """[alchemy], but for its state, of a molecule whose charges and then Lennard-Jones vanish."""
    charges, cores = PATHS[path]
    return {
        "atoms": "moltype MOL",
        "coulomb": [*charges, *[1.0] * len(cores)],
        "vdw": [*[0.0] * len(charges), *cores],
    }


def hydrate(given: argparse.Namespace, name: str, number: str) -> FreeEnergies:
    """Runs all states of a molecule that vanishes; their free energies."""
    folder = given.out / name
    folder.mkdir(parents=True, exist_ok=True)
    files = solvated(read_molecule(given.data, number), given.waters, folder)
    return sampled(given, files, vanishing(given.path), folder)


def entries_by_name(data: Path) -> dict[str, tuple[str, Any]]:
    """Number and entry of each molecule in FreeSolv's database."""
    database = json.loads((data / "database.json").read_text(encoding="utf-8"))
    return {entry["iupac"]: (number, entry) for number, entry in database.items()}


def options(description: str | None) -> argparse.ArgumentParser:
    """How runs are made."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help="folder of FreeSolv")
    parser.add_argument("--out", type=Path, default=Path("freesolv-runs"))
    parser.add_argument("--waters", type=int, default=900)
    parser.add_argument("--picoseconds", type=float, default=5000.0, help="of each state")
    parser.add_argument("--timestep", type=float, default=0.002, help="ps")
    parser.add_argument("--hmr", action="store_true", help="heavier hydrogens of the solute")
    parser.add_argument("--cutoff", type=float, default=1.0, help="nm")
    parser.add_argument("--equilibration", type=float, default=200.0, help="ps")
    parser.add_argument("--path", choices=PATHS, default="full")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--together", type=int, default=1, help="states at a time")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def main() -> None:
    """Prints a table."""
    parser = options(__doc__)
    parser.add_argument("--molecules", nargs="+", default=["methane", "benzene", "methanol"])
    given = parser.parse_args()
    given.out = given.out.resolve()
    entries = entries_by_name(given.data)
    print("hydration free energy, kJ/mol: molecule, Quilt, FreeSolv (GROMACS), overlap, time")
    for name in given.molecules:
        begin = time.perf_counter()
        number, entry = entries[name]
        found = hydrate(given, name, number)
        theirs, their_error = (KJ_PER_KCAL * float(entry[key]) for key in ("calc", "d_calc"))
        print(
            f"{name:10s} {-found.mbar[-1].value:8.2f} +- {found.mbar[-1].error:.2f}  "
            f"{theirs:8.2f} +- {their_error:.2f}  {found.neighbour_overlaps().min():.2f}  "
            f"{time.perf_counter() - begin:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
