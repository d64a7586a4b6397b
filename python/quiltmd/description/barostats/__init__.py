# SPDX-License-Identifier: Apache-2.0
"""Barostats: a frozen description, in a file each, of how the box follows a pressure."""

from __future__ import annotations

from ..choices import choices_of, import_folder
from .base import Barostat, pressures

import_folder(__name__, __path__)
BAROSTATS = choices_of(Barostat)

__all__ = ["BAROSTATS", "Barostat", "pressures"]
