// SPDX-License-Identifier: Apache-2.0
// The cpu and null devices and the thread group, apart from any physics.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "check.h"
#include "device/host/flipping_device.h"
#include "device/null/null_device.h"
#include "math/error.h"

using namespace quiltmd;

namespace {

struct AddTo {
  static constexpr const char* kName = "add_to";
  int* values;
  int count;
  int increment;
  void memory(MemoryUses& uses) const { QMD_USES(kReadWrite, extent(values, count)); }
};
void add_to(const AddTo& op, ThreadGroup& threads) {
  threads.parallel_for(op.count, 16, [&](int begin, int end, int) {
    for (int i = begin; i < end; ++i) op.values[i] += op.increment;
  });
}

struct Unknown {
  static constexpr const char* kName = "unknown_operation";
  void memory(MemoryUses&) const {}
};

const HostKernels& kernels() {
  static const HostKernels table = [] {
    HostKernels t;
    t.add<AddTo, add_to>();
    return t;
  }();
  return table;
}

void loops_cover_everything_once() {
  for (const int threads : {1, 2, 5}) {
    ThreadGroup group(threads);
    CHECK(group.size() == threads);
    for (const int count : {0, 1, 7, 64, 1000}) {
      for (const int grain : {1, 10, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        group.parallel_for(count, grain, [&](int begin, int end, int thread) {
          CHECK(thread >= 0 && thread < threads && end - begin <= grain);
          for (int i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        for (const auto& v : visits) CHECK(v == 1);
      }
    }
  }
}

void many_short_loops() {
  ThreadGroup group(3);
  std::atomic<int64_t> sum{0};
  for (int n = 0; n < 20000; ++n)
    group.parallel_for(8, 1, [&](int begin, int, int) { sum += begin; });
  CHECK(sum == 20000LL * 28);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // asleep by now
  group.parallel_for(8, 1, [&](int begin, int, int) { sum += begin; });
  CHECK(sum == 20001LL * 28);
}

void groups_live_side_by_side() {
  std::atomic<int64_t> sum{0};
  const auto rank = [&] {
    ThreadGroup group(2);
    for (int n = 0; n < 2000; ++n)
      group.parallel_for(64, 8, [&](int begin, int end, int) { sum += end - begin; });
  };
  std::thread a(rank), b(rank);
  a.join();
  b.join();
  CHECK(sum == 2 * 2000 * 64);
}

void failures_come_back() {
  ThreadGroup group(3);
  bool caught = false;
  try {
    group.parallel_for(100, 1, [](int begin, int, int) {
      if (begin == 57) throw std::runtime_error("57");
    });
  } catch (const std::runtime_error& error) {
    caught = std::strcmp(error.what(), "57") == 0;
  }
  CHECK(caught);
  int count = 0;
  group.parallel_for(1, 1, [&](int, int, int) { ++count; });
  CHECK(count == 1);
}

void cpu_runs_and_replays() {
  HostDevice device(2, kernels());
  Buffer<int> values(device, std::vector<int>(100, 1));
  CHECK(reinterpret_cast<uintptr_t>(values.data()) % 64 == 0);
  device.launch(AddTo{values.data(), 100, 2});
  CHECK(values.download()[99] == 3);

  device.begin_recording();
  device.fill(values.data(), 0, 50 * sizeof(int), Stream::kMain);
  device.launch(AddTo{values.data(), 100, 5});
  device.copy(values.data(), values.data() + 99, sizeof(int), Stream::kMain);
  const int recording = device.end_recording();
  CHECK(values.download()[0] == 3);
  device.run_recording(recording);
  device.run_recording(recording);
  CHECK(values.download()[1] == 5 && values.download()[99] == 13 && values.download()[0] == 13);
  device.drop_recording(recording);
}

// One bit, before one launch, from where the field points to.
void memory_fails_once_on_purpose() {
  FlippingDevice device(1, kernels(), {"add_to", "values", 1, 32 + 4});
  const Buffer<int> values(device, std::vector<int>(4, 0));
  for (int launch = 0; launch < 3; ++launch) device.launch(AddTo{values.data() + 1, 3, 1});
  CHECK((values.download() == std::vector<int>{0, 3, 3 + 16, 3}));
}

std::string refusal(const Flip& flip) {
  try {
    FlippingDevice device(1, kernels(), flip);
    const Buffer<int> values(device, std::vector<int>(4, 0));
    device.launch(AddTo{values.data(), 4, 1});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void flips_name_what_there_is() {
  CHECK(refusal({"add", "values"}).find("choose from add_to") != std::string::npos);
  CHECK(refusal({"add_to", "count"}).find("choose from values") != std::string::npos);
  CHECK(refusal({"add_to", "values"}).empty());
}

void downloads_are_taken_when_started(Device& device) {
  Buffer<int> values(device, std::vector<int>(100, 1));
  Buffer<char> letter(device, std::vector<char>{'a'});
  const auto download = device.start_download(
      {{letter.data(), 1}, {values.data(), 50 * sizeof(int)}, {values.data(), 0}});
  device.fill(values.data(), 0, values.bytes(), Stream::kMain);
  letter.upload({'b'});
  CHECK(download->values<char>(0)[0] == 'a');
  const auto first = download->values<int>(1);
  CHECK(first.size() == 50 && first[0] == 1 && first[49] == 1);
  CHECK(download->values<int>(2).empty());
}

void plain_devices_download() {
  HostDevice cpu(2, kernels());
  NullDevice null;
  downloads_are_taken_when_started(cpu);
  downloads_are_taken_when_started(null);
}

void cpu_describes_itself() {
  const HostDevice device(2, kernels());
  const DeviceDescription d = device.describe();
  CHECK(d.kind == "cpu" && !d.name.empty() && !d.architecture.empty());
  CHECK(d.memory > 0 && d.processors == 2);
}

void cpu_names_what_it_cannot_do() {
  HostDevice device(1, kernels());
  std::string message;
  try {
    device.launch(Unknown{});
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("unknown_operation") != std::string::npos);
}

void null_records_and_runs_nothing() {
  NullDevice device;
  Buffer<int> values(device, 10);
  for (const int v : values.download()) CHECK(v == 0);
  device.launch(AddTo{values.data(), 10, 7}, Stream::kSide);
  CHECK(values.download()[0] == 0);
  CHECK(device.log().launches().size() == 1);
  const Command launch = device.log().launches()[0];
  CHECK(launch.name == "add_to" && launch.stream == Stream::kSide);
  AddTo op;
  CHECK(launch.parameters.size() == sizeof op);
  std::memcpy(&op, launch.parameters.data(), sizeof op);
  CHECK(op.values == values.data() && op.increment == 7);

  device.begin_recording();
  device.launch(AddTo{values.data(), 10, 8});
  device.launch(Unknown{});
  const int recording = device.end_recording();
  CHECK(device.log().launches().size() == 1);
  device.run_recording(recording);
  const std::vector<Command> launches = device.log().launches();
  CHECK(launches.size() == 3 && launches[2].name == Unknown::kName);
}

struct AddTo2 {  // another operation of the same name
  static constexpr const char* kName = "add_to";
  void memory(MemoryUses&) const {}
};
void do_nothing(const AddTo2&, ThreadGroup&) {}

void numbers_are_made_of_names() {
  CHECK(kOperationKey<AddTo>.id == 0x47407350u);  // in every process, whatever came before
  HostKernels table;
  table.add<AddTo, add_to>();
  bool refused = false;
  try {
    table.add<AddTo2, do_nothing>();
  } catch (const std::logic_error&) {
    refused = true;
  }
  CHECK(refused);
}

void devices_say_what_they_can_do() {
  CHECK(!HostDevice(1, kernels()).capabilities().records);
  CHECK(HostDevice(1, kernels()).capabilities().runs_at_once);
  CHECK(NullDevice().capabilities().records);
}

}  // namespace

int main() {
  return test::run_all({{"loops cover everything once", loops_cover_everything_once},
                        {"many short loops", many_short_loops},
                        {"groups live side by side", groups_live_side_by_side},
                        {"failures come back", failures_come_back},
                        {"cpu runs and replays", cpu_runs_and_replays},
                        {"memory fails once on purpose", memory_fails_once_on_purpose},
                        {"flips name what there is", flips_name_what_there_is},
                        {"plain devices download", plain_devices_download},
                        {"cpu describes itself", cpu_describes_itself},
                        {"cpu names what it cannot do", cpu_names_what_it_cannot_do},
                        {"null records and runs nothing", null_records_and_runs_nothing},
                        {"numbers are made of names", numbers_are_made_of_names},
                        {"devices say what they can do", devices_say_what_they_can_do}});
}
