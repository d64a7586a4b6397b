// SPDX-License-Identifier: Apache-2.0
// The layout of atoms in slots: a permutation that depends on positions alone.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "check.h"
#include "decomposition/hilbert.h"
#include "device/host/kernels.h"
#include "one_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

const Box kBox{3.1, 0.7, 2.9, -0.6, 0.9, 3.3};  // triclinic
constexpr Int3 kCells{2, 3, 4};

struct Input {
  System system;
  std::vector<Vec3d> positions, velocities;
};

Input make_input(uint64_t seed) {
  Random random(seed);
  Input in;
  std::vector<Vec3d> positions;
  const System raw = make_mixture(700, 5, kBox, positions, random);
  in.system = with_groups(raw);
  for (const int32_t i : in.system.input_index) {
    in.positions.push_back(positions[static_cast<size_t>(i)]);
    in.velocities.push_back(random_vector(random, 1));
  }
  return in;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void hilbert_visits_neighbours() {
  for (int bits = 1; bits <= 5; ++bits) {
    const uint32_t side = 1u << bits;
    std::vector<Int3> cell(side * side * side, Int3{-1, -1, -1});
    for (uint32_t x = 0; x < side; ++x)
      for (uint32_t y = 0; y < side; ++y)
        for (uint32_t z = 0; z < side; ++z) {
          const uint32_t index = hilbert_index(x, y, z, bits);
          CHECK(index < cell.size());
          CHECK(cell[index].x == -1);
          cell[index] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
        }
    for (size_t i = 1; i < cell.size(); ++i) {
      const Int3 d = cell[i] - cell[i - 1];
      CHECK(std::abs(d.x) + std::abs(d.y) + std::abs(d.z) == 1);
    }
  }
}

void is_a_padded_permutation() {
  const Input in = make_input(1);
  HostDevice device(2, host_kernels());
  const OneRank rank(device, in.system, kBox, kCells, in.positions, in.velocities);
  const auto atoms = rank.atom.download();
  const auto where = rank.slot_of_atom.download();
  const int slots = rank.owned_slots.download()[0];
  for (int a = 0; a < in.system.atom_count(); ++a) CHECK(atoms[where[a]] == a);
  CHECK(std::count_if(atoms.begin(), atoms.begin() + slots, [](int a) { return a >= 0; }) ==
        in.system.atom_count());

  const auto patches = rank.patches.download();
  const auto cluster_patch = rank.cluster_patch.download();
  const auto local = rank.local.download();
  int next = 0, next_group = 0;
  for (size_t p = 0; p < patches.size(); ++p) {
    CHECK(patches[p].patch == static_cast<int>(p));
    CHECK(patches[p].start == next && next % kClusterSize == 0);
    CHECK(patches[p].group_start == next_group);
    next_group += patches[p].groups;
    const int end = next + (patches[p].atoms + kClusterSize - 1) / kClusterSize * kClusterSize;
    for (int s = next; s < end; ++s) {
      CHECK((atoms[s] >= 0) == (s < next + patches[p].atoms));
      CHECK(cluster_patch[s / kClusterSize] == static_cast<int>(p));
      if (atoms[s] < 0) CHECK(local[s].x >= kFarAway && local[s].w == 0);
    }
    next = end;
  }
  CHECK(next == slots && next_group == in.system.group_count());
}

void local_coordinates_are_exact_and_inside() {
  const Input in = make_input(2);
  HostDevice device(1, host_kernels());
  const OneRank rank(device, in.system, kBox, kCells, in.positions, in.velocities);
  const auto local = rank.by_atom(rank.local), low = rank.by_atom(rank.low);
  const auto x = rank.by_atom(rank.position()), v = rank.by_atom(rank.velocity());
  CHECK(same_bits(x, in.positions));
  CHECK(same_bits(v, in.velocities));
  CHECK(same_bits(x, rank.by_atom(rank.reference)));
  CHECK(same_bits(x, rank.by_atom(rank.start_position)));
  CHECK(same_bits(v, rank.by_atom(rank.start_velocity)));
  const auto placed = rank.placed.download();
  const auto origin = rank.origin.download();
  for (size_t i = 0; i < placed.size(); ++i) {
    const int first = in.system.group_start[placed[i].group];
    for (int a = first; a < in.system.group_start[placed[i].group + 1]; ++a) {
      const Vec3d r{static_cast<double>(local[a].x) + low[a].x,
                    static_cast<double>(local[a].y) + low[a].y,
                    static_cast<double>(local[a].z) + low[a].z};
      CHECK_NEAR(norm(origin[i] + r - x[a]), 0, 1e-14);
    }
    const Vec3d f = kBox.to_fraction(x[first] - origin[i]);
    CHECK(std::fabs(f.x) * kCells.x <= 0.5 + 1e-12);
    CHECK(std::fabs(f.y) * kCells.y <= 0.5 + 1e-12);
    CHECK(std::fabs(f.z) * kCells.z <= 0.5 + 1e-12);
  }
}

void does_not_depend_on_source_order_or_threads() {
  const Input in = make_input(3);
  HostDevice one(1, host_kernels()), three(3, host_kernels());
  const OneRank a(one, in.system, kBox, kCells, in.positions, in.velocities);
  std::vector<int> order(static_cast<size_t>(in.system.group_count()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), Random(4));
  const OneRank b(three, in.system, kBox, kCells, in.positions, in.velocities, order);
  const auto slots = static_cast<size_t>(a.owned_slots.download()[0]);
  CHECK(slots == static_cast<size_t>(b.owned_slots.download()[0]));
  CHECK(same_bits(a.atom.download(slots), b.atom.download(slots)));
  CHECK(same_bits(a.local.download(slots), b.local.download(slots)));
  CHECK(same_bits(a.low.download(slots), b.low.download(slots)));
  CHECK(same_bits(a.position().download(slots), b.position().download(slots)));
  CHECK(same_bits(a.placed.download(), b.placed.download()));
  CHECK(same_bits(a.origin.download(), b.origin.download()));
  CHECK(same_bits(a.patches.download(), b.patches.download()));
}

// Coordinates on and just beside the edges of the cell land in a valid patch.
void edges_are_in_patches() {
  Input in;
  const Box box{2, 0, 2, 0, 0, 2};
  for (const double x : {0.0, -1e-18, -1e-300, 2.0, 2.0 - 1e-16, -2.0, 1.0, 0.5, 1e9, -1e9}) {
    add_atom(in.system, 1);
    in.positions.push_back({x, x, x});
    in.velocities.push_back({0, 0, 0});
  }
  in.system = with_groups(in.system);
  HostDevice device(1, host_kernels());
  const OneRank rank(device, in.system, box, {4, 4, 4}, in.positions, in.velocities);
  const auto local = rank.by_atom(rank.local);
  for (const Float4& l : local) {
    CHECK(std::fabs(l.x) <= 0.25f + 1e-6f);
    CHECK(std::fabs(l.y) <= 0.25f + 1e-6f);
  }
}

// Atoms in a corner of the cell and their periodic images are laid out alike.
void images_look_alike() {
  Input in = make_input(5);
  HostDevice device(1, host_kernels());
  const Box box{4, 0, 4, 0, 0, 4};  // powers of two: images are exact
  for (Vec3d& x : in.positions) {
    for (int d = 0; d < 3; ++d) x[d] = std::round(x[d] * 65536) / 65536;
  }
  const OneRank a(device, in.system, box, {4, 2, 2}, in.positions, in.velocities);
  for (size_t g = 0; g + 1 < in.system.group_start.size(); ++g) {
    const Vec3d image{4.0 * static_cast<double>(g % 3), -8.0 * static_cast<double>(g % 2), 4.0};
    for (int i = in.system.group_start[g]; i < in.system.group_start[g + 1]; ++i)
      in.positions[static_cast<size_t>(i)] += image;
  }
  const OneRank b(device, in.system, box, {4, 2, 2}, in.positions, in.velocities);
  const auto slots = static_cast<size_t>(a.owned_slots.download()[0]);
  CHECK(same_bits(a.atom.download(slots), b.atom.download(slots)));
  CHECK(same_bits(a.local.download(slots), b.local.download(slots)));
}

void too_many_slots_are_reported() {
  const Input in = make_input(6);
  HostDevice device(1, host_kernels());
  OneRank rank(device, in.system, kBox, kCells, in.positions, in.velocities);
  const int need = rank.owned_slots.download()[0];
  rank.swap_state();
  PlaceGroups place = rank.place_groups();
  place.owned_slots_room = need;
  device.launch(place);
  CHECK(rank.faults.download()[0].share_overflow == 0);
  rank.swap_state();
  place = rank.place_groups();
  place.slot_capacity = place.owned_slots_room = 64;
  device.launch(place);
  CHECK(rank.faults.download()[0].share_overflow == 1);
  CHECK(rank.owned_slots.download()[0] <= 64);
  for (const PlacedPatch& p : rank.patches.download()) CHECK(p.start + p.atoms <= 64);
}

}  // namespace

int main() {
  return run_all(
      {{"hilbert visits neighbours", hilbert_visits_neighbours},
       {"is a padded permutation", is_a_padded_permutation},
       {"local coordinates are exact and inside", local_coordinates_are_exact_and_inside},
       {"does not depend on source order or threads", does_not_depend_on_source_order_or_threads},
       {"edges are in patches", edges_are_in_patches},
       {"images look alike", images_look_alike},
       {"too many slots are reported", too_many_slots_are_reported}});
}
