# SPDX-License-Identifier: Apache-2.0
"""Settings whose names have changed: files of runs that have the older names still load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import QuiltError
from .setting_fields import Place

RENAMED: dict[Place, Place] = {
    ("integrator", "restraint_annealing"): ("restraints", "annealing"),
    ("integrator", "restraint_annealing_every"): ("restraints", "annealing_every"),
    ("nonbonded", "field_of_excluded"): ("nonbonded", "reaction_field_on_exclusions"),
    ("run", "away"): ("run", "patch_reach"),
    ("exchange", "full_rows"): ("exchange", "all_energies"),
}


def with_present_names(settings: dict[str, Any], source: str) -> dict[str, Any]:
    """Settings of a file, in its stages too, by the names that they have now.

    Raises
    ------
    QuiltError
        If a setting is given by both of its names.
    """
    present: dict[str, Any] = {
        name: [with_present_names(stage, source) for stage in section]
        if name == "stage" and _are_tables(section)
        else dict(section)
        if isinstance(section, dict)
        else section
        for name, section in settings.items()
    }
    for (section, key), (its_section, its_key) in RENAMED.items():
        if not isinstance(present.get(section), dict) or key not in present[section]:
            continue
        value = present[section].pop(key)
        owner: Any = present.setdefault(its_section, {})
        if not isinstance(owner, dict) or its_key in owner:
            raise QuiltError(
                f"{source}: leave out {key} of [{section}]: it is now {its_key} of [{its_section}]"
            )
        owner[its_key] = value
    return present


def kept_by_present_names(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in a checkpoint, as "section.key", with their present names."""
    now = {".".join(older): ".".join(place) for older, place in RENAMED.items()}
    return {now.get(key, key): value for key, value in kept.items()}


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)
