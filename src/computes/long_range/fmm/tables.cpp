// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/tables.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace quiltmd {
namespace {

std::vector<StencilRow> rows_of(const StencilShape& shape,
                                const std::vector<StencilPoint>& stencil) {
  std::vector<StencilRow> rows;
  for (const StencilPoint& p : stencil) {
    const bool goes_on = !rows.empty() && rows.back().at.x == p.at.x && rows.back().at.y == p.at.y;
    if (!goes_on) rows.push_back({p.at, shape.place(p.at), 0});
    ++rows.back().count;
  }
  return rows;
}

std::vector<StencilPair> pairs_of(const StencilShape& shape, const std::vector<StencilRow>& rows) {
  std::map<std::pair<int, int>, StencilPair> pairs;
  for (const StencilRow& row : rows) {
    const int begin = row.at.z + shape.reach.z, last = begin + row.count - 1;
    for (const int y : {row.at.y, row.at.y + 1}) {
      StencilPair& pair =
          pairs.try_emplace({row.at.x, y}, StencilPair{row.at.x, y, begin / 4, 0}).first->second;
      pair.first = std::min(pair.first, begin / 4);
      pair.end = std::max(pair.end, last / 4 + 1);
    }
  }
  std::vector<StencilPair> found;
  for (const auto& [place, pair] : pairs) found.push_back(pair);
  return found;
}

}  // namespace

FmmTables::FmmTables(const NonbondedSettings& settings, const Box& of)
    : box(of), levels(settings.grid) {
  const auto split = ewald_split(settings);
  const LevelKernels kernels(*split);
  const Lattice steps = lattice_of(box, settings.grid);
  const auto stencil = fit_stencil(kernels, steps, stencil_radius(settings.cutoff, steps));
  waves = top_waves(kernels, levels, box, stencil);
  for (const StencilPoint& p : stencil)
    for (int d = 0; d < 3; ++d) shape.reach[d] = std::max(shape.reach[d], std::abs(p.at[d]));
  rows = rows_of(shape, stencil);
  pairs = pairs_of(shape, rows);
  const auto size = static_cast<size_t>(shape.size());
  values.assign((1 + Symmetric::kParts) * size, 0);
  for (const StencilPoint& p : stencil) {
    const auto place = static_cast<size_t>(shape.place(p.at));
    values[place] = static_cast<float>(p.value);
    for (int part = 0; part < Symmetric::kParts; ++part)
      values[static_cast<size_t>(1 + part) * size + place] = static_cast<float>(p.strain[part]);
  }
}

}  // namespace quiltmd
