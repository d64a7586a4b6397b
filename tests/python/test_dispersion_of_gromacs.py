# SPDX-License-Identifier: Apache-2.0
"""The tail correction beside GROMACS' DispCorr: where both must be equal, and by how much not.

docs/theory/nonbonded.md has the differences.  Runs where Debian's gromacs is installed (gmx_d).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gromacs_programs import GMX, MDP, compute

import quiltmd

pytestmark = pytest.mark.skipif(GMX is None, reason="needs gmx_d")

ATOMS, SPACING, SIGMA, EPSILON, CUTOFF, START = 216, 0.38, 0.34, 0.996, 0.9, 0.8
ARGON = f"""[ defaults ]
1 2
[ atomtypes ]
AR 39.948 0 A {SIGMA} {EPSILON}
[ moleculetype ]
AR 1
[ atoms ]
1 AR 1 AR AR 1 0
[ system ]
argon
[ molecules ]
AR {ATOMS}
"""
# By vdw-modifier.
FORCE_SWITCH = {"switching": "gromacs-force", "switch_distance": START}
SWITCH = {"switching": "potential", "switch_distance": START}
ENDS = {"none": {}, "potential-shift": {"potential_shift": True}}
ENDS |= {"potential-switch": SWITCH, "force-switch": FORCE_SWITCH}


def lowered(modifier: str) -> float:
    """The constant that a modifier subtracts from the energy of each pair, kJ/mol."""

    def of_power(m: int) -> float:
        if modifier == "potential-shift":
            return CUTOFF**-m
        if modifier != "force-switch":
            return 0.0
        width = CUTOFF - START  # GROMACS' manual, "Modified non-bonded interactions"
        scale = CUTOFF ** -(m + 2)
        second = -m * ((m + 4) * CUTOFF - (m + 1) * START) * scale / width**2
        third = m * ((m + 3) * CUTOFF - (m + 1) * START) * scale / width**3
        return CUTOFF**-m - second / 3 * width**3 - third / 4 * width**4

    return 4 * EPSILON * (SIGMA**12 * of_power(12) - SIGMA**6 * of_power(6))


@pytest.fixture
def argon(tmp_path: Path) -> Path:
    places = SPACING * (np.indices((6, 6, 6)).reshape(3, -1).T + 0.5)
    rows = [
        f"{k:5d}AR   {'AR':>5s}{k:5d}{x:8.3f}{y:8.3f}{z:8.3f}"
        for k, (x, y, z) in enumerate(places, start=1)
    ]
    box = " ".join([f"{6 * SPACING:.5f}"] * 3)
    (tmp_path / "a.gro").write_text("\n".join(["argon", str(ATOMS), *rows, box, ""]))
    (tmp_path / "a.top").write_text(ARGON)
    return tmp_path


@pytest.mark.parametrize("modifier", ENDS)
def test_the_difference_from_dispcorr_is_as_documented(argon: Path, modifier: str) -> None:
    mdp = MDP.replace("vdw-modifier = none", f"vdw-modifier = {modifier}")
    mdp += f"rvdw-switch = {START}\nDispCorr = AllEnerPres\n"
    theirs = compute(argon, "a.top", "a.gro", cutoff=CUTOFF, mdp=mdp).energies
    system, state = quiltmd.load(argon / "a.top", argon / "a.gro")
    found = []
    for corrected in (True, False):
        chosen = quiltmd.Nonbonded(
            cutoff=CUTOFF,
            method="cutoff",
            dispersion_correction=corrected,
            **{"potential_shift": False, **ENDS[modifier]},
        )
        run = quiltmd.Simulation(system, state, nonbonded=chosen, device="cpu", threads=1)
        found.append((run.energies()["dispersion"], run.pressure()))
    energy, pressure = np.subtract(*found)
    # GROMACS does not count an atom as its own neighbour.
    assert energy == pytest.approx(
        theirs["Disper. corr."] + ATOMS / 2 * lowered(modifier), rel=1e-5
    )
    assert pressure == pytest.approx(theirs["Pres. DC"], rel=1e-5)
