# SPDX-License-Identifier: Apache-2.0
"""Ensembles and TIP3P properties from simulations of water, on any device.

A thousand waters at 0.999 g/cm^3 with a thermostat at 298.15 K and 308.15 K, 480 ps each, then
100 ps at constant energy.  `run` writes the data; `check` needs physical_validation and prints

- how far the kinetic energies are from the Maxwell-Boltzmann distribution (mean and width, in
  standard errors) and the pair of potential energies from the ratio of Boltzmann factors (P. T.
  Merz and M. R. Shirts, PLoS ONE 13, e0202764, 2018);
- the self-diffusion coefficient, with the correction for the size of the box (I.-C. Yeh and G.
  Hummer, J. Phys. Chem. B 108, 15873, 2004, who give 6.1e-9 m^2/s for this water at 298 K), and
  the potential energy of a water and its heat of vaporisation.

    python benchmarks/water.py run water.npz [--device cuda]
    python benchmarks/water.py check water.npz [--json benchmarks/results/water.json]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import benchmark_systems
import numpy as np
import provenance

import quiltmd
from quiltmd.description.settings import BOLTZMANN

TEMPERATURES = (298.15, 308.15)  # K
TIMESTEP = 0.002  # ps
SAMPLES, BETWEEN = 1500, 160  # of energies; steps from one to the next
FRAMES, FRAME_STEPS = 200, 250  # of oxygens at constant energy
VISCOSITY = 3.21e-4  # of TIP3P, Pa s
FIRST_LAG = 10  # frames: shorter displacements are not yet diffusive


def run(path: Path, device: Any) -> None:
    system, state = benchmark_systems.build("water3000", Path())
    saved: dict[str, Any] = {"waters": system.atoms // 3, "edge": state.box[0][0]}
    saved["provenance"] = json.dumps(provenance.provenance())
    for temperature in TEMPERATURES:
        thermostat = quiltmd.LangevinMiddle(temperature, 2.0, TIMESTEP, seed=int(temperature))
        simulation = quiltmd.Simulation(system, state, integrator=thermostat, device=device)
        simulation.minimize(200.0)
        simulation.draw_velocities(temperature, 1)
        simulation.run(10000)
        rows = []
        for _ in range(SAMPLES):
            simulation.run(BETWEEN)
            energies = simulation.energies()
            rows.append((energies["potential"], energies["kinetic"]))
        saved[f"energies_{temperature}"] = rows
        saved["degrees_of_freedom"] = simulation.degrees_of_freedom
        saved["device"] = str(simulation.describe()["devices"][0]["name"])
        if temperature == TEMPERATURES[0]:
            saved["oxygens"] = oxygens(system, simulation.state(), device)
    np.savez_compressed(path, **saved)


def oxygens(system: quiltmd.System, state: quiltmd.State, device: Any) -> Any:
    """Positions of oxygens at constant energy, unwrapped, (frames, waters, 3)."""
    start = quiltmd.State(state.positions, state.velocities, state.box)
    verlet = quiltmd.VelocityVerlet(TIMESTEP)
    simulation = quiltmd.Simulation(system, start, integrator=verlet, device=device)
    frames = []
    for _ in range(FRAMES):
        simulation.run(FRAME_STEPS)
        frames.append(simulation.state().positions[::3].astype(np.float32))
    return np.array(frames)


def check(path: Path) -> dict[str, Any]:
    import physical_validation as pv

    with np.load(path) as file:
        saved = {name: file[name] for name in file.files}
    waters = int(saved["waters"])
    data = [validation_data(pv, saved, temperature) for temperature in TEMPERATURES]
    kinetic = [pv.kinetic_energy.distribution(d, strict=False, verbosity=0) for d in data]
    potential = saved[f"energies_{TEMPERATURES[0]}"][:, 0] / waters
    blocks = potential.reshape(10, -1).mean(axis=1)
    energy = float(potential.mean())
    return {
        **json.loads(str(saved["provenance"])),
        "device": str(saved["device"]),
        "kinetic_mean_and_width_sigma": [[float(x) for x in pair] for pair in kinetic],
        "ensemble_sigma": [float(x) for x in pv.ensemble.check(*data, verbosity=0)],
        "diffusion_m2_s": diffusion(saved["oxygens"], float(saved["edge"])),
        "potential_kj_mol": energy,
        "standard_error": float(blocks.std(ddof=1) / np.sqrt(len(blocks))),
        "heat_of_vaporisation_kj_mol": BOLTZMANN * TEMPERATURES[0] - energy,
    }


def validation_data(pv: Any, saved: dict[str, Any], temperature: float) -> Any:
    waters = int(saved["waters"])
    potential, kinetic = saved[f"energies_{temperature}"].T
    ones = {f"{name}_conversion": 1.0 for name in _UNITS}
    return pv.data.SimulationData(
        units=pv.data.UnitData(kb=BOLTZMANN, **{f"{k}_str": v for k, v in _UNITS.items()}, **ones),
        dt=TIMESTEP,
        system=pv.data.SystemData(
            natoms=3 * waters,
            nconstraints=3 * waters,
            ndof_reduction_tra=6 * waters - float(saved["degrees_of_freedom"]),
            ndof_reduction_rot=0,
        ),
        ensemble=pv.data.EnsembleData(
            "NVT", natoms=3 * waters, volume=float(saved["edge"]) ** 3, temperature=temperature
        ),
        observables=pv.data.ObservableData(
            kinetic_energy=kinetic, potential_energy=potential, total_energy=kinetic + potential
        ),
    )


_UNITS = {
    "energy": "kJ/mol", "length": "nm", "volume": "nm^3", "temperature": "K",
    "pressure": "bar", "time": "ps",
}  # fmt: skip


def diffusion(oxygens: Any, edge: float) -> float:
    """Self-diffusion from mean squared displacements, corrected for the box, m^2/s."""
    positions = oxygens.astype(np.float64)
    lags = np.arange(FIRST_LAG, 60)
    squared = [((positions[k:] - positions[:-k]) ** 2).sum(axis=-1).mean() for k in lags]
    slope = np.polyfit(lags * FRAME_STEPS * TIMESTEP, squared, 1)[0]  # nm^2/ps
    boltzmann, temperature = 1.380649e-23, TEMPERATURES[0]
    finite_size = 2.837297 * boltzmann * temperature / (6 * np.pi * VISCOSITY * edge * 1e-9)
    return float(slope / 6 * 1e-6 + finite_size)


def main() -> None:
    parser = argparse.ArgumentParser(description="Ensembles and properties of water.")
    parser.add_argument("what", choices=("run", "check"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--json", type=Path, default=None)
    choice = parser.parse_args()
    if choice.what == "run":
        run(choice.path, choice.device)
        return
    result = check(choice.path)
    print(json.dumps(result, indent=1))
    if choice.json:
        choice.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
