# SPDX-License-Identifier: Apache-2.0
"""Control files with the keywords of tutorials and web servers: what becomes of each as a whole.

Settings are those that the manuals of GROMACS, Amber and NAMD give them, defaults included.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from control_examples import FILES, noted, read

from quiltmd.running.config import build_config, merge


@dataclass(frozen=True)
class Template:
    """A file, settings by "section.key" (None: not set), words of notes, beginnings of refusals."""

    text: str
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


LYSOZYME = """title                   = a protein in water
define                  = -DPOSRES  ; with a comment
integrator              = md
nsteps                  = 50000
dt                      = 0.002     ; 2 fs
nstxout                 = 500
nstvout                 = 500
nstenergy               = 500
nstlog                  = 500
continuation            = yes
constraint_algorithm    = lincs
constraints             = h-bonds
lincs_iter              = 1
lincs_order             = 4
cutoff-scheme           = Verlet
ns_type                 = grid
nstlist                 = 10
rcoulomb                = 1.0
rvdw                    = 1.0
DispCorr                = EnerPres
coulombtype             = PME
pme_order               = 4
fourierspacing          = 0.16
tcoupl                  = V-rescale
tc-grps                 = Protein Non-Protein
tau_t                   = 0.1     0.1
ref_t                   = 300     300
pcoupl                  = C-rescale
pcoupltype              = isotropic
tau_p                   = 2.0
ref_p                   = 1.0
compressibility         = 4.5e-5
refcoord_scaling        = com
pbc                     = xyz
gen_vel                 = no
"""
MEMBRANE = """integrator              = md
dt                      = 0.002
nsteps                  = 500000
nstxout-compressed      = 50000
nstxout                 = 0
nstvout                 = 0
nstfout                 = 0
nstcalcenergy           = 100
nstenergy               = 1000
nstlog                  = 1000
;
cutoff-scheme           = Verlet
nstlist                 = 20
rlist                   = 1.2
vdwtype                 = Cut-off
vdw-modifier            = Force-switch
rvdw_switch             = 1.0
rvdw                    = 1.2
coulombtype             = PME
rcoulomb                = 1.2
;
tcoupl                  = v-rescale
tc_grps                 = SOLU MEMB SOLV
tau_t                   = 1.0 1.0 1.0
ref_t                   = 303.15 303.15 303.15
;
pcoupl                  = C-rescale
pcoupltype              = semiisotropic
tau_p                   = 5.0
compressibility         = 4.5e-5  4.5e-5
ref_p                   = 1.0     1.0
;
constraints             = h-bonds
constraint_algorithm    = LINCS
continuation            = yes
;
nstcomm                 = 100
comm_mode               = linear
comm_grps               = SOLU_MEMB SOLV
"""
STEEPEST = """define                  = -DPOSRES -DPOSRES_FC_BB=4000.0 -DDIHRES -DDIHRES_FC=1000.0
integrator              = steep
emtol                   = 1000.0
nsteps                  = 5000
cutoff-scheme           = Verlet
vdw-modifier            = Force-switch
rvdw_switch             = 1.0
rvdw                    = 1.2
coulombtype             = PME
rcoulomb                = 1.2
constraints             = h-bonds
"""
FREE_ENERGY = """integrator               = sd
tinit                    = 0
dt                       = 0.002
nsteps                   = 500000
nstcomm                  = 100
coulombtype              = PME
rcoulomb                 = 1.2
vdwtype                  = cutoff
vdw-modifier             = potential-switch
rvdw-switch              = 1.0
rvdw                     = 1.2
DispCorr                 = EnerPres
pme_order                = 6
ewald_rtol               = 1e-06
epsilon_surface          = 0
tc_grps                  = system
tau_t                    = 2.0
ref_t                    = 300
free_energy              = yes
init_lambda_state        = 0
vdw_lambdas              = 0.00 0.05 0.10
sc-alpha                 = 0.5
couple-moltype           = Methane
couple-lambda0           = vdw
couple-lambda1           = none
couple-intramol          = no
nstdhdl                  = 10
constraints              = h-bonds
"""
MARTINI = """integrator               = md
dt                       = 0.02
nsteps                   = 50000
cutoff-scheme            = Verlet
coulombtype              = reaction-field
rcoulomb                 = 1.1
epsilon_r                = 15
epsilon_rf               = 0
vdw_type                 = cutoff
vdw-modifier             = Potential-shift-verlet
rvdw                     = 1.1
tcoupl                   = v-rescale
tc-grps                  = DPPC W
tau_t                    = 1.0 1.0
ref_t                    = 320 320
constraints              = none
"""
BILAYER = """a bilayer
 &cntrl
    imin=0,
    irest=1,       ! a comment
    ntx=5,

    ! one with nstlim=4 in it
    ntt=3, gamma_ln=1.0, temp0=303.15,
    cut=12.0, fswitch=10.0,
    nstlim=125000, dt=0.004,
    ntc=2, ntf=2,
    ntpr=1000, ntwx=5000, ntwr=10000, ntxo=2, ioutfm=1, iwrap=1,

    ! one with an apostrophe's and a slash / of its own
    barostat=2, ntp=3, pres0=1.01325,
    csurften=3, gamma_ten=0.0, ninterface=2,
    watnam='WAT', owtnm='O',
 /
 &ewald
    vdwmeth = 0,
 /
"""
GENERALIZED_BORN = """GB-Neck2
 &cntrl
  imin=0, irest=0, ntx=1, nstlim=500000, dt=0.002, ntc=2, ntf=2,
  ntt=3, gamma_ln=1.0, tempi=325.0, temp0=325.0, ig=-1,
  ntb=0, igb=8, gbsa=0, cut=999.0, rgbmax=999.0, saltcon=0.15, intdiel=1., extdiel=78.5,
  ntpr=1000, ntwx=1000, ntwr=50000, nrespa=1, nscm=1000,
 /
"""
MINIMISE = """DNA: the first minimisation
 &cntrl
  imin   = 1,
  maxcyc = 1000,
  ncyc   = 500,
  ntb    = 1,
  ntr    = 1,
  cut    = 10.0
 /
the strands
500.0
RES 1 20
END
END
"""
NAMD_MEMBRANE = """structure               step5_input.psf
coordinates             step5_input.pdb

set temp                303.15;
outputName              step6.1_equilibration; # a comment

firsttimestep           0;
restartfreq             5000;
dcdfreq                 5000;
dcdUnitCell             yes;
xstFreq                 5000;
outputEnergies          1000;

paraTypeCharmm          on;
parameters              toppar/par_all36m_prot.prm
parameters              toppar/par_all36_lipid.prm

exclude                 scaled1-4
1-4scaling              1.0
switching               on
vdwForceSwitching       on;
cutoff                  12.0;
switchdist              10.0;
pairlistdist            16.0;
stepspercycle           20;
timestep                1.0;
rigidBonds              all;
nonbondedFreq           1;
fullElectFrequency      1;
wrapAll                 on;
cellBasisVector1     80.0   0.0   0.0;
cellBasisVector2    0.0    80.0   0.0;
cellBasisVector3    0.0   0.0    85.0;
PME                     yes;
PMEInterpOrder          6;
PMEGridSpacing          1.0;
useGroupPressure        yes;
useFlexibleCell         yes
useConstantRatio        yes;
langevin                on
langevinDamping         1.0
langevinTemp            $temp
langevinHydrogen        off
langevinPiston          on
langevinPistonTarget    1.01325
langevinPistonPeriod    50.0
langevinPistonDecay     25.0
langevinPistonTemp      $temp
SurfaceTensionTarget    0.0
StrainRate              0.0 0.0 0.0
temperature             $temp
minimize                10000
numsteps                90000000
run                     25000
"""
NAMD_TUTORIAL = """structure          ubq_wb.psf
coordinates        ubq_wb.pdb
set temperature    310
set outputname     ubq_wb_eq
firsttimestep      0
if {0} {
set inputname      ubq_wb_eq
binCoordinates     $inputname.coor
binVelocities      $inputname.vel  ;# a comment
extendedSystem     $inputname.xsc
}
paraTypeCharmm      on
parameters          par_all27_prot_lipid.inp
temperature         $temperature
exclude             scaled1-4
1-4scaling          1.0
cutoff              12.0
switching           on
switchdist          10.0
timestep            2.0
rigidBonds          all
fullElectFrequency  2
langevin            on    ;# another one
langevinDamping     1
langevinTemp        $temperature
langevinHydrogen    off
if {1} {
cellBasisVector1    42.0    0.   0.0
cellBasisVector2     0.0  44.0   0.0
cellBasisVector3     0.0    0   47.0
}
PME                 yes
PMEGridSpacing      1.0
fixedAtoms          off
fixedAtomsFile      fixed.pdb
minTinyStep         1e-6
outputName          $outputname
outputEnergies      100
minimize            100
reinitvels          $temperature
run 2500 ;# 5ps
"""
TEMPLATES = {
    "lysozyme.mdp": Template(
        LYSOZYME,
        {
            "integrator.ensemble": "npt",
            "thermostat.kind": "velocity-rescaling",
            "bath": [
                {"select": select, "temperature": 300, "time_constant": 0.1}
                for select in ("protein", "not protein")
            ],
            "barostat.kind": "cell-rescaling",
            "barostat.time_constant": 2,
            "barostat.compressibility": (4.5e-5,),
            "run.steps": 50000,
            "run.start_temperature": None,
            "nonbonded.cutoff": 1,
            "nonbonded.potential_shift": True,
            "nonbonded.dispersion_correction": True,
            "system.constraints": "h-bonds",
            "system.defines": ["POSRES"],
            "system.reference_scaling": "com",
            "output.trajectory_every": 500,
        },
        ("--reference", "gen-vel no: velocities are those of"),
    ),
    "membrane.mdp": Template(
        MEMBRANE,
        {
            "barostat.coupling": "semi-isotropic",
            "barostat.compressibility": (4.5e-5, 4.5e-5),
            "barostat.pressure": 1,
            "nonbonded.switching": "gromacs-force",
            "nonbonded.switch_distance": 1,
            "nonbonded.dispersion_correction": False,
            "output.trajectory_every": 50000,
            "output.log_every": 1000,
        },
        ("comm_grps SOLU_MEMB SOLV: centre-of-mass motion of all atoms",),
    ),
    "steepest.mdp": Template(
        STEEPEST,
        {
            "run.steps": 0,
            "run.minimize_iterations": 5000,
            "run.minimize_tolerance": 1000,
            "system.defines": ["POSRES", "POSRES_FC_BB=4000.0", "DIHRES", "DIHRES_FC=1000.0"],
            "system.reference_scaling": "none",
        },
    ),
    "free_energy.mdp": Template(
        FREE_ENERGY,
        {
            "integrator.friction": 0.5,
            "nonbonded.pme_order": None,
            "alchemy.atoms": "moltype Methane",
            "alchemy.coulomb": [1, 1, 1],
            "alchemy.vdw": [0, 0.05, 0.1],
            "alchemy.every": 10,
        },
        ("pme_order 6: the order follows",),
    ),
    "martini.mdp": Template(
        MARTINI,
        {
            "nonbonded.method": "reaction-field",
            "nonbonded.dielectric": 0,
            "nonbonded.relative_permittivity": 15,
            "nonbonded.potential_shift": True,
            "integrator.timestep": 0.02,
        },
    ),
    "bilayer.mdin": Template(
        BILAYER,
        {
            "integrator.friction": 1,
            "integrator.timestep": 0.004,
            "run.start_temperature": None,
            "barostat.kind": "monte-carlo",
            "barostat.every": 100,
            "barostat.coupling": "semi-isotropic",
            "barostat.surface_tension": 0,
            "barostat.compressibility": (4.46e-5,),
            "nonbonded.cutoff": 1.2,
            "nonbonded.switching": "charmm-force",
            "nonbonded.switch_distance": 1,
            "nonbonded.dispersion_correction": False,
            "output.checkpoint_every": 10000,
        },
        ("waters are identified by their atoms",),
    ),
    "born.mdin": Template(
        GENERALIZED_BORN,
        {
            "solvent.model": "gbn2",
            "solvent.salt_concentration": 0.15,
            "solvent.dielectric": 78.5,
            "nonbonded.method": "no-cutoff",
            "integrator.seed": None,
            "run.start_temperature": 325,
        },
        ("nscm 1000: centre-of-mass motion",),
    ),
    "minimise.mdin": Template(
        MINIMISE,
        {
            "run.minimize_iterations": 1000,
            "system.constraints": "none",
            "restraint": [{"kind": "position", "select": "residue 1-20", "k": 418400.0}],
        },
        ("ntr 1: atoms are restrained to the positions in `reference`",),
    ),
    "membrane.namd": Template(
        NAMD_MEMBRANE,
        {
            "run.steps": 25000,
            "run.minimize_iterations": 10000,
            "run.start_temperature": 0,
            "integrator.ensemble": "npt",
            "barostat.coupling": "semi-isotropic",
            "barostat.pressure": 1.01325,
            "nonbonded.switching": "charmm-force",
            "nonbonded.pme_order": None,
            "output.trajectory_every": 5000,
        },
        ("langevinHydrogen off: noise acts on all atoms", "velocities are zero afterwards"),
    ),
    "tutorial.namd": Template(
        NAMD_TUTORIAL,
        {
            "run.start_temperature": 310,
            "integrator.ensemble": "nvt",
            "integrator.long_range_every": 2,
            "integrator.timestep": 0.002,
            "system.rigid_water": True,
            "output.trajectory_every": 0,
        },
        ("lines 6 to 11: left out", "fixedAtomsFile fixed.pdb: no effect without", "minTinyStep"),
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_becomes_of_a_template(name: str, tmp_path: Path) -> None:
    template = TEMPLATES[name]
    found = read(tmp_path, name, template.text)
    for path, wanted in template.settings.items():
        section, _, key = path.partition(".")
        settings = found.settings.get(section, {})
        assert (settings.get(key) if key else settings) == wanted, path
    assert noted(found, *template.notes), found.notes
    assert len(found.refused) == len(template.refused), found.refused
    for refusal, words in zip(found.refused, template.refused, strict=True):
        assert refusal.startswith(words)
    flags = {(section, key): FILES[section][key] for section in FILES for key in FILES[section]}
    build_config(merge(found.settings, flags))
