// SPDX-License-Identifier: Apache-2.0
// Probes of a work queue inside the GPU (benchmarks/notes/work-queue.md): how long one block takes to
// hand work over to another; pairs by warps that stay, dealt to multiprocessors by cost; pairs that give
// way to the chain of the mesh; pairs on a part of the multiprocessors (green contexts).
//
//   python3 benchmarks/kernels/build.py queue && build/kernels/queue DUMP...
//
// The variant queue_yield has pairs that give way. Kernels of pairs and mesh are compiled in this
// program, so that they share its variables.
#include <cuda.h>

#include <chrono>
#include <queue>

#include "computes/nonbonded/pair_memory.h"
#include "device/cuda/launch.h"

namespace quiltmd {

// Blocks of the chain that are at work, by multiprocessor.
__device__ int chain_blocks[256];

__device__ __forceinline__ int* own_chain_blocks() {
  unsigned processor;
  asm volatile("mov.u32 %0, %smid;" : "=r"(processor));
  return chain_blocks + processor;
}

// A kernel of the chain is at work from the end of its predecessor to its own end.
__device__ __forceinline__ void wait_and_raise() {
  wait_for_previous();
  if (threadIdx.x == 0) atomicAdd(own_chain_blocks(), 1);
}
struct ChainBlock {
  __device__ __forceinline__ explicit ChainBlock(LaunchTimes* times) : timed(times) {}
  __device__ __forceinline__ ~ChainBlock() {
    if (threadIdx.x == 0) atomicAdd(own_chain_blocks(), -1);
  }
  Timed timed;
};

// Read ahead, a round before it is asked for.
__device__ __forceinline__ int read_chain_blocks() {
  int count;
  asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(count) : "l"(own_chain_blocks()));
  return count;
}
__device__ __forceinline__ void give_way(int chain) {
  for (int i = 0; chain > 0 && i < 400; ++i) {
    __nanosleep(50);
    chain = read_chain_blocks();
  }
}

}  // namespace quiltmd

#include "computes/nonbonded/cuda_pairs.cu"
#define Timed             ChainBlock
#define wait_for_previous wait_and_raise
#include "computes/long_range/pme/cuda_convolve.cu"
#include "computes/long_range/pme/cuda_mesh.cu"
#include "computes/long_range/pme/cuda_transform.cu"
#undef Timed
#undef wait_for_previous
#include "workshop.h"

namespace probes {

using namespace workshop;

// ---- One block hands over to the next ------------------------------------------------------

__global__ void hand_over(unsigned* counter, unsigned rounds) {
  const unsigned blocks = gridDim.x;
  for (unsigned goal = blockIdx.x; goal < rounds * blocks; goal += blocks) {
    unsigned seen = 0;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(counter));
    while (seen < goal);
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(1u) : "memory");
  }
}

// Every block adds to the counter, then waits until all have: a barrier of the GPU.
__global__ void meet(unsigned* counters, int rounds, int apart) {
  const unsigned blocks = gridDim.x;
  for (int round = 1; round <= rounds; ++round) {
    asm volatile(
        "red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counters + blockIdx.x % apart * 8), "r"(1u)
        : "memory");
    for (int c = 0; c < apart; ++c) {
      const unsigned goal = (blocks / apart + (static_cast<unsigned>(c) < blocks % apart)) * round;
      unsigned seen = 0;
      do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(counters + c * 8));
      while (seen < goal);
    }
  }
}

double microseconds(const std::function<void()>& work) {
  cudaEvent_t begin, end;
  cuda_check(cudaEventCreate(&begin), "create an event");
  cuda_check(cudaEventCreate(&end), "create an event");
  float best = 1e9f;
  for (int i = 0; i < 5; ++i) {
    cuda_check(cudaEventRecord(begin), "record an event");
    work();
    cuda_check(cudaEventRecord(end), "record an event");
    cuda_check(cudaEventSynchronize(end), "run a kernel");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin, end), "time a kernel");
    best = std::min(best, ms);
  }
  return 1000.0 * best;
}

void probe_counters(int processors) {
  unsigned* counters = nullptr;
  cuda_check(cudaMalloc(&counters, 8192), "allocate counters");
  for (const int apart : {1, 2, 4, 8}) {
    const int rounds = 200;
    const double met = microseconds([&] {
                         cudaMemsetAsync(counters, 0, 8192);
                         meet<<<processors, 1>>>(counters, rounds, apart);
                       }) /
                       rounds;
    std::printf("  %d blocks meet by %d counters: %.2f us\n", processors, apart, met);
  }
  const int rounds = 20;
  const double passed = microseconds([&] {
                          cudaMemsetAsync(counters, 0, 8192);
                          hand_over<<<processors, 1>>>(counters, rounds);
                        }) /
                        (rounds * processors);
  std::printf("  one block to the next by a counter: %.2f us\n", passed);
  cudaFree(counters);
}

// ---- Pairs by warps that stay ---------------------------------------------------------------

// Pieces of lists by multiprocessor: those of processor p are [begin[p], begin[p + 1]), a piece is
// list * pieces + piece.
struct Dealt {
  const int *pieces, *begin;
};

template <class Form, int kDegree, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp, 1)
    resident_pairs(const __grid_constant__ PairForces op, const Dealt dealt) {
  __shared__ pairs::Cluster<Form> clusters[kWarps];
  __shared__ int next;
  extern __shared__ float4 shifts[];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int code = threadIdx.x; code <= max(op.codes, kWarp - 1); code += kWarps * kWarp)
    shifts[code] = pairs::shift_of(op, code);
  if (threadIdx.x == 0) next = dealt.begin[blockIdx.x];
  __syncthreads();
  const int end = dealt.begin[blockIdx.x + 1];
#pragma unroll 1
  while (true) {
    int place = 0;
    if (lane == 0) place = atomicAdd(&next, 1);
    place = __shfl_sync(kAllLanes, place, 0);
    if (place >= end) return;
    const int task = dealt.pieces[place], number = task / op.pieces, piece = task % op.pieces;
    const int4 header = *reinterpret_cast<const int4*>(op.lists + number);
    const int count = op.lists[number].within[op.shells.last];
    if (piece * kWarp >= max(count, header.w)) continue;
    const pairs::List list{header.x, header.y, header.y + header.z, header.y + count, 0, 0};
    const PairParameters parameters = pairs::kept_constants<kDegree>(op.parameters, header.x >> 31);
    const pairs::Kernel<Form, false> k{op,   parameters, clusters[warp], pairs::kept(shifts),
                                       list, lane,       nullptr};
    const uint32_t entry = pairs::load_entry(k, list.begin + piece * kWarp + lane);
    const int form_atoms = pairs::load_cluster(k, clusters[warp]);
    __syncwarp();
    pairs::Sums sums{};
    if (form_atoms <= pairs::kHalf)
      pairs::evaluate<pairs::kHalf, kDegree, false>(k, piece, op.pieces, entry, sums);
    else
      pairs::evaluate<kClusterSize, kDegree, false>(k, piece, op.pieces, entry, sums);
    pairs::add_i_forces(k, sums);
    __syncwarp();
  }
}

// Longest first, each to the processor with least so far. A piece costs its rounds, and half a round
// for its beginning and its end.
std::pair<std::vector<int>, std::vector<int>> deal(const Bench& b, const PairForces& op,
                                                   int processors) {
  const int count = b.memory.lists->list_ranges.download()[3];
  const std::vector<PairList> lists = b.memory.lists->lists.download(static_cast<size_t>(count));
  std::vector<std::pair<double, int>> costs;
  for (int n = 0; n < count; ++n) {
    const int rounds = (lists[static_cast<size_t>(n)].within[op.shells.last] + 31) / 32;
    for (int piece = 0; piece < op.pieces && piece < rounds; ++piece)
      costs.emplace_back((rounds - piece + op.pieces - 1) / op.pieces + 0.5, n * op.pieces + piece);
  }
  std::sort(costs.begin(), costs.end(), std::greater<>());
  using Load = std::pair<double, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int p = 0; p < processors; ++p) loads.emplace(0.0, p);
  std::vector<std::vector<int>> of(static_cast<size_t>(processors));
  for (const auto& [cost, piece] : costs) {
    const auto [load, p] = loads.top();
    loads.pop();
    of[static_cast<size_t>(p)].push_back(piece);
    loads.emplace(load + cost, p);
  }
  std::vector<int> pieces, begin{0};
  for (const auto& mine : of) {
    pieces.insert(pieces.end(), mine.begin(), mine.end());
    begin.push_back(static_cast<int>(pieces.size()));
  }
  return {pieces, begin};
}

int* on_gpu(const std::vector<int>& values) {
  int* result = nullptr;
  cuda_check(cudaMalloc(&result, values.size() * 4), "allocate a table");
  cuda_check(cudaMemcpy(result, values.data(), values.size() * 4, cudaMemcpyHostToDevice), "copy");
  return result;
}

template <int kWarps>
void time_resident(Bench& b, CudaDevice& device, PairForces op) {
  CudaContext& context = device.context(Stream::kMain);
  const auto [pieces, begin] = deal(b, op, context.sm_count);
  const Dealt dealt{on_gpu(pieces), on_gpu(begin)};
  using Form = ByRule<LennardJones>;
  constexpr int kDegree = kLeastForceDegree;
  const size_t shared = static_cast<size_t>(std::max(op.codes + 1, 32)) * sizeof(float4);
  if (op.parameters.form != 0 || op.parameters.ewald.force_degree != kDegree)
    throw Error("this probe knows Lennard-Jones by rule, and a polynomial of the least degree");
  const auto launch_it = [&] {
    resident_pairs<Form, kDegree, kWarps>
        <<<static_cast<unsigned>(context.sm_count), kWarps * 32, shared, context.stream>>>(op,
                                                                                           dealt);
  };
  b.clear_sums();
  device.launch(op);
  const auto expected = b.slots.force.download();
  b.clear_sums();
  launch_it();
  cuda_check(cudaGetLastError(), "launch resident pairs");
  const bool same = b.slots.force.download() == expected;
  std::printf(" %d warps %.1f us%s", kWarps, time_of(device, launch_it),
              verdict(same, "", " (OTHER BITS)"));
}

void probe_resident_pairs(Bench& b, CudaDevice& device) {
  PairForces op =
      b.family<PairMemory>().pair_forces(Part::kInterior, Energies::kSkip, b.list_age());
  for (const int pieces : {1, 2, 3}) {
    op.pieces = pieces;
    std::printf("  pairs in %d pieces: %.1f us; resident:", pieces,
                time_of(device, [&] { device.launch(op); }));
    time_resident<24>(b, device, op);
    time_resident<28>(b, device, op);
    std::printf("\n");
  }
}

// ---- Pairs beside the chain of the mesh -----------------------------------------------------

// The chain on the main stream, pairs on the side; the next repeat waits for both.
enum class Pairs { kNone, kAtOnce, kAfterSpreading };
double time_beside(Bench& b, CudaDevice& device, Pairs when, bool with_chain) {
  const MeshMemory& m = b.charges();
  const PairForces pairs =
      b.family<PairMemory>().pair_forces(Part::kInterior, Energies::kSkip, b.list_age());
  const auto spread = m.spread_charges();
  const auto transform = m.transform_planes(0, m.grid.nx);
  const auto convolve = m.convolve_lines(0, m.grid.ny, Energies::kSkip);
  const auto inverse = m.inverse_planes(0, m.grid.nx);
  const auto gather = m.gather_forces();
  int event = 0;
  return time_of(device, [&] {
    if (with_chain && when == Pairs::kAfterSpreading) device.launch(spread, Stream::kMain);
    device.signal(event, Stream::kMain);
    device.wait(event, Stream::kSide);
    if (when != Pairs::kNone) device.launch(pairs, Stream::kSide);
    if (with_chain) {
      if (when != Pairs::kAfterSpreading) device.launch(spread, Stream::kMain);
      device.launch(transform, Stream::kMain);
      device.launch(convolve, Stream::kMain);
      device.launch(inverse, Stream::kMain);
      device.launch(gather, Stream::kMain);
    }
    device.signal(event + 1, Stream::kSide);
    device.wait(event + 1, Stream::kMain);
    event = (event + 2) % 4;
  });
}

double time_steps(Bench& b) {
  b.rank.run(400);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    b.device.synchronize();
    const auto from = std::chrono::steady_clock::now();
    b.rank.run(1000);
    b.device.synchronize();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
    best = std::min(best, took.count() * 1e3);
  }
  return best;
}

void print_beside(const char* name, Bench& b, CudaDevice& device) {
  std::printf(
      "  %s: chain %.1f, pairs %.1f, both %.1f, pairs after spreading %.1f, a step %.2f us\n", name,
      time_beside(b, device, Pairs::kNone, true), time_beside(b, device, Pairs::kAtOnce, false),
      time_beside(b, device, Pairs::kAtOnce, true),
      time_beside(b, device, Pairs::kAfterSpreading, true), time_steps(b));
  std::fflush(stdout);
}

// ---- Green contexts ---------------------------------------------------------------------------

template <class F>
F driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  cuda_check(cudaGetDriverEntryPointByVersion(name, &found, 12050, cudaEnableDefault, &result),
             name);
  if (!found) throw Error(std::string("the driver has no ") + name);
  return reinterpret_cast<F>(found);
}
void driver_check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw Error(std::string(what) + ": " + std::to_string(result));
}

// Streams on the first of the processors, `count` of them.
CUstream green_stream(unsigned count, int priority) {
  static const auto get = driver<decltype(&cuDeviceGetDevResource)>("cuDeviceGetDevResource");
  static const auto split =
      driver<decltype(&cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
  static const auto describe =
      driver<decltype(&cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc");
  static const auto create = driver<decltype(&cuGreenCtxCreate)>("cuGreenCtxCreate");
  static const auto stream_of = driver<decltype(&cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate");
  CUdevResource all{}, part{}, rest{};
  driver_check(get(0, &all, CU_DEV_RESOURCE_TYPE_SM), "processors of the GPU");
  unsigned groups = 1;
  driver_check(split(&part, &groups, &all, &rest, 0, count), "divide the processors");
  CUdevResourceDesc description{};
  driver_check(describe(&description, &part, 1), "describe a part");
  CUgreenCtx green{};
  driver_check(create(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), "make a green context");
  CUstream stream{};
  driver_check(stream_of(&stream, green, CU_STREAM_NON_BLOCKING, priority), "make its stream");
  return stream;
}

void probe_green_contexts(Bench& b, CudaDevice& device) {
  for (const unsigned processors : {116u, 108u, 100u, 92u}) {
    CudaContext& side = device.context(Stream::kSide);
    const cudaStream_t before = side.stream;
    try {
      side.stream = green_stream(processors, 0);
      std::printf(
          "  pairs on %u processors: pairs %.1f, both %.1f, pairs after spreading %.1f us\n",
          processors, time_beside(b, device, Pairs::kAtOnce, false),
          time_beside(b, device, Pairs::kAtOnce, true),
          time_beside(b, device, Pairs::kAfterSpreading, true));
    } catch (const std::exception& error) {
      std::printf("  pairs on %u processors: %s\n", processors, error.what());
    }
    side.stream = before;
  }
}

void run(Bench& b, CudaDevice& device) {
  print_beside("on all processors", b, device);
  probe_resident_pairs(b, device);
  probe_green_contexts(b, device);
  probe_counters(device.context(Stream::kMain).sm_count);
}

}  // namespace probes

int main(int count, char** arguments) { return workshop::for_dumps(count, arguments, probes::run); }
