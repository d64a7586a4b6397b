# SPDX-License-Identifier: Apache-2.0
"""Runs 1,060,110 atoms for some blocks and prints the free memory of the GPU as JSON."""

from __future__ import annotations

import json

import benchmark_systems
from running import Run, thermal, usable_gpu

import quiltmd

system, state = benchmark_systems.standard("dhfr")
state = thermal(system, state)
integrator = quiltmd.LangevinMiddle(timestep=0.004, seed=0)
run = Run(system.tile(3, 3, 5), state.tile(3, 3, 5), integrator).advance(100, 100)
gpu = usable_gpu()
print(json.dumps({"free_memory": gpu["free_memory"] if gpu else None}))
