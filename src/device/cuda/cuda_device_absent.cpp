// SPDX-License-Identifier: Apache-2.0
// The `cuda` device of a build without CUDA: it says so.
#include "device/cuda/cuda_device.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr const char* kAbsent =
    "this build of quiltmd has no CUDA device: install it where the GPU is, or with "
    "-C cmake.define.QUILTMD_CUDA=ON";

[[noreturn]] void refuse() { throw Error(std::string("No GPU can be used: ") + kAbsent + "."); }

}  // namespace

struct CudaDevice::Impl {};

CudaDevice::CudaDevice(int) { refuse(); }
CudaDevice::~CudaDevice() = default;
DeviceDescription CudaDevice::describe() const { refuse(); }
int CudaDevice::ordinal() const { refuse(); }
PeerAccess CudaDevice::peer_access(const Device&) const { refuse(); }
void* CudaDevice::allocate(size_t) { refuse(); }
void CudaDevice::free(void*) {}
void CudaDevice::copy_in(void*, const void*, size_t) { refuse(); }
void CudaDevice::copy_out(void*, const void*, size_t) { refuse(); }
void CudaDevice::copy(void*, const void*, size_t, Stream) { refuse(); }
void CudaDevice::fill(void*, int, size_t, Stream) { refuse(); }
MemoryHandle CudaDevice::share(const void*) const { refuse(); }
void* CudaDevice::open(const MemoryHandle&) { refuse(); }
void CudaDevice::close(void*) {}
void CudaDevice::take_pages_from(std::shared_ptr<PageSource>) { refuse(); }
std::shared_ptr<uint32_t> CudaDevice::make_host_number() { refuse(); }
std::shared_ptr<void> CudaDevice::make_host_memory(size_t) { refuse(); }
std::unique_ptr<Download> CudaDevice::start_download(const std::vector<MemoryPiece>&) { refuse(); }
void CudaDevice::signal(int, Stream) { refuse(); }
void CudaDevice::wait(int, Stream) { refuse(); }
void CudaDevice::begin_recording() { refuse(); }
int CudaDevice::end_recording() { refuse(); }
void CudaDevice::run_recording(int) { refuse(); }
void CudaDevice::drop_recording(int) { refuse(); }
void CudaDevice::set_placing(Placing) { refuse(); }
std::shared_ptr<void> CudaDevice::begin_run() { refuse(); }
bool CudaDevice::adapt_to_sharing() { refuse(); }
void CudaDevice::synchronize() { refuse(); }
bool CudaDevice::is_idle() const { refuse(); }
void CudaDevice::enqueue(const char*, Stream, const std::function<void(void*)>&) { refuse(); }
void CudaDevice::start_timing() { refuse(); }
std::vector<Span> CudaDevice::take_spans() { refuse(); }
void CudaDevice::stop_timing() { refuse(); }
void CudaDevice::time_launches(bool) { refuse(); }
void CudaDevice::label_launches(int) { refuse(); }
CudaContext& CudaDevice::context(Stream) { refuse(); }
void CudaDevice::launch_raw(const OperationKey&, const void*, size_t, Stream) { refuse(); }
int CudaDevice::compile_kernel(const std::string&, const std::string&) { refuse(); }
const KnownOperation* CudaDevice::find_operation(uint32_t) const { refuse(); }

void poison_gpu(int) { refuse(); }
void occupy_gpu(int) { refuse(); }

void enable_peer_access(const std::vector<int>&) { refuse(); }

std::vector<CudaDeviceReport> cuda_devices(SelfTest) { return {no_gpu(kAbsent)}; }

}  // namespace quiltmd
