# SPDX-License-Identifier: Apache-2.0
"""Commands of LAMMPS input scripts that say how the system moves, and what is written.

Sources: https://docs.lammps.org/fix_nve.html, fix_nh.html, fix_langevin.html, minimize.html,
velocity.html, thermo.html, dump.html.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ..errors import InputError
from ..reading.entries import Control, number_of
from .script import Command, commands
from .shake import STYLES as SHAKE
from .units import UNITS, Units

_NO_EFFECT = (
    *("neighbor", "neigh_modify", "comm_modify", "comm_style", "newton", "processors"),
    *("atom_modify", "package", "suffix", "log", "echo", "info", "timer", "balance", "print"),
)
_NOT_WRITTEN = {
    **dict.fromkeys(
        ("thermo_style", "thermo_modify"), "thermo.log has the columns of thermo_style one"
    ),
    "dump_modify": "frames are written to the trajectory of the run",
    **dict.fromkeys(
        ("write_data", "write_restart"),
        "no such file is written: a later script reads the same data as this one and is given the "
        "folder of this run, 'quiltmd run SCRIPT -c FOLDER'",
    ),
}
_LATER = "not supported after a run: use a separate script for what follows, with -c FOLDER"
_METALS, _WATER = 1e-6, 4.5e-5  # compressibility, 1/bar
# Options of fix nvt and fix npt, and the number of their values.
_NOSE_HOOVER = {
    **dict.fromkeys(("temp", "iso", "aniso", *"xyz"), 3),
    **dict.fromkeys(("tchain", "pchain", "mtk", "drag", "nreset", "flip"), 1),
}


def read_script(file: str) -> Control:
    """The settings of an input script; see `Control`.  The script is topology and coordinates."""
    return _Dynamics(file).control


class _Dynamics:
    def __init__(self, file: str) -> None:
        self.control = Control(file)
        self.units: Units = UNITS["lj"]
        self.named = "lj"
        self.timestep: float | None = None
        self.steps = self.runs = 0
        self.fixes: list[Command] = []
        for key in ("topology", "coordinates"):
            self.control.set("system", key, file)
        self.control.set("output", "trajectory_every", 0)
        name = os.path.basename(file)
        if name.startswith("in."):  # as most scripts, whose name is behind the dot
            self.control.set("output", "dir", f"{name.removeprefix('in.')}-quilt")
        for command in commands(file):
            self._read(command)
        self._finish()

    def _read(self, command: Command) -> None:
        if command.name == "units" and command.words[:1] and command.words[0] in UNITS:
            self.units, self.named = UNITS[command.words[0]], command.words[0]
        elif command.name in _NO_EFFECT:
            self.note(command, "no effect: Quilt chooses this")
        elif command.name in _NOT_WRITTEN:
            self.note(command, _NOT_WRITTEN[command.name])
        elif command.name == "kspace_style":
            self.note(command, "the error of the forces is pme_tolerance, of another measure")
        elif command.name in _COMMANDS:
            self._try(_COMMANDS[command.name], command)

    def _try(self, read: Callable[[_Dynamics, Command], None], command: Command) -> None:
        """Reads a command; its errors are faults of the script."""
        try:
            read(self, command)
        except InputError as error:
            self.control.faults.append(error)

    def note(self, command: Command, why: str) -> None:
        self.control.notes.append(f"{command.text}: {why}")

    def refuse(self, command: Command, why: str) -> None:
        self.control.refused.append(f"line {command.line}, {command.text}: {why}")

    def set_timestep(self, command: Command) -> None:
        if self.steps:
            self.refuse(command, _LATER)
        self.timestep = command.number(0) * self.units.time

    def run(self, command: Command) -> None:
        if len(command.words) != 1:
            self.refuse(command, "only a number of steps")
        if self.steps:
            self.control.notes.append(f"{command.text}: added to the run before it")
        steps = command.whole(0)
        self.steps += steps
        self.runs += steps > 0

    def minimize(self, command: Command) -> None:
        if self.steps:
            self.refuse(
                command,
                "a minimisation after a run is not supported: put it into a separate script",
            )
        self.control.set("run", "minimize", True)
        self.control.set("run", "minimize_iterations", command.whole(2))
        why = "by L-BFGS, which ends where the largest force is below minimize_tolerance"
        self.note(command, why)

    def velocity(self, command: Command) -> None:
        if self.steps:
            self.refuse(command, _LATER)
        elif command.words[:2] == ("all", "create"):
            kelvin = command.number(2) * self.units.temperature
            self.control.set("run", "start_temperature", kelvin)
            self.note(command, "velocities are drawn with other random numbers")
        elif command.words[:2] == ("all", "zero"):
            self.note(command, "the centre of mass is at rest in any case")
        else:
            self.refuse(command, "only all create, and all zero")

    def add_fix(self, command: Command) -> None:
        if self.steps:
            self.refuse(command, _LATER)
        if command.words[1:2] != ("all",):
            self.refuse(command, "only of the group all")
        self.fixes.append(command)

    def thermo(self, command: Command) -> None:
        self.control.set("output", "log_every", command.whole(0) or None)

    def dump(self, command: Command) -> None:
        if command.words[1:2] != ("all",):
            self.refuse(command, "only of the group all")
        self.control.set("output", "trajectory_every", command.whole(3))
        self.note(command, "frames are written to the trajectory of the run")

    def restart(self, command: Command) -> None:
        self.control.set("output", "checkpoint_every", command.whole(0) or None)

    def reset(self, command: Command) -> None:
        if command.words != ("0",) or self.steps:
            self.refuse(command, "only 0, before the run")

    def end_fix(self, command: Command) -> None:
        self.refuse(command, _LATER)

    def _finish(self) -> None:
        timestep = self.units.timestep if self.timestep is None else self.timestep
        self.control.set("integrator", "timestep", timestep)
        self.control.set("output", "thermo", self.named)
        self.control.set("run", "steps", self.steps)
        self.control.set("integrator", "ensemble", "nve")
        movers = 0
        for fix in self.fixes:
            style = fix.words[2] if len(fix.words) > 2 else ""
            if style not in _FIXES:
                self.refuse(fix, f"only the styles {', '.join(_FIXES)}")
                continue
            movers += style in ("nve", "nvt", "npt")
            self._try(_FIXES[style], fix)
        if movers != 1 and self.steps:
            why = "one of fix nve, fix nvt and fix npt must move the atoms"
            self.control.refused.append(f"{movers} fixes that move atoms: {why}")

    # ---- Styles of fix; their values begin with the fourth word of the command

    def at_constant_energy(self, fix: Command) -> None:
        if len(fix.words) > 3:
            self.refuse(fix, "fix nve has no further values")

    def remove_momentum(self, fix: Command) -> None:
        self.note(fix, "motion of the centre of mass is removed")

    def constrain(self, fix: Command) -> None:
        """The constraints are part of the system."""
        self.note(fix, "constraints are solved to a tolerance and an interval of Quilt")

    def nose_hoover(self, fix: Command) -> None:
        values = self._options(fix, _NOSE_HOOVER)
        if "temp" not in values:
            self.refuse(fix, "needs temp Tstart Tstop Tdamp")
            return
        start, stop, damp = (self._number(fix, word) for word in values["temp"])
        self.control.set("integrator", "ensemble", "nvt")
        self._temperatures(fix, start, stop)
        self.control.set("thermostat", "kind", "nose-hoover")
        self.control.set("thermostat", "time_constant", damp * self.units.time)
        if "tchain" in values:
            self.control.set(
                "thermostat", "chain_length", int(self._number(fix, values["tchain"][0]))
            )
        if values.get("drag", ["0"]) != ["0"]:
            self.refuse(fix, "drag is not supported")
        if any(name in values for name in ("mtk", "pchain", "nreset", "flip")):
            self.note(fix, "mtk, pchain, nreset and flip have no effect: the barostat is another")
        self._barostat(fix, values)

    def _barostat(self, fix: Command, values: dict[str, list[str]]) -> None:
        found = [name for name in ("iso", "aniso", *"xyz") if name in values]
        axes = [name for name in found if name in "xyz"]
        if fix.words[2] == "nvt" or len(found) != max(len(axes), 1):
            if fix.words[2] == "npt" or found:
                self.refuse(fix, "fix npt needs iso, aniso, or some of x, y, z, and fix nvt none")
            return
        if any(values[name] != values[found[0]] for name in axes):
            self.refuse(fix, "only one pressure and one Pdamp for all axes")
        start, stop, damp = (self._number(fix, word) for word in values[found[0]])
        if start != stop:
            self.refuse(fix, "only one pressure")
        self.control.set("integrator", "ensemble", "npt")
        self.control.set("barostat", "kind", "cell-rescaling")
        self.control.set("barostat", "pressure", start * self.units.pressure)
        self.control.set("barostat", "time_constant", damp * self.units.time)
        if found[0] != "iso":
            self.control.set("barostat", "coupling", "anisotropic")
        soft = _METALS if self.units is UNITS["metal"] else _WATER
        # Along other axes the box keeps its size.
        along = [soft if name in axes else 0.0 for name in "xyz"] if axes else [soft]
        self.control.set("barostat", "compressibility", along)
        self.note(fix, "stochastic cell rescaling takes the place of the barostat; same ensemble")

    def langevin(self, fix: Command) -> None:
        if len(fix.words) != 7:
            self.refuse(fix, "only Tstart Tstop damp seed")
            return
        if sum(one.words[2:3] == ("langevin",) for one in self.fixes) > 1:
            self.refuse(fix, "only one fix langevin")
            return
        start, stop, damp = (fix.number(place) for place in (3, 4, 5))
        if damp <= 0:
            self.refuse(fix, "only a positive damp")
            return
        self.control.set("integrator", "ensemble", "nvt")
        self._temperatures(fix, start, stop)
        self.control.set("integrator", "friction", 1 / (damp * self.units.time))
        self.control.set("integrator", "seed", fix.whole(6))
        self.note(fix, "with fix nve: the integrator is Langevin-middle")

    def _temperatures(self, fix: Command, start: float, stop: float) -> None:
        """The temperature of a bath, or those between which it changes in the run."""
        first, last = start * self.units.temperature, stop * self.units.temperature
        if start == stop:
            self.control.set("integrator", "temperature", first)
        elif self.runs != 1:  # in LAMMPS each begins with the first temperature again
            self.refuse(fix, "two temperatures only in a script with one run")
        else:
            end = self.steps * (self.timestep or self.units.timestep)
            self.control.set("integrator", "annealing", [(0.0, first), (end, last)])
            self.note(fix, "the temperature changes every 200 steps (annealing_every), not in each")

    def _number(self, fix: Command, word: str) -> float:
        """A value of an option; InputError where it is no number."""
        value = number_of(word)
        if not abs(value) < float("inf"):
            raise fix.error(f"expected a number, not {word}")
        return value

    def _options(self, fix: Command, counts: dict[str, int]) -> dict[str, list[str]]:
        """Values behind names; refused are other names, and such without their values."""
        found, place = dict[str, list[str]](), 3
        while place < len(fix.words):
            name = fix.words[place]
            if name not in counts:
                self.refuse(fix, f"{name}: only {', '.join(counts)}")
                return found
            found[name] = list(fix.words[place + 1 : place + 1 + counts[name]])
            if len(found[name]) < counts[name]:
                raise fix.error(f"{name} needs {counts[name]} values")
            place += 1 + counts[name]
        return found


_COMMANDS: dict[str, Callable[[_Dynamics, Command], None]] = {
    "timestep": _Dynamics.set_timestep,
    "run": _Dynamics.run,
    "minimize": _Dynamics.minimize,
    "velocity": _Dynamics.velocity,
    "fix": _Dynamics.add_fix,
    "unfix": _Dynamics.end_fix,
    "undump": _Dynamics.end_fix,
    "thermo": _Dynamics.thermo,
    "dump": _Dynamics.dump,
    "restart": _Dynamics.restart,
    "reset_timestep": _Dynamics.reset,
}
_FIXES: dict[str, Callable[[_Dynamics, Command], None]] = {
    "nve": _Dynamics.at_constant_energy,
    "nvt": _Dynamics.nose_hoover,
    "npt": _Dynamics.nose_hoover,
    "langevin": _Dynamics.langevin,
    "momentum": _Dynamics.remove_momentum,
    **dict.fromkeys(SHAKE, _Dynamics.constrain),
}
DYNAMICS = (*_COMMANDS, *_NO_EFFECT, *_NOT_WRITTEN)
