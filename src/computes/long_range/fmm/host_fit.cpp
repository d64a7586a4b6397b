// SPDX-License-Identifier: Apache-2.0
// The fit of the stencil on the CPU.
#include "computes/long_range/fmm/fit_steps.h"
#include "computes/long_range/fmm/host_kernels.h"

namespace quiltmd {
namespace {

void fit_unknowns(const FitStencil& op, const FitFamily& family, ThreadGroup& threads) {
  constexpr int kGrain = 8;
  threads.parallel_for(family.count, kGrain, [&](int begin, int end, int) {
    for (int u = family.first + begin; u < family.first + end; ++u) {
      double* const parts = op.sums.products + u * kFitParts;
      for (int k = 0; k < kFitParts; ++k) parts[k] = 0;
      for (int row = 0; row < op.fit.row_count; ++row) add_product(op, family, u, row, parts);
    }
  });
  threads.parallel_for(family.count, kGrain, [&](int begin, int end, int) {
    for (int u = family.first + begin; u < family.first + end; ++u) {
      double parts[kFitParts] = {};
      add_number(op, family, u, 0, 1, parts);
      store_number(op, family, u, parts);
    }
  });
}

}  // namespace

void fit_stencil(const FitStencil& op, ThreadGroup& threads) {
  const ReciprocalSteps steps(lattice_of(op.conditions->box, op.levels.grid));
  threads.parallel_for(op.fit.sample_count, 64, [&](int begin, int end, int) {
    for (int s = begin; s < end; ++s) fit_target(op, steps, s);
  });
  threads.parallel_for(op.fit.row_count, 8, [&](int begin, int end, int) {
    for (int row = begin; row < end; ++row)
      for (int z = 0; z <= op.shape.reach.z; ++z)
        for (int part = 0; part < kFitParts; ++part) sum_row(op, z, row, part);
  });
  for (int f = 0; f < op.fit.family_count; ++f) fit_unknowns(op, op.fit.families[f], threads);
  if (op.levels.is_open()) return;
  threads.parallel_for(top_wave_count(op.levels), 64, [&](int begin, int end, int) {
    for (int index = begin; index < end; ++index) fit_wave(op, index);
  });
  for (int part = 0; part < kFitParts; ++part) take_mean(op, part, sum_of_points(op, part, 0, 1));
}

}  // namespace quiltmd
