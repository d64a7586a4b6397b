// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/stream_transport.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace quiltmd {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStillHere = -100, kFailed = -101;  // edges of what processes tell each other
constexpr auto kBetweenSigns = std::chrono::seconds(1);
constexpr double kStart = 120;  // seconds that a process may take until its first sign

struct Header {
  int32_t edge;
  int32_t padding;
  int64_t sequence;
  uint64_t bytes;
};

// A connection to one other rank.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}
  Peer(Peer&&) = delete;
  ~Peer() {
    if (socket_ >= 0) ::close(socket_);
  }

  int socket() const { return socket_; }
  void shut_down() const {
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  }

  // False where the other end is gone.
  bool send(const Header& header, const std::byte* payload) {
    const std::lock_guard lock(sending_);
    return write(&header, sizeof header) && write(payload, header.bytes);
  }
  // The same for what need not be said now: not while a message is on its way.
  void send_if_idle(const Header& header) {
    if (!sending_.try_lock()) return;
    const std::lock_guard lock(sending_, std::adopt_lock);
    if (pollfd ready{socket_, POLLOUT, 0}; ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT))
      write(&header, sizeof header);
  }

  // Takes what has come; found(header, payload) for each whole message. False at the end.
  template <class Found>
  bool receive(Found found) {
    for (;;) {
      std::byte* const to = in_header() ? header_bytes() + filled_ : payload_.data() + filled_;
      const size_t missing = (in_header() ? sizeof header_ : payload_.size()) - filled_;
      const ssize_t got = ::recv(socket_, to, missing, MSG_DONTWAIT);
      if (got == 0) return false;
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      heard_ = Clock::now();
      has_spoken_ = true;
      filled_ += static_cast<size_t>(got);
      if (filled_ < (in_header() ? sizeof header_ : payload_.size())) continue;
      filled_ = 0;
      if (in_header()) {
        payload_.resize(header_.bytes);
        in_payload_ = header_.bytes > 0;
        if (in_payload_) continue;
      }
      in_payload_ = false;
      found(header_, std::move(payload_));
      payload_ = {};
    }
  }
  // Whether it has been silent for longer than it may.
  bool is_overdue(double patience) const {
    const std::chrono::duration<double> silence = Clock::now() - heard_;
    return silence.count() > (has_spoken_ ? patience : std::max(patience, kStart));
  }

 private:
  bool in_header() const { return !in_payload_; }
  std::byte* header_bytes() { return reinterpret_cast<std::byte*>(&header_); }

  bool write(const void* from, size_t bytes) const {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t sent = ::send(socket_, at, bytes, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      at += sent;
      bytes -= static_cast<size_t>(sent);
    }
    return true;
  }

  const int socket_;
  std::mutex sending_;
  Header header_{};  // of the message that is coming in
  Payload payload_;
  size_t filled_ = 0;
  bool in_payload_ = false;
  Clock::time_point heard_ = Clock::now();
  bool has_spoken_ = false;
};

class StreamTransport final : public Transport {
 public:
  StreamTransport(int rank, const std::vector<int>& sockets, double patience)
      : rank_(rank), patience_(patience) {
    for (size_t r = 0; r < sockets.size(); ++r)
      peers_.push_back(std::make_unique<Peer>(static_cast<int>(r) == rank ? -1 : sockets[r]));
    if (::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0)
      throw std::runtime_error(std::string("no pipe for messages between processes: ") +
                               std::strerror(errno));
    reader_ = std::thread([this] { read_all(); });
  }
  ~StreamTransport() override {
    ending_ = true;
    [[maybe_unused]] const auto woken = ::write(wake_[1], "", 1);
    reader_.join();
    for (const int end : wake_) ::close(end);
  }

  void send(int to, Message message) override {
    const Header header{message.edge, 0, message.sequence, message.payload.size()};
    if (!peer(to).send(header, message.payload.data())) fail(to, "has ended");
  }

  std::optional<Message> poll() override {
    const std::lock_guard lock(mutex_);
    return take();
  }

  std::optional<Message> wait() override {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !messages_.empty() || !failure_.empty(); });
    return take();
  }

  bool kernels_reach(int) const override { return false; }

  void close() override {
    const Header header{kFailed, 0, 0, 0};
    for (const auto& peer : peers_)
      if (peer->socket() >= 0) peer->send(header, nullptr);
    fail(rank_, "has failed");
  }

  std::string failure() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  Peer& peer(int rank) { return *peers_[static_cast<size_t>(rank)]; }

  std::optional<Message> take() {
    if (messages_.empty()) return std::nullopt;
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  // The first failure is the one that is told.
  void fail(int rank, const std::string& how) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_.empty()) failure_ = "rank " + std::to_string(rank) + " " + how;
    }
    arrived_.notify_all();
  }

  void read_all() {
    std::vector<char> open;
    for (const auto& peer : peers_) open.push_back(peer->socket() >= 0);
    auto next_sign = Clock::now();
    while (!ending_) {
      wait_for_input(open);
      for (size_t r = 0; r < peers_.size(); ++r)
        if (open[r]) open[r] = read_from(static_cast<int>(r));
      if (Clock::now() < next_sign) continue;
      next_sign = Clock::now() + kBetweenSigns;
      give_signs(open);
    }
  }

  void wait_for_input(const std::vector<char>& open) const {
    std::vector<pollfd> ends{{wake_[0], POLLIN, 0}};
    for (size_t r = 0; r < peers_.size(); ++r)
      if (open[r]) ends.push_back({peers_[r]->socket(), POLLIN, 0});
    constexpr int kLongest = std::chrono::milliseconds(kBetweenSigns).count() / 2;
    ::poll(ends.data(), ends.size(), kLongest);
  }

  // False where nothing will come any more.
  bool read_from(int rank) {
    const bool goes_on = peer(rank).receive([&](const Header& header, Payload payload) {
      if (header.edge == kFailed) fail(rank, "has failed");
      if (header.edge == kFailed || header.edge == kStillHere) return;
      const std::lock_guard lock(mutex_);
      messages_.push_back({rank, header.edge, header.sequence, std::move(payload)});
      arrived_.notify_one();
    });
    if (!goes_on) fail(rank, "has ended");
    return goes_on;
  }

  void give_signs(const std::vector<char>& open) {
    for (size_t r = 0; r < peers_.size(); ++r) {
      if (!open[r]) continue;
      peers_[r]->send_if_idle({kStillHere, 0, 0, 0});
      if (!peers_[r]->is_overdue(patience_)) continue;
      fail(static_cast<int>(r), "has not been heard of for " +
                                    std::to_string(static_cast<int>(patience_)) +
                                    " seconds: it has stopped, or the network is down");
      peers_[r]->shut_down();  // who sends to it must not wait, either
    }
  }

  const int rank_;
  const double patience_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank
  int wake_[2];
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> messages_;
  std::string failure_;
  std::thread reader_;
};

}  // namespace

std::unique_ptr<Transport> make_stream_transport(int rank, std::vector<int> sockets,
                                                 double patience) {
  return std::make_unique<StreamTransport>(rank, sockets, patience);
}

}  // namespace quiltmd
