# SPDX-License-Identifier: Apache-2.0
"""Machine-learned potentials of other packages as models for `TorchForce`, without ASE between.

They take positions in angstrom and return the energy of a molecule in a vacuum, eV.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .errors import QuiltError

_HARTREE = 27.211386024367243  # eV, as in TorchANI


class MaceModel(torch.nn.Module):  # type: ignore[misc]
    """The energy of a molecule by a model of MACE (package `mace-torch`).

    The model considers all pairs of atoms, so that no neighbour list is needed; those beyond its
    cutoff add nothing.  The cost grows with the square of the number of atoms: for more than some
    100 atoms, MACE's calculator in an `AseForce` is faster.

    Parameters
    ----------
    model:
        The model, as `torch.load` returns it, or `models[0]` of a calculator of MACE.
    elements:
        Atomic numbers of the atoms.

    Raises
    ------
    QuiltError
        If the model does not know an element.
    """

    def __init__(self, model: Any, elements: Sequence[int]) -> None:
        super().__init__()
        self.model = model
        count, known = len(elements), [int(number) for number in model.atomic_numbers]
        places = torch.tensor(_places(elements, known, "MACE"))
        precision = next(one.dtype for one in model.parameters() if one.is_floating_point())
        attributes = torch.nn.functional.one_hot(places, len(known)).to(precision)
        edges = torch.nonzero(~torch.eye(count, dtype=torch.bool)).T.contiguous()
        shifts = torch.zeros((edges.shape[1], 3), dtype=precision)
        given = {
            "node_attrs": attributes,
            "edge_index": edges,
            "shifts": shifts,
            "unit_shifts": shifts.clone(),
            "batch": torch.zeros(count, dtype=torch.long),
            "ptr": torch.tensor([0, count]),
            "cell": torch.zeros((3, 3), dtype=precision),
        }
        self._given = tuple(given)
        for name, value in given.items():
            self.register_buffer(name, value)

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        """The energy, eV, of positions in angstrom."""
        given = {name: getattr(self, name) for name in self._given}
        found = self.model({"positions": positions, **given}, compute_force=False)
        energy: torch.Tensor = found["energy"]
        return energy


class AniModel(torch.nn.Module):  # type: ignore[misc]
    """The energy of a molecule by a model of ANI (package `torchani`, 2.3 or later).

    Parameters
    ----------
    model:
        The model, such as `torchani.models.ANI2x()`.
    elements:
        Atomic numbers of the atoms.

    Raises
    ------
    QuiltError
        If the model does not know an element.
    """

    def __init__(self, model: Any, elements: Sequence[int]) -> None:
        super().__init__()
        self.model = model
        places = _places(elements, model.atomic_numbers.tolist(), "ANI")
        given = list(elements) if model.periodic_table_index else places
        self.register_buffer("species", torch.tensor([[int(one) for one in given]]))

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        """The energy, eV, of positions in angstrom."""
        energy: torch.Tensor = self.model((self.species, positions[None])).energies
        return energy * _HARTREE


def _places(elements: Sequence[int], known: Sequence[int], what: str) -> list[int]:
    """Place of each element among those that the model knows."""
    strange = sorted({int(one) for one in elements} - set(known))
    if strange:
        raise QuiltError(
            f"this model of {what} knows the atomic numbers {', '.join(map(str, known))}, and not "
            f"{', '.join(map(str, strange))}: choose another model, or other atoms"
        )
    return [known.index(int(one)) for one in elements]
