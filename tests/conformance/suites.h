// SPDX-License-Identifier: Apache-2.0
// The conformance suite: families of operations, each tried on a device beside the CPU kernels, on
// random systems. Results of a device must be the reference's within its tolerances, the same bits
// each time, and, where only copies, comparisons and double precision are involved, the CPU's.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"
#include "device/device.h"
#include "math/vec3.h"

namespace quiltmd::test {

// The device on trial and the CPU.
struct Pair {
  Device& device;
  Device& cpu;
};

std::vector<Case> layout_cases(Pair devices);
std::vector<Case> pair_cases(Pair devices);
std::vector<Case> solvent_cases(Pair devices);
std::vector<Case> bonded_cases(Pair devices);
std::vector<Case> mesh_cases(Pair devices);
std::vector<Case> fmm_cases(Pair devices);
std::vector<Case> motion_cases(Pair devices);
std::vector<Case> exchange_cases(Pair devices);
std::vector<Case> memory_cases(Pair devices);
std::vector<Case> collective_cases(Pair devices);
std::vector<Case> embedded_cases(Pair devices);

// What an error may be: on a host, and on a GPU, where sums are taken in another order.
inline double bound(Pair devices, double host, double gpu) {
  return devices.device.describe().kind == "cuda" ? gpu : host;
}

// Root mean square of what forces differ by from those expected, relative to that of the latter unless all
// of these are zero.
inline double force_error(const std::vector<Vec3d>& forces, const std::vector<Vec3d>& expected) {
  double difference = 0, size = 0;
  for (size_t a = 0; a < expected.size(); ++a) {
    const Vec3d d = forces[a] - expected[a];
    difference += dot(d, d);
    size += dot(expected[a], expected[a]);
  }
  return std::sqrt(size > 0 ? difference / size : difference);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace quiltmd::test
