# SPDX-License-Identifier: Apache-2.0
"""A ready configuration: minimise, heat, equilibrate, produce."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..description.checks import user_arguments
from .quantities import Nanoseconds, Pressure, Seed, Temperature

_STEP = 0.004  # ps, with heavier hydrogens
_HEAT_STEP = 0.002
_HEAT, _RELEASE, _EQUILIBRATE = 100, 500, 500  # ps

_TEXT = """\
# Written by quiltmd prepare; prepare.log says what was done to the structure.
#     quiltmd info run.toml      what will be run, and how long it takes here
#     quiltmd run run.toml

[system]
topology = {structure}
coordinates = {structure}
parameters = {parameters}
hmr = true                             # heavier hydrogens, for steps of 4 fs
{nonbonded}
[integrator]
ensemble = "{ensemble}"
temperature = {temperature:g}
timestep = {step}
seed = {seed}
{barostat}
[output]
dir = "run"
log_every = 500
trajectory_every = 0

[[restraint]]
kind = "position"
select = "solute and heavy"            # neither water nor ions
k = 1000                               # kJ/mol/nm^2

[[stage]]
name = "minimise"
run = {{ steps = 0, minimize = true }}

[[stage]]
name = "heat"                          # {heat} ps at constant volume
integrator = {{ ensemble = "nvt", timestep = {heat_step}, annealing = [[0, {cold:g}], [{heat}, \
{temperature:g}]] }}
run = {{ steps = {heat_steps} }}

[[stage]]
name = "release"                       # {release} ps in which the restraints fade out
restraints = {{ annealing = [[0, 1], [{release}, 0]] }}
run = {{ steps = {release_steps} }}

[[stage]]
name = "equilibrate"                   # {equilibrate} ps
restraint = []
run = {{ steps = {equilibrate_steps} }}

[[stage]]
name = "produce"                       # {nanoseconds:g} ns
restraint = []
run = {{ steps = {steps} }}
output = {{ log_every = {every}, trajectory_every = {every} }}
"""


@user_arguments
def write_protocol(
    structure: str,
    parameters: Sequence[str],
    *,
    periodic: bool = True,
    membrane: bool = False,
    temperature: Temperature = 300.0,
    pressure: Pressure = 1.0,
    nanoseconds: Nanoseconds = 10.0,
    seed: Seed = 1,
) -> str:
    """The text of a run.toml with stages.

    Parameters
    ----------
    structure:
        Name of the file with atoms and coordinates.
    parameters:
        Names of the force field's files.
    periodic:
        Whether there is a box; without one there is no pressure.
    membrane:
        Whether the barostat scales z independently of x and y.
    temperature, pressure:
        Temperature, K, and pressure, bar.
    nanoseconds:
        Length of the production stage, ns.
    seed:
        Random seed of velocities and noise.
    """
    barostat = f"\n[barostat]\npressure = {pressure:g}\n" if periodic else ""
    if membrane:
        barostat += 'coupling = "semi-isotropic"            # x and y together, z separately\n'
    steps = max(1, round(nanoseconds * 1000 / _STEP))
    return _TEXT.format(
        structure=json.dumps(structure),
        parameters=json.dumps(list(parameters)),
        nonbonded="" if periodic else '\n[nonbonded]\nmethod = "cutoff"\ncutoff = 2\n',
        ensemble="npt" if periodic else "nvt",
        temperature=temperature,
        step=_STEP,
        seed=seed,
        barostat=barostat,
        heat=_HEAT,
        heat_step=_HEAT_STEP,
        cold=round(temperature / 6),
        heat_steps=round(_HEAT / _HEAT_STEP),
        release=_RELEASE,
        release_steps=round(_RELEASE / _STEP),
        equilibrate=_EQUILIBRATE,
        equilibrate_steps=round(_EQUILIBRATE / _STEP),
        nanoseconds=nanoseconds,
        steps=steps,
        every=min(2500, steps),
    )
