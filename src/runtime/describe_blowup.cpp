// SPDX-License-Identifier: Apache-2.0
// The post-mortem looks at one atom in double precision: each kind of bonded term by the reference
// evaluation of the terms that hold it, and its closest neighbour among the atoms it is not bound
// to.
#include "runtime/describe_blowup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "computes/expressions/undefined.h"
#include "computes/reference.h"
#include "computes/wide_terms.h"

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

constexpr double kFelt = 1e-3;      // kJ/mol/nm: what a force must be to be told of
constexpr double kStretched = 0.9;  // of the length that a bond may not exceed

struct LargestForce {
  const char* name;
  double force;  // on the atom, kJ/mol/nm
};

// None where no bonded term acts on the atom.
std::optional<LargestForce> strongest_term(const Setup& setup, const std::vector<Vec3d>& positions,
                                           int32_t atom) {
  std::optional<LargestForce> worst;
  System one;
  one.masses = setup.system.masses;
  for (const Terms& terms : setup.system.terms) {
    one.terms = {terms_with(atom, terms)};
    if (one.terms[0].count() == 0) continue;
    Evaluation out;
    reference_bonded(one, setup.grid.box, positions, out);
    const double force = norm(out.forces[static_cast<size_t>(atom)]);
    if (force > (worst ? worst->force : kFelt)) worst = {terms.form->noun, force};
  }
  return worst;
}

struct Neighbour {
  int32_t atom;
  double distance;
};

// The closest of the atoms that it is not bound to; none where there are no others.
std::optional<Neighbour> closest(const Setup& setup, const std::vector<Vec3d>& positions,
                                 int32_t atom) {
  std::vector<int32_t> bound{atom};
  for (const auto& [i, j] : setup.system.exclusions) {
    if (i == atom) bound.push_back(j);
    if (j == atom) bound.push_back(i);
  }
  std::optional<Neighbour> best;
  for (int32_t j = 0; j < setup.system.atom_count(); ++j) {
    if (std::find(bound.begin(), bound.end(), j) != bound.end()) continue;
    const double d = norm(setup.grid.box.nearest_image(positions[static_cast<size_t>(j)] -
                                                       positions[static_cast<size_t>(atom)]));
    if (!best || d < best->distance) best = {j, d};
  }
  return best;
}

// The interactions of the atom, of the kinds that the system has.
std::string circumstances(const Setup& setup, const HostState& start, int32_t atom) {
  const auto near = closest(setup, start.positions, atom);
  const auto bond = nearest_to_limit(setup.system, setup.grid.box, start.positions, atom);
  const auto term = strongest_term(setup, start.positions, atom);
  std::string told = "; at step " + std::to_string(start.step);
  char text[160];
  if (near) {
    std::snprintf(text, sizeof text, " its closest non-bonded neighbour was atom %d at %.4f nm",
                  setup.system.input_index[static_cast<size_t>(near->atom)], near->distance);
    told += text;
  } else {
    told += " it had no non-bonded neighbour";
  }
  if (bond && (!term || bond->length > kStretched * bond->limit)) {
    std::snprintf(text, sizeof text,
                  " and its bond to atom %d was %.4f nm long, which may not exceed %.4f nm",
                  setup.system.input_index[static_cast<size_t>(bond->other)], bond->length,
                  bond->limit);
    told += text;
  } else if (term) {
    std::snprintf(text, sizeof text,
                  " and the strongest bonded force on it came from %s (%.3g kJ/mol/nm)", term->name,
                  term->force);
    told += text;
  } else {
    told += " and no bonded force acted on it";
  }
  return told +
         (near ? ". Minimise first, use a shorter time step, or look for overlapping atoms there"
               : ". Minimise first, use a shorter time step, or look at its velocity");
}

std::string describe_lost_term(const Setup& setup, const std::vector<Vec3d>& positions) {
  const WideTerm widest = widest_term(setup.system, setup.grid.box, positions);
  std::string told = "a bonded term";
  const char* joint = " of atom ";
  if (widest.terms) {
    told = widest.terms->form->noun;
    for (const int32_t atom : widest.terms->atoms_of(widest.term)) {
      told += joint + std::to_string(setup.system.input_index[static_cast<size_t>(atom)]);
      joint = ", atom ";
    }
  }
  const Vec3d widths = setup.grid.box.widths();
  double patch = widths.x / setup.grid.cells.x;
  for (int d = 1; d < 3; ++d) patch = std::min(patch, widths[d] / setup.grid.cells[d]);
  char text[80];
  std::snprintf(text, sizeof text, " is %.2f nm wide, too wide for patches of %.2f nm",
                widest.width, patch);
  return told + text +
         ": check that molecules are whole and that coordinates, box and topology belong "
         "together; if it is meant to be so wide, use a longer cutoff, which makes patches wider";
}

}  // namespace

std::string describe_blowup(const Setup& setup, const HostState& start, const Blowup& blowup) {
  if (blowup.cause == Blowup::Cause::kLostTerm) return describe_lost_term(setup, start.positions);
  if (blowup.cause == Blowup::Cause::kBuffer)
    return "the simulation blew up: within one step an atom moved farther than pair lists reach; "
           "minimise first, or use a shorter time step";
  const int32_t atom = std::clamp(blowup.atom, 0, setup.system.atom_count() - 1);
  const Box* const box = setup.grid.is_open() ? nullptr : &setup.grid.box;
  const std::string custom = describe_custom_forces(setup.system, box, start.positions, atom);
  const char* what = blowup.cause == Blowup::Cause::kConstraint
                         ? "its constraints could not be satisfied"
                     : blowup.cause == Blowup::Cause::kFarMigrant
                         ? "it moved past all neighbouring patches between two pair lists"
                         : "it moved out of bounds";
  return "the simulation blew up at atom " +
         std::to_string(setup.system.input_index[static_cast<size_t>(atom)]) + ": " + what +
         circumstances(setup, start, atom) + (custom.empty() ? custom : "; " + custom);
}

}  // namespace quiltmd
