# SPDX-License-Identifier: Apache-2.0
"""Lennard-Jones PME: the dispersion beyond the cutoff, on a mesh.

Against OpenMM's Reference platform (LJPME), and against sums over images that know neither a mesh
nor an Ewald parameter.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import digest, engine, lj_table, relative_rms, state_of, through_file
from numpy.typing import NDArray
from openmm_reference import energy_and_forces
from scipy.integrate import quad
from test_openmm_settings import CUTOFF, EDGE, force_of, positions, small_system

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation, State, System, VelocityVerlet
from quiltmd.description.mesh_rules import lj_pme_parameters
from quiltmd.errors import QuiltError
from quiltmd.exchange.scaling import scale_solute
from quiltmd.inputs.control_files import read_control
from quiltmd.openmm.write import to_openmm
from quiltmd.prediction.plan import Planner

pytestmark = [
    pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning"),
]

ALPHA, GRID = 4.0, (30, 28, 32)
ON_MESH: dict[str, Any] = {"lennard_jones": "pme", "lj_pme_alpha": ALPHA, "lj_pme_grid": GRID}


def on_mesh(system: Any) -> Any:
    """An OpenMM System with LJPME whose parameters are stated."""
    pairs = force_of(system, "NonbondedForce")
    pairs.setNonbondedMethod(openmm.NonbondedForce.LJPME)
    pairs.setPMEParameters(4.2, 32, 32, 32)
    pairs.setLJPMEParameters(ALPHA, *GRID)
    return system


def state_at(places: NDArray[np.float64], box: NDArray[np.float64] | None = None) -> State:
    return State(places, np.zeros_like(places), EDGE * np.eye(3) if box is None else box)


def is_openmm_s(reference: Any, places: NDArray[np.float64], ranks: int = 1) -> None:
    """Double precision to its rounding, and ranks on a CPU to that of single precision."""
    box = np.array(
        [row / openmm.unit.nanometer for row in reference.getDefaultPeriodicBoxVectors()]
    )
    system, state = System.from_openmm(reference), state_at(places, box)
    assert system.nonbonded is not None
    assert system.nonbonded.lennard_jones == "pme"
    energy, forces = energy_and_forces(reference, places)
    energies, exact = quiltmd.reference(system, state)
    assert energies["potential"] == pytest.approx(energy, rel=1e-9, abs=1e-7)
    assert relative_rms(exact, forces) < 1e-9
    simulation = Simulation(system, state, device="cpu", ranks=ranks)
    found = simulation.energies()
    assert relative_rms(simulation.forces(), forces) < 2e-6
    for name in ("lj", "dispersion", "potential"):
        size = abs(energies[name]) + abs(energies["coulomb"]) * (name == "potential")
        assert found[name] == pytest.approx(energies[name], abs=2e-6 * size + 1e-3)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("ignored", [False, True])
def test_it_is_openmm_s(ranks: int, ignored: bool) -> None:
    """With excluded and 1-4 pairs; OpenMM heeds neither switching nor the tail correction."""
    reference = on_mesh(small_system())
    pairs = force_of(reference, "NonbondedForce")
    pairs.setUseDispersionCorrection(ignored)
    pairs.setUseSwitchingFunction(ignored)
    pairs.setSwitchingDistance(0.9 * CUTOFF)
    is_openmm_s(reference, positions(), ranks)


def test_excluded_pairs_beyond_the_cutoff_are_taken_back() -> None:
    """Of a long chain whose atoms all exclude each other, across half of a tilted box."""
    box = np.array([[2.6, 0, 0], [0.5, 2.5, 0], [-0.4, 0.6, 2.4]])
    system, pairs = openmm.System(), openmm.NonbondedForce()
    bonds = openmm.HarmonicBondForce()
    system.setDefaultPeriodicBoxVectors(*box)
    places = np.array([[0.12 * i, 0.1 * (i % 2), 0.02 * i] for i in range(10)])
    for i in range(10):
        system.addParticle(12.0)
        pairs.addParticle(0.0 if i % 3 else 0.3, 0.3 + 0.01 * i, 0.4 if i % 4 else 0.0)
        for j in range(i):
            pairs.addException(j, i, 0, 1, 0)
        if i:
            bonds.addBond(i - 1, i, 0.16, 2e4)
    pairs.setCutoffDistance(0.6)
    for force in (bonds, pairs):
        system.addForce(force)
    described = System.from_openmm(on_mesh(system))
    assert np.linalg.norm(places[9] - places[1]) > 0.6
    is_openmm_s(system, places)
    is_openmm_s(system, places, ranks=2)
    assert described.nonbonded is not None


def lattice_sum(
    coefficients: NDArray[np.float64], places: NDArray[np.float64], edge: float, reach: int
) -> float:
    """-1/2 sum of c_i c_j/r^6 over all images in a cube, and beyond as if atoms were everywhere."""
    offsets = np.indices((2 * reach + 1,) * 3).reshape(3, -1).T - reach
    farthest = edge * (reach - 1)
    sum_all = 0.0
    for i, c in enumerate(coefficients):
        way = places[i] - places[:, None, :] + edge * offsets[None, :, :]
        r2 = (way**2).sum(axis=2)
        inverse = np.where((r2 > 1e-9) & (r2 < farthest**2), 1 / np.maximum(r2, 1e-9) ** 3, 0)
        sum_all += c * float(coefficients @ inverse.sum(axis=1))
    beyond = coefficients.sum() ** 2 / edge**3 * 4 * np.pi / (3 * farthest**3)
    return -0.5 * (sum_all + beyond)


def argon(rule: str = "lorentz") -> tuple[System, State, NDArray[np.float64]]:
    """Two kinds of atoms on a shaken lattice, and their sqrt(C6)."""
    rng = np.random.default_rng(4)
    places = np.indices((5, 5, 5)).reshape(3, -1).T * 0.4 + rng.normal(scale=0.02, size=(125, 3))
    kinds = np.arange(125) % 2
    sigma, epsilon = np.array([0.34, 0.28]), np.array([1.0, 0.4])
    a, b = lj_table(sigma, epsilon)
    if rule == "special":  # a pair of types that follows no rule
        a, b = np.array(a), np.array(b)
        a[0, 1] = a[1, 0] = 1.3 * a[0, 1]
        b[0, 1] = b[1, 0] = 1.1 * b[0, 1]
    zeros = np.zeros(125)
    system = System.of(np.full(125, 40.0), zeros, kinds, a, b)
    coefficients = np.sqrt(np.diag(b))[kinds]
    return system, State(places, 0 * places, 2.0 * np.eye(3)), coefficients


@pytest.mark.parametrize("rule", ["lorentz", "special"])
def test_energies_are_those_of_a_sum_over_images(rule: str) -> None:
    """Within the cutoff the table, beyond it the geometric rule, whatever alpha is.

    Energies of pairs are zero at the cutoff: what that takes away is added, pair by pair.
    """
    system, state, coefficients = argon(rule)
    edge, cutoff = 2.0, 0.9
    way = state.positions[:, None] - state.positions
    way -= edge * np.round(way / edge)
    r2 = (way**2).sum(axis=2)
    i, j = np.nonzero(np.triu(r2 < cutoff**2, 1))
    r6, product = r2[i, j] ** 3, coefficients[i] * coefficients[j]
    kinds = np.asarray(system.lj_types)
    a, b = (np.asarray(table)[kinds[i], kinds[j]] for table in (system.lj_a, system.lj_b))
    expected = lattice_sum(coefficients, state.positions, edge, 9) + float(
        (a / r6**2 - b / r6 + product / r6).sum()
    )
    for alpha in (5.0, 5.5):
        settings = Nonbonded(
            cutoff=cutoff,
            lennard_jones="pme",
            pme_order=5,
            lj_pme_alpha=alpha,
            lj_pme_grid=(64, 64, 64),
            dispersion_correction=False,
        )
        energies, _ = quiltmd.reference(system, state, settings)
        x2 = (alpha * cutoff) ** 2
        smooth = 1 - np.exp(-x2) * (1 + x2 + x2 * x2 / 2)
        shift = float((a / cutoff**12 - (b - smooth * product) / cutoff**6).sum())
        assert energies["lj"] + energies["dispersion"] + shift == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rule", ["lorentz", "special"])
def test_both_ways_to_parameters_are_as_double_precision(rule: str) -> None:
    system, state, _ = argon(rule)
    settings = Nonbonded(cutoff=0.9, **ON_MESH)
    simulation = Simulation(system, state, nonbonded=settings, device="cpu", ranks=2)
    assert bool(simulation.describe()["lorentz_berthelot"]) == (rule == "lorentz")
    energies, forces = quiltmd.reference(system, state, settings)
    assert relative_rms(simulation.forces(), forces) < 5e-6
    for name in ("lj", "dispersion"):
        assert simulation.energies()[name] == pytest.approx(energies[name], rel=2e-6)


def test_what_the_geometric_rule_and_the_shift_miss_is_corrected() -> None:
    """2 pi N^2/V times the means over pairs of atoms, each with itself included.

    Beyond the cutoff the repulsion is missing, and the dispersion but for what the mesh has of it;
    within, the energy at the cutoff that was taken away.  Nothing jumps, so that the virial is the
    same.
    """
    system, state, coefficients = argon("special")
    cutoff, volume = 0.9, 8.0
    kinds = np.asarray(system.lj_types)
    a, b = (np.asarray(table)[np.ix_(kinds, kinds)] for table in (system.lj_a, system.lj_b))
    product = np.outer(coefficients, coefficients)

    def direct(r: float) -> float:
        x2 = (ALPHA * r) ** 2
        return float(np.exp(-x2) * (1 + x2 + x2 * x2 / 2) / r**6)

    left = quad(lambda r: direct(r) * r * r, cutoff, np.inf)[0]
    tail = a / (9 * cutoff**9) - (b - product) / (3 * cutoff**3) - product * left
    shift = a / cutoff**12 - (b - product) / cutoff**6 - product * direct(cutoff)
    counted = np.tril(np.ones_like(a)) > 0
    factor = 2 * np.pi * len(kinds) ** 2 / volume
    expected = factor * (tail + cutoff**3 / 3 * shift)[counted].mean()
    virials, energies = [], []
    for corrected in (False, True):
        settings = Nonbonded(cutoff=cutoff, **ON_MESH, dispersion_correction=corrected)
        energies.append(quiltmd.reference(system, state, settings)[0]["dispersion"])
        virials.append(quiltmd.reference_virial(system, state, settings))
        simulation = Simulation(system, state, nonbonded=settings, device="cpu")
        assert simulation.energies()["dispersion"] == pytest.approx(energies[-1], rel=2e-6)
    assert abs(expected) > 0.5
    assert energies[1] - energies[0] == pytest.approx(expected, rel=1e-8)
    pressed = expected * np.eye(3)
    np.testing.assert_allclose(virials[1] - virials[0], pressed, rtol=1e-8, atol=1e-9)


def test_virial_and_forces_are_slopes_of_the_energy() -> None:
    system, state, _ = argon("special")
    settings = Nonbonded(cutoff=0.9, **ON_MESH, dispersion_correction=False)
    virial = quiltmd.reference_virial(system, state, settings)
    forces = quiltmd.reference(system, state, settings)[1]

    def energy(strain: NDArray[np.float64], places: NDArray[np.float64]) -> float:
        there = State(places @ strain, 0 * places, np.asarray(state.box) @ strain)
        return quiltmd.reference(system, there, settings)[0]["potential"]

    step, one = 1e-5, np.eye(3)
    for i, j in ((0, 0), (1, 1), (2, 2), (1, 0), (2, 1)):
        bent = np.zeros((3, 3))
        bent[i, j] = step
        slope = (energy(one - bent, state.positions) - energy(one + bent, state.positions)) / (
            2 * step
        )
        assert slope == pytest.approx(virial[i, j], rel=1e-4, abs=2e-3)
    for atom, d in ((0, 0), (17, 1), (124, 2)):
        moved = np.zeros_like(state.positions)
        moved[atom, d] = step
        slope = (energy(one, state.positions - moved) - energy(one, state.positions + moved)) / (
            2 * step
        )
        assert slope == pytest.approx(forces[atom, d], rel=1e-4, abs=1e-3)
    simulation = Simulation(system, state, nonbonded=settings, device="cpu")
    size = np.abs(virial).max()
    np.testing.assert_allclose(simulation.virial(), virial, atol=2e-6 * size)


@pytest.fixture(scope="module")
def peptide(alanine: tuple[Path, Path]) -> tuple[Any, Any]:
    system, state = quiltmd.load(*alanine, constraints="h-bonds")
    core = engine(system, state, integrator=LangevinMiddle(friction=5, seed=1), threads=2)
    core.minimize(100.0, 60)
    core.draw_velocities(300.0, 1)
    core.run(50)
    warm = state_of(core)
    return system, State(warm.positions, warm.velocities, warm.box)


STEPS = 48
SETTINGS = Nonbonded(cutoff=0.8, lennard_jones="pme")
INTEGRATORS = {
    "verlet": VelocityVerlet(timestep=0.002, remove_com_every=10, long_range_every=3),
    "langevin": LangevinMiddle(timestep=0.002, seed=5, remove_com_every=10),
}


@pytest.mark.parametrize("name", INTEGRATORS)
def test_ranks_stops_and_sharing_do_not_matter(
    peptide: tuple[Any, Any], tmp_path: Path, name: str
) -> None:
    integrator = INTEGRATORS[name]
    straight = engine(*peptide, SETTINGS, integrator)
    straight.run(STEPS)
    for ranks, mesh in ((2, "auto"), (3, "replicated"), (4, "distributed"), (6, "pencils")):
        core = engine(*peptide, SETTINGS, integrator, ranks=ranks, mesh=mesh, threads=1)
        core.run(STEPS)
        assert digest(core) == digest(straight)
        assert core.energies() == straight.energies()
        assert (core.forces() == straight.forces()).all()
    core = engine(*peptide, SETTINGS, integrator, threads=2)
    core.run(17)
    state = through_file(state_of(core), tmp_path)
    core = engine(peptide[0], state, SETTINGS, integrator, ranks=2)
    core.run(STEPS - 17)
    assert digest(core) == digest(straight)


@pytest.mark.parametrize("barostat", ["monte-carlo", "cell-rescaling"])
def test_the_mesh_follows_the_box_of_a_barostat(peptide: tuple[Any, Any], barostat: str) -> None:
    kinds = {
        "monte-carlo": quiltmd.MonteCarloBarostat(1.0, every=4, seed=3),
        "cell-rescaling": quiltmd.CellRescaling(1.0, every=4, seed=3),
    }
    system, state = peptide
    digests, volumes = [], []
    for ranks in (1, 3):
        simulation = Simulation(
            system,
            state,
            nonbonded=Nonbonded(cutoff=0.8, lennard_jones="pme"),
            integrator=INTEGRATORS["langevin"],
            barostat=kinds[barostat],
            device="cpu",
            ranks=ranks,
        )
        simulation.run(60)
        there = simulation.state()
        volumes.append(np.linalg.det(np.asarray(there.box)))
        digests.append(there.positions.tobytes())
    assert digests[0] == digests[1]
    assert volumes[0] == volumes[1] != np.linalg.det(np.asarray(state.box))
    # The energies of the last state, with a mesh that was made for its box.
    chosen = SETTINGS.resolve(np.asarray(state.box))
    stated = Nonbonded(
        cutoff=0.8,
        pme_order=chosen["pme_order"],
        pme_bandwidth=chosen["pme_bandwidth"],
        pme_window=chosen["pme_window"],
        pme_grid=tuple(chosen["pme_grid"]),
        lennard_jones="pme",
        lj_pme_alpha=chosen["lj_pme_alpha"],
        lj_pme_grid=tuple(chosen["lj_pme_grid"]),
    )
    energies, _ = quiltmd.reference(system, there, stated)
    assert simulation.energies()["dispersion"] == pytest.approx(energies["dispersion"], rel=1e-6)


def test_parameters_from_a_tolerance(peptide: tuple[Any, Any]) -> None:
    for tolerance in (1e-2, 1e-3, 1e-4):
        alpha, grid = lj_pme_parameters(4 * np.eye(3), 0.9, tolerance)
        square = (alpha * 0.9) ** 2
        left = np.exp(-square) * (1 + square + square**2 / 2)
        assert left == pytest.approx(tolerance, rel=1e-6)
        assert 0.0187 * (alpha * 4 / min(grid)) ** 5 <= 0.5 * tolerance
    fine: dict[str, Any] = {"lj_pme_alpha": 4.4, "lj_pme_grid": (80, 80, 80), "pme_order": 4}
    exact = quiltmd.reference(*peptide, Nonbonded(cutoff=0.9, lennard_jones="pme", **fine))
    chosen = quiltmd.reference(*peptide, Nonbonded(cutoff=0.9, lennard_jones="pme"))
    assert relative_rms(chosen[1], exact[1]) < 5e-5
    beyond = [energies["lj"] + energies["dispersion"] for energies, _ in (exact, chosen)]
    assert beyond[1] == pytest.approx(beyond[0], rel=5e-4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lennard_jones": "pme", "method": "cutoff"}, "has no PME: leave out lennard_jones"),
        (
            {"lennard_jones": "pme", "switching": "potential", "switch_distance": 0.7},
            "cannot be combined with switching",
        ),
        ({"lj_pme_tolerance": 1e-4}, "lj_pme_tolerance needs lennard_jones = pme"),
        ({"lennard_jones": "pme", "lj_pme_alpha": 3.0}, "lj_pme_alpha and lj_pme_grid belong"),
        (
            {**ON_MESH, "lj_pme_tolerance": 1e-4},
            "lj_pme_grid replaces lj_pme_tolerance",
        ),
        ({**ON_MESH, "lj_pme_grid": (4, 32, 32)}, "lj_pme_grid needs at least 8 points"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(QuiltError, match=words):
        Nonbonded(**settings)


def test_what_the_core_refuses() -> None:
    system, state, _ = argon()
    with pytest.raises(QuiltError, match="accurate up to 4"):
        Simulation(
            system, state, nonbonded=Nonbonded(**{**ON_MESH, "lj_pme_alpha": 4.6}), device="cpu"
        )
    nothing = np.zeros((0, 0))
    buckingham = replace(
        system,
        pair_form="buckingham",
        pair_tables=[np.ones((2, 2))] * 2 + [np.zeros((2, 2))],
        lj_a=nothing,
        lj_b=nothing,
    )
    with pytest.raises(QuiltError, match="the pair form is buckingham"):
        Simulation(buckingham, state, nonbonded=Nonbonded(**ON_MESH), device="cpu")


def test_settings_given_beside_those_of_inputs() -> None:
    theirs = Nonbonded(cutoff=0.9, pme_alpha=3.0, pme_grid=(32, 32, 32), **ON_MESH)
    assert theirs.overridden({"lennard_jones": "cutoff"}).lj_pme_grid is None
    assert theirs.overridden({"cutoff": 1.0}).lj_pme_alpha is None
    assert theirs.overridden({"lj_pme_tolerance": 1e-4}).pme_alpha == 3.0
    assert theirs.overridden({"method": "cutoff"}).lennard_jones == "cutoff"
    switched = Nonbonded(switching="potential", switch_distance=0.7)
    assert switched.overridden({"lennard_jones": "pme"}).switching == "none"
    assert theirs.tile(2, 1, 3).lj_pme_grid == (60, 28, 96)


def test_coefficients_near_a_point_add_up_to_what_it_can_hold() -> None:
    """A dense drop in a large box, on the coarsest grid that a tolerance gives."""
    places = np.indices((14, 14, 14)).reshape(3, -1).T * 0.22
    a, b = lj_table(np.array([0.2]), np.array([1.0]))
    system = System.of(np.full(14**3, 40.0), lj_a=a, lj_b=b)
    state = State(places, 0 * places, 7.2 * np.eye(3))
    settings = Nonbonded(lennard_jones="pme", lj_pme_tolerance=0.49)
    expected = quiltmd.reference(system, state, settings)[0]["dispersion"]
    simulation = Simulation(system, state, nonbonded=settings, device="cpu")
    assert simulation.energies()["dispersion"] == pytest.approx(expected, rel=1e-5)
    coarse = Nonbonded(lennard_jones="pme", lj_pme_alpha=1.8, lj_pme_grid=(8, 8, 8))
    with pytest.raises(QuiltError, match=r"too coarse for this box: its points are 0\.9 nm"):
        quiltmd.reference(system, state, coarse)


def test_stated_grids_are_for_splines_of_order_5() -> None:
    """Those of other programs, small boxes or not; and so are those of small tolerances."""
    assert Nonbonded(lennard_jones="pme").resolve(2 * np.eye(3))["pme_order"] == 4
    tight = Nonbonded(lennard_jones="pme", lj_pme_tolerance=5e-5)
    assert tight.resolve(2 * np.eye(3))["pme_order"] == 5
    assert Nonbonded(**ON_MESH).resolve(2 * np.eye(3))["pme_order"] == 5


def test_openmm_without_stated_parameters() -> None:
    """Ours leave out less of the dispersion than those that OpenMM chooses for its tolerance."""
    reference = small_system()
    pairs = force_of(reference, "NonbondedForce")
    pairs.setNonbondedMethod(openmm.NonbondedForce.LJPME)
    system = System.from_openmm(reference)
    assert system.nonbonded is not None
    assert system.nonbonded.lj_pme_grid is None
    energy, forces = energy_and_forces(reference, positions())
    found, ours = quiltmd.reference(system, state_at(positions()))
    assert relative_rms(ours, forces) < 1e-4
    assert found["potential"] == pytest.approx(energy, abs=0.3)


def test_files_of_openmm_are_written() -> None:
    reference = on_mesh(small_system())
    system = System.from_openmm(reference)
    written = to_openmm(system, box=EDGE * np.eye(3))
    pairs = force_of(written, "NonbondedForce")
    assert pairs.getNonbondedMethod() == openmm.NonbondedForce.LJPME
    energy, forces = energy_and_forces(reference, positions())
    again, same = energy_and_forces(written, positions())
    assert again == pytest.approx(energy, rel=1e-9)
    assert relative_rms(same, forces) < 1e-9
    with pytest.raises(QuiltError, match="without a box"):
        to_openmm(system)
    special, _, _ = argon("special")
    with pytest.raises(QuiltError, match="no long-range correction beside Lennard-Jones PME"):
        to_openmm(system, replace(system.nonbonded, dispersion_correction=True), EDGE * np.eye(3))
    with pytest.raises(QuiltError, match="do not follow the Lorentz-Berthelot"):
        to_openmm(special, Nonbonded(**ON_MESH), box=2 * np.eye(3))


MDP = """integrator = md
nsteps = 10
dt = 0.001
coulombtype = PME
rcoulomb = 1.0
rvdw = 1.0
vdwtype = PME
"""


def control_of(folder: Path, more: str) -> Any:
    path = folder / "run.mdp"
    path.write_text(MDP + more)
    return read_control(path)


def test_options_of_gromacs(tmp_path: Path) -> None:
    control = control_of(tmp_path, "ewald-rtol-lj = 1e-4\nlj_pme_comb_rule = Geometric\n")
    assert control.refused == []
    chosen = control.settings["nonbonded"]
    assert chosen["lennard_jones"] == "pme"
    assert chosen["lj_pme_tolerance"] == 1e-4
    assert chosen["potential_shift"]
    assert not chosen["dispersion_correction"]
    assert control_of(tmp_path, "DispCorr = EnerPres\n").settings["nonbonded"][
        "dispersion_correction"
    ]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("lj-pme-comb-rule = Lorentz-Berthelot\n", "lj-pme-comb-rule"),
        ("vdw-modifier = Force-switch\nrvdw-switch = 0.8\n", "vdw-modifier force-switch"),
    ],
)
def test_options_of_gromacs_that_are_refused(tmp_path: Path, more: str, words: str) -> None:
    assert any(words in one for one in control_of(tmp_path, more).refused)


def test_options_of_gromacs_that_differ(tmp_path: Path) -> None:
    control = control_of(tmp_path, "vdw-modifier = None\n")
    assert control.refused == []
    assert any("zero at the cutoff nevertheless" in note for note in control.notes)


def test_predictions_refuse_it() -> None:
    system, state, _ = argon()
    with pytest.raises(QuiltError, match="predictions do not support Lennard-Jones PME"):
        Planner(system, state, Nonbonded(**ON_MESH), VelocityVerlet())


def test_a_scaled_solute_is_on_the_mesh_as_it_is_among_pairs(peptide: tuple[Any, Any]) -> None:
    """REST2 scales epsilon of the solute, and so its C6: OpenMM's energies of the same System."""
    scaled = scale_solute(peptide[0], np.arange(22), 0.7)
    box = np.asarray(peptide[1].box)
    settings = Nonbonded(
        cutoff=0.9,
        pme_order=5,
        pme_alpha=3.0,
        pme_grid=(32, 32, 32),
        **ON_MESH,
        dispersion_correction=False,
    )
    energies, forces = quiltmd.reference(scaled, peptide[1], settings)
    written = to_openmm(scaled, settings, box=box)
    energy, theirs = energy_and_forces(written, peptide[1].positions)
    assert energies["potential"] == pytest.approx(energy, rel=1e-8)
    assert relative_rms(forces, theirs) < 1e-6
