// SPDX-License-Identifier: Apache-2.0
// No two operations of any schedule use memory in conflicting ways without an order between them, and
// every operation names the memory that it uses. Schedules that a rank by itself records are also
// checked on `null`; all of them on a cpu device whose commands are noted, for ranks that exchange
// messages need results.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "bonded_rank.h"
#include "check.h"
#include "collective_restraints.h"
#include "device/host/kernels.h"
#include "device/null/hazards.h"
#include "device/null/null_device.h"
#include "integrators/plans.h"
#include "runtime/collect.h"
#include "runtime/link_finder.h"
#include "runtime/rank.h"
#include "schedule/pme.h"
#include "transport/local/local_transport.h"
#include "watched_device.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

void expect_none(const std::vector<Command>& commands, const char* what) {
  std::set<std::string> found;
  for (const Hazard& hazard : find_hazards(commands)) found.insert(hazard.describe());
  for (const std::string& hazard : found) std::printf("%s: %s\n", what, hazard.c_str());
  CHECK(found.empty());
}

// ---- The checker itself ----------------------------------------------------------------------

struct Touch {
  static constexpr const char* kName = "touch";
  const int* from;
  int* to;
  int* sum;
  int count;
  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, extent(from, count));
    QMD_USES(kWrite, extent(to, count));
    QMD_USES(kAdd, sum);
  }
};

struct Forgetful {
  static constexpr const char* kName = "forgetful";
  const int* from;
  int* forgotten;
  void memory(MemoryUses& uses) const { QMD_USES(kRead, from); }
};

size_t hazards(NullDevice& device) { return find_hazards(device.log().commands()).size(); }

void conflicts_need_an_order() {
  NullDevice device;
  Buffer<int> a(device, 100), b(device, 100), sum(device, 1);
  const Touch write_a{nullptr, a.data(), nullptr, 100}, read_a{a.data(), b.data(), nullptr, 100};
  device.launch(write_a, Stream::kMain);
  device.launch(read_a, Stream::kSide);
  const std::vector<Hazard> found = find_hazards(device.log().commands());
  CHECK(found.size() == 1);
  CHECK(found[0].describe() ==
        "touch writes to, touch reads the same memory as from, and "
        "nothing puts one before the other");

  device.log().clear();
  device.launch(write_a, Stream::kMain);
  device.signal(3, Stream::kMain);
  device.wait(3, Stream::kSide);
  device.launch(read_a, Stream::kSide);
  CHECK(hazards(device) == 0);
  device.launch(write_a, Stream::kMain);  // may overtake the reader
  CHECK(hazards(device) == 1);

  device.log().clear();
  device.signal(3, Stream::kMain);  // too early
  device.launch(write_a, Stream::kMain);
  device.wait(3, Stream::kSide);
  device.launch(read_a, Stream::kSide);
  CHECK(hazards(device) == 1);

  device.log().clear();
  device.launch(write_a, Stream::kMain);
  device.synchronize();
  device.launch(read_a, Stream::kSide);
  CHECK(hazards(device) == 0);
}

void additions_commute_and_parts_are_apart() {
  NullDevice device;
  Buffer<int> a(device, 100), sum(device, 1);
  const Touch add{nullptr, nullptr, sum.data(), 0};
  device.launch(add, Stream::kMain);
  device.launch(add, Stream::kSide);
  CHECK(hazards(device) == 0);
  device.launch(Touch{sum.data(), nullptr, nullptr, 1}, Stream::kMain);
  CHECK(hazards(device) == 1);

  device.log().clear();
  device.launch(Touch{nullptr, a.data(), nullptr, 50}, Stream::kMain);
  device.launch(Touch{nullptr, a.data() + 50, nullptr, 50}, Stream::kSide);
  CHECK(hazards(device) == 0);
  device.fill(a.data() + 49, 0, 2 * sizeof(int), Stream::kSide);
  CHECK(hazards(device) == 1);
}

void orders_pass_on_and_recordings_are_whole() {
  NullDevice device;
  Buffer<int> a(device, 100);
  const Touch write{nullptr, a.data(), nullptr, 100};
  device.begin_recording();
  device.launch(write, Stream::kSide);
  const int recording = device.end_recording();
  device.launch(write, Stream::kMain);
  device.run_recording(recording);
  device.run_recording(recording);
  device.launch(write, Stream::kMain);
  CHECK(hazards(device) == 0 && device.log().launches().size() == 4);
}

void pointers_that_are_not_named_are_found() {
  NullDevice device;
  // Far from the beginning, which sanitizers put where an address looks like a small integer.
  constexpr size_t kFar = size_t{1} << 19;
  Buffer<int> a(device, 2 * kFar);
  device.launch(Forgetful{a.data(), nullptr});
  std::string message;
  try {
    device.launch(Forgetful{a.data(), a.data() + kFar});
  } catch (const std::logic_error& error) {
    message = error.what();
  }
  CHECK(message.find("forgetful has a pointer at byte 8") != std::string::npos);
}

// An integer, and behind it what padding may hold: the upper half of an address.
struct Padded {
  static constexpr const char* kName = "padded";
  uint32_t integer, padding;
  void memory(MemoryUses&) const {}
};

void padding_is_no_pointer() {
  CommandLog log;
  constexpr uintptr_t kHigh = 0x7f12, kBoundary = kHigh << 32, kAround = 1 << 16;
  log.allocate(reinterpret_cast<const void*>(kBoundary - kAround), 2 * kAround);
  for (const uint32_t integer : {0u, 1u, 24576u}) {
    const Padded operation{integer, kHigh};
    log.launch(kOperationKey<Padded>, &operation, sizeof operation, Stream::kMain);
  }
  const Padded none{~0u, kHigh - 1};
  log.launch(kOperationKey<Padded>, &none, sizeof none, Stream::kMain);
  CHECK(log.commands().size() == 4);
}

// ---- Schedules -------------------------------------------------------------------------------

constexpr double kBox = 4.2;

void add_chain(System& s, std::vector<Vec3d>& positions, Vec3d at) {
  const int first = s.atom_count();
  for (int i = 0; i < 4; ++i) {
    add_atom(s, 12);
    s.charges.back() = i % 2 ? 0.1 : -0.1;
    positions.push_back(at + Vec3d{0.125 * i, 0.088 * (i % 2), 0});
    for (int j = 0; j < i; ++j) s.exclusions.push_back({first + j, first + i});
  }
  for (int i = 0; i < 4; ++i)
    for (const TermRow& row : term_rows()) row.add_last(s, i, first + i);
}

// A large hydrogen group: an atom constrained to eight around it.
void add_cube(System& s, std::vector<Vec3d>& positions, Vec3d at) {
  const int first = s.atom_count();
  for (int i = 0; i < 9; ++i) {
    add_atom(s, 12);
    const int k = i - 1;
    positions.push_back(i == 0 ? at : at + 0.08 * Vec3d{k % 2 - 0.5, k / 2 % 2 - 0.5, k / 4 - 0.5});
    for (int j = 0; j < i; ++j) s.exclusions.push_back({first + j, first + i});
    if (i > 0) constrain(s, first, first + i, 0.08 * std::sqrt(0.75));
  }
}

enum class Sites { kNone, kSome, kSomeAndLargeGroups };

// Layers of 36 chains with every kind of term, and rigid waters, some with virtual sites, far enough apart
// to be at rest.
System molecules(bool with_terms, Sites sites, int layers, std::vector<Vec3d>& positions) {
  System s;
  Random random(7);
  for (int n = 0; n < 36 * layers; ++n) {
    const Vec3d at{0.7 * (n % 6), 0.7 * (n / 6 % 6), 0.7 * (n / 36)};
    const int first = s.atom_count();
    if (with_terms && n % 3) {
      add_chain(s, positions, at);
    } else if (sites == Sites::kSomeAndLargeGroups && n % 5 == 0) {
      add_cube(s, positions, at);
    } else {
      add_water(s, positions, at, random);
      for (const auto& pair : {std::array{0, 1}, std::array{0, 2}, std::array{1, 2}})
        s.exclusions.push_back({first + pair[0], first + pair[1]});
      if (n % 2 && sites != Sites::kNone) {
        add_site(s, positions, first);
        for (int a = 0; a < 3; ++a) s.exclusions.push_back({first + a, first + 3});
      }
    }
  }
  s.pair_type_count = 1;
  const double s6 = std::pow(0.2, 6), epsilon = 0.3;
  s.pair_tables = {{4 * epsilon * s6 * s6}, {4 * epsilon * s6}};
  return with_groups(s);
}

struct Scenario {
  const char* name;
  bool pme;
  const char* integrator;
  const char* thermostat;  // that acts every second step
  int64_t long_range_every;
  const char* barostat = nullptr;  // that acts every fourth step
  bool solvent = false;            // implicit, in an open box
  bool dispersion_mesh = false;
  bool two_baths = false;
  bool alchemy = false;
  bool collective = false;  // restraints
  bool fmm = false;
  bool three_body = false;
  bool large_groups = false;
};
constexpr Scenario kScenarios[] = {
    {"PME, Langevin", true, "langevin_middle", nullptr, 1},
    {"PME every second step, Verlet", true, "velocity_verlet", nullptr, 2},
    {"cutoff, Langevin", false, "langevin_middle", nullptr, 1},
    {"PME, Verlet, velocity and cell rescaling", true, "velocity_verlet", "velocity_rescaling", 2,
     "cell_rescaling"},
    {"PME, Verlet, velocity rescaling and Monte Carlo", true, "velocity_verlet",
     "velocity_rescaling", 2, "monte_carlo"},
    {"PME, Langevin of two baths", true, "langevin_middle", nullptr, 2, nullptr, false, false,
     true},
    {"PME, Verlet and velocity rescaling of two baths", true, "velocity_verlet",
     "velocity_rescaling", 2, "cell_rescaling", false, false, true},
    {"PME, Verlet and two Nose-Hoover chains", true, "velocity_verlet", "nose_hoover", 2, nullptr,
     false, false, true},
    {"implicit solvent, Langevin", false, "langevin_middle", nullptr, 1, nullptr, true},
    {"PME and Lennard-Jones PME, Langevin", true, "langevin_middle", nullptr, 1, "cell_rescaling",
     false, true},
    {"PME and Lennard-Jones PME, Verlet", true, "velocity_verlet", nullptr, 2, nullptr, false,
     true},
    {"alchemical atoms, Langevin and cell rescaling", true, "langevin_middle", nullptr, 2,
     "cell_rescaling", false, false, false, true},
    {"collective restraints, Langevin and cell rescaling", true, "langevin_middle", nullptr, 2,
     "cell_rescaling", false, false, false, false, true},
    {"fast multipoles, Langevin and Monte Carlo", true, "langevin_middle", nullptr, 2,
     "monte_carlo", false, false, false, false, false, true},
    {"a three-body potential, Langevin and cell rescaling", true, "langevin_middle", nullptr, 2,
     "cell_rescaling", false, false, false, false, false, false, true},
    {"large groups, Langevin and cell rescaling", true, "langevin_middle", nullptr, 2,
     "cell_rescaling", false, false, false, false, false, false, false, true},
    {"large groups, Verlet", false, "velocity_verlet", nullptr, 1, nullptr, false, false, false,
     false, false, false, false, true}};

// These, every thermostat and every barostat.
std::vector<Scenario> scenarios() {
  std::vector<Scenario> all(std::begin(kScenarios), std::end(kScenarios));
  for (const auto& [name, kind] : thermostats())
    all.push_back({name.c_str(), true, "velocity_verlet", name.c_str(), 1});
  for (const auto& [name, kind] : barostats())
    all.push_back({name.c_str(), true, "langevin_middle", nullptr, 1, name.c_str()});
  return all;
}

ImplicitSolvent solvent_of(const System& system) {
  ImplicitSolvent solvent;
  for (int a = 0; a < system.atom_count(); ++a)
    solvent.atoms.push_back({0.15, 0.141, 0.12, 1, 0.8, 4.85, 0});
  solvent.neck_types = 1;
  solvent.neck_distance = {0.3};
  solvent.neck_height = {0.4};
  return solvent;
}

// Every third term of some forms has another last parameter at the second end.
std::vector<ChangedTerms> changed_terms_of(const System& system) {
  std::vector<ChangedTerms> found;
  for (const Terms& terms : system.terms) {
    const std::string_view name = terms.form->name;
    if (name != "bond" && name != "torsion" && name != "pair14") continue;
    ChangedTerms changed{terms.form, {}, {}};
    for (int32_t t = 0; t < terms.count(); t += 3) {
      changed.terms.push_back(t);
      const auto first = terms.parameters_of(t);
      changed.parameters.insert(changed.parameters.end(), first.begin(), first.end());
      changed.parameters.back() *= 0.9;
    }
    found.push_back(std::move(changed));
  }
  return found;
}

// The first two molecules are on their way out.
Alchemy alchemy_of(const System& system) {
  Alchemy alchemy;
  for (int32_t a = 0; a < system.atom_count(); ++a) {
    const auto atom = static_cast<size_t>(a);
    if (system.input_index[atom] >= 7) continue;
    alchemy.atoms.push_back(a);
    alchemy.ends[0].charges.push_back(system.charges[atom]);
    alchemy.ends[0].pair_types.push_back(system.pair_types[atom]);
    alchemy.ends[1].charges.push_back(0);
    alchemy.ends[1].pair_types.push_back(kNoPairType);
  }
  alchemy.changed_terms = changed_terms_of(system);
  alchemy.start = {{0.5, 0, 0.25}};
  alchemy.states = {{{0, 0, 0}}, {{0.5, 0, 0.25}}, {{1, 0.5, 1}}};
  return alchemy;
}

// So weak that molecules stay whole.
ThreeBodyPotential three_body_of(const System& system) {
  return {"stillinger-weber",
          std::vector<int32_t>(system.masses.size(), 0),
          1,
          {1e-6, 0.2, 1.8, 21, 1.2, -0.3, 7, 0.6, 4, 0}};
}

// Half of the hydrogen groups in each.
void in_two_baths(const System& system, Parameters& parameters, std::vector<uint8_t>& of_atom) {
  of_atom.resize(system.masses.size());
  for (int g = 0; g < system.group_count(); ++g)
    for (int a = system.group_start[static_cast<size_t>(g)];
         a < system.group_start[static_cast<size_t>(g) + 1]; ++a)
      of_atom[static_cast<size_t>(system.input_index[static_cast<size_t>(a)])] =
          static_cast<uint8_t>(g % 2);
  parameters.values["baths"] = int64_t{2};
  for (const char* name : {"temperature", "friction", "time_constant"})
    if (parameters.values.contains(name))
      for (const char* bath : {"_0", "_1"})
        parameters.values[std::string(name) + bath] = parameters.values.at(name);
}

struct Prepared {
  Setup setup;
  HostState state;
};

Prepared prepare(const Scenario& c, bool with_terms, Sites sites = Sites::kSome) {
  Prepared p;
  // Sites begin where an oxygen is, which implicit solvent and a three-body potential take for atoms that
  // collide; and with implicit solvent every pair of atoms is evaluated, so there are fewer.
  if (c.three_body) sites = Sites::kNone;
  System system = c.solvent
                      ? molecules(with_terms, Sites::kNone, 2, p.state.positions)
                      : molecules(with_terms, c.large_groups ? Sites::kSomeAndLargeGroups : sites,
                                  6, p.state.positions);
  NonbondedSettings nonbonded;
  if (c.solvent) {
    system.solvent = solvent_of(system);
    nonbonded.cutoff = std::numeric_limits<double>::infinity();
  }
  if (c.alchemy) {
    system.alchemy = alchemy_of(system);
    nonbonded.dispersion_correction = true;
  }
  if (c.three_body) system.three_body = three_body_of(system);
  if (c.collective) {
    Random random(2);
    system.collective = all_collectives(system, 30, random);
    for (CollectiveRestraint& one : system.collective) one.k *= 0.01;
  }
  nonbonded.electrostatics = c.pme ? Electrostatics::kPme : Electrostatics::kCutoff;
  nonbonded.alpha = c.pme ? 3 : 0;
  nonbonded.grid = {32, 32, 32};
  if (c.fmm) {
    nonbonded.electrostatics = Electrostatics::kFmm;
    nonbonded.alpha = 0;
    nonbonded.bandwidth = 9;
    nonbonded.grid = {16, 16, 16};
  }
  if (c.dispersion_mesh) {
    nonbonded.switching = Switching::kMesh;
    nonbonded.dispersion_alpha = 3.3;
    nonbonded.dispersion_grid = {28, 24, 30};
  }
  IntegratorSettings integrator;
  integrator.integrator = {c.integrator,
                           {{"timestep", 0.001},
                            {"long_range_every", c.long_range_every},
                            {"remove_com_every", int64_t{8}},
                            {"resting_axes", int64_t{7}},
                            {"constraint_tolerance", 1e-6},
                            {"temperature", 300.0},
                            {"friction", 10.0},
                            {"seed", int64_t{3}}}};
  if (c.thermostat)
    integrator.thermostat = Parameters{c.thermostat,
                                       {{"every", int64_t{2}},
                                        {"chain_length", int64_t{3}},
                                        {"temperature", 300.0},
                                        {"time_constant", 0.1},
                                        {"friction", 10.0},
                                        {"seed", int64_t{3}}}};
  Parameters& bath = c.thermostat ? *integrator.thermostat : integrator.integrator;
  if (c.two_baths) in_two_baths(system, bath, integrator.bath_of_atom);
  if (c.barostat) {
    integrator.barostat = Parameters{c.barostat,
                                     {{"every", int64_t{4}},
                                      {"time_constant", 0.5},
                                      {"surface_tension", 0.0},
                                      {"seed", int64_t{3}},
                                      {"set_x", int64_t{0}},
                                      {"set_y", int64_t{0}},
                                      {"set_z", int64_t{2}}}};
    for (const char* axis : {"x", "y", "z"}) {
      integrator.barostat->values[std::string("pressure_") + axis] = 0.06;
      integrator.barostat->values[std::string("compressibility_") + axis] = 7.5e-4;
    }
  }
  ListSettings lists;
  lists.life = 6;
  Cell cell =
      PeriodicCell{{kBox, 0, kBox, 0, 0, kBox}, extent_of_large_groups(system, p.state.positions)};
  if (c.solvent) cell = spread_of(p.state.positions);
  p.setup = make_setup(system, nonbonded, integrator, lists, cell);
  p.state.velocities.resize(p.state.positions.size(), Vec3d{0, 0, 0});
  return p;
}

// Everything that a rank does.
void exercise(Rank& rank, const Prepared& p) {
  rank.load(p.state);
  rank.draw_velocities(300, 5);
  rank.run(45);  // epochs are recorded when they are met again
  rank.evaluate(p.setup.lists.life);
  rank.run(7);
  rank.update_conditions(Rank::Atoms::kMoveWithBox);
  rank.rebuild();
  rank.run(8);
  capture(rank.memory(), {.energies = true, .positions = true, .state = true});
  rank.place(p.state.positions);
  rank.evaluate(p.setup.lists.life);
  rank.relist();
  rank.run(20);
}

std::vector<RankView> views_of(const Prepared& p, int ranks,
                               MeshSharing mesh = MeshSharing::kDistributed) {
  std::vector<double> weights(static_cast<size_t>(p.setup.grid.size()), 1.0);
  const auto plans = plan_ranks(p.setup.grid, bisect(p.setup.grid, weights, {ranks}), weights);
  std::vector<RankView> views;
  for (int r = 0; r < ranks; ++r) {
    views.push_back({r, ranks, plans});
    views.back().mesh = mesh;
  }
  return views;
}

void no_run_has_hazards(int ranks, MeshSharing mesh) {
  for (const Scenario& c : scenarios()) {
    const Prepared p = prepare(c, true);
    const auto views = views_of(p, ranks, mesh);
    auto ends = make_local_transport(ranks);
    std::vector<std::unique_ptr<HostDevice>> cpus;
    std::vector<std::unique_ptr<WatchedDevice>> devices;
    std::vector<std::unique_ptr<Rank>> all;
    for (int r = 0; r < ranks; ++r) {
      cpus.push_back(std::make_unique<HostDevice>(1, host_kernels()));
      devices.push_back(std::make_unique<WatchedDevice>(*cpus.back()));
      const auto i = static_cast<size_t>(r);
      all.push_back(std::make_unique<Rank>(p.setup, *devices[i], *ends[i], views[i]));
    }
    std::vector<std::thread> threads;
    for (auto& rank : all) threads.emplace_back([&] { exercise(*rank, p); });
    for (std::thread& thread : threads) thread.join();
    for (auto& device : devices) {
      expect_none(device->log().commands(), c.name);
      const auto launches = device->log().launches();
      CHECK(launches.size() > 200);
      CHECK(c.alchemy == std::ranges::any_of(launches, [](const Command& launch) {
              return launch.name == "changed_term_energies";
            }));
      CHECK((device->recordings_run() > 3) == (ranks == 1));
    }
  }
}

bool same(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(Vec3d)) == 0;
}

// Positions and velocities of the atoms that a rank owns, after all that it does.
void add_owned(const SlotMemory& slots, HostState& to) {
  const auto owned = static_cast<size_t>(slots.owned_slots.download()[0]);
  const auto atoms = slots.atom.download(owned);
  const auto x = slots.position().download(owned), v = slots.velocity().download(owned);
  for (size_t n = 0; n < owned; ++n) {
    if (atoms[n] < 0) continue;
    to.positions[static_cast<size_t>(atoms[n])] = x[n];
    to.velocities[static_cast<size_t>(atoms[n])] = v[n];
  }
}

// Ranks whose messages are exchanged in the order of streams, so that whole blocks are recorded, or carried
// by the host.
HostState end_of(const Scenario& c, int ranks, MeshSharing mesh, MessageRoute route) {
  const Prepared p = prepare(c, true);
  const auto views = views_of(p, ranks, mesh);
  auto ends = make_local_transport(ranks);
  HostState end = p.state;
  std::mutex ending;
  const auto run = [&](size_t r) {
    HostDevice cpu(1, host_kernels());
    WatchedDevice device(cpu);
    const LinkSettings settings{route, std::vector<int>(static_cast<size_t>(ranks)), FAKE_NCCL};
    Rank rank(p.setup, device, *ends[r], views[r], [&](Executor& executor) {
      Links links = find_links(executor, static_cast<int>(r), device, settings);
      if (links.communicator)
        links.communicator = std::make_shared<WatchedCommunicator>(links.communicator);
      return links;
    });
    exercise(rank, p);
    expect_none(device.log().commands(), c.name);
    CHECK((device.recordings_run() > 3) == (route == MessageRoute::kNccl));
    const std::lock_guard lock(ending);
    add_owned(rank.memory().slots, end);
  };
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ends.size(); ++r) threads.emplace_back(run, r);
  for (std::thread& thread : threads) thread.join();
  return end;
}

void a_communicator_leaves_hazards_none_and_bits_alone(int ranks, MeshSharing mesh) {
  for (const Scenario& c : scenarios()) {
    const HostState a = end_of(c, ranks, mesh, MessageRoute::kStaged);
    const HostState b = end_of(c, ranks, mesh, MessageRoute::kNccl);
    CHECK(same(a.positions, b.positions) && same(a.velocities, b.velocities));
    CHECK(!same(a.positions, prepare(c, true).state.positions));
  }
}

void null_finds_none_either() {
  for (const Scenario& c : scenarios()) {
    const Prepared p = prepare(c, false);  // null finds no bonded terms, and runs do not go without
    auto ends = make_local_transport(1);
    NullDevice device;
    Rank rank(p.setup, device, *ends[0], views_of(p, 1)[0]);
    exercise(rank, p);
    expect_none(device.log().commands(), c.name);
    CHECK(device.log().launches().size() > 200);
  }
}

// ---- Conditions -------------------------------------------------------------------------------

// What happens in the middle of a run; the setup is the rank's.
using Change = std::function<void(Rank& rank, Prepared& p)>;

// By atom.
std::vector<Vec3d> velocities_of(Rank& rank) {
  const std::vector<Vec3d> by_slot = rank.memory().slots.velocity().download();
  std::vector<Vec3d> result;
  for (const int32_t slot : rank.memory().slots.slot_of_atom.download())
    result.push_back(by_slot[static_cast<size_t>(slot)]);
  return result;
}

// Velocities after a run with a change in the middle.
std::vector<Vec3d> end_of_run(Device& device, Prepared p, const Change& change) {
  auto ends = make_local_transport(1);
  Rank rank(p.setup, device, *ends[0], views_of(p, 1)[0]);
  rank.load(p.state);
  rank.run(40);
  change(rank, p);
  rank.run(40);
  return velocities_of(rank);
}

// Blocks that were recorded before a change do as launches do, and are replayed.
void recorded_blocks_follow(const Change& change) {
  const Prepared p = prepare(kScenarios[0], true);
  HostDevice cpu(1, host_kernels());
  WatchedDevice recording(cpu);
  const std::vector<Vec3d> launched = end_of_run(cpu, p, change);
  int before = 0;
  const auto counted = [&](Rank& rank, Prepared& now) {
    change(rank, now);
    before = recording.recordings_run();
  };
  CHECK(same(end_of_run(recording, p, counted), launched));
  // As many blocks once more; those that had to be met again to be recorded are now replayed at once.
  CHECK(before > 1 && recording.recordings_run() > 2 * before);
  CHECK(!same(end_of_run(cpu, p, [](Rank&, Prepared&) {}), launched));
}

void recorded_blocks_follow_conditions() {
  recorded_blocks_follow([](Rank& rank, Prepared& p) {
    p.setup.plan.baths.heat = {kBoltzmann * 200, 0.9, 0.5};
    rank.update_conditions(Rank::Atoms::kStay);
    rank.rebuild();
  });
  recorded_blocks_follow([](Rank& rank, Prepared& p) {
    Box box = p.setup.grid.box;
    box.ax *= 1.01;
    set_box(p.setup, PeriodicCell{box}, p.setup.grid.cells);
    rank.update_conditions(Rank::Atoms::kMoveWithBox);
    rank.rebuild();
  });
  recorded_blocks_follow([](Rank& rank, Prepared& p) {
    for (Vec3d& v : p.state.velocities) v = {0.1, 0, 0};
    rank.load(p.state);
  });
}

// A barostat finds the box on the device, and the constants of other lambdas, in recorded blocks as in launches.
void recorded_blocks_rescale() {
  for (const Scenario& c : scenarios()) {
    if (!c.barostat) continue;
    const Prepared p = prepare(c, true);
    HostDevice cpu(1, host_kernels());
    WatchedDevice recording(cpu);
    Box ends[2];
    std::vector<Vec3d> velocities[2];
    for (int recorded = 0; recorded < 2; ++recorded) {
      Device& device = recorded ? static_cast<Device&>(recording) : cpu;
      velocities[recorded] = end_of_run(device, p, [&](Rank& rank, Prepared& now) {
        ends[recorded] = box_of(rank.memory());
        CHECK(!rank.needs_plan());
        if (!c.alchemy) return;
        set_box(now.setup, PeriodicCell{ends[recorded]}, now.setup.grid.cells);
        take_lambdas(now.setup, {{1, 0.4, 0.8}});
        rank.update_conditions(Rank::Atoms::kStay);
        rank.rebuild();
      });
    }
    CHECK(same(velocities[0], velocities[1]));
    CHECK(std::memcmp(&ends[0], &ends[1], sizeof(Box)) == 0);
    // Monte Carlo changes x and y, or z, and may be refused.
    const bool both = std::string_view(c.barostat) != "monte_carlo";
    const bool in_plane = ends[0].ax != kBox, along_z = ends[0].cz != kBox;
    CHECK(ends[0].ax == ends[0].by && (both ? in_plane && along_z : in_plane || along_z));
    CHECK(recording.recordings_run() > 4);
  }
}

// ---- Looks at the end of a run ----------------------------------------------------------------

struct Looks {
  std::vector<std::vector<int64_t>> energies;  // at each stop
  std::vector<Vec3d> velocities;               // at the end
  int64_t redone = 0;                          // epochs
  int in_vain = 0;                             // looks at steps that did not hold
};

// Atoms so fast that some leave the Verlet buffer.
Looks look_now_and_then(Device& device, Prepared p) {
  for (Vec3d& v : p.state.velocities) v = 2.5 * v;
  auto ends = make_local_transport(1);
  Rank rank(p.setup, device, *ends[0], views_of(p, 1)[0]);
  rank.load(p.state);
  Looks found{};
  for (int stop = 1; stop <= 30; ++stop) {
    std::vector<int64_t> energies;
    int looks = 0;
    const auto look = [&] {
      rank.evaluate(p.setup.lists.life);
      energies = rank.memory().slots.energy.download();
      ++looks;
    };
    rank.run_to(rank.step() + 3, look);
    CHECK(rank.alone() == (looks > 0));
    if (!rank.alone()) look();
    found.in_vain += looks - 1;
    found.energies.push_back(energies);
  }
  found.redone = rank.early_rebuilds();
  found.velocities = velocities_of(rank);
  return found;
}

// A look follows the steps at once where blocks are recorded, and sees what one after them sees, even where the
// steps do not hold and are made again.
void looks_see_steps_that_hold() {
  const Prepared p = prepare(kScenarios[0], true);
  HostDevice cpu(1, host_kernels());
  WatchedDevice recording(cpu);
  const Looks after = look_now_and_then(cpu, p), ahead = look_now_and_then(recording, p);
  CHECK(ahead.energies == after.energies);
  CHECK(same(ahead.velocities, after.velocities));
  CHECK(ahead.redone > 0 && ahead.redone == after.redone);
  CHECK(ahead.in_vain > 0 && after.in_vain == 0);
}

// ---- Schedules with a dependency less ---------------------------------------------------------

// All schedules of forces, each after a rebuild and followed by what uses the forces.
class OneStep {
 public:
  explicit OneStep(const Scenario& c, Sites sites = Sites::kSome)
      : prepared_(prepare(c, true, sites)),
        view_(views_of(prepared_, 1)[0]),
        ends_(make_local_transport(1)),
        executor_(0, 1, device_, *ends_[0]),
        memory_(prepared_.setup, device_) {
    memory_.set_plan(view_);
  }

  // As if the system had so many atoms.
  void claim_atoms(size_t count) { prepared_.setup.system.masses.resize(count, 12.0); }

  Schedule forces(Accumulators before, Reach reach, Energies energies, Follows follows) {
    return force_schedule(memory_, view_, before, reach, energies, follows);
  }
  std::vector<Hazard> run(const Schedule& forces, Follows follows) {
    device_.log().clear();
    executor_.run(migrate_schedule(memory_, view_));
    executor_.run(proxies_and_lists_schedule(memory_, view_));
    if (follows == Follows::kStep) device_.synchronize();
    executor_.run(forces, {0});
    device_.launch(VerletFinish{memory_.group_work(0), 0.001});
    return find_hazards(device_.log().commands());
  }

 private:
  Prepared prepared_;
  RankView view_;
  NullDevice device_;
  std::vector<std::unique_ptr<Transport>> ends_;
  Executor executor_;
  RankMemory memory_;
};

template <class Body>
void for_all_forces(OneStep& step, const Body& body) {
  for (const Accumulators before : {Accumulators::kStale, Accumulators::kClear})
    for (const Reach reach : {Reach::kAll, Reach::kShort})
      for (const Energies energies : {Energies::kSkip, Energies::kAdd})
        for (const Follows follows : {Follows::kStep, Follows::kRebuild})
          body(step.forces(before, reach, energies, follows), follows);
}

void no_forces_have_hazards() {
  const auto check = [](OneStep& step, const char* name) {
    for_all_forces(step, [&](const Schedule& forces, Follows follows) {
      for (const Hazard& hazard : step.run(forces, follows)) {
        std::printf("%s: %s\n", name, hazard.describe().c_str());
        CHECK(false);
      }
    });
  };
  for (const Scenario& c : scenarios()) {
    OneStep step(c);
    check(step, c.name);
  }
  OneStep step(kScenarios[0]);
  for (const size_t atoms : {24000, 90000, 300000}) {
    step.claim_atoms(atoms);
    check(step, "pairs in parts");
  }
}

// What reads proxies comes after all messages with their positions, and before the forces on them go.
void proxies_are_waited_for() {
  const Prepared p = prepare(kScenarios[0], true);
  const RankView view = views_of(p, 3)[1];
  NullDevice device;
  RankMemory memory(p.setup, device);
  memory.set_plan(view);
  const auto follows = Follows::kStep;
  const auto energies = Energies::kSkip;
  for (const Reach reach : {Reach::kAll, Reach::kShort}) {
    const Schedule s = force_schedule(memory, view, Accumulators::kClear, reach, energies, follows);
    std::map<std::string, std::vector<TaskId>> named;
    for (size_t t = 0; t < s.tasks().size(); ++t)
      named[s.tasks()[t].name].push_back(static_cast<TaskId>(t));
    const auto comes_after = [&](const std::string& later, const std::string& earlier) {
      CHECK(!named[later].empty() && !named[earlier].empty());
      for (const TaskId task : named[later])
        for (const TaskId before : named[earlier]) {
          const auto& after = s.tasks()[static_cast<size_t>(task)].after;
          CHECK(std::find(after.begin(), after.end(), before) != after.end());
        }
    };
    for (const char* reader : {"pairs.boundary", "terms"}) {
      comes_after(reader, "positions.receive");
      comes_after("forces.send", reader);
    }
  }
}

// The tasks that evaluate interior pairs, with what they wait for in their names.
std::vector<Task> interior_pairs(const Prepared& p, const RankView& view, Follows follows) {
  NullDevice device;
  RankMemory memory(p.setup, device);
  memory.set_plan(view);
  const Schedule s =
      force_schedule(memory, view, Accumulators::kClear, Reach::kAll, Energies::kSkip, follows);
  std::vector<Task> parts;
  for (const Task& task : s.tasks()) {
    if (task.name != "pairs.interior") continue;
    parts.push_back(task);
    for (const TaskId before : task.after)
      parts.back().name += " " + s.tasks()[static_cast<size_t>(before)].name;
  }
  return parts;
}

// Where kernels write into the grids of other ranks, interior pairs are evaluated in parts, each of them
// once; most of them after the convolution, and none on the stream of the part before it.
void interior_pairs_come_in_parts() {
  const Prepared p = prepare(kScenarios[0], true);
  RankView view = views_of(p, 2)[1];
  CHECK(interior_pairs(p, view, Follows::kStep).size() == 1);
  view.carriers.assign(2, Carrier::kKernels);
  CHECK(interior_pairs(p, view, Follows::kRebuild).size() == 1);
  const std::vector<Task> parts = interior_pairs(p, view, Follows::kStep);
  CHECK(parts.size() == 3);
  CHECK(parts[0].name == "pairs.interior" && parts[1].name == "pairs.interior pme.planes" &&
        parts[2].name == "pairs.interior pme.lines");
  CHECK(parts[0].stream != parts[1].stream && parts[1].stream != parts[2].stream);
}

// So are those of many atoms on one GPU.
void interior_pairs_come_in_parts_on_one_gpu() {
  CHECK(pairs_beside_mesh(12288).at_once == 0 && pairs_beside_mesh(17496).at_once == 1);
  CHECK(pairs_beside_mesh(1060110).at_once == 0.05);
  CHECK(pairs_beside_mesh(1060110).with_charges == 0.15);
  Prepared p = prepare(kScenarios[0], true);
  const RankView view = views_of(p, 1)[0];
  const std::vector<Task> few = interior_pairs(p, view, Follows::kStep);
  CHECK(few.size() == 1 && few[0].name == "pairs.interior pme.spread");
  p.setup.system.masses.resize(24000, 12.0);  // as if it had so many
  const std::vector<Task> more = interior_pairs(p, view, Follows::kStep);
  CHECK(more.size() == 1 && more[0].name == "pairs.interior");
  p.setup.system.masses.resize(90000, 12.0);
  CHECK(interior_pairs(p, view, Follows::kRebuild).size() == 1);
  const std::vector<Task> parts = interior_pairs(p, view, Follows::kStep);
  CHECK(parts.size() == 3);
  CHECK(parts[0].name == "pairs.interior" && parts[1].name == "pairs.interior pme.spread" &&
        parts[2].name == "pairs.interior pme.lines");
  CHECK(parts[0].stream != parts[1].stream && parts[1].stream != parts[2].stream);
}

// Nor do they wait for alchemical atoms, whose work is on a stream of its own, in rebuilds and in steps.
void work_apart_delays_no_pairs() {
  const auto with_alchemy = std::ranges::find_if(kScenarios, &Scenario::alchemy);
  Prepared p = prepare(*with_alchemy, true);
  const RankView view = views_of(p, 1)[0];
  NullDevice device;
  RankMemory memory(p.setup, device);
  memory.set_plan(view);
  for (const size_t claimed : {12000, 24000, 90000}) {
    p.setup.system.masses.resize(claimed, 12.0);
    const Schedule s = force_schedule(memory, view, Accumulators::kClear, Reach::kAll,
                                      Energies::kSkip, Follows::kStep);
    for (const Task& task : s.tasks())
      CHECK((task.stream == Stream::kHalo) == task.name.starts_with("alchemy"));
  }
  for (const Task& task : proxies_and_lists_schedule(memory, view).tasks())
    CHECK((task.stream == Stream::kHalo) == (task.name == "alchemy.place"));
}

// With the fast multipole method they begin at once; and its levels above the first are summed beside level 0.
void levels_run_beside_each_other_on_one_gpu() {
  Scenario scenario = kScenarios[0];
  scenario.fmm = true;
  Prepared p = prepare(scenario, true);
  p.setup.system.masses.resize(90000, 12.0);
  const RankView view = views_of(p, 1)[0];
  const std::vector<Task> pairs = interior_pairs(p, view, Follows::kStep);
  CHECK(pairs.size() == 1 && pairs[0].name == "pairs.interior");
  NullDevice device;
  RankMemory memory(p.setup, device);
  memory.set_plan(view);
  CHECK(memory.long_range->pairs_alone().placing == Placing::kByUrgency);
  const Schedule s = force_schedule(memory, view, Accumulators::kClear, Reach::kAll,
                                    Energies::kSkip, Follows::kStep);
  std::map<std::string, Stream> streams;
  for (const Task& task : s.tasks()) streams[task.name] = task.stream;
  CHECK(streams.at("fmm.stencil") == Stream::kMain);
  CHECK(streams.at("fmm.restrict") == Stream::kHalo && streams.at("fmm.levels") == Stream::kHalo);
  CHECK(streams.at("fmm.prolong") == Stream::kMain);
}

// In recorded steps with PME on one GPU, of as many atoms as the chain of the long-range sum decides for, it finds
// room before pairs.
void placing_is_by_urgency_where_the_chain_decides() {
  HostDevice cpu(1, host_kernels());
  for (const bool pme : {true, false})
    for (const int ranks : {1, 2})
      for (const size_t claimed : {0, 24000, 90000}) {
        Prepared p = prepare(kScenarios[pme ? 0 : 2], true);
        WatchedDevice device(cpu);
        const auto ends = make_local_transport(ranks);
        const RankView view = views_of(p, ranks)[0];
        RankMemory memory(p.setup, device);
        if (claimed > 0) p.setup.system.masses.resize(claimed, 12.0);
        set_placing(device, memory, view);
        CHECK((device.placing() == Placing::kByUrgency) == (pme && ranks == 1 && claimed == 24000));
      }
}

// The schedule with one task's dependencies left out, or the streams not joined.
Schedule without(const Schedule& from, const std::string& task, Schedule::End end) {
  Schedule s(from.edges(), end);
  for (Task t : from.tasks()) {
    if (t.name == task) t.after.clear();
    s.add(std::move(t));
  }
  return s;
}

bool names(const std::vector<Hazard>& found, const char* first, const char* second) {
  return std::any_of(found.begin(), found.end(), [&](const Hazard& h) {
    return h.first == first && h.second == second &&
           h.first_field.find("force") != std::string::npos;
  });
}

void missing_orders_are_found() {
  OneStep step(kScenarios[0], Sites::kNone);
  const Schedule forces =
      step.forces(Accumulators::kStale, Reach::kAll, Energies::kSkip, Follows::kStep);
  const auto joined = Schedule::End::kJoined, open = Schedule::End::kOpen;
  CHECK(step.run(without(forces, "none", joined), Follows::kStep).empty());
  CHECK(names(step.run(without(forces, "terms", joined), Follows::kStep), "clear_forces",
              "term_forces"));
  const auto unjoined = step.run(without(forces, "none", open), Follows::kStep);
  CHECK(names(unjoined, "pair_forces", "verlet_finish"));
  CHECK(names(unjoined, "term_forces", "verlet_finish"));

  OneStep with_sites(kScenarios[0]);
  const Schedule spread =
      with_sites.forces(Accumulators::kStale, Reach::kAll, Energies::kSkip, Follows::kStep);
  const auto early = with_sites.run(without(spread, "sites.forces", joined), Follows::kStep);
  CHECK(names(early, "pair_forces", "spread_site_forces"));
  CHECK(names(early, "term_forces", "spread_site_forces"));
}

}  // namespace

int main() {
  return test::run_all(
      {{"conflicts need an order", conflicts_need_an_order},
       {"additions commute, parts are apart", additions_commute_and_parts_are_apart},
       {"recordings are whole", orders_pass_on_and_recordings_are_whole},
       {"pointers that are not named are found", pointers_that_are_not_named_are_found},
       {"padding is no pointer", padding_is_no_pointer},
       {"no forces have hazards", no_forces_have_hazards},
       {"missing orders are found", missing_orders_are_found},
       {"proxies are waited for", proxies_are_waited_for},
       {"interior pairs come in parts", interior_pairs_come_in_parts},
       {"interior pairs come in parts on one GPU", interior_pairs_come_in_parts_on_one_gpu},
       {"work apart delays no pairs", work_apart_delays_no_pairs},
       {"levels run beside each other on one GPU", levels_run_beside_each_other_on_one_gpu},
       {"placing is by urgency where the chain decides",
        placing_is_by_urgency_where_the_chain_decides},
       {"recorded blocks follow conditions", recorded_blocks_follow_conditions},
       {"recorded blocks rescale", recorded_blocks_rescale},
       {"looks see steps that hold", looks_see_steps_that_hold},
       {"null finds none", null_finds_none_either},
       {"a rank by itself has none", [] { no_run_has_hazards(1, MeshSharing::kDistributed); }},
       {"two ranks have none", [] { no_run_has_hazards(2, MeshSharing::kDistributed); }},
       {"three ranks have none", [] { no_run_has_hazards(3, MeshSharing::kDistributed); }},
       {"two ranks with a communicator",
        [] { a_communicator_leaves_hazards_none_and_bits_alone(2, MeshSharing::kReplicated); }},
       {"three ranks with a communicator",
        [] { a_communicator_leaves_hazards_none_and_bits_alone(3, MeshSharing::kDistributed); }},
       {"pencils have none", [] { no_run_has_hazards(4, MeshSharing::kPencils); }}});
}
