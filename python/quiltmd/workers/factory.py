# SPDX-License-Identifier: Apache-2.0
"""The engine for a device: in this process, in a worker, or in several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..engine import core
from ..engine.core import Engine
from ..engine.execution import Execution
from ..engine.hosts import cores_of, started_together
from ..engine.places import Place, has_rank_on_each, is_forwarded, parse_device, parse_place
from ..engine.where import RunHere, RunInWorkers
from ..engine.worker_settings import Workers
from ..starting import Starting
from .client import Connection, WorkerEngine
from .launch import connect_all
from .supervisor import Supervisor
from .team import Team, introduce


def make_engine(
    system: dict[str, Any],
    nonbonded: dict[str, Any],
    integrator: dict[str, Any],
    run: RunHere | RunInWorkers,
) -> Engine:
    """The engine for where `Execution.resolve` has it run."""
    if isinstance(run, RunHere):
        return core.make_engine(system, nonbonded, integrator, run)
    settings = run.workers
    places = [place.in_worker() for place in parse_device(run.device)]
    if is_forwarded(run.device):
        with Starting() as starting:
            here = _forwarding(places[0], run, starting)
            forwarded = core.make_engine(system, nonbonded, integrator, here)
            starting.pop_all()
        return forwarded
    is_team = has_rank_on_each(run.device)
    is_supervised = not is_team and bool(len(places) > 1 or settings.spares or settings.verify)
    patience = settings.patience if is_supervised else None

    def start_on(connection: Connection, place: Place, beside: int = 1, **own: Any) -> WorkerEngine:
        execution = run.message(device=place.device, **own)
        return WorkerEngine(connection, system, nonbonded, integrator, execution, patience, beside)

    def start(place: Place) -> WorkerEngine:
        with Starting() as starting:
            (connection,) = connect_all([place], settings, starting)
            engine = start_on(connection, place)
            starting.pop_all()
        return engine

    if is_team:
        return _team(places, settings, start_on, run.asked["transport"])
    if is_supervised:
        spares = [parse_place(name).in_worker() for name in settings.spares]
        return Supervisor(places, spares, start, settings)
    engine = start(places[0])
    if settings.inject_fault:
        engine.inject(list(settings.inject_fault))
    return engine


def _forwarding(place: Place, run: RunInWorkers, starting: Starting) -> RunHere:
    """An engine in this process whose device is in a worker, which ends with it."""
    (connection,) = connect_all([place], run.workers, starting)
    own = Execution(**{**run.asked, "device": "cpu"}).resolve_here()
    socket = connection.forward(place.device, run.asked["threads"])
    return replace(own, device=f"socket:{socket}")


def _team(
    places: list[Place],
    settings: Workers,
    start_on: Callable[..., WorkerEngine],
    transport: str,
) -> Team:
    """A worker at each place, with a rank of one simulation."""
    sharing = sharing_cores(places)

    def make(connection: Connection, rank: int) -> WorkerEngine:
        return start_on(connection, places[rank], sharing[rank], ranks=None, transport="auto")

    with Starting() as starting:
        connections = connect_all(places, settings, starting)
        for rank, (connection, place) in enumerate(zip(connections, places, strict=True)):
            if place.kind != "mpi":  # whose names have the rank
                connection.name = f"rank {rank} ({place})"
        introduce(connections, places, settings, transport)
        team = Team(connections, make)
        starting.pop_all()
    return team


def sharing_cores(places: list[Place]) -> list[int]:
    """For each place, the number of places that use the same cores."""
    if started_together:
        cores = [cores_of(place) for place in places]
        return [cores.count(own) for own in cores]
    hosts = [place.host for place in places]
    return [hosts.count(host) for host in hosts]
