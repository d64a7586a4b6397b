// SPDX-License-Identifier: Apache-2.0
// Workshop of the layout, pair-list and pair-force kernels: each timed alone on boxes of water of
// the four benchmark sizes and checked against a plain double-precision loop on a sample of atoms.
//
//   python3 benchmarks/kernels/build.py pairs && build/kernels/pairs [sizes, 1 to 4] [check]
//
// `check` times nothing, for compute-sanitizer.
//
// A tenth of the molecules, in the middle of every 6.223 nm cube, have Lennard-Jones on all three
// atoms and excluded neighbours, as a protein has. Variants of the pair kernel are made by build.py.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "math/fixed.h"
#include "pair_bench.h"
#include "pair_checks.h"
#include "variants.h"

using namespace quiltmd;

namespace {

bool timing = true;

// ---- checks --------------------------------------------------------------------------------

struct Sample {
  std::vector<int> atoms;
  std::vector<Reference> values;
  double pairs_per_atom = 0;  // half list
};

Sample sample_reference(const Water& w) {
  Sample s;
  std::mt19937 random(11);
  const int wanted = w.atoms() > 500000 ? 150 : 400;
  for (int k = 0; k < wanted; ++k) s.atoms.push_back(static_cast<int>(random() % w.atoms()));
  for (const int a : s.atoms) s.values.push_back(reference(w, a));
  for (const Reference& r : s.values) s.pairs_per_atom += 0.5 * r.pairs / wanted;
  return s;
}

// Relative rms error of the sampled forces.
double force_error(const Bench& b, const Sample& s, const std::vector<int64_t>& force,
                   const std::vector<int32_t>& slot_of_atom) {
  double error = 0, size = 0;
  for (size_t k = 0; k < s.atoms.size(); ++k) {
    const int slot = slot_of_atom[s.atoms[k]];
    Vec3d f;
    for (int c = 0; c < 3; ++c) f[c] = from_fixed(force[c * b.slots_n + slot], kForceScale);
    const Vec3d d = f - s.values[k].force;
    error += dot(d, d);
    size += dot(s.values[k].force, s.values[k].force);
  }
  return std::sqrt(error / size);
}

bool sums_to_zero(const Bench& b, const std::vector<int64_t>& force) {
  for (int c = 0; c < 3; ++c) {
    int64_t sum = 0;
    for (int s = 0; s < b.slots_n; ++s) sum += force[c * b.slots_n + s];
    if (sum != 0) return false;
  }
  return true;
}

void check_energy(Bench& b) {
  const std::vector<int64_t> e = b.energy.host();
  if (b.w.atoms() > 30000) return;
  double lj = 0, coulomb = 0;
  for (int i = 0; i < b.w.atoms(); ++i) {
    const Reference r = reference(b.w, i);
    lj += 0.5 * r.lj;
    coulomb += 0.5 * r.coulomb;
  }
  std::printf("  energies: lj %.4f (reference %.4f, rel %.1e), coulomb %.4f (%.4f, rel %.1e)\n",
              from_fixed(e[kLj], kEnergyScale), lj,
              std::fabs(from_fixed(e[kLj], kEnergyScale) / lj - 1),
              from_fixed(e[kCoulombDirect], kEnergyScale), coulomb,
              std::fabs(from_fixed(e[kCoulombDirect], kEnergyScale) / coulomb - 1));
}

// An early start must be allowed after anything that a recording may hold before it.
void check_capture(Bench& b) {
  cudaStream_t other;
  cudaEvent_t fork, join;
  cuda_check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "create stream");
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  const PairForces op = b.pairs(1, false);
  const double us = b.time(
      [&] {
        cuda_check(cudaEventRecord(fork, b.context.stream), "fork");
        cuda_check(cudaStreamWaitEvent(other, fork), "fork");
        cuda_check(cudaMemsetAsync(b.energy.data, 0, 8, other), "fill");
        cuda_check(cudaEventRecord(join, other), "join");
        b.run(op);
        cuda_check(cudaMemsetAsync(b.force.data, 0, b.force.size * 8, b.context.stream), "fill");
        b.run(op);
        cuda_check(cudaStreamWaitEvent(b.context.stream, join), "join");
        b.run(op);
      },
      5);
  const auto captured = b.force.host();
  b.forces_of([&] { b.run(op), b.run(op); });
  std::printf("  recorded with fork, fill and join: %.1f us for 3, %s\n", us,
              captured == b.force.host() ? "right" : "WRONG");
  cudaStreamDestroy(other);
}

// Entries a list and rounds of 32 a list.
void print_lists(const std::vector<PairList>& lists, int count, double pairs) {
  int64_t rounds = 0, masked = 0, listed = 0;
  int longest = 0;
  for (const PairList& l : lists) {
    rounds += (l.within[kShells - 1] + 31) / 32;
    masked += l.masked;
    listed += l.within[kShells - 1];
    longest = std::max(longest, l.within[kShells - 1]);
  }
  const auto n = static_cast<double>(listed);
  std::printf(
      "  %d lists of %.1f entries (longest %d, masked %.1f); useful slots %.3f, with idle lanes "
      "%.3f\n",
      count, n / count, longest, static_cast<double>(masked) / count, pairs / (8 * n),
      pairs / (256.0 * static_cast<double>(rounds)));
}

// Pair forces shell by shell: more shells than needed must change no bit.
void bench_shells(Bench& b, int repeats) {
  for (const int pieces : {1, 2}) {
    const auto all = b.forces_of([&] { b.run(b.pairs(pieces, false)); });
    std::printf("  pieces %d, pair forces by shell, us:", pieces);
    for (int shell = 0; shell < kShells; ++shell) {
      const PairForces op = b.pairs(pieces, false, shell);
      const auto forces = b.forces_of([&] { b.run(op); });
      std::printf(" %.1f%s", b.time([&] { b.run(op); }, repeats), forces == all ? "" : " (DIFFER)");
    }
    std::printf("\n");
  }
}

// How far the farthest atom gets in so many steps of 4 fs at 300 K, as src/schedule/setup.cpp has it.
double faded(int steps) { return 0.0285 * (1 - std::exp(-0.004 * steps / 0.0285)); }
double farthest(int steps) { return 9 * faded(steps); }

// Positions after so many steps: molecules fly, their hydrogens turn.
std::vector<Float4> moved(const std::vector<Float4>& local, const std::vector<int32_t>& atom,
                          int steps) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<Vec3d> way(local.size());
  for (size_t a = 0; a + 2 < way.size(); a += 3) {
    for (int c = 0; c < 3; ++c) {
      const double flight = 0.372 * 0.004 * steps * normal(random);
      for (size_t k = 0; k < 3; ++k)
        way[a + k][c] = flight + (k == 0 ? 0.25 : 1.5) * faded(steps) * normal(random);
    }
  }
  std::vector<Float4> after = local;
  for (size_t s = 0; s < local.size(); ++s) {
    if (atom[s] < 0) continue;
    const Vec3d& d = way[static_cast<size_t>(atom[s])];
    after[s].x += static_cast<float>(d.x);
    after[s].y += static_cast<float>(d.y);
    after[s].z += static_cast<float>(d.z);
  }
  return after;
}

// Pair forces while lists grow old, with the shells of a run of ten steps a list.
void bench_ages(Bench& b, BuildLists build, int repeats) {
  constexpr int kLife = 10;
  std::vector<int> shell;
  for (int s = 0; s < kShells; ++s) {
    const int last = s * kLife / (kShells - 1);
    build.reach[s] = static_cast<float>(kCutoff + 0.65 * farthest(std::max(last, 1)));
    while (static_cast<int>(shell.size()) <= last) shell.push_back(s);
  }
  b.run(b.number()), b.run(build);
  const auto local = b.local.host();
  const auto atom = b.atom.host();
  for (const int pieces : {1, 2}) {
    std::printf("  pieces %d, pair forces by age, us:", pieces);
    for (const int age : {0, 3, 6, 9}) {
      const auto now = moved(local, atom, age);
      cuda_check(
          cudaMemcpy(b.local.data, now.data(), now.size() * sizeof(Float4), cudaMemcpyDefault),
          "upload");
      const PairForces op = b.pairs(pieces, false, shell[static_cast<size_t>(age)]);
      std::printf(" %.1f", b.time([&] { b.run(op); }, repeats));
    }
    std::printf("\n");
  }
}

void bench(const Water& w, const Sample& sample, double buffer, bool all_variants) {
  Bench b(w, buffer, timing);
  const int repeats = w.atoms() > 500000 ? 4 : 20;
  const float reach = static_cast<float>(kCutoff + buffer);
  const NumberLists number = b.number();
  const BuildLists build = b.build(reach);
  const auto twice = [&](const auto& rest) {
    return 0.5 * b.time([&] { b.run(b.place(0)), rest(), b.run(b.place(1)), rest(); }, repeats / 2);
  };
  std::printf("%d atoms, reach %.2f, %dx%dx%d patches: place %.1f", w.atoms(), reach,
              b.grid.cells.x, b.grid.cells.y, b.grid.cells.z, twice([] {}));
  std::printf(" number %.1f", b.time([&] { b.run(number); }, repeats));
  std::printf(" build, with it %.1f", b.time([&] { b.run(number), b.run(build); }, repeats));
  std::printf(" all %.1f us\n", twice([&] { b.run(number), b.run(build); }));
  const Faults faults = b.faults.host()[0];
  if (faults.list_overflow)
    std::printf("  OVERFLOW: need %d, have %zu\n", faults.list_overflow, b.entries.size);
  const double pairs = sample.pairs_per_atom * w.atoms();
  print_lists(b.lists.host(), b.ranges.host()[3], pairs);
  check_lists(b, sample.atoms, build.reach);
  const std::vector<int32_t> where = b.slot_of_atom.host();
  const auto plain = b.forces_of([&] { b.run(b.pairs(1, false)); });
  std::printf("  force error %.2e, sum %s, repeat %s", force_error(b, sample, plain, where),
              sums_to_zero(b, plain) ? "zero" : "NOT ZERO",
              plain == b.forces_of([&] { b.run(b.pairs(1, false)); }) ? "equal" : "DIFFERS");
  const auto with_energy = b.forces_of([&] { b.run(b.pairs(1, true)); });
  std::printf(", with energies %s\n", plain == with_energy ? "equal" : "DIFFERS");
  if (all_variants && timing) check_energy(b);
  if (all_variants && timing) check_capture(b);
  const double floor = pairs * 1e6;  // microseconds per slot-instruction, over the chip's rate
  for (const PairVariant& v : pair_variants()) {
    if (!all_variants && std::string(v.name) != "source") continue;
    std::printf("  %-12s", v.name);
    for (const int pieces : {1, 2, 3, 4}) {
      if (w.atoms() > 300000 && pieces > 2) continue;
      const PairForces op = b.pairs(pieces, false);
      const double us = b.time([&] { v.run(op, b.context); }, repeats);
      std::printf(" pieces %d: %8.2f us (%5.1f slots/pair)", pieces, us, us * 33.4e12 / floor);
    }
    const auto f = b.forces_of([&] { v.run(b.pairs(1, false), b.context); });
    std::printf("  %s", f == plain ? "same bits" : "");
    if (f != plain) std::printf("error %.1e", force_error(b, sample, f, where));
    const PairForces op = b.pairs(1, true);
    std::printf("; energies %.1f us\n", b.time([&] { v.run(op, b.context); }, repeats));
    std::fflush(stdout);
  }
  bench_shells(b, repeats);
  if (timing && buffer == 0.19) bench_ages(b, build, repeats);
}

}  // namespace

int main(int argc, char** argv) {
  const Int3 tiles[] = {{1, 1, 1}, {2, 2, 1}, {4, 4, 1}, {3, 3, 5}};
  const int sizes = argc > 1 ? std::atoi(argv[1]) : 4;
  timing = argc < 3;
  try {
    for (int t = 0; t < sizes; ++t) {
      const Water w = make_water(tiles[t]);
      const Sample sample = sample_reference(w);
      std::printf("== %d atoms, %.1f pairs per atom\n", w.atoms(), sample.pairs_per_atom);
      for (const double buffer : {0.10, 0.19, 0.25}) {
        if (timing || buffer == 0.19)
          bench(w, sample, buffer, timing && buffer == 0.19 && (t == 0 || t == 3));
      }
    }
  } catch (const std::exception& e) {
    std::printf("FAILED: %s\n", e.what());
    return 1;
  }
  return 0;
}
