// SPDX-License-Identifier: Apache-2.0
// From names to plans.
#include "integrators/plans.h"

#include <numeric>

#include "math/units.h"

namespace quiltmd {
namespace {

const std::map<std::string, StepPlan (*)(const Parameters&, const Thermostat*)> kIntegrators{
    {"langevin_middle", langevin_middle},
    {"velocity_verlet", velocity_verlet},
};

const std::map<std::string, Thermostat (*)(const Parameters&, const ThermostatInput&)> kThermostats{
    {"velocity_rescaling", velocity_rescaling},
};

template <class Make>
Make find(const std::map<std::string, Make>& known, const std::string& kind, const char* what) {
  const auto found = known.find(kind);
  if (found != known.end()) return found->second;
  std::string names;
  for (const auto& [name, make] : known) names += (names.empty() ? "" : ", ") + name;
  throw Error(std::string("unknown ") + what + " '" + kind + "': choose from " + names);
}

}  // namespace

int64_t StepPlan::period() const {
  return std::lcm<int64_t>(long_range_every, couple_every > 0 ? couple_every : 1);
}

StepPlan make_step_plan(const IntegratorSettings& settings, int degrees_of_freedom) {
  const Parameters& parameters = settings.integrator;
  const auto make = find(kIntegrators, parameters.kind, "integrator");
  const double timestep = parameters.number("timestep");
  if (!(timestep > 0)) throw Error("the time step must be positive");
  const auto long_range_every = static_cast<int>(parameters.integer("long_range_every"));
  if (long_range_every < 1) throw Error("the long-range force must act every 1 or more steps");
  const auto remove_com_every = static_cast<int>(parameters.integer("remove_com_every"));
  // A thermostat that scales velocities leaves a centre of mass at rest as it is.
  const bool com_rests = remove_com_every > 0 || settings.thermostat;
  const double shared_by = degrees_of_freedom - (com_rests ? 3 : 0);

  std::optional<Thermostat> thermostat;
  if (settings.thermostat)
    thermostat = find(kThermostats, settings.thermostat->kind, "thermostat")(*settings.thermostat,
                                                                             {timestep, shared_by});
  StepPlan plan = make(parameters, thermostat ? &*thermostat : nullptr);
  plan.timestep = timestep;
  plan.constraint_tolerance = parameters.number("constraint_tolerance");
  plan.long_range_every = long_range_every;
  plan.remove_com_every = remove_com_every;
  plan.degrees_of_freedom = shared_by;
  if (thermostat) {
    plan.couple_every = thermostat->every;
    plan.temperature = thermostat->temperature;
    if (plan.couple_every % long_range_every != 0)
      throw Error(settings.thermostat->kind +
                  ": between actions of the long-range force the kinetic energy means nothing; "
                  "'every' must be a multiple of long_range_every");
  }
  plan.conditions.thermal = kBoltzmann * plan.temperature;
  return plan;
}

}  // namespace quiltmd
