# SPDX-License-Identifier: Apache-2.0
"""The forms of pair interactions by tables of types, each described once.

Writers and readers of other programs' files ask the form.  The core has the same names with the
formulas (`_core.tables_of_pair_forms()`); a test compares the two, as inputs are read without the
core.  Lennard-Jones, whose tables are `lj_a` and `lj_b` of a System, and tabulated energies, which
are no formula, are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .term_forms import Parameter, parameters_of


@dataclass(frozen=True, eq=False)
class PairForm:
    """A form of pair interactions.

    Attributes
    ----------
    name:
        `System.pair_form`.
    parameters:
        One for each of `System.pair_tables`, in order.
    energy:
        Energy of a pair, kJ/mol, in the syntax of OpenMM's custom forces; `r` is in nm.
    larger_first:
        Two parameters whose exchange does not change the energy: the first is the larger.
    idle:
        For each parameter the value for pairs that do not interact, as OpenMM
        evaluates it there, too.
    """

    name: str
    parameters: tuple[Parameter, ...]
    energy: str
    larger_first: tuple[str, str] | None = field(default=None, kw_only=True)
    idle: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the parameters in the expression."""
        return tuple(one.symbol for one in self.parameters)


PAIR_FORMS = {
    form.name: form
    for form in (
        PairForm(
            "buckingham",
            parameters_of("A*: kJ/mol", "B: 1/nm", "C*: kJ/mol nm^6"),
            "A*exp(-B*r)-C/r^6",
        ),
        PairForm(
            "morse",
            parameters_of("D*: kJ/mol", "a: 1/nm", "r0: nm"),
            "D*((1-exp(-a*(r-r0)))^2-1)",
        ),
        PairForm(
            "mie",
            parameters_of("epsilon*: kJ/mol", "sigma: nm", "n:", "m:"),
            "n/(n-m)*(n/m)^(m/(n-m))*epsilon*((sigma/r)^n-(sigma/r)^m)",
            larger_first=("n", "m"),
            idle={"sigma": 1.0, "n": 12.0, "m": 6.0},
        ),
    )
}
