// SPDX-License-Identifier: Apache-2.0
// What the fast multipole method derives from settings and box alone: all ranks share it.
#pragma once

#include <memory>
#include <vector>

#include "computes/long_range/fmm/operations.h"
#include "computes/nonbonded_settings.h"

namespace quiltmd {

struct FmmTables {
  Box box;
  FmmLevels levels;
  std::vector<StencilRow> rows;
  std::vector<float> values;  // DeviceStencil::values
  Int3 reach{};
  std::vector<TopWave> waves;

  FmmTables(const NonbondedSettings& settings, const Box& box);

  int point_count() const { return static_cast<int>(values.size()) / (1 + Symmetric::kParts); }
};

}  // namespace quiltmd
