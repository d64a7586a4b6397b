// SPDX-License-Identifier: Apache-2.0
// The cell of a system without a periodic box. Atoms lie in a periodic cell all the same, one that is at
// least twice as wide as they are spread: so the nearest image of any atom is the atom itself, and
// patches, bonded terms and pair lists need no case of their own. Users see no box.
//
// Patches have a width that follows from the settings alone, so the number of them says all there is to
// say of the cell; a State has it. When atoms spread, a rebuild finds too few empty layers of patches
// (CheckSpread), and the engine takes a larger cell. Atoms that move together never call for one, however
// far they go. The price are eight times as many patches as a bounding box would have, most of them
// without atoms, which cost next to nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "math/box.h"

namespace quiltmd {

// Extent of the atoms, nm.
struct Spread {
  Vec3d low, high;
};
Spread spread_of(const std::vector<Vec3d>& positions);

// A coordinate of a place that an atom is held at: it counts as one of an atom, so that the image of the
// place that is nearest to the atom is the place itself.
struct HeldCoordinate {
  int axis;
  double at;  // nm
};
Spread with_places(Spread spread, const std::vector<HeldCoordinate>& held);

// A periodic box so wide that atoms which are no farther apart than the spread and `reach` meet no image
// of each other: for plain loops, which need no patches.
Box box_around(const Spread& spread, double reach = 0);

// Which layers of patches, along x, then y, then z, have such places: 1, else 0.
std::vector<int32_t> layers_with_places(const std::vector<HeldCoordinate>& held, Int3 cells,
                                        double width);

// The cubic patches of a cell for atoms that are spread so: `before`, where these still do, else as many
// as leave room to spare.
Int3 open_cells(const Spread& spread, double width, std::optional<Int3> before);
Box open_box(Int3 cells, double width);

// Layers of patches along a dimension that atoms may be in, so that any two are less than half the
// cell apart.
QMD_HD int most_layers(int cells) { return cells / 2 - 1; }

}  // namespace quiltmd
