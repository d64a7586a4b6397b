// SPDX-License-Identifier: Apache-2.0
// An atom in the centre and its neighbours, for which forms of three-body potentials calculate energy and forces.
#pragma once

#include <span>

#include "math/macros.h"
#include "math/vec3.h"

namespace quiltmd {

struct NeighbourPlace {
  Vec3d d;  // from the centre to it, nm
  double r;
  int type;
  bool once;  // whether the pair energy counts here: of each pair at one of its atoms
};

struct Neighbour : NeighbourPlace {
  Vec3d force{};  // on it, kJ/mol/nm; the force on the centre is minus the sum over all neighbours
};

// The rows of parameters of a centre: those of its type.
template <class Row>
struct RowsOfCentre {
  const Row* rows;
  int types;

  QMD_HD const Row& of(const NeighbourPlace& j) const { return of(j, j); }
  QMD_HD const Row& of(const NeighbourPlace& j, const NeighbourPlace& k) const {
    return rows[j.type * types + k.type];
  }
};

// The cosine of the angle between two neighbours, and its derivatives by their places.
struct CentralAngle {
  double cosine;
  Vec3d by_j, by_k;

  QMD_HD CentralAngle(const NeighbourPlace& j, const NeighbourPlace& k) {
    const double inverse = 1 / (j.r * k.r);
    cosine = dot(j.d, k.d) * inverse;
    by_j = inverse * k.d - (cosine / (j.r * j.r)) * j.d;
    by_k = inverse * j.d - (cosine / (k.r * k.r)) * k.d;
  }
};

}  // namespace quiltmd
