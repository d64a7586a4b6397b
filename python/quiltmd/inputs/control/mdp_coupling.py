# SPDX-License-Identifier: Apache-2.0
"""GROMACS' temperature and pressure coupling, and annealing, as settings of a run here.

Source: GROMACS User Guide, "Molecular dynamics parameters (.mdp options)".
"""

from __future__ import annotations

import math
from itertools import accumulate, pairwise

from ...description.thermostats import NoseHooverChain
from .entries import Control, Entries, number_of
from .mdp_groups import add_baths
from .mdp_words import choice

_OF_ANNEALING = ("annealing-npoints", "annealing-time", "annealing-temp")
_OF_A_BATH = ("tc-grps", "tau-t", "ref-t", *_OF_ANNEALING)
_OF_A_BAROSTAT = ("pcoupltype", "tau-p", "ref-p", "compressibility", "nstpcouple")
_OF_AN_ENSEMBLE = ("ensemble-temperature-setting", "ensemble-temperature")
_THERMOSTATS = {"v-rescale": "velocity-rescaling", "berendsen": "berendsen"}
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


def take_coupling(control: Control, entries: Entries, integrator: str) -> None:
    """Heat baths and pressure; a minimisation has neither."""
    entries.tell("how often is for the program to say", "nsttcouple")
    if "minimize" in control.settings["run"]:
        control.set("integrator", "ensemble", "nve")
        words = ("tcoupl", "pcoupl", "annealing", *_OF_A_BATH, *_OF_A_BAROSTAT)
        entries.tell("nothing, in a minimisation", *words, *_OF_AN_ENSEMBLE)
        return
    _thermostat(control, entries, integrator)
    _ensemble(control, entries)
    _barostat(control, entries)


def _ensemble(control: Control, entries: Entries) -> None:
    """The temperature by which a barostat goes: that of the bath, whatever else is said."""
    is_stated = any(one.value.lower() == "constant" for one in entries.peek(_OF_AN_ENSEMBLE[0]))
    bath = control.settings["integrator"].get("temperature")
    for entry in entries.peek(_OF_AN_ENSEMBLE[1]):
        if is_stated and bath is not None and number_of(entry.value) != bath:
            entries.reject(entry, "only that of the bath")
    entries.tell("that of the bath", *_OF_AN_ENSEMBLE)


def _thermostat(control: Control, entries: Entries, integrator: str) -> None:
    stated, coupling = entries.peek("tcoupl"), choice(entries, "tcoupl", "no")
    if integrator != "sd" and coupling == "no":
        control.set("integrator", "ensemble", "nve")
        entries.refuse("needs a thermostat", "annealing", unless=_is_no_annealing)
        entries.tell("nothing, without a thermostat", *_OF_A_BATH)
        return
    if integrator == "sd" and coupling != "no":
        entries.note("integrator sd has friction and noise in its place", *stated)
    groups = entries.words("tc-grps")
    times, targets = entries.numbers("tau-t") or [], entries.numbers("ref-t") or []
    control.set("integrator", "ensemble", "nvt")
    if not len(groups) == len(targets) == len(times) > 0:
        control.refused.append(
            f"tc-grps: {len(groups)} groups, with {len(targets)} values of ref-t and {len(times)} "
            "of tau-t: each group needs one of both"
        )
        return
    if len(set(targets)) > 1 or len(set(times)) > 1:
        _groups_of_their_own(control, entries, integrator, (groups, targets, times))
        return
    if [group.lower() for group in groups] != ["system"]:
        control.notes.append(f"tc-grps {' '.join(groups)}: one bath for all")
    _annealing(control, entries)
    if "annealing" not in control.settings["integrator"]:
        control.set("integrator", "temperature", targets[0])
    time = times[0]
    if time <= 0 and integrator != "sd":
        control.refused.append(f"tau-t {time:g}: only a bath that acts, with a positive time")
    elif integrator == "sd":
        control.set("integrator", "friction", 1.0 / time if time > 0 else 0.0)
    elif coupling in _THERMOSTATS:
        control.set("thermostat", "kind", _THERMOSTATS[coupling])
        control.set("thermostat", "time_constant", time)
    elif coupling == "nose-hoover":
        _nose_hoover(control, entries, integrator, time)
    else:
        control.refused.append(f"tcoupl {coupling}: only v-rescale, nose-hoover, berendsen, and sd")


def _groups_of_their_own(
    control: Control,
    entries: Entries,
    integrator: str,
    given: tuple[list[str], list[float], list[float]],
) -> None:
    """Names, temperatures and times of groups that differ: heat baths, where friction acts."""
    entries.refuse(
        "of groups with baths of their own: not supported", "annealing", unless=_is_no_annealing
    )
    entries.tell("nothing, without annealing", *_OF_ANNEALING)
    if integrator == "sd":
        add_baths(control, *given)
    else:
        control.refused.append(
            f"tc-grps with temperatures or times of their own: integrator {integrator} has a "
            "thermostat of only one bath; integrator sd has one for each group"
        )


def _annealing(control: Control, entries: Entries) -> None:
    """A schedule of the temperature, the same for all groups; `ref-t` then has no effect."""
    kinds = entries.text("annealing", "no")
    if _is_no_annealing(kinds):
        entries.tell("nothing, without annealing", *_OF_ANNEALING)
        return
    counts, times, temperatures = (entries.numbers(name) or [] for name in _OF_ANNEALING)
    points = list(zip(times, temperatures, strict=False))
    ends = [0, *accumulate(map(int, counts))]
    curves = [points[begin:end] for begin, end in pairwise(ends)]
    if set(kinds.split()) != {"single"}:
        control.refused.append(f"annealing {kinds}: only single, for all groups")
    elif not len(times) == len(temperatures) == ends[-1] > 0:
        control.refused.append(
            f"annealing: {', '.join(_OF_ANNEALING)} say {ends[-1]} points, {len(times)} times and "
            f"{len(temperatures)} temperatures"
        )
    elif any(curve != curves[0] for curve in curves):
        control.refused.append("annealing of groups by schedules of their own: only one bath")
    else:
        control.set("integrator", "annealing", curves[0])


def _is_no_annealing(kinds: str) -> bool:
    return set(kinds.split()) <= {"no"}


def _nose_hoover(control: Control, entries: Entries, integrator: str, period: float) -> None:
    """With the leap-frog integrator GROMACS has no chain but a single thermostat."""
    length = entries.whole("nh-chain-length", 10)
    if integrator != "md-vv" and length != 1:
        control.notes.append("tcoupl nose-hoover: a single thermostat, as with integrator md there")
        length = 1
    control.set("thermostat", "kind", "nose-hoover")
    time_constant = round(period / (2 * math.pi), 12)
    longest = time_constant / (4 * control.settings["integrator"]["timestep"])  # between actions
    control.set("thermostat", "time_constant", time_constant)
    if longest < NoseHooverChain.every:
        control.set("thermostat", "every", max(1, math.floor(longest)))
    control.set("thermostat", "chain_length", length)


def _barostat(control: Control, entries: Entries) -> None:
    kind = choice(entries, "pcoupl", "no")
    if kind == "no":
        entries.tell("nothing, at constant volume", *_OF_A_BAROSTAT)
        return
    every, time = entries.whole("nstpcouple", -1), entries.number("tau-p", 5.0)
    if kind not in _BAROSTATS:
        control.refused.append(
            f"pcoupl {kind}: of constant pressure only C-rescale, Parrinello-Rahman and Berendsen"
        )
    elif control.settings["integrator"].get("ensemble") != "nvt":
        control.refused.append(f"pcoupl {kind}: needs a thermostat")
    elif (
        kind != "berendsen"
        and len({bath["temperature"] for bath in control.settings.get("bath", [])}) > 1
    ):
        control.refused.append(f"pcoupl {kind}: needs one ref-t for all groups, unlike Berendsen")
    if kind == "parrinello-rahman":
        control.notes.append(
            "pcoupl Parrinello-Rahman: stochastic cell rescaling takes its place; it has the same "
            "ensemble"
        )
    control.set("integrator", "ensemble", "npt")
    control.set("barostat", "kind", _BAROSTATS.get(kind))
    control.set("barostat", "time_constant", time)
    control.set("barostat", "every", every if every and every > 0 else None)
    _cell_axes(control, entries)


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
