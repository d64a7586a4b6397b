// SPDX-License-Identifier: Apache-2.0
// Stillinger and Weber, Phys. Rev. B 31, 5262 (1985), with parameters for triplets of elements:
//   E = sum over pairs of A epsilon (B (sigma/r)^p - (sigma/r)^q) exp(sigma / (r - a sigma))
//     + sum over centres i and pairs j, k of their neighbours of
//       lambda epsilon (cos theta - cos theta0)^2 exp(gamma sigma / (r_ij - a sigma)) exp(same of k)
// For the exponentials of triplets the row of (i, j, j) counts, for lambda, epsilon and theta0 that of (i, j, k).
#pragma once

#include <array>
#include <cmath>
#include <span>

#include "computes/three_body/neighbours.h"

namespace quiltmd {

struct StillingerWeber {
  static constexpr const char* kName = "stillinger-weber";
  static constexpr const char* kKernel = "stillinger_weber_forces";
  static constexpr std::array kParameters{"epsilon",    "sigma", "a", "lambda", "gamma",
                                          "cos_theta0", "A",     "B", "p",      "q"};

  struct Row {
    double cutoff, sigma, sigma_gamma;
    double strength, repulsion, p, q;  // A epsilon, B
    double bending, cos_theta0;        // lambda epsilon
  };
  static Row row(const double* v) {
    return {v[1] * v[2], v[1], v[1] * v[4], v[6] * v[0], v[7], v[8], v[9], v[3] * v[0], v[5]};
  }
  static double cutoff(const Row& row) { return row.cutoff; }

  // exp(gamma sigma / (r - a sigma)), and its derivative over itself.
  struct Fall {
    double value, slope;
  };

  // Adds forces on the neighbours, and returns the energy.
  static double add(RowsOfCentre<Row> rows, std::span<Neighbour> near) {
    double energy = 0;
    for (size_t j = 0; j < near.size(); ++j) {
      const Row& row = rows.of(near[j]);
      if (near[j].r >= row.cutoff) continue;
      if (near[j].once) energy += add_pair(row, near[j]);
      const Fall fall_j = fall(row, near[j].r);
      for (size_t k = 0; k < j; ++k) {
        const Row& other = rows.of(near[k]);
        if (near[k].r >= other.cutoff) continue;
        energy += add_triplet(rows.of(near[j], near[k]), near[j], fall_j, near[k],
                              fall(other, near[k].r));
      }
    }
    return energy;
  }

  // For devices with a lane for each neighbour: what the force on others needs of it, its exponential; then the
  // force on it. `own` is a copy of near[j] that gets this force. Returns the energy of the pair and of the
  // triplets with neighbours before it.
  using Bond = Fall;
  QMD_HD static Bond bond(RowsOfCentre<Row> rows, const NeighbourPlace* near, int, int j) {
    const Row& row = rows.of(near[j]);
    return near[j].r < row.cutoff ? fall(row, near[j].r) : Fall{0, 0};
  }
  QMD_HD static double add_to_one(RowsOfCentre<Row> rows, const NeighbourPlace* near,
                                  const Bond* bonds, int count, int j, Neighbour& own) {
    if (bonds[j].value == 0) return 0;
    double energy = own.once ? add_pair(rows.of(own), own) : 0;
    for (int k = 0; k < count; ++k) {
      if (k == j || bonds[k].value == 0) continue;
      const Row& row = rows.of(own, near[k]);
      const CentralAngle angle(own, near[k]);
      const double excess = angle.cosine - row.cos_theta0;
      const double strength = row.bending * bonds[j].value * bonds[k].value;
      const double here = strength * excess * excess;
      own.force -= (here * bonds[j].slope / own.r) * own.d + 2 * strength * excess * angle.by_j;
      if (k < j) energy += here;
    }
    return energy;
  }

 private:
  QMD_HD static Fall fall(const Row& row, double r) {
    const double inverse = 1 / (r - row.cutoff), exponent = row.sigma_gamma * inverse;
    return {std::exp(exponent), -exponent * inverse};
  }
  // Most exponents are 4 and 0, for which a general power is slow.
  QMD_HD static double power(double x, double exponent) {
    if (exponent == 0) return 1;
    if (exponent == 4) return x * x * (x * x);
    return std::pow(x, exponent);
  }
  QMD_HD static double add_pair(const Row& row, Neighbour& j) {
    const double x = row.sigma / j.r, inverse = 1 / (j.r - row.cutoff);
    const double repulsion = row.repulsion * power(x, row.p), attraction = power(x, row.q);
    const double end = row.strength * std::exp(row.sigma * inverse);
    const double energy = end * (repulsion - attraction);
    const double slope = -end * (row.p * repulsion - row.q * attraction) / j.r -
                         energy * row.sigma * inverse * inverse;
    j.force -= (slope / j.r) * j.d;
    return energy;
  }
  static double add_triplet(const Row& row, Neighbour& j, Fall fall_j, Neighbour& k, Fall fall_k) {
    const CentralAngle angle(j, k);
    const double excess = angle.cosine - row.cos_theta0;
    const double strength = row.bending * fall_j.value * fall_k.value;
    const double energy = strength * excess * excess, by_cosine = 2 * strength * excess;
    j.force -= (energy * fall_j.slope / j.r) * j.d + by_cosine * angle.by_j;
    k.force -= (energy * fall_k.slope / k.r) * k.d + by_cosine * angle.by_k;
    return energy;
  }
};

}  // namespace quiltmd
