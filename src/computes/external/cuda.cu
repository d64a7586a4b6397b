// SPDX-License-Identifier: Apache-2.0
// External forces on a GPU. Providers are on the host: a kernel writes positions to host memory, and one waits
// there for what they found.
#include <algorithm>

#include "computes/external/operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/message.cuh"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace {

constexpr int kThreads = 128;
// Waiting blocks leave room for the kernels beside them.
constexpr unsigned kMostBlocks = 32;
constexpr unsigned kMostSending = 256;
// Positions that a thread looks up before it needs the first.
constexpr int kSentAtOnce = 4;
// Numbers of host memory likewise: each takes a microsecond or two.
constexpr int kReadAtOnce = kNumbersAtOnce / kThreads;
static_assert(kReadAtOnce * kThreads == kNumbersAtOnce);

__device__ __forceinline__ int first_of_thread() {
  return static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
}
__device__ __forceinline__ int all_threads() { return static_cast<int>(gridDim.x * kThreads); }

__global__ void gather_external_kernel(const __grid_constant__ GatherExternal op,
                                       LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int k = first_of_thread();
  if (k >= op.of.count) return;
  const int slot = op.of.slot(k);
  const Vec3d x = slot < 0 ? Vec3d{} : op.position[slot];
  int64_t* const to = op.words + 3 * static_cast<ptrdiff_t>(k);
  for (int d = 0; d < 3; ++d) to[d] = to_bits(x[d]);
}

__global__ void ask_providers_kernel(const __grid_constant__ AskProviders op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  double* const words = op.sheet->words;
  bool is_nonsense = false;
  for (int first = first_of_thread(); first < op.words(); first += kSentAtOnce * all_threads()) {
    double word[kSentAtOnce];
#pragma unroll
    for (int n = 0; n < kSentAtOnce; ++n)
      if (const int k = first + n * all_threads(); k < op.words()) word[n] = op.word(k);
#pragma unroll
    for (int n = 0; n < kSentAtOnce; ++n)
      if (const int k = first + n * all_threads(); k < op.words()) {
        words[k] = word[n];
        is_nonsense |= !isfinite(word[n]);
      }
  }
  is_nonsense = __syncthreads_or(is_nonsense);
  if (threadIdx.x != 0) return;
  if (is_nonsense) *static_cast<volatile uint32_t*>(op.is_nonsense) = 1;
  if (blockIdx.x == 0) *static_cast<volatile uint32_t*>(op.answered) = 0;
  __threadfence_system();
  if (atomicAdd(op.blocks, 1u) + 1 < gridDim.x) return;
  *op.blocks = *op.seen = 0;
  __threadfence_system();
  *reinterpret_cast<volatile uint32_t*>(op.turn) = static_cast<uint32_t>(Turn::kProviders);
}

// Until all are there, and says how many there are meanwhile; returns the next sheet. One thread looks across the
// bus: reads of one word of the host follow each other, and each takes a microsecond. If time runs out as the answer
// comes, either this sees the answer or the host sees that this was late. From then on the host answers no more, and
// nothing is waited for.
__device__ Sheet look_for_answer(const AwaitProviders& op) {
  auto* const words = static_cast<volatile uint32_t*>(op.answered_is_late);
  const auto* const both = reinterpret_cast<const volatile uint64_t*>(op.answered_is_late);
  const unsigned long long start = gpu_clock();
  const auto count = static_cast<uint32_t>(op.count);
  for (uint32_t answered = 0; answered < count;) {
    const uint64_t read = *both;
    const uint32_t there = read >> 32 ? ~0u : static_cast<uint32_t>(read);
    if (there > answered) {
      answered = there;
      __threadfence_system();
      *static_cast<volatile uint32_t*>(op.seen) = answered;
    } else if (gpu_clock() - start >= kMessageTimeout) {
      words[1] = 1;
      __threadfence_system();
    }
  }
  return {static_cast<const volatile Sheet*>(op.given)->words};
}

// So many, as the thread that looks says.
__device__ void await_answer(const AwaitProviders& op, uint32_t count) {
  const auto* const seen = static_cast<const volatile uint32_t*>(op.seen);
  while (*seen < count) __nanosleep(50);
  __threadfence_system();
}

// One block looks, and the others take parts. An answer of one part is taken by the block that looks.
__global__ void await_providers_kernel(const __grid_constant__ AwaitProviders op,
                                       LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const bool looks = blockIdx.x == 0;
  Sheet next{};
  if (looks && threadIdx.x == 0) next = look_for_answer(op);
  const int others = static_cast<int>(gridDim.x) - 1;
  const int first_part = looks ? 0 : static_cast<int>(blockIdx.x) - 1;
  const int end = looks && others > 0 ? 0 : op.count;
  for (int begin = first_part * kNumbersAtOnce; begin < end;
       begin += max(others, 1) * kNumbersAtOnce) {
    if (threadIdx.x == 0 && !looks)
      await_answer(op, static_cast<uint32_t>(min(begin + kNumbersAtOnce, op.count)));
    __syncthreads();
    const int first = begin + static_cast<int>(threadIdx.x);
    int64_t read[kReadAtOnce];
#pragma unroll
    for (int n = 0; n < kReadAtOnce; ++n)
      if (const int k = first + n * kThreads; k < op.count)
        read[n] = *static_cast<const volatile int64_t*>(op.answer + k);
#pragma unroll
    for (int n = 0; n < kReadAtOnce; ++n)
      if (const int k = first + n * kThreads; k < op.count) op.found[k] = read[n];
  }
  if (looks && threadIdx.x == 0) *op.sheet = next;  // here, so that nothing waits for it
}

__device__ __forceinline__ void note_fault(const TakeLaunched& op, uint32_t fault) {
  if (fault == 0) return;
  const auto noted = static_cast<unsigned long long>(op.step + 1) << kExternalFaultBits | fault;
  atomicCAS(reinterpret_cast<unsigned long long*>(op.fault), 0ull, noted);
}

__global__ void take_launched_kernel(const __grid_constant__ TakeLaunched op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int k = first_of_thread();
  Symmetric virial{};
  if (k < op.count) {
    const auto at = 3 * static_cast<ptrdiff_t>(k);
    const Vec3d x{op.positions[at], op.positions[at + 1], op.positions[at + 2]};
    const Vec3d f{op.forces[at], op.forces[at + 1], op.forces[at + 2]};
    note_fault(op, fault_of(f));
    for (int d = 0; d < 3; ++d) op.found[at + d] = to_fixed(f[d], kForceScale);
    virial.add_product(x, f);
  }
  for (int v = 0; v < Symmetric::kParts; ++v) {
    const auto sum = warp_sum(to_fixed(virial[v], kEnergyScale));
    if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.found_virial + v, sum);
  }
  if (k != 0) return;
  const double energy = *op.energy;
  if (!(std::abs(energy) <= kLargestExternalEnergy))
    note_fault(op, static_cast<uint32_t>(ExternalFault::kEnergyInvalid));
  else
    add_fixed(op.found_energy, to_fixed(energy, kEnergyScale));
}

__global__ void add_external_kernel(const __grid_constant__ AddExternal op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int k = first_of_thread();
  if (k < op.of.count)
    if (const int slot = op.of.slot(k); slot >= 0)
      for (int d = 0; d < 3; ++d)
        add_fixed(op.slots.force[d] + slot, op.found[3 * static_cast<ptrdiff_t>(k) + d]);
  const int sums = Symmetric::kParts + op.energies;
  if (!op.energy || blockIdx.x != 0) return;
  const int64_t* const virial = op.found + 3 * static_cast<ptrdiff_t>(op.of.count);
  for (int e = static_cast<int>(threadIdx.x); e < sums; e += kThreads) {
    const int to = e < Symmetric::kParts ? kVirial + e : kEnergyKinds + e - Symmetric::kParts;
    add_fixed(op.energy + to, virial[e]);
  }
}

template <class Op>
void run(const Op& op, int64_t work, unsigned most, CudaContext& context,
         void (*kernel)(Op, LaunchTimes*)) {
  const unsigned blocks = std::min(std::max(blocks_for(work, kThreads), 1u), most);
  launch(context, {Op::kName, blocks, kThreads, 0, Start::kEarly}, kernel, op);
}

void gather_external(const GatherExternal& op, CudaContext& context) {
  run(op, op.of.count, ~0u, context, gather_external_kernel);
}
void ask_providers(const AskProviders& op, CudaContext& context) {
  run(op, (op.words() + kSentAtOnce - 1) / kSentAtOnce, kMostSending, context,
      ask_providers_kernel);
}
void await_providers(const AwaitProviders& op, CudaContext& context) {
  const unsigned parts = blocks_for(op.count, kNumbersAtOnce);
  const unsigned blocks = parts > 1 ? std::min(parts + 1, kMostBlocks) : 1;
  launch(context, {AwaitProviders::kName, blocks, kThreads, 0, Start::kEarly},
         await_providers_kernel, op);
}
void take_launched(const TakeLaunched& op, CudaContext& context) {
  run(op, op.count, ~0u, context, take_launched_kernel);
}
void add_external(const AddExternal& op, CudaContext& context) {
  run(op, op.of.count, ~0u, context, add_external_kernel);
}

}  // namespace

void add_external_kernels(CudaKernels& table) {
  table.add<GatherExternal, gather_external>();
  table.add<AskProviders, ask_providers>();
  table.add<AwaitProviders, await_providers>();
  table.add<TakeLaunched, take_launched>();
  table.add<AddExternal, add_external>();
}

}  // namespace quiltmd
