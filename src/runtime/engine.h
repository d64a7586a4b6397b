// SPDX-License-Identifier: Apache-2.0
// A running simulation: the ranks of this process, their devices and the transport between them.
// This is what the bindings expose; it speaks the input's order of atoms. Where ranks are in processes
// of their own, each has an engine, and all make the same calls in the same order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "computes/collective/bias.h"
#include "device/host/flipping_device.h"
#include "integrators/constraint_loss.h"
#include "runtime/balancer.h"
#include "runtime/devices.h"
#include "runtime/link_finder.h"
#include "runtime/rank.h"
#include "runtime/shares.h"

namespace quiltmd {

// The only rank of this process, where each has a process of its own.
struct OwnRank {
  int rank = 0;
  // Connected to the other processes, by rank; the engine takes them over.
  std::vector<int> sockets;
  double patience = 20;  // seconds that another process may be silent before it has failed
  LinkSettings links = {};
  // Where UCX carries what the host sends: the path of its library; empty: where the system finds it.
  std::optional<std::string> ucx = {};
};

struct RunSettings {
  int ranks = 1;
  int threads = 1;  // per rank
  std::string device = "cpu";
  bool balance = true;
  std::optional<MeshSharing> mesh;  // transforms of PME; where none is given the engine chooses
  MessageRoute route = MessageRoute::kAuto;  // between ranks of this process
  int of_node = 1;             // ranks of each host, in order; 1 if their numbers differ
  std::optional<OwnRank> own;  // none: all ranks are in this process
  std::vector<ExternalForce> external = {};  // atoms in input order

  int ranks_here() const { return own ? 1 : ranks; }
};

struct Minimum {
  double energy = 0;         // kJ/mol
  double largest_force = 0;  // kJ/mol/nm
  int iterations = 0;
  bool converged = false;
};

class Engine {
 public:
  // `system` in input order. What depends on the box follows that of the state; settings of PME stay.
  Engine(const System& system, const NonbondedSettings& nonbonded,
         const IntegratorSettings& integrator, const ListSettings& lists, const RunSettings& run);
  ~Engine();

  // Without a box the system has no periodic boundary.
  void set_state(const std::optional<Box>& box, const HostState& state);  // input order
  // The present state with atoms at these positions, in input order. Where all are near those of the lists
  // that there are, its lists are these, and none are built.
  void place_atoms(const std::vector<Vec3d>& positions);
  void run(int64_t steps);
  // Likewise, and captures the simulation there. Where the device takes whole blocks of steps, what the frame needs
  // follows them at once.
  std::unique_ptr<Frame> run_and_capture(int64_t steps, Contents contents);
  // The simulation as it is now. Returns while the data travel, and later steps leave the frame
  // alone; it must not outlive the engine.
  std::unique_ptr<Frame> capture(Contents contents);
  std::vector<Vec3d> forces();
  // Sum of short-range and bonded forces, fixed point: zero. At the present positions; or, on a device that
  // does not clear forces for the next step, as the last step has left them.
  std::array<int64_t, 3> force_sum();
  std::array<int64_t, 3> last_force_sum() const;
  // `watch` sees the minimum so far before each iteration, and returns true to stop there.
  using WatchMinimum = std::function<bool(const Minimum&)>;
  Minimum minimize(double tolerance, int max_iterations, const WatchMinimum& watch);
  void draw_velocities(double temperature, uint64_t seed);
  // New values of `temperature` (K), `friction` (1/ps) or `pressure_x` ... (kJ/mol/nm^3) for the steps
  // from here on. Pair lists keep their buffer, which depends on the temperature above 300 K; atoms
  // that move beyond it are noticed. With a new box hydrogen groups move.
  void set_conditions(const std::map<std::string, double>& values, const std::optional<Box>& box);

  // Adds hills to the bias of collective variables, whose grid has these axes.
  void add_hills(const std::vector<BiasAxis>& axes, const std::vector<BiasHill>& hills);

  struct TaskProfile {
    int rank;
    std::string name;
    int64_t calls;
    double seconds;
  };
  struct RankSpan {
    int rank;
    Span span;      // times in seconds since start_profile() of rank 0
    int64_t steps;  // of its part
  };
  std::vector<TaskProfile> profile();  // tasks so far; while launches are timed, those since last
  // Every task or launch of the ranks here from the last start to the stop, and the messages of all
  // ranks, in the time of rank 0's start. A new state ends it.
  void start_profile();
  std::vector<RankSpan> stop_profile();
  // Messages of the last profile; times as of its spans.
  const std::vector<MessageTimes>& profiled_messages() const { return profiled_messages_; }
  struct RankLoad {
    int patches, proxies, computes, interior_computes;
    int64_t atoms;         // owned, as expected when patches were assigned
    int64_t list_entries;  // pairs of clusters
    double device_bytes;
  };
  std::vector<RankLoad> loads();  // of the ranks, as they are now
  // The forces of a step, for each rank of this process as it is now.
  std::vector<const Schedule*> step_forces() const;
  std::map<std::string, double> numbers() const;  // figures that describe the run
  std::vector<DeviceDescription> devices() const;
  // Route of messages ("peer", "nccl", "peer and nccl", "host"; empty: no messages), and why it is not
  // faster.
  std::string route() const;
  std::string why_not_faster() const;
  const char* mesh() const;  // sharing of the transforms of PME: see mesh_sharing_named()
  int64_t early_rebuilds() const;

  // Have a bit flip in the memory of a rank of this process, on the CPU, once the next state is set; the
  // present one is gone.
  void inject(int rank, const Flip& flip);
  // Likewise, have the device of a rank take so many times as long for everything.
  void slow_down(int rank, double factor);

 private:
  using Look = std::function<void(Rank&)>;  // see Rank::run_to()
  void run(int64_t steps, const Look& look);
  // Uses another patch grid if a barostat has made it necessary.
  void run_to(int64_t target, const Look& look = {});
  // Whether the ranks have the lists of this state (internal order).
  bool has_lists_of(const Box& box, const HostState& state) const;
  Cell periodic_cell(const Box& box, const std::vector<Vec3d>& positions) const;
  void enter(const Cell& cell, HostState state);  // which is in the internal order
  void take_external();
  void load_state(const Cell& cell, HostState& state);
  void create_ranks();
  // Assigns patches to ranks by the atoms in them; with a replan() if the assignment changed.
  void assign(const std::vector<Vec3d>& positions);
  MachineShape machine() const { return {run_.ranks, run_.of_node, {}, speeds_}; }
  void replan();              // the present assignment takes effect at the next rebuild
  HostState present_state();  // in internal order
  void load_again();          // the present state, with the patch grid of the setup
  MeshSharing mesh_sharing() const;
  // Whether a run of `steps` steps is to find the fastest way to share PME; and makes steps in each way,
  // and returns their number.
  bool should_time_meshes(int64_t steps) const;
  int64_t time_meshes();
  double time_of_life(MeshSharing mesh);
  void replace_device(int rank, std::unique_ptr<Device> device);
  void for_ranks(const std::function<void(Rank&)>& body);
  // Values of all ranks, by rank.
  template <class T>
  std::vector<std::vector<T>> gather(const std::function<std::vector<T>(Rank&)>& own) const;
  // With what turns them into results.
  Contents with_needs_of(Contents contents) const;
  std::unique_ptr<Frame> frame(Contents contents, std::vector<std::unique_ptr<Download>> shares);
  std::vector<std::unique_ptr<Download>> gather_shares(Contents contents);
  void complete(std::vector<Vec3d>& of_atoms) const;
  // Positions of all atoms, in internal order.
  std::vector<Vec3d> internal_positions();
  std::vector<Vec3d> internal_forces();
  // Atoms are moved there; where that is far from `listed`, where lists were built (empty: nowhere yet),
  // these are built anew.
  void place(const std::vector<Vec3d>& positions, std::vector<Vec3d>& listed);
  Minimum descend(double tolerance, int max_iterations, const WatchMinimum& watch);
  void require_state() const;
  // Argument for take_centres() of families.
  std::vector<double> collective_numbers() const;
  // New conditions, since the patch grid had these cells.
  void conditions_changed(Rank::Atoms atoms, Int3 cells);
  bool balances() const;
  // Up to that many steps with balancing; how many.
  int64_t run_balanced(int64_t steps, const Look& look);
  void rebalance();
  MeasuredCosts costs_by_tasks(int64_t steps) const;  // of a step, since that many
  // The patches go to other owners at once, with the present state.
  void move_patches(const Assignment& next);
  // The longest time of all ranks, where this process has measured its own.
  double slowest(double own) const;
  [[noreturn]] void explain(const Blowup& blowup);
  // Energies, tensors and forces of the state as it is.
  void evaluate();
  double potential();

  System system_;  // internal order
  NonbondedSettings nonbonded_;
  IntegratorSettings integrator_;
  double restraint_strength_ = 1;
  Lambdas lambdas_{};
  std::vector<double> restraint_centres_;  // of collective restraints
  Bias bias_;                              // of theirs
  ListSettings lists_;
  RunSettings run_;
  std::unique_ptr<Setup> setup_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Transport>> transport_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  ConstraintLoss constraint_loss_;
  Assignment assignment_;
  std::vector<double> atoms_in_patches_;  // when the first assignment was made
  Int3 assigned_cells_{};                 // of the patch grid
  Balancer balancer_;
  std::vector<double> speeds_;  // of ranks, by which patches are shared out; empty: all alike
  double loading_ = 0;          // seconds that the state took to be loaded, or patches to be moved
  struct PatchMoves {           // by balancing, since the engine was made
    int64_t count = 0, at = 0;  // the last one
    Balancer::Forecast forecast{};
    double seconds = 0;
  } patch_moves_;
  std::optional<MeshSharing> timed_mesh_;
  int64_t grid_changes_ = 0, grid_changed_at_ = 0;  // since the state was set, and the last step
  // The state that was set, in internal order and with the positions of its lists, while it is the present one.
  std::optional<HostState> entered_;
  int entered_age_ = 0;  // steps: of lists, by how far its atoms are from where they were built
  bool failed_ = false;  // a call of the ranks did not end; what they hold is of no use
  double profile_begin_ = 0;
  std::vector<MessageTimes> profiled_messages_;
};

template <class T>
std::vector<std::vector<T>> Engine::gather(const std::function<std::vector<T>(Rank&)>& own) const {
  std::vector<std::vector<T>> all;
  for (const auto& rank : ranks_) all.push_back(own(*rank));
  if (run_.ranks_here() == run_.ranks) return all;
  const auto payloads = ranks_.front()->gather(to_bytes(all.front()));
  all.clear();
  for (const Payload& payload : payloads) all.push_back(from_bytes<T>(payload));
  return all;
}

}  // namespace quiltmd
