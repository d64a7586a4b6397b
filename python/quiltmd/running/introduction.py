# SPDX-License-Identifier: Apache-2.0
"""Messages of a run before it begins: the system, the settings and the device."""

from __future__ import annotations

from ..description.alchemy import conditions_of
from ..description.nonbonded import Nonbonded
from ..description.system import System
from ..engine.execution import is_gpu
from ..engine.places import device_in_words
from .config import Config
from .costs import costs
from .progress import say, warn
from .simulation import Simulation


def introduce(config: Config, simulation: Simulation) -> None:
    """Says what runs where, and on a GPU which features slow it."""
    if warning := config.execution().warning():
        warn(warning)
    about = simulation.describe()
    if reason := about.get("why_not_faster"):
        warn(str(reason))
    names = dict.fromkeys(str(found["name"]) for found in about["devices"])
    seed = "" if config.run.only_minimizes() else f"seed {config.integrator.seed}, "
    say(
        f"{simulation.system.atoms} atoms, {what(config)}, {seed}on "
        f"{device_in_words(simulation.device)} "
        f"({', '.join(names)}), {simulation.ranks} rank(s)"
    )
    for words in (cutoffs(config.nonbonded), alchemical(config, simulation.system)):
        if words:
            say(words)
    if is_gpu(simulation.device) and (longer := costs(config, simulation.system, about)):
        say(f"features that slow this run, with the cost measured on one H200: {'; '.join(longer)}")


def cutoffs(nonbonded: Nonbonded) -> str:
    """Both, where charges have a shorter one; else nothing."""
    charges = nonbonded.coulomb_cutoff or nonbonded.cutoff
    if charges == nonbonded.cutoff:
        return ""
    return f"Coulomb cutoff {charges:g} nm, Lennard-Jones cutoff {nonbonded.cutoff:g} nm"


def alchemical(config: Config, system: System) -> str:
    """Alchemical atoms and the states that a run has; nothing without any."""
    section = config.alchemy
    if section is None or system.alchemy is None:
        return ""
    if section.expanded is not None:
        states = f"between all {len(section.states)} states"
    elif section.switching is not None:
        states = f"through all {len(section.states)} states, {section.switching.direction}"
    else:
        lambdas = conditions_of(section.states[section.state], section.names)
        named = ", ".join(f"{name} = {value:g}" for name, value in lambdas.items())
        states = f"in state {section.state} of 0 to {len(section.states) - 1}: {named}"
    return f"{len(system.alchemy.atoms)} alchemical atoms {states}"


def what(config: Config) -> str:
    """A minimisation alone, or the ensemble with its conditions, and the time step."""
    integrator, model = config.integrator, config.solvent.model
    solvent = "" if model == "none" else f"implicit solvent {model}, "
    if config.run.only_minimizes():
        return f"{solvent}a minimisation"
    bath = "" if integrator.ensemble == "nve" else f" at {integrator.temperature:g} K"
    if config.bath:
        begin, end = (_listed([one.points()[k][1] for one in config.bath]) for k in (0, -1))
        bath = f" at {begin} K" if begin == end else f" from {begin} to {end} K"
    if integrator.annealing is not None:
        bath = f" from {integrator.temperature:g} to {integrator.annealing[-1][1]:g} K"
    if integrator.ensemble == "npt":
        first, points = config.barostat.pressure, config.barostat.annealing
        bath += f" and {first:g}" + ("" if points is None else f" to {points[-1][1]:g}") + " bar"
    return f"{solvent}{integrator.ensemble.upper()}{bath}, {integrator.timestep * 1000:g} fs steps"


def _listed(temperatures: list[float]) -> str:
    """Values of the groups, or the common value."""
    shown = temperatures[:1] if len(set(temperatures)) == 1 else temperatures
    return ", ".join(f"{one:g}" for one in shown)
