// SPDX-License-Identifier: Apache-2.0
// The post-mortem looks at one atom in double precision: each kind of bonded term by the reference
// evaluation of the terms that hold it, and its closest neighbour among the atoms it is not bound
// to.
#include "runtime/describe_blowup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "computes/reference.h"

namespace quiltmd {
namespace {

Terms terms_with(int32_t atom, const Terms& all) {
  Terms some{all.form, {}, {}, all.shared, all.shared_rows};
  for (int t = 0; t < all.count(); ++t) {
    const auto atoms = all.atoms_of(t);
    if (std::find(atoms.begin(), atoms.end(), atom) != atoms.end())
      some.add(atoms, all.parameters_of(t));
  }
  return some;
}

struct LargestForce {
  const char* name;
  double force;  // on the atom, kJ/mol/nm
};

LargestForce strongest_term(const Setup& setup, const std::vector<Vec3d>& positions, int32_t atom) {
  LargestForce worst{"nothing bonded", 0};
  System one;
  one.masses = setup.system.masses;
  for (const Terms& terms : setup.system.terms) {
    one.terms = {terms_with(atom, terms)};
    Evaluation out;
    reference_bonded(one, setup.grid.box, positions, out);
    const double force = norm(out.forces[static_cast<size_t>(atom)]);
    if (force > worst.force) worst = {terms.form->noun, force};
  }
  return worst;
}

struct Neighbour {
  int32_t atom = -1;
  double distance = 1e30;
};

Neighbour closest(const Setup& setup, const std::vector<Vec3d>& positions, int32_t atom) {
  std::vector<int32_t> bound{atom};
  for (const auto& [i, j] : setup.system.exclusions) {
    if (i == atom) bound.push_back(j);
    if (j == atom) bound.push_back(i);
  }
  Neighbour best;
  for (int32_t j = 0; j < setup.system.atom_count(); ++j) {
    if (std::find(bound.begin(), bound.end(), j) != bound.end()) continue;
    const double d = norm(setup.grid.box.nearest_image(positions[static_cast<size_t>(j)] -
                                                       positions[static_cast<size_t>(atom)]));
    if (d < best.distance) best = {j, d};
  }
  return best;
}

}  // namespace

std::string describe_blowup(const Setup& setup, const HostState& start, const Blowup& blowup) {
  if (blowup.cause == Blowup::Cause::kLostTerm)
    return "a bonded term is stretched farther than a patch is wide (1 nm or more): the molecules "
           "are broken; check that coordinates, box and topology belong together";
  const int32_t atom = std::clamp(blowup.atom, 0, setup.system.atom_count() - 1);
  const auto& index = setup.system.input_index;
  const Neighbour near = closest(setup, start.positions, atom);
  const LargestForce term = strongest_term(setup, start.positions, atom);
  const char* what = blowup.cause == Blowup::Cause::kConstraint
                         ? "its constraints could not be satisfied"
                         : "it moved out of bounds";
  char text[512];
  std::snprintf(text, sizeof text,
                "the simulation blew up at atom %d: %s; at step %lld its closest "
                "non-bonded neighbour was atom %d at %.4f nm and the strongest bonded force on it "
                "came from %s (%.3g kJ/mol/nm). Minimise first, use a shorter time step, or look "
                "for overlapping atoms there",
                index[static_cast<size_t>(atom)], what, static_cast<long long>(start.step),
                near.atom >= 0 ? index[static_cast<size_t>(near.atom)] : -1, near.distance,
                term.name, term.force);
  return text;
}

}  // namespace quiltmd
