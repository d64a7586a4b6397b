// SPDX-License-Identifier: Apache-2.0
// The bonded operations on one rank, and chain molecules to try them on.
#pragma once

#include <numeric>

#include "check.h"
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
  Int3 patch_reach;
  int ranks;
};

// The computes of one rank of several: every so many-th patch.
inline RankPlan computes_of(const PatchGrid& grid, int rank, int ranks) {
  RankPlan plan;
  for (int p = rank; p < grid.size(); p += ranks) plan.computes.push_back(p);
  return plan;
}

inline BondedResult run_bonded(Device& device, const BondedRun& run, const System& s,
                               const std::vector<Vec3d>& positions) {
  const PatchGrid grid = make_patch_grid(run.box, 0.5, 0.9, run.patch_reach);
  OneRank rank(device, s, grid, positions, std::vector<Vec3d>(positions.size()));
  TermMemory terms(rank);
  for (int r = 0; r < run.ranks; ++r) {
    terms.set_plan(computes_of(grid, r, run.ranks));
    device.launch(terms.place_terms());
    device.launch(terms.term_forces(Energies::kAdd));
    device.synchronize();
  }
  BondedResult result;
  for (int d = 0; d < 3; ++d) result.force[d] = rank.by_atom(rank.fixed_forces(d));
  result.energy = rank.energy.download();
  result.faults = rank.faults.download()[0];
  return result;
}

// The forces of all terms that do not hold an atom to a place sum to nothing, in integers.
inline void check_that_forces_cancel(Device& device, const Box& box) {
  Random random(2);
  std::vector<Vec3d> positions;
  System s = chains(40, 20, box, positions, random);
  std::erase_if(s.terms, [](const Terms& terms) { return terms.form->atoms == 1; });
  const BondedResult result = run_bonded(device, {box, kOneAway, 1}, s, positions);
  for (const auto& force : result.force)
    CHECK(std::accumulate(force.begin(), force.end(), int64_t{0}) == 0);
}

}  // namespace quiltmd::test
