# SPDX-License-Identifier: Apache-2.0
"""The forms of bonded terms, listed once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TermForm:
    """A form of bonded terms.

    Attributes
    ----------
    name:
        The field of `System` with the atoms.
    atoms:
        How many atoms a term has.
    parameters:
        The field of `System` with the parameters.
    columns:
        How many parameters a term has.
    dihedral_energies:
        Of terms of dihedral angles, which REST2 scales: the columns that are energies; else none.
    """

    name: str
    atoms: int
    parameters: str
    columns: int
    dihedral_energies: tuple[int, ...]


# The core's list says the same (`_core.term_forms()`, compared by a test); inputs are read without
# the core.
TERM_FORMS = (
    TermForm("bonds", 2, "bond_parameters", 2, ()),
    TermForm("angles", 3, "angle_parameters", 2, ()),
    TermForm("torsions", 4, "torsion_parameters", 3, (2,)),
    TermForm("pairs14", 2, "pair14_parameters", 3, ()),
    TermForm("cmaps", 5, "cmap_parameters", 1, ()),
    TermForm("impropers", 4, "improper_parameters", 2, (1,)),
    TermForm("urey_bradleys", 2, "urey_bradley_parameters", 2, ()),
    TermForm("ryckaert_bellemans", 4, "ryckaert_bellemans_parameters", 6, (0, 1, 2, 3, 4, 5)),
    TermForm("position_restraints", 1, "position_restraint_parameters", 11, ()),
    TermForm("distance_restraints", 2, "distance_restraint_parameters", 4, ()),
    TermForm("angle_restraints", 3, "angle_restraint_parameters", 3, ()),
    TermForm("torsion_restraints", 4, "torsion_restraint_parameters", 3, ()),
    TermForm("constant_forces", 1, "constant_force_parameters", 9, ()),
    TermForm("opposite_forces", 2, "opposite_force_parameters", 3, ()),
)
