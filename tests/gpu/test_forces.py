# SPDX-License-Identifier: Apache-2.0
"""Forces and energies on the GPU against double precision, at tight PME settings.

A tiled box has the forces of the single one; with the same alpha and the same grid spacing even the
errors of the mesh are the same.  So one evaluation of the reference serves boxes of any size.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
import pytest
from running import INTEGRATORS, Run, both_ensembles, energy_errors, relative_error, relaxed

import quiltmd

pytestmark = pytest.mark.gpu

FORCE_ERROR = 2e-5
ENERGY_ERROR = 1e-5
TOLERANCE = 1e-5  # of PME
Pair = tuple[quiltmd.System, quiltmd.State]


def tight(box: np.ndarray, tile: tuple[int, int, int] = (1, 1, 1)) -> quiltmd.Nonbonded:
    """Tight settings for a box, and for its tiles the same."""
    alpha, grid = quiltmd.pme_parameters(box, 0.9, TOLERANCE, order=5)
    x, y, z = (n * times for n, times in zip(grid, tile, strict=True))
    return quiltmd.Nonbonded(pme_order=5, pme_alpha=alpha, pme_grid=(x, y, z + z % 2))


def check(run: Run, energies: dict[str, float], forces: np.ndarray, record: Any) -> None:
    error = relative_error(run.engine.forces(), forces)
    record("force_error", error)
    assert error < FORCE_ERROR
    errors = energy_errors(run.engine.energies(), energies)
    record("energy_error", max(errors.values()))
    assert max(errors.values()) < ENERGY_ERROR, errors
    assert tuple(run.engine.force_sum()) == (0, 0, 0)


def check_single(pair: Pair, record: Any) -> None:
    settings = tight(pair[1].box)
    energies, forces = quiltmd.reference(*pair, settings)
    check(Run(*pair, nonbonded=settings), energies, forces, record)


@pytest.fixture(scope="session")
def dhfr_reference(dhfr: Pair) -> tuple[dict[str, float], np.ndarray]:
    return quiltmd.reference(*dhfr, tight(dhfr[1].box))


@pytest.mark.parametrize("tile", [(1, 1, 1), (2, 2, 1), (4, 4, 1), (3, 3, 5)], ids=str)
def test_tiled_dhfr(
    dhfr: Pair,
    dhfr_reference: tuple[dict[str, float], np.ndarray],
    tile: tuple[int, int, int],
    record_property: Any,
) -> None:
    system, state = dhfr
    energies, forces = dhfr_reference
    copies = int(np.prod(tile))
    run = Run(system.tile(*tile), state.tile(*tile), nonbonded=tight(state.box, tile))
    expected = {term: copies * value for term, value in energies.items()}
    # The tail correction averages over pairs of atoms, an atom with itself among them, so it is
    # extensive only up to 1/N (4e-5 here). It is one number, tested with the single box.
    tail = run.engine.energies()["dispersion"]
    expected["potential"] += tail - expected["dispersion"]
    expected["dispersion"] = tail
    check(run, expected, np.tile(forces, (copies, 1)), record_property)


def test_shaken_tiles(dhfr: Pair, record_property: Any) -> None:
    """Copies that differ, so that none can stand in for another."""
    system, state = (part.tile(2, 1, 1) for part in dhfr)
    shaken = state.positions + np.random.default_rng(1).normal(0, 0.003, state.positions.shape)
    check_single((system, quiltmd.State(shaken, state.velocities, state.box)), record_property)


def test_jac(jac_system: Pair, record_property: Any) -> None:
    check_single(jac_system, record_property)


def test_truncated_octahedron(record_property: Any) -> None:
    system, state = benchmark_systems.water(5.5, truncated_octahedron=True)
    check_single((system, relaxed(system, state)), record_property)


def test_peptide_in_truncated_octahedron(
    octahedron: tuple[Path, Path], record_property: Any
) -> None:
    check_single(quiltmd.load(*octahedron, constraints="h-bonds"), record_property)


def test_small_box(peptide: Pair, record_property: Any) -> None:
    check_single(peptide, record_property)


@pytest.mark.parametrize("felt", [True, False])
def test_reaction_field(dhfr: Pair, felt: bool, record_property: Any) -> None:
    settings = quiltmd.Nonbonded(method="reaction-field", reaction_field_on_exclusions=felt)
    energies, forces = quiltmd.reference(*dhfr, settings)
    check(Run(*dhfr, nonbonded=settings), energies, forces, record_property)


@both_ensembles
def test_impulses_agree_with_the_cpu(jac_system: Pair, ensemble: str) -> None:
    """Seven steps with three impulses of thrice the long-range force.  With that force in every
    step, atoms would be 8e-5 nm apart."""
    integrator = replace(INTEGRATORS[ensemble], timestep=0.002, long_range_every=3)
    runs = [Run(*jac_system, integrator, device=device) for device in ("cuda", "cpu")]
    gpu, cpu = (run.advance(1, 6).state() for run in runs)
    np.testing.assert_allclose(gpu.positions, cpu.positions, rtol=0, atol=1e-6)


def test_default_settings_agree_with_the_cpu(jac_system: Pair) -> None:
    """Two kinds of device, one physics: 1e-6 in every energy."""
    gpu, cpu = (Run(*jac_system, device=device) for device in ("cuda", "cpu"))
    check_alike(gpu, cpu)


@pytest.mark.parametrize("coulomb_cutoff", [0.6, 0.7, 0.85])
def test_two_cutoffs(jac_system: Pair, coulomb_cutoff: float) -> None:
    """A Coulomb cutoff shorter than that of Lennard-Jones: at once, and with lists that are old."""
    nonbonded = quiltmd.Nonbonded(coulomb_cutoff=coulomb_cutoff)
    gpu, cpu = (Run(*jac_system, nonbonded=nonbonded, device=on) for on in ("cuda", "cpu"))
    check_alike(gpu, cpu)
    gpu.advance(17)
    state = gpu.state()
    later = Run(jac_system[0], state, nonbonded=nonbonded, device="cpu")
    assert relative_error(gpu.engine.forces(), np.asarray(later.engine.forces())) < 5e-6


def check_alike(gpu: Run, cpu: Run) -> None:
    found, expected = gpu.engine.energies(), cpu.engine.energies()
    errors = {
        term: abs(value - expected[term]) / max(abs(expected[term]), 1.0)
        for term, value in found.items()
    }
    assert max(errors.values()) < 1e-6, errors
    assert relative_error(gpu.engine.forces(), np.asarray(cpu.engine.forces())) < 5e-6


@pytest.mark.parametrize("by_rule", [True, False])
@pytest.mark.parametrize("switching", ["potential", "charmm", "charmm-force", "gromacs-force"])
def test_switching_agrees_with_the_cpu(peptide: Pair, switching: Any, by_rule: bool) -> None:
    """Of tables that follow the combination rules, and of one that does not for a pair of types."""
    system, state = peptide
    if not by_rule:
        table = np.array(system.lj_a)
        first, second = np.unique(system.lj_types)[:2]
        table[first, second] = table[second, first] = 1.1 * table[first, second] + 1e-9
        system = replace(system, lj_a=table)
    nonbonded = quiltmd.Nonbonded(cutoff=0.9, switching=switching, switch_distance=0.75)
    runs = [Run(system, state, nonbonded=nonbonded, device=device) for device in ("cuda", "cpu")]
    check_alike(*runs)


@pytest.mark.parametrize("by_rule", [True, False])
def test_lennard_jones_pme(peptide: Pair, by_rule: bool, record_property: Any) -> None:
    """Against double precision, and the CPU to the rounding of single precision."""
    system, state = peptide
    if not by_rule:
        table = np.array(system.lj_b)
        first, second = np.unique(system.lj_types)[:2]
        table[first, second] = table[second, first] = 1.1 * table[first, second]
        system = replace(system, lj_b=table)
    nonbonded = replace(
        tight(state.box), lennard_jones="pme", lj_pme_alpha=3.8, lj_pme_grid=(45, 40, 42)
    )
    energies, forces = quiltmd.reference(system, state, nonbonded)
    on_gpu = Run(system, state, nonbonded=nonbonded)
    check(on_gpu, energies, forces, record_property)
    assert energies["dispersion"] < 0
    check_alike(on_gpu, Run(system, state, nonbonded=nonbonded, device="cpu"))


@pytest.mark.parametrize("tolerance", [1e-3, 5e-4, 1e-4])
def test_fmm(jac_system: Pair, tolerance: float, record_property: Any) -> None:
    """Against double precision, and the CPU to the rounding of single precision."""
    settings = quiltmd.Nonbonded(method="fmm", fmm_tolerance=tolerance)
    energies, forces = quiltmd.reference(*jac_system, settings)
    on_gpu = Run(*jac_system, nonbonded=settings)
    check(on_gpu, energies, forces, record_property)
    check_alike(on_gpu, Run(*jac_system, nonbonded=settings, device="cpu"))


@pytest.mark.parametrize("order", [4, 5, 6, 8])
def test_fmm_of_any_order(dhfr: Pair, order: Any) -> None:
    settings = quiltmd.Nonbonded(method="fmm", fmm_order=order)
    gpu, cpu = (Run(*dhfr, nonbonded=settings, device=device) for device in ("cuda", "cpu"))
    check_alike(gpu, cpu)


@pytest.mark.filterwarnings("ignore:there is no periodic box")
@pytest.mark.parametrize("tolerance", [5e-4, 1e-4])
def test_fmm_without_a_box(peptide: Pair, tolerance: float) -> None:
    system, state = peptide
    settings = quiltmd.Nonbonded(method="fmm", fmm_tolerance=tolerance)
    alone = replace(state, box=None)
    gpu, cpu = (Run(system, alone, nonbonded=settings, device=device) for device in ("cuda", "cpu"))
    check_alike(gpu, cpu)


def test_fmm_of_a_peptide_in_a_wide_box(peptide: Pair) -> None:
    """Its grid is evaluated around the atoms only."""
    system, state = peptide
    wide = replace(state, box=np.diag([7.0, 6.0, 9.0]))
    settings = quiltmd.Nonbonded(method="fmm")
    gpu, cpu = (Run(system, wide, nonbonded=settings, device=device) for device in ("cuda", "cpu"))
    check_alike(gpu, cpu)


def test_fmm_in_a_truncated_octahedron(octahedron: tuple[Path, Path]) -> None:
    pair = quiltmd.load(*octahedron, constraints="h-bonds")
    settings = quiltmd.Nonbonded(method="fmm")
    gpu, cpu = (Run(*pair, nonbonded=settings, device=device) for device in ("cuda", "cpu"))
    check_alike(gpu, cpu)


def test_tabulated_pairs_agree_with_the_cpu(peptide: Pair) -> None:
    """Lennard-Jones at a thousand distances."""
    system, state = peptide
    distances = np.linspace(0.08, 1.0, 1000)
    inverse6 = distances[:, None, None] ** -6
    energies = system.lj_a * inverse6**2 - system.lj_b * inverse6
    ends = [np.full_like(system.lj_a, end) for end in (0.08, 1.0)]
    tabulated = replace(
        system, lj_a=[], lj_b=[], pair_form="tabulated", pair_tables=[*ends, *energies]
    )
    nonbonded = quiltmd.Nonbonded(dispersion_correction=False)
    runs = [Run(tabulated, state, nonbonded=nonbonded, device=device) for device in ("cuda", "cpu")]
    check_alike(*runs)
    exact = Run(system, state, nonbonded=nonbonded, device="cpu").engine.energies()["lj"]
    assert runs[0].engine.energies()["lj"] == pytest.approx(exact, rel=1e-3)


RESTRAINTS = [
    quiltmd.Restraint("position", "not water", 500.0),
    quiltmd.Restraint("position", "index 9", 5000.0, radius=0.01),
    quiltmd.Restraint("distance", ("index 1", "index 15"), 800.0, upper=0.1, linear=0.2),
    quiltmd.Restraint("angle", ("index 1", "index 5", "index 9"), 90.0, angle=10.0, width=5.0),
    quiltmd.Restraint(
        "torsion", ("index 5", "index 7", "index 9", "index 15"), 70.0, angle=-10.0, width=5.0
    ),
]


@pytest.mark.parametrize("restraint", RESTRAINTS, ids=lambda one: one.kind)
def test_restraints_agree_with_the_cpu(peptide: Pair, restraint: quiltmd.Restraint) -> None:
    """None of them is at rest."""
    system, state = peptide
    places = state.positions - [0.05, 0.02, 0.01]
    held = quiltmd.restrain(system, [restraint], places, state.box)
    gpu, cpu = (Run(held, state, device=device) for device in ("cuda", "cpu"))
    check_alike(gpu, cpu)
    assert gpu.engine.energies()["restraint"] > 1.0


def test_an_electric_field_agrees_with_the_cpu(peptide: Pair) -> None:
    system, state = peptide
    pulled = quiltmd.apply_electric_field(system, (0.3, -0.7, 1.1))
    gpu, cpu = (Run(pulled, state, device=device) for device in ("cuda", "cpu"))
    check_alike(gpu, cpu)
    assert abs(gpu.engine.energies()["external"]) > 1.0


def check_virial(pair: Pair, settings: quiltmd.Nonbonded) -> None:
    """Against double precision; the parts cancel, so errors are held against the energies."""
    run = Run(*pair, nonbonded=settings)
    run.advance(7)  # lists that have aged, atoms in motion
    frame = run.engine.capture(energies=True)
    found, energies = frame.tensors(), frame.energies()
    state = run.state()
    exact = quiltmd.reference_virial(pair[0], state, settings)
    scale = abs(energies["lj"]) + abs(energies["coulomb"])
    np.testing.assert_allclose(found["virial"], exact, atol=FORCE_ERROR * scale)
    cpu = Run(pair[0], state, nonbonded=settings, device="cpu")
    again = cpu.engine.capture(energies=True).tensors()
    np.testing.assert_allclose(found["virial"], again["virial"], atol=2e-6 * scale)
    np.testing.assert_allclose(found["kinetic"], again["kinetic"], rtol=1e-7, atol=1e-3)


@pytest.mark.parametrize("method", ["pme", "fmm", "cutoff"])
def test_virial_of_a_peptide(peptide: Pair, method: Any) -> None:
    check_virial(peptide, quiltmd.Nonbonded(cutoff=0.8, method=method))


def test_virial_of_a_protein(jac_system: Pair) -> None:
    check_virial(jac_system, tight(jac_system[1].box))


def test_virial_in_a_truncated_octahedron(octahedron: tuple[Path, Path]) -> None:
    pair = quiltmd.load(*octahedron, constraints="h-bonds")
    check_virial(pair, quiltmd.Nonbonded(cutoff=0.9))


MESH: dict[str, Any] = {"pme_alpha": 3.2, "pme_grid": (40, 42, 40)}


@pytest.mark.parametrize(
    "long_range", [MESH | {"pme_order": 4}, MESH | {"pme_order": 5}, {"method": "cutoff"}]
)
def test_other_settings(peptide: Pair, long_range: dict[str, Any]) -> None:
    settings = quiltmd.Nonbonded(cutoff=0.8, potential_shift=True, **long_range)
    energies, forces = quiltmd.reference(*peptide, settings)
    run = Run(*peptide, nonbonded=settings)
    assert relative_error(run.engine.forces(), forces) < FORCE_ERROR
    assert max(energy_errors(run.engine.energies(), energies).values()) < ENERGY_ERROR


@pytest.mark.parametrize("apart", [0.0, 3e-7])
def test_atoms_at_the_same_point_are_named(dhfr: Pair, apart: float) -> None:
    system, state = dhfr
    positions = state.positions.copy()
    positions[9] = positions[9000] + apart
    with pytest.raises(quiltmd.SimulationError, match=r"atom 10 .*atom 9001 .*same point"):
        quiltmd.Simulation(system, replace(state, positions=positions), device="cuda")


def test_overlapping_atoms_are_minimised_or_named(dhfr: Pair) -> None:
    """One water on another: energies are out of range at first."""
    system, state = dhfr
    positions = state.positions.copy()
    oxygens = np.flatnonzero(system.topology.atom_names == "O")[-2:]
    group = slice(oxygens[1], oxygens[1] + 3)
    positions[group] += positions[oxygens[0]] - positions[oxygens[1]] + 1e-4
    simulation = quiltmd.Simulation(system, replace(state, positions=positions), device="cuda")
    with pytest.raises(quiltmd.QuiltError, match="overlaps"):
        simulation.forces()
    simulation.minimize(1000.0, 100)
    assert np.isfinite(simulation.forces()).all()
