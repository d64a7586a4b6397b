// SPDX-License-Identifier: Apache-2.0
// Sets are told apart by their numbers, in any order; in a set they are ascending.
#include "integrators/group_sites.h"

#include <algorithm>
#include <map>

#include "integrators/site_physics.h"

namespace quiltmd {
namespace {

// All that a set is, as numbers that can be compared.
std::vector<double> numbers_of(const std::vector<Site>& set) {
  std::vector<double> numbers;
  for (const Site& site : set) {
    for (const double value : {1.0 * site.atom, 1.0 * site.parents, site.local.x, site.local.y,
                               site.local.z, site.cross})
      numbers.push_back(value);
    for (int p = 0; p < site.parents; ++p)
      for (const double value : {1.0 * site.parent[p], site.origin[p], site.x[p], site.y[p]})
        numbers.push_back(value);
  }
  return numbers;
}

std::vector<Site> ascending(std::vector<Site> sites) {
  std::sort(sites.begin(), sites.end(),
            [](const Site& a, const Site& b) { return a.atom < b.atom; });
  return sites;
}

}  // namespace

GroupSites sites_by_group(const System& system) {
  const std::vector<Site> all = ascending(system.sites);
  GroupSites found{{}, {0}, {}};
  std::map<std::vector<double>, int32_t> known;
  auto next = all.begin();
  for (int g = 0; g < system.group_count(); ++g) {
    const int32_t first = system.group_start[static_cast<size_t>(g)];
    std::vector<Site> set;
    for (; next != all.end() && next->atom < system.group_start[static_cast<size_t>(g) + 1];
         ++next) {
      Site site = *next;
      site.atom -= first;
      for (int p = 0; p < site.parents; ++p) site.parent[p] -= first;
      set.push_back(site);
    }
    if (set.empty()) {
      found.set_of_group.push_back(-1);
      continue;
    }
    const auto [entry, is_new] =
        known.try_emplace(numbers_of(set), static_cast<int32_t>(known.size()));
    found.set_of_group.push_back(entry->second);
    if (!is_new) continue;
    found.sites.insert(found.sites.end(), set.begin(), set.end());
    found.set_start.push_back(static_cast<int32_t>(found.sites.size()));
  }
  return found;
}

void place_sites(const System& system, std::vector<Vec3d>& positions) {
  for (const Site& site : system.sites)
    positions[static_cast<size_t>(site.atom)] = place_of_site(site, positions.data());
}

void spread_forces(const System& system, const std::vector<Vec3d>& positions,
                   std::vector<Vec3d>& forces) {
  for (const Site& site : system.sites) {
    Vec3d& left = forces[static_cast<size_t>(site.atom)];
    const SitePull pull = site_pull(site, site_sums(site, positions.data()), left);
    for (int p = 1; p < site.parents; ++p) {
      const Vec3d part = force_on_parent(site, pull, p);
      forces[static_cast<size_t>(site.parent[p])] += part;
      left -= part;
    }
    forces[static_cast<size_t>(site.parent[0])] += left;
    left = {0, 0, 0};
  }
}

}  // namespace quiltmd
