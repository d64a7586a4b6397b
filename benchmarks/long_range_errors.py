# SPDX-License-Identifier: Apache-2.0
"""Errors of forces of the fast multipole method, and of PME, for biomolecules in periodic boxes.

    python benchmarks/long_range_errors.py --inputs FOLDER [--systems apoa1,membrane,dna]
        [--tolerances 1e-3,5e-4,1e-5] [--picoseconds 4]

Each system runs for so long at 300 K first, since structures are not at equilibrium as they are
prepared.  The reference is `quiltmd.reference`, in double precision, with PME and a tolerance of
10^-6; errors are relative to the root mean square of forces.

`apoa1` is that of benchmark_systems.py, from the folder, `membrane` the POPC bilayer there, and
`dna` is what `quiltmd prepare dna.pdb --out FOLDER/dna/prepared` makes of a DNA, with its ions.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import benchmark_systems
import numpy as np

import quiltmd
from quiltmd import LangevinMiddle, Nonbonded, Simulation

EXACT = Nonbonded(pme_order=5, pme_tolerance=1e-6)
THERMOSTAT = LangevinMiddle(300.0, 5.0, 0.002, seed=1)


def dna(inputs: Path) -> benchmark_systems.Pair:
    """A structure that `quiltmd prepare` has prepared."""
    structure = inputs / "dna" / "prepared" / "system.cif"
    force_field = ["amber14-all.xml", "amber14/tip3p.xml"]
    return quiltmd.load(structure, structure, parameters=force_field, constraints="h-bonds")


def build(name: str, inputs: Path) -> benchmark_systems.Pair:
    if name == "dna":
        return dna(inputs)
    if name == "membrane":
        return benchmark_systems.membrane(inputs / "membrane.npz")
    return benchmark_systems.build(name, inputs)


def at_equilibrium(
    system: quiltmd.System, start: quiltmd.State, picoseconds: float
) -> quiltmd.State:
    simulation = Simulation(system, start, Nonbonded(), THERMOSTAT, device="cpu")
    simulation.minimize()
    simulation.draw_velocities(300.0)
    simulation.run(round(picoseconds / THERMOSTAT.timestep))
    return simulation.state()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--systems", default="apoa1,membrane,dna")
    parser.add_argument("--tolerances", default="1e-3,5e-4,1e-5")
    parser.add_argument("--picoseconds", type=float, default=4.0)
    options = parser.parse_args()
    for name in options.systems.split(","):
        system, start = build(name, options.inputs)
        state = at_equilibrium(system, start, options.picoseconds)
        began = time.monotonic()
        exact = quiltmd.reference(system, state, EXACT)[1]
        rms = float(np.sqrt((exact**2).sum(axis=1).mean()))
        print(
            f"{name}, {len(system.charges):,} atoms, rms force {rms:.0f} kJ/mol/nm, "
            f"reference {time.monotonic() - began:.0f} s",
            flush=True,
        )
        for tolerance in map(float, options.tolerances.split(",")):
            for method in ("fmm", "pme"):
                settings = (
                    Nonbonded(method="fmm", fmm_tolerance=tolerance)
                    if method == "fmm"
                    else Nonbonded(pme_tolerance=tolerance)
                )
                found = quiltmd.reference(system, state, settings)[1]
                error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
                grid = settings.resolve(state.box)["pme_grid"]
                print(f"  {tolerance:.0e} {method} {grid}: {error:.2e}", flush=True)


if __name__ == "__main__":
    main()
