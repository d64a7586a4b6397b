# SPDX-License-Identifier: Apache-2.0
"""The class of all commands, and an option that several have.

The options that come from the configuration are made in `options.py`, which takes a quarter of a
second to import; commands without them do not import it.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from .habits import refuse_options

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class SectionedCommand(TyperCommand):
    """A command whose help lists the options of each section of the configuration apart.

    Options of other programs are refused with what to type for them.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments; QuiltError where one is an option of another program."""
        if not ctx.resilient_parsing:  # as for completion
            refuse_options(args, {name for one in self.get_params(ctx) for name in one.opts})
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options; the command's own options come last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        own: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                groups.setdefault("Arguments", []).append(record)
            elif panel := getattr(parameter, "rich_help_panel", None):
                groups.setdefault(panel, []).append(record)
            else:
                own.append(record)
        for title, records in (*groups.items(), ("Options", own)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
