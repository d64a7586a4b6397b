# SPDX-License-Identifier: Apache-2.0
"""Charges within a cutoff, and the field of a uniform medium beyond it.

As OpenMM has it (excluded pairs feel nothing) against its Reference platform, and as GROMACS has it
(they do, and each charge by itself) against the formula, pair by pair, and against energies that
GROMACS 2021 has written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import physical_validation
import pytest
from boxes import COULOMB, relative_rms
from numpy.typing import NDArray
from openmm_reference import energy_and_forces
from test_openmm_settings import CUTOFF, EDGE, force_of, positions, small_system

import quiltmd
from quiltmd import Nonbonded, Simulation, VelocityVerlet
from quiltmd.errors import QuiltError
from quiltmd.inputs.control_files import read_control
from quiltmd.openmm.write import to_openmm, write_openmm

pytestmark = [
    pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning"),
]

ROUNDING = 1e-3  # kJ/mol: the energies of 831 pairs of charges come to 2,700 but for their signs


def box_in_field(dielectric: float) -> Any:
    system = small_system()
    pairs = force_of(system, "NonbondedForce")
    pairs.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    pairs.setReactionFieldDielectric(dielectric)
    return system


def state_here() -> quiltmd.State:
    return state_at(positions())


def state_at(places: NDArray[np.float64]) -> quiltmd.State:
    return quiltmd.State(places, np.zeros_like(places), EDGE * np.eye(3))


@pytest.mark.parametrize("dielectric", [1.0, 2.5, 78.3, 1e9])
@pytest.mark.parametrize("ranks", [1, 2])
def test_openmm_s_field_is_openmm_s(dielectric: float, ranks: int) -> None:
    reference = box_in_field(dielectric)
    system = quiltmd.System.from_openmm(reference)
    assert system.nonbonded.method == "reaction-field"
    simulation = Simulation(system, state_here(), device="cpu", ranks=ranks)
    energy, forces = energy_and_forces(reference, positions())
    assert relative_rms(simulation.forces(), forces) < 2e-6
    assert simulation.energies()["potential"] == pytest.approx(energy, abs=ROUNDING)


def excluded_in_field(
    system: quiltmd.System, dielectric: float
) -> tuple[float, NDArray[np.float64]]:
    """What GROMACS has beyond OpenMM: qq (k r^2 - c) of excluded pairs, -c q^2/2 of each charge.

    GROMACS reference manual, "Coulomb interaction with reaction field".
    """
    part = 0.5 if dielectric == 0 else (dielectric - 1) / (2 * dielectric + 1)
    k = part / CUTOFF**3
    c = 1 / CUTOFF + k * CUTOFF**2
    charges, x = np.asarray(system.charges), positions()
    energy = -0.5 * c * COULOMB * float((charges**2).sum())
    forces = np.zeros_like(x)
    for i, j in np.asarray(system.exclusions).tolist():
        way = x[i] - x[j]
        way -= EDGE * np.round(way / EDGE)
        qq, r2 = COULOMB * charges[i] * charges[j], way @ way
        if r2 < CUTOFF**2:
            energy += qq * (k * r2 - c)
            forces[i] -= 2 * k * qq * way
            forces[j] += 2 * k * qq * way
    return energy, forces


@pytest.mark.parametrize("dielectric", [0.0, 1.0, 78.3])
def test_gromacs_s_field_acts_on_excluded_pairs_and_charges_too(dielectric: float) -> None:
    reference = box_in_field(dielectric or 1e12)
    settings = Nonbonded(
        cutoff=CUTOFF,
        method="reaction-field",
        dielectric=dielectric,
        dispersion_correction=system_corrects(reference),
    )
    system = quiltmd.System.from_openmm(reference, nonbonded=settings)
    simulation = Simulation(system, state_here(), device="cpu")
    energy, forces = energy_and_forces(reference, positions())
    more, pull = excluded_in_field(system, dielectric)
    assert relative_rms(simulation.forces(), forces + pull) < 2e-6
    energies = simulation.energies()
    assert energies["potential"] == pytest.approx(energy + more, abs=ROUNDING)
    assert energies["pme"] == 0  # there is none: what charges make by themselves is of "coulomb"


def system_corrects(reference: Any) -> bool:
    return bool(force_of(reference, "NonbondedForce").getUseDispersionCorrection())


@pytest.mark.parametrize("felt", [True, False])
def test_double_precision_has_the_same(felt: bool) -> None:
    settings = Nonbonded(cutoff=CUTOFF, method="reaction-field", reaction_field_on_exclusions=felt)
    system = quiltmd.System.from_openmm(box_in_field(78.3), nonbonded=settings)
    energies, forces = quiltmd.reference(system, state_here(), settings)
    simulation = Simulation(system, state_here(), device="cpu")
    assert relative_rms(simulation.forces(), forces) < 2e-6
    found = simulation.energies()
    assert found["coulomb"] == pytest.approx(energies["coulomb"], abs=ROUNDING)
    assert found["pme"] == energies["pme"] == 0


def test_forces_are_the_slope_of_the_energy() -> None:
    settings = Nonbonded(cutoff=CUTOFF, method="reaction-field", dispersion_correction=False)
    system = quiltmd.System.from_openmm(box_in_field(78.3), nonbonded=settings)
    forces = Simulation(system, state_here(), device="cpu").forces()
    step = 1e-4
    for atom, d in ((1, 0), (2, 2), (9, 1)):
        energies = []
        for side in (-step, step):
            moved = positions()
            moved[atom, d] += side
            moved_here = Simulation(system, state_at(moved), device="cpu")
            energies.append(moved_here.energies()["potential"])
        slope = (energies[0] - energies[1]) / (2 * step)
        assert slope == pytest.approx(forces[atom, d], rel=2e-3, abs=2.0)


@pytest.mark.parametrize("felt", [True, False])
def test_any_number_of_ranks_gives_the_same_bits(felt: bool) -> None:
    settings = Nonbonded(cutoff=CUTOFF, method="reaction-field", reaction_field_on_exclusions=felt)
    system = quiltmd.System.from_openmm(box_in_field(78.3), nonbonded=settings)
    digests = set()
    for ranks in (1, 2, 3):
        simulation = Simulation(
            system, state_here(), integrator=VelocityVerlet(0.0005), device="cpu", ranks=ranks
        )
        simulation.run(60)
        digests.add(quiltmd.digest(simulation.state()))
    assert len(digests) == 1


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(QuiltError, match="needs the method reaction-field: choose it, or"):
        Nonbonded(dielectric=4.0)
    with pytest.raises(QuiltError, match=r"at least 1, not 0\.5"):
        Nonbonded(method="reaction-field", dielectric=0.5)
    with pytest.raises(QuiltError, match="no PME: leave out pme_tolerance"):
        Nonbonded(method="reaction-field", pme_tolerance=1e-4)
    with pytest.raises(QuiltError, match="a reaction field needs a periodic box"):
        Nonbonded(method="reaction-field").resolve(None)


@pytest.mark.parametrize("dielectric", [0.0, 0.5, float("inf")])
def test_a_dielectric_constant_of_openmm_is_a_number_from_one_on(dielectric: float) -> None:
    """OpenMM takes 0 as it is; in mdp files and here it stands for infinity."""
    with pytest.raises(quiltmd.InputError, match=f"at least 1, not {dielectric:g}: set another"):
        quiltmd.System.from_openmm(box_in_field(dielectric))


def test_a_converted_system_keeps_its_field() -> None:
    system = quiltmd.System.from_openmm(box_in_field(2.5))
    written = quiltmd.System.from_openmm(to_openmm(system, box=EDGE * np.eye(3)))
    assert written.nonbonded == system.nonbonded
    felt = Nonbonded(cutoff=CUTOFF, method="reaction-field")
    with pytest.raises(QuiltError, match=r"do not feel .* reaction_field_on_exclusions = false"):
        to_openmm(system, felt, EDGE * np.eye(3))
    with pytest.raises(QuiltError, match=r"plain cutoff cannot be written .* reaction-field"):
        to_openmm(system, Nonbonded(cutoff=CUTOFF, method="cutoff"), EDGE * np.eye(3))


def test_a_conductor_stays_one_in_openmm_s_files(tmp_path: Path) -> None:
    """Infinity has no number there: one is written that has the same field to the last bit."""
    settings = Nonbonded(
        cutoff=CUTOFF, method="reaction-field", dielectric=0.0, reaction_field_on_exclusions=False
    )
    system = quiltmd.System.from_openmm(box_in_field(2.5), nonbonded=settings)
    made = to_openmm(system, settings, EDGE * np.eye(3))
    number = force_of(made, "NonbondedForce").getReactionFieldDielectric()
    assert (number - 1) / (2 * number + 1) == 0.5
    assert 3 * number / (2 * number + 1) == 1.5
    energies, forces = quiltmd.reference(system, state_here(), settings)
    energy, theirs = energy_and_forces(made, positions())
    assert energy == pytest.approx(energies["potential"], rel=1e-9)
    assert relative_rms(theirs, forces) < 1e-9
    write_openmm(tmp_path / "system.xml", system, settings, EDGE * np.eye(3))
    read = openmm.XmlSerializer.deserialize((tmp_path / "system.xml").read_text())
    assert quiltmd.System.from_openmm(read).nonbonded == settings


# SPC as in GROMACS' force fields.
FIVE_WATERS = """
[ defaults ]
1 2
[ atomtypes ]
OW 8 15.9994 -0.82 A 3.16557e-01 6.50629e-01
HW 1  1.0080  0.41 A 0           0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW  1 -0.82 15.9994
2 HW 1 SOL HW1 1  0.41  1.0080
3 HW 1 SOL HW2 1  0.41  1.0080
[ settles ]
1 1 0.1 0.16330
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
Five waters
[ molecules ]
SOL 5
"""


@pytest.mark.parametrize("ensemble", ["NVT", "NPT"])
def test_energies_are_those_that_gromacs_wrote(tmp_path: Path, ensemble: str) -> None:
    """Of the first and the last frame, with the settings of the run: coulombtype cut-off."""
    data = Path(physical_validation.__file__).parent / "tests/test_system_database"
    folder = data / "Water5" / "gromacs_files" / ensemble
    written = re.findall(
        r"LJ \(SR\)   Coulomb \(SR\).*\n +(\S+) +(\S+)", (folder / "md.log").read_text()
    )
    control = read_control(folder / "mdout.mdp")
    assert control is not None
    settings = Nonbonded(**control.settings["nonbonded"])
    (tmp_path / "water.top").write_text(FIVE_WATERS)
    for frame in (0, 1):
        system, state = quiltmd.load(tmp_path / "water.top", folder / "traj.trr", frame=frame)
        energies = Simulation(system, state, settings, device="cpu").energies()
        found = [energies["lj"], energies["coulomb"]]
        assert found == pytest.approx([float(word) for word in written[frame]], rel=1e-5)
