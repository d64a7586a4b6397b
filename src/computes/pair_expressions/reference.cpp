// SPDX-License-Identifier: Apache-2.0
// Pair energies by expressions: all pairs, one by one.
#include "computes/pair_expressions/reference.h"

#include <algorithm>

#include "computes/expressions/program_lanes.h"

namespace quiltmd {
namespace {

void add_pairs(const ReferenceInput& in, const PairExpression& force,
               const std::vector<std::array<int32_t, 2>>& excluded, Evaluation& out) {
  const auto width = static_cast<size_t>(force.parameters_per_atom);
  ProgramLanes program(ProgramView(force.program), force.constants.data(),
                       static_cast<int>(force.constants.size()), nullptr);
  const auto interact = [&](size_t i, size_t j) {
    if (std::binary_search(excluded.begin(), excluded.end(),
                           std::array{static_cast<int32_t>(j), static_cast<int32_t>(i)}))
      return false;
    return force.first.empty() ||
           ((force.first[i] & force.second[j]) | (force.first[j] & force.second[i]));
  };
  for (size_t i = 0; i < in.positions.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Vec3d way = in.positions[i] - in.positions[j];
      const Vec3d d = in.periodic ? in.box.nearest_image(way) : way;
      const double r = norm(d);
      if (!(r < force.cutoff) || !interact(i, j)) continue;
      auto place = static_cast<int>(force.constants.size());
      *program.lanes(place++) = r;
      for (const size_t atom : {i, j})
        for (size_t p = 0; p < width; ++p)
          *program.lanes(place++) = force.parameters[atom * width + p];
      program.run();
      const Vec3d pull = (-program.output(1, 0) / r) * d;
      out.energy[kCustom] += program.output(0, 0);
      out.forces[i] += pull;
      out.forces[j] -= pull;
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
