// SPDX-License-Identifier: Apache-2.0
// What the fast multipole method derives from settings alone: all ranks share it.
#pragma once

#include <memory>
#include <vector>

#include "computes/long_range/fmm/open_top.h"
#include "computes/long_range/fmm/operations.h"
#include "computes/nonbonded_settings.h"

namespace quiltmd {

struct FmmTables {
  FmmLevels levels;
  LevelSeries series;
  MeshWindow window;
  StencilFit fit;
  std::vector<FitUnknown> unknowns;
  std::vector<FitImage> images;
  StencilShape shape;
  std::vector<StencilRow> rows;
  std::vector<StencilPair> pairs;
  std::vector<double> moduli;  // of the top level
  WideStencil of_pairs;        // of the top level; in a periodic box without numbers

  // `box`: the one at the start.
  FmmTables(const NonbondedSettings& settings, const Box& box);

 private:
  void add_unknowns(const FitFamily& family);
};

}  // namespace quiltmd
