// SPDX-License-Identifier: Apache-2.0
// Limited-memory BFGS (Nocedal, Math. Comput. 35, 773 (1980)): a direction downhill from the forces now and
// the last few displacements with the changes of the forces. Sums run over atoms in one order, so the same
// forces give the same direction. Where it begins, an atom moves for a force as far as its softness says.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "math/vec3.h"

namespace quiltmd {

class Lbfgs {
 public:
  // Softness of each atom, in any unit.
  explicit Lbfgs(std::vector<double> softness) : softness_(std::move(softness)) {}

  void forget() { pairs_.clear(); }
  bool empty() const { return pairs_.empty(); }
  // A displacement that was made, and by how much the forces fell: old ones less new ones. Left out where the
  // curvature along it is not positive.
  void add(std::vector<Vec3d> displacement, std::vector<Vec3d> fall);
  // The displacement to the minimum as the pairs have it; without any, along forces times softness.
  std::vector<Vec3d> direction(const std::vector<Vec3d>& forces) const;

 private:
  void soften(std::vector<Vec3d>& forces, double scale) const;

  struct Pair {
    std::vector<Vec3d> displacement, fall;
    double product;
  };
  std::vector<double> softness_;
  std::deque<Pair> pairs_;
};

}  // namespace quiltmd
