# SPDX-License-Identifier: Apache-2.0
"""GROMACS' free-energy options and second states: settings, refusals, energies beside GROMACS'."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from alchemical_systems import LENGTH, solute_in_water
from command import quiltmd as quiltmd_command
from gromacs_programs import GMX, gmx

import quiltmd
from quiltmd.inputs.control_files import read_control
from quiltmd.running.alchemy_section import AlchemySection
from quiltmd.running.lambda_samples import read_samples

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


def test_gapsys_has_parameters_of_its_own(tmp_path: Path) -> None:
    given = {"sc_function": "gapsys", "sc_coul": "yes", "sc_gapsys_scale_linpoint_lj": "0.7"}
    found = alchemy_of(tmp_path, **given)
    parameters = {name: found[name] for name in ("soft_core", "alpha", "alpha_coulomb")}
    assert parameters == {"soft_core": "gapsys", "alpha": 0.7, "alpha_coulomb": 0.3}
    assert found["least_sigma"] == 0.05
    assert "alpha_coulomb" not in alchemy_of(tmp_path, sc_function="gapsys")


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
        ({"sc-function": "other"}, "sc-function other: only beutler and gapsys"),
        ({"sc-power": "2"}, "sc-power 2: only 1"),
        ({"sc-r-power": "48"}, "sc-r-power 48: only 6"),
        ({"sc-coul": "maybe"}, "sc-coul maybe: only no and yes"),
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
@pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
@pytest.mark.parametrize("modifier", ["none", "potential-shift"])
@pytest.mark.parametrize("how", ["decoupled", "annihilated", "second states", "gapsys"])
def test_energies_of_states_are_those_of_gromacs(tmp_path: Path, how: str, modifier: str) -> None:
    """Where charges are full or none: between, GROMACS mixes energies and not charges."""
    write_system(tmp_path, "DU 0.0 12.0" if how == "second states" else "")
    text = PLAIN + RUN.format(modifier=modifier)
    if how == "annihilated":
        text += "couple-intramol = yes\n"
    if how == "gapsys":
        text = text.replace("sc-alpha = 0.5", "sc-function = gapsys")
    if how == "second states":
        text = text.replace("couple-moltype = LIG\ncouple-lambda1 = none\n", "")
    slopes, theirs = energies_of_gromacs(tmp_path, text)
    control = read(tmp_path, text)
    assert control.refused == []
    section = AlchemySection.model_validate(control.settings["alchemy"])
    files = str(tmp_path / "system.top"), str(tmp_path / "system.gro")
    system, state = quiltmd.load(*files, second_states=section.of_second_states)
    chosen = section.apply(system)
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


@pytest.mark.skipif(GMX is None, reason="GROMACS is not installed")
@pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
def test_soft_charges_of_gapsys_are_those_of_gromacs(tmp_path: Path) -> None:
    """Less those of Beutler: GROMACS mixes energies of the mesh, with either of them."""
    write_system(tmp_path)
    found, theirs = [], []
    for function in ("beutler", "gapsys"):
        text = PLAIN.replace("coul-lambdas = 0 1 1 1", "coul-lambdas = 0 0.3 0.8 1")
        text = text.replace("vdw-lambdas = 0 0 0.4 1", "vdw-lambdas = 0 0.3 0.8 1")
        text = text.replace("init-lambda-state = 2", "init-lambda-state = 0")
        text += RUN.format(modifier="none") + f"sc-coul = yes\nsc-function = {function}\n"
        theirs.append(energies_of_gromacs(tmp_path, text)[1])
        section = AlchemySection.model_validate(read(tmp_path, text).settings["alchemy"])
        files = str(tmp_path / "system.top"), str(tmp_path / "system.gro")
        system, state = quiltmd.load(*files)
        nonbonded = quiltmd.Nonbonded(
            cutoff=0.7, pme_grid=(64,) * 3, pme_alpha=5.6, dispersion_correction=False
        )
        simulation = quiltmd.Simulation(
            section.apply(system), state, nonbonded, device="cpu", ranks=1, threads=1
        )
        found.append(simulation.state_energies())
    ours, expected = np.diff(found, axis=0)[0], np.diff(theirs, axis=0)[0]
    assert np.abs(expected[1:3]).min() > 1
    np.testing.assert_allclose(ours, expected, atol=1e-3)


def test_second_states_are_told_and_selected(tmp_path: Path) -> None:
    write_system(tmp_path, "DU 0.0 12.0")
    with pytest.warns(quiltmd.QuiltWarning, match="of 5 atoms have no effect"):
        system, _ = quiltmd.load(str(tmp_path / "system.top"), str(tmp_path / "system.gro"))
    assert system.alchemy is None
    assert list(quiltmd.select(system, "vanishing")) == list(range(LENGTH))
    assert list(quiltmd.select(system, "moltype LIG")) == list(range(LENGTH))


def test_second_states_with_another_net_charge_are_told(tmp_path: Path) -> None:
    write_system(tmp_path, "P 0.1 12.0")
    names = str(tmp_path / "system.top"), str(tmp_path / "system.gro")
    with pytest.warns(quiltmd.QuiltWarning, match=r"charge of the system changes by \+0\.5 e"):
        quiltmd.load(*names, second_states=True)


# Second states of everything: charges and types, bonds, angles with a Urey-Bradley term, dihedrals
# whose phase or force constant changes, Ryckaert-Bellemans and improper dihedrals, a 1-4 pair.
SECOND = {
    "1 2 1 0.135 2e5": "1 2 1 0.135 2e5 0.147 3e5",
    "2 3 1 0.135 2e5": "2 3 1 0.135 2e5 0.135 0",
    "1 2 3 1 108.86 400.0": "1 2 3 5 108.86 400.0 0.21 5e3 120.0 300.0 0.25 0.0",
    "2 3 4 1 108.86 400.0": "2 3 4 1 108.86 0.0 100.0 400.0",
    "[ pairs ]": """[ dihedrals ]
1 2 3 4 9 0.0 5.0 3 180.0 2.0 3
1 2 3 4 9 10.0 0.0 1 60.0 6.0 1
2 3 4 5 3 9.0 12.0 -13.0 -3.0 26.0 -31.0 2.0 1.0 0.0 -4.0 0.0 0.0
2 1 3 4 2 30.0 40.0 50.0 10.0
[ pairs ]
2 5 1 0.3 0.1 0.35 0.2""",
}
PATH = """integrator = md
dt = 0.002
coulombtype = PME
free-energy = yes
init-lambda-state = 1
coul-lambdas = 0 0 0 1 1
vdw-lambdas = 0 0.4 0 0.7 1
bonded-lambdas = 0 0.37 1 0.5 1
sc-alpha = 0.5
"""


def write_second_states(folder: Path) -> None:
    write_system(folder, "P 0.1 12.0")
    file = folder / "system.top"
    text = file.read_text()
    for first, both in SECOND.items():
        assert first in text
        text = text.replace(first, both)
    file.write_text(text)


@pytest.mark.skipif(GMX is None, reason="GROMACS is not installed")
@pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
def test_second_states_have_the_energies_of_gromacs(tmp_path: Path) -> None:
    """Energies of states, and derivatives, of van der Waals and bonded terms at any lambda."""
    write_second_states(tmp_path)
    text = PATH + RUN.format(modifier="none")
    (tmp_path / "run.mdp").write_text(text)
    files = ("-f", "run.mdp", "-p", "system.top", "-c", "system.gro", "-o", "run.tpr")
    gmx(tmp_path, "grompp", *files, "-maxwarn", "20")
    gmx(tmp_path, "mdrun", "-deffnm", "run", "-ntmpi", "1", "-ntomp", "1", "-nb", "cpu")
    rows = [line for line in (tmp_path / "run.xvg").read_text().splitlines() if line[0] not in "#@"]
    theirs = np.array([float(word) for word in rows[0].split()])
    control = read(tmp_path, text)
    assert control.refused == []
    section = AlchemySection.model_validate(control.settings["alchemy"])
    names = str(tmp_path / "system.top"), str(tmp_path / "system.gro")
    system, state = quiltmd.load(*names, second_states=True)
    nonbonded = quiltmd.Nonbonded(
        cutoff=0.7, pme_grid=(64,) * 3, pme_alpha=5.6, dispersion_correction=False
    )
    simulation = quiltmd.Simulation(
        section.apply(system), state, nonbonded, device="cpu", ranks=1, threads=1
    )
    slopes, states = theirs[1:4], theirs[4:9]
    np.testing.assert_allclose(simulation.dhdl()[1:], slopes[1:], rtol=1e-6, atol=1e-4)
    found = simulation.state_energies()
    np.testing.assert_allclose(found[:3], states[:3], rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(found[3:], states[3:], atol=5e-3)  # the error of our mesh


@pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
def test_a_run_between_second_states_has_the_lambda_of_bonded_terms(tmp_path: Path) -> None:
    write_second_states(tmp_path)
    (tmp_path / "run.toml").write_text("""
[system]
topology = "system.top"
coordinates = "system.gro"
[nonbonded]
cutoff = 0.7
[integrator]
timestep = 0.0005
[run]
steps = 4
device = "cpu"
[alchemy]
atoms = "second states"
coulomb = [0, 0.5, 1]
vdw = [0, 0.5, 1]
state = 1
every = 2
[output]
dir = "out"
""")
    done = quiltmd_command("run", tmp_path / "run.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    header, *rows = (tmp_path / "out" / "dhdl.csv").read_text().splitlines()
    assert header.startswith("step,time,lambda_coulomb,lambda_vdw,lambda_bonded,potential,dhdl_")
    assert [row.split(",")[2:5] for row in rows] == [["0.5"] * 3] * 3
    samples = read_samples([tmp_path / "out"])
    assert samples.names == ("coulomb", "vdw", "bonded")
    assert samples.counts.tolist() == [0, 3, 0]
    assert "bonded-lambda" in (tmp_path / "out" / "dhdl.xvg").read_text()


@pytest.mark.parametrize("constraints", ["none", "h-bonds"])
def test_bonds_whose_lengths_change_cannot_be_constrained(tmp_path: Path, constraints: str) -> None:
    write_second_states(tmp_path)
    file = tmp_path / "system.top"
    text = (
        file.read_text().replace("P 12.0 0 A", "P 1 12.0 0 A").replace("C 12.0 0 A", "C 1 12.0 0 A")
    )
    file.write_text(text)
    files = str(file), str(tmp_path / "system.gro")
    if constraints == "none":
        system, _ = quiltmd.load(*files, second_states=True)
        assert [one.name for one in system.alchemy.changed_terms] == [
            *("bond", "angle", "torsion", "pair14", "improper", "urey_bradley"),
            "ryckaert_bellemans",
        ]
        return
    with pytest.raises(quiltmd.QuiltError, match="has another length in the second state"):
        quiltmd.load(*files, second_states=True, constraints="h-bonds")


def test_masses_of_second_states_are_told(tmp_path: Path) -> None:
    write_system(tmp_path, "DU 0.0 13.0")
    with pytest.warns(quiltmd.QuiltWarning, match="masses of second states"):
        system, _ = quiltmd.load(
            str(tmp_path / "system.top"), str(tmp_path / "system.gro"), second_states=True
        )
    np.testing.assert_array_equal(system.masses[:LENGTH], 12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("DU 0.0 12.0", "XX 0.0 12.0"), "there is no atom type XX"),
        (("1 2 1 0.135 2e5", "1 2 1"), "no parameters|no bondtypes|there are no"),
        (("1 2 1 0.135 2e5", "1 2 3 0.135 4 20 0.135 5 20"), "a second state \\(free-energy"),
        (("[ pairs ]", "[ constraints ]\n1 3 1 0.2 0.3\n[ pairs ]"), "a second state \\(free-"),
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
