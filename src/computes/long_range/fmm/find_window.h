// SPDX-License-Identifier: Apache-2.0
// FindWindow along one dimension, for all devices.
#pragma once

#include "computes/long_range/fmm/operations.h"
#include "computes/long_range/pme/mesh_frame.h"

namespace quiltmd {

// The layers of a dimension that have atoms follow one another, around the boundary.
QMD_HD GridRange layers_with_atoms(const int32_t* used, int cells) {
  int longest = 0, after = 0, empty = 0;
  for (int k = 0; k < 2 * cells; ++k) {
    empty = used[k % cells] ? 0 : empty + 1;
    if (empty <= longest) continue;
    longest = empty;
    after = k + 1;
  }
  return {after % cells, longest < cells ? cells - longest : 1};
}

// `used`: for each layer of patches along the dimension, whether it has atoms.
QMD_HD void find_window_along(const FindWindow& op, int d, const int32_t* used) {
  const int n = Int3{op.grid.nx, op.grid.ny, op.grid.nz}[d], cells = op.grid.cells[d];
  const GridRange layers = layers_with_atoms(used, cells);
  const double beyond = op.beyond[d];
  const GridRange first = pme_reach(op.grid, d, layers.first, beyond);
  const GridRange last = pme_reach(op.grid, d, (layers.first + layers.count - 1) % cells, beyond);
  const int count = (last.first - first.first + n) % n + last.count;
  op.window->first[d] = first.first;
  op.window->count[d] = count < n ? count : n;
}

}  // namespace quiltmd
