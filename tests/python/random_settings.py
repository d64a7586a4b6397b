# SPDX-License-Identifier: Apache-2.0
"""Combinations of settings drawn at random: a number names one, on any machine.

Whatever can be asked for is drawn, whether it goes together or not: what does not must be refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from boxes import Array
from random_systems import build, draw_molecules, shapes_of_boxes

import quiltmd
from quiltmd import (
    BathGroup,
    BerendsenBarostat,
    BerendsenThermostat,
    CellRescaling,
    ImplicitSolvent,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    NoseHooverChain,
    Restraint,
    State,
    System,
    VelocityRescaling,
    VelocityVerlet,
    apply_electric_field,
    restrain,
)

Random = np.random.Generator
KINDS = (
    "rigid water",
    "flexible water",
    "water with a site",
    "water with two sites",
    "constrained chain",
    "flexible chain",
    "ions",
    "single ion",
    "argon",
)
BOXES = ("none", "cube", "brick", "triclinic", "octahedron", "dodecahedron")
TEMPERATURE = 300.0


@dataclass(frozen=True)
class Choices:
    """One combination, in words: each choice that makes it."""

    seed: int
    kinds: tuple[str, ...]
    box: str
    solvent: str
    nonbonded: dict[str, Any]
    restraints: tuple[str, ...]
    field: bool
    integrator: str
    timestep: float
    long_range_every: int
    remove_com_every: int | None
    thermostat: str
    barostat: str
    coupling: str
    ranks: int

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


def draw(seed: int) -> Choices:
    """The combination of this number."""
    rng = np.random.default_rng(seed)
    kinds = tuple(map(str, rng.choice(KINDS, size=rng.integers(1, 4), replace=False)))
    box = str(rng.choice(BOXES))
    integrator = str(rng.choice(["verlet", "verlet", "langevin", "langevin groups"]))
    return Choices(
        seed,
        kinds,
        box,
        str(rng.choice(["none", "hct", "obc1", "obc2"])) if box == "none" else "none",
        _nonbonded(rng, box),
        _some(rng, ("position", "position along z", "distance", "torsion"), 0.4),
        bool(rng.random() < 0.15),
        integrator,
        float(rng.choice([0.00025, 0.0005])),
        int(rng.choice([1, 1, 2, 4])),
        [None, None, 0, 1, 7, 20, 130][rng.integers(7)],
        str(
            rng.choice(
                ["none", "rescaling", "chain", "berendsen", "rescaling groups", "chain groups"]
            )
        )
        if integrator == "verlet"
        else "none",
        str(rng.choice(["none", "none", "cell", "monte carlo", "berendsen"]))
        if box != "none"
        else "none",
        str(rng.choice(["isotropic", "semi-isotropic", "anisotropic"])),
        int(rng.integers(2, 5)),
    )


def _some(rng: Random, names: tuple[str, ...], chance: float) -> tuple[str, ...]:
    return tuple(name for name in names if rng.random() < chance / 2)


def _nonbonded(rng: Random, box: str) -> dict[str, Any]:
    methods = (
        ["cutoff", "no-cutoff"] if box == "none" else ["pme", "pme", "reaction-field", "cutoff"]
    )
    chosen: dict[str, Any] = {"method": str(rng.choice(methods)), "cutoff": 0.6}
    if chosen["method"] == "no-cutoff":
        return chosen
    chosen["dispersion_correction"] = bool(rng.random() < 0.5)
    chosen["potential_shift"] = bool(rng.random() < 0.6)
    switching = str(rng.choice(["none", "potential", "charmm", "charmm-force", "gromacs-force"]))
    if switching != "none" and rng.random() < 0.7:
        chosen |= {"switching": switching, "switch_distance": float(rng.uniform(0.4, 0.55))}
    if chosen["method"] == "reaction-field":
        dielectric = float(rng.choice([0.0, 20.0, 78.3]))
        chosen |= {
            "dielectric": dielectric,
            "relative_permittivity": {0.0: 15.0, 20.0: 4.0}.get(dielectric, 1.0),
            "reaction_field_on_exclusions": bool(rng.random() < 0.5),
        }
    if chosen["method"] == "pme":
        chosen |= {"pme_order": int(rng.choice([4, 5])), "pme_alpha": 5.5}
        if rng.random() < 0.3:
            chosen |= {"lennard_jones": "pme", "lj_pme_alpha": 4.5}
    return chosen


# ---- What they stand for -----------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """A system at rest, near a minimum, and the settings of a Simulation of it."""

    system: System
    state: State
    settings: dict[str, Any]


def make(choices: Choices) -> Made:
    """What a combination stands for; QuiltError where settings do not go together."""
    rng = np.random.default_rng([choices.seed, 1])
    periodic = choices.box != "none"
    box = shapes_of_boxes(rng, choices.box, 1.32)
    count = int(rng.integers(20, 60)) if periodic else int(rng.integers(2, 12))
    system, places = build(rng, draw_molecules(rng, choices.kinds, count), box)
    system = _with_restraints(rng, system, places, box, choices)
    if choices.solvent != "none":
        system = replace(system, solvent=ImplicitSolvent(choices.solvent, surface="ace"))
    settings = {"nonbonded": Nonbonded(**choices.nonbonded, **_grids(choices, box))}
    settings |= dynamics(choices, system)
    state = State.start(system, places, box)
    return Made(system, state, settings)


def _grids(choices: Choices, box: Array | None) -> dict[str, Any]:
    """Fine ones, lest the error of the mesh hides others."""
    if box is None:
        return {}
    points = tuple(int(2 * np.ceil(edge / 0.12)) for edge in np.linalg.norm(box, axis=1))
    found = {"pme_grid": points} if "pme_alpha" in choices.nonbonded else {}
    return found | ({"lj_pme_grid": points} if "lj_pme_alpha" in choices.nonbonded else {})


def _with_restraints(
    rng: Random, system: System, places: Array, box: Array | None, choices: Choices
) -> System:
    atoms = np.flatnonzero(system.masses > 0)
    some = [int(a) + 1 for a in rng.choice(atoms, size=4, replace=len(atoms) < 4)]
    apart = _apart(places, atoms, some[0] - 1, box)
    near = [int(a) + 1 for a in atoms[np.argsort(apart)[:4]]]
    far = len(atoms) < 4 or np.sort(apart)[3] > 0.3  # which images are meant would be open
    made = {
        "position": Restraint("position", f"index {some[0]} {some[1]}", 500.0),
        "position along z": Restraint("position", f"index {some[2]}", (0.0, 0.0, 800.0)),
        "distance": Restraint(
            "distance", (f"index {some[0]}", f"index {some[2]}"), 300.0, lower=0.3, upper=0.35
        ),
        "torsion": Restraint(
            "torsion", tuple(f"index {one}" for one in near), 20.0, angle=100.0, width=20.0
        ),
    }
    asked = [made[name] for name in choices.restraints if not (far and name == "torsion")]
    restrained = restrain(system, asked, places, box) if asked else system
    return apply_electric_field(restrained, (0.0, 0.1, 0.05)) if choices.field else restrained


def _apart(places: Array, atoms: Array, first: int, box: Array | None) -> Array:
    """How far atoms are from one of them, nm; of a skewed box nearly."""
    apart = places[atoms] - places[first]
    if box is not None:
        apart -= np.round(apart @ np.linalg.inv(box)) @ box
    distance: Array = np.linalg.norm(apart, axis=1)
    return distance


def dynamics(choices: Choices, system: System) -> dict[str, Any]:
    """Integrator, thermostat and barostat."""
    half = int(np.flatnonzero(_groups_end(system))[0]) + 1
    groups = (f"index 1-{half}", f"index {half + 1}-{system.atoms}")
    common: dict[str, Any] = {
        "timestep": choices.timestep,
        "long_range_every": choices.long_range_every,
        "remove_com_every": choices.remove_com_every,
    }
    steps = 4 * choices.long_range_every
    integrators = {
        "verlet": lambda: VelocityVerlet(**common),
        "langevin": lambda: LangevinMiddle(TEMPERATURE, 5.0, seed=3, **common),
        "langevin groups": lambda: LangevinMiddle(
            groups=_baths(groups, "friction"), seed=3, **common
        ),
    }
    thermostats: dict[str, Any] = {
        "none": lambda: None,
        "rescaling": lambda: VelocityRescaling(TEMPERATURE, 0.1, seed=4, every=steps),
        "chain": lambda: NoseHooverChain(TEMPERATURE, 0.1, every=steps),
        "berendsen": lambda: BerendsenThermostat(TEMPERATURE, 0.1, every=steps),
        "rescaling groups": lambda: VelocityRescaling(
            groups=_baths(groups, "time_constant"), seed=4, every=steps
        ),
        "chain groups": lambda: NoseHooverChain(
            groups=_baths(groups, "time_constant"), every=steps
        ),
    }
    pressure: dict[str, Any] = {"coupling": choices.coupling, "every": 5 * steps}
    barostats: dict[str, Any] = {
        "none": lambda: None,
        "cell": lambda: CellRescaling(500.0, 1.0, seed=5, **pressure),
        "monte carlo": lambda: MonteCarloBarostat(500.0, seed=5, **pressure),
        "berendsen": lambda: BerendsenBarostat(500.0, 1.0, **pressure),
    }
    return {
        "integrator": integrators[choices.integrator](),
        "thermostat": thermostats[choices.thermostat](),
        "barostat": barostats[choices.barostat](),
    }


def _baths(groups: tuple[str, str], strength: str) -> tuple[BathGroup, ...]:
    value = 5.0 if strength == "friction" else 0.1
    return tuple(BathGroup(one, TEMPERATURE, **{strength: value}) for one in groups)


def _groups_end(system: System) -> Array:
    """By atom: whether a molecule ends there, and another follows."""
    last: Array = np.append(np.diff(system.molecules) != 0, False)
    return last if last.any() else np.append(np.ones(system.atoms - 1, bool), False)


def simulate(made: Made, ranks: int = 1, **changes: Any) -> quiltmd.Simulation:
    """A Simulation of it on the CPU, one thread for each rank."""
    settings = made.settings | changes
    return quiltmd.Simulation(
        made.system, made.state, device="cpu", ranks=ranks, threads=1, **settings
    )
