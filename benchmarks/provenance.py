# SPDX-License-Identifier: Apache-2.0
"""Where the repository is, and what every results file says of where and when it was measured."""

from __future__ import annotations

from pathlib import Path

from quiltmd.running.provenance import gpu, provenance

ROOT = Path(__file__).resolve().parents[1]
__all__ = ["ROOT", "gpu", "provenance"]
