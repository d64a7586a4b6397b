// SPDX-License-Identifier: Apache-2.0
// Plans of integrators: what they launch, where, and what they refuse; the draw of stochastic velocity
// rescaling against the distributions that Bussi et al. (2007) derive, and volumes of stochastic cell
// rescaling against those of the isothermal-isobaric ensemble.
#include <algorithm>
#include <array>
#include <numeric>

#include "check.h"
#include "device/null/null_device.h"
#include "integrators/cell_rescaling.h"
#include "integrators/monte_carlo.h"
#include "integrators/nose_hoover.h"
#include "integrators/step_plan.h"
#include "integrators/velocity_rescaling.h"

using namespace quiltmd;

namespace {

Parameters integrator(const char* kind, int long_range_every = 1, int remove_com_every = 0) {
  return {kind,
          {{"timestep", 0.002},
           {"constraint_tolerance", 1e-8},
           {"long_range_every", int64_t{long_range_every}},
           {"remove_com_every", int64_t{remove_com_every}},
           {"temperature", 310.0},
           {"friction", 1.0},
           {"seed", int64_t{3}}}};
}

Parameters rescaling(int every = 10) {
  return {"velocity_rescaling",
          {{"temperature", 310.0},
           {"time_constant", 0.5},
           {"seed", int64_t{3}},
           {"every", int64_t{every}}}};
}

Parameters chain(int64_t length = 3, double time_constant = 0.5) {
  return {"nose_hoover",
          {{"temperature", 310.0},
           {"time_constant", time_constant},
           {"chain_length", length},
           {"every", int64_t{10}}}};
}

Parameters barostat(const char* kind = "cell_rescaling", int every = 12) {
  Parameters made{kind,
                  {{"time_constant", 5.0},
                   {"surface_tension", 0.0},
                   {"seed", int64_t{3}},
                   {"every", int64_t{every}},
                   {"set_x", int64_t{0}},
                   {"set_y", int64_t{0}},
                   {"set_z", int64_t{2}}}};
  for (const char* axis : {"x", "y", "z"}) {
    made.values[std::string("pressure_") + axis] = 0.06;
    made.values[std::string("compressibility_") + axis] = 7.5e-4;
  }
  return made;
}

// The names of what a stage launches.
std::vector<std::string> launches(const Stage& stage, ForcesAfter after) {
  NullDevice device;
  StepMemory memory(device, 21);
  const Buffer<Conditions> conditions(device, 1);
  const Buffer<Box> before(device, 1);
  const Buffer<int64_t> energy(device, kTermEnergies);
  const Buffer<int32_t> table(device, 1);
  Buffer<Vec3d> saved(device, 1);
  StepContext context{};
  context.energy = const_cast<int64_t*>(energy.data());
  context.cell.conditions = const_cast<Conditions*>(conditions.data());
  context.cell.before = const_cast<Box*>(before.data());
  context.cell.molecules = {table.data(), table.data()};
  context.cell.saved = saved.data();
  context.energy_kinds = kTermEnergies;
  context.forces_after = after;
  context.groups.conditions = conditions.data();
  context.sums = memory.sums.data();
  context.numbers = memory.numbers.data();
  for (const StepTask& task : stage) task.launch(device, context);
  std::vector<std::string> names;
  for (const auto& launch : device.log().launches()) names.emplace_back(launch.name);
  return names;
}

using Names = std::vector<std::string>;

void langevin_is_one_operation() {
  const StepPlan plan = make_step_plan({integrator("langevin_middle"), std::nullopt, {}}, 300);
  CHECK(plan.rebuild == RebuildPoint::kBetweenSteps && plan.start.empty());
  CHECK(launches(plan.plain.middle, ForcesAfter::kCleared) == Names{"langevin_middle"});
  CHECK(plan.plain.finish.empty() && !plan.couples(0));
  CHECK(plan.buffer_fraction == 0.65 && plan.baths.temperature == 310);
}

void verlet_starts_and_finishes() {
  const StepPlan plan = make_step_plan({integrator("velocity_verlet", 3), std::nullopt, {}}, 300);
  CHECK(plan.rebuild == RebuildPoint::kInsideSteps && plan.period() == 3);
  CHECK((launches(plan.start, ForcesAfter::kKept) == Names{"verlet_start", "count_step"}));
  CHECK(launches(plan.plain.middle, ForcesAfter::kCleared) == Names{"verlet_step"});
  CHECK(launches(plan.plain.finish, ForcesAfter::kKept) == Names{"verlet_finish"});
  CHECK(plan.buffer_fraction == 1 && plan.baths.temperature == 0 && plan.degrees_of_freedom == 300);
}

void a_thermostat_acts_on_whole_steps() {
  const StepPlan plan = make_step_plan({integrator("velocity_verlet", 2), rescaling(6), {}}, 300);
  const Names thermostat{"verlet_finish", "sum_kinetic_energy", "draw_rescaling",
                         "scale_velocities"};
  Names whole = thermostat;
  whole.insert(whole.end(), {"verlet_start", "clear_forces", "count_step"});
  CHECK(launches(plan.coupled.middle, ForcesAfter::kCleared) == whole);
  CHECK(launches(plan.coupled.finish, ForcesAfter::kKept) == thermostat);
  CHECK(plan.couples(12) && !plan.couples(13) && plan.period() == 6);
  CHECK(plan.degrees_of_freedom == 297 && plan.baths.temperature == 310);
  int reductions = 0;
  for (const StepTask& task : plan.coupled.middle) reductions += task.reduces;
  CHECK(reductions == 1);
}

// Those that a State has go on, others begin where the plan says.
void a_chain_has_variables() {
  const StepPlan plan = make_step_plan({integrator("velocity_verlet"), chain(2), {}}, 300);
  CHECK((launches(plan.coupled.finish, ForcesAfter::kKept) ==
         Names{"verlet_finish", "sum_kinetic_energy", "advance_chain", "scale_velocities"}));
  CHECK(plan.variables.size() == 4 && plan.variables[2].name == "nose_hoover.velocity_1");
  CHECK((values_of(plan.variables, {{"nose_hoover.position_2", 0.25}, {"other.position_1", 3}}) ==
         std::vector<double>{0, 0.25, 0, 0}));
  CHECK((values_of({{"a", 1.5}, {"b", 2}}, {{"b", -1}}) == std::vector<double>{1.5, -1}));
}

// Up to rounding, the chain that has gone on for a time with velocities turned comes back.
void a_chain_is_reversible() {
  const int64_t kinetic = to_fixed(500, kEnergyScale);
  const Conditions now{{2.5, 1, 0}, {}, {}, 1};
  const std::array<double, 6> start{0.1, -0.2, 0.3, 2, -1.5, 0.7};
  std::array<double, 6> variables = start;
  double there = 0, back = 0;
  int64_t heat = 0;
  AdvanceChain op{{variables.data(), 3, 297, 0.3}, 0.012, &kinetic, &there, &now, &heat};
  advance_chain(op);
  CHECK(std::fabs(there - 1) > 1e-3 && heat != 0);
  for (size_t k = 3; k < 6; ++k) variables[k] = -variables[k];
  const int64_t scaled = to_fixed(500 * there * there, kEnergyScale);
  op.kinetic = &scaled;
  op.factor = &back;
  advance_chain(op);
  CHECK_NEAR(there * back, 1, 1e-9);
  CHECK(std::llabs(heat) < 10);
  for (size_t k = 0; k < 6; ++k) CHECK_NEAR(variables[k], k < 3 ? start[k] : -start[k], 1e-7);
}

// The second thermostat is a hundred times faster here than the time constant.
void a_chain_far_from_its_temperature_conserves_energy() {
  constexpr double kFreedom = 200000, kThermal = 2.5;
  const Conditions now{{kThermal, 1, 0}, {}, {}, 1};
  std::array<double, 6> variables{};
  double factor = 1, energy = 0.25 * kFreedom * kThermal, largest = 0;
  const double start = energy;
  int64_t heat = 0;
  for (int action = 0; action < 300; ++action) {
    const int64_t kinetic = to_fixed(energy, kEnergyScale);
    advance_chain({{variables.data(), 3, kFreedom, 0.5}, 0.02, &kinetic, &factor, &now, &heat});
    energy *= factor * factor;
    const double lost = energy - from_fixed(heat, kEnergyScale) - start;
    largest = std::fmax(largest, std::fabs(lost) / (kFreedom * kThermal));
  }
  CHECK(energy > 1.05 * start && std::isfinite(energy));
  CHECK(largest < 1e-5);
}

void a_barostat_acts_before_a_rebuild() {
  const StepPlan plan =
      make_step_plan({integrator("langevin_middle", 2), std::nullopt, barostat()}, 300);
  CHECK((launches(plan.rebuild_stage.act, ForcesAfter::kKept) ==
         Names{"rescale_cell", "rescale_groups"}));
  CHECK(plan.rebuild_stage.acts_at(24) && !plan.rebuild_stage.acts_at(25) && plan.period() == 2);
  CHECK(plan.rebuild_stage.act.front().reduces == 2 * Symmetric::kParts);
  CHECK_NEAR(plan.baths.pressure.mobility[2], 7.5e-4 * 12 * 0.002 / 15, 1e-12);
  const StepPlan plain =
      make_step_plan({integrator("velocity_verlet"), std::nullopt, barostat("berendsen")}, 300);
  CHECK((launches(plain.rebuild_stage.act, ForcesAfter::kKept) ==
         Names{"rescale_cell", "scale_groups"}));
}

void a_proposed_box_is_decided_about() {
  const IntegratorSettings settings{integrator("langevin_middle"), std::nullopt,
                                    barostat("monte_carlo")};
  const StepPlan plan = make_step_plan(settings, 300, 7);
  CHECK((launches(plan.rebuild_stage.act, ForcesAfter::kKept) ==
         Names{"sum_molecules", "propose_cell", "move_molecules", "count_potential"}));
  CHECK((launches(plan.rebuild_stage.decide, ForcesAfter::kKept) ==
         Names{"count_potential", "decide_cell", "restore_positions"}));
  CHECK(plan.rebuild_stage.act.front().reduces == 21 &&
        plan.rebuild_stage.decide.front().reduces == 1);
  CHECK(plan.most_sums() == 21);
  const StepPlan waters = make_step_plan(settings, 300);
  CHECK(launches(waters.rebuild_stage.act, ForcesAfter::kKept).front() == "propose_cell");
}

void check_refused(const IntegratorSettings& settings, const char* because) {
  try {
    make_step_plan(settings, 300);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(because) != std::string::npos);
    return;
  }
  CHECK(!"refused");
}

void nonsense_is_refused_by_name() {
  check_refused({integrator("verlet"), std::nullopt, {}}, "langevin_middle, velocity_verlet");
  check_refused({integrator("langevin_middle"), rescaling(), {}}, "a thermostat by itself");
  check_refused({integrator("velocity_verlet", 4), rescaling(10), {}},
                "multiple of long_range_every");
  check_refused({integrator("velocity_verlet"), rescaling(0), {}}, "'every'");
  check_refused({integrator("langevin_middle"), chain(), {}}, "a thermostat by itself");
  check_refused({integrator("velocity_verlet"), chain(0), {}}, "1 to 32 thermostats");
  check_refused({integrator("velocity_verlet"), chain(3, 0.07), {}}, "raise 'time_constant'");
  check_refused({integrator("velocity_verlet"), std::nullopt, barostat()}, "needs a temperature");
  check_refused({integrator("langevin_middle", 5), std::nullopt, barostat()},
                "multiple of long_range_every");
  check_refused({integrator("langevin_middle"), std::nullopt, barostat("hoover")},
                "cell_rescaling, berendsen, monte_carlo");
  check_refused({integrator("velocity_verlet"), std::nullopt, barostat("monte_carlo")},
                "needs a temperature");
  Parameters incomplete = integrator("langevin_middle");
  incomplete.values.erase("friction");
  check_refused({incomplete, std::nullopt, {}}, "missing setting 'friction'");
}

// Of each part its own conditions, and nothing else.
void conditions_belong_to_parts() {
  const IntegratorSettings settings{integrator("velocity_verlet"), rescaling(), barostat()};
  const IntegratorSettings changed =
      with_conditions(settings, {{"temperature", 200}, {"pressure_y", -1.5}});
  CHECK(changed.integrator.values == settings.integrator.values);
  CHECK(changed.thermostat->number("temperature") == 200);
  CHECK(changed.barostat->number("pressure_y") == -1.5);
  CHECK(make_step_plan(changed, 300).baths.temperature == 200);
  const auto message = [&](const char* name) {
    try {
      with_conditions(settings, {{name, 1}});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* name : {"friction", "seed", "timestep", "humidity"})
    CHECK(message(name) == "'" + std::string(name) +
                               "' cannot be changed while this simulation goes on, only box, "
                               "restraints, pressure_x, pressure_y, pressure_z, temperature");
  check_refused(with_conditions(settings, {{"temperature", -1}}), "a temperature is not negative");
  check_refused(with_conditions(settings, {{"pressure_x", std::nan("")}}), "a finite number");
  const IntegratorSettings langevin{integrator("langevin_middle"), std::nullopt, {}};
  check_refused(with_conditions(langevin, {{"temperature", -1}}), "a temperature is not negative");
  check_refused(with_conditions(langevin, {{"friction", -1}}), "a friction is not negative");
}

// ---- The draw ------------------------------------------------------------------------------

// Kinetic energies after one action each, from `kinetic` (kJ/mol), at steps 0, 1, ...
std::vector<double> propagated(double kinetic, double freedom, double thermal, double keep,
                               int64_t count) {
  std::vector<double> after;
  const int64_t fixed = to_fixed(kinetic, kEnergyScale);
  for (int64_t step = 0; step < count; ++step) {
    const Conditions now{{2 * thermal, 1, 0}, {}, {}, 1};
    const double factor =
        rescaling_factor({&fixed, nullptr, &now, freedom, keep, VelocityNoise::kThermal, 7, &step});
    after.push_back(factor * factor * kinetic);
  }
  return after;
}

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
double variance_of(const std::vector<double>& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (const double value : x) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(x.size());
}

// Mean, variance and third moment of the gamma distribution, 5 standard errors.
void gamma_numbers() {
  constexpr int kDraws = 200000;
  for (const double shape : {0.5, 1.0, 3.5, 1000.0}) {
    std::vector<double> x;
    double third = 0;
    for (uint64_t step = 0; step < kDraws; ++step) {
      x.push_back(gamma_number(shape, 11, step));
      third += std::pow(x.back() - shape, 3) / kDraws;
    }
    const double error = std::sqrt(1.0 / kDraws);
    CHECK_NEAR(mean_of(x), shape, 5 * error * std::sqrt(shape));
    CHECK_NEAR(variance_of(x), shape, 5 * error * std::sqrt(2 * shape * shape + 6 * shape));
    CHECK_NEAR(third, 2 * shape, 5 * error * std::sqrt(15 * std::pow(shape, 3) + 1000 * shape));
  }
}

// One action: (1 - c) kT/2 times a noncentral chi-squared number, whose mean and variance are known.
void an_action_has_the_right_transition() {
  constexpr double kThermal = 1.25, kFreedom = 30, kKinetic = 90;
  for (const double c : {0.1, 0.9, 0.995}) {
    const auto after = propagated(kKinetic, kFreedom, kThermal, c, 100000);
    const double mean = c * kKinetic + (1 - c) * kFreedom * kThermal;
    const double variance = 2 * (1 - c) * (1 - c) * kFreedom * kThermal * kThermal +
                            4 * c * (1 - c) * kKinetic * kThermal;
    CHECK_NEAR(mean_of(after), mean, 5 * std::sqrt(variance / 1e5));
    CHECK_NEAR(variance_of(after), variance, 0.04 * variance);
  }
}

// Without memory each draw is canonical: Kolmogorov-Smirnov against the gamma distribution of shape 3.
void the_distribution_is_canonical() {
  constexpr double kThermal = 1.25;
  auto drawn = propagated(17, 6, kThermal, 0, 20000);
  std::sort(drawn.begin(), drawn.end());
  double farthest = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double x = drawn[i] / (2 * kThermal), n = static_cast<double>(drawn.size());
    const double exact = 1 - std::exp(-x) * (1 + x + x * x / 2);
    farthest = std::max(farthest, std::fabs(exact - (static_cast<double>(i) + 0.5) / n));
  }
  CHECK(farthest < 1.95 / std::sqrt(20000.0));  // one in a thousand is beyond
}

// With very many degrees of freedom the kinetic energy relaxes exponentially, as in equation 8 of the
// paper without its noise.
void large_systems_relax_exponentially() {
  constexpr double kThermal = 0.1, kFreedom = 1e7;
  const double target = kFreedom * kThermal, keep = 0.75;
  double kinetic = 2 * target;
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t fixed = to_fixed(kinetic, kEnergyScale);
    const Conditions now{{2 * kThermal, 1, 0}, {}, {}, 1};
    const double relaxed = keep * kinetic / target + (1 - keep);
    DrawRescaling op{&fixed, nullptr, &now, kFreedom, keep, VelocityNoise::kThermal, 7, &step};
    const double factor = rescaling_factor(op);
    CHECK_NEAR(factor * factor * kinetic / target, relaxed, 2e-3);
    op.noise = VelocityNoise::kNone;
    const double without = rescaling_factor(op);
    CHECK_NEAR(without * without * kinetic / target, relaxed, 1e-9);
    kinetic *= factor * factor;
  }
}

void atoms_at_rest_stay_at_rest() {
  const int64_t nothing = 0, step = 5;
  const Conditions now{{2.5, 1, 0}, {}, {}, 1};
  CHECK(rescaling_factor({&nothing, nullptr, &now, 30, 0.5, VelocityNoise::kThermal, 7, &step}) ==
        1);
}

// ---- Volumes ---------------------------------------------------------------------------------

// Particles whose momenta in fractions of the box stay: their kinetic energy along an axis is that at
// the start times (L0 / L)^2, and there is no virial. Lengths after so many actions.
constexpr double kThermalEnergy = 2.5, kPressure = 0.5, kLength = 6.5, kKinetic = 300;
constexpr double kMobility = 0.01;  // the volume relaxes in some 40 actions
constexpr int kActions = 1600000;
std::vector<Vec3d> rescaled(const int (&set_of)[3]) {
  Conditions now{};
  now.bath.thermal = kThermalEnergy;
  now.box = {kLength, 0, kLength, 0, 0, kLength};
  for (int d = 0; d < 3; ++d) {
    now.pressure_bath.pressure[d] = kPressure;
    now.pressure_bath.mobility[d] = kMobility;
  }
  Box before{};
  int64_t tensors[2 * Symmetric::kParts]{}, energy[1]{}, step = 0;
  const Faults faults{};
  RescaleCell op{{&now, &before, 0, 0},
                 tensors,
                 {set_of[0], set_of[1], set_of[2]},
                 CellNoise::kThermal,
                 5,
                 &step,
                 &faults,
                 energy};
  std::vector<Vec3d> lengths;
  for (; step < kActions; ++step) {
    const Vec3d at{now.box.ax, now.box.by, now.box.cz};
    for (int d = 0; d < 3; ++d)
      tensors[Symmetric::kParts + d] =
          to_fixed(2 * kKinetic * kLength * kLength / (at[d] * at[d]), kEnergyScale);
    rescale_cell(op);
    lengths.push_back({now.box.ax, now.box.by, now.box.cz});
  }
  return lengths;
}

// Mean and variance of the volume from the density exp(-(K(V) + P V)/kT) dV.
void volumes_are_those_of_the_ensemble() {
  double sum = 0, mean = 0, square = 0;
  for (double v = 100; v < 3000; v += 0.1) {
    const double kinetic = 3 * kKinetic * std::pow(kLength * kLength * kLength / v, 2 / 3.0);
    const double weight = std::exp(-(kinetic + kPressure * v - 831) / kThermalEnergy);
    sum += weight;
    mean += weight * v;
    square += weight * v * v;
  }
  mean /= sum;
  const double variance = square / sum - mean * mean;
  std::vector<double> volumes;
  for (const Vec3d at : rescaled({0, 0, 0})) volumes.push_back(at.x * at.y * at.z);
  CHECK_NEAR(mean_of(volumes), mean, 4 * std::sqrt(variance * 80 / kActions));
  CHECK_NEAR(variance_of(volumes), variance, 0.06 * variance);
}

// Sets of axes: the density is exp(-(sum of K(L) + P V)/kT), by the product of the lengths or areas of
// the sets. So the mean of a length times the derivative of the energy by it is kT.
void each_set_obeys_the_virial_theorem() {
  for (const auto& sets : {std::array{0, 1, 2}, std::array{0, 0, 2}}) {
    double along_z = 0, lateral = 0;
    for (const Vec3d at : rescaled({sets[0], sets[1], sets[2]})) {
      const auto twice_kinetic = [](double length) {
        return 2 * kKinetic * kLength * kLength / (length * length);
      };
      const double pv = kPressure * at.x * at.y * at.z;
      along_z += (pv - twice_kinetic(at.z)) / kActions;
      lateral += (2 * pv - twice_kinetic(at.x) - twice_kinetic(at.y)) / kActions;
    }
    CHECK_NEAR(along_z, kThermalEnergy, 0.4 * kThermalEnergy);
    CHECK_NEAR(lateral, 2 * kThermalEnergy, 0.4 * 2 * kThermalEnergy);
  }
}

void steps_that_are_redone_keep_the_box() {
  Conditions now{};
  now.bath.thermal = 2.5;
  now.box = {3, 0, 3, 0, 0, 3};
  for (double& mobility : now.pressure_bath.mobility) mobility = 1e-3;
  Box before{};
  const int64_t tensors[2 * Symmetric::kParts]{}, step = 8;
  int64_t energy[1]{};
  Faults faults{};
  faults.violation_step = 5;
  rescale_cell(
      {{&now, &before, 1, 1}, tensors, {0, 0, 0}, CellNoise::kThermal, 5, &step, &faults, energy});
  CHECK(now.box.ax == 3 && before.ax == 3 && energy[0] == 0);
}

// Two molecules of an ideal gas and an energy c/V: the density is V^2 exp(-(c/V + P V)/kT) dV.
void accepted_volumes_are_those_of_the_ensemble() {
  constexpr int kProposals = 1'000'000, kMolecules = 2;
  constexpr double kConstant = 5, kLow = 1;
  const auto energy_at = [](double v) { return kConstant / v + kLow * v; };
  double sum = 0, mean = 0, square = 0;
  for (double v = 0.01; v < 60; v += 0.001) {
    const double weight = std::pow(v, kMolecules) * std::exp(-energy_at(v) / kThermalEnergy);
    sum += weight;
    mean += weight * v;
    square += weight * v * v;
  }
  mean /= sum;
  const double variance = square / sum - mean * mean;

  Conditions now{};
  now.bath.thermal = kThermalEnergy;
  now.box = {2, 0, 2, 0, 0, 2};
  for (int d = 0; d < 3; ++d) {
    now.pressure_bath.mobility[d] = 0.003;
    now.pressure_bath.pressure[d] = kLow;
  }
  Box before{};
  int64_t step = 0, energy[1]{};
  const int64_t change = 0;
  double accepted = 0, taken = 0;
  const Faults faults{};
  CellWork cell{};
  cell.conditions = &now;
  cell.before = &before;
  cell.constant_energy = cell.counted_energy = kConstant;
  cell.molecule_count = kMolecules;
  const AxisSets sets{{0, 0, 2}};
  std::vector<double> volumes;
  for (; step < kProposals; ++step) {
    propose_cell({cell, sets, 7, &step, &faults});
    const bool along_z = now.box.cz != before.cz;
    CHECK(along_z ? now.box.ax == before.ax : now.box.ax == now.box.by);
    decide_cell({cell, sets, &change, 7, &step, &faults, &accepted, energy});
    CHECK(accepted == 1 || now.box.ax == before.ax);
    taken += accepted;
    volumes.push_back(now.box.volume());
  }
  CHECK(taken > 0.8 * kProposals && taken < kProposals);
  CHECK_NEAR(mean_of(volumes), mean, 4 * std::sqrt(variance * 800 / kProposals));
  CHECK_NEAR(variance_of(volumes), variance, 0.25 * variance);
  CHECK_NEAR(from_fixed(energy[0], kEnergyScale), kConstant * (1 / now.box.volume() - 1 / 8.0),
             1e-2);
}

}  // namespace

int main() {
  return test::run_all({
      {"Langevin-middle is one operation", langevin_is_one_operation},
      {"velocity Verlet starts and finishes", verlet_starts_and_finishes},
      {"a thermostat acts on whole steps", a_thermostat_acts_on_whole_steps},
      {"a chain has variables", a_chain_has_variables},
      {"a chain is reversible", a_chain_is_reversible},
      {"a chain far from its temperature conserves energy",
       a_chain_far_from_its_temperature_conserves_energy},
      {"a barostat acts before a rebuild", a_barostat_acts_before_a_rebuild},
      {"a proposed box is decided about", a_proposed_box_is_decided_about},
      {"volumes are those of the ensemble", volumes_are_those_of_the_ensemble},
      {"accepted volumes are those of the ensemble", accepted_volumes_are_those_of_the_ensemble},
      {"each set obeys the virial theorem", each_set_obeys_the_virial_theorem},
      {"steps that are redone keep the box", steps_that_are_redone_keep_the_box},
      {"nonsense is refused by name", nonsense_is_refused_by_name},
      {"conditions belong to parts", conditions_belong_to_parts},
      {"gamma numbers", gamma_numbers},
      {"an action has the right transition", an_action_has_the_right_transition},
      {"the distribution is canonical", the_distribution_is_canonical},
      {"large systems relax exponentially", large_systems_relax_exponentially},
      {"atoms at rest stay at rest", atoms_at_rest_stay_at_rest},
  });
}
