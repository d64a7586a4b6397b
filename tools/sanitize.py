#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the core with sanitizers and runs the unit tests, the conformance suite and a simulation.

    tools/sanitize.py address,undefined -O1 -O0
    tools/sanitize.py thread -O1

For each level of optimisation it builds a tree. At -O0 nothing is inlined, so functions and types
that have the same name but differ from one source file to another show; at -O1 more is found of
what optimisation makes of undefined behaviour. The trees (build/sanitize-*) are kept: a second call
compiles what has changed. JOBS=2 says how many compilers run at a time. The simulation runs on
several ranks with threads, in a Python that has the sanitizer's library loaded before it; leaks are
not looked for, since Python has many.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("quiltmd_unit_tests", "quiltmd_conformance", "_core")
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
# Tests ask for more memory than there can be, which is an error of ours and none of the sanitizer.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:allocator_may_return_null=1",
}
# A run of the engine on ranks with the core of a build tree, in place of the installed one.
SIMULATION = """
import importlib.util, sys
from pathlib import Path
tree, tests = sys.argv[1:]
core = next(Path(tree, "src").glob("_core*.so"))
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "quiltmd._core":
            return importlib.util.spec_from_file_location(name, core)
sys.meta_path.insert(0, Finder())
sys.path.insert(0, tests)
from boxes import water_box
import quiltmd
assert quiltmd.engine.execution.load_core().__file__ == str(core)
for ranks, integrator in ((1, quiltmd.VelocityVerlet()), (4, quiltmd.LangevinMiddle(seed=1))):
    simulation = quiltmd.Simulation(
        *water_box((9, 9, 9)), quiltmd.Nonbonded(cutoff=0.8), integrator,
        device="cpu", ranks=ranks, threads=2,
    )
    simulation.minimize(max_iterations=5)
    simulation.draw_velocities(300, seed=1)
    simulation.run(60)
    print(ranks, "rank(s):", simulation.energies()["potential"], "kJ/mol")
"""


def main() -> None:
    """Configures, builds, runs; exits with 1 where a program fails."""
    kinds, *levels = sys.argv[1:]
    failed = [f"{name} at {level}" for level in levels for name in _findings(kinds, level)]
    if failed:
        sys.exit("failed: " + ", ".join(failed))
    print(f"no findings of {kinds} at {' and '.join(levels)}")


def _findings(kinds: str, level: str) -> list[str]:
    """Builds with this optimisation and runs everything; the programs that failed."""
    tree = ROOT / "build" / f"sanitize-{kinds.replace(',', '-')}{level}"
    _build(kinds, level, tree)
    environment = {**os.environ, **OPTIONS}
    fixed = ["setarch", platform.machine(), "-R"] if kinds == "thread" else []  # addresses for TSan
    failed = []
    for program in sorted((tree / "tests" / "unit").glob("test_*")):
        if os.access(program, os.X_OK) and program.is_file():
            failed += _run([*fixed, program], environment)
    suite = tree / "tests" / "conformance" / "quiltmd_conformance"
    failed += _run([*fixed, suite, "cpu"], environment)
    library = subprocess.check_output(
        ["g++", f"-print-file-name={LIBRARIES[kinds.split(',')[0]]}"], text=True
    ).strip()
    simulation = [*fixed, sys.executable, "-c", SIMULATION, tree, ROOT / "tests" / "python"]
    return failed + _run(simulation, {**environment, "LD_PRELOAD": library})


def _build(kinds: str, level: str, tree: Path) -> None:
    cmake = _cmake()
    options = {
        "Python_EXECUTABLE": sys.executable,
        "QUILTMD_CUDA": "OFF",
        "QUILTMD_SANITIZE": kinds,
        "QUILTMD_SANITIZE_LEVEL": level,
    }
    defined = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run([cmake, "-S", ROOT, "-B", tree, "-G", "Ninja", *defined], check=True)
    jobs = os.environ.get("JOBS", "2")
    subprocess.run([cmake, "--build", tree, "-j", jobs, "--target", *TARGETS], check=True)


def _cmake() -> str:
    """The program that `make build` found, which need not be on PATH."""
    cache = (ROOT / "build" / "core" / "CMakeCache.txt").read_text()
    return next(line.partition("=")[2] for line in cache.split("\n") if "CMAKE_COMMAND:" in line)


def _run(command: list[object], environment: dict[str, str]) -> list[str]:
    """Runs a program; its name where it failed."""
    words = [str(word) for word in command]
    name = "simulation" if SIMULATION in words else next(Path(w).name for w in words if "/" in w)
    print("--", name, flush=True)
    return [name] if subprocess.run(words, env=environment).returncode else []


if __name__ == "__main__":
    main()
