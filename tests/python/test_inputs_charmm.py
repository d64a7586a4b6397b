# SPDX-License-Identifier: Apache-2.0
"""PSF files with CHARMM's and X-PLOR's parameters, against OpenMM's own readers."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from boxes import relative_rms
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_parameters import Parameters, psf_table
from openmm import app, unit

import quiltmd
from quiltmd import InputError, Nonbonded, State, System
from quiltmd.charmm.psf import PsfFile
from quiltmd.charmm.topology import read_parameters
from quiltmd.inputs import describe

# The PDB and the CRD of adenylate kinase have four histidines with atoms in another order.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* 12 atoms have names of other elements:quiltmd.QuiltWarning",
    "ignore:the system has a net charge:quiltmd.QuiltWarning",
)

TERMS = {
    "HarmonicBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "UreyBradleyForce": "urey_bradley",
    "PeriodicTorsionForce": "torsion",
    "CustomTorsionForce": "improper",
    "CMAPTorsionForce": "cmap",
}
CUTOFF = 1.0


@pytest.fixture(scope="module")
def ala3(mdanalysis_files: Path) -> Path:
    """Three alanines, 33 atoms, types by number, CHEQ columns, a torsion map."""
    return mdanalysis_files / "parmed_ala3.psf"


@pytest.fixture(scope="module")
def adk(mdanalysis_files: Path) -> tuple[Path, Path]:
    """Adenylate kinase, 3341 atoms, types by name, 212 torsion maps: PSF and PDB."""
    return mdanalysis_files / "adk_closed_NAMD.psf", mdanalysis_files / "adk_closed.pdb"


def write(folder: Path, parameters: Parameters, **options: Any) -> list[Path]:
    """Topology file and parameter file."""
    files = [folder / "made_up.rtf", folder / "made_up.prm"]
    files[0].write_text(parameters.rtf())
    files[1].write_text(parameters.prm(**options))
    return files


def walk(atoms: int, box: float) -> np.ndarray:
    """Positions in a row, neighbours some 0.15 nm apart."""
    rng = np.random.default_rng(atoms)
    steps = rng.normal(0, 0.06, (atoms, 3)) + np.array([0.13, 0, 0])
    positions: np.ndarray = np.cumsum(steps, axis=0) % box
    return positions


def by_openmm(psf: Path, parameters: list[Path], state: State) -> tuple[dict[str, float], Any]:
    """Energies by our names, kJ/mol, and forces, by OpenMM's readers and Reference platform."""
    files = [str(path) for path in parameters]
    lengths = np.diag(state.box)
    original = app.CharmmPsfFile(
        str(psf), unitCellDimensions=lengths * unit.nanometer
    ).createSystem(
        app.CharmmParameterSet(*files, permissive=True),
        nonbondedMethod=app.PME,
        nonbondedCutoff=CUTOFF,
        constraints=None,
        rigidWater=False,
    )
    alpha, grid = quiltmd.pme_parameters(state.box, CUTOFF, 1e-4)
    for index, force in enumerate(original.getForces()):
        force.setForceGroup(index)
        if isinstance(force, openmm.NonbondedForce):
            force.setPMEParameters(alpha, *grid)
            force.setUseDispersionCorrection(False)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(original, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(state.positions)
    context.computeVirtualSites()
    energies: dict[str, float] = dict.fromkeys([*TERMS.values(), "nonbonded"], 0.0)
    bonds = 0
    for index, force in enumerate(original.getForces()):
        kind = type(force).__name__
        if kind == "HarmonicBondForce":  # the second has Urey-Bradley terms
            kind = "UreyBradleyForce" if bonds else kind
            bonds += 1
        energy = context.getState(getEnergy=True, groups=1 << index).getPotentialEnergy()
        energies[TERMS.get(kind, "nonbonded")] += energy.value_in_unit(unit.kilojoule_per_mole)
    forces = context.getState(getForces=True).getForces(asNumpy=True)
    return energies, forces.value_in_unit(unit.kilojoule_per_mole / unit.nanometer)


def assert_agrees(
    system: System, state: State, expected: tuple[dict[str, float], Any], exact: bool
) -> None:
    alpha, grid = quiltmd.pme_parameters(state.box, CUTOFF, 1e-4)
    chosen = Nonbonded(
        cutoff=CUTOFF, pme_alpha=alpha, pme_grid=grid, pme_order=5, dispersion_correction=False
    )
    if exact:
        energies, forces = quiltmd.reference(system, state, chosen)
        energies["nonbonded"] = sum(
            energies[name] for name in ("lj", "lj14", "coulomb", "coulomb14", "pme")
        )
    else:
        simulation = quiltmd.Simulation(system, state, chosen, device="cpu")
        energies, forces = simulation.energies(), simulation.forces()
    for name, value in expected[0].items():
        assert energies[name] == pytest.approx(value, rel=2e-6 if exact else 1e-5, abs=1e-4), name
    assert relative_rms(forces, expected[1]) < (2e-6 if exact else 2e-5)


@pytest.mark.parametrize("nbfix", [False, True])
@pytest.mark.parametrize("e14fac", [1.0, 0.4])
def test_every_term(ala3: Path, tmp_path: Path, nbfix: bool, e14fac: float) -> None:
    files = write(tmp_path, Parameters(ala3), nbfix=nbfix, e14fac=e14fac)
    system = describe(ala3, files).system
    assert system.atoms == 33
    assert len(system.impropers) == 5
    assert len(system.cmaps) == 1
    assert len(system.urey_bradleys) > 0
    box = 4.5 * np.eye(3)
    state = State.start(system, walk(33, 4.5), box)
    expected = by_openmm(ala3, files, state)
    assert min(abs(value) for value in expected[0].values()) > 0.1
    assert_agrees(system, state, expected, exact=True)


def test_a_protein(adk: tuple[Path, Path], tmp_path: Path) -> None:
    files = write(tmp_path, Parameters(adk[0]), nbfix=False)
    system, state = quiltmd.load(*adk, parameters=files, box=[8, 8, 8])
    assert len(system.cmaps) == 212
    assert_agrees(system, state, by_openmm(adk[0], files, state), exact=False)


def test_atoms_and_residues(ala3: Path, adk: tuple[Path, Path], mdanalysis_files: Path) -> None:
    for path in (ala3, adk[0], mdanalysis_files / "tip125_tric_C36.psf"):
        psf, lines = PsfFile(str(path)), psf_table(path)["NATOM"]
        topology = psf.topology
        assert [psf.type_names[k] for k in psf.type_of_atom] == [line[5] for line in lines]
        assert psf.charges.tolist() == [float(line[6]) for line in lines]
        assert psf.masses.tolist() == [float(line[7]) for line in lines]
        assert topology.atom_names.tolist() == [line[4] for line in lines]
        residues = [
            (topology.chain_ids[r], str(topology.residue_ids[r]), topology.residue_names[r])
            for r in topology.residue_of_atom
        ]
        assert residues == [tuple(line[1:4]) for line in lines]


def test_fixed_columns_and_insertion_codes(mdanalysis_files: Path) -> None:
    without = PsfFile(str(mdanalysis_files / "nosegid.psf"))
    assert without.topology.chain_ids.tolist()[0] == ""
    assert without.topology.residue_names[0] == "GLY"
    assert without.type_names[without.type_of_atom[0]] == "N"
    wide = PsfFile(str(mdanalysis_files / "1a2c_ins_code.psf"))
    assert wide.type_names[wide.type_of_atom[0]] == "CT3"
    assert wide.topology.residue_ids[0] == 1


def test_rigid_water(mdanalysis_files: Path, tmp_path: Path) -> None:
    psf = mdanalysis_files / "tip125_tric_C36.psf"
    files = write(tmp_path, Parameters(psf))
    system = describe(psf, files).system
    assert len(system.exclusions) == 375
    assert len(system.pairs14) == 0
    pdb = tmp_path / "water.pdb"
    names = psf_table(psf)["NATOM"]
    pdb.write_text(
        "".join(
            f"ATOM  {k:5d} {line[4]:4s} TIP3    1    {3 * (k % 7):8.3f}{k % 11:8.3f}{k % 13:8.3f}\n"
            for k, line in enumerate(names, start=1)
        )
    )
    rigid, _ = quiltmd.load(psf, pdb, parameters=files, box=[2, 2, 2])
    assert len(rigid.constraints) == 375
    assert len(rigid.bonds) == len(rigid.angles) == len(rigid.urey_bradleys) == 0
    assert set(np.round(rigid.constraint_lengths, 9)) == set(
        np.round(system.bond_parameters[:, 0], 9)
    )


def test_xplor_format_says_the_same(adk: tuple[Path, Path], tmp_path: Path) -> None:
    """The values of a file of X-PLOR, by a plain reading of its lines."""
    text = Parameters(adk[0]).xplor()
    path = tmp_path / "made_up.xplor"
    path.write_text(text)
    found = read_parameters((str(path),))
    bond = re.search(r"BOND (\S+) (\S+) (\S+) (\S+)", text)
    assert bond is not None
    length, k = found.bonds[min((bond[1], bond[2]), (bond[2], bond[1]))]
    assert (length, k) == pytest.approx((float(bond[4]) / 10, float(bond[3]) * 836.8))
    outer = [values for values in found.angles.values() if values[3]]
    assert len(outer) > 10
    np.testing.assert_allclose([values[2:] for values in outer], [[0.21, 12 * 836.8]] * len(outer))
    count = sum(len(terms) for terms in found.torsions.values())
    lines = [line for line in text.splitlines() if line.startswith((" DIHE", "      "))]
    assert count == len(lines)
    assert found.counted
    kind = re.search(r"NONBONDED (\S+) (\S+) (\S+)", text)
    assert kind is not None
    epsilon, half, *_ = found.lennard_jones[kind[1]]
    sigma = 2 * half / 2 ** (1 / 6)
    assert (epsilon, sigma) == pytest.approx((float(kind[2]) * 4.184, float(kind[3]) / 10))
    pair = found.pairs[min(tuple(text.split()[-6:-4]), tuple(text.split()[-6:-4][::-1]))]
    a, b = pair[0] * pair[1] ** 12, 2 * pair[0] * pair[1] ** 6
    assert (a, b) == pytest.approx((5e5 * 4.184e-12, 300 * 4.184e-6))
    a, b = pair[2] * pair[3] ** 12, 2 * pair[2] * pair[3] ** 6
    assert (a, b) == pytest.approx((4e5 * 4.184e-12, 200 * 4.184e-6))


def test_xplor_torsions_have_as_many_terms_as_they_are_listed_times(
    ala3: Path, tmp_path: Path
) -> None:
    parameters = Parameters(ala3)
    rtf, prm = write(tmp_path, parameters)
    text = ala3.read_text()
    listed = psf_table(ala3)["NPHI"]
    types = [f"T{line[5]}" for line in psf_table(ala3)["NATOM"]]
    torsions = {}
    for atoms in listed:
        a, b, c, d = (types[int(k) - 1] for k in atoms)
        torsions[min((a, b, c, d), (d, c, b, a))] = 3
    lines = [
        f" DIHEDRAL {' '.join(key)} MULT= 3 1.0 1 0.0  2.0 2 180.0  3.0 3 0.0" for key in torsions
    ]
    xplor = tmp_path / "torsions.xplor"
    xplor.write_text("REMARKS more\n" + "\n".join(lines) + "\n")
    prm.write_text(re.sub(r"DIHEDRALS.*?IMPROPER", "IMPROPER", prm.read_text(), flags=re.DOTALL))
    once = describe(ala3, [rtf, prm, xplor]).system
    assert len(once.torsions) == len(listed)
    assert (once.torsion_parameters[:, 0] == 1).all()
    start, end = text.index("!NPHI"), text.index("!NIMPHI")
    numbers = text[text.index("\n", start) : text.rindex("\n", 0, end)].split()
    twice = f"{2 * len(listed):8d} !NPHI: dihedrals\n" + "\n".join([*numbers, *numbers]) + "\n\n"
    psf = tmp_path / "twice.psf"
    psf.write_text(
        text[: text.rindex("\n", 0, start)] + "\n" + twice + text[text.rindex("\n", 0, end) + 1 :]
    )
    both = describe(psf, [rtf, prm, xplor]).system
    assert len(both.torsions) == 2 * len(listed)
    assert set(both.torsion_parameters[:, 0]) == {1.0, 2.0}


def test_stream_files(ala3: Path, tmp_path: Path) -> None:
    rtf, prm = write(tmp_path, Parameters(ala3))
    stream = tmp_path / "all.str"
    masses, terms = (path.read_text().replace("*", "*") for path in (rtf, prm))
    stream.write_text(
        "* A stream\n*\n\nioformat extended\nset app append\nread rtf card @app\n"
        f"{masses}\nread para card flex @app\n{terms}\nreturn\n"
    )
    apart, together = (describe(ala3, files).system for files in ([rtf, prm], [stream]))
    for name, array in apart.arrays().items():
        np.testing.assert_array_equal(together.arrays()[name], array, err_msg=name)


def test_later_files_override(ala3: Path, tmp_path: Path) -> None:
    rtf, prm = write(tmp_path, Parameters(ala3))
    more = tmp_path / "more.prm"
    line = prm.read_text().split("BONDS\n! a comment\n")[1].split("\n")[0].split()
    more.write_text(f"* More\n*\nBONDS\n{line[1]} {line[0]} 777.0 1.2345\n\nEND\n")
    system = describe(ala3, [rtf, prm, more]).system
    chosen = system.bond_parameters[:, 0] == pytest.approx(0.12345)
    changed = np.isclose(system.bond_parameters[:, 0], 0.12345)
    assert chosen is not None
    assert changed.any()
    np.testing.assert_allclose(system.bond_parameters[changed, 1], 777 * 836.8)


# What is wrong with a file is said with its line.

LONE_PAIRS = """\
         4        15 !NUMLP NUMLPH
         2         1   F     0.300000       0.00000       0.00000
         3         4   F     0.350000       110.000       90.0000
         3         8   F     -0.400000      30.0000       45.0000
         3        12   F     0.350000       110.000      -90.0000
        34        12        11        35        22        21        23        36
        31        32        33        37        22        21        23
"""


def with_lone_pairs(psf: Path, folder: Path) -> Path:
    """The peptide with lone pairs of each kind, two of them at one oxygen."""
    text = psf.read_text().replace("      33 !NATOM", "      37 !NATOM")
    line = "      {} AAL  1    ALA  LP{}    99   {:.6f}       0.00000          -1   0.0     0.0\n"
    rows = "".join(line.format(34 + k, k, 0.05 + 0.1 * k) for k in range(4))
    text = text.replace("\n      32 !NBOND", f"{rows}\n      33 !NBOND")
    # A bond of a lone pair, which has no parameters, has no effect.
    lines = text.split("\n")
    bonds = next(k for k, one in enumerate(lines) if "!NBOND" in one)
    end = next(k for k in range(bonds, len(lines)) if not lines[k].strip())
    lines.insert(end, "      34      12")
    text = "\n".join(lines).replace("       0       0 !NUMLP NUMLPH\n", LONE_PAIRS)
    (folder / "pairs.psf").write_text(text)
    return folder / "pairs.psf"


def test_lone_pairs(ala3: Path, tmp_path: Path) -> None:
    psf = with_lone_pairs(ala3, tmp_path)
    files = write(tmp_path, Parameters(psf), e14fac=0.7)
    system = describe(psf, files).system
    assert system.sites[:, 0].tolist() == [33, 34, 35, 36]
    state = State.start(system, walk(37, 4.5), 4.5 * np.eye(3))
    expected = by_openmm(psf, files, state)  # which places the sites itself
    expected[1][33:] = 0.0  # forces on sites are spread over their parents
    placed = quiltmd.Simulation(system, state, device="cpu").positions()
    state = State.start(system, placed, 4.5 * np.eye(3))
    assert_agrees(system, state, expected, exact=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("F     0.300000       0.0", "F     0.300000       1.0", "a scaled distance"),
        ("F     0.300000", "T     0.300000", r"line 150: !NUMLP: .* weighted by masses"),
        ("F     0.300000", "F     0.3x0000", "expected number of hosts, place in"),
        ("F     0.350000", "F     0.000000", "of 3 atoms at the distance 0: only colinear"),
        ("         2         1   F", "         1         1   F", "of 1 atoms at the distance"),
        ("         3        12   F", "         3        13   F", "lacks some of its 3 hosts"),
        ("        34        12        11", "        34        12        99", "its list of hosts"),
        ("        34        12        11", "        34        12        1²", "its list of hosts"),
        ("        34        12        11", "        33        12        11", "IMOVE"),
    ],
)
def test_bad_lone_pairs(old: str, new: str, words: str, ala3: Path, tmp_path: Path) -> None:
    psf = with_lone_pairs(ala3, tmp_path)
    files = write(tmp_path, Parameters(psf))
    text = psf.read_text()
    assert old in text
    psf.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        describe(psf, files)


BAD_PARAMETERS = {
    "no such type": (("T56 ", "T57x "), "no parameters for the bond of types"),
    "word": (("BONDS", "SPRINGS"), r"made_up\.prm, line 5: 'SPRINGS' is not known"),
    "number": ((" 0.0 -", " 0.0 -x"), "is not a finite number"),
    "columns": (
        ("BONDS\n! a comment\n", "BONDS\nT1 T2 3\n"),
        "line 6: bonds: expected 2 types and",
    ),
    "option": (("cdiel", "rdiel"), "the option rdiel of nonbonded interactions is not supported"),
    "mode": (("nbxmod  5", "nbxmod 3"), "NBXMOD 3 is not supported"),
    "dielectric": (("eps 1.0", "eps 4.0"), "a dielectric constant of 4 is not supported"),
    "hydrogen bonds": (("CUTHB 0.5 ! none\n", "CUTHB 0.5\nN* O* -3 2\n"), r"HBOND\) are not"),
    "map": ((" 24\n", " 26\n"), r"the map of .* has \d+ of 676 energies"),
    "periodicity": (
        ("IMPROPER\n", "T1 T2 T3 T4 1.0 2.5 0\nIMPROPER\n"),
        "2.5 is not a whole number",
    ),
    "harmonic torsion": (
        ("IMPROPER\n", "X T20 T22 X 1.0 0 0\nX T22 T20 X 1.0 0 0\nIMPROPER\n"),
        "has the periodicity 0",
    ),
    "polarizability": ((" 0.0 -", " 0.0 "), r"Slater-Kirkwood\) is not supported"),
    "radius": (
        ("IMPROPER\n", "NONBONDED\nT1 0.0 -0.1 -2.0\nIMPROPER\n"),
        "RMIN, the distance of least energy, must not be",
    ),
    "stream": (("BONDS\n", "read sequ card\nBONDS\n"), "'read sequ card' is not supported"),
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameters(name: str, ala3: Path, tmp_path: Path) -> None:
    (old, new), words = BAD_PARAMETERS[name]
    rtf, prm = write(tmp_path, Parameters(ala3))
    text = prm.read_text()
    assert old in text
    prm.write_text(text.replace(old, new) if name == "no such type" else text.replace(old, new, 1))
    with pytest.raises(InputError, match=words) as caught:
        describe(ala3, [rtf, prm])
    assert "\n" not in str(caught.value)


BAD_PSF = {
    "drude": (("PSF CMAP CHEQ", "PSF CMAP DRUDE"), r"Drude \(polarizable\) models"),
    "lone pairs": (
        ("0       0 !NUMLP", "3       0 !NUMLP"),
        r"!NUMLP: expected number of hosts, place in",
    ),
    "section": (("5 !NDON", "5 !NWALL"), "!NWALL: this section is not known"),
    "cut": (("32 !NBOND", "31 !NBOND"), r"line 50: !NBOND: should have 62 numbers, but has 64"),
    "atom": (("33 !NATOM", "34 !NATOM"), "!NATOM: should have 34 atoms, but has fewer"),
    "no atom": (("       1       5", "      99       5"), "99 is not an atom of this file"),
    "word": (("       1       5", "       x       5"), "!NBOND: 'x' is not a whole number"),
    "charge": (("-0.300000       14", "-0.30x000       14"), "line 8, atom 1: the charge"),
    "fixed": (("14.0070           0", "14.0070           1"), r"line 8, atom 1: fixed atoms"),
    "again": (
        ("5 !NDON", "       0 !NBOND\n\n       5 !NDON"),
        "!NBOND: this section occurs a second time",
    ),
    "no atoms": (("33 !NATOM", "33 !NOTHING"), "no section !NATOM"),
}


@pytest.mark.parametrize("name", BAD_PSF)
def test_bad_psf(name: str, ala3: Path, tmp_path: Path) -> None:
    (old, new), words = BAD_PSF[name]
    files = write(tmp_path, Parameters(ala3))
    text = ala3.read_text()
    assert old in text
    bad = tmp_path / "bad.psf"
    bad.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=words) as caught:
        describe(bad, files)
    assert str(caught.value).startswith(str(bad))


def test_what_is_missing_is_named(ala3: Path, adk: tuple[Path, Path], tmp_path: Path) -> None:
    rtf, prm = write(tmp_path, Parameters(ala3))
    with pytest.raises(InputError, match="a PSF has no force field: name"):
        describe(ala3)
    with pytest.raises(InputError, match="no MASS statement says which is"):
        describe(ala3, [prm])
    with pytest.raises(
        InputError, match=r"no parameters for the bond of types C-CP1 \(atom 149 \(C of"
    ):
        describe(adk[0], [rtf, prm])
    found = quiltmd.load(*adk, parameters=write(tmp_path, Parameters(adk[0])))
    with pytest.warns(quiltmd.QuiltWarning, match="there is no periodic box"):
        quiltmd.Simulation(*found, device="cpu")


# Coordinates


def test_crd_and_binary(adk: tuple[Path, Path], mdanalysis_files: Path, tmp_path: Path) -> None:
    files = write(tmp_path, Parameters(adk[0]))
    crd = mdanalysis_files / "adk_open.crd"
    rows = [line.split() for line in crd.read_text().splitlines()[4:]]
    expected = np.array([row[4:7] for row in rows], dtype=float) / 10
    _, state = quiltmd.load(adk[0], crd, parameters=files, box=[9, 9, 9])
    moved = state.positions - expected
    np.testing.assert_allclose(moved - 9 * np.round(moved / 9), 0, atol=1e-9)
    for order in "<>":
        binary = tmp_path / "adk.coor"
        content = (expected * 10).astype(f"{order}f8").tobytes()
        binary.write_bytes(struct.pack(f"{order}i", len(expected)) + content)
        _, again = quiltmd.load(adk[0], binary, parameters=files, box=[9, 9, 9])
        np.testing.assert_allclose(again.positions, state.positions, atol=1e-9)
    other = mdanalysis_files / "parmed_ala3.psf"
    (tmp_path / "other").mkdir()
    more = write(tmp_path / "other", Parameters(other))
    with pytest.raises(InputError, match=r"adk_open\.crd, line 4: 3341 atoms, but the topology"):
        quiltmd.load(other, crd, parameters=more, box=[9, 9, 9])


KEYWORDS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=4, max_size=9)


@settings(max_examples=25, deadline=None)
@given(word=KEYWORDS, where=st.integers(0, 100))
def test_unknown_keywords_are_named(
    word: str, where: int, ala3: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A section that nobody knows, put between any two others, is an error that names it."""
    folder = tmp_path_factory.mktemp("fuzz")
    rtf, prm = write(folder, Parameters(ala3))
    parts = re.split(
        r"(?m)^(?=BONDS|ANGLES|DIHEDRALS|IMPROPER|CMAP|NONBONDED|NBFIX|HBOND|END)", prm.read_text()
    )
    at = 1 + where % (len(parts) - 1)
    strange = f"Q{word}\nT1 T2 1.0 2.0 3.0 4.0 5.0\n"
    prm.write_text("".join([*parts[:at], strange, *parts[at:]]))
    with pytest.raises(InputError, match=rf"Q{word}|T1 T2|HBOND"):
        describe(ala3, [rtf, prm])
