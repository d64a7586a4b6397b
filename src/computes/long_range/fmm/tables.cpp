// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/tables.h"

#include <algorithm>
#include <cstdlib>

namespace quiltmd {

FmmTables::FmmTables(const NonbondedSettings& settings, const Box& of)
    : box(of), levels(settings.grid) {
  const auto split = ewald_split(settings);
  const LevelKernels kernels(*split);
  const Lattice steps = lattice_of(box, settings.grid);
  const auto stencil = fit_stencil(kernels, steps, stencil_radius(settings.cutoff, steps));
  waves = top_waves(kernels, levels, box, stencil);
  for (int part = -1; part < Symmetric::kParts; ++part)
    for (const StencilPoint& p : stencil)
      values.push_back(static_cast<float>(part < 0 ? p.value : p.strain[part]));
  for (size_t p = 0; p < stencil.size(); ++p) {
    const Int3 at = stencil[p].at;
    for (int d = 0; d < 3; ++d) reach[d] = std::max(reach[d], std::abs(at[d]));
    const bool goes_on = !rows.empty() && rows.back().at.x == at.x && rows.back().at.y == at.y;
    if (!goes_on) rows.push_back({at, static_cast<int>(p), 0});
    ++rows.back().count;
  }
}

}  // namespace quiltmd
