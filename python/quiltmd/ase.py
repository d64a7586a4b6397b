# SPDX-License-Identifier: Apache-2.0
"""ASE, the Atomic Simulation Environment: its calculators as forces, and Quilt as one of them.

It needs `ase`: `pip install quiltmd[ase]`.  ASE's units are angstrom and eV.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ase import Atoms, units
from ase.calculators.calculator import (
    Calculator,
    PropertyNotImplementedError,
    all_changes,
)

from .description.external_force import ExternalForce
from .description.state import State
from .description.system import System
from .errors import QuiltError
from .running.simulation import Simulation

_KJ = units.kJ / units.mol  # eV in a kJ/mol
_VOIGT = ([0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1])


class AseForce(ExternalForce):
    """A force that a calculator of ASE computes.

    Parameters
    ----------
    template:
        Atoms with their calculator: elements, charges and whatever else it needs; positions are
        replaced.  Where it is periodic, the cell follows the box.
    atoms:
        Which atoms of the system these are, in this order: as of `ExternalForce`.
    name:
        Name of its energy.
    outside:
        As of `ExternalForce`.
    """

    uses_gpu = True  # calculators may

    def __init__(
        self, template: Atoms, atoms: Any = None, name: str = "ase", outside: bool = False
    ) -> None:
        if template.calc is None:
            raise QuiltError("the atoms of AseForce have no calculator: set `template.calc`")
        self.template, self.atoms, self.name, self.outside = template, atoms, name, outside
        self.uses_box = bool(template.pbc.any())
        self._has_stress = "stress" in template.calc.implemented_properties

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        """Energy, forces, and the virial of a periodic calculator that has a stress."""
        if len(positions) != len(self.template):
            raise QuiltError(
                f"the force has {len(positions)} atoms, and `template` has {len(self.template)}"
            )
        if self.uses_box:
            if box is None:
                raise QuiltError(
                    "the atoms of `template` are periodic, and the simulation has no box"
                )
            self.template.set_cell(box * units.nm, scale_atoms=False)
        self.template.set_positions(positions * units.nm)
        energy = self.template.get_potential_energy() / _KJ
        forces = self.template.get_forces(apply_constraint=False) / _KJ * units.nm
        if not (self.uses_box and self._has_stress):
            return energy, forces
        stress = self.template.get_stress(voigt=False)
        return energy, forces, -stress * self.template.get_volume() / _KJ


class QuiltCalculator(Calculator):
    """A calculator of ASE by which Quilt computes energies, forces and stress.

    Pair lists are kept while atoms stay near each other (`Simulation.place`).  Atoms are those of
    the system in its order.  Constraints are ASE's to set: those of the system are no part of the
    forces, so build it without (`quiltmd.load(..., constraints="none", rigid_water=False)`) unless
    that is meant.

    Parameters
    ----------
    system, state:
        As of `Simulation`; the state's box is that of periodic atoms.
    settings:
        Further arguments of `Simulation`.
    """

    implemented_properties = [  # noqa: RUF012
        "energy",
        "free_energy",
        "forces",
        "stress",
    ]

    def __init__(self, system: System, state: State, **settings: Any) -> None:
        super().__init__()
        self.simulation = Simulation(system, state, **settings)
        self._positions = np.array(state.positions)

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: Any = ("energy",),
        system_changes: Any = all_changes,
    ) -> None:
        """Called by ASE; raises QuiltError if the atoms are not those of the system."""
        super().calculate(atoms, properties, system_changes)
        self._place()
        energies = self.simulation.energies()
        energy = energies["potential"] * _KJ
        self.results = {
            "energy": energy,
            "free_energy": energy,
            "forces": self.simulation.forces() * _KJ / units.nm,
        }
        if "stress" in properties:
            self.results["stress"] = self._stress()

    def _place(self) -> None:
        simulation = self.simulation
        atoms: Any = self.atoms
        if len(atoms) != simulation.system.atoms:
            raise QuiltError(
                f"the calculator has {simulation.system.atoms} atoms, and the Atoms object has "
                f"{len(atoms)}"
            )
        positions = atoms.get_positions() / units.nm
        if simulation.box is None:
            if atoms.pbc.any():
                raise QuiltError(
                    "the atoms are periodic, and the state of the calculator has no box"
                )
            simulation.place(positions)
            return
        if not atoms.pbc.all():
            raise QuiltError("the calculator has a periodic box: set `atoms.pbc = True`")
        box = np.asarray(atoms.cell[:]) / units.nm
        images = np.round((positions - self._positions) @ np.linalg.inv(box))
        self._positions = positions - images @ box  # near where they were: molecules stay whole
        if np.allclose(box, simulation.box, rtol=0, atol=1e-12):
            simulation.place(self._positions)
        else:
            simulation.set_state(
                State(self._positions, np.zeros_like(positions), box, simulation.step)
            )

    def _stress(self) -> Any:
        simulation = self.simulation
        if simulation.box is None:
            raise PropertyNotImplementedError("there is no stress without a periodic box")
        if len(simulation.system.constraints):
            raise PropertyNotImplementedError(
                "the system has constraints, and its virial is that of groups of atoms: build it "
                "without constraints for a stress"
            )
        virial = simulation.virial()
        volume = float(np.prod(np.diag(simulation.box))) * units.nm**3
        return (-virial * _KJ / volume)[_VOIGT]
