// SPDX-License-Identifier: Apache-2.0
// A rank that owns every patch with the memory of its pairs, so that the nonbonded operations can be
// launched by hand.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "computes/nonbonded/pair_memory.h"
#include "computes/reference.h"
#include "one_rank.h"

namespace quiltmd::test {

struct Molecules {
  System system;
  Box box{};
  std::vector<Vec3d> positions;
};

class PairRank : public OneRank {
 public:
  struct Choices {
    NonbondedSettings settings;
    double reach = 1.0;
    double grid_reach = 0;  // that patches are made for; 0: the same
    Int3 patch_reach = kOneAway;
    int form = 0;             // the first of PairForms that may be taken
    int gap = 0;              // slots left empty in front, to show that slot numbers do not matter
    int pieces = 1;           // parts that a GPU cuts each list into
    int shell = kShells - 1;  // the last one to evaluate
    std::vector<std::array<int32_t, 2>> long_exclusions{};  // excluded pairs to leave alone
  };

  PairRank(Device& device, const Molecules& molecules, const Choices& choices);

  void build();  // bounds, numbers, lists
  // In parts that end at these fractions of the room for lists, and the rest.
  void evaluate(bool with_energy, const std::vector<double>& cuts = {});
  // Shells are equally thick, from the cutoff on; with two cutoffs from either.
  static double reach_of(const Choices& choices, int shell) {
    const NonbondedSettings& settings = choices.settings;
    const double cutoff = settings.cutoff, buffer = choices.reach - cutoff;
    if (!settings.has_two_cutoffs()) return cutoff + buffer * (shell + 1) / kShells;
    const double from = shell < kChargeShells ? settings.coulomb_cutoff() : cutoff;
    return from + buffer * (shell % kChargeShells + 1) / kChargeShells;
  }
  float reach_of(int shell) const { return static_cast<float>(reach_of(choices, shell)); }
  std::vector<PairList> used_lists() const {
    return lists.lists.download(static_cast<size_t>(lists.list_ranges.download()[3]));
  }
  std::vector<Vec3d> forces() const;  // by atom

  Choices choices;
  ListMemory lists;
  PairMemory pairs;
  // Host copies of what does not change.
  std::vector<Float4> host_local;
  std::vector<int32_t> host_atom;

 private:
  static PatchGrid grid_of(const Molecules& molecules, const Choices& choices);
  PairRank(Device& device, const Molecules& molecules, const PackedPairs& packed,
           const Choices& choices);
  static ListSetup lists_of(const Choices& choices);
};

inline PairRank::PairRank(Device& on, const Molecules& molecules, const Choices& chosen)
    : PairRank(on, molecules, pack_pairs(molecules.system, chosen.settings, chosen.form), chosen) {}

inline PairRank::PairRank(Device& on, const Molecules& molecules, const PackedPairs& packed,
                          const Choices& chosen)
    : OneRank(on, molecules.system, grid_of(molecules, chosen), packed.atoms, chosen.gap),
      choices(chosen),
      lists(*this, lists_of(chosen)),
      pairs(*this, lists,
            {pair_parameters(molecules.system, chosen.settings, packed.form), packed.table,
             chosen.pieces}) {
  start_from(molecules.positions, std::vector<Vec3d>(molecules.positions.size()), {});
  lay_out();
  if (chosen.gap) move_slots(chosen.gap);
  lists.set_plan(plan());
  const auto used = static_cast<size_t>(owned_slots.download()[0]);
  host_local = local.download(used);
  host_atom = atom.download(used);
}

inline PatchGrid PairRank::grid_of(const Molecules& molecules, const Choices& choices) {
  return make_patch_grid(molecules.box, choices.settings.cutoff,
                         std::max(choices.reach, choices.grid_reach), choices.patch_reach);
}

inline ListSetup PairRank::lists_of(const Choices& choices) {
  ListSetup setup{};
  setup.ages.two_cutoffs = choices.settings.has_two_cutoffs();
  for (int shell = 0; shell < kShells; ++shell) {
    setup.ages.reach[shell] = reach_of(choices, shell);
    if (setup.ages.two_cutoffs)
      setup.ages.shells.push_back({shell / 2, kChargeShells + shell / 2});
    else
      setup.ages.shells.push_back({shell, -1});
  }
  setup.long_exclusions = choices.long_exclusions;
  return setup;
}

inline void PairRank::build() {
  device.launch(bound_clusters());
  for (int need = -1; need != 0;) {
    if (need > 0) lists.grow_entries(static_cast<size_t>(need));
    device.fill(faults.data(), 0, faults.bytes(), Stream::kMain);
    device.launch(lists.number_lists());
    device.launch(lists.build_lists());
    need = faults.download()[0].room_needed[kListEntries];
  }
}

inline void PairRank::evaluate(bool with_energy, const std::vector<double>& cuts) {
  device.fill(force.data(), 0, force.bytes(), Stream::kMain);
  clear_energy();
  const Energies energies = with_energy ? Energies::kAdd : Energies::kSkip;
  Share share{0, 0};
  const auto launch_up_to = [&](double end) {
    share = {share.to, end};
    device.launch(pairs.pair_forces(Part::kInterior, energies, choices.shell, share));
  };
  for (const double cut : cuts) launch_up_to(cut);
  launch_up_to(1);
}

inline std::vector<Vec3d> PairRank::forces() const {
  std::vector<Vec3d> found(static_cast<size_t>(system.atom_count()));
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<int64_t> fixed = by_atom(fixed_forces(axis));
    for (size_t a = 0; a < found.size(); ++a) found[a][axis] = from_fixed(fixed[a], kForceScale);
  }
  return found;
}

}  // namespace quiltmd::test
