# SPDX-License-Identifier: Apache-2.0
"""Implicit solvent without a cutoff, quiltmd and OpenMM side by side on one GPU.

    python benchmarks/implicit_solvent.py FOLDER [--json benchmarks/results/implicit-solvent.json]

FOLDER has Amber's two benchmarks of generalized Born: myoglobin_gb (2,492 atoms, HCT) and
nucleosome_gb (25,095 atoms, OBC2 with 0.1 mol/l of salt), each with a topology and coordinates; the
restraints of the nucleosome's control file are left out.  Both programs run Langevin-middle at
300 K and 1/ps with 2 fs and bonds to hydrogen constrained, OpenMM on its CUDA platform in mixed
precision.  Each program and system is a process of its own, one after the other, as often as
--rounds says; a time is the best of them, and each is a mean over whole blocks with all periodic
work.  With the times go both programs' potential energies at the start, and how long each kernel of
quiltmd takes by itself, from a profile after the timed steps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from provenance import provenance

import quiltmd

# Topology, coordinates, model, salt (mol/l).
INPUTS: dict[str, tuple[str, str, Any, float]] = {
    "myoglobin": ("myoglobin_gb/prmtop", "myoglobin_gb/inpcrd", "hct", 0.0),
    "nucleosome": ("nucleosome_gb/nucleosome.parm7", "nucleosome_gb/inpcrd", "obc2", 0.1),
}
ENGINES = ("quiltmd", "openmm")
TEMPERATURE, FRICTION = 300.0, 1.0  # K, 1/ps
TIMESTEP = 0.002  # ps
MINIMISED_TO, ITERATIONS = 100.0, 100  # kJ/mol/nm
WARM_UP_STEPS = 200
PROFILED_STEPS = 200


def main() -> None:
    options = parse_options()
    if options.worker:
        engine = time_quiltmd if options.worker == "quiltmd" else time_openmm
        print(json.dumps(engine(options.systems, options)))
        return
    results = []
    for name in options.systems.split(","):
        best: dict[str, Any] = {}
        for _ in range(options.rounds):
            for engine_name in ENGINES:
                row = run_worker(engine_name, name, options)
                show(name, engine_name, row)
                known = best.get(engine_name)
                if not known or row["seconds_per_step"] < known["seconds_per_step"]:
                    best[engine_name] = row
        ratio = best["quiltmd"]["ns_per_day"] / best["openmm"]["ns_per_day"]
        print(f"{name:11} quiltmd is {ratio:.2f} times as fast as OpenMM", flush=True)
        results.append({"system": name, "ratio": ratio, **best})
    if options.json:
        document = {**provenance(), "device": options.device, "results": results}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("folder", type=Path, help="of the inputs")
    add("--systems", default=",".join(INPUTS))
    add("--seconds", type=float, default=5.0, help="timed at least so long, each")
    add("--rounds", type=int, default=2, help="how often each program is timed")
    add("--device", default="cuda", help="of quiltmd")
    add("--platform", default="CUDA", help="of OpenMM")
    add("--timeout", type=float, default=300.0, help="seconds for one program and system")
    add("--json", type=Path)
    add("--worker", choices=ENGINES, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_worker(engine: str, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The result of one program on one system, in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--worker", engine, "--systems", name]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, timeout=options.timeout, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(name: str, engine: str, row: dict[str, Any]) -> None:
    print(
        f"{name:11} {engine:8} {row['atoms']:6} atoms {1e6 * row['seconds_per_step']:9.1f} us "
        f"{row['ns_per_day']:8.1f} ns/day, {row['potential']:.2f} kJ/mol at the start",
        flush=True,
    )
    if row.get("redone"):
        print(f"    {row['redone']:.0f} stretches of steps were redone", flush=True)
    for kernel, seconds in list(row.get("kernels", {}).items())[:12]:
        print(f"    {kernel:32} {1e6 * seconds:9.2f} us a step", flush=True)


def time_quiltmd(name: str, options: argparse.Namespace) -> dict[str, Any]:
    topology, coordinates, model, salt = INPUTS[name]
    system, state = quiltmd.load(
        options.folder / topology,
        options.folder / coordinates,
        solvent=quiltmd.ImplicitSolvent(model, salt),
        constraints="h-bonds",
    )
    integrator = quiltmd.LangevinMiddle(TEMPERATURE, FRICTION, TIMESTEP, seed=1)
    simulation = quiltmd.Simulation(system, state, integrator=integrator, device=options.device)
    potential = simulation.energies()["potential"]
    simulation.minimize(MINIMISED_TO, ITERATIONS)
    simulation.draw_velocities(TEMPERATURE, seed=1)
    simulation.run(WARM_UP_STEPS)
    seconds = seconds_of_a_step(simulation.run, options.seconds)
    temperature = simulation.temperature()
    kernels = seconds_of_kernels(simulation)
    redone = simulation.describe()["early_rebuilds"]
    found = result(system.atoms, potential, seconds, temperature)
    return {**found, "redone": redone, "kernels": kernels}


def seconds_of_kernels(simulation: quiltmd.Simulation) -> dict[str, float]:
    """Seconds a step by name, the longest first."""
    simulation.start_profile()
    simulation.run(PROFILED_STEPS)
    seconds: dict[str, float] = {}
    for call in simulation.stop_profile():
        took = (call["end"] - call["begin"]) / PROFILED_STEPS
        seconds[call["name"]] = seconds.get(call["name"], 0.0) + took
    return dict(sorted(seconds.items(), key=lambda named: -named[1]))


def time_openmm(name: str, options: argparse.Namespace) -> dict[str, Any]:
    import openmm
    from openmm import app, unit

    topology, coordinates, model, salt = INPUTS[name]
    prmtop = app.AmberPrmtopFile(str(options.folder / topology))
    system = prmtop.createSystem(
        nonbondedMethod=app.NoCutoff,
        constraints=app.HBonds,
        implicitSolvent={"hct": app.HCT, "obc2": app.OBC2}[model],
        implicitSolventSaltConc=salt * unit.molar,
        sasaMethod=None,
    )
    integrator = openmm.LangevinMiddleIntegrator(
        TEMPERATURE * unit.kelvin, FRICTION / unit.picosecond, TIMESTEP * unit.picosecond
    )
    integrator.setConstraintTolerance(1e-6)
    platform = openmm.Platform.getPlatformByName(options.platform)
    settings = {"Precision": "mixed"} if options.platform == "CUDA" else {}
    context = openmm.Context(system, integrator, platform, settings)
    inpcrd = app.AmberInpcrdFile(str(options.folder / coordinates))
    context.setPositions(inpcrd.positions)
    kilojoule = unit.kilojoule_per_mole

    def potential() -> float:
        energy: float = context.getState(getEnergy=True).getPotentialEnergy()._value
        return energy

    begin = potential()
    openmm.LocalEnergyMinimizer.minimize(
        context, MINIMISED_TO * kilojoule / unit.nanometer, ITERATIONS
    )
    context.setVelocitiesToTemperature(TEMPERATURE * unit.kelvin, 1)

    def run(steps: int) -> None:
        integrator.step(steps)
        context.getState(getVelocities=True)  # waits for the GPU

    run(WARM_UP_STEPS)
    seconds = seconds_of_a_step(run, options.seconds)
    kinetic = context.getState(getEnergy=True).getKineticEnergy()._value
    degrees = 3 * system.getNumParticles() - system.getNumConstraints()
    return result(
        system.getNumParticles(), begin, seconds, 2 * kinetic / (degrees * 0.00831446261815324)
    )


def seconds_of_a_step(run: Callable[[int], None], least: float) -> float:
    """The mean over blocks of a second or so, `least` seconds in all."""
    begin = time.perf_counter()
    run(100)
    block = max(100, int(100 / (time.perf_counter() - begin)) // 100 * 100)
    steps, begin = 0, time.perf_counter()
    while (seconds := time.perf_counter() - begin) < least:
        run(block)
        steps += block
    return seconds / steps


def result(atoms: int, potential: float, seconds: float, temperature: float) -> dict[str, Any]:
    return {
        "atoms": atoms,
        "potential": potential,
        "seconds_per_step": seconds,
        "ns_per_day": 86.4 * TIMESTEP / seconds,
        "temperature": temperature,
    }


if __name__ == "__main__":
    main()
