# SPDX-License-Identifier: Apache-2.0
"""Constraints that hold more than eight atoms together: helices of beads, and all bonds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import coarse_grained
import helices
import numpy as np
import pytest
from gromacs_programs import GMX, gmx

import quiltmd
from quiltmd import (
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    QuiltError,
    Simulation,
    SimulationError,
    State,
    System,
    VelocityVerlet,
)
from quiltmd.inputs.constrain import constrain

CUTOFF, TEMPERATURE = 0.9, 310.0
BEADS = coarse_grained.nonbonded(CUTOFF)
BATH = LangevinMiddle(TEMPERATURE, 5.0, 0.02, seed=2)


def off_lengths(system: System, state: State) -> float:
    """The largest relative error of a constraint."""
    ends = np.diff(state.positions[system.constraints], axis=1)[:, 0]
    ends -= np.round(ends @ np.linalg.inv(state.box)) @ state.box
    return float(np.abs(np.linalg.norm(ends, axis=1) / system.constraint_lengths - 1).max())


def started(system: System, state: State, **settings: Any) -> Simulation:
    given = {"nonbonded": BEADS, "integrator": BATH, "device": "cpu", **settings}
    if given["device"] == "cpu":
        given["threads"] = 1
    return Simulation(system, state, **given)


def simulated(system: System, state: State, steps: int, **settings: Any) -> State:
    simulation = started(system, state, **settings)
    simulation.run(steps)
    return simulation.state()


def bits(state: State) -> bytes:
    return state.positions.tobytes() + state.velocities.tobytes() + np.asarray(state.box).tobytes()


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[System, State]:
    """Three helices of 15 beads, minimised and equilibrated."""
    files = helices.write(tmp_path_factory.mktemp("helices"))
    system, state = quiltmd.load(*files, rigid_water=False)
    assert len(system.constraints) == helices.HELICES * (helices.BEADS - 1)
    simulation = Simulation(
        system, state, nonbonded=BEADS, integrator=BATH, device="cpu", threads=1
    )
    simulation.minimize(max_iterations=50)
    assert off_lengths(system, simulation.state()) < 2e-6
    simulation.draw_velocities(TEMPERATURE, seed=1)
    simulation.run(200)
    assert simulation.temperature() == pytest.approx(TEMPERATURE, rel=0.1)
    return system, simulation.state()


def test_energy_is_conserved_and_lengths_hold(warm: tuple[System, State]) -> None:
    """In 10 ps; half the step conserves it better."""
    system, state = warm
    scatter = []
    for timestep in (0.02, 0.01):
        simulation = Simulation(
            system, state, nonbonded=BEADS, integrator=VelocityVerlet(timestep), device="cpu"
        )
        simulation.run(50)
        totals = []
        for _ in range(10):
            simulation.run(round(1 / timestep))
            found = simulation.energies()
            totals.append(found["potential"] + found["kinetic"])
        assert off_lengths(system, simulation.state()) < 2e-8
        assert abs(totals[-1] - totals[0]) < 2e-3 * found["kinetic"]
        scatter.append(np.std(totals))
    assert scatter[1] < scatter[0]


@pytest.mark.parametrize(
    ("integrator", "barostat"),
    [
        (BATH, None),
        (VelocityVerlet(0.02), None),
        (BATH, CellRescaling(1.0, time_constant=2.0, compressibility=3e-4, seed=3)),
        (BATH, MonteCarloBarostat(1.0, every=10, seed=3)),
    ],
    ids=["langevin", "verlet", "rescaling", "monte carlo"],
)
def test_no_bit_depends_on_ranks_or_restarts(
    warm: tuple[System, State], integrator: Any, barostat: Any
) -> None:
    system, state = warm
    settings = {"integrator": integrator, "barostat": barostat}
    one = simulated(system, state, 120, **settings)
    assert off_lengths(system, one) < 2e-6
    for ranks in (2, 3, 5):
        assert bits(simulated(system, state, 120, ranks=ranks, **settings)) == bits(one)
    half = simulated(system, state, 57, ranks=2, **settings)
    assert bits(simulated(system, half, 63, ranks=3, **settings)) == bits(one)


def unfolding() -> tuple[System, State]:
    """A chain whose ends fly apart, in a gas."""
    beads, gas = 15, 400
    rng = np.random.default_rng(5)
    box = np.diag([7.0, 7.0, 7.0])
    fold = np.arange(beads)
    coiled = np.stack([0.05 * fold, 0.24 * (fold % 2), 0.07 * (fold // 2 % 2)], axis=1)
    places = np.concatenate([3.2 + coiled, rng.uniform(0, 7, (gas, 3))])
    velocities = np.concatenate([np.outer(fold - 7, [0.25, 0, 0]), rng.normal(0, 0.2, (gas, 3))])
    chain = np.stack([fold[:-1], fold[1:]], axis=1)
    lengths = np.linalg.norm(np.diff(coiled, axis=0), axis=1)
    system = System.of(
        np.full(beads + gas, 40.0),
        sigma=0.1,
        epsilon=1e-6,
        constraints=chain,
        constraint_lengths=lengths,
        exclusions=[[i, j] for i in range(beads) for j in range(i + 1, beads)],
    )
    return system, State(places, velocities, box)


def test_patches_become_wider_for_a_group_that_unfolds() -> None:
    system, state = unfolding()
    chosen = Nonbonded(cutoff=0.7, method="cutoff", dispersion_correction=False)
    settings = {"nonbonded": chosen, "integrator": VelocityVerlet(0.005)}
    simulation = Simulation(system, state, device="cpu", threads=1, **settings)
    before = simulation.describe()["patches"]
    simulation.run(200)
    found = simulation.describe()
    end = simulation.state()
    chain = end.positions[:15]
    assert np.linalg.norm(chain[0] - chain[14]) > 2.2
    assert found["grid_changes"] > 0
    assert found["patches"] < before
    assert off_lengths(system, end) < 2e-8
    assert bits(simulated(system, state, 200, ranks=3, **settings)) == bits(end)
    half = simulated(system, state, 133, ranks=2, **settings)
    assert bits(simulated(system, half, 67, **settings)) == bits(end)
    small = replace(end, box=np.diag([3.0, 7, 7]))
    with pytest.raises(QuiltError, match="too small for its largest group"):
        Simulation(system, small, device="cpu", threads=1, **settings)


@pytest.mark.filterwarnings("ignore:there is no periodic box")
def test_without_a_box() -> None:
    system, state = unfolding()
    open_state = State(state.positions, state.velocities, None)
    chosen = Nonbonded(cutoff=0.7, method="cutoff", dispersion_correction=False)
    settings = {"nonbonded": chosen, "integrator": VelocityVerlet(0.005)}
    end = simulated(system, open_state, 100, **settings)
    lengths = np.linalg.norm(np.diff(end.positions[:15], axis=0), axis=1)
    np.testing.assert_allclose(lengths, system.constraint_lengths, rtol=2e-8)
    again = simulated(system, open_state, 100, ranks=3, **settings)
    assert again.positions.tobytes() == end.positions.tobytes()


# ---- all bonds ----


def test_sets_that_are_too_large_are_refused_with_their_size() -> None:
    chain = System.of(
        np.full(70, 12.0), terms={"bond": ([[k, k + 1] for k in range(69)], [[0.15, 2e5]] * 69)}
    )
    held = constrain(chain, "all-bonds")
    assert held.constraint_lengths.tolist() == [0.15] * 69
    state = State(0.15 * np.arange(70)[:, None] * [1, 0, 0], np.zeros((70, 3)), 30 * np.eye(3))
    with pytest.raises(QuiltError, match=r"in a set of 70 atoms .* at most 64 .*h-bonds"):
        Simulation(held, state, device="cpu", threads=1)


def test_all_bonds_of_a_molecule_in_water(alanine: tuple[Path, Path]) -> None:
    """Alanine dipeptide, 22 atoms in one group, at 2 fs."""
    system, state = quiltmd.load(*alanine, constraints="all-bonds")
    assert len(system.constraints) == 21 + 3 * 749
    assert not any(len(terms) for terms in system.terms.present() if terms.form.name == "bond")
    chosen = Nonbonded(cutoff=0.9)
    bath = LangevinMiddle(300, 5.0, 0.002, seed=3)
    simulation = Simulation(system, state, nonbonded=chosen, integrator=bath, device="cpu")
    simulation.minimize(max_iterations=30)
    simulation.draw_velocities(300, seed=1)
    simulation.run(300)
    start = simulation.state()
    verlet = VelocityVerlet(0.002)
    settings = {"nonbonded": chosen, "integrator": verlet}
    constant = Simulation(system, start, device="cpu", **settings)
    constant.run(20)
    before, after = [], []
    for totals in (before, after):
        for _ in range(5):
            constant.run(20)
            found = constant.energies()
            totals.append(found["potential"] + found["kinetic"])
    assert abs(np.mean(after) - np.mean(before)) < 1e-3 * found["kinetic"]
    assert off_lengths(system, constant.state()) < 2e-8
    one, two = (simulated(system, start, 40, ranks=ranks, **settings) for ranks in (1, 2))
    assert bits(one) == bits(two)


def test_impulses_of_the_long_range_force(alanine: tuple[Path, Path]) -> None:
    """Of groups, too, twice the interval gives four times the error, and constraints hold."""
    system, state = quiltmd.load(*alanine, constraints="all-bonds")
    chosen = Nonbonded(cutoff=0.9)
    bath = LangevinMiddle(300, 5.0, 0.002, seed=3)
    simulation = Simulation(system, state, nonbonded=chosen, integrator=bath, device="cpu")
    simulation.minimize(max_iterations=30)
    simulation.draw_velocities(300, seed=1)
    simulation.run(100)
    start = replace(simulation.state(), step=0)

    def after(every: int, steps: int = 24, state: State = start, ranks: int = 1) -> State:
        verlet = VelocityVerlet(0.002, long_range_every=every)
        settings = {"nonbonded": chosen, "integrator": verlet, "ranks": ranks}
        return simulated(system, state, steps, **settings)

    peptide = slice(22)
    every_step, second, fourth = (after(every) for every in (1, 2, 4))
    errors = [
        np.linalg.norm((found.positions - every_step.positions)[peptide])
        for found in (second, fourth)
    ]
    moved = np.linalg.norm((every_step.positions - start.positions)[peptide])
    assert errors[1] < 0.02 * moved
    assert 2.5 < errors[1] / errors[0] < 8
    assert off_lengths(system, fourth) < 2e-8
    assert bits(after(4, ranks=3)) == bits(fourth)
    assert bits(after(4, 11, after(4, 13, ranks=2))) == bits(fourth)


# ---- chains without other forces ----

CHAINS, JOINTED = 60, np.where(np.arange(9) % 2, 1.0, 12.0)  # masses of a chain, amu


def jointed_chains() -> tuple[System, State]:
    """Freely jointed chains of JOINTED, far apart: light atoms between heavy ones."""
    size, length = len(JOINTED), 0.15
    edge = 1.6  # nm, for each
    corners = edge * np.stack(np.unravel_index(np.arange(CHAINS), (4, 4, 4)), axis=1)
    place = np.arange(size)
    zigzag = np.stack([0.8 * length * place, 0.6 * length * (place % 2), 0 * place], axis=1)
    first = size * np.arange(CHAINS)[:, None, None]
    links = np.stack([place[:-1], place[1:]], axis=1)
    pairs = np.stack(np.triu_indices(size, 1), axis=1)
    system = System.of(
        np.tile(JOINTED, CHAINS),
        sigma=0.1,
        epsilon=0,
        constraints=(first + links).reshape(-1, 2),
        constraint_lengths=np.full(CHAINS * len(links), length),
        exclusions=(first + pairs).reshape(-1, 2),
    )
    places = (corners[:, None] + 0.1 + zigzag).reshape(-1, 3)
    return system, State.start(system, places, 4 * edge * np.eye(3))


def squared_cosines(state: State) -> np.ndarray:
    """Of each joint, the mean over chains of cos^2 of the angle between its two bonds."""
    bonds = np.diff(state.positions.reshape(CHAINS, -1, 3), axis=1)
    bonds -= np.round(bonds / np.diag(state.box)) * np.diag(state.box)
    bonds /= np.linalg.norm(bonds, axis=2, keepdims=True)
    cosines = (bonds[:, 1:] * bonds[:, :-1]).sum(axis=2)
    found: np.ndarray = (cosines**2).mean(axis=0)
    return found


def expected_squared_cosines() -> np.ndarray:
    """In a rigid chain the density of the cosines is the square root of det(J M^-1 J^T).

    M. Fixman, Proc. Natl. Acad. Sci. USA 71, 3050 (1974).
    """
    light = 1 / JOINTED
    rng = np.random.default_rng(1)
    cosines = rng.uniform(-1, 1, (len(JOINTED) - 2, 200_000))
    before, now = 1.0, np.full(cosines.shape[1], light[0] + light[1])
    for k, cosine in enumerate(cosines, start=1):
        before, now = now, (light[k] + light[k + 1]) * now - (cosine * light[k]) ** 2 * before
    weights = np.sqrt(now)
    found: np.ndarray = (weights * cosines**2).sum(axis=1) / weights.sum()
    return found


def check_light_atoms_between_heavy_ones(device: str) -> None:
    """They are as far from straight as theory has it, and a step that is too long is an error."""
    system, state = jointed_chains()
    free = Nonbonded(cutoff=0.5, method="cutoff", dispersion_correction=False)
    bath = LangevinMiddle(300, 5.0, 0.002, seed=2)
    simulation = started(system, state, nonbonded=free, integrator=bath, device=device)
    simulation.draw_velocities(300, seed=1)
    simulation.run(1000)
    found, temperatures = [], []
    for _ in range(200):
        simulation.run(40)
        found.append(squared_cosines(simulation.state()))
        temperatures.append(simulation.temperature())
    assert off_lengths(system, simulation.state()) < 2e-6
    assert np.mean(temperatures) == pytest.approx(300, rel=0.01)
    joints = np.mean(found, axis=0)
    expected = expected_squared_cosines()
    assert expected[::2].max() < 0.28
    assert expected[1::2].min() > 0.33
    for kind in (slice(0, None, 2), slice(1, None, 2)):
        assert joints[kind].mean() == pytest.approx(expected[kind].mean(), abs=0.008)
    end = simulation.state()
    hasty = replace(bath, timestep=0.012)
    with pytest.raises(SimulationError, match=r"constraints could not be satisfied.*shorter time"):
        simulated(system, end, 1000, nonbonded=free, integrator=hasty, device=device)


def test_light_atoms_between_heavy_ones() -> None:
    check_light_atoms_between_heavy_ones("cpu")


LEAPFROG = (
    coarse_grained.MDP.replace("nsteps = 0", "nsteps = {steps}")
    + """constraints = {constraints}
constraint-algorithm = lincs
lincs-order = 8
lincs-iter = 4
gen-vel = {draws}
gen-temp = 310
gen-seed = 7
comm-mode = none
"""
)


def check_beside_gromacs(
    folder: Path, top: Path, gro: Path, timestep: float, **chosen: Any
) -> System:
    """20 leapfrog steps with LINCS: velocity Verlet from the velocities of the first step."""
    steps = 20
    settings = LEAPFROG.replace("dt = 0.02", f"dt = {timestep}")

    def run(start: str, end: str, **said: Any) -> State:
        given = {"cutoff": CUTOFF, "define": "", **chosen, **said}
        (folder / "md.mdp").write_text(settings.format(**given))
        files = ("-f", "md.mdp", "-p", top.name, "-c", start, "-o", "md.tpr")
        gmx(folder, "grompp", *files, "-maxwarn", "9")
        serial = ("-ntmpi", "1", "-ntomp", "1", "-nb", "cpu")
        gmx(folder, "mdrun", "-deffnm", "md", "-c", end, *serial)
        return quiltmd.load(top, folder / end, rigid_water=False, **chosen)[1]

    def moved(state: State) -> np.ndarray:
        apart = state.positions - start.positions
        edges = np.diag(state.box)
        return apart - np.round(apart / edges) * edges

    start = run(gro.name, "start.g96", steps=0, continuation="no", draws="yes")
    first, theirs = (
        run("start.g96", "end.g96", steps=n, continuation="yes", draws="no") for n in (1, steps)
    )
    system, _ = quiltmd.load(top, folder / "start.g96", rigid_water=False, **chosen)
    _, forces = quiltmd.reference(system, start, BEADS)
    kick = timestep / 2 * forces / system.masses[:, None]
    begun = replace(start, velocities=moved(first) / timestep - kick)
    ours = simulated(system, begun, steps, integrator=VelocityVerlet(timestep))
    furthest = np.abs(moved(theirs)).max()
    assert furthest > 0.02
    assert np.abs(moved(ours) - moved(theirs)).max() < 2e-5 * furthest
    assert off_lengths(system, ours) < 2e-8
    return system


@pytest.mark.skipif(GMX is None, reason="needs gmx_d")
@pytest.mark.parametrize(
    ("section", "constraints"), [("constraints", "none"), ("bonds", "all-bonds")]
)
def test_helices_move_as_in_gromacs(tmp_path: Path, section: str, constraints: str) -> None:
    files = helices.write(tmp_path, section)
    system = check_beside_gromacs(tmp_path, *files, 0.02, constraints=constraints)
    assert len(system.constraints) == helices.HELICES * (helices.BEADS - 1)


# ACE, ALA and NME without hydrogens, nm
HEAVY = """ACE CH3 0.200 0.209 0.000
ACE C   0.343 0.264 0.000
ACE O   0.439 0.188 0.000
ALA N   0.356 0.397 0.000
ALA CA  0.485 0.461 0.000
ALA CB  0.566 0.421 -0.123
ALA C   0.471 0.613 0.000
ALA O   0.360 0.665 0.000
NME N   0.585 0.684 0.000
NME CH3 0.585 0.829 0.000
"""


@pytest.mark.skipif(GMX is None, reason="needs gmx_d")
def test_all_bonds_of_a_peptide_as_in_gromacs(tmp_path: Path) -> None:
    """Alanine dipeptide of Amber ff99SB-ILDN in vacuum, 22 atoms that 21 bonds join."""
    lines = []
    for k, row in enumerate(HEAVY.splitlines()):
        residue, name, *place = row.split()
        x, y, z = (10 * float(value) + 10 for value in place)
        number = ("ACE", "ALA", "NME").index(residue) + 1
        where = f"{x:8.3f}{y:8.3f}{z:8.3f}"
        lines.append(f"ATOM  {k + 1:5d}  {name:<3s} {residue} A{number:4d}    {where}  1.00  0.00")
    (tmp_path / "heavy.pdb").write_text("\n".join([*lines, "END", ""]))
    force_field = ("-ff", "amber99sb-ildn", "-water", "none", "-ignh")
    gmx(tmp_path, "pdb2gmx", "-f", "heavy.pdb", *force_field, "-o", "made.gro", "-p", "made.top")
    gmx(tmp_path, "editconf", "-f", "made.gro", "-o", "boxed.gro", "-box", "3", "3", "3")
    top, gro = tmp_path / "made.top", tmp_path / "boxed.gro"
    system = check_beside_gromacs(tmp_path, top, gro, 0.002, constraints="all-bonds")
    assert (system.atoms, len(system.constraints)) == (22, 21)
