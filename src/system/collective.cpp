// SPDX-License-Identifier: Apache-2.0
#include "system/collective.h"

#include <algorithm>
#include <iterator>

#include "math/error.h"

namespace quiltmd {
namespace {

struct KindOfCollective {
  const char* name;
  CollectiveKind kind;
  int groups;
};
constexpr KindOfCollective kKinds[] = {
    {"distance", CollectiveKind::kDistance, 2}, {"angle", CollectiveKind::kAngle, 3},
    {"torsion", CollectiveKind::kTorsion, 4},   {"gyration", CollectiveKind::kGyration, 1},
    {"rmsd", CollectiveKind::kRmsd, 1},         {"coordination", CollectiveKind::kCoordination, 2}};

}  // namespace

CollectiveKind collective_kind_named(const std::string& name) {
  for (const KindOfCollective& one : kKinds)
    if (one.name == name) return one.kind;
  throw Error("unknown kind of collective restraint '" + name + "'");
}

int groups_of(CollectiveKind kind) {
  return std::find_if(std::begin(kKinds), std::end(kKinds),
                      [&](const auto& one) { return one.kind == kind; })
      ->groups;
}

void check(const CollectiveRestraint& restraint) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error("collective restraint '" + restraint.name + "': " + what);
  };
  require(static_cast<int>(restraint.groups.size()) == groups_of(restraint.kind),
          "it has another number of groups than its kind");
  if (restraint.kind == CollectiveKind::kRmsd)
    require(restraint.reference.size() == restraint.groups[0].atoms.size(),
            "it needs a reference position for each atom");
  if (restraint.kind == CollectiveKind::kCoordination)
    require(restraint.contact > 0 && restraint.exponent >= 2 && restraint.exponent % 2 == 0,
            "it needs a positive distance of contacts and an even exponent");
  require(restraint.k >= 0 && restraint.width >= 0 && restraint.linear >= 0,
          "k, width and linear must not be negative");
  require(!restraint.path.empty(), "it needs a centre");
}

}  // namespace quiltmd
