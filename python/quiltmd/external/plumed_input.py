# SPDX-License-Identifier: Apache-2.0
"""PLUMED's input: its actions, and which of them suit steps that may be repeated.

Memory may change only where a step will not be repeated, at multiples of `update_every`.  So the
intervals of actions must be multiples of it, and actions that remember every step are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import QuiltError

# Actions whose memory changes at every step.
_EVERY_STEP = {
    "ABMD",
    "ADAPTIVE_PATH",
    "BAIES",
    "CALIBER",
    "DRR",
    "EDS",
    "EFFECTIVE_ENERGY_DRIFT",
    "EMMI",
    "EXTENDED_LAGRANGIAN",
    "FISST",
    "LOGMFD",
    "MAXENT",
    "MAZE_OPTIMIZER_BIAS",
    "METAINFERENCE",
    "RESCALE",
    "VES_LINEAR_EXPANSION",
}
_REMEMBERS = "it remembers every step, but steps may be repeated here"
# Keywords that are refused, and why; ADAPTIVE with the value DIFF alone.
REFUSED_WORDS = {
    "ACCELERATION": _REMEMBERS,
    "ADAPTIVE=DIFF": _REMEMBERS,
    "DOSCORE": _REMEMBERS,
    "FREQUENCY_ADAPTIVE": _REMEMBERS,
    "NEIGH_STRIDE": _REMEMBERS,
    "NLIST": _REMEMBERS,
    "WALKERS_MPI": "use WALKERS_DIR",
}
REFUSED_ACTIONS = {
    "COMMITTOR": "PLUMED cannot stop a run",
    "UNITS": "use PLUMED's own units, nm, kJ/mol and ps",
} | dict.fromkeys(_EVERY_STEP, _REMEMBERS)
_INTERVALS = ("STRIDE", "PACE")
_FILES = {"METAD": "HILLS", "OPES_METAD": "KERNELS", "OPES_METAD_EXPLORE": "KERNELS"}
_COLLECTS = {"ACCUMULATE", "AVERAGE", "COLLECT", "COLLECT_FRAMES", "HISTOGRAM"}
# Actions that act at every step by default.
_BY_DEFAULT = _COLLECTS | {
    "DUMPATOMS",
    "DUMPDERIVATIVES",
    "DUMPFORCES",
    "DUMPMULTICOLVAR",
    "PRINT",
}
_READ_BACK = ("GRID_RFILE", "STATE_RFILE")
_WORD = re.compile(r"\{[^{}]*\}|\S+")


@dataclass(frozen=True)
class Action:
    """An action: its name, its values by keyword, and its line as PLUMED reads it."""

    name: str
    values: dict[str, str]
    line: str

    @property
    def words(self) -> list[str]:
        """Its keywords, with their values."""
        return self.line.split()

    def files(self) -> list[str]:
        """Names of files that it writes, or reads without changing them."""
        given = self.values.get("FILE", _FILES.get(self.name))
        return [] if given is None else given.split(",")


def read_actions(path: Path, above: tuple[Path, ...] = ()) -> list[Action]:
    """The actions of an input file, with those of files that it includes.

    `above` are the files that include it.  Raises QuiltError if a file cannot be read, or includes
    itself.
    """
    above = (*above, path.resolve())
    if above[-1] in above[:-1]:
        raise QuiltError(f"{path}: the PLUMED input includes itself")
    found = []
    for line in _lines(path):
        words = _words(line)
        if words[0] == "ENDPLUMED":
            break
        values = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        if words[0] == "INCLUDE":
            found += read_actions(Path(values.get("FILE", "")), above)
        else:
            found.append(Action(words[0], values, line))
    return found


def check_actions(actions: list[Action], update_every: int) -> None:
    """Raises QuiltError, which names the action, if one does not suit this `update_every`."""
    for action in actions:
        where = f"PLUMED's {action.name}"
        if action.name in REFUSED_ACTIONS:
            raise QuiltError(f"{where} is not supported: {REFUSED_ACTIONS[action.name]}")
        for word in action.words:
            if why := REFUSED_WORDS.get(word) or REFUSED_WORDS.get(word.partition("=")[0]):
                raise QuiltError(f"{where}: {word} is not supported: {why}")
        if action.name in _BY_DEFAULT and "STRIDE" not in action.values:
            raise QuiltError(f"{where} acts every step: give STRIDE, a multiple of {update_every}")
        if ".work" in action.line:
            raise QuiltError(f"{where}: work would count steps that are repeated: leave it out")
        if "PACE" in action.values and not action.files():
            raise QuiltError(f"{where}: give FILE, so that a checkpoint can note its length")
        for key in _INTERVALS:
            _check_interval(where, key, action.values.get(key), update_every)
        for name in action.files():
            if name.endswith(".gz"):
                raise QuiltError(
                    f"{where}: {name} could not be continued after a checkpoint: write it without "
                    ".gz"
                )


def refuse_to_restart(actions: list[Action]) -> None:
    """Raises QuiltError if the memory of an action is in files that are written anew."""
    for action in actions:
        if action.name in _COLLECTS:
            raise QuiltError(
                f"PLUMED's {action.name} has its memory in no file: the run cannot be continued "
                "from a checkpoint"
            )
        for key in _READ_BACK:
            if key in action.values:
                raise QuiltError(
                    f"PLUMED's {action.name} reads {key}, a file that may be of a later step than "
                    "the checkpoint: the run cannot be continued from it"
                )


def _check_interval(where: str, key: str, text: str | None, update_every: int) -> None:
    if text is None:
        return
    steps = int(text) if text.isdigit() else 0
    if steps < 1 or steps % update_every:
        raise QuiltError(
            f"{where}: {key}={text} must be a multiple of update_every = {update_every}, at which "
            "PLUMED's memory may change"
        )


def _lines(path: Path) -> Iterator[str]:
    """Logical lines, without comments; those between `...` are joined."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise QuiltError(f"{path}: the PLUMED input cannot be read: {why}") from None
    parts: list[str] | None = None
    for raw in text.splitlines():
        words = raw.partition("#")[0].split()
        if parts is None and words[-1:] == ["..."]:
            parts = words[:-1]
        elif parts is not None and words[:1] == ["..."]:
            yield " ".join(parts)
            parts = None
        elif parts is not None:
            parts += words
        elif words:
            yield " ".join(words)
    if parts is not None:
        raise QuiltError(f"{path}: the block '{' '.join(parts)[:40]} ...' has no end")


def _words(line: str) -> list[str]:
    """The name of an action, and its keywords; without its label."""
    words = _WORD.findall(line)
    return words[1:] if words[0].endswith(":") and len(words) > 1 else words
