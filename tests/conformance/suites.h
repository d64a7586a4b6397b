// SPDX-License-Identifier: Apache-2.0
// The conformance suite: families of operations, each tried on a device beside the CPU kernels, on
// random systems. Results of a device must be the reference's within its tolerances, the same bits
// each time, and, where only copies, comparisons and double precision are involved, the CPU's.
#pragma once

#include <cstring>
#include <vector>

#include "check.h"
#include "device/device.h"

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
std::vector<Case> motion_cases(Pair devices);
std::vector<Case> exchange_cases(Pair devices);
std::vector<Case> memory_cases(Pair devices);

// What an error may be: on a host, and on a GPU, where sums are taken in another order.
inline double bound(Pair devices, double host, double gpu) {
  return devices.device.describe().kind == "cuda" ? gpu : host;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace quiltmd::test
