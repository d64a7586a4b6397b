// SPDX-License-Identifier: Apache-2.0
// The clock of spans, and what devices do unless they say otherwise.
#include "device/device.h"

#include <chrono>

#include "math/error.h"

namespace quiltmd {
namespace {

constexpr size_t kPieceAlignment = 256;  // bytes; what GPUs copy at full speed

class CopiedDownload final : public Download {
 public:
  CopiedDownload(Device& device, const std::vector<MemoryPiece>& pieces)
      : Download(pieces), copy_(std::make_unique_for_overwrite<std::byte[]>(bytes())) {
    for (size_t p = 0; p < pieces.size(); ++p)
      device.copy_out(copy_.get() + places()[p].begin, pieces[p].from, pieces[p].bytes);
  }

 private:
  const std::byte* wait() const override { return copy_.get(); }
  std::unique_ptr<std::byte[]> copy_;
};

}  // namespace

Download::Download(const std::vector<MemoryPiece>& pieces) {
  for (const MemoryPiece& piece : pieces) {
    places_.push_back({bytes_, piece.bytes});
    bytes_ += (piece.bytes + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
  }
}

std::unique_ptr<Download> Device::start_download(const std::vector<MemoryPiece>& pieces) {
  return std::make_unique<CopiedDownload>(*this, pieces);
}

MemoryHandle Device::share(const void*) const {
  throw Error("a " + describe().kind +
              " device cannot share its memory with other processes: choose another transport");
}

void* Device::open(const MemoryHandle&) {
  throw Error("a " + describe().kind +
              " device cannot access the memory of other processes: choose another transport");
}

void Device::enqueue(const char*, Stream, const std::function<void(void*)>& work) { work(nullptr); }

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace quiltmd
