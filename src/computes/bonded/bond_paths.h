// SPDX-License-Identifier: Apache-2.0
// How far apart two atoms can be: two atoms are no farther apart than the shortest path along bonds,
// constraints and restraints of distances is long, each stretched as far as it will ever be, and from a
// virtual site to the first of its parents.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "system/system.h"

namespace quiltmd {

// Connection between two atoms.
struct Link {
  int32_t to;
  double length;  // at most, nm
};

class BondGraph {
 public:
  explicit BondGraph(const System& system);
  const std::vector<Link>& of(int32_t atom) const { return of_[static_cast<size_t>(atom)]; }
  int atoms() const { return static_cast<int>(of_.size()); }

 private:
  void add(int32_t i, int32_t j, double length);
  template <class Form>
  void add_terms(const Terms& terms);
  void add_sites(const std::vector<Site>& sites);
  std::vector<std::vector<Link>> of_;
};

// Lengths of shortest paths, from one atom after another (Dijkstra's algorithm).
class Paths {
 public:
  explicit Paths(const BondGraph& graph);

  // To each of `ends`; infinite where there is none.
  std::vector<double> find(int32_t from, const std::vector<int32_t>& ends);

 private:
  using Place = std::pair<double, int32_t>;

  void reach(int32_t atom, double length);

  const BondGraph& graph_;
  std::vector<double> length_;
  std::vector<int32_t> reached_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> open_;
};

// Adds the radii of hydrogen groups with virtual sites. Throws Error if the atoms of such a group are not
// connected.
void add_site_groups(const System& system, GroupRadii& radii);

// Largest distance between atoms of a restraint, nm: 0 without restraints, infinite if the atoms are not
// connected.
double span_of_restraints(const System& system);

}  // namespace quiltmd
