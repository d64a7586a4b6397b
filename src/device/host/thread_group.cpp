// SPDX-License-Identifier: Apache-2.0
// Threads that share loops. A step is some twenty short loops, so waking must cost little: an idle
// thread first spins for about the time between two loops, then sleeps. A loop never waits for a
// thread that has not joined it yet, so a late one costs nothing. When the process has more
// threads than the machine has cores (several ranks on a laptop), nobody spins.
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "device/host/host_device.h"
#include "math/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace quiltmd {
namespace {

// About 40 us: longer than the gaps inside a step, shorter than anything a user would notice.
constexpr int kSpins = 1000;

std::atomic<unsigned> threads_alive{0};

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int spin_limit() {
  return threads_alive.load(std::memory_order_relaxed) <= std::thread::hardware_concurrency()
             ? kSpins
             : 0;
}

}  // namespace

struct ThreadGroup::Impl {
  // The loop being shared. Written only while the gate is closed and nobody is inside.
  int count = 0, grain = 1;
  const std::function<void(int, int, int)>* body = nullptr;
  std::atomic<int> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  // kOpen while helpers may join, plus the number of those inside.
  static constexpr uint32_t kOpen = 1u << 31;
  alignas(64) std::atomic<uint32_t> gate{0};
  // Counts loops; helpers sleep on it.
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> helpers;

  Impl() { ++threads_alive; }
  // If it fails, the object already exists, so its destructor ends the existing helpers.
  explicit Impl(int threads) : Impl() {
    try {
      for (int t = 1; t < threads; ++t) {
        helpers.emplace_back([this, t] { help(t); });
        ++threads_alive;
      }
    } catch (const std::system_error&) {
      throw Error("the operating system allows this process " + std::to_string(helpers.size() + 1) +
                  " of the " + std::to_string(threads) +
                  " threads that were requested: request fewer (threads)");
    }
  }

  ~Impl() {
    threads_alive -= static_cast<unsigned>(helpers.size()) + 1;
    stop = true;
    announce();
    for (std::thread& helper : helpers) helper.join();
  }

  void announce() {
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
  }

  void help(int thread) {
    uint32_t seen = 0;
    while (true) {
      seen = await_next(seen);
      if (stop) return;
      if (!enter()) continue;
      take_chunks(thread);
      if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1) gate.notify_all();
    }
  }

  uint32_t await_next(uint32_t seen) {
    uint32_t now = generation.load(std::memory_order_acquire);
    for (int spin = spin_limit(); now == seen && spin > 0; --spin) {
      pause();
      now = generation.load(std::memory_order_acquire);
    }
    while (now == seen) {
      generation.wait(seen, std::memory_order_acquire);
      now = generation.load(std::memory_order_acquire);
    }
    return now;
  }

  // Join the loop in progress, unless it is over already.
  bool enter() {
    uint32_t state = gate.load(std::memory_order_relaxed);
    while (state & kOpen) {
      if (gate.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void take_chunks(int thread) {
    try {
      for (int begin = next.fetch_add(grain, std::memory_order_relaxed); begin < count;
           begin = next.fetch_add(grain, std::memory_order_relaxed)) {
        (*body)(begin, std::min(begin + grain, count), thread);
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void share(int loop_count, int loop_grain, const std::function<void(int, int, int)>& loop_body) {
    count = loop_count;
    grain = loop_grain;
    body = &loop_body;
    next.store(0, std::memory_order_relaxed);
    gate.store(kOpen, std::memory_order_release);
    announce();
    take_chunks(0);
    uint32_t inside = gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    for (int spin = spin_limit(); inside && spin > 0; --spin) {
      pause();
      inside = gate.load(std::memory_order_acquire);
    }
    while (inside) {
      gate.wait(inside, std::memory_order_acquire);
      inside = gate.load(std::memory_order_acquire);
    }
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

ThreadGroup::ThreadGroup(int threads) : impl_(std::make_unique<Impl>(std::max(threads, 1))) {}
ThreadGroup::~ThreadGroup() = default;

int ThreadGroup::size() const { return static_cast<int>(impl_->helpers.size()) + 1; }

void ThreadGroup::parallel_for(int count, int grain,
                               const std::function<void(int, int, int)>& body) {
  grain = std::max(grain, 1);
  if (count <= 0) return;
  if (count > grain && !impl_->helpers.empty()) {
    impl_->share(count, grain, body);
    return;
  }
  for (int begin = 0; begin < count; begin += grain) body(begin, std::min(begin + grain, count), 0);
}

}  // namespace quiltmd
