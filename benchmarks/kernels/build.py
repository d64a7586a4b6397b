# SPDX-License-Identifier: Apache-2.0
"""Builds a program of the kernel workshop into build/kernels.

    python3 benchmarks/kernels/build.py pairs

Variants of the pair kernel are the source with pieces of text replaced, so that the source itself
stays free of switches; a variant that wins is written into it.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "kernels"
FLAGS = [
    "-std=c++20", "-O3", "-arch=sm_90", "-fmad=false", "--expt-relaxed-constexpr",
    "-cudart=static", "-Xcompiler=-ffp-contract=off,-O2", f"-I{ROOT}/src", f"-I{OUT}",
]  # fmt: skip
PAIR_SOURCE = ROOT / "src/computes/nonbonded/cuda_pairs.cu"


@dataclass(frozen=True)
class Variant:
    """The pair kernel with `changes` (old text, new text) applied."""

    name: str
    changes: tuple[tuple[str, str], ...] = ()


NO_RELEASE = ("  release_next();\n", "")

PAIR_VARIANTS = (
    Variant("source"),
    Variant("no_release", (NO_RELEASE,)),
    Variant("no_store", (("    add_fixed(k.op.slots.force[c] + j.slot, fixed);\n", ""),)),
)


def write_variants() -> list[Path]:
    """Writes a source per variant and the table that names them; returns the sources."""
    source = PAIR_SOURCE.read_text()
    files, table, declarations = [], [], []
    for variant in PAIR_VARIANTS:
        text = source
        for old, new in variant.changes:
            if old not in text:
                sys.exit(f"variant {variant.name}: the source no longer has {old!r}")
            text = text.replace(old, new)
        text = text.replace("namespace pairs", f"namespace pairs_{variant.name}")
        text = text.replace("pairs::", f"pairs_{variant.name}::")
        opening = f"namespace pairs_{variant.name} {{"
        text = text.replace(opening, opening + "\nusing namespace quiltmd::pairs;", 1)
        text = text.replace("void pair_forces(", f"void pair_forces_{variant.name}(")
        path = OUT / f"pairs_{variant.name}.cu"
        path.write_text(text)
        files.append(path)
        function = f"pair_forces_{variant.name}"
        declarations.append(f"void {function}(const PairForces&, CudaContext&);")
        table.append(f'{{"{variant.name}", {function}}}')
    lines = [
        "#pragma once",
        "#include <vector>",
        '#include "computes/nonbonded/operations.h"',
        '#include "device/cuda/context.h"',
        "namespace quiltmd {",
        *declarations,
        "struct PairVariant { const char* name; void (*run)(const PairForces&, CudaContext&); };",
        f"inline std::vector<PairVariant> pair_variants() {{ return {{{', '.join(table)}}}; }}",
        "}  // namespace quiltmd",
    ]
    (OUT / "variants.h").write_text("\n".join(lines) + "\n")
    return files


def build_pairs() -> None:
    """Compiles and links build/kernels/pairs."""
    sources = [
        ROOT / "benchmarks/kernels/pairs.cu", PAIR_SOURCE,
        ROOT / "src/computes/nonbonded/cuda_lists.cu",
        ROOT / "src/decomposition/cuda_layout.cu",
        ROOT / "src/decomposition/patch_grid.cpp", ROOT / "src/computes/nonbonded/pair_physics.cpp",
        ROOT / "src/device/device.cpp", *write_variants(),
    ]  # fmt: skip
    command = ["nvcc", *FLAGS, "-t", "2", "-o", str(OUT / "pairs"), *map(str, sources)]
    subprocess.run(command, check=True)


@dataclass(frozen=True)
class ProgramVariant:
    """A workshop program with `changes` (file under src, old text, new text) applied."""

    name: str
    changes: tuple[tuple[str, str, str], ...] = ()


STAGES = "integrators/cuda.cu"
STAGING = "integrators/cuda_staging.cuh"
TERMS = "computes/bonded/cuda.cu"
PLANES = "computes/pme/cuda_transform.cu"
CONVOLVE = "computes/pme/cuda_convolve.cu"
SHAPE = "computes/pme/cuda_shape.cuh"
MOST_LANES = "kMostLaneBlocks = 2"
TILE_BOUNDS = "__launch_bounds__(kTileThreads)"
PLANE_SIZE = "kPlaneThreads = 256, kPlaneRegisters = 96"

INTEGRATE_VARIANTS = (
    ProgramVariant("threads", ((STAGES, MOST_LANES, "kMostLaneBlocks = 0"),)),
    ProgramVariant("lanes", ((STAGES, MOST_LANES, "kMostLaneBlocks = 1 << 20"),)),
    ProgramVariant("5_blocks", ((STAGING, "EveryStep = 4", "EveryStep = 5"),)),
)
PME_VARIANTS = (
    ProgramVariant("3_tiles", ((PLANES, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 3)"),
                               (CONVOLVE, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 3)"),
                               (PLANES, PLANE_SIZE, "kPlaneThreads = 512, kPlaneRegisters = 64"))),
    ProgramVariant("4_tiles", ((PLANES, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 4)"),
                               (CONVOLVE, TILE_BOUNDS, "__launch_bounds__(kTileThreads, 4)"),
                               (PLANES, PLANE_SIZE, "kPlaneThreads = 512, kPlaneRegisters = 128"))),
    ProgramVariant("narrow", ((SHAPE, "int width = 32", "int width = 8"),
                              (SHAPE, "kTileThreads = 256", "kTileThreads = 128"),
                              (SHAPE, "kTileRows = 32", "kTileRows = 16"))),
)  # fmt: skip


def changed_tree(variant: ProgramVariant) -> Path:
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


def build_program(name: str, variants: tuple[ProgramVariant, ...], *patterns: str) -> None:
    """Compiles and links benchmarks/kernels/<name>.cu with the sources that match the patterns.

    As it is and once for each variant, to build/kernels/<name>[_<variant>].
    """
    for variant in (None, *variants):
        tree = changed_tree(variant) if variant else ROOT / "src"
        program = f"{name}_{variant.name}" if variant else name
        sources = [path for pattern in patterns for path in sorted(tree.glob(pattern))]
        command = [
            "nvcc", f"-I{tree}", *FLAGS, f"-I{ROOT}/third_party/pocketfft", "-t", "2", "-o",
            str(OUT / program), str(ROOT / f"benchmarks/kernels/{name}.cu"), *map(str, sources),
        ]  # fmt: skip
        subprocess.run(command, check=True)


def build_pme() -> None:
    """Compiles and links build/kernels/pme and its variants."""
    build_program("pme", PME_VARIANTS, "computes/pme/cuda*.cu", "computes/pme/reference.cpp",
                  "computes/pme/setup.cpp", "device/device.cpp")  # fmt: skip


def build_integrate() -> None:
    """Compiles and links build/kernels/integrate and its variants."""
    build_program("integrate", INTEGRATE_VARIANTS, "integrators/cuda*.cu",
                  "integrators/group_shapes.cpp", "computes/bonded/cuda*.cu",
                  "device/device.cpp")  # fmt: skip


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    builders = {"pairs": build_pairs, "pme": build_pme, "integrate": build_integrate}
    builders[sys.argv[1]]()
