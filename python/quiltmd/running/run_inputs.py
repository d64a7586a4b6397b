# SPDX-License-Identifier: Apache-2.0
"""The inputs of a configuration: its files, and the System and State that they describe."""

from __future__ import annotations

from typing import Any

from ..description.dual_topology import DualTopology
from ..description.hybrid import SecondMolecule
from ..description.state import State
from ..description.system import System
from ..errors import InputError, QuiltError
from ..inputs import load
from .config import REPARTITIONED_HYDROGEN_MASS, SECOND, Config
from .folder import Folder
from .progress import say


def load_system(config: Config, frame: int | None = None) -> tuple[System, State]:
    """The system of a run, and its state at the start: a frame of the coordinates."""
    settings: dict[str, Any] = {
        "constraints": config.system.constraints,
        "rigid_water": config.system.rigid_water,
        "hydrogen_mass": REPARTITIONED_HYDROGEN_MASS if config.system.hmr else None,
        "say": say,
    }
    second: SecondMolecule | DualTopology | None = None
    if config.second is not None:
        second = config.second.load(**settings)
    elif config.alchemy is not None and config.alchemy.dual is not None:
        second = config.alchemy.dual.build()
    system, state = load(
        config.system.topology,
        config.system.coordinates,
        parameters=config.system.parameters,
        defines=config.system.defines,
        box=config.system.box,
        frame=(config.system.frame or 0) if frame is None else frame,
        restraints=config.restraint,
        velocities=config.system.velocities,
        reference=config.system.reference,
        reference_scaling=config.system.reference_scaling,
        solvent=config.solvent.build(),
        electric_field=config.system.electric_field,
        second_states=config.alchemy is not None and config.alchemy.of_second_states,
        second=second,
        **settings,
    )
    if config.metadynamics is not None:
        config.metadynamics.axes(system)  # refuses variables that the system does not have
    for region in config.external:
        system = region.apply(system)
    for force in config.custom:
        system = force.apply(system)
    return (system if config.alchemy is None else config.alchemy.apply(system)), state


def check_velocities(config: Config, state: State) -> None:
    """InputError if the input has none, or zeros, and the configuration asks for some."""
    if state.velocities.any() or config.run.begins_anew() or not config.run.require_velocities:
        return
    raise InputError(
        "no velocities, which require_velocities (ntx = 5 of an mdin) asks for: give a file that "
        "has some (--velocities), or have them drawn (--draw-velocities; irest = 0, ntx = 1 and "
        "tempi of an mdin)",
        file=config.system.velocities or config.system.coordinates,
    )


def find_inputs(config: Config, folder: Folder) -> None:
    """QuiltError if an input is not where the configuration says."""
    files = config.input_files()
    missing = [name for name in files if not files[name].exists()]
    if missing:
        paths = ", ".join(str(files[name]) for name in missing)
        # All parameter files are named again where one is missing.
        named = [name for name in missing if not name.startswith(SECOND)]
        if not named:
            raise QuiltError(
                f"the inputs of this run are missing ({paths}): if they have moved, give their new "
                f"paths in [alchemy.second] of {folder.config}"
            )
        flags = ["parameters" if name.startswith("parameters-") else name for name in named]
        options = " ".join(f"--{flag} FILE" for flag in dict.fromkeys(flags))
        raise QuiltError(
            f"the inputs of this run are missing ({paths}): if they have moved, give their new "
            f"paths with "
            f"'quiltmd run --resume {folder.path} {options}'"
        )
