// SPDX-License-Identifier: Apache-2.0
// The steps of FitStencil, for all devices: each makes a few numbers of those of the step before, in one order.
#pragma once

#include "computes/long_range/fmm/operations.h"

namespace quiltmd {

// The influence function at a sample, times its weight.
QMD_HD void fit_target(const FitStencil& op, const ReciprocalSteps& steps, int sample) {
  const FitSample& s = op.fit.samples[sample];
  double* const parts = op.sums.targets + sample * kFitParts;
  influence_at(op.kernels, steps, s, op.fit.angles.n, parts);
  for (int k = 0; k < kFitParts; ++k) parts[k] *= s.weight;
}

// Sums for points at a height `z` of the stencil, 0 or above, over a row of samples: a part of the sum with
// cosines and sines.
QMD_HD double* sums_of_row(const FitStencil& op, int z, int row) {
  return op.sums.of_rows + (int64_t{z} * op.fit.row_count + row) * 2 * kFitParts;
}
QMD_HD void sum_row(const FitStencil& op, int z, int row, int part) {
  const FitRow r = op.fit.rows[row];
  double cosines = 0, sines = 0;
  for (int s = r.first; s < r.first + r.count; ++s) {
    const int turn = z * op.fit.samples[s].wave.z;
    const double target = op.sums.targets[s * kFitParts + part];
    cosines += op.fit.angles.cosine(turn) * target;
    sines += op.fit.angles.sine(turn) * target;
  }
  double* const sums = sums_of_row(op, z, row);
  sums[part] = cosines;
  sums[kFitParts + part] = sines;
}

// The product of the targets with the wave of an unknown: a row's share.
QMD_HD void add_product(const FitStencil& op, const FitFamily& family, int unknown, int row,
                        double* parts) {
  const Int3 p = op.fit.unknowns[unknown].at;
  const FitRow r = op.fit.rows[row];
  const RowFactors factors = row_factors(family, p, r.x, r.y, op.fit.angles);
  const double* const sums = sums_of_row(op, p.z < 0 ? -p.z : p.z, row);
  const double sine = p.z < 0 ? -factors.sine : factors.sine;
  for (int k = family.part; k < family.part + family.parts; ++k)
    parts[k] += factors.cosine * sums[k] + sine * sums[kFitParts + k];
}

// The share of the products [first, first + step, ...) in the number of an unknown.
QMD_HD void add_number(const FitStencil& op, const FitFamily& family, int unknown, int first,
                       int step, double* parts) {
  const double* const row =
      op.fit.inverses + family.inverse + int64_t{unknown - family.first} * family.count;
  for (int v = first; v < family.count; v += step)
    for (int k = family.part; k < family.part + family.parts; ++k)
      parts[k] += row[v] * op.sums.products[(family.first + v) * kFitParts + k];
}

// The numbers of an unknown go to its images.
QMD_HD void store_number(const FitStencil& op, const FitFamily& family, int unknown,
                         const double* parts) {
  const FitUnknown u = op.fit.unknowns[unknown];
  for (int k = family.part; k < family.part + family.parts; ++k) {
    op.sums.numbers[unknown * kFitParts + k] = parts[k];
    for (int i = u.first; i < u.first + u.count; ++i) {
      const FitImage image = op.fit.images[i];
      op.values[int64_t{k} * op.shape.size() + image.place] =
          static_cast<float>(image.sign * parts[k]);
    }
  }
}

// The sum of a part of all points' numbers: unknowns [first, first + step, ...) of the first family, since what
// is odd in a dimension adds up to zero.
QMD_HD double sum_of_points(const FitStencil& op, int part, int first, int step) {
  const FitFamily& family = op.fit.families[0];
  double sum = 0;
  if (part >= family.part + family.parts) return sum;
  for (int u = first; u < family.count; u += step)
    sum += op.fit.unknowns[u].count * op.sums.numbers[u * kFitParts + part];
  return sum;
}

// Number `index` of the waves of the top level, as the grid's window leaves it.
QMD_HD void fit_wave(const FitStencil& op, int index) {
  const Int3 n = op.levels.points(op.levels.count);
  const int along_z = n.z / 2 + 1;
  const int k = index % along_z, j = index / along_z % n.y, i = index / along_z / n.y;
  const Int3 frequency{2 * i <= n.x ? i : i - n.x, 2 * j <= n.y ? j : j - n.y, k};
  const double modulus = op.moduli[i] * op.moduli[n.x + j] * op.moduli[n.x + n.y + k];
  op.waves[index] = top_wave(op.kernels, op.levels.count, op.conditions->box, frequency, modulus);
}
// The first of them lacks the mean of the levels below.
QMD_HD void take_mean(const FitStencil& op, int part, double sum_of_points) {
  const double mean = mean_of_levels(op.levels) * sum_of_points;
  TopWave& first = op.waves[0];
  if (part == 0) {
    first.value -= mean;
  } else {
    first.strain[part - 1] -= mean;
  }
}

QMD_HD int top_wave_count(const FmmLevels& levels) {
  const Int3 n = levels.points(levels.count);
  return n.x * n.y * (n.z / 2 + 1);
}

}  // namespace quiltmd
