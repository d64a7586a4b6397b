// SPDX-License-Identifier: Apache-2.0
// The few shapes that the hydrogen groups of a system have (a water, a CH2, ...): masses and
// constraints, kept once each. They are read from cache, where arrays by atom would cost a GPU as much
// memory traffic as the forces do, and every rank 32 bytes for each atom of the whole system.
#pragma once

#include <cstdint>
#include <vector>

#include "computes/constraints/group_constraint.h"
#include "computes/constraints/settle.h"
#include "computes/constraints/star.h"
#include "system/system.h"

namespace quiltmd {

// A rigid water; a star (an atom alone, or with up to three hydrogens constrained to it); the rest, and of
// these those that are large.
enum class GroupClass : uint32_t { kWater, kStar, kGeneral, kLarge };

// A group's entry in GroupTable::group_shape: its shape, whether bonded terms read its positions, its
// class.
struct ShapeCode {
  uint32_t bits;
  QMD_HD GroupClass group_class() const { return static_cast<GroupClass>(bits & 3u); }
  QMD_HD bool in_terms() const { return (bits & 4u) != 0; }
  QMD_HD uint32_t shape() const { return bits >> 3; }
};

struct GroupShape {
  int32_t atoms, constraints;            // virtual sites are left out
  int32_t first_mass, first_constraint;  // its rows of GroupTable's arrays
  // Masses in waters and stars; zero for missing atoms.
  double mass[kStarAtoms], inverse_mass[kStarAtoms], root_inverse_mass[kStarAtoms];
  double length[kStarBonds];  // of the constraints, nm
  Triangle triangle;          // of waters
};

struct GroupShapes {
  std::vector<GroupShape> shapes;
  std::vector<uint32_t> codes;  // by group
  // The rows of shapes: masses of all atoms, and constraints.
  std::vector<double> mass, inverse_mass;
  std::vector<GroupConstraint> constraints;
};

// `in_terms`: by atom, whether a bonded term has it; empty: all count as if.
GroupShapes make_group_shapes(const System& system, const std::vector<char>& in_terms);

}  // namespace quiltmd
