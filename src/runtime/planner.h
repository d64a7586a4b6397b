// SPDX-License-Identifier: Apache-2.0
// What a step would be on any number of ranks: who owns what, how much each rank has to compute, and
// all messages of a step. Of the patch grid, the assignment and the plans of ranks that runs have, but
// without memory for atoms, so that sixteen thousand ranks can be planned on a laptop. That its messages
// are those of the schedules of runs is tested (tests/unit/test_planner.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/rank_memory.h"
#include "schedule/step_messages.h"

namespace quiltmd {

struct PlannedRank {
  int patches = 0, proxies = 0, computes = 0, interior_computes = 0;
  double atoms = 0, proxy_atoms = 0;              // expected
  double interior_pairs = 0, boundary_pairs = 0;  // of atoms within reach of the lists, expected
  double interior_coulomb = 0, boundary_coulomb = 0;  // of these, within reach of the charges
  TransformShare transforms;                          // of the long-range sum
};

struct StepForecast {
  std::vector<PlannedRank> ranks;
  std::vector<int> owners;               // by patch, its rank
  std::vector<PlannedMessage> messages;  // of a step and a rebuild
};

class Planner {
 public:
  // A system whose box is repeated `tile` times in each dimension; nonbonded settings are those of the
  // large box. Positions in any order.
  Planner(const System& system, const NonbondedSettings& nonbonded,
          const IntegratorSettings& integrator, const ListSettings& lists, const Box& box,
          const std::vector<Vec3d>& positions, Int3 tile);

  StepForecast plan(const MachineShape& machine, MeshSharing sharing) const;
  const Setup& setup() const { return setup_; }
  int64_t atoms() const { return atoms_; }

 private:
  std::vector<PlannedRank> ranks_of(const std::vector<RankPlan>& plans) const;
  double pairs_of(int patch, double cutoff) const;

  Setup setup_;  // its system is one tile
  int64_t atoms_, groups_;
  std::vector<double> atoms_in_patches_;
  std::vector<double> parts_;  // by compute: of the pairs of its patch
};

}  // namespace quiltmd
