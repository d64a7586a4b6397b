# SPDX-License-Identifier: Apache-2.0
"""Integrators: a frozen description, in a file each, of how atoms are propagated.

Each class holds what its ensemble needs and no more, so that a friction cannot be given to NVE by
mistake; the core receives all as flat dictionaries.
"""

from __future__ import annotations

from ..choices import choices_of, import_folder
from .base import Integrator
from .langevin_middle import LangevinMiddle
from .velocity_verlet import VelocityVerlet

import_folder(__name__, __path__)
INTEGRATORS = choices_of(Integrator)

__all__ = ["INTEGRATORS", "Integrator", "LangevinMiddle", "VelocityVerlet"]
