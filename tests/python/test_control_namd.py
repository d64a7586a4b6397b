# SPDX-License-Identifier: Apache-2.0
"""NAMD configurations: what is taken over, noted and refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from command import quiltmd as run_command
from control_examples import NAMD, changed, noted, read
from scipy.special import erfc

import quiltmd
from quiltmd.errors import InputError
from quiltmd.inputs.control_files import Control, read_control
from quiltmd.namd.script import arithmetic
from quiltmd.outputs.checkpoint import read_checkpoint
from quiltmd.running.config import build_config


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
            "method": "pme",
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
        "output": {
            "dir": str(tmp_path / "out/apoa1"),
            "log_every": 50,
            "final": ["cif", "pdb", "ncrst", "namd"],
            "trajectory_every": 0,  # without dcdfreq
        },
    }
    assert noted(found, "cellOrigin", "pairlistdist", "stepspercycle 20", "outputtiming")


def test_namd_with_a_thermostat_and_a_box_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "run.xsc").write_text(
        "# NAMD extended system\n#$LABELS step a_x\n500 60 0 0 0 61 0 20 0 62 0 0 0 0\n"
    )
    more = "extendedSystem run.xsc\nlangevin on\nlangevinTemp 310\nlangevinDamping 5\n"
    more += "rigidBonds all\nvdwForceSwitching on\nLJcorrection yes\nminimize 100\n"
    more += "reinitvels 250\nrun 300\n"
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
        "start_temperature": 250,  # which is not that of the bath
    }


def test_velocities_after_a_minimisation_of_namd(tmp_path: Path) -> None:
    """It leaves atoms at rest, whatever `temperature` was before; reinitvels draws them."""
    found = read(tmp_path, "run.namd", NAMD + "minimize 100\nrun 300\n")
    assert found.settings["run"]["start_temperature"] == 0
    assert noted(found, "velocities are zero afterwards", "the largest force is minimize_tolerance")
    drawn = read(tmp_path, "run.namd", NAMD + "minimize 100\nreinitvels 280\nrun 300\n")
    assert drawn.settings["run"]["start_temperature"] == 280
    assert not noted(drawn, "velocities are zero afterwards")
    assert drawn.refused == []
    alone = read(tmp_path, "run.namd", NAMD.replace("numsteps", "#") + "minimize 100\n")
    assert not noted(alone, "velocities are zero afterwards")
    for commands, words in (
        (
            "run 10\nreinitvels 300\nrun 10\n",
            "line 33, reinitvels 300: drawing velocities after a run",
        ),
        ("reinitvels 300\nminimize 10\nrun 10\n", "line 32, reinitvels 300: no effect before"),
    ):
        assert words in read(tmp_path, "run.namd", NAMD + commands).refused[0]


RESTART = """
bincoordinates old.coor
binvelocities old.vel
firsttimestep 400
"""


def test_restart_of_namd(tmp_path: Path) -> None:
    cold = changed(NAMD, "").replace("temperature          300", "")
    found = read(tmp_path, "run.namd", cold + RESTART)
    assert found.refused == []
    assert found.settings["system"]["coordinates"] == str(tmp_path / "old.coor")
    assert found.settings["system"]["velocities"] == str(tmp_path / "old.vel")
    assert found.settings["run"] == {"first_step": 400, "steps": 100}  # numsteps counts from 0
    build_config(found.settings)
    assert noted(found, "coordinates apoa1.pdb: the binary coordinates are used instead")
    more = read(tmp_path, "run.namd", cold + RESTART + "velocities old.pdb\nrun 30\n")
    assert more.settings["run"] == {"first_step": 400, "steps": 30}
    assert noted(more, "velocities old.pdb: the binary velocities are used instead")
    text = read(tmp_path, "run.namd", cold + "velocities old.pdb\n")
    assert text.settings["system"]["velocities"] == str(tmp_path / "old.pdb")
    assert noted(read(tmp_path, "run.namd", cold), "neither temperature nor velocities")
    for commands in ("minimize 10\nrun 5\n", "reinitvels 300\nrun 5\n", "minimization on\n"):
        drawn = read(tmp_path, "run.namd", cold + RESTART + commands)
        assert "velocities" not in drawn.settings["system"]
        assert noted(drawn, "old.vel: no effect: minimize or reinitvels sets other velocities")


# As CHARMM-GUI and many others have it, but for the numbers.
FIRST_STEP = """
set inputname old
proc get_first_ts { xscfile } {
  set fd [open $xscfile r]
  gets $fd
  gets $fd
  gets $fd line
  if { $line == 1 } {
    puts nothing
  }
  set ts [lindex $line 0]
  close $fd
  return $ts
}
bincoordinates $inputname.coor
binvelocities $inputname.vel
set first [get_first_ts $inputname.xsc]
firsttimestep $first
run [expr 1000 - $first]
"""


def test_first_step_of_an_extended_system(tmp_path: Path) -> None:
    (tmp_path / "old.xsc").write_text("# NAMD\n#$LABELS step\n400 60 0 0 0 61 0 0 0 62 0 0 0\n")
    cold = NAMD.replace("temperature          300", "")
    found = read(tmp_path, "run.namd", cold + FIRST_STEP)
    assert found.refused == []
    assert found.settings["run"] == {"first_step": 400, "steps": 600}
    begin, end = (cold + FIRST_STEP).split("\n").index("proc get_first_ts { xscfile } {") + 1, 11
    left_out = f"lines {begin} to {begin + end}: left out, the procedure get_first_ts"
    assert noted(found, left_out, "get_first_ts: 400, the step in old.xsc")
    for old, new in (
        ("proc get_first_ts", "proc another"),
        ("[get_first_ts", "[another"),
        ("[expr 1000 - $first]", "[expr rand() * 1000]"),
        ("[expr 1000 - $first]", "[expr 1000 / 0]"),
        ("[expr 1000 - $first]", "[expr " + 200 * "1+" + "1]"),
    ):
        with pytest.raises(InputError, match="is not supported: replace it by its result"):
            read(tmp_path, "run.namd", cold + FIRST_STEP.replace(old, new))
    with pytest.raises(InputError, match=r"line 1: Tcl \('source common.inc'\) is not supported"):
        read(tmp_path, "tcl.namd", "source common.inc\nproc heat {t} { langevinTemp $t; run 9 }\n")
    (tmp_path / "old.xsc").write_text("# NAMD\n")
    with pytest.raises(InputError, match=r"old.xsc: not a NAMD extended system file"):
        read(tmp_path, "run.namd", cold + FIRST_STEP)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 / 2", "3"),
        ("-7 / 2", "-4"),
        ("7 / 2.", "3.5"),
        ("2 * (3 - 1.5)", "3.0"),
        ("[expr 50000 / 2] * 2", None),
        ("a + 1", None),
        ("2 ** 9", None),
        ("True + 1", None),
        ("__import__('os')", None),
        ("(" * 150 + "1", None),
    ],
)
def test_arithmetic_of_tcl(text: str, value: str | None) -> None:
    assert arithmetic(text) == value


def test_settings_between_runs_of_namd_are_refused(tmp_path: Path) -> None:
    """They would hold for the later steps alone, even those that were not said before."""
    text = NAMD + "minimize 10\nnumsteps 500\nlangevin on\nlangevinTemp 300\nrun 10\n"
    refused = read(tmp_path, "run.namd", text).refused
    assert [why.split(": ")[0] for why in refused] == [
        "line 34, langevin on",
        "line 35, langevinTemp 300",
    ]
    assert all("after the first run or minimize" in why for why in refused)


def test_blocks_of_namd_that_are_on_or_off(tmp_path: Path) -> None:
    blocks = """
set restart 0
if {$restart} {
  binCoordinates old.coor
  foreach file {a b} {
    parameters $file
  }
} else {
  langevin on; langevinTemp 280   ;# in one line
  langevinDamping 2
}
if { 1 } {
  outputPressure 10
}
"""
    found = read(tmp_path, "run.namd", NAMD + blocks)
    assert found.refused == []
    assert found.settings["system"]["coordinates"] == str(tmp_path / "apoa1.pdb")
    assert found.settings["integrator"]["friction"] == 2
    assert found.settings["integrator"]["temperature"] == 280
    assert noted(found, "lines 34 to 39: left out, as their condition is 0", "outputPressure 10")
    for old, new, words in (
        ("{$restart}", "{$restart && 1}", r"line 34: Tcl \('if \{\$restart && 1\} \{'\)"),
        ("{$restart}", "{[file exists a]}", r"line 34: Tcl \('if \{\[file exists a\]\} \{'\)"),
        ("{$restart}", "{$missing}", "line 34: the variable missing is not set"),
        ("{ 1 }", "{ 2 }", "line 43: .* but for conditions 0, 1 and comparisons"),
        ("} else {", "} elseif {1} {", "line 34: this block of Tcl has no '}'"),
        ("outputPressure 10\n}", "outputPressure 10", "line 43: this block of Tcl has no '}'"),
        ("outputPressure 10\n}", "outputPressure 10\n}\n}", r"line 46: Tcl \('\}'\)"),
    ):
        with pytest.raises(InputError, match=words):
            read(tmp_path, "run.namd", NAMD + blocks.replace(old, new))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("{$a == 3}", True),
        ("{ $a == 3.0 }", True),
        ("{$a != 3}", False),
        ("{$a < 3}", False),
        ("{$a <= ${b}}", True),
        ("{$a > $b}", False),
        ("{$a>=2}", True),
        ("{$c eq npt}", True),
        ('{$c == "npt"}', True),
        ('{$c ne "npt"}', False),
        ("{$on} then", True),
    ],
)
def test_conditions_of_namd(condition: str, holds: bool, tmp_path: Path) -> None:
    text = f"set a 3\nset b 10\nset c npt\nset on 1\nif {condition} {{\noutputPressure 10\n}}\n"
    found = read(tmp_path, "run.namd", NAMD + text)
    assert found.refused == []
    assert noted(found, "outputPressure 10") == holds


def test_variables_of_namd(tmp_path: Path) -> None:
    text = 'set temp\t{310}\nset other "$temp";\nlangevin on\nlangevinTemp ${other}\n'
    found = read(tmp_path, "run.namd", NAMD + text)
    assert found.settings["integrator"]["temperature"] == 310


CELL = "cellBasisVector1 40 0 0\ncellBasisVector2 0 40 0\ncellBasisVector3 0 0 40\n"


def test_the_cell_is_never_that_of_the_coordinates(tmp_path: Path) -> None:
    """NAMD does not read CRYST1, and would run without a periodic cell or refuse PME."""
    without = NAMD.replace("cellBasisVector", "# ")
    (tmp_path / "apoa1.pdb").write_text("CRYST1  108.861  108.861   77.758  90.00  90.00  90.00\n")
    (refused,) = read(tmp_path, "apoa1.namd", without).refused
    assert refused.startswith("no periodic cell: give cellBasisVector1, 2 and 3, or extendedSystem")
    assert "CRYST1" in refused
    (tmp_path / "apoa1.xsc").write_text("0 108 0 0 0 108 0 0 0 78 0 0 0\n")
    found = read(tmp_path, "apoa1.namd", without + "extendedSystem apoa1.xsc\n")
    assert found.refused == []
    assert found.settings["system"]["box"] == [10.8, 10.8, 7.8, 90, 90, 90]  # 78 * 0.1 is not 7.8


def test_a_topology_of_another_program_scales_1_4_interactions_itself(tmp_path: Path) -> None:
    """NAMD's default would not; what is said beside a topology of GROMACS is told."""
    for program, files in (
        ("amber", "parmfile a.prmtop\nambercoor a.inpcrd"),
        ("gromacs", "grotopfile a.top\ngrocoorfile a.gro"),
    ):
        text = f"{program} on\n{files}\n{CELL}cutoff 9\nswitching off\nPME on\nPMEGridSpacing 1\n"
        text += "exclude scaled1-4\ntimestep 1\nrun 10\n"
        found = read(tmp_path, "run.namd", text)
        assert found.refused == []
        assert noted(found, "1-4scaling is not given: 1-4 interactions are scaled as the topology")
    found = read(tmp_path, "run.namd", text.replace("timestep", "1-4scaling 0.5\ntimestep"))
    assert found.refused == []
    assert noted(found, "1-4scaling 0.5: 1-4 interactions are scaled as the topology says")


@pytest.mark.parametrize(("scaling", "done"), [("0.833333", True), ("1.0", False), ("x", False)])
def test_namd_with_files_of_amber(tmp_path: Path, scaling: str, done: bool) -> None:
    """They have the scaling of 1-4 interactions that NAMD must be told."""
    text = (
        "amber on\nparmfile a.prmtop\nambercoor a.inpcrd\ncutoff 9\nswitching off\nPME on\n"
        f"PMEGridSpacing 1\nexclude scaled1-4\n1-4scaling {scaling}\n{CELL}timestep 1\nrun 10\n"
    )
    (tmp_path / "in.namd").write_text(text)
    control = read_control(tmp_path / "in.namd")
    assert control is not None
    assert control.settings["system"]["topology"] == str(tmp_path / "a.prmtop")
    refused = [f"line 9, 1-4scaling {scaling}: a topology of Amber has its own scaling"]
    assert [text.split(", for which")[0] for text in control.refused] == ([] if done else refused)


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


EXTRA = """# kind, atoms from 0, k, reference
bond 4 6 10.0 2.5
WALL 4 6 2.0 2.0 3.5   # free between
angle 4 6 8 5.0 110.0
dihedral 4 6 8 14 20.0 -60.0
improper 6 4 8 7 1.5 0 25.0
"""


def test_extra_bonds_of_namd(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Energies are k (x - x0)^2 in kcal/mol, with x as MDAnalysis measures it."""
    (tmp_path / "extra.txt").write_text(EXTRA)
    asked = "extraBonds on\nextraBondsFile extra.txt\n"
    (refusal,) = read(tmp_path, "run.namd", NAMD + asked).refused
    assert "line 33, extraBondsFile extra.txt: line 4: NAMD takes extra angles by" in refusal
    found = read(tmp_path, "run.namd", f"{NAMD}{asked}extraBondsCosAngles off\n")
    assert found.refused == []
    assert noted(found, "extraBonds: their energy is that of restraints")
    restraints = build_config(found.settings).restraint
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe(*alanine, topology_format="PRMTOP", format="INPCRD")
    atoms = universe.atoms
    distance = np.linalg.norm(atoms[4].position - atoms[6].position)
    phi = np.radians(atoms[[4, 6, 8, 14]].dihedral.value() + 60)
    expected = [
        10.0 * (distance - 2.5) ** 2,
        2.0 * (max(0, 2.0 - distance) + max(0, distance - 3.5)) ** 2,
        5.0 * np.radians(atoms[[4, 6, 8]].angle.value() - 110) ** 2,
        20.0 * np.arctan2(np.sin(phi), np.cos(phi)) ** 2,
        1.5 * np.radians(atoms[[6, 4, 8, 7]].improper.value() - 25) ** 2,
    ]
    for restraint, energy in zip(restraints, expected, strict=True):
        simulation = quiltmd.Simulation(
            *quiltmd.load(*alanine, restraints=[restraint]), device="cpu"
        )
        assert simulation.energies()["restraint"] == pytest.approx(4.184 * energy, rel=1e-4)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bond 4 6 10.0", "'bond 4 6 10.0' is not an extra bond: expected bond ATOM ATOM K LENGTH"),
        ("spring 4 6 10.0 2", "expected bond or wall or angle or dihedral or improper"),
        ("bond 4 x 10.0 2", "expected bond ATOM ATOM K LENGTH"),
        ("bond -1 6 10.0 2", "atoms must be different numbers, counted from 0"),
        ("bond 4 4 10.0 2", "atoms must be different numbers"),
        ("bond 4 6 -10.0 2", "the force constant not negative"),
        ("bond 4 6 nan 2", "numbers must be finite"),
        ("bond 4 6 10.0 inf", "numbers must be finite"),
        ("bond 4 6 10.0 -2", "lengths must be positive"),
        ("wall 4 6 10.0 5 2", "the lower one first"),
        ("angle 1 2 3", "expected angle ATOM ATOM ATOM K ANGLE"),
        ("dihedral 1 2 3 4 1.0 3 180", "dihedral with periodicity 3: only harmonic ones"),
    ],
)
def test_extra_bonds_that_are_none(line: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "extra.txt").write_text(f"\n{line}\n")
    asked = "extraBonds on\nextraBondsFile extra.txt\nextraBondsCosAngles off\n"
    with pytest.raises(InputError, match=f"extra.txt, line 2: .*{words}"):
        read(tmp_path, "run.namd", NAMD + asked)


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
    assert noted(
        found, "replaced by stochastic cell rescaling", "langevinPistonDecay", "useGroupPressure"
    )
    assert piston == {
        "kind": "cell-rescaling",
        "coupling": "isotropic",
        "pressure": 1.01325,
    }
    found, flexible = barostat(PISTON + "useFlexibleCell yes\nuseConstantRatio yes\n")
    assert flexible["coupling"] == "semi-isotropic"
    found, area = barostat(PISTON + "useFlexibleCell yes\nuseConstantArea yes\n")
    assert area["compressibility"] == (0.0, 4.5e-5)
    relaxing = PISTON.partition("langevinPiston ")[0] + (
        "BerendsenPressure on\nBerendsenPressureTarget 1.0\nBerendsenPressureRelaxationTime 100\n"
    )
    found, often = barostat(relaxing + "BerendsenPressureFreq 20\nfullElectFrequency 3\n")
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
    assert noted(found, "width of proposals", "move with their centres", "langevinPistonPeriod")
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


def test_how_often_and_how_long_namd_runs(tmp_path: Path) -> None:
    found = read(tmp_path, "run.namd", f"{NAMD}run 200\n")
    assert found.settings["run"]["steps"] == 200
    assert noted(found, "numsteps 500: run says")
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
    assert noted(off, "switchdist 10: no effect without switching")


def test_a_configuration_goes_on_from_the_run_of_another(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    """With the names of NAMD's manual, where a run has left its last files in a folder."""
    box = quiltmd.load(*alanine)[1].box
    assert box is not None
    head = f"""
amber on
parmfile {alanine[0]}
1-4scaling 0.833333
exclude scaled1-4
cutoff 9
switching off
PME on
PMEGridSpacing 1.0
rigidBonds all
outputEnergies 5
timestep 1
"""
    cell = "".join(
        f"cellBasisVector{k + 1} {' '.join(str(one) for one in row)}\n"
        for k, row in enumerate(box * 10)
    )
    first = f"{head}ambercoor {alanine[1]}\n{cell}temperature 300\noutputname eq\nrun 10\n"
    (tmp_path / "eq.namd").write_text(first)
    second = """ambercoor absent.crd
bincoordinates eq.restart.coor
binvelocities eq.vel
extendedSystem eq.xsc
outputname md
firsttimestep 10
run 10
"""
    (tmp_path / "md.namd").write_text(head + second)
    for name in ("eq.namd", "md.namd"):
        done = run_command("run", name, "--device", "cpu", "--threads", "1", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "eq.restart.coor: it is final.coor of the run in" in " ".join(done.stderr.split())
    before, after = (read_checkpoint(tmp_path / name / "checkpoint.qmd") for name in ("eq", "md"))
    assert after.state.step == before.state.step + 10
    alone = tmp_path / "md.namd"
    alone.write_text(alone.read_text().replace("eq.vel", "other.vel"))
    done = run_command("run", "md.namd", "--overwrite", cwd=tmp_path)
    assert done.returncode == 1
    assert "other.vel" in done.stderr
