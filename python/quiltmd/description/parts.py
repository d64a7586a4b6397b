# SPDX-License-Identifier: Apache-2.0
"""Parts of a System beyond atoms, terms and pair interactions, such as implicit solvent.

A part is a frozen class derived from `Part`, and an optional field of `System`.  Functions that
copy, change or write systems name the parts that they support, and refuse all others by name
(`refuse_other_parts`): a new part is left out nowhere in silence.  `system` is a System here, whose
module imports this one.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import InputError


class Part:
    """A part of a System.

    Attributes
    ----------
    called:
        Its name in messages: "a system with `called`".
    """

    called: ClassVar[str]

    def check(self, system: Any) -> None:
        """Raises InputError if the system does not have what the part needs."""

    def arrays(self, system: Any) -> dict[str, Any]:
        """Arrays for the core, under the name of the field."""
        raise NotImplementedError


def refuse_other_parts(system: Any, done: str, *supported: type[Part]) -> None:
    """Raises InputError if a system has a part of another class.

    Parameters
    ----------
    system:
        Any system.
    done:
        The operation, for the message: "tiled".
    supported:
        The classes of parts with which that can be done.
    """
    for part in system.parts.values():
        if not isinstance(part, supported):
            raise InputError(f"a system with {part.called} cannot be {done}")
