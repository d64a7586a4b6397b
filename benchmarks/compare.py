# SPDX-License-Identifier: Apache-2.0
"""quiltmd and OpenMM side by side on one GPU: the same arrays, one after the other.

    python benchmarks/compare.py --systems dhfr,dhfr-2x2x1,dhfr-4x4x1,dhfr-3x3x5 --json out.json

Each engine and system is a process of its own, started by this one, so that neither shares GPU
memory or clocks with another.  Both run constant temperature (Langevin-middle, 300 K, 1/ps), PME at
the same tolerance, and fetch positions every 5,000 steps; OpenMM computes in mixed precision.
Times are averages over whole blocks, with list building and all other periodic work.  With
each time goes the relative rms error of the forces at the start, against double precision with an
Ewald sum converged to 1e-7: that of the single box, which is the same for every tile.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
from provenance import ROOT, gpu, provenance

import quiltmd
from quiltmd.engine.core import load_core
from quiltmd.openmm.write import to_openmm

TEMPERATURE = 300.0  # K
FRICTION = 1.0  # 1/ps
OUTPUT_EVERY = 5000  # steps
WARM_UP_STEPS = 500
LARGEST_FORCE = 200.0  # kJ/mol/nm, to which lattices of water are relaxed first
ENGINES = ("quiltmd", "openmm")


def main() -> None:
    options = parse_options()
    if options.worker:
        work(options)
        return
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.systems.split(","):
            reference = write_reference(name, options, Path(scratch))
            for engine in options.engines.split(","):
                results.append(run_worker(engine, name, reference, options))
                print(row(results[-1]), flush=True)
    print_table(results)
    if options.json:
        document = {**provenance(), "options": public(options), "results": results}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")
    sys.exit(any("error" in result for result in results))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--engines", default=",".join(ENGINES))
    add(
        "--systems",
        default="dhfr,dhfr-2x2x1,dhfr-4x4x1,dhfr-3x3x5",
        help="dhfr, apoa1, water<atoms>, alanine, trpzip2, dna; each may be tiled: dhfr-2x2x1",
    )
    add("--inputs", type=Path, default=default_inputs(), help="folder of the DHFR files")
    add("--seconds", type=float, default=10.0, help="timed at least so long")
    add("--timestep", type=float, default=0.004, help="ps")
    add("--hydrogen-mass", type=float, default=benchmark_systems.HYDROGEN_MASS,
        help="amu; 0: as in the force field")  # fmt: skip
    add("--cutoff", type=float, default=0.9, help="nm")
    add("--switch-distance", type=float, help="nm, where Lennard-Jones is switched off from")
    add(
        "--switching",
        default="potential",
        help="with --switch-distance, as in quiltmd.Nonbonded; OpenMM takes potential alone",
    )
    add("--pme-tolerance", type=float, default=5e-4)
    add("--pme-split", help="of quiltmd: prolate (its default) or gaussian")
    add("--coulomb-cutoff", type=float, help="of quiltmd, nm; default: its own")
    add("--pme-order", type=int, help="of quiltmd")
    add("--device", default="cuda", help="of quiltmd: cuda or cpu")
    add("--timeout", type=float, default=300.0, help="seconds for one engine and system")
    add("--json", type=Path)
    add("--worker", help=argparse.SUPPRESS)
    add("--reference", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def default_inputs() -> Path:
    return Path(os.environ.get("QUILTMD_BENCHMARK_INPUTS", ROOT.parent / "shared" / "data"))


def public(options: argparse.Namespace) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(options).items()
        if name not in ("worker", "reference", "json", "inputs")
    }


# ---- The process that compares -----------------------------------------------------------------


def run_worker(engine: str, name: str, reference: Path, options: argparse.Namespace) -> Any:
    """The result of one engine on one system; a failure is a result with "error"."""
    command = [sys.executable, __file__, *sys.argv[1:], "--worker", engine, "--systems", name]
    command += ["--reference", str(reference)]
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=options.timeout, check=True
        )
    except subprocess.SubprocessError as error:
        return {"system": name, "engine": engine, "error": str(error)}
    result = json.loads(done.stdout.splitlines()[-1])
    return result | {"seconds_in_all": time.perf_counter() - begin}


def write_reference(name: str, options: argparse.Namespace, folder: Path) -> Path:
    """Forces on the single box in double precision, as a file."""
    single = benchmark_systems.parse(name)[0]
    path = folder / f"{single}.npy"
    if not path.exists():
        system, state = benchmark_systems.build(single, options.inputs)
        np.save(path, converged_forces(system, state, options))
    return path


def settings_of(options: argparse.Namespace) -> quiltmd.Nonbonded:
    """The nonbonded settings of both programs."""
    switching = options.switching if options.switch_distance else "none"
    return quiltmd.Nonbonded(
        cutoff=options.cutoff,
        pme_tolerance=options.pme_tolerance,
        pme_split=options.pme_split,
        coulomb_cutoff=options.coulomb_cutoff,
        pme_order=options.pme_order,
        switching=switching,
        switch_distance=options.switch_distance,
    )


def converged_forces(
    system: quiltmd.System, state: quiltmd.State, options: argparse.Namespace
) -> np.ndarray:
    """Forces (N, 3), kJ/mol/nm, with Ewald errors below 1e-7 of their rms."""
    alpha = 4.2 / options.cutoff  # erfc(4.2) is 3e-9
    spacing = 0.22 / alpha
    settings = settings_of(options).resolve(state.box) | {
        "pme_order": 8,
        "pme_alpha": alpha,
        "pme_bandwidth": 0.0,
        "pme_window": 0.0,
        "coulomb_cutoff": options.cutoff,
        "pme_grid": tuple(
            int(np.ceil(edge / spacing)) for edge in np.linalg.norm(state.box, axis=1)
        ),
    }
    found = load_core().reference(system.arrays(), settings, state.box, state.positions)
    return np.asarray(found["forces"])


def row(result: dict[str, Any]) -> str:
    head = f"{result['system']:12s} {result['engine']:8s}"
    if "error" in result:
        return f"{head} failed: {result['error']}"
    lists = ""
    if result["engine"] == "quiltmd":
        lists = f"  lists {result['list_life']:.0f}, redone {result['early_rebuilds']:.0f}"
    return (
        f"{head} {result['atoms']:8d} {result['microseconds_per_step']:9.1f} us/step "
        f"{result['ns_per_day']:8.1f} ns/day {result['gpu_memory'] or 0:7.0f} MiB  force error "
        f"{result['force_error']:.1e}  {result['temperature']:5.1f} K"
        f"  in all {result['seconds_in_all']:.0f} s{lists}"
    )


def print_table(results: list[dict[str, Any]]) -> None:
    """All results as a table, with ratios."""
    print("\nsystem        atoms     engine     us/step    ns/day  speed  MiB     force error")
    speeds = {r["system"]: r["ns_per_day"] for r in results if r["engine"] == ENGINES[1] and
              "error" not in r}  # fmt: skip
    for r in results:
        if "error" in r:
            print(f"{r['system']:13s} {'':9s} {r['engine']:8s}   failed")
            continue
        peer = speeds.get(r["system"])
        ratio = f"{r['ns_per_day'] / peer:.2f}" if peer else "-"
        speed = f"{r['microseconds_per_step']:9.1f} {r['ns_per_day']:9.1f}  {ratio:>5s}"
        memory = f"{r['gpu_memory'] or 0:<6.0f}"
        head = f"{r['system']:13s} {r['atoms']:<9d} {r['engine']:8s}"
        print(f"{head} {speed}  {memory}  {r['force_error']:.1e}")


# ---- A worker ----------------------------------------------------------------------------------


def work(options: argparse.Namespace) -> None:
    """One engine on one system; the result as the last line of stdout."""
    idle = gpu().get("memory.used")
    single, tile = benchmark_systems.parse(options.systems)
    system, state = benchmark_systems.build(single, options.inputs, options.hydrogen_mass or None)
    reference = np.tile(np.load(options.reference), (int(np.prod(tile)), 1))
    begin = time.perf_counter()
    make = {"quiltmd": QuiltmdRun, "openmm": OpenmmRun}[options.worker]
    run = make(system.tile(*tile), state.tile(*tile), options)
    error = float(np.linalg.norm(run.forces() - reference) / np.linalg.norm(reference))
    if single == "apoa1" or single.startswith("water"):
        run.relax()
    run.warm()
    setup = time.perf_counter() - begin
    steps, seconds = timed(run.advance, options.seconds)
    now = gpu()
    used = now.get("memory.used")
    result = {
        **run.facts(),
        "system": options.systems,
        "engine": options.worker,
        "engine_version": run.version,
        "atoms": len(reference),
        "steps": steps,
        "seconds": seconds,
        "microseconds_per_step": 1e6 * seconds / steps,
        "ns_per_day": 86.4 * options.timestep * steps / seconds,
        "force_error": error,
        "temperature": run.temperature(),
        "gpu_memory": used - idle if used is not None and idle is not None else None,
        "gpu_after": now,
        "setup_seconds": setup,
    }
    print(json.dumps(result), flush=True)


def timed(advance: Callable[[int], None], least: float) -> tuple[int, float]:
    """Steps and seconds of blocks of about a second, at least `least` seconds in all."""
    begin = time.perf_counter()
    advance(100)
    block = max(100, int(100 / (time.perf_counter() - begin)) // 100 * 100)
    steps, begin = 0, time.perf_counter()
    while (seconds := time.perf_counter() - begin) < least:
        advance(block)
        steps += block
    return steps, seconds


class CopyState:
    """Reporter that fetches positions, as trajectory output does."""

    every = OUTPUT_EVERY
    needs = ("positions",)

    def report(self, frame: quiltmd.Readout, /) -> None:
        frame.positions()


class QuiltmdRun:
    """quiltmd, whose calls return when the steps are done."""

    version = quiltmd.__version__

    def __init__(
        self, system: quiltmd.System, state: quiltmd.State, options: argparse.Namespace
    ) -> None:
        self.simulation = quiltmd.Simulation(
            system,
            state,
            settings_of(options),
            quiltmd.LangevinMiddle(TEMPERATURE, FRICTION, options.timestep, seed=0),
            device=options.device,
        )

    def forces(self) -> np.ndarray:
        return self.simulation.forces()

    def relax(self) -> None:
        self.simulation.minimize(LARGEST_FORCE)

    def warm(self) -> None:
        self.simulation.draw_velocities(TEMPERATURE, 1)
        self.advance(WARM_UP_STEPS)

    def advance(self, steps: int) -> None:
        self.simulation.run(steps, [CopyState()])

    def temperature(self) -> float:
        return self.simulation.temperature()

    def facts(self) -> dict[str, Any]:
        described = self.simulation.describe()
        return {name: value for name, value in described.items() if name != "devices"}


class OpenmmRun:
    """OpenMM on the CUDA platform, mixed precision."""

    def __init__(
        self, system: quiltmd.System, state: quiltmd.State, options: argparse.Namespace
    ) -> None:
        preload_cuda_libraries()
        import openmm

        made = to_openmm(system, settings_of(options), state.box)
        made.addForce(openmm.CMMotionRemover(100))
        self.openmm = openmm
        self.version = openmm.version.version
        self.integrator = openmm.LangevinMiddleIntegrator(TEMPERATURE, FRICTION, options.timestep)
        self.context = openmm.Context(
            made,
            self.integrator,
            openmm.Platform.getPlatformByName("CUDA"),
            {"Precision": "mixed"},
        )
        self.context.setPositions(state.positions)
        self.degrees_of_freedom = system.degrees_of_freedom - 3
        self.step = 0

    def forces(self) -> np.ndarray:
        state = self.context.getState(getForces=True)
        return np.asarray(state.getForces(asNumpy=True)._value)

    def relax(self) -> None:
        self.openmm.LocalEnergyMinimizer.minimize(self.context, LARGEST_FORCE)

    def warm(self) -> None:
        self.context.setVelocitiesToTemperature(TEMPERATURE, 1)
        self.advance(WARM_UP_STEPS)

    def advance(self, steps: int) -> None:
        end = self.step + steps
        while self.step < end:
            now = min(end, (self.step // OUTPUT_EVERY + 1) * OUTPUT_EVERY) - self.step
            self.integrator.step(now)
            self.step += now
            if self.step % OUTPUT_EVERY == 0:
                self.context.getState(getPositions=True).getPositions(asNumpy=True)
        self.context.getState(getEnergy=True)

    def temperature(self) -> float:
        kinetic = self.context.getState(getEnergy=True).getKineticEnergy()._value
        return float(2 * kinetic / (self.degrees_of_freedom * 0.00831446261815324))

    def facts(self) -> dict[str, Any]:
        platform = self.context.getPlatform()
        names = ("DeviceName", "Precision")
        return {name: platform.getPropertyValue(self.context, name) for name in names}


def preload_cuda_libraries() -> None:
    """Load what OpenMM's CUDA plugin links to from where pip or the toolkit has put it.

    The plugin looks only beside itself; libraries already loaded are found by name.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or []) if spec else []
    roots = [Path(folder) for folder in folders] + [Path("/usr/local/cuda")]
    for name in ("libnvJitLink.so.13", "libnvrtc.so.13", "libcufft.so.12"):
        found = (p for root in roots if root.is_dir() for p in root.rglob(name))
        path = next(found, None)
        if path is not None:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


if __name__ == "__main__":
    main()
