# SPDX-License-Identifier: Apache-2.0
"""GROMACS' temperature and pressure coupling, and annealing, as settings of a run here.

Source: GROMACS User Guide, "Molecular dynamics parameters (.mdp options)".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

from ..description.thermostats.nose_hoover import NoseHooverChain
from ..reading.entries import Control, Entries, number_of
from .mdp_groups import Curve, Index, TemperatureGroup, add_baths, has_known_part
from .mdp_words import choice

_OF_ANNEALING = ("annealing-npoints", "annealing-time", "annealing-temp")
_OF_A_BATH = ("tc-grps", "tau-t", "ref-t", *_OF_ANNEALING)
_OF_A_BAROSTAT = ("pcoupltype", "tau-p", "ref-p", "compressibility", "nstpcouple")
_OF_AN_ENSEMBLE = ("ensemble-temperature-setting", "ensemble-temperature")
_THERMOSTATS = {
    "v-rescale": "velocity-rescaling",
    "nose-hoover": "nose-hoover",
    "berendsen": "berendsen",
}
_BAROSTATS = {
    "c-rescale": "cell-rescaling",
    "parrinello-rahman": "cell-rescaling",
    "berendsen": "berendsen",
}
_COUPLINGS = {  # how many pressures, and compressibilities, they have
    "isotropic": ("isotropic", 1),
    "semiisotropic": ("semi-isotropic", 2),
    "surface-tension": ("semi-isotropic", 2),
    "anisotropic": ("anisotropic", 6),
}


def take_coupling(control: Control, entries: Entries, integrator: str, index: Index | None) -> None:
    """Heat baths and pressure; a minimisation has neither."""
    entries.tell("Quilt chooses the interval", "nsttcouple")
    if "minimize" in control.settings["run"]:
        control.set("integrator", "ensemble", "nve")
        words = ("tcoupl", "pcoupl", "annealing", *_OF_A_BATH, *_OF_A_BAROSTAT)
        entries.tell("no effect in a minimisation", *words, *_OF_AN_ENSEMBLE)
        return
    _thermostat(control, entries, integrator, index)
    _ensemble(control, entries)
    _barostat(control, entries)


def _ensemble(control: Control, entries: Entries) -> None:
    """The temperature by which a barostat goes: that of the bath, whatever else is said."""
    is_stated = any(one.value.lower() == "constant" for one in entries.peek(_OF_AN_ENSEMBLE[0]))
    own = {control.settings["integrator"].get("temperature")}
    baths = {bath.get("temperature") for bath in control.settings.get("bath", ())} or own
    for entry in entries.peek(_OF_AN_ENSEMBLE[1]):
        if is_stated and baths - {None, number_of(entry.value)}:
            entries.reject(entry, "only that of the bath")
    entries.tell("that of the bath", *_OF_AN_ENSEMBLE)


def _thermostat(control: Control, entries: Entries, integrator: str, index: Index | None) -> None:
    stated, coupling = entries.peek("tcoupl"), choice(entries, "tcoupl", "no")
    if integrator != "sd" and coupling == "no":
        control.set("integrator", "ensemble", "nve")
        entries.refuse("needs a thermostat", "annealing", unless=_is_no_annealing)
        entries.tell("no effect without a thermostat", *_OF_A_BATH)
        return
    if integrator == "sd" and coupling != "no":
        entries.note("integrator sd is the thermostat", *stated)
    control.set("integrator", "ensemble", "nvt")
    groups = _groups(control, entries)
    if not groups:
        return
    kind = "langevin" if integrator == "sd" else _THERMOSTATS.get(coupling, "")
    shortest = min(group.time for group in groups)
    if not kind:
        control.refused.append(f"tcoupl {coupling}: only v-rescale, nose-hoover, berendsen, and sd")
    elif shortest <= 0 and kind != "langevin":
        control.refused.append(f"tau-t {shortest:g}: only a bath that acts, with a positive time")
    else:
        if kind != "langevin":
            control.set("thermostat", "kind", kind)
        if kind == "nose-hoover":
            _nose_hoover(control, entries, integrator, shortest)
        _set_baths(control, groups, kind, index)


def _set_baths(
    control: Control, groups: list[TemperatureGroup], kind: str, index: Index | None
) -> None:
    """A bath for each group, or one bath for all.

    Groups with the same bath share one with Langevin dynamics, which acts on each atom by itself,
    and where the atoms of no group are known.  A single group must have all atoms, as grompp asks.
    """
    names, first = [group.name for group in groups], groups[0]
    setting, of_time = _STRENGTHS[kind]
    alike = all(group.is_alike(first) for group in groups)
    known = index is not None or any(map(has_known_part, names))
    part_of_all = len(groups) == 1 and names[0].lower() != "system"
    if not alike or (known and (part_of_all or (len(groups) > 1 and kind != "langevin"))):
        add_baths(control, groups, lambda time: (setting, of_time(time)), index)
        return
    if [name.lower() for name in names] != ["system"]:
        hint = "" if known else "; give the index file (--index) for one each"
        control.notes.append(f"tc-grps {' '.join(names)}: one bath for all{hint}")
    if first.annealing is None:
        control.set("integrator", "temperature", first.temperature)
    control.set("integrator", "annealing", first.annealing)
    section = "integrator" if kind == "langevin" else "thermostat"
    control.set(section, setting, of_time(first.time))


def _groups(control: Control, entries: Entries) -> list[TemperatureGroup]:
    """The temperature groups; none where they are refused."""
    names = entries.words("tc-grps")
    times, targets = entries.numbers("tau-t") or [], entries.numbers("ref-t") or []
    if not len(names) == len(targets) == len(times) > 0:
        control.refused.append(
            f"tc-grps: {len(names)} groups, with {len(targets)} values of ref-t and {len(times)} "
            "of tau-t: give one of each for every group"
        )
        return []
    curves = _annealing(control, entries, len(names))
    return [TemperatureGroup(*one) for one in zip(names, targets, times, curves, strict=True)]


def _annealing(control: Control, entries: Entries, groups: int) -> list[Curve | None]:
    """The schedule of the temperature of each group, in place of its `ref-t`; None without one."""
    stated = entries.text("annealing", "no")
    kinds = stated.split()
    if _is_no_annealing(stated):
        entries.tell("no effect without annealing", *_OF_ANNEALING)
        return [None] * groups
    counts, times, temperatures = (entries.numbers(name) or [] for name in _OF_ANNEALING)
    ends = [0, *accumulate(map(int, counts))]
    if not set(kinds) <= {"no", "single"}:
        control.refused.append(f"annealing {stated}: only single and no are supported")
    elif not len(kinds) == len(counts) == groups:
        control.refused.append(
            f"annealing: {len(kinds)} kinds and {len(counts)} numbers of points, where tc-grps has "
            f"{groups} groups"
        )
    elif not len(times) == len(temperatures) == ends[-1] > 0:
        control.refused.append(
            f"annealing: {', '.join(_OF_ANNEALING)} say {ends[-1]} points, {len(times)} times and "
            f"{len(temperatures)} temperatures"
        )
    else:
        points = tuple(zip(times, temperatures, strict=True))
        curves = (points[begin:end] for begin, end in pairwise(ends))
        return [
            curve if kind == "single" and curve else None
            for kind, curve in zip(kinds, curves, strict=True)
        ]
    return [None] * groups


def _is_no_annealing(kinds: str) -> bool:
    return set(kinds.split()) <= {"no"}


def _nose_hoover(control: Control, entries: Entries, integrator: str, shortest: float) -> None:
    """With the leap-frog integrator GROMACS has no chain but a single thermostat.

    `shortest`: of the periods, ps.
    """
    length = entries.whole("nh-chain-length", 10)
    if integrator != "md-vv" and length != 1:
        control.notes.append("tcoupl nose-hoover: a single thermostat, as with integrator md there")
        length = 1
    longest = _of_period(shortest) / (4 * control.settings["integrator"]["timestep"])  # in steps
    if longest < NoseHooverChain.every:
        control.set("thermostat", "every", max(1, math.floor(longest)))
    control.set("thermostat", "chain_length", length)


def _of_period(period: float) -> float:
    return round(period / (2 * math.pi), 12)


# Setting that tau-t sets, and its value.
_STRENGTHS: dict[str, tuple[str, Callable[[float], float]]] = {
    "langevin": ("friction", lambda time: 1.0 / time if time > 0 else 0.0),
    "velocity-rescaling": ("time_constant", lambda time: time),
    "berendsen": ("time_constant", lambda time: time),
    "nose-hoover": ("time_constant", _of_period),
}


def _barostat(control: Control, entries: Entries) -> None:
    kind = choice(entries, "pcoupl", "no")
    if kind == "no":
        entries.tell("no effect at constant volume", *_OF_A_BAROSTAT)
        return
    every, time = entries.whole("nstpcouple", -1) or 0, entries.number("tau-p", 5.0)
    if every < 1 and every != -1:
        control.refused.append(f"nstpcouple {every}: only -1, the program's choice, and 1 or more")
    if kind not in _BAROSTATS:
        control.refused.append(
            f"pcoupl {kind}: of constant pressure only C-rescale, Parrinello-Rahman and Berendsen"
        )
    elif control.settings["integrator"].get("ensemble") != "nvt":
        control.refused.append(f"pcoupl {kind}: needs a thermostat")
    elif (
        kind != "berendsen"
        and len({_schedule(bath) for bath in control.settings.get("bath", [])}) > 1
    ):
        control.refused.append(f"pcoupl {kind}: needs one ref-t for all groups, unlike Berendsen")
    if kind == "parrinello-rahman":
        control.notes.append(
            "pcoupl Parrinello-Rahman: replaced by stochastic cell rescaling, which has the same "
            "ensemble"
        )
    control.set("integrator", "ensemble", "npt")
    control.set("barostat", "kind", _BAROSTATS.get(kind))
    control.set("barostat", "time_constant", time)
    control.set("barostat", "every", every if every > 0 else None)
    _cell_axes(control, entries)


def _schedule(bath: dict[str, Any]) -> Any:
    return bath.get("annealing") or bath["temperature"]


def _cell_axes(control: Control, entries: Entries) -> None:
    name = choice(entries, "pcoupltype", "isotropic")
    pressures = entries.numbers("ref-p") or []
    compressibilities = entries.numbers("compressibility") or []
    if name not in _COUPLINGS:
        control.refused.append(f"pcoupltype {name}: only {', '.join(_COUPLINGS)}")
        return
    coupling, values = _COUPLINGS[name]
    for word, given in (("ref-p", pressures), ("compressibility", compressibilities)):
        if len(given) != values:
            control.refused.append(f"{word}: {len(given)} values, where {name} has {values}")
    if not len(pressures) == len(compressibilities) == values:
        return
    if name == "anisotropic":
        if any(compressibilities[3:]):
            control.refused.append("compressibility: of angles of the box only 0")
        pressures, compressibilities = pressures[:3], compressibilities[:3]
    if name == "surface-tension":
        control.set("barostat", "surface_tension", pressures[0])
    elif len(set(pressures)) > 1:
        control.refused.append("ref-p: only one pressure, along all axes")
    control.set("barostat", "coupling", coupling)
    control.set("barostat", "pressure", pressures[-1])
    control.set("barostat", "compressibility", tuple(compressibilities))
