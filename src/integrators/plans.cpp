// SPDX-License-Identifier: Apache-2.0
// From names to plans.
#include "integrators/plans.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "math/units.h"

namespace quiltmd {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

template <class K>
const K& find(const ByName<K>& known, const std::string& kind, const char* what) {
  const auto found = known.find(kind);
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, one] : known) names.push_back(name);
  throw Error(std::string("unknown ") + what + " '" + kind + "': choose from " + listed(names));
}

CentreOfMass centre_of_mass_from(const Parameters& parameters) {
  const CentreOfMass found{parameters.integer("remove_com_every"),
                           parameters.integer("resting_axes"),
                           parameters.values.contains("remove_com_with_lists")};
  if (found.remove_every < 0)
    throw Error(
        "remove_com_every must not be negative: give the number of steps between removals of the "
        "motion of the centre of mass, or 0 for none");
  if (found.resting < 0 || found.resting > 7)
    throw Error("resting_axes must be a sum of 1 for x, 2 for y and 4 for z");
  return found;
}

// Adds the barostat to a plan that is complete otherwise.
void add_barostat(const Parameters& parameters, int large_molecules, StepPlan& plan) {
  const auto& known = find(barostats(), parameters.kind, "barostat");
  const double temperature = plan.baths.one_temperature ? plan.baths.temperature : 0;
  Barostat barostat = known.make(parameters, {plan.timestep, temperature, large_molecules});
  if (barostat.stage.every % plan.long_range_every != 0)
    throw Error(
        parameters.kind +
        ": 'every' must be a multiple of long_range_every, because the pressure is defined only "
        "at steps with the long-range force");
  plan.rebuild_stage = std::move(barostat.stage);
  plan.baths.pressure = barostat.bath;
}

}  // namespace

int64_t EpochEnds::first_after(int64_t step) const {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const int every : {stage, momentum, updates})
    if (every > 0) first = std::min(first, (step / every + 1) * every);
  return first;
}

int EpochEnds::shortest() const {
  int least = 0;
  for (const int every : {stage, momentum, updates})
    if (every > 0) least = least > 0 ? std::min(least, every) : every;
  return least;
}

void StepPlan::follow_lists(int life) {
  if (!centre_of_mass.follows_lists) return;
  const int asked = asked_ends().shortest();
  const int apart = asked > 0 ? asked : life;
  const int whole = (centre_of_mass.remove_every + apart / 2) / apart;
  centre_of_mass.remove_every = std::max(whole, 1) * apart;
}

int64_t StepPlan::period() const {
  return std::lcm<int64_t>(long_range_every, couple_every > 0 ? couple_every : 1);
}

void BathSettings::add_group(double its_temperature, const HeatBath& its_heat) {
  if (!of_groups.empty() && its_temperature != temperature) one_temperature = false;
  temperature = std::max(temperature, its_temperature);
  of_groups.push_back(its_heat);
}

std::vector<double> values_of(const std::vector<Variable>& variables,
                              const std::map<std::string, double>& by_name) {
  std::vector<double> values;
  for (const Variable& variable : variables) {
    const auto given = by_name.find(variable.name);
    values.push_back(given == by_name.end() ? variable.initial : given->second);
  }
  return values;
}

size_t StepPlan::most_sums() const {
  size_t most = kStepSums;
  for (const Stage* stage : {&start, &plain.middle, &plain.finish, &coupled.middle, &coupled.finish,
                             &rebuild_stage.act, &rebuild_stage.decide})
    for (const StepTask& task : *stage) most = std::max(most, static_cast<size_t>(task.reduces));
  return most;
}

IntegratorSettings with_conditions(IntegratorSettings settings,
                                   const std::map<std::string, double>& conditions) {
  std::map<std::string, Parameters*> owner;
  const auto own = [&](Parameters& part, const auto& known) {
    for (const char* name : known.conditions) {
      if (part.values.contains(name)) owner.emplace(name, &part);
      for (int64_t k = 0; part.values.contains(name + bath_suffix(k)); ++k)
        owner.emplace(name + bath_suffix(k), &part);
    }
  };
  own(settings.integrator, find(integrators(), settings.integrator.kind, "integrator"));
  if (settings.thermostat)
    own(*settings.thermostat, find(thermostats(), settings.thermostat->kind, "thermostat"));
  if (settings.barostat)
    own(*settings.barostat, find(barostats(), settings.barostat->kind, "barostat"));
  for (const auto& [name, value] : conditions) {
    const auto found = owner.find(name);
    if (found == owner.end()) {
      std::vector<std::string> names{"box", kRestraintStrength};
      for (const auto& [known, part] : owner) names.push_back(known);
      throw Error("'" + name + "' cannot be changed during this simulation: choose from " +
                  listed(names));
    }
    found->second->values[name] = value;
  }
  return settings;
}

void place_sites_after_moves(StepPlan& plan) {
  for (Stage* stage : {&plan.start, &plan.plain.middle, &plan.coupled.middle})
    if (!stage->empty())
      stage->push_back({"sites", [](Device& device, const StepContext& c) {
                          device.launch(PlaceSites{c.groups, c.sites});
                        }});
}

size_t baths_of_groups(const IntegratorSettings& settings) {
  const Parameters& part = settings.thermostat ? *settings.thermostat : settings.integrator;
  if (!has_groups(part)) return 0;
  const int baths = part.integer("baths");
  if (baths < 1 || baths > kMaxHeatBaths)
    throw Error(part.kind + ": the number of heat baths must be from 1 to " +
                std::to_string(kMaxHeatBaths) + ", not " + std::to_string(baths));
  return static_cast<size_t>(baths);
}

StepPlan make_step_plan(const IntegratorSettings& settings, const DegreesOfFreedom& freedom,
                        int large_molecules) {
  const Parameters& parameters = settings.integrator;
  const auto& known = find(integrators(), parameters.kind, "integrator");
  const double timestep = parameters.number("timestep");
  if (!(timestep > 0)) throw Error("the time step must be positive");
  const int long_range_every = parameters.integer("long_range_every");
  if (long_range_every < 1) throw Error("long_range_every must be 1 or more steps");
  static_cast<void>(baths_of_groups(settings));  // refuses more than there may be
  const CentreOfMass centre_of_mass = centre_of_mass_from(parameters);
  const int at_rest = centre_of_mass.axes_at_rest();
  const double shared_by = freedom.all.shared_by(at_rest);

  std::optional<Thermostat> thermostat;
  if (settings.thermostat) {
    ThermostatInput input{timestep, shared_by, {}};
    for (const Freedom& one : freedom.of_baths) input.of_baths.push_back(one.shared_by(at_rest));
    thermostat = find(thermostats(), settings.thermostat->kind, "thermostat")
                     .make(*settings.thermostat, input);
  }
  StepPlan plan = known.make(parameters, thermostat ? &*thermostat : nullptr);
  plan.timestep = timestep;
  plan.constraint_tolerance = parameters.number("constraint_tolerance");
  plan.long_range_every = long_range_every;
  plan.centre_of_mass = centre_of_mass;
  plan.degrees_of_freedom = shared_by;
  if (thermostat) {
    plan.couple_every = thermostat->every;
    plan.variables = thermostat->variables;
    plan.baths = thermostat->baths;
    if (plan.couple_every % long_range_every != 0)
      throw Error(settings.thermostat->kind +
                  ": 'every' must be a multiple of long_range_every, because the kinetic energy is "
                  "defined only at steps with the long-range force");
  }
  plan.baths.heat.thermal = kBoltzmann * plan.baths.temperature;
  if (settings.barostat) add_barostat(*settings.barostat, large_molecules, plan);
  return plan;
}

}  // namespace quiltmd
