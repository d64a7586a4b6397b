// SPDX-License-Identifier: Apache-2.0
// The fast multipole method in double precision: plain loops over whole grids.
//   q_0 from the atoms; q_(l+1) from q_l; potential_l = 2^-l stencil * q_l; at the top a sum over wave vectors;
//   potential_l += what the level above has; forces from potential_0.
// In an open cell, where no image is left out, the sum itself: the smooth part of the split over all pairs.
#include "computes/reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "computes/long_range/fmm/stencil.h"
#include "computes/long_range/fmm/top.h"
#include "computes/long_range/pme/box_on_mesh.h"
#include "computes/long_range/pme/reference_mesh.h"
#include "math/units.h"

namespace quiltmd {
namespace {

// A periodic grid of one level.
struct Grid {
  Int3 n;
  std::vector<double> values;

  explicit Grid(Int3 points)
      : n(points),
        values(static_cast<size_t>(points.x) * static_cast<size_t>(points.y) *
               static_cast<size_t>(points.z)) {}
  double& at(int x, int y, int z) {
    const auto wrap = [](int i, int size) { return static_cast<size_t>((i % size + size) % size); };
    return values[(wrap(x, n.x) * static_cast<size_t>(n.y) + wrap(y, n.y)) *
                      static_cast<size_t>(n.z) +
                  wrap(z, n.z)];
  }
  // visit(x, y, first value of the row)
  template <class Visit>
  void over_rows(Visit visit) {
    for (int x = 0; x < n.x; ++x)
      for (int y = 0; y < n.y; ++y) visit(x, y, &at(x, y, 0));
  }
  template <class Visit>
  void over_points(Visit visit) {
    for (int x = 0; x < n.x; ++x)
      for (int y = 0; y < n.y; ++y)
        for (int z = 0; z < n.z; ++z) visit(x, y, z);
  }
};

// Calls visit(point of the fine grid, weight) for all that make up point (x, y, z) of the next level.
template <int Order, class Visit>
void over_children(int x, int y, int z, Visit visit) {
  using Spline = Refinement<Order>;
  const auto weight = [](int j) { return static_cast<double>(Spline::weight(j)) / Spline::kScale; };
  for (int i = 0; i < Spline::kPoints; ++i)
    for (int j = 0; j < Spline::kPoints; ++j)
      for (int k = 0; k < Spline::kPoints; ++k)
        visit(Int3{2 * x + i, 2 * y + j, 2 * z + k}, weight(i) * weight(j) * weight(k));
}

template <int Order>
Grid restricted(Grid& fine, Int3 points) {
  Grid coarse(points);
  coarse.over_points([&](int x, int y, int z) {
    over_children<Order>(x, y, z, [&](Int3 p, double weight) {
      coarse.at(x, y, z) += weight * fine.at(p.x, p.y, p.z);
    });
  });
  return coarse;
}

template <int Order>
void add_prolonged(Grid& coarse, Grid& fine) {
  coarse.over_points([&](int x, int y, int z) {
    over_children<Order>(x, y, z, [&](Int3 p, double weight) {
      fine.at(p.x, p.y, p.z) += weight * coarse.at(x, y, z);
    });
  });
}

class Sum {
 public:
  Sum(const NonbondedSettings& settings, const Box& box)
      : series_(settings),
        levels_(settings),
        window_(level_window(settings, box)),
        box_(box),
        stencil_(stencil_fit(settings, window_, box)
                     .at(series_.kernels(), lattice_of(box, settings.grid))) {
    for (const StencilPoint& point : stencil_) reach_ = std::max(reach_, point.at.z);
  }

  // From charges on level 0 to their potential; energy and virial of a unit Coulomb constant.
  Grid potential(Grid& charges) {
    return for_order(levels_.order, [&]<int Order>() { return summed<Order>(charges); });
  }

  double energy = 0;
  Symmetric virial{};

 private:
  template <int Order>
  Grid summed(Grid& charges) {
    std::vector<Grid> charges_of{charges}, potential_of;
    for (int l = 0; l < levels_.count; ++l)
      charges_of.push_back(restricted<Order>(charges_of.back(), levels_.points(l + 1)));
    for (int l = 0; l < levels_.count; ++l)
      potential_of.push_back(convolved(charges_of[static_cast<size_t>(l)], std::ldexp(1.0, -l)));
    Grid above = top(charges_of.back());
    for (int l = levels_.count - 1; l >= 0; --l) {
      add_prolonged<Order>(above, potential_of[static_cast<size_t>(l)]);
      above = potential_of[static_cast<size_t>(l)];
    }
    for (size_t i = 0; i < above.values.size(); ++i)
      energy += 0.5 * charges.values[i] * above.values[i];
    return above;
  }

  // Convolution with the values of the stencil, and with its derivatives for the virial.
  Grid convolved(Grid& charges, double scale) {
    Grid result(charges.n);
    const int reach = reach_, nz = charges.n.z;
    std::vector<double> row(static_cast<size_t>(nz + 2 * reach));
    result.over_rows([&](int x, int y, double* potential) {
      Symmetric sums{};
      const double* const own = &charges.at(x, y, 0);
      for (size_t first = 0, end = 0; first < stencil_.size(); first = end) {
        const Int3 at = stencil_[first].at;
        while (end < stencil_.size() && stencil_[end].at.x == at.x && stencil_[end].at.y == at.y)
          ++end;
        for (int z = -reach; z < nz + reach; ++z)
          row[static_cast<size_t>(z + reach)] = charges.at(x + at.x, y + at.y, z);
        for (size_t p = first; p < end; ++p)
          add_point(stencil_[p], &row[static_cast<size_t>(reach + stencil_[p].at.z)], own, nz,
                    potential, sums);
      }
      for (int z = 0; z < nz; ++z) potential[z] *= scale;
      for (int k = 0; k < Symmetric::kParts; ++k) virial[k] -= 0.5 * scale * sums[k];
    });
    return result;
  }

  // `row`: the charges that the stencil's point takes to a row of potentials, whose charges are `own`.
  static void add_point(const StencilPoint& point, const double* row, const double* own, int nz,
                        double* potential, Symmetric& sums) {
    double product = 0;
    for (int z = 0; z < nz; ++z) {
      potential[z] += point.value * row[z];
      product += own[z] * row[z];
    }
    for (int k = 0; k < Symmetric::kParts; ++k) sums[k] += point.strain[k] * product;
  }

  Grid top(const Grid& charges) {
    const std::vector<TopWave> waves =
        top_waves(series_.kernels(), levels_, window_, box_, stencil_);
    Grid result(charges.n);
    virial += sum_over_waves(charges.n, waves.data(), charges.values, result.values);
    return result;
  }

  LevelSeries series_;
  FmmLevels levels_;
  MeshWindow window_;
  Box box_;
  std::vector<StencilPoint> stencil_;
  int reach_ = 0;  // of the stencil along z
};

void sum_open(const System& system, const NonbondedSettings& settings,
              const std::vector<Vec3d>& positions, Evaluation& out) {
  const auto split = ewald_split(settings);
  Symmetric virial{};
  out.forces.resize(positions.size(), Vec3d{0, 0, 0});
  for (size_t a = 0; a < positions.size(); ++a)
    for (size_t b = 0; b <= a; ++b) {
      const double charges = kCoulomb * system.charges[a] * system.charges[b];
      const Vec3d d = positions[a] - positions[b];
      out.energy[kReciprocal] += (a == b ? 0.5 : 1) * charges * split->potential(dot(d, d));
      if (a == b) continue;
      const Vec3d force = charges * split->force(dot(d, d)) * d;
      out.forces[a] += force;
      out.forces[b] -= force;
      virial.add_product(force, d);
    }
  out.add_virial(virial);
}

}  // namespace

void reference_fmm(const System& system, const NonbondedSettings& settings, const Box& box,
                   const std::vector<Vec3d>& positions, Evaluation& out) {
  if (settings.has_open_grid()) return sum_open(system, settings, positions, out);
  const Int3 n = settings.grid;
  check_fmm_grid(settings.order, n);
  const MeshWindow window = level_window(settings, box);
  Grid charges(n);
  std::vector<Footprint> footprints;
  for (size_t a = 0; a < positions.size(); ++a) {
    footprints.push_back(footprint(box, n, window, positions[a]));
    const Footprint& f = footprints.back();
    over_points(f, n, settings.order, [&](size_t at, int i, int j, int k) {
      charges.values[at] += system.charges[a] * f.weight[0][i] * f.weight[1][j] * f.weight[2][k];
    });
  }
  Sum sum(settings, box);
  const Grid potential = sum.potential(charges);
  out.energy[kReciprocal] += kCoulomb * sum.energy;
  for (int k = 0; k < Symmetric::kParts; ++k) sum.virial[k] *= kCoulomb;
  out.add_virial(sum.virial);

  const Reciprocal reciprocal = reciprocal_vectors(box);
  out.forces.resize(positions.size(), Vec3d{0, 0, 0});
  for (size_t a = 0; a < positions.size(); ++a) {
    const Footprint& f = footprints[a];
    Vec3d gradient{0, 0, 0};
    over_points(f, n, settings.order, [&](size_t at, int i, int j, int k) {
      gradient += potential.values[at] * Vec3d{f.slope[0][i] * f.weight[1][j] * f.weight[2][k],
                                               f.weight[0][i] * f.slope[1][j] * f.weight[2][k],
                                               f.weight[0][i] * f.weight[1][j] * f.slope[2][k]};
    });
    out.forces[a] -= kCoulomb * system.charges[a] *
                     (n.x * gradient.x * reciprocal.a + n.y * gradient.y * reciprocal.b +
                      n.z * gradient.z * reciprocal.c);
  }
}

}  // namespace quiltmd
