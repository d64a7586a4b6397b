// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups: the connected sets of constraints. They are found by union-find, ordered by
// their lowest input index, and every list of the system is rewritten in the new order, so that
// nothing downstream ever sees a group that is not contiguous.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "math/error.h"
#include "system/system.h"

namespace quiltmd {
namespace {

size_t at(int32_t index) { return static_cast<size_t>(index); }

void check_atoms(const char* kind, const int32_t* first, size_t count, int atoms) {
  for (size_t i = 0; i < count; ++i) {
    if (first[i] < 0 || first[i] >= atoms)
      throw Error(std::string(kind) + " names atom " + std::to_string(first[i]) +
                  ", but there are only " + std::to_string(atoms) + " atoms");
  }
}

// The lowest atom of the set that each atom is in.
std::vector<int32_t> find_sets(const System& input) {
  std::vector<int32_t> parent(at(input.atom_count()));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int32_t atom) {
    while (parent[at(atom)] != atom) {
      parent[at(atom)] = parent[at(parent[at(atom)])];
      atom = parent[at(atom)];
    }
    return atom;
  };
  const auto join = [&](int32_t one, int32_t other) {
    const int32_t a = root(one), b = root(other);
    parent[at(std::max(a, b))] = std::min(a, b);
  };
  for (const auto& pair : input.constraints) join(pair[0], pair[1]);
  for (const Site& site : input.sites)
    for (int p = 0; p < site.parents; ++p) join(site.atom, site.parent[p]);
  for (int32_t a = 0; a < input.atom_count(); ++a) parent[at(a)] = root(a);
  return parent;
}

// Along constraints, from an atom to the farthest of its set.
class FarthestAtoms {
 public:
  // Of sets with more than kSmallGroupSize members.
  FarthestAtoms(const System& input, const std::vector<int32_t>& set,
                const std::vector<int32_t>& members)
      : input_(input), set_(set), path_(set.size()) {
    for (size_t c = 0; c < input.constraints.size(); ++c) {
      const int32_t lowest = set[at(input.constraints[c][0])];
      if (members[at(lowest)] > kSmallGroupSize) of_set_[lowest].push_back(c);
    }
  }

  double from(int32_t atom) {
    const std::vector<size_t>& constraints = of_set_[set_[at(atom)]];
    for (const size_t c : constraints)
      for (const int32_t end : input_.constraints[c]) path_[at(end)] = kFar;
    path_[at(atom)] = 0;
    while (shorten(constraints)) {
    }
    double farthest = 0;
    for (const size_t c : constraints)
      for (const int32_t end : input_.constraints[c]) farthest = std::max(farthest, path_[at(end)]);
    return farthest;
  }

 private:
  static constexpr double kFar = std::numeric_limits<double>::max();

  bool shorten(const std::vector<size_t>& constraints) {
    bool shorter = false;
    for (const size_t c : constraints) {
      const auto [i, j] = input_.constraints[c];
      const double length = input_.constraint_lengths[c];
      for (const auto& [here, there] : {std::pair(i, j), std::pair(j, i)}) {
        if (path_[at(here)] == kFar || path_[at(here)] + length >= path_[at(there)]) continue;
        path_[at(there)] = path_[at(here)] + length;
        shorter = true;
      }
    }
    return shorter;
  }

  const System& input_;
  const std::vector<int32_t>& set_;
  std::vector<double> path_;
  std::map<int32_t, std::vector<size_t>> of_set_;
};

[[noreturn]] void refuse_large_set(int32_t atom, int32_t members) {
  throw Error(
      "atom " + std::to_string(atom) + " (counted from 0) is in a set of " +
      std::to_string(members) +
      " atoms held together by constraints or virtual sites, and at most " +
      std::to_string(kMaxGroupSize) +
      " are possible: in large molecules constrain only bonds to hydrogen (h-bonds), which "
      "allow steps of 2 fs, or of 4 fs with heavier hydrogens; use bonds in place of chains "
      "of constraints (Martini's files have them where FLEXIBLE is defined, for shorter "
      "time steps), and let parents of a virtual site have few constraints");
}

// The new order: groups by lowest atom; in a group the centre first, the others ascending, virtual sites
// last. The centre is the atom with the most constraints, of equals the heaviest, then the lowest; in a large
// group it is first of all the atom from which the farthest is nearest, since patches are as wide as that
// demands. Fills group_start.
std::vector<int32_t> order_atoms(const System& input, std::vector<int32_t>& group_start) {
  const std::vector<int32_t> set = find_sets(input);
  std::vector<int32_t> degree(set.size(), 0), members(set.size(), 0), start(set.size(), 0);
  for (const auto& pair : input.constraints)
    for (const int32_t atom : pair) ++degree[at(atom)];
  for (const int32_t lowest : set) ++members[at(lowest)];

  group_start.assign(1, 0);
  for (int32_t a = 0; a < input.atom_count(); ++a) {
    if (members[at(a)] == 0) continue;
    if (members[at(a)] > kMaxGroupSize) refuse_large_set(a, members[at(a)]);
    start[at(a)] = group_start.back();
    group_start.push_back(group_start.back() + members[at(a)]);
  }

  std::vector<char> is_site(set.size(), 0);
  for (const Site& site : input.sites) is_site[at(site.atom)] = 1;
  std::vector<int32_t> order(set.size()), next = start;
  for (int32_t a = 0; a < input.atom_count(); ++a) order[at(next[at(set[at(a)])]++)] = a;
  FarthestAtoms farthest(input, set, members);
  for (size_t g = 0; g + 1 < group_start.size(); ++g) {
    const auto begin = order.begin() + group_start[g], end = order.begin() + group_start[g + 1];
    const bool is_large = end - begin > kSmallGroupSize;
    const auto rank = [&](int32_t atom) {
      const double reach = is_large ? farthest.from(atom) : 0;
      return std::tuple(!is_site[at(atom)], -reach, degree[at(atom)], input.masses[at(atom)]);
    };
    const auto centre =
        std::max_element(begin, end, [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
    std::rotate(begin, centre, centre + 1);
    if (!input.sites.empty())
      std::stable_partition(begin, end, [&](int32_t a) { return !is_site[at(a)]; });
  }
  return order;
}

template <class T>
std::vector<T> permuted(const std::vector<T>& values, const std::vector<int32_t>& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (const int32_t atom : order) result.push_back(values[at(atom)]);
  return result;
}

// Of `width` values for each atom.
std::vector<double> permuted_rows(const std::vector<double>& values, int32_t width,
                                  const std::vector<int32_t>& order) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const int32_t atom : order) {
    const auto row = values.begin() + ptrdiff_t{atom} * width;
    result.insert(result.end(), row, row + width);
  }
  return result;
}

void permute(PairExpression& pair, const std::vector<int32_t>& order) {
  pair.parameters = permuted_rows(pair.parameters, pair.parameters_per_atom, order);
  if (pair.first.empty()) return;
  pair.first = permuted(pair.first, order);
  pair.second = permuted(pair.second, order);
}

void renumber(const char* kind, std::span<int32_t> atoms, const std::vector<int32_t>& internal) {
  check_atoms(kind, atoms.data(), atoms.size(), static_cast<int>(internal.size()));
  for (int32_t& atom : atoms) atom = internal[at(atom)];
}

void renumber(const char* kind, std::vector<std::array<int32_t, 2>>& pairs,
              const std::vector<int32_t>& internal) {
  for (auto& pair : pairs) renumber(kind, pair, internal);
}

// Constraints ascending by atoms, first < second: so they are ascending by group, too. Repeated ones
// are dropped.
void sort_constraints(System& system) {
  for (auto& pair : system.constraints)
    if (pair[0] > pair[1]) std::swap(pair[0], pair[1]);
  std::vector<size_t> order(system.constraints.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return system.constraints[a] < system.constraints[b]; });
  std::vector<std::array<int32_t, 2>> pairs;
  std::vector<double> lengths;
  for (const size_t k : order) {
    if (!pairs.empty() && pairs.back() == system.constraints[k]) {
      if (lengths.back() != system.constraint_lengths[k])
        throw Error("atoms " + std::to_string(system.input_index[at(pairs.back()[0])]) + " and " +
                    std::to_string(system.input_index[at(pairs.back()[1])]) +
                    " (counted from 0) have two constraints of different lengths: remove one");
      continue;
    }
    pairs.push_back(system.constraints[k]);
    lengths.push_back(system.constraint_lengths[k]);
  }
  system.constraints = std::move(pairs);
  system.constraint_lengths = std::move(lengths);
}

void check_sites(const System& input) {
  std::vector<char> is_site(at(input.atom_count()), 0);
  for (const Site& site : input.sites) {
    check_atoms("a virtual site", &site.atom, 1, input.atom_count());
    const std::string which = "virtual site " + std::to_string(site.atom) + " (counted from 0)";
    if (site.parents < 1 || site.parents > kMaxSiteParents)
      throw Error(which + " has " + std::to_string(site.parents) + " parents, not 1 to " +
                  std::to_string(kMaxSiteParents));
    check_atoms("a virtual site", site.parent, static_cast<size_t>(site.parents),
                input.atom_count());
    if (input.masses[at(site.atom)] != 0) throw Error(which + " has a mass: give it none");
    if (std::exchange(is_site[at(site.atom)], 1))
      throw Error(which + " is given twice: remove one");
  }
  for (const Site& site : input.sites)
    for (int p = 0; p < site.parents; ++p)
      if (!(input.masses[at(site.parent[p])] > 0))
        throw Error("virtual site " + std::to_string(site.atom) +
                    " (counted from 0) has a parent without mass, atom " +
                    std::to_string(site.parent[p]) + ": give that atom a mass");
  for (const auto& pair : input.constraints)
    for (const int32_t atom : pair)
      if (is_site[at(atom)])
        throw Error("a constraint acts on virtual site " + std::to_string(atom) +
                    " (counted from 0): constrain only atoms with mass");
}

}  // namespace

// Alchemical atoms in the new order, ascending.
static void renumber_alchemy(Alchemy& alchemy, const std::vector<int32_t>& internal) {
  const Alchemy before = alchemy;
  std::vector<size_t> order(before.atoms.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto place = [&](size_t k) { return internal[at(before.atoms[k])]; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  for (size_t k = 0; k < order.size(); ++k) {
    alchemy.atoms[k] = place(order[k]);
    for (size_t e = 0; e < before.ends.size(); ++e) {
      alchemy.ends[e].charges[k] = before.ends[e].charges[order[k]];
      alchemy.ends[e].pair_types[k] = before.ends[e].pair_types[order[k]];
    }
  }
}

System with_groups(const System& input) {
  System system = input;
  for (const auto& pair : input.constraints) {
    check_atoms("a constraint", pair.data(), 2, input.atom_count());
    if (pair[0] == pair[1])
      throw Error("atom " + std::to_string(pair[0]) +
                  " (counted from 0) is constrained to itself: remove that constraint");
  }
  check_sites(input);
  const std::vector<int32_t> order = order_atoms(input, system.group_start);
  std::vector<int32_t> internal(order.size());
  for (size_t i = 0; i < order.size(); ++i) internal[at(order[i])] = static_cast<int32_t>(i);

  system.masses = permuted(input.masses, order);
  system.charges = permuted(input.charges, order);
  system.pair_types = permuted(input.pair_types, order);
  if (!input.molecules.empty()) system.molecules = permuted(input.molecules, order);
  if (system.solvent) system.solvent->atoms = permuted(input.solvent->atoms, order);
  if (system.embedded)
    system.embedded->type_of_atom = permuted(input.embedded->type_of_atom, order);
  if (system.three_body)
    system.three_body->type_of_atom = permuted(input.three_body->type_of_atom, order);
  if (system.alchemy) renumber_alchemy(*system.alchemy, internal);
  for (CollectiveRestraint& restraint : system.collective)
    for (AtomGroup& group : restraint.groups) {
      renumber("a collective restraint", group.atoms, internal);
      group.origin = internal[at(group.origin)];
    }
  for (ExpressionForce& force : system.expressions)
    renumber("a custom force", force.atoms, internal);
  for (PairExpression& pair : system.pair_expressions) permute(pair, order);
  for (Terms& terms : system.terms) renumber(terms.form->noun, terms.atoms, internal);
  renumber("an exclusion", system.exclusions, internal);
  renumber("a constraint", system.constraints, internal);
  for (Site& site : system.sites) {
    site.atom = internal[at(site.atom)];
    for (int p = 0; p < site.parents; ++p) site.parent[p] = internal[at(site.parent[p])];
  }
  for (auto& pair : system.exclusions)
    if (pair[0] > pair[1]) std::swap(pair[0], pair[1]);
  system.input_index = input.input_index.empty() ? order : permuted(input.input_index, order);
  sort_constraints(system);
  return system;
}

// The longest of the shortest paths along constraints. What they do not reach is in a group with sites.
GroupRadii group_radii(const System& system) {
  const double far = std::numeric_limits<double>::max();
  std::vector<double> path(static_cast<size_t>(system.atom_count()), far);
  for (int g = 0; g < system.group_count(); ++g)
    path[static_cast<size_t>(system.group_start[static_cast<size_t>(g)])] = 0;
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (size_t c = 0; c < system.constraints.size(); ++c)
      for (const int end : {0, 1}) {
        double& there = path[static_cast<size_t>(system.constraints[c][static_cast<size_t>(end)])];
        const double here =
            path[static_cast<size_t>(system.constraints[c][1 - static_cast<size_t>(end)])];
        if (here == far || here + system.constraint_lengths[c] >= there) continue;
        there = here + system.constraint_lengths[c];
        shorter = true;
      }
  }
  GroupRadii radii;
  for (int g = 0; g < system.group_count(); ++g)
    for (int32_t a = system.group_start[at(g)]; a < system.group_start[at(g + 1)]; ++a)
      if (path[at(a)] < far) radii.add(path[at(a)], system.is_large(g));
  return radii;
}

double extent_of_large_groups(const System& system, const std::vector<Vec3d>& positions) {
  double farthest = 0;
  for (int g = 0; g < system.group_count(); ++g) {
    if (!system.is_large(g)) continue;
    const int32_t first = system.group_start[at(g)];
    for (int32_t a = first; a < system.group_start[at(g + 1)]; ++a)
      farthest = std::max(farthest, norm(positions[at(a)] - positions[at(first)]));
  }
  return farthest;
}

}  // namespace quiltmd
