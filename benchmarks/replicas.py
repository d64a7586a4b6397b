# SPDX-License-Identifier: Apache-2.0
"""Many replicas on one GPU or several: ns/day of all together, by quiltmd and by OpenMM.

    python benchmarks/replicas.py --out benchmarks/results/replicas.json
    python benchmarks/replicas.py --devices "cuda:0" "cuda:0;cuda:1"
    python benchmarks/replicas.py --systems alanine --replicas 4 --devices cpu --seconds 2
    python benchmarks/replicas.py --systems dhfr --engines quiltmd alchemical

Replica exchange by temperature (4 fs, HMR, PME, 250 steps between swaps); temperatures lie so
close that about half of the swaps are accepted.  Both programs decide swaps by the same numbers,
have each replica in a simulation or context of its own, and run several of a GPU at the same time,
in threads, as --together says.  `alchemical` is quiltmd with replicas at one temperature that
differ in lambda: 50 atoms of the solute lose up to half of their charges, and each replica has its
energies in all states at the swaps.  quiltmd swaps positions and velocities; for OpenMM, in mixed
precision, the script swaps temperatures, which is cheaper.  `alone` is one simulation without
exchange, `gain` over one replica at a time on the first of the devices.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
from compare import preload_cuda_libraries
from provenance import provenance

import quiltmd
from quiltmd import LangevinMiddle, ReplicaExchange, Simulation
from quiltmd.exchange.mixing import swaps
from quiltmd.exchange.runner import AHEAD
from quiltmd.exchange.states import ReplicaState, geometric
from quiltmd.inputs.standard_systems import system_files
from quiltmd.openmm.write import to_openmm
from quiltmd.running.config import REPARTITIONED_HYDROGEN_MASS

TIMESTEP = 0.004  # ps
ALCHEMICAL_ATOMS = 50
EVERY = 250  # steps between swaps
WARM_UP, LEAST = 2, 3  # iterations
STRETCH = 10  # iterations in which replicas go ahead of others, as in `quiltmd exchange`
SEED = 1
Pair = tuple[quiltmd.System, quiltmd.State]


def start(name: str, device: str) -> Pair:
    """A system, relaxed and in motion."""
    single, tile = benchmark_systems.parse(name)
    system, state = quiltmd.load(
        *system_files(single), constraints="h-bonds", hydrogen_mass=REPARTITIONED_HYDROGEN_MASS
    )
    simulation = Simulation(system.tile(*tile), state.tile(*tile), device=device)
    simulation.minimize(max_iterations=50)
    simulation.draw_velocities(300, SEED)
    return simulation.system, simulation.state()


def ladder(system: quiltmd.System, count: int) -> tuple[ReplicaState, ...]:
    """Temperatures that are so close that about half of the swaps are accepted."""
    width = 1 + 1.2 / (system.degrees_of_freedom / 2) ** 0.5
    return quiltmd.temperature_states(geometric(300.0, 300.0 * width ** (count - 1), count))


class TimedExchange(ReplicaExchange):
    """Notes how long it takes until the last replica of each iteration has come to the swaps.

    The rest of the iteration is what the exchange adds.
    """

    advance_seconds: list[float]
    _advanced_at: float

    def _energies_at(self, *arguments: Any) -> Any:
        found = super()._energies_at(*arguments)
        self._advanced_at = max(self._advanced_at, time.perf_counter())
        return found

    def run(self, *arguments: Any, **options: Any) -> None:
        begin = self._advanced_at = time.perf_counter()
        super().run(*arguments, **options)
        self.advance_seconds.append(self._advanced_at - begin)


class Quiltmd:
    """Replicas of quiltmd.

    `advance_seconds`, of each call, until the last replica has come to its last swap.
    """

    name = "quiltmd"

    def __init__(
        self, pair: Pair, states: Sequence[ReplicaState], devices: Sequence[str], together: int
    ) -> None:
        self._exchange = TimedExchange(
            *pair,
            states,
            every=EVERY,
            seed=SEED,
            integrator=LangevinMiddle(timestep=TIMESTEP),
            devices=devices,
            together=together,
        )
        self.advance_seconds = self._exchange.advance_seconds = []

    def iterate(self) -> int:
        """Steps all, tries swaps; how many replicas are in another state."""
        before = self._exchange.walkers.copy()
        self._exchange.run(1)
        return int((self._exchange.walkers != before).sum())

    def go_ahead(self) -> int:
        """Several iterations, in which no replica waits for the slowest one; their number."""
        self._exchange.run(STRETCH, ahead=AHEAD)
        return STRETCH


class Alchemical(Quiltmd):
    """Replicas of quiltmd, as many as there are states, between which charges change."""

    name = "alchemical"

    def __init__(
        self, pair: Pair, states: Sequence[ReplicaState], devices: Sequence[str], together: int
    ) -> None:
        plain, state = pair
        atoms = quiltmd.select(plain, "solute")[:ALCHEMICAL_ATOMS]
        coulomb = np.linspace(0, 0.5, len(states)).tolist()
        vdw = [0.0] * len(states)
        system = quiltmd.decouple(plain, atoms, coulomb, vdw, intramolecular="scale")
        assert system.alchemy is not None
        states = quiltmd.alchemical_states(system.alchemy, states[0].temperature)
        super().__init__((system, state), states, devices, together)


class OpenMM:
    """Replicas of OpenMM, a context each."""

    name = "openmm"

    def __init__(
        self, pair: Pair, states: Sequence[ReplicaState], devices: Sequence[str], together: int
    ) -> None:
        preload_cuda_libraries()
        import openmm

        system, state = pair
        self._states, self._iteration = states, 0
        self._of_state = list(range(len(states)))  # the context in each state
        made = to_openmm(system, quiltmd.Nonbonded(), state.box)
        made.addForce(openmm.CMMotionRemover(100))
        self._contexts = []
        for k, replica in enumerate(states):
            integrator = openmm.LangevinMiddleIntegrator(replica.temperature, 1.0, TIMESTEP)
            integrator.setRandomNumberSeed(SEED + k)
            context = openmm.Context(made, integrator, *platform(openmm, devices[k % len(devices)]))
            context.setPositions(state.positions)
            context.setVelocities(state.velocities)
            self._contexts.append(context)
        self._pool = ThreadPoolExecutor(len(devices) * together)

    def iterate(self) -> int:
        """Steps all, tries swaps; how many replicas are in another state."""
        own = list(self._pool.map(advance, [self._contexts[k] for k in self._of_state]))
        energies = np.broadcast_to(np.array(own), (len(own), len(own)))
        accepted = swaps(self._states, energies, SEED, self._iteration)
        for i, j in accepted:
            ratio = self._states[j].temperature / self._states[i].temperature
            set_temperature(self._contexts[self._of_state[i]], self._states[j].temperature, ratio)
            set_temperature(
                self._contexts[self._of_state[j]], self._states[i].temperature, 1 / ratio
            )
            self._of_state[i], self._of_state[j] = self._of_state[j], self._of_state[i]
        self._iteration += 1
        return 2 * len(accepted)


Engine = type[Quiltmd | OpenMM]
ENGINES: dict[str, Engine] = {one.name: one for one in (Quiltmd, Alchemical, OpenMM)}


def platform(openmm: Any, device: str) -> tuple[Any, dict[str, str]]:
    """The platform for a device, and its properties."""
    kind, _, ordinal = device.partition(":")
    if kind == "cpu":
        return openmm.Platform.getPlatformByName("CPU"), {}
    properties = {"Precision": "mixed", "DeviceIndex": ordinal or "0"}
    return openmm.Platform.getPlatformByName("CUDA"), properties


def advance(context: Any) -> float:
    """Steps a context up to the next swap; its potential energy there, kJ/mol."""
    context.getIntegrator().step(EVERY)
    return float(context.getState(getEnergy=True).getPotentialEnergy()._value)


def set_temperature(context: Any, temperature: float, ratio: float) -> None:
    """Sets the temperature of a context's heat bath and, by a ratio, that of its velocities."""
    context.getIntegrator().setTemperature(temperature)
    velocities = context.getState(getVelocities=True).getVelocities(asNumpy=True)._value
    context.setVelocities(np.sqrt(ratio) * velocities)


def ns_per_day(steps: float, seconds: float) -> float:
    return round(steps * TIMESTEP * 1e-3 * 86400 / seconds, 1)


def timed(action: Callable[[], int], seconds: float) -> tuple[int, int, float]:
    """How often it could be done in about so many seconds, the sum of what it gave, and seconds."""
    for _ in range(WARM_UP):
        action()
    count = total = 0
    begin = time.perf_counter()
    while count < LEAST or time.perf_counter() - begin < seconds:
        total += action()
        count += 1
    return count, total, time.perf_counter() - begin


def alone(make: Engine, pair: Pair, device: str, seconds: float) -> float:
    """ns/day of one simulation, looked at as often as replicas."""
    one = make(pair, quiltmd.temperature_states([300.0]), [device], 1)
    count, _, taken = timed(one.iterate, seconds)
    return ns_per_day(count * EVERY, taken)


def measure(name: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """All rows of a system."""
    pair = start(name, chosen.devices[0].split(";")[0])
    states = ladder(pair[0], chosen.replicas)
    result: dict[str, Any] = {"system": name, "atoms": pair[0].atoms, "alone": {}, "rows": []}
    for make in [ENGINES[engine] for engine in chosen.engines]:
        single = alone(make, pair, chosen.devices[0].split(";")[0], chosen.seconds / 2)
        result["alone"][make.name] = single
        print(f"{name}, {pair[0].atoms} atoms, {make.name} alone: {single} ns/day", flush=True)
        first = 0.0
        for devices in chosen.devices:
            for together in map(int, chosen.together.split(",")):
                made = make(pair, states, devices.split(";"), together)
                count, moved, seconds = timed(made.iterate, chosen.seconds)
                del made
                speed = ns_per_day(count * EVERY * chosen.replicas, seconds)
                first = first or speed
                row = {
                    "engine": make.name,
                    "devices": devices,
                    "together": together,
                    "ns_per_day": speed,
                    "gain": round(speed / first, 3),
                    "swapped": round(moved / count / chosen.replicas, 3),
                }
                result["rows"].append(row)
                print(row, flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--systems", default="alanine-2x1x1,dhfr", help="4,538 and 23,558 atoms")
    parser.add_argument("--replicas", type=int, default=16)
    parser.add_argument(
        "--engines", nargs="+", choices=ENGINES, default=[Quiltmd.name, OpenMM.name]
    )
    parser.add_argument("--devices", nargs="+", default=["cuda:0"], help="each separated by ;")
    parser.add_argument("--together", default="1,4")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each row")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    results: dict[str, Any] = {"provenance": provenance(), "replicas": chosen.replicas}
    results |= {"every": EVERY, "systems": []}
    for name in chosen.systems.split(","):
        results["systems"].append(measure(name, chosen))
        if chosen.out:
            chosen.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
