# SPDX-License-Identifier: Apache-2.0
"""System of a run: the sections [system] and [solvent] of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ..description.implicit_solvent import (
    Dielectric,
    ImplicitSolvent,
    SaltConcentration,
    SaltTemperature,
    Surface,
)
from ..description.restraints import Scaling
from ..description.settings import Needs, OnResume
from ..description.units import Unit, read_box
from ..inputs.checkpoints import find_state
from ..openmm.files import find_force_field
from .section import AbsolutePath, Section, absolute

_Field = Annotated[float, Unit("V/nm")]
_MODEL = Needs("model", "there is no implicit solvent", "choose a model")
# The folder of a run stands for its checkpoint.
StateFile = Annotated[Path, AfterValidator(lambda path: find_state(absolute(path)))]
ParameterFile = Annotated[Path, AfterValidator(lambda path: find_force_field(absolute(path)))]


class SystemSection(Section):
    """[system]: input files and how they become a System.

    Files may be elsewhere when a run is resumed, with the same content.  `hmr` moves mass from
    heavy atoms to their hydrogens (3.024 amu each, water excepted), so that 4 fs steps are stable.
    """

    topology: Annotated[AbsolutePath, OnResume.MAY_CHANGE] = Field(
        description="Topology file: Amber prmtop (parm7), PSF, GROMACS top, OpenMM System "
        "XML, PDB or mmCIF with ForceField XML, or a LAMMPS input script."
    )
    coordinates: Annotated[StateFile, OnResume.MAY_CHANGE] = Field(
        description="Coordinate file: Amber inpcrd, rst7 or NetCDF, GROMACS gro or g96, PDB, "
        "mmCIF, CRD, NAMD binary, OpenMM State, a LAMMPS input script, or a trajectory: DCD, XTC, "
        "TRR, NetCDF, H5MD; a checkpoint.qmd, or the folder of a run for its last checkpoint."
    )
    frame: int | None = Field(
        default=None,
        description="Frame of the coordinate file to start from, counted from 0, or from the end "
        "if negative; default: the first.",
    )
    velocities: Annotated[StateFile | None, OnResume.MAY_CHANGE] = Field(
        default=None,
        description="File with the initial velocities, instead of the coordinate file: NAMD binary "
        "or PDB, or any coordinate file with velocities.",
    )
    parameters: Annotated[tuple[ParameterFile, ...], OnResume.MAY_CHANGE] = Field(
        default=(),
        description="Force-field parameter file that the topology needs; several in order: CHARMM "
        "or X-PLOR, or OpenMM ForceField XML.",
    )
    defines: tuple[str, ...] = Field(
        default=(),
        description="Macro to define for a GROMACS topology: NAME or NAME=value.",
    )
    box: Annotated[tuple[float, ...], BeforeValidator(read_box)] | None = Field(
        default=None,
        description="Periodic box, instead of that of the files: A,B,C (nm), or A,B,C and "
        "ALPHA,BETA,GAMMA (degrees); none (in a configuration []): no periodic box.",
    )
    hmr: bool = Field(
        default=False,
        description="Hydrogen mass repartitioning, for time steps of 4 fs; rigid water is left "
        "unchanged.",
    )
    constraints: Literal["h-bonds", "all-bonds", "none"] = Field(
        default="h-bonds",
        description="Constrain bonds to hydrogen (h-bonds), all bonds (all-bonds, in molecules of "
        "up to 64 atoms), or no bonds (none); for water see rigid_water.",
    )
    rigid_water: bool = Field(default=True, description="Keep water molecules rigid.")
    reference: Annotated[StateFile | None, OnResume.MAY_CHANGE] = Field(
        default=None,
        description="Coordinate file with the reference positions of position restraints; default: "
        "the coordinate file of the simulation.",
    )
    reference_scaling: Scaling = Field(
        default="com",
        description="How reference positions follow a changing box: com (their centre of mass is "
        "scaled), all (each position is scaled) or none.",
    )
    electric_field: tuple[_Field, _Field, _Field] | None = Field(
        default=None, description="Uniform electric field along x, y and z, V/nm."
    )


class SolventSection(Section):
    """[solvent]: implicit solvent, for systems without a periodic box; see `ImplicitSolvent`."""

    model: Literal["none", "hct", "obc1", "obc2", "gbn", "gbn2"] = Field(
        default="none",
        description="Generalized Born model: hct, obc1, obc2, gbn, gbn2, or none.",
    )
    salt_concentration: Annotated[SaltConcentration, _MODEL] = ImplicitSolvent.salt_concentration
    salt_temperature: Annotated[SaltTemperature, _MODEL] = ImplicitSolvent.salt_temperature
    dielectric: Annotated[Dielectric, _MODEL] = ImplicitSolvent.dielectric
    surface: Annotated[Surface, _MODEL] = ImplicitSolvent.surface

    def build(self) -> ImplicitSolvent | None:
        """The solvent of these settings, if there is one."""
        if self.model == "none":
            return None
        return ImplicitSolvent(
            self.model,
            self.salt_concentration,
            self.salt_temperature,
            self.dielectric,
            self.surface,
        )
