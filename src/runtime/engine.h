// SPDX-License-Identifier: Apache-2.0
// A running simulation: the ranks of this process, their devices and the transport between them.
// This is what the bindings expose; it speaks the input's order of atoms.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/rank.h"

namespace quiltmd {

struct RunSettings {
  int ranks = 1;
  int threads = 1;  // per rank
  std::string device = "cpu";
  bool balance = true;
  std::string mesh = "auto";       // transforms of PME: "distributed" or "replicated"
  std::string transport = "auto";  // of messages between ranks: see kernels_exchange()
};

struct Minimum {
  double energy = 0;         // kJ/mol
  double largest_force = 0;  // kJ/mol/nm
  int iterations = 0;
  bool converged = false;
};

class Engine {
 public:
  // `system` in input order. The box is that of the first state.
  Engine(const System& system, const NonbondedSettings& nonbonded,
         const IntegratorSettings& integrator, const ListSettings& lists, const RunSettings& run);
  ~Engine();

  void set_state(const Box& box, const HostState& state);  // input order
  void run(int64_t steps);
  // The simulation as it is now. Returns while the data travel, and later steps leave the frame
  // alone; it must not outlive the engine.
  std::unique_ptr<Frame> capture(Contents contents);
  std::vector<Vec3d> forces();
  std::array<int64_t, 3> force_sum();
  // `watch` sees the minimum so far before each iteration, and returns true to stop there.
  using WatchMinimum = std::function<bool(const Minimum&)>;
  Minimum minimize(double tolerance, int max_iterations, const WatchMinimum& watch);
  void draw_velocities(double temperature, uint64_t seed);
  // New values of `temperature` (K) or `friction` (1/ps) for the steps from here on. Pair lists keep
  // their buffer, which depends on the temperature above 300 K; atoms that move beyond it are noticed.
  void set_conditions(const std::map<std::string, double>& values);

  struct TaskProfile {
    int rank;
    std::string name;
    int64_t calls;
    double seconds;
  };
  struct RankSpan {
    int rank;
    Span span;  // times in seconds since start_profile()
  };
  std::vector<TaskProfile> profile();  // tasks so far; while launches are timed, those since last
  // Every task or launch from the last start to the stop. A new state ends it.
  void start_profile();
  std::vector<RankSpan> stop_profile();
  std::map<std::string, double> numbers() const;  // figures that describe the run
  std::vector<DeviceDescription> devices() const;
  int64_t early_rebuilds() const;

 private:
  void create_ranks(const HostState& internal);
  MeshSharing mesh_sharing() const;
  void for_ranks(const std::function<void(Rank&)>& body);
  void move_atoms(const std::function<void(Rank&)>& body);  // and forget what was evaluated
  void require_state() const;
  void rebalance();
  [[noreturn]] void explain(const Blowup& blowup);
  // Energies, tensors and forces of the state as it is, together and once, whoever asks first.
  void evaluate();
  double potential();
  double largest_force();

  System system_;  // internal order
  NonbondedSettings nonbonded_;
  IntegratorSettings integrator_;
  ListSettings lists_;
  RunSettings run_;
  std::unique_ptr<Setup> setup_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Transport>> transport_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  Assignment assignment_;
  std::vector<double> atoms_in_patches_;  // when the first assignment was made
  int64_t balanced_at_ = 0;
  bool balanced_ = false;   // since the last set_state
  bool evaluated_ = false;  // the ranks hold energies and forces of the state as it is
  double profile_begin_ = 0;
};

}  // namespace quiltmd
