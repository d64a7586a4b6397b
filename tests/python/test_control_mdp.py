# SPDX-License-Identifier: Apache-2.0
"""GROMACS' mdp: what is taken over, noted and refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import physical_validation
import pytest
from control_examples import FILES, MDP, changed, noted, read

from quiltmd import BerendsenThermostat, NoseHooverChain, VelocityRescaling
from quiltmd.description.heat_baths import BathGroup
from quiltmd.errors import InputError, QuiltError
from quiltmd.inputs.checkpoints import find_state
from quiltmd.inputs.control_files import read_control
from quiltmd.running.config import build_config

LEFT = {"final": ["cif", "pdb", "ncrst", "gro"]}


@pytest.mark.parametrize(
    ("more", "length"), [("", 1), ("integrator = md-vv\n", 10), ("nh-chain-length = 4\n", 1)]
)
def test_mdp_with_a_nose_hoover_chain(tmp_path: Path, more: str, length: int) -> None:
    """tau-t is the period; with the leap-frog integrator GROMACS has no chain, whatever is said."""
    period = 0.628318530718
    found = read(
        tmp_path, "md.mdp", changed(MDP, f"tcoupl = nose-hoover\ntau-t = {period} {period}\n{more}")
    )
    assert found.refused == []
    assert found.settings["thermostat"] == {"kind": "nose-hoover", "chain_length": length}
    assert [bath["time_constant"] for bath in found.settings["bath"]] == pytest.approx([0.1] * 2)
    assert noted(found, "a single thermostat") == (length == 1)


def test_annealing_of_mdp(tmp_path: Path) -> None:
    """Of several groups too, where all have the same; in place of ref-t."""
    groups = (
        "annealing = single single\nannealing-npoints = 2 2\nannealing-time = 0 50 0 50\n"
        "annealing-temp = 10 300 10 300\ngen-vel = yes\ngen-temp = 10\n"
    )
    found = read(tmp_path, "md.mdp", changed(MDP, groups))
    assert found.refused == []
    dynamics = build_config(found.settings | FILES).integrator
    assert dynamics.annealing is None
    baths = build_config(found.settings | FILES).bath
    assert [bath.annealing for bath in baths] == [((0, 10), (50, 300))] * 2
    assert [bath.temperature for bath in baths] == [10, 10]
    assert found.settings["run"]["start_temperature"] == 10
    sd = read(tmp_path, "md.mdp", changed(MDP, groups + "integrator = sd\ntcoupl = no\n"))
    assert sd.refused == []
    assert "bath" not in sd.settings
    assert build_config(sd.settings | FILES).integrator.annealing == ((0, 10), (50, 300))
    for old, new, curves in (
        ("0 50 0 50", "0 50 0 40", [((0, 10), (50, 300)), ((0, 10), (40, 300))]),
        ("single single\nannealing-npoints = 2 2", "single no\nannealing-npoints = 2 2",
         [((0, 10), (50, 300)), None]),
    ):  # fmt: skip
        found = read(tmp_path, "md.mdp", changed(MDP, groups.replace(old, new)))
        assert found.refused == []
        assert [bath.annealing for bath in build_config(found.settings | FILES).bath] == curves
    assert build_config(found.settings | FILES).bath[1].temperature == 300
    for old, new, words in (
        ("single single", "single periodic", "annealing single periodic: only single and no"),
        ("single single", "single", "1 kinds and 2 numbers of points, where tc-grps has 2 groups"),
        ("0 50 0 50", "0 50 0", "say 4 points, 3 times and 4 temperatures"),
    ):
        found = read(tmp_path, "md.mdp", changed(MDP, groups.replace(old, new)))
        assert any(words in refused for refused in found.refused)
    off = read(tmp_path, "md.mdp", MDP + "annealing = no no\nannealing-npoints = 2 2\n")
    assert off.refused == []
    assert noted(off, "without annealing")


def test_bonds_that_grompp_would_make_morse_bonds(tmp_path: Path) -> None:
    """It replaces harmonic bonds where morse is yes: other energies."""
    found = read(tmp_path, "md.mdp", MDP + "morse = yes\n")
    assert len(found.refused) == 1
    assert "morse yes: bonds are those of the topology" in found.refused[0]
    assert read(tmp_path, "md.mdp", MDP + "morse = no\n").refused == []


def test_temperature_groups_of_mdp(tmp_path: Path) -> None:
    """With sd each has its bath; groups of GROMACS' own and those named after residues."""
    groups = (
        "integrator = sd\ntcoupl = no\ntc-grps = Protein_LIG Water_and_ions\n"
        "tau-t = 0.5 2\nref-t = 310 300\n"
    )
    found = read(tmp_path, "md.mdp", changed(MDP, groups))
    assert found.refused == []
    assert found.settings["bath"] == [
        {"select": "protein or resname LIG", "temperature": 310, "friction": 2},
        {"select": "water or ions", "temperature": 300, "friction": 0.5},
    ]
    assert noted(found, "tc-grps Protein_LIG: taken as 'protein or resname LIG'")
    assert not noted(found, "Water_and_ions")
    assert "temperature" not in found.settings["integrator"]
    config = build_config(found.settings | FILES)
    assert config.make_groups() == (
        BathGroup("protein or resname LIG", 310, 2),
        BathGroup("water or ions", 300, 0.5),
    )
    for old, new, words in (
        ("310 300", "310", "2 groups, with 1 values of ref-t and 2 of tau-t"),
        ("310 300", "310 300\npcoupl = C-rescale\nref-p = 1", "needs one ref-t for all groups"),
    ):
        refused = read(tmp_path, "md.mdp", changed(MDP, groups.replace(old, new))).refused
        assert any(words in why for why in refused), (words, refused)
    alike = groups.replace("310 300", "300 300") + "pcoupl = C-rescale\nref-p = 1\n"
    found = read(tmp_path, "md.mdp", changed(MDP, alike + "compressibility = 4.5e-5\n"))
    assert found.refused == []
    assert build_config(found.settings | FILES).integrator.ensemble == "npt"


@pytest.mark.filterwarnings("ignore:the Berendsen thermostat:quiltmd.QuiltWarning")
def test_groups_of_each_thermostat(tmp_path: Path) -> None:
    """The usual Protein and Non-Protein: a bath each, though they are alike."""
    groups = "tc-grps = Protein Non-Protein\ntau-t = 0.1 0.2\nref-t = 300 300\n"
    for coupling, kind, strengths in (
        ("V-rescale", VelocityRescaling, (0.1, 0.2)),
        ("berendsen", BerendsenThermostat, (0.1, 0.2)),
        ("nose-hoover", NoseHooverChain, (0.1 / (2 * np.pi), 0.2 / (2 * np.pi))),
    ):
        found = read(tmp_path, "md.mdp", changed(MDP, f"{groups}tcoupl = {coupling}\n"))
        assert found.refused == []
        assert not noted(found, "one bath")
        config = build_config(found.settings | FILES)
        made = config.make_thermostat()
        assert isinstance(made, kind)
        assert [group.select for group in made.groups] == ["protein", "not protein"]
        assert [group.time_constant for group in made.groups] == pytest.approx(strengths)
        if coupling == "nose-hoover":
            assert made.every == 1  # four times in 0.1 ps / 2 pi, in steps of 2 fs
    alike = changed(MDP, groups.replace("0.1 0.2", "0.1 0.1"))
    found = read(tmp_path, "md.mdp", alike)
    assert len(found.settings["bath"]) == 2
    assert "time_constant" not in found.settings["thermostat"]
    npt = changed(alike, "pcoupl = C-rescale\nref-p = 1\ncompressibility = 4.5e-5\n")
    assert build_config(read(tmp_path, "md.mdp", npt).settings | FILES).integrator.ensemble == "npt"
    unlike = npt.replace("ref-t = 300 300", "ref-t = 300 310")
    assert "needs one ref-t for all groups" in read(tmp_path, "md.mdp", unlike).refused[0]
    stated = "ensemble-temperature-setting = constant\nensemble-temperature = "
    for kelvin, count in (("300", 0), ("310", 1)):
        assert len(read(tmp_path, "md.mdp", alike + stated + kelvin).refused) == count
    sd = changed(alike, "integrator = sd\ntcoupl = no\n")
    assert noted(read(tmp_path, "md.mdp", sd), "tc-grps Protein Non-Protein: one bath for all")


def test_groups_of_an_index_file(tmp_path: Path) -> None:
    """CHARMM-GUI's groups have names that only an index file explains."""
    lines = "tc-grps = SOLU MEMB SOLV\ntau-t = 1 1 1\nref-t = 303.15 303.15 303.15\n"
    mdp = tmp_path / "step6.mdp"
    mdp.write_text(changed(MDP, lines))
    index = tmp_path / "index.ndx"
    index.write_text(
        "; made by hand\n[ System ]\n1 2 3 4\n5 6 7 8 9\n[ SOLU ]\n3 2 1\n[ MEMB ]\n4 6\n 8\n"
        "[ solv ]\n5 7 9\n[ SOLV ]\n1\n"
    )
    found = read_control(mdp, index)
    assert found is not None
    assert found.refused == []
    assert [bath["select"] for bath in found.settings["bath"]] == [
        *("index 1-3", "index 4 6 8", "index 5 7 9")
    ]
    assert build_config(found.settings | FILES).make_thermostat() is not None
    without = read_control(mdp)
    assert without is not None
    assert noted(without, "SOLU MEMB SOLV: one bath for all; give the index file (--index)")
    assert without.settings["integrator"]["temperature"] == 303.15
    mdp.write_text(changed(MDP, lines.replace("MEMB", "PROT")))
    refused = read_control(mdp, index)
    assert refused is not None
    assert "PROT: not in the index file, which has system, solu, memb" in refused.refused[0]
    for content, words in (
        ("1 2\n[ a ]", "line 1: '1' stands before the first group"),
        ("[ a ]\n1 x", "line 2: 'x' is not an atom number: expected whole numbers from 1"),
        ("[ a ]\n0", "'0' is not an atom number"),
        ("; no groups\n", "there are no groups: in an index file"),
    ):
        index.write_text(content)
        with pytest.raises(QuiltError, match=words):
            read_control(mdp, index)
    mdp.write_text("set a 1\ncutoff 12\n")
    with pytest.raises(QuiltError, match="an index file is only used with an mdp file"):
        read_control(mdp, index)


def test_mdp_with_a_short_period(tmp_path: Path) -> None:
    """Actions of a chain come four times in its time constant, 0.5 ps / 2 pi."""
    found = read(tmp_path, "md.mdp", changed(MDP, "tcoupl = nose-hoover\ntau-t = 0.5 0.6\n"))
    assert found.settings["thermostat"]["every"] == 9  # of 2 fs


def test_mdp(tmp_path: Path) -> None:
    found = read(tmp_path, "md.mdp", MDP)
    assert found.refused == []
    assert found.settings == {
        "integrator": {"timestep": 0.002, "ensemble": "nvt"},
        "thermostat": {"kind": "velocity-rescaling"},
        "bath": [
            {"select": select, "temperature": 300.0, "time_constant": 0.5}
            for select in ("protein", "water")
        ],
        "run": {"steps": 5000},
        "nonbonded": {
            "method": "pme",
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
        "output": {**LEFT, "log_every": 250, "trajectory_every": 500},
    }
    assert noted(found, "leap-frog", "nstlist")


def test_spellings_of_mdp(tmp_path: Path) -> None:
    """Neither case nor "-" and "_" count in a choice, as there; others are refused as spelt."""
    wanted = """
tcoupl = v-rescale
pcoupl = Parrinello-Rahman
pcoupltype = semiisotropic
ref-p = 1 1
compressibility = 4e-5 4e-5
constraints = h-bonds
coulombtype = Reaction-Field
vdwtype = Cut-off
vdw-modifier = Force-switch
coulomb-modifier = Potential-shift-Verlet
DispCorr = EnerPres
"""
    loose = wanted
    for old, new in (
        ("v-rescale", "V_Rescale"),
        ("Parrinello-Rahman", "ParrinelloRahman"),
        ("semiisotropic", "semi_isotropic"),
        ("h-bonds", "hbonds"),
        ("Reaction-Field", "reaction_field"),
        ("Cut-off", "CutOff"),
        ("Force-switch", "force_switch"),
        ("Potential-shift-Verlet", "potential_shift"),
        ("EnerPres", "Ener-Pres"),
    ):
        loose = loose.replace(old, new)
    found = read(tmp_path, "md.mdp", changed(MDP, loose))
    assert found.refused == []
    assert found.settings == read(tmp_path, "md.mdp", changed(MDP, wanted)).settings
    all_bonds = read(tmp_path, "md.mdp", changed(MDP, "constraints = all_bonds\n"))
    assert all_bonds.settings["system"]["constraints"] == "all-bonds"


@pytest.mark.parametrize(
    ("value", "corrected"), [("no", False), ("EnerPres", True), ("AllEnerPres", True)]
)
def test_the_dispersion_correction_of_mdp(tmp_path: Path, value: str, corrected: bool) -> None:
    found = read(tmp_path, "md.mdp", changed(MDP, f"DispCorr = {value}\n"))
    assert found.refused == []
    assert found.settings["nonbonded"]["dispersion_correction"] == corrected
    assert bool(noted(found, "DispCorr")) == (value == "EnerPres")
    (refused,) = read(tmp_path, "md.mdp", changed(MDP, "DispCorr = Ener\n")).refused
    assert refused == "DispCorr ener: only no, EnerPres and AllEnerPres"


def test_values_that_mdp_must_give(tmp_path: Path) -> None:
    """Where grompp finds an error there is no default here either."""
    pressure = "pcoupl = C-rescale\npcoupltype = semiisotropic\n"
    both = "ref-p = 1 1\ncompressibility = 4e-5 4e-5\n"
    assert read(tmp_path, "md.mdp", changed(MDP, pressure + both)).refused == []
    for lines, words in (
        ("ref-t = 300\n", "tc-grps: 2 groups, with 1 values of ref-t and 2 of tau-t"),
        ("tc-grps =\n", "tc-grps: 0 groups, with 2 values of ref-t"),
        ("tau-t =\n", "2 values of ref-t and 0 of tau-t"),
        (pressure + "ref-p = 1 1\n", "compressibility: 0 values, where semiisotropic has 2"),
        (pressure + both.replace("4e-5 4e-5", "4e-5"), "compressibility: 1 values, where semiis"),
        (pressure + both.replace("1 1", "1"), "ref-p: 1 values, where semiisotropic has 2"),
        ("nsteps = -1\n", "nsteps -1: dynamics need a number of steps"),
        ("define = -DPOSRES -I../itp\n", "only -DNAME and -DNAME=VALUE"),
        (
            "ensemble-temperature-setting = constant\nensemble-temperature = 310\n",
            "ensemble-temperature 310: only that of the bath",
        ),
    ):
        (refused,) = read(tmp_path, "md.mdp", changed(MDP, lines)).refused
        assert words in refused
    same = "ensemble-temperature-setting = constant\nensemble-temperature = 300\n"
    assert read(tmp_path, "md.mdp", changed(MDP, same)).refused == []


def test_notes_of_mdp_say_what_is_the_case(tmp_path: Path) -> None:
    def notes(lines: str, *words: str) -> dict[str, Any]:
        found = read(tmp_path, "md.mdp", changed(MDP, lines))
        assert found.refused == []
        assert noted(found, *words), found.notes
        return found.settings

    order = notes("pme-order = 6\n", "pme-order 6: the order follows from pme_tolerance")
    assert "pme_order" not in order["nonbonded"]
    notes("integrator = sd\n", "tcoupl V-rescale: integrator sd is the thermostat")
    one = "tau-t = 1\nref-t = 300\ntc-grps = "
    alone = read(tmp_path, "md.mdp", changed(MDP, one + "Protein\n"))  # refused unless it is all
    assert [bath["select"] for bath in alone.settings["bath"]] == ["protein"]
    notes(one + "Mine\n", "tc-grps Mine: one bath for all; give the index file (--index)")
    assert not noted(read(tmp_path, "md.mdp", changed(MDP, one + "System\n")), "one bath")
    notes(
        "define = -DPOSRES\n",
        "define -DPOSRES: atoms are restrained to the positions in `reference`",
    )
    heavy = notes("mass-repartition-factor = 3\n", "factor 3: hydrogens weigh 3.024 amu, but not")
    assert heavy["system"]["hmr"]
    notes("comm-grps = Protein SOL\n", "comm-grps Protein SOL: centre-of-mass motion of all")
    notes(
        "compressed-x-grps = Protein\n", "compressed-x-grps Protein: the trajectory has all atoms"
    )
    notes("", "beside vdw-modifier potential-switch energies of charges are not shifted")
    silent = notes("coulomb-modifier = none\n", "nstlist")
    assert silent["nonbonded"]["switching"] == "potential"
    for lines, often in (
        ("nstenergy = 0\nnstlog = 0\n", 0),
        ("nstenergy = 0\nnstlog = 50\n", 50),
        ("nstenergy =\n", 1000),  # the default there
    ):
        assert notes(lines, "nstlist")["output"]["log_every"] == often


def test_a_minimisation_of_mdp_has_no_coupling(tmp_path: Path) -> None:
    lines = "integrator = steep\npcoupl = MTTK\nref-p = 1\ntau-t = 1\n"
    found = read(tmp_path, "em.mdp", changed(MDP, lines))
    assert found.refused == []
    assert found.settings["integrator"] == {"timestep": 0.002, "ensemble": "nve"}
    assert noted(found, "pcoupl MTTK, tc-grps Protein Water", "no effect in a minimisation")


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
    for steps, refused in ((-1, []), (0, ["nstpcouple 0"]), (-3, ["nstpcouple -3"])):
        lines = membrane.replace("nstpcouple       = 10", f"nstpcouple = {steps}")
        left = read(tmp_path, "left.mdp", MDP.replace("pcoupl                   = no", lines))
        assert [one.partition(":")[0] for one in left.refused] == refused
        assert "every" not in left.settings["barostat"]
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
    assert noted(found, "replaced by stochastic cell rescaling")
    assert found.settings["barostat"]["coupling"] == "anisotropic"
    assert found.settings["barostat"]["compressibility"] == (4.5e-5, 3e-5, 2e-5)
    build_config(found.settings | FILES)
    tilted = six.replace("2e-5 0 0 0", "2e-5 1e-5 0 0")
    found = read(tmp_path, "tilted.mdp", MDP.replace("pcoupl                   = no", tilted))
    assert any("angles of the box" in refused for refused in found.refused)


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
    without = changed(MDP, f"coulombtype = {words}\ncoulomb-modifier = none\nvdw-modifier = none\n")
    found = read(tmp_path, "md.mdp", without)
    plain = words.startswith("cut-off")
    assert found.settings["nonbonded"]["method"] == ("cutoff" if plain else "reaction-field")
    shifted = without.replace("vdw-modifier = none", "vdw-modifier = potential-shift")
    found = read(tmp_path, "md.mdp", shifted)
    assert not noted(found, "energies are shifted as")
    assert noted(found, "zero at the cutoff nevertheless") == plain


@pytest.mark.parametrize(
    ("words", "within", "beyond"),
    [
        ("reaction-field\nepsilon-r = 15\nepsilon-rf = 0", 15, 0),
        ("reaction-field\nepsilon-rf = 1\nepsilon-r = 62", None, 62),  # exchanged, as by grompp
        ("cut-off\nepsilon_r = 2.5\nepsilon-rf = 78", 2.5, 2.5),
        ("PME\nepsilon_r = 2.5", 2.5, None),
        ("cut-off\nepsilon_r = 0", 0, 0),
    ],
)
def test_the_dielectric_constant_of_an_mdp_file(
    tmp_path: Path, words: str, within: float | None, beyond: float | None
) -> None:
    found = read(tmp_path, "md.mdp", changed(MDP, f"coulombtype = {words}"))
    assert found.refused == []
    assert found.settings["nonbonded"].get("relative_permittivity") == within
    assert found.settings["nonbonded"].get("dielectric") == beyond
    assert noted(found, "are exchanged") == (beyond == 62)
    build_config(found.settings | FILES)


@pytest.mark.parametrize(
    ("kind", "switching"), [("Switch", "potential"), ("shift", "gromacs-force")]
)
def test_older_types_of_van_der_waals(tmp_path: Path, kind: str, switching: str) -> None:
    """As grompp takes them: a cutoff with a modifier, whatever vdw-modifier says."""
    lines = f"coulombtype = cut-off\nvdwtype = {kind}\nrvdw-switch = 0.9"
    text = re.sub(r"(?m)^(vdwtype|rvdw-switch|vdw-modifier).*", "", changed(MDP, lines))
    found = read(tmp_path, "md.mdp", text + lines.partition("\n")[2])
    assert found.refused == []
    assert found.settings["nonbonded"]["switching"] == switching
    assert found.settings["nonbonded"]["switch_distance"] == 0.9


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
implicit-solvent = No
gb-algorithm = Still
sa-surface-tension = -1
QMMM = no
QMMMscheme = normal
tinit = 0.000
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
        if value in ("no", "No", "false"):
            on = MDP + off.replace(line, f"{name} = yes")
            (refusal,) = read(tmp_path, "mdout.mdp", on).refused
            assert name in refusal


def test_steps_of_mdp_count_from_time_zero(tmp_path: Path) -> None:
    both = "tinit = 1\ninit-step = 30"
    for lines, first in (("init-step = 30", 30), ("tinit = 1", 500), (both, 530)):
        found = read(tmp_path, "md.mdp", MDP + lines)
        assert found.settings["run"] == {"steps": 5000, "first_step": first}
        assert noted(found, f"the first step is {first}") == ("tinit" in lines)
    for time in ("-1", "0.0011", "1e300\ndt = 1e-300"):
        (refusal,) = read(tmp_path, "md.mdp", changed(MDP, f"tinit = {time}")).refused
        assert "only a whole number of steps of dt after time 0" in refusal


def test_output_that_is_off_is_not_noted(tmp_path: Path) -> None:
    found = read(tmp_path, "md.mdp", changed(MDP, "nstvout = 0\nnstfout = 10\n"))
    assert noted(found, "nstfout 10: this output is not written")
    assert not noted(found, "nstvout")


def test_rival_options_of_mdp(tmp_path: Path) -> None:
    """The one that holds is taken over, and the others are noted."""
    text = "nstlog = 100\nnstxout = 50\ngen-vel = yes\ngen-temp = 200\ngen-seed = 5\nld-seed = 6\n"
    found = read(tmp_path, "md.mdp", changed(MDP, text))
    assert found.settings["output"] == {**LEFT, "log_every": 250, "trajectory_every": 500}
    assert found.settings["integrator"]["seed"] == 5
    assert found.settings["run"]["start_temperature"] == 200
    assert noted(found, "nstlog 100: one log", "nstxout 50: one trajectory", "ld-seed 6: one seed")
    without = changed(MDP, "gen-seed = 5\nld-seed = 6\nnstxtcout = 500\n")
    found = read(tmp_path, "md.mdp", without)
    assert found.settings["integrator"]["seed"] == 6
    assert noted(found, "gen-seed 5: no effect without gen-vel")
    found = read(tmp_path, "md.mdp", changed(MDP, "vdw_modifier = Potential-shift\n"))
    assert noted(found, "rvdw-switch 0.85: no effect without a switching vdw-modifier")


def test_a_run_of_an_mdp_is_what_comes_next(tmp_path: Path) -> None:
    """It leaves a gro file; where GROMACS would have written em.gro, the folder of it is named."""
    settings = read(tmp_path, "em.mdp", MDP).settings
    assert settings["output"]["final"] == ["cif", "pdb", "ncrst", "gro"]
    (tmp_path / "em-quilt").mkdir()
    (tmp_path / "em-quilt" / "checkpoint.qmd").touch()
    for missing in ("em.gro", "em.cpt", "em-quilt/last.gro"):
        with pytest.raises(
            InputError, match=r"no such file, but .*em-quilt is the folder of a run"
        ):
            find_state(tmp_path / missing)
    assert find_state(tmp_path / "other.gro") == tmp_path / "other.gro"
