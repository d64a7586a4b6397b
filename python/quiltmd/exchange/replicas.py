# SPDX-License-Identifier: Apache-2.0
"""Replica exchange: simulations in several states, whose positions and velocities are swapped.

Each state has a simulation of its own, which stays with its temperature, its Hamiltonian and its
random numbers; what moves between them is what they simulate.  So log and trajectory of a state are
what analysis wants, nothing is recorded or built anew on a device, and any difference of
Hamiltonians will do.  A swap costs the transfer of two states.

Simulations are dealt out to devices in turn; each device does its own one after the other, or
several together.  Two that may swap do so as soon as both have come to the swaps, and go on, while
others still run (`turns.py`).  Results do not depend on the number of devices, nor on which does
which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.checks import whole_number
from ..description.decoupling import at_lambdas
from ..description.dynamics import with_condition
from ..description.integrators import Integrator, LangevinMiddle
from ..description.settings import derived_seed, draw_seed
from ..description.state import State
from ..description.system import System
from ..description.thermostats import Thermostat
from ..engine.execution import choose_device, core_numbers, is_gpu
from ..engine.hosts import cores_of
from ..engine.places import parse_device
from ..errors import QuiltError
from ..outputs.reporters import Reporter
from ..running.simulation import Simulation
from .checks import (
    check_devices,
    check_ensemble,
    check_lambdas,
    check_memory,
    check_solute,
    check_states,
    check_systems,
    check_windows,
    one_for_each,
    refuse_external,
)
from .iterations import Iteration, Iterations, UnderWay
from .mixing import Energies, accepts, pairs_of
from .scaling import scale_solute
from .states import ReplicaState, describe_state
from .turns import Partners, Turns


class ReplicaExchange:
    """Replica exchange: simulations of a system in several states, which swap replicas.

    Parameters
    ----------
    system:
        The system of all states; or one for each state (Hamiltonian replica exchange), with the
        same atoms, masses and constraints.
    start:
        The initial State of all replicas, or of each.  If it has no velocities, call
        `draw_velocities`.
    states:
        The states, as made by `temperature_states`, `rest2_states`, `alchemical_states` or
        `window_states`.
    every:
        Steps between swaps.
    seed:
        Random seed of swaps, velocities and thermostats; None: chosen at random.
    solute:
        Indices of the atoms to which `scale` of the states applies.
    integrator, thermostat:
        As for `Simulation`; temperature and seed are those of each state.
    devices:
        Names of devices, to which replicas are assigned in turn.
    together:
        Number of replicas that a device runs at the same time.  On the CPU of this machine they
        share its cores, unless `threads` sets their number.
    all_energies:
        At each swap, calculate the energy of each replica with the Hamiltonians of all states, as
        needed for `u_kn` if scales differ; otherwise only of pairs with an attempted swap.  If only
        lambdas or windows differ, all energies are known without this setting.
    settings:
        Further arguments of `Simulation`.

    Attributes
    ----------
    simulations:
        The simulation of each state.
    walkers:
        (K,) the replica in each state, numbered by its initial state.
    iteration:
        Number of iterations done.
    """

    def __init__(
        self,
        system: System | Sequence[System],
        start: State | Sequence[State],
        states: Sequence[ReplicaState],
        *,
        every: int = 500,
        seed: int | None = None,
        solute: NDArray[np.integer[Any]] | None = None,
        integrator: Integrator | None = None,
        thermostat: Thermostat | None = None,
        devices: Sequence[str] = ("auto",),
        together: int = 1,
        all_energies: bool = False,
        **settings: Any,
    ) -> None:
        self.states = states = check_states(states)
        check_memory(len(states))
        starts = one_for_each("start", start, State, len(states))
        systems = one_for_each("system", system, System, len(states))
        check_systems(systems)
        check_devices(devices)
        check_ensemble(integrator, thermostat, settings.get("barostat"))
        refuse_external(settings)
        solute = check_solute(solute, states, systems[0].atoms)
        self._rows = check_lambdas(states, systems)
        self._windows = check_windows(states, systems)
        together = whole_number("together", together, 1)
        self.every = whole_number("every", every, 1)
        self.seed = draw_seed() if seed is None else whole_number("seed", seed)
        self.iteration = 0
        self.walkers = np.arange(len(states), dtype=np.int32)
        self.all_energies = all_energies
        self._choose_evaluations(systems)
        self._groups = _groups(len(states), len(devices), together)
        several = len(self._groups) > 1
        # Partners have a thread, which may wait for one more of each of them.
        self._swapping = ThreadPoolExecutor(2 * len(states)) if several else None
        own = [devices[k % len(devices)] for k in range(len(states))]
        ranks, threads = settings.get("ranks") or 1, settings.pop("threads", None)
        shares = _shares_of_cores([own[group[0]] for group in self._groups], ranks)

        def make(k: int) -> Simulation:
            state, seed = states[k], derived_seed(self.seed, k)
            return Simulation(
                _in_state(systems[k], state, solute),
                starts[k],
                integrator=_at(integrator or LangevinMiddle(), state, seed),
                thermostat=_at(thermostat, state, seed),
                device=own[k],
                threads=threads or shares[own[k]],
                **settings,
            )

        self.simulations = [make(0)]
        if self.simulations[0].device == "cpu":
            each = self.simulations[0].describe()["bytes_per_atom"] * systems[0].atoms
            check_memory(len(states), own.count(own[0]), each)
        self.simulations += [make(k) for k in range(1, len(states))]

    def _choose_evaluations(self, systems: Sequence[System]) -> None:
        """Which energies need further evaluations: none if one gives those of all states."""
        scales = {state.scale for state in self.states}
        self._one_hamiltonian = len(scales) == 1 and all(one is systems[0] for one in systems)
        evaluates = not self._one_hamiltonian and self._rows is None and self._windows is None
        self._evaluates_all = evaluates and self.all_energies
        self._evaluates_pairs = evaluates and not self.all_energies

    def draw_velocities(self) -> None:
        """New velocities in each state, at its temperature."""
        self._everywhere(
            lambda k, simulation: simulation.draw_velocities(
                self.states[k].temperature, derived_seed(self.seed, k)
            )
        )

    def go_on(
        self,
        iteration: int,
        walkers: Sequence[int],
        states: Sequence[State],
        heats: Sequence[float],
    ) -> None:
        """Continues from an iteration of another exchange, bitwise."""
        self.iteration = iteration
        self.walkers = np.array(walkers, dtype=np.int32)
        for simulation, state, heat in zip(self.simulations, states, heats, strict=True):
            simulation.set_state(state, heat)

    def run(
        self,
        iterations: int,
        reporters: Sequence[Sequence[Reporter]] | None = None,
        record: Callable[[Iteration], bool | None] | None = None,
        ahead: int = 0,
    ) -> None:
        """Advances all replicas, and attempts swaps after every `every` steps.

        Parameters
        ----------
        iterations:
            Number of iterations.
        reporters:
            The reporters of each state, as for `Simulation.run`.
        record:
            Called with each `Iteration`, in order; returning True stops the run.
        ahead:
            By how many iterations a replica may be ahead of the next recorded iteration.  With
            0 all simulations are at the end of this iteration while `record` is called.  With a
            larger number replicas do not wait for the slowest one; `record` must then not use the
            simulations, and if it stops the run, iterations that have begun are completed.  Results
            are the same.
        """
        reporters = reporters or [()] * len(self.states)
        if len(reporters) != len(self.states):
            raise QuiltError(
                f"{len(self.states)} states need as many lists of reporters, not {len(reporters)}"
            )
        last = self.iteration + whole_number("iterations", iterations)
        ahead = whole_number("ahead", ahead) if self._swapping else 0
        turns = Turns(len(self.states), self.iteration, last, ahead, self._partners_of)
        step = self.simulations[0].step
        under_way = Iterations(len(self.states), self.iteration, step, self.every)
        try:
            if self._swapping is None:  # in this thread, which can be interrupted
                work = partial(self._work, self._groups[0], turns, under_way, reporters, wait=False)
                self._record(turns, under_way, record, work)
            else:
                self._run_threads(turns, under_way, reporters, record)
        finally:
            under_way.give_up(self.walkers)

    def _run_threads(
        self,
        turns: Turns,
        under_way: Iterations,
        reporters: Sequence[Sequence[Reporter]],
        record: Callable[[Iteration], bool | None] | None,
    ) -> None:
        """Groups of replicas in a thread each; this one records."""
        with ThreadPoolExecutor(len(self._groups)) as threads:
            waiting = [
                threads.submit(self._work, group, turns, under_way, reporters)
                for group in self._groups
            ]
            try:
                self._record(turns, under_way, record)
            finally:
                turns.end()  # after an exception too: nobody may work on meanwhile
                wait(waiting)
            for future in waiting:
                future.result()

    def _record(
        self,
        turns: Turns,
        under_way: Iterations,
        record: Callable[[Iteration], bool | None] | None,
        work: Callable[[], None] = lambda: None,
    ) -> None:
        """Records iterations as they are done, up to the end."""
        work()
        while turns.wait_for(self.iteration):
            done = under_way.end(self.iteration, self.walkers)
            self.iteration += 1
            if record is not None and record(done):
                turns.stop()
            turns.recorded()
            work()

    def _partners_of(self, iteration: int) -> list[Partners]:
        """The sets of replicas that wait for each other before they go on."""
        count = len(self.states)
        if self._evaluates_all:
            return [tuple(range(count))]
        pairs: list[Partners] = [*pairs_of(iteration, count)]
        paired = {k for pair in pairs for k in pair}
        return pairs + [(k,) for k in range(count) if k not in paired]

    def _work(
        self,
        group: Sequence[int],
        turns: Turns,
        under_way: Iterations,
        reporters: Sequence[Sequence[Reporter]],
        wait: bool = True,
    ) -> None:
        """Advances replicas of a group, each in its turn; swaps go on beside it."""
        swaps: list[Future[None]] = []

        def swap(partners: Partners, now: UnderWay) -> None:
            with turns.ending_with_an_error():
                self._swap(partners, now)
                turns.go_on(partners)

        with turns.ending_with_an_error():
            while taken := turns.take(group, wait):
                k, iteration = taken
                now = under_way[iteration]
                self._do(partial(self._advance, now, reporters[k]), k)
                if partners := turns.arrive(k):
                    if self._swapping is None:
                        swap(partners, now)
                    else:
                        swaps.append(self._swapping.submit(swap, partners, now))
        for future in swaps:
            future.result()

    def _advance(
        self, now: UnderWay, reporters: Sequence[Reporter], k: int, simulation: Simulation
    ) -> None:
        """Runs a replica up to its next swap."""
        simulation.run(self.every, reporters)
        now.own[k] = simulation.energies()
        now.energies[:, k] = self._energies_at(k, simulation, now.own[k]["potential"])

    def _energies_at(self, k: int, simulation: Simulation, potential: float) -> Energies:
        """(K,): of each Hamiltonian at the positions of a state; nan where not known yet."""
        count = len(self.states)
        if self._rows is not None:  # one evaluation finds those of all
            return potential + simulation.state_energies()[self._rows]
        if self._windows is not None:
            restraint, centres = self._windows
            value = simulation.collective()[restraint.name].value / restraint.shown
            springs = np.array([restraint.pull(value, centre)[0] for centre in centres])
            energies: Energies = potential + springs - springs[k]
            return energies
        if self._one_hamiltonian:
            return np.full(count, potential)
        return np.where(np.arange(count) == k, potential, np.nan)

    def _evaluate_all(self, now: UnderWay) -> None:
        """Evaluates each replica with all Hamiltonians; `_swap` then puts all where they belong."""
        now.fields = dict(enumerate(self._everywhere(lambda _, simulation: simulation.fields())))

        def evaluate(k: int, simulation: Simulation) -> None:
            for n in now.fields.keys() - {k}:
                self._evaluate(k, simulation, n, now)

        self._everywhere(evaluate)

    def _evaluate(self, k: int, simulation: Simulation, n: int, now: UnderWay) -> None:
        """The Hamiltonian of state k at the positions of state n."""
        simulation.take_over(now.fields[n], 0.0)
        now.energies[k, n] = simulation.energies()["potential"]

    def _swap(self, partners: Partners, now: UnderWay) -> None:
        """Swaps the pairs among partners that are to swap."""
        pairs = [pair for pair in pairs_of(now.number, len(self.states)) if pair[0] in partners]
        if self._evaluates_all:
            self._evaluate_all(now)
        for pair in pairs:
            self._exchange(pair, now)
        if self._evaluates_all:
            alone = set(partners) - {k for pair in pairs for k in pair}
            self._everywhere(lambda k, simulation: self._put(k, simulation, k, now), alone)

    def _exchange(self, pair: tuple[int, int], now: UnderWay) -> None:
        """Decides whether a pair swaps, and puts each replica where it belongs.

        Simulations that were evaluated at positions of others go back to their own.
        """
        other = dict(zip(pair, pair[::-1], strict=True))
        if self._evaluates_pairs:
            self._fetch(pair, now)
            self._both(lambda k, simulation: self._evaluate(k, simulation, other[k], now), pair)
        swap = accepts(self.states, now.energies, self.seed, now.number, pair)
        if swap and pair[0] not in now.fields:
            self._fetch(pair, now)
        if pair[0] not in now.fields:
            return
        comes_from = other if swap else {k: k for k in pair}
        self._both(lambda k, simulation: self._put(k, simulation, comes_from[k], now), pair)
        if swap:
            now.swapped.append(pair)

    def _fetch(self, pair: tuple[int, int], now: UnderWay) -> None:
        """The fields of the States of a pair."""
        found = self._both(lambda _, simulation: simulation.fields(), pair)
        now.fields.update(zip(pair, found, strict=True))

    def _put(self, k: int, simulation: Simulation, n: int, now: UnderWay) -> None:
        """Puts the replica of state n into state k.

        Velocities are scaled to the new temperature.  The change of the total energy counts as
        heat, so that the conserved quantity of a state is one still.
        """
        fields, own = now.fields[n], now.own
        if n == k:
            simulation.take_over(fields, own[k]["heat"])
            return
        ratio = self.states[k].temperature / self.states[n].temperature
        total = now.energies[k, n] + ratio * own[n]["kinetic"]
        moved = {**fields, "velocities": np.sqrt(ratio) * fields["velocities"]}
        simulation.take_over(moved, own[k]["heat"] + total - own[k]["total"])

    def _both(
        self, action: Callable[[int, Simulation], Any], pair: tuple[int, int]
    ) -> tuple[Any, Any]:
        """Does something with both simulations of a pair, with several threads at the same time."""
        i, j = pair
        if self._swapping is None:
            return self._do(action, i), self._do(action, j)
        waiting = self._swapping.submit(self._do, action, j)
        try:
            first = self._do(action, i)
        finally:
            wait([waiting])
        return first, waiting.result()

    def _do(self, action: Callable[[int, Simulation], Any], k: int) -> Any:
        """Does something with a simulation; errors name its state."""
        try:
            return action(k, self.simulations[k])
        except QuiltError as error:
            named = copy(error)  # of the same class, by which it can be told apart
            named.args = (f"state {k} ({describe_state(self.states[k])}): {error}",)
            raise named from error

    def _everywhere(
        self, action: Callable[[int, Simulation], Any], which: Collection[int] | None = None
    ) -> list[Any]:
        """Does something with each simulation, or with some, devices beside each other.

        Returns the results in order, None of the others.
        """
        results: list[Any] = [None] * len(self.simulations)

        def work(group: Sequence[int]) -> None:
            for k in group:
                results[k] = self._do(action, k)

        groups = self._groups
        if which is not None:
            groups = [own for group in groups if (own := [k for k in group if k in which])]
        if self._swapping is None:  # in this thread, which can be interrupted
            for group in groups:
                work(group)
            return results
        waiting = [self._swapping.submit(work, group) for group in groups]
        wait(waiting)  # also where one fails: nobody may work on meanwhile
        for future in waiting:
            future.result()
        return results


def _in_state(
    system: System, state: ReplicaState, solute: NDArray[np.integer[Any]] | None
) -> System:
    """The system with the scale, the lambdas and the window of a state."""
    if state.window is not None and system.collective is not None:
        return replace(system, collective=system.collective.at(*state.window))
    scaled = system if solute is None else scale_solute(system, solute, state.scale)
    return scaled if state.lambdas is None else at_lambdas(scaled, *state.lambdas)


def _at(dynamics: Any, state: ReplicaState, seed: int) -> Any:
    """An integrator or thermostat at the temperature of a state; as it is if it has none."""
    if not hasattr(dynamics, "temperature"):
        return dynamics
    changed, _ = with_condition(dynamics, "temperature", state.temperature)
    return replace(changed, seed=seed) if hasattr(changed, "seed") else changed


def _groups(count: int, devices: int, together: int) -> list[list[int]]:
    """Replicas that one thread runs, one after the other."""
    groups = []
    for device in range(min(devices, count)):
        own = list(range(device, count, devices))
        groups += [own[start::together] for start in range(min(together, len(own)))]
    return groups


def _cores(device: str) -> list[tuple[str, tuple[int, ...]]]:
    """Machine and core numbers of each place of a device that is a CPU with known cores."""
    places = parse_device(device)
    here = [place for place in places if place.kind in ("here", "worker")]
    own = "", tuple(core_numbers())
    found = [own for place in here if not is_gpu(choose_device(place.device))]
    return found + [cores_of(p) for p in places if p.kind == "mpi" and p.device == "cpu"]


def _shares_of_cores(devices: Sequence[str], ranks: int) -> dict[str, int | None]:
    """Threads of each rank on each device; None: the default.

    `devices` are the devices of all replicas that run at the same time.
    """
    users = Counter(cores for device in devices for cores in _cores(device))
    shares: dict[str, int | None] = {}
    for device in devices:
        crowded = [cores for cores in _cores(device) if users[cores] > 1]
        least = [max(1, len(cores[1]) // (users[cores] * ranks)) for cores in crowded]
        shares[device] = min(least, default=None)
    return shares
