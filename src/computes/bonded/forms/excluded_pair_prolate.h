// SPDX-License-Identifier: Apache-2.0
// What the reciprocal sum of the prolate split holds of an excluded pair, taken back: see excluded_pair.h.
#pragma once

#include <string>
#include <vector>

#include "computes/bonded/forms/term_value.h"
#include "math/error.h"
#include "math/prolate.h"
#include "math/units.h"

namespace quiltmd {

// E = -charge product / (4 pi eps0) Phi(r/cutoff) / r, Phi = 1 from the cutoff on (ewald_split.h). The terms
// share the bandwidth, as the one row of their data.
struct ExcludedPairProlateForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kPair;
  static constexpr bool kApart = true;
  static constexpr TermParameter kParameters[] = {{"charge product", "e^2"}, {"cutoff", "nm"}};
  static constexpr const char* kEnergies[] = {"coulomb"};
  static constexpr TermForm kForm{"excluded_pair_prolate",
                                  "an excluded pair",
                                  nullptr,
                                  nullptr,
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p, int rows) {
    if (rows != 1) throw Error("needs one bandwidth, not " + std::to_string(rows));
    p[0] = -given[0] * kCoulomb / given[1];
    p[1] = 1 / (given[1] * given[1]);
  }

  // The number of powers; then cutoff Phi(r/cutoff)/r as a power series in (r/cutoff)^2.
  static std::vector<double> prepare_shared(const std::vector<double>& values, int) {
    std::vector<double> series = Prolate(values.at(0)).mean_series();
    while (std::abs(series.back()) < 1e-17) series.pop_back();
    series.insert(series.begin(), static_cast<double>(series.size()));
    return series;
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p,
                                            const Real* series) {
    const Real z = p[1] * dot(b[0], b[0]);
    if (z >= 1) {
      const Real energy = p[0] / std::sqrt(z);
      return {{energy}, {-(p[1] * energy / z) * b[0]}};
    }
    Real value = 0, slope = 0;
    for (int k = static_cast<int>(series[0]); k > 0; --k) {
      slope = slope * z + value;
      value = value * z + series[k];
    }
    return {{p[0] * value}, {(2 * p[0] * p[1] * slope) * b[0]}};
  }
};

}  // namespace quiltmd
