// SPDX-License-Identifier: Apache-2.0
// The quilt: the periodic cell cut into uniform patches. The grid depends on the box and the reach
// of the pair lists alone, never on the number of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "math/box.h"

namespace quiltmd {

// Box and shifts follow a box that changes, as long as its patches are wide enough.
struct PatchGrid {
  Box box;
  Int3 cells;
  int away;                   // reach of the half shell in patches: 1 (one-away) or 2 (two-away)
  double least_width;         // nm; patches that are narrower do not serve
  std::vector<Int3> offsets;  // the half shell: code -> offset; code 0 is the patch itself
  std::vector<Vec3d> shifts;  // code -> from a patch's centre to that neighbour's, nm

  int size() const { return cells.x * cells.y * cells.z; }
  int codes() const { return static_cast<int>(offsets.size()); }
  int index(Int3 cell) const { return (cell.x * cells.y + cell.y) * cells.z + cell.z; }
  Int3 cell(int patch) const {
    return {patch / (cells.y * cells.z), patch / cells.z % cells.y, patch % cells.z};
  }
  // The patch at an offset, around the periodic boundary.
  int neighbour(int patch, int code) const;
};

// The patch that a point (nm, any image) lies in.
int patch_of(const PatchGrid& grid, Vec3d point);

// Patches as narrow as `reach / away` allows: any two atoms closer than `reach` are then in patches
// at most `away` apart. `reach` covers cutoff, list buffer and what hydrogen groups stick out.
// Atoms of one bonded term are at most `span` apart, or half the box, beyond which another image is
// nearer; where that is more than the reach, patches are wider.
// Throws Error when the box is narrower than twice the cutoff.
PatchGrid make_patch_grid(const Box& box, double cutoff, double reach, int away, double span = 0);

// Slots for so many atoms, wherever they are: whole clusters in every patch. Throws Error when there
// are more than list entries can number.
int64_t count_slots(int64_t atoms, int64_t patches);

}  // namespace quiltmd
