# SPDX-License-Identifier: Apache-2.0
"""Ensembles at constant pressure of water and of a protein in it, as benchmarks/ensembles.py has
them: volumes at two pressures, enthalpies at two temperatures, kinetic energies."""

from __future__ import annotations

from typing import Any

import ensembles
import pytest
from running import Pair

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(1800)]
Started = tuple[ensembles.Case, Any]


@pytest.fixture(scope="module", params=["water", "protein"])
def started(request: pytest.FixtureRequest) -> Started:
    pair: Pair = request.getfixturevalue("dhfr")
    case = ensembles.water() if request.param == "water" else ensembles.protein_of(*pair)
    return case, ensembles.warmed(case, "cuda")


@pytest.mark.parametrize("kind", ensembles.BAROSTATS)
def test_ensembles_at_constant_pressure(started: Started, kind: str, record_property: Any) -> None:
    case, start = started
    found = ensembles.deviations(*ensembles.runs(case, kind, start, "cuda"))
    for name, value in found.items():
        record_property(name, value)
    assert ensembles.largest(found) < ensembles.LIMIT
