// SPDX-License-Identifier: Apache-2.0
#include "runtime/recordings.h"

#include <utility>

namespace quiltmd {
namespace {

// A run makes a few kinds of blocks: whole epochs, and what output cuts off.
constexpr size_t kMostBlocks = 64;
constexpr int kNotRecorded = -1;

}  // namespace

void Recordings::run(const Block& block, const std::function<void()>& body) {
  if (known_.size() >= kMostBlocks) forget();
  const auto [found, is_new] = known_.try_emplace(block, kNotRecorded);
  if (is_new) {
    body();
    return;
  }
  if (found->second == kNotRecorded) {
    device_.begin_recording();
    body();
    found->second = device_.end_recording();
  }
  device_.run_recording(found->second);
}

void Recordings::drop() {
  for (auto& [block, recording] : known_)
    if (recording != kNotRecorded) device_.drop_recording(std::exchange(recording, kNotRecorded));
}

void Recordings::forget() {
  drop();
  known_.clear();
}

void Recordings::set(Timing timing) {
  if (std::exchange(timing_, timing) != timing) drop();
}

}  // namespace quiltmd
