# SPDX-License-Identifier: Apache-2.0
"""Control files of other programs, which tests read and change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quiltmd.inputs.control_files import Control, read_control

# The configuration of the ApoA1 benchmark, with what others ask for besides.
NAMD = """
# a comment
set prefix apoa1
cellBasisVector1     108.8612 0.0 0.0
cellBasisVector2     0.0 108.8612 0.0
cellBasisVector3     0.0 0.0 77.758
cellOrigin           0.0 0.0 0.0
coordinates          $prefix.pdb
temperature          300
seed                 74269
switching            on
switchdist           10
cutoff\t12
pairlistdist         13.5
stepspercycle        20
PME                  on
PMEGridSizeX         108
PMEGridSizeY         108
PMEGridSizeZ         80
structure            ${prefix}.psf
parameters           lipid.xplor
parameters           "popc.xplor"
exclude              scaled1-4
1-4scaling           1.0
timestep             1.0
fullElectFrequency   4
numsteps             500
outputtiming         20
outputEnergies       50
outputname           out/apoa1
langevinPiston       off
"""
MDIN = """title of the run
 &cntrl
  ntx = 5, irest = 1, ! a comment with x = 3
  nstlim = 1000, dt=0.002, ntc=2, ntf=2,
  ntt=3, gamma_ln=2.0, temp0=310.0, tempi=100.0, ig=77,
  cut = 9.0, ntb=1, ntp=0, ntpr=100, ntwx=200, ntwr=-500, ioutfm=1,
 /
 &ewald
  nfft1=64, nfft2=60, nfft3=48, order=4
 &end
"""
MDP = """
; a comment
title                    = made up
define                   = -DPOSRES_NOT -DFLEX=2
integrator               = md
dt                       = 0.002
nsteps                   = 5000 ; 10 ps
nstenergy                = 250
nstxout_compressed       = 500
cutoff-scheme            = Verlet
nstlist                  = 20
coulombtype              = PME
rcoulomb                 = 1.1
rvdw                     = 1.1
vdw_modifier             = Potential-switch
rvdw-switch              = 0.85
DispCorr                 = EnerPres
tcoupl                   = V-rescale
tc-grps                  = Protein Water
tau_t                    = 0.5 0.5
ref_t                    = 300 300
pcoupl                   = no
constraints              = h-bonds
gen-vel                  = no
pull                     =
"""
FILES: dict[str, dict[str, Any]] = {
    "system": {"topology": "x.psf", "coordinates": "x.pdb"},
    "output": {"dir": "out"},
}


def read(folder: Path, name: str, text: str) -> Control:
    path = folder / name
    path.write_text(text)
    found = read_control(path)
    assert found is not None
    return found


def changed(text: str, lines: str) -> str:
    """A control file with these lines, in place of what it says of the same keywords."""

    def keyword(line: str) -> str:
        return line.replace("=", " ").replace("_", "-").split(None, 1)[0] if line.strip() else ""

    others = {keyword(line) for line in lines.splitlines()}
    kept = [line for line in text.splitlines() if not keyword(line) or keyword(line) not in others]
    return "\n".join([*kept, lines])


def noted(control: Control, *words: str) -> bool:
    return all(any(word in note for note in control.notes) for word in words)


def with_line(kind: str, line: str = "") -> str:
    """The example of a kind of control file (namd, mdin, mdp), and this line."""
    if kind == "mdin":
        return MDIN.replace(" /\n &ewald", f"  {line}\n /\n &ewald")
    return {"namd": NAMD, "mdp": MDP}[kind] + f"{line}\n"
