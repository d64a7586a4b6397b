# SPDX-License-Identifier: Apache-2.0
"""Frames without wrapping at constant pressure: molecules diffuse alike wherever they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from boxes import Array, water_box

import quiltmd
from quiltmd import (
    CellRescaling,
    LangevinMiddle,
    MonteCarloBarostat,
    Nonbonded,
    QuiltError,
    Simulation,
    State,
    System,
    TrajectoryReporter,
)
from quiltmd.outputs.reporters import CheckpointReporter
from quiltmd.running import runner
from quiltmd.running.config import build_config

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of:quiltmd.QuiltWarning")

EVERY = 10
SETTINGS = Nonbonded(cutoff=0.6, method="reaction-field")
# A compressible cell, so that much happens in few steps.
BAROSTATS: dict[str, Any] = {
    "cell rescaling": CellRescaling(
        1.0, time_constant=0.1, compressibility=4.5e-5, every=5, seed=3
    ),
    "anisotropic": CellRescaling(1.0, time_constant=0.1, coupling="anisotropic", every=5, seed=3),
    "monte carlo": MonteCarloBarostat(1.0, compressibility=2e-4, every=5, seed=3),
}


@pytest.fixture(scope="module")
def water() -> tuple[System, State]:
    """125 molecules in a cell that is a little skewed."""
    system, state = water_box((5, 5, 5), seed=1)
    box = np.array(state.box)
    box[2, 0] = 0.1
    run = simulation(system, State.start(system, state.positions, box), None)
    run.minimize(500.0, 60)
    run.draw_velocities(300.0, 1)
    return system, run.state()


def far_away(water: tuple[System, State], cells: int) -> State:
    """The same state, molecules on images up to so many cells away; the first stays."""
    system, state = water
    images = np.random.default_rng(2).integers(-cells, cells + 1, (system.molecules.max() + 1, 3))
    images[0] = 0
    return State(
        state.positions + (images @ state.box)[system.molecules], state.velocities, state.box
    )


def simulation(system: System, state: State, barostat: Any) -> Simulation:
    bath = LangevinMiddle(300.0, 1.0, timestep=0.002, seed=5)
    return Simulation(system, state, SETTINGS, bath, barostat=barostat, device="cpu")


def frames(path: Path) -> tuple[Array, Array]:
    with h5py.File(path) as file:
        of_all = file["particles/all"]
        return np.array(of_all["position/value"]), np.array(of_all["box/edges/value"])


def written(
    water: tuple[System, State], folder: Path, cells: int, barostat: Any, steps: int = 200
) -> dict[str, Any]:
    """Frames with and without wrapping, boxes, and the frames of the engine itself."""
    run = simulation(water[0], far_away(water, cells), barostat)
    raw: list[Array] = []
    keep = quiltmd.FunctionReporter(
        lambda frame: raw.append(frame.positions()), EVERY, ("positions",)
    )
    paths = {wrap: folder / f"{cells}-{wrap}.h5md" for wrap in (True, False)}
    reporters = [TrajectoryReporter(path, EVERY, run, wrap=wrap) for wrap, path in paths.items()]
    run.run(steps, [*reporters, keep])
    for one in reporters:
        one.close()
    (wrapped, boxes), (free, _) = frames(paths[True]), frames(paths[False])
    return {"wrapped": wrapped, "free": free, "boxes": boxes, "raw": np.array(raw)}


def centres(system: System, places: Array) -> Array:
    return places.reshape(len(places), -1, 3, 3).mean(axis=2)  # of three atoms each


def toroidal_view(system: System, wrapped: Array, boxes: Array) -> Array:
    """Centres of molecules unwrapped from those in the cell around the origin, frame by frame."""
    inside = centres(system, wrapped)
    pairs = list(zip(inside, boxes, strict=True))
    around = [places - np.floor(places @ np.linalg.inv(box) + 0.5) @ box for places, box in pairs]
    found = [np.zeros_like(inside[0])]
    for before, after, box in zip(around, around[1:], boxes[1:], strict=False):
        moved = after - before
        found.append(found[-1] + moved - np.round(moved @ np.linalg.inv(box)) @ box)
    return np.array(found)


@pytest.mark.parametrize("cells", [0, 20])
@pytest.mark.parametrize("name", BAROSTATS)
def test_frames_are_those_unwrapped_from_the_cell(
    water: tuple[System, State], tmp_path: Path, name: str, cells: int
) -> None:
    found = written(water, tmp_path, cells, BAROSTATS[name])
    assert np.ptp(np.linalg.det(found["boxes"])) > 0.01 * np.linalg.det(found["boxes"][0])
    np.testing.assert_array_equal(found["free"][0], found["raw"][0])
    moved = centres(water[0], found["free"]) - centres(water[0], found["free"][:1])
    expected = toroidal_view(water[0], found["wrapped"], found["boxes"])
    np.testing.assert_allclose(moved, expected, atol=1e-9)
    # Molecules are what they were.
    inside = found["free"] - np.repeat(centres(water[0], found["free"]), 3, axis=1)
    same = found["raw"] - np.repeat(centres(water[0], found["raw"]), 3, axis=1)
    np.testing.assert_allclose(inside, same, atol=1e-9)


@pytest.mark.parametrize("name", BAROSTATS)
def test_diffusion_does_not_depend_on_the_image(
    water: tuple[System, State], tmp_path: Path, name: str
) -> None:
    """Mean square displacements of the same motion, begun at home and up to 20 cells away."""
    squares = {}
    for cells in (0, 20):
        found = written(water, tmp_path, cells, BAROSTATS[name], 100)
        for kind in ("free", "raw"):
            moved = centres(water[0], found[kind]) - centres(water[0], found[kind][:1])
            squares[cells, kind] = (moved**2).sum(axis=2).mean()
    assert squares[20, "free"] == pytest.approx(squares[0, "free"], rel=1e-3)
    assert squares[20, "raw"] > 2 * squares[20, "free"]  # what it was before


def test_without_a_barostat_frames_are_the_engine_s(
    water: tuple[System, State], tmp_path: Path
) -> None:
    found = written(water, tmp_path, 20, None, 40)
    np.testing.assert_array_equal(found["free"], found["raw"])


@pytest.mark.parametrize("suffix", [".dcd", ".xtc", ".nc", ".h5md"])
@pytest.mark.parametrize("stop", [7, 30, 43])
def test_a_stop_changes_no_byte(
    water: tuple[System, State], tmp_path: Path, suffix: str, stop: int
) -> None:
    """Before the first frame, at a frame, and between two."""
    barostat = BAROSTATS["cell rescaling"]

    def go(path: Path, begin: int, end: int) -> None:
        checkpoint = path.with_suffix(".qmd")
        start = far_away(water, 5)
        resumed = quiltmd.read_checkpoint(checkpoint) if begin else None
        run = simulation(water[0], resumed.state if resumed else start, barostat)
        reporter = TrajectoryReporter(
            path,
            EVERY,
            run,
            begin or None,
            resumed.outputs[path.name] if resumed else None,
            wrap=False,
            carried=resumed.carried.get(path.name) if resumed else None,
        )
        run.run(end - begin, [reporter])
        CheckpointReporter(checkpoint, 1, [reporter]).report(run)
        reporter.close()

    whole, parts = tmp_path / f"whole{suffix}", tmp_path / f"parts{suffix}"
    go(whole, 0, 60)
    go(parts, 0, stop)
    go(parts, stop, 60)
    assert parts.read_bytes() == whole.read_bytes()


def test_a_file_is_not_carried_on_without_what_it_depends_on(
    water: tuple[System, State], tmp_path: Path
) -> None:
    run = simulation(*water, BAROSTATS["cell rescaling"])
    reporter = TrajectoryReporter(tmp_path / "t.dcd", EVERY, run, wrap=False)
    run.run(20, [reporter])
    reporter.close()
    with pytest.raises(QuiltError, match="depend on earlier frames"):
        TrajectoryReporter(tmp_path / "t.dcd", EVERY, run, 20, wrap=False)
    TrajectoryReporter(tmp_path / "t.dcd", EVERY, run, 20, wrap=True).close()


def test_a_resumed_run_goes_on_with_the_same_bytes(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    files: dict[str, dict[str, bytes]] = {}
    for out, steps in (("whole", (60,)), ("parts", (25, 60))):
        config = build_config(
            {
                "system": {"topology": str(alanine[0]), "coordinates": str(alanine[1])},
                "nonbonded": {"cutoff": 0.8},
                "integrator": {"seed": 3, "ensemble": "npt"},
                "barostat": {"kind": "cell-rescaling", "every": 5},
                "run": {"steps": steps[0], "device": "cpu", "minimize": True},
                "output": {"dir": tmp_path / out, "trajectory_every": 0},
                "trajectory": [
                    {"file": "t.dcd", "every": 10, "wrap": False},
                    {"file": "t.xtc", "every": 7, "wrap": False, "select": "solute"},
                ],
            }
        )
        runner.start(config)
        for end in steps[1:]:
            runner.resume(tmp_path / out, {("run", "steps"): end})
        files[out] = {name: (tmp_path / out / name).read_bytes() for name in ("t.dcd", "t.xtc")}
    assert files["parts"] == files["whole"]
