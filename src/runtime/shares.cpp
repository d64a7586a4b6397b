// SPDX-License-Identifier: Apache-2.0
// A packed download: the number of pieces, the size of each, then one after another.
#include "runtime/shares.h"

namespace quiltmd {
namespace {

class UnpackedDownload final : public Download {
 public:
  UnpackedDownload(const std::vector<MemoryPiece>& pieces, const std::byte* from)
      : Download(pieces), copy_(bytes()) {
    for (size_t p = 0; p < pieces.size(); from += pieces[p++].bytes)
      if (pieces[p].bytes) std::memcpy(copy_.data() + places()[p].begin, from, pieces[p].bytes);
  }

 private:
  const std::byte* wait() const override { return copy_.data(); }
  std::vector<std::byte> copy_;
};

}  // namespace

Payload pack(const Download& download) {
  std::vector<uint64_t> head{download.pieces()};
  for (size_t p = 0; p < download.pieces(); ++p)
    head.push_back(download.values<std::byte>(p).size());
  Payload packed = to_bytes(head);
  for (size_t p = 0; p < download.pieces(); ++p) {
    const auto piece = download.values<std::byte>(p);
    packed.insert(packed.end(), piece.begin(), piece.end());
  }
  return packed;
}

std::unique_ptr<Download> unpack(const Payload& packed) {
  uint64_t count;
  std::memcpy(&count, packed.data(), sizeof count);
  std::vector<uint64_t> sizes(count);
  std::memcpy(sizes.data(), packed.data() + sizeof count, count * sizeof(uint64_t));
  std::vector<MemoryPiece> pieces;
  for (const uint64_t size : sizes) pieces.push_back({nullptr, size});
  return std::make_unique<UnpackedDownload>(pieces, packed.data() + (1 + count) * sizeof(uint64_t));
}

}  // namespace quiltmd
