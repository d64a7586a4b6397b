// SPDX-License-Identifier: Apache-2.0
// Smooth particle-mesh Ewald in double precision: plain loops, one 3-D transform, any order from 3
// to 8.
#include "computes/reference.h"

#include <pocketfft_hdronly.h>

#include <cmath>
#include <complex>
#include <functional>
#include <memory>

#include "computes/dispersion_coefficients.h"
#include "computes/long_range/ewald_split.h"
#include "computes/long_range/pme/reference_mesh.h"
#include "computes/long_range/pme/setup.h"
#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

struct Sums {
  double energy = 0;
  Symmetric virial{};
};

// Values on a mesh.
struct OnMesh {
  Int3 grid;
  MeshWindow window;
  EnergyKind energy;
  Moduli moduli;
  std::vector<double> strengths;  // by atom
  std::function<Influence(double m2)> influence;
};

// Essmann et al. 1995, eq. 2.4; no neutralising background.
OnMesh charges_on_mesh(const System& system, const NonbondedSettings& settings, const Box& box) {
  const std::shared_ptr<const EwaldSplit> split = ewald_split(settings);
  const double scale = kCoulomb / (kPi * box.volume());
  return {settings.grid,
          window_of(settings),
          kReciprocal,
          moduli_of(settings),
          system.charges,
          [=](double m2) -> Influence {
            if (m2 == 0) return {0, 0};
            const Influence transform = split->transform(m2);
            return {scale * transform.value / m2,
                    scale * (transform.value / m2 + transform.fall) / m2};
          }};
}

// dispersion_influence.h, with the complementary error function.
OnMesh dispersion_on_mesh(const System& system, const NonbondedSettings& settings, const Box& box) {
  const double alpha = settings.dispersion_alpha;
  const double scale = dispersion_strength(alpha) / (kPi * box.volume());
  return {settings.dispersion_grid,
          MeshWindow::bspline(settings.order),
          kDispersionMesh,
          Moduli::kInterpolation,
          dispersion_coefficients(system),
          [=](double m2) -> Influence {
            const double b = kPi * std::sqrt(m2) / alpha, decay = std::exp(-b * b);
            const double last = std::sqrt(kPi) * b * std::erfc(b);
            return {scale * ((1 - 2 * b * b) * decay + 2 * b * b * last),
                    scale * 3 * kPi * kPi / (alpha * alpha) * (decay - last)};
          }};
}

// Multiply the spectrum by the influence function. The virial is Essmann et al. 1995, eq. 2.7.
Sums convolve(const OnMesh& mesh, const Box& box, std::vector<std::complex<double>>& spectrum) {
  const Int3 n = mesh.grid;
  const Reciprocal reciprocal = reciprocal_vectors(box);
  std::vector<double> moduli[3];
  for (int d = 0; d < 3; ++d) moduli[d] = window_moduli(mesh.moduli, n[d], mesh.window);
  Sums sums;
  size_t at = 0;
  for (int i = 0; i < n.x; ++i)
    for (int j = 0; j < n.y; ++j)
      for (int k = 0; k <= n.z / 2; ++k, ++at) {
        const Vec3d m = static_cast<double>(frequency(i, n.x)) * reciprocal.a +
                        static_cast<double>(frequency(j, n.y)) * reciprocal.b +
                        static_cast<double>(k) * reciprocal.c;
        const Influence influence = mesh.influence(dot(m, m));
        const double twice = k == 0 || 2 * k == n.z ? 1 : 2;
        const double modulus = moduli[0][static_cast<size_t>(i)] *
                               moduli[1][static_cast<size_t>(j)] *
                               moduli[2][static_cast<size_t>(k)];
        const double square = 0.5 * twice * modulus * std::norm(spectrum[at]);
        sums.energy += influence.value * square;
        sums.virial.add_product((-2 * influence.fall * square) * m, m);
        spectrum[at] *= influence.value * modulus;
      }
  for (int d = 0; d < 3; ++d) sums.virial[d] += sums.energy;
  return sums;
}

void add_mesh(const OnMesh& mesh, const Box& box, const std::vector<Vec3d>& positions,
              Evaluation& out) {
  const Int3 n = mesh.grid;
  const int order = mesh.window.order();
  const auto nx = static_cast<size_t>(n.x), ny = static_cast<size_t>(n.y);
  const auto nz = static_cast<size_t>(n.z);
  std::vector<double> grid(nx * ny * nz, 0.0);
  std::vector<Footprint> footprints;
  for (size_t a = 0; a < positions.size(); ++a) {
    footprints.push_back(footprint(box, n, mesh.window, positions[a]));
    const Footprint& f = footprints.back();
    over_points(f, n, order, [&](size_t at, int i, int j, int k) {
      grid[at] += mesh.strengths[a] * f.weight[0][i] * f.weight[1][j] * f.weight[2][k];
    });
  }

  std::vector<std::complex<double>> spectrum(nx * ny * (nz / 2 + 1));
  const auto bytes = [](size_t count, size_t size) { return static_cast<ptrdiff_t>(count * size); };
  const pocketfft::shape_t shape{nx, ny, nz}, axes{0, 1, 2};
  const pocketfft::stride_t real{bytes(ny * nz, sizeof(double)), bytes(nz, sizeof(double)),
                                 sizeof(double)};
  const size_t nk = nz / 2 + 1;
  const pocketfft::stride_t complex{bytes(ny * nk, 16), bytes(nk, 16), 16};
  pocketfft::r2c(shape, real, complex, axes, pocketfft::FORWARD, grid.data(), spectrum.data(), 1.0);
  const Sums sums = convolve(mesh, box, spectrum);
  out.energy[mesh.energy] += sums.energy;
  out.add_virial(sums.virial);
  pocketfft::c2r(shape, complex, real, axes, pocketfft::BACKWARD, spectrum.data(), grid.data(),
                 1.0);

  const Reciprocal reciprocal = reciprocal_vectors(box);
  out.forces.resize(positions.size(), Vec3d{0, 0, 0});
  for (size_t a = 0; a < positions.size(); ++a) {
    const Footprint& f = footprints[a];
    Vec3d gradient{0, 0, 0};
    over_points(f, n, order, [&](size_t at, int i, int j, int k) {
      gradient += grid[at] * Vec3d{f.slope[0][i] * f.weight[1][j] * f.weight[2][k],
                                   f.weight[0][i] * f.slope[1][j] * f.weight[2][k],
                                   f.weight[0][i] * f.weight[1][j] * f.slope[2][k]};
    });
    out.forces[a] -=
        mesh.strengths[a] * (n.x * gradient.x * reciprocal.a + n.y * gradient.y * reciprocal.b +
                             n.z * gradient.z * reciprocal.c);
  }
}

}  // namespace

void reference_pme(const System& system, const NonbondedSettings& settings, const Box& box,
                   const std::vector<Vec3d>& positions, Evaluation& out) {
  if (settings.order < 3 || settings.order > MeshWindow::kMaxOrder)
    throw Error("the reference PME needs an order from 3 to 8, not " +
                std::to_string(settings.order));
  add_mesh(charges_on_mesh(system, settings, box), box, positions, out);
  if (settings.has_dispersion_mesh())
    add_mesh(dispersion_on_mesh(system, settings, box), box, positions, out);
}

}  // namespace quiltmd
