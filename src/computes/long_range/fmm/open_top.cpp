// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/open_top.h"

#include <pocketfft_hdronly.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "computes/long_range/pme/mesh_frame.h"
#include "computes/long_range/pme/reference_mesh.h"
#include "computes/long_range/pme/setup.h"

namespace quiltmd {
namespace {

constexpr int kSparePoints = 8;  // so wide that what windows add to a kernel has faded

Lattice periods(const Lattice& steps, Int3 n) {
  Lattice edges = steps;
  for (int d = 0; d < 3; ++d)
    edges[static_cast<size_t>(d)] = static_cast<double>(n[d]) * steps[static_cast<size_t>(d)];
  return edges;
}

// Influence function and its derivatives by strain at the waves of a period of n points, [part][x][y][half z].
class Spectrum {
 public:
  Spectrum(const LevelKernels& kernels, double range, const Lattice& steps, Int3 n,
           const MeshWindow& window)
      : n_(n), waves_(static_cast<size_t>(n.x) * static_cast<size_t>(n.y * (n.z / 2 + 1))) {
    for (auto& part : parts_) part.resize(waves_);
    const ReciprocalSteps reciprocal(periods(steps, n));
    const double point = reciprocal.volume / n.x / n.y / n.z;
    std::vector<double> moduli[3];
    for (int d = 0; d < 3; ++d) moduli[d] = window_moduli(Moduli::kLeastSquares, n[d], window);
    size_t at = 0;
    for (int i = 0; i < n.x; ++i)
      for (int j = 0; j < n.y; ++j)
        for (int k = 0; k <= n.z / 2; ++k, ++at) {
          const Vec3d m = reciprocal.vector({frequency(i, n.x), frequency(j, n.y), k}, 1);
          const Influence smooth = kernels.smooth_within(range, dot(m, m));
          const double scale = moduli[0][static_cast<size_t>(i)] *
                               moduli[1][static_cast<size_t>(j)] *
                               moduli[2][static_cast<size_t>(k)] / point;
          Symmetric strain{};
          strain.add_product((2 * scale * smooth.fall) * m, m);
          parts_[0][at] = scale * smooth.value;
          for (int p = 0; p < Symmetric::kParts; ++p)
            parts_[static_cast<size_t>(1 + p)][at] = strain[p] - (p < 3 ? scale * smooth.value : 0);
        }
  }

  // A part by the difference of two points, [x][y][z].
  std::vector<double> by_offset(int part) const {
    const auto nx = static_cast<size_t>(n_.x), ny = static_cast<size_t>(n_.y);
    const auto nz = static_cast<size_t>(n_.z), nk = nz / 2 + 1;
    const auto bytes = [](size_t count, size_t size) {
      return static_cast<ptrdiff_t>(count * size);
    };
    std::vector<double> values(nx * ny * nz);
    pocketfft::c2r({nx, ny, nz}, {bytes(ny * nk, 16), bytes(nk, 16), 16},
                   {bytes(ny * nz, 8), bytes(nz, 8), 8}, {0, 1, 2}, pocketfft::BACKWARD,
                   parts_[static_cast<size_t>(part)].data(), values.data(),
                   1.0 / static_cast<double>(nx * ny * nz));
    return values;
  }

 private:
  Int3 n_;
  size_t waves_;
  std::array<std::vector<std::complex<double>>, kFitParts> parts_;
};

}  // namespace

WideStencil open_top(const LevelKernels& kernels, double cutoff, const Lattice& steps,
                     const FmmLevels& levels, const MeshWindow& window) {
  const Int3 points = levels.points(levels.count);
  WideStencil wide;
  Vec3d farthest{};
  double longest = 0;
  for (int d = 0; d < 3; ++d) {
    const Vec3d step = steps[static_cast<size_t>(d)];
    wide.shape.reach[d] = points[d] - 1;
    farthest += static_cast<double>(points[d] - 1) * step;
    longest = std::max(longest, norm(step));
  }
  const double range = norm(farthest) + cutoff + kSparePoints * longest;
  Int3 n{};
  for (int d = 0; d < 3; ++d) {
    const double beyond = (range + cutoff) / norm(steps[static_cast<size_t>(d)]) + kSparePoints;
    n[d] = static_cast<int>(pocketfft::detail::util::good_size_real(
        static_cast<size_t>(points[d]) + static_cast<size_t>(std::ceil(beyond))));
  }
  const Spectrum spectrum(kernels, range, steps, n, window);
  const Int3 reach = wide.shape.reach;
  for (int x = -reach.x; x <= reach.x; ++x)
    for (int y = -reach.y; y <= reach.y; ++y)
      wide.rows.push_back({{x, y, -reach.z}, wide.shape.place({x, y, -reach.z}), 2 * reach.z + 1});
  const auto table = static_cast<size_t>(wide.shape.size());
  wide.values.resize(kFitParts * table);
  for (int part = 0; part < kFitParts; ++part) {
    const std::vector<double> values = spectrum.by_offset(part);
    for (const StencilRow& row : wide.rows)
      for (int k = 0; k < row.count; ++k) {
        const Int3 at{onto_grid(row.at.x, n.x), onto_grid(row.at.y, n.y),
                      onto_grid(row.at.z + k, n.z)};
        wide.values[static_cast<size_t>(part) * table + static_cast<size_t>(row.first + k)] =
            static_cast<float>(
                values[static_cast<size_t>((int64_t{at.x} * n.y + at.y) * n.z + at.z)]);
      }
  }
  return wide;
}

}  // namespace quiltmd
