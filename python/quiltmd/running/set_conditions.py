# SPDX-License-Identifier: Apache-2.0
"""Conditions of a simulation that change between steps: baths, box, restraints, lambdas, hills."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ..description.alchemy import conditions_of
from ..description.box import check_box
from ..description.checks import real_number
from ..description.collective import changed_centres
from ..description.custom_forces import changed_parameters
from ..description.dynamics import with_conditions
from ..engine.core import Engine
from ..errors import QuiltError
from .engine_access import EngineAccess
from .shutdown import core_calls


class Conditions(EngineAccess):
    """A simulation whose conditions may change."""

    _hills: tuple[NDArray[np.float64], NDArray[np.float64]] | None  # axes, and all hills

    @property
    def restraint_strength(self) -> float:
        """The factor of energies and forces of restraints."""
        return self._conditions.get("restraints", 1.0)

    def set_conditions(
        self,
        *,
        temperature: float | Sequence[float] | None = None,
        friction: float | Sequence[float] | None = None,
        pressure: float | None = None,
        box: npt.ArrayLike | None = None,
        restraints: float | None = None,
        centres: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
        lambda_coulomb: float | None = None,
        lambda_vdw: float | None = None,
        lambda_bonded: float | None = None,
        lambda_restraint: float | None = None,
    ) -> None:
        """Changes baths, box, restraints or lambdas from the present step on.

        `integrator`, `thermostat`, `barostat` and `restraint_strength` then have the new values.
        Pair lists are rebuilt, with the Verlet buffer of the temperature at which the simulation
        was created.  The result is bitwise the same on any number of ranks.  It is bitwise that of
        a new simulation with these settings if both temperatures are at most 300 K, below which the
        buffer does not depend on the temperature.

        When the box changes, the centres of mass of hydrogen groups (atoms joined by constraints)
        keep their fractional coordinates; shapes, orientations and velocities do not change.
        Neither do the Ewald coefficient and the PME grid, which were chosen for the earlier box:
        for a box of a very different size create another `Simulation`.  The work of the change is
        not part of `heat`.

        Parameters
        ----------
        temperature:
            Temperature of the heat bath, K; with separate heat baths, one for all or one for each
            group.
        friction:
            Friction coefficient, 1/ps; likewise for groups.
        pressure:
            Reference pressure of the barostat, bar.
        box:
            (3, 3) nm, rows a, b, c in reduced lower-triangular form.
        restraints:
            Factor of energies and forces of all restraints, initially 1.  The work of a change is
            not part of `heat`.  A State does not contain the factor: set it again in a simulation
            that starts from one.
        centres:
            Reference values of collective restraints by their names, in nm, degrees or contacts;
            not of those that follow a path.  As for the factor, the work is not part of `heat`, and
            a State does not contain them.
        parameters:
            Parameters of custom forces that all terms share, by their names; all forces that have a
            parameter of the name get the value.  As for restraints, the work is not part of `heat`,
            and a State does not contain them.
        lambda_coulomb, lambda_vdw:
            Lambdas of alchemical atoms, from 0, where they are those of the system, to 1.  As for
            restraints, the work is not part of `heat`, and a State does not contain the lambdas.
        lambda_bonded:
            Lambda of bonded terms that change, if there are any.
        lambda_restraint:
            Lambda of the restraint of alchemical atoms, if they have one, from 0 (none) to 1
            (full).

        Raises
        ------
        QuiltError
            If the integrator or thermostat has no such setting, or the box is too small for the
            cutoff; nothing is changed then.
        """
        conditions = {"temperature": temperature, "friction": friction, "pressure": pressure}
        parts, numbers = with_conditions(
            self.integrator, self.thermostat, self.barostat, conditions
        )
        if restraints is not None:
            numbers["restraints"] = real_number("restraints", restraints)
        numbers |= changed_centres(self.system, centres or {})
        numbers |= changed_parameters(parameters or {})
        numbers |= self._changed_lambdas(
            lambda_coulomb=lambda_coulomb, lambda_vdw=lambda_vdw, lambda_bonded=lambda_bonded
        )
        numbers |= self._changed_restraint(restraints, lambda_restraint)
        cell = None if box is None else check_box(box)
        with self._changing() as engine, self._naming_atoms(), core_calls:
            engine.set_conditions(numbers, cell)
            self._conditions |= numbers
            if cell is not None:
                self._note(self.step, cell)
        for name, part in parts.items():
            super().__setattr__(name, part)  # not an assignment by the user, which is refused

    def add_hills(self, axes: npt.ArrayLike, hills: npt.ArrayLike) -> None:
        """Adds hills to the bias of collective variables; see `Metadynamics`, which makes both.

        Parameters
        ----------
        axes:
            `Metadynamics.axes`, the same in every call.
        hills:
            (n, 5): two centres and two widths, in nm, rad or contacts, and the height, kJ/mol; with
            one variable the second centre is 0 and the second width 1.

        Raises
        ------
        QuiltError
            If the axes are others, or the engine runs in workers, which have no bias.
        """
        rows = [np.asarray(one, dtype=np.float64).reshape(-1, 5) for one in (axes, hills)]
        with self._changing() as engine, self._naming_atoms(), core_calls:
            hills_of(engine)(*rows)
        before = [] if self._hills is None else [self._hills[1]]
        self._hills = (rows[0], np.concatenate([*before, rows[1]]))

    @property
    def lambdas(self) -> dict[str, float]:
        """The lambdas of alchemical atoms, as keywords of `set_conditions`."""
        if self.system.alchemy is None:
            return {}
        start = conditions_of(self.system.alchemy.start, self.system.alchemy.names)
        now = {"lambda_restraint": self.restraint_strength, **self._conditions}
        return {name: now.get(name, value) for name, value in start.items()}

    def _changed_lambdas(self, **given: float | None) -> dict[str, float]:
        """The given lambdas, checked."""
        changed = {
            name: real_number(name, value) for name, value in given.items() if value is not None
        }
        if changed and self.system.alchemy is None:
            raise QuiltError(f"{next(iter(changed))}: the system has no alchemical atoms")
        for name in changed.keys() - self.lambdas.keys():
            raise QuiltError(f"{name}: no terms of the system change with lambda")
        return changed

    def _changed_restraint(
        self, strength: float | None, lambda_restraint: float | None
    ) -> dict[str, float]:
        """The strength of restraints that a lambda means, checked."""
        has_lambda = self.system.alchemy is not None and self.system.alchemy.restraint is not None
        if lambda_restraint is not None and not has_lambda:
            raise QuiltError("lambda_restraint: the alchemical atoms have no restraint")
        if strength is not None and has_lambda:
            raise QuiltError("restraints: the only restraint has a lambda; give lambda_restraint")
        if lambda_restraint is None:
            return {}
        value = real_number("lambda_restraint", lambda_restraint)
        if not 0 <= value <= 1:
            raise QuiltError(f"lambda_restraint must be from 0 to 1, not {value:g}")
        return {"restraints": value}


def hills_of(engine: Engine) -> Callable[..., None]:
    """Function of an engine that adds hills."""
    add: Callable[..., None] | None = getattr(engine, "add_hills", None)
    if add is None:
        raise QuiltError(
            "metadynamics runs in this process only, not in workers: choose device cpu or cuda"
        )
    return add
