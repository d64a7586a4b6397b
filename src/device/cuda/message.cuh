// SPDX-License-Identifier: Apache-2.0
// Words of messages on a GPU: 128-bit accesses of system scope, which are never torn (PTX memory
// model, single-copy atomicity). A waiting thread looks again and again; one that has waited for too
// long says so, and then nobody waits any longer.
#pragma once

#include "device/cuda/launch.h"
#include "device/message.h"

namespace quiltmd {

inline constexpr unsigned long long kMessageTimeout = 20'000'000'000ull;  // ns
// A waiting thread checks at intervals whether waiting has been ended; for the first time soon, because it
// then waits for each of the words that follow. Reading host memory is slow, so a waiting thread reads the
// stop word there only from the second time on, some milliseconds later.
inline constexpr int kLooks = 4096, kFirstLooks = 64;

__device__ __forceinline__ void send_word(MessageWord* to, uint32_t number, uint32_t a, uint32_t b,
                                          uint32_t c) {
  asm volatile(
      "{.reg .b128 word; .reg .b64 low, high;\n"
      " mov.b64 low, {%1, %2}; mov.b64 high, {%3, %4}; mov.b128 word, {low, high};\n"
      " st.relaxed.sys.global.b128 [%0], word;}" ::"l"(to),
      "r"(a), "r"(b), "r"(c), "r"(number)
      : "memory");
}

__device__ __forceinline__ MessageWord look_at_word(const MessageWord* from) {
  MessageWord w;
  asm volatile(
      "{.reg .b128 word; .reg .b64 low, high;\n"
      " ld.relaxed.sys.global.b128 word, [%4]; mov.b128 {low, high}, word;\n"
      " mov.b64 {%0, %1}, low; mov.b64 {%2, %3}, high;}"
      : "=r"(w.value[0]), "=r"(w.value[1]), "=r"(w.value[2]), "=r"(w.number)
      : "l"(from)
      : "memory");
  return w;
}

__device__ __noinline__ inline MessageWord wait_for_word(const MessageWord* from, uint32_t number,
                                                         Waiting* waiting, uint32_t name) {
  unsigned long long start = 0;
  for (int looks = 1;; ++looks) {
    const MessageWord word = look_at_word(from);
    if (word.number == number) return word;
    if (looks % kLooks != kFirstLooks) continue;
    const unsigned long long now = gpu_clock();
    if (start == 0)
      start = now;
    else if (waiting->stopped && *static_cast<const volatile uint32_t*>(waiting->stopped) != 0)
      atomicCAS(&waiting->overdue, 0u, Waiting::kStopped);
    if (now - start > kMessageTimeout) atomicCAS(&waiting->overdue, 0u, name);
    if (*static_cast<volatile uint32_t*>(&waiting->overdue) != 0) return word;
  }
}

struct DeviceWords {
  __device__ static __forceinline__ void put(MessageWord* to, uint32_t number, uint32_t a,
                                             uint32_t b, uint32_t c) {
    send_word(to, number, a, b, c);
  }
  __device__ static __forceinline__ MessageWord take(const Inlet& in, const MessageWord* from,
                                                     uint32_t number) {
    const MessageWord word = look_at_word(from);
    return word.number == number ? word : wait_for_word(from, number, in.waiting, in.name);
  }
};

// Wait for the marks of other ranks: what these had written before is visible to the whole block.
// Ends with a barrier, unless there are none.
__device__ __forceinline__ void await_marks(const MarksAwaited& marks) {
  if (marks.count == 0) return;
  if (threadIdx.x < static_cast<unsigned>(marks.count)) {
    const Inlet& in = marks.from[threadIdx.x];
    DeviceWords::take(in, in.buffer(), in.number.get());
    __threadfence_system();
  }
  __syncthreads();
}

// This block has written what other ranks wait for; all of its threads call this. The last of all
// blocks sends the marks.
__device__ __forceinline__ void send_marks(const MarksSent& marks) {
  if (marks.count == 0) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  const unsigned blocks = gridDim.x * gridDim.y;
  if (atomicAdd(marks.blocks, 1u) + 1 < blocks) return;
  *marks.blocks = 0;
  __threadfence_system();
  for (int m = 0; m < marks.count; ++m) {
    const uint32_t number = marks.to[m].number.get();
    send_word(marks.to[m].buffer(), number, 0, 0, 0);
  }
}

}  // namespace quiltmd
