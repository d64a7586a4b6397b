# SPDX-License-Identifier: Apache-2.0
"""Berendsen's barostat."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ...errors import QuiltWarning
from ..checks import user_settings
from .base import CONFIG, Relaxation


@user_settings
@dataclass(frozen=True, config=CONFIG)
class BerendsenBarostat(Relaxation):
    """Relaxation to a pressure without noise.

    Berendsen, Postma, van Gunsteren, DiNola and Haak, J. Chem. Phys. 81, 3684 (1984).  It is
    robust far from equilibrium, but the fluctuations of the box are too small, so no known ensemble
    is sampled.  Use it for equilibration only; `CellRescaling` is as robust.  The settings are
    those of `CellRescaling`, without a seed.
    """

    kind: ClassVar[str] = "berendsen"
    summary: ClassVar[str] = "no noise, for equilibration only"
    needs_temperature: ClassVar[bool] = False

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        warnings.warn(
            QuiltWarning(
                "the Berendsen barostat gives no known ensemble: use CellRescaling for all but "
                "equilibration"
            ),
            stacklevel=4,
        )
        return super().resolve()
