# SPDX-License-Identifier: Apache-2.0
"""A small network in PyTorch, whose energy depends on distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


class Network(torch.nn.Module):  # type: ignore[misc]
    """A layer of hyperbolic tangents of inverse distances, and springs; eV and angstrom."""

    def __init__(self, positions: NDArray[np.float64], precision: Any = torch.float64) -> None:
        super().__init__()
        first, second = np.triu_indices(len(positions), 1)
        lengths = np.linalg.norm(positions[first] - positions[second], axis=1)
        rng = np.random.default_rng(3)

        def tensor(values: Any) -> Any:
            return torch.nn.Parameter(torch.tensor(values, dtype=precision), requires_grad=False)

        self.register_buffer("first", torch.tensor(first))
        self.register_buffer("second", torch.tensor(second))
        self.weights = tensor(rng.normal(scale=0.05, size=(8, len(first))))
        self.out = tensor(rng.normal(scale=0.1, size=8))
        self.lengths = tensor(lengths)
        self.stiffness = tensor(20.0 * (lengths < 1.7))

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        between = positions[self.first] - positions[self.second]
        r = torch.sqrt((between * between).sum(1))
        layer = torch.tanh(self.weights @ (1.0 / r))
        return self.out @ layer + 0.5 * (self.stiffness * (r - self.lengths) ** 2).sum()

    def in_numpy(self, positions: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Energy, eV, and forces, eV/angstrom, by hand."""
        first, second, weights, out, lengths, stiffness = (
            value.detach().cpu().numpy().astype(np.float64 if value.is_floating_point() else int)
            for value in (
                self.first,
                self.second,
                self.weights,
                self.out,
                self.lengths,
                self.stiffness,
            )
        )
        between = positions[first] - positions[second]
        r = np.linalg.norm(between, axis=1)
        layer = np.tanh(weights @ (1 / r))
        energy = out @ layer + 0.5 * (stiffness * (r - lengths) ** 2).sum()
        slope = -((out * (1 - layer**2)) @ weights) / r**2 + stiffness * (r - lengths)
        forces = np.zeros_like(positions)
        np.add.at(forces, first, -(slope / r)[:, None] * between)
        np.add.at(forces, second, (slope / r)[:, None] * between)
        return float(energy), forces
