# SPDX-License-Identifier: Apache-2.0
"""Settings of workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..description.checks import user_settings
from ..description.settings import MOST, OnResume
from ..description.units import Seconds
from .injection import parse_injection
from .places import as_spelt, parse_place


def _absolute(path: Path) -> Path:
    try:
        return Path(os.path.abspath(path.expanduser()))
    except RuntimeError:
        raise ValueError("there is no user of that name") from None


def _check_spare(name: str) -> str:
    parse_place(name)
    return as_spelt(name)


def _check_fault(text: str) -> str:
    parse_injection(text)
    return text


_File = Annotated[Path, AfterValidator(_absolute)]
_Spare = Annotated[str, AfterValidator(_check_spare)]
_Fault = Annotated[str, AfterValidator(_check_fault)]


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Workers:
    """Settings for devices in workers (`worker:`, `ssh:`, `remote:`).

    Attributes
    ----------
    key:
        Key file for devices `remote:`; None: ~/.config/quiltmd/key.
    command:
        The command `quiltmd` on hosts reached by `ssh:`, such as /home/me/md/bin/quiltmd; the shell
        of the host interprets it.
    silence:
        Heartbeat timeout, s: a worker that is silent for this time is considered lost.
    trust_network:
        Suppress the warning that messages between ranks on several hosts are not encrypted.
    patience:
        Minimum time, s, before a device is declared hung: a segment of the run must take longer
        than this time, and fifty times longer than expected; only with spares.
    spares:
        Devices that replace a lost one, in this order.
    verify:
        Check of the device: repeat one of every `verify` segments of the run (half a second of
        steps each), and compare the results; 0: no check.
    inject_fault:
        Faults to inject: see `quiltmd.workers.injection`.
    """

    key: Annotated[_File | None, OnResume.MAY_CHANGE] = Field(
        default=None,
        description="Key file for devices of a server, remote:...; default: ~/.config/quiltmd/key.",
    )
    command: Annotated[str, OnResume.MAY_CHANGE] = Field(
        default="quiltmd",
        min_length=1,
        description="Path of quiltmd on hosts that are reached by ssh.",
    )
    silence: Annotated[Seconds, OnResume.MAY_CHANGE] = Field(
        default=10.0,
        ge=2.0,
        description="Heartbeat timeout, s: a worker that is silent for this time is considered "
        "lost.",
    )
    trust_network: Annotated[bool, OnResume.MAY_CHANGE] = Field(
        default=False,
        description="Suppress the warning that messages between ranks on several hosts are not "
        "encrypted.",
    )
    patience: Annotated[Seconds, OnResume.MAY_CHANGE] = Field(
        default=10.0,
        gt=0,
        description="Minimum time, s, before a device is declared hung: a segment of the run (half "
        "a second of steps) must take longer than this time, and fifty times longer than "
        "expected; needs spares.",
    )
    spares: Annotated[tuple[_Spare, ...], OnResume.MAY_CHANGE] = Field(
        default=(),
        description="Device that replaces a lost device; several are used in this order.",
    )
    verify: Annotated[int, OnResume.MAY_CHANGE] = Field(
        default=0,
        ge=0,
        le=MOST,
        description="Check of the device: repeat one segment of the run (half a second of "
        "steps) in every VERIFY segments, and compare the results; 0: no check.",
    )
    inject_fault: Annotated[tuple[_Fault, ...], OnResume.MAY_CHANGE] = Field(
        default=(),
        description="Fault to inject, for tests: KIND@STEP[:DEVICE], with the kinds kill, stop, "
        "hang, drop, sticky and nan, or flip@STEP[:DEVICE]:BUFFER:BIT.",
    )
