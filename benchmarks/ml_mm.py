# SPDX-License-Identifier: Apache-2.0
"""Steps of alanine dipeptide in water, with a model of ANI for the inner forces of the peptide.

The model has the architecture of ANI-2x, and random weights, which do not change its time.  Their
forces would tear the peptide apart, so they act by a millionth, and springs between all of its
atoms hold it together.  Beside steps: a call of the model by itself, and the calls for each step,
which are more than one where steps are done again.  Needs the package torchani.

    python benchmarks/ml_mm.py [--device cuda] [--steps 500] [--rounds 3]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch
from torchani.arch import simple_ani

import quiltmd
from quiltmd.inputs.standard_systems import system_files
from quiltmd.models import AniModel
from quiltmd.running.benchmark import time_steps
from quiltmd.torch import TorchForce

SOLUTE = 22
SHORT = quiltmd.LangevinMiddle(timestep=0.0005)


class Held(torch.nn.Module):  # type: ignore[misc]
    """A millionth of the energy of ANI, and springs, eV, of positions in angstrom."""

    def __init__(self, elements: Any, positions: Any) -> None:
        super().__init__()
        torch.manual_seed(4)
        made = simple_ani("HCNO", "wb97x-631gd", repulsion=False, self_energies="zero")
        self.model, self.calls = AniModel(made.double(), elements), 0
        self.register_buffer("rest", torch.pdist(torch.tensor(10 * positions)))

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        springs = 2.5 * (torch.pdist(positions) - self.rest).square().sum()
        return 1e-6 * self.model(positions) + springs


def call_time(model: torch.nn.Module, positions: Any, device: str, calls: int = 100) -> float:
    """Microseconds of an energy with its gradient."""
    place = torch.device(device)
    model.to(place)
    at = torch.tensor(10 * positions, device=place, requires_grad=True)
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        torch.autograd.grad(model(at), at)[0].cpu()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--steps", type=int, default=500, help="of each timing")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    system, state = quiltmd.load(*system_files("alanine"), constraints="none")
    elements, peptide = system.topology.elements[:SOLUTE], state.positions[:SOLUTE]
    model = Held(elements, peptide)
    print(f"a call of the model {call_time(model, peptide, options.device):8.1f} us")
    region = quiltmd.model_region(system, f"index 1-{SOLUTE}")
    force = TorchForce(
        model, f"index 1-{SOLUTE}", length="angstrom", unit="eV", device=options.device
    )
    where: dict[str, Any] = {"integrator": SHORT, "device": options.device}
    made = {
        "force field": quiltmd.Simulation(system, state, **where),
        "ANI": quiltmd.Simulation(region, state, external=[force], **where),
    }
    for name, simulation in made.items():
        simulation.run(options.steps)
        model.calls = 0
        times = [time_steps(simulation, options.steps) for _ in range(options.rounds)]
        calls = model.calls / (options.rounds * options.steps)
        a_step = 1e6 * statistics.median(times) / options.steps
        print(f"{name:12} {a_step:8.1f} us a step, {calls:.2f} calls")


if __name__ == "__main__":
    main()
