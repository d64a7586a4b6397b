// SPDX-License-Identifier: Apache-2.0
// Pair lists hold every pair once; forces are the reference's; pieces, slots and repetition change
// no bit.
#include "pair_molecules.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

const Box kBox{2.3, 0.6, 2.5, -0.5, 0.8, 2.1};

void every_pair_is_listed_once(Pair devices) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    const Box box = random_box(random);
    const Vec3d widths = box.widths();
    const double narrowest = std::min({widths.x, widths.y, widths.z});
    PairRank::Choices choices;
    choices.settings.cutoff = uniform(random, 0.2, 0.45) * narrowest;
    choices.reach = choices.settings.cutoff + uniform(random, 0, 0.2);
    choices.away = 1 + static_cast<int>(seed % 2);
    const Molecules m = make_molecules(box, seed);
    // Atoms of a group stick out of its patch by 0.1 nm: the grid must allow for it.
    PairRank::Choices wide = choices;
    wide.reach += 0.2;
    PairRank rank(devices.device, m, wide);
    rank.choices.reach = choices.reach;
    rank.build();
    PairCounts found = pairs_in_lists(rank, m.system);
    int wrong = 0;
    for (const auto& [pair, count] : pairs_by_brute_force(m, choices.reach)) {
      if (count >= 0) wrong += found[pair] != count;
      found.erase(pair);
    }
    CHECK(wrong == 0);
    CHECK(found.empty());
  }
}

PairRank::Choices ewald(double alpha) {
  PairRank::Choices choices;
  choices.settings.pme = alpha > 0;
  choices.settings.alpha = alpha;
  choices.reach = 1.2;
  return choices;
}

void forces_meet_the_reference(Pair devices) {
  const Molecules m = make_molecules(kBox, 5);
  for (const double alpha : {0.0, 2.92, 4.1}) {
    for (const Combination combination : {Combination::kLorentzBerthelot, Combination::kTable}) {
      for (const bool shift : {false, true}) {
        PairRank::Choices choices = ewald(alpha);
        choices.settings.potential_shift = shift;
        choices.combination = combination;
        choices.pieces = shift ? 4 : 1;
        PairRank rank(devices.device, m, choices);
        rank.build();
        rank.evaluate(true);
        const Errors errors = against_reference(rank, m);
        CHECK_NEAR(errors.force, 0, 3e-6);
        CHECK_NEAR(errors.lj, 0, 2e-6);
        CHECK_NEAR(errors.coulomb, 0, 2e-6);
      }
    }
  }
}

// For each number of pieces one sequence of bits, whatever the slots, and zero in sum.
void bits_depend_on_nothing(Pair devices) {
  const Molecules m = make_molecules(kBox, 7);
  for (const int pieces : {1, 2, 8}) {
    PairRank::Choices choices = ewald(2.92);
    choices.pieces = pieces;
    PairRank::Choices moved = choices;
    moved.gap = 1600;
    PairRank a(devices.device, m, choices), b(devices.device, m, moved);
    a.build();
    b.build();
    for (int n = 0; n < 3; ++n) {
      a.evaluate(n == 1);  // with energies the forces are the same, too
      b.evaluate(true);
      for (int axis = 0; axis < 3; ++axis) {
        const auto fa = a.fixed_forces(axis), fb = b.fixed_forces(axis);
        int64_t sum = 0;
        int wrong = 0;
        for (size_t s = 0; s < fa.size(); ++s) {
          sum += fa[s];
          wrong += fa[s] != fb[s + static_cast<size_t>(moved.gap)];
        }
        CHECK(sum == 0);
        CHECK(wrong == 0);
      }
    }
    a.evaluate(true);
    for (const EnergyKind kind : {kLj, kCoulombDirect})
      CHECK(a.energy.download()[kind] == b.energy.download()[kind]);
  }
}

void overlapping_atoms_stay_finite(Pair devices) {
  Molecules m = make_molecules(kBox, 9);
  std::vector<size_t> oxygens;
  for (size_t a = 0; a < m.positions.size(); ++a)
    if (m.system.lj_types[a] == 0) oxygens.push_back(a);
  m.positions[oxygens[1]] = m.positions[oxygens[0]];
  m.positions[oxygens[3]] = m.positions[oxygens[2]] + Vec3d{1e-4, 0, 0};
  PairRank rank(devices.device, m, ewald(2.92));
  rank.build();
  rank.evaluate(true);
  int64_t sum = 0;
  for (const int64_t f : rank.fixed_forces(0)) sum += f;
  CHECK(sum == 0);
  CHECK(norm(rank.forces()[oxygens[3]]) > 1e4);
  CHECK(rank.energy_of(kLj) > 1e6);
}

// Inner lists of a rank, pruned on its device.
struct Inner {
  Buffer<PairList> lists;
  Buffer<uint32_t> entries;
  Buffer<uint8_t> masks;

  explicit Inner(const PairRank& rank)
      : lists(rank.device, rank.lists.size()),
        entries(rank.device, rank.entries.size()),
        masks(rank.device, rank.masks.size()) {}

  PruneLists operation(const PairRank& rank, float reach) const {
    PruneLists op{};
    op.slots = rank.slots();
    op.lists = rank.lists.data();
    op.range = rank.ranges.data() + 2;
    op.capacity = static_cast<int>(rank.lists.size());
    op.entries = rank.entries.data();
    op.masks = rank.masks.data();
    op.shifts = rank.shifts.data();
    op.codes = rank.grid.codes();
    op.reach = reach;
    op.inner = lists.data();
    op.inner_entries = entries.data();
    op.inner_masks = masks.data();
    return op;
  }
};

float nearest(const PairRank& rank, int cluster, uint32_t entry) {
  const Float4 j = rank.local[entry & kSlotMask];
  const Vec3d shift = rank.grid.shifts[entry >> kSlotBits];
  double least = 1e30;
  for (int a = 0; a < kClusterSize; ++a) {
    const Float4 i = rank.local[static_cast<size_t>(cluster * kClusterSize + a)];
    least =
        std::min(least, norm(Vec3d{i.x - j.x - shift.x, i.y - j.y - shift.y, i.z - j.z - shift.z}));
  }
  return static_cast<float>(least);
}

// Entries within reach, in order, at the same place.
void pruning_keeps_what_is_near(Pair devices) {
  const Molecules m = make_molecules(kBox, 11);
  PairRank rank(devices.device, m, ewald(2.92));
  rank.build();
  const Inner inner(rank);
  const float reach = 0.95f;
  devices.device.launch(inner.operation(rank, reach));
  const auto outer_entries = rank.entries.download(), entries = inner.entries.download();
  const auto outer_masks = rank.masks.download(), masks = inner.masks.download();
  const auto outer = rank.lists.download(), found = inner.lists.download();
  const auto used = static_cast<size_t>(rank.ranges.download()[3]);
  int wrong = 0;
  for (size_t l = 0; l < used; ++l) {
    wrong += found[l].cluster != outer[l].cluster || found[l].begin != outer[l].begin;
    int next = found[l].begin, masked = 0;
    const int end = found[l].begin + found[l].count;
    for (int n = outer[l].begin; n < outer[l].begin + outer[l].count; ++n) {
      const uint32_t entry = outer_entries[static_cast<size_t>(n)];
      const float r = nearest(rank, outer[l].cluster, entry);
      const bool kept = next < end && entries[static_cast<size_t>(next)] == entry;
      wrong += std::fabs(r - reach) > kDoubt && kept != (r < reach);
      if (!kept) continue;
      if (n < outer[l].begin + outer[l].masked) {
        wrong += masks[static_cast<size_t>(next)] != outer_masks[static_cast<size_t>(n)];
        ++masked;
      }
      ++next;
    }
    wrong += next != end || masked != found[l].masked;
  }
  CHECK(wrong == 0);
}

void outrun_lists_are_reported(Pair devices) {
  const std::vector<Vec3d> listed(3000, Vec3d{1, 2, 3});
  for (const double distance : {0.099, 0.101}) {
    std::vector<Vec3d> position = listed;
    position[2345] += Vec3d{0, 0, distance};
    const Buffer<Vec3d> listed_d(devices.device, listed);
    Buffer<Vec3d> position_d(devices.device, position), reference_d(devices.device, listed);
    const Buffer<int32_t> count(devices.device, std::vector<int32_t>{3000});
    const Buffer<int64_t> step(devices.device, std::vector<int64_t>{42});
    Buffer<Faults> faults(devices.device, std::vector<Faults>(1));
    RenewReference op{};
    op.slots.position = position_d.data();
    op.slots.reference = reference_d.data();
    op.slot_count = count.data();
    op.slot_capacity = 3000;
    op.listed = listed_d.data();
    op.outrun2 = 0.01;
    op.step = step.data();
    op.faults = faults.data();
    devices.device.launch(op);
    CHECK(norm(reference_d.download()[2345] - position[2345]) == 0);
    CHECK(faults.download()[0].violation_step == (distance > 0.1 ? 42 : 0));
  }
}

}  // namespace

std::vector<Case> pair_cases(Pair devices) {
  return {{"every pair is listed once", [devices] { every_pair_is_listed_once(devices); }},
          {"pair forces meet the reference", [devices] { forces_meet_the_reference(devices); }},
          {"pair bits depend on nothing", [devices] { bits_depend_on_nothing(devices); }},
          {"overlapping atoms stay finite", [devices] { overlapping_atoms_stay_finite(devices); }},
          {"pruning keeps what is near", [devices] { pruning_keeps_what_is_near(devices); }},
          {"outrun lists are reported", [devices] { outrun_lists_are_reported(devices); }}};
}

}  // namespace quiltmd::test
