# SPDX-License-Identifier: Apache-2.0
"""A bilayer of coarse-grained lipids in water, with parameters of its own, at steps of 20 fs.

Beads of 72 amu and 0.47 nm, as in Martini (Marrink et al., J. Phys. Chem. B 111, 7812 (2007)):
lipids of two charged heads and four tail beads, harmonic bonds and angles by their cosines, in a
medium with the dielectric constant 15.
"""

import numpy as np

import quiltmd

SIDE, LIPID, SIGMA = 6, 6, 0.47  # lipids along x and y; beads of one; nm
WATER, HEAD, TAIL = range(3)
DEPTH = np.array([[5.0, 5.6, 2.0], [5.6, 3.5, 2.0], [2.0, 2.0, 3.5]])  # kJ/mol, by kinds
APART = 0.8  # nm, between lipids

# Two leaflets, tails inwards, and water on a grid above and below.
grid = APART * np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), -1).reshape(-1, 2)
heights = 0.25 + 0.46 * np.arange(LIPID)[::-1]
lipids = [
    np.column_stack([np.tile(place, (LIPID, 1)), side * heights])
    for side in (1, -1)
    for place in grid
]
fine = SIDE * APART / round(SIDE * APART / 0.48)
layer = np.arange(0, SIDE * APART - 1e-9, fine)
levels = [side * (3.1 + 0.48 * k) for side in (1, -1) for k in range(4)]
water = np.stack(np.meshgrid(layer, layer, levels), -1).reshape(-1, 3)
places = np.concatenate([*lipids, water])
places += np.random.default_rng(1).normal(0, 0.01, places.shape)
box = np.diag([SIDE * APART, SIDE * APART, 2 * (3.1 + 0.48 * 3) + 0.48])

count = len(lipids)
beads = np.arange(LIPID * count).reshape(count, LIPID)
bonds = np.concatenate([beads[:, k : k + 2] for k in range(LIPID - 1)])
angles = np.concatenate([beads[:, k : k + 3] for k in range(1, LIPID - 2)])
system = quiltmd.System.of(
    np.full(len(places), 72.0),
    charges=np.concatenate([np.tile([1.0, -1, 0, 0, 0, 0], count), np.zeros(len(water))]),
    lj_types=np.concatenate([np.tile([HEAD] * 2 + [TAIL] * 4, count), np.full(len(water), WATER)]),
    lj_a=4 * DEPTH * SIGMA**12,
    lj_b=4 * DEPTH * SIGMA**6,
    terms={
        "bond": (bonds, np.tile([0.47, 1250.0], (len(bonds), 1))),
        "cosine_angle": (angles, np.tile([np.pi, 25.0], (len(angles), 1))),
    },
)
simulation = quiltmd.Simulation(
    system,
    quiltmd.State(places, np.zeros_like(places), box),
    nonbonded=quiltmd.Nonbonded(
        cutoff=1.1,
        method="reaction-field",
        relative_permittivity=15,
        dielectric=0,
        potential_shift=True,
        dispersion_correction=False,
    ),
    integrator=quiltmd.LangevinMiddle(temperature=320, friction=1, timestep=0.02, seed=1),
    barostat=quiltmd.CellRescaling(
        pressure=1, time_constant=5, compressibility=(3e-4, 3e-4), coupling="semi-isotropic"
    ),
)
print(simulation.minimize())
simulation.draw_velocities(320, seed=1)
for _ in range(5):
    simulation.run(400)
    now = simulation.state()
    area = now.box[0, 0] * now.box[1, 1] / (count / 2)
    z = now.positions[beads[:, 0], 2]
    thickness = z[: count // 2].mean() - z[count // 2 :].mean()
    print(
        f"{simulation.time:6.1f} ps: {simulation.temperature():.0f} K, {area:.3f} nm^2 a lipid, "
        f"{thickness:.2f} nm thick"
    )
