// SPDX-License-Identifier: Apache-2.0
// Building the patch grid and its half shell.
//
// The half shell holds the offsets that are lexicographically positive, so each pair of patches
// (and each periodic image of it) belongs to exactly one compute, however few patches there are:
// in a dimension with one or two patches, offsets +1 and -1 reach the same patch by different
// images.
#include "decomposition/patch_grid.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "decomposition/slots.h"
#include "math/error.h"

namespace quiltmd {
namespace {

int wrapped(int i, int n) { return ((i % n) + n) % n; }

std::vector<Int3> half_shell(Int3 patch_reach) {
  std::vector<Int3> offsets{{0, 0, 0}};
  for (int x = 0; x <= patch_reach.x; ++x)
    for (int y = -patch_reach.y; y <= patch_reach.y; ++y)
      for (int z = -patch_reach.z; z <= patch_reach.z; ++z)
        if (x > 0 || y > 0 || (y == 0 && z > 0)) offsets.push_back({x, y, z});
  return offsets;
}

// Every patch has a cluster of slots at least, which must be numbered. In double precision, as the number
// of cells may exceed any int.
void refuse_too_many(Vec3d cells) {
  const double most = (static_cast<double>(kSlotMask) + 1) / kClusterSize;
  const double patches = std::max(cells.x, 1.0) * std::max(cells.y, 1.0) * std::max(cells.z, 1.0);
  if (patches <= most) return;
  char text[256];
  std::snprintf(text, sizeof text,
                "the box is too large: it would be cut into %.3g patches, of which %.3g can be "
                "numbered; use a smaller box or a longer cutoff",
                patches, most);
  throw Error(text);
}

}  // namespace

int PatchGrid::neighbour(int patch, int code) const {
  const bool opposite = code >= codes();
  const Int3 along = offsets[static_cast<size_t>(opposite ? code - codes() + 1 : code)];
  const Int3 c = cell(patch), o = opposite ? -along : along;
  return index(
      {wrapped(c.x + o.x, cells.x), wrapped(c.y + o.y, cells.y), wrapped(c.z + o.z, cells.z)});
}

int patch_of(const PatchGrid& grid, Vec3d point) {
  const Vec3d f = grid.box.to_fraction(point);
  Int3 cell;
  for (int d = 0; d < 3; ++d) {
    const double inside = f[d] - std::floor(f[d]);
    cell[d] = std::min(static_cast<int>(inside * grid.cells[d]), grid.cells[d] - 1);
  }
  return grid.index(cell);
}

PatchGrid make_patch_grid(const Box& box, double cutoff, double reach, Int3 patch_reach,
                          double span, std::optional<Int3> cells, int64_t atoms) {
  const Vec3d widths = box.widths();
  const PatchRule rule{std::max(2 * cutoff, reach), reach, span, patch_reach, atoms};
  if (!rule.serves(box)) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "the box is too small: its narrowest width is %.3f nm, a cutoff of %.3f nm needs "
                  "at least %.3f nm; use a smaller cutoff or a larger box",
                  std::min({widths.x, widths.y, widths.z}), cutoff, rule.narrowest);
    throw Error(text);
  }
  refuse_too_many({patch_reach.x * widths.x / reach, patch_reach.y * widths.y / reach,
                   patch_reach.z * widths.z / reach});
  PatchGrid grid{box,
                 rule.cells(box, cells.value_or(Int3{})),
                 patch_reach,
                 {reach / patch_reach.x, reach / patch_reach.y, reach / patch_reach.z},
                 half_shell(patch_reach),
                 {},
                 rule,
                 Holds::kNeighbours,
                 {},
                 Grain::kPatch};
  for (const Int3& o : grid.offsets) grid.shifts.push_back(patch_shift(box, grid.cells, o));
  return grid;
}

PatchGrid with_room_for_groups(PatchGrid grid, double radius, double extent,
                               std::optional<Int3> cells) {
  // Patches for groups that extend somewhat farther, so that not every motion calls for others.
  constexpr double kFarther = 1.1, kSpare = 0.05;
  grid.rule.group_radius = radius;
  if (cells) grid.cells = grid.rule.cells(grid.box, *cells);
  if (!cells || grid.rule.room(grid.box, grid.cells) < extent)
    grid.cells =
        grid.rule.with_groups(std::max(radius, kFarther * extent + kSpare)).cells(grid.box, {});
  const double room = grid.rule.room(grid.box, grid.cells);
  if (room < extent) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "the box is too small for its largest group of atoms held together by "
                  "constraints: an atom is %.3f nm from the first of its group, and there is room "
                  "for %.3f nm; use a larger box or a shorter cutoff, or constrain fewer bonds",
                  extent, room);
    throw Error(text);
  }
  for (size_t code = 0; code < grid.offsets.size(); ++code)
    grid.shifts[code] = patch_shift(grid.box, grid.cells, grid.offsets[code]);
  return grid;
}

int64_t count_slots(int64_t atoms, int64_t patches) {
  const int64_t most = atoms + patches * (kClusterSize - 1);
  return (most + kClusterSize - 1) / kClusterSize * kClusterSize;
}

std::vector<double> atoms_per_patch(const PatchGrid& grid, const std::vector<Vec3d>& positions) {
  std::vector<double> atoms(static_cast<size_t>(grid.size()), 0.0);
  for (const Vec3d& x : positions) atoms[static_cast<size_t>(patch_of(grid, x))] += 1;
  return atoms;
}

}  // namespace quiltmd
