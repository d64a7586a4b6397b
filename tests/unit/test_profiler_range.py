# SPDX-License-Identifier: Apache-2.0
"""Ranges for profilers reach a tool that listens, by name and nested; without one nothing happens.

The tool is a library as NVTX loads it, made here; no GPU is needed, NVTX's headers are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
#include "device/cuda/profiler_range.h"
int main() {
  const quiltmd::ProfilerRange outer("run a recorded block of steps");
  { const quiltmd::ProfilerRange inner("pair_forces"); }
}
"""

TOOL = """
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

static int domains = 0;
static nvtxDomainHandle_t create(const char* name) {
  std::printf("domain %s\\n", name);
  return reinterpret_cast<nvtxDomainHandle_t>(++domains);
}
static int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  std::printf("push %s\\n", range->message.ascii);
  return 0;
}
static int pop(nvtxDomainHandle_t) {
  std::printf("pop\\n");
  return 0;
}
template <class Function>
static void listen(NvtxFunctionTable table, int entry, Function function) {
  *table[entry] = reinterpret_cast<NvtxFunctionPointer>(function);
}
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  listen(table, NVTX_CBID_CORE2_DomainCreateA, &create);
  listen(table, NVTX_CBID_CORE2_DomainRangePushEx, &push);
  listen(table, NVTX_CBID_CORE2_DomainRangePop, &pop);
  return 1;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the program and the tool, compiled."""
    nvidia = Path(pytest.__file__).parents[1] / "nvidia/cu13/include"
    places = [Path("/usr/local/cuda/include"), nvidia]
    headers = [place for place in places if (place / "nvtx3/nvtx3.hpp").exists()]
    compiler = shutil.which("c++")
    if not headers or compiler is None:
        pytest.skip("there are no headers of NVTX, or no compiler, on this machine")
    made = tmp_path_factory.mktemp("nvtx")
    for name, text, flags in (("program", PROGRAM, []), ("tool", TOOL, ["-shared", "-fPIC"])):
        (made / f"{name}.cpp").write_text(text)
        include = [f"-I{headers[0]}", f"-I{ROOT / 'src'}"]
        words = [compiler, "-std=c++20", *flags, *include, f"{name}.cpp", "-o", name, "-ldl"]
        subprocess.run(words, cwd=made, check=True)
    return made


@pytest.mark.parametrize("listens", [True, False])
def test_ranges_reach_a_tool(folder: Path, listens: bool) -> None:
    tool = {"NVTX_INJECTION64_PATH": str(folder / "tool")} if listens else {}
    done = subprocess.run(
        [folder / "program"], env=os.environ | tool, capture_output=True, text=True, check=True
    )
    told = [
        "domain quiltmd",
        "push run a recorded block of steps",
        "push pair_forces",
        "pop",
        "pop",
    ]
    assert done.stdout.splitlines() == (told if listens else [])
