# SPDX-License-Identifier: Apache-2.0
"""The table that LAMMPS writes to its log (thermo), in its columns and units."""

from __future__ import annotations

import os
from pathlib import Path

from ..description.checks import whole_number
from ..outputs.files import FileWriter, GrowingFile, Mark
from ..outputs.readout import Readout
from ..outputs.reporters import Need
from .units import UNITS

# Columns of energies, by the names of LAMMPS, and the terms of which each is the sum.
_MOLECULAR = {
    "E_bond": ("bond",),
    "E_angle": ("angle", "urey_bradley"),
    "E_dihed": ("torsion", "ryckaert_bellemans", "cmap"),
    "E_impro": ("improper",),
}
_PAIRS = {
    "E_vdwl": ("lj", "lj14", "dispersion", "many-body"),
    "E_coul": ("coulomb", "coulomb14"),
    "E_long": ("pme",),
}
_TERMS = _PAIRS | _MOLECULAR
_COLUMNS = (
    *("Step", "Temp", "E_pair", "E_mol", "TotEng", "Press", "Volume", "PotEng", "KinEng"),
    *_TERMS,
)
_WIDTH = 16


class ThermoReporter(FileWriter):
    """Writes energies as LAMMPS does: columns of `thermo_style custom`.

    Columns: Step, Temp, E_pair, E_mol, TotEng, Press, as in `thermo_style one`; Volume, PotEng,
    KinEng; E_vdwl (with 1-4 pairs, the correction beyond the cutoff, and many-body potentials),
    E_coul and E_long, whose sum is E_pair; E_bond, E_angle, E_dihed (impropers of the style cvff
    among them) and E_impro, whose sum is E_mol.  With units lj, energies are divided by the number
    of atoms, as LAMMPS does there.

    Parameters
    ----------
    path:
        The file.
    every:
        Steps between rows.
    units:
        "lj", "real" or "metal".
    mark:
        As for `LogReporter`: how far the file had been written; None starts a new file.
    """

    needs: tuple[Need, ...] = ("energies",)

    def __init__(
        self, path: str | os.PathLike[str], every: int, units: str, mark: Mark | None = None
    ) -> None:
        self.path = Path(path)
        self.every = whole_number("every", every)
        self._units, self._per_atom = UNITS[units], units == "lj"
        header = f"# units {units}\n" + "".join(f"{name:>{_WIDTH}}" for name in _COLUMNS) + "\n"
        self._file = GrowingFile.with_header(self.path, header, mark)

    def report(self, frame: Readout, /) -> None:
        """Writes a row."""
        units, found = self._units, frame.energies()
        unit = units.energy * (frame.system.atoms if self._per_atom else 1)
        terms = {
            name: sum(found.get(one, 0.0) for one in ours) / unit for name, ours in _TERMS.items()
        }
        pressure, volume = float("nan"), float("nan")
        if frame.box is not None:
            pressure = frame.pressure() / units.pressure
            volume = float(frame.box.diagonal().prod()) / units.length**3
        sums = [sum(terms[name] for name in group) for group in (_PAIRS, _MOLECULAR)]
        values = [frame.temperature() / units.temperature, *sums, found["total"] / unit]
        values += [pressure, volume, found["potential"] / unit, found["kinetic"] / unit]
        values += terms.values()
        row = f"{frame.step:>{_WIDTH}}" + "".join(f"{value:>{_WIDTH}.8g}" for value in values)
        self._file.append(f"{row}\n".encode("ascii"))
