// SPDX-License-Identifier: Apache-2.0
// Copies between global and shared memory that one thread starts and hardware makes, of compute
// capability 9.0 on. Addresses and sizes are multiples of 16 bytes.
#pragma once

#include <cstdint>

namespace quiltmd {

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Whether this lane is the one of its warp, always the same, that starts copies. All lanes come here
// together. (The compiler knows that it is one, and needs no loop over lanes.)
__device__ inline bool starts_copies() {
  uint32_t is_elected;
  asm volatile(
      "{\n"
      ".reg .pred elected;\n"
      "elect.sync _|elected, 0xffffffff;\n"
      "selp.b32 %0, 1, 0, elected;\n"
      "}"
      : "=r"(is_elected));
  return is_elected != 0;
}

// Orders reads and writes of threads in shared memory before copies that they, or threads that synchronise
// with them afterwards, start.
__device__ inline void order_before_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// In shared memory: the arrival of copies there, again and again. One thread sets it up; of each
// round one thread says how many bytes are to come.
class Arrival {
 public:
  __device__ void set_up() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&state_))
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __device__ void expect(int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&state_)),
        "r"(bytes)
        : "memory");
  }
  template <class T>
  __device__ void fetch(T* to, const T* from, int count) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(shared_address(to)),
        "l"(from), "r"(count * static_cast<int>(sizeof(T))), "r"(shared_address(&state_))
        : "memory");
  }
  // Waits for a round; `parity` is that of its number, counted from 0.
  __device__ void wait(uint32_t parity) const {
    asm volatile(
        "{\n"
        ".reg .pred here;\n"
        "wait:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 here, [%0], %1;\n"
        "@!here bra wait;\n"
        "}" ::"r"(shared_address(&state_)),
        "r"(parity)
        : "memory");
  }

 private:
  uint64_t state_;
};

// From shared memory. What was sent is in its place when the kernel ends.
template <class T>
__device__ inline void send(T* to, const T* from, int count) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(count * static_cast<int>(sizeof(T)))
               : "memory");
}

// The memory from which this thread has sent may be used again; to be called before the block ends.
__device__ inline void wait_for_sent() {
  asm volatile(
      "cp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group.read 0;" ::
          : "memory");
}

}  // namespace quiltmd
