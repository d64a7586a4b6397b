# SPDX-License-Identifier: Apache-2.0
"""The page of free energies: estimates, overlap of states, convergence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..pages.charts import Chart
from ..pages.html import Html, Row, charts, note, page, table
from ..running.free_energies import LEAST_OVERLAP, SHARES, FreeEnergies
from ..running.statistics import Estimated

PAGE = "free-energies.html"


def make_page(found: FreeEnergies, folders: Sequence[Path], discard: float) -> str:
    """The page of what was found in some folders."""
    last = found.mbar[-1]
    summary = [
        f"From the first state to the last: {shown(last)} kJ/mol (MBAR)",
        f"{len(found.lambdas)} states; the first {discard:.0%} of the rows of each left out",
        *(str(folder) for folder in folders),
    ]
    return page("Free energies", summary, sections(found))


def sections(found: FreeEnergies) -> list[tuple[str, str]]:
    """Headings and what stands below them."""
    return [
        ("Free energies", _estimates(found)),
        ("Over lambda, and convergence", charts(_charts(found))),
        ("Overlap of states", _overlap(found)),
    ]


def shown(one: Estimated) -> str:
    """A number with its standard error."""
    return f"{one.value:.2f} \u00b1 {one.error:.2f}"


def _estimates(found: FreeEnergies) -> str:
    headings = ("state", "lambdas", "rows", "independent", "integration, kJ/mol", "MBAR, kJ/mol")
    rows: list[Row] = [
        (
            str(k),
            ", ".join(f"{name} {value:g}" for name, value in zip(found.names, state, strict=True)),
            str(found.rows[k]),
            str(found.independent[k]),
            "" if found.integration is None else shown(found.integration[k]),
            shown(found.mbar[k]),
        )
        for k, state in enumerate(found.lambdas)
    ]
    explained = (
        "Free energies relative to the first state; \u00b1: one standard error. "
        "Independent: number of uncorrelated rows, from the statistical inefficiency."
    )
    if found.integration is None:
        explained += " No integration: a state has no samples."
    return table(headings, rows, 2) + note(explained)


def _charts(found: FreeEnergies) -> Iterator[Chart]:
    places = np.arange(len(found.lambdas), dtype=np.float64)
    for number, name in enumerate(found.names):
        slopes = found.slopes[:, number]
        known = np.isfinite(slopes)
        title = f"Mean of dU/d\u03bb, {name}"
        yield Chart(title, "kJ/mol", places[known], slopes[known], "", over="state")
    energies = np.array([one.value for one in found.mbar])
    yield Chart("Free energy (MBAR)", "kJ/mol", places, energies, "", over="state")
    final, shares = found.mbar[-1].value, 100 * np.array(SHARES)
    for title, parts in (("first", found.forward), ("last", found.backward)):
        values = np.array([one.value for one in parts])
        known = np.isfinite(values)
        of = "kJ/mol; dashed: all samples"
        name = f"From the {title} samples"
        yield Chart(name, of, shares[known], values[known], "%", final, over="share")


def _overlap(found: FreeEnergies) -> str:
    """The matrix; the darker a cell, the larger its number."""
    count = len(found.lambdas)
    rows: list[Row] = [
        (str(k), *(Html(_cell(found.overlap[k, n])) for n in range(count))) for k in range(count)
    ]
    least = found.neighbour_overlaps().min()
    verdict = f"Least overlap of neighbours: {least:.3f}. "
    verdict += (
        f"Below {LEAST_OVERLAP:g} estimates cannot be trusted: add states between them."
        if least < LEAST_OVERLAP
        else f"All are above {LEAST_OVERLAP:g}."
    )
    return table(("state", *map(str, range(count))), rows, 1) + note(verdict)


def _cell(value: float) -> str:
    share = min(max(value, 0.0), 1.0)
    return (
        f'<span style="background: color-mix(in srgb, var(--line) {100 * share:.0f}%, '
        f'var(--paper)); padding: 0 .3rem">{value:.2f}</span>'
    )
