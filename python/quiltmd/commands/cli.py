# SPDX-License-Identifier: Apache-2.0
"""The command `quiltmd`: results on stdout, all else on stderr.

Each command is a module beside this one.  Errors made for the user end in one line and a non-zero
exit; anything else is a defect and keeps its traceback.
"""

from __future__ import annotations

import signal
import sys
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from typing import Annotated

import typer

from ..errors import QuiltError
from ..running.stopping import INTERRUPTED, SIGNALS, act_as_usual, ignore_further_signals
from ..version import package_version
from ..workers import lifelines
from .catalogue import Commands, list_commands

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: it wraps in narrow windows and needs no Unicode
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(package_version())
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Quilt: molecular dynamics of biomolecules, coarse-grained models and metals."""
    from ..running.progress import show_warnings

    show_warnings()
    act_as_usual([signal.SIGINT] if context.invoked_subcommand in _STOPPABLE else SIGNALS)


# In these other signals than Ctrl-C mean a stop, with an exit status that says so.
_STOPPABLE = ("run", "exchange", "demo")

# Errors of files name them: what has no name is stdout.
_UNWRITTEN = dict.fromkeys((ENOSPC, EDQUOT, EFBIG, EIO), "cannot write to stdout: ")

list_commands(app)


def main() -> None:
    """Runs a command; errors made for the user become one line and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except QuiltError as error:
        _fail(str(error))
    except OSError as error:
        name = f"{error.filename}: " if error.filename else _UNWRITTEN.get(error.errno or 0, "")
        _fail(f"{name}{error.strerror or error}")
    except MemoryError:
        _fail("out of memory: the system is too large for this machine")
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        _fail(
            "the system gives this process no more threads: see its limits on processes and "
            "addresses (ulimit -u and -v)"
        )
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        ignore_further_signals()
        lifelines.share_status(_status())


def _status() -> int:
    """Status with which this process will exit."""
    end = sys.exc_info()[1]
    code = end.code if isinstance(end, SystemExit) else int(end is not None)
    return code if isinstance(code, int) else int(code is not None)


def _fail(message: str) -> None:
    from rich.text import Text

    from ..running.progress import console

    console.print(Text(f"error: {message}", style="bold red"))
    sys.exit(1)
