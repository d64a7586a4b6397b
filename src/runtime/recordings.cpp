// SPDX-License-Identifier: Apache-2.0
#include "runtime/recordings.h"

#include <utility>

#include "math/error.h"

namespace quiltmd {
namespace {

// A run makes a few kinds of blocks: whole epochs, and what output cuts off.
constexpr size_t kMaxBlocks = 64;

}  // namespace

void Recordings::run(const Block& block, int64_t step, const std::function<void()>& body) {
  if (known_.size() >= kMaxBlocks) forget();
  const auto [found, is_new] = known_.try_emplace(block);
  const bool timing = timing_ == Timing::kOn;
  const bool timed = timing && blocks_++ % kEvery == 0;
  if (timing) device_.time_launches(timed);
  if (is_new) {
    body();
    return;
  }
  Known& known = found->second;
  Recording& recording = timing ? known.timed : known.plain;
  mailboxes_.upload_counts();
  if (recording.id == kNotRecorded) {
    if (timing) device_.time_launches(true);
    recording = record(step, body);
    if (timing) device_.time_launches(timed);
  }
  device_.run_recording(recording.id);
  for (const ExternalCall& call : recording.calls)
    external_->answer({step + call.step, call.energies});
  if (timed) timed_steps_.push_back(block.steps);
  mailboxes_.ran(recording.messages);
}

Recordings::Recording Recordings::record(int64_t step, const std::function<void()>& body) {
  if (external_) external_->begin_noting();
  device_.begin_recording();
  body();
  const Mailboxes::Counts messages = mailboxes_.end_recording();
  Recording made{device_.end_recording(), messages, {}};
  if (external_) made.calls = external_->end_noting();
  for (ExternalCall& call : made.calls) call.step -= step;
  return made;
}

Recordings::~Recordings() {
  try {
    drop();
  } catch (const Error&) {
    return;  // the device is lost, and its recordings with it
  }
}

void Recordings::drop(Recording& recording) {
  if (recording.id != kNotRecorded)
    device_.drop_recording(std::exchange(recording.id, kNotRecorded));
}

void Recordings::drop_timed() {
  for (auto& [block, known] : known_) drop(known.timed);
}

void Recordings::drop() {
  drop_timed();
  for (auto& [block, known] : known_) drop(known.plain);
}

void Recordings::forget() {
  drop();
  known_.clear();
}

void Recordings::set(Timing timing) {
  if (std::exchange(timing_, timing) != timing) drop_timed();
  blocks_ = 0;
  timed_steps_.clear();
}

}  // namespace quiltmd
