// SPDX-License-Identifier: Apache-2.0
// The engine: one thread per rank for the time of a call, the input's order of atoms outside, the
// internal order inside.
#include "runtime/engine.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <thread>

#include "math/error.h"
#include "runtime/blame.h"
#include "runtime/devices.h"
#include "transport/local/local_transport.h"

namespace quiltmd {
namespace {

// Epochs between rebalancings: often while the first measurements come in, then rarely.
constexpr int kFirstBalance = 4;
constexpr int kLaterBalance = 100;
// A rank may be this much busier than the mean before computes move.
constexpr double kBalanceTolerance = 1.03;
// Grids up to this many points, divided by the number of GPUs, are transformed by each of them, larger
// ones by all together.
constexpr int64_t kReplicatedPoints = 4'000'000;

std::vector<Vec3d> reorder(const std::vector<Vec3d>& from, const std::vector<int32_t>& index,
                           bool to_internal) {
  std::vector<Vec3d> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const auto j = static_cast<size_t>(index[i]);
    if (to_internal)
      to[i] = from[j];
    else
      to[j] = from[i];
  }
  return to;
}

std::vector<double> atoms_per_patch(const PatchGrid& grid, const std::vector<Vec3d>& positions) {
  std::vector<double> weights(static_cast<size_t>(grid.size()), 0.0);
  for (const Vec3d& x : positions) weights[static_cast<size_t>(patch_of(grid, x))] += 1;
  return weights;
}

}  // namespace

Engine::Engine(const System& system, const NonbondedSettings& nonbonded,
               const IntegratorSettings& integrator, const ListSettings& lists,
               const RunSettings& run)
    : system_(with_groups(system)),
      nonbonded_(nonbonded),
      integrator_(integrator),
      lists_(lists),
      run_(run) {
  if (run.ranks < 1 || run.threads < 1) throw Error("ranks and threads must be at least 1");
  check_device_can(run.device, nonbonded);
  devices_ = make_devices(run.device, run.ranks, run.threads);
}

Engine::~Engine() = default;

void Engine::set_state(const Box& box, const HostState& state) {
  HostState internal = state;
  internal.positions = reorder(state.positions, system_.input_index, true);
  internal.velocities = reorder(state.velocities, system_.input_index, true);
  if (!state.list_positions.empty())
    internal.list_positions = reorder(state.list_positions, system_.input_index, true);
  ranks_.clear();
  for (const auto& device : devices_) device->stop_timing();
  setup_ = std::make_unique<Setup>(make_setup(system_, nonbonded_, integrator_, lists_, box));
  try {
    create_ranks(internal);
  } catch (const Blowup& blowup) {
    explain(blowup);
  }
}

void Engine::create_ranks(const HostState& internal) {
  const auto& from = internal.list_positions.empty() ? internal.positions : internal.list_positions;
  atoms_in_patches_ = atoms_per_patch(setup_->grid, from);
  assignment_ = share_patches(setup_->grid, atoms_in_patches_, run_.ranks);
  const auto plans = plan_ranks(setup_->grid, assignment_, atoms_in_patches_);
  transport_ = make_local_transport(run_.ranks, [peer = kernels_exchange(run_.transport, devices_)](
                                                    int a, int b) { return peer && a != b; });
  for (int r = 0; r < run_.ranks; ++r) {
    const auto i = static_cast<size_t>(r);
    RankView view{r, run_.ranks, plans};
    view.mesh = mesh_sharing();
    ranks_.push_back(std::make_unique<Rank>(*setup_, *devices_[i], *transport_[i], view));
  }
  move_atoms([&](Rank& rank) { rank.load(internal); });
  balanced_at_ = internal.step;
  balanced_ = false;
}

// On GPUs a small grid takes longer to send to and fro than to transform.
MeshSharing Engine::mesh_sharing() const {
  if (run_.mesh == "distributed") return MeshSharing::kDistributed;
  if (run_.mesh == "replicated") return MeshSharing::kReplicated;
  if (run_.mesh != "auto")
    throw Error("unknown way to share PME '" + run_.mesh +
                "': choose auto, distributed or replicated");
  const Int3 n = nonbonded_.grid;
  const bool small = int64_t{n.x} * n.y * n.z * run_.ranks <= kReplicatedPoints;
  const bool gpus = !devices_.front()->capabilities().host_memory;
  return gpus && small ? MeshSharing::kReplicated : MeshSharing::kDistributed;
}

void Engine::for_ranks(const std::function<void(Rank&)>& body) {
  std::vector<std::exception_ptr> errors(ranks_.size());
  const auto guarded = [&](size_t r) {
    try {
      body(*ranks_[r]);
    } catch (...) {
      errors[r] = std::current_exception();
      transport_[r]->close();
    }
  };
  std::vector<std::thread> threads;
  for (size_t r = 1; r < ranks_.size(); ++r) threads.emplace_back(guarded, r);
  guarded(0);
  for (std::thread& thread : threads) thread.join();
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const PeerFailed&) {
      if (!first) first = error;
    } catch (...) {
      std::rethrow_exception(error);
    }
  }
  if (first) std::rethrow_exception(first);
}

void Engine::move_atoms(const std::function<void(Rank&)>& body) {
  evaluated_ = false;
  for_ranks(body);
}

void Engine::require_state() const {
  if (ranks_.empty())
    throw Error("the engine has no state, or lost it when the simulation blew up: set one first");
}

void Engine::run(int64_t steps) {
  require_state();
  try {
    while (steps > 0) {
      int64_t chunk = steps;
      if (run_.balance && ranks_.size() > 1)
        chunk = std::min<int64_t>(chunk, kFirstBalance * setup_->lists.life);
      move_atoms([&](Rank& rank) { rank.run(chunk); });
      steps -= chunk;
      rebalance();
    }
  } catch (const Blowup& blowup) {
    explain(blowup);
  }
}

std::unique_ptr<Frame> Engine::capture(Contents contents) {
  require_state();
  std::vector<std::unique_ptr<Download>> shares(ranks_.size());
  if (contents.energies) evaluate();
  for_ranks(
      [&](Rank& rank) { shares[static_cast<size_t>(rank.index())] = rank.capture(contents); });
  return std::make_unique<Frame>(system_, *setup_, contents, ranks_[0]->step(),
                                 ranks_[0]->list_step(), std::move(shares));
}

void Engine::rebalance() {
  if (!run_.balance || ranks_.size() < 2 || !devices_.front()->capabilities().host_memory) return;
  const int64_t now = ranks_[0]->step();
  const int64_t epochs = (now - balanced_at_) / setup_->lists.life;
  if (epochs < (balanced_ ? kLaterBalance : kFirstBalance)) return;
  balanced_at_ = now;
  balanced_ = true;
  std::vector<double> load, cost(static_cast<size_t>(setup_->grid.size()), 0.0);
  for (const auto& rank : ranks_) {
    double busy = 0;
    for (const auto& [name, time] : rank->executor().times())
      if (name != "wait") busy += time.seconds;
    const auto entries = rank->compute_entries();
    const int64_t all = std::accumulate(entries.begin(), entries.end(), int64_t{0},
                                        [](int64_t sum, const auto& e) { return sum + e.second; });
    for (const auto& [compute, count] : entries)
      cost[static_cast<size_t>(compute)] =
          all ? rank->pair_seconds() * static_cast<double>(count) / static_cast<double>(all) : 0;
    load.push_back(busy - rank->pair_seconds());
  }
  assignment_ = refine(setup_->grid, assignment_, load, cost, kBalanceTolerance);
  const auto plans = plan_ranks(setup_->grid, assignment_, atoms_in_patches_);
  for (const auto& rank : ranks_) rank->replan(plans);
}

void Engine::evaluate() {
  if (evaluated_) return;
  for_ranks([](Rank& rank) { rank.evaluate(); });
  evaluated_ = true;
}

double Engine::potential() { return capture({.energies = true})->energies().at("potential"); }

std::vector<Vec3d> Engine::forces() {
  require_state();
  evaluate();
  std::vector<Vec3d> internal(static_cast<size_t>(system_.atom_count()));
  for (const auto& rank : ranks_) rank->collect_forces(internal, nonbonded_.pme);
  return reorder(internal, system_.input_index, false);
}

std::array<int64_t, 3> Engine::force_sum() {
  require_state();
  evaluate();
  std::array<int64_t, 3> sum{};
  for (const auto& rank : ranks_) {
    const auto own = rank->force_sum();
    for (size_t d = 0; d < 3; ++d) sum[d] += own[d];
  }
  return sum;
}

void Engine::draw_velocities(double temperature, uint64_t seed) {
  require_state();
  move_atoms([&](Rank& rank) { rank.draw_velocities(temperature, seed); });
}

void Engine::set_conditions(const std::map<std::string, double>& values) {
  require_state();
  IntegratorSettings changed = integrator_;
  for (const auto& [name, value] : values) {
    if (name != "temperature" && name != "friction")
      throw Error("'" + name +
                  "' cannot be changed while a simulation goes on: only temperature and "
                  "friction can");
    Parameters& owner = changed.thermostat && changed.thermostat->values.count(name)
                            ? *changed.thermostat
                            : changed.integrator;
    const auto found = owner.values.find(name);
    if (found == owner.values.end()) throw Error(owner.kind + " has no " + name);
    if (!(std::isfinite(value) && value >= 0))
      throw Error("a " + name + " is a number and not negative");
    found->second = value;
  }
  const StepPlan plan = make_step_plan(changed, setup_->degrees_of_freedom);
  integrator_ = std::move(changed);
  setup_->plan.bath = plan.bath;
  setup_->plan.temperature = plan.temperature;
  try {
    move_atoms([](Rank& rank) { rank.follow_conditions(); });
  } catch (const Blowup& blowup) {
    explain(blowup);
  }
}

void Engine::explain(const Blowup& blowup) {
  HostState start;
  start.positions.resize(static_cast<size_t>(system_.atom_count()));
  for (const auto& rank : ranks_) rank->collect_start(start);
  ranks_.clear();  // what they hold is of no use, and some may wait for others
  throw SimulationError(blowup.step, blame(*setup_, start, blowup));
}

}  // namespace quiltmd
