# SPDX-License-Identifier: Apache-2.0
"""Soft cores of alchemical atoms: forms, and what their parameters mean.

The equations are in docs/theory/alchemy.md; the core has the same names
(src/computes/alchemy/forms/).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import InputError
from .checks import real_number

SoftCoreName = Literal["beutler", "gapsys", "amber", "smoothstep"]
_LEAST_ALPHA, _MOST_ALPHA = 0.1, 10.0  # below, forces exceed what fixed point holds


@dataclass(frozen=True)
class SoftCoreForm:
    """A form of the soft core.

    Attributes
    ----------
    name:
        As in the core.
    alpha:
        Its usual parameter of van der Waals interactions.
    alpha_coulomb:
        Its usual parameter of charges.
    range:
        Of `alpha_coulomb`, where charges have a soft core.
    unit:
        Of `alpha_coulomb`.
    """

    name: SoftCoreName
    alpha: float
    alpha_coulomb: float
    range: tuple[float, float]
    unit: str = ""


FORMS: dict[str, SoftCoreForm] = {
    one.name: one
    for one in (
        SoftCoreForm("beutler", 0.5, 0.5, (0.1, 10.0)),
        SoftCoreForm("gapsys", 0.85, 0.3, (0.05, 1.0), "nm"),
        SoftCoreForm("amber", 0.5, 0.12, (0.01, 2.0), "nm^2"),
        SoftCoreForm("smoothstep", 0.2, 0.5, (0.01, 2.0), "nm^2"),
    )
}


def soft_core_named(name: str) -> SoftCoreForm:
    """The form of this name; InputError if there is none."""
    if name not in FORMS:
        raise InputError(f"soft_core must be one of {', '.join(FORMS)}, not {name!r}")
    return FORMS[name]


def check_soft_core(name: str, alpha: float, alpha_coulomb: float, least_sigma: float) -> None:
    """InputError unless the parameters suit the form."""
    form = soft_core_named(name)
    alpha = real_number("alchemy.alpha", alpha)
    if not _LEAST_ALPHA <= alpha <= _MOST_ALPHA:
        raise InputError(
            f"alchemy.alpha must be from {_LEAST_ALPHA} to {_MOST_ALPHA:g}, not {alpha:g}"
        )
    soft, (least, most) = real_number("alchemy.alpha_coulomb", alpha_coulomb), form.range
    if soft and not least <= soft <= most:
        raise InputError(
            f"alchemy.alpha_coulomb must be 0, or from {least} to {f'{most:g} {form.unit}'.strip()}"
            f" with the soft core {name!r}, not {soft:g}"
        )
    if not 0.05 <= least_sigma <= 1:
        raise InputError(f"alchemy.least_sigma must be from 0.05 to 1 nm, not {least_sigma:g}")


@dataclass(frozen=True)
class SoftCores:
    """The soft cores of a system: see `Alchemy`."""

    form: SoftCoreName = "beutler"
    alpha: float | None = None
    least_sigma: float = 0.3
    alpha_coulomb: float | None = None  # None: the usual one
