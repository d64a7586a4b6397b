// SPDX-License-Identifier: Apache-2.0
// Plans of integrators: what they launch, where, and what they refuse.
#include "check.h"
#include "device/null/null_device.h"
#include "integrators/step_plan.h"
#include "math/symmetric.h"
#include "math/units.h"

using namespace quiltmd;

namespace {

const DegreesOfFreedom kFreedom{{300}, {}};

Parameters integrator(const char* kind, int long_range_every = 1, int remove_com_every = 0) {
  return {kind,
          {{"timestep", 0.002},
           {"constraint_tolerance", 1e-8},
           {"long_range_every", int64_t{long_range_every}},
           {"remove_com_every", int64_t{remove_com_every}},
           {"resting_axes", int64_t{remove_com_every > 0 ? 7 : 0}},
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
  const StepPlan plan = make_step_plan({integrator("langevin_middle"), std::nullopt, {}}, kFreedom);
  CHECK(plan.rebuild == RebuildPoint::kBetweenSteps && plan.start.empty());
  CHECK(launches(plan.plain.middle, ForcesAfter::kCleared) == Names{"langevin_middle"});
  CHECK(plan.plain.finish.empty() && !plan.couples(0));
  CHECK(plan.buffer_fraction == 0.65 && plan.baths.temperature == 310);
}

Parameters of_groups(double second = 280) {
  Parameters made = integrator("langevin_middle");
  made.values.erase("temperature");
  made.values.erase("friction");
  made.values["baths"] = int64_t{2};
  made.values["temperature_0"] = 280.0;
  made.values["friction_0"] = 1.0;
  made.values["temperature_1"] = second;
  made.values["friction_1"] = 5.0;
  return made;
}

// The hottest bath says how far atoms move; one bath has the numbers of langevin_middle.
void groups_have_baths() {
  const StepPlan plan = make_step_plan({of_groups(310), std::nullopt, {}}, kFreedom);
  CHECK(launches(plan.plain.middle, ForcesAfter::kCleared) == Names{"langevin_middle_groups"});
  CHECK(plan.baths.temperature == 310 && !plan.baths.one_temperature);
  CHECK(plan.baths.of_groups.size() == 2 && plan.buffer_fraction == 0.65);
  Parameters one = integrator("langevin_middle");
  one.values["friction"] = 5.0;
  const BathSettings alone = make_step_plan({one, std::nullopt, {}}, kFreedom).baths;
  CHECK(plan.baths.of_groups[1].keep == alone.heat.keep &&
        plan.baths.of_groups[1].noise_scale == alone.heat.noise_scale &&
        plan.baths.constraint_loss[1] == alone.constraint_loss[0]);
}

void verlet_starts_and_finishes() {
  const StepPlan plan =
      make_step_plan({integrator("velocity_verlet", 3), std::nullopt, {}}, kFreedom);
  CHECK(plan.rebuild == RebuildPoint::kInsideSteps && plan.period() == 3);
  CHECK((launches(plan.start, ForcesAfter::kKept) == Names{"verlet_start", "count_step"}));
  CHECK(launches(plan.plain.middle, ForcesAfter::kCleared) == Names{"verlet_step"});
  CHECK(launches(plan.plain.finish, ForcesAfter::kKept) == Names{"verlet_finish"});
  CHECK(plan.buffer_fraction == 1 && plan.baths.temperature == 0 && plan.degrees_of_freedom == 300);
}

void a_thermostat_acts_on_whole_steps() {
  const StepPlan plan =
      make_step_plan({integrator("velocity_verlet", 2, 100), rescaling(6), {}}, kFreedom);
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
  const StepPlan plan = make_step_plan({integrator("velocity_verlet"), chain(2), {}}, kFreedom);
  CHECK((launches(plan.coupled.finish, ForcesAfter::kKept) ==
         Names{"verlet_finish", "sum_kinetic_energy", "advance_chain", "scale_velocities"}));
  CHECK(plan.variables.size() == 4 && plan.variables[2].name == "nose_hoover.velocity_1");
  CHECK((values_of(plan.variables, {{"nose_hoover.position_2", 0.25}, {"other.position_1", 3}}) ==
         std::vector<double>{0, 0.25, 0, 0}));
  CHECK((values_of({{"a", 1.5}, {"b", 2}}, {{"b", -1}}) == std::vector<double>{1.5, -1}));
}

// Two baths, of 280 K and another temperature, with other time constants.
Parameters scaling_groups(Parameters made, double second = 280) {
  made.values["baths"] = int64_t{2};
  for (const char* name : {"temperature", "time_constant"}) {
    made.values[std::string(name) + "_0"] = made.values.at(name);
    made.values[std::string(name) + "_1"] = made.values.at(name);
    made.values.erase(name);
  }
  made.values["temperature_0"] = 280.0;
  made.values["temperature_1"] = second;
  return made;
}

const DegreesOfFreedom kOfTwo{{300}, {{100, 0.25}, {200, 0.75}}};

// Each has a sum of its own. Without removal the centre of mass does not rest, as it does with one bath.
void a_thermostat_of_groups_scales_each() {
  const IntegratorSettings settings{
      integrator("velocity_verlet", 1, 100), scaling_groups(rescaling(), 310), {}};
  const StepPlan plan = make_step_plan(settings, kOfTwo);
  CHECK((launches(plan.coupled.finish, ForcesAfter::kKept) ==
         Names{"verlet_finish", "sum_kinetic_energy_groups", "draw_rescaling_groups",
               "scale_velocities_groups"}));
  int reductions = 0;
  for (const StepTask& task : plan.coupled.middle) reductions += task.reduces;
  CHECK(reductions == 2 && plan.degrees_of_freedom == 297);
  CHECK(plan.baths.temperature == 310 && !plan.baths.one_temperature);
  CHECK_NEAR(plan.baths.of_groups[1].keep, std::exp(-10 * 0.002 / 0.5), 1e-15);
  CHECK(make_step_plan({integrator("velocity_verlet"), scaling_groups(rescaling()), {}}, kOfTwo)
            .degrees_of_freedom == 300);
  const StepPlan chains =
      make_step_plan({integrator("velocity_verlet"), scaling_groups(chain(2)), {}}, kOfTwo);
  CHECK((launches(chains.coupled.finish, ForcesAfter::kKept) ==
         Names{"verlet_finish", "sum_kinetic_energy_groups", "advance_chains",
               "scale_velocities_groups"}));
  CHECK(chains.variables.size() == 8 &&
        chains.variables[6].name == "nose_hoover.bath_2_velocity_1" &&
        chains.baths.one_temperature);
}

// It asks for no sum over the system; its bath says how many groups do not collide.
void collisions_need_no_sums() {
  Parameters colliding = rescaling();
  colliding.kind = "andersen";
  const IntegratorSettings of_one{integrator("velocity_verlet"), colliding, {}};
  const StepPlan plan = make_step_plan(of_one, kFreedom);
  CHECK((launches(plan.coupled.finish, ForcesAfter::kKept) == Names{"verlet_finish", "collide"}));
  for (const StepTask& task : plan.coupled.middle) CHECK(task.reduces == 0);
  CHECK_NEAR(plan.baths.heat.keep, std::exp(-10 * 0.002 / 0.5), 1e-15);
  CHECK_NEAR(plan.baths.heat.thermal, kBoltzmann * 310, 1e-12);
  const IntegratorSettings of_two{
      integrator("velocity_verlet"), scaling_groups(colliding, 310), {}};
  const StepPlan groups = make_step_plan(of_two, kOfTwo);
  CHECK((launches(groups.coupled.finish, ForcesAfter::kKept) == Names{"verlet_finish", "collide"}));
  CHECK(groups.baths.of_groups.size() == 2 && !groups.baths.one_temperature);
}

void a_barostat_acts_before_a_rebuild() {
  const StepPlan plan =
      make_step_plan({integrator("langevin_middle", 2), std::nullopt, barostat()}, kFreedom);
  CHECK((launches(plan.rebuild_stage.act, ForcesAfter::kKept) ==
         Names{"rescale_cell", "rescale_groups"}));
  CHECK(plan.rebuild_stage.acts_at(24) && !plan.rebuild_stage.acts_at(25) && plan.period() == 2);
  CHECK(plan.rebuild_stage.act.front().reduces == 2 * Symmetric::kParts);
  CHECK_NEAR(plan.baths.pressure.mobility[2], 7.5e-4 * 12 * 0.002 / 15, 1e-12);
  const StepPlan plain = make_step_plan(
      {integrator("velocity_verlet"), std::nullopt, barostat("berendsen")}, kFreedom);
  CHECK((launches(plain.rebuild_stage.act, ForcesAfter::kKept) ==
         Names{"rescale_cell", "scale_groups"}));
}

void a_proposed_box_is_decided_about() {
  const IntegratorSettings settings{integrator("langevin_middle"), std::nullopt,
                                    barostat("monte_carlo")};
  const StepPlan plan = make_step_plan(settings, kFreedom, 7);
  CHECK((launches(plan.rebuild_stage.act, ForcesAfter::kKept) ==
         Names{"sum_molecules", "propose_cell", "move_molecules", "count_potential"}));
  CHECK((launches(plan.rebuild_stage.decide, ForcesAfter::kKept) ==
         Names{"count_potential", "decide_cell", "restore_positions"}));
  CHECK(plan.rebuild_stage.act.front().reduces == 21 &&
        plan.rebuild_stage.decide.front().reduces == 1);
  CHECK(plan.most_sums() == 21);
  const StepPlan waters = make_step_plan(settings, kFreedom);
  CHECK(launches(waters.rebuild_stage.act, ForcesAfter::kKept).front() == "propose_cell");
}

void check_refused(const IntegratorSettings& settings, const char* because,
                   const DegreesOfFreedom& freedom = kFreedom) {
  try {
    make_step_plan(settings, freedom);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(because) != std::string::npos);
    return;
  }
  CHECK(!"refused");
}

// Values that are no int are refused, instead of being converted.
void whole_numbers_are_refused_by_name() {
  const auto with = [](Parameters part, const char* name, Parameters::Value value) {
    part.values[name] = value;
    return part;
  };
  const Parameters verlet = integrator("velocity_verlet"), langevin = integrator("langevin_middle");
  // The lower 32 bits of the last two would be accepted.
  for (const Parameters::Value value :
       {Parameters::Value(1e300), Parameters::Value(std::nan("")),
        Parameters::Value((int64_t{1} << 40) + 12), Parameters::Value((int64_t{-1} << 40) + 12)}) {
    for (const char* name : {"long_range_every", "remove_com_every", "resting_axes"})
      check_refused({with(verlet, name, value), std::nullopt, {}},
                    ("velocity_verlet: '" + std::string(name) + "' must be").c_str());
    check_refused({verlet, with(rescaling(), "every", value), {}},
                  "velocity_rescaling: 'every' must be");
    check_refused({verlet, with(chain(), "chain_length", value), {}},
                  "nose_hoover: 'chain_length' must be");
    check_refused({with(langevin, "baths", value), std::nullopt, {}},
                  "langevin_middle: 'baths' must be");
    for (const char* name : {"every", "set_z"})
      check_refused({langevin, std::nullopt, with(barostat(), name, value)},
                    ("cell_rescaling: '" + std::string(name) + "' must be").c_str());
  }
  check_refused({with(verlet, "long_range_every", int64_t{1} << 40), std::nullopt, {}},
                "must be from -2147483648 to 2147483647, not 1099511627776");
}

void nonsense_is_refused_by_name() {
  check_refused({integrator("verlet"), std::nullopt, {}}, "langevin_middle, velocity_verlet");
  check_refused({integrator("langevin_middle"), rescaling(), {}}, "contains a thermostat");
  check_refused({integrator("velocity_verlet", 4), rescaling(10), {}},
                "multiple of long_range_every");
  check_refused({integrator("velocity_verlet"), rescaling(0), {}}, "'every'");
  check_refused({integrator("langevin_middle"), chain(), {}}, "contains a thermostat");
  check_refused({integrator("velocity_verlet"), chain(0), {}},
                "'chain_length' must be from 1 to 32");
  check_refused({integrator("velocity_verlet"), chain(3, 0.07), {}}, "raise 'time_constant'");
  check_refused({integrator("velocity_verlet"), std::nullopt, barostat()}, "needs a temperature");
  check_refused({integrator("langevin_middle", 5), std::nullopt, barostat()},
                "multiple of long_range_every");
  check_refused({integrator("langevin_middle"), std::nullopt, barostat("hoover")},
                "berendsen, cell_rescaling, monte_carlo");
  check_refused({integrator("velocity_verlet"), std::nullopt, barostat("monte_carlo")},
                "needs a temperature");
  check_refused({of_groups(), rescaling(), {}}, "contains a thermostat");
  check_refused({of_groups(310), std::nullopt, barostat()}, "needs a temperature");
  CHECK(make_step_plan({of_groups(), std::nullopt, barostat()}, kFreedom).baths.one_temperature);
  Parameters many = of_groups();
  many.values["baths"] = int64_t{17};
  check_refused({many, std::nullopt, {}}, "number of heat baths must be from 1 to 16, not 17");
  const Parameters verlet = integrator("velocity_verlet"), groups = scaling_groups(rescaling());
  check_refused({verlet, groups, {}}, "heat bath 2 has fewer than two degrees of freedom",
                {{300}, {{299}, {1}}});
  check_refused({verlet, scaling_groups(chain()), {}}, "heat bath 1 has no degree of freedom",
                {{300}, {{0}, {300}}});
  check_refused({verlet, scaling_groups(rescaling(), 310), barostat()}, "needs a temperature",
                kOfTwo);
  CHECK(make_step_plan({verlet, groups, barostat()}, kOfTwo).baths.one_temperature);
  Parameters incomplete = integrator("langevin_middle");
  incomplete.values.erase("friction");
  check_refused({incomplete, std::nullopt, {}}, "has no setting 'friction'");
  whole_numbers_are_refused_by_name();
}

// Along the axes at rest the motion of the centre of mass is removed, and it has no share of the kinetic energy.
void degrees_of_freedom_are_those_of_axes_in_motion() {
  const auto plan = [](int every, int resting) {
    Parameters verlet = integrator("velocity_verlet");
    verlet.values["remove_com_every"] = int64_t{every};
    verlet.values["resting_axes"] = int64_t{resting};
    return make_step_plan({verlet, std::nullopt, {}}, kFreedom);
  };
  CHECK(plan(100, 7).degrees_of_freedom == 297 && plan(0, 7).degrees_of_freedom == 297);
  CHECK(plan(100, 3).degrees_of_freedom == 298 && plan(0, 0).degrees_of_freedom == 300);
  const EpochEnds ends = plan(100, 7).epoch_ends();
  CHECK(ends.momentum == 100 && ends.stage == 0 && ends.shortest() == 100);
  CHECK(ends.first_after(0) == 100 && ends.first_after(99) == 100 && ends.first_after(100) == 200);
  CHECK((EpochEnds{30, 100}.first_after(90) == 100 && EpochEnds{30, 100}.first_after(100) == 120));
  Parameters verlet = integrator("velocity_verlet");
  verlet.values["resting_axes"] = int64_t{8};
  check_refused({verlet, std::nullopt, {}}, "a sum of 1 for x, 2 for y and 4 for z");
  verlet.values["remove_com_every"] = int64_t{-1};
  check_refused({verlet, std::nullopt, {}}, "remove_com_every must not be negative");
}

// Where no interval was asked for, momentum is removed at ends of epochs that there are anyway.
void removal_follows_lists() {
  const auto interval = [](int life, std::optional<Parameters> with = {}) {
    Parameters middle = integrator("langevin_middle", 1, 100);
    middle.values["remove_com_with_lists"] = int64_t{1};
    StepPlan plan = make_step_plan({middle, std::nullopt, std::move(with)}, kFreedom);
    CHECK(plan.asked_ends().momentum == 0);
    plan.follow_lists(life);
    CHECK(plan.epoch_ends().momentum == plan.centre_of_mass.remove_every);
    return plan.centre_of_mass.remove_every;
  };
  CHECK(interval(15) == 105 && interval(17) == 102 && interval(20) == 100 && interval(4) == 100);
  CHECK(interval(40) == 120 && interval(200) == 200);
  const int every =
      make_step_plan({integrator("langevin_middle"), std::nullopt, barostat()}, kFreedom)
          .rebuild_stage.every;
  CHECK(interval(7, barostat()) % every == 0);
  StepPlan asked =
      make_step_plan({integrator("langevin_middle", 1, 100), std::nullopt, {}}, kFreedom);
  asked.follow_lists(15);
  CHECK(asked.centre_of_mass.remove_every == 100 && asked.asked_ends().momentum == 100);
}

// Of each part its own conditions, and nothing else.
void conditions_belong_to_parts() {
  const IntegratorSettings settings{integrator("velocity_verlet"), rescaling(), barostat()};
  const IntegratorSettings changed =
      with_conditions(settings, {{"temperature", 200}, {"pressure_y", -1.5}});
  CHECK(changed.integrator.values == settings.integrator.values);
  CHECK(changed.thermostat->number("temperature") == 200);
  CHECK(changed.barostat->number("pressure_y") == -1.5);
  CHECK(make_step_plan(changed, kFreedom).baths.temperature == 200);
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
                               "' cannot be changed during this simulation: choose from box, "
                               "restraints, pressure_x, pressure_y, pressure_z, temperature");
  check_refused(with_conditions(settings, {{"temperature", -1}}),
                "the temperature must not be negative");
  check_refused(with_conditions(settings, {{"pressure_x", std::nan("")}}), "a finite number");
  const IntegratorSettings groups{integrator("velocity_verlet"), scaling_groups(rescaling()), {}};
  const StepPlan warmed = make_step_plan(with_conditions(groups, {{"temperature_1", 320}}), kOfTwo);
  CHECK(warmed.baths.of_groups[1].thermal > warmed.baths.of_groups[0].thermal);
  for (const char* name : {"temperature", "temperature_2", "time_constant_1"}) try {
      with_conditions(groups, {{name, 320}});
      CHECK(!"refused");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).ends_with("restraints, temperature_0, temperature_1"));
    }
  const IntegratorSettings langevin{integrator("langevin_middle"), std::nullopt, {}};
  check_refused(with_conditions(langevin, {{"temperature", -1}}),
                "the temperature must not be negative");
  check_refused(with_conditions(langevin, {{"friction", -1}}), "the friction must not be negative");
}

}  // namespace

int main() {
  return test::run_all({
      {"Langevin-middle is one operation", langevin_is_one_operation},
      {"groups have baths", groups_have_baths},
      {"velocity Verlet starts and finishes", verlet_starts_and_finishes},
      {"a thermostat acts on whole steps", a_thermostat_acts_on_whole_steps},
      {"a chain has variables", a_chain_has_variables},
      {"a thermostat of groups scales each", a_thermostat_of_groups_scales_each},
      {"collisions need no sums", collisions_need_no_sums},
      {"a barostat acts before a rebuild", a_barostat_acts_before_a_rebuild},
      {"a proposed box is decided about", a_proposed_box_is_decided_about},
      {"nonsense is refused by name", nonsense_is_refused_by_name},
      {"degrees of freedom are those of axes in motion",
       degrees_of_freedom_are_those_of_axes_in_motion},
      {"removal follows lists", removal_follows_lists},
      {"conditions belong to parts", conditions_belong_to_parts},
  });
}
