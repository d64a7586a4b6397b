# SPDX-License-Identifier: Apache-2.0
"""Copper by the potential of Sutton and Chen (Phil. Mag. Lett. 61, 139 (1990)).

The functions are tables made here; `quiltmd.read_eam` reads them from files of LAMMPS.
"""

import numpy as np

import quiltmd

EV, A = 96.485332, 0.361  # kJ/mol; lattice constant of the potential, nm
EPSILON, C, N, M = 1.2382e-2 * EV, 39.432, 9, 6
CUTOFF = 0.75  # nm

# Tables from r = 0 on, although nothing is nearer than 0.1 nm; all end smoothly at the cutoff.
r = np.linspace(0, CUTOFF, 1501)
ends = 1 - np.clip((r - 0.6) / (CUTOFF - 0.6), 0, 1) ** 2 * (
    3 - 2 * np.clip((r - 0.6) / 0.15, 0, 1)
)
x = A / np.maximum(r, 0.1)
densities, energies = x**M * ends, EPSILON * x**N * ends
rho = np.linspace(0, 200, 4001)
copper = quiltmd.EmbeddedFunctions(
    elements=("Cu",),
    masses=[63.546],
    cutoff=CUTOFF,
    spacing=r[1],
    density_step=rho[1],
    densities=densities[None, None],
    pairs=(r * energies)[None, None],
    embedding=-EPSILON * C * np.sqrt(rho)[None],
)


def crystal(constant: float, cells: int = 5) -> tuple[quiltmd.System, quiltmd.State]:
    """A face-centred cubic crystal."""
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.indices((cells, cells, cells)).reshape(3, -1).T
    places = (corners[:, None] + basis).reshape(-1, 3) * constant
    system = quiltmd.embedded_system(copper, ["Cu"] * len(places))
    return system, quiltmd.State.start(system, places, np.eye(3) * cells * constant)


def energy_per_atom(constant: float) -> float:
    """At rest, eV."""
    system, state = crystal(constant)
    return quiltmd.Simulation(system, state).energies()["potential"] / system.atoms / EV


constants = np.linspace(0.356, 0.366, 11)
a, b, c = np.polyfit(constants, [energy_per_atom(constant) for constant in constants], 2)
best = -b / (2 * a)
print(f"lattice constant {best:.4f} nm, cohesive energy {-np.polyval([a, b, c], best):.3f} eV")

system, state = crystal(best)
simulation = quiltmd.Simulation(
    system,
    state,
    integrator=quiltmd.LangevinMiddle(temperature=600, friction=5, timestep=0.004, seed=1),
    barostat=quiltmd.CellRescaling(pressure=1, compressibility=7e-7, seed=1),
)
simulation.draw_velocities(600, seed=1)
simulation.run(1000)
print(f"at 600 K {simulation.state().box[0, 0] / 5:.4f} nm, {simulation.temperature():.0f} K")
