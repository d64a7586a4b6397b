# SPDX-License-Identifier: Apache-2.0
"""Parts of a System: whoever does not know one refuses it by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import quiltmd
from quiltmd import InputError, System
from quiltmd.description.decoupling import decouple
from quiltmd.description.parts import Part
from quiltmd.exchange.scaling import scale_solute
from quiltmd.openmm.write import to_openmm

pytest.importorskip("openmm")


@dataclass(frozen=True)
class Embedding(Part):
    called: ClassVar[str] = "embedded atoms"
    strength: float = 1.0

    def check(self, system: System) -> None:
        if self.strength < 0:
            raise InputError("the strength of embedding is negative")

    def arrays(self, system: System) -> dict[str, Any]:
        return {"strength": np.full(system.atoms, self.strength)}


def embedded(strength: float = 1.0) -> System:
    """A system that has the part in the place of another one."""
    system = System.of(np.full(4, 40.0), sigma=0.3, epsilon=1.0)
    return replace(system, alchemy=Embedding(strength))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("do", "done"),
    [
        (lambda system: system.tile(2, 1, 1), "tiled"),
        (to_openmm, "written for OpenMM"),
        (lambda system: scale_solute(system, np.array([0]), 0.5), "scaled by REST2"),
    ],
)
def test_an_unknown_part_is_refused_by_name(do: Callable[[System], Any], done: str) -> None:
    with pytest.raises(InputError, match=f"a system with embedded atoms cannot be {done}"):
        do(embedded())


def test_only_a_system_without_parts_is_decoupled() -> None:
    plain = System.of(np.full(4, 40.0), sigma=0.3, epsilon=1.0, born_radii=np.full(4, 0.15))
    wet = replace(plain, solvent=quiltmd.ImplicitSolvent(model="gbn"))
    with pytest.raises(InputError, match="a system with implicit solvent cannot be decoupled"):
        decouple(wet, [0])


def test_a_part_is_checked_and_given_to_the_core() -> None:
    with pytest.raises(InputError, match="the strength of embedding is negative"):
        embedded(-1.0)
    assert (embedded(2.0).arrays()["alchemy"]["strength"] == [2, 2, 2, 2]).all()
