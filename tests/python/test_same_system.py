# SPDX-License-Identifier: Apache-2.0
"""One system as Amber, GROMACS, CHARMM and OpenMM write it: the same energies, term by term."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import relative_rms

import quiltmd
from quiltmd import Nonbonded, State, System
from quiltmd.openmm.write import write_openmm

SETTINGS = Nonbonded(cutoff=0.9, pme_alpha=3.0, pme_grid=(32, 32, 32), pme_order=5)
KCAL = 4.184


class Amber:
    """What the writers need of the system: its solute atom by atom, waters behind it."""

    def __init__(self, files: tuple[Path, Path]) -> None:
        self.system, self.state = quiltmd.load(*files, rigid_water=False)
        topology = self.system.topology
        water = topology.residue_names[topology.residue_of_atom] == "WAT"
        self.solute = int(np.argmax(water))
        assert water[self.solute :].all()
        self.waters = (self.system.atoms - self.solute) // 3
        kept = [*range(self.solute), *range(self.solute, self.solute + 3)]
        self.names = [f"T{atom}" for atom in range(self.solute)] + ["OW", "HW", "HW"]
        self.charges, self.masses = self.system.charges[kept], self.system.masses[kept]
        a, b = (np.diag(table)[self.system.lj_types[kept]] for table in self.lj)
        real = b > 0
        self.sigma = np.where(real, np.divide(a, b, where=real, out=np.ones_like(a)) ** (1 / 6), 0)
        self.epsilon = np.divide(b**2, 4 * a, where=real, out=np.zeros_like(a))

    @property
    def lj(self) -> tuple[Any, Any]:
        return self.system.lj_a, self.system.lj_b

    def terms(self, name: str) -> Iterator[tuple[list[int], list[float]]]:
        """Atoms, counted from 0, and parameters of the terms of solute and first water."""
        singular = "pair14" if name == "pairs14" else name.removesuffix("s")
        atoms, values = (getattr(self.system, field) for field in (name, f"{singular}_parameters"))
        for members, row in zip(atoms.tolist(), values.tolist(), strict=True):
            if max(members) < self.solute + 3:
                yield members, row

    def type_of(self, atom: int) -> str:
        return self.names[atom]


def gromacs(amber: Amber, folder: Path) -> dict[str, Any]:
    """A topology with all parameters in the lines of the terms."""
    lines = ["[ defaults ]", "1 2 no 0.5 0.8333333333", "[ atomtypes ]"]
    for k, name in enumerate(amber.names[:-1]):
        lines.append(f"{name} 0.0 0.0 A {amber.sigma[k]:.12g} {amber.epsilon[k]:.12g}")
    for first, count, title in ((0, amber.solute, "Peptide"), (amber.solute, 3, "SOL")):
        lines += ["[ moleculetype ]", f"{title} 3", "[ atoms ]"]
        for k in range(first, first + count):
            lines.append(
                f"{k - first + 1} {amber.names[k]} 1 {title} A{k} 1 {amber.charges[k]:.12g} "
                f"{amber.masses[k]:.12g}"
            )
        for section, name in (("bonds", "bonds"), ("angles", "angles"), ("pairs", "pairs14")):
            lines.append(f"[ {section} ]")
            for atoms, row in amber.terms(name):
                if first <= min(atoms) and max(atoms) < first + count:
                    numbers = " ".join(str(atom - first + 1) for atom in atoms)
                    lines.append(f"{numbers} {in_gromacs(name, row)}")
        lines.append("[ dihedrals ]")
        for atoms, (periodicity, phase, k) in amber.terms("torsions"):
            if first <= min(atoms) and max(atoms) < first + count:
                numbers = " ".join(str(atom - first + 1) for atom in atoms)
                lines.append(f"{numbers} 9 {np.degrees(phase):.12g} {k:.12g} {int(periodicity)}")
    lines += ["[ system ]", "the same", "[ molecules ]", "Peptide 1", f"SOL {amber.waters}"]
    (folder / "same.top").write_text("\n".join(lines) + "\n")
    return {"topology": folder / "same.top"}


def in_gromacs(name: str, row: list[float]) -> str:
    if name == "pairs14":  # charges of its own
        product, sigma, epsilon = row
        return f"2 1.0 {product:.12g} 1.0 {sigma:.12g} {epsilon:.12g}"
    return f"1 {np.degrees(row[0]) if name == 'angles' else row[0]:.12g} {row[1]:.12g}"


def charmm(amber: Amber, folder: Path) -> dict[str, Any]:
    """A PSF and a parameter file, in which each atom of the solute is a type of its own."""
    psf = ["PSF EXT", "", "1 !NTITLE", "the same", "", f"{amber.system.atoms} !NATOM"]
    for k in range(amber.system.atoms):
        one = k if k < amber.solute else amber.solute + (k - amber.solute) % 3
        name = "ALA" if k < amber.solute else "WAT"
        residue = 1 if k < amber.solute else 2 + (k - amber.solute) // 3
        psf.append(
            f"{k + 1:10d} {'A':8s} {residue:<8d} {name:8s} {f'A{one}':8s} {amber.names[one]:6s} "
            f"{amber.charges[one]:.10f} {amber.masses[one]:.10f} 0"
        )
    lists = {
        "NBOND: bonds": amber.system.bonds,
        "NTHETA: angles": amber.system.angles,
        "NPHI: dihedrals": np.unique(amber.system.torsions, axis=0),
        "NIMPHI: impropers": np.empty((0, 4), int),
        "NDON: donors": np.empty((0, 2), int),
        "NACC: acceptors": np.empty((0, 2), int),
    }
    for title, atoms in lists.items():
        psf += ["", f"{len(atoms)} !{title}"]
        psf += [" ".join(f"{atom + 1:9d}" for atom in row) for row in atoms]
    psf += ["", "0 !NNB", "", *["0"] * amber.system.atoms, "", "0 0 !NGRP", ""]
    (folder / "same.psf").write_text("\n".join(psf) + "\n")

    prm = ["* the same", "*", "ATOMS"]
    prm += [f"MASS -1 {n} {amber.masses[k]:.8f}" for k, n in enumerate(amber.names[:-1])]
    prm.append("BONDS")
    for atoms, (length, k) in amber.terms("bonds"):
        prm.append(f"{named(amber, atoms)} {k / KCAL / 200:.10f} {10 * length:.10f}")
    prm.append("ANGLES")
    for atoms, (theta, k) in amber.terms("angles"):
        prm.append(f"{named(amber, atoms)} {k / KCAL / 2:.10f} {np.degrees(theta):.10f}")
    prm.append("DIHEDRALS")
    for atoms, (periodicity, phase, k) in amber.terms("torsions"):
        prm.append(
            f"{named(amber, atoms)} {k / KCAL:.10f} {int(periodicity)} {np.degrees(phase):.10f}"
        )
    prm.append(f"NONBONDED nbxmod 5 atom cdiel e14fac {1 / 1.2:.10f}")
    for k, name in enumerate(amber.names[:-1]):
        half, epsilon = 10 * amber.sigma[k] * 2 ** (1 / 6) / 2, -amber.epsilon[k] / KCAL
        prm.append(f"{name} 0 {epsilon:.12f} {half:.10f} 0 {epsilon / 2:.12f} {half:.10f}")
    (folder / "same.prm").write_text("\n".join([*prm, "END"]) + "\n")
    return {"topology": folder / "same.psf", "parameters": [folder / "same.prm"]}


def named(amber: Amber, atoms: list[int]) -> str:
    return " ".join(amber.type_of(atom) for atom in atoms)


def openmm(amber: Amber, folder: Path) -> dict[str, Any]:
    write_openmm(folder / "same.xml", amber.system, SETTINGS)
    return {"topology": folder / "same.xml"}


def energies(system: System, state: State) -> tuple[dict[str, float], Any]:
    simulation = quiltmd.Simulation(system, state, SETTINGS, device="cpu")
    return simulation.energies(), simulation.forces()


@pytest.mark.parametrize("write", [gromacs, charmm, openmm])
def test_the_same_energies(write: Any, alanine: tuple[Path, Path], tmp_path: Path) -> None:
    amber = Amber(alanine)
    rigid = write is charmm  # the others say themselves what is rigid
    system, state = quiltmd.load(
        coordinates=alanine[1], rigid_water=rigid, **write(amber, tmp_path)
    )
    ours, forces = energies(system, state)
    expected, theirs = energies(quiltmd.load(*alanine, rigid_water=rigid)[0], state)
    assert ours.keys() == expected.keys()
    for name, energy in expected.items():
        assert ours[name] == pytest.approx(energy, rel=2e-6, abs=2e-3), name
    assert relative_rms(forces, theirs) < 2e-6
