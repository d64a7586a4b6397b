# SPDX-License-Identifier: Apache-2.0
"""Bits that flip inside of a run: in buffers of the device, and in messages between ranks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from boxes import water_box

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, QuiltError, Simulation

SYSTEM, STATE = water_box((6, 6, 6))
STEPS = 22  # with a rebuild of the pair lists


def simulation(ranks: int = 2) -> Simulation:
    made = Simulation(
        SYSTEM,
        STATE,
        Nonbonded(cutoff=0.8),
        LangevinMiddle(seed=3),
        device="cpu",
        threads=1,
        ranks=ranks,
        patch_reach=2,
    )
    made.draw_velocities(50, 1)
    return made


def ends(*flip: Any) -> tuple[str, bool]:
    """The digest after a run, and whether the sum of forces was not zero in one of its steps."""
    made = simulation()
    engine: Any = made._engine
    arrays = made.state().arrays()
    if flip:
        engine.inject_flip(*flip)
    engine.set_state(**arrays)
    seen = False
    for _ in range(STEPS):
        engine.run(1)
        seen |= engine.last_force_sum() != (0, 0, 0)
    return quiltmd.digest(quiltmd.State(**engine.capture(state=True).state())), seen


@cache
def undisturbed() -> tuple[str, bool]:
    return ends()


@pytest.mark.parametrize(
    ("operation", "field", "sum_seen"),
    [
        ("receive_forces", "in.words", True),
        ("receive_forces", "slots.force[2]", True),
        ("langevin_middle", "work.slots.force[0]", True),
        ("receive_positions", "in.words", False),
        ("gather_forces", "potential", False),
    ],
)
def test_the_sum_of_forces_sees_flips_of_these_alone(
    operation: str, field: str, sum_seen: bool
) -> None:
    """Of short-range forces on their way or added up; not of what forces follow from."""
    digest, seen = ends(0, operation, field, 5, 40)
    assert digest != undisturbed()[0]
    assert (seen, undisturbed()[1]) == (sum_seen, False)


@pytest.mark.parametrize("bit", [0, 31, 32, 68])
@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("receive_migrants", "migrants"),
        ("receive_counts", "proxies"),
        ("merge_agreement", "agreement"),
    ],
)
def test_a_message_with_another_count_is_an_error(operation: str, message: str, bit: int) -> None:
    """Of how many follow, or of what ranks agree on: it is named, with its sender."""
    with pytest.raises(QuiltError, match=rf"message of rank 1 \({message}\) did not arrive"):
        ends(0, operation, "in.words", 1, bit)


def test_a_message_with_another_atom_is_an_error() -> None:
    """The numbers of atoms come behind a count for each patch, and two words of coordinates."""
    patches = int(simulation()._engine.loads()[0]["proxies"])
    with pytest.raises(QuiltError, match=r"message of rank 1 \(proxies\) did not arrive"):
        ends(0, "receive_proxies", "in.words", 1, 128 * (patches + 2) + 20)


def test_flips_that_are_none_are_refused() -> None:
    engine: Any = simulation()._engine
    with pytest.raises(QuiltError, match="rank 2 is not one"):
        engine.inject_flip(2, "langevin_middle", "work.slots.position", 0, 0)
    with pytest.raises(QuiltError, match=r"the operation 'integrate', .* langevin_middle"):
        engine.inject_flip(0, "integrate", "work.slots.position", 0, 0)
    with pytest.raises(QuiltError, match=r"the field 'position', .* work\.slots\.position"):
        ends(0, "langevin_middle", "position", 0, 0)


def test_a_flip_in_list_positions_lives_until_the_next_lists() -> None:
    """Then they are overwritten: no digest tells it, and no position differs."""
    system, start = water_box((6, 6, 6))
    settings: Any = {"integrator": quiltmd.LangevinMiddle(seed=3), "device": "cpu", "threads": 1}
    undisturbed, flipped = (
        quiltmd.Simulation(system, start, quiltmd.Nonbonded(cutoff=0.8), **settings)
        for _ in range(2)
    )
    undisturbed.draw_velocities(300, 1)
    undisturbed.run(25)
    state = undisturbed.state()
    assert state.list_positions is not None
    places = state.list_positions.copy()
    places.reshape(-1).view(np.uint8)[244] ^= 1
    flipped.set_state(replace(state, list_positions=places))
    before = flipped.state().list_positions
    assert not np.array_equal(before, undisturbed.state().list_positions)
    for simulation in (flipped, undisturbed):
        simulation.run(40)
    assert flipped.state().list_step > state.list_step
    assert quiltmd.digest(flipped.state()) == quiltmd.digest(undisturbed.state())
    assert np.array_equal(flipped.state().list_positions, undisturbed.state().list_positions)
