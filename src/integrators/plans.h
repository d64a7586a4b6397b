// SPDX-License-Identifier: Apache-2.0
// The integrators, thermostats and barostats there are: one file each in schemes/, thermostats/ and barostats/,
// which the build finds (cmake/kinds.cmake); and what they share.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "integrators/step_plan.h"

namespace quiltmd {

// Whether groups of atoms have heat baths of their own: `baths` of them, each with its numbers.
inline bool has_groups(const Parameters& parameters) { return parameters.values.contains("baths"); }
// For the heat bath of a group, from 0: suffix of its parameters' names, and its name in errors.
inline std::string bath_suffix(int64_t bath) { return "_" + std::to_string(bath); }
inline std::string bath_name(int64_t bath) { return "heat bath " + std::to_string(bath + 1); }

// Functions that make plans of a kind from its parameters, and list the parameters that may change during a
// simulation (of each heat bath, if groups have baths).
template <class Make>
struct Kind {
  Make* make;
  std::span<const char* const> conditions;
};
template <class K>
using ByName = std::map<std::string, K, std::less<>>;

// `thermostat` is null where there is none; an integrator that takes none refuses it by name.
using IntegratorKind = Kind<StepPlan(const Parameters& parameters, const Thermostat* thermostat)>;
const ByName<IntegratorKind>& integrators();

// Properties of the integrator that a thermostat needs.
struct ThermostatInput {
  double timestep;               // ps
  double degrees_of_freedom;     // of the kinetic energy
  std::vector<double> of_baths;  // the same by heat bath of groups
};
using ThermostatKind = Kind<Thermostat(const Parameters& parameters, const ThermostatInput& input)>;
const ByName<ThermostatKind>& thermostats();
inline constexpr const char* kTemperature[] = {"temperature"};

int steps_between_actions(const Parameters& parameters);
// A heat bath; the names of its parameters end in `suffix`, `time` (ps) is that between actions.
struct CoupledBath {
  double temperature;
  HeatBath heat;
};
using ReadBath = CoupledBath(const Parameters& parameters, const std::string& suffix, double time);
ReadBath read_coupled_bath;  // with a time constant: HeatBath::keep is exp(-time / time constant)
ReadBath
    read_friction_bath;  // with a friction: HeatBath::keep is exp(-friction time), and there is noise
// The bath of all atoms, or those of groups.
BathSettings read_baths(const Parameters& parameters, double time, ReadBath* read);
StepTask sum_kinetic_energy();                     // of all ranks, into sums[0]
StepTask sum_kinetic_energy_of_groups(int baths);  // into the first of `sums`, by heat bath
enum class VelocityNoise;
// Multiplies all velocities, or those of each group with a bath, by one factor.
Thermostat velocity_rescaling(const Parameters& parameters, const ThermostatInput& input,
                              VelocityNoise noise);

// Properties of integrator and thermostat that a barostat needs.
struct BarostatInput {
  double timestep;      // ps
  double temperature;   // K; 0: there is no heat bath, or several that differ
  int large_molecules;  // with several hydrogen groups
};
using BarostatKind = Kind<Barostat(const Parameters& parameters, const BarostatInput& input)>;
const ByName<BarostatKind>& barostats();
inline constexpr const char* kPressure[] = {"pressure_x", "pressure_y", "pressure_z"};

enum class CellNoise;
Barostat cell_rescaling(const Parameters& parameters, const BarostatInput& input, CellNoise noise);

}  // namespace quiltmd
