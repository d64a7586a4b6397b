// SPDX-License-Identifier: Apache-2.0
#include "runtime/recordings.h"

#include <utility>

namespace quiltmd {
namespace {

// A run makes a few kinds of blocks: whole epochs, and what output cuts off.
constexpr size_t kMaxBlocks = 64;
constexpr int kNotRecorded = -1;

}  // namespace

void Recordings::run(const Block& block, const std::function<void()>& body) {
  if (known_.size() >= kMaxBlocks) forget();
  const int turn = timing_ == Timing::kOn ? turn_++ % 2 : 0;
  const auto [found, is_new] = known_.try_emplace({block, turn}, Recording{kNotRecorded, {}});
  if (is_new) {
    body();
    return;
  }
  Recording& recording = found->second;
  mailboxes_.upload_counts();
  if (recording.id == kNotRecorded) recording = record(body);
  device_.run_recording(recording.id);
  mailboxes_.ran(recording.messages);
}

Recordings::Recording Recordings::record(const std::function<void()>& body) {
  device_.begin_recording();
  body();
  const Mailboxes::Counts messages = mailboxes_.end_recording();
  return {device_.end_recording(), messages};
}

void Recordings::drop() {
  for (auto& [block, recording] : known_)
    if (recording.id != kNotRecorded)
      device_.drop_recording(std::exchange(recording.id, kNotRecorded));
}

void Recordings::forget() {
  drop();
  known_.clear();
}

void Recordings::set(Timing timing) {
  if (std::exchange(timing_, timing) != timing) drop();
}

}  // namespace quiltmd
