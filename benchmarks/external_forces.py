# SPDX-License-Identifier: Apache-2.0
"""What external forces cost: steps with one of them, beside steps without.

Each kind takes turns with steps without, and the median over the rounds is reported; for functions
in NumPy also how long the function itself takes, which the other columns include.  No more than two
simulations exist at a time, since many on one GPU are slower.

    python benchmarks/external_forces.py [--device cuda] [--tile 1x1x1] [--steps 5000] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from provenance import provenance

import quiltmd
from quiltmd.commands.bench import parse_tile
from quiltmd.running.benchmark import prepare, time_steps

TEN = tuple(range(10, 20))


class InNumPy(quiltmd.ExternalForce):
    """A function whose time is taken."""

    atoms: Any = TEN
    seconds, calls = 0.0, 0

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        begin = time.perf_counter()
        found = self.evaluate(positions)
        self.seconds += time.perf_counter() - begin
        self.calls += 1
        return found

    def evaluate(self, positions: Any) -> tuple[Any, ...]:
        raise NotImplementedError

    @property
    def call(self) -> float:
        """Microseconds of a call of the function."""
        return 1e6 * self.seconds / self.calls


class Nothing(InNumPy):
    """No energy and no forces."""

    def __init__(self, atoms: Any) -> None:
        self.atoms = atoms

    def evaluate(self, positions: Any) -> tuple[Any, ...]:
        return 0.0, np.zeros_like(positions)


class Zeros(InNumPy):
    """The same array of zeros at each call."""

    atoms = None
    forces: Any = None

    def evaluate(self, positions: Any) -> tuple[Any, ...]:
        if self.forces is None:
            self.forces = np.zeros_like(positions)
        return 0.0, self.forces


class Squares(InNumPy):
    """A sum of squares over all atoms; forces are written into the same array at each call."""

    atoms, outside = None, True
    forces: Any = None

    def evaluate(self, positions: Any) -> tuple[Any, ...]:
        if self.forces is None:
            self.forces = np.empty_like(positions)
        np.multiply(positions, -1e-3, out=self.forces)
        return 5e-4 * float(np.einsum("ij,ij", positions, positions)), self.forces


class Pull(InNumPy):
    """A spring between the centres of the two halves of its atoms."""

    def evaluate(self, positions: Any) -> tuple[Any, ...]:
        half = len(positions) // 2
        pull = 10.0 * (positions[half:].mean(axis=0) - positions[:half].mean(axis=0))
        forces = np.empty_like(positions)
        forces[:half], forces[half:] = pull / half, -pull / half
        return 0.05 * float(pull @ pull), forces


class Apart(Pull):
    """The same, in steps that are not recorded."""

    uses_gpu = True


def torch_force(cuda_graph: bool = False) -> list[quiltmd.ExternalForce]:
    """The same energy in PyTorch, on the GPU where there is one."""
    from quiltmd.torch import TorchForce

    def energy(positions: Any) -> Any:
        half = len(positions) // 2
        between = positions[half:].mean(0) - positions[:half].mean(0)
        return 5.0 * (between**2).sum()

    return [TorchForce(energy, TEN, cuda_graph=cuda_graph)]


KINDS: dict[str, Callable[[], list[quiltmd.ExternalForce]]] = {
    "nothing on 10 atoms": lambda: [Nothing(TEN)],
    "numpy on 10 atoms": lambda: [Pull()],
    "nothing on all atoms": lambda: [Nothing(None)],
    "zeros on all atoms": lambda: [Zeros()],
    "numpy on all atoms": lambda: [Squares()],
    "numpy, not recorded": lambda: [Apart()],
}
if importlib.util.find_spec("torch"):
    import torch

    KINDS["torch on 10 atoms"] = torch_force
    if torch.cuda.is_available():
        KINDS["torch, CUDA graph"] = lambda: torch_force(cuda_graph=True)


def call_time(system: quiltmd.System, state: quiltmd.State, calls: int = 2000) -> float:
    """Microseconds of a call of the function, with the checks of what it returns."""
    simulation = quiltmd.Simulation(system, state, external=[Pull()], device="cpu", threads=1)
    one, positions = simulation._external[0], state.positions[list(TEN)]
    begin = time.perf_counter()
    for _ in range(calls):
        one.compute(0, positions, state.box)
    return 1e6 * (time.perf_counter() - begin) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--system", default="dhfr")
    parser.add_argument("--tile", type=parse_tile, default=(1, 1, 1))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=5000, help="of each timing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    first = prepare(options.system, options.tile, device=options.device)
    system, state = first.system, first.state()
    print(f"a call takes {call_time(system, state):.1f} us")
    warm = max(200, options.steps // 5)
    first.run(warm)
    found = {}
    for name, make in KINDS.items():
        forces = make()
        simulation = quiltmd.Simulation(
            system, state, integrator=first.integrator, external=forces, device=options.device
        )
        simulation.run(warm)
        times = [
            [1e6 * time_steps(one, options.steps) / options.steps for one in (first, simulation)]
            for _ in range(options.rounds)
        ]
        none, median = map(statistics.median, zip(*times, strict=True))
        found[name] = {"none": none, "with": median}
        timed = [one for one in forces if isinstance(one, InNumPy)]
        own = "".join(f", {one.call:.1f} us in the function" for one in timed)
        print(
            f"{name:22} {median:8.1f} us a step, {median / none:.3f} of {none:.1f}{own}", flush=True
        )
        del simulation
    if options.json:
        document = {**provenance(), "atoms": system.atoms, "us_per_step": found}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
