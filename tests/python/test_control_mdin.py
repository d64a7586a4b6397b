# SPDX-License-Identifier: Apache-2.0
"""Amber's mdin: what is taken over, noted and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import quiltmd as command
from control_examples import FILES, MDIN, noted, read, with_line
from scipy.special import erfc

import quiltmd
from quiltmd.running.config import build_config, read_config


def test_mdin(tmp_path: Path) -> None:
    found = read(tmp_path, "mdin", MDIN)
    assert found.refused == []
    alpha = found.settings["nonbonded"].pop("pme_alpha")
    assert erfc(alpha * 0.9) / 9 == pytest.approx(1e-5)
    assert found.settings == {
        "run": {"steps": 1000, "require_velocities": True},
        "integrator": {
            "timestep": 0.002,
            "temperature": 310.0,
            "seed": 77,
            "ensemble": "nvt",
            "friction": 2.0,
        },
        "system": {"constraints": "h-bonds", "rigid_water": True},
        "nonbonded": {
            "method": "pme",
            "cutoff": 0.9,
            "dispersion_correction": True,
            "pme_grid": [64, 60, 48],
            "pme_order": 4,
        },
        "output": {"log_every": 100, "trajectory_every": 200, "checkpoint_every": 500},
    }
    assert noted(found, "tempi 100", "ioutfm 1: [output] sets the formats")
    silent = read(tmp_path, "mdin", MDIN.replace("ntwx=200,", ""))
    assert silent.settings["output"]["trajectory_every"] == 0


def test_namelists_end_as_fortran_has_it(tmp_path: Path) -> None:
    """By a slash or &end, wherever it stands outside of strings and comments."""
    found = read(
        tmp_path,
        "min.in",
        "min, 1/2 of it\n&cntrl imin=1, maxcyc=250, ! don't end / here &end\n"
        " cut=9.d0, restraintmask='@C/N &!:WAT', ntb=1/ nothing here\n&ewald order=4 &end\n",
    )
    assert found.refused == []
    assert found.settings["run"]["minimize_iterations"] == 250
    assert found.settings["nonbonded"]["cutoff"] == 0.9
    assert noted(found, "restraintmask '@C/N &!:WAT': no effect without restraints")
    assert noted(
        found, "imin 1: the minimisation ends when the largest force is below minimize_tolerance"
    )
    both = read(tmp_path, "min.in", " &cntrl\n imin=1, ntb=1,\n&end\n/\n&end\n")
    assert both.refused == []


def test_bonds_that_are_constrained_and_in_the_list_of_forces(tmp_path: Path) -> None:
    """The dynamics are those of ntf = 2: constraint forces take up what the bonds add."""
    found = read(tmp_path, "mdin", MDIN.replace("ntf=2", "ntf=1"))
    assert found.refused == []
    assert noted(found, "ntf 1: constrained bonds have no energy")
    assert noted(
        read(tmp_path, "mdin", MDIN.replace("ntf=2,", "")), "ntf is not given: constrained bonds"
    )
    all_bonds = read(tmp_path, "mdin", MDIN.replace("ntc=2, ntf=2", "ntc=3, ntf=1"))
    assert all_bonds.settings["system"]["constraints"] == "all-bonds"
    assert all_bonds.settings["system"]["rigid_water"]
    assert noted(all_bonds, "ntf 1: constrained bonds have no energy, as with ntf = 3")
    (refused,) = read(tmp_path, "mdin", MDIN.replace("ntc=2", "ntc=1")).refused
    assert "ntf 2: only 1 or ntf = ntc" in refused


HEAT = """heat
 &cntrl
  irest=0, ntx=1, nstlim=20000, dt=0.002, ntc=2, ntf=2, cut=8.0, ntb=1,
  ntt=3, gamma_ln=2.0, tempi=0.0, temp0=280.0, nmropt=1, ig=5, iwrap=1, nscm=0, scee=1.2,
 /
 &wt type='TEMP0', istep1=0, istep2=9000, value1=0.0, value2=300.0 /
 &wt TYPE='TEMP0', istep1=9001, istep2=10000, value1=300.0, value2=310.0, &end
 &wt type='END' /
LISTOUT=POUT
"""


def test_heating_of_mdin(tmp_path: Path) -> None:
    """Changes of TEMP0 are a schedule, which goes on with the last temperature."""
    found = read(tmp_path, "heat.in", HEAT)
    assert found.refused == []
    assert found.settings["run"] == {"steps": 20000, "start_temperature": 0}
    dynamics = build_config(found.settings | {"output": {"dir": "out"}, **FILES}).integrator
    assert dynamics.annealing == ((0, 0), (18, 300), (18.002, 300), (20, 310))
    assert noted(
        found,
        "TEMP0: temp0 280 holds until",
        "every 200 steps",
        "LISTOUT=POUT: this output",
        "nscm 0: centre-of-mass motion",
    )
    assert noted(found, "iwrap 1: molecules in the trajectory are whole")

    def points(changes: str) -> list[tuple[float, float]]:
        head = HEAT.split(" &wt")[0]
        made = read(tmp_path, "heat.in", head + changes)
        assert made.refused == []
        return list(made.settings["integrator"]["annealing"])

    one = " &wt type='TEMP0', istep1={}, istep2={}, value1={}, value2={} /\n".format
    # temp0 until the first change; a value that stays; a pause in which it stays; two in a row.
    assert points(one(501, 1000, 10, 20)) == [(0, 280), (1, 280), (1.002, 10), (2, 20)]
    assert points(one(501, 0, 10, 20)) == [(0, 280), (1, 280), (1.002, 10)]
    pause = points(one(1, 500, 10, 20) + one(1001, 1500, 30, 40))
    assert pause == [(0, 10), (1, 20), (2, 20), (2.002, 30), (3, 40)]
    assert points(one(0, 500, 1, 20) + one(500, 1000, 20, 30)) == [(0, 1), (1, 20), (2, 30)]


def test_other_changes_of_mdin(tmp_path: Path) -> None:
    for old, new, words in (
        ("type='TEMP0'", "type='CUT'", "line 6, &wt cut: only TEMP0 may change"),
        ("value1=0.0", "imult=1, value1=0.0", "imult 1: only changes that are linear"),
        ("value1=0.0", "valeu1=0.0", "valeu1 0.0: this keyword is not known here"),
        ("istep1=9001", "istep1=8000", "changes must follow each other"),
        ("ntt=3, gamma_ln=2.0", "ntt=0", "&wt TEMP0: needs a thermostat"),
        ("LISTOUT=POUT", "disang = rst.dist", "line 9, disang = rst.dist: restraints of distances"),
    ):
        assert old in HEAT
        (refused,) = read(tmp_path, "heat.in", HEAT.replace(old, new)).refused
        assert words in refused
    off = read(tmp_path, "heat.in", HEAT.replace("nmropt=1", "nmropt=0"))
    assert off.refused == []
    assert off.settings["integrator"]["temperature"] == 280
    assert noted(off, "line 6, &wt: no effect without nmropt = 1")
    minimised = read(tmp_path, "heat.in", HEAT.replace("irest=0", "imin=1"))
    assert minimised.refused == []
    assert noted(minimised, "line 6, &wt: no effect in a minimisation")
    weights = HEAT.replace(" &wt type='END'", " &wt type='REST', value1=1.0 /\n &wt type='END'")
    weighted = read(tmp_path, "heat.in", weights)
    assert weighted.refused == []
    assert noted(weighted, "line 8, &wt REST: of restraints that nmropt brings")
    none = read(tmp_path, "heat.in", HEAT.split(" &wt")[0])
    assert none.refused == []
    assert noted(none, "nmropt 1: nothing is changed")


def test_velocities_of_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Amber reads those of the file where ntx is 5; without, it draws them, at 0 K by default."""
    whole = read(tmp_path, "mdin", MDIN).settings["run"]
    assert whole == {"steps": 1000, "require_velocities": True}
    without = MDIN.replace("ntx = 5, irest = 1,", "")
    assert read(tmp_path, "mdin", without).settings["run"]["start_temperature"] == 100
    cold = read(tmp_path, "mdin", without.replace("tempi=100.0,", ""))
    assert cold.settings["run"]["start_temperature"] == 0
    assert noted(cold, "tempi 0: atoms start at rest")
    other = read(tmp_path, "mdin", MDIN.replace("ntx = 5", "ntx = 1"))
    assert "irest 1, ntx 1" in other.refused[0]
    assert len(other.refused) == 1  # and tempi is no unknown keyword


def test_restraints_of_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    text = with_line("mdin", "ntr=1, restraint_wt=5.0, restraintmask=':1-2@CA,N,C=|(!:WAT&@/O)',")
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
    assert noted(found, "ntr 1: atoms are restrained to the positions in `reference`")
    assert not noted(found, "in Amber those of each molecule")
    pressed = read(tmp_path, "mdin", text.replace("ntb=1, ntp=0", "ntb=2, ntp=1"))
    assert noted(pressed, "in Amber those of each molecule")


GROUPS = """Keep the solute
5.0
RES 1 2
ATOM 30 32 40 40
END
and an ion
2.5
RES 9 9
END
END
"""


def test_groups_of_restrained_atoms_of_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """After the namelists, as before there was restraintmask."""
    text = with_line("mdin", "ntr=1,") + "LISTOUT=POUT\n/\n"
    found = read(tmp_path, "mdin", text + GROUPS)
    assert found.refused == []
    first, second = found.settings["restraint"]
    assert first["k"] == pytest.approx(2 * 5.0 * 418.4)
    assert second == {"kind": "position", "select": "residue 9-9", "k": pytest.approx(2092)}
    system, _ = quiltmd.load(*alanine)
    residues = system.topology.residue_of_atom
    wanted = [*np.flatnonzero(residues < 2), 29, 30, 31, 39]
    assert quiltmd.select(system, first["select"]).tolist() == wanted
    for old, new, words in (
        ("RES 1 2", "FIND", "line 16, FIND: only RES and ATOM with pairs of numbers"),
        ("RES 1 2", "RES 1", "line 16, RES 1: only RES and ATOM"),
        ("5.0\n", "", "line 14, Keep the solute: a group of atoms is a title, a weight"),
        ("END\nEND\n", "", "line 19, and an ion: a group of atoms is a title, a weight"),
    ):
        assert words in read(tmp_path, "mdin", text + GROUPS.replace(old, new)).refused[0]
    assert read(tmp_path, "mdin", MDIN + GROUPS).refused == []  # no effect without ntr


def inputs(files: tuple[Path, Path]) -> dict[str, Any]:
    return {"system": {"topology": files[0], "coordinates": files[1]}}


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


def test_a_cutoff_without_a_box_is_for_implicit_solvent(tmp_path: Path) -> None:
    text = "title\n &cntrl\n  {}, ntb=0, cut=12.0, ntt=3, gamma_ln=1.0,\n /\n"
    solvent = read(tmp_path, "control.mdin", text.format("igb=5"))
    assert solvent.settings["nonbonded"]["method"] == "cutoff"
    assert solvent.settings["nonbonded"]["cutoff"] == pytest.approx(1.2)
    assert any("shifted" in note for note in solvent.notes)
    assert solvent.settings["system"]["box"] == ()
    vacuum = read(tmp_path, "control.mdin", text.format("igb=6"))
    assert any("only without a cutoff" in refused for refused in vacuum.refused)


def test_a_run_from_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """As Amber's programs are called; what is not taken over stands on stderr."""
    text = MDIN.replace("nstlim = 1000", "nstlim = 3").replace("cut = 9.0", "cut = 8.0")
    (tmp_path / "mdin").write_text(text.replace("nfft1=64, nfft2=60, nfft3=48,", ""))
    call: list[Any] = ["run", "mdin", "-p", alanine[0], "-c", alanine[1], "--device", "cpu"]
    still = command(*call, cwd=tmp_path)
    assert still.returncode == 1
    assert f"{alanine[1].name}: no velocities, which require_velocities (ntx = 5" in still.stderr
    assert not (tmp_path / "mdin-quilt" / "config.toml").exists()
    found = command(*call, "--no-require-velocities", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "mdin: ioutfm 1: [output] sets the formats" in " ".join(found.stderr.split())
    written = read_config(tmp_path / "mdin-quilt" / "config.toml")
    assert written["integrator"]["temperature"] == 310.0
    assert written["nonbonded"]["cutoff"] == 0.8
    (tmp_path / "mdin").write_text(text.replace("ntp=0", "ntp=4"))
    refused = command(*call, cwd=tmp_path)
    assert refused.returncode == 1
    assert "not supported" in refused.stderr


def test_a_box_that_is_left_out(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Amber's ntb = 0 with files that have a box, and `--box none`; a System of OpenMM has one."""
    system, state = quiltmd.load(*alanine, box=())
    assert state.box is None
    assert system.nonbonded is not None
    assert system.nonbonded.method == "no-cutoff"
    (tmp_path / "mdin").write_text("t\n &cntrl\n imin=1, maxcyc=0, ntb=0, igb=6, cut=999.0 /\n")
    files: list[Any] = ["-p", alanine[0], "-c", alanine[1], "--device", "cpu"]
    done = command("run", "mdin", *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_config(tmp_path / "mdin-quilt" / "config.toml")["system"]["box"] == []
    energy = command("energy", *alanine, "--box", "none", "--json", cwd=tmp_path)
    assert json.loads(energy.stdout)["energy"]["pme"] == 0
    made = tmp_path / "system.xml"
    command("convert", *alanine, "--system", made, cwd=tmp_path)
    refused = command("energy", made, alanine[1], "--box", "none", cwd=tmp_path)
    assert refused.returncode == 1
    assert "PME needs a periodic box" in refused.stderr


HELD = """held
 &cntrl
  {what}, cut=8.0, ntc=2, ntf=2, ntr=1, restraintmask=':1-3', restraint_wt=5.0,
 /
"""


def test_what_a_run_says_before_it_begins(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """What it does; a warning once; that atoms are at rest; -r is --reference, as of grompp."""
    files: list[Any] = ["-p", alanine[0], "-c", alanine[1], "-r", alanine[1], "--device", "cpu"]
    (tmp_path / "min").write_text(HELD.format(what="imin=1, maxcyc=2, ntb=1"))
    found = command("run", "min", *files, cwd=tmp_path)
    assert "2269 atoms, a minimisation, on cpu" in found.stderr, found.stderr
    assert read_config(tmp_path / "min-quilt" / "config.toml")["system"]["reference"]
    found = command("run", "min", "-p", alanine[0], cwd=tmp_path)
    assert "error: min: give also --coordinates" in found.stderr
    found = command("run", alanine[0], cwd=tmp_path)
    assert "give a configuration file, or also --coordinates, --steps, --out" in found.stderr
    (tmp_path / "npt").write_text(HELD.format(what="nstlim=2, ntt=3, gamma_ln=1.0, ntb=2, ntp=1"))
    found = command("run", "npt", *files, cwd=tmp_path)
    assert "2269 atoms, NPT at 300 K and 1 bar, 1 fs steps" in found.stderr, found.stderr
    assert found.stderr.count("gives no known ensemble") == 1
    assert "atoms start at rest" in found.stderr.splitlines()


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


def test_pme_without_a_box_in_the_files_is_refused(openmmtools_data: Path, tmp_path: Path) -> None:
    """As in Amber; the default without a box would be a vacuum."""
    name = "alanine-dipeptide-gbsa/alanine-dipeptide"
    files = (openmmtools_data / f"{name}.prmtop", openmmtools_data / f"{name}.crd")
    text = " &cntrl\n  nstlim=10, dt=0.002, ntc=2, ntf=2, ntb=1, cut=8.0, ntt=3, tempi=300\n /\n"
    (tmp_path / "mdin").write_text("title\n" + text)
    found = command("run", "mdin", "-p", files[0], "-c", files[1], cwd=tmp_path)
    assert found.returncode == 1
    assert "PME needs a periodic box, and there is none: give one (box)" in found.stderr
    assert not (tmp_path / "mdin-quilt").exists()
