# SPDX-License-Identifier: Apache-2.0
"""Torsion maps (ff19SB) and CHARMM's terms in Amber topologies, against OpenMM's own reader.

The map and a file of CHAMBER come from MDAnalysis' tests; the file has neither map nor
coordinates, so that alanine dipeptide is given sections of all kinds too.
"""

from __future__ import annotations

import bz2
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import relative_rms
from command import quiltmd as command
from openmm import app, unit

import quiltmd
from quiltmd import InputError, Nonbonded, State
from quiltmd.amber.prmtop import system_from_prmtop
from quiltmd.amber.prmtop_file import PrmtopFile

Files = tuple[Path, Path]

TERMS = {
    "HarmonicBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "PeriodicTorsionForce": "torsion",
    "UreyBradleyForce": "urey_bradley",
    "ImproperTorsionForce": "improper",
    "CMAPTorsionForce": "cmap",
}
CUTOFF, TIGHT = 0.8, 1e-6
MAPPED = [5, 7, 9, 15, 17]  # C, N, CA, C, N of alanine dipeptide, counted from 1


def section(name: str, layout: str, values: Sequence[Any]) -> str:
    """A section of a prmtop; of the layout, the columns and their Fortran format."""
    found = re.fullmatch(r"(\d+)\(?([IEF])(\d+)(?:\.(\d+))?\)?", layout)
    assert found is not None
    columns, width = int(found[1]), int(found[3])
    form = f"{width}d" if found[2] == "I" else f"{width}.{found[4]}{found[2]}"
    lines = [
        "".join(f"{value:{form}}" for value in values[first : first + columns])
        for first in range(0, len(values), columns)
    ]
    return "\n".join([f"%FLAG {name}", "%COMMENT a comment", f"%FORMAT({layout})", *lines, ""])


def maps_of(prefix: str, size: int = 24, count: int = 2) -> str:
    """Maps without any symmetry, and two terms."""
    rng = np.random.default_rng(size)
    text = section(f"{prefix}COUNT", "2I8", [2, count])
    text += section(f"{prefix}RESOLUTION", "20I4", [size] * count)
    for number in range(count):
        energies = rng.normal(0, 3, size * size)
        text += section(f"{prefix}PARAMETER_{number + 1:02d}", "8(F9.5)", energies)
    others = [6, 5, 7, 9, 11, 1]  # O, C, N, CA, CB
    return text + section(f"{prefix}INDEX", "6I8", [*MAPPED, count, *others])


def charmm(text: str, file: Path) -> str:
    """A prmtop as CHAMBER writes it: own Lennard-Jones for 1-4 pairs, terms of all kinds."""
    types = PrmtopFile(file).counts["NTYPES"]
    pairs = types * (types + 1) // 2
    a = PrmtopFile(file).reals("LENNARD_JONES_ACOEF", pairs)
    b = PrmtopFile(file).reals("LENNARD_JONES_BCOEF", pairs)
    for name in ("SCEE", "SCNB"):
        text = re.sub(rf"%FLAG {name}_SCALE_FACTOR[^%]*%FORMAT[^%]*", "", text)
    return "".join(
        [
            text.replace("%FLAG TITLE", "%FLAG CTITLE", 1),
            "%FLAG FORCE_FIELD_TYPE\n%FORMAT(i2,a78)\n 1             CHARMM36\n",
            section("LENNARD_JONES_14_ACOEF", "3E24.16", a * 0.6),
            section("LENNARD_JONES_14_BCOEF", "3E24.16", b * 0.8),
            section("CHARMM_UREY_BRADLEY_COUNT", "2I8", [4, 2]),
            section("CHARMM_UREY_BRADLEY", "10I8", [2, 7, 1, 5, 9, 2, 15, 7, 1, 24, 25, 2]),
            section("CHARMM_UREY_BRADLEY_FORCE_CONSTANT", "5E16.8", [35.0, 22.5]),
            section("CHARMM_UREY_BRADLEY_EQUIL_VALUE", "5E16.8", [2.4, 2.1525]),
            section("CHARMM_NUM_IMPROPERS", "10I8", [3]),
            section("CHARMM_IMPROPERS", "10I8", [5, 2, 7, 6, 1, 15, 9, 17, 16, 1, 7, 5, 9, 11, 2]),
            section("CHARMM_NUM_IMPR_TYPES", "1I8", [2]),
            section("CHARMM_IMPROPER_FORCE_CONSTANT", "5E16.8", [120.0, 9.0]),
            section("CHARMM_IMPROPER_PHASE", "5E16.8", [0.0, 2.9]),
            maps_of("CHARMM_CMAP_"),
        ]
    )


@pytest.fixture(scope="module")
def chamber(alanine: Files, tmp_path_factory: pytest.TempPathFactory) -> Files:
    path = tmp_path_factory.mktemp("chamber") / "chamber.parm7"
    path.write_text(charmm(alanine[0].read_text(), alanine[0]))
    return path, alanine[1]


@pytest.fixture(scope="module")
def ff19sb(
    alanine: Files, amber_test_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Files:
    """Alanine dipeptide with the map that ff19SB has for it, as tleap writes it."""
    packed = (amber_test_files / "ala.ff19SB.OPC.parm7.bz2").read_bytes()
    text = bz2.decompress(packed).decode()
    path = tmp_path_factory.mktemp("ff19sb") / "ff19sb.parm7"
    path.write_text(alanine[0].read_text() + text[text.index("%FLAG CMAP_COUNT") :])
    return path, alanine[1]


@pytest.fixture
def fad(amber_test_files: Path) -> Path:
    """Flavin adenine dinucleotide with CHARMM's force field, by ParmEd: phases in degrees."""
    return amber_test_files / "parmed_fad.prmtop"


def context_of(system: Any, state: State) -> Any:
    for index, force in enumerate(system.getForces()):
        force.setForceGroup(index)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPeriodicBoxVectors(*state.box)
    context.setPositions(state.positions)
    return context


def energies_of(system: Any, context: Any) -> dict[str, float]:
    """Energies of bonded terms by our names."""
    found = {}
    for index, force in enumerate(system.getForces()):
        if force.getName() in TERMS:
            energy = context.getState(getEnergy=True, groups=1 << index).getPotentialEnergy()
            found[TERMS[force.getName()]] = energy.value_in_unit(unit.kilojoule_per_mole)
    return found


def assert_agrees(files: Files, kinds: set[str]) -> None:
    """Energies term by term, and all forces, of a periodic system."""
    system, state = quiltmd.load(*files)
    alpha, grid = quiltmd.pme_parameters(state.box, CUTOFF, TIGHT, order=5)
    prmtop = app.AmberPrmtopFile(str(files[0]), periodicBoxVectors=state.box * unit.nanometer)
    original = prmtop.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF)
    pairs = next(f for f in original.getForces() if isinstance(f, openmm.NonbondedForce))
    pairs.setPMEParameters(alpha, *grid)
    context = context_of(original, state)
    expected = energies_of(original, context)
    if "urey_bradley" in expected:  # that of a rigid water, which OpenMM keeps
        first, second = state.positions[23], state.positions[24]
        stretch = np.linalg.norm(second - first) - 0.21525
        expected["urey_bradley"] -= 22.5 * 418.4 * stretch**2
    settings = Nonbonded(cutoff=CUTOFF, pme_order=5, pme_alpha=alpha, pme_grid=grid)
    energies, forces = quiltmd.reference(system, state, settings)
    assert kinds <= expected.keys()
    for term, value in expected.items():
        assert energies[term] == pytest.approx(value, rel=1e-6), term
    by_openmm = context.getState(getForces=True).getForces(asNumpy=True)
    wanted = by_openmm.value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    peptide = slice(0, 22)
    assert relative_rms(forces[peptide], wanted[peptide]) < 2e-6
    assert_pairs14_agree(system, pairs)
    core = quiltmd.Simulation(system, state, settings, device="cpu")
    for term in expected:
        assert core.energies()[term] == pytest.approx(energies[term], rel=1e-6, abs=1e-4), term


def assert_pairs14_agree(system: Any, force: Any) -> None:
    """1-4 pairs with their charges and Lennard-Jones parameters."""
    rows = [force.getExceptionParameters(i) for i in range(force.getNumExceptions())]
    plain = [[x.value_in_unit_system(unit.md_unit_system) for x in row[2:]] for row in rows]
    theirs = {
        tuple(sorted(row[:2])): (q, sigma if epsilon else 0, epsilon)
        for row, (q, sigma, epsilon) in zip(rows, plain, strict=True)
        if q or epsilon
    }
    ours = {
        tuple(pair): (q, sigma if epsilon else 0, epsilon)
        for pair, (q, sigma, epsilon) in zip(
            system.pairs14.tolist(), system.pair14_parameters, strict=True
        )
        if q or epsilon
    }
    assert ours.keys() == theirs.keys()
    for pair, values in ours.items():
        np.testing.assert_allclose(values, theirs[pair], rtol=1e-9, err_msg=str(pair))


def test_map_of_ff19sb_agrees_with_openmm(ff19sb: Files) -> None:
    assert_agrees(ff19sb, {"cmap"})
    system, _ = quiltmd.load(*ff19sb)
    assert system.cmaps.tolist() == [[4, 6, 8, 14, 16]]
    assert system.cmap_maps.shape == (1, 24, 24)
    assert system.cmap_maps[0, 12, 12] == pytest.approx(-0.40490 * 4.184)  # at -180, -180
    assert system.cmap_maps[0, 12, 13] == pytest.approx(-0.91563 * 4.184)  # psi runs faster


def test_every_charmm_term_agrees_with_openmm(chamber: Files) -> None:
    assert_agrees(chamber, {"urey_bradley", "improper", "cmap"})


def test_terms_without_prefix_in_a_chamber_file(chamber: Files, tmp_path: Path) -> None:
    path = tmp_path / "other.parm7"
    path.write_text(chamber[0].read_text().replace("CHARMM_CMAP_", "CMAP_"))
    other, expected = quiltmd.load(path, chamber[1])[0], quiltmd.load(*chamber)[0]
    assert (other.cmaps == expected.cmaps).all()
    assert (other.cmap_maps == expected.cmap_maps).all()


def test_urey_bradley_terms_of_rigid_water_are_left_out(chamber: Files) -> None:
    flexible, _ = quiltmd.load(*chamber, rigid_water=False)
    rigid, _ = quiltmd.load(*chamber)
    assert flexible.urey_bradleys.tolist() == [[1, 6], [4, 8], [14, 6], [23, 24]]
    np.testing.assert_array_equal(rigid.urey_bradleys, flexible.urey_bradleys[:3])
    np.testing.assert_array_equal(
        rigid.urey_bradley_parameters, flexible.urey_bradley_parameters[:3]
    )


def test_file_of_chamber_agrees_with_openmm(fad: Path, tmp_path: Path) -> None:
    """Bonded terms of a real file at random places; OpenMM takes phases as radians."""
    assert fad.read_text().count("1.68500000E+02") == 1
    radians = tmp_path / "radians.prmtop"
    radians.write_text(fad.read_text().replace("1.68500000E+02", "2.94087979E+00"))
    system = system_from_prmtop(PrmtopFile(fad))
    places = np.stack(np.meshgrid(*[np.arange(5)] * 3), axis=-1).reshape(-1, 3)[: system.atoms]
    positions = 0.25 * places + np.random.default_rng(1).uniform(-0.03, 0.03, places.shape)
    box = 3.0 * np.eye(3)
    state = State.start(system, positions, box, None)
    original = app.AmberPrmtopFile(
        str(radians), periodicBoxVectors=box * unit.nanometer
    ).createSystem(nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF, rigidWater=False)
    expected = energies_of(original, context_of(original, state))
    assert {"urey_bradley", "improper"} <= expected.keys()
    for topology in (fad, radians):
        found = system_from_prmtop(PrmtopFile(topology))
        energies, _ = quiltmd.reference(found, state, Nonbonded(cutoff=CUTOFF))
        for term, value in expected.items():
            assert energies[term] == pytest.approx(value, rel=1e-6), (topology, term)
    pairs = next(f for f in original.getForces() if isinstance(f, openmm.NonbondedForce))
    assert_pairs14_agree(system, pairs)


def test_energy_lists_the_kinds_of_terms_that_there_are(alanine: Files, chamber: Files) -> None:
    done = command("energy", *chamber, "--json")
    assert done.returncode == 0, done.stderr
    energies = json.loads(done.stdout)["energy"]
    terms = {"bond", "angle", "torsion", "urey_bradley", "improper", "cmap", "nonbonded"}
    assert terms <= energies.keys()
    assert sum(energies[term] for term in terms) == pytest.approx(energies["potential"], abs=1e-3)
    shown = command("energy", *chamber).stdout
    assert all(term in shown for term in terms)
    assert "cmap" not in json.loads(command("energy", *alanine, "--json").stdout)["energy"]


def change(old: str, new: str) -> Callable[[str], str]:
    def spoil(text: str) -> str:
        assert re.search(old, text)
        return re.sub(old, new, text, count=1)

    return spoil


def cut(name: str) -> Callable[[str], str]:
    return change(rf"%FLAG {name}\s[^%]*(%COMMENT[^%]*)?%FORMAT[^%]*", "")


BAD = {
    "no CTITLE": (change("%FLAG CTITLE", "%FLAG TITLE"), "LENNARD_JONES_14_ACOEF: terms of CHARMM"),
    "no 1-4 table": (cut("LENNARD_JONES_14_BCOEF"), "LENNARD_JONES_14_BCOEF is missing"),
    "no map": (cut("CHARMM_CMAP_PARAMETER_02"), "section CHARMM_CMAP_PARAMETER_02 is missing"),
    "no count": (cut("CHARMM_CMAP_COUNT"), "section CHARMM_CMAP_COUNT is missing"),
    "no counts of impropers": (cut("CHARMM_NUM_IMPROPERS"), "CHARMM_NUM_IMPROPERS is missing"),
    "no phases": (cut("CHARMM_IMPROPER_PHASE"), "section CHARMM_IMPROPER_PHASE is missing"),
    "a map too many": (
        lambda text: text + section("CHARMM_CMAP_PARAMETER_03", "8F9.5", [0.0]),
        "CHARMM_CMAP_COUNT says that there are only 2 maps",
    ),
    "maps twice": (
        lambda text: text + maps_of("CMAP_"),
        "CHARMM_CMAP_COUNT also defines torsion maps",
    ),
    "maps of two sizes": (change("  24  24\n", "  24  12\n"), "of different resolutions"),
    "an odd map": (change("  24  24\n", "  23  23\n"), "an even number of energies"),
    "short map": (change("  24  24\n", "  26  26\n"), "should have 676 values, but has 576"),
    "negative count": (
        change("       2       2\n", "      -2       2\n"),
        "-2 is not a count",
    ),
    "no such atom": (change("      25       2\n", "    9999       2\n"), "9999 is no"),
    "no such type": (
        change("      25       2\n", "      25       3\n"),
        "3 is not an atom",
    ),
    "unknown": (
        lambda text: text + section("CHARMM_NEW", "10I8", [1]),
        "CHARMM_NEW: this section is not known",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_sections(name: str, chamber: Files, tmp_path: Path) -> None:
    spoil, words = BAD[name]
    path = tmp_path / "bad.parm7"
    path.write_text(spoil(chamber[0].read_text()))
    with pytest.raises(InputError) as caught:
        quiltmd.load(path, chamber[1])
    message = str(caught.value)
    assert words in message
    assert str(path) in message
    assert "\n" not in message
