# SPDX-License-Identifier: Apache-2.0
"""Amber's thermodynamic integration (icfe = 1) as the section [alchemy].

Both molecules are in one topology: timask1 is there at lambda 0, timask2 at lambda 1, and those of
their atoms that are not in scmask1 and scmask2 are the same, in order.  Where one mask is empty, a
molecule vanishes or appears.

Source: Amber 2023 Reference Manual, "Thermodynamic integration" and "Softcore potentials".
"""

from __future__ import annotations

from ..errors import InputError
from ..reading.entries import Control, Entries, number_of
from ..reading.units import ANGSTROM
from .mask import selection_of_mask

_LAMBDAS = ("mbar_lambda", "bar_l_min", "bar_l_max", "bar_l_incr")
_OWN_SIGMA = 0.05  # nm; so small that pairs keep their own sigma
_ALPHA, _BETA = 0.5, 12.0  # defaults of scalpha, and of scbeta, A^2
_ROWS_EVERY = 100  # steps
_REFUSED = {  # and the value of each that switches it off
    "klambda": 1.0,
    "dynlmb": 0.0,
    "dvdl_norest": 0.0,
    "tishake": 0.0,
    "sceeorder": 2.0,
}
_MASKS = ("timask1", "timask2", "scmask1", "scmask2")
_OF_FREE_ENERGY = (
    *("clambda", "crgmask", "logdvdl", "ifsc", "scalpha", "scbeta", "ifmbar", "mbar_states"),
    *("bar_intervall", *_LAMBDAS, *_MASKS, *_REFUSED),
)


def take_free_energy(control: Control, entries: Entries) -> None:
    """[alchemy] where icfe is 1; what cannot be done here is refused by name."""
    kind = entries.whole("icfe", 0)
    entries.refuse("the options of GPU-accelerated TI are not supported", *entries.names("gti_"))
    if kind == 0:
        entries.tell("no effect without icfe = 1", *_OF_FREE_ENERGY)
        return
    if kind != 1:
        control.refused.append(f"icfe {kind}: only 0 and 1")
    for name, value in _REFUSED.items():
        given = entries.number(name, value)
        if given != value:
            control.refused.append(f"{name} {given:g}: only {value:g}")
    entries.refuse("charges are those of the topology", "crgmask", unless=lambda word: not word)
    entries.tell("this output is not written", "logdvdl")
    forwards = _molecules(control, entries)
    _states(control, entries, forwards)
    _soft_core(control, entries)
    control.notes.append(
        "icfe 1: charges and parameters of bonded terms are linear in lambda; Amber mixes the "
        "energies of both ends. Both agree at the ends, and so do free energies"
    )


def _molecules(control: Control, entries: Entries) -> bool:
    """What changes; False where a molecule appears, so that lambda here is 1 - clambda."""
    words = {name: entries.take(name) for name in _MASKS}
    masks = {
        name: "" if one is None else one.value.strip().strip("'\"").strip()
        for name, one in words.items()
    }
    first, last = masks["timask1"], masks["timask2"]
    if not first and not last:
        control.refused.append("icfe 1: timask1 and timask2 are missing")
        return True
    try:
        chosen = {name: selection_of_mask(mask) if mask else "" for name, mask in masks.items()}
    except InputError as error:
        control.refused.append(f"timask1, timask2, scmask1, scmask2: {error}")
        return True
    if first and last:
        control.set(
            "alchemy",
            "dual",
            {
                "first": chosen["timask1"],
                "last": chosen["timask2"],
                "unique_first": chosen["scmask1"],
                "unique_last": chosen["scmask2"],
            },
        )
        if any("index" in str(one["select"]) for one in control.settings.get("restraint", ())):
            control.refused.append(
                "ntr 1 with icfe 1: select restrained atoms by residues and names, not by numbers, "
                "because atoms of the second molecule that are also in the first are left out"
            )
        return True
    number = "1" if first else "2"
    if masks[f"scmask{number}"] != (first or last):
        control.refused.append(
            f"scmask{number}: a molecule without a counterpart vanishes or appears as a whole, so "
            f"scmask{number} must be timask{number}"
        )
    control.set("alchemy", "atoms", chosen[f"timask{number}"])
    control.set("alchemy", "intramolecular", "keep")
    return bool(first)


def _states(control: Control, entries: Entries, forwards: bool) -> None:
    """Lambda of the run, among those whose energies are wanted."""
    now = entries.number("clambda", 0.0)
    assert now is not None
    lambdas = [now]
    if entries.whole("ifmbar", 0) == 1:
        lambdas = _wanted(control, entries) or lambdas
        control.set("alchemy", "every", entries.whole("bar_intervall", _ROWS_EVERY))
    entries.tell("no effect without ifmbar = 1", "bar_intervall", "mbar_states", *_LAMBDAS)
    if not all(0 <= one <= 1 for one in (now, *lambdas)):
        control.refused.append("clambda, mbar_lambda: numbers from 0 to 1")
        return
    if now not in lambdas:
        control.refused.append(f"clambda {now:g}: it must be one of mbar_lambda")
        return
    path = [one if forwards else round(1 - one, 12) for one in lambdas]
    has_two = "dual" in control.settings.get("alchemy", {})
    for name in ("coulomb", "vdw", "bonded") if has_two else ("coulomb", "vdw"):
        control.set("alchemy", name, path)
    control.set("alchemy", "state", lambdas.index(now))


def _wanted(control: Control, entries: Entries) -> list[float]:
    """Lambdas of the states in order of the file."""
    entry = entries.take("mbar_lambda")
    if entry is None:
        control.refused.append("ifmbar 1: mbar_lambda is missing")
        entries.take_all("mbar_states")
        return []
    found = [number_of(word) for word in entry.value.replace(",", " ").split()]
    count = entries.whole("mbar_states", len(found))
    if count != len(found):
        control.refused.append(f"mbar_states {count}: mbar_lambda has {len(found)} values")
    for name in _LAMBDAS[1:]:
        entries.refuse("give mbar_lambda", name)
    return found


def _soft_core(control: Control, entries: Entries) -> None:
    kind = entries.whole("ifsc", 0)
    if kind != 1:
        control.refused.append(
            f"ifsc {kind}: only 1, soft cores; without atoms that vanish or appear it changes "
            "nothing"
        )
    alpha, beta = entries.number("scalpha", _ALPHA), entries.number("scbeta", _BETA)
    assert beta is not None
    control.set("alchemy", "soft_core", "amber")
    control.set("alchemy", "alpha", alpha)
    control.set("alchemy", "alpha_coulomb", beta * ANGSTROM**2)
    control.set("alchemy", "least_sigma", _OWN_SIGMA)
