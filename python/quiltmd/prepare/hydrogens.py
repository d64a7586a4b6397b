# SPDX-License-Identifier: Apache-2.0
"""Hydrogens, and with them the states of protonation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gemmi
import numpy as np

from ..description.checks import user_arguments
from ..errors import QuiltError, one_line
from .libraries import import_openmm
from .notes import Note, listed
from .quantities import Ph, Seed
from .repair import Model, drawing
from .residues import PLAIN, STATES

_TOPIC = "protonation"
# State of a residue by which of these hydrogens it has; the usual one at pH 7 is the first.
_BY_HYDROGENS: dict[str, tuple[tuple[str, ...], dict[tuple[bool, ...], str]]] = {
    "HIS": (
        ("HD1", "HE2"),
        {
            (True, False): "HID",
            (False, True): "HIE",
            (True, True): "HIP, charge +1",
            (False, False): "HIN, charge -1",
        },
    ),
    "ASP": (("HD2",), {(False,): "ASP, charge -1", (True,): "ASH, neutral"}),
    "GLU": (("HE2",), {(False,): "GLU, charge -1", (True,): "GLH, neutral"}),
    "LYS": (("HZ1",), {(True,): "LYS, charge +1", (False,): "LYN, neutral"}),
    "CYS": (("HG",), {(True,): "CYS, neutral", (False,): "CYM, charge -1"}),
}
# Atoms that bind metals, and how near they then are, nm.
_BINDING = {"CYS": ("SG",), "HIS": ("ND1", "NE2"), "ASP": ("OD1", "OD2"), "GLU": ("OE1", "OE2")}
_BOUND = 0.28
_USUAL = ("ASP, charge -1", "GLU, charge -1", "LYS, charge +1", "CYS, neutral")


@user_arguments
def add_hydrogens(
    model: Model,
    *,
    ph: Ph = 7.0,
    protonation: Mapping[str, str] | None = None,
    seed: Seed = 1,
) -> Model:
    """Adds missing hydrogens, by OpenMM's Modeller.

    A residue gets the state that `protonation` says, else the one of its name in the input (HIE,
    ASH), else that of its hydrogens there, else the usual one at this pH by the pKa of the amino
    acid alone.  Of a neutral histidine the nitrogen gets the hydrogen that makes a hydrogen bond.

    Parameters
    ----------
    model:
        A model with all heavy atoms.
    ph:
        pH that determines the protonation states.
    protonation:
        State by the key of the residue: {"A:57": "HID"}.
    seed:
        Random seed of the initial positions of hydrogens, which are then relaxed.

    Raises
    ------
    QuiltError
        If a residue is not there, or has no such state.
    """
    openmm = import_openmm()
    wanted = {**model.states, **(protonation or {})}
    residues = list(model.topology.residues())
    by_key = {model.key(residue): residue for residue in residues}
    variants: list[str | None] = [None] * len(residues)
    for name, state in wanted.items():
        residue = by_key.get(name)
        if residue is None:
            raise QuiltError(
                f"there is no residue {name} to protonate as {state}: residues are named by chain "
                f"and number in the input, such as {listed(list(by_key)[:3])}"
            )
        variants[residue.index] = _variant(residue, name, state)
    modeller = openmm.app.Modeller(model.topology, model.positions)
    with drawing(seed):
        try:
            modeller.addHydrogens(pH=ph, variants=variants)
        except Exception as error:
            raise QuiltError(f"OpenMM: {one_line(error)}") from None
    made = replace(model, topology=modeller.topology, positions=modeller.positions)
    return made.noting(*_notes(made, ph, protonation or {}))


def _variant(residue: Any, name: str, state: str) -> str:
    base, variant = STATES.get(state.upper(), ("", ""))
    there = "HIS" if residue.name == "HIS" else residue.name
    if base != there:
        known = [one for one, (plain, _) in STATES.items() if plain == there]
        raise QuiltError(
            f"{residue.name} {name} has no state {state}: "
            + (f"it has {', '.join(known)}" if known else "its protonation cannot be chosen")
        )
    return variant


def state_of(residue: Any) -> str:
    """State of protonation of a titratable residue; "" of others."""
    if residue.name not in PLAIN:
        return ""
    names, states = _BY_HYDROGENS[residue.name]
    there = {atom.name for atom in residue.atoms()}
    if residue.name == "CYS" and _is_bridged(residue):
        return "CYX, disulphide bond"
    if residue.name in ("ASP", "GLU"):  # Modeller may choose either oxygen
        letter = "D" if residue.name == "ASP" else "E"
        return states[(any(f"H{letter}{number}" in there for number in (1, 2)),)]
    if residue.name == "LYS":
        return states[(all(f"HZ{number}" in there for number in (1, 2, 3)),)]
    return states[tuple(name in there for name in names)]


def _is_bridged(residue: Any) -> bool:
    return any(
        {bond[0].name, bond[1].name} == {"SG"} and bond[0].residue != bond[1].residue
        for bond in residue.bonds()
    )


def _notes(model: Model, ph: float, protonation: Mapping[str, str]) -> list[Note]:
    """Chosen states: residues with a choice one by one, usual ones as a count."""
    notes = [
        Note(
            _TOPIC,
            f"At pH {ph:g}, by the pKa of free amino acids, not of their surroundings; change a "
            "residue with --protonation CHAIN:NUMBER=STATE.",
        )
    ]
    asked = {model.key(residue): residue for residue in model.topology.residues()}
    if protonation:
        names = listed(f"{asked[one].name} {one} {state}" for one, state in protonation.items())
        notes.append(Note(_TOPIC, f"As asked: {names}."))
    states: dict[str, list[str]] = {}
    for residue in model.topology.residues():
        if state := state_of(residue):
            states.setdefault(state, []).append(model.key(residue))
    usual = [f"{len(places)} {state}" for state, places in states.items() if state in _USUAL]
    if usual:
        notes.append(Note(_TOPIC, f"As usual: {'; '.join(usual)}."))
    notes += [
        Note(_TOPIC, f"{state}: {listed(places, 40)}.", check=not state.startswith("CYX"))
        for state, places in states.items()
        if state not in _USUAL
    ]
    return notes


def note_metals(model: Model) -> Model:
    """The model with notes of cysteines, histidines and acids that bind metals."""
    unit = import_openmm().unit
    places = np.array(model.positions.value_in_unit(unit.nanometer))
    atoms = list(model.topology.atoms())
    metals = [
        atom for atom in atoms if len(list(atom.residue.atoms())) == 1 and _is_metal(atom.element)
    ]
    binding = [atom for atom in atoms if atom.name in _BINDING.get(atom.residue.name, ())]
    notes = []
    for metal in metals:
        near = {
            atom.residue: state_of(atom.residue)
            for atom in binding
            if np.linalg.norm(places[atom.index] - places[metal.index]) < _BOUND
        }
        if near:
            names = listed(f"{model.key(residue)} ({state})" for residue, state in near.items())
            text = (
                f"{metal.residue.name} {model.key(metal.residue)} is bound by {names}: check these "
                "states (CYM, HID or HIE); nothing but charges holds the metal in place."
            )
            notes.append(Note("metals", text, check=True))
    return model.noting(*notes)


def _is_metal(element: Any) -> bool:
    return element is not None and bool(gemmi.Element(element.symbol).is_metal)


def find_disulphides(model: Model) -> list[tuple[str, str]]:
    """Pairs of cysteines that are bonded, by their keys."""
    return [
        (model.key(bond[0].residue), model.key(bond[1].residue))
        for bond in model.topology.bonds()
        if bond[0].name == bond[1].name == "SG" and bond[0].residue != bond[1].residue
    ]


def note_disulphides(model: Model) -> Model:
    """The model with notes of disulphide bonds, and of near cysteines without a bond."""
    bonded = find_disulphides(model)
    if not bonded:
        return model.noting(Note("disulphide bonds", "None."))
    pairs = listed((f"{first} - {second}" for first, second in bonded), 40)
    text = f"{len(bonded)}, by the input or by sulfurs within 0.3 nm: {pairs}."
    counts = Counter(one for pair in bonded for one in pair)
    twice = [one for one, number in counts.items() if number > 1]
    if twice:
        raise QuiltError(f"cysteine {listed(twice)} has two disulphide bonds: mend the input")
    return model.noting(Note("disulphide bonds", text))
