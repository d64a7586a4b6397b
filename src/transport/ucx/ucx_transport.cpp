// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_transport.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "transport/ucx/ucx_library.h"

namespace quiltmd {
namespace {

using Clock = std::chrono::steady_clock;
using ucx::RequestParam;
using ucx::Status;

// Edges of messages by sockets: addresses; farewells, whose sequence is the number of messages that the rank
// has sent; and answers to these.
constexpr int kAddress = -1, kFarewell = -2, kAnswer = -3;
constexpr unsigned kId = 0;  // of the only kind of UCX's messages
constexpr int kLook = 200;   // ms between looks at the sockets of a rank that waits
// Bytes up to which a message is sent without asking the receiver first, who may compute meanwhile.
constexpr size_t kEagerly = 65536;
constexpr int kSpins = 20;  // looks of a rank that waits before it sleeps: some us
constexpr auto kDrive = std::chrono::microseconds(100);   // between looks of the helper
constexpr auto kIdle = std::chrono::milliseconds(kLook);  // the same, where nothing is to be sent
constexpr auto kGrace = std::chrono::seconds(3);          // for sockets to say why UCX has failed

struct Header {
  int32_t from;
  int32_t edge;
  int64_t sequence;
};

class UcxTransport final : public Transport {
 public:
  UcxTransport(int rank, int ranks, std::unique_ptr<Transport> sockets, const ucx::Library& library)
      : ucx_(library), rank_(rank), sockets_(std::move(sockets)) {
    addresses_.resize(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r)
      peers_.push_back({.transport = this, .rank = r, .needs_us = r != rank});
    try {
      make_worker();
    } catch (...) {
      sockets_->close();
      destroy_worker();
      throw;
    }
    sockets_->on_failure([this] {
      watch_.tell();
      ucx_.worker_signal(worker_);
    });
    helper_ = std::thread([this] { help(); });
  }
  ~UcxTransport() override {
    leave();
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    has_outgoing_.notify_one();
    helper_.join();
    sockets_->on_failure({});
    destroy_worker();
  }

  void send(int to, Message message) override {
    const std::lock_guard lock(mutex_);
    const ucx::Endpoint endpoint = endpoint_to(to);
    if (!endpoint) return;  // a rank has failed, of which `failure` tells
    auto outgoing = std::make_unique<Outgoing>(
        Outgoing{{rank_, message.edge, message.sequence}, std::move(message.payload), &peer(to)});
    RequestParam param = parameters(outgoing.get(), &RequestParam::sent, sent);
    if (outgoing->payload.size() <= kEagerly) {
      param.mask |= RequestParam::kFlags;
      param.flags = RequestParam::kEager;
    }
    const auto given = ucx_.send(endpoint, kId, &outgoing->header, sizeof outgoing->header,
                                 outgoing->payload.data(), outgoing->payload.size(), &param);
    const Status status = ucx::Library::status_of(given);
    if (status < 0) return fail(peer(to), status);
    ++peer(to).sent;
    if (status != ucx::kInProgress) return;
    [[maybe_unused]] const Outgoing* const on_the_way = outgoing.release();  // until `sent`
    if (++outgoing_ == 1 && !waits_) has_outgoing_.notify_one();
  }

  std::optional<Message> poll() override {
    const std::lock_guard lock(mutex_);
    if (messages_.empty()) progress();
    return take();
  }

  std::optional<Message> wait(const Awaits& awaits) override {
    std::unique_lock lock(mutex_);
    waits_ = true;
    for (int spins = 0;; ++spins) {
      progress();
      if (messages_.empty()) look_for_absence(awaits);
      if (!messages_.empty() || !failure().empty()) break;
      if (spins < kSpins || ucx_.worker_arm(worker_) != ucx::kOk) continue;
      lock.unlock();
      pollfd events{event_, POLLIN, 0};
      const bool is_quiet = ::poll(&events, 1, kLook) == 0;
      lock.lock();
      if (is_quiet) look();
    }
    waits_ = false;
    if (outgoing_ > 0) has_outgoing_.notify_one();
    return take();
  }

  void close() override { sockets_->close(); }

  std::string failure() const override {
    if (std::string told = sockets_->failure(); !told.empty()) return told;
    const std::lock_guard lock(failing_);
    return failure_;
  }

  void on_failure(std::function<void()> act) override {
    watch_.set(std::move(act), !failure().empty());
  }

 private:
  struct Peer {
    UcxTransport* transport;
    int rank;
    ucx::Endpoint endpoint = nullptr;  // none before the first message
    int64_t sent = 0, came = 0;        // messages to it and from it
    int64_t last = -1;                 // of those from it, once it has said farewell
    bool needs_us;                     // it has neither said farewell nor answered ours

    bool has_left() const { return came == last; }
  };
  struct Outgoing {
    Header header;
    Payload payload;
    Peer* to;
  };
  struct Incoming {
    Message message;
    Peer* from;
  };

  Peer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }

  void make_worker() {
    ucx::Params params;
    params.field_mask = ucx::Params::kFeatures;
    params.features = ucx::Params::kActiveMessages | ucx::Params::kWakeup;
    ucx_.check(ucx_.init(1, 11, &params, nullptr, &context_), "start");
    ucx::WorkerParams of_worker;
    of_worker.field_mask = ucx::WorkerParams::kThreadMode;
    of_worker.thread_mode = ucx::WorkerParams::kSerialized;
    ucx_.check(ucx_.worker_create(context_, &of_worker, &worker_), "make a worker");
    ucx_.check(ucx_.worker_get_efd(worker_, &event_), "report events");
    ucx::HandlerParam handler;
    handler.field_mask = ucx::HandlerParam::kId | ucx::HandlerParam::kFlags |
                         ucx::HandlerParam::kCall | ucx::HandlerParam::kArgument;
    handler.id = kId;
    handler.flags = ucx::HandlerParam::kWhole;
    handler.call = came;
    handler.argument = this;
    ucx_.check(ucx_.set_handler(worker_, &handler), "receive messages");
    tell_address();
  }

  void tell_address() {
    ucx::Address* address = nullptr;
    size_t size = 0;
    ucx_.check(ucx_.worker_get_address(worker_, &address, &size), "tell its address");
    const auto* const bytes = static_cast<const std::byte*>(address);
    for (const Peer& other : peers_)
      if (other.rank != rank_)
        sockets_->send(other.rank, {rank_, kAddress, 0, Payload(bytes, bytes + size)});
    ucx_.worker_release_address(worker_, address);
  }

  void destroy_worker() {
    if (worker_) ucx_.worker_destroy(worker_);
    if (context_) ucx_.cleanup(context_);
  }

  // The following is for the holder of mutex_, from which UCX calls back, too.
  void progress() {
    while (ucx_.worker_progress(worker_) > 0 && messages_.empty()) {
    }
  }

  std::optional<Message> take() {
    if (messages_.empty()) return std::nullopt;
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  // Says farewell, and stays until all others have what was sent, need nothing or have failed.
  void leave() {
    if (!failure().empty()) return sockets_->close();
    std::unique_lock lock(mutex_);
    for (const Peer& other : peers_)
      if (other.rank != rank_) sockets_->send(other.rank, {rank_, kFarewell, other.sent, {}});
    const auto needs_us = [](const Peer& other) { return other.needs_us; };
    while (failure().empty() && std::any_of(peers_.begin(), peers_.end(), needs_us)) {
      ucx_.worker_progress(worker_);
      listen();
      lock.unlock();
      std::this_thread::sleep_for(kDrive);
      lock.lock();
    }
  }

  void keep(Message message) {
    Peer& from = peer(message.from);
    messages_.push_back(std::move(message));
    ++from.came;
    if (from.has_left()) answer(from);
  }
  void answer(const Peer& other) { sockets_->send(other.rank, {rank_, kAnswer, 0, {}}); }

  // A message by sockets.
  void hear(Message message) {
    Peer& from = peer(message.from);
    if (message.edge == kAddress)
      addresses_[static_cast<size_t>(message.from)] = std::move(message.payload);
    else
      from.needs_us = false;
    if (message.edge != kFarewell) return;
    from.last = message.sequence;
    if (from.has_left()) answer(from);
  }
  // Reads what has come by sockets; they find out who has failed.
  void listen() {
    while (auto message = sockets_->poll()) hear(std::move(*message));
  }

  // None where a rank has failed.
  ucx::Endpoint endpoint_to(int to) {
    Peer& other = peer(to);
    if (other.endpoint) return other.endpoint;
    const Payload& address = addresses_[static_cast<size_t>(to)];
    while (address.empty()) {
      auto message = sockets_->wait([to](int rank) { return rank == to; });
      if (!message) return nullptr;
      hear(std::move(*message));
    }
    ucx::EndpointParams params;
    params.field_mask = ucx::EndpointParams::kAddress;
    params.address = address.data();
    const Status status = ucx_.endpoint_create(worker_, &params, &other.endpoint);
    if (status != ucx::kOk) fail(other, status);
    return other.endpoint;
  }

  // A connection has broken.
  void fail(const Peer& other, Status status) {
    if (!broken_.empty()) return;
    broken_ = "rank " + std::to_string(other.rank) +
              " cannot be reached by UCX any more: " + ucx_.status_string(status);
    broken_at_ = Clock::now();
  }
  // That is the failure only if sockets do not find another one.
  void look() {
    listen();
    if (!broken_.empty() && Clock::now() >= broken_at_ + kGrace) fail(broken_);
  }
  void look_for_absence(const Awaits& awaits) {
    for (const Peer& other : peers_)
      if (other.has_left() && awaits(other.rank)) return fail(left_too_early(other.rank));
  }
  void fail(const std::string& what) {
    {
      const std::lock_guard lock(failing_);
      failure_ = what;
    }
    watch_.tell();
  }

  template <class Member, class Call>
  static RequestParam parameters(void* user_data, Member member, Call call) {
    RequestParam param;
    param.mask = RequestParam::kCallback | RequestParam::kUserData | RequestParam::kMemory;
    param.*member = call;
    param.user_data = user_data;
    return param;
  }

  static void sent(void* request, Status status, void* user_data) {
    const std::unique_ptr<Outgoing> outgoing(static_cast<Outgoing*>(user_data));
    UcxTransport& own = *outgoing->to->transport;
    --own.outgoing_;
    own.ucx_.request_free(request);
    if (status != ucx::kOk) own.fail(*outgoing->to, status);
  }

  // A message has come, or, if it is long, the news of it.
  static Status came(void* argument, const void* header, size_t, void* data, size_t length,
                     const ucx::ReceiveParam* param) {
    auto& own = *static_cast<UcxTransport*>(argument);
    Header known;
    std::memcpy(&known, header, sizeof known);
    Message message{known.from, known.edge, known.sequence, Payload(length)};
    if (!(param->attributes & ucx::ReceiveParam::kRendezvous)) {
      if (length > 0) std::memcpy(message.payload.data(), data, length);
      own.keep(std::move(message));
      return ucx::kOk;
    }
    auto incoming = std::make_unique<Incoming>(Incoming{std::move(message), &own.peer(known.from)});
    std::byte* const to = incoming->message.payload.data();
    const RequestParam receive = parameters(incoming.get(), &RequestParam::received, received);
    const auto given = own.ucx_.receive_data(own.worker_, data, to, length, &receive);
    const Status status = ucx::Library::status_of(given);
    if (status == ucx::kOk) own.keep(std::move(incoming->message));
    if (status < 0) own.fail(*incoming->from, status);
    if (status == ucx::kInProgress) {
      [[maybe_unused]] const Incoming* const on_the_way = incoming.release();  // until `received`
    }
    return status < 0 ? status : ucx::kInProgress;
  }

  static void received(void* request, Status status, size_t, void* user_data) {
    const std::unique_ptr<Incoming> incoming(static_cast<Incoming*>(user_data));
    UcxTransport& own = *incoming->from->transport;
    own.ucx_.request_free(request);
    if (status != ucx::kOk) return own.fail(*incoming->from, status);
    own.keep(std::move(incoming->message));
  }

  // The helper drives what is to be sent, and takes in what comes from those that leave.
  void help() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      has_outgoing_.wait_for(lock, kIdle, [this] { return ending_ || (outgoing_ > 0 && !waits_); });
      if (ending_) return;
      listen();
      if (!waits_) ucx_.worker_progress(worker_);  // otherwise the rank does so itself
      lock.unlock();
      std::this_thread::sleep_for(kDrive);
      lock.lock();
    }
  }

  const ucx::Library& ucx_;
  const int rank_;
  std::unique_ptr<Transport> sockets_;
  ucx::Context context_ = nullptr;
  ucx::Worker worker_ = nullptr;
  int event_ = -1;
  FailureWatch watch_;
  mutable std::mutex failing_;
  std::string failure_;
  std::mutex mutex_;  // of what follows, and of all calls of UCX but signals
  std::condition_variable has_outgoing_;
  std::deque<Peer> peers_;  // by rank
  std::vector<Payload> addresses_;
  std::deque<Message> messages_;
  int outgoing_ = 0;    // messages that UCX has not sent yet
  std::string broken_;  // the first connection that has, and when
  Clock::time_point broken_at_;
  bool waits_ = false, ending_ = false;
  std::thread helper_;
};

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(int rank, int ranks,
                                              std::unique_ptr<Transport> sockets,
                                              const std::string& library) {
  return std::make_unique<UcxTransport>(rank, ranks, std::move(sockets),
                                        ucx::load_library(library));
}

}  // namespace quiltmd
