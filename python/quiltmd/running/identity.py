# SPDX-License-Identifier: Apache-2.0
"""Identity of a run: the contents of its inputs, and the settings that must not change.

A checkpoint carries it.  How far, where and how often checkpoints are written may change; whatever
decides the trajectory, or which of its steps are in the files, may not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..description.state import State
from ..errors import QuiltError
from ..inputs import included_files
from .config import Config
from .input_hashes import file_hash
from .older_names import kept_by_present_names
from .setting_fields import defaults, section_defaults

# Settings of which earlier versions kept nothing although they had them: as they are now.
_NOT_KEPT = ("system.frame", "integrator.kind")
# Names of inputs in a provenance, and how messages name them.
_FILES = {
    "topology": "the topology file",
    "coordinates": "the coordinates file",
    "parameters": "the parameters file",
    "includes": "a file that the topology includes",
    "velocities": "the velocities file",
    "reference": "the reference file",
    "second": "a file or macro of [alchemy.second]",
}


def provenance_of(config: Config, state: State) -> dict[str, Any]:
    """Hashes of the inputs, and the settings that must stay."""
    system, second = config.system, config.second
    return {
        "topology": file_hash(system.topology),
        "coordinates": file_hash(system.coordinates),
        "parameters": [file_hash(file) for file in system.parameters],
        "includes": [
            file_hash(Path(file)) for file in included_files(system.topology, system.defines)
        ],
        "velocities": None if system.velocities is None else file_hash(system.velocities),
        "reference": None if system.reference is None else file_hash(system.reference),
        "second": None if second is None else second.identity(),
        "physics": config.physics(state.box),
        "outputs": config.outputs(),
    }


def refuse_changes(before: dict[str, Any], now: dict[str, Any], otherwise: str) -> None:
    """QuiltError that names what differs from the run that a checkpoint is of.

    `otherwise` ends it: how to begin a run that is not the same.
    """
    # Entries that checkpoints of earlier versions lack; they did not record includes.
    absent = {"parameters": [], "includes": now["includes"], "velocities": None, "reference": None}
    absent["second"] = None
    before = absent | before
    changes = [words for name, words in _FILES.items() if before[name] != now[name]]
    changes += changed_settings(before, now)
    if changes:
        names = ", ".join(changes)
        raise QuiltError(
            f"cannot resume, the run would not be the same: changed {names}{otherwise}"
        )


def changed_settings(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """In words, settings of which two provenances say different things.

    A setting that an older checkpoint does not know had its default then.
    """
    groups = [group for group in ("physics", "outputs") if group in before]
    return [words for group in groups for words in _differences(before[group], now[group])]


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    before = kept_by_present_names(before)
    # These are 0 where there are none.
    known = _known_defaults(before)
    known |= {"nonbonded.pme_bandwidth": 0.0, "nonbonded.pme_window": 0.0}
    known["nonbonded.coulomb_cutoff"] = before.get("nonbonded.cutoff")
    known |= {key: now.get(key) for key in _NOT_KEPT}
    found = []
    for key in sorted(before.keys() | now.keys()):
        old, new = (settings.get(key, known.get(key)) for settings in (before, now))
        if _completed(key, old, new) != new:
            found.append(f"{key} (was {old}, is {new})")
    return found


def _known_defaults(before: dict[str, Any]) -> dict[str, Any]:
    """Defaults of all settings, in optional sections only where these were there."""
    known = defaults(Config)
    for section in {key.partition(".")[0] for key in before} & Config.model_fields.keys():
        own = section_defaults(section, Config)
        known |= {f"{section}.{key}": value for key, value in own.items()}
    return known


def _completed(key: str, old: Any, new: Any) -> Any:
    """One of several sections of a name, with the defaults of settings that are new in it."""
    section, _, number = key.partition(".")
    if not (number.isdigit() and isinstance(old, dict) and isinstance(new, dict)):
        return old
    own = section_defaults(section, Config)
    return {name: own[name] for name in new.keys() & own.keys()} | old
