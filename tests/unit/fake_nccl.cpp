// SPDX-License-Identifier: Apache-2.0
// What is used of NCCL's interface, over the memory of one process: ranks are threads, and a group returns
// when all of its sends have been received, as NCCL's need not be buffered either. So what ranks do in
// orders that do not fit ends here as it does there: never. With FAKE_WINDOWS it is of a version that has
// windows: a window is open when all ranks have registered memory that NCCL has allocated.
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 4, kRemoteError = 6;

struct Id {
  char bytes[128];
};

struct Send {
  const void* from;
  size_t bytes;
  bool is_done = false;
};

// By rank.
struct Window {
  std::map<int, std::pair<void*, size_t>> memory;
};

struct Ranks {
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;
  std::set<int> aborted;  // ranks that have left, at their end or because of an error
  int error = kSuccess;   // that ranks are told of
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Send>>> on_their_way;  // by from and to
  int size = 0;
  std::deque<Window> windows;
};

struct Comm {
  std::shared_ptr<Ranks> ranks;
  int rank;
};

struct Call {
  bool is_send;
  void* memory;
  size_t bytes;
  int peer;
  Comm* comm;
};
thread_local std::vector<Call> group;

enum class Windows { kOpen, kNone, kOfOneTeam };  // none, or only of a rank to itself
Windows windows = Windows::kOpen;

std::mutex all_mutex;
std::map<std::string, std::shared_ptr<Ranks>> all;
std::map<void*, size_t> allocated;
int ids = 0;

int run(const std::vector<Call>& calls) {
  if (calls.empty()) return kSuccess;
  const std::shared_ptr<Ranks> held = calls.front().comm->ranks;  // beyond an abort meanwhile
  Ranks& ranks = *held;
  const int own = calls.front().comm->rank;
  // A rank that has left keeps no others from what they exchange among themselves.
  const auto is_off = [&](int peer) {
    return ranks.aborted.contains(own) || ranks.aborted.contains(peer);
  };
  std::unique_lock lock(ranks.mutex);
  std::vector<std::pair<std::shared_ptr<Send>, int>> sends;  // and to whom
  for (const Call& call : calls)
    if (call.is_send) {
      sends.emplace_back(std::make_shared<Send>(Send{call.memory, call.bytes}), call.peer);
      ranks.on_their_way[{own, call.peer}].push_back(sends.back().first);
    }
  ranks.changed.notify_all();
  for (const Call& call : calls) {
    if (call.is_send) continue;
    auto& coming = ranks.on_their_way[{call.peer, own}];
    ranks.changed.wait(lock, [&] { return !coming.empty() || is_off(call.peer); });
    if (is_off(call.peer)) return kRemoteError;  // what it sent to the end has been taken
    const auto first = coming.front();
    coming.pop_front();
    if (first->bytes != call.bytes) return kInvalidArgument;
    std::memcpy(call.memory, first->from, call.bytes);
    first->is_done = true;
    ranks.changed.notify_all();
  }
  for (const auto& [sent, to] : sends) {
    const Send* const send = sent.get();
    ranks.changed.wait(lock, [&, peer = to] { return send->is_done || is_off(peer); });
    if (!send->is_done) return kRemoteError;
  }
  return kSuccess;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
#ifdef FAKE_WINDOWS
  *version = 22902;
#else
  *version = 22800;
#endif
  return kSuccess;
}

const char* ncclGetErrorString(int error) {
  return error == kRemoteError ? "remote process exited or there was a network error"
                               : "invalid argument";
}

int ncclGetUniqueId(Id* id) {
  const std::lock_guard lock(all_mutex);
  *id = {};
  const std::string name = "fake " + std::to_string(++ids);
  std::memcpy(id->bytes, name.data(), name.size());
  all[name] = std::make_shared<Ranks>();
  return kSuccess;
}

int ncclCommInitRank(Comm** comm, int count, Id id, int rank) {
  std::shared_ptr<Ranks> ranks;
  {
    const std::lock_guard lock(all_mutex);
    ranks = all.at(id.bytes);
  }
  std::unique_lock lock(ranks->mutex);
  ++ranks->joined;
  ranks->size = count;
  ranks->changed.notify_all();
  ranks->changed.wait(lock, [&] { return ranks->joined >= count; });
  *comm = new Comm{ranks, rank};
  return kSuccess;
}

int ncclCommAbort(Comm* comm) {
  {
    const std::lock_guard lock(comm->ranks->mutex);
    comm->ranks->aborted.insert(comm->rank);
    comm->ranks->changed.notify_all();
  }
  delete comm;
  return kSuccess;
}

int ncclCommGetAsyncError(Comm* comm, int* error) {
  const std::lock_guard lock(comm->ranks->mutex);
  *error = comm->ranks->error;
  return kSuccess;
}

int ncclGroupStart() { return kSuccess; }

int ncclGroupEnd() {
  const std::vector<Call> calls = std::exchange(group, {});
  return run(calls);
}

int ncclSend(const void* from, size_t bytes, int, int peer, Comm* comm, void*) {
  group.push_back({true, const_cast<void*>(from), bytes, peer, comm});
  return kSuccess;
}

int ncclRecv(void* to, size_t bytes, int, int peer, Comm* comm, void*) {
  group.push_back({false, to, bytes, peer, comm});
  return kSuccess;
}

#ifdef FAKE_WINDOWS
int ncclMemAlloc(void** pointer, size_t bytes) {
  *pointer = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  const std::lock_guard lock(all_mutex);
  allocated[*pointer] = bytes;
  return kSuccess;
}

int ncclMemFree(void* pointer) {
  const std::lock_guard lock(all_mutex);
  allocated.erase(pointer);
  std::free(pointer);
  return kSuccess;
}

// Ranks register in the same order: the next window of a rank is the first that it has no part in.
int ncclCommWindowRegister(Comm* comm, void* memory, size_t bytes, void** window, int) {
  {
    const std::lock_guard lock(all_mutex);
    const auto found = allocated.find(memory);
    if (found == allocated.end() || found->second != bytes) return kInvalidArgument;
  }
  const std::shared_ptr<Ranks> ranks = comm->ranks;
  const int rank = comm->rank;
  std::unique_lock lock(ranks->mutex);
  size_t n = 0;
  while (n < ranks->windows.size() && ranks->windows[n].memory.contains(rank)) ++n;
  if (n == ranks->windows.size()) ranks->windows.emplace_back();
  Window& next = ranks->windows[n];
  next.memory[rank] = {memory, bytes};
  ranks->changed.notify_all();
  ranks->changed.wait(lock, [&] {
    return static_cast<int>(next.memory.size()) == ranks->size || !ranks->aborted.empty();
  });
  if (static_cast<int>(next.memory.size()) < ranks->size) return kRemoteError;
  for (const auto& [other, piece] : next.memory)
    if (piece.second != bytes) return kInvalidArgument;
  *window = windows == Windows::kNone ? nullptr : &next;
  return kSuccess;
}

int ncclCommWindowDeregister(Comm*, void*) { return kSuccess; }

int ncclGetPeerDevicePointer(Window* window, size_t offset, int peer, void** pointer) {
  auto* const first = static_cast<char*>(window->memory.at(peer).first);
  *pointer = windows == Windows::kOfOneTeam ? nullptr : first + offset;
  return kSuccess;
}

// For tests: what windows there are from here on.
void fake_nccl_windows(int which) { windows = static_cast<Windows>(which); }
#endif

// For tests: all ranks are told of a network error.
void fake_nccl_break() {
  const std::lock_guard lock(all_mutex);
  for (auto& [name, ranks] : all) {
    const std::lock_guard of_ranks(ranks->mutex);
    ranks->error = kRemoteError;
  }
}
}
