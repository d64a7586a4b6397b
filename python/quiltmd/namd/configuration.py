# SPDX-License-Identifier: Apache-2.0
"""NAMD configurations: what ApoA1- and STMV-like runs say, as settings of a run here.

A configuration is a Tcl script, which `script` reads.  Of its commands `minimize`,
`reinitvels` and `run` are understood, in this order.

Source: NAMD User's Guide, version 3.0.
"""

from __future__ import annotations

import os
import re

import numpy as np
from numpy.typing import NDArray

from ..description.barostats.monte_carlo import PROPOSE_EVERY
from ..description.box import lengths_angles
from ..description.electric_field import ELECTRONVOLT
from ..description.thermostats.velocity_rescaling import VelocityRescaling
from ..outputs.formats import FINAL
from ..reading.entries import Control, Entries, Entry, is_one
from ..reading.mesh import MeshWords, take_mesh
from ..reading.units import ANGSTROM, KCAL
from .cell import read_cell
from .colvars import take_colvars
from .extra_bonds import take_extra_bonds
from .keywords import IN_TOML, KEYWORDS
from .last_files import last_file
from .restraints import take_restraints
from .script import statements

_OUTPUT = "this output is not written"
_LISTS = "Quilt sets up the pair lists"
_MESH = MeshWords(
    sizes=("PMEGridSizeX", "PMEGridSizeY", "PMEGridSizeZ"),
    order="PMEInterpOrder",
    tolerance="PMETolerance",
    default_tolerance=1e-6,
    spacing="PMEGridSpacing",
)
_WATER = 4.5e-5  # compressibility, 1/bar
_CUTOFF = 12.0  # angstrom, where a file without one is read on for further faults


def is_namd(head: bytes) -> bool:
    """Whether a file that begins so is a NAMD configuration.

    It has two of these words.  `source` and `proc` are those of any Tcl script, such as one of VMD,
    which is then refused by its first statement that NAMD does not have.
    """
    words = rb"structure|coordinates|parameters|cutoff|timestep|source|proc"
    found = re.findall(rb"(?mi)^\s*(" + words + rb")\s+\S", head)
    return len({word.lower() for word in found}) >= 2


def read_namd(file: str) -> Control:
    """The settings of a NAMD configuration; see `Control`."""
    control = Control(file)
    entries = Entries(control, statements(control))
    _files(control, entries)
    _box(control, entries)
    _nonbonded(control, entries)
    _dynamics(control, entries)
    _barostat(control, entries)
    _output(control, entries)
    take_restraints(control, entries)
    take_extra_bonds(control, entries)
    take_colvars(control, entries)
    _electric_field(control, entries)
    _rest(entries)
    entries.finish("NAMD", KEYWORDS)
    return control


def _path(control: Control, value: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(control.file)), value))


def _files(control: Control, entries: Entries) -> None:
    amber, gromacs = entries.switch("amber"), entries.switch("gromacs")
    names = ("parmfile", "ambercoor") if amber else ("structure", "coordinates")
    names = ("grotopfile", "grocoorfile") if gromacs else names
    if amber or gromacs:
        _scaling(control, entries, amber)
    topology, text = (entries.take(name) for name in names)
    binary = entries.take("bincoordinates")
    if binary is not None and text is not None:
        entries.note("the binary coordinates are used instead", text)
    for entry, key in ((topology, "topology"), (binary or text, "coordinates")):
        if entry is not None:
            control.set("system", key, last_file(control, _path(control, entry.value)))
    parameters = [_path(control, entry.value) for entry in entries.take_all("parameters")]
    control.set("system", "parameters", parameters or None)
    entries.tell("parameter files are recognised by content", "paraTypeCharmm", "paraTypeXplor")
    entries.tell("paths are always relative to this file", "cwd")


def _scaling(control: Control, entries: Entries, amber: bool) -> None:
    """Scaling of electrostatic 1-4 interactions: these topologies contain the factors."""
    names = ("1-4scaling", "oneFourScaling")
    if not any(entries.has(name) for name in names):
        control.notes.append(
            "1-4scaling is not given: 1-4 interactions are scaled as the topology says, while NAMD "
            "would not scale those of charges"
        )
    elif amber:  # SCEE
        why = "a topology of Amber has its own scaling, for which NAMD is told 0.833333"
        entries.refuse(why, *names, unless=_is_ambers)
    else:
        entries.tell("1-4 interactions are scaled as the topology says (fudgeQQ)", *names)


def _is_ambers(scaling: str) -> bool:
    """Whether a factor of electrostatic 1-4 interactions is that of Amber's force fields, 1/1.2."""
    try:
        return abs(float(scaling) - 1 / 1.2) < 1e-3
    except ValueError:
        return False


def _box(control: Control, entries: Entries) -> None:
    vectors = [entries.numbers(f"cellBasisVector{k}") for k in (1, 2, 3)]
    extended = entries.take("extendedSystem")
    if extended is not None:
        if any(vectors):
            control.notes.append("cellBasisVector: the cell is that of extendedSystem")
        vectors = read_cell(last_file(control, _path(control, extended.value)))
    entries.tell("the origin of the cell has no effect", "cellOrigin")
    if any(vector is not None for vector in vectors):
        lengths, angles = lengths_angles(_cell(control, vectors) * ANGSTROM)
        control.set("system", "box", [*map(float, lengths), *map(float, angles)])
    else:
        control.refused.append(
            "no periodic cell: give cellBasisVector1, 2 and 3, or extendedSystem; as in NAMD, the "
            "box of a coordinate file (CRYST1 of a PDB) is not used"
        )


def _cell(control: Control, vectors: list[list[float] | None]) -> NDArray[np.float64]:
    """The vectors of the cell as rows, angstrom; a fault if they are none for us."""
    whole = all(vector is not None and len(vector) == 3 for vector in vectors)
    rows = np.array(vectors, dtype=np.float64) if whole else np.zeros((3, 3))
    if not abs(np.linalg.det(rows)) >= 1e-6:
        control.fault("cellBasisVector1, 2 and 3 must be three vectors that span a volume")
        return np.eye(3)
    edges = np.linalg.norm(rows, axis=1)
    if np.abs(np.triu(rows, 1)).max() > 1e-6 * edges.max() or rows.diagonal().min() <= 0:
        control.fault(
            "cellBasisVector1 must be along x and cellBasisVector2 in the xy plane, with y > 0 "
            "and z > 0 of the third: turn cell and coordinates"
        )
        return np.eye(3)
    return rows


def _nonbonded(control: Control, entries: Entries) -> None:
    if not entries.has("cutoff"):
        control.fault("the keyword cutoff is missing")
    cutoff = entries.number("cutoff", _CUTOFF)
    assert cutoff is not None
    control.set("nonbonded", "cutoff", cutoff * ANGSTROM)
    if entries.switch("switching", True):
        if not entries.has("switchdist"):
            control.fault("switching, which is on by default, needs switchdist")
        begins = entries.number("switchdist", cutoff)
        force = entries.switch("vdwForceSwitching")
        assert begins is not None
        control.set("nonbonded", "switching", "charmm-force" if force else "charmm")
        control.set("nonbonded", "switch_distance", begins * ANGSTROM)
    entries.tell("no effect without switching", "switchdist", "vdwForceSwitching")
    control.set("nonbonded", "dispersion_correction", entries.switch("LJcorrection"))
    entries.refuse("only scaled1-4", "exclude", unless=lambda value: value == "scaled1-4")
    for name in ("1-4scaling", "oneFourScaling"):
        entries.refuse("E14FAC of the parameter files is used", name, unless=is_one)
    entries.refuse("a dielectric constant", "dielectric", unless=is_one)
    entries.refuse("other than 1", "nonbondedFreq", unless=is_one)
    control.set("integrator", "long_range_every", entries.whole("fullElectFrequency"))
    _ewald(control, entries, cutoff)


def _ewald(control: Control, entries: Entries, cutoff: float) -> None:
    if not entries.switch("PME"):
        control.refused.append("PME off: electrostatics without PME are not supported")
    take_mesh(entries, _MESH, cutoff)
    entries.tell("Quilt chooses this", "PMEProcessors", "PMEPencils", "FFTWUseWisdom")


def _dynamics(control: Control, entries: Entries) -> None:
    control.set("integrator", "timestep", _picoseconds(entries.number("timestep", 1.0)))
    rigid = entries.text("rigidBonds", "none")
    if rigid not in ("none", "water", "all"):
        control.refused.append(f"rigidBonds {rigid}: only none, water and all")
    control.set("system", "constraints", "h-bonds" if rigid == "all" else "none")
    control.set("system", "rigid_water", rigid != "none")
    entries.tell(
        "constraints have their own tolerance",
        *("rigidTolerance", "rigidIterations", "useSettle", "rigidDieOnError"),
    )
    seed = entries.whole("seed")
    control.set("integrator", "seed", seed)
    initial = _velocities(control, entries)
    _thermostat(control, entries, initial)
    _steps(control, entries)
    entries.tell("motion of the centre of mass is removed", "zeroMomentum", "COMmotion")


def _steps(control: Control, entries: Entries) -> None:
    """Commands come in the order of a script; here a minimisation is before the dynamics."""
    minimized, run = entries.peek("minimize"), entries.peek("run")
    for entry in minimized:
        if run and entry.line > run[0].line:
            entries.reject(
                entry,
                "a minimisation after a run is not supported: put it into a separate configuration",
            )
    _new_velocities(control, entries, minimized, run)
    first = entries.whole("firsttimestep", 0) or 0
    control.set("run", "first_step", first or None)
    iterations, runs = entries.counts("minimize"), entries.counts("run")
    if len(runs) > 1:
        control.notes.append(f"run {runs}: one run of {sum(runs)} steps")
    if entries.switch("minimization"):
        if runs or iterations:
            control.refused.append(
                "minimization on cannot be combined with run and minimize: use minimize N"
            )
        iterations = [entries.whole("numsteps", 0) or 0]
    elif runs:
        entries.tell("run says how many steps", "numsteps")
    elif iterations:
        entries.refuse("beside minimize the steps after it are those of run", "numsteps")
    if iterations:
        control.set("run", "minimize", True)
        control.set("run", "minimize_iterations", sum(iterations))
        control.notes.append(
            "minimize: by L-BFGS, which ends before where the largest force is minimize_tolerance"
        )
    steps = sum(runs)
    if not (runs or iterations):
        last = entries.whole("numsteps", first) or 0  # which counts from 0
        steps = last - first
        if steps < 0:
            control.refused.append(f"numsteps {last}: before firsttimestep {first}")
    control.set("run", "steps", max(0, steps))
    _initial_velocities(control)


def _velocities(control: Control, entries: Entries) -> float | None:
    """Initial velocities, drawn at `temperature`, which is returned, or read from a file."""
    text, binary = entries.take("velocities"), entries.take("binvelocities")
    temperature = entries.peek("temperature")
    initial = entries.number("temperature")
    file = binary or text
    if file is None:
        control.set("run", "start_temperature", initial)
        return initial
    if temperature:
        entries.reject(temperature[-1], f"not beside {file.name}: leave out one of them")
    if text is not None and binary is not None:
        entries.note("the binary velocities are used instead", text)
    control.set("system", "velocities", last_file(control, _path(control, file.value)))
    return None


def _initial_velocities(control: Control) -> None:
    """Says what becomes of a file of velocities, and where they come from if nothing says so."""
    system, run = control.settings["system"], control.settings["run"]
    if run.get("minimize", False) or "start_temperature" in run:
        if (file := system.pop("velocities", None)) is not None:
            control.notes.append(f"{file}: no effect: minimize or reinitvels sets other velocities")
    elif "velocities" not in system and run["steps"]:
        control.notes.append(
            "neither temperature nor velocities: they are drawn at the temperature of the "
            "thermostat, else at 300 K"
        )


def _new_velocities(
    control: Control, entries: Entries, minimized: list[Entry], runs: list[Entry]
) -> None:
    """Velocities of `reinitvels`; after a minimisation atoms are at rest."""
    drawn = entries.peek("reinitvels")
    for entry in drawn:
        if runs and entry.line > runs[0].line:
            entries.reject(
                entry,
                "drawing velocities after a run is not supported: use a separate configuration",
            )
        elif minimized and entry.line < minimized[-1].line:
            entries.reject(entry, "no effect before a minimisation, after which atoms are at rest")
    if drawn:
        control.set("run", "start_temperature", entries.number("reinitvels"))
    elif minimized and runs:
        control.set("run", "start_temperature", 0.0)
        control.notes.append(
            "minimize: velocities are zero afterwards, because there is no reinitvels before run"
        )


def _thermostat(control: Control, entries: Entries, temperature: float | None) -> None:
    langevin, rescale = entries.switch("langevin"), entries.switch("stochRescale")
    if langevin and rescale:
        control.refused.append("langevin, stochRescale: only one thermostat")
    elif langevin:
        control.set("integrator", "friction", entries.number("langevinDamping"))
        temperature = entries.number("langevinTemp", temperature)
    elif rescale:
        control.set("thermostat", "kind", "velocity-rescaling")
        control.set("thermostat", "time_constant", entries.number("stochRescalePeriod"))
        _act_every(control, "thermostat", VelocityRescaling.every)
        temperature = entries.number("stochRescaleTemp", temperature)
    control.set("integrator", "ensemble", "nvt" if langevin or rescale else "nve")
    control.set("integrator", "temperature", temperature)
    entries.tell("noise acts on all atoms", "langevinHydrogen")
    entries.tell("the integrator is always Langevin-middle", "langevinBAOAB")
    entries.tell("Quilt chooses the interval", "stochRescaleFreq")
    if langevin:
        entries.refuse("one friction for all atoms: langevinDamping", "langevinFile", "langevinCol")
    entries.tell(
        "no effect without this thermostat",
        *("langevinTemp", "langevinDamping", "stochRescaleTemp", "stochRescalePeriod"),
        *("langevinFile", "langevinCol", "tCoupleFile", "tCoupleCol", "tCoupleTemp"),
        *("rescaleTemp", "reassignTemp", "reassignIncr", "reassignHold"),
        *("loweAndersenTemp", "loweAndersenCutoff", "loweAndersenRate"),
    )


def _barostat(control: Control, entries: Entries) -> None:
    found = [name for name in _BAROSTATS if entries.switch(name)]
    if len(found) > 1:
        control.refused.append(f"{', '.join(found)}: only one barostat")
    elif found:
        _constant_pressure(control, entries, found[0])
    entries.tell(
        "no effect without this barostat",
        *("langevinPistonTarget", "langevinPistonPeriod", "langevinPistonDecay"),
        *("langevinPistonTemp", "BerendsenPressureTarget", "BerendsenPressureFreq"),
        *("BerendsenPressureCompressibility", "BerendsenPressureRelaxationTime"),
        *("monteCarloPressureTarget", "monteCarloTemp", "monteCarloPressureFreq"),
        *_OF_PROPOSALS,
        *("useGroupPressure", "useFlexibleCell", "useConstantArea", "useConstantRatio"),
    )
    entries.refuse("use surface_tension in [barostat] of a TOML file", "SurfaceTensionTarget")
    entries.refuse("not supported", "StrainRate", "excludeFromPressure", "multigrator")


def _constant_pressure(control: Control, entries: Entries, name: str) -> None:
    dynamics = control.settings["integrator"]
    if dynamics["ensemble"] != "nvt":
        control.refused.append(f"{name}: constant pressure needs langevin or stochRescale")
    dynamics["ensemble"] = "npt"
    _cell_axes(control, entries, entries.number("BerendsenPressureCompressibility"))
    control.set("barostat", "pressure", entries.number(f"{name}Target"))
    _BAROSTATS[name](control, entries)
    entries.tell("pressure and scaling are those of hydrogen groups", "useGroupPressure")


def _berendsen(control: Control, entries: Entries) -> None:
    control.set("barostat", "kind", "berendsen")
    time = _picoseconds(entries.number("BerendsenPressureRelaxationTime"))
    control.set("barostat", "time_constant", time)
    every = entries.whole("BerendsenPressureFreq")
    if every is not None:
        _act_every(control, "barostat", every)


def _piston(control: Control, entries: Entries) -> None:
    control.set("barostat", "kind", "cell-rescaling")
    _refuse_another_temperature(control, entries, "langevinPistonTemp")
    control.notes.append(
        "langevinPiston: replaced by stochastic cell rescaling, which has the same ensemble and "
        "another time constant"
    )
    entries.tell(
        "no effect on stochastic cell rescaling", "langevinPistonPeriod", "langevinPistonDecay"
    )


def _monte_carlo(control: Control, entries: Entries) -> None:
    control.set("barostat", "kind", "monte-carlo")
    _refuse_another_temperature(control, entries, "monteCarloTemp")
    entries.tell("the width of proposals follows from the compressibility", *_OF_PROPOSALS)
    entries.tell("molecules move with their centres", "useGroupPressure")
    _act_every(control, "barostat", entries.whole("monteCarloPressureFreq", PROPOSE_EVERY))


_BAROSTATS = {
    "langevinPiston": _piston,
    "BerendsenPressure": _berendsen,
    "monteCarloPressure": _monte_carlo,
}
_OF_PROPOSALS = ("monteCarloAcceptanceRate", "monteCarloAdjustmentFreq")


def _refuse_another_temperature(control: Control, entries: Entries, name: str) -> None:
    given = entries.number(name)
    if given is not None and given != control.settings["integrator"].get("temperature"):
        control.refused.append(f"{name} {given:g}: only that of the thermostat")


def _act_every(control: Control, section: str, steps: int | None) -> None:
    """Has a bath act at this interval, or at the next multiple of the interval of impulses."""
    assert steps is not None
    often = control.settings["integrator"].get("long_range_every", 1)
    control.set(section, "every", -(-steps // often) * often)


def _cell_axes(control: Control, entries: Entries, compressibility: float | None) -> None:
    flexible, ratio, area = (
        entries.switch(f"use{name}") for name in ("FlexibleCell", "ConstantRatio", "ConstantArea")
    )
    coupling = "semi-isotropic" if ratio or area else "anisotropic"
    control.set("barostat", "coupling", coupling if flexible else "isotropic")
    if (ratio or area) and not flexible:
        control.refused.append("useConstantRatio, useConstantArea: only with useFlexibleCell")
    if area:
        compressible = _WATER if compressibility is None else compressibility
        control.set("barostat", "compressibility", (0.0, compressible))
    elif compressibility is not None:
        control.set("barostat", "compressibility", (compressibility,))


def _electric_field(control: Control, entries: Entries) -> None:
    """A constant field; E in kcal/(mol A e)."""
    if not entries.switch("eFieldOn"):
        entries.tell(
            "no effect without eFieldOn",
            *("eField", "eFieldFreq", "eFieldPhase", "eFieldNormalized"),
        )
        return
    entries.refuse("only a constant field is supported", "eFieldFreq", "eFieldPhase")
    entries.refuse("only a field in kcal/(mol A e)", "eFieldNormalized")
    field = entries.numbers("eField")
    if field is None or len(field) != 3:
        control.fault("eFieldOn needs three numbers for eField")
        return
    volts = [one * KCAL / ANGSTROM / ELECTRONVOLT for one in field]
    control.set("system", "electric_field", volts)


def _output(control: Control, entries: Entries) -> None:
    name = entries.take("outputname")
    if name is not None:
        control.set("output", "dir", _path(control, name.value))
    for keyword, key in (
        ("outputEnergies", "log_every"),
        ("dcdfreq", "trajectory_every"),
        ("restartfreq", "checkpoint_every"),
    ):
        control.set("output", key, entries.whole(keyword))
    control.settings.setdefault("output", {}).setdefault("trajectory_every", 0)
    control.set("output", "final", [*FINAL, "namd"])
    entries.tell(
        "molecules in the trajectory are whole, with centres in the cell",
        *("wrapAll", "wrapWater", "wrapNearest"),
    )
    entries.tell("files of a run have their names and formats", "DCDfile", "DCDUnitCell")
    entries.tell(
        _OUTPUT,
        *("outputTiming", "outputPressure", "xstFreq", "xstfile", "restartname"),
        *("binaryoutput", "binaryrestart", "restartsave", "velDCDfile", "outputPairlists"),
        *("velDCDfreq", "forceDCDfile", "forceDCDfreq", "outputMomenta", "mergeCrossterms"),
        "stochRescaleHeat",
    )


def _rest(entries: Entries) -> None:
    entries.tell(
        _LISTS,
        *("pairlistdist", "stepspercycle", "margin", "pairlistsPerCycle", "pairlistShrink"),
        *("pairlistGrow", "pairlistTrigger", "hgroupCutoff", "splitPatch", "twoAwayX"),
        *("twoAwayY", "twoAwayZ", "ldbPeriod", "ldBalancer", "CUDASOAintegrate", "GPUresident"),
        *("usePMECUDA", "useDeviceMigration", "bondedCUDA", "DeviceMigration"),
        "langevinPistonBarrier",
    )
    for name, place in IN_TOML.items():
        entries.refuse(f"not supported: leave it out, and use {place} of a TOML file", name)
    entries.refuse(
        "not supported",
        *("drude", "tCouple", "rescaleFreq", "reassignFreq", "tclForces", "cosAngles", "accelMD"),
        *("replicaUniformPatchGrids", "sphericalBC", "cylindricalBC", "molly", "hbond"),
        *("watermodel", "MSM", "FMM", "loweAndersen"),
    )
    entries.tell(
        "no effect without the features to which they belong",
        *("fixedAtomsFile", "fixedAtomsCol", "fixedAtomsForces", "plumedfile"),
        *(name for prefix in ("SMD", "IMD") for name in entries.names(prefix)),
    )
    entries.tell("minimisations are by L-BFGS", "minTinyStep", "minBabyStep", "minLineGoal")


def _picoseconds(femtoseconds: float | None) -> float | None:
    return None if femtoseconds is None else femtoseconds / 1000
