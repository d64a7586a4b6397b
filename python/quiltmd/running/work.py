# SPDX-License-Identifier: Apache-2.0
"""Free energies from the work of nonequilibrium switching, forwards and backwards.

Bennett's acceptance ratio from Crooks' theorem: Shirts, Bair, Hooker and Pande, Phys. Rev. Lett.
91, 140601 (2003); the exponential average: Jarzynski, Phys. Rev. Lett. 78, 2690 (1997).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.settings import BOLTZMANN
from ..errors import QuiltError
from .alchemy_section import AlchemySection
from .config import read_resolved
from .dynamics_sections import IntegratorSection
from .folder import Folder
from .records import read_log
from .statistics import Estimated

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class WorkEstimates:
    """Free energy of the last state less that of the first, kJ/mol, with standard errors.

    Attributes
    ----------
    forwards, backwards:
        (n,) and (m,) kJ/mol: work done by each run.
    bar:
        By Bennett's acceptance ratio; None without runs in both directions.
    jarzynski_forwards, jarzynski_backwards:
        By the exponential average of one direction; None without two runs in it.
    overlap:
        Of both distributions of work, 0 to 1; None without runs in both directions.
    """

    forwards: F64
    backwards: F64
    bar: Estimated | None
    jarzynski_forwards: Estimated | None
    jarzynski_backwards: Estimated | None
    overlap: float | None

    def summary(self) -> dict[str, Any]:
        """All of it in plain numbers."""
        names = ("bar", "jarzynski_forwards", "jarzynski_backwards")
        found = {name: getattr(self, name) for name in names}
        return {
            "forwards": self.forwards.tolist(),
            "backwards": self.backwards.tolist(),
            **{k: None if one is None else [one.value, one.error] for k, one in found.items()},
            "overlap": self.overlap,
        }


def is_switching(folder: Path) -> bool:
    """Whether a folder is of a run with [alchemy.switching]."""
    path = folder / "config.toml"
    return path.exists() and "switching" in read_resolved(path).get("alchemy", {})


def work_estimates(folders: Sequence[Path]) -> WorkEstimates:
    """From complete runs of one schedule.

    Raises
    ------
    QuiltError
        If a run is not complete, or of another schedule or temperature than the first; or if
        pymbar is not installed.
    """
    work: dict[str, list[float]] = {"forwards": [], "backwards": []}
    first = None
    for folder in folders:
        if not is_switching(folder):
            raise QuiltError(f"{folder}: not a run with [alchemy.switching]: analyse it separately")
        settings = read_resolved(folder / "config.toml")
        section = AlchemySection.model_validate(settings["alchemy"])
        assert section.switching is not None
        default = IntegratorSection.model_fields["temperature"].default
        temperature = float(settings.get("integrator", {}).get("temperature", default))
        described = (section.names, section.states.tolist(), temperature)
        first = described if first is None else first
        if described != first:
            raise QuiltError(
                f"{folder}: states or temperature are not those of {folders[0]}: analyse runs of "
                "one schedule at one temperature"
            )
        work[section.switching.direction].append(_work_of(folder, len(section.vdw)))
    if first is None:
        raise QuiltError("there are no runs to analyse")
    return estimates_of(np.array(work["forwards"]), np.array(work["backwards"]), first[2])


def _work_of(folder: Path, states: int) -> float:
    """The work of a run through all states, kJ/mol."""
    path = Folder(folder).work
    table = read_log(path)
    rows = len(table.get("work", ()))
    if rows != states - 1:
        raise QuiltError(
            f"{path}: {rows} of {states - 1} changes of state are done: complete the run with "
            f"'quiltmd run --resume {folder}'"
        )
    return float(table["work"][-1])


def estimates_of(forwards: F64, backwards: F64, temperature: float) -> WorkEstimates:
    """From the work (kJ/mol) of runs in both directions at a temperature, K."""
    logging.getLogger("pymbar").setLevel(logging.ERROR)  # it has much to say about JAX
    try:
        from pymbar.other_estimators import bar, bar_overlap, exp
    except ImportError:
        raise QuiltError("the estimate needs pymbar: pip install 'quiltmd[alchemy]'") from None
    thermal = BOLTZMANN * temperature
    w_f, w_r = forwards / thermal, backwards / thermal

    def estimated(found: dict[str, Any], sign: float = 1) -> Estimated:
        return Estimated(
            sign * thermal * float(found["Delta_f"]), thermal * float(found["dDelta_f"])
        )

    both = len(w_f) > 0 and len(w_r) > 0
    return WorkEstimates(
        forwards,
        backwards,
        estimated(bar(w_f, w_r)) if both else None,
        estimated(exp(w_f)) if len(w_f) > 1 else None,
        estimated(exp(w_r), -1) if len(w_r) > 1 else None,
        float(bar_overlap(w_f, w_r)) if both else None,
    )
