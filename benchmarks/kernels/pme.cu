// SPDX-License-Identifier: Apache-2.0
// Workshop of the PME kernels: each timed alone on dumps of runs, the forces checked against a mesh
// in double precision.
//
//   python3 benchmarks/kernels/build.py pme && build/kernels/pme DUMP...
//
// build.py makes variants, too: build/kernels/pme_*.
#include "computes/long_range/pme/cuda_kernels.h"
#include "computes/reference.h"
#include "workshop.h"

using namespace workshop;

namespace {

const char* name_of(PlaneRoute route) {
  return route == PlaneRoute::kWhole ? "whole planes" : "tiles";
}

// The operations of one evaluation, in order.
struct Mesh {
  Mesh(const MeshMemory& m, Energies energies)
      : spread(m.spread_charges()),
        transform(m.transform_planes(0, m.grid.nx)),
        convolve(m.convolve_lines(0, m.grid.ny, energies)),
        inverse(m.inverse_planes(0, m.grid.nx)),
        gather(m.gather_forces()) {}

  void run(PlaneRoute route, CudaContext& context) const {
    spread_charges(spread, context);
    transform_planes_by(route, transform, context);
    convolve_lines(convolve, context);
    inverse_planes_by(route, inverse, context);
    gather_forces(gather, context);
  }

  SpreadCharges spread;
  TransformPlanes transform;
  ConvolveLines convolve;
  InversePlanes inverse;
  GatherForces gather;
};

std::vector<PlaneRoute> routes(const Bench& b, const CudaContext& context) {
  if (plane_fits(b.charges().grid, context)) return {PlaneRoute::kWhole, PlaneRoute::kTiles};
  return {PlaneRoute::kTiles};
}

void poison(const Bench& b) {
  b.device.fill(b.slots.long_range.data(), 0xff, b.slots.long_range.bytes(), Stream::kMain);
  b.device.fill(b.charges().potential.data(), 0xff, b.charges().potential.bytes(), Stream::kMain);
}

void check(Bench& b, CudaContext& context) {
  Evaluation exact;
  reference_pme(b.setup.system, b.setup.nonbonded, b.setup.grid.box, b.positions(), exact);
  const Mesh mesh(b.charges(), Energies::kAdd);
  for (const PlaneRoute route : routes(b, context)) {
    poison(b);
    mesh.run(route, context);
    const std::vector<Vec3d> first = b.long_range_forces();
    poison(b);
    b.clear_sums();
    mesh.run(route, context);
    const std::vector<Vec3d> second = b.long_range_forces();
    const bool same = std::memcmp(first.data(), second.data(), first.size() * sizeof(Vec3d)) == 0;
    std::printf("  by %-13s force error %.1e, energy %.1e, %s\n", name_of(route),
                within(2e-5, relative_error(second, exact.forces)),
                within(1e-5, std::abs(b.energy(kReciprocal) / exact.energy[kReciprocal] - 1)),
                verdict(same, "repeats", "DOES NOT REPEAT"));
  }
}

void row(const char* kernel, const char* variant, double us) {
  std::printf("  %-10s %-14s %8.2f us\n", kernel, variant, us);
}

void time_mesh(Bench& b, CudaDevice& device, CudaContext& context) {
  const Mesh mesh(b.charges(), Energies::kSkip);
  const int patches = mesh.spread.patch_count;
  const int chosen = choose_pieces(b.charges().grid, patches, context);
  for (const int pieces : {1, 2, 3, 4, 6, 8}) {
    if (pieces != chosen && pieces * patches > 16 * context.sm_count) continue;
    const std::string shape =
        std::to_string(pieces) + (pieces == chosen ? " pieces, *" : " pieces");
    const auto spread = [&] { spread_charges_by(pieces, mesh.spread, context); };
    const auto gather = [&] { gather_forces_by(pieces, mesh.gather, context); };
    row("spread", shape.c_str(), time_of(device, spread));
    row("gather", shape.c_str(), time_of(device, gather));
  }
}

void time_transforms(Bench& b, CudaDevice& device, CudaContext& context) {
  const Mesh mesh(b.charges(), Energies::kSkip), with_energy(b.charges(), Energies::kAdd);
  for (const PlaneRoute route : routes(b, context)) {
    const auto transform = [&] { transform_planes_by(route, mesh.transform, context); };
    const auto inverse = [&] { inverse_planes_by(route, mesh.inverse, context); };
    row("transform", name_of(route), time_of(device, transform));
    row("inverse", name_of(route), time_of(device, inverse));
  }
  row("convolve", "", time_of(device, [&] { convolve_lines(mesh.convolve, context); }));
  row("convolve", "with energy",
      time_of(device, [&] { convolve_lines(with_energy.convolve, context); }));
  const PlaneRoute route = plane_route(b.charges().grid, context);
  row("all", name_of(route), time_of(device, [&] { mesh.run(route, context); }));
}

void run(Bench& b, CudaDevice& device) {
  CudaContext& context = device.context(Stream::kMain);
  check(b, context);
  time_mesh(b, device, context);
  time_transforms(b, device, context);
}

}  // namespace

int main(int count, char** arguments) { return for_dumps(count, arguments, run); }
