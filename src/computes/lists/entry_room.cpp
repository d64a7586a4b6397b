// SPDX-License-Identifier: Apache-2.0
#include "computes/lists/entry_room.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "computes/lists/operations.h"
#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

constexpr size_t kMaxEntries = std::numeric_limits<int32_t>::max() / kListAlign * kListAlign;

size_t numbered(double wanted) {
  return static_cast<size_t>(std::min(wanted, static_cast<double>(kMaxEntries)));
}

}  // namespace

// Atoms in half the sphere of the list's reach around a cluster, widened by the cluster's own extent,
// at the system's mean density.
double entries_of_list(int atoms, double density, double reach) {
  const double cluster_radius = 0.5 * std::cbrt(kClusterSize / density);
  const double neighbours = 0.5 * density * 4.0 / 3.0 * kPi * std::pow(reach + cluster_radius, 3);
  const double most = 0.5 * atoms + kClusterSize;
  return std::min(neighbours, most);
}

size_t expected_entries(double of_list, double lists) {
  return numbered(1.1 * lists * of_list + 4096);
}

size_t more_entries(size_t room, size_t need) {
  if (room >= kMaxEntries)
    throw Error("the pair lists of a rank have more than " + std::to_string(kMaxEntries) +
                " entries: use more ranks, a shorter cutoff or fewer atoms");
  return numbered(1.2 * static_cast<double>(need));
}

}  // namespace quiltmd
