// SPDX-License-Identifier: Apache-2.0
// Three-body potentials on the CPU: one atom in the centre after the other, in double precision. A row has about five
// times as many atoms as are within the cutoff; these are found in single precision, and few are left to calculate.
#include <algorithm>
#include <array>
#include <vector>

#include "computes/nonbonded/host_pairs.h"
#include "computes/three_body/operations.h"
#include "device/host/kernels.h"
#include "math/fixed.h"
#include "math/symmetric.h"

namespace quiltmd {
namespace {

constexpr int kComputeGrain = 4;

// ---- Neighbours ----

float square(float x) { return x * x; }

// Of the distance of a point from the bounds of a cluster.
float square_to(const ClusterBounds& box, Vec3f at) {
  const auto beyond = [](float apart, float half) {
    return std::max(std::abs(apart) - half, 0.0f);
  };
  return square(beyond(at.x - box.centre.x, box.half.x)) +
         square(beyond(at.y - box.centre.y, box.half.y)) +
         square(beyond(at.z - box.centre.z, box.half.z));
}

// Fills the row of a slot, as far as there is room; returns how many neighbours there are.
int fill_row(const FindNeighbours& op, int compute, int slot, const std::vector<Vec3f>& shifts) {
  const int codes = static_cast<int>(shifts.size());
  const Float4 at = op.slots.local[slot];
  uint32_t* const row = op.rows.entries + static_cast<ptrdiff_t>(slot) * op.rows.width;
  const float reach2 = square(op.reach);
  int count = 0;
  for (int code = 0; code < codes; ++code) {
    const PlacedPatch& patch = op.patches[op.neighbours[compute * codes + code]];
    const Vec3f shift = shifts[static_cast<size_t>(code)];
    const Vec3f from{at.x - shift.x, at.y - shift.y, at.z - shift.z};
    const int end = patch.start + patch.atoms;
    for (int first = patch.start; first < end; first += kClusterSize) {
      if (square_to(op.bounds[first / kClusterSize], from) >= reach2) continue;
      for (int j = first; j < std::min(end, first + kClusterSize); ++j) {
        const Float4 there = op.slots.local[j];
        const Vec3f d{there.x - from.x, there.y - from.y, there.z - from.z};
        if (dot(d, d) >= reach2 || (code == 0 && j == slot)) continue;
        if (count < op.rows.width)
          row[count] = static_cast<uint32_t>(j) | static_cast<uint32_t>(code) << kSlotBits;
        ++count;
      }
    }
  }
  op.rows.counts[slot] = std::min(count, op.rows.width);
  return count;
}

void find_neighbours(const FindNeighbours& op, ThreadGroup& threads) {
  if (op.faults->refused) return;
  std::vector<Vec3f> shifts;
  for (int code = 0; code < 2 * op.grid.codes - 1; ++code) {
    const Vec3d shift = full_shift(op.grid, code);
    shifts.push_back(
        {static_cast<float>(shift.x), static_cast<float>(shift.y), static_cast<float>(shift.z)});
  }
  std::vector<int> most(static_cast<size_t>(threads.size()), 0);
  threads.parallel_for(op.count, kComputeGrain, [&](int begin, int end, int thread) {
    int& longest = most[static_cast<size_t>(thread)];
    for (int c = begin; c < end; ++c) {
      const PlacedPatch& patch = op.patches[op.computes[c]];
      for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot)
        longest = std::max(longest, fill_row(op, c, slot, shifts));
    }
  });
  const int need = *std::ranges::max_element(most);
  int32_t& room_needed = op.faults->room_needed[kNeighboursOfAtom];
  if (need > op.rows.width) room_needed = std::max(room_needed, need);
}

// ---- Forces ----

// Data of one thread.
struct NeighbourThread {
  std::vector<Neighbour> near;
  std::vector<uint32_t> slots;  // of these
};

// Where an atom is, from the centre of its patch.
Vec3d exact(const Slots& slots, uint32_t slot) {
  const Float4 at = slots.local[slot], low = slots.low[slot];
  return {double(at.x) + low.x, double(at.y) + low.y, double(at.z) + low.z};
}

// The neighbours of an atom within the cutoff.
template <class Form>
void find_near(const ThreeBodyForces<Form>& op, uint32_t centre, const std::vector<Vec3d>& shifts,
               NeighbourThread& thread) {
  thread.near.clear();
  thread.slots.clear();
  const auto cutoff2 = static_cast<float>(1.0001 * op.cutoff * op.cutoff);  // as floats round
  const Vec3d at = exact(op.slots, centre);
  const uint32_t* const row = op.rows.entries + static_cast<size_t>(centre) * op.rows.width;
  for (int n = 0; n < op.rows.counts[centre]; ++n) {
    const uint32_t slot = row[n] & kSlotMask, code = row[n] >> kSlotBits;
    const Vec3d from = at - shifts[code];
    const Float4 there = op.slots.local[slot];
    const Vec3f about{there.x - static_cast<float>(from.x), there.y - static_cast<float>(from.y),
                      there.z - static_cast<float>(from.z)};
    if (dot(about, about) >= cutoff2) continue;
    const Vec3d d = exact(op.slots, slot) - from;
    const double r = norm(d);
    if (r >= op.cutoff) continue;
    const bool once = code ? static_cast<int>(code) < op.grid.codes : slot > centre;
    thread.near.push_back({{d, r, op.type_of_atom[op.slots.atom[slot]], once}});
    thread.slots.push_back(slot);
  }
}

// Adds forces to neighbours and, so that they add up to zero, minus the sum of the integers to the centre.
void deliver(const NeighbourThread& from, uint32_t centre, ForceAccumulator& forces) {
  ForceRecord rest{};
  for (size_t n = 0; n < from.near.size(); ++n) {
    ForceRecord& record = forces[from.slots[n]];
    for (int d = 0; d < 3; ++d) {
      const int64_t force = to_fixed(from.near[n].force[d], kForceScale);
      record.v[d] += force;
      rest.v[d] -= force;
    }
    forces.touched()[from.slots[n] >> ForceAccumulator::kBlockBits] = 1;
  }
  ForceRecord& record = forces[centre];
  for (int d = 0; d < 3; ++d) record.v[d] += rest.v[d];
  forces.touched()[centre >> ForceAccumulator::kBlockBits] = 1;
}

template <class Form>
void add_centre(const ThreeBodyForces<Form>& op, uint32_t centre, const std::vector<Vec3d>& shifts,
                NeighbourThread& thread, PairThread& sums) {
  find_near(op, centre, shifts, thread);
  const int type = op.type_of_atom[op.slots.atom[centre]];
  const double energy = Form::add(
      {op.triplets + static_cast<ptrdiff_t>(type) * op.types * op.types, op.types}, thread.near);
  deliver(thread, centre, sums.forces);
  if (!op.energy) return;
  sums.form += to_fixed(energy, kEnergyScale);
  Symmetric virial{};
  for (const Neighbour& j : thread.near) virial.add_product(j.force, j.d);
  for (int k = 0; k < Symmetric::kParts; ++k) sums.virial[k] += to_fixed(virial[k], kEnergyScale);
}

template <class Form>
void forces(const ThreeBodyForces<Form>& op, ThreadGroup& threads) {
  std::vector<Vec3d> shifts;
  for (int code = 0; code < 2 * op.grid.codes - 1; ++code)
    shifts.push_back(full_shift(op.grid, code));
  std::vector<PairThread>& team = pair_threads(threads, op.slot_capacity, nullptr, 0);
  std::vector<NeighbourThread>& found = threads.scratch<NeighbourThread>();
  threads.parallel_for(op.count, kComputeGrain, [&](int begin, int end, int t) {
    for (int c = begin; c < end; ++c) {
      const PlacedPatch& patch = op.patches[op.computes[op.first + c]];
      for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot)
        add_centre(op, static_cast<uint32_t>(slot), shifts, found[static_cast<size_t>(t)],
                   team[static_cast<size_t>(t)]);
    }
  });
  add_to_totals(threads, team, op.slot_capacity, op.slots.force);
  add_energies(team, kManyBody, op.energy);
}

}  // namespace

void add_three_body_kernels(HostKernels& table) {
  table.add<FindNeighbours, find_neighbours>();
  ThreeBodyForms::for_each([&]<class Form>() { table.add<ThreeBodyForces<Form>, forces<Form>>(); });
}

}  // namespace quiltmd
