# SPDX-License-Identifier: Apache-2.0
"""Derivatives by lambda and energies of states, as runs of all states left them in dhdl.csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import QuiltError
from .alchemy_section import AlchemySection
from .config import read_resolved
from .dynamics_sections import IntegratorSection
from .records import Columns, read_log
from .statistics import inefficiency

F64 = NDArray[np.float64]
Schedule = tuple[tuple[str, ...], F64, float]  # names of the lambdas, states, temperature
_TABLE = "dhdl.csv"
_LIKE = 1e-5  # lambdas of a table, which has six digits, and of the schedule


@dataclass(frozen=True)
class Samples:
    """Samples of each of K states.

    Attributes
    ----------
    names:
        (L,) of the lambdas: `Alchemy.names`.
    lambdas:
        (K, L): the schedule.
    temperature:
        K.
    dhdl:
        K arrays (n_k, L), kJ/mol.
    energies:
        K arrays (n_k, K), kJ/mol: of each state less that of the sampled one.
    """

    names: tuple[str, ...]
    lambdas: F64
    temperature: float
    dhdl: tuple[F64, ...]
    energies: tuple[F64, ...]

    @property
    def counts(self) -> NDArray[np.int64]:
        """(K,) rows of each state."""
        return np.array([len(rows) for rows in self.dhdl])

    def part(self, begin: float, end: float) -> Samples:
        """The rows from one share of each state's to another, one at least where there are any."""
        places = []
        for count in self.counts:
            last = max(round(end * count), min(count, 1))
            places.append(np.arange(min(round(begin * count), max(last - 1, 0)), last))
        return self._chosen(places)

    def independent(self) -> Samples:
        """Rows that are so far apart that they are hardly correlated, of each state."""
        return self._chosen(
            [
                np.round(np.arange(0, count - 0.5, self._inefficiency(k))).astype(np.int64)
                for k, count in enumerate(self.counts)
            ]
        )

    def _inefficiency(self, state: int) -> float:
        """Largest inefficiency of the derivatives and of the energies of neighbouring states."""
        if len(self.dhdl[state]) < 2:
            return 1.0
        near = [k for k in (state - 1, state + 1) if 0 <= k < len(self.dhdl)]
        series = [*self.dhdl[state].T, *self.energies[state][:, near].T]
        return max(inefficiency(np.asarray(one)) for one in series)

    def _chosen(self, places: Sequence[NDArray[np.int64]]) -> Samples:
        dhdl, energies = (
            tuple(rows[place] for rows, place in zip(of, places, strict=True))
            for of in (self.dhdl, self.energies)
        )
        return Samples(self.names, self.lambdas, self.temperature, dhdl, energies)


def read_samples(folders: Sequence[Path]) -> Samples:
    """Samples of runs of states and of replica exchanges; QuiltError for other folders."""
    schedules: dict[Path, Schedule] = {}
    tables: list[tuple[Path, Columns]] = []
    for folder in folders:
        schedules[folder] = _schedule(folder)
        tables += [(path, read_log(path)) for path in _tables(folder)]
    (first, (names, lambdas, temperature)), *others = schedules.items()
    for folder, (columns, states, other) in others:
        same = columns == names and np.array_equal(states, lambdas)
        if not same or other != temperature:
            raise QuiltError(
                f"{folder}: states or temperature are not those of {first}: analyse runs of one "
                "schedule at one temperature"
            )
    found: list[list[tuple[F64, F64]]] = [[] for _ in lambdas]
    for path, table in tables:
        for state, dhdl, energies in _rows(path, table, names, lambdas):
            found[state].append((dhdl, energies))
    count, width = lambdas.shape
    return Samples(
        names,
        lambdas,
        temperature,
        tuple(np.concatenate([np.empty((0, width)), *(d for d, _ in rows)]) for rows in found),
        tuple(np.concatenate([np.empty((0, count)), *(u for _, u in rows)]) for rows in found),
    )


def _schedule(folder: Path) -> Schedule:
    """Names of the lambdas, states and temperature of the run in a folder."""
    path = folder / "config.toml"
    if not path.exists():
        of_exchange = folder.name.startswith("state-") and (folder.parent / path.name).exists()
        raise QuiltError(
            f"{folder} is a state of a replica exchange: analyse the exchange, {folder.parent}"
            if of_exchange
            else f"{folder} holds no run: {path.name} is missing"
        )
    settings = read_resolved(path)
    if "alchemy" not in settings:
        raise QuiltError(f"{folder}: a run without [alchemy] has no states of lambda")
    section = AlchemySection.model_validate(settings["alchemy"])
    if section.switching is not None:
        raise QuiltError(
            f"{folder}: a run with [alchemy.switching] has work, not samples of states: analyse "
            "such runs by themselves"
        )
    integrator: dict[str, Any] = settings.get("integrator", {})
    default = IntegratorSection.model_fields["temperature"].default
    temperature = float(integrator.get("temperature", default))
    return section.names, section.states, temperature


def _tables(folder: Path) -> list[Path]:
    """The table of a run, or the tables of the states of an exchange."""
    if (folder / _TABLE).exists():
        return [folder / _TABLE]
    found = sorted(folder.glob(f"state-*/{_TABLE}"))
    if not found:
        raise QuiltError(
            f"{folder}: {_TABLE} is missing, there and in folders of states; of a run with stages, "
            "analyse the folders of its stages"
        )
    return found


def _rows(
    path: Path, table: Columns, lambda_names: tuple[str, ...], lambdas: F64
) -> list[tuple[int, F64, F64]]:
    """Derivatives and energies by the state in which they were sampled."""
    names = [
        *(f"lambda_{name}" for name in lambda_names),
        *(f"dhdl_{name}" for name in lambda_names),
        *(f"u_{k}" for k in range(len(lambdas))),
    ]
    width = len(lambda_names)
    missing = [name for name in names if name not in table]
    if missing:
        raise QuiltError(f"{path}: the column {missing[0]} is missing: not of this schedule")
    columns = np.column_stack([table[name] for name in names])
    at, dhdl, energies = np.split(columns, [width, 2 * width], axis=1)
    distances = np.abs(at[:, None] - lambdas[None]).max(axis=2)
    states = distances.argmin(axis=1)
    odd = np.flatnonzero(distances.min(axis=1) > _LIKE)
    if len(odd):
        raise QuiltError(
            f"{path}, line {odd[0] + 2}: the lambdas {', '.join(f'{x:g}' for x in at[odd[0]])} are "
            "those of no state of the schedule"
        )
    return [(int(k), dhdl[states == k], energies[states == k]) for k in np.unique(states)]
