// SPDX-License-Identifier: Apache-2.0
// Constraints of a star: up to three hydrogens on one heavy atom. The constraints meet in one atom,
// so a 3 x 3 system gives all multipliers at once: exactly for velocities, and in two or three steps
// of Newton's method for positions, where sweeps over the constraints (shake.h) take six or more, one
// division after another. Missing hydrogens are places of no mass, at rest.
#pragma once

#include "math/vec3.h"

namespace quiltmd {

inline constexpr int kStarBonds = 3, kStarAtoms = kStarBonds + 1;
inline constexpr int kMaxNewtonSteps = 50;

struct Star {
  const double* inverse_mass;  // of atom 0, the heavy one, and of atoms 1, 2, 3
  const double* length;        // of the bonds from it
  int bonds;
};

QMD_HD void star_edges(const Star& s, const Vec3d* at, Vec3d* edge) {
  for (int k = 0; k < kStarBonds; ++k) edge[k] = k < s.bonds ? at[k + 1] - at[0] : Vec3d{0, 0, 0};
}

// Effect of the impulses along the three edges on bond k, whose atom has the inverse mass `own`, along
// `along`; a missing bond is uncoupled.
QMD_HD Vec3d star_row(int k, bool exists, double heavy, double own, Vec3d along,
                      const Vec3d* edge) {
  Vec3d row;
  for (int l = 0; l < kStarBonds; ++l) {
    const double weight = heavy + (k == l ? own : 0.0);
    row[l] = k == l && !exists ? 1.0 : weight * dot(along, edge[l]);
  }
  return row;
}

// The inverse of three rows.
struct StarInverse {
  Vec3d column[3];
  double scale;
};
QMD_HD StarInverse star_inverse(const Vec3d* row) {
  const Vec3d of_0 = cross(row[1], row[2]);
  return {{of_0, cross(row[2], row[0]), cross(row[0], row[1])}, 1 / dot(row[0], of_0)};
}

// The multipliers whose impulses change along[k] . (what bond k grows by) by excess[k].
QMD_HD Vec3d star_multipliers(const StarInverse& s, Vec3d excess) {
  return (s.scale * excess.x) * s.column[0] + (s.scale * excess.y) * s.column[1] +
         (s.scale * excess.z) * s.column[2];
}
QMD_HD Vec3d star_multipliers(const Star& s, const Vec3d* along, const Vec3d* edge, Vec3d excess) {
  Vec3d row[kStarBonds];
  for (int k = 0; k < kStarBonds; ++k)
    row[k] = star_row(k, k < s.bonds, s.inverse_mass[0], s.inverse_mass[k + 1], along[k], edge);
  return star_multipliers(star_inverse(row), excess);
}

// Remove from the velocities of atoms at `at` what would change the lengths of the bonds. False
// when that is not a number.
QMD_HD bool project(const Star& s, const Vec3d* at, Vec3d* velocity) {
  Vec3d edge[kStarBonds], growth;
  star_edges(s, at, edge);
  for (int k = 0; k < kStarBonds; ++k) growth[k] = dot(edge[k], velocity[k + 1] - velocity[0]);
  const Vec3d multiplier = star_multipliers(s, edge, edge, growth);
  for (int k = 0; k < kStarBonds; ++k) {
    velocity[0] += (s.inverse_mass[0] * multiplier[k]) * edge[k];
    velocity[k + 1] -= (s.inverse_mass[k + 1] * multiplier[k]) * edge[k];
  }
  return dot(multiplier, multiplier) < 1e60;
}

// Atoms of a star at `at` have `moved`; finds the `correction`, displacements along the bonds they
// had with momentum conserved, by which every bond has its length to `tolerance` (relative). False
// when there is none, as when coordinates are not numbers or a bond has turned by a right angle.
QMD_HD bool constrain(const Star& s, const Vec3d* at, const Vec3d* moved, Vec3d* correction,
                      double tolerance) {
  Vec3d edge[kStarBonds], now[kStarBonds], total{0, 0, 0};
  star_edges(s, at, edge);
  for (int k = 0; k < kStarBonds; ++k)
    now[k] = k < s.bonds ? edge[k] + (moved[k + 1] - moved[0]) : Vec3d{0, 0, 0};
  bool holds = false, sane = true;
  for (int step = 0; step < kMaxNewtonSteps && sane; ++step) {
    Vec3d excess;
    holds = true;
    for (int k = 0; k < kStarBonds; ++k) {
      const double length2 = s.length[k] * s.length[k];
      excess[k] = dot(now[k], now[k]) - length2;
      // |r| = d (1 + e) to first order means |r|^2 - d^2 = 2 e d^2.
      holds = holds && std::fabs(excess[k]) <= 2 * tolerance * length2;
      sane = sane && dot(now[k], edge[k]) >= 1e-3 * length2;
    }
    if (holds) break;
    const Vec3d multiplier = 0.5 * star_multipliers(s, now, edge, excess);
    total += multiplier;
    Vec3d centre{0, 0, 0};
    for (int k = 0; k < kStarBonds; ++k) centre += (s.inverse_mass[0] * multiplier[k]) * edge[k];
    for (int k = 0; k < kStarBonds; ++k)
      if (k < s.bonds) now[k] -= centre + (s.inverse_mass[k + 1] * multiplier[k]) * edge[k];
  }
  correction[0] = {0, 0, 0};
  for (int k = 0; k < kStarBonds; ++k) {
    correction[0] += (s.inverse_mass[0] * total[k]) * edge[k];
    correction[k + 1] = -(s.inverse_mass[k + 1] * total[k]) * edge[k];
  }
  return holds;
}

}  // namespace quiltmd
