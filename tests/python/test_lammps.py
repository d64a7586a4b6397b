# SPDX-License-Identifier: Apache-2.0
"""LAMMPS input scripts and data files: systems, settings of runs, refusals, damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from damage import fuzz
from lammps_figures import METALS, crystal, potential, types
from typer.testing import CliRunner

import quiltmd
from quiltmd import InputError, Nonbonded, Simulation, State, System
from quiltmd.commands.cli import app
from quiltmd.inputs import describe
from quiltmd.inputs.control_files import is_control, read_control

# The benchmark of LAMMPS with a smaller box; its energy per atom at the start is -6.7733681 there.
LJ = """# 3d Lennard-Jones melt
units        lj
atom_style   atomic
lattice      fcc 0.8442
region       box block 0 5 0 5 0 5
create_box   1 box
create_atoms 1 box
mass         1 1.0
velocity     all create 1.44 87287 loop geom
pair_style   lj/cut 2.5
pair_coeff   1 1 1.0 1.0 2.5
neighbor     0.3 bin
neigh_modify delay 0 every 20 check no
fix          1 all nve
timestep     0.004
run          100
"""
METAL = """units metal
boundary p p p
read_data alloy.data   # atoms
pair_style eam/alloy
pair_coeff * * setfl &
    Cu Al
fix 1 all npt temp 300 300 0.1 iso 1.0 1.0 0.5 tchain 5
fix 2 all momentum 100 linear 1 1 1
timestep 0.002
thermo 10
dump d all custom 50 frames.lammpstrj id x y z
run 1000
run 500
"""
ARGON_SIGMA, ARGON_EPSILON, ARGON_MASS = 0.34, 0.996, 39.948
BOLTZMANN = 0.00831446261815324


def data(style: str = "atomic", tilt: float = 0.0) -> str:
    """The crystal of the made-up potentials as a data file, its atoms in the reverse order."""
    places, edge = crystal()
    kinds = types(METALS["setfl"], len(places))
    values = {"atomic": "", "charge": " 0.0", "full": " 0.0"}[style]
    molecule = "1 " if style == "full" else ""
    rows = [
        f"{k + 1} {molecule}{kind + 1}{values} {x:.8f} {y:.8f} {z:.8f} 0 0 -1"
        for k, ((x, y, z), kind) in enumerate(zip(places, kinds, strict=True))
    ]
    edges = "".join(f"0.0 {edge} {axis}lo {axis}hi\n" for axis in "xyz")
    tilts = f"{tilt} 0.0 0.0 xy xz yz\n" if tilt else ""
    velocities = "\n".join(f"{k + 1} {0.1 * k} 0 -1" for k in range(len(rows)))
    return (
        f"made up\n\n{len(rows)} atoms\n2 atom types\n\n{edges}{tilts}\nMasses\n\n"
        "1 63.55 # Cu\n2 26.98\n\n"
        f"Atoms # {style}\n\n" + "\n".join(rows[::-1]) + f"\n\nVelocities\n\n{velocities}\n"
    )


def write(folder: Path, script: str = METAL, atoms: str | None = None) -> Path:
    (folder / "alloy.data").write_text(data() if atoms is None else atoms)
    for name in METALS:
        (folder / name).write_text(potential(name))
    (folder / "in.script").write_text(script)
    return folder / "in.script"


def loaded(file: Path) -> tuple[System, State]:
    return quiltmd.load(file, file)


def test_the_benchmark_of_lennard_jones_has_its_energy(tmp_path: Path) -> None:
    system, state = loaded(write(tmp_path, LJ))
    assert system.atoms == 500
    energy = Simulation(system, state).energies()["lj"] / ARGON_EPSILON / system.atoms
    assert energy == pytest.approx(-6.7733681, abs=1e-6)
    assert state.box[0, 0] == pytest.approx(ARGON_SIGMA * 5 * (4 / 0.8442) ** (1 / 3), rel=1e-12)


def test_a_script_alone_is_topology_and_coordinates(tmp_path: Path) -> None:
    script = str(write(tmp_path, LJ))
    found = CliRunner().invoke(app, ["energy", script, "--json", "--threads", "1"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["atoms"] == 500


def test_variables_stand_for_words_and_numbers(tmp_path: Path) -> None:
    """As in the scripts of LAMMPS' benchmarks."""
    head = "variable x index 1 2\nvariable x index 9\nvariable xx equal (v_x+$x*3)^2-2*4-3\n"
    script = head + LJ.replace("0 5 0 5 0 5", "0 ${xx} 0 ${xx} 0 5").replace("lj/cut", "${style}")
    system, state = loaded(
        write(tmp_path, script.replace("units ", "variable style string lj/cut\nunits ", 1))
    )
    expected, places = loaded(write(tmp_path, LJ))
    assert (state.positions == places.positions).all()
    assert (system.lj_a == expected.lj_a).all()


def test_settings_of_reduced_units(tmp_path: Path) -> None:
    file = write(tmp_path, LJ)
    assert is_control(file)
    control = read_control(file)
    assert control is not None
    assert control.refused == []
    time = ARGON_SIGMA * np.sqrt(ARGON_MASS / ARGON_EPSILON)
    assert control.settings["integrator"]["timestep"] == pytest.approx(0.004 * time)
    assert control.settings["integrator"]["ensemble"] == "nve"
    kelvin = control.settings["run"]["start_temperature"]
    assert kelvin == pytest.approx(1.44 * ARGON_EPSILON / BOLTZMANN)
    assert control.settings["run"]["steps"] == 100


def test_a_script_goes_on_from_the_run_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of each has the name behind the dot; a restart needs no units to be recognised."""
    monkeypatch.chdir(tmp_path)
    Path("in.melt").write_text(LJ.replace("100", "2\nwrite_data melt.data"))
    Path("in.hot").write_text(LJ.replace("100", "3").replace("velocity", "#"))
    for words, said in (
        (["in.melt"], "-c FOLDER'"),
        (["in.hot", "melt-quilt"], "velocities taken"),
    ):
        done = CliRunner().invoke(app, ["run", *words, "--device", "cpu"])
        assert done.exit_code == 0, done.output
        assert said in done.output
    assert Path("hot-quilt/inputs/coordinates-checkpoint.qmd").exists()
    facts = json.loads(CliRunner().invoke(app, ["info", "in.melt", "--json"]).stdout)
    assert facts["files"] == ["log.csv: 1 row", "thermo.log: 1 row"]
    Path("in.hot").write_text("read_restart melt.restart\npair_style lj/cut 2.5\nrun 5\n")
    assert is_control(Path("in.hot"))


def test_an_alloy_of_a_data_file(tmp_path: Path) -> None:
    system, state = loaded(write(tmp_path))
    places, edge = crystal()
    assert state.positions == pytest.approx(places / 10)
    assert np.diag(state.box) == pytest.approx(edge / 10)
    assert state.velocities[:, 0] == pytest.approx(0.01 * np.arange(len(places)))
    kinds = types(METALS["setfl"], len(places))
    again = quiltmd.embedded_system(
        quiltmd.read_eam(tmp_path / "setfl"), [("Cu", "Al")[kind] for kind in kinds]
    )
    assert (system.masses == again.masses).all()
    assert set(system.topology.atom_names) == {"Cu", "Al"}
    expected = quiltmd.reference(again, state)[0]["potential"]
    assert quiltmd.reference(system, state)[0]["potential"] == pytest.approx(expected, rel=1e-12)


def test_settings_at_constant_pressure(tmp_path: Path) -> None:
    control = read_control(write(tmp_path))
    assert control is not None
    assert control.refused == []
    settings = control.settings
    assert settings["integrator"] | {"timestep": 0.002, "ensemble": "npt"} == settings["integrator"]
    thermostat = {"kind": "nose-hoover", "time_constant": 0.1, "chain_length": 5}
    assert settings["thermostat"] == thermostat
    barostat = {"kind": "cell-rescaling", "pressure": 1.0, "time_constant": 0.5}
    assert settings["barostat"] == barostat | {"compressibility": [1e-6]}
    output = {"trajectory_every": 50, "log_every": 10, "thermo": "metal", "dir": "script-quilt"}
    assert settings["output"] == output
    assert settings["run"]["steps"] == 1500


@pytest.mark.parametrize(
    "fixes",
    [
        "fix 1 all nve",
        "fix 1 all nve\nfix 2 all langevin 300 300 0.1 7",
        "fix 1 all nvt temp 300 600 $(100*dt)",
        "fix 1 all nve\nfix 2 all langevin 600 300 $(100.0*(dt)) 7",
        "fix 1 all npt temp 300 300 0.1 iso 1.0 1.0 0.5",
        "fix 1 all npt temp 300 300 0.1 aniso 1.0 1.0 0.5",
        "fix 1 all npt temp 300 300 0.1 x 1.0 1.0 0.5 y 1.0 1.0 0.5",
        "minimize 0 0 2 10\nfix 1 all nve",
    ],
)
def test_scripts_of_every_kind_of_fix_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixes: str
) -> None:
    monkeypatch.chdir(tmp_path)
    script = METAL.replace("fix 1 all npt temp 300 300 0.1 iso 1.0 1.0 0.5 tchain 5", fixes)
    file = write(tmp_path, script.replace("run 1000\nrun 500", "run 2").replace("0.002", "0.0005"))
    done = CliRunner().invoke(app, ["run", str(file), "--device", "cpu"])
    assert done.exit_code == 0, done.output
    assert Path("script-quilt/thermo.log").exists()


def test_a_temperature_that_changes_in_the_run(tmp_path: Path) -> None:
    """Over the time of the run; the time constant is a formula with the time step so far."""
    script = METAL.replace("temp 300 300 0.1", "temp 300 600 $(v_n*dt)").replace("run 500", "")
    for head, damp in (("", 0.1), ("timestep 0.005\n", 0.5)):
        lines = script.replace("fix 1 all", f"variable n equal 100\n{head}fix 1 all")
        control = read_control(write(tmp_path, lines))
        assert control is not None
        assert control.refused == []
        integrator = control.settings["integrator"]
        assert integrator["annealing"] == [(0.0, 300.0), (2.0, 600.0)]
        assert "temperature" not in integrator
        assert any("every 200 steps" in note for note in control.notes)
        assert control.settings["thermostat"]["time_constant"] == pytest.approx(damp)


def test_two_types_in_either_order(tmp_path: Path) -> None:
    """As in LAMMPS, where 2 1 is 1 2, and an empty range an error."""
    script = LJ.replace("create_box   1", "create_box 3").replace("mass         1", "mass *")
    pairs = "pair_coeff   * * 1.0 1.0\npair_coeff   {} 0.5 1.1"
    found = []
    for types_of_pair in ("1 2", "2 1"):
        text = script.replace("pair_coeff   1 1 1.0 1.0 2.5", pairs.format(types_of_pair))
        found.append(loaded(write(tmp_path, text))[0].lj_a)
    assert (found[0] == found[1]).all()
    assert found[0][0, 1] == pytest.approx(0.5 * 1.1**12 * found[0][0, 0])
    text = script.replace("pair_coeff   1 1 1.0 1.0 2.5", pairs.format("2* 1"))
    with pytest.raises(InputError, match=r"line 12: pair_coeff 2\* 1 0.5 1.1: no type"):
        loaded(write(tmp_path, text))


def test_a_mass_after_the_potential_replaces_that_of_its_file(tmp_path: Path) -> None:
    """As in LAMMPS; a mass before it is replaced."""
    masses = []
    for before, after in (("mass 1 5.0\n", ""), ("", "mass 1 5.0\n")):
        text = METAL.replace("pair_style", before + "pair_style").replace("fix 1", after + "fix 1")
        system, _ = loaded(write(tmp_path, text))
        masses.append(float(system.masses[system.lj_types == 0][0]))
    assert masses == pytest.approx([63.55, 5.0])


def test_the_faces_of_a_region_are_in_it(tmp_path: Path) -> None:
    """LAMMPS creates 504 and 432 atoms of these: planes 0 to 6 of 12, 72 each, and 0 to 5."""
    for edge, atoms in (("3", 504), ("2.9", 432)):
        text = LJ.replace("0 5 0 5 0 5", "0 6 0 6 0 6").replace(
            "create_atoms 1 box", f"region half block 0 {edge} 0 6 0 6\ncreate_atoms 1 region half"
        )
        assert loaded(write(tmp_path, text))[0].atoms == atoms


@pytest.mark.parametrize("style", ["charge", "full"])
def test_styles_of_atoms(tmp_path: Path, style: str) -> None:
    script = METAL.replace("boundary", f"atom_style {style}\nboundary")
    system, _ = loaded(write(tmp_path, script, data(style)))
    assert system.embedded is not None


def test_charges_by_pme_in_a_skewed_box(tmp_path: Path) -> None:
    atoms = (
        "ions\n2 atoms\n2 atom types\n0 20 xlo xhi\n0 20 ylo yhi\n0 20 zlo zhi\n3 0 0 xy xz yz\n"
    )
    atoms += "Masses\n\n1 23\n2 35.5\n\nAtoms\n\n1 1 1.0 1 2 3\n2 2 -1.0 4 2 3\n"
    script = (
        "units real\natom_style charge\nread_data alloy.data\npair_style lj/cut/coul/long 9.0\n"
        "pair_coeff 1 1 0.1 2.5\npair_coeff 2 2 0.2 4.0\npair_modify mix arithmetic tail yes\n"
        "kspace_style pppm 1e-4\nfix 1 all nve\nfix 2 all langevin 300 300 100.0 48279\nrun 10\n"
    )
    file = write(tmp_path, script, atoms)
    system, state = loaded(file)
    assert system.nonbonded == Nonbonded(method="pme", cutoff=0.9, dispersion_correction=True)
    assert state.box[1, 0] == pytest.approx(0.3)
    sigma, epsilon = 0.325, 4.184 * np.sqrt(0.02)
    assert system.lj_a[0, 1] == pytest.approx(4 * epsilon * sigma**12)
    assert system.lj_b[0, 1] == pytest.approx(4 * epsilon * sigma**6)
    control = read_control(file)
    assert control is not None
    assert control.settings["integrator"]["friction"] == pytest.approx(10)
    assert control.settings["integrator"]["timestep"] == 0.001


def test_funcfl_by_types_and_crystals_in_regions(tmp_path: Path) -> None:
    (tmp_path / "Al").write_text(potential("funcfl").replace("29 63.55", "13 26.98"))
    script = (
        "units metal\nlattice bcc 3.0\nregion all block 0 6 0 4 0 4\n"
        "region half block 0 2.9 0 4 0 4\n"
        "region rest block 9 18 0 12 0 12 units box\ncreate_box 2 all\n"
        "create_atoms 1 region half\ncreate_atoms 2 region rest\n"
        "pair_style eam\npair_coeff 1 1 funcfl\npair_coeff 2*2 2 Al\n"
    )
    system, _ = loaded(write(tmp_path, script))
    assert np.bincount(system.masses.astype(int))[[26, 63]].tolist() == [96, 96]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("units metal", "units si"), "line 1: units si: only metal, real, lj"),
        (("units metal", "units lj"), "line 4: .*needs units metal or real"),
        (("p p p", "p p f"), "line 2: .*only p p p"),
        (("eam/alloy", "reaxff"), "line 4: .*not supported"),
        (("* * setfl", "* * missing"), "missing.*cannot be read"),
        (("alloy.data", "later.data"), "later.data: no such file; Quilt writes none: .* -c FOLDER"),
        (("read_data alloy.data", "read_restart a.1"), "read_restart a.1: not supported: read the"),
        (("    Cu Al", "    Cu"), "line 5: .*2 elements"),
        (("    Cu Al", "    Cu Zr"), "type 2 is Zr; the potential has Cu, Al"),
        (("thermo 10", "variable x equal vol/2"), "line 10: variable x equal vol/2: only the"),
        (("thermo 10", "variable x equal sqrt(2)"), "line 10: .*only the styles index, string"),
        (("thermo 10", "variable x equal 3*-2^2"), "line 10: .*in LAMMPS, -a\\^b is"),
        (("thermo 10", "variable x equal 2^3^2"), "line 10: .*a\\^b\\^c is"),
        (("thermo 10", "variable x equal 1/0"), "line 10: .*only the styles"),
        (("thermo 10", "variable x loop 10"), "line 10: .*only the styles"),
        (("thermo 10", "thermo $(step/2)"), "line 10: .*only the styles"),
        (("thermo 10", "thermo $(2"), "line 10: .*write the value"),
        (("thermo 10", "next x"), "line 10: next: loops and other scripts"),
        (("thermo 10", "compute p all pressure"), "line 10: compute .*not supported"),
        (("thermo 10", "run 10\nmass 1 3.0"), "line 11: mass 1 3.0: after run 10"),
        (("thermo 10", "thermo ${often}"), "line 10: .*there is no variable often"),
    ],
)
def test_scripts_are_refused_with_the_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = write(tmp_path, METAL.replace(*change))
    with pytest.raises(InputError, match=message):
        describe(file)


_TWO_LANGEVIN = "fix 3 all langevin 1 1 1 7\nfix 4 all langevin 2 2 1 7\n#"


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (("fix 2 all momentum 100", "fix 2 all rigid/nvt"), "only the styles nve"),
        (("fix 2 all", "fix 2 mobile"), "only of the group all"),
        (("300 300", "300 900"), "two temperatures only in a script with one run"),
        (("run 500", "unfix 1"), "use a separate script for what follows"),
        (("run 500", "minimize 0 0 10 10"), "a minimisation after a run"),
        (("fix 1 all npt", "fix 1 all nve\nfix 3 all npt"), "2 fixes that move atoms"),
        (
            ("fix 2 all momentum 100", _TWO_LANGEVIN),
            "fix 4 all langevin 2 2 1 7: only one fix langevin",
        ),
    ],
)
def test_dynamics_is_refused_by_name(tmp_path: Path, change: tuple[str, str], refused: str) -> None:
    control = read_control(write(tmp_path, METAL.replace(*change)))
    assert control is not None
    assert any(refused in line for line in control.refused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("2 atom types", "2 bonds\n2 atom types"), "the section Bonds is missing"),
        (("Masses", "EllipsoidIDs"), "'EllipsoidIDs' is not supported"),
        (("Atoms # atomic", "Atoms # full"), "atoms are of the style full, not atomic"),
        (("108 atoms", "109 atoms"), "108 rows up to here, not 109"),
        (("\n108 1 ", "\n107 1 "), "each once"),
        (("xlo xhi", "xlo xhi nothing"), "header .* is not supported"),
        (("1 63.55", "1 -63.55"), "expected a type and its mass"),
    ],
)
def test_data_files_are_refused_with_the_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=rf"alloy.data, line \d+: .*{message}"):
        describe(write(tmp_path, METAL, data().replace(*change)))


@pytest.mark.parametrize("name", ["alloy.data", "in.script", "setfl"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    file = write(tmp_path)

    def read(damaged: Path) -> None:
        if name == "setfl":
            quiltmd.read_eam(damaged)
        elif name == "in.script":
            describe(damaged)
            read_control(damaged)
        else:
            loaded(file)

    original = (tmp_path / name).read_bytes()
    fuzz(read, tmp_path / name, original, 30)
