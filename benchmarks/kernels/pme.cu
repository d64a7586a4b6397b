// SPDX-License-Identifier: Apache-2.0
// Workshop of the PME kernels: each timed alone on boxes of water of the four benchmark sizes, and
// the forces checked against a reference in double precision.
//
//   python3 benchmarks/kernels/build.py pme && build/kernels/pme [sizes, 1 to 4]
#include <cstring>
#include <memory>
#include <string>

#include "computes/pme/cuda_kernels.h"
#include "computes/pme/setup.h"
#include "computes/reference.h"
#include "water.h"

using namespace workshop;

namespace {

constexpr double kCutoff = 0.9, kTolerance = 5e-4;

// Ewald parameter by the rule of erfc, as OpenMM derives it from the tolerance.
const double kAlpha = std::sqrt(-std::log(2 * kTolerance)) / kCutoff;

// A size of the benchmark on the device.
struct Case {
  Water water;
  NonbondedSettings settings;
  CudaContext& context;
  PmeGrid grid{};
  Locals locals;
  Array<Float4> local, long_range;
  Array<PlacedPatch> patches;
  Array<int32_t> charges, slot_count, owned_index;
  Array<Complex> spectrum;
  Array<float> potential;
  Array<int64_t> energy;
  std::unique_ptr<Array<float>> moduli[3];

  static size_t points(Int3 n) { return static_cast<size_t>(n.x) * n.y * n.z; }
  static std::vector<int32_t> identity(size_t n) {
    std::vector<int32_t> v(n);
    for (size_t i = 0; i < n; ++i) v[i] = static_cast<int32_t>(i);
    return v;
  }

  Case(CudaContext& c, Water w, Int3 n, int order)
      : water(std::move(w)),
        context(c),
        locals(make_locals(water)),
        local(locals.local),
        long_range(water.slots()),
        patches(water.patches),
        charges(points(n)),
        slot_count(std::vector<int32_t>{static_cast<int32_t>(water.slots())}),
        owned_index(identity(water.patches.size())),
        spectrum(points({n.x, n.y, n.z / 2 + 1})),
        potential(points(n)),
        energy(kEnergyKinds) {
    settings.alpha = kAlpha;
    settings.grid = n;
    settings.order = order;
    grid = {n.x, n.y, n.z, order, water.box, water.cells};
    for (int d = 0; d < 3; ++d)
      moduli[d] = std::make_unique<Array<float>>(spline_moduli(n[d], order));
  }

  Slots slots() const {
    Slots s{};
    s.local = local.data();
    s.long_range = long_range.data();
    return s;
  }
  SpreadCharges spread() const {
    return {grid,
            slots(),
            patches.data(),
            static_cast<int>(water.patches.size()),
            slot_count.data(),
            static_cast<int>(water.slots()),
            charges.data(),
            owned_index.data()};
  }
  TransformPlanes transform() const { return {grid, 0, grid.nx, charges.data(), spectrum.data()}; }
  ConvolveLines convolve(bool with_energy) const {
    return {grid,
            0,
            grid.ny,
            settings.alpha,
            {moduli[0]->data(), moduli[1]->data(), moduli[2]->data()},
            spectrum.data(),
            with_energy ? energy.data() : nullptr};
  }
  InversePlanes inverse() const { return {grid, 0, grid.nx, spectrum.data(), potential.data()}; }
  GatherForces gather() const {
    return {grid,
            slots(),
            patches.data(),
            static_cast<int>(water.patches.size()),
            slot_count.data(),
            static_cast<int>(water.slots()),
            potential.data(),
            owned_index.data()};
  }
  void clear() const {
    cuda_check(cudaMemsetAsync(charges.data(), 0, charges.bytes(), context.stream), "clear");
  }

  void whole(PlaneRoute route, bool with_energy) const {
    clear();
    spread_charges(spread(), context);
    transform_planes_by(route, transform(), context);
    convolve_lines(convolve(with_energy), context);
    inverse_planes_by(route, inverse(), context);
    gather_forces(gather(), context);
  }
  std::vector<Float4> forces(PlaneRoute route) {
    cuda_check(cudaMemset(long_range.data(), 0xff, long_range.bytes()), "poison");
    cuda_check(cudaMemset(potential.data(), 0xff, potential.bytes()), "poison");
    cuda_check(cudaMemset(energy.data(), 0, energy.bytes()), "clear");
    whole(route, true);
    cuda_check(cudaStreamSynchronize(context.stream), "run PME");
    return long_range.download();
  }
};

struct Errors {
  double force, energy;
};

Evaluation reference_of(const Case& c) {
  System system;
  std::vector<Vec3d> positions;
  for (size_t s = 0; s < c.water.slots(); ++s)
    if (c.water.atom[s] >= 0) {
      positions.push_back(c.water.position[s]);
      system.charges.push_back(c.water.charge[s] / std::sqrt(kCoulomb));
    }
  Evaluation reference;
  reference_pme(system, c.settings, c.water.box, positions, reference);
  return reference;
}

Errors compare(const Case& c, const Evaluation& reference, const std::vector<Float4>& forces) {
  double difference2 = 0, norm2 = 0;
  for (size_t s = 0, a = 0; s < c.water.slots(); ++s) {
    if (c.water.atom[s] < 0) continue;
    const Vec3d f = reference.forces[a++];
    const Vec3d d = Vec3d{forces[s].x, forces[s].y, forces[s].z} - f;
    difference2 += dot(d, d);
    norm2 += dot(f, f);
  }
  const double e = from_fixed(c.energy.download()[kReciprocal], kEnergyScale);
  const double exact = reference.energy[kReciprocal];
  return {std::sqrt(difference2 / norm2), std::abs(e / exact - 1)};
}

const char* name_of(PlaneRoute route) {
  return route == PlaneRoute::kWhole ? "whole planes" : "tiles";
}

void row(const Case& c, const char* kernel, const std::string& variant, double us) {
  std::printf("%8d %-18s %-22s %8.2f us\n", c.water.atoms, kernel, variant.c_str(), us);
}

void check(Case& c) {
  const Evaluation reference = reference_of(c);
  for (const PlaneRoute route : {PlaneRoute::kWhole, PlaneRoute::kTiles}) {
    if (route == PlaneRoute::kWhole && !plane_fits(c.grid, c.context)) continue;
    const auto first = c.forces(route), second = c.forces(route);
    const bool same = std::memcmp(first.data(), second.data(), first.size() * sizeof(Float4)) == 0;
    const Errors e = compare(c, reference, second);
    std::printf("%8d check %-14s force error %.2e  energy error %.2e  %s\n", c.water.atoms,
                name_of(route), e.force, e.energy, same ? "repeats" : "DOES NOT REPEAT");
  }
}

void time_bricks(Case& c) {
  const BrickChoice chosen = choose_bricks(c.grid, c.context);
  std::vector<BrickChoice> tried{chosen};
  for (const Int3& p :
       {Int3{1, 1, 1}, Int3{1, 1, 2}, Int3{1, 2, 2}, Int3{2, 2, 2}, Int3{2, 2, 3}, Int3{3, 3, 3}})
    for (const int threads : {512, 1024}) tried.push_back({p, threads});
  for (size_t i = 0; i < tried.size(); ++i) {
    const BrickChoice& t = tried[i];
    if (!bricks_fit(c.grid, t, c.context)) continue;
    const std::string shape = (i == 0 ? "chosen " : "") + std::to_string(t.patches.x) + "x" +
                              std::to_string(t.patches.y) + "x" + std::to_string(t.patches.z) +
                              " by " + std::to_string(t.threads);
    row(c, "spread", shape,
        time_of(c.context, [&] { spread_charges_by(t, c.spread(), c.context); }));
    row(c, "gather", shape,
        time_of(c.context, [&] { gather_forces_by(t, c.gather(), c.context); }));
  }
}

void time_transforms(Case& c) {
  for (const PlaneRoute route : {PlaneRoute::kWhole, PlaneRoute::kTiles}) {
    if (route == PlaneRoute::kWhole && !plane_fits(c.grid, c.context)) continue;
    row(c, "transform", name_of(route),
        time_of(c.context, [&] { transform_planes_by(route, c.transform(), c.context); }));
    row(c, "inverse", name_of(route),
        time_of(c.context, [&] { inverse_planes_by(route, c.inverse(), c.context); }));
  }
  row(c, "convolve", "", time_of(c.context, [&] { convolve_lines(c.convolve(false), c.context); }));
  row(c, "convolve", "with energy",
      time_of(c.context, [&] { convolve_lines(c.convolve(true), c.context); }));
}

void run(CudaContext& context, Int3 tiles, Int3 grid, int order, double patch_width) {
  Case c(context, make_water(tiles, patch_width), grid, order);
  std::printf("--- %d atoms, grid %d x %d x %d, order %d, patches %d x %d x %d\n", c.water.atoms,
              grid.x, grid.y, grid.z, order, c.water.cells.x, c.water.cells.y, c.water.cells.z);
  check(c);
  time_bricks(c);
  time_transforms(c);
  const PlaneRoute route = plane_route(c.grid, c.grid.nx, context);
  row(c, "clear", "memset", time_of(context, [&] { c.clear(); }));
  row(c, "all", name_of(route), time_of(context, [&] { c.whole(route, false); }));
}

}  // namespace

int main(int count, char** arguments) {
  const int sizes = count > 1 ? std::atoi(arguments[1]) : 4;
  CudaContext context = make_context();
  const Int3 tiles[] = {{1, 1, 1}, {2, 2, 1}, {4, 4, 1}, {3, 3, 5}};
  const Int3 grids[] = {{56, 56, 56}, {112, 112, 56}, {224, 224, 56}, {168, 168, 280}};
  for (int i = 0; i < sizes; ++i) run(context, tiles[i], grids[i], 5, 1.2);
  run(context, tiles[0], grids[0], 4, 1.2);
  run(context, tiles[0], grids[0], 5, 0.6);
  return 0;
}
