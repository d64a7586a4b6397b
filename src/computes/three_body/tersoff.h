// SPDX-License-Identifier: Apache-2.0
// Tersoff, Phys. Rev. B 37, 6991 (1988), with parameters for triplets of elements (Phys. Rev. B 39, 5566 (1989)):
//   E = sum over pairs of f(r) A exp(-lambda1 r)
//     - 1/2 sum over centres i and neighbours j of f(r_ij) b_ij B exp(-lambda2 r_ij)
//   b_ij = (1 + (beta zeta)^n)^(-1/2n)
//   zeta = sum over other neighbours k of f(r_ik) g(theta) exp((lambda3 (r_ij - r_ik))^m)
//   g = gamma (1 + c^2/d^2 - c^2/(d^2 + (cos theta - cos theta0)^2))
//   f = 1 up to R - D, 0 beyond R + D, 1/2 - 1/2 sin(pi (r - R) / 2D) between
// For the terms of zeta the row of (i, j, k) counts, for all else that of (i, j, j).
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "computes/three_body/neighbours.h"

namespace quiltmd {

struct Tersoff {
  static constexpr const char* kName = "tersoff";
  static constexpr const char* kKernel = "tersoff_forces";
  static constexpr std::array kParameters{"m",          "gamma", "lambda3", "c",       "d",
                                          "cos_theta0", "n",     "beta",    "lambda2", "B",
                                          "R",          "D",     "lambda1", "A"};

  struct Row {
    double middle, half_width, cutoff;  // R, D, R + D
    double lambda1, repulsion, lambda2, attraction;
    double beta, n;
    double lambda3, gamma, c2, d2, c2_over_d2, cos_theta0;
    bool cubic;  // m: 3, otherwise 1
  };
  static Row row(const double* v) {
    const double c2 = v[3] * v[3], d2 = v[4] * v[4];
    return {v[10], v[11], v[10] + v[11], v[12], v[13], v[8],    v[9], v[7],
            v[6],  v[2],  v[1],          c2,    d2,    c2 / d2, v[5], v[0] == 3};
  }
  static double cutoff(const Row& row) { return row.cutoff; }

  // Adds forces on the neighbours, and returns the energy.
  static double add(RowsOfCentre<Row> rows, std::span<Neighbour> near) {
    double energy = 0;
    for (size_t j = 0; j < near.size(); ++j) {
      const Row& row = rows.of(near[j]);
      if (near[j].r >= row.cutoff) continue;
      const Smooth end = ending(row, near[j].r);
      if (near[j].once) energy += add_pull(near[j], row.lambda1, row.repulsion, end);
      energy += add_bond(rows, near, j, row, end);
    }
    return energy;
  }

  // For devices with a lane for each neighbour: what the force on others needs of it, its bond order and the
  // derivative of its energy by zeta; then the force on it. `own` is a copy of near[j] that gets this force.
  // Returns the energies of the pair.
  struct Bond {
    double order, by_zeta;
  };
  QMD_HD static Bond bond(RowsOfCentre<Row> rows, const NeighbourPlace* near, int count, int j) {
    const Row& row = rows.of(near[j]);
    if (near[j].r >= row.cutoff) return {0, 0};
    double zeta = 0;
    for (int k = 0; k < count; ++k) {
      const Row& triplet = rows.of(near[j], near[k]);
      if (k == j || !counts(near[k], triplet)) continue;
      zeta += term(triplet, near[j].r, near[k].r, CentralAngle(near[j], near[k]).cosine).value;
    }
    const Order found = bond_order(row, zeta);
    const double pull = -0.5 * row.attraction * std::exp(-row.lambda2 * near[j].r);
    return {found.value, pull * ending(row, near[j].r).value * found.slope};
  }
  QMD_HD static double add_to_one(RowsOfCentre<Row> rows, const NeighbourPlace* near,
                                  const Bond* bonds, int count, int j, Neighbour& own) {
    const Row& row = rows.of(own);
    double energy = 0;
    if (own.r < row.cutoff) {
      const Smooth end = ending(row, own.r);
      if (own.once) energy += add_pull(own, row.lambda1, row.repulsion, end);
      energy += add_pull(own, row.lambda2, -0.5 * row.attraction * bonds[j].order, end);
    }
    for (int k = 0; k < count; ++k) {
      if (k == j) continue;
      const CentralAngle angle(own, near[k]);
      const Row &triplet = rows.of(own, near[k]), &mirrored = rows.of(near[k], own);
      if (bonds[j].by_zeta != 0 && counts(near[k], triplet)) {
        const Term found = term(triplet, own.r, near[k].r, angle.cosine);
        add_term(own, bonds[j].by_zeta, found.by_j, found.by_cosine, angle);
      }
      if (bonds[k].by_zeta != 0 && counts(own, mirrored)) {
        const Term found = term(mirrored, near[k].r, own.r, angle.cosine);
        add_term(own, bonds[k].by_zeta, found.by_k, found.by_cosine, angle);
      }
    }
    return energy;
  }

 private:
  struct Smooth {
    double value, slope;
  };
  QMD_HD static Smooth ending(const Row& row, double r) {
    const double x = r - row.middle;
    if (x <= -row.half_width) return {1, 0};
    const double per = std::numbers::pi / (2 * row.half_width);
    return {0.5 - 0.5 * std::sin(per * x), -0.5 * per * std::cos(per * x)};
  }
  // A term of zeta, and its derivatives by r_ij, r_ik and the cosine.
  struct Term {
    double value, by_j, by_k, by_cosine;
  };
  QMD_HD static Term term(const Row& row, double r_j, double r_k, double cosine) {
    const double excess = cosine - row.cos_theta0, below = 1 / (row.d2 + excess * excess);
    const double g = row.gamma * (1 + row.c2_over_d2 - row.c2 * below);
    const double by_cosine = row.gamma * 2 * row.c2 * excess * below * below;
    const Smooth end = ending(row, r_k);
    if (row.lambda3 == 0) return {end.value * g, 0, end.slope * g, end.value * by_cosine};
    const double x = row.lambda3 * (r_j - r_k);
    const double grown = std::exp(row.cubic ? x * x * x : x);
    const double growth = row.lambda3 * (row.cubic ? 3 * x * x : 1);
    const double value = end.value * g * grown;
    return {value, value * growth, end.slope * g * grown - value * growth,
            end.value * by_cosine * grown};
  }
  // f(r) strength exp(-lambda r), and its force.
  QMD_HD static double add_pull(Neighbour& j, double lambda, double strength, Smooth end) {
    const double decay = strength * std::exp(-lambda * j.r);
    j.force -= (decay * (end.slope - lambda * end.value) / j.r) * j.d;
    return decay * end.value;
  }
  struct Order {
    double value, slope;  // by zeta
  };
  QMD_HD static Order bond_order(const Row& row, double zeta) {
    if (!(zeta > 0)) return {1, 0};
    const double grown = std::pow(row.beta * zeta, row.n);
    const double value = std::pow(1 + grown, -0.5 / row.n);
    return {value, -0.5 * value * grown / ((1 + grown) * zeta)};
  }
  QMD_HD static bool counts(const NeighbourPlace& k, const Row& row) { return k.r < row.cutoff; }

  // A derivative of zeta by the distance of a neighbour, and by the cosine.
  QMD_HD static void add_term(Neighbour& j, double by_zeta, double by_distance, double by_cosine,
                              const CentralAngle& angle) {
    j.force -= (by_zeta * by_distance / j.r) * j.d + (by_zeta * by_cosine) * angle.by_j;
  }

  static double add_bond(RowsOfCentre<Row> rows, std::span<Neighbour> near, size_t j,
                         const Row& row, Smooth end) {
    double zeta = 0;
    const auto over_others = [&](auto visit) {
      for (size_t k = 0; k < near.size(); ++k) {
        const Row& triplet = rows.of(near[j], near[k]);
        if (k == j || !counts(near[k], triplet)) continue;
        const CentralAngle angle(near[j], near[k]);
        visit(near[k], angle, term(triplet, near[j].r, near[k].r, angle.cosine));
      }
    };
    over_others(
        [&](const Neighbour&, const CentralAngle&, const Term& found) { zeta += found.value; });
    const Order order = bond_order(row, zeta);
    const double energy = add_pull(near[j], row.lambda2, -0.5 * row.attraction * order.value, end);
    const double by_zeta = order.value > 0 ? energy / order.value * order.slope : 0;
    over_others([&](Neighbour& k, const CentralAngle& angle, const Term& found) {
      near[j].force -=
          (by_zeta * found.by_j / near[j].r) * near[j].d + (by_zeta * found.by_cosine) * angle.by_j;
      k.force -= (by_zeta * found.by_k / k.r) * k.d + (by_zeta * found.by_cosine) * angle.by_k;
    });
    return energy;
  }
};

}  // namespace quiltmd
