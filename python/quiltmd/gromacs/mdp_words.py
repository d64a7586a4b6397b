# SPDX-License-Identifier: Apache-2.0
"""Values of GROMACS' mdp options that are a choice: case, "-" and "_" do not count in them."""

from __future__ import annotations

from ..reading.entries import Entries

_WORDS = (
    *("md-vv", "l-bfgs", "v-rescale", "nose-hoover", "c-rescale", "parrinello-rahman"),
    *("surface-tension", "reaction-field", "cut-off", "h-bonds", "all-bonds", "h-angles"),
    *("potential-shift", "potential-switch", "force-switch", "semiisotropic", "enerpres"),
)
_SPELLINGS = {word.replace("-", ""): word for word in _WORDS}


def choice(entries: Entries, name: str, default: str) -> str:
    """The value of an option, in lower case, spelt as the manual has it."""
    value = entries.text(name, default)
    bare = value.replace("-", "").replace("_", "").removesuffix("verlet")  # of modifiers, formerly
    return _SPELLINGS.get(bare, value)
