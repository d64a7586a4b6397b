// SPDX-License-Identifier: Apache-2.0
// Runs the suite on one device: quiltmd_conformance [cuda | cuda:N | cpu] [remote]. With the second
// word the device is used through a connection.
#include <sys/socket.h>

#include <string>
#include <thread>

#include "device/remote/server.h"
#include "math/error.h"
#include "runtime/devices.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

int run_on(Device& device) {
  const auto cpu = make_device("cpu", 2);
  const Pair devices{device, *cpu};
  std::vector<Case> all;
  for (const auto& suite :
       {layout_cases, pair_cases, solvent_cases, bonded_cases, mesh_cases, fmm_cases, motion_cases,
        exchange_cases, memory_cases, collective_cases, embedded_cases}) {
    const std::vector<Case> cases = suite(devices);
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return run_all(all);
}

int run_behind_a_connection(Device& device) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw Error("there are no sockets");
  // It ends with the connection, so with the device, whether that passes or an error leaves this.
  const std::jthread server([&] { remote::serve_device(device, ends[1]); });
  return run_on(*make_device("socket:" + std::to_string(ends[0]), 1));
}

}  // namespace
}  // namespace quiltmd::test

int main(int count, char** words) {
  using namespace quiltmd;
  try {
    const auto device = make_device(count > 1 ? words[1] : "cuda", 3);
    const bool is_remote = count > 2 && std::string(words[2]) == "remote";
    return is_remote ? test::run_behind_a_connection(*device) : test::run_on(*device);
  } catch (const Error& error) {
    std::printf("error: %s\n", error.what());
    return 2;
  }
}
