# SPDX-License-Identifier: Apache-2.0
"""Parameter files for any PSF, with values made up at random: no package ships CHARMM's own."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np

Types = tuple[str, ...]
_OPTIONS = (
    "NONBONDED nbxmod  5 atom cdiel shift vatom vdistance vfswitch -\n"
    "cutnb 14.0 ctofnb 12.0 ctonnb 10.0 eps 1.0 e14fac {} wmin 1.5"
)


def psf_table(path: Path) -> dict[str, list[list[str]]]:
    """Sections of a PSF as words, read by a plain loop: NATOM by lines, others by terms."""
    arity = {"NBOND": 2, "NTHETA": 3, "NPHI": 4, "NIMPHI": 4, "NCRTERM": 8}
    found: dict[str, list[list[str]]] = {}
    words: list[list[str]] = []
    for line in path.read_text().splitlines():
        if "!N" in line:
            words = found.setdefault(line.split("!")[1].split()[0].strip(":"), [])
        else:
            words.append(line.split())
    for name, size in arity.items():
        flat = [word for line in found.get(name, []) for word in line]
        found[name] = [flat[k : k + size] for k in range(0, len(flat) - size + 1, size)]
    found["NATOM"] = [line for line in found["NATOM"] if line]
    return found


class Parameters:
    """Random parameters of every kind of term of a PSF; names of its types by number, T56."""

    def __init__(self, psf: Path, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        table = psf_table(psf)
        atoms = table["NATOM"]
        self.numbers = {line[5]: line[7] for line in atoms if line[5].isdigit()}
        types = [f"T{line[5]}" if line[5].isdigit() else line[5] for line in atoms]
        masses = {kind: line[7] for kind, line in zip(types, atoms, strict=True)}
        self.masses = dict(sorted(masses.items()))
        self.kinds = {
            name: sorted({either(tuple(types[int(k) - 1] for k in term)) for term in table[name]})
            for name in ("NBOND", "NTHETA", "NPHI", "NIMPHI")
        }
        self.maps = sorted({tuple(types[int(k) - 1] for k in row) for row in table["NCRTERM"]})

    def rtf(self) -> str:
        """A topology file with nothing but masses."""
        number = {f"T{k}": k for k in self.numbers}
        lines = [
            f"MASS {number.get(kind, k)} {kind} {mass} ! a comment"
            for k, (kind, mass) in enumerate(self.masses.items(), start=500)
        ]
        return "\n".join(["* Masses", "*", "36  1", *lines, "DECL -CA", "END", ""])

    def lines(self, kinds: Iterable[Types], *ranges: tuple[float, float]) -> list[str]:
        return [
            " ".join([*types, *(f"{self.rng.uniform(*one):.4f}" for one in ranges)])
            for types in kinds
        ]

    def torsions(self) -> list[str]:
        """With one to three terms each; by the middle types where there are many such."""
        found = []
        middle = lambda types: either(types[1:3])  # noqa: E731
        for (b, c), group in groupby(sorted(self.kinds["NPHI"], key=middle), key=middle):
            many = list(group)
            kinds = many[:1] if len(many) > 2 else many
            for types in [("X", b, c, "X"), *kinds] if len(many) > 2 else kinds:
                for n in self.rng.permutation(6)[: self.rng.integers(1, 4)] + 1:
                    k, phase = self.rng.uniform(0, 3), self.rng.choice([0, 180, 37.5])
                    found.append(f"{' '.join(types)} {k:.4f} {n} {phase}")
        return found

    def impropers(self) -> list[str]:
        found = []
        for row, (a, b, c, d) in enumerate(self.kinds["NIMPHI"]):
            types = (a, "X", "X", d) if row % 2 else (a, b, c, d)
            found.append(f"{' '.join(types)} {self.rng.uniform(10, 90):.3f} 0 0.00")
        return list({line.rsplit(" ", 3)[0]: line for line in found}.values())

    def cmaps(self, size: int = 24) -> list[str]:
        found = []
        for types in self.maps:
            found.append(f"{' '.join(types)} {size}")
            energies = self.rng.normal(0, 2, size**2)
            found += [" ".join(f"{e:.5f}" for e in row) for row in energies.reshape(-1, 4)]
        return found

    def nonbonded(self) -> list[str]:
        found = []
        for row, kind in enumerate(self.masses):
            line = f"{kind} 0.0 -{self.rng.uniform(0.02, 0.2):.4f} {self.rng.uniform(0.8, 2):.4f}"
            found.append(
                line + f" 0.0 -{0.01 * (row + 1):.4f} {1 + 0.05 * (row % 9):.3f}" * (row % 2)
            )
        return found

    def nbfix(self) -> list[str]:
        """Of neighbours in the list of types, every second with values of its own for 1-4 pairs."""
        names = list(self.masses)
        return [
            f"{a} {b} -{0.1 + 0.02 * k:.3f} {3 + 0.01 * k:.3f}" + " -0.03 2.8" * (k % 2)
            for k, (a, b) in enumerate(pairwise(names))
        ]

    def prm(self, nbfix: bool = True, e14fac: float = 1.0) -> str:
        """A parameter file in CHARMM's format."""
        sections = {
            "BONDS": self.lines(self.kinds["NBOND"], (100, 400), (1.0, 1.6)),
            "ANGLES": [
                line + f" {self.rng.uniform(5, 40):.3f} 2.1500" * (row % 2)
                for row, line in enumerate(
                    self.lines(self.kinds["NTHETA"], (30, 80), (100.0, 125.0))
                )
            ],
            "DIHEDRALS": self.torsions(),
            "IMPROPER": self.impropers(),
            "CMAP": self.cmaps(),
            _OPTIONS.format(e14fac): self.nonbonded(),
            **({"NBFIX": self.nbfix()} if nbfix else {}),
        }
        text = ["* Parameters made up", "*", "! a comment", ""]
        for header, lines in sections.items():
            text += [header, "! a comment", *lines, ""]
        return "\n".join([*text, "HBOND CUTHB 0.5 ! none", "END", ""])

    def xplor(self) -> str:
        """The same kinds of terms in X-PLOR's format, without maps."""
        bonds = self.lines(self.kinds["NBOND"], (100, 400), (1.0, 1.6))
        angles = self.lines(self.kinds["NTHETA"], (30, 80), (100.0, 125.0))
        text = ["REMARKS made up", " SET ECHO=FALSE END", "{ a comment", "of two lines }"]
        text += [f" BOND {line} ! a comment" for line in bonds]
        text += [f" ANGLE {line}" + "  UB  12.0 2.1" * (k % 2) for k, line in enumerate(angles)]
        for types, lines in groupby(self.torsions(), key=lambda line: line.split()[:4]):
            terms = ["  ".join(line.split()[4:]) for line in lines]
            multiple = f"MULTIPLE= {len(terms)} " if len(terms) > 1 else ""
            text.append(f" DIHEDRAL {' '.join(types)} {multiple}" + "\n      ".join(terms))
        text += [f" IMPROPER {line}" for line in self.impropers()]
        text += [" NBONDS", "  CUTNB= 13.0 NBXMOD= 5 E14FAC= 1.0 ATOM CDIE SHIFT VSWITCH", " END"]
        for line in self.nonbonded():
            words = line.split()
            pair = f"{-float(words[2]):.4f} {2 ** (5 / 6) * float(words[3]):.9f}"
            text.append(f" NONBONDED {words[0]} {pair} {pair}")
        names = list(self.masses)
        return "\n".join([*text, f" NBFIX {names[0]} {names[1]} 5.0e5 300. 4.0e5 200.", ""])


def either(types: Types) -> Types:
    """Of both directions one, always the same."""
    return min(types, types[::-1])
