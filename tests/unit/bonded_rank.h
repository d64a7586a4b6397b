// SPDX-License-Identifier: Apache-2.0
// The bonded operations on one rank, and chain molecules to try them on.
#pragma once

#include "computes/bonded/term_memory.h"
#include "computes/reference.h"
#include "one_rank.h"
#include "term_rows.h"
#include "virial.h"

namespace quiltmd::test {

// Random walks with terms of every form along them, anywhere in space.
inline System chains(int count, int length, const Box& box, std::vector<Vec3d>& positions,
                     Random& random) {
  System s;
  std::uniform_real_distribution<double> uniform(-1, 2);
  for (int c = 0; c < count; ++c) {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    Vec3d at = box.to_cartesian({x, y, z});
    const Vec3d onward = random_frame(random).x;  // so that a chain never meets itself
    for (int i = 0; i < length; ++i) {
      add_atom(s, 12);
      positions.push_back(at);
      const Vec3d step = onward + random_vector(random, 0.3);
      at += (0.15 / norm(step)) * step;
      for (const TermRow& row : term_rows()) row.add_last(s, i, s.atom_count() - 1);
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

// The bonded operations of a system on a device.
struct BondedTerms {
  TermMemory memory;
  Buffer<Int3> offsets;
  Buffer<Vec3d> shifts;
  PlaceTerms place{};
  TermForces forces{};

  BondedTerms(Device& device, const System& system, const PatchGrid& grid, const OneRank& rank)
      : memory(system, device), offsets(device, grid.offsets), shifts(device, grid.shifts) {
    place.terms = forces.terms = memory.tables();
    place.slots = forces.slots = rank.slots();
    place.patches = rank.patches.data();
    place.grid = {grid.cells, grid.away, grid.codes(), offsets.data(), nullptr, shifts.data()};
    place.box = grid.box;
    place.slot_count = rank.slot_count.data();
    place.slot_capacity = static_cast<int>(rank.capacity);
    place.slot_of_atom = rank.slot_of_atom.data();
    place.step = rank.step.data();
    place.faults = rank.faults.data();
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
