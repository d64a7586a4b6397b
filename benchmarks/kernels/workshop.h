// SPDX-License-Identifier: Apache-2.0
// What the programs of the kernel workshop share: a dump loaded into a rank of its own, whose
// operations are then launched one by one; the timing of launches by CUDA graphs; errors.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/launch.h"
#include "dump.h"
#include "math/fixed.h"
#include "runtime/collect.h"
#include "runtime/rank.h"
#include "schedule/pme.h"
#include "transport/local/local_transport.h"

namespace workshop {

inline RankView only_rank(const Setup& setup) {
  const std::vector<double> weights(static_cast<size_t>(setup.grid.size()), 1.0);
  return {0, 1, plan_ranks(setup.grid, bisect(setup.grid, weights, {1}), weights)};
}

// A dump on a device: lists built, terms placed, forces and energies evaluated.
struct Bench {
  Bench(const Dump& dump, Device& device)
      : device(device),
        integrator(dump.integrator),
        setup(make_setup(dump.system, dump.nonbonded, dump.integrator, {}, PeriodicCell{dump.box})),
        rank(setup, device, *transport[0], only_rank(setup)),
        memory(rank.memory()),
        slots(memory.slots) {
    rank.load(dump.state);
    rank.evaluate(setup.lists.life);
  }

  int atoms() const { return setup.system.atom_count(); }
  int list_age() const { return static_cast<int>(rank.step() - rank.list_step()); }

  // What lies by slot, of all atoms in internal order.
  std::vector<Vec3d> by_atom(const Buffer<Vec3d>& by_slot) const {
    const std::vector<Vec3d> values = by_slot.download();
    std::vector<Vec3d> result;
    for (const int32_t slot : slots.slot_of_atom.download())
      result.push_back(values[static_cast<size_t>(slot)]);
    return result;
  }
  std::vector<Vec3d> positions() const { return by_atom(slots.position()); }
  std::vector<Vec3d> velocities() const { return by_atom(slots.velocity()); }
  std::vector<Vec3d> short_range_forces() const {
    std::vector<Vec3d> forces(static_cast<size_t>(atoms()));
    collect_forces(memory, Reach::kShort, forces);
    return forces;
  }
  std::vector<Vec3d> long_range_forces() const {
    const auto by_slot = slots.long_range.download();
    std::vector<Vec3d> result;
    for (const int32_t slot : slots.slot_of_atom.download()) {
      const Float4 f = by_slot[static_cast<size_t>(slot)];
      result.push_back({f.x, f.y, f.z});
    }
    return result;
  }
  template <class Family>
  Family& family() const {
    for (const auto& one : memory.families)
      if (auto* const found = dynamic_cast<Family*>(one.get())) return *found;
    throw std::logic_error("the system has no such forces");
  }
  MeshMemory& charges() const { return static_cast<PmeSum&>(*memory.long_range).meshes.front(); }
  double energy(int kind) const {
    return from_fixed(slots.energy.download()[static_cast<size_t>(kind)], kEnergyScale);
  }
  void clear_sums() const {
    device.fill(slots.force.data(), 0, slots.force.bytes(), Stream::kMain);
    device.fill(slots.energy.data(), 0, slots.energy.bytes(), Stream::kMain);
  }

  Device& device;
  const IntegratorSettings integrator;
  const Setup setup;
  const std::vector<std::unique_ptr<Transport>> transport = make_local_transport(1);
  Rank rank;
  RankMemory& memory;
  SlotMemory& slots;
};

// Microseconds of one call of `launches`, recorded `repeats` times: the median of 15 runs.
inline double time_of(CudaDevice& device, const std::function<void()>& launches, int repeats = 20) {
  launches();  // scratch memory cannot grow in a recording
  device.begin_recording();
  for (int i = 0; i < repeats; ++i) launches();
  const int recording = device.end_recording();
  const cudaStream_t stream = device.context(Stream::kMain).stream;
  cudaEvent_t begin, end;
  cuda_check(cudaEventCreate(&begin), "create an event");
  cuda_check(cudaEventCreate(&end), "create an event");
  std::vector<float> times;
  for (int i = 0; i < 18; ++i) {
    cuda_check(cudaEventRecord(begin, stream), "record an event");
    device.run_recording(recording);
    cuda_check(cudaEventRecord(end, stream), "record an event");
    cuda_check(cudaEventSynchronize(end), "run a recording");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin, end), "time a recording");
    if (i >= 3) times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  device.drop_recording(recording);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1000.0 * times[7] / repeats;
}

// Of one call of `launches` that `before` comes before.
inline double time_after(CudaDevice& device, const std::function<void()>& before,
                         const std::function<void()>& launches) {
  const auto both = [&] { before(), launches(); };
  return time_of(device, both) - time_of(device, before);
}

// Root mean square of the difference over that of the exact values.
inline double relative_error(const std::vector<Vec3d>& found, const std::vector<Vec3d>& exact) {
  double difference2 = 0, size2 = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const Vec3d d = found[i] - exact[i];
    difference2 += dot(d, d);
    size2 += dot(exact[i], exact[i]);
  }
  return std::sqrt(difference2 / size2);
}

// What to say of a check, and an error as it is; a check that failed, or an error above `most`, makes
// the program end with 1.
inline bool all_right = true;
inline double within(double most, double error) {
  all_right = all_right && error <= most;
  return error;
}
inline const char* verdict(bool right, const char* good, const char* bad) {
  all_right = all_right && right;
  return right ? good : bad;
}

// body(bench, device) for each dump named on the command line.
template <class Body>
int for_dumps(int count, char** arguments, Body body) {
  try {
    if (count < 2) throw Error("name the dumps to work on; dump.py makes them");
    for (int i = 1; i < count; ++i) {
      CudaDevice device(0);
      Bench bench(read_dump(arguments[i]), device);
      const Setup& s = bench.setup;
      std::printf("--- %s: %d atoms, %d x %d x %d patches, grid %d x %d x %d, order %d\n",
                  arguments[i], bench.atoms(), s.grid.cells.x, s.grid.cells.y, s.grid.cells.z,
                  s.nonbonded.grid.x, s.nonbonded.grid.y, s.nonbonded.grid.z, s.nonbonded.order);
      body(bench, device);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
  return all_right ? 0 : 1;
}

}  // namespace workshop
