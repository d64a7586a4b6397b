# SPDX-License-Identifier: Apache-2.0
"""A GPU without memory, or without a driver that serves: said in words, survived."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from gpu_memory import memory_left
from running import Run, usable_gpu

import quiltmd

pytestmark = pytest.mark.gpu

Pair = tuple[quiltmd.System, quiltmd.State]
FULL = (
    r"GPU 0 \({name}\) is out of memory: it could not .+, \d+ MiB of \d+ MiB are free\. "
    r".+ GPU with more memory, or a smaller system\."
)


def full() -> str:
    gpu = usable_gpu()
    assert gpu
    return FULL.format(name=gpu["name"])


def test_a_system_that_does_not_fit(peptide: Pair) -> None:
    system, state = peptide
    whole = Run(system, state).advance(50).digest()
    with memory_left(100), pytest.raises(quiltmd.QuiltError, match=full()) as caught:
        quiltmd.Simulation(system.tile(6, 6, 6), state.tile(6, 6, 6), device="cuda").run(10)
    assert "allocate" in str(caught.value)
    assert Run(system, state).advance(50).digest() == whole


def test_memory_that_ends_anywhere(peptide: Pair) -> None:
    """Tables, lists, scratch memory, graphs, frames: what comes first to lack memory says so."""
    system, state = peptide[0].tile(3, 3, 3), peptide[1].tile(3, 3, 3)
    messages = []
    for left in range(0, 480, 24):
        with memory_left(left):
            try:
                simulation = quiltmd.Simulation(system, state, device="cuda")
                simulation.run(100)
                simulation.state()
            except quiltmd.QuiltError as error:
                messages.append(str(error))
            else:
                break
            finally:
                simulation = None
    else:
        pytest.fail(f"61,263 atoms do not fit into 480 MiB: {messages[-1]}")
    print(*messages, sep="\n")
    assert messages
    for message in messages:
        assert re.fullmatch(full(), message), message
    Run(*peptide).advance(50)


def of_another_process(code: str, **environment: str) -> Any:
    """What the code prints there, from JSON, with this environment."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return json.loads(done.stdout)


def test_little_is_set_aside_for_stacks() -> None:
    code = (
        "import quiltmd; quiltmd.devices(); from gpu_memory import Driver; print(Driver().stack())"
    )
    assert of_another_process(code) == 256


def test_a_context_that_is_there_keeps_its_stacks() -> None:
    code = (
        "from gpu_memory import Driver; driver = Driver(); before = driver.stack(); "
        "import quiltmd; quiltmd.devices(); print([before, driver.stack()])"
    )
    before, after = of_another_process(code)
    assert after == before > 256


def first_gpu(**environment: str) -> dict[str, Any]:
    """The first GPU as another process, with this environment, finds it."""
    code = "import json, quiltmd; print(json.dumps(quiltmd.devices()[1]))"
    found: dict[str, Any] = of_another_process(code, **environment)
    return found


def test_a_gpu_that_is_hidden() -> None:
    found = first_gpu(CUDA_VISIBLE_DEVICES="")
    assert not found["usable"]
    assert found["reason"] == "the NVIDIA driver finds no GPU"


def test_a_gpu_that_the_build_has_no_code_for() -> None:
    """A driver told to compile PTX finds none in a build for the GPU here alone."""
    found = first_gpu(CUDA_FORCE_PTX_JIT="1")
    if found["usable"]:
        pytest.skip("this build has PTX")
    number = found["architecture"]
    assert found["reason"] == (
        f"this build has no code for compute capability {number}; build with "
        f"QUILTMD_CUDA_ARCHITECTURES={number.replace('.', '')}"
    )
