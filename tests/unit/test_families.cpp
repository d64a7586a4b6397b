// SPDX-License-Identifier: Apache-2.0
// Families of forces with several phases: what ranks hand over between them goes both ways, and no bit
// depends on the ranks.
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "check.h"
#include "computes/reference.h"
#include "device/host/kernels.h"
#include "device/null/hazards.h"
#include "device/null/null_device.h"
#include "embedded_family.h"
#include "one_rank.h"
#include "runtime/collect.h"
#include "runtime/devices.h"
#include "runtime/evaluate_reference.h"
#include "runtime/rank.h"
#include "schedule/forces.h"
#include "transport/local/local_transport.h"
#include "verlet.h"
#include "watched_device.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

constexpr double kBox = 4.2;

struct Prepared {
  Setup setup;
  HostState state;
};

bool always(const System&, const NonbondedSettings&) { return true; }

Family embedded_family() {
  return {"embedded atoms", always, [](const FamilySetup& setup) {
            return std::make_unique<EmbeddedFamily>(setup.slots, setup.lists());
          }};
}

// A warm metal whose pairs hardly interact otherwise.
Prepared make_metal() {
  Prepared p;
  System s;
  Random random(7);
  for (int n = 0; n < 1728; ++n) {
    add_atom(s, 60);
    const Vec3d site = 0.35 * Vec3d{double(n / 144), double(n / 12 % 12), double(n % 12)};
    p.state.positions.push_back(site + random_vector(random, 0.03));
    p.state.velocities.push_back(random_vector(random, 0.6));
  }
  s.pair_type_count = 1;
  s.pair_tables = {{1e-9}, {1e-5}};
  NonbondedSettings nonbonded;
  nonbonded.cutoff = kEmbeddedCutoff;
  nonbonded.electrostatics = Electrostatics::kCutoff;
  nonbonded.alpha = 0;
  const IntegratorSettings integrator = velocity_verlet(0.002);
  ListSettings lists;
  lists.life = 6;
  p.setup = make_setup(with_groups(s), nonbonded, integrator, lists,
                       PeriodicCell{{kBox, 0, kBox, 0, 0, kBox}});
  p.setup.families.push_back(embedded_family());
  return p;
}

const HostKernels& kernels() {
  static const HostKernels table = [] {
    HostKernels all = host_kernels();
    add_embedded_kernels(all);
    return all;
  }();
  return table;
}

RankView view_of(const Prepared& p, int rank, int ranks) {
  const std::vector<double> even(static_cast<size_t>(p.setup.grid.size()), 1.0);
  return {rank, ranks, plan_ranks(p.setup.grid, bisect(p.setup.grid, even, {ranks}), even)};
}

struct Outcome {
  std::vector<Vec3d> forces, positions, velocities;  // at the start; at the end
  std::vector<int64_t> energy;                       // of all ranks
};

void add_owned(const SlotMemory& slots, Outcome& to) {
  const auto owned = static_cast<size_t>(slots.owned_slots.download()[0]);
  const auto atoms = slots.atom.download(owned);
  const auto x = slots.position().download(owned), v = slots.velocity().download(owned);
  for (size_t n = 0; n < owned; ++n) {
    if (atoms[n] < 0) continue;
    to.positions[static_cast<size_t>(atoms[n])] = x[n];
    to.velocities[static_cast<size_t>(atoms[n])] = v[n];
  }
  const auto energy = slots.energy.download();
  to.energy.resize(energy.size());
  for (size_t k = 0; k < energy.size(); ++k) to.energy[k] += energy[k];
}

// Of some steps; on the way nothing is used by two operations at once.
Outcome run(const Prepared& p, int ranks, int steps) {
  const size_t atoms = p.state.positions.size();
  Outcome result{
      std::vector<Vec3d>(atoms), std::vector<Vec3d>(atoms), std::vector<Vec3d>(atoms), {}};
  auto ends = make_local_transport(ranks);
  std::mutex ending;
  const auto run_one = [&](int r) {
    HostDevice cpu(1, kernels());
    WatchedDevice device(cpu);
    Rank rank(p.setup, device, *ends[static_cast<size_t>(r)], view_of(p, r, ranks));
    rank.load(p.state);
    rank.evaluate(p.setup.lists.life);
    {
      const std::lock_guard lock(ending);
      collect_forces(rank.memory(), Reach::kAll, result.forces);
    }
    if (steps) rank.run(steps);
    if (steps) rank.evaluate(p.setup.lists.life);
    const std::lock_guard lock(ending);
    for (const Hazard& hazard : find_hazards(device.log().commands())) {
      std::printf("%d ranks: %s\n", ranks, hazard.describe().c_str());
      CHECK(false);
    }
    add_owned(rank.memory().slots, result);
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) threads.emplace_back(run_one, r);
  for (std::thread& thread : threads) thread.join();
  return result;
}

bool same_bits(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(Vec3d)) == 0;
}

// All pairs, in double precision.
struct Exact {
  std::vector<Vec3d> forces;
  double energy = 0;
};
Exact by_all_pairs(const Prepared& p) {
  const std::vector<Vec3d>& x = p.state.positions;
  const auto over_pairs = [&](auto visit) {
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        Vec3d r = x[j] - x[i];
        for (int d = 0; d < 3; ++d) r[d] -= kBox * std::round(r[d] / kBox);
        visit(i, j, r);
      }
  };
  std::vector<double> density(x.size(), 0);
  Exact exact{std::vector<Vec3d>(x.size())};
  over_pairs([&](size_t i, size_t j, Vec3d r) {
    density[i] += density_at(dot(r, r)).value;
    density[j] += density_at(dot(r, r)).value;
  });
  over_pairs([&](size_t i, size_t j, Vec3d r) {
    const double slopes = slope_at(density[i]) + slope_at(density[j]);
    const Vec3d force = (slopes * density_at(dot(r, r)).fall) * r;
    exact.forces[j] += force;
    exact.forces[i] -= force;
  });
  for (const double rho : density) exact.energy -= kEmbedding * std::sqrt(rho);
  return exact;
}

void sums_of_proxies_reach_their_owners() {
  Prepared p = make_metal();
  p.setup.families = {embedded_family()};
  const Exact exact = by_all_pairs(p);
  double size = 0;
  for (const Vec3d& f : exact.forces) size = std::max(size, std::sqrt(dot(f, f)));
  for (const int ranks : {1, 3, 8}) {
    const Outcome found = run(p, ranks, 0);
    for (size_t a = 0; a < exact.forces.size(); ++a)
      for (int d = 0; d < 3; ++d) CHECK_NEAR(found.forces[a][d], exact.forces[a][d], 1e-5 * size);
    CHECK_NEAR(from_fixed(found.energy[kPairForm], kEnergyScale), exact.energy,
               1e-6 * std::abs(exact.energy));
  }
}

void no_bit_depends_on_ranks() {
  const Prepared p = make_metal();
  const Outcome one = run(p, 1, 25);
  CHECK(!same_bits(one.positions, p.state.positions));
  for (const int ranks : {2, 3, 8}) {
    const Outcome several = run(p, ranks, 25);
    CHECK(same_bits(several.forces, one.forces));
    CHECK(same_bits(several.positions, one.positions));
    CHECK(same_bits(several.velocities, one.velocities));
    CHECK(several.energy == one.energy);
  }
}

// ---- What is asked for ------------------------------------------------------------------------

// Of as many families as there are phases and arrays in this.
class Asking final : public ForceFamily {
 public:
  Asking(int phase, std::vector<Handover> handovers)
      : phase_(phase), handovers_(std::move(handovers)) {}
  void set_plan(const RankPlan&) override {}
  std::vector<Work> step_work(Energies) override {
    return {{"asked", Positions::kWithProxies, Lists::kNotUsed, [](Stream, int) {},
             Balance::kMovesWithPatches, phase_}};
  }
  std::vector<Handover> handovers() override { return handovers_; }
  size_t bytes() const override { return 0; }

 private:
  int phase_;
  std::vector<Handover> handovers_;
};

// How many messages with values or sums a rank of two has in a step, by edge; "refused" where it may not ask.
std::string edges_of_families(const std::vector<Family>& families) {
  Prepared p = make_metal();
  p.setup.families = families;
  const RankView view = view_of(p, 0, 2);
  NullDevice device;
  RankMemory memory(p.setup, device);
  memory.set_plan(view);
  try {
    const Schedule s = force_schedule(memory, view, Accumulators::kClear, Reach::kAll,
                                      Energies::kSkip, Follows::kStep);
    std::set<Edge> sent;
    for (const Task& task : s.tasks())
      for (const MessageEnd& end : task.sends)
        if (end.edge >= Edge::kHandover && end.edge < Edge::kForces) sent.insert(end.edge);
    return std::to_string(sent.size());
  } catch (const std::logic_error&) {
    return "refused";
  }
}

void any_number_of_families_and_phases() {
  const auto asking = [](int phase, const std::vector<Handover>& handovers) {
    return Family{"questions", always,
                  [=](const FamilySetup&) { return std::make_unique<Asking>(phase, handovers); }};
  };
  float* const values = nullptr;
  int64_t* const sums = nullptr;
  CHECK(edges_of_families({asking(0, {})}) == "0");
  CHECK(edges_of_families({asking(1, {})}) == "refused");  // no such phase
  CHECK(edges_of_families({asking(1, {{.values = {values}}}),
                           asking(2, {{.sums = {sums}}, {.values = {values, values}}})}) == "4");
  CHECK(edges_of_families({asking(1, {{.totals = {{sums, 5}, {sums, 1}}}})}) == "2");
  const Handover both{.values = {values}, .sums = {sums}};
  CHECK(edges_of_families({asking(4, {both, both, both, both})}) == "8");
  CHECK(edges_of_families({asking(4, {both, both, both, both}), asking(1, {both})}) == "refused");
}

void the_build_finds_families() {
  const Prepared p = make_metal();
  HostDevice device(1, kernels());
  const RankMemory memory(p.setup, device);
  CHECK(memory.families.size() == 3);  // pairs, bonded terms, and that of the test
}

// ---- What a family does not define is refused by the name of its forces ------------------------

void a_family_without_a_reference_is_refused() {
  const Prepared p = make_metal();
  const auto energies_with = [&p](const Family& family) {
    std::vector<Family> families = force_families();
    families.push_back(family);
    return evaluate_reference(p.setup.system, p.setup.nonbonded, p.setup.grid.box,
                              p.state.positions, families)
        .energies;
  };
  Family embedded = embedded_family();
  CHECK(test::error_of([&] { energies_with(embedded); }).find(": embedded atoms.") !=
        std::string::npos);
  embedded.acts = [](const System& system, const NonbondedSettings&) {
    return system.masses[0] > 99;
  };
  const double without = energies_with(embedded).at("potential");
  embedded.acts = always;
  embedded.add_reference = [&p](const ReferenceInput&, Evaluation& out) {
    out.energy[kPairForm] += by_all_pairs(p).energy;
  };
  CHECK_NEAR(energies_with(embedded).at("potential") - without, by_all_pairs(p).energy, 1e-6);
}

void a_family_without_gpu_kernels_is_refused_on_gpus() {
  const Prepared p = make_metal();
  const auto check = [&p](const char* device, const Family& family) {
    return test::error_of(
        [&] { check_device_can(device, p.setup.system, p.setup.nonbonded, {family}); });
  };
  Family embedded = embedded_family();
  for (const char* device : {"cuda", "cuda:1", "cuda:0,1"})
    CHECK(check(device, embedded).starts_with("embedded atoms run only on device cpu"));
  CHECK(check("cpu", embedded).empty());
  embedded.acts = [](const System&, const NonbondedSettings&) { return false; };
  CHECK(check("cuda", embedded).empty());
  Family everywhere = embedded_family();
  everywhere.on_gpus = true;
  CHECK(check("cuda", everywhere).empty());
  for (const Family& family : force_families()) CHECK(family.on_gpus);
}

void a_family_that_needs_lists_is_refused_without_them() {
  const Prepared p = make_metal();
  const NonbondedSettings& nonbonded = p.setup.nonbonded;
  NullDevice device;
  const RankMemory memory(p.setup, device);
  const FamilySetup without{memory.slots, nonbonded, p.setup.pairs, p.setup.packed_pairs,
                            nullptr,      0.002,     kEnergyKinds,  "embedded atoms"};
  CHECK(test::error_of([&] {
          embedded_family().make(without);
        }).starts_with("embedded atoms cannot be combined with implicit solvent"));
}

void a_family_refuses_what_does_not_suit_it() {
  const Prepared p = make_metal();
  Family embedded = embedded_family();
  embedded.refuse_unsuited = [](const System&, const NonbondedSettings& settings, bool periodic) {
    if (periodic && settings.cutoff < 1) throw Error("embedded atoms need a cutoff of 1 nm");
  };
  const auto families = [&](bool periodic) {
    return families_of(p.setup.system, p.setup.nonbonded, periodic, {embedded}).size();
  };
  CHECK(test::error_of([&] { families(true); }) == "embedded atoms need a cutoff of 1 nm");
  CHECK(families(false) == 1);
}

}  // namespace

int main() {
  return run_all(
      {{"sums of proxies reach their owners", sums_of_proxies_reach_their_owners},
       {"no bit depends on ranks", no_bit_depends_on_ranks},
       {"any number of families and phases", any_number_of_families_and_phases},
       {"the build finds families", the_build_finds_families},
       {"a family without a reference is refused", a_family_without_a_reference_is_refused},
       {"a family without GPU kernels is refused on GPUs",
        a_family_without_gpu_kernels_is_refused_on_gpus},
       {"a family that needs lists is refused without them",
        a_family_that_needs_lists_is_refused_without_them},
       {"a family refuses what does not suit it", a_family_refuses_what_does_not_suit_it}});
}
