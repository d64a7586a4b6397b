// SPDX-License-Identifier: Apache-2.0
// What an integrator is to the rest of the program: a description of a step, made once from settings.
// The rank executes it (runtime/rank.cpp) and never asks which integrator it is. A stage of a step is
// a list of tasks that launch operations; a task may ask for sums over all ranks, which the next task
// finds in device memory. CONTRIBUTING.md has the recipe for another one.
//
// Every plan counts as heat, in energy[kHeat], what its operations do to the energy other than by
// forces, so that kinetic energy + potential energy - heat is conserved but for the integrator's error.
// The one exception is a loss that has a known mean: BathSettings::constraint_loss.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "integrators/centre_of_mass.h"
#include "integrators/operations.h"
#include "integrators/parameters.h"
#include "integrators/sites.h"

namespace quiltmd {

// A number of the plan's own that goes on from step to step, such as the position of a thermostat. Every
// rank has it in device memory (StepContext::variables) and changes it alike, as by an operation of one
// thread after a sum over all ranks. Epochs that are redone, checkpoints and other ranks begin from it, as
// from positions and velocities.
struct Variable {
  std::string name;    // in a State: the kind of what it belongs to, a dot, and what it is
  double initial = 0;  // where the State has none of this name
};
// The values by name in the order of the variables.
std::vector<double> values_of(const std::vector<Variable>& variables,
                              const std::map<std::string, double>& by_name);

// Memory of a step on the device of one rank. Nothing in it outlives a step; what does is a Variable.
inline constexpr size_t kStepSums = 16, kStepNumbers = size_t{kMaxHeatBaths};
struct StepMemory {
  explicit StepMemory(Device& device, size_t most_sums = kStepSums)
      : sums(device, most_sums), numbers(device, kStepNumbers) {}
  size_t bytes() const { return sums.bytes() + numbers.bytes(); }

  Buffer<int64_t> sums;    // of reductions, fixed point
  Buffer<double> numbers;  // from one task for the next
};

// Context of the tasks of a stage; the rank sets it for each step.
struct StepContext {
  GroupWork groups;
  ClearForces clear;
  ForcesAfter forces_after = ForcesAfter::kKept;
  int64_t* counter = nullptr;  // {step, 0}
  int64_t* energy = nullptr;
  int energy_kinds = 0;
  int64_t* sums = nullptr;  // StepMemory's
  double* numbers = nullptr;
  CellWork cell{};
  SiteTable sites{};
  double* variables = nullptr;     // StepPlan::variables
  int64_t* shared_heat = nullptr;  // receives heat of the whole system; null on all ranks but one
  BathTable baths{};
};

struct StepTask {
  const char* name;  // as profiles show it
  std::function<void(Device&, const StepContext&)> launch;
  int reduces = 0;  // number of `sums` added up over all ranks before the next task
};
using Stage = std::vector<StepTask>;

// Stages that lead from one step to the next, and that end a step: see RebuildPoint.
template <class T>
struct Stages {
  T middle, finish;
};

// Place of rebuilds in a step: between steps, or inside a step, when positions are new and forces are not.
// In the first case `middle` alone leads from state to state; in the second `start` leads from a state into
// a step, `middle` from inside one step into the next, and `finish` from inside a step to the state at its
// end.
enum class RebuildPoint { kBetweenSteps, kInsideSteps };

// Initial baths of a plan. set_conditions() changes nothing else in a plan.
struct BathSettings {
  double temperature = 0;  // of the heat bath, K, the highest of several; 0: there is none
  HeatBath heat{0, 1, 0};
  // Baths of groups of atoms, instead of the bath above; and whether all have the temperature above.
  std::vector<HeatBath> of_groups;
  bool one_temperature = true;
  // For each heat bath, the energy that constraints remove from the thermostat's change in a step: this
  // factor (kJ/mol amu nm^2) times constraint_rotation().
  std::vector<double> constraint_loss;
  PressureBath pressure{};

  void add_group(double its_temperature, const HeatBath& its_heat);
};

// Stage that acts at the end of an epoch at a multiple of `every`, before atoms are laid out again; epochs
// end at all of these steps. Before `act`, energies, virial and kinetic tensor of the state are evaluated.
// For a stage that decides about a proposed box, they are evaluated again before `decide`.
struct RebuildStage {
  int every = 0;  // steps; 0: there is none
  Stage act, decide;
  // Why a box that would change by more than kLargestStrain is refused.
  const char* strain_message = "";

  bool acts_at(int64_t step) const { return every > 0 && step % every == 0; }
};

// Steps between what acts where an epoch ends: epochs end at all multiples of these. 0: never.
struct EpochEnds {
  int stage = 0;     // the rebuild stage
  int momentum = 0;  // the removal of momentum
  int updates = 0;   // of what forces from outside remember

  bool fall_on(int64_t step) const { return step > 0 && step == first_after(step - 1); }
  int64_t first_after(int64_t step) const;
  int shortest() const;  // 0: there is none
};

struct StepPlan {
  double timestep = 0;              // ps
  double constraint_tolerance = 0;  // relative
  int long_range_every = 1;         // steps; in between the long-range force does not act
  CentreOfMass centre_of_mass;
  double degrees_of_freedom = 0;  // of the kinetic energy

  BathSettings baths;

  // The part of the Verlet buffer that catches every pair which lists are given. With all of it no
  // pair is missed, and energy is conserved.
  double buffer_fraction = 1;
  RebuildPoint rebuild = RebuildPoint::kBetweenSteps;

  // After the forces of a step have been computed; `start` also where they are known from before.
  Stage start;
  Stages<Stage> plain, coupled;  // without and with the thermostat
  int couple_every = 0;  // the thermostat acts at steps that are multiples of this; 0: at none

  RebuildStage rebuild_stage;  // of the barostat
  int update_every = 0;        // steps; at multiples forces from outside may remember; 0: at none
  std::vector<Variable> variables;

  EpochEnds epoch_ends() const {
    return {rebuild_stage.every, centre_of_mass.remove_every, update_every};
  }
  // Epoch ends that lists of any lifetime have.
  EpochEnds asked_ends() const {
    return {rebuild_stage.every, centre_of_mass.follows_lists ? 0 : centre_of_mass.remove_every,
            update_every};
  }
  // If the removal of momentum follows the lists: moves it to existing ends of epochs.
  void follow_lists(int life);
  bool couples(int64_t step) const { return couple_every > 0 && step % couple_every == 0; }
  size_t most_sums() const;  // of any task
  int64_t period() const;    // steps after which the sequence of stages and forces repeats
};

// A thermostat that acts between steps of an integrator.
struct Thermostat {
  Stage stage;
  int every = 1;  // steps
  BathSettings baths;
  std::vector<Variable> variables;  // the first of the plan
};

// Changes the box: it calculates the new box from energy[kVirial ...] and [kKineticTensor ...], and moves the
// hydrogen groups of the rank; or it proposes a box, with the present layout and lists, and decides when the
// energies in this box are known.
struct Barostat {
  RebuildStage stage;
  PressureBath bath{};
};

// An integrator and, where they are parts of their own, a thermostat and a barostat: names and numbers.
struct IntegratorSettings {
  Parameters integrator;
  std::optional<Parameters> thermostat, barostat;
  std::vector<uint8_t> bath_of_atom = {};  // order of the input; where groups have heat baths
};

// The settings with other conditions of integrator, thermostat and barostat: what may change while a
// simulation goes on. Throws Error that names what is none of these; make_step_plan() checks the values.
IntegratorSettings with_conditions(IntegratorSettings settings,
                                   const std::map<std::string, double>& conditions);

// Virtual sites follow their parents: they are placed after every stage that moves atoms and that no
// rebuild follows.
void place_sites_after_moves(StepPlan& plan);

// Number of heat baths of groups; 0: one bath has all atoms, or there is none. Throws Error if there are more
// than kMaxHeatBaths.
size_t baths_of_groups(const IntegratorSettings& settings);

// `large_molecules`: those that have several hydrogen groups. Throws Error that names what is unknown, missing
// or does not go together.
StepPlan make_step_plan(const IntegratorSettings& settings, const DegreesOfFreedom& freedom,
                        int large_molecules = 0);

}  // namespace quiltmd
