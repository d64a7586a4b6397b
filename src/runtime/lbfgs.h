// SPDX-License-Identifier: Apache-2.0
// Limited-memory BFGS (Nocedal, Math. Comput. 35, 773 (1980)): a direction downhill from the forces now and
// the last few displacements with the changes of the forces. Sums run over atoms in one order, so the same
// forces give the same direction.
#pragma once

#include <deque>
#include <vector>

#include "math/vec3.h"

namespace quiltmd {

class Lbfgs {
 public:
  void forget() { pairs_.clear(); }
  bool empty() const { return pairs_.empty(); }
  // A displacement that was made, and by how much the forces fell: old ones less new ones. Left out where the
  // curvature along it is not positive.
  void add(std::vector<Vec3d> displacement, std::vector<Vec3d> fall);
  // The displacement to the minimum as the pairs have it; without any, the forces.
  std::vector<Vec3d> direction(const std::vector<Vec3d>& forces) const;

 private:
  struct Pair {
    std::vector<Vec3d> displacement, fall;
    double product;
  };
  std::deque<Pair> pairs_;
};

}  // namespace quiltmd
