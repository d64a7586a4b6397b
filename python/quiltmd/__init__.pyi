# SPDX-License-Identifier: Apache-2.0
"""Names of the package and the modules that they live in: for `__init__.py` and type checkers."""

from .amber.write import write_restart, write_rst7
from .description.added_forces import add_forces
from .description.alchemy import Alchemy
from .description.barostats.base import Barostat
from .description.barostats.berendsen import BerendsenBarostat
from .description.barostats.cell_rescaling import CellRescaling
from .description.barostats.monte_carlo import MonteCarloBarostat
from .description.boresch import BoreschRestraint
from .description.boresch_anchors import apply_boresch, choose_boresch
from .description.custom_forces import (
    CustomAngle,
    CustomBond,
    CustomCompound,
    CustomExternal,
    CustomTorsion,
)
from .description.custom_pairs import CustomPairs
from .description.decoupling import decouple
from .description.electric_field import apply_electric_field
from .description.embedded import EmbeddedAtoms, EmbeddedFunctions
from .description.embedded_system import embedded_system
from .description.external_force import ExternalForce
from .description.heat_baths import BathGroup
from .description.hybrid import hybrid
from .description.implicit_solvent import ImplicitSolvent
from .description.integrators import (
    Integrator,
    LangevinMiddle,
    VelocityVerlet,
)
from .description.mesh_rules import pme_parameters, prolate_parameters
from .description.metadynamics import Metadynamics
from .description.model_region import model_region
from .description.nonbonded import Nonbonded
from .description.restraints import Restraint, restrain
from .description.selection import select
from .description.state import State
from .description.system import System
from .description.tabulated import Tabulated
from .description.thermostats.andersen import AndersenThermostat
from .description.thermostats.base import Thermostat
from .description.thermostats.berendsen import BerendsenThermostat
from .description.thermostats.nose_hoover import NoseHooverChain
from .description.thermostats.velocity_rescaling import VelocityRescaling
from .description.three_body import ThreeBodyAtoms, ThreeBodyPotential
from .description.three_body_system import three_body_system
from .description.topology import Topology
from .engine.execution import Execution, devices
from .engine.external_factory import ExternalFactory
from .engine.reference import reference, reference_virial
from .engine.worker_settings import Workers
from .errors import (
    BoxError,
    ExternalForceError,
    InputError,
    LostError,
    QuiltError,
    QuiltWarning,
    SimulationError,
)
from .exchange.iterations import Iteration
from .exchange.replicas import ReplicaExchange
from .exchange.states import (
    ReplicaState,
    alchemical_states,
    rest2_states,
    temperature_states,
    window_states,
)
from .external.imd_server import ImdServer
from .external.plumed import Plumed
from .external.viewer_force import ViewerForce
from .gromacs.write import write_gro
from .inputs import load
from .lammps.eam import read_eam
from .lammps.three_body import read_stillinger_weber, read_tersoff
from .namd.write import write_namd
from .outputs.checkpoint import (
    Checkpoint,
    CheckpointError,
    digest,
    read_checkpoint,
    write_checkpoint,
)
from .outputs.dcd import DcdWriter
from .outputs.readout import Frame, Readout
from .outputs.reporters import (
    CheckpointReporter,
    FunctionReporter,
    LogReporter,
    Reporter,
    TrajectoryReporter,
)
from .outputs.structures import write_cif, write_pdb
from .running.hills import Hills
from .running.simulation import Simulation
from .version import __version__ as __version__

__all__ = [
    "Alchemy",
    "AndersenThermostat",
    "Barostat",
    "BathGroup",
    "BerendsenBarostat",
    "BerendsenThermostat",
    "BoreschRestraint",
    "BoxError",
    "CellRescaling",
    "Checkpoint",
    "CheckpointError",
    "CheckpointReporter",
    "CustomAngle",
    "CustomBond",
    "CustomCompound",
    "CustomExternal",
    "CustomPairs",
    "CustomTorsion",
    "DcdWriter",
    "EmbeddedAtoms",
    "EmbeddedFunctions",
    "Execution",
    "ExternalFactory",
    "ExternalForce",
    "ExternalForceError",
    "Frame",
    "FunctionReporter",
    "Hills",
    "ImdServer",
    "ImplicitSolvent",
    "InputError",
    "Integrator",
    "Iteration",
    "LangevinMiddle",
    "LogReporter",
    "LostError",
    "Metadynamics",
    "MonteCarloBarostat",
    "Nonbonded",
    "NoseHooverChain",
    "Plumed",
    "QuiltError",
    "QuiltWarning",
    "Readout",
    "ReplicaExchange",
    "ReplicaState",
    "Reporter",
    "Restraint",
    "Simulation",
    "SimulationError",
    "State",
    "System",
    "Tabulated",
    "Thermostat",
    "ThreeBodyAtoms",
    "ThreeBodyPotential",
    "Topology",
    "TrajectoryReporter",
    "VelocityRescaling",
    "VelocityVerlet",
    "ViewerForce",
    "Workers",
    "add_forces",
    "alchemical_states",
    "apply_boresch",
    "apply_electric_field",
    "choose_boresch",
    "decouple",
    "devices",
    "digest",
    "embedded_system",
    "hybrid",
    "load",
    "model_region",
    "pme_parameters",
    "prolate_parameters",
    "read_checkpoint",
    "read_eam",
    "read_stillinger_weber",
    "read_tersoff",
    "reference",
    "reference_virial",
    "rest2_states",
    "restrain",
    "select",
    "temperature_states",
    "three_body_system",
    "window_states",
    "write_checkpoint",
    "write_cif",
    "write_gro",
    "write_namd",
    "write_pdb",
    "write_restart",
    "write_rst7",
]
