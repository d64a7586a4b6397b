// SPDX-License-Identifier: Apache-2.0
// The memory of one rank: every buffer on its device, and the operations that work on them. The
// workspace fills in parameter structs; it decides neither when they run nor who sends what.
#pragma once

#include <memory>
#include <vector>

#include "computes/bonded/term_memory.h"
#include "computes/nonbonded/operations.h"
#include "computes/pme/operations.h"
#include "decomposition/assignment.h"
#include "decomposition/operations.h"
#include "device/device.h"
#include "integrators/group_shapes.h"
#include "integrators/operations.h"
#include "schedule/setup.h"

namespace quiltmd {

enum class Part { kInterior, kBoundary };
enum class Energies { kSkip, kAdd };

class Workspace {
 public:
  Workspace(const Setup& setup, Device& device);

  // Take over a plan: which patches are owned, which are proxies, which computes are made here.
  void adopt(const RankPlan& plan);
  const RankPlan& plan() const { return plan_; }

  // Start from positions and velocities (internal order, nm and nm/ps) of the groups whose patch is
  // owned. The lists are not built yet.
  void load(const std::vector<Vec3d>& positions, const std::vector<Vec3d>& velocities,
            int64_t step);

  // Operations of a rebuild, in order.
  BinGroups bin_groups();
  // Swaps the state's buffers: old ones are read, new ones written. Makes the records too, if they
  // are not `binned` yet.
  enum class Records { kBinned, kToBeMade };
  PlaceGroups place_groups(Records records);
  BoundClusters bound_clusters();
  NumberLists number_lists();
  BuildLists build_lists();
  PlaceTerms place_terms();

  // Operations of the forces.
  ClearForces clear_forces();
  PairForces pair_forces(Part part, Energies energies);
  TermForces term_forces(Energies energies);
  SpreadCharges spread_charges();
  TransformPlanes transform_planes(int first, int count);
  ConvolveLines convolve_lines(int first, int count, Energies energies);
  InversePlanes inverse_planes(int first, int count);
  GatherForces gather_forces();

  GroupWork group_work();
  const int32_t* used_slots() const;  // how many there are, proxies included
  Slots slots() const;

  const Setup& setup;
  Device& device;
  PmeGrid pme_grid{};

  // State and what hangs on it, by slot; [current] is in use, the other receives a rebuild.
  int current = 0;
  Buffer<Vec3d> position[2], velocity[2];
  Buffer<Vec3d> reference, start_position, start_velocity;
  Buffer<Float4> local, low, long_range;
  Buffer<Float2> lj;
  Buffer<int32_t> atom, cluster_patch, slot_of_atom;
  Buffer<int64_t> force;  // three arrays
  Buffer<PlacedGroup> placed;
  Buffer<Vec3d> origin;
  Buffer<GroupRecord> records;
  Buffer<PlacedPatch> patches;
  Buffer<int32_t> group_count, owned_slots,
      all_slots;  // the last with proxies, where there are any
  Buffer<int64_t> tally[2];
  Buffer<int64_t> step, energy, start_heat, momentum;
  Buffer<Faults> faults;

  Buffer<ClusterBounds> bounds;
  Buffer<PairList> lists;
  Buffer<uint32_t> entries;
  Buffer<uint8_t> masks;
  Buffer<int32_t> entry_count, first_list, list_ranges;
  TermMemory terms;

  Buffer<int32_t> charges;
  Buffer<Complex> spectrum;
  Buffer<float> potential;

  int list_age = 0;  // steps since the lists were built
  size_t slot_capacity = 0;
  int source_slots = 0;            // slots of position[current] in use before the next rebuild
  std::vector<Float2> host_lj;     // by internal index, for the slots of proxies
  void grow_entries(size_t need);  // so many and some more
  size_t bytes() const { return bytes_ + terms.bytes(); }

 private:
  template <class T>
  Buffer<T> make(size_t count);
  template <class T>
  Buffer<T> make(const std::vector<T>& values);
  void upload_constants();
  void allocate_slots();
  void make_entries(size_t count);
  void allocate_pme();

  RankPlan plan_;
  size_t bytes_ = 0;
  Constants constants_{};
  GridView grid_{};
  const float* moduli_[3]{};

  Buffer<double> mass_, inverse_mass_;
  Buffer<float> charge_;
  Buffer<Float2> atom_lj_, lj_table_;
  Buffer<int32_t> group_start_, exclusion_start_, exclusions_, constraint_start_;
  Buffer<GroupConstraint> constraints_;
  Buffer<uint32_t> group_shape_;
  Buffer<GroupShape> shapes_;
  Buffer<Int3> offsets_;
  Buffer<Vec3f> shifts_;
  Buffer<Vec3d> exact_shifts_;
  Buffer<int32_t> owned_, owned_index_, computes_, neighbours_;
  Buffer<int8_t> computed_here_;
  Buffer<float> moduli_buffer_[3];
};

}  // namespace quiltmd
