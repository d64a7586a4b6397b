// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/nccl_windows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "math/error.h"

namespace quiltmd {
namespace {

constexpr const char* kAdvice =
    "; set NCCL_WIN_ENABLE=0 in the environment to have messages exchanged without windows";

class NcclPages final : public PageSource {
 public:
  explicit NcclPages(const nccl::Library& library) : library_(library) {}
  void* allocate(size_t bytes) override {
    void* pointer = nullptr;
    library_.check(library_.mem_alloc(&pointer, bytes), "allocate GPU memory");
    return pointer;
  }
  void free(void* pointer) noexcept override { library_.mem_free(pointer); }

 private:
  const nccl::Library& library_;
};

class NcclWindows final : public SharedMemory {
 public:
  explicit NcclWindows(std::shared_ptr<NcclCommunicator> communicator)
      : communicator_(std::move(communicator)) {}

  // NCCL gives all ranks the same offsets as long as all do the same in the same order.
  void agree_on(const std::vector<MemoryPiece>& pieces) override {
    std::erase_if(registered_, [&](const Registered& r) {
      const bool stays = std::any_of(pieces.begin(), pieces.end(), [&](const MemoryPiece& piece) {
        return piece.from == r.memory;
      });
      if (!stays) deregister(r.window);
      return !stays;
    });
    for (const MemoryPiece& piece : pieces)
      if (!find(piece.from)) registered_.push_back({piece.from, ++number_, make_window(piece)});
  }

  // All ranks count windows alike.
  MemoryHandle share(const void* pointer) const override {
    const Registered* const found = find(pointer);
    if (!found) throw std::logic_error("memory without a window cannot be shared");
    MemoryHandle handle(sizeof found->number);
    std::memcpy(handle.data(), &found->number, sizeof found->number);
    return handle;
  }

  void* open(int of_rank, const MemoryHandle& handle) override {
    int64_t number = 0;
    if (handle.size() != sizeof number)
      throw Error("another process did not send a window's number");
    std::memcpy(&number, handle.data(), sizeof number);
    const auto found = std::find_if(registered_.begin(), registered_.end(),
                                    [number](const Registered& r) { return r.number == number; });
    if (found == registered_.end()) throw Error("another process names a window that is not open");
    void* pointer = nullptr;
    if (found->window)
      communicator_->call([&](const nccl::Library& library, nccl::Comm) {
        library.check(library.get_peer_pointer(found->window, 0, of_rank, &pointer),
                      "tell where another rank's memory is");
      });
    return pointer;
  }
  void close(void*) override {}
  std::string route() const override { return "nccl windows"; }

 private:
  struct Registered {
    const void* memory;
    int64_t number;
    nccl::Window window;  // null: NCCL opens none between these GPUs
  };

  const Registered* find(const void* memory) const {
    const auto found = std::find_if(registered_.begin(), registered_.end(),
                                    [memory](const Registered& r) { return r.memory == memory; });
    return found == registered_.end() ? nullptr : &*found;
  }

  nccl::Window make_window(const MemoryPiece& piece) {
    const auto window = std::make_shared<nccl::Window>(nullptr);
    communicator_->call_together([piece, window](const nccl::Library& library, nccl::Comm comm) {
      const nccl::Result result = library.window_register(comm, const_cast<void*>(piece.from),
                                                          piece.bytes, window.get(), 0);
      library.check(result, "open a window to memory", kAdvice);
    });
    return *window;
  }
  void deregister(nccl::Window window) {
    if (!window) return;
    communicator_->call([window](const nccl::Library& library, nccl::Comm comm) {
      library.check(library.window_deregister(comm, window), "close a window to memory");
    });
  }

  const std::shared_ptr<NcclCommunicator> communicator_;  // windows that are open end with it
  std::vector<Registered> registered_;
  int64_t number_ = 0;
};

}  // namespace

std::shared_ptr<PageSource> make_nccl_pages(const nccl::Library& library) {
  return std::make_shared<NcclPages>(library);
}

std::shared_ptr<SharedMemory> make_nccl_windows(std::shared_ptr<NcclCommunicator> communicator) {
  return std::make_shared<NcclWindows>(std::move(communicator));
}

}  // namespace quiltmd
