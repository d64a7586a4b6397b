# SPDX-License-Identifier: Apache-2.0
"""`benchmarks/freesolv.py`: the systems that it makes of files of the database."""

from __future__ import annotations

import io
import sys
import tarfile
from argparse import Namespace
from pathlib import Path

import numpy as np

import quiltmd
from quiltmd.running.config import build_config
from quiltmd.running.run_inputs import load_system

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import freesolv

# Two united atoms, in the form of the database.
TOPOLOGY = """[ defaults ]
1 2 yes 0.5 0.833333

[ atomtypes ]
c3 c3 6 15.035 0.0 A 3.75e-01 8.1e-01

[ moleculetype ]
MOL 3

[ atoms ]
1 c3 1 MOL C1 1 0.1 15.035
2 c3 1 MOL C2 2 -0.1 15.035

[ bonds ]
1 2 1 1.53e-01 2.5e+05

[ system ]
Untitled

[ molecules ]
MOL 1
"""
PLACES = """Untitled
2
    1MOL  C1       1  -0.076500000000   0.000000000000   0.000000000000
    1MOL  C2       2   0.076500000000   0.000000000000   0.000000000000
  7.0000000  7.0000000  7.0000000
"""


def test_a_molecule_of_the_database_is_put_into_water(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "gromacs.tar.gz", "w:gz") as archive:
        for suffix, text in (("top", TOPOLOGY), ("gro", PLACES)):
            entry = tarfile.TarInfo(f"gromacs/mobley_1.{suffix}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    files = freesolv.solvated(freesolv.read_molecule(tmp_path, "mobley_1"), 340, tmp_path)
    given = Namespace(device="cpu", threads=1, hmr=False, cutoff=0.9, seed=1, waters=340)
    given.timestep = 0.002
    alchemy = {**freesolv.vanishing("short"), "state": 3}
    settings = freesolv.configuration(given, files, alchemy, tmp_path / "out")
    settings["run"]["steps"] = 1
    config = build_config(settings)
    system, state = load_system(config)
    waters = (system.atoms - 2) // 3
    assert 330 < waters < 343
    assert abs(system.charges.sum()) < 1e-9
    assert system.alchemy is not None
    assert list(system.alchemy.atoms) == [0, 1]
    np.testing.assert_array_equal(system.alchemy.start, [1.0, 0.4])
    density = waters * 18.015 * 1.66054e-3 / np.prod(np.diag(state.box))
    assert 0.95 < density < 1.0
    simulation = quiltmd.Simulation(
        system, state, quiltmd.Nonbonded(cutoff=0.9), device="cpu", ranks=1, threads=1
    )
    assert np.isfinite(simulation.state_energies()).all()
    assert len(simulation.state_energies()) == len(settings["alchemy"]["vdw"])
