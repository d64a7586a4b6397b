// SPDX-License-Identifier: Apache-2.0
// Runs the suite on one device: quiltmd_conformance [cuda | cuda:N | cpu].
#include "math/error.h"
#include "runtime/devices.h"
#include "suites.h"

int main(int count, char** words) {
  using namespace quiltmd;
  using namespace quiltmd::test;
  try {
    const auto device = make_device(count > 1 ? words[1] : "cuda", 3);
    const auto cpu = make_device("cpu", 2);
    const Pair devices{*device, *cpu};
    std::vector<Case> all;
    for (const auto& suite : {layout_cases, pair_cases, solvent_cases, bonded_cases, mesh_cases,
                              motion_cases, exchange_cases, memory_cases}) {
      const std::vector<Case> cases = suite(devices);
      all.insert(all.end(), cases.begin(), cases.end());
    }
    return run_all(all);
  } catch (const Error& error) {
    std::printf("error: %s\n", error.what());
    return 2;
  }
}
