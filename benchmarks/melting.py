# SPDX-License-Identifier: Apache-2.0
"""Whether a crystal grows or melts where it touches its liquid: brackets of a melting point.

    python benchmarks/melting.py Cu_u3.eam Cu 0.3615 1150 1550 [--cells 5] [--picoseconds 40]

A face-centred cubic crystal at the temperature and 1 bar, and a liquid with the same cross section
are put on each other; then only the length of the box changes.  Printed are mean potential energies
of an atom, eV: of the crystal alone, of the liquid alone, and of both together as time goes by,
which approach one of them.
"""

from __future__ import annotations

import argparse

import numpy as np

import quiltmd

EV = 96.48533212331002  # kJ/mol
FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
SOFT, STEP = 7e-7, 0.002  # compressibility, 1/bar; ps
HOT, GAP = 3500.0, 0.2  # K, to melt at once; nm between the halves at first
ALONE = 5000  # steps, for the energies of crystal and liquid alone
BETWEEN = 50  # steps between energies of which means are taken


class Metal:
    """Simulations of one element at 1 bar."""

    def __init__(self, file: str, element: str) -> None:
        self.potential, self.element = quiltmd.read_eam(file), element

    def simulation(
        self, places: np.ndarray, box: np.ndarray, kelvin: float, along_z: bool
    ) -> quiltmd.Simulation:
        """`along_z`: only the length of the box changes."""
        system = quiltmd.embedded_system(self.potential, [self.element] * len(places))
        barostat = quiltmd.CellRescaling(
            pressure=1,
            compressibility=(0.0, 0.0, SOFT) if along_z else SOFT,
            coupling="anisotropic" if along_z else "isotropic",
            time_constant=0.5,
            seed=1,
        )
        return quiltmd.Simulation(
            system,
            quiltmd.State.start(system, places, box),
            integrator=quiltmd.LangevinMiddle(kelvin, 2.0, STEP, seed=1),
            barostat=barostat,
        )


def mean_energy(simulation: quiltmd.Simulation, steps: int) -> float:
    """Of an atom, while the simulation runs these steps."""
    found = []
    for _ in range(steps // BETWEEN):
        simulation.run(BETWEEN)
        found.append(simulation.energies()["potential"] / simulation.system.atoms / EV)
    return float(np.mean(found))


def inside(places: np.ndarray, box: np.ndarray) -> np.ndarray:
    edges = np.diag(box)
    return places - np.floor(places / edges) * edges


def crystal(metal: Metal, constant: float, cells: int, kelvin: float) -> quiltmd.State:
    """At equilibrium, in a cube of the mean size."""
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + FCC).reshape(-1, 3) * constant
    run = metal.simulation(places, np.eye(3) * cells * constant, kelvin, along_z=False)
    run.draw_velocities(kelvin, 1)
    run.run(1500)
    edges = []
    for _ in range(20):
        run.run(50)
        edges.append(run.state().box[0, 0])
    constant = np.mean(edges) / cells
    state = run.state()
    print(f"{kelvin:g} K: crystal {mean_energy(run, ALONE):.3f} eV, constant {constant:.4f} nm")
    scaled = inside(state.positions, state.box) * np.mean(edges) / state.box[0, 0]
    return quiltmd.State.start(run.system, scaled, np.eye(3) * np.mean(edges))


def liquid(metal: Metal, solid: quiltmd.State, kelvin: float) -> quiltmd.State:
    """At equilibrium, with the cross section of the crystal."""
    state = solid
    for heat, steps in ((HOT, 4000), (max(kelvin, 1500.0), 2000), (kelvin, 5000)):
        run = metal.simulation(state.positions, state.box, heat, along_z=True)
        run.draw_velocities(heat, 2)
        run.run(steps)
        state = run.state()
    print(f"{kelvin:g} K: liquid {mean_energy(run, ALONE):.3f} eV", flush=True)
    return run.state()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("potential")
    parser.add_argument("element")
    parser.add_argument("constant", type=float, help="lattice constant, nm")
    parser.add_argument("temperatures", type=float, nargs="+")
    parser.add_argument("--cells", type=int, default=5)
    parser.add_argument("--picoseconds", type=float, default=40)
    args = parser.parse_args()
    metal = Metal(args.potential, args.element)
    for kelvin in args.temperatures:
        solid = crystal(metal, args.constant, args.cells, kelvin)
        molten = liquid(metal, solid, kelvin)
        edge, length = solid.box[0, 0], molten.box[2, 2]
        above = inside(molten.positions, molten.box) + np.array([0, 0, edge + GAP])
        box = np.diag([edge, edge, edge + length + 2 * GAP])
        run = metal.simulation(np.concatenate([solid.positions, above]), box, kelvin, along_z=True)
        run.minimize(tolerance=300.0, max_iterations=300)
        run.draw_velocities(kelvin, 3)
        for _ in range(10):
            mean = mean_energy(run, round(args.picoseconds / STEP / 10))
            print(f"to {run.step * STEP:6.1f} ps {mean:.3f} eV", flush=True)


if __name__ == "__main__":
    main()
