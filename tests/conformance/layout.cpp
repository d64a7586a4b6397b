// SPDX-License-Identifier: Apache-2.0
// Which patch, which order, which slot: exactly what the CPU kernels say.
#include "one_rank.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

const Box kBoxes[] = {{3.1, 0, 3.4, 0, 0, 3.0}, {3.3, 0.9, 3.2, -1.0, 0.8, 3.1}};

// A clustered mixture, so that patches differ in size and some are empty.
System lumpy(const Box& box, std::vector<Vec3d>& positions, Random& random) {
  System s = make_mixture(1500, 4, box, positions, random);
  for (size_t a = 0; a < positions.size() / 3; ++a) s.charges[a] = 0.1 * static_cast<double>(a % 7);
  return with_groups(s);
}

void compare(const OneRank& a, const OneRank& b) {
  CHECK(same_bits(a.slot_of_atom.download(), b.slot_of_atom.download()));
  CHECK(same_bits(a.patches.download(), b.patches.download()));
  CHECK(same_bits(a.placed.download(), b.placed.download()));
  CHECK(same_bits(a.origin.download(), b.origin.download()));
  const auto slots = static_cast<size_t>(b.owned_slots.download()[0]);
  CHECK(a.owned_slots.download()[0] == static_cast<int32_t>(slots));
  CHECK(same_bits(a.atom.download(slots), b.atom.download(slots)));
  CHECK(same_bits(a.cluster_patch.download(slots / kClusterSize),
                  b.cluster_patch.download(slots / kClusterSize)));
  CHECK(same_bits(a.by_atom(a.position()), b.by_atom(b.position())));
  CHECK(same_bits(a.by_atom(a.velocity()), b.by_atom(b.velocity())));
  CHECK(same_bits(a.by_atom(a.reference), b.by_atom(b.reference)));
  CHECK(same_bits(a.by_atom(a.start_position), b.by_atom(b.start_position)));
  CHECK(same_bits(a.by_atom(a.start_velocity), b.by_atom(b.start_velocity)));
  CHECK(same_bits(a.by_atom(a.local), b.by_atom(b.local)));
  CHECK(same_bits(a.by_atom(a.pair_numbers), b.by_atom(b.pair_numbers)));
  const auto low_a = a.by_atom(a.low), low_b = b.by_atom(b.low);
  int wrong = 0;
  for (size_t i = 0; i < low_a.size(); ++i)  // w is unused
    wrong += std::memcmp(&low_a[i], &low_b[i], 3 * sizeof(float)) != 0;
  const auto atoms = a.atom.download(slots);
  const auto local = a.local.download(slots);
  for (size_t i = 0; i < slots; ++i) wrong += atoms[i] < 0 && !(local[i].x >= kFarAway);
  CHECK(wrong == 0);
}

// All atoms within `extent` of the box. Laid out twice: the second time in order, in two operations.
void compare_layouts(Pair devices, const Box& box, Int3 cells, double extent, uint64_t seed) {
  Random random(seed);
  std::vector<Vec3d> positions;
  const System s = lumpy(box, positions, random);
  std::vector<Vec3d> internal, velocities;
  for (int a = 0; a < s.atom_count(); ++a) {
    const auto input = static_cast<size_t>(s.input_index[static_cast<size_t>(a)]);
    internal.push_back(extent * positions[input]);
    velocities.push_back(random_vector(random, 1));
  }
  OneRank ours(devices.device, s, box, cells, internal, velocities);
  OneRank theirs(devices.cpu, s, box, cells, internal, velocities);
  compare(ours, theirs);
  ours.lay_out();
  theirs.lay_out();
  compare(ours, theirs);
}

void slots_are_the_same(Pair devices) {
  uint64_t seed = 1;
  for (const Box& box : kBoxes)
    for (const Int3 cells : {Int3{3, 4, 2}, Int3{1, 1, 1}, Int3{7, 5, 9}, Int3{13, 14, 13}})
      for (const double extent : {1.0, 0.2}) compare_layouts(devices, box, cells, extent, seed++);
}

// Boxes of clusters, padding included.
void bounds_are_the_same(Pair devices) {
  Random random(20);
  std::vector<Vec3d> positions;
  const System s = lumpy(kBoxes[1], positions, random);
  const std::vector<Vec3d> rest(positions.size());
  OneRank ours(devices.device, s, kBoxes[1], {3, 3, 3}, positions, rest);
  OneRank theirs(devices.cpu, s, kBoxes[1], {3, 3, 3}, positions, rest);
  std::vector<ClusterBounds> bounds[2];
  for (OneRank* rank : {&ours, &theirs}) {
    const auto clusters = static_cast<size_t>(rank->owned_slots.download()[0]) / kClusterSize;
    Buffer<ClusterBounds> buffer(rank->device, clusters);
    BoundClusters bound = rank->bound_clusters();
    bound.bounds = buffer.data();
    rank->device.launch(bound);
    bounds[rank == &theirs] = buffer.download();
    CHECK(same_bits(buffer.download(), rank->bounds.download(clusters)));
  }
  int wrong = 0;
  const auto far = [](Vec3f a, Vec3f b) {
    return norm(a - b) > 1e-5f;
  };  // GPUs round boxes outwards
  for (size_t c = 0; c < bounds[1].size(); ++c)
    wrong +=
        far(bounds[0][c].centre, bounds[1][c].centre) || far(bounds[0][c].half, bounds[1][c].half);
  CHECK(wrong == 0);
}

// A rebuild after steps to be redone changes nothing; one after steps that merely ended beyond the lists
// goes on, and forgets that.
void refused_after_faults(Pair devices) {
  Random random(21);
  std::vector<Vec3d> positions;
  const System s = lumpy(kBoxes[1], positions, random);
  for (Device* device : {&devices.device, &devices.cpu}) {
    OneRank rank(*device, s, kBoxes[1], {3, 3, 3}, positions, std::vector<Vec3d>(positions.size()));
    rank.step.upload({7});
    const auto after = [&](Faults faults) {
      rank.faults.upload({faults});
      std::vector<Vec3d> moved = rank.position().download();
      for (Vec3d& p : moved) p += {0.05, 0.3, -0.2};
      rank.position().upload(moved);
      const auto placed = rank.placed.download();
      const auto start = rank.start_position.download();
      rank.lay_out();
      return !same_bits(placed, rank.placed.download()) ||
             !same_bits(start, rank.start_position.download());
    };
    for (Faults faults :
         {Faults{.violation_step = 6}, Faults{.blowup_step = 7, .blowup_atom = 1},
          Faults{.constraint_step = 7, .constraint_atom = 1}, Faults{.room_needed = {100}}}) {
      CHECK(!after(faults));
      CHECK(rank.faults.download()[0].refused);
    }
    CHECK(after({.violation_step = 7}));
    const Faults left = rank.faults.download()[0];
    CHECK(!left.refused && left.violation_step == 0);
  }
}

}  // namespace

std::vector<Case> layout_cases(Pair devices) {
  return {{"slots are the same", [devices] { slots_are_the_same(devices); }},
          {"bounds are the same", [devices] { bounds_are_the_same(devices); }},
          {"no layout after steps to be redone", [devices] { refused_after_faults(devices); }}};
}

}  // namespace quiltmd::test
