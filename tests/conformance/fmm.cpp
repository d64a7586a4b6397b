// SPDX-License-Identifier: Apache-2.0
// The fast multipole method, operation by operation against the kernels of the CPU, and its forces against the
// reference in double precision.
#include <cstring>

#include "fmm_rank.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

struct FmmCase {
  Box box;
  Int3 grid;
  int order = 5;
};

// Of one, two and three levels; rows that end within a four of points; edges shorter than the stencil; sizes of
// which several threads share the stencil, or one has all of it.
const FmmCase kCases[] = {
    {{1.8, 0, 1.8, 0, 0, 1.8}, {8, 8, 8}},
    {{4.4, 0, 4.2, 0, 0, 4.0}, {20, 24, 20}},
    {{4.4, 1.1, 4.2, -1.2, 1.5, 4.0}, {20, 24, 20}},
    {{9.4, 0, 4.2, 0, 0, 7.9}, {44, 20, 36}},
    {{6.2, 2.1, 5.8, -2.0, 2.9, 5.1}, {28, 28, 28}},
    {{14, 0, 14, 0, 0, 14}, {64, 64, 64}},
    {{20, 0, 17, 0, 0, 17}, {88, 80, 72}},
    {{4.4, 0, 4.2, 0, 0, 4.0}, {20, 24, 20}, 4},
    {{4.4, 0, 4.2, 0, 0, 4.0}, {20, 24, 20}, 6},
    {{4.4, 0, 4.2, 0, 0, 4.0}, {20, 24, 20}, 8},
    {{6.2, 2.1, 5.8, -2.0, 2.9, 5.1}, {28, 28, 28}, 6},
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
  FmmRank fmm(rank, fmm_settings(c.grid, c.order), c.box);
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
    const NonbondedSettings settings = fmm_settings(c.grid, c.order, c.box);
    const FmmResult found = run_fmm(devices.device, c.box, settings, s, positions, 1);
    Evaluation expected;
    reference_fmm(s, settings, c.box, positions, expected);
    CHECK_NEAR(force_error(found.forces, expected.forces), 0, bound(devices, 3e-6, 5e-6));
    CHECK_NEAR(found.energy(kReciprocal) / expected.energy[kReciprocal], 1, 2e-6);
    CHECK_NEAR(virial_error(found.energies, expected) / expected.energy[kReciprocal], 0, 3e-6);
  }
}

// A droplet across the boundary of its cell.
struct Droplet {
  NonbondedSettings settings;
  Box cell;
  Int3 patches;
  std::vector<Vec3d> positions, in_cell;
  System charges;

  explicit Droplet(int order) {
    constexpr int kPerPatch = 6;
    settings = fmm_settings({0, 0, 0}, order);
    settings.open_spacing = 0.21;
    const double width = kPerPatch * settings.open_spacing;
    patches = with_levels({6, 6, 7}, kPerPatch, order);
    for (int d = 0; d < 3; ++d) settings.grid[d] = kPerPatch * patches[d];
    cell = {patches.x * width, 0, patches.y * width, 0, 0, patches.z * width};
    const Box of_charges{2 * width, 0, 2 * width, 0, 0, 2 * width};
    Random random(9);
    charges = free_charges(300, random, positions, of_charges);
    for (Vec3d& p : positions) {
      p -= Vec3d{width, width, -width};
      in_cell.push_back({p.x < 0 ? p.x + cell.ax : p.x, p.y < 0 ? p.y + cell.by : p.y, p.z});
    }
  }
};

FmmResult forces_in(Device& device, const Droplet& d, int parts) {
  OneRank rank(device, d.charges, d.cell, d.patches, d.in_cell,
               std::vector<Vec3d>(d.in_cell.size()));
  return run_fmm(rank, d.cell, d.settings, parts);
}

void open_boundaries_have_no_images(Pair devices) {
  for (const int order : {5, 6, 8}) {
    const Droplet droplet(order);
    const FmmResult found = forces_in(devices.device, droplet, 1);
    const FmmResult of_cpu = forces_in(devices.cpu, droplet, 1);
    CHECK_NEAR(force_error(found.forces, of_cpu.forces), 0, bound(devices, 3e-6, 5e-6));
    Evaluation all_pairs;
    reference_fmm(droplet.charges, droplet.settings, droplet.cell, droplet.positions, all_pairs);
    CHECK_NEAR(force_error(found.forces, all_pairs.forces), 0, 2e-3);
    const double whole = all_pairs.energy[kReciprocal];
    CHECK_NEAR(found.energy(kReciprocal) / whole, 1, 1e-4);
    for (int kind = kVirial; kind < kVirial + Symmetric::kParts; ++kind)
      CHECK_NEAR((found.energy(kind) - of_cpu.energy(kind)) / whole, 0, 3e-6);
    for (const int parts : {1, 3}) {
      const FmmResult again = forces_in(devices.device, droplet, parts);
      CHECK(again.energies == found.energies);
      CHECK(std::memcmp(again.forces.data(), found.forces.data(),
                        found.forces.size() * sizeof(Vec3d)) == 0);
    }
  }
}

// In a periodic box, that of all points.
void points_around_the_atoms_are_enough(Pair devices) {
  for (const int order : {5, 6, 8}) {
    Droplet droplet(order);
    droplet.settings.open_spacing = 0;
    Box skewed = droplet.cell;
    skewed.bx = 0.3 * skewed.ax;
    skewed.cy = -0.2 * skewed.by;
    for (const Box& cell : {droplet.cell, skewed}) {
      droplet.cell = cell;
      const auto forces = [&](int parts, Evaluated points) {
        OneRank rank(devices.device, droplet.charges, cell, droplet.patches, droplet.in_cell,
                     std::vector<Vec3d>(droplet.in_cell.size()));
        return run_fmm(rank, cell, droplet.settings, parts, points);
      };
      const FmmResult all = forces(1, Evaluated::kAllPoints);
      for (const int parts : {1, 3}) {
        const FmmResult found = forces(parts, Evaluated::kAroundAtoms);
        CHECK(found.energies == all.energies);
        CHECK(same_bits(found.forces, all.forces));
      }
    }
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
      {"open boundaries have no images", [devices] { open_boundaries_have_no_images(devices); }},
      {"points around the atoms are enough",
       [devices] { points_around_the_atoms_are_enough(devices); }},
      {"multipole bits are the same each time",
       [devices] { bits_are_the_same_each_time(devices); }}};
}

}  // namespace quiltmd::test
