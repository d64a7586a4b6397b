# SPDX-License-Identifier: Apache-2.0
"""Settings that a run has no use for, such as a pressure at constant volume.

Whoever states one expects that it acts, so it is refused, at its default value too; the resolved
configuration of a run does not have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unused:
    """Settings of a section, all (`keys` None) or some, and in words why they have no use."""

    section: str
    keys: tuple[str, ...] | None
    why: str

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of these names of settings that have no use, in their order."""
        return [name for name in names if self.keys is None or name in self.keys]


def unused_settings(choices: Mapping[str, Any]) -> Iterator[Unused]:
    """What has no use with the choices of a run: its sections and their keys, defaults left out.

    Sections that are none are passed over, as those who check them name them.
    """
    sections = {name: found for name, found in choices.items() if isinstance(found, Mapping)}
    yield from _unused_of_pme(sections.get("nonbonded", {}))
    integrator, barostat = sections.get("integrator", {}), sections.get("barostat", {})
    ensemble = integrator.get("ensemble", "nvt")
    thermostat = sections.get("thermostat", {}).get("kind", "langevin")
    if ensemble != "npt":
        yield Unused("barostat", None, f"the ensemble {ensemble} has no barostat: choose npt")
    if ensemble == "nve":
        yield Unused("thermostat", None, "the ensemble nve has no thermostat: choose nvt or npt")
        yield Unused("integrator", ("friction",), "the ensemble nve has no friction: choose nvt")
    elif thermostat == "langevin":
        why = "the thermostat 'langevin' has the friction of [integrator] alone: choose another"
        yield Unused("thermostat", ("time_constant", "every", "chain_length"), why)
    else:
        why = f"the thermostat '{thermostat}' has no friction: give time_constant"
        yield Unused("integrator", ("friction",), why)
        if thermostat != "nose-hoover":
            why = f"the thermostat '{thermostat}' is no chain: choose nose-hoover"
            yield Unused("thermostat", ("chain_length",), why)
    if barostat.get("kind") == "monte-carlo":
        why = "the monte-carlo barostat has no time constant: choose another"
        yield Unused("barostat", ("time_constant",), why)
    for name, section in (("integrator", integrator), ("barostat", barostat)):
        if section.get("annealing") is None:
            yield Unused(name, ("annealing_every",), "nothing is annealed: give annealing")
    if not choices.get("restraint"):
        schedule = ("restraint_annealing", "restraint_annealing_every")
        yield Unused("integrator", schedule, "there are no restraints: give a [[restraint]]")
    elif integrator.get("restraint_annealing") is None:
        why = "the strength of restraints stays: give restraint_annealing"
        yield Unused("integrator", ("restraint_annealing_every",), why)
    if sections.get("solvent", {}).get("model", "none") == "none":
        keys = ("salt_concentration", "salt_temperature", "dielectric", "surface")
        yield Unused("solvent", keys, "there is no implicit solvent: choose a model")


def _unused_of_pme(nonbonded: Mapping[str, Any]) -> Iterator[Unused]:
    method = nonbonded.get("method", "pme")
    if method != "pme":
        keys = ("pme_order", "pme_tolerance", "pme_alpha", "pme_grid")
        yield Unused("nonbonded", keys, f"the method {method} has no PME")
        yield Unused("integrator", ("long_range_every",), f"the method {method} has no PME")
    elif nonbonded.get("pme_grid") is not None:
        why = "pme_alpha and pme_grid replace pme_tolerance"
        yield Unused("nonbonded", ("pme_tolerance",), why)
