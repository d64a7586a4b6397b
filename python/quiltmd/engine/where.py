# SPDX-License-Identifier: Apache-2.0
"""Resolved place of an engine: in this process, or in workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .worker_settings import Workers


@dataclass(frozen=True)
class RunHere:
    """An engine of this process: all that the core needs to know.

    Attributes
    ----------
    device, ranks, threads, balance, transport, mesh, grain:
        As in `Execution`, each chosen.
    patch_reach:
        Along x, y and z.
    list_life, list_buffer:
        Steps between rebuilds of pair lists, and the Verlet buffer, nm; 0: the core chooses.
    external:
        Forces from outside, as the core takes them.
    peers:
        Connections of a rank in a separate process to the others.
    """

    device: str
    ranks: int
    threads: int
    patch_reach: tuple[int, int, int]
    balance: bool
    transport: str
    mesh: str
    grain: str = "patch"
    list_life: int = 0
    list_buffer: float = 0.0
    external: tuple[dict[str, Any], ...] = ()
    peers: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """For the core."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        peers = own.pop("peers")
        return {**own, **peers, "external": list(self.external)}


@dataclass(frozen=True)
class RunInWorkers:
    """An engine in workers, each of which resolves for its machine what is asked for.

    Attributes
    ----------
    device:
        Device of all workers, as given by the user.
    ranks:
        Number of ranks.
    workers:
        Settings of workers.
    asked:
        The other settings of `Execution`, which go to them.
    external:
        Factories of external forces there.
    """

    device: str
    ranks: int
    workers: Workers
    asked: dict[str, Any]
    external: tuple[dict[str, Any], ...] = ()

    def message(self, **own: Any) -> dict[str, Any]:
        """Request to a worker, with its own values of some settings."""
        return {**self.asked, "external": list(self.external), **own}
