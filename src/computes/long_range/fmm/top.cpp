// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/top.h"

#include <pocketfft_hdronly.h>

#include <cmath>
#include <complex>

#include "computes/long_range/pme/box_on_mesh.h"
#include "computes/long_range/pme/reference_mesh.h"
#include "computes/long_range/pme/setup.h"

namespace quiltmd {
Lattice lattice_of(const Box& box, Int3 grid) {
  return {(1.0 / grid.x) * Vec3d{box.ax, 0, 0}, (1.0 / grid.y) * Vec3d{box.bx, box.by, 0},
          (1.0 / grid.z) * Vec3d{box.cx, box.cy, box.cz}};
}

std::vector<TopWave> top_waves(const LevelKernels& kernels, const FmmLevels& levels, const Box& box,
                               const std::vector<StencilPoint>& stencil) {
  const Int3 n = levels.points(levels.count);
  std::vector<TopWave> waves;
  const Reciprocal reciprocal = reciprocal_vectors(box);
  std::vector<double> moduli[3];
  const MeshWindow window = MeshWindow::bspline(kFmmOrder);
  for (int d = 0; d < 3; ++d) moduli[d] = window_moduli(Moduli::kLeastSquares, n[d], window);
  for (int i = 0; i < n.x; ++i)
    for (int j = 0; j < n.y; ++j)
      for (int k = 0; k <= n.z / 2; ++k) {
        const Vec3d m = static_cast<double>(frequency(i, n.x)) * reciprocal.a +
                        static_cast<double>(frequency(j, n.y)) * reciprocal.b +
                        static_cast<double>(k) * reciprocal.c;
        const Influence smooth = kernels.smooth(levels.count, dot(m, m));
        const double modulus = moduli[0][static_cast<size_t>(i)] *
                               moduli[1][static_cast<size_t>(j)] *
                               moduli[2][static_cast<size_t>(k)] / box.volume();
        TopWave wave{smooth.value * modulus, {}};
        wave.strain.add_product((2 * smooth.fall * modulus) * m, m);
        for (int d = 0; d < 3; ++d) wave.strain[d] -= wave.value;
        waves.push_back(wave);
      }
  // Level l has 8^-l of the points, on which a stencil of 2^-l has this mean.
  const double points = static_cast<double>(levels.grid.x) * levels.grid.y * levels.grid.z;
  const double levels_below = (std::ldexp(1.0, 2 * levels.count) - 1) / 3;
  for (const StencilPoint& point : stencil) {
    waves[0].value -= levels_below / points * point.value;
    for (int part = 0; part < Symmetric::kParts; ++part)
      waves[0].strain[part] -= levels_below / points * point.strain[part];
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
