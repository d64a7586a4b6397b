# SPDX-License-Identifier: Apache-2.0
"""Output that leaves while the GPU goes on: it changes no bit, and shows each step as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from output_files import contents, outputs
from running import INTEGRATORS, Pair, Run, both_ensembles, thermal

import quiltmd

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:the system has a net charge:quiltmd.QuiltWarning"),
    pytest.mark.filterwarnings("ignore:a time step of 4 fs is long:quiltmd.QuiltWarning"),
]


class Digests:
    """A digest of each frame's state, and its energies."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.seen: list[tuple[int, str, float]] = []

    def report(self, frame: quiltmd.Readout, /) -> None:
        self.seen.append((frame.step, quiltmd.digest(frame.state()), frame.energies()["total"]))


def simulate(pair: Pair, integrator: quiltmd.Integrator) -> quiltmd.Simulation:
    return quiltmd.Simulation(*pair, integrator=integrator, device="cuda")


@both_ensembles
def test_output_every_ten_steps(warm: Pair, ensemble: str, tmp_path: Path) -> None:
    """The trajectory is that of a run without output, the files those of one that waits."""
    going_on = simulate(warm, INTEGRATORS[ensemble])
    going_on.run(300, outputs(going_on, tmp_path / "going_on"))
    waiting = simulate(warm, INTEGRATORS[ensemble])
    reporters = outputs(waiting, tmp_path / "waiting")
    for _ in range(30):
        waiting.run(10)
        for reporter in reporters:
            if waiting.step % reporter.every == 0:
                reporter.report(waiting)
    assert contents(tmp_path / "going_on") == contents(tmp_path / "waiting")
    silent = Run(*warm, INTEGRATORS[ensemble]).advance(300)
    assert quiltmd.digest(going_on.state()) == silent.digest()


@both_ensembles
def test_frames_show_their_steps(warm: Pair, ensemble: str) -> None:
    digests = Digests(7)
    simulate(warm, INTEGRATORS[ensemble]).run(140, [digests])
    run = Run(*warm, INTEGRATORS[ensemble])
    for step, digest, total in digests.seen:
        now = run.advance(7).engine.energies()
        assert (digest, total) == (run.digest(), now["potential"] + now["kinetic"]), step


def test_frames_taken_at_once_are_read_later(warm: Pair) -> None:
    """Captures in flight while blocks run and lists are rebuilt; more than buffers are kept."""
    run = Run(*warm, INTEGRATORS["nvt"])
    frames, digests = [], []
    for _ in range(6):
        frames.append(run.advance(20).engine.capture(energies=True, state=True))
        run.advance(37)
    again = Run(*warm, INTEGRATORS["nvt"])
    for _ in range(6):
        digests.append(again.advance(20).digest())
        again.advance(37)
    assert [quiltmd.digest(quiltmd.State(**f.state())) for f in frames] == digests
    assert again.digest() == run.digest()


def test_frames_of_epochs_that_are_redone(warm: Pair) -> None:
    """Atoms move beyond the Verlet buffer; what was reported before stays as it was."""
    system, state = warm
    hot = system, thermal(system, state, 3000.0)
    integrator = quiltmd.LangevinMiddle(temperature=300.0, timestep=0.002, seed=3)
    digests = [Digests(3), Digests(3)]
    simulations = [simulate(hot, integrator) for _ in digests]
    simulations[0].run(120, [digests[0]])
    for _ in range(40):
        simulations[1].run(3)
        digests[1].report(simulations[1])
    assert simulations[0].describe()["early_rebuilds"] > 0
    assert digests[0].seen == digests[1].seen


def test_a_blow_up_keeps_the_frames_before_it(peptide: Pair) -> None:
    """A water shot into its neighbours; the steps before it hits them are reported."""
    system, state = peptide[0], thermal(*peptide)
    velocities = state.velocities.copy()
    velocities[-3:] = (20.0, 0.0, 0.0)
    crash = system, quiltmd.State(state.positions, velocities, state.box)
    digests = Digests(1)
    with pytest.raises(quiltmd.SimulationError) as caught:
        simulate(crash, quiltmd.VelocityVerlet(timestep=0.004)).run(200, [digests])
    steps = [step for step, _, _ in digests.seen]
    assert steps == list(range(1, len(steps) + 1))
    assert 1 <= len(steps) < caught.value.step


def test_a_run_resumed_from_its_output(warm: Pair, tmp_path: Path) -> None:
    simulation = simulate(warm, INTEGRATORS["nvt"])
    simulation.run(100, outputs(simulation, tmp_path / "out"))
    simulation.run(60)
    again = simulate(warm, INTEGRATORS["nvt"])
    again.load_checkpoint(tmp_path / "out" / "checkpoint.qmd")
    assert again.step == 100
    again.run(60, [Digests(10)])
    assert quiltmd.digest(again.state()) == quiltmd.digest(simulation.state())
