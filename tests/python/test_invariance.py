# SPDX-License-Identifier: Apache-2.0
"""The same bits for any number of ranks and threads, any balance, and any stops on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import (
    digest,
    engine,
    relative_rms,
    state_of,
    through_file,
    water_box,
)

import quiltmd
from quiltmd import (
    BathGroup,
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    NoseHooverChain,
    Simulation,
    State,
    Thermostat,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.description.choices import choices_of
from quiltmd.inputs.standard_systems import system_files

STEPS = 64
AFTER_A_STOP = 23  # no list lives for as long
NVE = VelocityVerlet(timestep=0.002, remove_com_every=10)
NVT = LangevinMiddle(timestep=0.002, seed=5, remove_com_every=10)
PARTS = ("solute", "index 23-400", "index 401-2269")
GROUPS = LangevinMiddle(
    groups=(BathGroup(PARTS[0], 400, 20), BathGroup(PARTS[1], 250, 5), BathGroup(PARTS[2])),
    timestep=0.002,
    seed=5,
    remove_com_every=10,
)
SCALED = tuple(
    BathGroup(part, kelvin, time_constant=0.1)
    for part, kelvin in zip(PARTS, (400, 250, 300), strict=True)
)
# With the long-range force every so many steps, too, which fit neither lists nor stops.
IMPULSES = [replace(NVE, long_range_every=3), replace(NVT, long_range_every=2)]


@dataclass(frozen=True)
class Rescaled:
    """NVT by a reduction over all ranks inside of steps."""

    integrator: VelocityVerlet
    thermostat: Thermostat


def seeded(kind: type[Thermostat], **settings: Any) -> Thermostat:
    made: Any = kind(**settings)
    return replace(made, seed=5) if hasattr(made, "seed") else made


def coupled(kind: type[Thermostat], **settings: Any) -> Thermostat:
    """A thermostat that acts strongly: with a time constant of 0.1 ps, or the friction of that."""
    strength = {"time_constant": 0.1, "friction": 10.0}[kind.coupling]
    return seeded(kind, **{kind.coupling: strength}, **settings)


# Every thermostat, and two with baths for groups of atoms.
RESCALED = {
    "rescaled": Rescaled(NVE, VelocityRescaling(time_constant=0.1, seed=5, every=1)),
    **{
        name: Rescaled(IMPULSES[0], coupled(kind, temperature=350, every=6))
        for name, kind in choices_of(Thermostat).items()
    },
    "rescaled-groups": Rescaled(NVE, VelocityRescaling(groups=SCALED, seed=5, every=4)),
    "chains": Rescaled(IMPULSES[0], NoseHooverChain(groups=SCALED, every=3)),
}
RUNS = {"nve": NVE, "nvt": NVT, "groups": GROUPS, "nve-3": IMPULSES[0], "nvt-2": IMPULSES[1]}
RUNS |= RESCALED
ENSEMBLES = pytest.mark.parametrize("integrator", RUNS.values(), ids=RUNS)
# Lists that live as long as they are meant to, and lists whose buffer atoms leave again and again.
CALM: dict[str, Any] = {"list_life": 7, "list_buffer": 0.1}
HASTY: dict[str, Any] = {"list_life": 20, "list_buffer": 0.04}
LISTS = pytest.mark.parametrize("lists", [CALM, HASTY], ids=["calm", "hasty"])


def settled(system: Any, state: Any) -> Any:
    """A state at step 0 that is warm and in motion."""
    core = engine(system, state, integrator=LangevinMiddle(friction=5, seed=1), threads=2)
    core.minimize(100.0, 60)
    core.draw_velocities(300.0, 1)
    core.run(100)
    state = state_of(core)
    return State(state.positions, state.velocities, state.box)


@pytest.fixture(scope="module")
def peptide(alanine: tuple[Path, Path]) -> tuple[Any, Any]:
    system, state = quiltmd.load(*alanine, constraints="h-bonds")
    return system, settled(system, state)


@pytest.fixture(scope="module")
def straight(peptide: tuple[Any, Any]) -> Any:
    """The run of one rank and one thread without a stop: its digest."""
    found: dict[Any, Any] = {}

    def run(integrator: Any, lists: dict[str, Any]) -> Any:
        key = integrator, tuple(lists.items())
        if key not in found:
            core = engine(*peptide, integrator=integrator, **lists)
            core.run(STEPS)
            redone = core.describe()["early_rebuilds"]
            assert (redone > 0) == (lists is HASTY)
            found[key] = digest(core), core.energies(), core.forces()
        return found[key]

    return run


def test_a_drop_that_flies_from_one_rank_to_another() -> None:
    """The rank comes to own far more atoms than it has room for, and they are shared out anew."""
    rng = np.random.default_rng(7)
    places = np.indices((14, 14, 14)).reshape(3, -1).T * 0.36 + 0.2
    atoms = len(places)
    system = quiltmd.System.of(np.full(atoms, 40.0), sigma=0.34, epsilon=1.0)
    velocities = rng.normal(scale=0.1, size=places.shape) + 1.5
    state = State(places, velocities, np.diag([10.0, 10.0, 10.0]))
    argon = quiltmd.Nonbonded(cutoff=0.9, method="cutoff")
    flies = VelocityVerlet(timestep=0.005, remove_com_every=0)
    cores = [engine(system, state, argon, flies, ranks=ranks) for ranks in (1, 2, 3)]
    for core in cores:
        core.run(330)
    assert len({digest(core) for core in cores}) == 1


@ENSEMBLES
@LISTS
@pytest.mark.parametrize(
    ("ranks", "threads", "balance", "mesh"),
    [
        (1, 2, True, "auto"),
        (2, 1, True, "auto"),
        (3, 2, False, "replicated"),
        (4, 1, True, "auto"),
        (6, 1, False, "pencils"),
        (7, 1, True, "auto"),
        (11, 1, True, "replicated"),
    ],
)
def test_ranks_and_threads_do_not_matter(
    peptide: tuple[Any, Any],
    straight: Any,
    integrator: Any,
    lists: dict[str, Any],
    ranks: int,
    threads: int,
    balance: bool,
    mesh: str,
) -> None:
    """The eleven ranks share eight patches: some have nothing to do."""
    choice = {"ranks": ranks, "threads": threads, "balance": balance, "mesh": mesh}
    core = engine(*peptide, integrator=integrator, **choice, **lists)
    core.run(STEPS)
    expected, energies, forces = straight(integrator, lists)
    assert digest(core) == expected
    assert core.energies() == energies
    assert (core.forces() == forces).all()
    assert core.force_sum() == (0, 0, 0)


@pytest.mark.parametrize("integrator", [NVT, Rescaled(NVE, NoseHooverChain(300))])
def test_sums_of_twenty_seven_ranks_go_along_a_tree(integrator: Any) -> None:
    """Of more than eight ranks not all send to each; 27 have a patch each."""
    system, state = water_box((9, 9, 9))
    short = Nonbonded(cutoff=0.8)
    cores = [engine(system, state, short, integrator, ranks=ranks) for ranks in (1, 8, 27)]
    for core in cores:
        core.minimize(1000, 10)
        core.run(30)
    assert len({digest(core) for core in cores}) == 1


TREE: dict[str, dict[str, Any]] = {
    "npt": {
        "integrator": NVE,
        "thermostat": VelocityRescaling(time_constant=0.1, seed=5),
        "barostat": CellRescaling(3000.0, time_constant=0.1, seed=7),
    },
    "npt-langevin": {
        "integrator": NVT,
        "barostat": MonteCarloBarostat(3000.0, seed=7, every=6),
    },
    "r-respa": {"integrator": IMPULSES[1]},
    "r-respa-nve": {"integrator": IMPULSES[0]},
}


@pytest.mark.parametrize("dynamics", TREE.values(), ids=TREE)
def test_ensembles_on_a_tree_of_ranks(dynamics: dict[str, Any]) -> None:
    """Twelve ranks agree, and sum virials and kinetic energies, along a tree; eight do not."""
    system, state = water_box((9, 9, 9))
    short = Nonbonded(cutoff=0.8)
    ends = []
    for ranks in (1, 8, 12):
        simulation = Simulation(
            system, state, short, device="cpu", ranks=ranks, threads=1, **dynamics
        )
        simulation.minimize(1000, 10)
        simulation.draw_velocities(300.0, seed=1)
        simulation.run(30)
        ends.append(simulation.state())
    assert len({quiltmd.digest(end) for end in ends}) == 1
    assert (ends[0].box != state.box).any() == ("barostat" in dynamics)


def test_another_state_may_put_molecules_on_other_ranks() -> None:
    """Waters with bonded terms somewhere else in the box, far from the ranks that had them."""
    system, state = water_box((11, 11, 11), rigid=False)
    short = quiltmd.Nonbonded(cutoff=0.5, pme_alpha=5.0, pme_grid=(32, 32, 32))
    states = [State(state.positions + by, 0 * state.positions, state.box) for by in (1.7, 0.6)]
    core = engine(system, state, short, NVT, ranks=4)
    for other in states:
        core.set_state(**other.arrays())
        core.run(3)
        fresh = engine(system, other, short, NVT)
        fresh.run(3)
        assert digest(core) == digest(fresh)


@pytest.fixture(scope="module")
def stepping(peptide: tuple[Any, Any], straight: Any) -> Any:
    """The states of the straight run, which takes one step at a time here."""

    found: dict[Any, list[State]] = {}

    def states(integrator: Any, lists: dict[str, Any]) -> list[State]:
        key = integrator, tuple(lists.items())
        if key not in found:
            core = engine(*peptide, integrator=integrator, **lists)
            found[key] = [state_of(core)]
            for _ in range(STEPS):
                core.run(1)
                found[key].append(state_of(core))
            assert digest(core) == straight(integrator, lists)[0]
        return found[key]

    return states


@ENSEMBLES
@LISTS
def test_stops_do_not_matter(
    peptide: tuple[Any, Any], stepping: Any, integrator: Any, lists: dict[str, Any], tmp_path: Path
) -> None:
    """A stop at every step of the first epochs, each time into a file and on from there.

    It goes on for longer than any list lives.
    """
    states = stepping(integrator, lists)
    for stop in (*range(1, 24), 41, STEPS - 1):
        state = through_file(states[stop], tmp_path)
        core = engine(peptide[0], state, integrator=integrator, ranks=1 + stop % 3, **lists)
        end = min(stop + AFTER_A_STOP, STEPS)
        core.run(end - stop)
        assert digest(core) == quiltmd.digest(states[end]), f"stopped at step {stop}"


@ENSEMBLES
@LISTS
def test_stops_at_every_step_do_not_matter(
    peptide: tuple[Any, Any], straight: Any, integrator: Any, lists: dict[str, Any]
) -> None:
    """Set anew in every step; and looked at in between, which must not leave a trace."""
    core = engine(*peptide, integrator=integrator, **lists)
    for _ in range(STEPS):
        core.run(1)
        core.set_state(**core.state())
        core.energies()
    assert digest(core) == straight(integrator, lists)[0]


@ENSEMBLES
def test_a_stopped_run_shows_states_of_the_straight_one(
    peptide: tuple[Any, Any], stepping: Any, integrator: Any
) -> None:
    """What a run returns at a step does not depend on whether it went on before."""
    states = stepping(integrator, HASTY)
    for step in range(1, 24):
        core = engine(*peptide, integrator=integrator, **HASTY)
        core.run(step)
        assert digest(core) == quiltmd.digest(states[step]), f"step {step}"


@pytest.mark.parametrize(
    "integrator",
    [NVT, *(RESCALED[name] for name in ("rescaled", "chains", "andersen"))],
    ids=["langevin", "rescaled", "rescaled-groups", "chains"],
)
def test_heat_goes_on_across_ranks(peptide: tuple[Any, Any], integrator: Any) -> None:
    heats = []
    for ranks in (1, 3):
        core = engine(*peptide, integrator=integrator, ranks=ranks, **HASTY)
        core.run(STEPS)
        heats.append(core.energies()["heat"])
    assert heats[0] == heats[1] != 0


def test_small_after_large_in_one_process() -> None:
    """Working memory that a larger system left behind does not reach into a smaller one's."""
    small = water_box((7, 7, 7), seed=2)
    before = engine(*small, threads=2)
    forces = before.forces()
    engine(*water_box((11, 11, 11), seed=3), threads=2).forces()
    for _ in range(5):
        assert (engine(*small, threads=2).forces() == forces).all()


@pytest.mark.parametrize("patch_reach", [2, "x", "xy"])
def test_one_away_and_two_away_agree_closely(peptide: tuple[Any, Any], patch_reach: Any) -> None:
    """They cannot agree to the bit: single-precision coordinates are measured from the centres of
    patches, which are other centres there, so coordinates round differently."""
    one, two = (engine(*peptide, patch_reach=reach, ranks=3) for reach in (1, patch_reach))
    assert two.describe()["patches"] > one.describe()["patches"]
    assert relative_rms(two.forces(), one.forces()) < 1e-5
    energies = one.energies()
    for term, value in two.energies().items():
        assert value == pytest.approx(energies[term], rel=1e-5, abs=1e-2), term
    assert two.force_sum() == (0, 0, 0)


@pytest.mark.parametrize("patch_reach", [2, "xy"])
def test_two_away_does_not_depend_on_ranks(peptide: tuple[Any, Any], patch_reach: Any) -> None:
    digests = set()
    for ranks in (1, 2, 5):
        core = engine(*peptide, integrator=NVT, ranks=ranks, patch_reach=patch_reach, **CALM)
        core.run(21)
        digests.add(digest(core))
    assert len(digests) == 1


@pytest.mark.parametrize("patch_reach", [1, 2])
def test_lists_by_pair_of_patches_do_not_depend_on_ranks(
    peptide: tuple[Any, Any], patch_reach: Any
) -> None:
    """They are others than those against half shells, so sums round differently; none is lost."""
    settings: dict[str, Any] = {"patch_reach": patch_reach, **CALM}
    whole = engine(*peptide, integrator=NVT, **settings)
    digests = set()
    for ranks in (1, 2, 27):
        core = engine(*peptide, integrator=NVT, ranks=ranks, grain="pair", **settings)
        if ranks == 1:
            assert relative_rms(core.forces(), whole.forces()) < 1e-5
            assert core.energies() == pytest.approx(whole.energies(), rel=1e-5, abs=1e-2)
            entries = [sum(load["list_entries"] for load in one.loads()) for one in (core, whole)]
            assert entries[0] == entries[1]
        assert core.force_sum() == (0, 0, 0)
        core.run(21)
        digests.add(digest(core))
    assert len(digests) == 1


def test_pairs_of_patches_give_work_to_ranks_without_patches(peptide: tuple[Any, Any]) -> None:
    core = engine(*peptide, ranks=27, grain="pair", balance=False)
    loads = core.loads()
    without = [load for load in loads if load["patches"] == 0]
    assert without
    assert all(load["computes"] > 0 for load in without)
    assert max(load["list_entries"] for load in loads) < 0.5 * max(
        load["list_entries"] for load in engine(*peptide, ranks=27, balance=False).loads()
    )


def test_pairs_of_patches_are_for_cpus(peptide: tuple[Any, Any]) -> None:
    with pytest.raises(quiltmd.QuiltError, match="for CPUs alone: leave out grain"):
        engine(*peptide, grain="pair", device="null")


def test_pairs_of_patches_need_lists_of_pairs(peptide: tuple[Any, Any]) -> None:
    system, state = peptide
    with pytest.raises(quiltmd.QuiltError, match="need a periodic box, a cutoff"):
        engine(
            system,
            replace(state, box=None),
            quiltmd.Nonbonded(method="cutoff", cutoff=0.9),
            grain="pair",
        )


def test_a_protein_on_four_ranks() -> None:
    system, state = quiltmd.load(*system_files("dhfr"), constraints="h-bonds")
    cores = [engine(system, state, integrator=NVT, ranks=r, threads=2 // r or 1) for r in (1, 4)]
    for core in cores:
        core.run(100)  # with four ranks, computes move after some epochs
    assert digest(cores[0]) == digest(cores[1])
    assert cores[1].force_sum() == (0, 0, 0)


def test_checkpoint_of_a_simulation(peptide: tuple[Any, Any], tmp_path: Path) -> None:
    """The same through the public interface, the thermostat's heat included."""
    whole = Simulation(*peptide, integrator=NVT, device="cpu", ranks=2)
    whole.run(55)
    first = Simulation(*peptide, integrator=NVT, device="cpu")
    first.run(31)
    first.save_checkpoint(tmp_path / "c.qmd")
    second = Simulation(*peptide, integrator=NVT, device="cpu", ranks=3)
    second.load_checkpoint(tmp_path / "c.qmd")
    second.run(24)
    assert quiltmd.digest(second.state()) == quiltmd.digest(whole.state())
    assert second.energies()["heat"] == whole.energies()["heat"]
    assert np.isfinite(second.energies()["conserved"])
    assert Nonbonded() == whole.nonbonded
