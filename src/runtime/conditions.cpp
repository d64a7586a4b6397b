// SPDX-License-Identifier: Apache-2.0
// Conditions of an engine that change between steps: those of baths, the box, strengths and centres of restraints,
// lambdas, and the bias of collective variables.
#include <cmath>
#include <string>

#include "computes/expressions/custom_parameters.h"
#include "math/error.h"
#include "runtime/engine.h"

namespace quiltmd {
namespace {

// Takes the strength of restraints out of the values of conditions; without one it stays.
double take_restraint_strength(std::map<std::string, double>& values, double strength) {
  const auto given = values.extract(kRestraintStrength);
  if (!given) return strength;
  if (!std::isfinite(given.mapped()) || given.mapped() < 0)
    throw Error("the strength of restraints must be a finite number, not negative");
  return given.mapped();
}

// The same of lambdas.
Lambdas take_lambdas(std::map<std::string, double>& values, const System& system, Lambdas lambdas) {
  for (size_t k = 0; system.alchemy && k < kLambdas; ++k) {
    const auto given = values.extract(kLambdaNames[k]);
    if (!given) continue;
    if (!(given.mapped() >= 0 && given.mapped() <= 1))
      throw Error(given.key() + " must be from 0 to 1");
    lambdas.of[k] = given.mapped();
  }
  if (!system.alchemy) return lambdas;
  if (const std::string problem = problem_with(system, lambdas); !problem.empty())
    throw Error(problem);
  return lambdas;
}

// The same of centres of collective restraints, which conditions know by name.
std::vector<double> take_restraint_centres(std::map<std::string, double>& values,
                                           const System& system, std::vector<double> centres) {
  for (size_t r = 0; r < centres.size(); ++r) {
    const CollectiveRestraint& restraint = system.collective[r];
    const auto given = values.extract(kRestraintCentre + restraint.name);
    if (!given) continue;
    if (restraint.path.size() > 1)
      throw Error("the centre of restraint '" + restraint.name +
                  "' follows its path and cannot be set: leave out the path");
    if (!std::isfinite(given.mapped()))
      throw Error("the centre of restraint '" + restraint.name + "' must be a finite number");
    centres[r] = given.mapped();
  }
  return centres;
}

}  // namespace

void Engine::set_conditions(const std::map<std::string, double>& values,
                            const std::optional<Box>& box) {
  require_state();
  if (box && setup_->grid.is_open())
    throw Error("the system has no periodic box, so its box cannot be changed: leave out the box");
  std::map<std::string, double> of_dynamics = values;
  const double restraint_strength = take_restraint_strength(of_dynamics, restraint_strength_);
  const Lambdas lambdas = take_lambdas(of_dynamics, system_, lambdas_);
  std::vector<double> centres = take_restraint_centres(of_dynamics, system_, restraint_centres_);
  const auto custom_parameters = take_custom_parameters(of_dynamics, system_);
  IntegratorSettings changed = with_conditions(integrator_, of_dynamics);
  const BathSettings baths =
      make_step_plan(changed, setup_->degrees_of_freedom, setup_->molecules.large()).baths;
  const bool moves = box && *box != setup_->grid.box;
  const Int3 cells = setup_->grid.cells;
  if (moves) set_box(*setup_, PeriodicCell{*box}, cells);
  integrator_ = std::move(changed);
  setup_->restraint_strength = restraint_strength_ = restraint_strength;
  take_lambdas(*setup_, lambdas_ = lambdas);
  restraint_centres_ = std::move(centres);
  setup_->restraint_centres = collective_numbers();
  for (System* system : {&system_, &setup_->system})
    set_custom_parameters(*system, custom_parameters);
  setup_->plan.baths = baths;
  constraint_loss_.change(ranks_[0]->step(), setup_->constraint_loss());
  entered_.reset();
  conditions_changed(moves ? Rank::Atoms::kMoveWithBox : Rank::Atoms::kStay, cells);
}

void Engine::conditions_changed(Rank::Atoms atoms, Int3 cells) {
  const bool same_cells = setup_->grid.cells == cells;
  try {
    for_ranks([&](Rank& rank) {
      rank.update_conditions(atoms);
      if (same_cells) rank.rebuild();
    });
    if (!same_cells || ranks_[0]->needs_plan()) load_again();
  } catch (const Blowup& blowup) {
    explain(blowup);
  }
}

std::vector<double> Engine::collective_numbers() const {
  std::vector<double> numbers = restraint_centres_;
  const std::vector<double> packed = bias_.packed();
  numbers.insert(numbers.end(), packed.begin(), packed.end());
  return numbers;
}

void Engine::add_hills(const std::vector<BiasAxis>& axes, const std::vector<BiasHill>& hills) {
  require_state();
  bias_.check(axes, system_.collective.size());
  if (bias_.axes.empty()) {
    bias_ = Bias(axes);
    for (const auto& rank : ranks_) rank->forget_recordings();
  }
  for (const BiasHill& hill : hills) bias_.add(hill);
  setup_->restraint_centres = collective_numbers();
  entered_.reset();
  conditions_changed(Rank::Atoms::kStay, setup_->grid.cells);
}

}  // namespace quiltmd
