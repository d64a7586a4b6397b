# SPDX-License-Identifier: Apache-2.0
"""Ethane turns into methanol in water: energies of all states along the path, one state a moment.

Parameters are of the kind that OPLS-AA has (Jorgensen et al., J. Am. Chem. Soc. 118, 11225 (1996)).
A free energy needs nanoseconds in each state, in water and in vacuum: see docs/user/alchemy.md.
"""

import numpy as np

import quiltmd

# Atoms of both molecules: charge, e; sigma, nm; epsilon, kJ/mol; mass, amu; place, nm.
HYDROGENS = [(-0.0364, 0.1027, 0.0), (-0.0364, -0.0514, 0.089), (-0.0364, -0.0514, -0.089)]
OTHERS = [(0.1893, -0.1027, 0.0), (0.1893, 0.0514, 0.089), (0.1893, 0.0514, -0.089)]
ETHANE = [
    (-0.18, 0.35, 0.276, 12.011, (0.0, 0.0, 0.0)),
    *[(0.06, 0.25, 0.126, 1.008, place) for place in HYDROGENS],
    (-0.18, 0.35, 0.276, 12.011, (0.1529, 0.0, 0.0)),
    *[(0.06, 0.25, 0.126, 1.008, place) for place in OTHERS],
]
METHANOL = [
    (0.145, 0.35, 0.276, 12.011, (0.0, 0.0, 0.0)),
    *[(0.04, 0.25, 0.126, 1.008, place) for place in HYDROGENS],
    (-0.683, 0.312, 0.711, 15.999, (0.141, 0.0, 0.0)),
    (0.418, 0.1, 0.0, 1.008, (0.171, -0.089, 0.0)),
]
MAPPING = {k: k for k in range(6)}  # two hydrogens of ethane vanish


def molecule(atoms, bond, angle, water):
    """A molecule of two heavy atoms, the second with parameters (length, theta0), in water."""
    count = len(atoms)
    charges, sigma, epsilon, masses, places = map(np.array, zip(*atoms, strict=True))
    last = range(5, count)
    bonds = [(0, 1), (0, 2), (0, 3), (0, 4), *[(4, k) for k in last]]
    angles = [(1, 0, 2), (1, 0, 3), (2, 0, 3), *[(k, 0, 4) for k in (1, 2, 3)]]
    angles += [(0, 4, k) for k in last] + [(k, 4, m) for k in last for m in last if k < m]
    torsions = [(k, 0, 4, m) for k in (1, 2, 3) for m in last]
    lengths = [0.109] * 3 + [bond] + [angle[0]] * len(last)
    oxygens = count + 3 * np.arange(len(water) // 3)
    rigid = np.concatenate([oxygens[:, None] + pair for pair in ([0, 1], [0, 2], [1, 2])])
    inside = [(k, m) for k in range(count) for m in range(k + 1, count)]
    repeats = len(oxygens)
    system = quiltmd.System.of(
        np.concatenate([masses, np.tile([15.999, 1.008, 1.008], repeats)]),
        np.concatenate([charges, np.tile([-0.834, 0.417, 0.417], repeats)]),
        sigma=np.concatenate([sigma, np.tile([0.3151, 0.1, 0.1], repeats)]),
        epsilon=np.concatenate([epsilon, np.tile([0.6364, 0.0, 0.0], repeats)]),
        terms={
            "bond": (bonds, [(length, 2.8e5) for length in lengths]),
            "angle": (angles, [(np.radians(angle[1]), 300.0)] * len(angles)),
            "torsion": (torsions, [(3, 0.0, angle[2])] * len(torsions)),
        },
        constraints=rigid,
        constraint_lengths=np.repeat([0.09572, 0.09572, 0.15139], repeats),
        exclusions=np.concatenate([inside, rigid]),
    )
    return system, quiltmd.State.start(system, np.concatenate([places, water]), np.eye(3) * 2.5)


# Water on a grid around the molecule, in place of the box of a preparation program.
grid = np.stack(np.meshgrid(*[np.arange(-4, 4)] * 3), -1).reshape(-1, 3) * 0.3125 + 0.15
grid = grid[np.linalg.norm(grid - [0.076, 0, 0], axis=1) > 0.42]
shape = np.array([[0, 0, 0], [0.0757, 0.0586, 0], [-0.0757, 0.0586, 0]])
water = (grid[:, None] + shape).reshape(-1, 3)

ethane = molecule(ETHANE, 0.1529, (0.109, 109.0, 0.63), water)
methanol = molecule(METHANOL, 0.141, (0.0945, 109.0, 0.94), np.empty((0, 3)))
system, state = quiltmd.hybrid(ethane, methanol, MAPPING, state=5)

simulation = quiltmd.Simulation(
    system, state, quiltmd.Nonbonded(cutoff=0.9), quiltmd.LangevinMiddle(timestep=0.001, seed=1)
)
simulation.minimize()
simulation.draw_velocities(300)
simulation.run(2000)
print("state   lambda    U - U(here), kJ/mol")
for k, energy in enumerate(simulation.state_energies()):
    print(f"{k:5d} {system.alchemy.states[k, 0]:8.1f} {energy:12.3f}")
for name, slope in zip(system.alchemy.names, simulation.dhdl(), strict=True):
    print(f"dU/dlambda of {name}: {slope:.2f} kJ/mol")
