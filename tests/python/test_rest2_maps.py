# SPDX-License-Identifier: Apache-2.0
"""REST2 scales torsion maps within the solute and across its border."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import quiltmd
from quiltmd.exchange.scaling import scale_solute

pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box:quiltmd.QuiltWarning")


@pytest.mark.parametrize("scale", [0.36, 0.81])
@pytest.mark.parametrize("solute", [range(5), range(3), range(4, 7), [9], range(10)])
def test_maps_are_scaled_as_dihedrals_are(solute: range | list[int], scale: float) -> None:
    """The energy of each map alone, times the factor of its atoms, adds up to the whole."""
    rng = np.random.default_rng(2)
    chain = [[k, k + 1] for k in range(9)]
    bare = quiltmd.System.of(np.full(10, 12.0))
    system = replace(
        bare,
        bonds=np.array(chain),
        bond_parameters=np.tile([0.15, 1000.0], (9, 1)),
        cmaps=np.array([range(5), range(2, 7), range(5, 10)]),
        cmap_parameters=np.array([[0.0], [1.0], [0.0]]),
        cmap_maps=rng.normal(0, 3, (2, 24, 24)),
        nonbonded=quiltmd.Nonbonded(method="no-cutoff"),
    )
    places = np.cumsum(rng.normal(0.05, 0.08, (10, 3)), axis=0)
    state = quiltmd.State.start(system, places, None)

    def energy(of: quiltmd.System) -> float:
        return quiltmd.reference(of, state)[0]["cmap"]

    expected = 0.0
    for k, atoms in enumerate(system.cmaps):
        alone = replace(
            system, cmaps=atoms[None], cmap_parameters=system.cmap_parameters[k : k + 1]
        )
        inside = len(set(solute) & set(atoms.tolist()))
        factor = scale if inside == 5 else math.sqrt(scale) if inside else 1.0
        expected += factor * energy(alone)
    found = energy(scale_solute(system, np.array(solute), scale))
    assert found == pytest.approx(expected, rel=1e-12)
