# SPDX-License-Identifier: Apache-2.0
"""Warnings about unusual simulations, which may be intended and are not refused.

A net charge or a long time step has its uses: a `QuiltWarning` says it once, and the run goes on.
What has no meaning at all is refused in `parameters`.  Thresholds stand beside their reasons.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .barostats import Barostat
from .integrators import Integrator
from .mesh_rules import (
    beyond_bandwidth,
    coarsest_spacing,
    direct_error,
    grid_spacing,
    spline_error,
)
from .nonbonded import Nonbonded
from .parameters import names
from .settings import BOLTZMANN
from .state import State
from .system import System
from .thermostats import Thermostat
from .vibrations import fastest_vibration

_FAR = 1e3  # nm; beyond, coordinates no longer fit the columns of PDB and Amber files
_HOT = 2000.0  # K; positions in angstrom taken for velocities give far more
_CHARGED = 0.01  # e; charges rounded in a file add up to less
_INACCURATE = 5e-3  # relative error of forces, ten times the default tolerance
_SHORT = 0.8  # nm; the shortest cutoff that a common force field of biomolecules was made for
_FEWEST_PER_PERIOD = 5  # steps in the period of the fastest bond; Verlet blows up at pi
_HEAVIEST_HYDROGEN = 4.5  # amu; with repartitioned masses, too
_SHORTEST_STEP = 1e-4  # ps
_STIFFEST = 2e-8  # 1/bar; a tenth of what diamond has
_LIGHT, _LIGHT_STEP = 2.0, 0.0025  # amu, ps: bends of a light hydrogen have periods of some 20 fs


def oddities(system: System, state: State, nonbonded: Nonbonded) -> Iterator[str]:
    """Warnings about a system, its state and its nonbonded settings, one line each."""
    charge = float(system.charges.sum())
    method = {"pme": "PME", "fmm": "the fast multipole method"}.get(nonbonded.method)
    if state.box is not None and method is not None and abs(charge) > _CHARGED:
        yield (
            f"the system has a net charge of {charge:+.4g} e, which {method} neutralises by a "
            "uniform background: add counter-ions unless this is meant"
        )
    yield from _missing_exclusions(system)
    if state.box is None and system.solvent is None:
        yield (
            "there is no periodic box and no implicit solvent: atoms are simulated in a vacuum; if "
            "that is not meant, give a box, or the model of a solvent"
        )
    biomolecular = system.lj_b.any() and system.charges.any()  # not argon, nor a bead-spring model
    if nonbonded.method != "no-cutoff" and nonbonded.cutoff < _SHORT and biomolecular:
        yield (
            f"a cutoff of {nonbonded.cutoff:g} nm is shorter than force fields of biomolecules are "
            f"made for ({_SHORT} nm and more)"
        )
    yield from _split_oddities(nonbonded)
    if state.box is not None:
        yield from _grid_oddities(nonbonded, state.box)
    kinetic = 0.5 * float(system.masses @ (state.velocities**2).sum(axis=1))
    temperature = 2 * kinetic / (max(1, system.degrees_of_freedom) * BOLTZMANN)
    if temperature > _HOT:
        yield (
            f"the velocities correspond to {temperature:.4g} K: they may be in other units than "
            "nm/ps, or positions"
        )
    distance = np.abs(state.positions).max(axis=1)
    if distance.max() > _FAR:
        atom = int(distance.argmax())
        yield (
            f"{system.topology.describe(atom)} lies {distance[atom]:.4g} nm from the origin; its "
            "periodic image in the box is simulated, and coordinates so large do not fit PDB files"
        )


def _split_oddities(nonbonded: Nonbonded) -> Iterator[str]:
    """A stated split that leaves much of the forces out at the cutoff."""
    alpha, bandwidth = nonbonded.pme_alpha, nonbonded.pme_bandwidth
    of_charges = nonbonded.coulomb_cutoff or nonbonded.cutoff
    if alpha is not None and direct_error(alpha, nonbonded.cutoff) > _INACCURATE:
        yield (
            f"an Ewald coefficient of {alpha:g} 1/nm is small for a cutoff of "
            f"{nonbonded.cutoff:g} nm: forces have relative errors of about "
            f"{direct_error(alpha, nonbonded.cutoff):.1g}; leave out pme_alpha and pme_grid, or "
            "give those of this cutoff"
        )
    if bandwidth is not None and beyond_bandwidth(bandwidth, of_charges) > _INACCURATE:
        yield (
            f"a PME bandwidth of {bandwidth:g} is small for a cutoff of {of_charges:g} nm: "
            "forces have relative errors of about "
            f"{beyond_bandwidth(bandwidth, of_charges):.1g}; leave out pme_bandwidth and "
            "pme_grid, or give a larger bandwidth"
        )


def _grid_oddities(nonbonded: Nonbonded, box: NDArray[np.float64]) -> Iterator[str]:
    """A stated grid that is too coarse for the split that goes with it."""
    order = nonbonded.pme_order or 5  # where a grid is stated
    for of in ("pme", "lj_pme"):
        grid, alpha = getattr(nonbonded, f"{of}_grid"), getattr(nonbonded, f"{of}_alpha")
        if grid is None:
            continue
        spacing, points = grid_spacing(grid, box), " x ".join(map(str, grid))
        apart = f"its points are up to {spacing:.3g} nm apart"
        if alpha is not None and spline_error(alpha, spacing, order) > _INACCURATE:
            yield (
                f"the {of}_grid {points} is coarse for {of}_alpha = {alpha:g} 1/nm: {apart}, and "
                "forces of the mesh have relative errors of about "
                f"{spline_error(alpha, spacing, order):.1g}; choose more points, or leave out "
                f"{of}_alpha and {of}_grid"
            )
        bandwidth = nonbonded.pme_bandwidth if of == "pme" else None
        if bandwidth is None:
            continue
        window = nonbonded.pme_window
        if window and not 0.8 * spacing < window < 1.25 * spacing:
            yield (
                f"pme_window = {window:g} nm is not the spacing of the pme_grid {points}: {apart}, "
                "and for these windows forces of the mesh are less accurate; leave out pme_window, "
                f"or give {spacing:.4g} nm"
            )
        of_charges = nonbonded.coulomb_cutoff or nonbonded.cutoff
        coarsest = coarsest_spacing(bandwidth, of_charges)
        if spacing > coarsest * (1 + 1e-6):
            yield (
                f"the pme_grid {points} is too coarse for pme_bandwidth = {bandwidth:g} with a "
                f"cutoff of {of_charges:g} nm: {apart}, and {coarsest:.3g} nm are needed for "
                "all waves of the split; choose more points, or leave out pme_bandwidth and "
                "pme_grid"
            )


def step_oddities(system: System, integrator: Integrator) -> Iterator[str]:
    """Warnings about the time step for a system, one line each."""
    timestep = integrator.timestep
    if timestep < _SHORTEST_STEP:
        yield (
            f"a time step of {1000 * timestep:g} fs is far below what any bond needs (0.5 fs): "
            "time steps are in ps, those of NAMD's files in fs"
        )
    fastest = fastest_vibration(system)
    if fastest.term and timestep * _FEWEST_PER_PERIOD > fastest.period * (1 + 1e-9):
        hydrogen = system.masses[list(fastest.atoms)].min() < _HEAVIEST_HYDROGEN
        advice = "constrain bonds to hydrogen, or use a shorter time step"
        yield (
            f"a time step of {1000 * timestep:g} fs is long for {fastest.term} of "
            f"{names(system, fastest.atoms)}, which has a period of {1000 * fastest.period:.3g} "
            f"fs: {advice if hydrogen else 'use a shorter time step'}"
        )
    light = np.zeros(system.atoms, dtype=bool)
    for terms in system.terms.present():
        if terms.form.bends:
            light[terms.atoms] = True
    light &= system.masses < _LIGHT
    if timestep > _LIGHT_STEP * (1 + 1e-9) and light.any():
        atom = int(np.argmax(light))
        yield (
            f"a time step of {1000 * timestep:g} fs is long for hydrogens as light as "
            f"{system.topology.describe(atom)}, {system.masses[atom]:.4g} amu: repartition masses "
            "(hydrogen_mass=3.024, --hmr) or use a shorter time step"
        )


def thermostat_oddities(thermostat: Thermostat | None, system: System) -> Iterator[str]:
    """Warnings about the thermostat for a system, one line each."""
    if thermostat is None:
        return
    rows = system.position_restraint_parameters
    springs = (rows[:, 6] > 0) & (rows[:, 7] == 0) & (rows[:, 8:] > 0).all(axis=1)
    held, massive = system.position_restraints[springs], np.flatnonzero(system.masses > 0)
    if massive.size and np.isin(massive, held).all():
        yield (
            "position restraints hold every atom, and such oscillators hardly exchange energy: "
            f"{type(thermostat).__name__}, which scales velocities alike, need not bring each to "
            "the temperature, nor their sum to the right distribution; use LangevinMiddle"
        )


def barostat_oddities(
    barostat: Barostat | None, system: System, nonbonded: Nonbonded
) -> Iterator[str]:
    """Warnings about the barostat and its interactions, one line each."""
    if barostat is None:
        return
    interact = system.pair_form != "lennard-jones" or system.lj_a.any() or system.lj_b.any()
    if interact and nonbonded.is_truncated and not nonbonded.dispersion_correction:
        yield (
            f"van der Waals interactions end abruptly at {nonbonded.cutoff:g} nm without a tail "
            "correction: at constant pressure the density is then too low by a few per cent, and "
            "differs between the Monte Carlo barostat, which counts the jumps of energies at the "
            "cutoff, and the others, which do not; choose dispersion_correction = true, switching, "
            "or potential_shift = true"
        )
    given = barostat.compressibility
    for one in given if isinstance(given, tuple) else (given,):
        if 0 < one < _STIFFEST:
            yield (
                f"a compressibility of {one:g} 1/bar hardly lets the box change (water has 4.5e-5 "
                f"1/bar): if it is in 1/Pa, give {1e5 * one:g}"
            )


def _missing_exclusions(system: System) -> Iterator[str]:
    linked = np.sort(system.links, axis=1).astype(np.int64)
    excluded = system.exclusions[:, 0].astype(np.int64) * system.atoms + system.exclusions[:, 1]
    missing = ~np.isin(linked[:, 0] * system.atoms + linked[:, 1], excluded)
    if missing.any():
        yield (
            f"{names(system, linked[np.argmax(missing)])} are bonded but not excluded from "
            f"nonbonded interactions; {missing.sum()} bonds or constraints are missing in the "
            "exclusions"
        )
