# SPDX-License-Identifier: Apache-2.0
"""Amber's mdin: the namelists &cntrl, &ewald and &wt as settings of a run here.

Topology and coordinates are named beside it, as for Amber's programs.

Source: Amber 2023 Reference Manual, section "sander" and its namelist variables.
"""

from __future__ import annotations

import re

from ..errors import InputError
from ..reading.entries import Control, Entries, Entry, is_not_positive, is_one, number_of
from ..reading.mesh import MeshWords, take_mesh
from ..reading.units import ANGSTROM
from .mdin_changes import take_changes
from .mdin_free_energy import take_free_energy
from .mdin_restraints import take_restraints
from .namelists import Namelist, read_namelists
from .prmtop import DEFAULT_SCEE, DEFAULT_SCNB

_CHANGE = "wt"
_KNOWN = ("cntrl", "ewald", _CHANGE)
_MESH = MeshWords(
    sizes=("nfft1", "nfft2", "nfft3"),
    order="order",
    tolerance="dsum_tol",
    default_tolerance=1e-5,
    coefficient="ew_coeff",
)
_DYN_PER_CM = 10.0  # bar nm


def is_mdin(head: bytes) -> bool:
    """Whether a file that begins so is an mdin."""
    return bool(re.search(rb"(?mi)^\s*[&$]cntrl\b", head))


def read_mdin(file: str) -> Control:
    """The settings of an mdin; see `Control`."""
    control = Control(file)
    keywords, changes, after = _keywords(control)
    entries = Entries(control, keywords)
    kind = entries.whole("imin", 0)
    if kind not in (0, 1):
        control.refused.append(f"imin {kind}: 0, dynamics, and 1, minimisation, are supported")
    elif kind == 1:
        control.set("run", "minimize", True)
        control.set("run", "minimize_iterations", entries.whole("maxcyc", 1))
        control.set("run", "steps", 0)
        entries.tell("minimisations are by L-BFGS", "ncyc", "ntmin", "dx0")
        entries.tell("replaced by minimize_tolerance", "drms")
        control.notes.append(
            "imin 1: the minimisation ends when the largest force is below minimize_tolerance, "
            "or after maxcyc iterations"
        )
        entries.tell("no effect in a minimisation", "nstlim", "irest", "ntx", "tempi")
    entries.tell("no effect without a minimisation", "maxcyc", "ncyc", "ntmin", "drms", "dx0")
    _dynamics(control, entries)
    take_changes(control, entries, changes, after)
    periodic = _solvent(control, entries)
    if periodic == 0:
        _no_box(control, entries)
    else:
        _barostat(control, entries, periodic)
        _nonbonded(control, entries)
    _output(control, entries)
    take_restraints(control, entries, after)
    take_free_energy(control, entries)
    _rest(entries)
    entries.finish()
    return control


def _keywords(control: Control) -> tuple[list[Entry], list[Namelist], list[tuple[int, str]]]:
    """The keywords of &cntrl and &ewald, the groups &wt, and what stands after the first group."""
    groups, after = read_namelists(control.file)
    for group in groups:
        if group.name not in _KNOWN:
            control.fault(f"the namelist &{group.name} is not supported", group.line)
    read = [group for group in groups if group.name in _KNOWN and group.name != _CHANGE]
    found = [entry for group in read for entry in group.entries]
    if not found:
        raise InputError("no namelist &cntrl with values that can be read", file=control.file)
    return found, [group for group in groups if group.name == _CHANGE], after


def _dynamics(control: Control, entries: Entries) -> None:
    if "run" not in control.settings:
        control.set("run", "steps", entries.whole("nstlim", 1))
    control.set("integrator", "timestep", entries.number("dt", 0.001))
    temperature = entries.number("temp0", 300.0)
    control.set("integrator", "temperature", temperature)
    seed = entries.whole("ig", -1)
    control.set("integrator", "seed", seed if seed is not None and seed >= 0 else None)
    _thermostat(control, entries)
    constraints = entries.whole("ntc", 1)
    named = {1: "none", 2: "h-bonds", 3: "all-bonds"}
    if constraints not in named:
        control.refused.append(f"ntc {constraints}: only 1, 2 and 3")
    control.set("system", "constraints", named.get(constraints or 1, "none"))
    control.set("system", "rigid_water", constraints in (2, 3))
    without_energy = f"constrained bonds have no energy, as with ntf = {constraints}"
    if constraints in (2, 3) and not entries.has("ntf"):
        control.notes.append(f"ntf is not given: {without_energy}")
    forces = entries.whole("ntf", constraints)
    if forces == 1 and constraints in (2, 3):
        control.notes.append(f"ntf 1: {without_energy}")
    elif forces != constraints:
        control.refused.append(
            f"ntf {forces}: only 1 or ntf = ntc, so that each bond is there once"
        )
    entries.refuse("this solvent is not supported", "ipb", "alpb", "rism")
    if "minimize" not in control.settings["run"]:
        _velocities(control, entries)


def _velocities(control: Control, entries: Entries) -> None:
    """Initial velocities; with tempi = 0, the default, they are drawn at 0 K."""
    restart, read = entries.whole("irest", 0), entries.whole("ntx", 1)
    if restart not in (0, 1) or read not in (1, 5) or (restart == 1 and read == 1):
        control.refused.append(f"irest {restart}, ntx {read}: 0 and 1, 0 and 5, 1 and 5 are known")
        entries.take_all("tempi")  # what it would mean depends on them
    elif read == 5:
        control.set("run", "require_velocities", True)
        entries.tell("velocities are those of the file", "tempi")
    else:
        initial = entries.number("tempi", 0.0)
        control.set("run", "start_temperature", initial)
        if initial == 0:
            control.notes.append(
                "tempi 0: atoms start at rest; tempi = temp0 starts them at that temperature"
            )


def _thermostat(control: Control, entries: Entries) -> None:
    kind = entries.whole("ntt", 0)
    control.set("integrator", "ensemble", "nve" if kind == 0 else "nvt")
    if kind == 3:
        control.set("integrator", "friction", entries.number("gamma_ln", 0.0))
    elif kind in (1, 11):
        control.set("thermostat", "kind", "berendsen" if kind == 1 else "velocity-rescaling")
        control.set("thermostat", "time_constant", entries.number("tautp", 1.0))
    elif kind != 0:
        control.refused.append(
            f"ntt {kind}: only 0, 1 (Berendsen), 3 (Langevin) and 11 (velocity rescaling)"
        )
    entries.tell(
        "no effect without this thermostat",
        *("gamma_ln", "tautp", "vrand", "idistr", "sinrtau", "nkija"),
    )


# Models of igb; 6 is a vacuum.
_MODELS = {0: None, 1: "hct", 2: "obc1", 5: "obc2", 6: None, 7: "gbn", 8: "gbn2"}


def _solvent(control: Control, entries: Entries) -> int | None:
    """Implicit solvent; returns ntb, 0 without a periodic box, None where that is not said."""
    kind = entries.whole("igb", 0)
    assert kind is not None
    periodic = entries.whole("ntb", 0 if kind else None)
    if kind not in _MODELS:
        control.refused.append(f"igb {kind}: only 0, 1, 2, 5, 6, 7 and 8")
    if kind and periodic:
        control.refused.append(f"ntb {periodic} with igb {kind}: only ntb = 0")
    if _MODELS.get(kind) is None:
        entries.tell("no effect without implicit solvent", "gbsa")
        return periodic
    control.set("solvent", "model", _MODELS[kind])
    control.set("solvent", "salt_concentration", entries.number("saltcon"))
    control.set("solvent", "dielectric", entries.number("extdiel"))
    entries.refuse("the dielectric constant of the solute must be 1", "intdiel", unless=is_one)
    entries.refuse("the surface energy by LCPO is not supported", "gbsa")
    entries.tell(
        "Born radii include atoms at any distance, or up to the cutoff if there is one", "rgbmax"
    )
    entries.tell("no effect without a surface energy", "surften")
    return 0


_ALL_PAIRS = 999.0  # A; from here on a cutoff means that there is none


def _no_box(control: Control, entries: Entries) -> None:
    cutoff = entries.number("cut", _ALL_PAIRS)
    assert cutoff is not None
    control.set("system", "box", ())  # ntb = 0, whatever box the files have
    if cutoff >= _ALL_PAIRS:
        control.set("nonbonded", "method", "no-cutoff")
    elif "solvent" in control.settings:
        control.set("nonbonded", "method", "cutoff")
        control.set("nonbonded", "cutoff", cutoff * ANGSTROM)
        control.notes.append(f"cut {cutoff:g}: electrostatic energies are shifted to zero there")
    else:
        control.refused.append(
            f"cut {cutoff:g} without a periodic box and implicit solvent: only without a cutoff, "
            f"{_ALL_PAIRS:g} or more"
        )
    entries.refuse("constant pressure needs a periodic box", "ntp")
    entries.refuse("a dielectric constant", "dielc", unless=is_one)
    entries.refuse("12-6-4 is not supported", "lj1264", "plj1264")
    entries.refuse("a switching function needs a cutoff", "fswitch", unless=is_not_positive)
    entries.tell("no effect without PME", *_OF_PME)
    entries.tell("Quilt sets up the pair lists", *_OF_LISTS)


_OF_LISTS = ("skinnb", "nbflag", "nbtell", "nsnb")
_OF_PME = (
    *("nfft1", "nfft2", "nfft3", "order", "ew_coeff", "dsum_tol", "ew_type", "eedmeth", "netfrc"),
    *("vdwmeth", "taup", "pres0", "comp", "barostat"),
)
_COUPLINGS = {1: "isotropic", 2: "anisotropic", 3: "semi-isotropic"}


def _barostat(control: Control, entries: Entries, periodic: int | None) -> None:
    scaled = entries.whole("ntp", 0)
    wanted = 1 if scaled == 0 else 2
    if periodic is not None and periodic != wanted:
        control.refused.append(f"ntb {periodic}: only ntb = {wanted}")
    if scaled != 0:
        _constant_pressure(control, entries, scaled)
    entries.tell("no effect at constant volume", "barostat", "taup", "pres0", "comp")
    entries.tell("no effect without the Monte Carlo barostat", "mcbarint")
    entries.tell("no effect without csurften", "gamma_ten", "ninterface")
    entries.refuse("only with ntp = 3", "csurften")


def _constant_pressure(control: Control, entries: Entries, scaled: int | None) -> None:
    kind = entries.whole("barostat", 1)
    if scaled not in _COUPLINGS:
        control.refused.append(f"ntp {scaled}: only 0, 1, 2 and 3")
    if kind not in (1, 2):
        control.refused.append(f"barostat {kind}: only 1 (Berendsen) and 2 (Monte Carlo)")
    if control.settings["integrator"]["ensemble"] != "nvt":
        control.refused.append("ntp: constant pressure needs a thermostat, ntt = 3 or 11")
    control.set("integrator", "ensemble", "npt")
    control.set("barostat", "coupling", _COUPLINGS.get(scaled or 0))
    control.set("barostat", "pressure", entries.number("pres0", 1.0))
    compressibility = entries.number("comp", 44.6)
    assert compressibility is not None
    control.set("barostat", "compressibility", (compressibility * 1e-6,))
    if kind == 2:
        control.set("barostat", "kind", "monte-carlo")
        control.set("barostat", "every", entries.whole("mcbarint", 100))
        entries.tell("the Monte Carlo barostat has no time constant", "taup")
    else:
        control.set("barostat", "kind", "berendsen")
        control.set("barostat", "time_constant", entries.number("taup", 1.0))
        control.notes.append("barostat: pressure and scaling are those of hydrogen groups")
    if scaled == 3:
        _surface(control, entries)


def _surface(control: Control, entries: Entries) -> None:
    plane = entries.whole("csurften", 0)
    tension, surfaces = entries.number("gamma_ten", 0.0), entries.whole("ninterface", 2)
    if plane != 3:
        control.refused.append(f"csurften {plane}: with ntp = 3 only 3, surfaces normal to z")
    assert tension is not None
    assert surfaces is not None
    control.set("barostat", "surface_tension", tension * surfaces * _DYN_PER_CM)


def _nonbonded(control: Control, entries: Entries) -> None:
    cutoff = entries.number("cut", 8.0)
    assert cutoff is not None
    control.set("nonbonded", "cutoff", cutoff * ANGSTROM)
    correction = entries.whole("vdwmeth", 1)
    if correction not in (0, 1):
        control.refused.append(f"vdwmeth {correction}: only 0 and 1")
    control.set("nonbonded", "dispersion_correction", correction == 1)
    begins = entries.number("fswitch", -1.0)
    if begins is not None and begins > 0:
        control.set("nonbonded", "switching", "charmm-force")
        control.set("nonbonded", "switch_distance", begins * ANGSTROM)
    take_mesh(entries, _MESH, cutoff)
    if "pme_grid" not in control.settings["nonbonded"]:
        control.notes.append("the PME grid is not given (nfft1, 2, 3): it follows pme_tolerance")
    entries.refuse("12-6-4 is not supported", "lj1264", "plj1264")
    entries.refuse("only PME", "ew_type", "eedmeth", unless=lambda value: value in ("0", "1"))
    entries.refuse("a dielectric constant", "dielc", unless=is_one)
    entries.tell("not needed: forces add up to zero", "netfrc")
    entries.tell("Quilt sets up the pair lists", *_OF_LISTS)


def _output(control: Control, entries: Entries) -> None:
    for keyword, key in (
        ("ntpr", "log_every"),
        ("ntwx", "trajectory_every"),
        ("ntwr", "checkpoint_every"),
    ):
        value = entries.whole(keyword)
        control.set("output", key, None if value is None else abs(value))
    control.settings.setdefault("output", {}).setdefault("trajectory_every", 0)
    entries.tell("[output] sets the formats of files", "ioutfm", "ntxo", "ntrx")
    entries.tell("molecules in the trajectory are whole, with centres in the cell", "iwrap")
    entries.tell("the trajectory has all atoms; [[trajectory]] can select atoms", "ntwprt")
    entries.tell("this output is not written", "ntwe", "ntwv", "ntwf", "ntave", "idecomp")


def _rest(entries: Entries) -> None:
    entries.tell(
        "centre-of-mass motion is removed, except along axes of position restraints",
        "nscm",
    )
    entries.tell("constraints have their own tolerance", "tol")
    entries.tell("waters are identified by their atoms", "watnam", "owtnm", "hwtnm1", "hwtnm2")
    entries.tell("Quilt chooses this", "vlimit", "jfastw", "mdinfo_flush_interval", "t")
    why = "scaling factors are those of the topology, otherwise 1.2 and 2"
    entries.refuse(why, "scee", unless=lambda word: number_of(word) == DEFAULT_SCEE)
    entries.refuse(why, "scnb", unless=lambda word: number_of(word) == DEFAULT_SCNB)
    _refuse_by_name(entries)
    entries.tell("no effect without restraints", "restraint_wt", "restraintmask", "bellymask")


def _refuse_by_name(entries: Entries) -> None:
    """What is not supported in an mdin file, with what a TOML file has for it."""
    toml = "of a TOML file"
    entries.refuse(
        f"forces act in every step: say it as long_range_every in [integrator] {toml}",
        "nrespa",
        unless=is_one,
    )
    entries.refuse(
        f"not supported: say it as electric_field in [system] {toml}", "efx", "efy", "efz"
    )
    entries.refuse("not supported: 'quiltmd exchange' runs replica exchange", "numexchg")
    entries.refuse(f"not supported: hold atoms with [[restraint]] {toml}", "ibelly")
    entries.refuse("not supported: leave it out, and give --hmr", "hmr")
    entries.refuse(f'not supported: say it as [[external]] kind = "plumed" {toml}', "plumed")
    between = f"not supported: say it as [[restraint]] between groups, or [metadynamics], {toml}"
    entries.refuse(between, "infe", "jar")
    entries.tell("no effect without plumed = 1", "plumedfile")
    entries.refuse(
        "not supported",
        *("ifqnt", "ipol", "iamoeba", "iamd", "igamd", "iemap", "isgld", "icnstph", "icnste"),
        *("noshakemask", "therm-par", "middle-scheme", "irism", "ievb", "ilscivr", "ntcx"),
        *("mcwat", "gremd_acyc", "fcap", "ivcap"),
    )
