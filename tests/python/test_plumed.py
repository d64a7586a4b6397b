# SPDX-License-Identifier: Apache-2.0
"""PLUMED as an external force, with its own kernel."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import warm_water

import quiltmd
from quiltmd import (
    Hills,
    LangevinMiddle,
    Metadynamics,
    Nonbonded,
    Plumed,
    QuiltError,
    Restraint,
    Simulation,
    State,
    System,
)
from quiltmd.external.plumed_input import (
    REFUSED_ACTIONS,
    REFUSED_WORDS,
    check_actions,
    read_actions,
    refuse_to_restart,
)
from quiltmd.running import runner
from quiltmd.running.config import build_config

SMALL = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
VACUUM = Nonbonded(method="no-cutoff")
METAD = """
# metadynamics of a distance
d: DISTANCE ATOMS=1,4 NOPBC
METAD ...
  LABEL=m ARG=d SIGMA=0.03 HEIGHT=1.5 PACE=20 FILE=HILLS
... METAD
PRINT ARG=d,m.bias FILE=COLVAR STRIDE=10 FMT=%20.14f
"""
pytestmark = pytest.mark.filterwarnings(
    "ignore:a cutoff of 0.6 nm is shorter", "ignore:there is no periodic box"
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """PLUMED's kernel."""
    plumed = pytest.importorskip("plumed")
    bundled = getattr(plumed, "BUNDLED_KERNEL_PATH", None)
    if bundled is None:
        pytest.skip("there is no kernel of PLUMED")
    monkeypatch.setenv("PLUMED_KERNEL", str(bundled))


@pytest.fixture(scope="module")
def water() -> tuple[System, State]:
    return warm_water((6, 6, 6), 300)


def write(text: str) -> Path:
    path = Path("plumed.dat")
    path.write_text(text)
    return path


def simulation(water: tuple[System, State], *external: Any, **where: Any) -> Simulation:
    thermostat = LangevinMiddle(300, 1.0, 0.002, seed=4)
    settings = {"device": "cpu", "threads": 1, **where}
    return Simulation(*water, SMALL, thermostat, external=external, **settings)


@pytest.mark.usefixtures("kernel")
def test_a_restraint_is_the_built_in_one(water: tuple[System, State]) -> None:
    """Energy, forces, and the virial of a distance across the boundary of the box."""
    system, state = water
    box = state.box
    assert box is not None
    near = state.positions[0] - state.positions[::3]
    away = np.linalg.norm(near - np.round(near / np.diag(box)) * np.diag(box), axis=1)
    other = 3 * int(np.argmin(np.abs(away - 0.7)))
    text = f"d: DISTANCE ATOMS=1,{other + 1}\nRESTRAINT ARG=d KAPPA=3000 AT=0.5\n"
    force = Plumed(write(text), atoms=[other, 0])
    ends = ("index 1", f"index {other + 1}")
    restraint = Restraint("distance", ends, 3000.0, lower=0.5, upper=0.5)
    restrained = quiltmd.restrain(system, [restraint], state.positions, box)
    by_plumed, built_in = simulation(water, force), simulation((restrained, state))
    expected = built_in.energies()["restraint"]
    assert expected > 10
    assert by_plumed.energies()["plumed"] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(by_plumed.forces(), built_in.forces(), atol=1e-2)
    np.testing.assert_allclose(by_plumed.virial(), built_in.virial(), atol=2e-2)


def chain() -> tuple[System, State]:
    """Four atoms in a row, in a vacuum."""
    pairs = np.array([[0, 1], [1, 2], [2, 3]])
    system = System.of(
        np.full(4, 12.0),
        bonds=pairs,
        bond_parameters=np.tile([0.15, 1e5], (3, 1)),
        angles=np.array([[0, 1, 2], [1, 2, 3]]),
        angle_parameters=np.tile([1.9, 400.0], (2, 1)),
        exclusions=pairs,
    )
    positions = np.array([[0.05, 0.14, 0.0], [0, 0, 0], [0.15, 0, 0], [0.2, 0.1, 0.1]])
    return system, State.start(system, positions, None)


@pytest.mark.usefixtures("kernel")
def test_hills_are_those_of_built_in_metadynamics() -> None:
    """The same steps and centres, and the same bias, but for the tails of PLUMED's Gaussians."""
    system, state = chain()
    variable = Restraint("distance", ("index 1", "index 4"), 0.0, lower=0.4, name="d")
    of_core = quiltmd.restrain(system, [variable], state.positions, None)
    settings = Metadynamics(("d",), (0.03,), 1.5, every=20, range=((0.0, 1.0),))
    given: dict[str, Any] = {"integrator": LangevinMiddle(300.0, 5.0, 0.001, seed=3)}
    own = Simulation(of_core, state, VACUUM, device="cpu", threads=1, **given)
    own.draw_velocities(300.0, 2)
    state = own.state()
    hills = Hills("own", settings, own)
    while own.step < 200:
        own.run(hills.set_at(own) - own.step)
    hills.close()
    force = Plumed(write(METAD), update_every=10)
    Simulation(system, state, VACUUM, device="cpu", threads=1, external=[force], **given).run(200)
    found, expected = np.loadtxt("HILLS"), np.loadtxt("own")
    np.testing.assert_allclose(found[:, 0], expected[:, 0])
    np.testing.assert_allclose(found[:, 1], expected[:, 1], atol=2e-4)
    time, value, bias = np.loadtxt("COLVAR").T
    np.testing.assert_allclose(time, 0.01 * np.arange(1, 20))
    at = time[-2]
    rows = expected[expected[:, 0] < at]
    sums = (1.5 * np.exp(-0.5 * ((value[-2] - rows[:, 1]) / 0.03) ** 2)).sum()
    assert bias[-2] == pytest.approx(sums, abs=0.02)


@pytest.mark.usefixtures("kernel")
def test_hills_do_not_depend_on_ranks_and_repeated_steps(water: tuple[System, State]) -> None:
    """A fast molecule makes steps be done again: each row and hill is there once, in order."""
    system, state = water
    velocities = state.velocities.copy()
    velocities[3:6] += np.array([11.0, 0.0, 0.0])
    found = set()
    for ranks in (1, 2):
        made = simulation(
            (system, replace(state, velocities=velocities)),
            Plumed(write(METAD), update_every=10, atoms=[0, 3]),
            ranks=ranks,
        )
        made.run(60)
        assert made.describe()["early_rebuilds"] > 0
        found.add((Path("HILLS").read_bytes(), Path("COLVAR").read_bytes()))
    assert len(found) == 1
    np.testing.assert_allclose(np.loadtxt("COLVAR")[:, 0], 0.02 * np.arange(1, 6))
    np.testing.assert_allclose(np.loadtxt("HILLS")[:, 0], [0.04, 0.08])


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("step", [53, 60])
def test_a_run_continues_from_its_checkpoint(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are cut at the checkpoint, also those of which PLUMED has made a copy."""
    system, state = chain()
    given: dict[str, Any] = {"integrator": LangevinMiddle(300.0, 5.0, 0.001, seed=3)}

    def make() -> Simulation:
        force = Plumed(Path("plumed.dat"), update_every=10)
        return Simulation(system, state, VACUUM, device="cpu", external=[force], **given)

    write(METAD.replace("FILE=HILLS", "FILE=HILLS FMT=%25.18g"))
    whole = make()
    whole.draw_velocities(300.0, 2)
    whole.run(step)
    whole.save_checkpoint("a.qmd")
    whole.run(57)
    hills, rows = Path("HILLS").read_bytes(), Path("COLVAR").read_bytes()
    expected = whole.positions()
    for resumed in (whole, make()):
        resumed.load_checkpoint("a.qmd")
        resumed.run(57)
        assert resumed.positions().tobytes() == expected.tobytes()
        again = [line for line in Path("HILLS").read_bytes().splitlines() if b"#!" not in line]
        assert again == [line for line in hills.splitlines() if b"#!" not in line]
        again = [line for line in Path("COLVAR").read_bytes().splitlines() if b"#!" not in line]
        assert again == [line for line in rows.splitlines() if b"#!" not in line]
    Path("HILLS").unlink()
    with pytest.raises(QuiltError, match="HILLS is not the file that PLUMED had written"):
        whole.load_checkpoint("a.qmd")
    other = Path("other")
    other.mkdir()
    monkeypatch.chdir(other)
    write(METAD)
    Path("COLVAR").write_text("of another run")
    with pytest.raises(QuiltError, match="continue in the folder where the run began"):
        make().load_checkpoint("../a.qmd")
    assert {path.name for path in Path.cwd().iterdir()} == {"plumed.dat", "COLVAR"}
    assert Path("COLVAR").read_text() == "of another run"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("PRINT ARG=d FILE=COLVAR", "PRINT acts every step: give STRIDE, a multiple of 10"),
        ("PRINT ARG=d STRIDE=15 FILE=COLVAR", "STRIDE=15 must be a multiple of update_every = 10"),
        ("METAD ARG=d PACE=4 HEIGHT=1 SIGMA=1", "PACE=4 must be a multiple"),
        (
            "METAD ARG=d PACE=10 ADAPTIVE=DIFF SIGMA=9",
            "ADAPTIVE=DIFF is not supported",
        ),
        ("a: ABMD ARG=d TO=1 KAPPA=1", "PLUMED's ABMD is not supported: it remembers every step"),
        ("x: EXTENDED_LAGRANGIAN ARG=d", "EXTENDED_LAGRANGIAN is not supported"),
        ("UNITS LENGTH=A", "PLUMED's own units"),
        ("PRINT ARG=r.work STRIDE=10 FILE=a", "work would count steps that are repeated"),
        ("PRINT ARG=d STRIDE=10 FILE=a.gz", "without .gz"),
        ("METAD WALKERS_MPI ARG=d PACE=10", "WALKERS_DIR"),
        ("METAD ...\n ARG=d", "has no end"),
        ("INCLUDE FILE=plumed.dat", "plumed.dat: the PLUMED input includes itself"),
        ("PBMETAD ARG=d PACE=10 HEIGHT=1 SIGMA=1", "give FILE"),
        ("c: COORDINATION GROUPA=1 GROUPB=2 R_0=1 NLIST NL_CUTOFF=2 NL_STRIDE=9", "NLIST is not"),
        ("COMMITTOR ARG=d STRIDE=10", "cannot stop a run"),
    ],
)
def test_inputs_that_do_not_suit_are_refused(line: str, fault: str) -> None:
    with pytest.raises(QuiltError, match=fault):
        check_actions(read_actions(write(f"d: DISTANCE ATOMS=1,2\n{line}\n")), 10)


def test_the_guide_names_all_that_is_refused() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "user" / "plumed.md").read_text()
    for name in (*REFUSED_ACTIONS, *REFUSED_WORDS):
        assert re.search(rf"\b{name}\b", guide), name


@pytest.mark.parametrize(
    "line", ["h: HISTOGRAM ARG=d STRIDE=10", "METAD ARG=d PACE=10 GRID_RFILE=g HEIGHT=1 SIGMA=1"]
)
def test_memory_that_no_file_has_cannot_be_continued(line: str) -> None:
    actions = read_actions(write(f"d: DISTANCE ATOMS=1,2\n{line}\n"))
    check_actions(actions, 10)
    with pytest.raises(QuiltError, match="cannot be continued"):
        refuse_to_restart(actions)


def test_an_input_is_read_as_plumed_does() -> None:
    """Labels, comments, blocks, braces, files that are included, and an end."""
    Path("more.dat").write_text("PRINT ARG=d STRIDE=20 FILE=b\n")
    text = (
        METAD + "INCLUDE FILE=more.dat\nx: CUSTOM ARG=d FUNC={x + 1} PERIODIC=NO\nENDPLUMED\nno\n"
    )
    actions = read_actions(write(text))
    assert [one.name for one in actions] == ["DISTANCE", "METAD", "PRINT", "PRINT", "CUSTOM"]
    assert actions[1].values["PACE"] == "20"
    assert [one.files() for one in actions[1:4]] == [["HILLS"], ["COLVAR"], ["b"]]


@pytest.mark.usefixtures("kernel")
def test_faults_are_named(water: tuple[System, State], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the input, by PLUMED; atoms that it does not receive; energies that it cannot have."""
    unknown = r"^external force 'plumed': PLUMED: Action .NONSENSE. is not known\.$"
    with pytest.raises(QuiltError, match=unknown):
        simulation(water, Plumed(write("NONSENSE\n")))
    with pytest.raises(QuiltError, match=r"': PLUMED: ERROR in input to action [^\n]*should be 2$"):
        simulation(water, Plumed(write("d: DISTANCE ATOMS=1,2,3\n")))
    one = write("d: DISTANCE ATOMS=1,7\nRESTRAINT ARG=d KAPPA=1 AT=0\n")
    with pytest.raises(QuiltError, match="atoms that are not in `atoms`"):
        simulation(water, Plumed(one, atoms=[0, 3]))
    with pytest.raises(QuiltError, match=r"ENERGY, the energy of the system, .*: remove it"):
        simulation(water, Plumed(write("e: ENERGY\nRESTRAINT ARG=e KAPPA=1 AT=0\n")))
    with pytest.raises(QuiltError, match=r"plumed\.dat: the PLUMED input cannot be read"):
        Plumed("none/plumed.dat")
    with pytest.raises(QuiltError, match=r"plumed\.dat: the PLUMED input has no actions"):
        Plumed(write("# nothing\n"))
    one = write("d: DISTANCE ATOMS=1,7\nRESTRAINT ARG=d KAPPA=1 AT=0\n")
    with pytest.raises(QuiltError, match="temperature must be positive, and is -3 K"):
        Plumed(one, temperature=-3)
    factory = quiltmd.ExternalFactory("quiltmd:Plumed", None, {"file": str(one)})
    with pytest.raises(QuiltError, match="cannot run in another process"):
        simulation(water, factory, device="worker:cpu")
    with pytest.raises(QuiltError, match="there is no such kernel"):
        Plumed(one, kernel="no/kernel.so")
    monkeypatch.delenv("PLUMED_KERNEL")
    with pytest.raises(QuiltError, match="PLUMED's kernel is not known"):
        Plumed(one)
    monkeypatch.setitem(sys.modules, "plumed", None)
    with pytest.raises(QuiltError, match="pip install plumed"):
        Plumed(one)


@pytest.mark.usefixtures("kernel")
def test_a_configuration_names_the_input(alanine: tuple[Path, Path]) -> None:
    text = "t: TORSION ATOMS=5,7,9,15\nMETAD ARG=t PACE=10 HEIGHT=1 SIGMA=0.3 BIASFACTOR=5\n"
    path = write(text + "PRINT ARG=t STRIDE=10 FILE=COLVAR\n")
    of_plumed = {
        "kind": "plumed",
        "file": path,
        "options": {"update_every": 10, "atoms": "solute"},
    }
    settings: dict[str, Any] = {
        "system": {"topology": alanine[0], "coordinates": alanine[1]},
        "integrator": {"seed": 3, "timestep": 0.002},
        "run": {"steps": 25, "device": "cpu"},
        "output": {"dir": "out", "trajectory_every": 0, "final": [], "log_terms": True},
        "external": [of_plumed],
    }
    runner.start(build_config(settings))
    assert len(np.loadtxt("HILLS")) == 2  # with kT of the heat bath, which BIASFACTOR needs
    runner.resume("out", {("run", "steps"): 35})
    assert len(np.loadtxt("HILLS")) == 3
    assert "plumed" in Path("out/log.csv").read_text().splitlines()[0].split(",")
    of_python: dict[str, Any] = {"kind": "python", "file": path}
    for wrong in ({"kind": "plumed"}, {"kind": "python"}, of_python, of_plumed | {"path": "."}):
        with pytest.raises(QuiltError, match="needs `f"):
            build_config(settings | {"external": [wrong]})
