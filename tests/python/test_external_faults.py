# SPDX-License-Identifier: Apache-2.0
"""Faults of external forces: errors that name the force and the step, and no run that hangs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boxes import warm_water

import quiltmd
from quiltmd import ExternalFactory, ExternalForce, LangevinMiddle, Nonbonded, QuiltError
from quiltmd.errors import ExternalForceError

pytestmark = pytest.mark.filterwarnings("ignore:a cutoff of 0.6 nm is shorter")


class Spring(ExternalForce):
    """A spring of two atoms, whose methods can be replaced by faulty ones."""

    atoms = (0, 300)
    update_every = 6
    name = "bad"

    def __init__(self, fault: Callable[[Any, Any], Any] | None = None, at: int = 5) -> None:
        self.fault, self.at, self.seen = fault, at, 0

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        pull = 200 * (positions[1] - positions[0])
        energy, forces = float(pull @ pull) / 400, np.array([pull, -pull])
        if self.fault is None or step < self.at:
            return energy, forces
        return self.fault(energy, forces)  # type: ignore[no-any-return]

    def update(self, step: int, positions: Any, box: Any) -> None:
        self.seen += 1

    def state(self) -> bytes:
        return bytes([self.seen])

    def set_state(self, state: bytes) -> None:
        self.seen = state[0]


def simulation(force: ExternalForce | ExternalFactory, **where: Any) -> quiltmd.Simulation:
    small = Nonbonded(cutoff=0.6, pme_alpha=4.0, pme_grid=(24, 24, 24))
    thermostat = LangevinMiddle(300, 1.0, 0.002, seed=4)
    system, state = warm_water((6, 6, 6), 300)
    given: dict[str, Any] = {"device": "cpu", "threads": 1, "integrator": thermostat}
    return quiltmd.Simulation(system, state, small, external=[force], **{**given, **where})


class Tensor:
    """An array of a library that does not give its numbers away."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("call detach() first")


FAULTS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "complex forces": (
        lambda e, f: (e, f + 1j * f),
        "the forces are not numeric, but of type complex128",
    ),
    "complex energy": (lambda e, f: (e + 1j, f), "the energy is not numeric, but of type"),
    "masked": (lambda e, f: (e, np.ma.masked_array(f, mask=True)), "the forces are masked"),
    "digits": (lambda e, f: ("1.5", f), "the energy is not numeric, but of type"),
    "tensor": (lambda e, f: (e, Tensor()), r"not numeric \(RuntimeError: call detach\(\) first\)"),
    "exit": (lambda e, f: sys.exit("bye"), "compute raised SystemExit: bye"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_number_is_refused(fault: str, ranks: int) -> None:
    what, words = FAULTS[fault]
    with pytest.raises(ExternalForceError, match=words) as error:
        simulation(Spring(what), ranks=ranks).run(20)
    assert (error.value.name, error.value.step) == ("bad", 5)


@pytest.mark.parametrize("given", [Spring(), ExternalFactory("boxes:Spring")])
def test_a_force_that_is_not_in_a_list_is_refused(given: Any) -> None:
    system, state = warm_water((6, 6, 6), 300)
    small = Nonbonded(cutoff=0.6)
    with pytest.raises(QuiltError, match=r"a list .*in brackets, external=\[force\]"):
        quiltmd.Simulation(system, state, small, external=given, device="cpu")


def test_numbers_of_other_types_are_taken() -> None:
    runs = [simulation(Spring(what)) for what in (None, lambda e, f: (e, f.astype(object)))]
    for run in runs:
        run.run(12)
    assert quiltmd.digest(runs[1].state()) == quiltmd.digest(runs[0].state())


WITHIN = """
import sys
sys.path.insert(0, {folder!r})
from test_external_faults import Spring, simulation

class Within(Spring):
    def {method}(self, step, positions, box):
        if step > 0:
            run.{reads}()
        return super().{method}(step, positions, box)

run = simulation(Within(), ranks={ranks})
try:
    run.run(20)
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("method", "reads", "ranks"),
    [("compute", "energies", 2), ("compute", "forces", 1), ("update", "energies", 2)],
)
def test_a_force_that_uses_its_own_simulation_is_refused(
    method: str, reads: str, ranks: int
) -> None:
    """In a process of its own: it would wait for itself for ever."""
    program = WITHIN.format(
        folder=str(Path(__file__).parent), method=method, reads=reads, ranks=ranks
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "external force 'bad'" in done.stdout
    assert "uses the simulation that is waiting for it" in done.stdout


@pytest.mark.parametrize("found", [5, None, "text", [1, 2], np.arange(3)])
def test_a_state_that_is_not_bytes_is_refused(found: Any, tmp_path: Path) -> None:
    """`bytes(5)` would be five zeros: the variables would be lost in silence."""
    force = Spring()
    run = simulation(force)
    run.run(6)
    run.save_checkpoint(tmp_path / "run.qmd")
    before = (tmp_path / "run.qmd").read_bytes()
    force.state = lambda: found  # type: ignore[method-assign]
    words = f"step 6: external force 'bad': state returned {type(found).__name__}, not bytes"
    with pytest.raises(ExternalForceError, match=words):
        run.save_checkpoint(tmp_path / "run.qmd")
    assert (tmp_path / "run.qmd").read_bytes() == before


def test_errors_of_state_and_set_state_name_the_force(tmp_path: Path) -> None:
    def fails(*_: Any) -> Any:
        raise ValueError("disk is gone")

    force = Spring()
    run = simulation(force)
    run.run(6)
    run.save_checkpoint(tmp_path / "run.qmd")
    force.set_state = fails  # type: ignore[method-assign]
    with pytest.raises(ExternalForceError, match=r"step 6: .*'bad': set_state raised ValueError"):
        run.load_checkpoint(tmp_path / "run.qmd")
    force.state = fails  # type: ignore[method-assign]
    with pytest.raises(ExternalForceError, match=r"step 6: .*'bad': state raised ValueError"):
        run.save_checkpoint(tmp_path / "run.qmd")


def test_a_force_that_exits_in_a_worker_is_named(tmp_path: Path) -> None:
    (tmp_path / "exits_in_workers.py").write_text(
        "import sys\nimport numpy as np\nimport quiltmd\n\n\n"
        "class Quits(quiltmd.ExternalForce):\n"
        "    atoms = [0, 300]\n\n"
        "    def compute(self, step, positions, box):\n"
        "        if step == 5:\n"
        "            sys.exit('no licence')\n"
        "        return 0.0, np.zeros((2, 3))\n"
    )
    factory = ExternalFactory("exits_in_workers:Quits", str(tmp_path))
    with pytest.raises(QuiltError, match=r"step 5: external force 'quits': .*SystemExit: no lic"):
        simulation(factory, device="worker:cpu").run(20)


def test_a_force_may_use_another_simulation() -> None:
    """Its energy is that of the other simulation."""
    other = simulation(Spring())
    within = Spring(lambda e, f: (other.energies()["potential"], f), at=0)
    run = simulation(within)
    run.run(2)
    assert run.energies()["bad"] == pytest.approx(other.energies()["potential"], rel=1e-9)
