# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of a simulation, and names of atoms in errors of the core."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..description.barostats import Barostat
from ..description.checks import whole_number
from ..description.choices import choices_of
from ..description.integrators import Integrator
from ..description.nonbonded import Nonbonded
from ..description.state import State
from ..description.system import System
from ..description.thermostats import Thermostat
from ..errors import QuiltError, SimulationError

_CORE_ATOM = re.compile(r"\batom (\d+)")
_COUNTED_ATOM = re.compile(r"\batom (\d+) \(counted from 0\)")
_KINDS: dict[str, Any] = {
    "nonbonded": Nonbonded,
    "integrator": Integrator,
    "thermostat": Thermostat,
    "barostat": Barostat,
}


def refuse_mismatch(system: object, state: object) -> None:
    """QuiltError if these are not a System and a State of the same number of atoms."""
    if not isinstance(system, System) or not isinstance(state, State):
        raise QuiltError(
            "a simulation is made of a System and a State, in this order, not of "
            f"{_kind(system)} and {_kind(state)}{_from_openmm(system, state)}"
        )
    if len(state.positions) != system.atoms:
        raise QuiltError(f"the state has {len(state.positions)} atoms, the system {system.atoms}")
    for pair in () if system.custom is None else system.custom.pairs:
        if pair.cutoff is None and state.box is not None:
            raise QuiltError(f"{pair} has no cutoff, which a periodic box needs: give one")


def _kind(thing: object) -> str:
    """Name of a class; one of OpenMM is told from ours."""
    of_openmm = type(thing).__module__.startswith("openmm")
    return ("openmm." if of_openmm else "") + type(thing).__name__


def _from_openmm(*given: object) -> str:
    """A hint at what makes our objects of OpenMM's or of arrays, where one of these is such."""
    if not any(_kind(one).startswith("openmm.") for one in given):
        arrays = any(isinstance(one, np.ndarray | list) for one in given)
        return ": State.start(system, positions, box) makes a State of positions" if arrays else ""
    return (
        ": System.from_openmm(openmm_system) and State.from_openmm(system, openmm_state) make them "
        "of OpenMM's"
    )


def refuse_other_kinds(**given: object) -> None:
    """QuiltError if a part of a simulation is none of the classes that it can be."""
    for name, part in given.items():
        if part is None or isinstance(part, _KINDS[name]):
            continue
        meant = [other for other, kind in _KINDS.items() if isinstance(part, kind)]
        hint = f": give it as {meant[0]}=" if meant else _ours_for(part, name)
        raise QuiltError(f"{name} must be {_classes(name)}, not {_kind(part)}{hint}")


def _classes(name: str) -> str:
    """The classes that a part of a simulation can be."""
    kind = _KINDS[name]
    kinds: Iterable[Any] = choices_of(kind).values() or (kind,)
    return " or ".join(one.__name__ for one in kinds)


def _ours_for(part: object, name: str) -> str:
    """A hint at our classes, where OpenMM's integrator, say, stands in the place of another."""
    given = _kind(part).lower()
    meant = [other for other in _KINDS if other in given and given.startswith("openmm.")]
    if not meant or meant[0] == name:
        return ""
    return f": give one of Quilt's own as {meant[0]}=: {_classes(meant[0])}"


def refuse_other_than_reporters(reporters: object) -> None:
    """QuiltError if these are not several reporters."""
    if not isinstance(reporters, Sequence):
        raise QuiltError(f"reporters must be a list of reporters, not {type(reporters).__name__}")
    for reporter in reporters:
        if _kind(reporter).startswith("openmm."):
            raise QuiltError(
                f"{_kind(reporter)} reports on a simulation of OpenMM's: use LogReporter, "
                "TrajectoryReporter, CheckpointReporter or FunctionReporter of quiltmd"
            )
        if not callable(getattr(reporter, "report", None)):
            raise QuiltError(
                f"{reporter!r} is not a reporter: it lacks `every` and `report(frame)`; "
                "FunctionReporter makes a reporter from a function"
            )
        whole_number("every", getattr(reporter, "every", None))


class AtomNames:
    """Turns the core's atom indices in errors into names of atoms and residues."""

    def __init__(self, system: System) -> None:
        self._system = system

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, SimulationError):
            message = str(error).removeprefix(f"step {error.step}: ")
            raise type(error)(error.step, _CORE_ATOM.sub(self._name, message)) from None
        if type(error) is QuiltError:
            raise QuiltError(_COUNTED_ATOM.sub(self._name, str(error))) from None

    def _name(self, match: re.Match[str]) -> str:
        index = int(match[1])
        return self._system.topology.describe(index) if index < self._system.atoms else match[0]
