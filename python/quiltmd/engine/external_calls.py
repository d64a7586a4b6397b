# SPDX-License-Identifier: Apache-2.0
"""Calls of forces from outside, and the checks of what they return."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..description.checks import real_number
from ..description.external_force import (
    SUMS,
    ExternalForce,
    atoms_of,
    check_forces,
    is_prepared,
    label,
    remembers,
    works_on_gpu,
)
from ..description.state import State
from ..description.system import System
from ..errors import ExternalForceError, QuiltError
from .core import Engine, load_core, make_engine
from .external_factory import ExternalFactory
from .places import is_forwarded
from .where import RunHere, RunInWorkers

F64 = NDArray[np.float64]
_LARGEST_FORCE = 5e5  # kJ/mol/nm; kLargestForce of src/math/fixed.h
_LARGEST_ENERGY = 1e10  # kJ/mol; what the core can count
_NET = 1e-3  # of the sum of all forces: what single precision leaves of zero
# kFamilyEnergies of src/decomposition/energies.h
_FAMILIES = ("lj", "coulomb", "pme", "dispersion", "polarisation", "surface", "many-body", "custom")
_REAL = "fiuO"  # dtype.kind of arrays that may be converted; objects may fail
_PARTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of Symmetric in src/math/symmetric.h


class ExternalCalls:
    """A force from outside as the core calls it.

    Parameters
    ----------
    force:
        The user's.
    atoms:
        Indices of its atoms.
    factory:
        Factory that made it, and can make it in another process.
    """

    def __init__(
        self,
        force: ExternalForce,
        atoms: NDArray[np.int32],
        factory: ExternalFactory | None = None,
    ) -> None:
        self.force, self.atoms, self.name, self.factory = force, atoms, label(force), factory
        self.is_deterministic = True
        self.is_called = False
        self.has_virial = not force.uses_box

    def describe(self) -> dict[str, Any]:
        """Its name, how many atoms it has, and whether equal input has given equal bits."""
        return {
            "name": self.name,
            "atoms": len(self.atoms),
            "deterministic": self.is_deterministic,
        }

    def settings(self) -> dict[str, Any]:
        """Settings for the core."""
        return {
            "name": self.name,
            "atoms": self.atoms.tolist(),
            "update_every": self.force.update_every,
            "uses_gpu": bool(self.force.uses_gpu),
            "compute": self.ask,
            "check": self.check,
            "uses_box": bool(self.force.uses_box),
            "outside": bool(self.force.outside),
            "update": self.update,
            "launch": self.launch if works_on_gpu(self.force) else None,
            "fail": self._fail,
        }

    def try_twice(self, step: int, positions: F64, box: F64 | None) -> None:
        """Notes whether the same input gives the same bits, and whether it gives a virial."""
        own = positions[self.atoms]
        given = self.ask(step, own.copy(), box)
        first = self.check(step, own, given)
        second = self.compute(step, own.copy(), box)
        self.has_virial |= len(given) == 3
        self.is_deterministic = _bits(first) == _bits(second)

    def compute(self, step: int, positions: F64, box: F64 | None) -> tuple[float, F64, list[float]]:
        """Energy, forces and virial."""
        return self.check(step, positions, self.ask(step, positions.copy(), box))

    def ask(self, step: int, positions: F64, box: F64 | None) -> Any:
        """What the function returns."""
        return self._call("compute", step, positions, box)

    def launch(self, step: int, *arrays: Any) -> None:
        """Has it compute on a GPU."""
        begin = time.monotonic()
        self._named("compute_on_gpu", step, step, *arrays)
        self._check_time("compute_on_gpu", step, begin)

    def update(self, step: int, positions: F64, box: F64 | None) -> None:
        """Has it remember a step."""
        self._call("update", step, positions, box)

    def state(self, step: int) -> bytes:
        """Its variables after this step."""
        found = self._named("state", step)
        if not isinstance(found, bytes | bytearray | memoryview):
            self._fail(step, f"state returned {type(found).__name__}, not bytes")
        return bytes(found)

    def set_state(self, step: int, state: bytes) -> None:
        """Restores its variables of this step."""
        self._named("set_state", step, state)

    def _named(self, method: str, step: int, *arguments: Any) -> Any:
        """What a method of the force returns; its errors name the force and the step."""
        self.is_called = True
        try:
            return getattr(self.force, method)(*arguments)
        except (Exception, SystemExit) as error:  # sys.exit would end a worker without a word
            what = f"{method} raised {type(error).__name__}: {error}"
            raise ExternalForceError(self.name, step, what) from error
        finally:
            self.is_called = False

    def _call(self, method: str, step: int, positions: F64, box: F64 | None) -> Any:
        begin = time.monotonic()
        given = self._named(method, step, step, positions, box)
        self._check_time(method, step, begin)
        return given

    def _check_time(self, method: str, step: int, begin: float) -> None:
        seconds, given = time.monotonic() - begin, self.force.timeout
        if given is not None and seconds > (limit := real_number("timeout", given, "s")):
            self._fail(
                step,
                f"{method} took {seconds:.3g} s, more than its timeout of {limit:g} s",
            )

    def check(self, step: int, positions: F64, given: Any) -> tuple[float, F64, list[float]]:
        """What the function returned, as numbers; ExternalForceError if it is invalid.

        The core takes an energy and an array that are surely valid without this.
        """
        if not isinstance(given, tuple) or len(given) not in (2, 3):
            self._fail(
                step,
                f"compute returned {type(given).__name__}, not (energy, forces) or with a virial",
            )
        energy = self._numbers(step, "energy", given[0], ())
        forces = self._numbers(step, "forces", given[1], positions.shape)
        if abs(float(energy)) > _LARGEST_ENERGY:
            self._fail(step, f"the energy, {float(energy):g} kJ/mol, is out of range")
        largest = np.abs(forces).max(initial=0.0)
        if largest > _LARGEST_FORCE:
            atom = int(self.atoms[np.abs(forces).max(axis=1).argmax()])
            self._fail(
                step, f"the force on atom {atom + 1}, {largest:g} kJ/mol/nm, is out of range"
            )
        net = forces.sum(axis=0)
        if not self.force.outside and np.abs(net).max() > _NET * np.abs(forces).sum() + 1e-9:
            x, y, z = net
            self._fail(
                step,
                f"its forces add up to ({x:.3g}, {y:.3g}, {z:.3g}) kJ/mol/nm and not to zero: set "
                "`outside = True` where atoms are held from outside",
            )
        return float(energy), forces, self._virial(step, positions, forces, given)

    def _virial(self, step: int, positions: F64, forces: F64, given: Any) -> list[float]:
        if len(given) == 3:
            tensor = self._numbers(step, "virial", given[2], (3, 3))
        elif self.force.uses_box:
            return [0.0] * len(_PARTS)
        else:
            tensor = positions.T @ forces
        return [float(tensor[i, j] + tensor[j, i]) / 2 for i, j in _PARTS]

    def _numbers(self, step: int, what: str, value: Any, shape: tuple[int, ...]) -> F64:
        are, have = ("are", "have") if what == "forces" else ("is", "has")
        if np.ma.is_masked(value):
            self._fail(step, f"the {what} {are} masked: return a number for every component")
        try:
            given = np.asarray(value)
            is_real = given.dtype.kind in _REAL
            found = np.ascontiguousarray(given if is_real else [], np.float64)
        except Exception as error:  # of the library whose array it is
            fault = f"the {what} {are} not numeric ({type(error).__name__}: {error})"
            raise ExternalForceError(self.name, step, fault) from error
        if not is_real:
            self._fail(step, f"the {what} {are} not numeric, but of type {given.dtype}")
        found = found.reshape(given.shape)
        if found.shape != shape:
            self._fail(step, f"the {what} {have} shape {found.shape}, not {shape}")
        if not np.isfinite(found).all():
            self._fail(step, f"the {what} {are} not finite")
        return found

    def _fail(self, step: int, what: str) -> NoReturn:
        raise ExternalForceError(self.name, step, what)


def prepare_forces(
    calls: Sequence[ExternalCalls], system: System, timestep: float, temperature: float | None
) -> None:
    """Tells each force of the run; QuiltError, which names the force, where that fails."""
    for one in calls:
        try:
            one.force.prepare(system, timestep, temperature)
        except Exception as error:
            kind = "" if isinstance(error, QuiltError) else f"{type(error).__name__}: "
            raise QuiltError(f"external force '{one.name}': {kind}{error}") from error


def energy_names() -> set[str]:
    """Names of the potential energies of the core."""
    forms = load_core().term_forms()
    return {*_FAMILIES, *(name for form in forms for name in form["energies"])}


def check_custom_names(system: System, external: Sequence[ExternalCalls]) -> None:
    """QuiltError if a custom force has the name of another energy."""
    own = [] if system.custom is None else system.custom.energies
    taken = {*energy_names(), *SUMS, *(one.name for one in external)} if own else set()
    for name in own:
        if name in taken:
            raise QuiltError(
                f"custom force '{name}': there is an energy of this name: set another `name`"
            )


def external_calls(
    forces: Sequence[ExternalForce | ExternalFactory], system: System
) -> tuple[ExternalCalls, ...]:
    """Calls of these forces; QuiltError, which names the force, where one does not suit."""
    if not isinstance(forces, Sequence):
        raise QuiltError(
            f"external must be a list of ExternalForce objects, and is {type(forces).__name__}: "
            "put the force in brackets, external=[force]"
        )
    if not forces:
        return ()
    factories = [one if isinstance(one, ExternalFactory) else None for one in forces]
    made = [one.make() if isinstance(one, ExternalFactory) else one for one in forces]
    check_forces(made, energy_names())
    return tuple(
        ExternalCalls(force, atoms_of(force, system), factory)
        for force, factory in zip(made, factories, strict=True)
    )


def with_external(
    calls: Sequence[ExternalCalls], run: RunHere | RunInWorkers
) -> RunHere | RunInWorkers:
    """Place of an engine, with its external forces.

    QuiltError, which names the force, where it is in another process, and cannot be made there.
    """
    if not calls:
        return run
    if isinstance(run, RunHere):
        return replace(run, external=tuple(one.settings() for one in calls))
    for one in calls:
        where = f"external force '{one.name}'"
        if one.factory is None:
            raise QuiltError(
                f"{where} is an object of this process, and an engine on device '{run.device}' "
                "is in another: give an ExternalFactory, or choose device 'cpu' or 'cuda', whose "
                "ranks are in this process"
            )
        if is_prepared(one.force):
            raise QuiltError(
                f"{where} must know the settings of the run, and cannot run in another process "
                f"(device '{run.device}'): choose device 'cpu' or 'cuda', whose ranks are in this "
                "process"
            )
        if one.force.update_every:
            raise QuiltError(
                f"{where} has update_every = {one.force.update_every}, and its variables in "
                f"another process (device '{run.device}') would be lost if that process ends: "
                "choose device 'cpu' or 'cuda', whose ranks are in this process"
            )
        if is_forwarded(run.device):
            raise QuiltError(
                f"{where} runs in the process of the device: choose device cpu, cuda or worker:..."
            )
    specs = [{**asdict(one.factory), "atoms": one.atoms.tolist()} for one in calls if one.factory]
    return replace(run, external=tuple(specs))


def make_engine_calling(
    system: dict[str, Any],
    nonbonded: dict[str, Any],
    integrator: dict[str, Any],
    run: RunHere,
) -> Engine:
    """The engine of the core, with forces from outside made here by their factories.

    It runs code of whoever sends these settings: not for clients that may not.
    """
    external = []
    for spec in run.external:
        atoms = np.array(spec["atoms"], dtype=np.int32)
        factory = ExternalFactory(spec["factory"], spec["path"], spec["options"])
        external.append(ExternalCalls(factory.make(), atoms, factory).settings())
    return make_engine(system, nonbonded, integrator, replace(run, external=tuple(external)))


def make_engine_alone(
    system: dict[str, Any],
    nonbonded: dict[str, Any],
    integrator: dict[str, Any],
    run: RunHere,
) -> Engine:
    """The engine of the core; QuiltError if it is to call functions of the client."""
    if run.external:
        raise QuiltError(
            "a device of `quiltmd serve` runs no functions of its clients, such as external forces"
        )
    return make_engine(system, nonbonded, integrator, run)


def tried(
    calls: Sequence[ExternalCalls], state: State, barostat: bool, is_compared: bool
) -> Iterator[str]:
    """Calls each with the state; what is odd about them, a line each.

    QuiltError if one returns no virial and a barostat needs it, or other bits for the same input
    and bits of several devices are compared.
    """
    for one in calls:
        one.try_twice(state.step, state.positions, state.box)
        where = f"external force '{one.name}'"
        if not one.has_virial and barostat:
            raise QuiltError(
                f"{where} depends on the box and returns no virial, which a barostat needs: return "
                "(energy, forces, virial), or set `uses_box = False`"
            )
        if not one.has_virial and state.box is not None:
            yield f"{where} depends on the box and returns no virial: pressures lack its part"
        if not one.is_deterministic and is_compared:
            raise QuiltError(
                f"{where} gives different results for the same input, but devices are compared "
                "bitwise: leave out spares, verify and further devices"
            )
        if not one.is_deterministic:
            yield (
                f"{where} gives different results for the same input: the trajectory will differ "
                "when it is repeated, resumed or run on other ranks"
            )
        if one.force.update_every and not remembers(one.force):
            yield (
                f"{where} has no `state` and `set_state`: checkpoints lack its variables, and the "
                "run cannot be resumed"
            )


def refuse_calls_within(calls: Sequence[ExternalCalls]) -> None:
    """QuiltError if one of these is being called: the engine waits for what it returns."""
    for one in calls:
        if one.is_called:
            raise QuiltError(
                f"external force '{one.name}' uses the simulation that is waiting for it: use the "
                "positions and the box that it is given"
            )


def states_of(calls: Sequence[ExternalCalls], step: int) -> dict[str, bytes]:
    """States of the external forces that have one, by name; ExternalForceError if one fails."""
    return {one.name: one.state(step) for one in calls if remembers(one.force)}


def set_states(calls: Sequence[ExternalCalls], states: Mapping[str, bytes], step: int) -> None:
    """Has each remember what a checkpoint has of it.

    QuiltError if the checkpoint lacks it; ExternalForceError if the force cannot restore it.
    """
    for one in calls:
        where = f"external force '{one.name}'"
        if one.force.update_every and not remembers(one.force):
            raise QuiltError(f"{where} cannot continue from a checkpoint: it has no `set_state`")
        if not remembers(one.force):
            continue
        if one.name not in states:
            raise QuiltError(f"{where}: the checkpoint does not contain its variables")
        one.set_state(step, states[one.name])


def _bits(found: tuple[float, F64, list[float]]) -> tuple[str, bytes]:
    return found[0].hex(), found[1].tobytes()
