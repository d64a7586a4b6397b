# SPDX-License-Identifier: Apache-2.0
"""Models of MACE and ANI, with random weights, against the calculators of their packages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units

import quiltmd
from quiltmd import QuiltError, Simulation
from quiltmd.ase import AseForce

torch = pytest.importorskip("torch")
from quiltmd.models import AniModel, MaceModel  # noqa: E402
from quiltmd.torch import TorchForce  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
SOLUTE = 22
EV = units.mol / units.kJ  # kJ/mol
ELEMENTS = (1, 6, 7, 8)


def mace() -> tuple[Any, Callable[..., Any], Any]:
    """A model, how Quilt takes it, and the calculator of its package."""
    modules = pytest.importorskip("mace.modules")
    from e3nn import o3
    from mace.calculators import MACECalculator

    block = modules.interaction_classes["RealAgnosticResidualInteractionBlock"]
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        model = modules.ScaleShiftMACE(
            r_max=4.0,
            num_bessel=6,
            num_polynomial_cutoff=5,
            max_ell=2,
            interaction_cls=block,
            interaction_cls_first=block,
            num_interactions=2,
            num_elements=len(ELEMENTS),
            hidden_irreps=o3.Irreps("8x0e + 8x1o"),
            MLP_irreps=o3.Irreps("8x0e"),
            atomic_energies=np.zeros(len(ELEMENTS)),
            avg_num_neighbors=8.0,
            atomic_numbers=list(ELEMENTS),
            correlation=2,
            gate=torch.nn.functional.silu,
            atomic_inter_scale=1.0,
            atomic_inter_shift=0.0,
        )
        calculator = MACECalculator(models=[model], device="cpu", default_dtype="float64")
    finally:
        torch.set_default_dtype(previous)
    return model, MaceModel, calculator


def ani() -> tuple[Any, Callable[..., Any], Any]:
    """Likewise, in the architecture of ANI-2x."""
    arch = pytest.importorskip("torchani.arch")
    model = arch.simple_ani("HCNO", "wb97x-631gd", repulsion=False, self_energies="zero").double()
    return model, AniModel, model.ase()


@pytest.mark.parametrize("kind", [mace, ani])
def test_a_peptide_in_water_has_the_energies_of_the_calculator(
    kind: Callable[[], Any], alanine: tuple[Path, Path]
) -> None:
    """By TorchForce and by AseForce, as part of a simulation, and after some steps."""
    torch.manual_seed(4)
    system, state = quiltmd.load(*alanine, constraints="none")
    model, wrap, calculator = kind()
    elements = system.topology.elements[:SOLUTE]
    atoms = Atoms(list(elements), 10 * state.positions[:SOLUTE])
    atoms.calc = calculator
    by_torch = TorchForce(
        wrap(model, elements), "solute", length="angstrom", unit="eV", device="cpu", name="model"
    )
    region = quiltmd.model_region(system, "solute")
    settings: dict[str, Any] = {
        "integrator": quiltmd.LangevinMiddle(timestep=0.0005, seed=1),
        "device": "cpu",
        "threads": 1,
    }
    run, plain = (
        Simulation(region, state, external=given, **settings) for given in ([by_torch], [])
    )
    run.draw_velocities(300, 1)
    for _ in range(2):
        atoms.positions = 10 * run.positions()[:SOLUTE]
        plain.set_state(run.state())
        assert run.energies()["model"] == pytest.approx(EV * atoms.get_potential_energy(), rel=1e-6)
        forces = run.forces() - plain.forces()
        expected = 10 * EV * atoms.get_forces()
        assert np.abs(expected).max() > 10
        np.testing.assert_allclose(forces[:SOLUTE], expected, rtol=1e-6, atol=1e-4)
        assert not forces[SOLUTE:].any()
        run.run(4)
    energy, forces = AseForce(atoms, "solute").compute(0, atoms.positions / 10, None)[:2]
    found = by_torch.compute(0, atoms.positions / 10, None)
    assert found[0] == pytest.approx(energy, rel=1e-7)
    np.testing.assert_allclose(found[1], forces, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("kind", [mace, ani])
def test_an_unknown_element_is_named(kind: Callable[[], Any]) -> None:
    model, wrap, _ = kind()
    with pytest.raises(QuiltError, match="knows the atomic numbers 1, 6, 7, 8, and not 17, 35"):
        wrap(model, [6, 35, 17, 1])
