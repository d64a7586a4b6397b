# SPDX-License-Identifier: Apache-2.0
"""H5MD: HDF5 with positions, velocities and forces in single precision, box, steps and times.

h5py writes it, into pages in memory: see `journal.py` for how the file survives a kill.  Steps and
times are one dataset each that all groups share, as the specification allows.

Source: de Buyl, Colberg and Hoefling, Comput. Phys. Commun. 185, 1546 (2014); nongnu.org/h5md, 1.1.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QuiltError
from ..version import package_version
from .files import Mark
from .journal import JournalledFile
from .trajectory import Layout, Snapshot

_GROUP = "particles/all"
_UNITS = {
    "position": "nm",
    "velocity": "nm ps-1",
    "force": "kJ mol-1 nm-1",
    "box/edges": "nm",
}
_STEPS = 128  # in a chunk


class H5mdFile:
    """Appends frames to an H5MD file; the file can go back to each checkpoint's frame.

    Parameters
    ----------
    path, after, mark:
        As for `TrajectoryFile`.
    layout:
        What all frames have in common.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        layout: Layout,
        after: int | None = None,
        mark: Mark | None = None,
    ) -> None:
        self.path = Path(path)
        self.frames = 0
        self._layout = layout
        self._h5py = require_h5py()
        missing = mark.length == 0 if mark is not None else (after or 0) < layout.every
        new = after is None or missing
        self._file = JournalledFile(self.path, None if new else mark or Mark(0, None))
        self._content: Any = None
        try:
            if not new and after is not None:
                self._go_on(after)
        except BaseException:
            self.close()
            raise

    def write(self, snapshot: Snapshot) -> None:
        """Appends a frame."""
        with self._file.lent():
            if self._content is None:
                self._content = self._h5py.File(self._file, "w")
                self._make()
            self._append(snapshot)
            self._content.flush()
        self._file.commit()

    def _append(self, snapshot: Snapshot) -> None:
        values = {
            "step": snapshot.step,
            "time": snapshot.time,
            "box/edges/value": snapshot.box,
            "position/value": snapshot.positions,
            "velocity/value": snapshot.velocities,
            "force/value": snapshot.forces,
        }
        self.frames += 1
        for name, value in values.items():
            if value is not None:
                dataset = self._dataset(name)
                dataset.resize(self.frames, axis=0)
                dataset[self.frames - 1] = value

    def sync(self) -> None:
        """Returns when all frames are on the disk."""
        self._file.sync()

    def mark(self) -> Mark:
        """How far the file is now."""
        return self._file.mark()

    def close(self) -> None:
        """Closes the file; one without frames is removed."""
        self._file.forsake()  # all frames are committed
        try:
            if self._content is not None:
                self._content.close()
        finally:
            self._file.leave()

    def _dataset(self, name: str) -> Any:
        shared = f"position/{name}" if name in ("step", "time") else name
        return self._content[f"{_GROUP}/{shared}"]

    def _make(self) -> None:
        about = self._content.create_group("h5md")
        about.attrs["version"] = np.array([1, 1])
        about.create_group("author").attrs["name"] = "unknown"
        creator = about.create_group("creator")
        creator.attrs["name"], creator.attrs["version"] = "quiltmd", package_version()
        about.create_group("modules/units").attrs["version"] = np.array([1, 0])
        group = self._content.create_group(_GROUP)
        atoms = (self._layout.atoms, 3)
        shapes = {"position": atoms, "box/edges": (3, 3)}
        shapes |= {"velocity": atoms} if self._layout.velocities else {}
        shapes |= {"force": atoms} if self._layout.forces else {}
        for name, shape in shapes.items():
            kind = "f8" if name == "box/edges" else "f4"
            value = group.create_dataset(
                f"{name}/value", (0, *shape), kind, maxshape=(None, *shape), chunks=(1, *shape)
            )
            value.attrs["unit"] = _UNITS[name]
            for series, number in (("step", "i8"), ("time", "f8")):
                if name == "position":
                    group.create_dataset(
                        f"{name}/{series}", (0,), number, maxshape=(None,), chunks=(_STEPS,)
                    )
                else:
                    group[f"{name}/{series}"] = group[f"position/{series}"]
        group["position/time"].attrs["unit"] = "ps"
        group["box"].attrs["dimension"] = 3
        group["box"].attrs["boundary"] = ["periodic"] * 3

    def _go_on(self, after: int) -> None:
        try:
            with self._file.lent():
                self._content = self._h5py.File(self._file, "r+")
                shape = self._dataset("position/value").shape
                steps = self._dataset("step")[:]
                found = {name for name in ("velocity", "force") if name in self._content[_GROUP]}
        except (OSError, KeyError):
            raise QuiltError(f"{self.path}: not a trajectory that this run wrote") from None
        wanted = {"velocity": self._layout.velocities, "force": self._layout.forces}
        if shape[1:] != (self._layout.atoms, 3) or found != {n for n in wanted if wanted[n]}:
            raise QuiltError(f"{self.path}: the trajectory has another number of atoms or contents")
        kept = steps[steps <= after]
        expected = after - after % self._layout.every
        first = int(steps[0]) if len(steps) else self._layout.every
        if expected >= first and (len(kept) == 0 or kept[-1] != expected):
            raise QuiltError(
                f"{self.path}: the frame of step {expected} is missing; frames were lost, so the "
                "run cannot be carried on; put the complete file back"
            )
        self.frames = len(kept)


def require_h5py() -> Any:
    """The module h5py; QuiltError, with what to install, where it is missing."""
    try:
        import h5py
    except ImportError:
        raise QuiltError(
            "H5MD files need h5py: pip install 'quiltmd[trajectories]', or choose another format "
            "(.dcd, .nc)"
        ) from None
    return h5py
