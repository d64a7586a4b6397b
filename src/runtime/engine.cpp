// SPDX-License-Identifier: Apache-2.0
// The engine: one thread per rank for the time of a call, the input's order of atoms outside, the
// internal order inside.
#include "runtime/engine.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>

#include "computes/places.h"
#include "device/maps_host_memory.h"
#include "math/error.h"
#include "runtime/collect.h"
#include "runtime/describe_blowup.h"
#include "runtime/devices.h"
#include "runtime/entering_state.h"
#include "schedule/grid_shares.h"
#include "schedule/step_messages.h"
#include "transport/local/local_transport.h"
#include "transport/stream/stream_transport.h"
#include "transport/ucx/ucx_transport.h"

namespace quiltmd {
namespace {

std::unique_ptr<Transport> make_transport(const OwnRank& own, int ranks) {
  auto sockets = make_stream_transport(own.rank, own.sockets, own.patience);
  if (!own.ucx) return sockets;
  return make_ucx_transport(own.rank, ranks, std::move(sockets), *own.ucx);
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
  if (system_.alchemy) lambdas_ = system_.alchemy->start;
  for (const CollectiveRestraint& restraint : system_.collective)
    restraint_centres_.push_back(restraint.path.front()[1]);
  if (run.ranks < 1 || run.threads < 1) throw Error("ranks and threads must be at least 1");
  if (run.own && (run.own->rank < 0 || run.own->rank >= run.ranks))
    throw Error("rank " + std::to_string(run.own->rank) + " does not exist: there are " +
                std::to_string(run.ranks) + ", numbered from 0");
  if (run.own && (run.own->sockets.size() != static_cast<size_t>(run.ranks) ||
                  run.own->links.machines.size() != static_cast<size_t>(run.ranks)))
    throw Error(
        "a rank in a separate process needs a socket to every other rank and the number of its "
        "machine");
  check_device_can(run.device, system_, nonbonded);
  devices_ = make_devices(run.device, run.ranks_here(), run.threads);
  // Known now, behind a socket.
  check_device_can(devices_.front()->describe().kind, system_, nonbonded);
  if (lists.grain == Grain::kPair && devices_.front()->describe().kind != "cpu")
    throw Error(
        "pair lists by pair of patches are for CPUs alone: leave out grain, or use device cpu");
  take_external();
  if (run.own) transport_.push_back(make_transport(*run.own, run.ranks));
}

Engine::~Engine() = default;

// Puts their atoms into internal order.
void Engine::take_external() {
  if (run_.external.empty()) return;
  const Device& device = *devices_.front();
  if (!device.capabilities().runs_at_once && !dynamic_cast<const MapsHostMemory*>(&device))
    throw Error("the external force '" + run_.external.front().name +
                "' runs only beside a CPU or GPU of its process: choose device cpu or cuda");
  std::vector<int32_t> internal(system_.input_index.size());
  for (size_t i = 0; i < internal.size(); ++i)
    internal[static_cast<size_t>(system_.input_index[i])] = static_cast<int32_t>(i);
  for (ExternalForce& force : run_.external)
    for (int32_t& atom : force.atoms) {
      if (atom < 0 || atom >= system_.atom_count())
        throw Error("the external force '" + force.name +
                    "' names an atom that the system does not have");
      atom = internal[static_cast<size_t>(atom)];
    }
}

void Engine::assign(const std::vector<Vec3d>& positions) {
  const PatchGrid& grid = setup_->grid;
  auto atoms = atoms_per_patch(grid, positions);
  Assignment assignment = share_patches(*setup_, atoms, machine(), mesh_sharing());
  const bool as_before = assignment == assignment_ && grid.cells == assigned_cells_;
  if (as_before && (run_.ranks == 1 || atoms == atoms_in_patches_)) return;
  assignment_ = std::move(assignment);
  balancer_.forget();
  assigned_cells_ = grid.cells;
  atoms_in_patches_ = std::move(atoms);
  replan();
}

void Engine::replan() {
  const auto plans = plan_ranks(setup_->grid, assignment_, atoms_in_patches_, machine());
  for (const auto& rank : ranks_) rank->replan(plans);
}

void Engine::create_ranks() {
  for (const auto& device : devices_) device->stop_timing();
  failed_ = false;
  const auto plans = plan_ranks(setup_->grid, assignment_, atoms_in_patches_, machine());
  if (!run_.own) transport_ = make_local_transport(run_.ranks);
  const bool reach = !run_.own && kernels_exchange(run_.route, devices_);
  for (int r = 0; r < run_.ranks_here(); ++r) {
    const auto i = static_cast<size_t>(r);
    RankView view;
    view.rank = run_.own ? run_.own->rank : r;
    view.ranks = run_.ranks;
    view.plans = plans;
    view.mesh = mesh_sharing();
    const auto links = [&](Executor& executor) {
      if (run_.own) return find_links(executor, run_.own->rank, *devices_[i], run_.own->links);
      return links_by(reach ? Carrier::kKernels : Carrier::kHost, run_.ranks);
    };
    ranks_.push_back(std::make_unique<Rank>(*setup_, *devices_[i], *transport_[i], view, links));
  }
}

std::string Engine::route() const {
  if (run_.ranks == 1 || ranks_.empty()) return "";
  const RankView& view = ranks_[0]->view();
  if (view.has(Carrier::kHost)) return "host";
  const bool peer = view.has(Carrier::kKernels), nccl = view.has(Carrier::kCommunicator);
  if (const auto& shared = ranks_[0]->executor().links().shared; peer && !nccl && shared)
    return shared->route();
  return peer && nccl ? "peer and nccl" : peer ? "peer" : "nccl";
}

std::string Engine::why_not_faster() const {
  return ranks_.empty() ? "" : ranks_[0]->executor().links().why_not_faster;
}

namespace {

// Weight of the failure of a rank: that of a rank which only waited for another says little.
int weight_of(const std::exception_ptr& error) {
  if (!error) return 0;
  try {
    std::rethrow_exception(error);
  } catch (const MessageOverdue&) {
    return 2;
  } catch (const PeerFailed&) {
    return 1;
  } catch (...) {
    return 3;
  }
}

}  // namespace

void Engine::for_ranks(const std::function<void(Rank&)>& body) {
  std::vector<std::exception_ptr> errors(ranks_.size());
  const auto guarded = [&](size_t r) {
    try {
      body(*ranks_[r]);
    } catch (const Blowup&) {  // on which all have agreed
      errors[r] = std::current_exception();
    } catch (...) {
      errors[r] = std::current_exception();
      transport_[r]->close();
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (size_t r = 1; r < ranks_.size(); ++r) threads.emplace_back(guarded, r);
  } catch (const std::system_error&) {
    for (const auto& end : transport_) end->close();  // those that run wait for those that will not
    failed_ = true;
    throw Error("the operating system allows this process " + std::to_string(threads.size() + 1) +
                " of the " + std::to_string(ranks_.size()) +
                " threads that its ranks need: use fewer ranks");
  }
  guarded(0);
  threads.clear();  // waits for them
  const auto most_specific =
      std::max_element(errors.begin(), errors.end(),
                       [](const auto& a, const auto& b) { return weight_of(a) < weight_of(b); });
  if (!*most_specific) return;
  failed_ = true;
  std::rethrow_exception(*most_specific);
}

void Engine::require_state() const {
  if (ranks_.empty() || failed_)
    throw Error(
        "the engine has no state, because none was set or an error ended an earlier call: call "
        "set_state first");
}

void Engine::run(int64_t steps) { run(steps, {}); }

void Engine::run(int64_t steps, const Look& look) {
  require_state();
  try {
    if (should_time_meshes(steps)) steps -= time_meshes();
    const bool balanced = balances();
    while (balanced && steps > 0) steps -= run_balanced(steps, look);
    if (!balanced && steps > 0) run_to(ranks_[0]->step() + steps, look);
  } catch (const Blowup& blowup) {
    explain(blowup);
  }
}

void Engine::run_to(int64_t target, const Look& look) {
  entered_.reset();
  const Int3 cells = setup_->grid.cells;
  for_ranks([&](Rank& rank) {
    rank.run_to(target, look ? Rank::Look([&] { look(rank); }) : Rank::Look());
  });
  const bool needs_plan = ranks_[0]->needs_plan();
  if (setup_->plan.rebuild_stage.every)
    set_box(*setup_, PeriodicCell{box_of(ranks_[0]->memory())}, cells);
  if (!needs_plan) return;
  load_again();
  run_to(target, look);
}

std::unique_ptr<Frame> Engine::run_and_capture(int64_t steps, Contents contents) {
  std::vector<std::unique_ptr<Download>> share(1);
  run(steps, [&](Rank& rank) {
    if (contents.energies) rank.evaluate(setup_->lists.life);
    share[0] = quiltmd::capture(rank.memory(), with_needs_of(contents));
  });
  return share[0] ? frame(contents, std::move(share)) : capture(contents);
}

std::unique_ptr<Frame> Engine::capture(Contents contents) {
  require_state();
  if (contents.energies) evaluate();
  return frame(contents, gather_shares(with_needs_of(contents)));
}

Contents Engine::with_needs_of(Contents contents) const {
  if (contents.energies && setup_->grid.is_open() && has_constant_forces(system_))
    contents.positions = true;
  return contents;
}

std::unique_ptr<Frame> Engine::frame(Contents contents,
                                     std::vector<std::unique_ptr<Download>> shares) {
  return std::make_unique<Frame>(system_, *setup_, contents, ranks_[0]->step(),
                                 ranks_[0]->list_step(), constraint_loss_.at(ranks_[0]->step()),
                                 std::move(shares));
}

std::vector<std::unique_ptr<Download>> Engine::gather_shares(Contents contents) {
  std::vector<std::unique_ptr<Download>> shares(static_cast<size_t>(run_.ranks));
  for_ranks([&](Rank& rank) {
    shares[static_cast<size_t>(rank.index())] = quiltmd::capture(rank.memory(), contents);
  });
  if (!run_.own) return shares;
  const auto packed = ranks_.front()->gather(pack(*shares[static_cast<size_t>(run_.own->rank)]));
  for (size_t r = 0; r < packed.size(); ++r)
    if (!shares[r]) shares[r] = unpack(packed[r]);
  return shares;
}

void Engine::evaluate() {
  const int oldest = entered_ ? entered_age_ : setup_->lists.life;
  for_ranks([&](Rank& rank) { rank.evaluate(oldest); });
}

double Engine::potential() { return capture({.energies = true})->energies().at("potential"); }

// Values of atoms, which the ranks of other processes have where they are zero here.
void Engine::complete(std::vector<Vec3d>& of_atoms) const {
  if (!run_.own) return;
  const auto all = gather<Vec3d>([&](Rank&) { return of_atoms; });
  for (const std::vector<Vec3d>& own : all)
    for (size_t a = 0; a < own.size(); ++a)
      if (dot(own[a], own[a]) > 0) of_atoms[a] = own[a];
}

std::vector<Vec3d> Engine::internal_positions() {
  const std::vector<Vec3d> found = capture({.positions = true})->positions();
  return to_internal_order(system_, found);
}

std::vector<Vec3d> Engine::internal_forces() {
  evaluate();
  std::vector<Vec3d> found(static_cast<size_t>(system_.atom_count()));
  for (const auto& rank : ranks_) collect_forces(rank->memory(), Reach::kAll, found);
  complete(found);
  return found;
}

std::vector<Vec3d> Engine::forces() {
  require_state();
  return to_input_order(system_, internal_forces());
}

void Engine::draw_velocities(double temperature, uint64_t seed) {
  require_state();
  entered_.reset();
  for_ranks([&](Rank& rank) { rank.draw_velocities(temperature, seed); });
}

Cell Engine::periodic_cell(const Box& box, const std::vector<Vec3d>& positions) const {
  return PeriodicCell{box, extent_of_large_groups(system_, positions)};
}

HostState Engine::present_state() {
  HostState now = capture({.state = true})->state();
  for (std::vector<Vec3d>* values : {&now.positions, &now.velocities, &now.list_positions})
    *values = to_internal_order(system_, *values);
  return now;
}

// Atoms lie in other patches, on other ranks perhaps.
void Engine::load_again() {
  HostState now = present_state();
  if (ranks_[0]->needs_grid()) {
    if (setup_->grid.is_open())
      set_box(*setup_, spread_of(now.positions), {});
    else
      set_box(*setup_, periodic_cell(setup_->grid.box, now.positions), setup_->grid.cells);
  }
  if (assigned_cells_ != setup_->grid.cells) {
    ++grid_changes_;
    grid_changed_at_ = now.step;
  }
  now.list_positions.clear();
  assign(now.positions);
  for_ranks([&](Rank& rank) { rank.load(now, Rank::Begin::kGoOn); });
}

void Engine::explain(const Blowup& blowup) {
  HostState start;
  start.positions.resize(static_cast<size_t>(system_.atom_count()));
  for (const auto& rank : ranks_) collect_start(rank->memory(), start.positions);
  start.step = ranks_[0]->epoch_start();
  complete(start.positions);
  ranks_.clear();  // what they hold is of no use, and some may wait for others
  throw SimulationError(blowup.step, describe_blowup(*setup_, start, blowup));
}

}  // namespace quiltmd
