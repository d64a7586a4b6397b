// SPDX-License-Identifier: Apache-2.0
// Generalized Born in double precision by plain loops over pairs: sums of integrals, radii, energies, and
// the chain rule.
#include "computes/reference.h"
#include "computes/all_pairs/born.h"
#include "math/units.h"

namespace quiltmd {
namespace {

Curve<double> screening_of(const ImplicitSolvent& solvent, size_t i, size_t j, double r) {
  const BornAtom &a = solvent.atoms[i], &b = solvent.atoms[j];
  Curve<double> found = screening(r, 1 / r, a.offset_radius, b.scaled_radius);
  if (solvent.neck_types > 0 && r < a.radius + b.radius + kNeckReach) {
    const auto pair = static_cast<size_t>(a.neck_type * solvent.neck_types + b.neck_type);
    const Curve<double> more = neck(r, solvent.neck_distance[pair], solvent.neck_height[pair]);
    found = {found.value + more.value, found.slope + more.slope};
  }
  return found;
}

std::vector<Curve<double>> radii_of(const ImplicitSolvent& solvent, double cutoff,
                                    const std::vector<Vec3d>& positions) {
  std::vector<Curve<double>> radii;
  for (size_t i = 0; i < positions.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < positions.size(); ++j) {
      const double r = norm(positions[i] - positions[j]);
      if (j != i && r < cutoff) sum += screening_of(solvent, i, j, r).value;
    }
    radii.push_back(born_radius(sum, solvent.atoms[i], solvent.function));
  }
  return radii;
}

}  // namespace

void reference_solvent(const System& system, const NonbondedSettings& settings,
                       const std::vector<Vec3d>& positions, Evaluation& out) {
  if (!system.solvent) return;
  const ImplicitSolvent& solvent = *system.solvent;
  const size_t atoms = positions.size();
  const double inverse = 1 / solvent.dielectric, cutoff = settings.cutoff;
  const auto radii = radii_of(solvent, cutoff, positions);
  std::vector<double> by_radius(atoms, 0.0);
  const auto push = [&](size_t i, size_t j, double over_r, Vec3d way) {
    out.forces[i] += over_r * way;
    out.forces[j] += -over_r * way;
  };
  for (size_t i = 0; i < atoms; ++i) {
    const double q = system.charges[i];
    const OfOneAtom own = energy_of_one(radii[i].value, solvent.atoms[i], kCoulomb * q * q, inverse,
                                        solvent.kappa, solvent.surface);
    out.energy[kPolarisation] += own.polarisation;
    out.energy[kSurface] += own.surface;
    by_radius[i] += own.by_radius;
    for (size_t j = 0; j < i; ++j) {
      const Vec3d way = positions[i] - positions[j];
      if (norm(way) >= cutoff) continue;
      const double product = radii[i].value * radii[j].value;
      const auto pair =
          polarisation(dot(way, way), product, 1 / product, kCoulomb * q * system.charges[j],
                       inverse, solvent.kappa, 1 / cutoff);
      out.energy[kPolarisation] += pair.energy;
      by_radius[i] += pair.by_product * radii[j].value;
      by_radius[j] += pair.by_product * radii[i].value;
      push(i, j, pair.force_over_r, way);
    }
  }
  for (size_t i = 0; i < atoms; ++i)
    for (size_t j = 0; j < i; ++j) {
      const Vec3d way = positions[i] - positions[j];
      const double r = norm(way);
      if (r >= cutoff) continue;
      const double slope = by_radius[i] * radii[i].slope * screening_of(solvent, i, j, r).slope +
                           by_radius[j] * radii[j].slope * screening_of(solvent, j, i, r).slope;
      push(i, j, -slope / r, way);
    }
}

}  // namespace quiltmd
