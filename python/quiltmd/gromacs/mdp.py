# SPDX-License-Identifier: Apache-2.0
"""GROMACS' mdp options as settings of a run here.

Topology and coordinates are named beside it, as for grompp.

Source: GROMACS User Guide, "Molecular dynamics parameters (.mdp options)".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..description.checks import LAST_STEP
from ..outputs.formats import FINAL
from ..reading.entries import Control, Entries, Entry, is_off
from ..reading.fixed_width import read_bytes
from .mdp_coupling import take_coupling
from .mdp_free_energy import take_free_energy
from .mdp_groups import Index
from .mdp_words import choice

_OLD_NAMES = {  # and what they are called now
    "nstxtcout": "nstxout-compressed",
    "xtc-precision": "compressed-x-precision",
    "xtc-grps": "compressed-x-grps",
    "unconstrained-start": "continuation",
}
_UNLIMITED = 2**31 - 1  # iterations, of -1
_OUTPUT = "this output is not written"
_LOG_EVERY = 1000  # steps, the default of both
# Options that grompp writes to mdout.mdp for inactive features; the options that activate them are
# refused.
_OF_REFUSED = (
    *("table-extension", "rtpi", "simulation-part"),
    *("nh-chain-length", "print-nose-hoover-chain-variables", "wall-type", "wall-r-linpot"),
    *("wall-atomtype", "wall-density", "wall-ewald-zfac"),
    *("disre-weighting", "disre-mixed", "disre-fc", "disre-tau", "nstdisreout", "orire-fc"),
    *("orire-tau", "orire-fitgrp", "nstorireout", "simulated-tempering-scaling"),
    *(
        "gb-algorithm",
        "nstgbradii",
        "rgbradii",
        "gb-epsilon-solvent",
        "gb-saltconc",
        "gb-obc-alpha",
    ),
    *("gb-obc-beta", "gb-obc-gamma", "gb-dielectric-offset", "sa-algorithm", "sa-surface-tension"),
    *("QMMM-grps", "QMmethod", "QMMMscheme", "QMbasis", "QMcharge", "QMmult", "SH", "CASorbitals"),
    *("CASelectrons", "SAon", "SAoff", "SAsteps", "MMChargeScaleFactor", "bOPT", "bTS"),
    *("sim-temp-low", "sim-temp-high", "mts-levels", "mts-level2-forces", "mts-level2-factor"),
)
_MODULES = ("qmmm-cp2k", "colvars", "nnpot", "density-guided-simulation")  # each with many options
# Options that are refused, and what a configuration has for them; with pull and awh begin the names
# of many more.
_IN_TOML = {
    "pull": "[[restraint]] between groups, whose reference values may move",
    "awh": "[metadynamics] with [[restraint]]",
    "freezegrps": "[[restraint]] for positions",
    "disre": '[[restraint]] kind = "distance"',
    "implicit-solvent": "[solvent]",
    "mts": "long_range_every in [integrator]",
    "simulated-tempering": "[exchange] and 'quiltmd exchange'",
    "IMD-group": "[imd]",
}


def is_mdp(head: bytes) -> bool:
    """Whether a file that begins so has mdp options."""
    names = rb"integrator|nsteps|dt|coulombtype|rcoulomb|rvdw|nstlist|cutoff[-_]scheme|tcoupl"
    found = re.findall(rb"(?mi)^\s*(" + names + rb")\s*=", head)
    return len({word.lower() for word in found}) >= 2


def read_mdp(file: str, index: Index | None = None) -> Control:
    """The settings of an mdp file; see `Control`.  `index`: groups of an index file."""
    control = Control(file)
    entries = Entries(control, _options(control), _OLD_NAMES)
    _dynamics(control, entries, index)
    _nonbonded(control, entries)
    _system(control, entries)
    _electric_field(control, entries)
    take_free_energy(control, entries)
    _output(control, entries)
    _rest(entries)
    entries.finish()
    return control


def _options(control: Control) -> list[Entry]:
    found = []
    for number, raw in enumerate(read_bytes(control.file).decode("latin-1").split("\n"), start=1):
        line = raw.split(";", 1)[0].strip()
        if not line:
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            control.fault(f"expected 'option = value', found '{line}'", number)
        elif value.strip():  # an empty value is the default
            found.append(Entry(name.strip(), value.strip(), number))
    return found


def _dynamics(control: Control, entries: Entries, index: Index | None) -> None:
    kind = choice(entries, "integrator", "md")
    control.set("integrator", "timestep", entries.number("dt", 0.001))
    steps = entries.whole("nsteps", 0)
    control.set("run", "steps", steps)
    if kind in ("steep", "cg", "l-bfgs"):
        control.set("run", "minimize", True)
        control.set("run", "minimize_iterations", _UNLIMITED if steps == -1 else steps)
        control.set("run", "minimize_tolerance", entries.number("emtol", 10.0))
        control.set("run", "steps", 0)
        entries.tell("minimisations are by L-BFGS", "emstep", "nstcgsteep", "nbfgscorr")
    elif kind not in ("md", "md-vv", "sd"):
        control.refused.append(f"integrator {kind}: only md, md-vv, sd and minimisations")
    elif steps == -1:
        control.refused.append("nsteps -1: dynamics need a number of steps")
    elif kind == "md":
        control.notes.append("integrator md: velocity Verlet replaces leap-frog")
    entries.tell(
        "no effect without a minimisation",
        *("emtol", "emstep", "nstcgsteep", "niter", "fcstep", "nbfgscorr"),
    )
    take_coupling(control, entries, kind, index)
    _velocities(control, entries)
    _first_step(control, entries)


def _first_step(control: Control, entries: Entries) -> None:
    """Steps here count from time 0, so that tinit is a number of steps, too."""
    step, time = entries.whole("init-step", 0) or 0, entries.number("tinit", 0.0) or 0.0
    before = time / (control.settings["integrator"]["timestep"] or 1.0)
    if not 0 <= before <= LAST_STEP or abs(before - round(before)) > 1e-3:
        control.refused.append(f"tinit {time:g}: only a whole number of steps of dt after time 0")
        return
    if time:
        control.notes.append(
            f"tinit {time:g}: the first step is {step + round(before)}, as steps count from time 0"
        )
    control.set("run", "first_step", step + round(before) or None)


def _velocities(control: Control, entries: Entries) -> None:
    """Initial velocities, and the random seed: that of the velocities, if they are drawn."""
    if not entries.switch("gen-vel"):
        entries.tell("no effect without gen-vel", "gen-temp", "gen-seed")
        if "minimize" not in control.settings["run"]:
            control.notes.append(
                "gen-vel no: velocities are those of the coordinates; if there are none, they "
                "are drawn at the temperature of the bath"
            )
    else:
        control.set("run", "start_temperature", entries.number("gen-temp", 300.0))
    one = "one seed for velocities and noise: gen-seed is used"
    seed = _chosen(entries, one, lambda value: value >= 0, "gen-seed", "ld-seed")
    control.set("integrator", "seed", seed)


def _chosen(entries: Entries, why: str, counts: Callable[[int], bool], *names: str) -> int | None:
    """The value of the first keyword that has one that counts; others are noted."""
    chosen: int | None = None
    for name in names:
        found = entries.peek(name)
        value = entries.whole(name)
        if value is None or not counts(value):
            continue
        if chosen is None:
            chosen = value
        elif value != chosen:
            entries.note(why, found[-1])
    return chosen


_SWITCHES = {"potential-switch": "potential", "force-switch": "gromacs-force"}
# Values of vdwtype that grompp replaces by a cutoff with a modifier.
_SWITCHED_TYPES = {"switch": "potential-switch", "shift": "force-switch"}
_SCALINGS = {"no": "none", "all": "all", "com": "com"}


def _nonbonded(control: Control, entries: Entries) -> None:
    electrostatics = choice(entries, "coulombtype", "cut-off")
    coulomb = entries.number("rcoulomb", 1.0)
    _electrostatics(control, entries, electrostatics)
    cutoff = entries.number("rvdw", 1.0)
    vdw_type = choice(entries, "vdwtype", "cut-off")
    switched = _SWITCHED_TYPES.get(vdw_type, "")
    vdw_type = "cut-off" if switched else vdw_type
    _lennard_jones(control, entries, vdw_type, electrostatics)
    if coulomb != cutoff:
        control.refused.append(f"rcoulomb {coulomb:g}, rvdw {cutoff:g}: both must be the same")
    control.set("nonbonded", "cutoff", cutoff)
    _modifiers(control, entries, electrostatics, vdw_type, switched)
    correction = choice(entries, "DispCorr", "no")
    control.set("nonbonded", "dispersion_correction", correction != "no")
    if correction not in ("no", "enerpres", "allenerpres"):
        control.refused.append(f"DispCorr {correction}: only no, EnerPres and AllEnerPres")
    if correction == "enerpres":
        control.notes.append(
            "DispCorr EnerPres: read as AllEnerPres, which includes the repulsion beyond the cutoff"
        )
    entries.refuse("only xyz", "pbc", unless=lambda value: value == "xyz")
    entries.tell(
        "Quilt sets up the pair lists",
        *("nstlist", "rlist", "verlet-buffer-tolerance", "ns-type", "rlistlong", "optimize-fft"),
        *("verlet-buffer-pressure-tolerance", "nstcalclr", "fourier-spacing"),
    )
    entries.refuse("only Verlet", "cutoff-scheme", unless=lambda value: value == "verlet")


def _lennard_jones(control: Control, entries: Entries, kind: str, electrostatics: str) -> None:
    """A cutoff, or PME, of which lj-pme-comb-rule says how C6 coefficients are combined."""
    of_pme = ("ewald-rtol-lj", "lj-pme-comb-rule")
    if kind != "pme":
        if kind != "cut-off":
            control.refused.append(f"vdwtype {kind}: only cut-off, switch, shift and PME")
        entries.tell("no effect without vdwtype = PME", *of_pme)
        return
    if electrostatics != "pme":
        control.refused.append(f"vdwtype PME with coulombtype {electrostatics}: only with PME")
    rule = choice(entries, "lj-pme-comb-rule", "geometric")
    if rule != "geometric":
        control.refused.append(f"lj-pme-comb-rule {rule}: only Geometric")
    control.set("nonbonded", "lennard_jones", "pme")
    control.set("nonbonded", "lj_pme_tolerance", entries.number("ewald-rtol-lj", 1e-3))


def _electrostatics(control: Control, entries: Entries, kind: str) -> None:
    """PME, or a reaction field: a plain cutoff is one of the same medium, as in GROMACS."""
    of_pme = ("pme-order", "fourierspacing", "fourier-nx", "fourier-ny", "fourier-nz", "ewald-rtol")
    stated, within = entries.peek("epsilon-r"), entries.number("epsilon-r", 1.0) or 0.0
    if kind != "pme":
        beyond = entries.number("epsilon-rf", 0.0) or 0.0
        if kind == "reaction-field" and beyond == 1 != within:  # an older meaning of both
            within, beyond = beyond, within
            entries.note("epsilon-rf 1: the two dielectric constants are exchanged", *stated)
        if kind not in ("reaction-field", "cut-off"):
            control.refused.append(f"coulombtype {kind}: only PME, reaction-field and cut-off")
        control.set("nonbonded", "method", "reaction-field")
        control.set("nonbonded", "dielectric", beyond if kind == "reaction-field" else within)
        control.set("nonbonded", "relative_permittivity", within if within != 1 else None)
        entries.tell(f"coulombtype {kind} has no PME", *of_pme, "epsilon-surface", "ewald-geometry")
        return
    control.set("nonbonded", "relative_permittivity", within if within != 1 else None)
    control.set("nonbonded", "method", "pme")
    entries.tell("there is no reaction field", "epsilon-rf")
    stated, order = entries.peek("pme-order"), entries.whole("pme-order", 4)
    if order in (4, 5):
        control.set("nonbonded", "pme_order", order)
    else:
        entries.note("the order follows from pme_tolerance, too", *stated)
    entries.tell("the PME grid follows from pme_tolerance", *of_pme[1:])
    entries.refuse("only 0, a conductor", "epsilon-surface")
    entries.refuse("only 3d", "ewald-geometry", unless=lambda value: value == "3d")


def _modifiers(
    control: Control, entries: Entries, electrostatics: str, vdw_type: str, switched: str
) -> None:
    """Modifiers of interactions at the cutoff; `switched`: the modifier for vdwtype."""
    vdw = choice(entries, "vdw-modifier", "potential-shift")
    vdw = switched or vdw
    coulomb = choice(entries, "coulomb-modifier", "potential-shift")
    entries.tell("no effect: Coulomb interactions are not switched", "rcoulomb-switch")
    if vdw_type == "pme" and vdw in _SWITCHES:
        control.refused.append(
            f"vdw-modifier {vdw}: vdwtype PME goes with none and Potential-shift"
        )
    elif vdw_type == "pme" and vdw == "none":
        control.notes.append(
            "vdw-modifier none: with vdwtype PME Lennard-Jones energies are zero at the cutoff "
            "nevertheless, forces are the same"
        )
    elif vdw in _SWITCHES:
        begins = entries.number("rvdw-switch", 0.0)
        if not begins:
            control.refused.append(f"vdw-modifier {vdw}: needs rvdw-switch, above 0")
        control.set("nonbonded", "switching", _SWITCHES[vdw])
        control.set("nonbonded", "switch_distance", begins)
    elif vdw not in ("none", "potential-shift"):
        control.refused.append(f"vdw-modifier {vdw} is not known")
    if coulomb not in ("none", "potential-shift"):
        control.refused.append(f"coulomb-modifier {coulomb}: only none and Potential-shift")
    elif electrostatics == "cut-off" and coulomb == vdw == "none":
        control.set("nonbonded", "method", "cutoff")
        del control.settings["nonbonded"]["dielectric"]
    elif electrostatics == "cut-off" and coulomb == "none":
        control.notes.append(
            "coulomb-modifier none: energies of charges are zero at the cutoff nevertheless, "
            "forces are the same"
        )
    elif electrostatics == "pme" and vdw in ("none", "potential-shift") and vdw != coulomb:
        control.notes.append(
            f"vdw-modifier {vdw}, coulomb-modifier {coulomb}: energies are shifted as {vdw} says, "
            "forces are the same"
        )
    elif electrostatics == "pme" and vdw in _SWITCHES and coulomb != "none":
        control.notes.append(
            f"coulomb-modifier {coulomb}: beside vdw-modifier {vdw} energies of charges are not "
            "shifted, forces are the same"
        )
    entries.tell("no effect without a switching vdw-modifier", "rvdw-switch")
    control.set("nonbonded", "potential_shift", vdw == "potential-shift")


def _system(control: Control, entries: Entries) -> None:
    constraints = choice(entries, "constraints", "none")
    known = constraints in ("none", "h-bonds", "all-bonds")
    if not known:
        control.refused.append(f"constraints {constraints}: only none, h-bonds and all-bonds")
    control.set("system", "constraints", constraints if known else "none")
    control.set("system", "rigid_water", False)
    entries.tell(
        "waters are rigid where the topology has [ settles ]; other constraints use SHAKE, or a "
        "matrix in groups of more than 8 atoms",
        *("constraint-algorithm", "lincs-order", "lincs-iter", "lincs-warnangle", "shake-tol"),
        *("Shake-SOR", "continuation"),
    )
    entries.refuse("bonds are those of the topology; Morse bonds have function type 3", "morse")
    _defines(control, entries)
    entries.refuse("-I in include", "include")
    scaling = entries.text("refcoord-scaling", "no")
    if scaling not in _SCALINGS:
        control.refused.append(f"refcoord-scaling {scaling}: only no, all and com")
    control.set("system", "reference_scaling", _SCALINGS.get(scaling))
    stated = entries.peek("mass-repartition-factor")
    factor = entries.number("mass-repartition-factor", 1.0)
    if factor is not None and factor != 1:
        control.set("system", "hmr", True)
        entries.note("hydrogens weigh 3.024 amu, but not those of water", *stated)
        if factor != 3:
            control.refused.append(f"mass-repartition-factor {factor:g}: only 3")
    entries.tell(
        "centre-of-mass motion of all atoms is removed, except along axes of position restraints",
        *("nstcomm", "comm-grps"),
    )
    entries.refuse("only linear", "comm-mode", unless=lambda value: value == "linear")


def _defines(control: Control, entries: Entries) -> None:
    define = entries.take("define")
    words = [] if define is None else define.value.split()
    if define is not None and not all(word.startswith("-D") for word in words):
        entries.reject(define, "only -DNAME and -DNAME=VALUE")
    elif words:
        control.set("system", "defines", [word.removeprefix("-D") for word in words])
    if define is not None and "POSRES" in define.value:
        entries.note(
            "atoms are restrained to the positions in `reference` (--reference, grompp's -r), by "
            "default those of the coordinates",
            define,
        )


def _electric_field(control: Control, entries: Entries) -> None:
    """A constant field, V/nm; further numbers are frequency, time and width of a pulse."""
    field = []
    for axis in "xyz":
        name = f"electric-field-{axis}"
        values = entries.numbers(name) or [0.0]
        if any(values[1:]):
            words = " ".join(f"{value:g}" for value in values)
            control.refused.append(f"{name} {words}: only a constant field is supported")
        field.append(values[0])
    if any(field):
        control.set("system", "electric_field", field)


def _output(control: Control, entries: Entries) -> None:
    one, wanted = "one log of energies: nstenergy is used", bool
    never = all(entries.has(name) for name in ("nstenergy", "nstlog"))
    often = _chosen(entries, one, wanted, "nstenergy", "nstlog")
    control.set("output", "log_every", often or (0 if never else _LOG_EVERY))
    one = "one trajectory: nstxout-compressed is used"
    frames = _chosen(entries, one, wanted, "nstxout-compressed", "nstxout")
    control.set("output", "trajectory_every", frames or 0)
    control.set("output", "final", [*FINAL, "gro"])
    entries.tell("energies are those of logged steps", "nstcalcenergy")
    entries.tell(
        "the trajectory has all atoms; [[trajectory]] can select atoms", "compressed-x-grps"
    )
    unwritten = ("nstvout", "nstfout", "compressed-x-precision", "energygrps")
    stated = [entry for name in unwritten for entry in entries.take_all(name)]
    entries.note(_OUTPUT, *(entry for entry in stated if not is_off(entry.value)))


def _rest(entries: Entries) -> None:
    users = [f"{kind}{number}" for kind in ("userint", "userreal") for number in range(1, 5)]
    entries.tell("no effect", "title", "cpp", *users)
    entries.refuse("not supported", *(f"{module}-active" for module in _MODULES))
    for name, place in _IN_TOML.items():
        entries.refuse(f"not read from mdp files: a TOML file has {place}", name)
    of_modules = [name for module in _MODULES for name in entries.names(f"{module}-")]
    of_others = [*entries.names("pull"), *entries.names("awh"), "freezedim"]
    inactive = (*_OF_REFUSED, *of_modules, *of_others)
    entries.tell("no effect without the features to which they belong", *inactive)
    entries.refuse(
        "not supported",
        *("rotation", "orire", "QMMM", "swapcoords", "adress", "acc-grps", "accelerate"),
        *("periodic-molecules", "cos-acceleration", "deform", "nwall", "energygrp-excl"),
        *("energygrp-table", "E-x", "E-y", "E-z", "bd-fric", "user1-grps", "lambda-dynamics"),
        "deform-init-flow",
    )
