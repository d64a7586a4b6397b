# SPDX-License-Identifier: Apache-2.0
"""Options whose numbers have units and limits, as an `Annotated` type declares them."""

from __future__ import annotations

from typing import Any

import typer
from pydantic import TypeAdapter
from typer.models import OptionInfo

from ..description.checks import checked_value
from ..errors import QuiltError


def declared(kind: Any, help: str, **about: Any) -> OptionInfo:
    """An option that takes numbers and values with units.

    Parameters
    ----------
    kind:
        An `Annotated` number, such as `Nanometres`: its unit and limits.
    help, about:
        As for `typer.Option`.
    """
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def parse(value: Any) -> Any:
        try:
            return checked_value("", value, adapter)
        except QuiltError as error:
            raise typer.BadParameter(str(error)) from None

    made = typer.Option(help=help, parser=parse, metavar="VALUE", **about)
    assert isinstance(made, OptionInfo)
    return made
