# SPDX-License-Identifier: Apache-2.0
"""Quilt: molecular dynamics as a patchwork of message-driven computes.

    import quiltmd

    system, state = quiltmd.load("dhfr.prmtop", "dhfr.inpcrd", constraints="h-bonds")
    simulation = quiltmd.Simulation(
        system, state, integrator=quiltmd.LangevinMiddle(temperature=300, timestep=0.002)
    )
    simulation.minimize()
    simulation.draw_velocities(300)
    simulation.run(1000, reporters=[quiltmd.LogReporter("log.csv", every=100)])

A System says what is simulated, a State where it is; `Nonbonded` and an integrator say how it is
simulated.  All four are frozen descriptions.  A `Simulation` compiles them and runs.

Units everywhere: nm, ps, amu, kJ/mol, elementary charge, kelvin.
"""

from .checkpoint import Checkpoint, CheckpointError, digest, read_checkpoint, write_checkpoint
from .engine import Execution, devices
from .errors import InputError, QuiltError, SimulationError
from .evaluate import reference, reference_virial
from .information import package_version
from .inputs import load
from .integrators import Integrator, LangevinMiddle, VelocityVerlet
from .nonbonded import Nonbonded, pme_parameters
from .readout import Frame, Readout
from .reporters import CheckpointReporter, LogReporter, TrajectoryReporter
from .simulation import Reporter, Simulation
from .state import State
from .structures import write_pdb, write_restart
from .system import System
from .topology import Topology
from .trajectory import DcdWriter

__version__ = package_version()

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "CheckpointReporter",
    "DcdWriter",
    "Execution",
    "Frame",
    "InputError",
    "Integrator",
    "LangevinMiddle",
    "LogReporter",
    "Nonbonded",
    "QuiltError",
    "Readout",
    "Reporter",
    "Simulation",
    "SimulationError",
    "State",
    "System",
    "Topology",
    "TrajectoryReporter",
    "VelocityVerlet",
    "devices",
    "digest",
    "load",
    "pme_parameters",
    "read_checkpoint",
    "reference",
    "reference_virial",
    "write_checkpoint",
    "write_pdb",
    "write_restart",
]
