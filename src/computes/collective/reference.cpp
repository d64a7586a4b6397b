// SPDX-License-Identifier: Apache-2.0
// Collective restraints in double precision, where centres are at the beginning of their paths.
#include "computes/collective/reference.h"

#include "computes/collective/operations.h"

namespace quiltmd {
namespace {

struct Bodies {
  const ReferenceInput& in;
  const CollectiveRestraint& restraint;

  Vec3d nearest(Vec3d way) const { return in.periodic ? in.box.nearest_image(way) : way; }
  const Vec3d& position(int32_t atom) const { return in.positions[static_cast<size_t>(atom)]; }
  Vec3d from_origin(const AtomGroup& group, size_t i) const {
    return nearest(position(group.atoms[i]) - position(group.origin));
  }
  Vec3d centre(const AtomGroup& group) const {
    Vec3d sum{};
    for (size_t i = 0; i < group.atoms.size(); ++i) sum += group.weights[i] * from_origin(group, i);
    return sum + position(group.origin);
  }
};

void add_body_sums(const Bodies& bodies, double* sums) {
  const AtomGroup& group = bodies.restraint.groups[0];
  for (size_t i = 0; i < group.atoms.size(); ++i) {
    const double w = group.weights[i];
    const Vec3d d = bodies.from_origin(group, i);
    const Vec3d r = bodies.restraint.reference.empty() ? Vec3d{} : bodies.restraint.reference[i];
    const Symmetric moments = product(w * d, d);
    for (int a = 0; a < 3; ++a) {
      sums[a] += w * d[a];
      for (int b = 0; b < 3; ++b) sums[kCorrelations + 3 * a + b] += w * r[a] * d[b];
    }
    for (int v = 0; v < Symmetric::kParts; ++v) sums[kMoments + v] += moments[v];
  }
}

template <class Visit>
void for_contacts(const Bodies& bodies, const CollectiveTerm& term, const Visit& visit) {
  for (const int32_t i : bodies.restraint.groups[0].atoms)
    for (const int32_t j : bodies.restraint.groups[1].atoms) {
      const Vec3d way = bodies.nearest(bodies.position(i) - bodies.position(j));
      visit(static_cast<size_t>(i), static_cast<size_t>(j), way, Contact(term, dot(way, way)));
    }
}

void add_contact_sums(const Bodies& bodies, const CollectiveTerm& term, double* sums) {
  for_contacts(bodies, term, [&](size_t, size_t, Vec3d way, const Contact& contact) {
    sums[0] += contact.count;
    const Symmetric virial = product(contact.slope * way, way);
    for (int v = 0; v < Symmetric::kParts; ++v) sums[kContactVirial + v] += virial[v];
  });
}

void add_forces(const Bodies& bodies, const CollectiveTerm& term, const CollectivePull& pull,
                std::vector<Vec3d>& forces) {
  const bool centres = sums_of(term.kind) == kMoments;
  for (size_t g = 0; g < bodies.restraint.groups.size(); ++g) {
    const AtomGroup& group = bodies.restraint.groups[g];
    for (size_t i = 0; i < group.atoms.size(); ++i) {
      Vec3d& force = forces[static_cast<size_t>(group.atoms[i])];
      if (centres) {
        force += group.weights[i] * pull.force[g];
        continue;
      }
      Vec3d way = bodies.from_origin(group, i) - pull.centre;
      if (term.kind == CollectiveKind::kRmsd)
        way = way - pull.rotation(bodies.restraint.reference[i]);
      force += (pull.scale * group.weights[i]) * way;
    }
  }
}

void add_restraint(const ReferenceInput& in, const CollectiveRestraint& restraint,
                   Evaluation& out) {
  const Bodies bodies{in, restraint};
  const CollectiveTerm term = term_of(restraint);
  const bool contacts = term.kind == CollectiveKind::kCoordination;
  CollectiveRoom room{};
  if (contacts)
    add_contact_sums(bodies, term, room.sums);
  else
    add_body_sums(bodies, room.sums);
  for (size_t g = 1; g < restraint.groups.size(); ++g)
    room.between[g - 1] =
        bodies.nearest(bodies.centre(restraint.groups[g]) - bodies.centre(restraint.groups[g - 1]));
  const CollectiveValue found =
      evaluate_collective(term, room, CollectiveSpring{term, 1, restraint.path[0][1]});
  out.energy[kCollectiveEnergy] += found.energy;
  out.add_virial(found.virial);
  if (!contacts) return add_forces(bodies, term, found.pull, out.forces);
  for_contacts(bodies, term, [&](size_t i, size_t j, Vec3d way, const Contact& contact) {
    const Vec3d force = (found.pull.scale * contact.slope) * way;
    out.forces[i] += force;
    out.forces[j] -= force;
  });
}

}  // namespace

void reference_collective(const ReferenceInput& in, Evaluation& out) {
  for (const CollectiveRestraint& restraint : in.system.collective)
    add_restraint(in, restraint, out);
}

}  // namespace quiltmd
