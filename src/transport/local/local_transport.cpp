// SPDX-License-Identifier: Apache-2.0
// One mutex and one queue for each receiver: at the rates of a host executor (a few hundred
// messages per step) a lock-free queue would gain nothing measurable.
#include "transport/local/local_transport.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace quiltmd {
namespace {

struct Inbox {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Message> messages;
  bool closed = false;
  FailureWatch watch;
};
using Inboxes = std::vector<std::unique_ptr<Inbox>>;

class LocalTransport final : public Transport {
 public:
  LocalTransport(int rank, std::shared_ptr<Inboxes> inboxes)
      : inboxes_(std::move(inboxes)), own_(*(*inboxes_)[static_cast<size_t>(rank)]) {}

  void send(int to, Message message) override {
    Inbox& inbox = *(*inboxes_)[static_cast<size_t>(to)];
    {
      const std::lock_guard lock(inbox.mutex);
      inbox.messages.push_back(std::move(message));
    }
    inbox.arrived.notify_one();
  }

  std::optional<Message> poll() override {
    const std::lock_guard lock(own_.mutex);
    return take();
  }

  // Threads of one engine leave together.
  std::optional<Message> wait(const Awaits&) override {
    std::unique_lock lock(own_.mutex);
    own_.arrived.wait(lock, [&] { return !own_.messages.empty() || own_.closed; });
    return take();
  }

  std::string failure() const override {
    const std::lock_guard lock(own_.mutex);
    return own_.closed ? "another rank failed" : "";
  }

  void on_failure(std::function<void()> act) override {
    own_.watch.set(std::move(act), !failure().empty());
  }

  void close() override {
    for (auto& inbox : *inboxes_) {
      {
        const std::lock_guard lock(inbox->mutex);
        inbox->closed = true;
      }
      inbox->arrived.notify_all();
      inbox->watch.tell();
    }
  }

 private:
  std::optional<Message> take() {
    if (own_.messages.empty()) return std::nullopt;
    Message message = std::move(own_.messages.front());
    own_.messages.pop_front();
    return message;
  }

  std::shared_ptr<Inboxes> inboxes_;
  Inbox& own_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_local_transport(int ranks) {
  auto inboxes = std::make_shared<Inboxes>();
  for (int r = 0; r < ranks; ++r) inboxes->push_back(std::make_unique<Inbox>());
  std::vector<std::unique_ptr<Transport>> ends;
  for (int r = 0; r < ranks; ++r) ends.push_back(std::make_unique<LocalTransport>(r, inboxes));
  return ends;
}

}  // namespace quiltmd
