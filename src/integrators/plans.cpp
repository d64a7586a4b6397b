// SPDX-License-Identifier: Apache-2.0
// From names to plans.
#include "integrators/plans.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "math/units.h"

namespace quiltmd {
namespace {

template <class Make>
using Named = std::pair<std::string_view, Make>;

constexpr Named<StepPlan (*)(const Parameters&, const Thermostat*)> kIntegrators[] = {
    {"langevin_middle", langevin_middle},
    {"velocity_verlet", velocity_verlet},
};

constexpr Named<Thermostat (*)(const Parameters&, const ThermostatInput&)> kThermostats[] = {
    {"velocity_rescaling", velocity_rescaling},
    {"berendsen", berendsen_thermostat},
};

constexpr Named<Barostat (*)(const Parameters&, const BarostatInput&)> kBarostats[] = {
    {"cell_rescaling", cell_rescaling},
    {"berendsen", berendsen_barostat},
    {"monte_carlo", monte_carlo_barostat},
};

template <class Make, size_t N>
Make find(const Named<Make> (&known)[N], std::string_view kind, const char* what) {
  std::string names;
  for (const auto& [name, make] : known) {
    if (name == kind) return make;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(std::string("unknown ") + what + " '" + std::string(kind) + "': choose from " +
              names);
}

// Adds the barostat to a plan that is complete otherwise.
void add_barostat(const Parameters& parameters, int large_molecules, StepPlan& plan) {
  const auto make = find(kBarostats, parameters.kind, "barostat");
  Barostat barostat = make(parameters, {plan.timestep, plan.baths.temperature, large_molecules});
  if (barostat.stage.every % plan.long_range_every != 0)
    throw Error(
        parameters.kind +
        ": between actions of the long-range force the pressure means nothing; 'every' must "
        "be a multiple of long_range_every");
  plan.rebuild_stage = std::move(barostat.stage);
  plan.baths.pressure = barostat.bath;
}

}  // namespace

int64_t StepPlan::period() const {
  return std::lcm<int64_t>(long_range_every, couple_every > 0 ? couple_every : 1);
}

size_t StepPlan::most_sums() const {
  size_t most = kStepSums;
  for (const Stage* stage : {&plain.middle, &plain.finish, &coupled.middle, &coupled.finish,
                             &rebuild_stage.act, &rebuild_stage.decide})
    for (const StepTask& task : *stage) most = std::max(most, static_cast<size_t>(task.reduces));
  return most;
}

void place_sites_after_moves(StepPlan& plan) {
  for (Stage* stage : {&plan.start, &plan.plain.middle, &plan.coupled.middle})
    if (!stage->empty())
      stage->push_back({"sites", [](Device& device, const StepContext& c) {
                          device.launch(PlaceSites{c.groups, c.sites});
                        }});
}

StepPlan make_step_plan(const IntegratorSettings& settings, int degrees_of_freedom,
                        int large_molecules) {
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
    plan.baths.temperature = thermostat->temperature;
    if (plan.couple_every % long_range_every != 0)
      throw Error(settings.thermostat->kind +
                  ": between actions of the long-range force the kinetic energy means nothing; "
                  "'every' must be a multiple of long_range_every");
  }
  plan.baths.heat.thermal = kBoltzmann * plan.baths.temperature;
  if (settings.barostat) add_barostat(*settings.barostat, large_molecules, plan);
  return plan;
}

}  // namespace quiltmd
