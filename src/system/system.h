// SPDX-License-Identifier: Apache-2.0
// What is simulated: atoms, masses, charges, force-field terms, constraints, exclusions. Plain
// data, immutable once built. Atoms are in the *internal order*, in which the atoms of a hydrogen
// group are contiguous; `input_index` leads back to the order of the user's files.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "math/box.h"
#include "system/alchemy.h"
#include "system/collective.h"
#include "system/embedded_atoms.h"
#include "system/expression.h"
#include "system/implicit_solvent.h"
#include "system/site.h"
#include "system/term_form.h"
#include "system/three_body.h"

namespace quiltmd {

// All terms of one form.
struct Terms {
  const TermForm* form;
  std::vector<int32_t> atoms;      // (terms, atoms of a term)
  std::vector<double> parameters;  // (terms, parameters of a term)
  std::vector<double> shared;      // (shared_rows, any length): what the terms refer to by row
  int shared_rows = 0;

  int count() const { return static_cast<int>(atoms.size()) / form->atoms; }
  std::span<const int32_t> atoms_of(int term) const;
  std::span<const double> parameters_of(int term) const;
  void add(std::span<const int32_t> term_atoms, std::span<const double> term_parameters);
};

// Atoms of a hydrogen group, virtual sites included: one of more than the first number is large.
inline constexpr int kSmallGroupSize = 8, kMaxGroupSize = 64;

struct System {
  std::vector<double> masses;       // amu
  std::vector<double> charges;      // e
  std::vector<int32_t> pair_types;  // of each atom its type in the tables of the pair form
  int pair_type_count = 0;
  // The interaction of pairs besides Coulomb: the name of its form (computes/nonbonded/forms), and
  // for each of the form's parameters a table (types, types). Lennard-Jones: a, b.
  std::string pair_form = "lennard-jones";
  std::vector<std::vector<double>> pair_tables;

  std::vector<Terms> terms;  // by form; a form that is not used has no entry
  std::vector<std::array<int32_t, 2>> exclusions;
  std::vector<std::array<int32_t, 2>> constraints;
  std::vector<double> constraint_lengths;
  std::vector<Site> sites;
  std::vector<int32_t> molecules;  // of each atom, a number; none: hydrogen groups are molecules

  std::optional<ImplicitSolvent> solvent;
  std::optional<Alchemy> alchemy;
  std::vector<CollectiveRestraint> collective;
  std::optional<EmbeddedAtoms> embedded;
  std::vector<ExpressionForce> expressions;
  std::vector<PairExpression> pair_expressions;
  std::vector<std::string> custom_energies;  // names of energies of these two
  std::optional<ThreeBodyPotential> three_body;

  std::vector<int32_t> group_start;  // (groups + 1): internal index of each group's first atom
  std::vector<int32_t> input_index;  // internal index -> index in the input

  int atom_count() const { return static_cast<int>(masses.size()); }
  int group_count() const { return static_cast<int>(group_start.size()) - 1; }
  int term_count() const;
  // End of the atoms with mass of a group; virtual sites follow.
  int32_t end_of_masses(int group) const;
  bool is_large(int group) const;
  bool has_large_groups() const;

  // The terms of a form: null where there are none; to be added to, made where there are none.
  const Terms* terms_of(const TermForm& form) const;
  Terms& terms_to_fill(const TermForm& form);
};

// Reorder a system given in input order so that hydrogen groups are contiguous, and name the
// groups: the connected sets of constraints (a heavy atom and its hydrogens, a rigid water) and of virtual
// sites with their parents, every other atom being a group of its own. Sites are the last atoms of their
// group. Throws Error for a set larger than kMaxGroupSize.
System with_groups(const System& input);

// Bounds of the distance of atoms from the first atom of their group, nm.
struct GroupRadii {
  double small = 0, any = 0;  // of groups that are not large; of all
  void add(double radius, bool is_large) {
    any = std::max(any, radius);
    if (!is_large) small = std::max(small, radius);
  }
};
// Along constraints; in groups with virtual sites, atoms to which no constraints lead do not count.
GroupRadii group_radii(const System& system);
// The largest distance of an atom of a large group from its first atom, nm; 0: none.
double extent_of_large_groups(const System& system, const std::vector<Vec3d>& positions);

}  // namespace quiltmd
