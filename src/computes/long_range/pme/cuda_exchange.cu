// SPDX-License-Identifier: Apache-2.0
// The exchange of grids on a GPU. Each kernel lets the next be placed at once, so that the whole chain
// of the long-range sum is on the machine before pairs fill it. Blocks are small and few, since they
// must find room and those that wait take it from others; each thread has several words under way.
#include <algorithm>

#include "computes/long_range/pme/cuda_kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/message.cuh"

namespace quiltmd {
namespace grid_exchange {

constexpr int kThreads = 32;   // what a block of pairs has: its place is enough
constexpr int kAtOnce = 4;     // words of a thread that are under way together
constexpr int kMaxBlocks = 2;  // for each multiprocessor

// f(plane, word) for the words of this thread, several at once.
template <class F>
__device__ __forceinline__ void over_words(const GridPart& part, F f) {
  const int run = part.words_of_run(), all = part.plane_count * run;
  const int stride = gridDim.x * kThreads;
  for (int first = blockIdx.x * kThreads + threadIdx.x; first < all; first += kAtOnce * stride) {
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int word = first + k * stride;
      if (word < all) f(word / run, word % run);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    send_kernel(const __grid_constant__ SendGrid op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const uint32_t number = op.out.number.get();
  over_words(op.part, [&op, number, out = op.out.buffer()](int plane, int word) {
    write_grid_word<DeviceWords>(op, out, number, plane, word);
  });
}

// Words that are there are taken first, then those that are to come.
template <class Op, class Store>
__device__ __forceinline__ void receive(const Op& op, Store store) {
  release_next();
  wait_for_previous();
  const uint32_t number = op.in.number.get();
  const MessageWord* const in = op.in.buffer();
  const int run = op.part.words_of_run(), all = op.part.plane_count * run;
  const int stride = gridDim.x * kThreads;
  for (int first = blockIdx.x * kThreads + threadIdx.x; first < all; first += kAtOnce * stride) {
    MessageWord words[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      words[k] = look_at_word(in + min(first + k * stride, all - 1));
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int word = first + k * stride;
      if (word >= all) break;
      if (words[k].number != number)
        words[k] = wait_for_word(in + word, number, op.in.waiting, op.in.name);
      store_grid_word(op, words[k], word / run, word % run, store);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    receive_kernel(const __grid_constant__ ReceiveGrid op, LaunchTimes* times) {
  const Timed timed(times);
  receive(op, [](uint32_t& to, uint32_t value) { to = value; });
}

// Several messages, and the spreading of charges, may add to a plane at once.
__global__ void __launch_bounds__(kThreads)
    add_kernel(const __grid_constant__ AddGrid op, LaunchTimes* times) {
  const Timed timed(times);
  receive(op, [](uint32_t& to, uint32_t value) {
    if (value) atomicAdd(&to, value);
  });
}

template <class Op>
LaunchShape shape(const Op& op, const CudaContext& context) {
  const unsigned most = kMaxBlocks * static_cast<unsigned>(context.sm_count);
  return {Op::kName, std::min(blocks_for(op.part.words(), kThreads), most), kThreads, 0,
          Start::kEarly};
}

}  // namespace grid_exchange

void send_grid(const SendGrid& op, CudaContext& context) {
  launch(context, grid_exchange::shape(op, context), grid_exchange::send_kernel, op);
}
void receive_grid(const ReceiveGrid& op, CudaContext& context) {
  launch(context, grid_exchange::shape(op, context), grid_exchange::receive_kernel, op);
}
void add_grid(const AddGrid& op, CudaContext& context) {
  launch(context, grid_exchange::shape(op, context), grid_exchange::add_kernel, op);
}

}  // namespace quiltmd
