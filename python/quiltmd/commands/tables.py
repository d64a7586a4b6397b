# SPDX-License-Identifier: Apache-2.0
"""Results as tables on stdout, for people."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

out = Console(highlight=False, soft_wrap=True)


def show_table(table: Table) -> None:
    """Prints a table; one that is wider than the window keeps every digit."""
    width = Measurement.get(out, out.options.update(max_width=1000), table).maximum
    Console(width=max(width, out.width), highlight=False).print(table)
