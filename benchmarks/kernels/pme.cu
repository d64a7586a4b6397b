// SPDX-License-Identifier: Apache-2.0
// Workshop of the PME kernels: each timed alone on boxes of water of the four benchmark sizes, and
// the forces checked against a reference in double precision.
//
//   python3 benchmarks/kernels/build.py pme && build/kernels/pme [sizes, 1 to 4] [mesh]
//
// With `mesh`: spreading and gathering alone, unchecked.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "computes/pme/cuda_kernels.h"
#include "computes/pme/setup.h"
#include "computes/reference.h"
#include "decomposition/hilbert.h"
#include "water.h"

using namespace workshop;

namespace {

constexpr double kCutoff = 0.9, kTolerance = 5e-4;

// Ewald parameter by the rule of erfc, as OpenMM derives it from the tolerance.
const double kAlpha = std::sqrt(-std::log(2 * kTolerance)) / kCutoff;

// Put the molecules of each patch in the order that the program gives them, along a Hilbert curve.
void follow_curve(Water& w) {
  constexpr int kBits = 8;
  for (const PlacedPatch& p : w.patches) {
    const auto first = w.position.begin() + p.start;
    std::vector<std::pair<uint32_t, int>> order;
    for (int m = 0; m < p.groups; ++m) {
      const Vec3d r = first[3 * m] - w.centre(p.cell);
      const Vec3d inside{r.x * w.cells.x / w.box.ax, r.y * w.cells.y / w.box.by,
                         r.z * w.cells.z / w.box.cz};
      uint32_t key[3];
      for (int d = 0; d < 3; ++d)
        key[d] = static_cast<uint32_t>(
            std::clamp((inside[d] + 0.5) * (1 << kBits), 0.0, (1 << kBits) - 1.0));
      order.emplace_back(hilbert_index(key[0], key[1], key[2], kBits), m);
    }
    std::sort(order.begin(), order.end());
    const std::vector<Vec3d> before(first, first + p.atoms);
    for (size_t m = 0; m < order.size(); ++m)
      for (size_t k = 0; k < 3; ++k)
        first[static_cast<int64_t>(3 * m + k)] =
            before[static_cast<size_t>(3 * order[m].second) + k];
  }
}

// A size of the benchmark on the device.
struct Case {
  Water water;
  NonbondedSettings settings;
  CudaContext& context;
  PmeGrid grid{};
  Locals locals;
  Array<Float4> local, long_range;
  Array<PlacedPatch> patches;
  Array<int32_t> charges, slot_count;
  Array<Complex> spectrum;
  Array<float> potential;
  Array<int64_t> energy;
  std::unique_ptr<Array<float>> moduli[3];

  static size_t points(Int3 n) { return static_cast<size_t>(n.x) * n.y * n.z; }

  Case(CudaContext& c, Water w, Int3 n, int order)
      : water(std::move(w)),
        context(c),
        locals(make_locals(water)),
        local(locals.local),
        long_range(water.slots()),
        patches(water.patches),
        charges(points(n)),
        slot_count(std::vector<int32_t>{static_cast<int32_t>(water.slots())}),
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
            charges.data()};
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
            charges.data()};
  }
  void clear() const {
    cuda_check(cudaMemsetAsync(charges.data(), 0, charges.bytes(), context.stream), "clear");
  }

  void whole(PlaneRoute route, bool with_energy) const {
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
    clear();
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

void time_mesh(Case& c) {
  const int patches = static_cast<int>(c.water.patches.size());
  const int chosen = choose_pieces(c.grid, patches, c.context);
  std::vector<int> tried{chosen};
  for (const int pieces : {1, 2, 3, 4, 6, 8})
    if (pieces != chosen && pieces * patches < 16 * c.context.sm_count) tried.push_back(pieces);
  for (const int pieces : tried) {
    const std::string shape = (pieces == chosen ? "chosen: " : "") + std::to_string(pieces);
    const auto spread = [&] { spread_charges_by(pieces, c.spread(), c.context); };
    const auto gather = [&] { gather_forces_by(pieces, c.gather(), c.context); };
    row(c, "spread", shape, time_of(c.context, spread));
    row(c, "gather", shape, time_of(c.context, gather));
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

struct Size {
  Int3 tiles, grid;
};

void run(CudaContext& context, const Size& size, int order, double patch_width, bool mesh_alone) {
  Water water = make_water(size.tiles, patch_width);
  follow_curve(water);
  Case c(context, std::move(water), size.grid, order);
  std::printf("--- %d atoms, grid %d x %d x %d, order %d, patches %d x %d x %d\n", c.water.atoms,
              size.grid.x, size.grid.y, size.grid.z, order, c.water.cells.x, c.water.cells.y,
              c.water.cells.z);
  if (!mesh_alone) check(c);
  time_mesh(c);
  if (mesh_alone) return;
  time_transforms(c);
  const PlaneRoute route = plane_route(c.grid, context);
  row(c, "clear", "memset", time_of(context, [&] { c.clear(); }));
  row(c, "all", name_of(route), time_of(context, [&] { c.whole(route, false); }));
}

}  // namespace

int main(int count, char** arguments) {
  const int sizes = count > 1 ? std::atoi(arguments[1]) : 4;
  const bool mesh_alone = count > 2;
  CudaContext context = make_context();
  const Size all[] = {{{1, 1, 1}, {56, 56, 56}},
                      {{2, 2, 1}, {112, 112, 56}},
                      {{4, 4, 1}, {224, 224, 56}},
                      {{3, 3, 5}, {168, 168, 280}}};
  constexpr double kPatch = 1.3;
  for (int i = 0; i < sizes; ++i) run(context, all[i], 4, kPatch, mesh_alone);
  run(context, all[0], 5, kPatch, mesh_alone);
  run(context, all[0], 4, kPatch / 2, mesh_alone);
  return 0;
}
