// SPDX-License-Identifier: Apache-2.0
// Pair lists hold every pair once; forces are the reference's; pieces, slots and repetition change
// no bit.
#include <algorithm>
#include <functional>

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
    constexpr Int3 kReaches[] = {kOneAway, kTwoAway, {1, 2, 1}};
    choices.patch_reach = kReaches[seed % 3];
    const Molecules m = make_molecules(box, seed);
    // Atoms of a group stick out of its patch by 0.1 nm: the grid must allow for it.
    choices.grid_reach = choices.reach + 0.2;
    PairRank rank(devices.device, m, choices);
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
  choices.settings.electrostatics = alpha > 0 ? Electrostatics::kPme : Electrostatics::kCutoff;
  choices.settings.alpha = alpha;
  choices.reach = 1.2;
  return choices;
}

void forces_meet_the_reference(Pair devices) {
  const Molecules molecules = make_molecules(kBox, 5);
  for (const double alpha : {0.0, 2.92, 4.1}) {
    for (const FormRow& row : form_rows(molecules)) {
      const Molecules m = row.apply(molecules);
      for (const bool shift : {false, true}) {
        PairRank::Choices choices = ewald(alpha);
        choices.settings.potential_shift = shift;
        choices.settings = row.with(choices.settings);
        choices.form = row.first;
        choices.pieces = shift ? 4 : 1;
        PairRank rank(devices.device, m, choices);
        rank.build();
        rank.evaluate(true);
        const Errors errors = against_reference(rank, m);
        CHECK_NEAR(errors.force, 0, bound(devices, 2.5e-6, 3e-6));
        for (const double error : {errors.lj, errors.coulomb, errors.virial})
          CHECK_NEAR(error, 0, bound(devices, 1e-6, 2e-6));
      }
    }
  }
}

PairRank::Choices two_cutoffs() {
  PairRank::Choices choices = ewald(0);
  choices.settings.electrostatics = Electrostatics::kPme;
  choices.settings.bandwidth = 9;
  choices.settings.shorter_coulomb_cutoff = 0.65;
  choices.reach = 1.0;
  return choices;
}

// With charges that reach less far than the pair form.
void forces_by_two_cutoffs_meet_the_reference(Pair devices) {
  const Molecules molecules = make_molecules(kBox, 5);
  for (const FormRow& row : form_rows(molecules)) {
    if (std::string(row.name) != "lennard-jones" || row.switching != Switching::kNone) continue;
    const Molecules m = row.apply(molecules);
    for (const int pieces : {1, 2, 5}) {
      PairRank::Choices choices = two_cutoffs();
      choices.settings = row.with(choices.settings);
      choices.form = row.first;
      choices.pieces = pieces;
      choices.shell = pieces == 2 ? 0 : kShells - 1;
      PairRank rank(devices.device, m, choices);
      rank.build();
      rank.evaluate(true);
      const Errors errors = against_reference(rank, m);
      CHECK_NEAR(errors.force, 0, bound(devices, 2.5e-6, 3e-6));
      for (const double error : {errors.lj, errors.coulomb, errors.virial})
        CHECK_NEAR(error, 0, bound(devices, 1e-6, 2e-6));
    }
  }
}

float nearest(const PairRank& rank, int cluster, uint32_t entry) {
  const Float4 j = rank.host_local[entry & kSlotMask];
  const Vec3d shift = rank.patch_grid.shifts[entry >> kSlotBits];
  double least = 1e30;
  for (int a = 0; a < kClusterSize; ++a) {
    const Float4 i = rank.host_local[static_cast<size_t>(cluster * kClusterSize + a)];
    least =
        std::min(least, norm(Vec3d{i.x - j.x - shift.x, i.y - j.y - shift.y, i.z - j.z - shift.z}));
  }
  return static_cast<float>(least);
}

// Atoms without the pair form are listed as far as charges reach.
void lists_by_two_cutoffs_are_short(Pair devices) {
  constexpr double kMeasured = 0.006;  // nm, by which GPUs may measure too little
  const Molecules m = make_molecules(kBox, 11);
  PairRank rank(devices.device, m, two_cutoffs());
  rank.build();
  const auto entries = rank.lists.entries.download();
  const auto numbers = rank.pair_numbers.download();
  int wrong = 0, apart = 0;
  for (const PairList& list : rank.used_lists())
    for (int n = list.masked; n < list.count(); ++n) {
      const uint32_t entry = entries[static_cast<size_t>(list.begin + n)];
      const bool has_form = numbers[entry & kSlotMask].y != 0;
      const bool is_apart = n >= list.apart_begin();
      const float distance = nearest(rank, list.cluster, entry);
      wrong += is_apart && (!has_form || distance < rank.reach_of(kChargeShells - 1) - kDoubt);
      wrong += !is_apart && distance > rank.reach_of(kChargeShells - 1) + kMeasured;
      apart += is_apart;
    }
  CHECK(wrong == 0);
  CHECK(apart > 0);
}

// Excluded pairs that are terms: with those the pair forces are the reference's again.
void long_exclusions_are_left_alone(Pair devices) {
  const Molecules m = make_molecules(kBox, 6);
  PairRank::Choices choices = ewald(2.92);
  System terms;
  terms.masses = m.system.masses;
  for (size_t k = 0; k < m.system.exclusions.size(); k += 2) {
    const auto pair = m.system.exclusions[k];
    const double given[] = {m.system.charges[pair[0]] * m.system.charges[pair[1]],
                            choices.settings.alpha};
    choices.long_exclusions.push_back(pair);
    terms.terms_to_fill(ExcludedPairForm::kForm).add(pair, given);
  }
  Evaluation apart, exact;
  reference_bonded(terms, m.box, m.positions, apart);
  reference_pairs(m.system, choices.settings, m.box, m.positions, exact);
  const double part = apart.energy[kEnergyOf<ExcludedPairForm>];
  CHECK(std::fabs(part) > 1e-2 * std::fabs(exact.energy[kCoulombDirect]));
  for (const int pieces : {1, 4}) {
    choices.pieces = pieces;
    PairRank rank(devices.device, m, choices);
    rank.build();
    rank.evaluate(true);
    CHECK_NEAR((rank.energy_of(kCoulombDirect) + part) / exact.energy[kCoulombDirect], 1, 2e-6);
    std::vector<Vec3d> forces = rank.forces();
    for (size_t a = 0; a < forces.size(); ++a) forces[a] += apart.forces[a];
    CHECK_NEAR(force_error(forces, exact.forces), 0, 3e-6);
  }
}

// For each number of pieces one sequence of bits, whatever the slots and the launches, and zero in sum.
void bits_depend_on_nothing(Pair devices, PairRank::Choices choices) {
  const Molecules m = make_molecules(kBox, 7);
  for (const int pieces : {1, 2, 8}) {
    choices.pieces = pieces;
    PairRank::Choices moved = choices;
    moved.gap = 1600;
    PairRank a(devices.device, m, choices), b(devices.device, m, moved);
    a.build();
    b.build();
    for (int n = 0; n < 3; ++n) {
      a.evaluate(n == 1);  // with energies the forces are the same, too
      b.evaluate(true, n == 2 ? std::vector<double>{0.3, 0.3, 0.7} : std::vector<double>{});
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
    a.evaluate(true);  // b was evaluated in parts
    CHECK(a.energy.download() == b.energy.download());
  }
}

void overlapping_atoms_stay_finite(Pair devices) {
  Molecules m = make_molecules(kBox, 9);
  std::vector<size_t> oxygens;
  for (size_t a = 0; a < m.positions.size(); ++a)
    if (m.system.pair_types[a] == 0) oxygens.push_back(a);
  m.positions[oxygens[1]] = m.positions[oxygens[0]];
  m.positions[oxygens[3]] = m.positions[oxygens[2]] + Vec3d{1e-4, 0, 0};
  PairRank rank(devices.device, m, ewald(2.92));
  rank.build();
  rank.evaluate(true);
  int64_t sum = 0;
  for (const int64_t f : rank.fixed_forces(0)) sum += f;
  CHECK(sum == 0);
  CHECK(norm(rank.forces()[oxygens[3]]) > 1e4);
  CHECK(rank.energy_of(kPairForm) > 1e6);
}

// What is left out of the first shells is beyond their reach; shells add up to the list.
void shells_hold_what_is_near(Pair devices) {
  const Molecules m = make_molecules(kBox, 11);
  PairRank rank(devices.device, m, ewald(2.92));
  rank.build();
  const auto entries = rank.lists.entries.download();
  int wrong = 0, outside = 0;
  for (const PairList& list : rank.used_lists()) {
    int before = list.masked;
    for (int s = 0; s < kShells; ++s) {
      wrong += list.within[s] < before;
      before = list.within[s];
      for (int n = list.within[s]; n < list.count(); ++n) {
        const uint32_t entry = entries[static_cast<size_t>(list.begin + n)];
        wrong += nearest(rank, list.cluster, entry) < rank.reach_of(s) - kDoubt;
        ++outside;
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(outside > 0);
}

// As long as further shells hold pairs beyond the cutoff only.
void far_shells_change_no_bit(Pair devices, PairRank::Choices choices) {
  const Molecules m = make_molecules(kBox, 12);
  for (const int pieces : {1, 3}) {
    choices.pieces = pieces;
    PairRank rank(devices.device, m, choices);
    rank.build();
    rank.evaluate(false);
    const auto all = rank.fixed_forces(0);
    rank.choices.shell = 0;
    rank.evaluate(false);
    CHECK(rank.fixed_forces(0) == all);
  }
}

// When there are so many lists that a GPU puts them in order, none is lost, and the longest come first, in
// whole rounds of 32 entries.
void many_lists_are_all_there(Pair devices) {
  const Molecules m = make_molecules({8.8, 0, 8.8, 0, 0, 8.8}, 13);
  std::vector<std::vector<int>> clusters;
  std::vector<std::vector<Vec3d>> forces;
  for (Device* device : {&devices.cpu, &devices.device}) {
    PairRank rank(*device, m, ewald(2.92));
    rank.build();
    rank.evaluate(false);
    forces.push_back(rank.forces());
    std::vector<int>& own = clusters.emplace_back();
    std::vector<int> rounds;
    for (const PairList& list : rank.used_lists()) {
      own.push_back(list.cluster);
      rounds.push_back(list.count() / 32);
    }
    CHECK(own.size() > 1 << 12);
    if (device->describe().kind == "cuda")
      CHECK(std::is_sorted(rounds.begin(), rounds.end(), std::greater<>{}));
    std::sort(own.begin(), own.end());
  }
  CHECK(clusters[0] == clusters[1]);
  CHECK_NEAR(force_error(forces[1], forces[0]), 0, 6e-6);
}

// What is left of lists when the layout before them was refused: all of it.
void refused_lists_stay(Pair devices) {
  for (Device* device : {&devices.device, &devices.cpu}) {
    PairRank rank(*device, make_molecules(kBox, 3), ewald(3.0));
    rank.build();
    rank.faults.upload({Faults{.refused = 1}});
    rank.lists.entry_count.upload({-5});
    rank.lists.first_list.upload(std::vector<int32_t>(rank.lists.first_list.size(), -6));
    device->launch(rank.lists.number_lists());
    CHECK(rank.lists.entry_count.download()[0] == -5);
    CHECK(rank.lists.first_list.download()[0] == -6);

    rank.build();
    const auto count = rank.lists.entry_count.download();
    rank.faults.upload({Faults{.refused = 1}});
    device->fill(rank.lists.lists.data(), 0, rank.lists.lists.bytes(), Stream::kMain);
    device->fill(rank.lists.entries.data(), 0, rank.lists.entries.bytes(), Stream::kMain);
    device->launch(rank.lists.build_lists());
    CHECK(rank.lists.entry_count.download() == count);
    const auto lists = rank.used_lists();
    CHECK(std::all_of(lists.begin(), lists.end(), [](const auto& l) { return l.count() == 0; }));
    const auto entries = rank.lists.entries.download();
    CHECK(std::all_of(entries.begin(), entries.end(), [](uint32_t entry) { return entry == 0; }));
  }
}

}  // namespace

std::vector<Case> pair_cases(Pair devices) {
  return {
      {"every pair is listed once", [devices] { every_pair_is_listed_once(devices); }},
      {"pair forces meet the reference", [devices] { forces_meet_the_reference(devices); }},
      {"excluded pairs apart are left alone",
       [devices] { long_exclusions_are_left_alone(devices); }},
      {"pair forces by two cutoffs meet the reference",
       [devices] { forces_by_two_cutoffs_meet_the_reference(devices); }},
      {"lists by two cutoffs are short", [devices] { lists_by_two_cutoffs_are_short(devices); }},
      {"pair bits depend on nothing", [devices] { bits_depend_on_nothing(devices, ewald(2.92)); }},
      {"pair bits by two cutoffs depend on nothing",
       [devices] { bits_depend_on_nothing(devices, two_cutoffs()); }},
      {"overlapping atoms stay finite", [devices] { overlapping_atoms_stay_finite(devices); }},
      {"shells hold what is near", [devices] { shells_hold_what_is_near(devices); }},
      {"far shells change no bit", [devices] { far_shells_change_no_bit(devices, ewald(2.92)); }},
      {"far shells change no bit by two cutoffs",
       [devices] { far_shells_change_no_bit(devices, two_cutoffs()); }},
      {"many lists are all there", [devices] { many_lists_are_all_there(devices); }},
      {"no lists after steps to be redone", [devices] { refused_lists_stay(devices); }}};
}

}  // namespace quiltmd::test
