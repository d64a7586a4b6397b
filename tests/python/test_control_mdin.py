# SPDX-License-Identifier: Apache-2.0
"""Amber's mdin: what is taken over, noted and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import quiltmd as command
from control_examples import MDIN, noted, read, with_line
from scipy.special import erfc

import quiltmd
from quiltmd.running.config import build_config, read_config


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
    assert noted(found, "irest 1", "tempi 100", "ioutfm")


def test_velocities_of_mdin(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Amber reads those of the file where ntx is 5; without, it draws them, at 0 K by default."""
    assert read(tmp_path, "mdin", MDIN).settings["run"] == {"steps": 1000}
    without = MDIN.replace("ntx = 5, irest = 1,", "")
    assert read(tmp_path, "mdin", without).settings["run"]["start_temperature"] == 100
    cold = read(tmp_path, "mdin", without.replace("tempi=100.0,", ""))
    assert cold.settings["run"]["start_temperature"] == 0
    assert noted(cold, "tempi 0: atoms start at rest")
    other = read(tmp_path, "mdin", MDIN.replace("ntx = 5", "ntx = 1"))
    assert "irest 1, ntx 1" in other.refused[0]


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
    vacuum = read(tmp_path, "control.mdin", text.format("igb=6"))
    assert any("only without a cutoff" in refused for refused in vacuum.refused)


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
