// SPDX-License-Identifier: Apache-2.0
// The search for the j atoms of an i-cluster on the CPU, compiled for every instruction set.
#pragma once

#include "decomposition/operations.h"

namespace quiltmd {

// An i-cluster in the coordinates of its patch; padding repeats the first atom.
struct SearchCluster {
  float x[kClusterSize], y[kClusterSize], z[kClusterSize];
  ClusterBounds bounds;
};

// Bounds of all clusters by component: six columns, of which eight values beyond the end may be read.
struct BoundColumns {
  const float *x, *y, *z, *half_x, *half_y, *half_z;
};

// The atoms that are searched: clusters [first, last) of one patch, whose centre lies at `shift`
// from that of the i-cluster's patch.
struct SearchRange {
  const Float4* local;
  BoundColumns bounds;
  int first, last;
  Vec3f shift;
};

// Write the slots closer than `reach` to an atom of the i-cluster to `found`, ascending, and the
// squares of their distances from the nearest one to `nearest2`. Both need room for all slots of the
// range and kClusterSize more. Returns their number.
int search(const SearchCluster& i, const SearchRange& range, float reach, int32_t* found,
           float* nearest2);

}  // namespace quiltmd
