// SPDX-License-Identifier: Apache-2.0
// Which way messages take between ranks in processes of their own, and what becomes of it. The ranks are
// threads here: memory of a device that another one has opened is that memory, and NCCL is a stand-in
// over the memory of this process (fake_nccl.cpp).
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "check.h"
#include "device/host/kernels.h"
#include "math/error.h"
#include "runtime/link_finder.h"
#include "transport/local/local_transport.h"
#include "transport/nccl/nccl_communicator.h"
#include "transport/nccl/nccl_windows.h"

using namespace quiltmd;

namespace {

// How often pieces of memory are open somewhere.
class OpenMemory {
 public:
  void open(void* pointer) {
    const std::lock_guard lock(mutex_);
    ++count_[pointer];
  }
  void close(void* pointer) {
    const std::lock_guard lock(mutex_);
    CHECK(--count_[pointer] >= 0);
  }
  bool is_open(void* pointer) {
    const std::lock_guard lock(mutex_);
    return count_[pointer] > 0;
  }
  int all() {
    const std::lock_guard lock(mutex_);
    int sum = 0;
    for (const auto& [pointer, count] : count_) sum += count;
    return sum;
  }

 private:
  std::mutex mutex_;
  std::map<void*, int> count_;
};
OpenMemory open_memory;

enum class Fault { kNone, kNotShared, kNotOpened, kElsewhere };

// A CPU that takes itself for a GPU, whose memory others can open.
class SharingDevice final : public HostDevice {
 public:
  explicit SharingDevice(std::string identity, Fault fault = Fault::kNone)
      : HostDevice(1, host_kernels()), identity_(std::move(identity)), fault_(fault) {}

  DeviceDescription describe() const override {
    DeviceDescription description = HostDevice::describe();
    description.identity = identity_;
    return description;
  }
  Capabilities capabilities() const override { return {.records = true}; }
  void* allocate(size_t bytes) override {
    if (!pages_ || bytes == 0 || bytes % kSharedPage != 0) return HostDevice::allocate(bytes);
    void* const pointer = pages_->allocate(bytes);
    from_[pointer] = pages_;
    return pointer;
  }
  void free(void* pointer) override {
    CHECK(is_at_its_end || !open_memory.is_open(pointer));
    const auto found = from_.find(pointer);
    if (found == from_.end()) return HostDevice::free(pointer);
    found->second->free(pointer);
    from_.erase(found);
  }
  void take_pages_from(std::shared_ptr<PageSource> pages) override { pages_ = std::move(pages); }
  MemoryHandle share(const void* pointer) const override {
    if (fault_ == Fault::kNotShared) throw Error("its memory is not to be shared");
    MemoryHandle handle(sizeof pointer);
    std::memcpy(handle.data(), static_cast<const void*>(&pointer), sizeof pointer);
    return handle;
  }
  void* open(const MemoryHandle& handle) override {
    if (fault_ == Fault::kNotOpened) throw Error("there is no way to that memory");
    void* pointer = nullptr;
    std::memcpy(static_cast<void*>(&pointer), handle.data(), sizeof pointer);
    if (fault_ == Fault::kElsewhere) return elsewhere_.data();
    open_memory.open(pointer);
    return pointer;
  }
  void close(void* pointer) override {
    if (fault_ == Fault::kNone) open_memory.close(pointer);
  }
  std::shared_ptr<uint32_t> make_host_number() override { return stopped; }

  const std::shared_ptr<uint32_t> stopped = std::make_shared<uint32_t>(0);
  bool is_at_its_end = false;  // who ends does not wait for others

 private:
  const std::string identity_;
  const Fault fault_;
  std::shared_ptr<PageSource> pages_;
  std::map<void*, std::shared_ptr<PageSource>> from_;
  std::vector<MessageWord> elsewhere_ = std::vector<MessageWord>(kSharedPage);
};

struct Member {
  std::string gpu;
  int machine;
  Fault fault = Fault::kNone;
  std::string nccl = FAKE_NCCL;
};

struct Found {
  std::vector<Carrier> carriers;
  std::string why_not_faster, error, shared_by;
};

// What each rank finds.
std::vector<Found> find(const std::vector<Member>& members, MessageRoute route) {
  const size_t ranks = members.size();
  const auto ends = make_local_transport(static_cast<int>(ranks));
  std::vector<Found> found(ranks);
  const auto run = [&](size_t r) {
    SharingDevice device(members[r].gpu, members[r].fault);
    const int rank = static_cast<int>(r);
    Executor executor(rank, static_cast<int>(ranks), device, *ends[r]);
    LinkSettings settings{route, {}, members[r].nccl};
    for (const Member& member : members) settings.machines.push_back(member.machine);
    try {
      const Links links = find_links(executor, rank, device, settings);
      found[r] = {links.carriers, links.why_not_faster, "",
                  links.shared ? links.shared->route() : ""};
    } catch (const Error& error) {
      found[r].error = error.what();
    }
  };
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks; ++r) threads.emplace_back(run, r);
  for (std::thread& thread : threads) thread.join();
  CHECK(open_memory.all() == 0);
  return found;
}

constexpr Carrier kHost = Carrier::kHost, kKernels = Carrier::kKernels,
                  kCommunicator = Carrier::kCommunicator;

bool says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  std::printf("'%s' does not say '%s'\n", text.c_str(), part.c_str());
  return false;
}

void kernels_reach_gpus_of_one_machine() {
  for (const MessageRoute route : {MessageRoute::kAuto, MessageRoute::kPeer}) {
    const auto found = find({{"a", 0}, {"b", 0}, {"c", 0}}, route);
    for (size_t r = 0; r < 3; ++r)
      for (size_t peer = 0; peer < 3; ++peer)
        CHECK(r == peer || found[r].carriers[peer] == kKernels);
    for (const Found& one : found) CHECK(one.shared_by == "peer");
    for (const Found& one : found) CHECK(one.why_not_faster.empty() && one.error.empty());
  }
}

void nccl_joins_machines_and_kernels_the_gpus_of_each() {
  const auto found = find({{"a", 0}, {"b", 0}, {"c", 1}}, MessageRoute::kAuto);
  CHECK(found[0].carriers[1] == kKernels && found[1].carriers[0] == kKernels);
  CHECK(found[0].carriers[2] == kCommunicator && found[2].carriers[0] == kCommunicator);
  CHECK(found[1].carriers[2] == kCommunicator && found[2].carriers[1] == kCommunicator);
  const auto forced = find({{"a", 0}, {"b", 0}}, MessageRoute::kNccl);
  CHECK(forced[0].carriers[1] == kCommunicator && forced[1].carriers[0] == kCommunicator);
}

// As in fake_nccl.cpp.
enum class Windows { kOpen, kNone, kOfOneTeam };
void let_there_be(Windows windows) {
  void* const library = ::dlopen(FAKE_WINDOWS, RTLD_NOW);
  const auto set = reinterpret_cast<void (*)(int)>(::dlsym(library, "fake_nccl_windows"));
  set(static_cast<int>(windows));
}

void kernels_write_by_windows_of_nccl_or_not_at_all() {
  const std::vector<Member> members{{"a", 0, Fault::kNone, FAKE_WINDOWS},
                                    {"b", 0, Fault::kNone, FAKE_WINDOWS},
                                    {"c", 1, Fault::kNone, FAKE_WINDOWS}};
  const auto expect = [&](bool are_open) {
    for (const MessageRoute route : {MessageRoute::kAuto, MessageRoute::kNccl}) {
      const auto found = find(members, route);
      for (size_t r = 0; r < 3; ++r) {
        CHECK(found[r].error.empty());
        CHECK((found[r].shared_by == "nccl windows") == are_open);
        const size_t far = r == 2 ? 0 : 2;
        CHECK(found[r].carriers[far] == (are_open ? kKernels : kCommunicator));
      }
    }
  };
  expect(true);
  for (const Windows others : {Windows::kNone, Windows::kOfOneTeam}) {
    let_there_be(others);
    expect(false);
  }
  let_there_be(Windows::kOpen);
}

void all_fall_back_together_and_say_why() {
  const auto expect_host = [](const std::vector<Member>& members, const std::string& peer,
                              const std::string& nccl) {
    for (const Found& one : find(members, MessageRoute::kAuto)) {
      for (const Carrier carrier : one.carriers) CHECK(carrier == kHost);
      CHECK(says(one.why_not_faster, peer) && says(one.why_not_faster, nccl));
    }
    for (const Found& one : find(members, MessageRoute::kNccl))
      CHECK(says(one.error, "transport 'nccl' cannot be used: ") && says(one.error, nccl));
  };
  const std::string none = "/nowhere/libnccl.so.2";
  expect_host({{"a", 0}, {"b", 1, Fault::kNone, none}}, "ranks 0 and 1 are on two hosts",
              "rank 1: NCCL cannot be used: " + none);
  expect_host({{"a", 0}, {"a", 0}}, "ranks 0 and 1 share a GPU", "share a GPU, which NCCL");
  expect_host({{"a", 0, Fault::kNone, none}, {"b", 0, Fault::kNotShared, none}, {"c", 0}},
              "its memory is not to be shared", "rank 0: NCCL cannot be used");
}

void what_is_written_must_be_seen() {
  const auto expect = [](Fault fault, const std::string& why) {
    const std::vector<Member> members{{"a", 0}, {"b", 0, fault}};
    for (const Found& one : find(members, MessageRoute::kPeer))
      CHECK(says(one.error, "transport 'peer' cannot be used: ") && says(one.error, why));
    for (const Found& one : find(members, MessageRoute::kAuto))
      CHECK(one.carriers[0] == kCommunicator || one.carriers[1] == kCommunicator);
  };
  expect(Fault::kNotOpened, "there is no way to that memory");
  expect(Fault::kElsewhere, "what rank 1 wrote into the memory of rank 0 is not there");
}

void two_ranks_on_one_gpu_may_be_forced() {
  const auto found = find({{"a", 0}, {"a", 0}}, MessageRoute::kPeer);
  CHECK(found[0].carriers[1] == kKernels);
}

// ---- Memory of other processes -------------------------------------------------------------------

// Messages of these sizes one after the other, longer by a word from one rank than from the other, so that at one
// size it takes another page, and at the next only one rank's inbox has become too large. Each time words reach
// the other rank, and memory is freed only when nobody has it open.
using Share = std::function<std::shared_ptr<SharedMemory>(SharingDevice&, int rank)>;
void reach_inboxes(const Share& share) {
  const auto ends = make_local_transport(2);
  std::atomic<int> arrived{0};
  const auto run = [&](int rank) {
    SharingDevice device(rank ? "b" : "a");
    Links links = links_by(Carrier::kKernels, 2);
    links.shared = share(device, rank);
    Executor executor(rank, 2, device, *ends[static_cast<size_t>(rank)], links);
    for (const size_t words : {10u, 20u, 5u, 65'536u, 32'767u, 400'000u, 900'000u}) {
      Schedule s({Edge::kForces});
      const size_t sent = words + static_cast<size_t>(rank),
                   awaited = words + static_cast<size_t>(1 - rank);
      const MessageEnd to{Edge::kForces, 1 - rank, sent}, from{Edge::kForces, 1 - rank, awaited};
      s.add_send({"send", Priority::kHalo, Stream::kHalo}, {}, to, [&](const Outlet& out) {
        out.buffer()[sent - 1] = {{static_cast<uint32_t>(sent)}, out.number.get()};
      });
      s.add_receive({"receive", Priority::kHalo, Stream::kHalo}, {}, from, [&](const Inlet& in) {
        const volatile MessageWord* const last = in.buffer() + awaited - 1;
        while (last->number != in.number.get()) std::this_thread::yield();
        if (last->value[0] == awaited) ++arrived;
      });
      s.send_before_waiting();
      executor.connect({&s});
      executor.run(s);
      executor.gather({});
    }
    device.is_at_its_end = true;
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  CHECK(arrived == 14);
  CHECK(open_memory.all() == 0);
}

void inboxes_of_other_processes() {
  reach_inboxes(
      [](SharingDevice& device, int) { return std::make_shared<SharedByHandles>(device); });
}

void inboxes_by_windows() {
  const auto& library = nccl::load_library(FAKE_WINDOWS);
  const CommunicatorId id = make_communicator_id(library);
  reach_inboxes([&](SharingDevice& device, int rank) {
    device.take_pages_from(make_nccl_pages(library));
    return make_nccl_windows(
        make_nccl_communicator(library, id, rank, 2, device, [] { return ""; }));
  });
}

// One rank registers, and the other one has failed, which the first learns meanwhile.
void a_rank_that_fails_ends_the_opening_of_windows() {
  const auto& library = nccl::load_library(FAKE_WINDOWS);
  const CommunicatorId id = make_communicator_id(library);
  std::atomic<bool> has_failed{false}, is_known{false};
  std::string said;
  const auto run = [&](int rank) {
    SharingDevice device(rank ? "b" : "a");
    device.take_pages_from(make_nccl_pages(library));
    const auto windows = make_nccl_windows(make_nccl_communicator(
        library, id, rank, 2, device, [&] { return has_failed ? "rank 1 has ended" : ""; }));
    const Buffer<MessageWord> memory(device, filling_pages<MessageWord>(1));
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      has_failed = true;
      while (!is_known) std::this_thread::yield();
      return;
    }
    try {
      windows->agree_on({{memory.data(), memory.bytes()}});
    } catch (const Error& error) {
      said = error.what();
    }
    is_known = true;
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  CHECK(said == "rank 1 has ended");
}

// ---- Failures --------------------------------------------------------------------------------

void a_failure_ends_what_waits() {
  const auto ends = make_local_transport(2);
  SharingDevice device("a");
  Executor executor(0, 2, device, *ends[0]);
  executor.use(links_by(Carrier::kKernels, 2));
  executor.check_failure();
  CHECK(*device.stopped == 0);
  ends[1]->close();
  CHECK(*device.stopped != 0);
  std::string said;
  try {
    executor.check_failure();
  } catch (const PeerFailed& failed) {
    said = failed.what();
  }
  CHECK(said == "another rank failed");
}

// Two ranks, and the communicators that they have made.
struct Pair {
  SharingDevice devices[2] = {SharingDevice("a"), SharingDevice("b")};
  std::shared_ptr<Communicator> ends[2];
  Pair() {
    const auto& library = nccl::load_library(FAKE_NCCL);
    const CommunicatorId id = make_communicator_id(library);
    const auto make = [&](int rank) {
      ends[rank] = make_nccl_communicator(library, id, rank, 2, devices[rank], [] { return ""; });
    };
    std::thread other(make, 1);
    make(0);
    other.join();
  }
};

void a_communicator_exchanges_both_ways_at_once() {
  const Pair pair;
  int values[2][2] = {{1, 0}, {2, 0}};
  const auto exchange = [&](int rank) {
    for (int n = 0; n < 100; ++n) {
      pair.ends[rank]->exchange({{1 - rank, &values[rank][0], sizeof(int)}},
                                {{1 - rank, &values[rank][1], sizeof(int)}}, nullptr);
      values[rank][0] = values[rank][1] + 1;
    }
  };
  std::thread other(exchange, 1);
  exchange(0);
  other.join();
  CHECK(values[0][1] + values[1][1] == 1 + 2 + 2 * 99);
}

void who_is_given_up_waits_no_longer() {
  const Pair pair;
  int value = 0;
  std::string said;
  std::thread waiting([&] {
    try {
      pair.ends[0]->exchange({}, {{1, &value, sizeof value}}, nullptr);
    } catch (const Error& error) {
      said = error.what();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  pair.ends[1]->abort();
  waiting.join();
  CHECK(says(said, "NCCL failed to exchange messages: remote process exited"));
  said.clear();
  try {
    pair.ends[1]->exchange({}, {}, nullptr);
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(says(said, "were stopped"));
}

void errors_under_way_are_noticed() {
  const Pair pair;
  std::atomic<bool> acted{false};
  pair.ends[0]->on_failure([&] { acted = true; });
  void* const library = ::dlopen(FAKE_NCCL, RTLD_NOW);
  reinterpret_cast<void (*)()>(::dlsym(library, "fake_nccl_break"))();
  for (int looks = 0; looks < 100 && !acted; ++looks)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(acted && says(pair.ends[0]->failure(), "NCCL reports: remote process exited"));
}

void a_rank_that_fails_meanwhile_ends_the_joining() {
  const auto& library = nccl::load_library(FAKE_NCCL);
  SharingDevice device("a");
  std::string said;
  try {
    make_nccl_communicator(library, make_communicator_id(library), 0, 2, device,
                           [] { return "rank 1 has ended"; });
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said == "rank 1 has ended");
}

}  // namespace

int main() {
  return test::run_all(
      {{"kernels reach GPUs of one machine", kernels_reach_gpus_of_one_machine},
       {"NCCL joins machines", nccl_joins_machines_and_kernels_the_gpus_of_each},
       {"kernels write by windows of NCCL", kernels_write_by_windows_of_nccl_or_not_at_all},
       {"all fall back together", all_fall_back_together_and_say_why},
       {"what is written must be seen", what_is_written_must_be_seen},
       {"two ranks on one GPU may be forced", two_ranks_on_one_gpu_may_be_forced},
       {"inboxes of other processes", inboxes_of_other_processes},
       {"inboxes by windows", inboxes_by_windows},
       {"a rank that fails ends the opening", a_rank_that_fails_ends_the_opening_of_windows},
       {"a failure ends what waits", a_failure_ends_what_waits},
       {"a communicator exchanges both ways", a_communicator_exchanges_both_ways_at_once},
       {"who is given up waits no longer", who_is_given_up_waits_no_longer},
       {"a rank that fails ends the joining", a_rank_that_fails_meanwhile_ends_the_joining},
       {"errors under way are noticed", errors_under_way_are_noticed}});
}
