// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other of the levels of the fast multipole method, where each has whole planes of level 0.
#pragma once

#include "computes/long_range/fmm/levels.h"
#include "schedule/grid_shares.h"

namespace quiltmd {

// Slabs in place of pencils, which only transforms need.
MeshSharing sharing_of_fmm(MeshSharing sharing);

class FmmShares {
 public:
  // `reach`: of the stencil along x.
  FmmShares(const GridShares& shares, const FmmLevels& levels, int reach);

  // Planes of level 0 of `from` that the stencil or a point of level 1 takes to planes of `to`.
  GridRuns near(int from, int to) const;
  // The planes of level 1 that a rank makes, for all others.
  GridRuns level(int rank) const;

 private:
  const GridShares& shares_;
  FmmLevels levels_;
  int reach_;
};

}  // namespace quiltmd
