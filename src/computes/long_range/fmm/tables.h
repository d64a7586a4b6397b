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
  StencilShape shape;
  std::vector<StencilRow> rows;
  std::vector<StencilPair> pairs;
  std::vector<float> values;  // DeviceStencil::values
  std::vector<TopWave> waves;

  FmmTables(const NonbondedSettings& settings, const Box& box);
};

}  // namespace quiltmd
