# SPDX-License-Identifier: Apache-2.0
"""Builds a program of the kernel workshop, and its variants, into build/kernels.

    make build && python3 benchmarks/kernels/build.py pairs [--no-variants]

Variants are sources with pieces of text replaced, so that the sources themselves stay free of
switches; a variant that wins is written into them.  Programs link what `make build` has compiled;
of a variant only the changed family of kernels is compiled anew.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "build" / "core"
OUT = ROOT / "build" / "kernels"
FLAGS = [
    "-std=c++20", "-O3", "-arch=sm_90", "-fmad=false", "--expt-relaxed-constexpr",
    "-cudart=static", "-Xcompiler=-ffp-contract=off,-O2",
]  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """Kernels with `changes` (file under src, old text, new text) applied."""

    name: str
    changes: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Program:
    """The kernels (files under src) that a program's variants change, and these variants.

    None: the program includes its kernels itself.
    """

    kernels: str | None
    variants: tuple[Variant, ...]


PAIRS = "computes/nonbonded/cuda_pairs.cu"
STORE = "    add_fixed(k.op.slots.force[c] + j.slot, fixed);\n"
STAGES = "integrators/cuda.cu"
TILES = "integrators/cuda_tiles.cuh"
PLANES = "computes/long_range/pme/cuda_transform.cu"
CONVOLVE = "computes/long_range/pme/cuda_convolve.cu"
SHAPE = "computes/long_range/pme/cuda_shape.cuh"
MAX_LANES = "kMaxLaneBlocks = 2"
TILES_SERVE = "return context.early_start"
TILE_BOUNDS = "__launch_bounds__(kTileThreads)"
PLANE_SIZE = "kPlaneThreads = 256, kPlaneRegisters = 96"

PAIR_VARIANTS = (
    Variant("no_release", ((PAIRS, "  release_next();\n", ""),)),
    Variant("no_store", ((PAIRS, STORE, ""),)),
)
INTEGRATE_VARIANTS = (
    Variant("threads", ((STAGES, MAX_LANES, "kMaxLaneBlocks = 0"),
                        (STAGES, TILES_SERVE, "return false && context.early_start"))),
    Variant("tiles", ((STAGES, MAX_LANES, "kMaxLaneBlocks = 0"),)),
    Variant("lanes", ((STAGES, MAX_LANES, "kMaxLaneBlocks = 1 << 20"),)),
    Variant("5_blocks", ((TILES, "kTileBlocks = 4", "kTileBlocks = 5"),
                         (TILES, "kTileSlots = 4 * kTileGroups", "kTileSlots = 104"))),
)  # fmt: skip
PME_VARIANTS = (
    Variant("3_tiles", ((PLANES, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 3)"),
                       (CONVOLVE, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 3)"),
                       (PLANES, PLANE_SIZE, "kPlaneThreads = 512, kPlaneRegisters = 64"))),
    Variant("4_tiles", ((PLANES, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 4)"),
                       (CONVOLVE, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 4)"),
                       (PLANES, PLANE_SIZE, "kPlaneThreads = 512, kPlaneRegisters = 128"))),
    Variant("narrow", ((SHAPE, "int width = 32", "int width = 8"),
                       (SHAPE, "kTileThreads = 256", "kTileThreads = 128"),
                       (SHAPE, "kTileRows = 32", "kTileRows = 16"))),
)  # fmt: skip
NEXT = "    next = load_entry(k, following + k.lane);\n"
MEETING = "kEnergy>(k, j, sums);\n    round"
QUEUE_VARIANTS = (
    Variant("yield", (
        (PAIRS, NEXT, NEXT + "    const int chain = read_chain_blocks();\n"),
        (PAIRS, MEETING, MEETING.replace("round", "give_way(chain);\n    round")),
    )),
)  # fmt: skip

PROGRAMS = {
    "pairs": Program("computes/nonbonded/cuda*.cu", PAIR_VARIANTS),
    "pme": Program("computes/long_range/pme/cuda*.cu", PME_VARIANTS),
    "queue": Program(None, QUEUE_VARIANTS),
    "fused": Program(None, ()),
    "integrate": Program("integrators/cuda*.cu", INTEGRATE_VARIANTS),
}


def changed_tree(variant: Variant) -> Path:
    """A copy of src with the changes of a variant; returns its folder."""
    tree = OUT / "src" / variant.name
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "src", tree)
    for file, old, new in variant.changes:
        text = (tree / file).read_text()
        if old not in text:
            sys.exit(f"variant {variant.name}: {file} no longer has {old!r}")
        (tree / file).write_text(text.replace(old, new))
    return tree


def core_archive() -> Path:
    """What `make build` has compiled, without the bindings, as one archive."""
    cache = CORE / "CMakeCache.txt"
    found = cache.is_file() and re.search(r"^CMAKE_COMMAND:.*=(.*)$", cache.read_text(), re.M)
    if not found:
        sys.exit("build/core is absent: run `make build` first")
    cmake = found[1] if Path(found[1]).is_file() else "cmake"
    subprocess.run([cmake, "--build", str(CORE), "--target", "quiltmd_archive"], check=True)
    return CORE / "benchmarks" / "kernels" / "libquiltmd_archive.a"


def build(name: str, variants: tuple[Variant, ...]) -> None:
    """Makes build/kernels/<name>, and build/kernels/<name>_<variant> for each variant."""
    program, archive = PROGRAMS[name], core_archive()
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob(f"{name}_*"):  # variants that there may be no longer
        old.unlink()

    def compile_one(variant: Variant | None) -> None:
        tree = changed_tree(variant) if variant else ROOT / "src"
        changed = sorted(tree.glob(program.kernels)) if variant and program.kernels else []
        target = OUT / (f"{name}_{variant.name}" if variant else name)
        source = ROOT / "benchmarks" / "kernels" / f"{name}.cu"
        # What the archive would define as well is found in the changed objects first.
        files = [source, *changed, archive]
        command = ["nvcc", f"-I{tree}", *FLAGS, "-t", "2", "-o", str(target), *map(str, files)]
        subprocess.run(command, check=True)

    with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) // 2)) as pool:
        list(pool.map(compile_one, (None, *variants)))


if __name__ == "__main__":
    build(sys.argv[1], () if "--no-variants" in sys.argv[2:] else PROGRAMS[sys.argv[1]].variants)
