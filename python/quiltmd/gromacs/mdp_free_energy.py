# SPDX-License-Identifier: Apache-2.0
"""GROMACS' free-energy options as the section [alchemy]: a molecule type, or atoms, that vanish.

Lambda is 0 here where charges or van der Waals interactions are there in full, and 1 where they are
gone, whichever end of GROMACS' path that is.

Source: GROMACS User Guide, "Molecular dynamics parameters (.mdp options)", "Free energy
calculations"; what it leaves open is as GROMACS 2022.5 does it.
"""

from __future__ import annotations

from ..description.soft_cores import FORMS
from ..reading.entries import Control, Entries, number_of
from .mdp_words import choice

_COMPONENTS = ("coul", "vdw")  # the lambdas that act on what a molecule is decoupled by
_OTHERS = ("bonded", "restraint", "mass")  # these act on nothing then
_HAS = {  # at couple-lambda0 and couple-lambda1: charges, van der Waals interactions
    "vdw-q": (True, True),
    "vdw": (False, True),
    "q": (True, False),
    "none": (False, False),
}
_Ends = tuple[tuple[bool, bool], tuple[bool, bool]]
_INTRAMOLECULAR = {"no": "keep", "yes": "scale"}
_ROWS_EVERY = 50  # steps, the default of nstdhdl
# So small that pairs keep their own sigma: without sc-coul GROMACS replaces undefined ones only.
_OWN_SIGMA = 0.05  # nm
_SIGMA = 0.3  # nm, the default of sc-sigma
_OF_FREE_ENERGY = (
    *("couple-moltype", "couple-lambda0", "couple-lambda1", "couple-intramol", "init-lambda"),
    *("init-lambda-state", "delta-lambda", "nstdhdl", "calc-lambda-neighbors", "sc-alpha"),
    *("sc-power", "sc-r-power", "sc-sigma", "sc-coul", "sc-function", "separate-dhdl-file"),
    *("dhdl-derivatives", "dhdl-print-energy", "dh-hist-size", "dh-hist-spacing"),
    *("sc-gapsys-scale-linpoint-lj", "sc-gapsys-scale-linpoint-q", "sc-gapsys-sigma-lj"),
    *("fep-lambdas", "temperature-lambdas"),
    *(f"{name}-lambdas" for name in (*_COMPONENTS, *_OTHERS)),
)


def take_free_energy(control: Control, entries: Entries) -> None:
    """[alchemy] where free-energy is yes; what cannot be done here is refused by name."""
    kind = entries.text("free-energy", "no")
    if kind == "no":
        entries.tell("no effect without free-energy", *_OF_FREE_ENERGY)
        return
    if kind != "yes":
        hint = " (in a TOML file: [alchemy.expanded])" if kind == "expanded" else ""
        control.refused.append(f"free-energy {kind}: only no and yes{hint}")
    second_states = not entries.has("couple-moltype")
    _atoms(control, entries)
    ends = _of_second_states(entries) if second_states else _ends(control, entries)
    _schedule(control, entries, ends, second_states)
    _soft_core(control, entries)
    _files(control, entries)


def _atoms(control: Control, entries: Entries) -> None:
    molecule = entries.take("couple-moltype")
    if molecule is None:  # by second states in the topology
        control.set("alchemy", "atoms", "second states")
        entries.tell("no effect without couple-moltype", "couple-intramol")
        return
    if any(letter in molecule.value for letter in "()*?[] \t"):
        entries.reject(molecule, "only the name of one molecule type, without ( ) * ? [ ]")
    else:
        control.set("alchemy", "atoms", f"moltype {molecule.value}")
    inner = entries.text("couple-intramol", "no")
    if inner not in _INTRAMOLECULAR:
        control.refused.append(f"couple-intramol {inner}: only no and yes")
    control.set("alchemy", "intramolecular", _INTRAMOLECULAR.get(inner))


def _of_second_states(entries: Entries) -> _Ends:
    entries.tell("no effect without couple-moltype", "couple-lambda0", "couple-lambda1")
    return _HAS["vdw-q"], _HAS["none"]


def _ends(control: Control, entries: Entries) -> _Ends:
    """Interactions at couple-lambda0 and at couple-lambda1."""
    ends = []
    for name in ("couple-lambda0", "couple-lambda1"):
        word = choice(entries, name, "vdw-q")
        if word not in _HAS:
            control.refused.append(f"{name} {word}: only vdw-q, vdw, q and none")
        ends.append(_HAS.get(word, (True, True)))
    if ends[0] == ends[1]:
        control.refused.append("couple-lambda0 and couple-lambda1 are the same: nothing changes")
    return ends[0], ends[1]


def _schedule(control: Control, entries: Entries, ends: _Ends, second_states: bool) -> None:
    """Lambdas by state."""
    used = (*_COMPONENTS, "bonded") if second_states else _COMPONENTS
    lambdas = {name: entries.numbers(f"{name}-lambdas") for name in ("fep", *used)}
    others = {name: entries.take(f"{name}-lambdas") for name in _OTHERS if name not in used}
    entries.note(
        "nothing depends on it: restraints and masses stay as they are"
        if second_states
        else "nothing depends on it: a molecule that is decoupled keeps its bonded terms, "
        "restraints and masses",
        *(entry for entry in others.values() if entry is not None),
    )
    entries.refuse("only without", "temperature-lambdas")
    lengths = {len(values) for values in lambdas.values() if values is not None}
    lengths |= {len(entry.value.split()) for entry in others.values() if entry is not None}
    if len(lengths) > 1:
        control.refused.append(
            "fep-lambdas, coul-lambdas, ...: as many values of each as of others"
        )
    elif not lengths:
        control.refused.append("free-energy without lambdas: give coul-lambdas and vdw-lambdas")
    else:
        (count,) = lengths
        default = lambdas["fep"] or [0.0] * count
        for number, (name, key) in enumerate(zip(_COMPONENTS, ("coulomb", "vdw"), strict=True)):
            first, last = ends[0][number], ends[1][number]
            path = [_gone(one, first, last) for one in lambdas[name] or default]
            control.set("alchemy", key, path)
        if second_states:
            control.set("alchemy", "bonded", lambdas["bonded"] or default)
        _state(control, entries, count)


def _gone(value: float, first: bool, last: bool) -> float:
    """Fraction of an interaction gone at GROMACS' lambda, given its presence at both ends."""
    return round(1 - (1 - value) * first - value * last, 12)


def _state(control: Control, entries: Entries, count: int) -> None:
    entries.refuse("give init-lambda-state", "init-lambda", unless=lambda one: number_of(one) < 0)
    entries.refuse("lambda stays the same", "delta-lambda")
    state = entries.whole("init-lambda-state", -1)
    if state is None or not 0 <= state < count:
        control.refused.append(f"init-lambda-state {state}: there are states 0 to {count - 1}")
    else:
        control.set("alchemy", "state", state)


def _soft_core(control: Control, entries: Entries) -> None:
    function = entries.text("sc-function", "beutler")
    if function not in ("beutler", "gapsys"):
        control.refused.append(f"sc-function {function}: only beutler and gapsys")
    soft_charges = entries.text("sc-coul", "no")
    if soft_charges not in ("no", "yes"):
        control.refused.append(f"sc-coul {soft_charges}: only no and yes")
    if function == "gapsys":
        _gapsys(control, entries, soft_charges == "yes")
        return
    entries.refuse("only 1", "sc-power", unless=lambda value: number_of(value) == 1)
    entries.refuse("only 6", "sc-r-power", unless=lambda value: number_of(value) == 6)
    entries.tell("no effect without sc-function = gapsys", *entries.names("sc-gapsys-"))
    alpha = entries.number("sc-alpha", 0.0)
    softened = any(0 < one < 1 for one in control.settings.get("alchemy", {}).get("vdw", ()))
    if alpha:
        control.set("alchemy", "alpha", alpha)
        if soft_charges == "yes":
            control.set("alchemy", "alpha_coulomb", alpha)
            control.set("alchemy", "least_sigma", entries.number("sc-sigma", _SIGMA))
        else:
            control.set("alchemy", "least_sigma", _OWN_SIGMA)
            entries.tell("no effect without sc-coul on pairs that have a sigma", "sc-sigma")
    elif softened:
        control.refused.append(
            "sc-alpha 0: van der Waals interactions that are scaled need a soft core, such as 0.5"
        )
    entries.tell("no effect without sc-alpha", "sc-sigma")


def _gapsys(control: Control, entries: Entries, soft_charges: bool) -> None:
    """sc-function = gapsys."""
    scale, charges = (entries.number(f"sc-gapsys-scale-linpoint-{name}") for name in ("lj", "q"))
    control.set("alchemy", "soft_core", "gapsys")
    control.set("alchemy", "alpha", FORMS["gapsys"].alpha if scale is None else scale)
    control.set("alchemy", "least_sigma", _OWN_SIGMA)
    entries.tell("no effect on pairs that have a sigma", "sc-gapsys-sigma-lj")
    if soft_charges:
        usual = FORMS["gapsys"].alpha_coulomb
        control.set("alchemy", "alpha_coulomb", usual if charges is None else charges)
    entries.tell("no effect with sc-function = gapsys", *entries.names("sc-"))


def _files(control: Control, entries: Entries) -> None:
    every = entries.whole("nstdhdl", _ROWS_EVERY)
    if every == 0:
        control.notes.append("nstdhdl 0: dhdl.csv and dhdl.xvg are written nevertheless")
    else:
        control.set("alchemy", "every", every)
    entries.tell(
        "dhdl.csv and dhdl.xvg have derivatives and the energies of all states",
        *("calc-lambda-neighbors", "separate-dhdl-file", "dhdl-derivatives", "dhdl-print-energy"),
        *("dh-hist-size", "dh-hist-spacing"),
    )
