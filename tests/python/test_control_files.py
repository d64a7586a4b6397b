# SPDX-License-Identifier: Apache-2.0
"""Control files of all kinds: no keyword is ignored, what cannot be done is refused by name."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from control_examples import FILES, MDIN, MDP, NAMD, changed, noted, read, with_line
from hypothesis import given, settings
from hypothesis import strategies as st

from quiltmd.errors import InputError, QuiltError
from quiltmd.inputs.control_files import read_control
from quiltmd.running.config import build_config


def test_electric_fields(tmp_path: Path) -> None:
    """The same field in V/nm, from kcal/(mol A e) and from V/nm."""
    found = read(tmp_path, "in.namd", f"{NAMD}eFieldOn on\neField 0 0.5 -1\neFieldFreq 0\n")
    assert found.refused == []
    volt = 1.602176634e-19 * 6.02214076e23 / 4184 / 10  # kcal/(mol A) on a charge of 1 e by 1 V/nm
    assert found.settings["system"]["electric_field"] == pytest.approx([0, 0.5 / volt, -1 / volt])
    found = read(tmp_path, "in.namd", f"{NAMD}eFieldOn off\neField 0 0.5 -1\n")
    assert "electric_field" not in found.settings["system"]
    assert any("eField 0 0.5 -1: no effect without eFieldOn" in note for note in found.notes)
    with pytest.raises(InputError, match="three numbers for eField"):
        read(tmp_path, "in.namd", f"{NAMD}eFieldOn on\neField 1\n")
    found = read(tmp_path, "md.mdp", f"{MDP}electric-field-z = 0.05 0 0 0\n")
    assert found.refused == []
    assert found.settings["system"]["electric_field"] == [0.0, 0.0, 0.05]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("run.namd", NAMD + "cutoff 7.0\n"),
        ("md.mdp", MDP + "dt = 0.001\n"),
        ("mdin", MDIN.replace("ntx = 5", "ntx = 5, temp0 = 10.0")),
    ],
)
def test_a_keyword_with_two_values_is_refused(tmp_path: Path, kind: str, text: str) -> None:
    assert "has another value: keep one of them" in read(tmp_path, kind, text).refused[0]


def test_a_number_is_one_word(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dt must be a number, not '0.002 0.004'"):
        read(tmp_path, "md.mdp", changed(MDP, "dt = 0.002 0.004\n"))


REFUSED = {
    "namd": {
        "langevinPiston on": "needs langevin or stochRescale",
        "langevin on\nlangevinPiston on\nlangevinPistonTemp 310": "only that of the thermostat",
        "langevin on\nlangevinPiston on\nuseConstantArea on": "only with useFlexibleCell",
        "monteCarloPressure on": "needs langevin or stochRescale",
        "langevin on\nmonteCarloPressure on\nmonteCarloTemp 310": "only that of the thermostat",
        "langevin on\nstochRescale on": "only one thermostat",
        "monteCarloPressure on\nlangevinPiston on": "only one barostat",
        "SurfaceTensionTarget 30": "use surface_tension",
        "constraints on": "consref is missing",
        "constraints on\nconsref a.pdb\nconskfile a.pdb\nconsexp 4": "only 2",
        "constraints on\nconsref a.pdb\nconskfile a.pdb\nconskcol Q": "only X, Y, Z, O",
        "exclude 1-3": "only scaled1-4",
        "1-4scaling 0.5": "E14FAC",
        "PME off": "electrostatics without PME",
        "velocities old.vel": "temperature 300: not beside velocities",
        "binvelocities old.vel": "temperature 300: not beside binvelocities",
        "rigidBonds some": "only none, water and all",
        "nonbondedFreq 2": "other than 1",
        "colvars on": "colvarsConfig is missing",
        "LJPME on": "use lennard_jones",
        "eFieldOn on\neField 0 0 1\neFieldFreq 5": "only a constant field is supported",
        "eFieldOn on\neField 0 0 1\neFieldNormalized on": "only a field in kcal/(mol A e)",
        "firsttimestep 501": "numsteps 500: before firsttimestep 501",
        "run 10\nminimize 10": "a minimisation after a run",
        "minimize 10": "steps after it are those of run",
        "minimization on\nrun 10": "cannot be combined with run and minimize",
        "PMEInterpOrder 6": "only the orders 4 and 5",
        "wrapEverything on": "this keyword is not known here",
        "soluteScaling on": "soluteScaling on: a keyword of NAMD that is not supported here",
        "TMDK 1": "TMDK 1: a keyword of NAMD that is not supported here",
        "SMD on\nSMDVel 1\nSMDk 7": "SMD on: not supported: leave it out, and use [[restraint]]",
        "IMDon yes\nIMDport 3000": "IMDon yes: not supported: leave it out, and use [imd]",
        "plumed on": '[[external]] kind = "plumed"',
        "GBIS on": "use [solvent] of a TOML file",
        "alch on": "use [alchemy] of a TOML file",
        "soluteScalling on": "this keyword is not known here (did you mean soluteScaling?)",
        "langevinDampening 1": "this keyword is not known here (did you mean langevinDamping?)",
    },
    "mdin": {
        "imin=5": "imin 5: 0, dynamics, and 1, minimisation",
        "ntp=4": "only 0, 1, 2 and 3",
        "ntp=1": "only ntb = 2",
        "ntp=1, barostat=3": "only 1 (Berendsen) and 2 (Monte Carlo)",
        "ntp=1, ntt=0": "needs a thermostat",
        "ntp=3, csurften=1": "only 3, surfaces normal to z",
        "csurften=3": "only with ntp = 3",
        "ntt=2": "only 0, 1",
        "igb=3": "only 0, 1, 2, 5, 6, 7 and 8",
        "igb=5, ntb=1": "only ntb = 0",
        "igb=5, gbsa=1": "LCPO",
        "ntr=2": "only 1",
        "ntr=1": "neither restraintmask and restraint_wt nor groups of atoms",
        "ntr=1, restraint_wt=2": "restraintmask is missing",
        "ntr=1, restraintmask=':1-5'": "restraint_wt is missing or 0",
        "ntr=1, restraint_wt=1, restraintmask=':1-5<:3.0'": "':1-5<:3.0' is not understood",
        "ntc=4": "ntc 4: only 1, 2 and 3",
        "lj1264=1": "12-6-4",
        "vdwmeth=2": "only 0 and 1",
        "ntf=3": "only 1 or ntf = ntc",
        "nmropt=2": "only 0 and 1",
        "nrespa=2": "forces act in every step: say it as long_range_every in [integrator]",
        "icfe=1": "icfe 1: timask1 and timask2 are missing",
        "icfe=1, gti_lam_sch=1": "gti_lam_sch 1: the options of GPU-accelerated TI",
        "efz=0.1": "say it as electric_field in [system]",
        "numexchg=10": "'quiltmd exchange'",
        "ibelly=1": "hold atoms with [[restraint]]",
        "plumed=1, plumedfile='p.dat'": 'say it as [[external]] kind = "plumed" of a TOML file',
        "jar=1": "say it as [[restraint]] between groups, or [metadynamics], of a TOML file",
        "scee=1.0": "scaling factors are those of the topology, otherwise 1.2 and 2",
        "scnb=1.0": "factors are those of the topology",
        "nunknown=4": "this keyword is not known here",
        "gamma_in=1.0": "this keyword is not known here (did you mean gamma_ln?)",
    },
    "mdp": {
        "pcoupl = MTTK": "constant pressure",
        "pcoupl = C-rescale\npcoupltype = hexagonal": "pcoupltype hexagonal: only isotropic",
        "tcoupl = andersen": "only v-rescale, nose-hoover",
        "tau-t = -1 -1": "only a bath that acts",
        "tcoupl = no\nannealing = single": "needs a thermostat",
        "integrator = bd": "only md, md-vv, sd",
        "constraints = h-angles": "only none, h-bonds and all-bonds",
        "vdwtype = user": "vdwtype user: only cut-off, switch, shift and PME",
        "vdwtype = PME": "vdwtype PME goes with none and Potential-shift",
        "coulombtype = P3M-AD": "only PME, reaction-field and cut-off",
        "vdw-modifier = exact-cutoff": "exact-cutoff is not known",
        "rvdw = 0.9": "both must be the same",
        "vdwtype = cut-off\nvdw-type = shift": "has another value: keep one of them",
        "rvdw-switch = 0": "Potential-switch: needs rvdw-switch, above 0".lower(),
        "ref-t = 300 310 320": "2 groups, with 3 values of ref-t and 2 of tau-t",
        "free-energy = yes": "free-energy without lambdas",
        "freezegrps = Protein\nfreezedim = Y Y Y": "a TOML file has [[restraint]] for positions",
        "pull = yes\npull_ncoords = 1\npull-coord1-k = 1000": "pull yes: not read from mdp files",
        "awh = yes\nawh1-dim1-coord-index = 1": "a TOML file has [metadynamics]",
        "mts = yes": "a TOML file has long_range_every in",
        "refcoord-scaling = most": "only no, all and com",
        "mystery = 4": "this keyword is not known here",
        "rcolumb = 1": "this keyword is not known here (did you mean rcoulomb?)",
    },
}
# Of temperature and pressure, as the manuals have them, each with a value that is not its default.
OF_BATHS = {
    "namd": """langevinTemp 310, langevinDamping 2, langevinHydrogen off, langevinFile a.pdb,
        langevinCol O, langevinBAOAB on, tCouple on, tCoupleTemp 310, tCoupleFile a.pdb,
        tCoupleCol O, rescaleFreq 10, rescaleTemp 310, reassignFreq 10, reassignTemp 310,
        reassignIncr 1, reassignHold 320, loweAndersen on, loweAndersenTemp 310,
        loweAndersenCutoff 3, loweAndersenRate 40, stochRescaleTemp 310, stochRescalePeriod 2,
        stochRescaleFreq 10, stochRescaleHeat on, useGroupPressure yes, useFlexibleCell yes,
        useConstantRatio yes, useConstantArea yes, BerendsenPressureTarget 2,
        BerendsenPressureCompressibility 1e-5, BerendsenPressureRelaxationTime 50,
        BerendsenPressureFreq 8, langevinPistonTarget 2, langevinPistonPeriod 50,
        langevinPistonDecay 25, langevinPistonTemp 310, langevinPistonBarrier off,
        monteCarloPressureTarget 2, monteCarloTemp 310, monteCarloPressureFreq 8,
        SurfaceTensionTarget 3, StrainRate 1, excludeFromPressure on, multigrator on""",
    "mdin": """temp0 280, tempi 3, tautp 2, gamma_ln 3, vrand 100, vlimit 10, ig 5, idistr 1,
        sinrtau 2, nkija 2, therm_par 1, middle_scheme 1, barostat 2, mcbarint 50, pres0 2,
        comp 40, taup 2, csurften 3, gamma_ten 10, ninterface 3""",
    "mdp": """nsttcouple 5, nh-chain-length 3, print-nose-hoover-chain-variables yes,
        tc-grps System, tau-t 2, ref-t 310, nstpcouple 5, pcoupltype anisotropic, tau-p 3,
        compressibility 1e-5, ref-p 2, refcoord-scaling all, annealing-npoints 1, annealing-time 0,
        annealing-temp 5, ensemble-temperature-setting constant, ensemble-temperature 300,
        gen-temp 5""",
}


@pytest.mark.parametrize("kind", OF_BATHS)
def test_settings_of_baths_are_known(kind: str, tmp_path: Path) -> None:
    """Each by itself: it changes settings, is noted, or is refused with a reason."""
    plain = read(tmp_path, f"control.{kind}", with_line(kind))
    pattern = {"namd": "{} {}", "mdin": "{} = {},", "mdp": "{} = {}"}[kind]
    for setting in OF_BATHS[kind].split(","):
        line = pattern.format(*setting.split())
        found = read(tmp_path, f"control.{kind}", with_line(kind, line))
        assert not any("not known" in why for why in found.refused), setting
        assert found != plain, setting


@pytest.mark.parametrize(
    ("kind", "line"), [(kind, line) for kind, lines in REFUSED.items() for line in lines]
)
def test_what_cannot_be_done_is_named(kind: str, line: str, tmp_path: Path) -> None:
    found = read(tmp_path, f"control.{kind}", with_line(kind, line))
    assert any(REFUSED[kind][line] in refused for refused in found.refused)


def test_options_of_a_refused_feature_are_no_refusals(tmp_path: Path) -> None:
    more = "pull = yes\npull_ncoords = 1\npull-coord1-k = 1000\n"
    found = read(tmp_path, "md.mdp", with_line("mdp", more))
    assert len(found.refused) == 1
    assert any("pull_ncoords 1, pull-coord1-k 1000: no effect" in note for note in found.notes)


BROKEN = {
    "vector": ("namd", NAMD + "cellBasisVector1 30 0\n", "must be three vectors"),
    "turned": (
        "namd",
        NAMD.replace("108.8612 0.0 0.0", "0.0 108.8612 0.0", 1).replace(
            "cellBasisVector2     0.0 108.8612 0.0", "cellBasisVector2 108.8612 0.0 0.0"
        ),
        "cellBasisVector1 must be along x",
    ),
    "left-handed": ("namd", NAMD.replace("77.758", "-77.758"), "z > 0 of the third"),
    "negative cutoff": ("namd", NAMD.replace("cutoff\t12", "cutoff -12"), "cutoff of -12 .*sense"),
    "tolerance": ("namd", NAMD + "PMETolerance 2\n", "PME tolerance of 2 make no sense"),
    "run": ("namd", NAMD + "run for\n", "run must be a number, not 'for'"),
    "half a run": ("namd", NAMD + "run 100\nrun -0.5\n", "run must be a number of steps"),
    "underscore": ("namd", NAMD + "timestep 1_0\n", "timestep must be a number"),
    "no cutoff": ("mdin", MDIN.replace("cut = 9.0", "cut = 0"), "cutoff of 0 .*make no sense"),
    "tcl": ("namd", NAMD + "while {1} {\n", r"Tcl \('while \{1\} \{'\) is not supported"),
    "variable": ("namd", NAMD + "outputname $other\n", "the variable other is not set"),
    "number": ("namd", NAMD + "timestep fast\n", "timestep must be a number, not 'fast'"),
    "switch": ("namd", NAMD + "PME maybe\n", "PME must be on or off, not 'maybe'"),
    "cell": ("namd", NAMD.replace("0.0 0.0 77.758", "0 0 0"), "three vectors that span a volume"),
    "cutoff": ("namd", NAMD.replace("cutoff\t12", ""), "the keyword cutoff is missing"),
    "namelist": ("mdin", MDIN + " &qmmm qmcharge=0 /\n", "line 11: the namelist &qmmm is not supp"),
    "no end": (
        "mdin",
        MDIN + " &wt type='END'\n",
        "line 11: the namelist &wt has no end: / or &end",
    ),
    "rest": ("mdin", MDIN + " &wt 5 6 /\n", "line 11: '5 6' in &wt is not understood"),
    "pair": ("mdin", MDIN.replace("cut = 9.0", "cut 9.0"), "is not understood|must be a"),
    "whole": ("mdin", MDIN.replace("ntc=2", "ntc=2.5"), "ntc must be a whole number"),
    "option": ("mdp", MDP + "nsteps 300\n", "expected 'option = value', found 'nsteps 300'"),
    "no name": ("mdp", MDP + "= 300\n", "expected 'option = value', found '= 300'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, tmp_path: Path) -> None:
    kind, text, words = BROKEN[name]
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, f"control.{kind}", text)
    assert str(caught.value).startswith(str(tmp_path))


SCRIPT = "units lj\natom_style atomic\nrun 10\nfix 1 all nve\n"
MANY = {
    "namd": (
        NAMD.replace("cutoff\t12", "")
        + "timestep fast\nPME maybe\nforeach y {1 2} {\nputs $y\n}\nfrob 1\nblah $z\nrun half\n",
        "the keyword cutoff is missing|timestep must be a number, not 'fast'|PME must be on or off"
        "|Tcl .'foreach y .1 2. .'. is not supported|frob 1: this keyword is not known"
        "|the variable z is not set|run must be a number, not 'half'",
    ),
    "mdp": (
        changed(MDP, "dt = x\n") + "frob\nnsteps = 1.5\nzork = 1\nblah = 2\n",
        "expected 'option = value', found 'frob'|dt must be a number|nsteps must be a whole number"
        "|zork 1: this keyword is not known|blah 2: this keyword is not known",
    ),
    "mdin": (
        MDIN.replace("ntc=2", "ntc=2.5, frob=1, zork=2") + " &qmmm qmcharge=0 /\n &ewuld a=1 /\n",
        "ntc must be a whole number|frob 1: this keyword|zork 2: this keyword|namelist &qmmm is not"
        "|namelist &ewuld is not",
    ),
    "lammps": (
        SCRIPT + "frob 1\nzork 2\nfix 2 all frobfix\ntimestep fast\n",
        "frob 1: this command is not|zork 2: this command is not|fix 2 all frobfix: only the styles"
        "|timestep fast: expected a number",
    ),
    "lammps loops": (
        SCRIPT + "if 1 then x\nvariable a loop 3\njump SELF\n",
        "if: loops and|variable a loop 3: |jump: loops and",
    ),
}


@pytest.mark.parametrize("kind", MANY)
def test_all_that_is_wrong_is_told_at_once(kind: str, tmp_path: Path) -> None:
    text, words = MANY[kind]
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"control.{kind}", text)
    for word in words.split("|"):
        assert re.search(word, str(caught.value)), word
    assert "\n" not in str(caught.value)


def test_a_long_list_of_faults_is_cut(tmp_path: Path) -> None:
    script = "".join(f"foreach y{k} {{1}} {{\n}}\n" for k in range(50))
    with pytest.raises(InputError, match=r"y19 .*; and 30 more$"):
        read(tmp_path, "control.namd", NAMD + script)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["namd", "mdin", "mdp"]),
    word=st.from_regex(r"[a-z]{3,10}qz", fullmatch=True),
    value=st.sampled_from(["1", "on", "2.5"]),
)
def test_no_keyword_is_ignored(
    kind: str, word: str, value: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A keyword that nobody knows is refused by name, whatever it is."""
    line = {"namd": f"{word} {value}", "mdin": f"{word}={value}", "mdp": f"{word} = {value}"}[kind]
    found = read(tmp_path_factory.mktemp("fuzz"), "control", with_line(kind, line))
    assert len(found.refused) == 1
    assert word in found.refused[0]


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["namd", "mdin", "mdp"]), number=st.integers(0, 60))
def test_every_keyword_is_taken_noted_or_refused(
    kind: str, number: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """To leave out any keyword changes settings, notes, or is an error."""
    folder = tmp_path_factory.mktemp("fuzz")
    lines = with_line(kind).splitlines(keepends=True)
    candidates = [
        k for k, line in enumerate(lines) if "=" in line or (kind == "namd" and line.split())
    ]
    at = candidates[number % len(candidates)]
    whole = read(folder, "control", "".join(lines))
    try:
        less = read(folder, "control", "".join(lines[:at] + lines[at + 1 :]))
    except InputError:
        return
    # Of these the values above are the program's defaults.
    defaults = (
        *("switching", "exclude", "1-4scaling", "langevinPiston", "timestep"),
        *("cutoff-scheme", "pcoupl", "gen-vel", "pull", "integrator"),
    )
    if not lines[at].lstrip().startswith(("#", *defaults)):
        assert (less.settings, less.notes, less.refused) != (
            whole.settings,
            whole.notes,
            whole.refused,
        )


def test_other_files_are_no_control_files(tmp_path: Path) -> None:
    for text in ("[system]\ntopology = 'x'\n", "hello\n"):
        (tmp_path / "file").write_text(text)
        assert read_control(tmp_path / "file") is None


def test_refusals_are_one_line(tmp_path: Path) -> None:
    from quiltmd.commands.run import _settings_of

    (tmp_path / "bad.namd").write_text(NAMD + "fixedAtoms on\nwrapEverything 1\n")
    with warnings.catch_warnings(), pytest.raises(QuiltError) as caught:
        _settings_of(tmp_path / "bad.namd")
    assert "\n" not in str(caught.value)
    assert "fixedAtoms on: not supported: leave it out" in str(caught.value)


def test_a_grid_of_pme_is_whole(tmp_path: Path) -> None:
    """Of three numbers; what is said of PME without a grid is noted."""
    for name, text, key in (
        ("run.namd", re.sub("PMEGridSize[YZ].*\n", "", NAMD), "PMEGridSizeX 108"),
        ("mdin", MDIN.replace(" nfft2=60, nfft3=48,", ""), "nfft1 64"),
    ):
        (refused,) = read(tmp_path, name, text).refused
        assert f", {key}: " in refused
        assert refused.endswith("belong together: give all or none")
    namd = re.sub("PMEGridSize.*\n", "", NAMD)
    found = read(tmp_path, "run.namd", f"{namd}PMEInterpOrder 6\n")
    assert found.refused == []
    assert "pme_order" not in found.settings["nonbonded"]
    assert noted(found, "PMEInterpOrder 6: without a grid the order follows from pme_tolerance")
    found = read(tmp_path, "run.namd", f"{namd}PMETolerance 1e-7\nPMEInterpOrder 5\n")
    assert noted(found, "PMETolerance 1e-7: without PMEGridSizeX and so on the grid and the")
    assert found.settings["nonbonded"]["pme_order"] == 5
    mdin = MDIN.replace("nfft1=64, nfft2=60, nfft3=48,", "dsum_tol=1e-6, ew_coeff=0.3,")
    found = read(tmp_path, "mdin", mdin)
    assert noted(found, "ew_coeff 0.3, dsum_tol 1e-6: without nfft1")
    assert "pme_alpha" not in found.settings["nonbonded"]
    (refused,) = read(tmp_path, "mdin", MDIN.replace("order=4", "order=6")).refused
    assert "order 6: only the orders 4 and 5" in refused
    both = MDIN.replace("order=4", "order=4, ew_coeff=0.3, dsum_tol=1e-6")
    found = read(tmp_path, "mdin", both)
    assert found.settings["nonbonded"]["pme_alpha"] == pytest.approx(3.0)
    assert noted(found, "dsum_tol 1e-6: replaced")


def test_minimisations_of_control_files(tmp_path: Path) -> None:
    """How long they may go on is taken over."""
    found = read(tmp_path, "mdin", with_line("mdin", "imin=1, maxcyc=5000, ncyc=50,"))
    assert found.settings["run"] == {"steps": 0, "minimize": True, "minimize_iterations": 5000}
    assert noted(
        found, "ncyc 50: minimisations are by L-BFGS", "nstlim 1000, irest 1, ntx 5, tempi"
    )
    for steps, iterations in ((300, 300), (-1, 2**31 - 1)):
        found = read(
            tmp_path, "md.mdp", changed(MDP, f"integrator = steep\nnsteps = {steps}\nemtol = 50\n")
        )
        assert found.settings["run"] == {
            "steps": 0,
            "minimize": True,
            "minimize_iterations": iterations,
            "minimize_tolerance": 50.0,
        }
        assert build_config(found.settings | FILES).run.minimize_tolerance == 50
    found = read(tmp_path, "md.mdp", changed(MDP, "integrator = md\nemtol = 50\n"))
    assert noted(found, "emtol 50: no effect without a minimisation")
