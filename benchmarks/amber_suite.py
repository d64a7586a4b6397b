# SPDX-License-Identifier: Apache-2.0
"""The systems that Amber's developers publish speeds of: JAC, FactorIX, Cellulose and STMV.

    python benchmarks/amber_suite.py FOLDER [--systems jac,stmv] [--json FILE]

Each at constant energy, at constant volume and at constant pressure (both with Langevin-middle,
pressure by stochastic cell rescaling), with 2 fs and a cutoff of 0.8 nm as in the founding paper of
pmemd.cuda, and with 4 fs, repartitioned hydrogen masses and 0.9 nm as in the suite of Amber 20.
FOLDER has the inputs; where the original
files are not to be had, they are rebuilt with the same atoms, and relaxed first.  Times are means
of whole blocks, with list building and all other periodic work.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from provenance import provenance

import quiltmd

INPUTS = {
    "jac": ("jac_dhfr/prmtop", "jac_dhfr/inpcrd"),
    "factorix": ("factorix/factorix.parm7", "factorix/factorix_0.rst7"),
    "cellulose": ("cellulose/cellulose.top", "cellulose/cellulose.xtc"),
    "stmv": ("stmv/stmv.top", "stmv/stmv.xtc"),
}
TEMPERATURE = 300.0  # K
LARGEST_FORCE, ITERATIONS = 1000.0, 40  # kJ/mol/nm; of the minimisation before all
RELAXING = 4000  # steps of 2 fs at constant volume, and of NPT before it is timed
# fs, nm, amu of hydrogens (None: as in the force field)
SETTINGS = ((2.0, 0.8, None), (4.0, 0.9, 3.024))


def main() -> None:
    options = parse_options()
    results: list[dict[str, Any]] = []
    for name in options.systems.split(","):
        for row in rows(name, options):
            results.append(row)
            print(
                f"{name:10} {row['atoms']:8} {row['ensemble']} {row['timestep_fs']:g} fs "
                f"{row['microseconds_per_step']:9.1f} us {row['ns_per_day']:8.1f} ns/day",
                flush=True,
            )
            if options.json:
                document = {**provenance(), "device": options.device, "results": results}
                options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("folder", type=Path, help="of the inputs")
    add("--systems", default=",".join(INPUTS))
    add("--device", default="cuda")
    add("--seconds", type=float, default=5.0, help="timed at least so long, each")
    add("--relaxing", type=int, default=RELAXING, help="steps before each time")
    add("--json", type=Path)
    return parser.parse_args()


def rows(name: str, options: argparse.Namespace) -> Any:
    """The results of one system, one after the other."""
    files = [options.folder / file for file in INPUTS[name]]
    positions = None
    for timestep, cutoff, hydrogen_mass in SETTINGS:
        system, state = quiltmd.load(*files, constraints="h-bonds", hydrogen_mass=hydrogen_mass)
        nonbonded = quiltmd.Nonbonded(cutoff=cutoff)
        positions = positions or relaxed(system, state, nonbonded, options)
        for ensemble in ("NVE", "NVT", "NPT"):
            simulation = make(ensemble, (system, positions), nonbonded, timestep, options.device)
            simulation.draw_velocities(TEMPERATURE, seed=1)
            simulation.run(options.relaxing)
            seconds = seconds_of_a_step(simulation, options.seconds)
            yield {
                "system": name,
                "atoms": system.atoms,
                "ensemble": ensemble,
                "timestep_fs": timestep,
                "cutoff_nm": cutoff,
                "microseconds_per_step": 1e6 * seconds,
                "ns_per_day": 86400e-6 * timestep / seconds,
                "temperature": simulation.temperature(),
            }
            del simulation


def relaxed(
    system: quiltmd.System,
    state: quiltmd.State,
    nonbonded: quiltmd.Nonbonded,
    options: argparse.Namespace,
) -> quiltmd.State:
    """Without close contacts, and warm."""
    simulation = make("NVT", (system, state), nonbonded, 2.0, options.device)
    simulation.minimize(LARGEST_FORCE, ITERATIONS)
    simulation.draw_velocities(TEMPERATURE, seed=1)
    simulation.run(options.relaxing)
    warm = simulation.state()
    return quiltmd.State(warm.positions, warm.velocities, warm.box)


def make(
    ensemble: str,
    start: tuple[quiltmd.System, quiltmd.State],
    nonbonded: quiltmd.Nonbonded,
    timestep: float,
    device: str,
) -> quiltmd.Simulation:
    """A simulation in an ensemble; timestep in fs."""
    langevin = quiltmd.LangevinMiddle(TEMPERATURE, 1.0, timestep / 1000, seed=1)
    verlet = quiltmd.VelocityVerlet(timestep / 1000)
    return quiltmd.Simulation(
        *start,
        nonbonded,
        verlet if ensemble == "NVE" else langevin,
        barostat=quiltmd.CellRescaling(seed=1) if ensemble == "NPT" else None,
        device=device,
    )


def seconds_of_a_step(simulation: quiltmd.Simulation, least: float) -> float:
    """The mean over blocks of a second or so, `least` seconds in all."""
    begin = time.perf_counter()
    simulation.run(200)
    block = max(200, int(200 / (time.perf_counter() - begin)) // 200 * 200)
    steps, begin = 0, time.perf_counter()
    while (seconds := time.perf_counter() - begin) < least:
        simulation.run(block)
        steps += block
    return seconds / steps


if __name__ == "__main__":
    main()
