// SPDX-License-Identifier: Apache-2.0
// The integrators, thermostats and barostats there are: one line each here and in plans.cpp, one file each beside.
#pragma once

#include <string>
#include <vector>

#include "integrators/step_plan.h"

namespace quiltmd {

// Whether groups of atoms have heat baths of their own: `baths` of them, each with its numbers.
inline bool has_groups(const Parameters& parameters) { return parameters.values.contains("baths"); }
// Of a heat bath of groups, by its number from 0: how the names of its parameters end, and what errors call it.
inline std::string bath_suffix(int64_t bath) { return "_" + std::to_string(bath); }
inline std::string bath_name(int64_t bath) { return "heat bath " + std::to_string(bath + 1); }

// `thermostat` is null where there is none; an integrator that takes none refuses it by name.
StepPlan velocity_verlet(const Parameters& parameters, const Thermostat* thermostat);
StepPlan langevin_middle(const Parameters& parameters, const Thermostat* thermostat);

// What a thermostat knows of the integrator that it goes with.
struct ThermostatInput {
  double timestep;               // ps
  double degrees_of_freedom;     // that the kinetic energy is shared by
  std::vector<double> of_baths;  // the same by heat bath of groups
};
int steps_between_actions(const Parameters& parameters);
// A heat bath with a time constant; the names of its parameters end in `suffix`, `time` (ps) is that between actions.
struct CoupledBath {
  double temperature;
  HeatBath heat;  // `keep`: exp(-time / time constant)
};
CoupledBath read_coupled_bath(const Parameters& parameters, const std::string& suffix, double time);
StepTask sum_kinetic_energy();                     // of all ranks, into sums[0]
StepTask sum_kinetic_energy_of_groups(int baths);  // into the first of `sums`, by heat bath
Thermostat velocity_rescaling(const Parameters& parameters, const ThermostatInput& input);
Thermostat andersen(const Parameters& parameters, const ThermostatInput& input);
Thermostat nose_hoover(const Parameters& parameters, const ThermostatInput& input);
Thermostat berendsen_thermostat(const Parameters& parameters, const ThermostatInput& input);

// What a barostat knows of integrator and thermostat.
struct BarostatInput {
  double timestep;      // ps
  double temperature;   // K; 0: there is no heat bath, or several that differ
  int large_molecules;  // those that have several hydrogen groups
};
Barostat cell_rescaling(const Parameters& parameters, const BarostatInput& input);
Barostat monte_carlo_barostat(const Parameters& parameters, const BarostatInput& input);
Barostat berendsen_barostat(const Parameters& parameters, const BarostatInput& input);

}  // namespace quiltmd
