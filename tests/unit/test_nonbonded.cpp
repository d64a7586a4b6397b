// SPDX-License-Identifier: Apache-2.0
// Pair lists and pair forces: every pair once, the reference's forces, the same bits for any number
// of threads and any numbering of slots, and an integer sum of exactly zero.
#include <hwy/targets.h>

#include <map>
#include <random>

#include "check.h"
#include "device/host/host_device.h"
#include "device/host/kernels.h"
#include "pair_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

const Box kBox{2.3, 0.6, 2.5, -0.5, 0.8, 2.1};

Box random_box(Random& random) {
  Box box{};
  box.ax = uniform(random, 2.0, 3.5);
  box.by = uniform(random, 2.0, 3.5);
  box.cz = uniform(random, 2.0, 3.5);
  box.bx = uniform(random, -0.4, 0.4) * box.ax;
  box.cx = uniform(random, -0.4, 0.4) * box.ax;
  box.cy = uniform(random, -0.4, 0.4) * box.by;
  return box;
}

void add_molecule(Molecules& m, Vec3d at, bool ion, Random& random) {
  System& s = m.system;
  const int first = s.atom_count(), atoms = ion ? 1 : 3;
  for (int k = 0; k < atoms; ++k) {
    const Vec3d arm{uniform(random, -1, 1), uniform(random, -1, 1), uniform(random, -1, 1)};
    m.positions.push_back(k == 0 ? at : at + (0.1 / std::max(norm(arm), 1e-3)) * arm);
    s.masses.push_back(1);
    s.charges.push_back(ion ? 1 : (k == 0 ? -0.834 : 0.417));
    s.lj_types.push_back(ion ? 2 : (k == 0 ? 0 : 1));
    for (int other = 0; other < k; ++other) s.exclusions.push_back({first + other, first + k});
  }
  s.group_start.push_back(first + atoms);
}

// Water-like molecules and ions on a lattice that has been shaken.
Molecules make_molecules(const Box& box, uint64_t seed) {
  Random random(seed);
  Molecules m;
  m.box = box;
  m.system.group_start = {0};
  m.system.lj_type_count = 3;
  const double sigma[3] = {0.315, 0, 0.244}, epsilon[3] = {0.636, 0, 0.366};
  for (int s = 0; s < 3; ++s) {
    for (int t = 0; t < 3; ++t) {
      const double s6 = std::pow((sigma[s] + sigma[t]) / 2, 6);
      const double four_epsilon = 4 * std::sqrt(epsilon[s] * epsilon[t]);
      m.system.lj_a.push_back(four_epsilon * s6 * s6);
      m.system.lj_b.push_back(four_epsilon * s6);
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

using PairCounts = std::map<std::pair<int, int>, int>;

// How often a list puts atoms closer than `reach` together, by pair of atoms. Pairs within `doubt`
// of the reach are left out, for rounding decides them.
constexpr double kDoubt = 1e-5;

PairCounts pairs_in_lists(const PairRank& rank, const System& system) {
  PairCounts counts;
  const auto entries = rank.entries.download();
  const auto masks = rank.masks.download();
  std::map<std::pair<int, int>, bool> excluded;
  for (const auto& [i, j] : system.exclusions) excluded[std::minmax(i, j)] = true;
  for (const PairList& list : rank.lists.download()) {
    for (int n = 0; n < list.count; ++n) {
      const uint32_t entry = entries[list.begin + n], slot = entry & kSlotMask;
      const Vec3d shift = rank.grid.shifts[entry >> kSlotBits];
      CHECK(rank.atom[slot] >= 0);
      for (uint32_t a = 0; a < kClusterSize; ++a) {
        const uint32_t i = list.cluster * kClusterSize + a;
        const bool own = entry / kClusterSize == static_cast<uint32_t>(list.cluster);
        if (rank.atom[i] < 0 || (own && i >= slot)) continue;
        const Float4 ri = rank.local[i], rj = rank.local[slot];
        const Vec3d d{ri.x - rj.x - shift.x, ri.y - rj.y - shift.y, ri.z - rj.z - shift.z};
        const auto pair = std::minmax(rank.atom[i], rank.atom[slot]);
        const bool interacts = n >= list.masked || (masks[list.begin + n] >> a & 1);
        CHECK(interacts == !excluded.count(pair));
        if (norm(d) < rank.choices.reach - kDoubt && pair.first != pair.second) ++counts[pair];
      }
    }
  }
  return counts;
}

PairCounts pairs_by_brute_force(const Molecules& m, double reach) {
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

void every_pair_is_listed_once() {
  HostDevice device(2, host_kernels());
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    const Box box = random_box(random);
    const Vec3d widths = box.widths();
    const double narrowest = std::min({widths.x, widths.y, widths.z});
    PairRank::Choices choices;
    choices.settings.cutoff = uniform(random, 0.2, 0.45) * narrowest;
    choices.reach = choices.settings.cutoff + uniform(random, 0, 0.2);
    choices.away = 1 + static_cast<int>(seed % 2);
    const Molecules m = make_molecules(box, seed);
    // Atoms of a group stick out of its patch by 0.1 nm: the grid must allow for it.
    PairRank::Choices wide = choices;
    wide.reach += 0.2;
    PairRank rank(device, m, wide);
    rank.choices.reach = choices.reach;
    rank.build();
    PairCounts found = pairs_in_lists(rank, m.system);
    int wrong = 0;
    for (const auto& [pair, count] : pairs_by_brute_force(m, choices.reach)) {
      if (count >= 0) wrong += found[pair] != count;
      found.erase(pair);
    }
    CHECK(wrong == 0);
    CHECK(found.empty());
  }
}

void lists_do_not_depend_on_threads_or_slots() {
  const Molecules m = make_molecules(kBox, 3);
  HostDevice one(1, host_kernels()), three(3, host_kernels());
  PairRank::Choices moved;
  moved.gap = 800;
  PairRank a(one, m, {}), b(three, m, moved);
  a.build();
  b.build();
  const auto lists_a = a.lists.download(), lists_b = b.lists.download();
  const auto entries_a = a.entries.download(), entries_b = b.entries.download();
  const int offset = moved.gap / kClusterSize;
  for (size_t l = 0; l + offset < lists_a.size(); ++l) {
    CHECK(lists_a[l].cluster + offset == lists_b[l].cluster);
    CHECK(lists_a[l].masked == lists_b[l].masked && lists_a[l].count == lists_b[l].count);
    for (int n = 0; n < lists_a[l].count; ++n) {
      CHECK(entries_a[lists_a[l].begin + n] + moved.gap == entries_b[lists_b[l].begin + n]);
    }
  }
}

struct Errors {
  double force, lj, coulomb;  // relative, force by root mean square
};

// Atoms with a pair so close to the cutoff that single precision may see it on the other side.
std::vector<bool> doubtful(const Molecules& m, double cutoff) {
  std::vector<bool> found(m.positions.size(), false);
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double r = norm(m.box.nearest_image(m.positions[i] - m.positions[j]));
      if (std::fabs(r - cutoff) < 1e-6) found[i] = found[j] = true;
    }
  }
  return found;
}

Errors against_reference(PairRank& rank, const Molecules& m) {
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
  return {std::sqrt(difference / size), rank.energy_of(kLj) / exact.energy[kLj] - 1,
          rank.energy_of(kCoulombDirect) / exact.energy[kCoulombDirect] - 1};
}

void forces_match_the_reference() {
  HostDevice device(2, host_kernels());
  const Molecules m = make_molecules(kBox, 5);
  for (const double alpha : {0.0, 2.92, 4.1}) {
    for (const Combination combination : {Combination::kLorentzBerthelot, Combination::kTable}) {
      for (const bool shift : {false, true}) {
        PairRank::Choices choices;
        choices.settings.pme = alpha > 0;
        choices.settings.alpha = alpha;
        choices.settings.potential_shift = shift;
        choices.combination = combination;
        choices.reach = 1.2;
        PairRank rank(device, m, choices);
        rank.build();
        rank.evaluate(true);
        const Errors errors = against_reference(rank, m);
        CHECK(errors.force < 2.5e-6);
        CHECK_NEAR(errors.lj, 0, 1e-6);
        CHECK_NEAR(errors.coulomb, 0, 1e-6);
      }
    }
  }
}

void every_instruction_set_agrees() {
  const Molecules m = make_molecules(kBox, 6);
  HostDevice device(1, host_kernels());
  PairRank::Choices choices;
  choices.settings.alpha = 2.92;
  choices.reach = 1.2;
  for (int64_t left = hwy::SupportedTargets(); left; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    PairRank rank(device, m, choices);
    rank.build();
    rank.evaluate(true);
    const Errors errors = against_reference(rank, m);
    CHECK(errors.force < 2.5e-6);
    CHECK_NEAR(errors.lj, 0, 1e-6);
    CHECK_NEAR(errors.coulomb, 0, 1e-6);
    hwy::SetSupportedTargetsForTest(0);
  }
}

void the_bits_are_the_same() {
  const Molecules m = make_molecules(kBox, 7);
  HostDevice one(1, host_kernels()), three(3, host_kernels());
  PairRank::Choices choices;
  choices.settings.alpha = 2.92;
  choices.reach = 1.2;
  PairRank::Choices moved = choices;
  moved.gap = 1600;
  PairRank a(one, m, choices), b(three, m, moved);
  a.build();
  b.build();
  a.evaluate(false);
  b.evaluate(true);  // with energies the forces are the same, too
  for (int axis = 0; axis < 3; ++axis) {
    const auto fa = a.fixed_forces(axis), fb = b.fixed_forces(axis);
    int64_t sum = 0;
    for (size_t s = 0; s < fa.size(); ++s) {
      sum += fa[s];
      CHECK(fa[s] == fb[s + moved.gap]);
    }
    CHECK(sum == 0);
  }
  a.evaluate(true);
  for (const EnergyKind kind : {kLj, kCoulombDirect}) {
    CHECK(a.energy.download()[kind] == b.energy.download()[kind]);
  }
}

void overlapping_atoms_stay_finite() {
  HostDevice device(1, host_kernels());
  Molecules m = make_molecules(kBox, 9);
  std::vector<int> oxygens;
  for (int a = 0; a < m.system.atom_count(); ++a) {
    if (m.system.lj_types[a] == 0) oxygens.push_back(a);
  }
  m.positions[oxygens[1]] = m.positions[oxygens[0]];
  m.positions[oxygens[3]] = m.positions[oxygens[2]] + Vec3d{1e-4, 0, 0};
  PairRank::Choices choices;
  choices.settings.alpha = 2.92;
  choices.reach = 1.2;
  PairRank rank(device, m, choices);
  rank.build();
  rank.evaluate(true);
  int64_t sum = 0;
  for (const int64_t f : rank.fixed_forces(0)) sum += f;
  CHECK(sum == 0);
  CHECK(norm(rank.forces()[oxygens[3]]) > 1e4);
  CHECK(rank.energy_of(kLj) > 1e6);
}

double evaluate(const float* coefficients, double r2, double cutoff) {
  const float t = static_cast<float>(2 * r2 / (cutoff * cutoff) - 1);
  float sum = 0;
  for (int k = kEwaldDegree; k >= 0; --k) sum = std::fma(sum, t, coefficients[k]);
  return sum;
}

void polynomials_fit() {
  const double cutoff = 0.9;
  for (const double product : {1.8, 2.63, 3.12, 3.72}) {
    const double alpha = product / cutoff;
    const EwaldPolynomial fit = fit_ewald(alpha, cutoff);
    CHECK(fit.force_degree == (product < 2.7 ? kEwaldLowDegree : kEwaldDegree));
    for (int n = 1; n <= 1000; ++n) {
      const double r = 0.02 + (cutoff - 0.02) * n / 1000, erf = std::erf(alpha * r) / r;
      const double gaussian = 2 * alpha / std::sqrt(kPi) * std::exp(-alpha * alpha * r * r);
      const double exact = (erf - gaussian) / (r * r);
      CHECK_NEAR(evaluate(fit.force, r * r, cutoff) / exact, 1, 2e-6);
      CHECK_NEAR(evaluate(fit.energy, r * r, cutoff) / erf, 1, 5e-7);
    }
  }
  const EwaldPolynomial none = fit_ewald(0, cutoff);
  for (int k = 0; k <= kEwaldDegree; ++k) CHECK(none.force[k] == 0 && none.energy[k] == 0);
}

void combination_rules_are_recognised() {
  Molecules m = make_molecules(kBox, 1);
  const LorentzBerthelot rules = lorentz_berthelot(m.system);
  CHECK(rules.holds);
  CHECK_NEAR(rules.sigma[0], 0.315, 1e-9);
  CHECK_NEAR(rules.epsilon[2], 0.366, 1e-9);
  CHECK(rules.epsilon[1] == 0);
  System with_special_pair = m.system;
  with_special_pair.lj_b[2] *= 1.01;
  CHECK(!lorentz_berthelot(with_special_pair).holds);
  System with_repulsion = m.system;
  with_repulsion.lj_a[4] = 1e-6;
  CHECK(!lorentz_berthelot(with_repulsion).holds);
}

}  // namespace

int main() {
  return run_all(
      {{"every pair is listed once", every_pair_is_listed_once},
       {"lists do not depend on threads or slots", lists_do_not_depend_on_threads_or_slots},
       {"forces match the reference", forces_match_the_reference},
       {"every instruction set agrees", every_instruction_set_agrees},
       {"the bits are the same", the_bits_are_the_same},
       {"overlapping atoms stay finite", overlapping_atoms_stay_finite},
       {"polynomials fit", polynomials_fit},
       {"combination rules are recognised", combination_rules_are_recognised}});
}
