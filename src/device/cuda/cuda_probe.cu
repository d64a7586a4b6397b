// SPDX-License-Identifier: Apache-2.0
// The list of GPUs, with a self-test that writes, steps and checks a piece of memory; and the context
// of this process on one, which other libraries in the process share.
#include "device/cuda/cuda_probe.h"

#include <algorithm>
#include <cstdio>

#include "device/cuda/cuda_device.h"
#include "device/cuda/driver.h"
#include "device/cuda/launch.h"
#include "device/cuda/links.h"

namespace quiltmd {
namespace {

__global__ void probe_kernel(unsigned* words, size_t count, unsigned step, LaunchTimes* times) {
  const Timed timed(times);
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    words[i] = words[i] * 1664525u + step;
}

}  // namespace

int count_gpus(std::string* why_none) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  if (!why_none) return 0;
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (status == cudaErrorInsufficientDriver && driver > 0) {
    char text[160];
    std::snprintf(
        text, sizeof text,
        "the NVIDIA driver supports CUDA %d.%d, this program needs CUDA %d.%d: update the driver",
        driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    *why_none = text;
  } else if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice || driver == 0) {
    *why_none = driver ? "the NVIDIA driver finds no GPU" : "no NVIDIA driver is installed";
  } else {
    *why_none = cudaGetErrorString(status);
  }
  return 0;
}

namespace {

// Bytes of local memory for a thread's stack, which a context sets aside for every thread that the
// machine could run: 264 MiB on an H200 for the usual 1 KiB. Whatever the limit is, the driver gives
// each kernel what its code is known to need, our own or another library's; this is more than any of
// ours needs (176), so that nothing is set aside later, when memory may be short. Only recursion and
// calls by pointer go by the limit. We have neither; another library may, so a context that is there
// already keeps its limit, and this one may be given a larger one at any time.
constexpr size_t kStack = 256;

// Whether this process has its context on a GPU. The runtime cannot say without making it; the
// driver, which it has opened, can.
bool has_context(int ordinal) {
  auto* const get_state =
      driver_function<int(int, unsigned* flags, int*)>("cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int active = 1;
  if (get_state) get_state(ordinal, &flags, &active);
  return active != 0;
}

}  // namespace

void enter_gpu(int ordinal) {
  const bool is_first = !has_context(ordinal);
  cuda_check(cudaSetDevice(ordinal), "select the GPU");
  if (is_first)
    cuda_check(cudaDeviceSetLimit(cudaLimitStackSize, kStack), "limit the size of stacks");
}

std::string architecture_of(const cudaDeviceProp& p) {
  return std::to_string(p.major) + "." + std::to_string(p.minor);
}

std::string missing_code(const cudaDeviceProp& properties) {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, probe_kernel);
  if (status == cudaSuccess) return "";
  cudaGetLastError();
  if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction)
    return cudaGetErrorString(status);
  return "this build has no code for compute capability " + architecture_of(properties) +
         "; build Quilt with QUILTMD_CUDA_ARCHITECTURES=" + std::to_string(properties.major) +
         std::to_string(properties.minor);
}

namespace {

// Write a pattern, step it on the device for about a second, and check it.
void self_test(CudaDeviceReport& report) {
  constexpr size_t kWords = size_t{1} << 26;  // 256 MiB, several times the cache
  constexpr int kRounds = 200, kBlocks = 2048, kThreads = 256;
  if (report.free_memory < 2 * kWords * sizeof(unsigned)) return;
  auto* words = static_cast<unsigned*>(allocate_on_gpu(kWords * sizeof(unsigned)));
  cuda_check(cudaMemset(words, 0, kWords * sizeof(unsigned)), "fill memory");
  cudaEvent_t begin, end;
  cuda_check(cudaEventCreate(&begin), "create an event");
  cuda_check(cudaEventCreate(&end), "create an event");
  CudaContext context;
  unsigned expected = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == 1) cuda_check(cudaEventRecord(begin), "record an event");
    launch(context, {"self_test", kBlocks, kThreads}, probe_kernel, words, kWords,
           static_cast<unsigned>(round));
    expected = expected * 1664525u + static_cast<unsigned>(round);
  }
  cuda_check(cudaEventRecord(end), "record an event");
  cuda_check(cudaEventSynchronize(end), "run the self-test");
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, begin, end), "time the self-test");
  report.bandwidth = 2.0 * (kRounds - 1) * kWords * sizeof(unsigned) / (1e-3 * milliseconds);
  std::vector<unsigned> host(kWords);
  cuda_check(cudaMemcpy(host.data(), words, kWords * sizeof(unsigned), cudaMemcpyDeviceToHost),
             "copy from the GPU");
  report.healthy = std::all_of(host.begin(), host.end(), [&](unsigned w) { return w == expected; });
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaFree(words);
}

void fill_report(CudaDeviceReport& report, int count, SelfTest test) {
  cudaDeviceProp p;
  enter_gpu(report.ordinal);
  cuda_check(cudaGetDeviceProperties(&p, report.ordinal), "read the GPU's properties");
  report.name = p.name;
  report.architecture = architecture_of(p);
  report.memory = p.totalGlobalMem;
  report.multiprocessors = p.multiProcessorCount;
  char bus[32] = "";
  cuda_check(cudaDeviceGetPCIBusId(bus, sizeof bus, report.ordinal), "read the GPU's bus id");
  report.bus = bus;
  for (int other = 0; other < count; ++other)
    if (other != report.ordinal) report.links.push_back(link_between(report.ordinal, other));
  size_t total = 0;
  cuda_check(cudaMemGetInfo(&report.free_memory, &total), "read the GPU's free memory");
  report.problem = missing_code(p);
  if (report.problem.empty() && test == SelfTest::kRun) self_test(report);
}

}  // namespace

std::vector<CudaDeviceReport> cuda_devices(SelfTest test) {
  std::string why_none;
  const int count = count_gpus(&why_none);
  if (count == 0) return {no_gpu(why_none)};
  int before = 0;
  cuda_check(cudaGetDevice(&before), "query the GPU of the thread");
  std::vector<CudaDeviceReport> reports(static_cast<size_t>(count));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CudaDeviceReport& report = reports[static_cast<size_t>(ordinal)];
    report.ordinal = ordinal;
    try {
      fill_report(report, count, test);
    } catch (const Error& error) {
      report.problem = error.what();
    }
  }
  cudaSetDevice(before);  // another user of GPUs in this thread goes on with its own
  return reports;
}

}  // namespace quiltmd
