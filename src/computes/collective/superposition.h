// SPDX-License-Identifier: Apache-2.0
// The rotation that brings one set of points nearest to another, by quaternions: Horn, J. Opt. Soc. Am. A 4,
// 629 (1987); Coutsias, Seok and Dill, J. Comput. Chem. 25, 1849 (2004).
#pragma once

#include <cmath>

#include "math/macros.h"
#include "math/vec3.h"

namespace quiltmd {

struct Rotation {
  double m[3][3];

  QMD_HD Vec3d operator()(Vec3d r) const {
    return {m[0][0] * r.x + m[0][1] * r.y + m[0][2] * r.z,
            m[1][0] * r.x + m[1][1] * r.y + m[1][2] * r.z,
            m[2][0] * r.x + m[2][1] * r.y + m[2][2] * r.z};
  }
};

// Jacobi's method for a symmetric matrix of order four: diagonal afterwards, eigenvectors in columns of `v`.
QMD_HD void diagonalise(double (&a)[4][4], double (&v)[4][4]) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) v[i][j] = i == j;
  constexpr int kSweeps = 16;  // it converges quadratically, as a rule in five
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double off = 0, scale = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) (i == j ? scale : off) += a[i][j] * a[i][j];
    if (!(off > 1e-32 * scale)) return;
    for (int p = 0; p < 3; ++p)
      for (int q = p + 1; q < 4; ++q) {
        if (a[p][q] == 0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 4; ++k) {
          const double kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (int k = 0; k < 4; ++k) {
          const double pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
        }
        for (int k = 0; k < 4; ++k) {
          const double kp = v[k][p], kq = v[k][q];
          v[k][p] = c * kp - s * kq;
          v[k][q] = s * kp + c * kq;
        }
      }
  }
}

// Scratch memory of a superposition: on a GPU it is shared memory, because arrays indexed in loops would be
// in local memory, which is reserved for every thread that could run.
struct SuperpositionRoom {
  double a[4][4], v[4][4];
};

struct Superposition {
  Rotation rotation;  // of the reference to the points
  double overlap;     // sum of weight times (rotated reference . point), as large as it can be

  // Superposition from s, the sum of weight times reference (x) point, row by row.
  QMD_HD Superposition(const double* s, SuperpositionRoom& room) {
    auto& a = room.a;
    auto& v = room.v;
    a[0][0] = s[0] + s[4] + s[8];
    a[1][1] = s[0] - s[4] - s[8];
    a[2][2] = s[4] - s[0] - s[8];
    a[3][3] = s[8] - s[0] - s[4];
    a[0][1] = a[1][0] = s[5] - s[7];
    a[0][2] = a[2][0] = s[6] - s[2];
    a[0][3] = a[3][0] = s[1] - s[3];
    a[1][2] = a[2][1] = s[1] + s[3];
    a[1][3] = a[3][1] = s[6] + s[2];
    a[2][3] = a[3][2] = s[5] + s[7];
    diagonalise(a, v);
    int best = 0;
    for (int i = 1; i < 4; ++i)
      if (a[i][i] > a[best][best]) best = i;
    overlap = a[best][best];
    const double w = v[0][best], x = v[1][best], y = v[2][best], z = v[3][best];
    rotation = {{{w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)},
                 {2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)},
                 {2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}}};
  }
};

}  // namespace quiltmd
