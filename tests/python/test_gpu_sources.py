# SPDX-License-Identifier: Apache-2.0
"""Sources of kernels of custom forces, compiled for GPUs where there is none."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from test_custom_forces import CASES, DUST, GAS, LJ
from test_custom_parameters import CHAIN, TABLES
from test_custom_parameters import DUST as FREE

import quiltmd
from quiltmd.engine.core import load_core
from quiltmd.engine.libraries import NVRTC

needs_nvrtc = pytest.mark.skipif(bool(NVRTC.why_none()), reason=NVRTC.why_none())
ELF = b"\x7fELF"


def sources(system: Any) -> list[str]:
    found: list[str] = load_core().gpu_sources(system.arrays())
    return found


def compiled(source: str, capability: str = "9.0") -> bytes:
    core = load_core()
    core.set_run_time_compiler(NVRTC.path())
    code: bytes = core.compile_for_gpus(source, capability)
    return code


@needs_nvrtc
@pytest.mark.parametrize("name", ["every function", "image", "compound"])
def test_terms_compile(name: str) -> None:
    (source,) = sources(quiltmd.add_forces(DUST, CASES[name].ours()))
    assert compiled(source).startswith(ELF)


@needs_nvrtc
def test_a_tabulated_function_compiles_for_other_gpus() -> None:
    energy, function = TABLES["three periodic"]
    force = quiltmd.CustomCompound(energy, CHAIN, functions={"f": function})
    (source,) = sources(quiltmd.add_forces(FREE, force))
    codes = {capability: compiled(source, capability) for capability in ("8.0", "9.0", "12.0")}
    assert len(set(codes.values())) == len(codes)


@needs_nvrtc
@pytest.mark.parametrize("groups", [(), [([0, 1], [2])]], ids=["all", "groups"])
def test_pairs_compile(groups: Any) -> None:
    parameters = {"sigma": [0.3] * len(GAS), "epsilon": [1.0] * len(GAS)}
    pair = quiltmd.CustomPairs(LJ, 0.9, parameters, switch_distance=0.8, groups=groups)
    (source,) = sources(quiltmd.add_forces(quiltmd.System.of([1.0] * len(GAS)), pair))
    assert compiled(source).startswith(ELF)


def test_tables_beyond_single_precision_are_refused() -> None:
    """Of pairs: their places in a table are single precision, which has all integers to 2^24."""

    def made(size: int) -> list[str]:
        function = quiltmd.Tabulated(np.broadcast_to(1.0, size))
        pair = quiltmd.CustomPairs("f(r)", 0.9, functions={"f": function})
        return sources(quiltmd.add_forces(quiltmd.System.of([1.0] * len(GAS)), pair))

    assert len(made(2**24)) == 1
    with pytest.raises(quiltmd.QuiltError, match=r"'f\(r\)': .* 16777217 .* at most 16777216"):
        made(2**24 + 1)


def test_values_are_no_part_of_a_source() -> None:
    """So that what changes during a run, or is another's in a replica, needs no other kernel."""

    def made(k: float, length: float) -> list[str]:
        force = quiltmd.CustomBond(f"k*(r-{length})^2*c", CHAIN, {"k": k, "c": [k] * len(CHAIN)})
        return sources(quiltmd.add_forces(FREE, force))

    assert made(1.0, 0.1) == made(2.0, 0.25)
    assert made(1.0, 0.1) != sources(
        quiltmd.add_forces(FREE, quiltmd.CustomBond("k*r^3*c", CHAIN, {"k": 1.0, "c": 2.0}))
    )


@needs_nvrtc
def test_what_does_not_compile_is_an_error_with_the_place() -> None:
    with pytest.raises(quiltmd.QuiltError, match=r"NVRTC cannot compile .*sm_90(.|\n)*energia"):
        compiled("__device__ float energia = nothing;")


def test_without_the_library_an_error_names_the_package() -> None:
    """In a process of its own, as a library stays open."""
    script = (
        "from quiltmd.engine.core import load_core\n"
        "core = load_core()\n"
        "core.set_run_time_compiler('/nowhere/libnvrtc.so.13')\n"
        "core.compile_for_gpus('', '9.0')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "NVRTC, which compiles custom forces for GPUs, cannot be used: " in ended.stderr
    assert "nvidia-cuda-nvrtc 13 (pip install 'quiltmd[nvrtc]')" in ended.stderr
