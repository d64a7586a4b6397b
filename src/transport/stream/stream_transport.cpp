// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/stream_transport.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace quiltmd {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kHeartbeat = -100, kFailed = -101,
              kFarewell = -102;  // edges of what processes tell each other
constexpr auto kHeartbeatInterval = std::chrono::seconds(1);
constexpr double kStart = 120;  // seconds that a process may take until its first sign
// Who has not looked at its connections for so long was stopped itself, as a suspended job is.
constexpr auto kOwnStop = 3 * kHeartbeatInterval;

struct Header {
  int32_t edge;
  int32_t padding;
  int64_t sequence;
  uint64_t bytes;
};

// A connection to one other rank. What it sends never waits for the other end: what the socket does
// not take at once is kept, and flushed later. If the other end is gone, that is told by `receive` alone,
// after all that the other rank has said before, such as whose failure made it end.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket), is_tcp_(protocol_of(socket) == IPPROTO_TCP) {}
  Peer(Peer&&) = delete;
  ~Peer() {
    if (socket_ >= 0) ::close(socket_);
  }

  int socket() const { return socket_; }
  void shut_down() const {
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  }

  void send(const Header& header, Payload payload) {
    const std::lock_guard lock(sending_);
    outgoing_.push_back({header, std::move(payload), 0});
    if (outgoing_.size() == 1) write();
  }
  void flush() {
    const std::lock_guard lock(sending_);
    write();
  }
  bool has_more() const {
    const std::lock_guard lock(sending_);
    return !outgoing_.empty();
  }
  // Whether the other end has what was sent, even if this one closes. Until it is acknowledged, TCP forgets
  // it where anything comes in after the end; other sockets of one host do not.
  bool has_all() const {
    int on_the_way = 0;
    return !has_more() &&
           (!is_tcp_ || ::ioctl(socket_, SIOCOUTQ, &on_the_way) != 0 || on_the_way == 0);
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
  // This time does not count as silence.
  void excuse(Clock::duration time) { heard_ += time; }

 private:
  struct Outgoing {
    Header header;
    Payload payload;
    size_t sent;  // bytes of both
  };

  static int protocol_of(int socket) {
    int protocol = 0;
    socklen_t size = sizeof protocol;
    ::getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size);
    return protocol;
  }
  bool in_header() const { return !in_payload_; }
  std::byte* header_bytes() { return reinterpret_cast<std::byte*>(&header_); }

  void write() {
    while (!outgoing_.empty()) {
      Outgoing& first = outgoing_.front();
      const size_t of_header = std::min(first.sent, sizeof first.header);
      const size_t of_payload = first.sent - of_header;
      iovec parts[] = {{reinterpret_cast<std::byte*>(&first.header) + of_header,
                        sizeof first.header - of_header},
                       {first.payload.data() + of_payload, first.payload.size() - of_payload}};
      msghdr both{};
      both.msg_iov = parts;
      both.msg_iovlen = std::size(parts);
      const ssize_t taken = ::sendmsg(socket_, &both, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (taken < 0 && errno == EINTR) continue;
      if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (taken < 0) return outgoing_.clear();
      first.sent += static_cast<size_t>(taken);
      if (first.sent == sizeof first.header + first.payload.size()) outgoing_.pop_front();
    }
  }

  const int socket_;
  const bool is_tcp_;
  mutable std::mutex sending_;
  std::deque<Outgoing> outgoing_;
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
    for (size_t r = 0; r < sockets.size(); ++r) {
      const bool is_own = static_cast<int>(r) == rank;
      peers_.push_back(std::make_unique<Peer>(is_own ? -1 : sockets[r]));
      open_.push_back(!is_own);
      left_.push_back(false);
    }
    if (::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0)
      throw std::runtime_error(std::string("no pipe for messages between processes: ") +
                               std::strerror(errno));
    helper_ = std::thread([this] { help(); });
  }
  ~StreamTransport() override {
    leave();
    ending_ = true;
    wake_helper();
    helper_.join();
    for (const int end : wake_) ::close(end);
  }

  void send(int to, Message message) override {
    const Header header{message.edge, 0, message.sequence, message.payload.size()};
    put(to, header, std::move(message.payload));
  }

  std::optional<Message> poll() override {
    const std::lock_guard lock(reading_);
    if (messages_.empty()) read(kNow);
    return take();
  }

  std::optional<Message> wait(const Awaits& awaits) override {
    const std::lock_guard lock(reading_);
    while (messages_.empty() && failure().empty()) {
      for (size_t r = 0; r < left_.size(); ++r)
        if (left_[r] && awaits(static_cast<int>(r))) fail(left_too_early(static_cast<int>(r)));
      read(kLook);
      look_for_silence();
    }
    return take();
  }

  // Passes on the failure that it knows of, if any, so that all ranks name the one that failed first.
  void close() override {
    fail(rank_, "has failed");
    const std::string known = failure();
    Payload text(known.size());
    std::memcpy(text.data(), known.data(), known.size());
    for (size_t r = 0; r < peers_.size(); ++r)
      if (peers_[r]->socket() >= 0) put(static_cast<int>(r), {kFailed, 0, 0, text.size()}, text);
  }

  std::string failure() const override {
    const std::lock_guard lock(failing_);
    return failure_;
  }

  void on_failure(std::function<void()> act) override {
    watch_.set(std::move(act), !failure().empty());
  }

 private:
  static constexpr int kNow = 0, kSoon = 1,
                       kLook = 200;  // ms that a read may wait for something to come

  Peer& peer(int rank) { return *peers_[static_cast<size_t>(rank)]; }

  void put(int to, const Header& header, Payload payload) {
    peer(to).send(header, std::move(payload));
    if (peer(to).has_more()) wake_helper();
  }

  void fail(int rank, const std::string& how) { fail("rank " + std::to_string(rank) + " " + how); }
  // The first failure is the one that is reported.
  void fail(std::string what) {
    {
      const std::lock_guard lock(failing_);
      if (!failure_.empty()) return;
      failure_ = std::move(what);
    }
    watch_.tell();
  }

  // Says farewell, and stays until all others have what was sent, need nothing or have failed.
  void leave() {
    if (!failure().empty()) return;
    const std::lock_guard lock(reading_);
    for (size_t r = 0; r < peers_.size(); ++r)
      if (open_[r]) put(static_cast<int>(r), {kFarewell, 0, 0, 0}, {});
    while (failure().empty() && is_needed()) {
      read(kSoon);
      look_for_silence();
    }
  }

  // The following is for the holder of reading_.
  bool is_needed() const {
    for (size_t r = 0; r < peers_.size(); ++r)
      if (open_[r] && !left_[r] && !peers_[r]->has_all()) return true;
    return false;
  }

  std::optional<Message> take() {
    if (messages_.empty()) return std::nullopt;
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  void read(int milliseconds) {
    ends_.clear();
    for (size_t r = 0; r < peers_.size(); ++r) {
      const int events = peers_[r]->has_more() ? POLLIN | POLLOUT : POLLIN;
      ends_.push_back({open_[r] ? peers_[r]->socket() : -1, static_cast<short>(events), 0});
    }
    if (::poll(ends_.data(), ends_.size(), milliseconds) <= 0) return;
    for (size_t r = 0; r < peers_.size(); ++r) {
      if (ends_[r].revents & POLLOUT) peers_[r]->flush();
      if (ends_[r].revents & ~POLLOUT) open_[r] = read_from(static_cast<int>(r));
    }
  }

  // False where nothing will come any more.
  bool read_from(int rank) {
    const bool goes_on = peer(rank).receive([&](const Header& header, Payload payload) {
      if (header.edge == kFailed)
        fail(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
      if (header.edge == kFarewell) left_[static_cast<size_t>(rank)] = true;
      if (header.edge == kFailed || header.edge == kHeartbeat || header.edge == kFarewell) return;
      messages_.push_back({rank, header.edge, header.sequence, std::move(payload)});
    });
    if (!goes_on && !left_[static_cast<size_t>(rank)]) fail(rank, "has ended");
    return goes_on;
  }

  void look_for_silence() {
    const auto now = Clock::now();
    const auto since = now - std::exchange(looked_, now);
    for (size_t r = 0; r < peers_.size(); ++r) {
      if (since > kOwnStop) peers_[r]->excuse(since);
      if (!open_[r] || left_[r] || !peers_[r]->is_overdue(patience_)) continue;
      fail(static_cast<int>(r), "has not been heard of for " +
                                    std::to_string(static_cast<int>(patience_)) +
                                    " seconds: it has stopped, or the network is down");
      peers_[r]->shut_down();  // who sends to it must not wait, either
    }
  }

  void wake_helper() { [[maybe_unused]] const auto woken = ::write(wake_[1], "", 1); }

  // The helper: flushes what sockets did not take at once, and each second tells the others that this
  // process lives and takes in what has come while its rank computes.
  void help() {
    auto next_heartbeat = Clock::now();
    while (!ending_) {
      wait_to_flush();
      for (const auto& peer : peers_)
        if (peer->has_more()) peer->flush();
      if (Clock::now() < next_heartbeat) continue;
      next_heartbeat = Clock::now() + kHeartbeatInterval;
      for (const auto& peer : peers_)
        if (peer->socket() >= 0 && !peer->has_more()) peer->send({kHeartbeat, 0, 0, 0}, {});
      const std::unique_lock lock(reading_, std::try_to_lock);
      if (!lock) continue;  // the rank waits, and does so itself
      read(kNow);
      look_for_silence();
    }
  }

  void wait_to_flush() const {
    std::vector<pollfd> ends{{wake_[0], POLLIN, 0}};
    for (const auto& peer : peers_)
      if (peer->socket() >= 0 && peer->has_more()) ends.push_back({peer->socket(), POLLOUT, 0});
    constexpr int kLongest = std::chrono::milliseconds(kHeartbeatInterval).count() / 2;
    ::poll(ends.data(), ends.size(), kLongest);
    char noted[64];
    while (::read(wake_[0], noted, sizeof noted) > 0) {
    }
  }

  const int rank_;
  const double patience_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank
  int wake_[2];
  std::atomic<bool> ending_{false};
  mutable std::mutex failing_;
  std::string failure_;
  FailureWatch watch_;
  std::mutex reading_;      // of what follows
  std::vector<char> open_;  // by rank: whether more may come
  std::vector<char> left_;  // by rank: whether it has said farewell
  std::vector<pollfd> ends_;
  std::deque<Message> messages_;
  Clock::time_point looked_ = Clock::now();  // for silence, the last time
  std::thread helper_;
};

}  // namespace

std::unique_ptr<Transport> make_stream_transport(int rank, std::vector<int> sockets,
                                                 double patience) {
  return std::make_unique<StreamTransport>(rank, sockets, patience);
}

}  // namespace quiltmd
