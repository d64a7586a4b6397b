# SPDX-License-Identifier: Apache-2.0
"""Thermostats for integrators that have none of their own: a frozen description in a file each."""

from __future__ import annotations

from ..choices import choices_of, import_folder
from .base import Thermostat

import_folder(__name__, __path__)
THERMOSTATS = choices_of(Thermostat)

__all__ = ["THERMOSTATS", "Thermostat"]
