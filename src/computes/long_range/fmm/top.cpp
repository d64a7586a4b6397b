// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/top.h"

#include <pocketfft_hdronly.h>

#include <cmath>
#include <complex>

#include "computes/long_range/pme/reference_mesh.h"
#include "computes/long_range/pme/setup.h"

namespace quiltmd {

std::vector<double> top_moduli(const FmmLevels& levels, const MeshWindow& window) {
  const Int3 points = levels.points(levels.count);
  std::vector<double> all;
  for (int d = 0; d < 3; ++d) {
    const std::vector<double> own = window_moduli(Moduli::kLeastSquares, points[d], window);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<TopWave> top_waves(const LevelKernels& kernels, const FmmLevels& levels,
                               const MeshWindow& window, const Box& box,
                               const std::vector<StencilPoint>& stencil) {
  const Int3 n = levels.points(levels.count);
  const std::vector<double> moduli = top_moduli(levels, window);
  const auto modulus = [&](int place) { return moduli[static_cast<size_t>(place)]; };
  std::vector<TopWave> waves;
  for (int i = 0; i < n.x; ++i)
    for (int j = 0; j < n.y; ++j)
      for (int k = 0; k <= n.z / 2; ++k)
        waves.push_back(top_wave(kernels, levels.count, box,
                                 {frequency(i, n.x), frequency(j, n.y), k},
                                 modulus(i) * modulus(n.x + j) * modulus(n.x + n.y + k)));
  const double mean = mean_of_levels(levels);
  for (const StencilPoint& point : stencil) {
    waves[0].value -= mean * point.value;
    for (int part = 0; part < Symmetric::kParts; ++part)
      waves[0].strain[part] -= mean * point.strain[part];
  }
  return waves;
}

Symmetric sum_over_waves(Int3 n, const TopWave* waves, const std::vector<double>& charges,
                         std::vector<double>& potential) {
  const auto nx = static_cast<size_t>(n.x), ny = static_cast<size_t>(n.y);
  const auto nz = static_cast<size_t>(n.z), nk = nz / 2 + 1;
  std::vector<std::complex<double>> spectrum(nx * ny * nk);
  const auto bytes = [](size_t count, size_t size) { return static_cast<ptrdiff_t>(count * size); };
  const pocketfft::shape_t shape{nx, ny, nz}, axes{0, 1, 2};
  const pocketfft::stride_t real{bytes(ny * nz, 8), bytes(nz, 8), 8};
  const pocketfft::stride_t complex{bytes(ny * nk, 16), bytes(nk, 16), 16};
  pocketfft::r2c(shape, real, complex, axes, pocketfft::FORWARD, charges.data(), spectrum.data(),
                 1.0);
  Symmetric virial{};
  for (size_t at = 0; at < spectrum.size(); ++at) {
    const size_t k = at % nk;
    const double twice = k == 0 || 2 * k == nz ? 1 : 2;
    const double square = 0.5 * twice * std::norm(spectrum[at]);
    for (int part = 0; part < Symmetric::kParts; ++part)
      virial[part] -= waves[at].strain[part] * square;
    spectrum[at] *= waves[at].value;
  }
  pocketfft::c2r(shape, complex, real, axes, pocketfft::BACKWARD, spectrum.data(), potential.data(),
                 1.0);
  return virial;
}

}  // namespace quiltmd
