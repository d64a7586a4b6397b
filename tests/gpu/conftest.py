# SPDX-License-Identifier: Apache-2.0
"""GPU tests: skipped without a usable GPU; `--results FILE` leaves what was run as JSON."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from provenance import provenance
from running import thermal, usable_gpu

import quiltmd


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--results", type=Path, help="write counts and durations of tests as JSON")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--results", None)
    if path is not None:
        config.pluginmanager.register(Results(path), "quiltmd-results")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not usable_gpu():
        pytest.skip("there is no usable GPU")


class Results:
    """Collects outcomes and durations, and writes them with where they were made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests.setdefault(report.nodeid, {"outcome": "passed", "seconds": 0.0})
        test["seconds"] += report.duration
        if report.outcome != "passed":
            test["outcome"] = report.outcome
        test.update(dict(report.user_properties))

    def pytest_sessionfinish(self) -> None:
        counts = Counter(test["outcome"] for test in self.tests.values())
        document = {**provenance(), "counts": dict(counts), "tests": self.tests}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")


Pair = tuple[quiltmd.System, quiltmd.State]


@pytest.fixture(scope="session")
def dhfr(jac: tuple[Path, Path]) -> Pair:
    """The Joint Amber-CHARMM benchmark, 23,558 atoms, hydrogen masses repartitioned."""
    return quiltmd.load(*jac, constraints="h-bonds", hydrogen_mass=3.0)


@pytest.fixture(scope="session")
def warm(dhfr: Pair) -> Pair:
    """The same with velocities."""
    return dhfr[0], thermal(*dhfr)


@pytest.fixture(scope="session")
def jac_system(jac: tuple[Path, Path]) -> Pair:
    """The Joint Amber-CHARMM benchmark, 23,558 atoms, bonds to hydrogen constrained."""
    return quiltmd.load(*jac, constraints="h-bonds")


@pytest.fixture(scope="session")
def peptide(alanine: tuple[Path, Path]) -> Pair:
    """Alanine dipeptide in water, 2269 atoms, bonds to hydrogen constrained."""
    return quiltmd.load(*alanine, constraints="h-bonds")
