// SPDX-License-Identifier: Apache-2.0
// Pair energies by expressions: all pairs, one by one.
#include "computes/pair_expressions/reference.h"

#include <algorithm>

#include "computes/expressions/one_term.h"

namespace quiltmd {
namespace {

void add_pairs(const ReferenceInput& in, const PairExpression& force,
               const std::vector<std::array<int32_t, 2>>& excluded, Evaluation& out) {
  for (int32_t i = 0; i < in.system.atom_count(); ++i)
    for (int32_t j = 0; j < i; ++j) {
      const Vec3d way = in.positions[static_cast<size_t>(i)] - in.positions[static_cast<size_t>(j)];
      const Vec3d d = in.periodic ? in.box.nearest_image(way) : way;
      const double r = norm(d);
      if (!(r < force.cutoff) || !joins(force, i, j)) continue;
      if (std::binary_search(excluded.begin(), excluded.end(), std::array{j, i})) continue;
      const PairValue value = evaluate_pair(force, i, j, r);
      const Vec3d pull = (-value.slope / r) * d;
      out.energy_of(force) += value.energy;
      out.forces[static_cast<size_t>(i)] += pull;
      out.forces[static_cast<size_t>(j)] -= pull;
      Symmetric virial{};
      virial.add_product(d, pull);
      out.add_virial(virial);
    }
}

}  // namespace

void reference_pair_expressions(const ReferenceInput& in, Evaluation& out) {
  auto excluded = in.system.exclusions;
  for (auto& pair : excluded) std::sort(pair.begin(), pair.end());
  std::sort(excluded.begin(), excluded.end());
  for (const PairExpression& force : in.system.pair_expressions)
    add_pairs(in, force, excluded, out);
}

}  // namespace quiltmd
