// SPDX-License-Identifier: Apache-2.0
// The fast multipole method, operation by operation against the kernels of the CPU, and its forces against the
// reference in double precision.
#include "fmm_rank.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

struct FmmCase {
  Box box;
  Int3 grid;
};

// Of one, two and three levels; rows that end within a four of points; edges shorter than the stencil; sizes of
// which several threads share the stencil, or one has all of it.
const FmmCase kCases[] = {
    {{1.8, 0, 1.8, 0, 0, 1.8}, {8, 8, 8}},           {{4.4, 0, 4.2, 0, 0, 4.0}, {20, 24, 20}},
    {{4.4, 1.1, 4.2, -1.2, 1.5, 4.0}, {20, 24, 20}}, {{9.4, 0, 4.2, 0, 0, 7.9}, {44, 20, 36}},
    {{6.2, 2.1, 5.8, -2.0, 2.9, 5.1}, {28, 28, 28}}, {{14, 0, 14, 0, 0, 14}, {64, 64, 64}},
    {{20, 0, 17, 0, 0, 17}, {88, 80, 72}},
};

System charges_in(const FmmCase& c, int count, std::vector<Vec3d>& positions) {
  Random random(7);
  return free_charges(count, random, positions, c.box);
}

// What a device makes of the same charges on level 0.
struct Sums {
  std::vector<int32_t> charges;  // of all other levels
  std::vector<float> potential;  // of level 0
  std::vector<int64_t> energies;
};

Sums sums_of(Device& device, const FmmCase& c, int parts) {
  std::vector<Vec3d> positions;
  const System s = charges_in(c, 10, positions);
  OneRank rank(device, s, c.box, {3, 2, 3}, positions, std::vector<Vec3d>(positions.size()));
  FmmRank fmm(rank, fmm_settings(c.grid), c.box);
  std::vector<int32_t> charges(fmm.mesh.charges.size());
  Random random(8);
  std::uniform_int_distribution<int32_t> any(-20'000'000, 20'000'000);
  for (int32_t& charge : charges) charge = any(random);
  fmm.mesh.charges.upload(charges);
  fmm.sum(parts);
  Sums sums{fmm.charges.download(), fmm.mesh.potential.download(), rank.energy.download()};
  sums.potential.resize(charges.size());
  return sums;
}

void operations_agree_with_the_cpu(Pair devices) {
  for (const FmmCase& c : kCases) {
    const Sums found = sums_of(devices.device, c, 1), expected = sums_of(devices.cpu, c, 1);
    CHECK(same_bits(found.charges, expected.charges));
    double worst = 0, largest = 0;
    for (size_t i = 0; i < expected.potential.size(); ++i) {
      largest = std::max(largest, std::fabs(double{expected.potential[i]}));
      worst = std::max(worst, std::fabs(double{found.potential[i]} - expected.potential[i]));
    }
    CHECK_NEAR(worst / largest, 0, 3e-6);
    const auto energy = [](const Sums& sums, int kind) {
      return from_fixed(sums.energies[static_cast<size_t>(kind)], kEnergyScale);
    };
    const double whole = energy(expected, kReciprocal);
    CHECK_NEAR(energy(found, kReciprocal) / whole, 1, 1e-6);
    for (int kind = kVirial; kind < kVirial + Symmetric::kParts; ++kind)
      CHECK_NEAR((energy(found, kind) - energy(expected, kind)) / whole, 0, 1e-6);
  }
}

void forces_meet_the_reference(Pair devices) {
  for (const FmmCase& c : kCases) {
    if (c.grid.x > 30) continue;  // the reference takes long
    std::vector<Vec3d> positions;
    const System s = charges_in(c, 600, positions);
    const NonbondedSettings settings = fmm_settings(c.grid, c.box);
    const FmmResult found = run_fmm(devices.device, c.box, settings, s, positions, 1);
    Evaluation expected;
    reference_fmm(s, settings, c.box, positions, expected);
    CHECK_NEAR(force_error(found.forces, expected.forces), 0, bound(devices, 3e-6, 5e-6));
    CHECK_NEAR(found.energy(kReciprocal) / expected.energy[kReciprocal], 1, 2e-6);
    CHECK_NEAR(virial_error(found.energies, expected) / expected.energy[kReciprocal], 0, 3e-6);
  }
}

// And for any number of parts that planes are cut into.
void bits_are_the_same_each_time(Pair devices) {
  for (const FmmCase& c : kCases) {
    const Sums one = sums_of(devices.device, c, 1);
    for (const int parts : {1, 2, 3, 7}) {
      const Sums other = sums_of(devices.device, c, parts);
      CHECK(other.energies == one.energies);
      CHECK(same_bits(other.potential, one.potential));
      CHECK(same_bits(other.charges, one.charges));
    }
  }
}

}  // namespace

std::vector<Case> fmm_cases(Pair devices) {
  return {
      {"levels and stencils agree", [devices] { operations_agree_with_the_cpu(devices); }},
      {"multipole forces meet the reference", [devices] { forces_meet_the_reference(devices); }},
      {"multipole bits are the same each time",
       [devices] { bits_are_the_same_each_time(devices); }}};
}

}  // namespace quiltmd::test
