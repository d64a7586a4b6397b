# SPDX-License-Identifier: Apache-2.0
"""Faults on purpose, to see what becomes of them: `--inject-fault KIND@STEP[:DEVICE][:BUFFER:BIT]`.

    kill@500            the worker's process is killed
    stop@500:1          that of the second device is stopped, as by SIGSTOP
    hang@500            the device never finishes; a GPU is busy for ever
    sticky@500          a kernel of the GPU writes to an illegal address: every later call fails
    drop@500            the connection is cut
    nan@500             a velocity is no number
    flip@500:1:positions:77     one bit of an array is another
    flip@500:1:0/receive_forces/7/in.words:77   one bit of what an operation reads

A flip is what a bad memory cell or a wrong result leaves behind.  In an array, the State is set
with one bit changed.  In RANK/OPERATION/LAUNCH/FIELD, the bit flips right before that launch of
that operation after that step, in what a field of its parameters points to, on the CPU alone.
`always-flip` does so in every process that comes past that step on that device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BUFFERS = ("positions", "velocities", "list_positions")
_INSIDE = r"[0-9]{1,9}/[a-z_.]+/[0-9]{1,18}/[^:/]+"
_FORM = re.compile(
    "(?P<always>always-)?(?P<kind>kill|stop|hang|drop|sticky|nan|flip)@(?P<step>[0-9]{1,18})"
    f"(?::(?P<device>[0-9]{{1,3}}))?(?::(?P<buffer>{'|'.join(BUFFERS)}|{_INSIDE}):(?P<bit>[0-9]{{1,18}}))?"
)


@dataclass(frozen=True)
class Injection:
    """A fault: at which step, on which of the devices, counted from 0."""

    kind: str
    step: int
    device: int = 0
    buffer: str = "velocities"
    bit: int = 0
    always: bool = False

    def inside(self) -> tuple[int, str, str, int] | None:
        """Rank, operation, field and launch of a flip in what an operation reads; else None."""
        if self.buffer in BUFFERS:
            return None
        rank, operation, launch, field = self.buffer.split("/")
        return int(rank), operation, field, int(launch)


def parse_injection(text: str) -> Injection:
    """ValueError where the text is none."""
    found = _FORM.fullmatch(text)
    if found is None or bool(found["buffer"]) != (found["kind"] == "flip"):
        raise ValueError(
            f"'{text}' is not a fault that can be injected; choose kill, stop, hang, drop, "
            "sticky or nan@STEP[:DEVICE], "
            f"or flip@STEP[:DEVICE]:BUFFER:BIT with one of {', '.join(BUFFERS)}, or with "
            "RANK/OPERATION/LAUNCH/FIELD"
        )
    return Injection(
        found["kind"],
        int(found["step"]),
        int(found["device"] or 0),
        found["buffer"] or "velocities",
        int(found["bit"] or 0),
        bool(found["always"]),
    )
