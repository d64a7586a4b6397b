// SPDX-License-Identifier: Apache-2.0
// A rank that owns every patch with the memory of its pairs, so that the nonbonded operations can be
// launched by hand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
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
    int away = 1;
    Combination combination = Combination::kLorentzBerthelot;
    int gap = 0;              // slots left empty in front, to show that slot numbers do not matter
    int pieces = 1;           // parts that a GPU cuts each list into
    int shell = kShells - 1;  // the last one to evaluate
  };

  PairRank(Device& device, const Molecules& molecules, const Choices& choices);

  void build();  // bounds, numbers, lists
  void evaluate(bool with_energy);
  // Shells are equally thick, from the cutoff on.
  static double reach_of(const Choices& choices, int shell) {
    const double cutoff = choices.settings.cutoff, buffer = choices.reach - cutoff;
    return cutoff + buffer * (shell + 1) / kShells;
  }
  float reach_of(int shell) const { return static_cast<float>(reach_of(choices, shell)); }
  std::vector<PairList> used_lists() const {
    return pairs.lists.download(static_cast<size_t>(pairs.list_ranges.download()[3]));
  }
  std::vector<Vec3d> forces() const;  // by atom

  Choices choices;
  PairMemory pairs;
  // Host copies of what does not change.
  std::vector<Float4> host_local;
  std::vector<int32_t> host_atom;

 private:
  static PatchGrid grid_of(const Molecules& molecules, const Choices& choices);
  static std::vector<Float2> lj_of_atoms(const System& system, Combination combination);
  static PairSetup setup_of(const System& system, const Choices& choices);
  void move_slots(int gap);
};

inline PairRank::PairRank(Device& on, const Molecules& molecules, const Choices& chosen)
    : OneRank(on, molecules.system, grid_of(molecules, chosen),
              lj_of_atoms(molecules.system, chosen.combination), chosen.gap),
      choices(chosen),
      pairs(*this, setup_of(molecules.system, chosen)) {
  start_from(molecules.positions, std::vector<Vec3d>(molecules.positions.size()), {});
  lay_out();
  if (chosen.gap) move_slots(chosen.gap);
  pairs.adopt(plan());
  const auto used = static_cast<size_t>(owned_slots.download()[0]);
  host_local = local.download(used);
  host_atom = atom.download(used);
}

inline PatchGrid PairRank::grid_of(const Molecules& molecules, const Choices& choices) {
  return make_patch_grid(molecules.box, choices.settings.cutoff,
                         std::max(choices.reach, choices.grid_reach), choices.away);
}

inline std::vector<Float2> PairRank::lj_of_atoms(const System& system, Combination combination) {
  const LorentzBerthelot rules = lorentz_berthelot(system);
  std::vector<Float2> values;
  for (const int32_t type : system.lj_types) {
    Float2 value{0, 0};
    if (combination == Combination::kTable) {
      std::memcpy(&value.x, &type, sizeof type);
    } else {
      value = {static_cast<float>(rules.sigma[type] / 2),
               static_cast<float>(2 * std::sqrt(rules.epsilon[type]))};
    }
    values.push_back(value);
  }
  return values;
}

inline PairSetup PairRank::setup_of(const System& system, const Choices& choices) {
  const NonbondedSettings& settings = choices.settings;
  const double cutoff = settings.cutoff, alpha = settings.pme ? settings.alpha : 0;
  PairSetup setup{};
  PairParameters& parameters = setup.parameters;
  parameters.cutoff2 = static_cast<float>(cutoff * cutoff);
  parameters.t_scale = static_cast<float>(2 / (cutoff * cutoff));
  if (settings.potential_shift) {
    parameters.lj_shift_6 = static_cast<float>(std::pow(cutoff, -6));
    parameters.coulomb_shift = static_cast<float>(std::erfc(alpha * cutoff) / cutoff);
  }
  parameters.combination = choices.combination;
  parameters.lj_types = system.lj_type_count;
  parameters.ewald = fit_ewald(alpha, cutoff);
  for (size_t k = 0; k < system.lj_a.size(); ++k) {
    setup.lj_table.push_back(
        {static_cast<float>(12 * system.lj_a[k]), static_cast<float>(6 * system.lj_b[k])});
  }
  for (int shell = 0; shell < kShells; ++shell) {
    setup.ages.reach[shell] = reach_of(choices, shell);
    setup.ages.shell.push_back(shell);
  }
  setup.pieces = choices.pieces;
  setup.entries = 4096;
  return setup;
}

// As if padding had come first.
inline void PairRank::move_slots(int gap) {
  const auto move = [](auto& buffer, auto filler, int by) {
    auto values = buffer.download();
    std::rotate(values.begin(), values.end() - by, values.end());
    std::fill(values.begin(), values.begin() + by, filler);
    buffer.upload(values);
  };
  move(atom, -1, gap);
  move(local, Float4{kFarAway, kFarAway, kFarAway, 0}, gap);
  move(lj, Float2{0, 0}, gap);
  move(cluster_patch, 0, gap / kClusterSize);
  auto placed_patches = patches.download();
  for (PlacedPatch& patch : placed_patches) patch.start += gap;
  patches.upload(placed_patches);
  auto where = slot_of_atom.download();
  for (int32_t& slot : where) slot += gap;
  slot_of_atom.upload(where);
  owned_slots.upload({owned_slots.download()[0] + gap});
}

inline void PairRank::build() {
  device.launch(bound_clusters());
  for (int need = -1; need != 0;) {
    if (need > 0) pairs.grow_entries(static_cast<size_t>(need));
    device.fill(faults.data(), 0, faults.bytes(), Stream::kMain);
    device.launch(pairs.number_lists());
    device.launch(pairs.build_lists());
    need = faults.download()[0].list_overflow;
  }
}

inline void PairRank::evaluate(bool with_energy) {
  device.fill(force.data(), 0, force.bytes(), Stream::kMain);
  clear_energy();
  pairs.age = choices.shell;
  device.launch(pairs.pair_forces(Part::kInterior, with_energy ? Energies::kAdd : Energies::kSkip));
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
