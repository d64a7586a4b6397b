// SPDX-License-Identifier: Apache-2.0
// Embedded atoms in double precision, by plain loops over all pairs.
#include "computes/embedded/reference.h"

#include "computes/embedded/tables.h"

namespace quiltmd {
namespace {

// The cubics of one of several tables of as many points each.
class Curves {
 public:
  Curves(const std::vector<double>& tables, int points, double step)
      : intervals_(points - 1), per_step_(1 / step) {
    for (size_t first = 0; first < tables.size(); first += static_cast<size_t>(points))
      for (const Cubic& cubic :
           cubics(std::span(tables).subspan(first, static_cast<size_t>(points))))
        rows_.insert(rows_.end(), cubic.begin(), cubic.end());
  }
  CubicValue at(int table, double x) const {
    const CubicValue found = cubic_at(rows_.data() + 4 * static_cast<ptrdiff_t>(table) * intervals_,
                                      intervals_, x * per_step_);
    return {found.value, found.slope * per_step_};
  }

 private:
  int intervals_;
  double per_step_;
  std::vector<double> rows_;
};

// visit(i, j, from j to i, distance), each pair once.
template <class Visit>
void over_pairs(const ReferenceInput& in, Visit visit) {
  for (size_t i = 0; i < in.positions.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Vec3d d = in.box.nearest_image(in.positions[i] - in.positions[j]);
      const double r = norm(d);
      if (r < in.system.embedded->cutoff) visit(i, j, d, r);
    }
}

}  // namespace

void reference_embedded(const ReferenceInput& in, Evaluation& out) {
  const EmbeddedAtoms& embedded = *in.system.embedded;
  const Curves densities(embedded.densities, embedded.points(), embedded.spacing);
  const Curves pairs(embedded.pairs, embedded.points(), embedded.spacing);
  const Curves embedding(embedded.embedding, embedded.density_points(), embedded.density_step);
  const auto at = [&](size_t i, size_t j) {
    return embedded.type_of_atom[i] * embedded.types + embedded.type_of_atom[j];
  };
  std::vector<double> density(in.positions.size(), 0), slope;
  over_pairs(in, [&](size_t i, size_t j, Vec3d, double r) {
    density[i] += densities.at(at(i, j), r).value;
    density[j] += densities.at(at(j, i), r).value;
  });
  for (size_t i = 0; i < density.size(); ++i) {
    const CubicValue found = embedding.at(embedded.type_of_atom[i], density[i]);
    out.energy[kManyBody] += found.value;
    slope.push_back(found.slope);
  }
  over_pairs(in, [&](size_t i, size_t j, Vec3d d, double r) {
    const CubicValue product = pairs.at(at(i, j), r);
    const double energy = product.value / r;
    const double by_r = (product.slope - energy) / r + slope[i] * densities.at(at(i, j), r).slope +
                        slope[j] * densities.at(at(j, i), r).slope;
    const Vec3d force = (-by_r / r) * d;
    out.energy[kManyBody] += energy;
    out.forces[i] += force;
    out.forces[j] -= force;
    Symmetric virial{};
    virial.add_product(force, d);
    out.add_virial(virial);
  });
}

}  // namespace quiltmd
