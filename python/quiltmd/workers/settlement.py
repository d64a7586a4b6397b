# SPDX-License-Identifier: Apache-2.0
"""What is done when devices came to different states: who was wrong does not go on."""

from __future__ import annotations

import time

from ..errors import QuiltError, SimulationError
from .channel import LostError
from .crew import Crew, Member
from .verdict import judge

_STRIKES = 3  # after so many transient errors a device is not used any more


def settle(crew: Crew, target: int, first: list[str]) -> None:
    """Finds out who was wrong, and has the others go on."""
    begun = time.monotonic()
    devices = list(crew.members)
    names = [str(member.place) for member in devices]
    if len(first) > len(devices):  # one device that did it twice
        _settle_alone(crew, target, first, begun)
        return
    again = []
    for member in devices:
        try:
            again.append(_fresh(crew, member, target))
        except LostError as error:
            crew.replace([(member, str(error))])
            return  # with another device in its place all are compared again
    verdict = judge(first, again)
    if verdict.kind == "undecided":
        extra = _third(crew, len(devices), target)
        if extra is not None:
            devices.append(extra)
            votes = [*again, _outcome(extra)]
            verdict = judge(votes, votes)
    if verdict.kind == "undecided":
        raise QuiltError(
            f"{' and '.join(names)} came to different states between steps "
            f"{crew.state_to_go_on_from().step} and {target}, each of them twice the same, and "
            "there is no third device to decide (spares in [workers]): one of them is broken"
        )
    culprits = [devices[k] for k in verdict.culprits]
    said = ", ".join(str(member.place) for member in culprits)
    for member in culprits:
        crew.strikes[str(member.place)] = crew.strikes.get(str(member.place), 0) + 1
    if verdict.kind == "transient":
        crew.tell(f"a transient error of {said}; all agree when the steps are repeated", begun)
        retired = [m for m in culprits if crew.strikes[str(m.place)] >= _STRIKES]
        culprits = retired if crew.ring else []
    else:
        why = {"unsteady": "does not repeat its own results", "outvoted": "is outvoted"}
        crew.tell(f"{said} {why[verdict.kind]}, and is not used any more", begun)
    crew.members = [member for member in devices if member not in culprits]
    for member in culprits:
        member.engine.close()
        crew.substitute(member)


def _settle_alone(crew: Crew, target: int, first: list[str], begun: float) -> None:
    """One device has had two results: a fresh process on it decides."""
    member = crew.members[0]
    third = _fresh(crew, member, target)
    crew.tell(f"{member.place} had two results for the same steps, which were repeated", begun)
    crew.strikes[str(member.place)] = crew.strikes.get(str(member.place), 0) + 1
    if third in first and crew.strikes[str(member.place)] < _STRIKES:
        return
    if not crew.ring:
        raise QuiltError(
            f"{member.place} does not repeat its own results (steps "
            f"{crew.state_to_go_on_from().step} to {target}), and there is no other device (spares "
            "in [workers])"
        )
    crew.members = []
    member.engine.close()
    crew.substitute(member)


def _fresh(crew: Crew, member: Member, target: int) -> str:
    """The outcome of a member that does it again in a new process."""
    member.engine.close()
    renewed = crew.started(member.place, member.number)
    member.engine, member.step = renewed.engine, renewed.step
    crew.restore(member)
    return _run_to(member, target)


def _third(crew: Crew, number: int, target: int) -> Member | None:
    """Another device at the same step, if there is one."""
    while crew.ring:
        try:
            member = crew.started(crew.ring.popleft(), number)
            crew.restore(member)
            _run_to(member, target)
        except QuiltError:
            continue
        return member
    return None


def _run_to(member: Member, target: int) -> str:
    """Runs a member by itself; its outcome."""
    try:
        member.engine.run(target - member.step)
    except (SimulationError, MemoryError) as error:
        return str(error)
    member.step = target
    return _outcome(member)


def _outcome(member: Member) -> str:
    return member.engine.begin_digest().result()
