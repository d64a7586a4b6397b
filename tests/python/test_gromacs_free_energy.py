# SPDX-License-Identifier: Apache-2.0
"""GROMACS' free-energy options and second states: settings, refusals, energies beside GROMACS'."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from alchemical_systems import LENGTH, solute_in_water
from gromacs_programs import GMX, gmx

import quiltmd
from quiltmd.inputs.control_files import read_control
from quiltmd.running.alchemy_section import AlchemySection

PLAIN = """integrator = md
dt = 0.002
coulombtype = PME
free-energy = yes
couple-moltype = LIG
couple-lambda1 = none
init-lambda-state = 2
coul-lambdas = 0 1 1 1
vdw-lambdas = 0 0 0.4 1
sc-alpha = 0.5
"""


def read(folder: Path, text: str) -> quiltmd.inputs.control_files.Control:
    (folder / "run.mdp").write_text(text)
    found = read_control(folder / "run.mdp")
    assert found is not None
    return found


def alchemy_of(folder: Path, **changes: str | None) -> dict[str, object]:
    """The section [alchemy] of the options above with others, or None for leaving one out."""
    changed = {name.replace("_", "-"): value for name, value in changes.items()}
    kept = [line for line in PLAIN.splitlines() if line.split()[0] not in changed]
    more = [f"{name} = {value}" for name, value in changed.items() if value is not None]
    found = read(folder, "\n".join([*kept, *more]))
    assert found.refused == []
    return found.settings["alchemy"]


def test_options_are_a_schedule(tmp_path: Path) -> None:
    assert alchemy_of(tmp_path) == {
        "atoms": "moltype LIG",
        "intramolecular": "keep",
        "coulomb": [0, 1, 1, 1],
        "vdw": [0, 0, 0.4, 1],
        "state": 2,
        "alpha": 0.5,
        "least_sigma": 0.05,
        "every": 50,
    }


def test_either_end_of_the_path_may_be_the_full_one(tmp_path: Path) -> None:
    backwards = alchemy_of(tmp_path, couple_lambda0="none", couple_lambda1="vdw-q")
    assert (backwards["coulomb"], backwards["vdw"]) == ([1, 0, 0, 0], [1, 1, 0.6, 0])
    without = alchemy_of(tmp_path, couple_lambda0="vdw", coul_lambdas=None)
    assert (without["coulomb"], without["vdw"]) == ([1, 1, 1, 1], [0, 0, 0.4, 1])
    one = alchemy_of(
        tmp_path,
        couple_lambda0="vdw",
        coul_lambdas=None,
        vdw_lambdas=None,
        fep_lambdas="0 0.5 1",
        couple_intramol="yes",
        nstdhdl="10",
    )
    assert (one["coulomb"], one["vdw"]) == ([1, 1, 1], [0, 0.5, 1])
    assert (one["intramolecular"], one["every"]) == ("scale", 10)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"free-energy": "expanded"}, "free-energy expanded: only no and yes"),
        ({"couple-moltype": "A*"}, "couple-moltype A*: only the name of one molecule type"),
        ({"couple-intramol": "maybe"}, "couple-intramol maybe"),
        ({"couple-lambda1": "vdw-q"}, "couple-lambda0 and couple-lambda1 are the same"),
        ({"couple-lambda1": "qq"}, "couple-lambda1 qq: only vdw-q, vdw, q and none"),
        ({"vdw-lambdas": "0 1"}, "as many values of each"),
        ({"temperature-lambdas": "0 0 0 1"}, "temperature-lambdas"),
        ({"init-lambda": "0.5"}, "init-lambda 0.5: give init-lambda-state"),
        ({"delta-lambda": "1e-5"}, "delta-lambda 1e-5: lambda stays the same"),
        ({"init-lambda-state": "4"}, "init-lambda-state 4: there are states 0 to 3"),
        ({"init-lambda-state": None}, "init-lambda-state -1"),
        ({"sc-alpha": None}, "sc-alpha 0"),
        ({"sc-function": "gapsys"}, "sc-function gapsys: only beutler"),
        ({"sc-power": "2"}, "sc-power 2: only 1"),
        ({"sc-r-power": "48"}, "sc-r-power 48: only 6"),
        ({"sc-coul": "yes"}, "sc-coul yes"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_other_options_are_refused_by_name(
    tmp_path: Path, given: dict[str, str | None], words: str
) -> None:
    kept = [line for line in PLAIN.splitlines() if line.split()[0] not in given]
    more = [f"{name} = {value}" for name, value in given.items() if value is not None]
    assert any(words in line for line in read(tmp_path, "\n".join([*kept, *more])).refused)


def test_without_free_energy_the_options_have_no_effect(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN.replace("free-energy = yes", "free-energy = no"))
    assert found.refused == []
    assert "alchemy" not in found.settings
    assert any("no effect without free-energy" in note for note in found.notes)


# The molecule of alchemical_systems.py: its Lennard-Jones parameters are those of its types.
TOPOLOGY = """[ defaults ]
1 2 no 1 1
[ atomtypes ]
OW 15.999 0 A 0.31507 0.6364
HW 1.008 0 A 0.1 0.0
C 12.0 0 A 0.35 0.4
P 12.0 0 A 0.25 0.1
DU 12.0 0 A 0.0 0.0
[ moleculetype ]
LIG 3
[ atoms ]
{atoms}
[ bonds ]
{bonds}
[ angles ]
{angles}
[ pairs ]
1 4 2 1.0 0.2 0.1 0.3 0.1
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.834 15.999
2 HW 1 SOL HW1 1 0.417 1.008
3 HW 1 SOL HW2 1 0.417 1.008
[ settles ]
1 1 0.09572 0.15139
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
a chain in water
[ molecules ]
LIG 1
SOL {waters}
"""
RUN = """nsteps = 0
continuation = yes
nstlist = 1
verlet-buffer-tolerance = -1
rlist = 0.7
rcoulomb = 0.7
rvdw = 0.7
vdw-modifier = {modifier}
coulomb-modifier = none
fourierspacing = 0.03
pme-order = 8
ewald-rtol = 1e-6
nstcalcenergy = 1
nstdhdl = 1
calc-lambda-neighbors = -1
"""


def write_system(folder: Path, second: str = "") -> None:
    """`second`: the second state of the atoms of the molecule."""
    plain, state = solute_in_water(6)
    names = "CCPCP"
    atoms = [
        f"{k + 1} {t} 1 LIG A{k} 1 {plain.charges[k]} 12.0 {second}" for k, t in enumerate(names)
    ]
    text = TOPOLOGY.format(
        atoms="\n".join(atoms),
        bonds="\n".join(f"{k} {k + 1} 1 0.135 2e5" for k in range(1, LENGTH)),
        angles="\n".join(f"{k} {k + 1} {k + 2} 1 108.86 400.0" for k in range(1, LENGTH - 1)),
        waters=(plain.atoms - LENGTH) // 3,
    )
    (folder / "system.top").write_text(text)
    lines = ["a chain in water", str(plain.atoms)]
    for atom, place in enumerate(state.positions):
        inside = atom < LENGTH
        residue = 1 if inside else 2 + (atom - LENGTH) // 3
        name = f"A{atom}" if inside else ("OW", "HW1", "HW2")[(atom - LENGTH) % 3]
        kind = "LIG" if inside else "SOL"
        numbers = "".join(f"{x:9.4f}" for x in place)
        lines.append(f"{residue:5d}{kind:<5}{name:>5}{atom + 1:5d}{numbers}")
    lines.append(" ".join(f"{x:.5f}" for x in np.diag(state.box)))
    (folder / "system.gro").write_text("\n".join(lines) + "\n")


def energies_of_gromacs(folder: Path, text: str) -> tuple[np.ndarray, np.ndarray]:
    """dH/dlambda (charges, van der Waals), and energies of states less that of the present one."""
    (folder / "run.mdp").write_text(text)
    files = ("-f", "run.mdp", "-p", "system.top", "-c", "system.gro", "-o", "run.tpr")
    gmx(folder, "grompp", *files, "-maxwarn", "20")
    gmx(folder, "mdrun", "-deffnm", "run", "-ntmpi", "1", "-ntomp", "1", "-nb", "cpu")
    rows = [line for line in (folder / "run.xvg").read_text().splitlines() if line[0] not in "#@"]
    values = np.array([float(word) for word in rows[0].split()])
    return values[1:3], values[3:7]


@pytest.mark.skipif(GMX is None, reason="GROMACS is not installed")
@pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm", "ignore:.*have a second state")
@pytest.mark.parametrize("modifier", ["none", "potential-shift"])
@pytest.mark.parametrize("how", ["decoupled", "annihilated", "second states"])
def test_energies_of_states_are_those_of_gromacs(tmp_path: Path, how: str, modifier: str) -> None:
    """Where charges are full or none: between, GROMACS mixes energies and not charges."""
    write_system(tmp_path, "DU 0.0 12.0" if how == "second states" else "")
    text = PLAIN + RUN.format(modifier=modifier)
    if how == "annihilated":
        text += "couple-intramol = yes\n"
    if how == "second states":
        text = text.replace("couple-moltype = LIG\ncouple-lambda1 = none\n", "")
    slopes, theirs = energies_of_gromacs(tmp_path, text)
    control = read(tmp_path, text)
    assert control.refused == []
    system, state = quiltmd.load(str(tmp_path / "system.top"), str(tmp_path / "system.gro"))
    chosen = AlchemySection.model_validate(control.settings["alchemy"]).apply(system)
    nonbonded = quiltmd.Nonbonded(
        cutoff=0.7,
        pme_grid=(64,) * 3,
        pme_alpha=5.6,
        potential_shift=modifier == "potential-shift",
        dispersion_correction=False,
    )
    simulation = quiltmd.Simulation(chosen, state, nonbonded, device="cpu", ranks=1, threads=1)
    found = simulation.state_energies()
    np.testing.assert_allclose(found[1:], theirs[1:], atol=1e-5)
    assert found[0] == pytest.approx(theirs[0], abs=2e-3)  # the error of our mesh
    assert simulation.dhdl()[1] == pytest.approx(slopes[1], abs=1e-5)


def test_second_states_without_interactions_are_told_and_selected(tmp_path: Path) -> None:
    write_system(tmp_path, "DU 0.0 12.0")
    with pytest.warns(quiltmd.QuiltWarning, match="5 atoms have a second state without"):
        system, _ = quiltmd.load(str(tmp_path / "system.top"), str(tmp_path / "system.gro"))
    assert list(quiltmd.select(system, "vanishing")) == list(range(LENGTH))
    assert list(quiltmd.select(system, "moltype LIG")) == list(range(LENGTH))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("DU 0.0 12.0", "DU 0.1 12.0"), "a second state of an atom"),
        (("DU 0.0 12.0", "DU 0.0 13.0"), "a second state of an atom"),
        (("DU 0.0 12.0", "P 0.0 12.0"), "a second state of an atom"),
        (("1 4 2 1.0 0.2 0.1 0.3 0.1", "1 4 1 0.3 0.1"), "a 1-4 pair of an atom that vanishes"),
        (("1 2 1 0.135 2e5", "1 2 1"), "other types in their second states"),
        (("1 2 1 0.135 2e5", "1 2 1 0.135 2e5 0.135 0"), "a second state \\(free-energy"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_other_second_states_are_refused(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    write_system(tmp_path, "DU 0.0 12.0")
    file = tmp_path / "system.top"
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(quiltmd.QuiltError, match=words):
        quiltmd.load(str(file), str(tmp_path / "system.gro"))
