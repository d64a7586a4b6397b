// SPDX-License-Identifier: Apache-2.0
// Torsion map (CMAP): an energy that depends on two neighbouring torsions together, from a table.
//
// The table is continued by a periodic bicubic spline, as in OpenMM's CMAPTorsionForce: MacKerell,
// Feig and Brooks, J. Comput. Chem. 25, 1400 (2004). Kept are the energy and its derivatives at the
// nodes, from which a kernel interpolates (16 numbers); coefficients of each cell would be four times
// the memory.
#pragma once

#include <string>
#include <vector>

#include "computes/bonded/forms/dihedral.h"
#include "math/error.h"
#include "math/units.h"

namespace quiltmd {

// The cubic with given values and slopes at both ends of the unit interval is
// value[0] f(0) + value[1] f(1) + slope[0] f'(0) + slope[1] f'(1).
template <class Real>
struct Hermite {
  Real value[2], slope[2], value_slope[2], slope_slope[2];

  QMD_HD explicit Hermite(Real t) {
    value[1] = t * t * (3 - 2 * t);
    value[0] = 1 - value[1];
    slope[0] = t * (1 - t) * (1 - t);
    slope[1] = t * t * (t - 1);
    value_slope[1] = 6 * t * (1 - t);
    value_slope[0] = -value_slope[1];
    slope_slope[0] = (1 - t) * (1 - 3 * t);
    slope_slope[1] = t * (3 * t - 2);
  }
};

// E(phi, psi), phi the torsion of the first four atoms, psi that of the last four. A map is a row of
// n x n energies at phi = 2 pi i/n, psi = 2 pi j/n, j running faster.
struct CmapForm {
  static constexpr int kAtoms = 5;
  static constexpr TermPart kPart = TermPart::kDihedral;
  static constexpr TermParameter kParameters[] = {{"map", ""}};
  static constexpr const char* kEnergies[] = {"cmap"};
  static constexpr TermForm kForm{"cmap",    "a torsion map (CMAP)",
                                  "cmaps",   "cmap_parameters",
                                  kAtoms,    kParameters,
                                  kEnergies, "cmap_maps"};

  // The number of the map.
  static constexpr int kPrepared = 1;
  static void prepare(const double* given, double* p, int rows) {
    if (!(given[0] >= 0 && given[0] < rows) || given[0] != std::floor(given[0]))
      throw Error("has the map number " + std::to_string(given[0]) + ", but there are " +
                  std::to_string(rows) + " maps, numbered from 0");
    p[0] = given[0];
  }

  // n; then at each node of each map the energy, its derivatives by i, by j and by both.
  static std::vector<double> prepare_shared(const std::vector<double>& values, int rows) {
    int n = 0;
    const auto cells = rows > 0 ? values.size() / static_cast<size_t>(rows) : 0;
    while (static_cast<size_t>(n) * static_cast<size_t>(n) < cells) ++n;
    const auto side = static_cast<size_t>(n);
    if (n < 3 || side * side * static_cast<size_t>(rows) != values.size())
      throw Error(
          "has a torsion map (CMAP) that is not square or too small: give 3 x 3 energies or more");
    std::vector<double> nodes{static_cast<double>(n)};
    for (size_t map = 0; map < static_cast<size_t>(rows); ++map) {
      const double* e = values.data() + map * cells;
      const std::vector<double> by_i = slopes(e, side, side, 1), by_j = slopes(e, side, 1, side);
      const std::vector<double> by_both = slopes(by_i.data(), side, 1, side);
      for (size_t k = 0; k < cells; ++k)
        nodes.insert(nodes.end(), {e[k], by_i[k], by_j[k], by_both[k]});
    }
    return nodes;
  }

  template <class Real>
  QMD_HD static TermValue<Real, 5> evaluate(const Vec3<Real>* b, const Real* p, const Real* maps) {
    const Dihedral<Real> phi(b), psi(b + 1);
    const int n = static_cast<int>(maps[0]);
    const Real per_angle = n / Real(2 * kPi);
    const Place<Real> i(phi, n, per_angle), j(psi, n, per_angle);
    const Hermite<Real> s(i.within), t(j.within);
    const Real* map = maps + 1 + static_cast<ptrdiff_t>(p[0]) * n * n * 4;
    Real energy = 0, by_phi = 0, by_psi = 0;
    for (int a = 0; a < 2; ++a)
      for (int c = 0; c < 2; ++c) {
        const Real* node = map + 4 * (static_cast<ptrdiff_t>(i.node[a]) * n + j.node[c]);
        const Real along = node[0] * s.value[a] + node[1] * s.slope[a];
        const Real across = node[2] * s.value[a] + node[3] * s.slope[a];
        energy += along * t.value[c] + across * t.slope[c];
        by_psi += along * t.value_slope[c] + across * t.slope_slope[c];
        by_phi += (node[0] * s.value_slope[a] + node[1] * s.slope_slope[a]) * t.value[c] +
                  (node[2] * s.value_slope[a] + node[3] * s.slope_slope[a]) * t.slope[c];
      }
    const DihedralForces<Real> f = phi.forces(b, by_phi * per_angle);
    const DihedralForces<Real> g = psi.forces(b + 1, by_psi * per_angle);
    return {{energy},
            {f.first, f.second + g.first, f.third + g.second,
             g.third - (f.first + f.second + f.third)}};
  }

 private:
  // Place of an angle among the nodes of a map.
  template <class Real>
  struct Place {
    int node[2];
    Real within;

    QMD_HD Place(const Dihedral<Real>& angle, int n, Real per_angle) {
      const Real at = std::atan2(angle.sine, angle.cosine) * per_angle;
      const Real below = std::floor(at);
      within = at - below;
      const int first = static_cast<int>(below);
      node[0] = first < 0 ? first + n : first;
      node[1] = node[0] + 1 < n ? node[0] + 1 : 0;
    }
  };

  // Slopes of periodic cubic splines along one side of a map, whose neighbours are `stride` apart;
  // its other side has `other`. They solve m[k-1] + 4 m[k] + m[k+1] = 3 (e[k+1] - e[k-1]), a cyclic
  // system whose inverse is a geometric series on either side.
  static std::vector<double> slopes(const double* e, size_t n, size_t stride, size_t other) {
    const double ratio = std::sqrt(3.0) - 2;
    std::vector<double> weight(n), result(n * n, 0.0);
    for (size_t k = 0; k < n; ++k) {
      const auto distance = static_cast<double>(k), size = static_cast<double>(n);
      weight[k] = (std::pow(ratio, distance) + std::pow(ratio, size - distance)) /
                  ((1 - std::pow(ratio, size)) * (4 + 2 * ratio));
    }
    for (size_t line = 0; line < n; ++line)
      for (size_t k = 0; k < n; ++k)
        for (size_t l = 0; l < n; ++l) {
          const double* at = e + line * other;
          result[line * other + k * stride] +=
              weight[(k + n - l) % n] * 3 *
              (at[(l + 1) % n * stride] - at[(l + n - 1) % n * stride]);
        }
    return result;
  }
};

}  // namespace quiltmd
