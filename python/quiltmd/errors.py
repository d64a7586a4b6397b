# SPDX-License-Identifier: Apache-2.0
"""The errors that a user may meet.

Every error that is the input's or the simulation's fault is a `QuiltError` with
a message of one line, which the command prints without a traceback. Anything
else that escapes is a defect of the program, and its traceback is wanted.
"""

from __future__ import annotations

import os


def one_line(error: BaseException) -> str:
    """The message of an error on one line: that of its cause if it has none, or else its kind."""
    text = " ".join(str(error).split())
    if text:
        return text
    return one_line(error.__cause__) if error.__cause__ else type(error).__name__


class QuiltError(Exception):
    """Base class of all errors whose message is written for users."""


class QuiltWarning(UserWarning):
    """An unusual setting or input that may be intended: reported once; the program continues."""


class InputError(QuiltError):
    """An input cannot be used; says where.

    Parameters
    ----------
    message:
        The problem and, if known, the remedy.
    file:
        The file with the problem; the message begins with it.
    line:
        Line in the file, counted from 1.
    atom:
        The atom with the problem, counted from 0; messages count from 1, as files do.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | os.PathLike[str] | None = None,
        line: int | None = None,
        atom: int | None = None,
    ) -> None:
        self.file = None if file is None else os.fspath(file)
        self.line = line
        self.atom = atom
        place = [] if self.file is None else [self.file]
        if line is not None:
            place.append(f"line {line}")
        if atom is not None:
            place.append(f"atom {atom + 1}")
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


class FormatLimitError(QuiltError):
    """A file format has no room for a number."""


class LostError(QuiltError):
    """A worker has ended or does not answer, or a GPU has failed permanently in a process."""


class PeerError(QuiltError):
    """A rank stopped because another one has failed, which says more itself."""


class ExternalForceError(QuiltError):
    """An external force failed, or returned an invalid result.

    Parameters
    ----------
    name:
        Name of the force.
    step:
        Step of the call.
    what:
        Description of the fault.
    """

    def __init__(self, name: str, step: int, what: str) -> None:
        self.name, self.step, self.what = name, step, what
        super().__init__(f"step {step}: external force '{name}': {what}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.step, self.what)


class SimulationError(QuiltError):
    """A simulation blew up.

    Parameters
    ----------
    step:
        The step at which it was noticed.
    message:
        The worst atoms and what acted on them.
    """

    def __init__(self, step: int, message: str) -> None:
        self.step = step
        super().__init__(f"step {step}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        prefix = f"step {self.step}: "
        return type(self), (self.step, str(self).removeprefix(prefix))


class BoxError(SimulationError):
    """A barostat would change the box too much in one action: the pressure is far off."""
