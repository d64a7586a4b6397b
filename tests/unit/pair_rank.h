// SPDX-License-Identifier: Apache-2.0
// A rank that owns every patch, laid out by plain host code and copied to a device: what the
// nonbonded operations need around them, so that they can be launched by hand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "computes/energies.h"
#include "computes/nonbonded/operations.h"
#include "computes/reference.h"
#include "decomposition/hilbert.h"
#include "decomposition/patch_grid.h"
#include "device/device.h"
#include "math/fixed.h"
#include "math/units.h"

namespace quiltmd::test {

struct Molecules {
  System system;
  Box box{};
  std::vector<Vec3d> positions;
};

class PairRank {
 public:
  struct Choices {
    NonbondedSettings settings;
    double reach = 1.0;
    int away = 1;
    Combination combination = Combination::kLorentzBerthelot;
    int gap = 0;              // slots left empty in front, to show that slot numbers do not matter
    int pieces = 1;           // parts that a GPU cuts each list into
    int shell = kShells - 1;  // the last one to evaluate
  };

  PairRank(Device& device, const Molecules& molecules, const Choices& choices);

  void build();  // bounds, numbers, lists
  NumberLists number_lists();
  BuildLists build_lists();
  // Shells are equally thick, from the cutoff on.
  float reach_of(int shell) const {
    const double cutoff = choices.settings.cutoff, buffer = choices.reach - cutoff;
    return static_cast<float>(cutoff + buffer * (shell + 1) / kShells);
  }
  void evaluate(bool with_energy);
  std::vector<Vec3d> forces() const;  // by atom
  std::vector<int64_t> fixed_forces(int axis) const { return force[axis].download(); }
  double energy_of(EnergyKind kind) const {
    return from_fixed(energy.download()[kind], kEnergyScale);
  }
  int atom_at(uint32_t slot) const { return atom[slot]; }
  Slots slots() const;

  PatchGrid grid;
  Choices choices;
  // Host copies of what does not change.
  std::vector<PlacedPatch> patches;
  std::vector<Float4> local;
  std::vector<Float2> lj;
  std::vector<int32_t> atom, slot_of_atom;
  int entry_capacity = 4096;

  Device& device;
  Buffer<PlacedPatch> patches_d;
  Buffer<Float4> local_d;
  Buffer<Float2> lj_d, table;
  Buffer<int32_t> atom_d, slot_of_atom_d, computes, neighbours, first_list, ranges, slot_count;
  Buffer<int32_t> exclusion_start, exclusions, entry_count;
  Buffer<Int3> offsets;
  Buffer<Vec3f> shifts;
  Buffer<ClusterBounds> bounds;
  Buffer<PairList> lists;
  Buffer<uint32_t> entries;
  Buffer<uint8_t> masks;
  Buffer<Faults> faults;
  Buffer<int64_t> force[3], energy;
  PairParameters parameters{};

 private:
  void place_atoms(const Molecules& molecules);
  void fill_slot(const Molecules& molecules, int a, int patch, Vec3d image);
  void pad();
  void set_exclusions(const System& system);
  void set_grid();
  void set_physics(const System& system);
  int slot_total() const { return static_cast<int>(atom.size()); }
};

inline PairRank::PairRank(Device& on, const Molecules& molecules, const Choices& chosen)
    : grid(make_patch_grid(molecules.box, chosen.settings.cutoff, chosen.reach, chosen.away)),
      choices(chosen),
      device(on) {
  place_atoms(molecules);
  set_physics(molecules.system);
  set_exclusions(molecules.system);
  set_grid();
  patches_d = Buffer<PlacedPatch>(device, patches);
  local_d = Buffer<Float4>(device, local);
  lj_d = Buffer<Float2>(device, lj);
  atom_d = Buffer<int32_t>(device, atom);
  slot_of_atom_d = Buffer<int32_t>(device, slot_of_atom);
  slot_count = Buffer<int32_t>(device, std::vector<int32_t>{slot_total()});
  ranges = Buffer<int32_t>(device, 4);
  entry_count = Buffer<int32_t>(device, 1);
  bounds = Buffer<ClusterBounds>(device, atom.size() / kClusterSize);
  lists = Buffer<PairList>(device, atom.size() / kClusterSize);
  energy = Buffer<int64_t>(device, kEnergyKinds);
  faults = Buffer<Faults>(device, 1);
  for (auto& f : force) f = Buffer<int64_t>(device, atom.size());
}

// The patch of a group's first atom takes the whole group.
inline void PairRank::place_atoms(const Molecules& molecules) {
  const System& system = molecules.system;
  struct Record {
    int patch;
    uint32_t key;
    int group;
    Vec3d image;
  };
  std::vector<Record> records;
  for (int g = 0; g < system.group_count(); ++g) {
    const Vec3d r = molecules.positions[system.group_start[g]];
    const Vec3d f = grid.box.to_fraction(r);
    const Vec3d whole{std::floor(f.x), std::floor(f.y), std::floor(f.z)};
    const int patch = patch_of(grid, r);
    const Int3 cell = grid.cell(patch);
    uint32_t at[3];
    for (int d = 0; d < 3; ++d) {
      const double inside = (f[d] - whole[d]) * grid.cells[d] - cell[d];
      at[d] = static_cast<uint32_t>(std::clamp(inside, 0.0, 0.999) * (1 << kHilbertBits));
    }
    records.push_back(
        {patch, hilbert_index(at[0], at[1], at[2], kHilbertBits), g, grid.box.to_cartesian(whole)});
  }
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return std::tie(a.patch, a.key, a.group) < std::tie(b.patch, b.key, b.group);
  });
  slot_of_atom.assign(system.atom_count(), -1);
  atom.assign(choices.gap, -1);
  pad();
  size_t next = 0;
  for (int p = 0; p < grid.size(); ++p) {
    const int start = slot_total();
    for (; next < records.size() && records[next].patch == p; ++next) {
      const Record& r = records[next];
      for (int a = system.group_start[r.group]; a < system.group_start[r.group + 1]; ++a) {
        fill_slot(molecules, a, p, r.image);
      }
    }
    patches.push_back({p, start, slot_total() - start, 0, 0, grid.cell(p)});
    pad();
  }
}

inline void PairRank::fill_slot(const Molecules& molecules, int a, int patch, Vec3d image) {
  const Int3 c = grid.cell(patch);
  const Vec3d centre =
      image + grid.box.to_cartesian({(c.x + 0.5) / grid.cells.x, (c.y + 0.5) / grid.cells.y,
                                     (c.z + 0.5) / grid.cells.z});
  const Vec3d d = molecules.positions[a] - centre;
  const auto charge = static_cast<float>(molecules.system.charges[a] * std::sqrt(kCoulomb));
  slot_of_atom[a] = slot_total();
  atom.push_back(a);
  local.push_back(
      {static_cast<float>(d.x), static_cast<float>(d.y), static_cast<float>(d.z), charge});
}

// Fill up to whole clusters.
inline void PairRank::pad() {
  atom.resize((atom.size() + kClusterSize - 1) / kClusterSize * kClusterSize, -1);
  local.resize(atom.size(), {kFarAway, kFarAway, kFarAway, 0});
}

inline void PairRank::set_exclusions(const System& system) {
  std::vector<std::vector<int32_t>> partners(system.atom_count());
  for (const auto& [i, j] : system.exclusions) {
    partners[i].push_back(j);
    partners[j].push_back(i);
  }
  std::vector<int32_t> start{0}, all;
  for (auto& list : partners) {
    std::sort(list.begin(), list.end());
    all.insert(all.end(), list.begin(), list.end());
    start.push_back(static_cast<int32_t>(all.size()));
  }
  if (all.empty()) all.push_back(0);
  exclusion_start = Buffer<int32_t>(device, start);
  exclusions = Buffer<int32_t>(device, all);
}

inline void PairRank::set_grid() {
  std::vector<int32_t> all, near;
  for (int p = 0; p < grid.size(); ++p) {
    all.push_back(p);
    for (int code = 0; code < grid.codes(); ++code) near.push_back(grid.neighbour(p, code));
  }
  std::vector<Vec3f> single;
  for (const Vec3d s : grid.shifts) {
    single.push_back({static_cast<float>(s.x), static_cast<float>(s.y), static_cast<float>(s.z)});
  }
  computes = Buffer<int32_t>(device, all);
  neighbours = Buffer<int32_t>(device, near);
  offsets = Buffer<Int3>(device, grid.offsets);
  shifts = Buffer<Vec3f>(device, single);
  first_list = Buffer<int32_t>(device, all.size() + 1);
}

inline void PairRank::set_physics(const System& system) {
  const NonbondedSettings& settings = choices.settings;
  const double cutoff = settings.cutoff, alpha = settings.pme ? settings.alpha : 0;
  parameters.cutoff2 = static_cast<float>(cutoff * cutoff);
  parameters.t_scale = static_cast<float>(2 / (cutoff * cutoff));
  if (settings.potential_shift) {
    parameters.lj_shift_6 = static_cast<float>(std::pow(cutoff, -6));
    parameters.coulomb_shift = static_cast<float>(std::erfc(alpha * cutoff) / cutoff);
  }
  parameters.combination = choices.combination;
  parameters.lj_types = system.lj_type_count;
  parameters.ewald = fit_ewald(alpha, cutoff);
  const LorentzBerthelot rules = lorentz_berthelot(system);
  for (const int32_t a : atom) {
    Float2 value{0, 0};
    const int32_t type = a < 0 ? 0 : system.lj_types[a];
    if (choices.combination == Combination::kTable) {
      std::memcpy(&value.x, &type, sizeof type);
    } else if (a >= 0) {
      value = {static_cast<float>(rules.sigma[type] / 2),
               static_cast<float>(2 * std::sqrt(rules.epsilon[type]))};
    }
    lj.push_back(value);
  }
  std::vector<Float2> pairs;
  for (size_t k = 0; k < system.lj_a.size(); ++k) {
    pairs.push_back(
        {static_cast<float>(12 * system.lj_a[k]), static_cast<float>(6 * system.lj_b[k])});
  }
  table = Buffer<Float2>(device, pairs);
}

inline Slots PairRank::slots() const {
  Slots s{};
  s.local = local_d.data();
  s.lj = lj_d.data();
  s.atom = atom_d.data();
  for (int axis = 0; axis < 3; ++axis) s.force[axis] = force[axis].data();
  return s;
}

// Every compute is a boundary one.
inline NumberLists PairRank::number_lists() {
  return {patches_d.data(),  computes.data(), grid.size(),        0,
          first_list.data(), ranges.data(),   entry_count.data(), faults.data()};
}

inline BuildLists PairRank::build_lists() {
  BuildLists op{};
  op.slots = slots();
  op.slot_capacity = slot_total();
  op.patches = patches_d.data();
  op.bounds = bounds.data();
  op.constants.exclusion_start = exclusion_start.data();
  op.constants.exclusions = exclusions.data();
  op.slot_of_atom = slot_of_atom_d.data();
  op.grid = {grid.cells, grid.away, grid.codes(), offsets.data(), shifts.data(), nullptr};
  op.computes = computes.data();
  op.neighbours = neighbours.data();
  op.compute_count = grid.size();
  op.first_list = first_list.data();
  for (int s = 0; s < kShells; ++s) op.reach[s] = reach_of(s);
  op.lists = lists.data();
  op.list_capacity = static_cast<int>(lists.size());
  op.entries = entries.data();
  op.masks = masks.data();
  op.entry_capacity = static_cast<int>(entries.size());
  op.entry_count = entry_count.data();
  op.faults = faults.data();
  return op;
}

inline void PairRank::build() {
  device.launch(BoundClusters{slots(), slot_count.data(), slot_total(), bounds.data()});
  while (true) {
    if (entries.size() < static_cast<size_t>(entry_capacity)) {
      entries = Buffer<uint32_t>(device, entry_capacity);
      masks = Buffer<uint8_t>(device, entry_capacity);
    }
    device.fill(faults.data(), 0, faults.bytes(), Stream::kMain);
    device.launch(number_lists());  // clears the entry count, too
    device.launch(build_lists());
    const int need = faults.download()[0].list_overflow;
    if (need == 0) break;
    entry_capacity = need;
  }
}

inline void PairRank::evaluate(bool with_energy) {
  for (auto& f : force) device.fill(f.data(), 0, f.bytes(), Stream::kMain);
  device.fill(energy.data(), 0, energy.bytes(), Stream::kMain);
  PairForces op{};
  op.slots = slots();
  op.slot_capacity = slot_total();
  op.lists = lists.data();
  op.range = ranges.data() + 2;
  op.capacity = static_cast<int>(lists.size());
  op.shell = choices.shell;
  op.entries = entries.data();
  op.masks = masks.data();
  op.shifts = shifts.data();
  op.codes = grid.codes();
  op.pieces = choices.pieces;
  op.parameters = parameters;
  op.lj_table = table.data();
  op.energy = with_energy ? energy.data() : nullptr;
  device.launch(op);
}

inline std::vector<Vec3d> PairRank::forces() const {
  std::vector<Vec3d> found(slot_of_atom.size());
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<int64_t> fixed = force[axis].download();
    for (size_t a = 0; a < found.size(); ++a) {
      found[a][axis] = from_fixed(fixed[slot_of_atom[a]], kForceScale);
    }
  }
  return found;
}

}  // namespace quiltmd::test
