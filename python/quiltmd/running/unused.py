# SPDX-License-Identifier: Apache-2.0
"""Settings without effect in a run, such as a pressure at constant volume.

Whoever states one expects that it acts, so it is refused, at its default value too; the resolved
configuration of a run does not have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..description.barostats import BAROSTATS
from ..description.nonbonded import Nonbonded
from ..description.settings import Needs, settings_only_with
from ..description.thermostats import THERMOSTATS
from .dynamics_sections import LANGEVIN, kind_of_integrator, lacking_settings
from .setting_fields import fields_of, setting_fields, single_sections

_Sections = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Unused:
    """Settings of a section, all (`keys` None) or some; why without use, and what gives one."""

    section: str
    keys: tuple[str, ...] | None
    why: str
    remedy: str

    def among(self, names: Iterable[str]) -> list[str]:
        """The unused settings among these names, in order."""
        return [name for name in names if self.keys is None or name in self.keys]


def unused_settings(choices: Mapping[str, Any], config: type[BaseModel]) -> Iterator[Unused]:
    """Settings of `config` without effect in a run: sections and their keys, except defaults.

    Sections that are none are passed over, as those who check them name them.
    """
    sections = {name: found for name, found in choices.items() if isinstance(found, Mapping)}
    yield from _unused_of_methods(sections.get("nonbonded", {}))
    yield from _unused_of_baths(sections)
    baths = choices.get("bath", ())
    if baths:
        why = "each [[bath]] has its own temperature and friction"
        yield Unused("integrator", ("temperature", "friction"), why, "leave out [[bath]]")
        for coupling in {found.coupling for found in THERMOSTATS.values()}:
            why = f"each [[bath]] has its own {coupling}"
            yield Unused("thermostat", (coupling,), why, "leave out [[bath]]")
    annealed = any(_annealing_of(bath) is not None for bath in baths)
    yield from _unused_of_schedules(sections, bool(choices.get("restraint")), annealed)
    run = sections.get("run", {})
    anew = run.get("start_temperature") is not None
    if anew or run.get("minimize", False) or run.get("draw_velocities", False):
        why = "velocities are drawn (minimize, draw_velocities, start_temperature of [run])"
        yield Unused("system", ("velocities",), why, "leave these out")
        yield Unused("run", ("require_velocities",), why, "leave these out")
    if "exchange" in choices:
        why = "the states of an exchange have temperatures of their own"
        yield Unused("integrator", ("temperature",), why, "give the lowest of them")
    for name in single_sections(config):
        yield from _unused_beside_what_is_off(
            name, sections.get(name, {}), setting_fields(name, config)
        )


def _unused_beside_what_is_off(
    section: str, given: Mapping[str, Any], fields: Mapping[str, FieldInfo]
) -> Iterator[Unused]:
    """Settings whose declaration says that they need another one of the section."""
    keys: dict[Needs, list[str]] = {}
    for key, field in fields.items():
        for mark in field.metadata:
            if isinstance(mark, Needs):
                keys.setdefault(mark, []).append(key)
    for mark, found in keys.items():
        value = given.get(mark.setting, fields[mark.setting].default)
        if not value or value == "none":
            yield Unused(section, tuple(found), mark.otherwise, mark.remedy)


def _annealing_of(bath: Any) -> Any:
    is_table = isinstance(bath, Mapping)
    return bath.get("annealing") if is_table else getattr(bath, "annealing", None)


def _unused_of_baths(sections: _Sections) -> Iterator[Unused]:
    ensemble = sections.get("integrator", {}).get("ensemble", "nvt")
    thermostat = sections.get("thermostat", {}).get("kind", LANGEVIN)
    lacking = lacking_settings(kind_of_integrator(ensemble, thermostat))
    if ensemble != "npt":
        yield Unused("barostat", None, f"the ensemble {ensemble} has no barostat", "choose npt")
    if ensemble == "nve":
        none, remedy = "the ensemble nve has no", "choose nvt or npt"
        yield Unused("thermostat", None, f"{none} thermostat", remedy)
        for key in lacking:
            yield Unused("integrator", (key,), f"{none} {key}", remedy)
    elif thermostat == LANGEVIN:
        why = "the thermostat 'langevin' has the friction of [integrator] alone"
        keys = [key for found in THERMOSTATS.values() for key in fields_of(found)]
        yield Unused("thermostat", tuple(keys), why, "choose another kind")
    else:
        for key in lacking:
            yield _of_the_thermostat(thermostat, key)
        yield from _unused_by_choice("thermostat", thermostat, THERMOSTATS)
    barostat = sections.get("barostat", {}).get("kind", next(iter(BAROSTATS)))
    yield from _unused_by_choice("barostat", barostat, BAROSTATS)


def _of_the_thermostat(kind: Any, key: str) -> Unused:
    """A setting that [integrator] lacks beside a thermostat, which may have it itself."""
    found = THERMOSTATS.get(kind)
    if found is not None and key in fields_of(found):
        why = f"it is a setting of the thermostat '{kind}'"
        return Unused("integrator", (key,), why, f"give {key} of [thermostat]")
    coupling = "its settings" if found is None else found.coupling
    why = f"the thermostat '{kind}' has no {key}"
    return Unused("integrator", (key,), why, f"give {coupling} of [thermostat] in its place")


def _unused_by_choice(section: str, kind: Any, choices: Mapping[str, Any]) -> Iterator[Unused]:
    """Settings of other choices that the chosen one does not have."""
    owners: dict[str, list[str]] = {}
    for other, found in choices.items():
        for key in fields_of(found):
            owners.setdefault(key, []).append(other)
    for key, kinds in owners.items():
        if kind in choices and kind not in kinds:
            why = f"the {section} '{kind}' has no {key}"
            yield Unused(section, (key,), why, f"choose {' or '.join(kinds)}")


def _unused_of_schedules(
    sections: _Sections, restrained: bool, annealed_baths: bool
) -> Iterator[Unused]:
    for name in ("integrator", "barostat"):
        annealed = annealed_baths and name == "integrator"
        if sections.get(name, {}).get("annealing") is None and not annealed:
            yield Unused(name, ("annealing_every",), "nothing is annealed", "give annealing")
    if not restrained:
        yield Unused("restraints", None, "there are no restraints", "give a [[restraint]]")
    elif sections.get("restraints", {}).get("annealing") is None:
        why = "the strength of restraints stays"
        yield Unused("restraints", ("annealing_every",), why, "give annealing")


def _unused_of_methods(nonbonded: Mapping[str, Any]) -> Iterator[Unused]:
    method = nonbonded.get("method", "pme")
    of_lj = settings_only_with(Nonbonded, "lennard_jones", "pme")
    if method != "reaction-field":
        why = f"the method {method} has no reaction field"
        of_field = settings_only_with(Nonbonded, "method", "reaction-field")
        yield Unused("nonbonded", of_field, why, "choose reaction-field")
    if method != "fmm":
        why = f"the method {method} is no fast multipole method"
        of_fmm = settings_only_with(Nonbonded, "method", "fmm")
        yield Unused("nonbonded", of_fmm, why, "choose fmm")
    elif nonbonded.get("fmm_grid") is not None:
        why = "fmm_grid takes its place"
        yield Unused("nonbonded", ("fmm_tolerance",), why, "leave out the grid")
    if method != "pme":
        of_pme, why = (
            settings_only_with(Nonbonded, "method", "pme"),
            f"the method {method} has no PME",
        )
        yield Unused("nonbonded", of_pme, why, "choose pme")
        if method != "fmm":
            yield Unused("integrator", ("long_range_every",), why, "choose pme or fmm")
    elif nonbonded.get("pme_grid") is not None:
        why = "pme_grid takes its place"
        yield Unused("nonbonded", ("pme_tolerance", "pme_split"), why, "leave out the grid")
    if method == "pme" and nonbonded.get("lennard_jones", "cutoff") != "pme":
        why = "Lennard-Jones interactions end at the cutoff"
        yield Unused("nonbonded", of_lj, why, "choose lennard_jones = pme")
        return
    if nonbonded.get("lj_pme_grid") is not None:
        why = "lj_pme_alpha and lj_pme_grid replace lj_pme_tolerance"
        yield Unused("nonbonded", ("lj_pme_tolerance",), why, "leave out both of these")
