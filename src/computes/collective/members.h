// SPDX-License-Identifier: Apache-2.0
// What each atom of a group adds to sums, and the force on it. Every contribution is fixed point by itself, so
// neither threads nor ranks show in a sum. `add(place, value)` adds an integer.
#pragma once

#include "computes/collective/operations.h"
#include "math/bits.h"
#include "math/fixed.h"

namespace quiltmd {

QMD_HD int64_t to_sum(double value) { return to_fixed(value, kCollectiveScale); }

QMD_HD Vec3d shared_position(const int64_t* shared, int place) {
  const int64_t* const at = shared + 3 * static_cast<ptrdiff_t>(place);
  return {from_bits(at[0]), from_bits(at[1]), from_bits(at[2])};
}

QMD_HD void share_position(const GatherCollective& op, int place) {
  const int slot = op.of.slot(op.of.shared_atoms[place]);
  const Vec3d x = slot < 0 ? Vec3d{} : op.of.position[slot];
  int64_t* const to = op.shared + 3 * static_cast<ptrdiff_t>(place);
  to[0] = to_bits(x.x);
  to[1] = to_bits(x.y);
  to[2] = to_bits(x.z);
}

// A member on this rank: its group, its restraint, and where it is.
struct PlacedMember {
  const CollectiveMember& member;
  const CollectiveBody& body;
  const CollectiveTerm& term;
  int slot;  // -1: on another rank

  QMD_HD PlacedMember(const CollectiveTable& of, int number)
      : member(of.members[number]),
        body(of.bodies[member.body]),
        term(of.terms[body.term]),
        slot(of.slot(member.atom)) {}
  QMD_HD bool is_contact() const { return term.kind == CollectiveKind::kCoordination; }
  QMD_HD Vec3d from_origin(const CollectiveTable& of, const int64_t* shared) const {
    return of.nearest(of.position[slot] - shared_position(shared, body.origin));
  }
};

// The group that has contacts with this one.
QMD_HD const CollectiveBody& partners_of(const CollectiveTable& of, const CollectiveBody& body) {
  return of.bodies[of.terms[body.term].first_body + 1 - body.role];
}

// Zeros for a member that is not `here`.
template <class Add>
QMD_HD void add_body_sums(const SumCollective& op, const PlacedMember& placed, bool here,
                          const Add& add) {
  const double w = here ? placed.member.weight : 0;
  const Vec3d d = here ? placed.from_origin(op.of, op.shared) : Vec3d{};
  const int first = placed.body.sums, count = sums_of(placed.term.kind);
  for (int k = 0; k < kMoments; ++k) add(first + k, to_sum(w * d[k]));
  if (count == kMoments) return;
  const Symmetric moments = product(w * d, d);
  for (int v = 0; v < Symmetric::kParts; ++v) add(first + kMoments + v, to_sum(moments[v]));
  if (count == kCorrelations) return;
  const Vec3d r = placed.member.reference;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) add(first + kCorrelations + 3 * i + j, to_sum(w * r[i] * d[j]));
}

// One pair of coordination: counted at the atoms of the first group.
template <class Add>
QMD_HD void add_contact_sums(const SumCollective& op, const PlacedMember& placed, int partner,
                             const Add& add) {
  const Vec3d to = shared_position(op.shared, partners_of(op.of, placed.body).origin + partner);
  const Vec3d way = op.of.nearest(op.of.position[placed.slot] - to);
  const Contact contact(placed.term, dot(way, way));
  add(placed.body.sums, to_sum(contact.count));
  const Symmetric virial = product(contact.slope * way, way);
  for (int v = 0; v < Symmetric::kParts; ++v)
    add(placed.body.sums + kContactVirial + v, to_sum(virial[v]));
}

QMD_HD Vec3d contact_force(const ApplyCollective& op, const PlacedMember& placed, int partner) {
  const Vec3d to = shared_position(op.shared, partners_of(op.of, placed.body).origin + partner);
  const Vec3d way = op.of.nearest(op.of.position[placed.slot] - to);
  const Contact contact(placed.term, dot(way, way));
  return (op.pulls[placed.body.term].scale * contact.slope) * way;
}

QMD_HD Vec3d body_force(const ApplyCollective& op, const PlacedMember& placed) {
  const CollectivePull& pull = op.pulls[placed.body.term];
  const double w = placed.member.weight;
  if (sums_of(placed.term.kind) == kMoments) return w * pull.force[placed.body.role];
  Vec3d way = placed.from_origin(op.of, op.shared) - pull.centre;
  if (placed.term.kind == CollectiveKind::kRmsd) way = way - pull.rotation(placed.member.reference);
  return (pull.scale * w) * way;
}

// The variable of a restraint, with the energy and the slope that `slope_at` gives for its value.
template <class Slope>
QMD_HD CollectiveValue evaluate_variable(const EvaluateCollective& op, int number,
                                         CollectiveRoom& room, const Slope& slope_at) {
  const CollectiveTerm& term = op.of.terms[number];
  const bool centres = sums_of(term.kind) == kMoments;
  Vec3d before{};
  for (int b = 0; b < (centres ? term.bodies : 1); ++b) {
    const CollectiveBody& body = op.of.bodies[term.first_body + b];
    for (int k = 0; k < sums_of(term.kind); ++k)
      room.sums[k] = from_fixed(op.sums[body.sums + k], kCollectiveScale);
    const Vec3d centre =
        shared_position(op.shared, body.origin) + Vec3d{room.sums[0], room.sums[1], room.sums[2]};
    if (b > 0) room.between[b - 1] = op.of.nearest(centre - before);
    before = centre;
  }
  return evaluate_collective(term, room, slope_at);
}

// A restraint without its spring: only the value.
struct NoSlope {
  QMD_HD CollectiveSlope operator()(double) const { return {0, 0}; }
};

// The spring of a restraint, and the slope of the bias by its variable; the energy of the bias is counted with the
// first of its variables.
struct BiasedSpring {
  const EvaluateCollective& op;
  int number;
  CollectiveSpring spring;
  CollectiveRoom& room;  // for the other variable

  QMD_HD CollectiveSlope operator()(double value) const {
    CollectiveSlope found = spring(value);
    for (int a = 0; a < op.bias.axes; ++a) {
      if (op.bias.axis[a].term != number) continue;
      double values[kMostBiasAxes];
      for (int b = 0; b < op.bias.axes; ++b)
        values[b] =
            b == a ? value : evaluate_variable(op, op.bias.axis[b].term, room, NoSlope()).value;
      const BiasValue bias = bias_at(op.bias, values);
      found.slope += bias.slope[a];
      if (a == 0) found.energy += bias.energy;
    }
    return found;
  }
};

// A restraint as a whole, with room for two.
QMD_HD CollectiveValue evaluate_term(const EvaluateCollective& op, int number,
                                     CollectiveRoom* rooms) {
  const CollectiveTerm& term = op.of.terms[number];
  const double time = static_cast<double>(*op.step) * op.timestep;
  const double centre = term.points > 0 ? centre_at(op.path + term.first_point, term.points, time)
                                        : op.centres[number];
  const CollectiveSpring spring{term, op.of.conditions->restraint_strength, centre};
  return evaluate_variable(op, number, rooms[0], BiasedSpring{op, number, spring, rooms[1]});
}

// A restraint by itself, and what it adds: `add(place, value)` to an accumulator.
template <class Add>
QMD_HD void evaluate_and_count(const EvaluateCollective& op, int number, CollectiveRoom* rooms,
                               const Add& add) {
  const CollectiveValue found = evaluate_term(op, number, rooms);
  op.pulls[number] = found.pull;
  if (!op.energy || !op.is_counted_here(number)) return;
  add(op.energy + kCollectiveEnergy, to_fixed(found.energy, kEnergyScale));
  for (int v = 0; v < Symmetric::kParts; ++v)
    add(op.energy + kVirial + v, to_fixed(found.virial[v], kEnergyScale));
  add(op.values + number, to_fixed(found.value, kEnergyScale));
}

}  // namespace quiltmd
