# SPDX-License-Identifier: Apache-2.0
"""NAMD configurations, mdin and mdp: what is taken over, what is told, what is refused."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import physical_validation
import pytest
from command import quiltmd as command
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfc

import quiltmd
from quiltmd.errors import InputError, QuiltError
from quiltmd.inputs.control import Control, read_control
from quiltmd.running.config import build_config, read_config

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


def told(control: Control, *words: str) -> bool:
    return all(any(word in note for note in control.notes) for word in words)


def test_namd(tmp_path: Path) -> None:
    found = read(tmp_path, "apoa1.namd", NAMD)
    assert found.refused == []
    build_config(found.settings)
    alpha = found.settings["nonbonded"].pop("pme_alpha")
    assert erfc(alpha * 1.2) / 12 == pytest.approx(1e-6)
    assert alpha == pytest.approx(2.57952, rel=1e-5)  # as NAMD's log says
    assert found.settings == {
        "system": {
            "topology": str(tmp_path / "apoa1.psf"),
            "coordinates": str(tmp_path / "apoa1.pdb"),
            "parameters": [str(tmp_path / "lipid.xplor"), str(tmp_path / "popc.xplor")],
            "box": pytest.approx([10.88612, 10.88612, 7.7758, 90, 90, 90]),
            "constraints": "none",
            "rigid_water": False,
        },
        "nonbonded": {
            "cutoff": 1.2,
            "switching": "charmm",
            "switch_distance": 1.0,
            "dispersion_correction": False,
            "pme_order": 4,
            "pme_grid": [108, 108, 80],
        },
        "integrator": {
            "ensemble": "nve",
            "temperature": 300.0,
            "seed": 74269,
            "timestep": 0.001,
            "long_range_every": 4,
        },
        "run": {"steps": 500, "start_temperature": 300.0},
        "output": {"dir": str(tmp_path / "out/apoa1"), "log_every": 50},
    }
    assert told(found, "cellOrigin", "pairlistdist", "stepspercycle 20", "outputtiming")


def test_namd_with_a_thermostat_and_a_box_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "run.xsc").write_text(
        "# NAMD extended system\n#$LABELS step a_x\n500 60 0 0 0 61 0 20 0 62 0 0 0 0\n"
    )
    more = "extendedSystem run.xsc\nlangevin on\nlangevinTemp 310\nlangevinDamping 5\n"
    more += "rigidBonds all\nvdwForceSwitching on\nminimize 100\nrun 300\nLJcorrection yes\n"
    kept = [line for line in NAMD.splitlines() if "Basis" not in line and "numsteps" not in line]
    text = "\n".join(kept)
    found = read(tmp_path, "run.namd", f"{text}\n{more}")
    assert found.refused == []
    system, dynamics = found.settings["system"], found.settings["integrator"]
    assert system["constraints"] == "h-bonds"
    assert system["rigid_water"]
    beta = np.degrees(np.arctan2(62, 20))
    lengths = [6.0, 6.1, np.hypot(2.0, 6.2)]
    assert system["box"] == pytest.approx([*lengths, 90, beta, 90])
    assert dynamics["ensemble"] == "nvt"
    assert (dynamics["temperature"], dynamics["friction"]) == (310, 5)
    assert found.settings["nonbonded"]["switching"] == "charmm-force"
    assert found.settings["nonbonded"]["dispersion_correction"]
    assert found.settings["run"] == {
        "steps": 300,
        "minimize": True,
        "minimize_iterations": 100,
        "start_temperature": 300,  # which is not that of the bath
    }


@pytest.mark.parametrize(("scaling", "done"), [("0.833333", True), ("1.0", False), ("x", False)])
def test_namd_with_files_of_amber(tmp_path: Path, scaling: str, done: bool) -> None:
    """They have the scaling of 1-4 interactions that NAMD must be told."""
    text = (
        "amber on\nparmfile a.prmtop\nambercoor a.inpcrd\ncutoff 9\nswitching off\nPME on\n"
        f"PMEGridSpacing 1\nexclude scaled1-4\n1-4scaling {scaling}\ntimestep 1\nrun 10\n"
    )
    (tmp_path / "in.namd").write_text(text)
    control = read_control(tmp_path / "in.namd")
    assert control is not None
    assert control.settings["system"]["topology"] == str(tmp_path / "a.prmtop")
    told = [f"line 9, 1-4scaling {scaling}: a topology of Amber has its own scaling"]
    assert [text.split(", for which")[0] for text in control.refused] == ([] if done else told)


def test_restraints_of_namd(tmp_path: Path) -> None:
    line = "ATOM  {:5d}  C   ALA A   1       0.000   0.000   0.000{:6.2f}{:6.2f}\n"
    column = [1.0, 1.0, 0.0, 1.0, 0.5, 1.0]
    rows = (line.format(k + 1, 9.0, value) for k, value in enumerate(column))
    (tmp_path / "held.pdb").write_text("".join(rows))
    asked = "constraints on\nconsref start.pdb\nconskfile held.pdb\nconskcol B\n"
    found = read(tmp_path, "apoa1.namd", f"{NAMD}{asked}constraintScaling 2.5\n")
    assert found.refused == []
    assert found.settings["system"]["reference"] == str(tmp_path / "start.pdb")
    assert found.settings["restraint"] == [
        {"kind": "position", "select": "index 5", "k": pytest.approx(2.5 * 418.4)},
        {"kind": "position", "select": "index 1-2 4 6", "k": pytest.approx(5.0 * 418.4)},
    ]
    config = build_config(found.settings)
    assert config.system.reference_scaling == "none"
    axes = f"{asked}selectConstraints on\nselectConstrZ on\n"
    found = read(tmp_path, "apoa1.namd", NAMD + axes)
    assert found.settings["restraint"][0]["k"] == (0.0, 0.0, pytest.approx(418.4))
    (tmp_path / "held.pdb").write_text("ATOM    1  C\n")
    with pytest.raises(InputError, match="line 1: no force constant in columns 61 to 66"):
        read(tmp_path, "apoa1.namd", NAMD + asked)


def test_electric_fields(tmp_path: Path) -> None:
    """The same field in V/nm, from kcal/(mol A e) and from V/nm."""
    found = read(tmp_path, "in.namd", f"{NAMD}eFieldOn on\neField 0 0.5 -1\neFieldFreq 0\n")
    assert found.refused == []
    volt = 1.602176634e-19 * 6.02214076e23 / 4184 / 10  # kcal/(mol A) on a charge of 1 e by 1 V/nm
    assert found.settings["system"]["electric_field"] == pytest.approx([0, 0.5 / volt, -1 / volt])
    found = read(tmp_path, "in.namd", f"{NAMD}eFieldOn off\neField 0 0.5 -1\n")
    assert "electric_field" not in found.settings["system"]
    assert any("eField 0 0.5 -1: nothing, without eFieldOn" in note for note in found.notes)
    with pytest.raises(InputError, match="three numbers for eField"):
        read(tmp_path, "in.namd", f"{NAMD}eFieldOn on\neField 1\n")
    found = read(tmp_path, "md.mdp", f"{MDP}electric-field-z = 0.05 0 0 0\n")
    assert found.refused == []
    assert found.settings["system"]["electric_field"] == [0.0, 0.0, 0.05]


def test_mdin(tmp_path: Path) -> None:
    found = read(tmp_path, "mdin", MDIN)
    assert found.refused == []
    alpha = found.settings["nonbonded"].pop("pme_alpha")
    assert erfc(alpha * 0.9) / 9 == pytest.approx(1e-5)
    assert found.settings == {
        "run": {"steps": 1000},
        "integrator": {
            "timestep": 0.002,
            "temperature": 310.0,
            "seed": 77,
            "ensemble": "nvt",
            "friction": 2.0,
        },
        "system": {"constraints": "h-bonds", "rigid_water": True},
        "nonbonded": {
            "cutoff": 0.9,
            "dispersion_correction": True,
            "pme_grid": [64, 60, 48],
            "pme_order": 4,
        },
        "output": {"log_every": 100, "trajectory_every": 200, "checkpoint_every": 500},
    }
    assert told(found, "irest 1", "tempi 100", "ioutfm")


def test_velocities_of_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Amber reads those of the file where ntx is 5; without, it draws them, at 0 K by default."""
    assert read(tmp_path, "mdin", MDIN).settings["run"] == {"steps": 1000}
    without = MDIN.replace("ntx = 5, irest = 1,", "")
    assert read(tmp_path, "mdin", without).settings["run"]["start_temperature"] == 100
    cold = read(tmp_path, "mdin", without.replace("tempi=100.0,", ""))
    assert cold.settings["run"]["start_temperature"] == 0
    assert told(cold, "tempi 0: atoms start at rest")
    other = read(tmp_path, "mdin", MDIN.replace("ntx = 5", "ntx = 1"))
    assert "irest 1, ntx 1" in other.refused[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("run.namd", NAMD + "cutoff 7.0\n"),
        ("md.mdp", MDP + "dt = 0.001\n"),
        ("mdin", MDIN.replace("ntx = 5", "ntx = 5, temp0 = 10.0")),
    ],
)
def test_a_keyword_with_two_values_is_refused(tmp_path: Path, kind: str, text: str) -> None:
    assert "has another value: keep one of them" in read(tmp_path, kind, text).refused[0]


def test_a_number_is_one_word(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dt must be a number, not '0.002 0.004'"):
        read(tmp_path, "md.mdp", changed(MDP, "dt = 0.002 0.004\n"))


def test_restraints_of_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    text = REFUSED["mdin"][0].format(
        more="ntr=1, restraint_wt=5.0, restraintmask=':1-2@CA,N,C=|(!:WAT&@/O)',"
    )
    found = read(tmp_path, "mdin", text)
    assert found.refused == []
    config = build_config(found.settings | {"output": {"dir": "out"}, **inputs(alanine)})
    (restraint,) = config.restraint
    assert restraint.k == pytest.approx(2 * 5.0 * 418.4)
    system, _ = quiltmd.load(*alanine)
    topology = system.topology
    residues, names = topology.residue_of_atom, topology.atom_names
    water = topology.residue_names[residues] == "WAT"
    wanted = (residues < 2) & (np.isin(names, ["CA", "N"]) | np.char.startswith(names, "C"))
    wanted |= ~water & (topology.elements == 8)
    assert quiltmd.select(system, str(restraint.select)).tolist() == np.flatnonzero(wanted).tolist()


def inputs(files: tuple[Path, Path]) -> dict[str, Any]:
    return {"system": {"topology": files[0], "coordinates": files[1]}}


@pytest.mark.parametrize(
    ("more", "length"), [("", 1), ("integrator = md-vv\n", 10), ("nh-chain-length = 4\n", 1)]
)
def test_mdp_with_a_nose_hoover_chain(tmp_path: Path, more: str, length: int) -> None:
    """tau-t is the period; with the leap-frog integrator GROMACS has no chain, whatever is said."""
    found = read(
        tmp_path, "md.mdp", changed(MDP, f"tcoupl = nose-hoover\ntau-t = 0.628318530718\n{more}")
    )
    assert found.refused == []
    assert found.settings["thermostat"] == {
        "kind": "nose-hoover",
        "time_constant": pytest.approx(0.1),
        "chain_length": length,
    }
    assert told(found, "a single thermostat") == (length == 1)


def test_annealing_of_mdp(tmp_path: Path) -> None:
    """Of several groups too, where all have the same; in place of ref-t."""
    groups = (
        "annealing = single single\nannealing-npoints = 2 2\nannealing-time = 0 50 0 50\n"
        "annealing-temp = 10 300 10 300\ngen-vel = yes\ngen-temp = 10\n"
    )
    found = read(tmp_path, "md.mdp", changed(MDP, groups))
    assert found.refused == []
    dynamics = build_config(found.settings | FILES).integrator
    assert dynamics.annealing == ((0, 10), (50, 300))
    assert dynamics.temperature == 10
    assert found.settings["run"]["start_temperature"] == 10
    for old, new, words in (
        ("single single", "single periodic", "only single, for all groups"),
        ("0 50 0 50", "0 50 0 40", "only one bath"),
        ("0 50 0 50", "0 50 0", "say 4 points, 3 times and 4 temperatures"),
    ):
        found = read(tmp_path, "md.mdp", changed(MDP, groups.replace(old, new)))
        assert any(words in refused for refused in found.refused)
    off = read(tmp_path, "md.mdp", MDP + "annealing = no no\nannealing-npoints = 2 2\n")
    assert off.refused == []
    assert told(off, "without annealing")


def test_mdp_with_a_short_period(tmp_path: Path) -> None:
    """Actions of a chain come four times in its time constant, 0.5 ps / 2 pi."""
    found = read(tmp_path, "md.mdp", changed(MDP, "tcoupl = nose-hoover\ntau-t = 0.5\n"))
    assert found.settings["thermostat"]["every"] == 9  # of 2 fs


def test_mdp(tmp_path: Path) -> None:
    found = read(tmp_path, "md.mdp", MDP)
    assert found.refused == []
    assert found.settings == {
        "integrator": {"timestep": 0.002, "ensemble": "nvt", "temperature": 300.0},
        "thermostat": {"kind": "velocity-rescaling", "time_constant": 0.5},
        "run": {"steps": 5000},
        "nonbonded": {
            "cutoff": 1.1,
            "switching": "potential",
            "switch_distance": 0.85,
            "potential_shift": False,
            "dispersion_correction": True,
            "pme_order": 4,
        },
        "system": {
            "constraints": "h-bonds",
            "rigid_water": False,
            "defines": ["POSRES_NOT", "FLEX=2"],
            "reference_scaling": "none",
        },
        "output": {"log_every": 250, "trajectory_every": 500},
    }
    assert told(found, "leap-frog", "tc-grps", "nstlist")


def test_constant_pressure_of_mdp(tmp_path: Path) -> None:
    membrane = """
pcoupl           = C-rescale
pcoupltype       = semiisotropic
tau-p            = 4.0
ref-p            = 1.0 1.0
compressibility  = 4.5e-5 3e-5
nstpcouple       = 10
refcoord-scaling = com
"""
    found = read(tmp_path, "membrane.mdp", MDP.replace("pcoupl                   = no", membrane))
    assert found.refused == []
    assert found.settings["integrator"]["ensemble"] == "npt"
    assert found.settings["system"]["reference_scaling"] == "com"
    assert found.settings["barostat"] == {
        "kind": "cell-rescaling",
        "coupling": "semi-isotropic",
        "pressure": 1.0,
        "time_constant": 4.0,
        "compressibility": (4.5e-5, 3e-5),
        "every": 10,
    }
    tension = membrane.replace("semiisotropic", "surface-tension").replace("1.0 1.0", "500 2.0")
    found = read(tmp_path, "tension.mdp", MDP.replace("pcoupl                   = no", tension))
    assert found.settings["barostat"]["surface_tension"] == 500
    assert found.settings["barostat"]["pressure"] == 2.0
    unlike = membrane.replace("1.0 1.0", "1.0 2.0")
    found = read(tmp_path, "unlike.mdp", MDP.replace("pcoupl                   = no", unlike))
    assert any("only one pressure" in refused for refused in found.refused)

    rahman = membrane.replace("C-rescale", "Parrinello-Rahman").replace(
        "semiisotropic", "anisotropic"
    )
    six = rahman.replace("1.0 1.0", "1 1 1 0 0 0").replace("3e-5", "3e-5 2e-5 0 0 0")
    # The last three pressures are those of angles, which stay.
    found = read(tmp_path, "rahman.mdp", MDP.replace("pcoupl                   = no", six))
    assert found.refused == []
    assert told(found, "takes its place")
    assert found.settings["barostat"]["coupling"] == "anisotropic"
    assert found.settings["barostat"]["compressibility"] == (4.5e-5, 3e-5, 2e-5)
    build_config(found.settings | FILES)
    tilted = six.replace("2e-5 0 0 0", "2e-5 1e-5 0 0")
    found = read(tmp_path, "tilted.mdp", MDP.replace("pcoupl                   = no", tilted))
    assert any("angles of the box" in refused for refused in found.refused)


FILES: dict[str, dict[str, Any]] = {
    "system": {"topology": "x.psf", "coordinates": "x.pdb"},
    "output": {"dir": "out"},
}
PISTON = """
langevin                 on
langevinTemp             300
langevinDamping          1
langevinPiston           on
langevinPistonTarget     1.01325
langevinPistonPeriod     100
langevinPistonDecay      50
langevinPistonTemp       300
useGroupPressure         yes
"""


def test_constant_pressure_of_namd(tmp_path: Path) -> None:
    def barostat(text: str) -> tuple[Control, dict[str, Any]]:
        found = read(tmp_path, "run.namd", changed(NAMD, text))
        assert found.refused == []
        build_config(found.settings)
        assert found.settings["integrator"]["ensemble"] == "npt"
        return found, found.settings["barostat"]

    found, piston = barostat(PISTON)
    assert told(found, "takes its place", "langevinPistonDecay", "useGroupPressure")
    assert piston == {
        "kind": "cell-rescaling",
        "coupling": "isotropic",
        "pressure": 1.01325,
        "every": 20,
    }
    found, flexible = barostat(PISTON + "useFlexibleCell yes\nuseConstantRatio yes\n")
    assert flexible["coupling"] == "semi-isotropic"
    found, area = barostat(PISTON + "useFlexibleCell yes\nuseConstantArea yes\n")
    assert area["compressibility"] == (0.0, 4.5e-5)
    found, often = barostat(PISTON + "fullElectFrequency 3\n")
    assert often["every"] == 21
    found, proposals = barostat(
        PISTON.replace("langevinPiston ", "monteCarloPressure ")
        .replace("langevinPistonTarget", "monteCarloPressureTarget")
        .replace("langevinPistonTemp", "monteCarloTemp")
        + "useFlexibleCell yes\nuseConstantRatio yes\nmonteCarloAdjustmentFreq 1000\n"
    )
    assert proposals == {
        "kind": "monte-carlo",
        "coupling": "semi-isotropic",
        "pressure": 1.01325,
        "every": 100,
    }
    assert told(found, "width of proposals", "move with their centres", "langevinPistonPeriod")
    monte_carlo = "langevin on\nmonteCarloPressure on\nmonteCarloPressureFreq 50\n"
    assert barostat(monte_carlo)[1]["every"] == 52  # a multiple of fullElectFrequency
    found, often = barostat("langevin on\nmonteCarloPressure on\nfullElectFrequency 3\n")
    assert often["every"] == 102
    berendsen = """
stochRescale                      on
BerendsenPressure                 on
BerendsenPressureTarget           1.0
BerendsenPressureCompressibility  4.57E-5
BerendsenPressureRelaxationTime   100
BerendsenPressureFreq             4
"""
    found, relaxed = barostat(berendsen)
    assert relaxed == {
        "kind": "berendsen",
        "coupling": "isotropic",
        "pressure": 1.0,
        "compressibility": (4.57e-5,),
        "time_constant": 0.1,
        "every": 4,
    }
    assert found.settings["thermostat"] == {"kind": "velocity-rescaling", "every": 12}


def test_constant_pressure_of_mdin(tmp_path: Path) -> None:
    npt = "ntb=2, ntp=1, pres0=1.013, taup=2.0, comp=45.0, barostat=1"
    found = read(tmp_path, "mdin", MDIN.replace("ntb=1, ntp=0", npt))
    assert found.refused == []
    assert found.settings["integrator"]["ensemble"] == "npt"
    assert found.settings["barostat"] == {
        "kind": "berendsen",
        "coupling": "isotropic",
        "pressure": 1.013,
        "time_constant": 2.0,
        "compressibility": (4.5e-5,),
    }
    monte_carlo = npt.replace("barostat=1", "barostat=2")
    for words, every in ((monte_carlo, 100), (f"{monte_carlo}, mcbarint=50", 50)):
        found = read(tmp_path, "mdin", MDIN.replace("ntb=1, ntp=0", words))
        assert found.refused == []
        assert found.settings["barostat"] == {
            "kind": "monte-carlo",
            "coupling": "isotropic",
            "pressure": 1.013,
            "compressibility": (4.5e-5,),
            "every": every,
        }
        assert any("taup" in note for note in found.notes)
    membrane = "ntb=2, ntp=3, csurften=3, gamma_ten=17.0, ninterface=2"
    found = read(tmp_path, "mdin", MDIN.replace("ntb=1, ntp=0", membrane))
    assert found.refused == []
    assert found.settings["barostat"]["coupling"] == "semi-isotropic"
    assert found.settings["barostat"]["surface_tension"] == 340.0  # bar nm, of both surfaces


REFUSED = {
    "namd": (
        NAMD,
        {
            "langevinPiston on": "needs langevin or stochRescale",
            "langevin on\nlangevinPiston on\nlangevinPistonTemp 310": "only that of the thermostat",
            "langevin on\nlangevinPiston on\nuseConstantArea on": "only with useFlexibleCell",
            "monteCarloPressure on": "needs langevin or stochRescale",
            "langevin on\nmonteCarloPressure on\nmonteCarloTemp 310": "only that of the thermostat",
            "langevin on\nstochRescale on": "only one thermostat",
            "monteCarloPressure on\nlangevinPiston on": "only one barostat",
            "SurfaceTensionTarget 30": "say it as surface_tension",
            "constraints on": "consref is missing",
            "constraints on\nconsref a.pdb\nconskfile a.pdb\nconsexp 4": "only 2",
            "constraints on\nconsref a.pdb\nconskfile a.pdb\nconskcol Q": "only X, Y, Z, O",
            "exclude 1-3": "only scaled1-4",
            "1-4scaling 0.5": "E14FAC",
            "PME off": "electrostatics without PME",
            "velocities old.vel": "velocities from a file",
            "rigidBonds some": "only none, water and all",
            "nonbondedFreq 2": "other than 1",
            "colvars on": "not supported",
            "eFieldOn on\neField 0 0 1\neFieldFreq 5": "a field that does not stay the same",
            "eFieldOn on\neField 0 0 1\neFieldNormalized on": "only a field in kcal/(mol A e)",
            "firsttimestep 100": "steps before the first",
            "run 10\nminimize 10": "a minimisation after a run",
            "minimize 10": "steps after it are those of run",
            "minimization on\nrun 10": "not beside run and minimize",
            "PMEInterpOrder 6": "only the orders 4 and 5",
            "wrapEverything on": "this keyword is not known here",
        },
    ),
    "mdin": (
        MDIN.replace(" /\n &ewald", "  {more}\n /\n &ewald"),
        {
            "imin=5": "imin 5: 0, dynamics, and 1, minimisation",
            "ntp=4": "only 0, 1, 2 and 3",
            "ntp=1": "only ntb = 2",
            "ntp=1, barostat=3": "only 1 (Berendsen) and 2 (Monte Carlo)",
            "ntp=1, ntt=0": "needs a thermostat",
            "ntp=3, csurften=1": "only 3, surfaces normal to z",
            "csurften=3": "only with ntp = 3",
            "ntt=2": "only 0, 1",
            "igb=3": "only 0, 1, 2, 5, 6, 7 and 8",
            "igb=5, ntb=1": "only ntb = 0",
            "igb=5, gbsa=1": "LCPO",
            "ntr=1": "only 1, with restraintmask",
            "ntr=1, restraintmask=':1-5'": "restraint_wt is missing or 0",
            "ntr=1, restraint_wt=1, restraintmask=':1-5<:3.0'": "':1-5<:3.0' is not understood",
            "ntc=3": "all bonds constrained",
            "lj1264=1": "12-6-4",
            "ntf=1": "only ntf = ntc",
            "nmropt=1": "not supported",
            "nunknown=4": "this keyword is not known here",
        },
    ),
    "mdp": (
        MDP,
        {
            "epsilon_r = 0": "a dielectric constant",  # which stands for infinity
            "pcoupl = MTTK": "constant pressure",
            "pcoupl = C-rescale\npcoupltype = hexagonal": "pcoupltype hexagonal: only isotropic",
            "tcoupl = andersen": "only v-rescale, nose-hoover",
            "tau-t = -1": "only a bath that acts",
            "tcoupl = no\nannealing = single": "needs a thermostat",
            "integrator = bd": "only md, md-vv, sd",
            "constraints = all-bonds": "only none and h-bonds",
            "vdwtype = PME": "only cut-off, with DispCorr = EnerPres",
            "coulombtype = P3M-AD": "only PME, reaction-field and cut-off",
            "vdw-modifier = exact-cutoff": "exact-cutoff is not known",
            "rvdw = 0.9": "both must be the same",
            "vdwtype = cut-off\nvdw-type = shift": "has another value: keep one of them",
            "rvdw-switch = 0": "Potential-switch: needs rvdw-switch, above 0".lower(),
            "ref-t = 300 310": "only one bath",
            "free-energy = yes": "not supported",
            "freezegrps = Protein": "not supported",
            "refcoord-scaling = most": "only no, all and com",
            "mystery = 4": "this keyword is not known here",
        },
    ),
}


def test_a_cutoff_without_a_box_is_for_implicit_solvent(tmp_path: Path) -> None:
    text = "title\n &cntrl\n  {}, ntb=0, cut=12.0, ntt=3, gamma_ln=1.0,\n /\n"
    solvent = read(tmp_path, "control.mdin", text.format("igb=5"))
    assert solvent.settings["nonbonded"]["method"] == "cutoff"
    assert solvent.settings["nonbonded"]["cutoff"] == pytest.approx(1.2)
    assert any("shifted" in note for note in solvent.notes)
    vacuum = read(tmp_path, "control.mdin", text.format("igb=6"))
    assert any("only without a cutoff" in refused for refused in vacuum.refused)


# Of temperature and pressure, as the manuals have them, each with a value that is not its default.
OF_BATHS = {
    "namd": """langevinTemp 310, langevinDamping 2, langevinHydrogen off, langevinFile a.pdb,
        langevinCol O, langevinBAOAB on, tCouple on, tCoupleTemp 310, tCoupleFile a.pdb,
        tCoupleCol O, rescaleFreq 10, rescaleTemp 310, reassignFreq 10, reassignTemp 310,
        reassignIncr 1, reassignHold 320, loweAndersen on, loweAndersenTemp 310,
        loweAndersenCutoff 3, loweAndersenRate 40, stochRescaleTemp 310, stochRescalePeriod 2,
        stochRescaleFreq 10, stochRescaleHeat on, useGroupPressure yes, useFlexibleCell yes,
        useConstantRatio yes, useConstantArea yes, BerendsenPressureTarget 2,
        BerendsenPressureCompressibility 1e-5, BerendsenPressureRelaxationTime 50,
        BerendsenPressureFreq 8, langevinPistonTarget 2, langevinPistonPeriod 50,
        langevinPistonDecay 25, langevinPistonTemp 310, langevinPistonBarrier off,
        monteCarloPressureTarget 2, monteCarloTemp 310, monteCarloPressureFreq 8,
        SurfaceTensionTarget 3, StrainRate 1, excludeFromPressure on, multigrator on""",
    "mdin": """temp0 280, tempi 3, tautp 2, gamma_ln 3, vrand 100, vlimit 10, ig 5, idistr 1,
        sinrtau 2, nkija 2, therm_par 1, middle_scheme 1, barostat 2, mcbarint 50, pres0 2,
        comp 40, taup 2, csurften 3, gamma_ten 10, ninterface 3""",
    "mdp": """nsttcouple 5, nh-chain-length 3, print-nose-hoover-chain-variables yes,
        tc-grps System, tau-t 2, ref-t 310, nstpcouple 5, pcoupltype anisotropic, tau-p 3,
        compressibility 1e-5, ref-p 2, refcoord-scaling all, annealing-npoints 1, annealing-time 0,
        annealing-temp 5, ensemble-temperature-setting constant, ensemble-temperature 300,
        gen-temp 5""",
}


@pytest.mark.parametrize("kind", OF_BATHS)
def test_settings_of_baths_are_known(kind: str, tmp_path: Path) -> None:
    """Each by itself: it changes settings, is told, or is refused with a reason."""
    text = REFUSED[kind][0]
    plain = read(tmp_path, f"control.{kind}", text.replace("{more}", ""))
    pattern = {"namd": "{} {}\n", "mdin": "{} = {},", "mdp": "{} = {}\n"}[kind]
    for setting in OF_BATHS[kind].split(","):
        line = pattern.format(*setting.split())
        full = text.format(more=line) if kind == "mdin" else text + line
        found = read(tmp_path, f"control.{kind}", full)
        assert not any("not known" in why for why in found.refused), setting
        assert found != plain, setting


@pytest.mark.parametrize(
    ("kind", "line"), [(kind, line) for kind, (_, lines) in REFUSED.items() for line in lines]
)
def test_what_cannot_be_done_is_named(kind: str, line: str, tmp_path: Path) -> None:
    text, lines = REFUSED[kind]
    text = text.format(more=line) if kind == "mdin" else f"{text}{line}\n"
    found = read(tmp_path, f"control.{kind}", text)
    assert any(lines[line] in refused for refused in found.refused)


BROKEN = {
    "vector": ("namd", NAMD + "cellBasisVector1 30 0\n", "must be three vectors"),
    "turned": (
        "namd",
        NAMD.replace("108.8612 0.0 0.0", "0.0 108.8612 0.0", 1).replace(
            "cellBasisVector2     0.0 108.8612 0.0", "cellBasisVector2 108.8612 0.0 0.0"
        ),
        "cellBasisVector1 must be along x",
    ),
    "left-handed": ("namd", NAMD.replace("77.758", "-77.758"), "z > 0 of the third"),
    "negative cutoff": ("namd", NAMD.replace("cutoff\t12", "cutoff -12"), "cutoff of -12 .*sense"),
    "tolerance": ("namd", NAMD + "PMETolerance 2\n", "PME tolerance of 2 make no sense"),
    "run": ("namd", NAMD + "run for\n", "run must be a number, not 'for'"),
    "half a run": ("namd", NAMD + "run 100\nrun -0.5\n", "run must be a number of steps"),
    "underscore": ("namd", NAMD + "timestep 1_0\n", "timestep must be a number"),
    "no cutoff": ("mdin", MDIN.replace("cut = 9.0", "cut = 0"), "cutoff of 0 .*make no sense"),
    "tcl": ("namd", NAMD + "if {1} {\n", r"Tcl \('if \{1\} \{'\) is not supported"),
    "variable": ("namd", NAMD + "outputname $other\n", "the variable other is not set"),
    "number": ("namd", NAMD + "timestep fast\n", "timestep must be a number, not 'fast'"),
    "switch": ("namd", NAMD + "PME maybe\n", "PME must be on or off, not 'maybe'"),
    "cell": ("namd", NAMD.replace("0.0 0.0 77.758", "0 0 0"), "three vectors that span a volume"),
    "cutoff": ("namd", NAMD.replace("cutoff\t12", ""), "the keyword cutoff is missing"),
    "namelist": ("mdin", MDIN + " &wt type='END' /\n", "the namelist &wt is not supported"),
    "pair": ("mdin", MDIN.replace("cut = 9.0", "cut 9.0"), "is not understood|must be a"),
    "whole": ("mdin", MDIN.replace("ntc=2", "ntc=2.5"), "ntc must be a whole number"),
    "option": ("mdp", MDP + "nsteps 300\n", "'nsteps 300' is no option and value"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, tmp_path: Path) -> None:
    kind, text, words = BROKEN[name]
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, f"control.{kind}", text)
    assert str(caught.value).startswith(str(tmp_path))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["namd", "mdin", "mdp"]),
    word=st.from_regex(r"[a-z]{3,10}qz", fullmatch=True),
    value=st.sampled_from(["1", "on", "2.5"]),
)
def test_no_keyword_is_ignored(
    kind: str, word: str, value: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A keyword that nobody knows is refused by name, whatever it is."""
    text = REFUSED[kind][0]
    line = {"namd": f"{word} {value}", "mdin": f"{word}={value}", "mdp": f"{word} = {value}"}[kind]
    text = text.format(more=line) if kind == "mdin" else f"{text}{line}\n"
    found = read(tmp_path_factory.mktemp("fuzz"), "control", text)
    assert len(found.refused) == 1
    assert word in found.refused[0]


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["namd", "mdin", "mdp"]), number=st.integers(0, 60))
def test_every_keyword_is_taken_told_or_refused(
    kind: str, number: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """To leave out any keyword changes settings, what is told, or is an error."""
    folder = tmp_path_factory.mktemp("fuzz")
    text = REFUSED[kind][0].replace("{more}", "")
    lines = text.splitlines(keepends=True)
    candidates = [
        k for k, line in enumerate(lines) if "=" in line or (kind == "namd" and line.split())
    ]
    at = candidates[number % len(candidates)]
    whole = read(folder, "control", text)
    try:
        less = read(folder, "control", "".join(lines[:at] + lines[at + 1 :]))
    except InputError:
        return
    # Of these the values above are the program's defaults.
    defaults = (
        *("switching", "exclude", "1-4scaling", "langevinPiston", "timestep"),
        *("cutoff-scheme", "pcoupl", "gen-vel", "pull", "integrator"),
    )
    if not lines[at].lstrip().startswith(("#", *defaults)):
        assert (less.settings, less.notes, less.refused) != (
            whole.settings,
            whole.notes,
            whole.refused,
        )


def test_other_files_are_no_control_files(tmp_path: Path) -> None:
    for text in ("[system]\ntopology = 'x'\n", "hello\n"):
        (tmp_path / "file").write_text(text)
        assert read_control(tmp_path / "file") is None


def test_a_run_from_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """As Amber's programs are called; what is not taken over stands on stderr."""
    text = MDIN.replace("nstlim = 1000", "nstlim = 3").replace("cut = 9.0", "cut = 8.0")
    (tmp_path / "mdin").write_text(text.replace("nfft1=64, nfft2=60, nfft3=48,", ""))
    call: list[Any] = ["run", "mdin", "-p", alanine[0], "-c", alanine[1], "--device", "cpu"]
    found = command(*call, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "mdin: irest 1, ntx 5: velocities are taken from the file" in " ".join(
        found.stderr.split()
    )
    written = read_config(tmp_path / "mdin-quilt" / "config.toml")
    assert written["integrator"]["temperature"] == 310.0
    assert written["nonbonded"]["cutoff"] == 0.8
    (tmp_path / "mdin").write_text(text.replace("ntp=0", "ntp=4"))
    refused = command(*call, cwd=tmp_path)
    assert refused.returncode == 1
    assert "cannot be done here" in refused.stderr


@pytest.mark.parametrize(
    ("words", "dielectric"),
    [
        ("Reaction-Field\nepsilon-rf = 78", 78.0),
        ("reaction-field", 0.0),  # infinite, as there
        ("cut-off\nepsilon-rf = 78", 1.0),
    ],
)
def test_a_reaction_field_of_an_mdp_file(tmp_path: Path, words: str, dielectric: float) -> None:
    found = read(tmp_path, "md.mdp", changed(MDP, f"coulombtype = {words}"))
    assert found.refused == []
    assert found.settings["nonbonded"]["method"] == "reaction-field"
    assert found.settings["nonbonded"]["dielectric"] == dielectric
    assert "pme_order" not in found.settings["nonbonded"]


def test_what_grompp_writes(tmp_path: Path) -> None:
    """mdout.mdp states every option of GROMACS; those of features that are off are no obstacle."""
    data = Path(physical_validation.__file__).parent / "tests/test_system_database"
    text = (data / "Water5/gromacs_files/NPT/mdout.mdp").read_text()
    text = re.sub(r"(?m)^(coulombtype +=).*", r"\1 PME", text)
    found = read(tmp_path, "mdout.mdp", text)
    assert found.refused == []
    assert found.settings["barostat"]["kind"] == "cell-rescaling"
    for word, value in (("vdw-type", "Switch"), ("electric-field-x", "0 1 0 0"), ("nwall", "2")):
        changed = re.sub(rf"(?m)^{word} +=.*", f"{word} = {value}", text)
        (refusal,) = read(tmp_path, "mdout.mdp", changed).refused
        assert value.lower() in refusal.lower()
    with pytest.raises(QuiltError, match=r"lists$"):
        _settings_of_refused(tmp_path, text)


def _settings_of_refused(folder: Path, text: str) -> None:
    """Six things that cannot be done."""
    from quiltmd.commands.run import _settings_of

    words = ("pull", "awh", "rotation", "adress", "disre", "nwall")
    kept = [line for line in text.splitlines() if line.split(" ")[0] not in words]
    (folder / "md.mdp").write_text("\n".join([*kept, *(f"{word} = yes" for word in words)]))
    _settings_of(folder / "md.mdp")


def test_what_later_versions_of_grompp_write(tmp_path: Path) -> None:
    """GROMACS 2022 to 2025: options of modules, all of which are off."""
    off = """
mts = no
mts-levels = 2
mts-level2-forces = longrange-nonbonded
mts-level2-factor = 2
ensemble-temperature-setting = auto
ensemble-temperature = -1
deform-init-flow = no
qmmm-cp2k-active = false
qmmm-cp2k-qmgroup = System
colvars-active = false
colvars-seed = -1
nnpot-active = false
nnpot-modelfile = model.pt
density-guided-simulation-active = false
density-guided-simulation-group = protein
"""
    assert read(tmp_path, "mdout.mdp", MDP + off).refused == []
    for line in off.split("\n"):
        name, _, value = line.partition(" = ")
        if value in ("no", "false"):
            on = MDP + off.replace(line, f"{name} = yes")
            (refusal,) = read(tmp_path, "mdout.mdp", on).refused
            assert name in refusal


def test_refusals_are_one_line(tmp_path: Path) -> None:
    from quiltmd.commands.run import _settings_of

    (tmp_path / "bad.namd").write_text(NAMD + "colvars on\nwrapEverything 1\n")
    with warnings.catch_warnings(), pytest.raises(QuiltError) as caught:
        _settings_of(tmp_path / "bad.namd")
    assert "\n" not in str(caught.value)
    assert "colvars on: not supported; line" in str(caught.value)


def test_a_grid_of_pme_is_whole(tmp_path: Path) -> None:
    """Of three numbers; what is said of PME without a grid is told."""
    for name, text, key in (
        ("run.namd", re.sub("PMEGridSize[YZ].*\n", "", NAMD), "PMEGridSizeX 108"),
        ("mdin", MDIN.replace(" nfft2=60, nfft3=48,", ""), "nfft1 64"),
    ):
        (refused,) = read(tmp_path, name, text).refused
        assert f", {key}: " in refused
        assert refused.endswith("belong together: give all or none")
    namd = re.sub("PMEGridSize.*\n", "", NAMD)
    found = read(tmp_path, "run.namd", f"{namd}PMETolerance 1e-7\nPMEInterpOrder 5\n")
    assert told(found, "PMETolerance 1e-7: without PMEGridSizeX and so on grid and Ewald")
    assert found.settings["nonbonded"]["pme_order"] == 5
    mdin = MDIN.replace("nfft1=64, nfft2=60, nfft3=48,", "dsum_tol=1e-6, ew_coeff=0.3,")
    found = read(tmp_path, "mdin", mdin)
    assert told(found, "ew_coeff 0.3, dsum_tol 1e-6: without nfft1")
    assert "pme_alpha" not in found.settings["nonbonded"]
    (refused,) = read(tmp_path, "mdin", MDIN.replace("order=4", "order=6")).refused
    assert "order 6: only the orders 4 and 5" in refused
    both = MDIN.replace("order=4", "order=4, ew_coeff=0.3, dsum_tol=1e-6")
    found = read(tmp_path, "mdin", both)
    assert found.settings["nonbonded"]["pme_alpha"] == pytest.approx(3.0)
    assert told(found, "dsum_tol 1e-6: replaced")


def test_how_often_and_how_long_namd_runs(tmp_path: Path) -> None:
    found = read(tmp_path, "run.namd", f"{NAMD}run 200\n")
    assert found.settings["run"]["steps"] == 200
    assert told(found, "numsteps 500: run says")
    found = read(tmp_path, "run.namd", f"{NAMD}minimization on\n")
    assert found.settings["run"] == {
        "steps": 0,
        "minimize": True,
        "minimize_iterations": 500,
        "start_temperature": 300.0,
    }
    text = NAMD.replace("numsteps             500", "minimize 20\nminimize 30\nrun 10")
    assert read(tmp_path, "run.namd", text).settings["run"]["minimize_iterations"] == 50
    off = read(tmp_path, "run.namd", changed(NAMD, "switching off"))
    assert told(off, "switchdist 10: nothing, without switching")


def test_minimisations_of_control_files(tmp_path: Path) -> None:
    """How long they may go on is taken over."""
    text = REFUSED["mdin"][0].format(more="imin=1, maxcyc=5000, ncyc=50,")
    found = read(tmp_path, "mdin", text)
    assert found.settings["run"] == {"steps": 0, "minimize": True, "minimize_iterations": 5000}
    assert told(found, "ncyc 50: minimisations are by L-BFGS", "nstlim 1000, irest 1, ntx 5, tempi")
    for steps, iterations in ((300, 300), (-1, 2**31 - 1)):
        found = read(
            tmp_path, "md.mdp", changed(MDP, f"integrator = steep\nnsteps = {steps}\nemtol = 50\n")
        )
        assert found.settings["run"] == {
            "steps": 0,
            "minimize": True,
            "minimize_iterations": iterations,
            "minimize_tolerance": 50.0,
        }
        assert build_config(found.settings | FILES).run.minimize_tolerance == 50
    found = read(tmp_path, "md.mdp", changed(MDP, "integrator = md\nemtol = 50\n"))
    assert told(found, "emtol 50: nothing, without a minimisation")


def test_rival_options_of_mdp(tmp_path: Path) -> None:
    """The one that holds is taken over, and the others are told."""
    text = "nstlog = 100\nnstxout = 50\ngen-vel = yes\ngen-temp = 200\ngen-seed = 5\nld-seed = 6\n"
    found = read(tmp_path, "md.mdp", changed(MDP, text))
    assert found.settings["output"] == {"log_every": 250, "trajectory_every": 500}
    assert found.settings["integrator"]["seed"] == 5
    assert found.settings["run"]["start_temperature"] == 200
    assert told(found, "nstlog 100: one log", "nstxout 50: one trajectory", "ld-seed 6: one seed")
    without = changed(MDP, "gen-seed = 5\nld-seed = 6\nnstxtcout = 500\n")
    found = read(tmp_path, "md.mdp", without)
    assert found.settings["integrator"]["seed"] == 6
    assert told(found, "gen-seed 5: nothing, without gen-vel")
    found = read(tmp_path, "md.mdp", changed(MDP, "vdw_modifier = Potential-shift\n"))
    assert told(found, "rvdw-switch 0.85: nothing, without a vdw-modifier that switches")


def test_a_run_begins_at_a_temperature_of_its_own(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """Velocities of tempi, and the bath of temp0; a minimisation of maxcyc iterations before."""
    text = MDIN.replace("ntx = 5, irest = 1,", "").replace("cut = 9.0", "cut = 8.0")
    text = text.replace("nstlim = 1000", "nstlim = 2").replace("nfft1=64, nfft2=60, nfft3=48,", "")
    (tmp_path / "mdin").write_text(text)
    call: list[Any] = ["run", "mdin", "-p", alanine[0], "-c", alanine[1], "--device", "cpu"]
    found = command(*call, "--minimize", "--minimize-iterations", "3", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "minimised in 3 iterations" in found.stderr
    assert "velocities drawn at 100 K" in found.stderr
    log = np.genfromtxt(tmp_path / "mdin-quilt" / "log.csv", delimiter=",", names=True)
    assert 85 < np.atleast_1d(log["temperature"])[0] < 115
