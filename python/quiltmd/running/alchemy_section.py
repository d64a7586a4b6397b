# SPDX-License-Identifier: Apache-2.0
"""Atoms that vanish: the section [alchemy] of a configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from ..description.alchemy import COULOMB, VDW, Alchemy, Intramolecular
from ..description.boresch import BoreschRestraint
from ..description.checks import LAST_STEP
from ..description.decoupling import decouple
from ..description.hybrid import LAMBDAS
from ..description.selection import select
from ..description.settings import OnResume
from ..description.soft_cores import FORMS, SoftCoreName, SoftCores
from ..description.system import System
from ..description.units import Degrees, Nanometres, Unit
from ..errors import QuiltError
from .dual_section import DualSection
from .dynamics_sections import IntegratorSection
from .second_section import SecondSection
from .section import Section
from .walk_sections import ExpandedSection, SwitchingSection

SECOND_STATES = "second states"
_Lambdas = tuple[Annotated[float, Field(ge=0, le=1)], ...]


_AngleSpring = Annotated[float, Unit("kJ/mol/rad^2")]


class BoreschSection(Section):
    """[alchemy.boresch]: what holds the atoms in a binding site; see `BoreschRestraint`."""

    anchors: tuple[str, str, str, str, str, str] = Field(
        description="Selections of one atom each: a, b, c of the receptor, A, B, C of the ligand."
    )
    distance: Nanometres = Field(gt=0, description="a-A, nm.")
    angles: tuple[Degrees, Degrees] = Field(description="b-a-A and a-A-B, 30 to 150 degrees.")
    torsions: tuple[Degrees, Degrees, Degrees] = Field(
        description="c-b-a-A, b-a-A-B and a-A-B-C, degrees."
    )
    k_distance: Annotated[float, Unit("kJ/mol/nm^2")] = Field(
        default=BoreschRestraint.k_distance, gt=0, description="kJ/mol/nm^2, of 1/2 k x^2."
    )
    k_angles: tuple[_AngleSpring, _AngleSpring] = Field(
        default=(41.84,) * 2, description="kJ/mol/rad^2, of each angle."
    )
    k_torsions: tuple[_AngleSpring, _AngleSpring, _AngleSpring] = Field(
        default=(41.84,) * 3, description="kJ/mol/rad^2, of each torsion."
    )

    def build(self, system: System) -> BoreschRestraint:
        """The restraint, between atoms of the system."""
        atoms = []
        for text in self.anchors:
            found = select(system, text)
            if len(found) > 1:
                raise QuiltError(f"the anchor {text!r} has {len(found)} atoms, not one")
            atoms.append(int(found[0]))
        return BoreschRestraint(atoms, **self.model_dump(exclude={"anchors"}))


class AlchemySection(Section):
    """[alchemy]: atoms whose nonbonded interactions vanish with lambda; see `decouple`.

    A run is of one state of the schedule, and writes the energies of all.
    """

    atoms: str | None = Field(
        default=None,
        description="Selection of the alchemical atoms, such as 'resname LIG'; or 'second states': "
        "atoms and terms change into the second states (B states) of a GROMACS topology."
        " Required without [alchemy.second] and [alchemy.dual].",
    )
    second: Annotated[SecondSection | None, OnResume.NOT_COMPARED] = Field(
        default=None, description="The molecule that one of the system turns into."
    )
    dual: DualSection | None = Field(
        default=None, description="Two molecules in the topology, one of which becomes the other."
    )
    state: int = Field(default=0, ge=0, description="State to simulate, counted from 0.")
    coulomb: _Lambdas = Field(
        default=COULOMB, description="Lambda of charges in each state, from 0 (full) to 1 (none)."
    )
    vdw: _Lambdas = Field(
        default=VDW, description="Lambda of van der Waals interactions in each state."
    )
    bonded: _Lambdas | None = Field(
        default=None,
        description="Lambda of bonded terms in each state, for second states; by default vdw.",
    )
    restraint: _Lambdas | None = Field(
        default=None,
        description="Lambda of the restraint in [alchemy.boresch] in each state, from 0 (no "
        "restraint) to 1 (the default).",
    )
    boresch: BoreschSection | None = Field(
        default=None, description="A Boresch restraint, whose energy is multiplied by its lambda."
    )
    intramolecular: Intramolecular = Field(
        default="keep",
        description="Interactions of these atoms with each other: keep, or scale like the rest.",
    )
    soft_core: SoftCoreName = Field(default=Alchemy.soft_core, description="Form of the soft core.")
    alpha: float | None = Field(
        default=None,
        description="Parameter of the soft core of van der Waals interactions. "
        f"[default: {', '.join(f'{one.alpha:g} ({one.name})' for one in FORMS.values())}]",
    )
    alpha_coulomb: float = Field(
        default=Alchemy.alpha_coulomb,
        description="Parameter of the soft core of charges; 0: charges have no soft core. Usual "
        "values: "
        f"{', '.join(f'{one.alpha_coulomb:g} {one.unit} ({one.name})' for one in FORMS.values())}.",
    )
    least_sigma: Nanometres = Field(
        default=Alchemy.least_sigma,
        description="Minimum sigma in the soft core, nm, for pairs with a smaller sigma or none.",
    )
    switching: SwitchingSection | None = Field(
        default=None, description="Nonequilibrium switching through all states in order."
    )
    expanded: ExpandedSection | None = Field(
        default=None, description="Expanded ensemble: the run moves between all states."
    )
    every: int = Field(
        default=500, ge=1, le=LAST_STEP, description="Steps between rows of dhdl.csv and dhdl.xvg."
    )

    @model_validator(mode="before")
    @classmethod
    def _second_molecules_have_defaults_of_their_own(cls, given: Any) -> Any:
        """Those of `hybrid`: all lambdas together, with a soft core of charges."""
        if not isinstance(given, dict) or not (given.get("second") or given.get("dual")):
            return given
        columns = dict.fromkeys(("coulomb", "vdw", "bonded"), LAMBDAS)
        form = FORMS.get(given.get("soft_core", SoftCores.form))
        usual = {} if form is None else {"alpha_coulomb": form.alpha_coulomb}
        return {**columns, **usual, **given}

    @model_validator(mode="after")
    def _says_what_changes(self) -> AlchemySection:
        if sum(one is not None for one in (self.atoms, self.second, self.dual)) != 1:
            raise ValueError(
                "give either atoms, a selection, or [alchemy.second], a molecule that one of the "
                "system turns into, or [alchemy.dual], two molecules in the topology"
            )
        return self

    @model_validator(mode="after")
    def _has_both_lambdas_of_each_state(self) -> AlchemySection:
        if len(self.coulomb) != len(self.vdw):
            raise ValueError(
                f"there are {len(self.coulomb)} lambdas in coulomb and {len(self.vdw)} in vdw: "
                "give one of each for every state"
            )
        if self.restraint is not None and self.boresch is None:
            raise ValueError("restraint has no effect without [alchemy.boresch]")
        if self.bonded is not None and not self.changes_terms:
            raise ValueError(
                "bonded has no effect without atoms = 'second states', [alchemy.second] or "
                "[alchemy.dual]"
            )
        if self.boresch is not None and self.changes_terms:
            raise ValueError("second states cannot be combined with [alchemy.boresch]")
        if self.changes_terms and self.intramolecular != "keep":
            raise ValueError(
                "intramolecular has no effect with second states, [alchemy.second] and "
                "[alchemy.dual]"
            )
        if self.bonded is not None and len(self.bonded) != len(self.vdw):
            raise ValueError(
                f"there are {len(self.bonded)} lambdas in bonded and {len(self.vdw)} in vdw: give "
                "one of each for every state"
            )
        if self.restraint is not None and len(self.restraint) != len(self.vdw):
            raise ValueError(
                f"there are {len(self.restraint)} lambdas in restraint and {len(self.vdw)} in vdw: "
                "give one of each for every state"
            )
        return self

    @model_validator(mode="after")
    def _walks_one_way(self) -> AlchemySection:
        if self.switching is not None and self.expanded is not None:
            raise ValueError("give [alchemy.switching] or [alchemy.expanded], not both")
        if self.switching is not None and self.state:
            raise ValueError(
                "leave out state: [alchemy.switching] starts from the first state, or backwards "
                "from the last"
            )
        if (self.switching or self.expanded) and len(self.vdw) < 2:
            raise ValueError("[alchemy.switching] and [alchemy.expanded] need two states or more")
        if self.expanded is not None and len(self.expanded.weights) not in (0, len(self.vdw)):
            raise ValueError(
                f"[alchemy.expanded] has {len(self.expanded.weights)} weights and [alchemy] "
                f"{len(self.vdw)} states: give a weight for each state"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the lambdas in the columns of `states`."""
        third = {"bonded": self.changes_terms, "restraint": self.boresch is not None}
        return ("coulomb", "vdw", *(name for name, is_there in third.items() if is_there))

    @property
    def of_second_states(self) -> bool:
        """Whether atoms and terms change into the second states of the topology."""
        return self.atoms == SECOND_STATES

    @property
    def changes_terms(self) -> bool:
        """Whether bonded terms may change: with second states, or a second molecule."""
        return self.of_second_states or self.second is not None or self.dual is not None

    @property
    def states(self) -> npt.NDArray[np.float64]:
        """(K, 2), or (K, 3) with a restraint or second states: the schedule."""
        columns = [self.coulomb, self.vdw]
        if self.changes_terms:
            columns.append(self.bonded or self.vdw)
        if self.boresch is not None:
            columns.append(self.restraint or (1.0,) * len(self.vdw))
        return np.column_stack(columns)

    @property
    def first_state(self) -> int:
        """The state at the beginning of a run, counted from 0."""
        if self.switching is not None and self.switching.direction == "backwards":
            return len(self.vdw) - 1
        return self.state

    def check_run(self, steps: int, integrator: IntegratorSection, has_baths: bool) -> None:
        """ValueError if the schedule of lambdas does not fit a run of `steps` steps."""
        changes_bath = has_baths or integrator.annealing is not None
        if self.expanded is not None and (integrator.ensemble == "nve" or changes_bath):
            raise ValueError(
                "[alchemy.expanded] needs one constant temperature for all atoms: give ensemble = "
                "'nvt' or 'npt', and leave out annealing and [[bath]]"
            )
        if self.switching is not None:
            changes = len(self.vdw) - 1
            needed = self.switching.equilibration + changes * self.switching.every
            if steps < needed:
                raise ValueError(
                    f"[alchemy.switching] needs {needed} steps (equilibration + {changes} changes, "
                    f"{self.switching.every} steps apart), and [run] has {steps}"
                )

    def apply(self, system: System) -> System:
        """The system with these atoms."""
        if self.atoms is None or self.of_second_states:
            return self._with_second_states(system)
        others = {
            "atoms",
            "second",
            "dual",
            "every",
            "switching",
            "expanded",
            "restraint",
            "boresch",
            "bonded",
        }
        settings: dict[str, Any] = self.model_dump(exclude=others)
        settings["state"] = self.first_state
        if self.boresch is not None:
            settings["restraint"] = self.boresch.build(system)
            settings["restraint_lambdas"] = self.restraint
        return decouple(system, self.atoms, **settings)

    def _with_second_states(self, system: System) -> System:
        """On the schedule of this section; `load` has made the alchemy."""
        if system.alchemy is None:
            raise QuiltError(
                "the topology has no second states (B states): select the atoms that vanish"
            )
        states = self.states
        if self.first_state >= len(states):
            raise QuiltError(f"there is no state {self.state}, only 0 to {len(states) - 1}")
        return replace(
            system,
            alchemy=replace(
                system.alchemy,
                states=states,
                start=states[self.first_state],
                soft_core=self.soft_core,
                alpha=self.alpha,
                alpha_coulomb=self.alpha_coulomb,
                least_sigma=self.least_sigma,
            ),
        )
