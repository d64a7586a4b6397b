# SPDX-License-Identifier: Apache-2.0
"""Methanol loses its interactions with water: a hydration free energy by MBAR.

Parameters are of the kind that OPLS-AA has (Jorgensen et al., J. Am. Chem. Soc. 118, 11225 (1996)).
The runs here are far too short: each state needs a nanosecond, and more states.  For molecules of
FreeSolv, benchmarks/freesolv.py does the same with `quiltmd run`.  Needs pymbar (pip install
'quiltmd[alchemy]').
"""

import numpy as np
from pymbar import MBAR

import quiltmd

TEMPERATURE, GAS_CONSTANT = 298.15, 0.00831446  # K, kJ/mol/K
# Atoms: charge, e; sigma, nm; epsilon, kJ/mol; mass, amu; place, nm.
METHANOL = [
    (0.145, 0.35, 0.276, 12.011, (0.0, 0.0, 0.0)),
    (0.04, 0.25, 0.126, 1.008, (-0.0364, 0.1027, 0.0)),
    (0.04, 0.25, 0.126, 1.008, (-0.0364, -0.0514, 0.089)),
    (0.04, 0.25, 0.126, 1.008, (-0.0364, -0.0514, -0.089)),
    (-0.683, 0.312, 0.711, 15.999, (0.141, 0.0, 0.0)),
    (0.418, 0.1, 0.0, 1.008, (0.171, -0.089, 0.0)),
]
charges, sigma, epsilon, masses, places = map(np.array, zip(*METHANOL, strict=True))
count = len(METHANOL)

# Water on a grid around the molecule, in place of the box of a preparation program.
grid = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 3), -1).reshape(-1, 3) * 0.3107
grid = grid[np.linalg.norm(grid - places[:, None], axis=2).min(axis=0) > 0.26]
shape = np.array([[0, 0, 0], [0.0757, 0.0586, 0], [-0.0757, 0.0586, 0]])
water = (grid[:, None] + shape).reshape(-1, 3)
oxygens = count + 3 * np.arange(len(grid))
rigid = np.concatenate([oxygens[:, None] + pair for pair in ([0, 1], [0, 2], [1, 2])])
inside = [(k, m) for k in range(count) for m in range(k + 1, count)]
plain = quiltmd.System.of(
    np.concatenate([masses, np.tile([15.999, 1.008, 1.008], len(grid))]),
    np.concatenate([charges, np.tile([-0.834, 0.417, 0.417], len(grid))]),
    sigma=np.concatenate([sigma, np.tile([0.3151, 0.1, 0.1], len(grid))]),
    epsilon=np.concatenate([epsilon, np.tile([0.6364, 0.0, 0.0], len(grid))]),
    terms={
        "bond": (
            [(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)],
            [(0.109, 2.8e5)] * 3 + [(0.141, 2.7e5), (0.0945, 4.6e5)],
        ),
        "angle": (
            [(1, 0, 2), (1, 0, 3), (2, 0, 3), (1, 0, 4), (2, 0, 4), (3, 0, 4), (0, 4, 5)],
            [(np.radians(109.0), 300.0)] * 7,
        ),
        "torsion": ([(k, 0, 4, 5) for k in (1, 2, 3)], [(3, 0.0, 0.94)] * 3),
    },
    constraints=rigid,
    constraint_lengths=np.repeat([0.09572, 0.09572, 0.15139], len(grid)),
    exclusions=np.concatenate([inside, rigid]),
)
start = quiltmd.State.start(plain, np.concatenate([places, water]), np.eye(3) * 7 * 0.3107)

# Charges vanish first, then van der Waals interactions.
coulomb = [0, 0.5, 1, 1, 1, 1, 1]
vdw = [0, 0, 0, 0.3, 0.55, 0.8, 1]
system = quiltmd.decouple(plain, range(count), coulomb, vdw)
simulation = quiltmd.Simulation(
    system,
    start,
    quiltmd.Nonbonded(cutoff=0.9),
    quiltmd.LangevinMiddle(TEMPERATURE, timestep=0.001, seed=1),
)
simulation.minimize()
simulation.draw_velocities(TEMPERATURE)

samples = []  # energies of all states, less that of the state in which they were sampled
for state in range(len(vdw)):
    simulation.set_conditions(**system.alchemy.state(state))
    simulation.run(200)
    for _ in range(20):
        simulation.run(20)
        samples.append(simulation.state_energies())
reduced = np.array(samples).T / (GAS_CONSTANT * TEMPERATURE)
found = MBAR(reduced, [20] * len(vdw)).compute_free_energy_differences()
free, errors = (GAS_CONSTANT * TEMPERATURE * found[name][0] for name in ("Delta_f", "dDelta_f"))
print("state  coulomb  vdw   free energy, kJ/mol")
for state, (value, error) in enumerate(zip(free, errors, strict=True)):
    print(f"{state:5d} {coulomb[state]:8.2f} {vdw[state]:5.2f} {value:9.2f} +- {error:.2f}")
print(f"hydration free energy: {-free[-1]:.1f} kJ/mol (after {len(samples)} samples)")
