# SPDX-License-Identifier: Apache-2.0
"""The configuration of replica exchange: that of a run, and a section [exchange]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..description.checks import LAST_STEP
from ..description.collective import VariableValue
from ..description.settings import MOST, OnResume
from ..description.units import Kelvins
from ..engine.execution import DeviceName
from ..engine.hosts import devices_of_processes, started_together
from ..errors import QuiltError
from ..running.config import Config
from ..running.section import Section
from ..running.unused import Unused
from .checks import check_memory
from .states import (
    ReplicaState,
    geometric,
    lambda_states,
    rest2_states,
    temperature_states,
    window_states,
)

# Sections of a run that an exchange cannot have, and why.
_OF_RUNS_ONLY = {
    "external": "[[external]]: replica exchange has no external forces",
    "imd": "[imd]: replica exchange streams no frames",
    "metadynamics": "[metadynamics]: replica exchange adds no hills (kind = 'windows' samples "
    "along a variable)",
    "reporter": "[[reporter]]: replica exchange takes reporters only in Python",
}

# Kinds whose states have the temperature of [integrator], and what gives their states.
_OF_ONE_TEMPERATURE = {"alchemical": "[alchemy]", "windows": "centres"}


class ExchangeSection(Section):
    """[exchange]: between which states replicas are exchanged, and where they run.

    The states are given by `temperatures`, or by `lowest`, `highest` and `replicas`, which make a
    geometric ladder; those of kind alchemical by the schedule in [alchemy], those of kind windows
    by `restraint` and `centres`.
    """

    kind: Literal["temperature", "rest2", "alchemical", "windows"] = Field(
        default="temperature",
        description="Difference between states: the temperature, the effective temperature of "
        "the solute (rest2), the lambdas of [alchemy] (alchemical), or the reference value of "
        "a restraint (windows).",
    )
    temperatures: Annotated[tuple[Kelvins, ...] | None, OnResume.NOT_COMPARED] = Field(
        default=None, description="Temperatures of the states, K, ascending."
    )
    lowest: Annotated[Kelvins | None, OnResume.NOT_COMPARED] = Field(
        default=None, gt=0, description="Lowest temperature, K."
    )
    highest: Annotated[Kelvins | None, OnResume.NOT_COMPARED] = Field(
        default=None, gt=0, description="Highest temperature, K."
    )
    replicas: Annotated[int | None, OnResume.NOT_COMPARED] = Field(
        default=None, ge=1, le=MOST, description="Number of states."
    )
    restraint: str | None = Field(
        default=None, description="windows: name of a restraint between groups."
    )
    centres: tuple[VariableValue, ...] = Field(
        default=(), description="windows: its reference values, nm, degrees or contacts."
    )
    solute: str = Field(
        default="solute", description="rest2: the atoms that are scaled, as a selection."
    )
    every: int = Field(default=500, ge=1, le=LAST_STEP, description="Steps between swaps.")
    devices: Annotated[tuple[DeviceName, ...], OnResume.MAY_CHANGE] = Field(
        default=(),
        description="Devices to which replicas are assigned in turn; by default that of [run], "
        "with MPI that of each process.",
    )
    together: Annotated[int, OnResume.MAY_CHANGE] = Field(
        default=1, ge=1, le=MOST, description="Replicas that a device runs at the same time."
    )
    all_energies: bool = Field(
        default=False,
        description="rest2: evaluate every replica with every Hamiltonian, for pymbar's u_kn.",
    )

    @model_validator(mode="after")
    def _is_one_ladder(self) -> ExchangeSection:
        ends = (self.lowest, self.highest, self.replicas)
        if (self.kind == "windows") != (self.restraint is not None and len(self.centres) > 0):
            raise ValueError(
                "kind = 'windows' needs restraint and centres, and other kinds have neither"
            )
        if self.kind in _OF_ONE_TEMPERATURE:
            if any(value is not None for value in (self.temperatures, *ends)):
                raise ValueError(
                    "leave out temperatures, lowest, highest and replicas: states of kind "
                    f"{self.kind} are those of {_OF_ONE_TEMPERATURE[self.kind]}, at the "
                    "temperature of [integrator]"
                )
            return self
        if (self.temperatures is None) == all(value is None for value in ends):
            raise ValueError("give either temperatures, or lowest, highest and replicas")
        if self.temperatures is None and None in ends:
            raise ValueError("give all three: lowest, highest and replicas")
        try:
            check_memory(self.replicas or 0)
        except QuiltError as error:
            raise ValueError(str(error)) from None
        ladder = self.ladder()
        if len(ladder) < 1 or min(ladder) <= 0 or any(np.diff(ladder) <= 0):
            raise ValueError("temperatures must be positive and ascend")
        return self

    def ladder(self) -> tuple[float, ...]:
        """Temperatures, K, the lowest first; not of kinds of one temperature."""
        if self.temperatures is not None:
            return self.temperatures
        assert self.lowest is not None
        assert self.highest is not None
        assert self.replicas is not None
        return geometric(self.lowest, self.highest, self.replicas)


class ExchangeConfig(Config):
    """Replica exchange; `steps` in [run] are those of each replica."""

    exchange: ExchangeSection

    @model_validator(mode="after")
    def _has_alchemy_where_it_exchanges_lambdas(self) -> ExchangeConfig:
        kind = self.exchange.kind
        if (kind == "alchemical") != (self.alchemy is not None):
            raise ValueError(
                "kind = 'alchemical' needs a section [alchemy], and other kinds cannot have one"
            )
        if self.alchemy is not None and self.alchemy.state:
            raise ValueError("leave out [alchemy] state: there is a replica for each state")
        if self.alchemy is not None and (self.alchemy.switching or self.alchemy.expanded):
            raise ValueError(
                "leave out [alchemy.switching] and [alchemy.expanded]: replica exchange changes "
                "states itself"
            )
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> ExchangeConfig:
        """Refuses what would be ignored."""
        if self.run.steps % self.exchange.every:
            raise ValueError(
                f"[run] steps ({self.run.steps}) must be a multiple of [exchange] every "
                f"({self.exchange.every})"
            )
        if self.integrator.ensemble != "nvt" or self.integrator.annealing is not None:
            raise ValueError(
                "give ensemble = 'nvt' and no annealing: replicas are canonical ensembles"
            )
        lowest = self.states()[0].temperature
        if any(bath.annealing or bath.temperature != lowest for bath in self.bath):
            raise ValueError(
                "[[bath]]: each replica of an exchange has one temperature for all atoms, that of "
                f"its state: give each bath that of the lowest, {lowest:g} K"
            )
        if self.restraints.annealing is not None:
            raise ValueError(
                "leave out annealing of [restraints]: replica exchange does not change restraints"
            )
        if self.run.first_step:
            raise ValueError("leave out [run] first_step: an exchange begins at step 0")
        if self.run.start_temperature is not None:
            raise ValueError("leave out [run] start_temperature: the states set the temperatures")
        for section, why in _OF_RUNS_ONLY.items():
            if getattr(self, section):
                raise ValueError(f"leave out {why}")
        if self.output.profile:
            raise ValueError("leave out [output] profile: replica exchange cannot be profiled")
        if self.run.hosts:
            raise ValueError("leave out [run] hosts: [exchange] devices says where replicas run")
        if self.exchange.devices and started_together:
            raise ValueError(
                "leave out [exchange] devices: under an MPI launcher each process uses [run] device"
            )
        return self

    def states(self) -> tuple[ReplicaState, ...]:
        """The states."""
        if self.exchange.kind == "alchemical":
            assert self.alchemy is not None
            section = self.alchemy
            return lambda_states(section.states, section.names, self.integrator.temperature)
        kind = self.exchange.kind
        if kind == "windows":
            assert self.exchange.restraint is not None
            return window_states(
                self.exchange.restraint, self.exchange.centres, self.integrator.temperature
            )
        make = temperature_states if kind == "temperature" else rest2_states
        return make(self.exchange.ladder())

    def _unused(self) -> Iterator[Unused]:
        yield from super()._unused()
        if self.integrator.temperature != self.states()[0].temperature:
            why = "the states have temperatures of their own"
            yield Unused("integrator", ("temperature",), why, "give the lowest of them")
        if self.exchange.kind != "rest2":
            # At their defaults they are in the folders of exchanges that go on.
            fields = ExchangeSection.model_fields
            keys = ("solute", "all_energies")
            changed = [key for key in keys if getattr(self.exchange, key) != fields[key].default]
            why = f"states of kind {self.exchange.kind} scale no solute"
            yield Unused("exchange", tuple(changed), why, "choose kind = 'rest2'")

    def devices(self) -> tuple[str, ...]:
        """Where replicas run."""
        if started_together:
            return tuple(devices_of_processes(self.run.device))
        return self.exchange.devices or (self.run.device,)

    def physics(self, box: NDArray[np.float64] | None) -> dict[str, Any]:
        """Settings that must stay when it is resumed."""
        ladder = [state.temperature for state in self.states()]
        return super().physics(box) | {"exchange.temperatures": ladder}
