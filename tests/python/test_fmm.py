# SPDX-License-Identifier: Apache-2.0
"""The fast multipole method: the sum of all periodic images within its tolerance, on any ranks."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import digest, engine, relative_rms, stopped_and_not, strained, water_box
from test_skewed_boxes import skewed_water

import quiltmd
from quiltmd import (
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    Simulation,
    VelocityVerlet,
)
from quiltmd.description.dynamics import resolve_dynamics
from quiltmd.engine.core import make_engine
from quiltmd.engine.execution import Execution
from quiltmd.errors import QuiltError

FMM = Nonbonded(method="fmm")
TIGHT = Nonbonded(pme_order=5, pme_tolerance=2e-6)


def stated_for(box: Any) -> Nonbonded:
    """The settings as a run at constant pressure keeps them."""
    chosen = FMM.resolve(box)
    return Nonbonded(
        method="fmm",
        fmm_order=chosen["pme_order"],
        fmm_bandwidth=chosen["pme_bandwidth"],
        fmm_grid=chosen["pme_grid"],
        fmm_box=chosen["stencil_box"],
    )


@pytest.fixture(scope="module")
def peptide(alanine: tuple[Path, Path]) -> Any:
    system, state = quiltmd.load(*alanine, constraints="h-bonds")
    return system, state, quiltmd.reference(system, state, TIGHT)


@pytest.mark.parametrize("tolerance", [1e-3, 5e-4, 1e-4, 1e-5])
def test_forces_are_as_accurate_as_asked(peptide: Any, tolerance: float) -> None:
    system, state, (energies, forces) = peptide
    settings = Nonbonded(method="fmm", fmm_tolerance=tolerance)
    found = quiltmd.reference(system, state, settings)
    assert relative_rms(found[1], forces) < 1.1 * tolerance
    assert found[0]["potential"] == pytest.approx(energies["potential"], rel=tolerance)


@pytest.mark.parametrize("order", [4, 5, 6, 8])
def test_splines_of_any_order_are_as_accurate(peptide: Any, order: Any) -> None:
    system, state, (_, forces) = peptide
    found = quiltmd.reference(system, state, replace(FMM, fmm_order=order))
    assert relative_rms(found[1], forces) < 1.1 * FMM.fmm_tolerance


@pytest.mark.parametrize("shape", ["octahedron", "dodecahedron"])
def test_skewed_boxes_are_served_as_well(shape: str) -> None:
    system, state = skewed_water(shape)
    exact = quiltmd.reference(system, state, replace(TIGHT, cutoff=0.85))[1]
    for order in (5, 6):
        settings = replace(FMM, fmm_order=order, cutoff=0.85)
        found = quiltmd.reference(system, state, settings)[1]
        assert relative_rms(found, exact) < 1.1 * FMM.fmm_tolerance


def test_a_net_charge_is_neutralised_as_with_pme(peptide: Any) -> None:
    system, state, _ = peptide
    charges = np.array(system.charges)
    charges[0] += 3
    charged = replace(system, charges=charges)
    exact, found = (quiltmd.reference(charged, state, one) for one in (TIGHT, FMM))
    assert found[0]["potential"] == pytest.approx(exact[0]["potential"], rel=5e-4)
    assert relative_rms(found[1], exact[1]) < 1.1 * FMM.fmm_tolerance


def test_the_engine_has_energies_forces_and_virial_of_the_reference(peptide: Any) -> None:
    system, state, _ = peptide
    simulation = Simulation(system, state, FMM, VelocityVerlet(), device="cpu")
    energies, forces = quiltmd.reference(system, state, FMM)
    assert relative_rms(simulation.forces(), forces) < 3e-6
    assert simulation.energies()["pme"] == pytest.approx(energies["pme"], rel=1e-6)
    virial = quiltmd.reference_virial(system, state, FMM)
    assert np.abs(simulation.virial() - virial).max() < 1e-5 * np.abs(virial).max()


def test_the_virial_is_that_of_pme_on_the_same_grid(peptide: Any) -> None:
    """Shear as well as stretching, with splines."""
    system, state, _ = peptide
    settings = replace(FMM, fmm_order=4)
    chosen = settings.resolve(state.box)
    pme = Nonbonded(pme_order=4, pme_bandwidth=chosen["pme_bandwidth"], pme_grid=chosen["pme_grid"])
    virial, exact = (quiltmd.reference_virial(system, state, one) for one in (settings, pme))
    assert np.abs(virial - exact).max() < 5e-4 * np.abs(exact).max()


def test_the_virial_is_no_less_exact_than_that_of_pme(peptide: Any) -> None:
    system, state, _ = peptide
    exact, found, pme = (
        quiltmd.reference_virial(system, state, one)
        for one in (TIGHT, replace(FMM, fmm_order=5), Nonbonded(pme_order=5))
    )
    assert np.abs(found - exact).max() < np.abs(pme - exact).max()


def test_a_stencil_for_another_box_is_as_accurate(peptide: Any) -> None:
    """In a box that a barostat has changed by 3 %, the stencil of the box at the start."""
    system, state, _ = peptide
    squeezed = strained(system, state, np.diag([-0.03, 0.02, -0.01]))
    exact = quiltmd.reference(system, squeezed, TIGHT)[1]
    stated = stated_for(state.box)
    own = replace(stated, fmm_box=stated_for(squeezed.box).fmm_box)
    errors = [
        relative_rms(quiltmd.reference(system, squeezed, settings)[1], exact)
        for settings in (stated, own)
    ]
    assert max(errors) < 1.1 * FMM.fmm_tolerance
    assert errors[0] == pytest.approx(errors[1], rel=0.05)


@pytest.mark.filterwarnings("ignore:the system has a net charge of -22 e")
def test_dna_is_served_as_well() -> None:
    """A dodecamer in water, without counter-ions, in a box of three lengths."""
    spec = find_spec("openmmtools")
    assert spec is not None and spec.origin is not None  # noqa: PT018
    folder = Path(spec.origin).parent / "data" / "dna_dodecamer_explicit"
    system, state = quiltmd.load(folder / "prmtop", folder / "inpcrd", constraints="h-bonds")
    exact, found = (quiltmd.reference(system, state, one)[1] for one in (TIGHT, FMM))
    assert relative_rms(found, exact) < 1.1 * FMM.fmm_tolerance


NVE = VelocityVerlet(timestep=0.002, remove_com_every=10)


@pytest.mark.parametrize(
    "integrator", [NVE, LangevinMiddle(timestep=0.002, seed=5, long_range_every=2)]
)
def test_bits_do_not_depend_on_ranks(peptide: Any, integrator: Any) -> None:
    system, state, _ = peptide
    found = set()
    for ranks, threads, mesh in (
        (1, 1, "auto"),
        (2, 1, "distributed"),
        (3, 2, "replicated"),
        (5, 1, "auto"),
    ):
        core = engine(system, state, FMM, integrator, ranks=ranks, threads=threads, mesh=mesh)
        core.run(25)
        found.add((digest(core), core.energies()["potential"]))
    assert len(found) == 1


@pytest.mark.parametrize("shape", ["rectangular", "skewed"])
def test_a_cluster_in_a_wide_box_has_the_bits_of_all_points(peptide: Any, shape: str) -> None:
    """One rank evaluates the grid around the atoms, several evaluate all of it.

    On more than eight ranks charges of the second level go through groups of ranks.
    """
    system, state, _ = peptide
    box = np.diag([6.5, 7.0, 9.0])
    if shape == "skewed":
        box[1, 0], box[2, 1] = 2.0, -1.5
    wide = replace(state, positions=state.positions - [1.0, 1.5, 0.2], box=box)
    found = set()
    for ranks in (1, 3, 12):
        core = engine(system, wide, FMM, NVE, ranks=ranks, mesh="distributed")
        core.run(15)
        found.add((digest(core), core.energies()["potential"], core.energies()["pme"]))
    assert len(found) == 1


def test_a_run_that_is_stopped_goes_on_with_the_same_bits(peptide: Any, tmp_path: Path) -> None:
    system, state, _ = peptide
    stopped_and_not(
        lambda ranks: Simulation(system, state, FMM, NVE, device="cpu", ranks=ranks), tmp_path
    )


BAROSTATS = {
    "cell rescaling": CellRescaling(1500.0, 0.5, seed=3, every=5),
    "anisotropic": CellRescaling(1500.0, 0.5, coupling="anisotropic", seed=3, every=5),
    "monte carlo": MonteCarloBarostat(5000.0, compressibility=1e-4, seed=3, every=5),
}


@pytest.mark.parametrize("barostat", BAROSTATS.values(), ids=BAROSTATS)
def test_pressure_is_kept_with_the_same_bits_on_any_ranks(
    peptide: Any, barostat: Any, tmp_path: Path
) -> None:
    """A restart in another box goes on with the stencil of the box at the start."""
    system, state, _ = peptide

    def simulation(ranks: int) -> Simulation:
        return Simulation(
            system,
            state,
            stated_for(state.box),
            LangevinMiddle(timestep=0.002, seed=5),
            barostat=barostat,
            device="cpu",
            ranks=ranks,
        )

    whole, second = stopped_and_not(simulation, tmp_path)
    assert whole.energies() == second.energies()
    box = whole.state().box
    assert box is not None
    assert not np.allclose(box, state.box, rtol=1e-5)


def test_what_the_engine_makes_of_a_new_box_is_the_reference(peptide: Any) -> None:
    system, state, _ = peptide
    simulation = Simulation(
        system,
        state,
        FMM,
        LangevinMiddle(timestep=0.002, seed=5),
        barostat=BAROSTATS["anisotropic"],
        device="cpu",
    )
    simulation.run(40)
    there, settings = simulation.state(), stated_for(state.box)
    energies, forces = quiltmd.reference(system, there, settings)
    assert relative_rms(simulation.forces(), forces) < 3e-6
    assert simulation.energies()["pme"] == pytest.approx(energies["pme"], rel=1e-6)
    virial = quiltmd.reference_virial(system, there, settings)
    assert np.abs(simulation.virial() - virial).max() < 1e-5 * np.abs(virial).max()


def test_energy_is_conserved_as_with_pme() -> None:
    system, state = water_box((7, 7, 7))
    warm = Simulation(system, state, Nonbonded(), LangevinMiddle(seed=1, friction=5), device="cpu")
    warm.minimize(100.0, 60)
    warm.draw_velocities(300.0, 1)
    warm.run(200)
    drifts = []
    for settings in (Nonbonded(), FMM):
        simulation = Simulation(system, warm.state(), settings, NVE, device="cpu")
        start = simulation.energies()["conserved"]
        simulation.run(250)
        drifts.append(abs(simulation.energies()["conserved"] - start) / len(system.charges))
    assert drifts[1] < drifts[0] + 2e-3  # kJ/mol per atom


@pytest.mark.parametrize("cutoff", [1.8, 3.6])
def test_two_charges_pass_the_cutoff_of_a_level_without_a_kink(cutoff: float) -> None:
    """Unlike at 0.9 nm, where the force of the pair ends as with PME (0.2 kJ/mol/nm)."""
    none, kinds = np.zeros((1, 1)), np.zeros(2, int)
    system = quiltmd.System.of(np.full(2, 40.0), np.array([1.0, -1.0]), kinds, none, none)
    along = np.array([2.0, 0.6, 0.5]) / np.linalg.norm([2.0, 0.6, 0.5])
    step = 0.004
    distances = cutoff + step * np.arange(-25, 26)

    def state(distance: float) -> quiltmd.State:
        positions = np.array([[1, 1, 1], 1 + distance * along])
        return quiltmd.State.start(system, positions, 9 * np.eye(3))

    simulation = Simulation(system, state(1.0), FMM, NVE, device="cpu", threads=1)
    energies, forces = [], []
    for distance in distances:
        simulation.set_state(state(distance))
        energies.append(simulation.energies()["potential"])
        forces.append(simulation.forces()[1] @ along)
    slopes = (np.array(energies[2:]) - energies[:-2]) / (2 * step)
    assert np.abs(slopes + forces[1:-1]).max() < 0.02  # kJ/mol/nm


IN_VACUUM = pytest.mark.filterwarnings(
    "ignore:there is no periodic box", "ignore:the velocities correspond to"
)


@IN_VACUUM
@pytest.mark.parametrize("tolerance", [1e-3, 5e-4, 1e-4, 1e-5])
def test_without_a_box_forces_are_those_of_all_pairs(peptide: Any, tolerance: float) -> None:
    """Of the peptide in its water, to which the reference adds up all pairs."""
    system, state = peptide[0], replace(peptide[1], box=None)
    settings = Nonbonded(method="fmm", fmm_tolerance=tolerance)
    found = Simulation(system, state, settings, NVE, device="cpu")
    energies, forces = quiltmd.reference(system, state, settings)
    assert relative_rms(found.forces(), forces) < 1.1 * tolerance
    assert found.energies()["potential"] == pytest.approx(energies["potential"], rel=tolerance)
    virial = quiltmd.reference_virial(system, state, settings)  # PME's errors are as large
    assert np.abs(found.virial() - virial).max() < 8 * tolerance * np.abs(virial).max()


def test_the_reference_without_a_box_is_the_sum_over_all_pairs(peptide: Any) -> None:
    """Near, far, excluded pairs and self energy together; charged, without a background."""
    system, state = peptide[0], replace(peptide[1], box=None)
    charges = np.array(system.charges)
    charges[0] += 3
    none = np.zeros_like(system.lj_a)
    charged = replace(system, charges=charges, lj_a=none, lj_b=none)
    far, all_pairs = (
        quiltmd.reference(charged, state, one) for one in (FMM, Nonbonded(method="no-cutoff"))
    )
    assert far[0]["potential"] == pytest.approx(all_pairs[0]["potential"], rel=1e-7)
    assert relative_rms(far[1], all_pairs[1]) < 1e-6


def scattering() -> tuple[Any, Any]:
    """Ions that fly apart through the walls of patches, so that the open cell must grow."""
    none = np.zeros((1, 1))
    rng = np.random.default_rng(3)
    count = 24
    charges = np.where(np.arange(count) % 2, -1.0, 1.0)
    system = quiltmd.System.of(np.full(count, 40.0), charges, np.zeros(count, int), none, none)
    positions = rng.uniform(0, 2.0, (count, 3)) + 31.7
    velocities = 8.0 * (positions - positions.mean(axis=0))
    return system, quiltmd.State(positions=positions, velocities=velocities, box=None)


@IN_VACUUM
def test_without_a_box_bits_do_not_depend_on_ranks_however_far_atoms_fly() -> None:
    system, state = scattering()
    found = set()
    for ranks, threads, mesh in (
        (1, 3, "auto"),
        (2, 1, "replicated"),
        (3, 1, "distributed"),
    ):
        core = engine(system, state, FMM, NVE, ranks=ranks, threads=threads, mesh=mesh)
        cells = core.state()["patches"]
        core.run(60)
        assert (np.array(core.state()["patches"]) > np.array(cells)).any()
        found.add((digest(core), core.energies()["potential"]))
    assert len(found) == 1


@IN_VACUUM
def test_without_a_box_forces_stay_exact_where_atoms_have_flown() -> None:
    system, state = scattering()
    simulation = Simulation(system, state, FMM, NVE, device="cpu")
    simulation.run(60)
    exact = quiltmd.reference(system, simulation.state(), FMM)
    scale = 1030 * FMM.fmm_tolerance * 1.6  # kJ/mol/nm: of water, for charges twice as large
    assert np.sqrt(((simulation.forces() - exact[1]) ** 2).mean()) < scale
    assert simulation.energies()["potential"] == pytest.approx(exact[0]["potential"], rel=1e-3)


@IN_VACUUM
def test_without_a_box_a_stopped_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    system, state = scattering()
    stopped_and_not(
        lambda ranks: Simulation(system, state, FMM, NVE, device="cpu", ranks=ranks), tmp_path
    )


def test_what_is_not_there_is_refused_by_name(peptide: Any) -> None:
    system, state, _ = peptide
    skewed = skewed_water("octahedron")
    rectangular = replace(stated_for(skewed[1].box), fmm_box=(3.0, 0.0, 3.0, 0.0, 0.0, 3.0))
    with pytest.raises(QuiltError, match="chosen for a rectangular box"):
        Simulation(*skewed, replace(rectangular, cutoff=0.85), device="cpu")
    with pytest.raises(QuiltError, match="grid of the method fmm follows the atoms"):
        stated_for(state.box).resolve(None)
    odd = Nonbonded(method="fmm", fmm_grid=(62, 62, 62), fmm_bandwidth=10.0)
    with pytest.raises(QuiltError, match="halved too few times for a GPU"):
        make_engine(
            system.arrays(),
            odd.resolve(state.box),
            resolve_dynamics(NVE, None),
            replace(Execution("cpu").resolve_here(), device="cuda"),
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fmm_tolerance": 1e-3}, "fmm_tolerance is for the method fmm"),
        ({"method": "fmm", "pme_tolerance": 1e-4}, "the method fmm has no PME"),
        ({"method": "fmm", "lennard_jones": "pme"}, "the method fmm has no PME"),
        ({"method": "fmm", "fmm_grid": (20, 20, 20)}, "belong together"),
        ({"method": "fmm", "fmm_grid": (20, 21, 20), "fmm_bandwidth": 10}, "even numbers"),
        ({"method": "fmm", "fmm_box": (3, 0, 3, 0, 0, 3)}, "give both"),
        ({"method": "fmm", "fmm_order": 5, "fmm_tolerance": 5e-5}, "choose 0.0001 or more"),
        (
            {
                "method": "fmm",
                "fmm_grid": (20, 20, 20),
                "fmm_bandwidth": 10,
                "fmm_box": (3, 0, -3, 0, 0, 3),
            },
            "must be positive",
        ),
        ({"method": "fmm", "fmm_tolerance": 5e-6}, "greater than or equal to 0.00001"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: Any, message: str) -> None:
    with pytest.raises((ValueError, QuiltError), match=message):
        Nonbonded(**settings)
