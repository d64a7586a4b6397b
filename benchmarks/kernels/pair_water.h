// SPDX-License-Identifier: Apache-2.0
// Boxes of water for the workshop of the pair kernels, and a plain double-precision sum over all
// pairs to check them with: slow, so it is made for a sample of atoms.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "decomposition/slots.h"
#include "math/box.h"
#include "math/units.h"

namespace quiltmd {

constexpr double kCutoff = 0.9, kCube = 6.223;
constexpr int kWaters = 7852, kLattice = 20;

struct Water {
  Box box{};
  std::vector<Vec3d> positions;
  std::vector<float> charge;
  std::vector<Float2> lj;
  std::vector<int32_t> group_start, exclusion_start, exclusions;
  int atoms() const { return static_cast<int>(positions.size()); }
  bool excluded(int i, int j) const {
    const auto at = exclusions.begin();
    return std::binary_search(at + exclusion_start[i], at + exclusion_start[i + 1], j);
  }
};

inline Vec3d random_direction(std::mt19937& random) {
  std::normal_distribution<double> normal;
  const Vec3d v{normal(random), normal(random), normal(random)};
  return (1 / norm(v)) * v;
}

inline void add_molecule(Water& w, std::mt19937& random, Vec3d at, bool protein) {
  const Vec3d a = random_direction(random);
  Vec3d b = cross(a, random_direction(random));
  b = (1 / norm(b)) * b;
  const double half = 0.5 * 104.52 * kPi / 180, length = 0.09572;
  const Vec3d axis = (length * std::cos(half)) * a, side = (length * std::sin(half)) * b;
  const float unit = static_cast<float>(std::sqrt(kCoulomb));
  const auto first = static_cast<int32_t>(w.positions.size());
  w.group_start.push_back(first);
  for (int k = 0; k < 3; ++k) {
    w.positions.push_back(k == 0 ? at : k == 1 ? at + axis + side : at + axis - side);
    w.charge.push_back((k == 0 ? -0.834f : 0.417f) * unit);
    const float eps = k == 0 ? 0.635968f : protein ? 0.0657f : 0.0f;
    w.lj.push_back({k == 0 ? 0.315075f / 2 : 0.05f, 2 * std::sqrt(eps)});
  }
}

// Exclude atoms from those of their molecule; those of the molecules listed, which lie in one tile,
// from the six nearest atoms of other such molecules, too, and these from them: about as many, and
// as many clusters of them, as the bonds of a protein exclude.
inline void add_exclusions(std::vector<std::vector<int32_t>>& excluded, const Water& w,
                           const std::vector<int>& bound) {
  for (const int a : bound) {
    std::vector<std::pair<double, int>> near;
    for (const int other : bound) {
      const double r = norm(w.positions[other] - w.positions[a]);
      if (other / 3 != a / 3 && r < 0.4) near.push_back({r, other});
    }
    std::sort(near.begin(), near.end());
    near.resize(std::min<size_t>(near.size(), 6));
    for (const auto& [r, other] : near) {
      excluded[a].push_back(other);
      excluded[other].push_back(a);
    }
  }
}

inline void store_exclusions(Water& w, std::vector<std::vector<int32_t>>& excluded) {
  for (int a = 0; a < w.atoms(); ++a) {
    std::vector<int32_t>& own = excluded[a];
    for (int b = a / 3 * 3; b < a / 3 * 3 + 3; ++b)
      if (b != a) own.push_back(b);
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    w.exclusion_start.push_back(static_cast<int32_t>(w.exclusions.size()));
    w.exclusions.insert(w.exclusions.end(), own.begin(), own.end());
  }
  w.exclusion_start.push_back(static_cast<int32_t>(w.exclusions.size()));
}

inline Water make_water(Int3 tiles) {
  Water w;
  w.box = {kCube * tiles.x, 0, kCube * tiles.y, 0, 0, kCube * tiles.z};
  std::mt19937 random(7);
  std::uniform_real_distribution<double> jitter(-0.02, 0.02);
  const double step = kCube / kLattice;
  const double protein = kCube * std::cbrt(0.106 * 3 / (4 * kPi));
  std::vector<int> sites(kLattice * kLattice * kLattice);
  for (size_t s = 0; s < sites.size(); ++s) sites[s] = static_cast<int>(s);
  std::vector<std::vector<int32_t>> excluded;
  for (int tile = 0; tile < tiles.x * tiles.y * tiles.z; ++tile) {
    const Vec3d corner{kCube * (tile % tiles.x), kCube * (tile / tiles.x % tiles.y),
                       kCube * (tile / (tiles.x * tiles.y))};
    std::shuffle(sites.begin(), sites.end(), random);
    std::vector<int> bound;
    for (int m = 0; m < kWaters; ++m) {
      const int s = sites[static_cast<size_t>(m)];
      const Vec3d at{step * (s % kLattice + 0.5) + jitter(random),
                     step * (s / kLattice % kLattice + 0.5) + jitter(random),
                     step * (s / (kLattice * kLattice) + 0.5) + jitter(random)};
      const Vec3d centre{kCube / 2, kCube / 2, kCube / 2};
      const bool inside = norm(at - centre) < protein;
      if (inside)
        for (int k = 0; k < 3; ++k) bound.push_back(w.atoms() + k);
      add_molecule(w, random, corner + at, inside);
    }
    excluded.resize(w.positions.size());
    add_exclusions(excluded, w, bound);
  }
  w.group_start.push_back(w.atoms());
  store_exclusions(w, excluded);
  return w;
}

// ---- plain reference -----------------------------------------------------------------------

inline const double kAlpha = std::sqrt(-std::log(2 * 5e-4)) / kCutoff;

struct Reference {
  Vec3d force{0, 0, 0};
  double lj = 0, coulomb = 0;  // of the atom with all others
  int pairs = 0;
};

inline Reference reference(const Water& w, int i) {
  Reference out;
  for (int j = 0; j < w.atoms(); ++j) {
    if (j == i) continue;
    const Vec3d d = w.box.nearest_image(w.positions[j] - w.positions[i]);
    const double r2 = dot(d, d);
    if (r2 >= kCutoff * kCutoff) continue;
    ++out.pairs;
    const double r = std::sqrt(r2), qq = static_cast<double>(w.charge[i]) * w.charge[j];
    const double gauss = 2 * kAlpha / std::sqrt(kPi) * std::exp(-kAlpha * kAlpha * r2);
    const double bare = w.excluded(i, j) ? 0 : 1;
    out.coulomb += qq * (bare - std::erf(kAlpha * r)) / r;
    double f = qq * ((bare - std::erf(kAlpha * r)) / r + gauss) / r2;
    if (bare > 0) {
      const double sigma = static_cast<double>(w.lj[i].x) + w.lj[j].x;
      const double eps4 = static_cast<double>(w.lj[i].y) * w.lj[j].y;
      const double x6 = std::pow(sigma / r, 6);
      out.lj += eps4 * (x6 * x6 - x6);
      f += eps4 * (12 * x6 * x6 - 6 * x6) / r2;
    }
    out.force = out.force - f * d;
  }
  return out;
}

}  // namespace quiltmd
