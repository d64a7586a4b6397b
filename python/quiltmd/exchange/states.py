# SPDX-License-Identifier: Apache-2.0
"""States of replicas: a temperature, how strongly the solute interacts, lambdas, a window."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..description.alchemy import LAMBDAS, Alchemy, conditions_of
from ..description.checks import real_number, user_settings
from ..description.collective import VariableValue, value_of_variable
from ..description.settings import BOLTZMANN, HOTTEST
from ..description.units import Kelvins
from ..errors import QuiltError


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class ReplicaState:
    """A state of a replica exchange.

    Attributes
    ----------
    temperature:
        Temperature of the heat bath, K.
    scale:
        lambda of REST2: energies within the solute are multiplied by lambda, energies between the
        solute and other atoms by its square root.
    lambdas:
        Lambdas of alchemical atoms, in the order of `lambda_names`; None: the initial lambdas of
        the system.
    lambda_names:
        Names of the lambdas: `Alchemy.names` of the system.
    window:
        Name of a restraint between groups, and its reference value, in nm, degrees or contacts;
        None: that of the system.
    """

    temperature: Kelvins = Field(gt=0, le=HOTTEST)
    scale: float = Field(default=1.0, gt=0, le=1)
    lambdas: tuple[float, ...] | None = Field(default=None, min_length=2, max_length=4)
    lambda_names: tuple[str, ...] = LAMBDAS[:2]
    window: tuple[str, VariableValue] | None = None

    @property
    def beta(self) -> float:
        """1/kT, mol/kJ."""
        return 1 / (BOLTZMANN * self.temperature)


def geometric(lowest: float, highest: float, count: int) -> tuple[float, ...]:
    """Temperatures of a constant ratio, between which swaps are about equally frequent (K)."""
    if not 0 < lowest <= highest or count < 1 or (count == 1 and lowest != highest):
        raise QuiltError(
            f"{count} temperatures from {lowest:g} to {highest:g} K cannot be made: give two or "
            "more, with 0 K < lowest < highest"
        )
    if count == 1:
        return (lowest,)
    ratio = (highest / lowest) ** (1 / (count - 1))
    inner = [lowest * ratio**k for k in range(1, count - 1)]
    return (lowest, *inner, highest)


def temperature_states(temperatures: Sequence[float]) -> tuple[ReplicaState, ...]:
    """States at different temperatures, K."""
    return tuple(map(ReplicaState, _several("temperatures", temperatures)))


def rest2_states(temperatures: Sequence[float]) -> tuple[ReplicaState, ...]:
    """REST2 states: effective temperatures of the solute, K; the first is that of the heat bath.

    Wang, Friesner and Berne, J. Phys. Chem. B 115, 9431 (2011).
    """
    values = [
        real_number("each of the temperatures", one, "K")
        for one in _several("temperatures", temperatures)
    ]
    if not values or not 0 < values[0] == min(values):
        raise QuiltError(
            "effective temperatures of the solute: give the lowest, that of the bath, first"
        )
    return tuple(ReplicaState(values[0], values[0] / one) for one in values)


def alchemical_states(alchemy: Alchemy, temperature: float) -> tuple[ReplicaState, ...]:
    """The alchemical states of a schedule, in its order, at one temperature (K)."""
    return lambda_states(alchemy.states, alchemy.names, temperature)


def lambda_states(
    rows: npt.NDArray[np.float64], names: tuple[str, ...], temperature: float
) -> tuple[ReplicaState, ...]:
    """States with these rows of lambdas, at one temperature (K)."""
    return tuple(
        ReplicaState(temperature, lambdas=tuple(row), lambda_names=names) for row in rows.tolist()
    )


def window_states(
    restraint: str, centres: Sequence[float], temperature: float
) -> tuple[ReplicaState, ...]:
    """Umbrella windows at one temperature (K): reference values of a restraint.

    Parameters
    ----------
    restraint:
        Name of the restraint.
    centres:
        nm, degrees or contacts.
    temperature:
        K.
    """
    places = [value_of_variable("each of the centres", one) for one in _several("centres", centres)]
    return tuple(ReplicaState(temperature, window=(restraint, one)) for one in places)


def _several(name: str, values: Sequence[float]) -> list[float]:
    """The values; QuiltError if they are no sequence."""
    try:
        return list(values)
    except TypeError:
        raise QuiltError(f"{name} must be several numbers, not {values!r}") from None


def describe_state(state: ReplicaState) -> str:
    """In a few words."""
    if state.lambdas is not None:
        values = conditions_of(state.lambdas, state.lambda_names)
        named = (f"{name} = {value:g}" for name, value in values.items())
        return f"{', '.join(named)}, {state.temperature:.5g} K"
    if state.window is not None:
        name, centre = state.window
        return f"{name} at {centre:g}, {state.temperature:.5g} K"
    if math.isclose(state.scale, 1.0):
        return f"{state.temperature:.5g} K"
    effective = state.temperature / state.scale
    return f"{state.temperature:.5g} K, solute at {effective:.5g} K"
