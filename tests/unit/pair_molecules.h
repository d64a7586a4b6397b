// SPDX-License-Identifier: Apache-2.0
// Molecules for tests of the pair operations, and what their lists and forces must be: pairs by
// brute force, forces by the reference.
#pragma once

#include <map>
#include <random>

#include "check.h"
#include "computes/nonbonded/pair_forms.h"
#include "pair_rank.h"
#include "virial.h"

namespace quiltmd::test {

inline double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

inline Box random_box(Random& random) {
  Box box{};
  box.ax = uniform(random, 2.0, 3.5);
  box.by = uniform(random, 2.0, 3.5);
  box.cz = uniform(random, 2.0, 3.5);
  box.bx = uniform(random, -0.4, 0.4) * box.ax;
  box.cx = uniform(random, -0.4, 0.4) * box.ax;
  box.cy = uniform(random, -0.4, 0.4) * box.by;
  return box;
}

inline void add_molecule(Molecules& m, Vec3d at, bool ion, Random& random) {
  System& s = m.system;
  const int first = s.atom_count(), atoms = ion ? 1 : 3;
  for (int k = 0; k < atoms; ++k) {
    const Vec3d arm{uniform(random, -1, 1), uniform(random, -1, 1), uniform(random, -1, 1)};
    m.positions.push_back(k == 0 ? at : at + (0.1 / std::max(norm(arm), 1e-3)) * arm);
    s.masses.push_back(1);
    s.charges.push_back(ion ? 1 : (k == 0 ? -0.834 : 0.417));
    s.pair_types.push_back(ion ? 2 : (k == 0 ? 0 : 1));
    for (int other = 0; other < k; ++other) s.exclusions.push_back({first + other, first + k});
  }
  s.group_start.push_back(first + atoms);
}

// Water-like molecules and ions on a lattice that has been shaken.
inline Molecules make_molecules(const Box& box, uint64_t seed) {
  Random random(seed);
  Molecules m;
  m.box = box;
  m.system.group_start = {0};
  m.system.pair_type_count = 3;
  const double sigma[3] = {0.315, 0, 0.244}, epsilon[3] = {0.636, 0, 0.366};
  m.system.pair_tables.resize(2);
  for (int s = 0; s < 3; ++s) {
    for (int t = 0; t < 3; ++t) {
      const double s6 = std::pow((sigma[s] + sigma[t]) / 2, 6);
      const double four_epsilon = 4 * std::sqrt(epsilon[s] * epsilon[t]);
      m.system.pair_tables[0].push_back(four_epsilon * s6 * s6);
      m.system.pair_tables[1].push_back(four_epsilon * s6);
    }
  }
  const Vec3d widths = box.widths();
  const Int3 n{static_cast<int>(widths.x / 0.36), static_cast<int>(widths.y / 0.36),
               static_cast<int>(widths.z / 0.36)};
  for (int x = 0; x < n.x; ++x) {
    for (int y = 0; y < n.y; ++y) {
      for (int z = 0; z < n.z; ++z) {
        Vec3d f{(x + uniform(random, 0, 0.3)) / n.x, (y + uniform(random, 0, 0.3)) / n.y,
                (z + uniform(random, 0, 0.3)) / n.z};
        f += Vec3d{std::floor(uniform(random, -2, 2)), 0, std::floor(uniform(random, -2, 2))};
        add_molecule(m, box.to_cartesian(f), uniform(random, 0, 1) < 0.1, random);
      }
    }
  }
  return m;
}

// Parameters of a pair form for the types of make_molecules(), of which the second is without, and
// the first place in PairForms that may be taken; how it ends at the cutoff.
struct FormRow {
  const char* name;
  int first;
  std::vector<std::vector<double>> tables;
  Switching switching = Switching::kNone;

  NonbondedSettings with(NonbondedSettings settings) const {
    settings.switching = switching;
    settings.switch_distance = 0.7;
    settings.dispersion_alpha = 3.7;
    return settings;
  }
  Molecules apply(Molecules m) const {
    m.system.pair_form = name;
    m.system.pair_tables = tables;
    return m;
  }
};

// Of Lennard-Jones at equal distances, less what it is at the last, as "tabulated" takes it.
inline std::vector<std::vector<double>> tabulated(const std::vector<std::vector<double>>& lj) {
  constexpr double kFirst = 0.17, kLast = 1.25;
  constexpr int kPoints = 541;
  const size_t pairs = lj[0].size();
  std::vector<std::vector<double>> tables{std::vector(pairs, kFirst), std::vector(pairs, kLast)};
  const auto energy = [&](size_t pair, int n) {
    const double r = kFirst + (kLast - kFirst) * n / (kPoints - 1), inverse6 = std::pow(r, -6);
    return lj[0][pair] * inverse6 * inverse6 - lj[1][pair] * inverse6;
  };
  for (int n = 0; n < kPoints; ++n) {
    tables.emplace_back();
    for (size_t p = 0; p < pairs; ++p)
      tables.back().push_back(energy(p, n) - energy(p, kPoints - 1));
  }
  return tables;
}

inline std::vector<FormRow> form_rows(const Molecules& m) {
  const auto& lj = m.system.pair_tables;
  return {{"lennard-jones", 0, lj},
          {"lennard-jones", 1, lj},
          {"lennard-jones", 0, lj, Switching::kPotential},
          {"lennard-jones", 0, lj, Switching::kCharmm},
          {"lennard-jones", 0, lj, Switching::kCharmmForce},
          {"lennard-jones", 0, lj, Switching::kGromacsForce},
          {"lennard-jones", 0, lj, Switching::kMesh},
          {"lennard-jones", PairForms::index_of<OnMeshByTable>(), lj, Switching::kMesh},
          {"buckingham",
           0,
           {{134e3, 0, 2e5, 0, 0, 0, 2e5, 0, 1e5},
            {27.6, 0, 30, 0, 0, 0, 30, 0, 31},
            {0.0169, 0, 0.005, 0, 0, 0, 0.005, 0, 0}}},
          {"morse",
           0,
           {{1.5, 0, 0.8, 0, 0, 0, 0.8, 0, 0.3},
            {12, 0, 14, 0, 0, 0, 14, 0, 9},
            {0.35, 0, 0.3, 0, 0, 0, 0.3, 0, 0.45}}},
          {"mie",
           0,
           {{0.8, 0, 0.5, 0, 0, 0, 0.5, 0, 0.3},
            {0.3, 0, 0.25, 0, 0, 0, 0.25, 0, 0.2},
            {14, 0, 12.4, 0, 0, 0, 12.4, 0, 9},
            {6, 0, 6.6, 0, 0, 0, 6.6, 0, 5}}},
          {"tabulated", 0, tabulated(lj)}};
}

using PairCounts = std::map<std::pair<int, int>, int>;

// How often a list puts atoms closer than `reach` together, by pair of atoms. Pairs within `doubt`
// of the reach are left out, for rounding decides them.
inline constexpr double kDoubt = 1e-5;

inline PairCounts pairs_in_lists(const PairRank& rank, const System& system) {
  PairCounts counts;
  const auto entries = rank.lists.entries.download();
  const auto masks = rank.lists.masks.download();
  std::map<std::pair<int, int>, bool> excluded;
  for (const auto& [i, j] : system.exclusions) excluded[std::minmax(i, j)] = true;
  for (const PairList& list : rank.used_lists()) {
    for (int n = 0; n < list.count(); ++n) {
      const uint32_t entry = entries[list.begin + n], slot = entry & kSlotMask;
      const Vec3d shift = rank.patch_grid.shifts[entry >> kSlotBits];
      CHECK(rank.host_atom[slot] >= 0);
      for (uint32_t a = 0; a < kClusterSize; ++a) {
        const uint32_t i = list.cluster * kClusterSize + a;
        const bool own = entry / kClusterSize == static_cast<uint32_t>(list.cluster);
        if (rank.host_atom[i] < 0 || (own && i >= slot)) continue;
        const Float4 ri = rank.host_local[i], rj = rank.host_local[slot];
        const Vec3d d{ri.x - rj.x - shift.x, ri.y - rj.y - shift.y, ri.z - rj.z - shift.z};
        const auto pair = std::minmax(rank.host_atom[i], rank.host_atom[slot]);
        const bool interacts = n >= list.masked || (masks[list.begin + n] >> a & 1);
        CHECK(interacts == !excluded.count(pair));
        if (norm(d) < rank.choices.reach - kDoubt && pair.first != pair.second) ++counts[pair];
      }
    }
  }
  return counts;
}

inline PairCounts pairs_by_brute_force(const Molecules& m, double reach) {
  PairCounts counts;
  const int atoms = m.system.atom_count();
  for (int i = 0; i < atoms; ++i) {
    for (int j = i + 1; j < atoms; ++j) {
      const Vec3d nearest = m.box.nearest_image(m.positions[i] - m.positions[j]);
      for (int image = 0; image < 27; ++image) {
        const Vec3d whole{image / 9 - 1.0, image / 3 % 3 - 1.0, image % 3 - 1.0};
        const double r = norm(nearest + m.box.to_cartesian(whole));
        if (r < reach - kDoubt) ++counts[{i, j}];
        if (std::fabs(r - reach) <= kDoubt) counts[{i, j}] = -1000;
      }
    }
  }
  return counts;
}

struct Errors {
  double force, lj, coulomb;  // relative, force by root mean square
  double virial;              // relative to the energies
};

// Atoms with a pair so close to the cutoff that single precision may see it on the other side.
inline std::vector<bool> doubtful(const Molecules& m, double cutoff) {
  std::vector<bool> found(m.positions.size(), false);
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double r = norm(m.box.nearest_image(m.positions[i] - m.positions[j]));
      if (std::fabs(r - cutoff) < 1e-6) found[i] = found[j] = true;
    }
  }
  return found;
}

inline Errors against_reference(PairRank& rank, const Molecules& m) {
  Evaluation exact;
  reference_pairs(m.system, rank.choices.settings, m.box, m.positions, exact);
  double difference = 0, size = 0;
  const std::vector<Vec3d> forces = rank.forces();
  const std::vector<bool> left_out = doubtful(m, rank.choices.settings.cutoff);
  for (size_t a = 0; a < forces.size(); ++a) {
    if (left_out[a]) continue;
    const Vec3d d = forces[a] - exact.forces[a];
    difference += dot(d, d);
    size += dot(exact.forces[a], exact.forces[a]);
  }
  return {std::sqrt(difference / size), rank.energy_of(kPairForm) / exact.energy[kPairForm] - 1,
          rank.energy_of(kCoulombDirect) / exact.energy[kCoulombDirect] - 1,
          virial_error(rank.energy.download(), exact) /
              (std::fabs(exact.energy[kPairForm]) + std::fabs(exact.energy[kCoulombDirect]))};
}

}  // namespace quiltmd::test
