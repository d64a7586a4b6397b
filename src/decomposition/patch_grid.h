// SPDX-License-Identifier: Apache-2.0
// The quilt: the periodic cell cut into uniform patches. The grid depends on the box and the reach
// of the pair lists alone, never on the number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "math/box.h"

namespace quiltmd {

inline constexpr Int3 kOneAway{1, 1, 1}, kTwoAway{2, 2, 2};

// Into how many patches a box is cut: the same on the host and where a barostat changes the box.
struct PatchRule {
  double narrowest;  // width that a box must have, nm
  double reach;      // of the half shell, nm
  double span;       // of bonded terms, nm
  Int3 patch_reach;  // reach of the half shell in patches along x, y, z: 1 or 2
  int64_t atoms;     // that are to fill the clusters of patches; 0: patches are as narrow as can be
  // Where there are large hydrogen groups, the radius of others, for which reach and span have room; patches that
  // have room for the large ones as well stay, however much the box grows. Negative: there are none.
  double group_radius = -1;

  QMD_HD bool has_large_groups() const { return group_radius >= 0; }
  // The largest radius of hydrogen groups for which these patches are wide enough, nm.
  QMD_HD double room(const Box& box, Int3 cells) const {
    const Vec3d widths = box.widths();
    double twice = 1e30;
    const auto spare = [&twice](double apart) { twice = apart < twice ? apart : twice; };
    for (int d = 0; d < 3; ++d) {
      const double half = widths[d] / 2, reached = widths[d] * patch_reach[d] / cells[d];
      spare(widths[d] - reach);
      spare(reached - reach);
      if (reached < half) spare(reached - span);
      if (cells[d] > patch_reach[d] + 1) spare(half - span);
    }
    return group_radius + twice / 2;
  }
  // The same rule where atoms of hydrogen groups are up to `radius` from the first one.
  PatchRule with_groups(double radius) const {
    PatchRule wider = *this;
    wider.reach += 2 * (radius - group_radius);
    wider.span += 2 * (radius - group_radius);
    wider.group_radius = radius;
    return wider;
  }

  QMD_HD bool serves(const Box& box) const {
    const Vec3d widths = box.widths();
    return widths.x >= narrowest && widths.y >= narrowest && widths.z >= narrowest;
  }
  // The patches of a box that had this number before, as make_patch_grid() says; 0: none.
  QMD_HD Int3 cells(const Box& box, Int3 before) const {
    const Vec3d widths = box.widths();
    const double filled = filled_width(box.volume());
    Int3 found{};
    for (int d = 0; d < 3; ++d) {
      const double half = widths[d] / 2, apart = span < half ? span : half;
      const double near = reach > apart ? reach : apart, least = near > filled ? near : filled;
      found[d] = cells_along(widths[d] * patch_reach[d] / least, before[d]);
      // Terms wider than half the box may be in patches all around it.
      if (span > half && found[d] > patch_reach[d] + 1) found[d] = patch_reach[d] + 1;
    }
    return found;
  }

 private:
  // Width of patches that have `kFilling` atoms at the mean density, if that is more than the reach; at most
  // `kWidest` times the reach, because a box may be empty but for a drop. By Newton's method from above: cbrt()
  // differs between devices.
  QMD_HD double filled_width(double volume) const {
    constexpr double kFilling = 12, kWidest = 2;
    if (atoms == 0) return 0;
    const double wanted = kFilling * volume / static_cast<double>(atoms);
    if (wanted <= reach * reach * reach) return 0;
    double width = kWidest * reach;
    if (wanted >= width * width * width) return width;
    for (int k = 0; k < 6; ++k) width = (2 * width + wanted / (width * width)) / 3;
    return width;
  }
  // Cells along a dimension whose width is `reaches` times the least width of a cell.
  QMD_HD int cells_along(double reaches, int before) const {
    constexpr double kSpare = 1.03;
    const int serve = static_cast<int>(reaches), most = serve > 1 ? serve : 1;
    if (before == 0 || before > most) return most;
    if (has_large_groups()) return before;
    const int spared = static_cast<int>(reaches / kSpare);
    return before > spared ? before : spared;
  }
};

// Which patches a rank holds: those that its computes need, which are the half shell of each or, where forces act
// between several neighbours of an atom, the full shell; or all, in a system without a periodic box.
enum class Holds { kNeighbours, kFullShell, kAll };

// What a compute is: a patch against its half shell; or against one patch of it, so that there are more computes
// than patches for ranks to share. A list is of one compute, whatever the number of ranks.
enum class Grain { kPatch, kPair };

// Codes of neighbours that follow each other.
struct CodeRange {
  int first, count;
};

// Box and shifts follow a box that changes, as long as its patches are wide enough.
struct PatchGrid {
  Box box;
  Int3 cells;
  Int3 patch_reach;           // as in the rule
  Vec3d least_width;          // nm; patches that are narrower do not serve
  std::vector<Int3> offsets;  // the half shell: code -> offset; code 0 is the patch itself
  std::vector<Vec3d> shifts;  // code -> from a patch's centre to that neighbour's, nm
  PatchRule rule;
  Holds holds = Holds::kNeighbours;
  std::vector<int32_t> layers_with_places;  // of an open cell: see open_box.h
  Grain grain = Grain::kPatch;

  bool is_open() const { return holds == Holds::kAll; }  // a cell of open_box.h
  int size() const { return cells.x * cells.y * cells.z; }
  int codes() const { return static_cast<int>(offsets.size()); }
  int index(Int3 cell) const { return (cell.x * cells.y + cell.y) * cells.z + cell.z; }
  Int3 cell(int patch) const {
    return {patch / (cells.y * cells.z), patch / cells.z % cells.y, patch % cells.z};
  }
  // Codes of the full shell: those of the half shell, then those of the offsets opposite to them.
  int full_codes() const { return 2 * codes() - 1; }
  // The patch at an offset of the full shell, around the periodic boundary.
  int neighbour(int patch, int code) const;

  // Computes are numbered by patch, those of a patch by code.
  int computes_of_patch() const { return grain == Grain::kPair ? codes() : 1; }
  int computes() const { return size() * computes_of_patch(); }
  int patch_of_compute(int compute) const { return compute / computes_of_patch(); }
  CodeRange codes_of_compute(int compute) const {
    return grain == Grain::kPair ? CodeRange{compute % codes(), 1} : CodeRange{0, codes()};
  }
  // Whether it has the bonded terms of its patch: each patch has one that does.
  bool has_terms(int compute) const { return codes_of_compute(compute).first == 0; }
};

// From a patch's centre to that of a neighbour.
QMD_HD Vec3d patch_shift(const Box& box, Int3 cells, Int3 offset) {
  return box.to_cartesian({static_cast<double>(offset.x) / cells.x,
                           static_cast<double>(offset.y) / cells.y,
                           static_cast<double>(offset.z) / cells.z});
}

// The patch that a point (nm, any image) lies in.
int patch_of(const PatchGrid& grid, Vec3d point);
// How many of these points are in each patch.
std::vector<double> atoms_per_patch(const PatchGrid& grid, const std::vector<Vec3d>& positions);

// Patches as narrow as `reach / patch_reach` allows along each dimension: any two atoms closer than `reach` are
// then in patches at most `patch_reach` apart. `reach` covers cutoff, list buffer and what hydrogen groups stick out.
// Atoms of one bonded term are at most `span` apart, or half the box, beyond which another image is
// nearer; where that is more than the reach, patches are wider. So they are where they would have so few of the
// `atoms` that most slots of their clusters were empty; 0: however few there are.
// Throws Error when the box is narrower than twice the cutoff.
//
// A box that has changed keeps the `cells` that it had while they are wide enough. They become fewer as
// soon as they are not, but more only with 3 % to spare: a box that fluctuates about a limit does
// not change them again and again. So cells depend on what boxes came before, and are part of a State.
PatchGrid make_patch_grid(const Box& box, double cutoff, double reach, Int3 patch_reach,
                          double span = 0, std::optional<Int3> cells = {}, int64_t atoms = 0);

// The grid for a system with large hydrogen groups: `grid` as it is without them. `radius`: of the others;
// `extent`: the largest distance of an atom from the first of its group. `cells` are kept where they have room for
// it. Throws Error where the box has none.
PatchGrid with_room_for_groups(PatchGrid grid, double radius, double extent,
                               std::optional<Int3> cells);

// Upper bound on the slots of this number of atoms, however they are spread: every patch is padded to whole
// clusters.
int64_t count_slots(int64_t atoms, int64_t patches);

}  // namespace quiltmd
