# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: its files, its lock, and what becomes of files that are already there.

Nothing that lies in a folder is ever deleted for a new run: it is refused, or with `--overwrite`
moved into a subfolder `backup.1`, `backup.2`, ... which can be resumed like any other folder of a
run.  An input that is moved so is found there afterwards.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import QuiltError
from ..inputs.checkpoints import is_checkpoint
from ..outputs.checkpoint import Checkpoint, CheckpointError, previous_path, read_latest
from ..outputs.files import (
    make_folder,
    move,
    read_file,
    reading,
    remove_temporaries,
    replace_file,
    sync_folder,
    writing,
)
from .config import Config, read_resolved
from .faults import refuse_other_than_utf8
from .output_sections import TRAJECTORY, earlier_names
from .progress import say, warn

_FINAL = ("cif", "pdb", "gro", "ncrst", "rst7", "coor", "vel", "xsc")
_STRUCTURE = (".pdb", ".cif")  # of what was selected


class Folder:
    """Folder of the files of a run.

    Parameters
    ----------
    path:
        The folder.
    names:
        Names of the trajectories that the run writes to it, or of the folders of its stages.
    """

    def __init__(self, path: Path, names: Iterable[str] = ()) -> None:
        self.path = path
        self._names = list(names)
        self.config = path / "config.toml"
        self.log = path / "log.csv"
        self.thermo = path / "thermo.log"  # in the form of LAMMPS
        self.collective = path / "collective.csv"  # of collective restraints
        self.hills = path / "HILLS"  # of metadynamics
        self.work = path / "work.csv"  # of switching
        self.moves = path / "moves.csv"  # of an expanded ensemble
        self.states = (path / "dhdl.csv", path / "dhdl.xvg")  # of alchemical atoms
        self.checkpoint = path / "checkpoint.qmd"
        self.profile = path / "profile.csv"
        self.timeline = path / "timeline.json"
        self.timeline_page = path / "timeline.html"
        self.sessions = path / "sessions.json"
        self.report = path / "report.html"
        self.stream = path / "imd"  # structure of streamed atoms, with the suffix of its format
        self.inputs = path / "inputs"

    def final(self, kind: str) -> Path:
        """The last structure in some format."""
        return self.path / f"final.{'coor' if kind == 'namd' else kind}"

    def files(self) -> list[Path]:
        """All that the run may write, or that the one before it in the folder has written."""
        checkpoints = (self.checkpoint, previous_path(self.checkpoint), self._damaged)
        final = [self.path / f"final.{suffix}" for suffix in _FINAL]
        pictures = (self.report, self.timeline_page, self.path / "energies.svg")
        tables = (self.profile, self.timeline, self.sessions, *pictures)
        names = dict.fromkeys((TRAJECTORY, *self._names, *self._earlier_names()))
        trajectories = [self.path / f"{name}{end}" for name in names for end in ("", *_STRUCTURE)]
        stream = [self.stream.with_suffix(end) for end in _STRUCTURE]
        outputs = (
            self.config,
            self.log,
            self.thermo,
            self.collective,
            self.hills,
            self.work,
            self.moves,
            *self.states,
            *trajectories,
            *stream,
            *checkpoints,
            *final,
            *tables,
        )
        return [*outputs, self.inputs]

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Makes the folder and locks it against other runs, for as long as this process lives.

        A folder made here is removed again if it stays empty.
        """
        made = not self.path.exists()
        with writing(self.path):
            make_folder(self.path)
            handle = os.open(self.path, os.O_RDONLY)
        try:
            _lock(handle, self.path)
            remove_temporaries(self.path, [file.name for file in self.files()])
            yield
        finally:
            with suppress(OSError):
                os.close(handle)
            if made:
                with suppress(OSError):
                    self.path.rmdir()

    def refuse_to_replace(self) -> None:
        """QuiltError if the folder has files that a new run would replace."""
        found = [file for file in self.files() if os.path.lexists(file)]
        checkpoints = (self.checkpoint, previous_path(self.checkpoint))
        aside = f"give --overwrite, which moves them to {self._backup()}"
        if any(file in found for file in checkpoints):
            raise QuiltError(
                f"{self.path} already contains a run: continue it with 'quiltmd run --resume "
                f"{self.path}', choose another folder, or {aside.replace('them', 'it')}"
            )
        if found:
            names = ", ".join(file.name for file in found)
            raise QuiltError(
                f"{self.path} already has files of the names that a run writes ({names}): choose "
                f"another folder (--out, or dir in [output]), or {aside}"
            )

    def move_aside(self, config: Config) -> Config:
        """Moves earlier results into a backup; the configuration then names inputs where they are.

        The configuration is made last to go, so that an interrupted move can be told from a run.
        """
        found = [file for file in self.files() if os.path.lexists(file)]
        if not found:
            return config
        backup = self._backup()
        inputs = {name: _moved(file, found, backup) for name, file in config.input_files().items()}
        with writing(backup):
            make_folder(backup)
        for file in reversed(found):
            with writing(backup / file.name):
                move(file, backup / file.name)
        with writing(backup):
            sync_folder(backup)
            sync_folder(self.path)
        say(f"earlier results in {self.path} are now in {backup}")
        return config.with_inputs(inputs)

    def copy_inputs(self, config: Config) -> Config:
        """Copies the input files into the folder, from where the run then takes them.

        Files that the topology includes from its own folder keep their names; those of an
        installation stay where they are.
        """
        copies = {
            name: self.inputs / f"{name}-{source.name}"
            for name, source in config.input_files().items()
        }
        for name, source in config.input_files().items():
            _copy(source, copies[name])
        for name, source in config.included_files().items():
            _copy(source, self.inputs / name)
        return config.with_inputs(copies)

    def copy_checkpoints(self, config: Config) -> Config:
        """Copies inputs that are checkpoints of other runs, which change when these go on."""
        inputs = config.input_files()
        found = {name: file for name, file in inputs.items() if is_checkpoint(file)}
        copies = {name: self.inputs / f"{name}-{file.name}" for name, file in found.items()}
        for name, file in found.items():
            _copy(file, copies[name])
        return config.with_inputs({**inputs, **copies})

    def settings(self) -> dict[str, Any]:
        """Settings in config.toml, with outputs here; QuiltError if there is none."""
        if not self.config.exists():
            raise QuiltError(f"{self.path} holds no run: {self.config.name} is missing")
        settings = read_resolved(self.config)
        settings.setdefault("output", {})["dir"] = self.path.absolute()  # it may have been moved
        return settings

    def settings_of_run(self) -> dict[str, Any]:
        """Settings in config.toml of a single run; QuiltError for stages or replicas."""
        settings = self.settings()
        if "exchange" in settings:
            raise QuiltError(
                f"{self.path} holds a replica exchange: use 'quiltmd exchange' with --analyse or "
                f"--resume"
            )
        if "stage" in settings:
            begun = sorted(path.parent for path in self.path.glob("*-*/config.toml"))
            last = f", such as {begun[-1]}" if begun else ""
            raise QuiltError(f"{self.path} has stages: give the folder of one{last}")
        return settings

    def refuse_names(self, config: Config) -> None:
        """QuiltError if config.toml cannot name a file or the folder itself."""
        refuse_other_than_utf8(f'{config.as_toml(self.path)}\ndir = "{self.path}"')

    def write_config(self, config: Config) -> None:
        """Puts config.toml in place, unless it says the same already."""
        text = config.as_toml(self.path).encode()
        with writing(self.config):
            if not self.config.exists() or read_file(self.config) != text:
                replace_file(self.config, text)

    def how_to_begin_anew(self) -> str:
        """For the end of a message: how a run with other settings begins where this one is."""
        last = self.final("ncrst")
        source = last if last.exists() else self.path
        return (
            "; other settings need a new run, which begins at the last checkpoint of this run: "
            "put them "
            f"into a copy of {self.config}, without a minimisation, and start it with 'quiltmd run "
            f"COPY --coordinates {source} --out NEW'"
        )

    def latest(self) -> Checkpoint:
        """The last good checkpoint; where it is the previous one, it takes the other's place."""
        try:
            checkpoint, fault = read_latest(self.checkpoint)
        except CheckpointError as error:
            before = (
                ""
                if self.checkpoint.exists()
                else (
                    "; if the run was stopped before its first checkpoint, start it again with "
                    "--overwrite"
                )
            )
            raise QuiltError(f"cannot resume: {error}{before}") from None
        if fault is not None:
            warn(f"{fault}; falling back to the previous checkpoint, step {checkpoint.state.step}")
            with writing(self.checkpoint):
                if self.checkpoint.exists():
                    os.replace(self.checkpoint, self._damaged)
                os.replace(previous_path(self.checkpoint), self.checkpoint)
                sync_folder(self.path)
        return checkpoint

    def _earlier_names(self) -> list[str]:
        return earlier_names(self.config) if self.config.is_file() else []

    @property
    def _damaged(self) -> Path:
        return self.checkpoint.with_suffix(".damaged.qmd")

    def _backup(self) -> Path:
        number = 1
        while os.path.lexists(self.path / f"backup.{number}"):
            number += 1
        return self.path / f"backup.{number}"


def _copy(source: Path, to: Path) -> None:
    with writing(to.parent):
        make_folder(to.parent)
    with reading(source):
        data = read_file(source)
    replace_file(to, data)


def _moved(path: Path, files: list[Path], backup: Path) -> Path:
    """Path of an input after these files were moved to the backup."""
    # An input may be reached by a link, or be one.
    names = (Path(os.path.realpath(path)), Path(os.path.realpath(path.parent)) / path.name)
    for file in files:
        old = Path(os.path.realpath(file.parent)) / file.name
        for name in names:
            if name == old or old in name.parents:
                return backup / file.name / name.relative_to(old)
    return path


def _lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise QuiltError(f"{path} is in use by another run") from None
    except OSError as error:
        warn(
            f"{path} cannot be locked ({error.strerror}): make sure that no second run uses this "
            "folder"
        )
