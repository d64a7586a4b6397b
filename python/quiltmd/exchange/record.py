# SPDX-License-Identifier: Apache-2.0
"""Files of a replica exchange: two tables, and a manifest for a consistent set of all files.

exchange.csv has the replica in each state after the swaps of an iteration; energies.csv the
potential energies before them.  A generation is a checkpoint of each state, with how far the files
of that state had been written, and a manifest that names them with digests of their states and has
how far the tables had been written.  The manifest comes last and is replaced whole; two generations
are kept.  So whenever a process is killed, there is a generation of which all parts fit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError
from ..outputs.checkpoint import Checkpoint, digest, read_checkpoint, write_checkpoint
from ..outputs.files import (
    GrowingFile,
    Mark,
    keep_under,
    read_file,
    reading,
    remove,
    replace_file,
    writing,
)
from ..running.progress import warn
from .iterations import Iteration
from .mixing import Energies

MANIFEST, PREVIOUS = "manifest.json", "manifest.prev.json"
WALKERS, ENERGIES = "exchange.csv", "energies.csv"
_FORMAT = 1


def state_name(state: int) -> str:
    """The folder of a state."""
    return f"state-{state:02d}"


def replica_name(replica: int) -> str:
    """The folder of a replica, for its trajectories."""
    return f"replica-{replica:02d}"


@dataclass(frozen=True)
class Generation:
    """All that is needed to go on.

    Attributes
    ----------
    iteration:
        Number of iterations done.
    walkers:
        The replica in each state.
    seed:
        Random seed of the exchange.
    files:
        Marks of the tables.
    checkpoints:
        The checkpoint of each state.
    """

    iteration: int
    walkers: list[int]
    seed: int
    files: dict[str, Mark]
    checkpoints: list[Checkpoint]


class Tables:
    """exchange.csv and energies.csv while they are written.

    Parameters
    ----------
    folder:
        Folder of the exchange.
    count:
        Number of states.
    marks:
        Marks of the generation from which the files continue; None: start new files.
    """

    def __init__(self, folder: Path, count: int, marks: dict[str, Mark] | None) -> None:
        self._files = {
            name: GrowingFile(folder / name, marks is None) for name in (WALKERS, ENERGIES)
        }
        if marks is None:
            walkers = ",".join(f"state_{k}" for k in range(count))
            energies = ",".join(f"u_{k}_{n}" for k in range(count) for n in range(count))
            self._append(WALKERS, f"iteration,step,{walkers}")
            self._append(ENERGIES, f"iteration,{energies}")
        else:
            for name, file in self._files.items():
                file.carry_on(marks[name].length, marks[name].tail)

    def add(self, iteration: Iteration) -> None:
        """A row in each; an energy that is not known is left empty."""
        walkers = ",".join(map(str, iteration.walkers))
        energies = ",".join(_row_texts(iteration.energies))
        self._append(WALKERS, f"{iteration.number},{iteration.step},{walkers}")
        self._append(ENERGIES, f"{iteration.number},{energies}")

    def marks(self) -> dict[str, Mark]:
        """Marks of the files, after they are synced to disk."""
        for file in self._files.values():
            file.sync()
        return {name: file.mark() for name, file in self._files.items()}

    def close(self) -> None:
        """Closes them."""
        for file in self._files.values():
            file.close()

    def _append(self, name: str, row: str) -> None:
        self._files[name].append(f"{row}\n".encode("ascii"))


def _row_texts(energies: Energies) -> Iterator[str]:
    """The numbers of each row; rows that are alike, as all are by temperature, are written once."""
    texts: dict[bytes, str] = {}
    for row in energies:
        key = row.tobytes()
        if key not in texts:
            # A number that is not known is not equal to itself.
            texts[key] = ",".join(repr(x) if x == x else "" for x in row.tolist())
        yield texts[key]


def write_generation(folder: Path, generation: Generation) -> None:
    """Puts a generation in place, and removes those before the last two."""
    named = []
    for state, checkpoint in enumerate(generation.checkpoints):
        path = _checkpoint_path(folder, state, generation.iteration)
        with writing(path):
            write_checkpoint(path, checkpoint)
        name = str(path.relative_to(folder))
        named.append({"file": name, "digest": digest(checkpoint.state)})
    manifest = {
        "format": _FORMAT,
        "iteration": generation.iteration,
        "walkers": generation.walkers,
        "seed": generation.seed,
        "files": {name: asdict(mark) for name, mark in generation.files.items()},
        "checkpoints": named,
    }
    with writing(folder / MANIFEST):
        if (folder / MANIFEST).exists():
            keep_under(folder / MANIFEST, folder / PREVIOUS)
        replace_file(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
    kept = {name for file in (MANIFEST, PREVIOUS) for name in _names(folder / file)}
    for path in folder.glob("state-*/checkpoint-*.qmd"):
        if str(path.relative_to(folder)) not in kept:
            remove(path)


def read_generation(folder: Path) -> Generation:
    """The last generation of which all parts are there and whole; QuiltError if there is none.

    Where it is the one before the last, that is told.
    """
    faults = []
    for name in (MANIFEST, PREVIOUS):
        try:
            found = _read(folder, folder / name)
        except QuiltError as error:
            faults.append(str(error))
            continue
        if faults:
            warn(
                f"{faults[0]}; continuing from the previous generation, iteration {found.iteration}"
            )
            with writing(folder / MANIFEST):  # it is the last one now
                replace_file(folder / MANIFEST, read_file(folder / PREVIOUS))
        return found
    raise QuiltError(f"cannot resume: {'; '.join(faults)}")


def _read(folder: Path, path: Path) -> Generation:
    manifest = _manifest(path)
    checkpoints = []
    try:
        for entry in manifest["checkpoints"]:
            file = folder / entry["file"]
            checkpoint = read_checkpoint(file)
            if digest(checkpoint.state) != entry["digest"]:
                raise QuiltError(f"{file}: not the checkpoint that {path.name} names: put it back")
            checkpoints.append(checkpoint)
        walkers = [int(walker) for walker in manifest["walkers"]]
        if sorted(walkers) != list(range(len(checkpoints))):
            raise ValueError
        return Generation(
            int(manifest["iteration"]),
            walkers,
            int(manifest["seed"]),
            {name: Mark(**mark) for name, mark in manifest["files"].items()},
            checkpoints,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise QuiltError(f"{path}: the manifest is damaged") from None


def _manifest(path: Path) -> dict[str, Any]:
    with reading(path):
        data = read_file(path)
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise QuiltError(f"{path}: damaged, or written by another version of quiltmd")
    return found


def _names(path: Path) -> list[str]:
    if not path.exists():
        return []
    return [entry["file"] for entry in _manifest(path)["checkpoints"]]


def _checkpoint_path(folder: Path, state: int, iteration: int) -> Path:
    return folder / state_name(state) / f"checkpoint-{iteration}.qmd"


def read_table(path: Path, columns: int) -> NDArray[np.float64]:
    """Rows of a table, each with its number and this number of columns more.

    A row that is still being written does not count.  QuiltError if it is no such table, or a
    row is missing.
    """
    with reading(path):
        data = read_file(path)
    header, *rows = data[: data.rfind(b"\n") + 1].decode("ascii", "replace").splitlines() or [""]
    if not header.startswith("iteration,") or header.count(",") != columns:
        raise QuiltError(f"{path}: not a table of this replica exchange")
    values = np.empty((len(rows), 1 + columns))
    for number, row in enumerate(rows):
        cells = row.split(",")
        try:
            if len(cells) != 1 + columns or int(cells[0]) != number:
                raise ValueError
            values[number] = [float(cell) if cell else np.nan for cell in cells]
        except ValueError:
            raise QuiltError(
                f"{path}, line {number + 2}: not the {columns + 1} numbers of iteration {number}: "
                "the file is damaged"
            ) from None
    return values
