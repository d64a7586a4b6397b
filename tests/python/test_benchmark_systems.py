# SPDX-License-Identifier: Apache-2.0
"""The files in which benchmarks keep the systems that they have built."""

from __future__ import annotations

from pathlib import Path

import benchmark_systems
import numpy as np


def test_a_file_holds_all_of_a_system(tmp_path: Path) -> None:
    system, state = benchmark_systems.standard("alanine")
    benchmark_systems.write(tmp_path / "alanine.npz", system, state)
    system_read, state_read = benchmark_systems.read(tmp_path / "alanine.npz")
    before, after = system.arrays(), system_read.arrays()
    assert len(system.bonds)
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)
    np.testing.assert_array_equal(state.positions, state_read.positions)
    np.testing.assert_array_equal(state.box, state_read.box)
