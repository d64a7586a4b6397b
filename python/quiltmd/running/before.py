# SPDX-License-Identifier: Apache-2.0
"""Checks before a run begins: outputs without atoms, and settings without effect."""

from __future__ import annotations

from ..description.heat_baths import baths_of_atoms
from ..description.nonbonded import Nonbonded
from ..description.selection import select
from ..description.system import System
from ..errors import QuiltError
from ..inputs import count_frames
from .config import Config
from .output_sections import TRAJECTORY, TRAJECTORY_EVERY
from .progress import warn


def warn_of_frames(config: Config) -> None:
    """Warns where the coordinates have several frames and none is chosen."""
    if config.system.frame is not None:
        return
    frames = count_frames(config.system.coordinates)
    if frames > 1:
        warn(
            f"{config.system.coordinates} has {frames} frames; the run begins from the first "
            "(--frame chooses another)"
        )


def check_selections(config: Config, system: System) -> None:
    """QuiltError if a trajectory or a stream has no atoms, or an atom no heat bath.

    Before anything is written.
    """
    if config.bath:
        baths_of_atoms(system, config.make_groups())
    for name, section in config.trajectories().items():
        for text in filter(None, (section.select, section.center)):
            try:
                select(system, text)
            except QuiltError as error:
                raise QuiltError(f"trajectory {name}: {error}") from None
    if config.imd is not None:
        try:
            config.imd.check(system)
        except QuiltError as error:
            raise QuiltError(f"[imd]: {error}") from None


def check_reporters(config: Config) -> None:
    """QuiltError if a function of [[reporter]] is not found; before anything is written."""
    for one in config.reporter:
        one.find()


def check_address(config: Config) -> None:
    """QuiltError if [imd] cannot listen on its address; before anything is written."""
    if config.imd is not None:
        config.imd.check_address()


def warn_of_no_effect(config: Config, system: System) -> None:
    """Warns of what inputs or settings say without effect.

    Outputs and a barostat that a run is too short for, places for restraints that there are not,
    and the Ewald coefficients of inputs whose cutoff is replaced. Defaults are passed over, as
    config.toml of a run states them all.
    """
    first, last, steps = config.run.first_step, config.run.last_step, config.run.steps
    for name, section in config.trajectories().items():
        asked = name != TRAJECTORY or config.output.trajectory_every != TRAJECTORY_EVERY
        if asked and steps and first // section.every == last // section.every:
            warn(
                f"{name} will have no frames: one is due every {section.every} steps, and the run "
                f"has {steps}"
            )
    every = config.barostat.every
    if (
        config.integrator.ensemble == "npt"
        and every is not None
        and steps
        and first // every == last // every
    ):
        warn(
            f"the box may not change: the barostat acts every {every} steps, and the run has "
            f"{steps}"
        )
    given = ["reference"] if config.system.reference is not None else []
    if config.system.reference_scaling not in ("com", "none"):  # the default, and no scaling
        given.append("reference_scaling")
    if given and not len(system.position_restraints):
        warn(f"there are no position restraints: {', '.join(given)} of [system] has no effect")
    if system.nonbonded is not None and system.nonbonded.cutoff != config.nonbonded.cutoff:
        _warn_of_meshes(system.nonbonded, config.nonbonded)


def _warn_of_meshes(theirs: Nonbonded, chosen: Nonbonded) -> None:
    """Warns of grids in the inputs that are for another cutoff."""
    meshes = [("pme", "PME", chosen.method), ("lj_pme", "Lennard-Jones PME", chosen.lennard_jones)]
    for settings, name, method in meshes:
        was, now = (getattr(one, f"{settings}_grid") for one in (theirs, chosen))
        if method == "pme" and was is not None and now is None:
            warn(
                f"the Ewald coefficient and the {name} grid of the inputs were chosen for a "
                f"cutoff of "
                f"{theirs.cutoff:g} nm: with that of {chosen.cutoff:g} nm both follow from "
                f"{settings}_tolerance"
            )
