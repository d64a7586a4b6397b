# SPDX-License-Identifier: Apache-2.0
"""Berendsen's thermostat."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ...errors import QuiltWarning
from ..checks import user_settings
from .base import CONFIG, VelocityScaling


@user_settings
@dataclass(frozen=True, config=CONFIG)
class BerendsenThermostat(VelocityScaling):
    """Relaxation to a temperature without noise.

    Berendsen, Postma, van Gunsteren, DiNola and Haak, J. Chem. Phys. 81, 3684 (1984).  The kinetic
    energy relaxes, but its fluctuations are too small, so no known ensemble is sampled.  Use it for
    equilibration only; `VelocityRescaling` is as robust.  The settings are those of
    `VelocityRescaling`, without a seed.
    """

    kind: ClassVar[str] = "berendsen"
    summary: ClassVar[str] = "no noise, for equilibration only"

    def resolve(self) -> dict[str, Any]:
        """Settings for the core."""
        warnings.warn(
            QuiltWarning(
                "the Berendsen thermostat gives no known ensemble: use VelocityRescaling for all "
                "but equilibration"
            ),
            stacklevel=4,
        )
        return super().resolve()
