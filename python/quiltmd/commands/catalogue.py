# SPDX-License-Identifier: Apache-2.0
"""The commands of `quiltmd` by name: where each is, and what the list of commands says of it.

The module of a command is imported when the command is run or asked for its help.  `--help` and
`--version` of `quiltmd` itself, and the completion of a command's name, need none, and no NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from .habits import refuse_as_command
from .sectioned_command import SectionedCommand

# Module and function (or group of commands), and the first sentence of its help.
COMMANDS = {
    "energy": (
        "energy.energy",
        "Print the energy terms of a structure or trajectory, kJ/mol.",
    ),
    "prepare": (
        "prepare.prepare",
        "Prepare a structure from a PDB or mmCIF file for simulation.",
    ),
    "run": ("run.run", "Run a simulation, or continue one from its checkpoint."),
    "exchange": (
        "exchange.exchange",
        "Run replica exchange: temperatures, REST2, lambdas or umbrella windows.",
    ),
    "alchemy": (
        "alchemy.alchemy",
        "Estimate free energies from runs of alchemical states.",
    ),
    "migrate": ("migrate.migrate", "Move a running simulation to another device."),
    "watch": (
        "watch.watch",
        "Show energies, temperature and speed of a run live.",
    ),
    "report": (
        "report.report",
        "Write one HTML page about a run: energies, speed, settings.",
    ),
    "profile": (
        "profile.profile",
        "Profile steps after the last checkpoint of a run.",
    ),
    "info": (
        "information.info",
        "Describe input files, a configuration, or the folder of a run.",
    ),
    "convert": ("convert.convert", "Convert a system and its state to OpenMM XML."),
    "devices": (
        "information.devices",
        "List the devices of this machine, and test each GPU.",
    ),
    "serve": (
        "serve.serve",
        "Let clients on other machines use the devices of this machine.",
    ),
    "bench": ("bench.bench", "Measure the speed of a standard system and of its tasks."),
    "demo": ("demo.demo", "Simulate a protein in water and plot its energies."),
    "digest": (
        "digest.digest",
        "Print the SHA-256 of the State in a checkpoint.",
    ),
    "predict": (
        "predict.predict_command",
        "Predict the speed on many ranks, here or on another machine.",
    ),
}


class Commands(TyperGroup):
    """A group whose commands stand in for those of `COMMANDS` until one is chosen."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name and command that the arguments begin with, and the arguments left."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            refuse_as_command(args[0])
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else None, rest


def list_commands(app: typer.Typer) -> None:
    """Gives the app a stand-in for each command, with its name and the line that describes it."""
    for name, (_, summary) in COMMANDS.items():
        app.command(name, help=summary)(_stand_in)


def load(name: str) -> Any:
    """The command itself."""
    module, _, attribute = COMMANDS[name][0].partition(".")
    found = getattr(import_module(f".{module}", __package__), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name, cls=SectionedCommand)(found)
        found = alone
    return get_command(found)


def _stand_in() -> None:
    """Never called: `Commands.resolve_command` puts the command in its place."""
