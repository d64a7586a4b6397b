// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/tables.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace quiltmd {
namespace {

std::vector<StencilRow> rows_of(const StencilShape& shape, const std::vector<Int3>& points) {
  std::vector<StencilRow> rows;
  for (const Int3 p : points) {
    const bool goes_on = !rows.empty() && rows.back().at.x == p.x && rows.back().at.y == p.y;
    if (!goes_on) rows.push_back({p, shape.place(p), 0});
    ++rows.back().count;
  }
  return rows;
}

std::vector<StencilPair> pairs_of(const StencilShape& shape, const std::vector<StencilRow>& rows) {
  std::map<std::pair<int, int>, StencilPair> pairs;
  for (const StencilRow& row : rows) {
    const int begin = row.at.z + shape.before(), last = begin + row.count - 1;
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

FmmTables::FmmTables(const NonbondedSettings& settings, const Box& box)
    : levels(settings),
      series(settings),
      window(level_window(settings, box)),
      fit(stencil_fit(settings, window, box)),
      moduli(top_moduli(levels, window)) {
  for (const Int3 p : fit.points)
    for (int d = 0; d < 3; ++d) shape.reach[d] = std::max(shape.reach[d], std::abs(p[d]));
  rows = rows_of(shape, fit.points);
  pairs = pairs_of(shape, rows);
  for (const FitFamily& family : fit.families) add_unknowns(family);
  if (levels.is_open()) {
    of_pairs =
        open_top(series.kernels(), settings.cutoff, lattice_of(box, settings.grid), levels, window);
  } else {
    const Int3 top = levels.points(levels.count);
    of_pairs.shape.reach = {top.x - 1, top.y - 1, top.z - 1};
  }
}

void FmmTables::add_unknowns(const FitFamily& family) {
  for (int u = family.first; u < family.first + family.count; ++u) {
    const Int3 at = fit.unknowns[static_cast<size_t>(u)];
    const auto first = static_cast<int>(images.size());
    for (const StencilFit::Image& image : fit.images(family, at))
      images.push_back({shape.place(image.at), image.sign});
    unknowns.push_back({at, first, static_cast<int>(images.size()) - first});
  }
}

}  // namespace quiltmd
