// SPDX-License-Identifier: Apache-2.0
// Values of collective restraints, and what they pull with, from sums over groups of atoms. Of each atom of a
// group d is the vector from the group's origin, an atom, to its nearest image: a group is whole where none of its
// atoms is further from its origin than half the box. With weights w whose sum is 1:
//
//   centre          c = sum of w d, from the origin
//   gyration        Rg^2 = sum of w d^2 - c^2
//   RMSD            R^2 = sum of w (d - c)^2 + sum of w r^2 - 2 overlap (superposition.h), r of the reference
//   coordination    the sum over pairs of 1 / (1 + (r / contact)^n)
//
// All in double precision; the same functions serve all devices and the reference.
#pragma once

#include <cmath>

#include "computes/bonded/forms/angle.h"
#include "computes/bonded/forms/dihedral.h"
#include "computes/bonded/forms/flat_bottom.h"
#include "computes/collective/superposition.h"
#include "math/units.h"
#include "system/collective.h"

namespace quiltmd {

// Unit of sums: 2^-40 nm, nm^2 or contacts; a contribution is below 4096 nm, nm^2 or contacts.
inline constexpr double kCollectiveScale = 1099511627776.0;
inline constexpr int kMostBodies = 4;

// Sums of a group. A centre has three; second moments follow, and correlations with the reference. The contacts of
// coordination are summed up over the first group.
inline constexpr int kMoments = 3, kCorrelations = kMoments + Symmetric::kParts;
inline constexpr int kContactVirial = 1;
inline constexpr int kMostSums = kCorrelations + 9;
QMD_HD int sums_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kGyration:
      return kCorrelations;
    case CollectiveKind::kRmsd:
      return kMostSums;
    case CollectiveKind::kCoordination:
      return kContactVirial + Symmetric::kParts;
    default:
      return kMoments;
  }
}

// A centre that moves: linearly between points, and before and after them as there.
struct CentrePoint {
  double time, centre;  // ps
};

// A restraint.
struct CollectiveTerm {
  CollectiveKind kind;
  int32_t bodies, first_body, first_sum;
  int32_t first_point, points;  // of its path; 0: the centre is at rest
  int32_t exponent;
  double contact;
  double spread;  // of the reference: the sum of w r^2
  double k, width, linear;
};

// The numbers of a restraint; the places of its groups and of its path in tables are left at zero.
inline CollectiveTerm term_of(const CollectiveRestraint& restraint) {
  CollectiveTerm term{};
  term.kind = restraint.kind;
  term.exponent = restraint.exponent;
  term.contact = restraint.contact;
  for (size_t i = 0; i < restraint.reference.size(); ++i)
    term.spread +=
        restraint.groups[0].weights[i] * dot(restraint.reference[i], restraint.reference[i]);
  term.k = restraint.k;
  term.width = restraint.width;
  term.linear = restraint.linear;
  return term;
}

// Pull on the atoms of a restraint. For centres: `force`, distributed by weights. Otherwise the force on each
// atom is `scale` times w (d - c), w (d - c - rotated reference), or the slope of its contacts.
struct CollectivePull {
  Vec3d force[kMostBodies];
  double scale;
  Vec3d centre;
  Rotation rotation;
};

// Arguments of a variable: vectors between consecutive centres, or sums of the first group.
struct CollectiveRoom {
  Vec3d between[kMostBodies - 1];
  double sums[kMostSums];
  SuperpositionRoom superposition;
};

// Values of a restraint.
struct CollectiveValue {
  double value, energy;
  Symmetric virial;
  CollectivePull pull;
};

// An energy that depends on the value alone, and its slope.
struct CollectiveSlope {
  double energy, slope;
};

// The spring of a restraint.
struct CollectiveSpring {
  const CollectiveTerm& term;
  double strength, centre;

  QMD_HD CollectiveSlope operator()(double value) const {
    const double turn = 2 * kPi;
    double deviation = value - centre;
    if (term.kind == CollectiveKind::kTorsion)
      deviation -= turn * std::floor(deviation / turn + 0.5);
    const double outside = beyond_width(deviation, term.width);
    const double stretch =
        outside > term.linear ? term.linear : (outside < -term.linear ? -term.linear : outside);
    const double slope = strength * term.k * stretch;
    return {slope * (outside - 0.5 * stretch), slope};
  }
};

QMD_HD double centre_at(const CentrePoint* points, int count, double time) {
  if (time <= points[0].time) return points[0].centre;
  for (int p = 1; p < count; ++p)
    if (time < points[p].time) {
      const double share = (time - points[p - 1].time) / (points[p].time - points[p - 1].time);
      return points[p - 1].centre + share * (points[p].centre - points[p - 1].centre);
    }
  return points[count - 1].centre;
}

// One pair of coordination: what it counts, and its slope by r divided by r.
struct Contact {
  double count, slope;

  QMD_HD Contact(const CollectiveTerm& term, double r2) {
    const double per_contact2 = 1 / (term.contact * term.contact), x2 = r2 * per_contact2;
    double lower = 1;  // x^(n - 2)
    for (int p = 2; p < term.exponent; p += 2) lower *= x2;
    count = 1 / (1 + lower * x2);
    slope = -term.exponent * per_contact2 * lower * count * count;
    if (!(count > 0)) slope = 0;  // so far away that powers overflow
  }
};

QMD_HD Symmetric product(Vec3d a, Vec3d b) {
  Symmetric found{};
  found.add_product(a, b);
  return found;
}

// From the vectors between consecutive centres.
template <class Slope>
QMD_HD CollectiveValue evaluate_distance(const Vec3d* between, const Slope& slope_at) {
  CollectiveValue found{};
  found.value = norm(between[0]);
  const CollectiveSlope spring = slope_at(found.value);
  found.energy = spring.energy;
  const Vec3d pull = (found.value > 0 ? spring.slope / found.value : 0) * between[0];
  found.pull.force[0] = pull;
  found.pull.force[1] = -pull;
  found.virial = product(-pull, between[0]);
  return found;
}

template <class Slope>
QMD_HD CollectiveValue evaluate_angle(const Vec3d* between, const Slope& slope_at) {
  CollectiveValue found{};
  const Angle<double> angle(between);
  found.value = angle.theta;
  const CollectiveSlope spring = slope_at(found.value);
  found.energy = spring.energy;
  const AngleForces<double> force = angle.forces(spring.slope);
  const Vec3d last = -(force.first + force.second);
  found.pull.force[0] = force.first;
  found.pull.force[1] = force.second;
  found.pull.force[2] = last;
  found.virial = product(-force.first, between[0]);
  found.virial += product(last, between[1]);
  return found;
}

template <class Slope>
QMD_HD CollectiveValue evaluate_torsion(const Vec3d* between, const Slope& slope_at) {
  CollectiveValue found{};
  const Dihedral<double> phi(between);
  found.value = std::atan2(phi.sine, phi.cosine);
  const CollectiveSlope spring = slope_at(found.value);
  found.energy = spring.energy;
  const DihedralForces<double> force = phi.forces(between, spring.slope);
  const Vec3d last = -(force.first + force.second + force.third);
  found.pull.force[0] = force.first;
  found.pull.force[1] = force.second;
  found.pull.force[2] = force.third;
  found.pull.force[3] = last;
  found.virial = product(-force.first, between[0]);
  found.virial += product(force.third, between[1]);
  found.virial += product(last, between[1] + between[2]);
  return found;
}

// The sums of a group that is a body of its own.
struct BodySums {
  Vec3d centre;
  Symmetric moments;  // about the centre

  QMD_HD explicit BodySums(const double* sums) : centre{sums[0], sums[1], sums[2]} {
    moments = product(-centre, centre);
    for (int v = 0; v < Symmetric::kParts; ++v) moments[v] += sums[kMoments + v];
  }
  QMD_HD double square() const {
    const double sum = moments[0] + moments[1] + moments[2];
    return sum > 0 ? sum : 0;
  }
};

template <class Slope>
QMD_HD CollectiveValue evaluate_gyration(const double* sums, const Slope& slope_at) {
  CollectiveValue found{};
  const BodySums body(sums);
  found.value = std::sqrt(body.square());
  const CollectiveSlope spring = slope_at(found.value);
  found.energy = spring.energy;
  found.pull.centre = body.centre;
  found.pull.scale = found.value > 0 ? -spring.slope / found.value : 0;
  for (int v = 0; v < Symmetric::kParts; ++v) found.virial[v] = found.pull.scale * body.moments[v];
  return found;
}

template <class Slope>
QMD_HD CollectiveValue evaluate_rmsd(const CollectiveTerm& term, CollectiveRoom& room,
                                     const Slope& slope_at) {
  CollectiveValue found{};
  const BodySums body(room.sums);
  const double* const s = room.sums + kCorrelations;
  const Superposition best(s, room.superposition);
  const double square = body.square() + term.spread - 2 * best.overlap;
  found.value = square > 0 ? std::sqrt(square) : 0;
  const CollectiveSlope spring = slope_at(found.value);
  found.energy = spring.energy;
  found.pull.centre = body.centre;
  found.pull.rotation = best.rotation;
  found.pull.scale = found.value > 0 ? -spring.slope / found.value : 0;
  found.virial = body.moments;
  for (int j = 0; j < 3; ++j) {  // less the rotated reference (x) point, by columns
    const Vec3d unit{j == 0 ? 1.0 : 0, j == 1 ? 1.0 : 0, j == 2 ? 1.0 : 0};
    found.virial += product(-best.rotation({s[j], s[3 + j], s[6 + j]}), unit);
  }
  for (int v = 0; v < Symmetric::kParts; ++v) found.virial[v] *= found.pull.scale;
  return found;
}

template <class Slope>
QMD_HD CollectiveValue evaluate_coordination(const double* sums, const Slope& slope_at) {
  CollectiveValue found{};
  found.value = sums[0];
  const CollectiveSlope spring = slope_at(found.value);
  found.energy = spring.energy;
  found.pull.scale = -spring.slope;
  for (int v = 0; v < Symmetric::kParts; ++v)
    found.virial[v] = found.pull.scale * sums[kContactVirial + v];
  return found;
}

// `slope_at`: energy and slope where the variable has a value.
template <class Slope>
QMD_HD CollectiveValue evaluate_collective(const CollectiveTerm& term, CollectiveRoom& room,
                                           const Slope& slope_at) {
  switch (term.kind) {
    case CollectiveKind::kDistance:
      return evaluate_distance(room.between, slope_at);
    case CollectiveKind::kAngle:
      return evaluate_angle(room.between, slope_at);
    case CollectiveKind::kTorsion:
      return evaluate_torsion(room.between, slope_at);
    case CollectiveKind::kGyration:
      return evaluate_gyration(room.sums, slope_at);
    case CollectiveKind::kRmsd:
      return evaluate_rmsd(term, room, slope_at);
    default:
      return evaluate_coordination(room.sums, slope_at);
  }
}

}  // namespace quiltmd
