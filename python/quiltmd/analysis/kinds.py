# SPDX-License-Identifier: Apache-2.0
"""Kinds of tasks of CPU ranks and of kernels of GPUs, by their names."""

from __future__ import annotations

from .trace import WAIT

# Prefixes of names, and their kinds; the first match counts.
_BEGINNINGS = (
    ("rebuild", ("terms.place", "place_terms", "place_groups", "lists", "layout", "lay_")),
    ("rebuild", ("build_", "number_", "bound_", "forget_", "clear_slot", "restore_")),
    ("integrate", ("integrate", "langevin", "verlet", "sites", "place_sites", "spread_site")),
    ("integrate", ("thermostat", "kinetic", "sum_kinetic", "scale_", "draw_", "advance_chain")),
    ("integrate", ("momentum", "sum_momentum", "remove_momentum", "forces.clear", "clear_forces")),
    ("integrate", ("barostat", "pressure", "molecules", "sum_molecules", "move_molecules")),
    ("integrate", ("propose_cell", "decide_cell", "rescale_", "put_box", "shift_patches")),
    ("pairs", ("pair", "all_pair", "born")),
    ("bonded", ("terms", "term_forces")),
    (
        "pme",
        (
            "pme.",
            "lj-pme.",
            "fmm.",
            "restrict_charges",
            "sum_upper_levels",
            "prolong_potential",
            "spread_charges",
            "transform_",
            "convolve_",
            "inverse_",
            "gather_forces",
        ),
    ),
    ("messages", ("positions", "forces.", "values", "sums", "agree", "migrants", "proxies")),
    ("messages", ("send_", "receive_", "add_grid", "merge_", "note_", "count_messages")),
    ("messages", ("exchange",)),
)
_TRANSFERS = (".send", ".receive", ".return", ".merge", ".note")


def kind_of(name: str) -> str:
    """The kind of a span by its name: "pairs", "pme", ..., "other"."""
    if name.startswith(WAIT):
        return WAIT
    return next((kind for kind, begins in _BEGINNINGS if name.startswith(begins)), "other")


def is_of_messages(name: str) -> bool:
    """Whether a task or kernel writes or reads messages, those of PME included."""
    is_spectrum = name in ("pme.spectrum.back", "lj-pme.spectrum.back")
    return kind_of(name) == "messages" or name.endswith(_TRANSFERS) or is_spectrum
