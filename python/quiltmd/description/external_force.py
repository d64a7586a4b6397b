# SPDX-License-Identifier: Apache-2.0
"""Forces from outside: functions of the positions of some atoms, written by the user."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError
from .checks import real_number, whole_number
from .selection import select
from .system import System

_NAME = re.compile(r"[A-Za-z]\w*")
SUMS = ("potential", "kinetic", "nonbonded", "total", "heat", "conserved")
LEAST_UPDATE = 4  # steps: pair lists are built anew at each


class ExternalForce(ABC):
    """A force on some atoms, computed by a Python function.

    A subclass defines the method `compute`, and those of these attributes that differ from the
    defaults:

    Attributes
    ----------
    name:
        Name of the energy in `energies()` and logs; by default the name of the class in lower case.
    atoms:
        A selection ("protein and name CA"), or indices from 0 in any order; None: all atoms.
    update_every:
        Steps between calls of `update`, at least 4; 0: `update` is not called.
    uses_box:
        Whether the energy also depends on the box, for example through periodic images.  With a
        barostat, `compute` must then return the virial.
    outside:
        Whether the force depends on fixed points in space, so that the forces do not add up to
        zero.  The motion of the centre of mass is then not removed.
    uses_gpu:
        Whether `compute` uses a GPU, or may take longer than 20 s.  Steps on GPUs are then not
        recorded as CUDA graphs, in which kernels would wait for the force.
    timeout:
        Longest time of a call, s; None: no limit.
    """

    name: str = ""
    atoms: str | Sequence[int] | None = None
    update_every: int = 0
    uses_box: bool = False
    outside: bool = False
    uses_gpu: bool = False
    timeout: float | None = None

    def prepare(self, system: System, timestep: float, temperature: float | None) -> None:
        """Called once, before `compute`: by default nothing happens.

        Parameters
        ----------
        system:
            The system.
        timestep:
            Time step, ps.
        temperature:
            Temperature of the heat bath, K; None: there is none, or several.
        """
        return None

    @abstractmethod
    def compute(
        self, step: int, positions: NDArray[np.float64], box: NDArray[np.float64] | None
    ) -> tuple[Any, ...]:
        """Energy and forces: a pure function.

        The method may be called several times for a step, and for steps that are discarded, so it
        must not change the object; only `update` may.  The trajectory is bitwise the same on any
        number of ranks if the same input always gives bitwise the same result.

        Parameters
        ----------
        step:
            Number of the step.
        positions:
            (n, 3) nm, positions of `atoms` in their order, unwrapped as in a State.
        box:
            (3, 3) nm; None: no periodic boundary.

        Returns
        -------
        energy (kJ/mol), forces (n, 3) (kJ/mol/nm) and, with `uses_box`, the virial (3, 3) (kJ/mol):
        minus the derivative of the energy with respect to a strain of positions and box, the sum of
        f x.
        """

    def compute_on_gpu(
        self, step: int, positions: Any, forces: Any, energy: Any, stream: int
    ) -> None:
        """The same as `compute`, in the memory of a GPU and without waiting for it.

        A class that defines this method, and has `uses_gpu`, is called in this way in simulations
        on GPUs.  The energy must not depend on the box.

        Parameters
        ----------
        step:
            Number of the step.
        positions:
            (n, 3) nm, an array of DLPack (`__dlpack__`), which is valid during the call.
        forces, energy:
            Likewise; receive the forces, (n, 3) kJ/mol/nm, and the energy, (1) kJ/mol.
        stream:
            The CUDA stream (`cudaStream_t`) on which all work on these arrays must be.
        """
        raise NotImplementedError

    def update(
        self, step: int, positions: NDArray[np.float64], box: NDArray[np.float64] | None
    ) -> None:
        """Changes the force after a step, for example by a hill of metadynamics.

        Called in order, once for each step that is a multiple of `update_every`, when the step will
        not be repeated.  The change takes effect from this step on; energies that are read at the
        end of a run that stops at this step may be those before the change.
        """
        raise NotImplementedError

    def state(self) -> bytes:
        """All variables of the force, for checkpoints."""
        raise NotImplementedError

    def set_state(self, state: bytes) -> None:
        """Restores the variables from `state`; b"": the initial ones."""
        raise NotImplementedError


def label(force: ExternalForce) -> str:
    """The name of its energy."""
    return force.name or type(force).__name__.lower()


def remembers(force: ExternalForce) -> bool:
    """Whether it has a state that checkpoints carry."""
    return type(force).state is not ExternalForce.state


def works_on_gpu(force: ExternalForce) -> bool:
    """Whether it computes in the memory of a GPU."""
    own = type(force).compute_on_gpu is not ExternalForce.compute_on_gpu
    return bool(force.uses_gpu) and own


def is_prepared(force: ExternalForce) -> bool:
    """Whether it has to know the system and the settings of the run."""
    return type(force).prepare is not ExternalForce.prepare


def atoms_of(force: ExternalForce, system: System) -> NDArray[np.int32]:
    """Indices of its atoms; QuiltError, which names it, where they are none of the system's."""
    try:
        if force.atoms is None:
            return np.arange(system.atoms, dtype=np.int32)
        if isinstance(force.atoms, str):
            return select(system, force.atoms).astype(np.int32)
        found = [whole_number("an atom", atom) for atom in force.atoms]
        if not found or max(found) >= system.atoms or len(set(found)) < len(found):
            raise QuiltError(f"atoms must be different indices from 0 to {system.atoms - 1}")
    except QuiltError as error:
        raise QuiltError(f"external force '{label(force)}': {error}") from None
    return np.array(found, dtype=np.int32)


def check_forces(forces: Sequence[Any], term_names: Iterable[str]) -> None:
    """QuiltError if these are not forces from outside with settings that go together."""
    taken = {*term_names, *SUMS}
    for force in forces:
        if not isinstance(force, ExternalForce):
            raise QuiltError(
                f"external must be a list of ExternalForce objects, and {force!r} is not one: "
                "derive its class from ExternalForce"
            )
        name = label(force)
        where = f"external force '{name}'"
        if not _NAME.fullmatch(name):
            raise QuiltError(f"{where}: use only letters, digits and _ in the name")
        if name in taken:
            raise QuiltError(f"{where}: there is an energy of this name: set another `name`")
        taken.add(name)
        every = whole_number(f"{where}: update_every", force.update_every)
        if 0 < every < LEAST_UPDATE:
            raise QuiltError(
                f"{where}: update_every must be 0 or at least {LEAST_UPDATE}: each "
                "update rebuilds the pair lists"
            )
        if every and type(force).update is ExternalForce.update:
            raise QuiltError(f"{where} has update_every = {every} and no method `update`")
        timeout = force.timeout
        if timeout is not None and not real_number(f"{where}: timeout", timeout, "s") > 0:
            raise QuiltError(f"{where}: timeout must be positive")
    common = math.gcd(*(force.update_every for force in forces))
    if 0 < common < LEAST_UPDATE:
        raise QuiltError(
            "the update_every of external forces must have a common divisor of at least "
            f"{LEAST_UPDATE}, and theirs is {common}"
        )
