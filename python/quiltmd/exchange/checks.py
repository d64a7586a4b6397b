# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of a replica exchange."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..description.checks import numbers
from ..description.collective import CollectiveRestraint
from ..description.dynamics import groups_with_baths
from ..description.integrators import Integrator, LangevinMiddle, VelocityVerlet
from ..description.system import System
from ..description.thermostats import Thermostat
from ..engine.execution import Execution
from ..errors import QuiltError
from .states import ReplicaState

Kind = TypeVar("Kind")


def check_states(states: Sequence[ReplicaState]) -> tuple[ReplicaState, ...]:
    """The states; QuiltError if there are none, or where they are something else."""
    if not len(states) or not all(isinstance(state, ReplicaState) for state in states):
        raise QuiltError(
            "replica exchange needs states, such as temperature_states([300, 310]) gives"
        )
    return tuple(states)


def check_memory(replicas: int, on_cpu: int = 0, of_one: float = 0.0) -> None:
    """QuiltError if replicas need more memory than this machine has.

    Parameters
    ----------
    replicas:
        Number of replicas; the energies of each replica in each state are stored.
    on_cpu, of_one:
        Number of replicas on the CPU, and memory of one, bytes.
    """
    needed = 2 * 8.0 * replicas**2 + on_cpu * of_one  # energies of an iteration, and of the last
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise QuiltError(
            f"{replicas} replicas need {1e-9 * needed:.3g} GB of memory, and this machine has "
            f"{1e-9 * there:.3g} GB: take fewer"
        )


def one_for_each(name: str, given: Any, kind: type[Kind], count: int) -> list[Kind]:
    """One value for each state, from one for all or a list; QuiltError for other values."""
    found = [given] * count if isinstance(given, kind) else given
    if not isinstance(found, list | tuple) or not all(isinstance(one, kind) for one in found):
        raise QuiltError(f"{name} must be a {kind.__name__}, or a list with one for each state")
    if len(found) != count:
        raise QuiltError(f"{count} states need one {name}, or as many, not {len(found)}")
    return list(found)


def check_systems(systems: Sequence[System]) -> None:
    """QuiltError if what one state simulates cannot be swapped with what another does."""
    first = systems[0]
    for k, other in enumerate(systems):
        for name in ("masses", "constraints", "constraint_lengths"):
            if not np.array_equal(getattr(first, name), getattr(other, name)):
                raise QuiltError(
                    f"replicas cannot be swapped between states 0 and {k}, whose systems have "
                    f"other {name.replace('_', ' ')}"
                )


def check_solute(
    solute: NDArray[np.integer[Any]] | None, states: Sequence[ReplicaState], atoms: int
) -> NDArray[np.integer[Any]] | None:
    """Indices of its atoms; QuiltError if they are none, or missing though states scale them."""
    if solute is None:
        if any(state.scale != 1.0 for state in states):
            raise QuiltError("states with a scale need `solute`, the atoms that they scale")
        return None
    found = numbers("solute", solute, "indices of atoms")
    if found.size and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= atoms):
        raise QuiltError(f"solute must be indices of atoms, from 0 to {atoms - 1}")
    return found


def check_lambdas(
    states: Sequence[ReplicaState], systems: Sequence[System]
) -> NDArray[np.int64] | None:
    """Which states of the schedule those of replicas are; None where they have no lambdas.

    QuiltError if some have lambdas and others not, or a schedule lacks them, or systems differ.
    """
    given = [state.lambdas for state in states]
    if all(lambdas is None for lambdas in given):
        return None
    alchemy = systems[0].alchemy
    if alchemy is None:
        raise QuiltError("states with lambdas need alchemical atoms: see quiltmd.decouple")
    if any(system is not systems[0] for system in systems):
        raise QuiltError("states with lambdas need one system for all")
    rows = []
    for k, lambdas in enumerate(given):
        if lambdas is None:
            raise QuiltError(f"state {k} has no lambdas, and others have: give all or none")
        found = np.flatnonzero((alchemy.states == lambdas).all(axis=1))
        if len(found) == 0:
            raise QuiltError(
                f"state {k}: the schedule of the system has no state with the lambdas "
                f"{', '.join(f'{one:g}' for one in lambdas)}"
            )
        rows.append(int(found[0]))
    return np.array(rows, dtype=np.int64)


def check_windows(
    states: Sequence[ReplicaState], systems: Sequence[System]
) -> tuple[CollectiveRestraint, NDArray[np.float64]] | None:
    """The restraint of umbrella windows, and its centres (inside units); None without windows.

    QuiltError if some states have windows and others not, or they differ in more than the centre.
    """
    given = [state.window for state in states if state.window is not None]
    if not given:
        return None
    restraints = {name for name, _ in given}
    if len(given) < len(states) or len(restraints) > 1:
        raise QuiltError(
            "umbrella windows are reference values of one restraint: give each state one"
        )
    if any(state.scale != 1.0 or state.lambdas is not None for state in states):
        raise QuiltError("states with windows cannot have a scale or lambdas")
    if any(system is not systems[0] for system in systems):
        raise QuiltError("states with windows need one system for all")
    if systems[0].collective is None:
        raise QuiltError(
            "umbrella windows need a restraint between groups, with a name: a table [[restraint]], "
            "or quiltmd.Restraint"
        )
    restraint = systems[0].collective.named(restraints.pop())
    if restraint.moves:
        raise QuiltError(
            f"the reference value of {restraint.name!r} follows a path: leave out the path"
        )
    if restraint.k == 0:
        raise QuiltError(f"the restraint {restraint.name!r} has k = 0: its windows do not differ")
    return restraint, np.array([centre for _, centre in given]) / restraint.shown


def check_devices(devices: Sequence[str]) -> None:
    """QuiltError if they are no list of names of devices."""
    if isinstance(devices, str) or not devices:
        raise QuiltError("devices must be a list of names, such as ['cuda:0', 'cuda:1']")
    for device in devices:
        Execution(device)


def refuse_external(settings: Mapping[str, Any]) -> None:
    """QuiltError for forces from outside, which replicas would share with what they remember."""
    if settings.get("external"):
        raise QuiltError("replica exchange has no external forces: leave out `external`")


def check_ensemble(
    integrator: Integrator | None, thermostat: Thermostat | None, barostat: Any
) -> None:
    """QuiltError if states would not be canonical ensembles of one temperature each."""
    canonical = "replica exchange is between canonical ensembles"
    if barostat is not None:
        raise QuiltError(f"{canonical}: leave out the barostat")
    if isinstance(integrator, VelocityVerlet) and thermostat is None:
        raise QuiltError(f"{canonical}: use LangevinMiddle, or a thermostat")
    baths = groups_with_baths(integrator or LangevinMiddle(), thermostat)
    found = sorted({group.temperature for group in baths})
    if len(found) > 1:
        raise QuiltError(
            f"{canonical}, and groups of atoms have {', '.join(f'{one:g}' for one in found)} K: "
            "give them the same temperature"
        )
