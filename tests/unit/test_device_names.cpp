// SPDX-License-Identifier: Apache-2.0
// What the name of a device means for the ranks of a simulation.
#include <string>
#include <vector>

#include "check.h"
#include "math/error.h"
#include "runtime/devices.h"

using namespace quiltmd;

namespace {

using Names = std::vector<std::string>;

void one_device_for_each_rank() {
  CHECK(devices_of_ranks("cpu", 3) == Names({"cpu", "cpu", "cpu"}));
  CHECK(devices_of_ranks("null", 2) == Names({"null", "null"}));
  CHECK(devices_of_ranks("cuda", 1) == Names({"cuda:0"}));
  CHECK(devices_of_ranks("cuda", 3) == Names({"cuda:0", "cuda:1", "cuda:2"}));
  CHECK(devices_of_ranks("cuda:3", 1) == Names({"cuda:3"}));
  CHECK(devices_of_ranks("cuda:2,0,12", 3) == Names({"cuda:2", "cuda:0", "cuda:12"}));
  CHECK(devices_of_ranks("cuda:0,0", 2) == Names({"cuda:0", "cuda:0"}));
}

void lists_of_another_length_are_refused() {
  for (const char* name : {"cuda:1", "cuda:0,1,2"})
    CHECK(test::error_of([&] { devices_of_ranks(name, 2); }).find("for 2 rank(s)") !=
          std::string::npos);
  CHECK(test::error_of([] { make_device("cuda:0,1", 1); }).find("names 2 GPU(s)") !=
        std::string::npos);
}

void names_of_nothing_are_refused() {
  for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:0,", "cuda:,0", "cuda:0 ,1",
                           "cuda:0x", "cuda:99999999999"})
    CHECK(test::error_of([&] { devices_of_ranks(name, 1); }).find("by their numbers") !=
          std::string::npos);
  for (const char* name : {"gpu", "", "cpu,cpu", "CUDA"})
    CHECK(test::error_of([&] { devices_of_ranks(name, 1); }).find("unknown device") !=
          std::string::npos);
}

void ranks_get_devices_of_their_own() {
  for (const char* name : {"cpu", "null"}) {
    const auto devices = make_devices(name, 2, 1);
    CHECK(devices.size() == 2 && devices[0] != devices[1]);
    for (const auto& device : devices) CHECK(device->describe().kind == name);
  }
}

void unlike_gpus_are_refused() {
  const DeviceDescription old{"cuda", "A100", "8.0"}, first{"cuda", "H100", "9.0"},
      second{"cuda", "H200", "9.0"};
  check_one_architecture({});
  check_one_architecture({old});
  check_one_architecture({first, second, first});
  const std::string error = test::error_of([&] { check_one_architecture({first, second, old}); });
  CHECK(error.find("rank 0 has H100 (9.0), rank 2 A100 (8.0)") != std::string::npos);
}

}  // namespace

int main() {
  return test::run_all(
      {{"one device for each rank", one_device_for_each_rank},
       {"lists of another length are refused", lists_of_another_length_are_refused},
       {"names of nothing are refused", names_of_nothing_are_refused},
       {"ranks get devices of their own", ranks_get_devices_of_their_own},
       {"unlike GPUs are refused", unlike_gpus_are_refused}});
}
