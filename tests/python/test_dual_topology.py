# SPDX-License-Identifier: Apache-2.0
"""Two molecules in one topology, and Amber's thermodynamic integration of them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import quiltmd as command
from control_examples import FILES, noted, read
from dual_prmtop import dual, prmtop, rst7
from hybrid_molecules import ETHANE, MAPPING, METHANOL, molecule

import quiltmd
from quiltmd import InputError
from quiltmd.description.decoupling import at_lambdas
from quiltmd.description.dual_topology import DualTopology
from quiltmd.inputs.control_files import Control
from quiltmd.running.config import build_config
from quiltmd.running.run_inputs import load_system

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.7 nm")
MDIN = """TI
 &cntrl
  imin=0, nstlim=4, dt=0.0005, irest=0, ntx=1, tempi=300.0, ntt=3, gamma_ln=2.0, ntb=1, cut=7.0,
  ntc=1, ntf=1, ig=7, ntpr=2, icfe=1, ifsc=1, clambda=0.4, ifmbar=1, mbar_states=4,
  mbar_lambda=0.0, 0.4, 0.8, 1.0, bar_intervall=2, logdvdl=0,
  timask1=':1', timask2=':2', scmask1=':1@H22,H23', scmask2='', scalpha=0.4, scbeta=10.0,
 /
 &ewald nfft1=48, nfft2=48, nfft3=48, order=4 /
"""
NONBONDED = quiltmd.Nonbonded(cutoff=0.7, pme_grid=(48, 48, 48), pme_alpha=4.6)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dual")
    system, positions, box = dual()
    (folder / "dual.prmtop").write_text(prmtop(system, box))
    (folder / "dual.rst7").write_text(rst7(positions, box))
    return folder


def loaded(inputs: Path, second: Any) -> tuple[Any, Any]:
    return quiltmd.load(inputs / "dual.prmtop", inputs / "dual.rst7", second=second)


def mdin(folder: Path, *changes: tuple[str, str]) -> Control:
    text = MDIN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read(folder, "mdin", text)


def test_the_hybrid_is_that_of_two_topologies(inputs: Path) -> None:
    """Energies in all states."""
    two = DualTopology("resname ETA", "resname MOH", "resname ETA and name H22 H23")
    system, state = loaded(inputs, two)
    expected, _ = quiltmd.hybrid(molecule(ETHANE, 6), molecule(METHANOL), MAPPING)
    assert system.atoms == expected.atoms
    for point in (0.0, 0.3, 0.7, 1.0):
        here, there = (
            quiltmd.reference(at_lambdas(one, point, point, point), state, NONBONDED)[0]
            for one in (system, expected)
        )
        assert here["potential"] == pytest.approx(there["potential"], abs=2e-3)


def test_unique_atoms_keep_what_they_have_with_each_other(inputs: Path) -> None:
    """As in Amber: pairs inside of what vanishes or appears are terms in full."""
    two = DualTopology(
        "resname ETA",
        "resname MOH",
        "resname ETA and not name C1 H11",
        "resname MOH and not name C H1",
    )
    system, _ = loaded(inputs, two)
    assert system.alchemy is not None
    changed = {one.name: one for one in system.alchemy.changed_terms}["pair14"]
    common = {0, 1}
    rows = system.pairs14[changed.terms]
    assert len(rows) > 0
    assert all(common & set(map(int, row)) for row in rows)
    inside = [row for row in system.pairs14 if not common & set(map(int, row))]
    assert len(inside) > 4


def test_a_change_of_the_net_charge_is_told() -> None:
    system, _, _ = dual(4)
    charges = np.array(system.charges)
    charges[len(ETHANE)] += 1
    two = DualTopology("index 1-8", "index 9-14", "index 7 8")
    with pytest.warns(quiltmd.QuiltWarning, match=r"charge of the system changes by \+1 e"):
        two.joined_to(replace(system, charges=charges))


def test_a_co_ion_keeps_the_net_charge() -> None:
    """Atoms are those of the topology with both molecules, of which the second is left out."""
    system, _, _ = dual(4)
    charges = np.array(system.charges)
    charges[len(ETHANE)] += 1
    system = replace(system, charges=charges)
    oxygen = len(ETHANE) + len(METHANOL)
    ion = f"index {oxygen + 1}-{oxygen + 3}"
    two = DualTopology("index 1-8", "index 9-14", "index 7 8", co_ion=ion)
    with warnings.catch_warnings():
        warnings.simplefilter("error", quiltmd.QuiltWarning)
        made = two.joined_to(system).system
    assert made.alchemy is not None
    water = len(ETHANE) + np.arange(3)
    np.testing.assert_array_equal(made.alchemy.atoms[-3:], water)
    expected = system.charges[oxygen : oxygen + 3] - 1 / 3
    np.testing.assert_allclose(made.alchemy.last_charges[-3:], expected)
    inside = DualTopology("index 1-8", "index 9-14", "index 7 8", co_ion="index 9")
    with pytest.raises(InputError, match="is in the molecule that changes: select an ion"):
        inside.joined_to(system)


def test_selections_that_make_no_sense_are_refused(inputs: Path) -> None:
    for two, words in (
        (DualTopology("resname ETA", "resname MOH"), "8 atoms of the first molecule .* and 6"),
        (DualTopology("resname ETA", "resname ETA MOH"), "is in both molecules"),
        (DualTopology("resname ETA", "resname MOH", "name O"), "not in the molecule"),
    ):
        with pytest.raises(InputError, match=words):
            loaded(inputs, two)


def test_copies_of_an_atom_are_at_one_place(inputs: Path, tmp_path: Path) -> None:
    _, positions, box = dual()
    positions[len(ETHANE)] += 0.02
    (tmp_path / "moved.rst7").write_text(rst7(positions, box))
    two = DualTopology("resname ETA", "resname MOH", "resname ETA and name H22 H23")
    with pytest.raises(
        InputError, match=r"C1 of ETA 1\) and .*C of MOH 2\) are the same atom .* 0.035"
    ):
        quiltmd.load(inputs / "dual.prmtop", tmp_path / "moved.rst7", second=two)


def test_thermodynamic_integration_of_amber_is_a_section(tmp_path: Path) -> None:
    found = mdin(tmp_path)
    assert found.refused == []
    lambdas = [0.0, 0.4, 0.8, 1.0]
    chosen = found.settings["alchemy"].pop("dual")
    assert chosen["first"] == "( ( residue 1 ) )"
    assert chosen["unique_last"] == ""
    assert found.settings["alchemy"] == {
        "coulomb": lambdas,
        "vdw": lambdas,
        "bonded": lambdas,
        "state": 1,
        "every": 2,
        "soft_core": "amber",
        "alpha": 0.4,
        "alpha_coulomb": 0.1,
        "least_sigma": 0.05,
    }
    assert noted(found, "icfe 1: charges and parameters of bonded terms are linear")


def test_a_molecule_without_a_counterpart_vanishes_or_appears(tmp_path: Path) -> None:
    away = mdin(tmp_path, ("timask2=':2'", "timask2=''"), ("scmask1=':1@H22,H23'", "scmask1=':1'"))
    assert away.refused == []
    assert away.settings["alchemy"]["atoms"] == "( ( residue 1 ) )"
    assert away.settings["alchemy"]["coulomb"] == [0.0, 0.4, 0.8, 1.0]
    back = mdin(
        tmp_path,
        ("timask1=':1'", "timask1=''"),
        ("scmask1=':1@H22,H23', scmask2=''", "scmask1='', scmask2=':2'"),
    )
    assert back.refused == []
    assert back.settings["alchemy"]["vdw"] == [1.0, 0.6, 0.2, 0.0]
    assert back.settings["alchemy"]["intramolecular"] == "keep"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("icfe=1", "icfe=2", "icfe 2: only 0 and 1"),
        ("ifsc=1", "ifsc=0", "ifsc 0: only 1, soft cores"),
        ("ifsc=1", "ifsc=1, klambda=2", "klambda 2: only 1"),
        ("ifsc=1", "ifsc=1, gti_lam_sch=1", "gti_lam_sch 1: the options of GPU-accelerated TI"),
        ("ifsc=1", "ifsc=1, tishake=1", "tishake 1: only 0"),
        ("ifsc=1", "ifsc=1, crgmask=':1'", "crgmask ':1': charges are those of the topology"),
        ("clambda=0.4", "clambda=0.5", "clambda 0.5: it must be one of mbar_lambda"),
        ("mbar_states=4", "mbar_states=3", "mbar_states 3: mbar_lambda has 4 values"),
        ("mbar_lambda=0.0, 0.4, 0.8, 1.0,", "", "ifmbar 1: mbar_lambda is missing"),
        ("timask1=':1', timask2=':2',", "", "icfe 1: timask1 and timask2 are missing"),
        ("timask2=':2'", "timask2=''", "scmask1 must be timask1"),
        ("':2'", "':2<@3.0'", "timask1, timask2, scmask1, scmask2: the mask"),
        (
            "icfe=1",
            "ntr=1, restraint_wt=2, restraintmask='@5', icfe=1",
            "ntr 1 with icfe 1: select restrained atoms by residues and names",
        ),
    ],
)
def test_other_options_are_refused_by_name(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert any(words in line for line in mdin(tmp_path, (old, new)).refused)


def test_without_icfe_the_options_have_no_effect(tmp_path: Path) -> None:
    found = mdin(tmp_path, ("icfe=1", "icfe=0"))
    assert found.refused == []
    assert "alchemy" not in found.settings
    assert noted(found, "no effect without icfe = 1")


def test_a_run_of_an_mdin(inputs: Path, tmp_path: Path) -> None:
    """Its energies of states are those of the section, and a resumed run has all atoms."""
    (tmp_path / "mdin").write_text(MDIN)
    files = [inputs / "dual.prmtop", inputs / "dual.rst7"]
    done = command("run", "mdin", *files, "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = command("run", "--resume", "mdin-quilt", "--steps", "8", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    rows = (tmp_path / "mdin-quilt/dhdl.csv").read_text().splitlines()
    assert len(rows) == 1 + 5
    control = read(tmp_path, "mdin", MDIN)
    given = control.settings | {"output": {"dir": "out"}}
    system, state = load_system(
        build_config(given | {**FILES, "system": given["system"] | _named(files)})
    )
    split = given["nonbonded"]["pme_alpha"]  # which the soft core of charges depends on
    nonbonded = quiltmd.Nonbonded(cutoff=0.7, pme_grid=(48, 48, 48), pme_alpha=split)
    energies = [
        quiltmd.reference(at_lambdas(system, x, x, x), state, nonbonded)[0]["potential"]
        for x in (0.0, 0.4)
    ]
    names = rows[0].split(",")
    first = dict(zip(names, map(float, rows[1].split(",")), strict=True))
    assert first["u_0"] == pytest.approx(energies[0] - energies[1], abs=0.02)


def _named(files: list[Path]) -> dict[str, str]:
    return {"topology": str(files[0]), "coordinates": str(files[1])}
