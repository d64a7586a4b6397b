// SPDX-License-Identifier: Apache-2.0
// The bonded operations on one rank, and chain molecules to try them on.
#pragma once

#include <array>

#include "computes/bonded/tables.h"
#include "computes/reference.h"
#include "one_rank.h"
#include "virial.h"

namespace quiltmd::test {

// Random walks with every kind of term along them, anywhere in space.
inline System chains(int count, int length, const Box& box, std::vector<Vec3d>& positions,
                     Random& random) {
  System s;
  std::uniform_real_distribution<double> uniform(-1, 2);
  for (int c = 0; c < count; ++c) {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    Vec3d at = box.to_cartesian({x, y, z});
    const int first = s.atom_count();
    const Vec3d onward = random_frame(random).x;  // so that a chain never meets itself
    for (int i = 0; i < length; ++i) {
      add_atom(s, 12);
      positions.push_back(at);
      const Vec3d step = onward + random_vector(random, 0.3);
      at += (0.15 / norm(step)) * step;
      const int a = first + i;
      if (i >= 1) {
        s.bonds.atoms.push_back({a, a - 1});
        s.bonds.parameters.push_back({0.153, 2.2e5});
      }
      if (i >= 2) {
        s.angles.atoms.push_back({a - 2, a - 1, a});
        s.angles.parameters.push_back({1.9, 400});
      }
      if (i >= 3) {
        s.torsions.atoms.push_back({a - 3, a - 2, a - 1, a});
        s.torsions.parameters.push_back({double(1 + i % 4), 0.3 * i, 5});
        s.pairs14.atoms.push_back({a, a - 3});
        s.pairs14.parameters.push_back({0.1, 0.1, 0.3});
      }
    }
  }
  return with_groups(s);
}

struct BondedResult {
  std::vector<int64_t> force[3];  // by atom
  std::vector<int64_t> energy;
  Faults faults{};
};

// The box, the reach of the half shell, and into how many ranks' computes the terms are cut.
struct BondedRun {
  Box box;
  int away, ranks;
};

// What the bonded operations of a system need on a device.
struct BondedTerms {
  std::array<Buffer<int32_t>, kTermKinds> atoms, first_term;
  std::array<Buffer<double>, kTermKinds> parameters;
  std::array<Buffer<PlacedTerm>, kTermKinds> placed;
  Buffer<int32_t> counts;
  Buffer<Int3> offsets;
  Buffer<Vec3d> shifts;
  PlaceTerms place{};
  TermForces forces{};

  BondedTerms(Device& device, const System& system, const PatchGrid& grid, const OneRank& rank)
      : counts(device, kTermKinds), offsets(device, grid.offsets), shifts(device, grid.shifts) {
    const auto arrays = term_arrays(system);
    for (size_t k = 0; k < kTermKinds; ++k) {
      atoms[k] = Buffer<int32_t>(device, arrays[k].atoms);
      parameters[k] = Buffer<double>(device, arrays[k].parameters);
      first_term[k] = Buffer<int32_t>(device, arrays[k].first_term);
      placed[k] = Buffer<PlacedTerm>(device, static_cast<size_t>(arrays[k].count()));
      place.tables[k] = forces.tables[k] = {arrays[k].size, atoms[k].data(), parameters[k].data(),
                                            first_term[k].data()};
      place.placed[k] = placed[k].data();
      forces.placed[k] = placed[k].data();
      place.capacity[k] = forces.capacity[k] = arrays[k].count();
    }
    place.slots = forces.slots = rank.slots();
    place.patches = rank.patches.data();
    place.grid = {grid.cells, grid.away, grid.codes(), offsets.data(), nullptr, shifts.data()};
    place.box = grid.box;
    place.slot_count = rank.slot_count.data();
    place.slot_capacity = static_cast<int>(rank.capacity);
    place.slot_of_atom = rank.slot_of_atom.data();
    place.counts = counts.data();
    place.step = rank.step.data();
    place.faults = rank.faults.data();
    forces.counts = counts.data();
    forces.exact_shifts = shifts.data();
    forces.energy = rank.energy.data();
  }
};

inline BondedResult run_bonded(Device& device, const BondedRun& run, const System& s,
                               const std::vector<Vec3d>& positions) {
  const PatchGrid grid = make_patch_grid(run.box, 0.5, 0.9, run.away);
  OneRank rank(device, s, run.box, grid.cells, positions, std::vector<Vec3d>(positions.size()));
  BondedTerms terms(device, s, grid, rank);
  for (int r = 0; r < run.ranks; ++r) {
    std::vector<int8_t> here;
    for (int p = 0; p < grid.size(); ++p) here.push_back(p % run.ranks == r);
    const Buffer<int8_t> computed_here(device, here);
    terms.place.computed_here = computed_here.data();
    device.launch(terms.place);
    device.launch(terms.forces);
    device.synchronize();
  }
  BondedResult result;
  for (int d = 0; d < 3; ++d) result.force[d] = rank.by_atom(rank.force[d]);
  result.energy = rank.energy.download();
  result.faults = rank.faults.download()[0];
  return result;
}

}  // namespace quiltmd::test
