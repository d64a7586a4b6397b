# SPDX-License-Identifier: Apache-2.0
"""Derivatives by lambda and energies of states, written during a run.

Two forms: a CSV table, and GROMACS' dhdl.xvg, which programs that estimate free energies read
(alchemlyb.parsing.gmx).  The second is of one state: its first lines say which.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..description.alchemy import Alchemy
from ..description.checks import whole_number
from ..description.dynamics import heat_bath
from ..errors import QuiltError
from .files import FileWriter, GrowingFile, Mark
from .readout import KJ_MOL_PER_NM3, Readout
from .reporters import Need

_NAMES = {
    "coulomb": "coul-lambda",
    "vdw": "vdw-lambda",
    "bonded": "bonded-lambda",
    "restraint": "restraint-lambda",
}  # GROMACS'


class StateEnergyReporter(FileWriter):
    """Derivatives of the energy by lambda, and energies of all states, a row each.

    A CSV table has the columns step; time, ps; lambda_coulomb, lambda_vdw, and lambda_bonded and
    lambda_restraint where there is one; potential energy; dhdl_coulomb and the others likewise;
    u_0, u_1, ..., the energies of the states less the present one; all energies in kJ/mol.

    Parameters
    ----------
    path:
        The file: .csv, or .xvg for GROMACS' form.
    every:
        Steps between rows.
    simulation:
        Whose rows are written.
    after, mark:
        As for `LogReporter`: a step, and how far the file had been written then; None starts a new
        file.
    walks:
        Whether the simulation moves between states, as an expanded ensemble; an .xvg then has a
        column with the state.

    Raises
    ------
    QuiltError
        If the system has no alchemical atoms, or for .xvg a simulation is in no state of the
        schedule, or has no heat bath.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int,
        simulation: Readout,
        after: int | None = None,
        mark: Mark | None = None,
        walks: bool = False,
    ) -> None:
        self.path = Path(path)
        self.every = whole_number("every", every)
        alchemy = simulation.system.alchemy
        if alchemy is None:
            raise QuiltError(f"{self.path}: the system has no alchemical atoms")
        if self.path.suffix not in (".csv", ".xvg"):
            raise QuiltError(f"{self.path}: energies of states are written as .csv or .xvg")
        if after is not None and mark is None:
            raise QuiltError(
                f"{self.path}: give the mark of the file (from the checkpoint) to continue it"
            )
        restrained = alchemy.restraint is not None
        self.needs: tuple[Need, ...] = ("energies", "positions") if restrained else ("energies",)
        self._is_table = self.path.suffix == ".csv"
        self._lambdas, self._walks = simulation.lambdas, walks
        header = table_header(alchemy) if self._is_table else xvg_header(simulation, walks)
        self._file = GrowingFile.with_header(self.path, header, mark)

    def report(self, frame: Readout, /) -> None:
        """Writes a row."""
        if self._is_table:
            self._file.append(_table_row(frame).encode("ascii"))
            return
        if self._walks:
            self._file.append(_xvg_row(frame, _state_number(frame)).encode("ascii"))
            return
        if frame.lambdas != self._lambdas:
            raise QuiltError(
                f"{self.path}: the lambdas have changed, and a file in GROMACS' format (.xvg) is "
                "of one state: write a table (.csv), or a file for each state"
            )
        self._file.append(_xvg_row(frame).encode("ascii"))


def table_header(alchemy: Alchemy) -> str:
    """The first line of a table."""
    lambdas = [f"lambda_{name}" for name in alchemy.names]
    slopes = [f"dhdl_{name}" for name in alchemy.names]
    states = [f"u_{k}" for k in range(len(alchemy.states))]
    return ",".join(["step", "time", *lambdas, "potential", *slopes, *states]) + "\n"


def xvg_header(simulation: Readout, walks: bool = False) -> str:
    """The first lines of GROMACS' dhdl.xvg (GROMACS reference manual, "mdrun -dhdl").

    Of one state, or of a simulation that walks between all.
    """
    alchemy = simulation.system.alchemy
    assert alchemy is not None
    number = _state_number(simulation)
    temperature = bath_temperature(simulation, "a file in GROMACS' format (.xvg)")
    names = ", ".join(_NAMES[name] for name in alchemy.names)
    here = alchemy.states[number]
    of_state = f" \\xl\\f{{}} state {number}: ({names}) = {_listed(here)}"
    lines = [
        "# Written by quiltmd.",
        '@    title "dH/d\\xl\\f{} and \\xD\\f{}H"',
        '@    xaxis  label "Time (ps)"',
        '@    yaxis  label "dH/d\\xl\\f{} and \\xD\\f{}H (kJ/mol [\\xl\\f{}]\\S-1\\N)"',
        "@TYPE xy",
        f'@ subtitle "T = {temperature:g} (K){"" if walks else of_state}"',
    ]
    legends = ["Thermodynamic state"] if walks else []
    legends += ["Potential Energy (kJ/mol)"]
    legends += [
        f"dH/d\\xl\\f{{}} {_NAMES[name]} = {'any' if walks else f'{value:.4f}'}"
        for name, value in zip(alchemy.names, here, strict=True)
    ]
    legends += [f"\\xD\\f{{}}H \\xl\\f{{}} to {_listed(state)}" for state in alchemy.states]
    if simulation.barostat is not None:
        legends.append("pV (kJ/mol)")
    lines += [f'@ s{k} legend "{text}"' for k, text in enumerate(legends)]
    return "\n".join(lines) + "\n"


def _state_number(simulation: Readout) -> int:
    """The state of the schedule in which a simulation is; QuiltError if it is in none."""
    alchemy, now = simulation.system.alchemy, simulation.lambdas
    assert alchemy is not None
    for number in range(len(alchemy.states)):
        if alchemy.state(number) == now:
            return number
    raise QuiltError(
        f"the lambdas {_listed(list(now.values()))} are not those of a state of the schedule, as a "
        "file in GROMACS' format (.xvg) needs: write a table (.csv)"
    )


def _listed(lambdas: npt.ArrayLike) -> str:
    return "(" + ", ".join(f"{value:.4f}" for value in np.asarray(lambdas)) + ")"


def bath_temperature(simulation: Readout, what: str) -> float:
    """Temperature of the heat bath, K; QuiltError, which says what needs it, without one bath."""
    bath = heat_bath(simulation.integrator, simulation.thermostat)
    temperature = getattr(bath, "temperature", None)
    if not isinstance(temperature, int | float):
        raise QuiltError(f"{what} needs one heat bath for all atoms")
    return float(temperature)


def _table_row(frame: Readout) -> str:
    alchemy = frame.system.alchemy
    assert alchemy is not None
    lambdas = [frame.lambdas[f"lambda_{name}"] for name in alchemy.names]
    texts = [f"{value:.6g}" for value in lambdas]
    values = [frame.energies()["potential"], *frame.dhdl(), *frame.state_energies()]
    texts += [f"{value:.6f}" for value in values]
    return f"{frame.step},{frame.time:.6f},{','.join(texts)}\n"


def _xvg_row(frame: Readout, state: int | None = None) -> str:
    values = [frame.energies()["potential"], *frame.dhdl(), *frame.state_energies()]
    if frame.barostat is not None:
        assert frame.box is not None
        volume = float(np.prod(np.diag(frame.box)))
        values.append(frame.barostat.pressure * volume / KJ_MOL_PER_NM3)
    number = "" if state is None else f"{state} "
    return f"{frame.time:.4f} {number}" + " ".join(f"{value:.6f}" for value in values) + "\n"
