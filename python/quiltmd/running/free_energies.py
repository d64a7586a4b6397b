# SPDX-License-Identifier: Apache-2.0
"""Free energies of the states of a schedule: thermodynamic integration and MBAR.

MBAR (Shirts and Chodera, J. Chem. Phys. 129, 124105 (2008)) is that of pymbar.  The overlap matrix
is that of Klimovich, Shirts and Mobley, J. Comput.-Aided Mol. Des. 29, 397 (2015).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.settings import BOLTZMANN
from ..errors import QuiltError
from .lambda_samples import Samples, read_samples
from .statistics import Estimated

F64 = NDArray[np.float64]
SHARES = tuple(k / 10 for k in range(1, 11))
LEAST_OVERLAP = 0.03  # of neighbours, below which an estimate cannot be trusted


@dataclass(frozen=True)
class FreeEnergies:
    """Free energies of K states, kJ/mol.

    Attributes
    ----------
    names:
        (L,) of the lambdas: "coulomb", "vdw" and others.
    lambdas:
        (K, L): the states.
    rows, independent:
        (K,): samples of each state after the beginning was left out, and those of them that are
        hardly correlated.
    slopes:
        (K, L): means of dU/dlambda, nan where a state was not sampled.
    integration, mbar:
        K: of each state less that of the first, with standard errors; integration is None where a
        state was not sampled.
    overlap:
        (K, K): the probability that a sample of a state (row) belongs to another.
    forward, backward:
        Free energy of the last state minus the first, by MBAR, from the first and from the last
        10, 20, ... 100 % of the samples; nan where these are too few.
    """

    names: tuple[str, ...]
    lambdas: F64
    rows: NDArray[np.int64]
    independent: NDArray[np.int64]
    slopes: F64
    integration: tuple[Estimated, ...] | None
    mbar: tuple[Estimated, ...]
    overlap: F64
    forward: tuple[Estimated, ...]
    backward: tuple[Estimated, ...]

    def neighbour_overlaps(self) -> F64:
        """(K - 1,) of each state with the next."""
        return np.diagonal(self.overlap, 1)

    def summary(self) -> dict[str, Any]:
        """All of it in plain numbers."""
        return {
            "names": list(self.names),
            "lambdas": self.lambdas.tolist(),
            "rows": self.rows.tolist(),
            "independent": self.independent.tolist(),
            "integration": None if self.integration is None else _plain(self.integration),
            "mbar": _plain(self.mbar),
            "overlap": self.overlap.tolist(),
            "forward": _plain(self.forward),
            "backward": _plain(self.backward),
        }


def free_energies(folders: Sequence[Path], discard: float = 0.1) -> FreeEnergies:
    """Free energies from runs of the states of a schedule, or from replica exchanges between them.

    Parameters
    ----------
    folders:
        Folders of the runs, all with the same schedule.
    discard:
        Share of the rows of each state that is left out at the beginning, from 0 to below 1.

    Raises
    ------
    QuiltError
        If there are no samples, or pymbar is not installed.
    """
    return free_energies_of(read_samples(folders), discard)


def free_energies_of(samples: Samples, discard: float = 0.1) -> FreeEnergies:
    """As `free_energies`, from samples of the states."""
    if not 0 <= discard < 1:
        raise QuiltError(f"discard must be a fraction, at least 0 and below 1, not {discard:g}")
    if len(samples.lambdas) < 2:
        raise QuiltError("a free energy needs two states or more")
    for end in (0, -1):
        if samples.counts[end] == 0:
            raise QuiltError(
                f"state {range(len(samples.lambdas))[end]} has no samples: run it as well, or "
                "continue the expanded ensemble until it has been there"
            )
    kept = samples.part(discard, 1)
    independent = kept.independent()
    with _refusing(independent):
        found = _mbar(independent)
        differences = _differences(found, samples.temperature)
        overlap = np.asarray(found.compute_overlap()["matrix"], dtype=np.float64)
    ends: list[list[Estimated]] = [
        [_difference(independent.part(*places)) for places in parts]
        for parts in ([(0, s) for s in SHARES], [(1 - s, 1) for s in SHARES])
    ]
    return FreeEnergies(
        samples.names,
        samples.lambdas,
        kept.counts,
        independent.counts,
        np.array([_mean(rows) for rows in kept.dhdl]),
        _integration(kept, independent.counts),
        differences,
        overlap,
        tuple(ends[0]),
        tuple(ends[1]),
    )


def _mean(rows: F64) -> F64:
    """Mean of each column; nan if there are no rows."""
    return rows.mean(axis=0) if len(rows) else np.full(rows.shape[1], np.nan)


def _integration(samples: Samples, independent: NDArray[np.int64]) -> tuple[Estimated, ...] | None:
    """Integration by the trapezoidal rule, with errors from the variance in each state."""
    if (independent < 1).any():
        return None
    means = np.array([rows.mean(axis=0) for rows in samples.dhdl])
    steps = np.diff(samples.lambdas, axis=0)
    areas = ((means[1:] + means[:-1]) / 2 * steps).sum(axis=1)
    found = [Estimated(0.0, 0.0)]
    for last in range(1, len(means)):
        weights = np.zeros_like(means)
        weights[1 : last + 1] += steps[:last] / 2
        weights[:last] += steps[:last] / 2
        variance = sum(
            _variance(rows @ weight) / count
            for rows, weight, count in zip(samples.dhdl, weights, independent, strict=True)
        )
        found.append(Estimated(float(areas[:last].sum()), float(np.sqrt(variance))))
    return tuple(found)


def _variance(values: F64) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else float("nan")


def _mbar(samples: Samples) -> Any:
    """pymbar's, of reduced potentials less that of the state in which a sample was taken."""
    logging.getLogger("pymbar").setLevel(logging.ERROR)  # it has much to say about JAX
    try:
        from pymbar import MBAR
    except ImportError:
        raise QuiltError("MBAR needs pymbar: pip install 'quiltmd[alchemy]'") from None
    reduced = np.concatenate(samples.energies) / (BOLTZMANN * samples.temperature)
    return MBAR(reduced.T, samples.counts)


def _differences(mbar: Any, temperature: float) -> tuple[Estimated, ...]:
    found, unit = mbar.compute_free_energy_differences(), BOLTZMANN * temperature
    pairs = zip(found["Delta_f"][0], found["dDelta_f"][0], strict=True)
    return tuple(Estimated(float(unit * value), float(unit * error)) for value, error in pairs)


def _difference(samples: Samples) -> Estimated:
    """Free energy of the last state minus the first; nan where MBAR does not converge."""
    try:
        with _refusing(samples):
            return _differences(_mbar(samples), samples.temperature)[-1]
    except QuiltError:
        return Estimated(float("nan"), float("nan"))


@contextmanager
def _refusing(samples: Samples) -> Iterator[None]:
    """Turns errors by which pymbar says that it does not converge into a QuiltError."""
    try:
        with np.errstate(invalid="ignore"):
            yield
    except Exception as error:
        if type(error).__module__ != "pymbar.utils":
            raise
        raise QuiltError(
            f"MBAR does not converge with {samples.counts.sum()} independent samples of "
            f"{len(samples.counts)} states: continue the runs, or add states between those that "
            "do not overlap"
        ) from None


def _plain(values: Sequence[Estimated]) -> list[list[float | None]]:
    """Values and errors; None for those that are not known."""
    numbers = [(one.value, one.error) for one in values]
    return [[number if np.isfinite(number) else None for number in row] for row in numbers]
