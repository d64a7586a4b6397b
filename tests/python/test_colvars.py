# SPDX-License-Identifier: Apache-2.0
"""Collective variables of NAMD configurations: what is taken over as restraints, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_examples import NAMD, noted, read

import quiltmd
from quiltmd import InputError, Nonbonded, Restraint, Simulation, State, System
from quiltmd.running.config import build_config

pytestmark = pytest.mark.filterwarnings("ignore:there is no periodic box")
COLVARS = """
colvarsTrajFrequency 100   # of no effect
colvar {
  name d
  width 0.5
  distance {
    group1 { atomNumbers 1 2 3 }
    group2 { atomNumbersRange 4-5
             atomNumbers { 7 } }
    forceNoPBC off
  }
}
Colvar { name a
  angle { group1 { atomNumbers 1 }
          group2 { atomNumbers 2 }
          group3 { atomNumbers 3 } } }
colvar { name t
  dihedral {
    group1 { atomNumbers 1 }
    group2 { atomNumbers 2 }
    group3 { atomNumbers 3 }
    group4 { atomNumbers 4 5 }
  }
}
colvar { name g
  gyration { atoms { atomNumbersRange 1-6 } }
}
colvar { name c
  coordNum { cutoff 3.0
    group1 { atomNumbers 1 2 }
    group2 { atomNumbers 5 6 7 } }
}
harmonic {
  name pull
  colvars d c
  centers 4.0 1.5
  forceConstant 2.0
}
harmonic { colvars a
  centers 100
  forceConstant 0.01 }
harmonicWalls {
  colvars t
  lowerWalls -60
  upperWalls 20
  forceConstant 0.02
}
harmonicWalls {
  colvars d
  upperWalls 3.0
}
"""


def asked(tmp_path: Path, text: str) -> Any:
    (tmp_path / "colvars.in").write_text(text)
    return read(tmp_path, "run.namd", NAMD + "colvars on\ncolvarsConfig colvars.in\n")


def test_variables_and_biases_become_restraints(tmp_path: Path) -> None:
    found = asked(tmp_path, COLVARS)
    assert found.refused == []
    assert noted(found, "in collective.csv")
    build_config(found.settings)
    tables = {table["name"]: table for table in found.settings["restraint"]}
    assert list(tables) == ["d", "c", "a", "t", "d.2", "g"]
    assert tables["d"]["select"] == ["index 1 2 3", "index 7 4-5"]
    assert tables["d"]["k"] == pytest.approx(2.0 * 418.4 / 0.25)
    assert tables["d"]["lower"] == tables["d"]["upper"] == pytest.approx(0.4)
    assert (tables["d.2"]["lower"], tables["d.2"]["upper"]) == (0.0, pytest.approx(0.3))
    assert tables["a"]["k"] == pytest.approx(0.01 * 4.184 * (180 / np.pi) ** 2)
    assert (tables["t"]["angle"], tables["t"]["width"]) == (-20.0, 40.0)
    assert tables["c"]["contact"] == pytest.approx(0.3)
    assert (tables["c"]["exponent"], tables["c"]["k"]) == (6, pytest.approx(2.0 * 4.184))
    assert (tables["g"]["k"], tables["g"]["weights"]) == (0.0, "equal")


def test_energies_and_forces_are_those_of_colvars(tmp_path: Path) -> None:
    """Of LAMMPS 2025.7.22, `fix colvars` with these variables, atoms and masses, units real."""
    angstrom = np.array(
        [
            [0.837, 0.955, 2.606],
            [0.294, 1.920, 2.331],
            [0.601, 0.176, 0.880],
            [2.104, 1.799, 0.480],
            [1.384, 2.142, 1.353],
            [2.026, 3.096, 2.186],
            [1.253, 0.599, 1.107],
        ]
    )
    energy = 73.4015079971916
    forces = [
        [38.07403626, 19.01140243, 12.28958811],
        [-41.69685686, -22.20447005, -8.73276301],
        [-33.41267177, -1.20262566, -5.36073874],
        [12.76551209, -3.18024003, 6.40818655],
        [11.62599812, -1.89777753, 4.39078294],
        [3.45881928, 4.25111039, -0.74673031],
        [9.18516288, 5.22260044, -8.24832555],
    ]
    values = {"d": 0.121008682484453, "a": 56.2632713806550, "t": -101.078024627563}
    values |= {"g": 0.139263610944616, "c": 5.47850445179210}
    tables = asked(tmp_path, COLVARS).settings["restraint"]
    restraints = [
        Restraint(**{**table, "select": _selections(table["select"])}) for table in tables
    ]
    system = System.of([12.0, 1.0, 16.0, 14.0, 12.0, 1.0, 32.0])
    system = quiltmd.restrain(system, restraints, angstrom / 10, None)
    state = State.start(system, angstrom / 10, None)
    simulation = Simulation(system, state, Nonbonded(method="no-cutoff"), device="cpu", threads=1)
    assert simulation.energies()["potential"] == pytest.approx(4.184 * energy, rel=1e-6)
    np.testing.assert_allclose(simulation.forces(), 41.84 * np.array(forces), atol=5e-3)
    found = simulation.collective()
    for name, value in values.items():
        assert found[name].value == pytest.approx(value, rel=1e-6)


def _selections(found: Any) -> Any:
    return found if isinstance(found, str) else tuple(found)


def test_a_centre_may_move(tmp_path: Path) -> None:
    moving = "targetCenters 6.0\n targetNumSteps 500\n"
    found = asked(
        tmp_path,
        COLVARS.split("Colvar {")[0]
        + f"harmonic {{\n colvars d\n centers 4.0\n forceConstant 1\n {moving}}}\n",
    )
    assert found.refused == []
    (table,) = found.settings["restraint"]
    assert table["path"] == [[0.0, pytest.approx(0.4)], [0.5, pytest.approx(0.6)]]
    build_config(found.settings)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "colvar {\n name e\n gyration { atoms { fittingGroup {\n atomNumbers 1\n} } }\n}\n",
            "fittinggroup: not supported",
        ),
        ("metadynamics {\n colvars d\n}\n", "metadynamics: only harmonic and harmonicWalls"),
        ("abf {\n colvars d\n}\n", "abf: only harmonic"),
        ("indexFile a.ndx\n", "indexfile a.ndx: not supported"),
        ("colvar {\n name e\n rmsd {\n atoms {\n atomNumbers 1\n }\n }\n}\n", "found rmsd"),
        (
            "colvar {\n name e\n extendedLagrangian on\n gyration { atoms { atomNumbers 1 } }\n}\n",
            "extendedlagrangian on: not supported",
        ),
        ("colvar {\n name e\n gyration { atoms { psfSegID A } }\n}\n", "psfsegid A: not supported"),
        (
            "harmonic {\n colvars d\n centers 1\n targetForceConstant 0\n}\n",
            "targetforceconstant 0: not supported",
        ),
        (
            "colvar {\n name e\n coordNum { tolerance 1e-3\n group1 { atomNumbers 1 }\n"
            " group2 { atomNumbers 2 } }\n}\n",
            "tolerance 1e-3: not supported",
        ),
        (
            "colvar {\n name e\n distance { forceNoPBC on\n group1 { atomNumbers 1 }\n"
            " group2 { atomNumbers 2 } }\n}\n",
            "forcenopbc on: not supported",
        ),
        (
            "colvar {\n name e\n distance { group1 { atomNumbers 1\n centerReference on }\n"
            " group2 { atomNumbers 2 } }\n}\n",
            "centerreference on: not supported",
        ),
    ],
)
def test_everything_else_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    found = asked(tmp_path, COLVARS + text)
    (refused,) = found.refused
    assert why in refused
    assert f"{tmp_path / 'colvars.in'}, line " in refused


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("colvar {\n name d\n", "has no end"),
        ("colvar {\n name d\n}\n", "a name of its own"),
        ("colvar {\n name e\n gyration { atoms { } }\n}\n", "gyration needs one atoms"),
        ("{\n}\n", "a brace without a keyword"),
        ("harmonic {\n colvars d\n centers 1 2\n}\n", "centers must be one number for each of 1"),
        ("harmonic {\n colvars d\n centers x\n}\n", "centers must be"),
        ("harmonicWalls {\n colvars d\n}\n", "needs lowerWalls or upperWalls"),
        ("colvar {\n name e\n width 0\n}\n", "width must be"),
        ("colvar {\n name e\n gyration { atoms { atomNumbers 0 } }\n}\n", "not the number of an"),
        ("harmonic {\n colvars d\n colvars d\n}\n", "colvars is there twice"),
        ("harmonic {\n colvars dd\n centers 1\n}\n", "there is no colvar 'dd'"),
        ("harmonicWalls {\n colvars d e\n upperWalls 1 2\n}\n", "there is no colvar 'e'"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        asked(tmp_path, COLVARS + text)
    assert caught.value.line is not None
