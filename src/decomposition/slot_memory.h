// SPDX-License-Identifier: Apache-2.0
// What lies by slot on one rank: positions, velocities, forces, and the layout that says which atom
// is where; with the accumulators that every operation adds to. Families of forces and the
// integrators refer to it; what they need beyond that they keep themselves.
#pragma once

#include <vector>

#include "decomposition/assignment.h"
#include "decomposition/conditions.h"
#include "decomposition/energies.h"
#include "decomposition/operations.h"
#include "device/buffer_maker.h"
#include "system/system.h"

namespace quiltmd {

// For how many slots and hydrogen groups there is room.
struct SlotRoom {
  size_t owned_slots = 0, owned_groups = 0;  // of owned patches
  size_t state_slots = 0, groups = 0;        // with what arrives from other ranks
  size_t slots = 0;                          // with that or with proxies

  bool holds(const SlotRoom& need) const {
    return owned_slots >= need.owned_slots && owned_groups >= need.owned_groups &&
           state_slots >= need.state_slots && groups >= need.groups && slots >= need.slots;
  }
};
// For a whole system, wherever its atoms are.
SlotRoom whole_system(const System& system, const PatchGrid& grid);
// Room of a rank for data other than its own atoms.
struct RemoteRoom {
  size_t arriving_groups = 0, arriving_atoms = 0;  // in one rebuild
  size_t proxy_atoms = 0;
};

class SlotMemory {
 public:
  // `pair_numbers`: by internal index, what Slots::pair_numbers shall hold of each atom; `energies`: how
  // many kinds there are; `variables`: how many the step plan has. System and grid must outlive it. There
  // is no room for atoms before a plan or make_room().
  SlotMemory(Device& device, const System& system, const PatchGrid& grid,
             const std::vector<Float2>& pair_numbers, int energies, size_t variables = 0);

  // Take over a plan: which patches are owned and which are proxies. Some buffers are made anew; what
  // they hold stays.
  void set_plan(const RankPlan& plan, const RemoteRoom& remote_room);
  // At least so much. Throws Error when there would be more slots than list entries can number.
  void make_room(const SlotRoom& need);
  const RankPlan& plan() const { return plan_; }
  // For each global patch index: the index among the placed patches (owned ones, then proxies), or -1.
  std::vector<int32_t> placed_index() const;

  // Uploads the baths, the strength of restraints, the lambdas and the box of the grid; the previous
  // box is kept in `box_before`. Addresses do not change, so recordings stay valid.
  void set_conditions(const HeatBath& bath, const PressureBath& pressure_bath = {},
                      double restraint_strength = 1, const Lambdas& lambdas = {});
  // A barostat has changed the box on the device: the vectors between patches follow; and whether they
  // still suit it.
  ShiftPatches shift_patches();
  CheckPatches check_patches();
  CheckSpread check_spread();    // of atoms without a periodic box
  CheckExtents check_extents();  // of large hydrogen groups in one
  // Room for the grid as it is now. The state in use stays where it is by slot; all else that lies by
  // slot or patch is void before the next rebuild.
  void update_grid();

  // Start from positions and velocities (internal order, nm and nm/ps) of the groups whose patch is
  // owned. They have no slots before the next rebuild. Buffers are made anew where they are too small.
  void load(const std::vector<Vec3d>& positions, const std::vector<Vec3d>& velocities,
            int64_t at_step);

  // The groups as they lie, to find out which patches they belong to.
  BinGroups bin_groups() const { return bin(current, group_count.data()); }
  // Saves the start of an epoch, which may have to be redone: the present state and numbers, and the earlier
  // numbers. SetState restores the state itself.
  void save_start();
  void restore_numbers();

  // The other set of positions and velocities becomes the one in use: what is laid out next is
  // written there.
  void swap_state() { current = 1 - current; }
  // From the set that was in use before swap_state() into the one that is. `arrived`: groups there,
  // those that have come from other ranks included; null where groups neither come nor go.
  PlaceGroups place_groups(const int32_t* arrived = nullptr) const;
  BoundClusters bound_clusters() const;

  Slots slots() const;
  GridView grid_view() const { return grid_; }
  const AtomTable& atom_table() const { return table_; }
  const int32_t* group_start() const { return group_start_.data(); }
  const int32_t* used_slots() const;  // number, including proxies
  int capacity() const { return static_cast<int>(room.slots); }
  int owned_capacity() const { return static_cast<int>(room.owned_slots); }
  int owned_patches() const { return static_cast<int>(plan_.owned.size()); }
  size_t bytes() const { return make_.bytes(); }

  Buffer<Vec3d>& position() { return positions[current]; }
  Buffer<Vec3d>& velocity() { return velocities[current]; }
  const Buffer<Vec3d>& position() const { return positions[current]; }
  const Buffer<Vec3d>& velocity() const { return velocities[current]; }

  Device& device;
  const System& system;
  const PatchGrid& patch_grid;
  SlotRoom room;

  Buffer<Conditions> conditions;
  Buffer<Box> box_before;
  // Only owned atoms, with room for arrivals from other ranks; likewise `long_range` and the start. Of the
  // two sets of positions and velocities, one is in use and the other receives a rebuild.
  int current = 0;
  Buffer<Vec3d> positions[2], velocities[2];
  Buffer<Vec3d> reference;  // positions when the lists were built
  // Start of an epoch, from which it may have to be redone.
  Buffer<Vec3d> start_position, start_velocity;
  // Arrays that force kernels read and write, including proxies (Slots).
  Buffer<Float4> local, low, long_range;
  Buffer<Float2> pair_numbers;
  Buffer<int32_t> atom, cluster_patch;
  Buffer<int64_t> force;  // three arrays
  // The layout.
  Buffer<int32_t> slot_of_atom, group_count, owned_slots, all_slots;  // the last: with proxies
  Buffer<PlacedPatch> patches;
  Buffer<PlacedGroup> placed;
  Buffer<Vec3d> origin;  // by placed group
  Buffer<GroupRecord> records;
  Buffer<ClusterBounds> bounds;
  // Counters and accumulators.
  Buffer<int64_t> step;      // the step, and what the stages count themselves with
  Buffer<int64_t> energy;    // by EnergyKind
  Buffer<int64_t> momentum;  // of the owned atoms, or of the whole system
  Buffer<Faults> faults;
  Buffer<double> variables;  // of the step plan

 private:
  RunNumbers numbers() const;
  RunNumbers start_numbers() const;
  void copy(const RunNumbers& from, const RunNumbers& to);
  SlotRoom room_for(size_t groups, size_t atoms) const;
  void allocate_patches();
  void upload_tables(const std::vector<Float2>& numbers);
  BinGroups bin(int from, const int32_t* count) const;

  RankPlan plan_;
  RemoteRoom remote_room_;
  AtomTable table_{};
  GridView grid_{};
  BufferMaker make_;
  Buffer<float> charge_;
  Buffer<Float2> atom_pair_numbers_;
  Buffer<int32_t> group_start_, owned_, owned_index_;
  Buffer<int64_t> start_heat_;
  Buffer<double> start_variables_;
  Buffer<int64_t> tally_[2];
  Buffer<int32_t> layers_, layers_with_places_;  // of check_spread()
  Buffer<Int3> offsets_;
  Buffer<Vec3f> shifts_;
  Buffer<Vec3d> exact_shifts_;
};

}  // namespace quiltmd
