// SPDX-License-Identifier: Apache-2.0
// What every transport promises, whatever carries the bytes: messages arrive once and unchanged, of any
// size and from all ranks at once; nobody who sends waits for one who does not receive; and the end of
// a rank is told to all others.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "math/error.h"
#include "transport/local/local_transport.h"
#include "transport/stream/stream_transport.h"
#include "transport/ucx/ucx_transport.h"

using namespace quiltmd;

namespace {

constexpr int kRanks = 3;
using Ends = std::vector<std::unique_ptr<Transport>>;

std::array<int, 2> unix_sockets() {
  std::array<int, 2> ends{};
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  return ends;
}

std::array<int, 2> tcp_sockets() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  socklen_t size = sizeof here;
  CHECK(::bind(listener, address, size) == 0 && ::listen(listener, 1) == 0);
  CHECK(::getsockname(listener, address, &size) == 0);
  const int near = ::socket(AF_INET, SOCK_STREAM, 0);
  CHECK(::connect(near, address, size) == 0);
  const int far = ::accept(listener, nullptr, nullptr);
  CHECK(far >= 0);
  ::close(listener);
  return {near, far};
}

using Pair = std::array<int, 2> (*)();
using Sockets = std::vector<std::vector<int>>;  // by rank, one for each rank

Sockets joined(Pair sockets) {
  Sockets of_rank(kRanks, std::vector<int>(kRanks, -1));
  for (size_t a = 0; a < kRanks; ++a)
    for (size_t b = a + 1; b < kRanks; ++b) {
      const auto ends = sockets();
      of_rank[a][b] = ends[0];
      of_rank[b][a] = ends[1];
    }
  return of_rank;
}

constexpr double kPatience = 60;

Ends streams(const Sockets& of_rank) {
  Ends ends;
  for (int r = 0; r < kRanks; ++r)
    ends.push_back(make_stream_transport(r, of_rank[static_cast<size_t>(r)], kPatience));
  return ends;
}

// With UCX beside the sockets: of the path in QUILTMD_UCX, or the system's.
Ends ucx(const Sockets& of_rank) {
  const char* const path = std::getenv("QUILTMD_UCX");
  Ends sockets = streams(of_rank);
  Ends ends;
  for (int r = 0; r < kRanks; ++r)
    ends.push_back(make_ucx_transport(r, kRanks, std::move(sockets[static_cast<size_t>(r)]),
                                      path ? path : ""));
  return ends;
}

// A transport between processes.
struct Connection {
  const char* name;
  Pair sockets;
  Ends (*join)(const Sockets& of_rank);

  Ends make() const { return join(joined(sockets)); }
};

bool has_ucx() {
  try {
    ucx(joined(unix_sockets));
    return true;
  } catch (const Error& error) {
    std::printf("without the cases of UCX: %s\n", error.what());
    return false;
  }
}

std::vector<Connection> connections() {
  std::vector<Connection> all{{"unix", unix_sockets, streams}, {"tcp", tcp_sockets, streams}};
  if (has_ucx()) all.push_back({"ucx", unix_sockets, ucx});
  return all;
}

bool from_any(int) { return true; }

std::byte byte_of(int from, int64_t sequence, size_t at) {
  return static_cast<std::byte>(static_cast<size_t>(from) * 31 + static_cast<size_t>(sequence) * 7 +
                                at * 13);
}

Payload payload_of(int from, int64_t sequence, size_t size) {
  Payload payload(size);
  for (size_t i = 0; i < size; ++i) payload[i] = byte_of(from, sequence, i);
  return payload;
}

Message next(Transport& transport) {
  if (auto message = transport.poll()) return std::move(*message);
  auto message = transport.wait(from_any);
  CHECK(message.has_value());
  return std::move(*message);
}

void on_all(const Ends& ends, const std::function<void(int, Transport&)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r)
    threads.emplace_back([&, r] { body(r, *ends[static_cast<size_t>(r)]); });
  for (std::thread& thread : threads) thread.join();
}

// Sizes around those of packets, and one that no socket takes at once; all of them are sent to everybody
// before anything is received.
void everything_arrives(const Ends& ends) {
  const std::vector<size_t> sizes{0, 1, 7, 1448, 65536, 3, 8'000'001, 100'000, 0, 5};
  on_all(ends, [&](int rank, Transport& transport) {
    for (size_t i = 0; i < sizes.size(); ++i)
      for (int to = 0; to < kRanks; ++to)
        if (to != rank) {
          const auto sequence = static_cast<int64_t>(i);
          transport.send(to, {rank, 11, sequence, payload_of(rank, sequence, sizes[i])});
        }
    std::map<std::pair<int, int64_t>, int> seen;
    for (size_t left = (kRanks - 1) * sizes.size(); left > 0; --left) {
      const Message message = next(transport);
      const auto i = static_cast<size_t>(message.sequence);
      CHECK(message.edge == 11 && message.from != rank && i < sizes.size());
      const auto key = std::pair(message.from, message.sequence);
      CHECK(++seen[key] == 1);
      CHECK(message.payload == payload_of(message.from, message.sequence, sizes[i]));
    }
    CHECK(!transport.poll());
  });
}

// As in a run: each waits for the answer to what it has said.
void rounds_of_answers(const Ends& ends) {
  on_all(ends, [&](int rank, Transport& transport) {
    for (int64_t round = 100; round < 400; ++round) {
      for (int to = 0; to < kRanks; ++to)
        if (to != rank) transport.send(to, {rank, 1, round, payload_of(rank, round, 600)});
      // The other two may be a round ahead.
      static thread_local std::map<int64_t, int> early;
      while (early[round] < kRanks - 1) ++early[next(transport).sequence];
      early.erase(round);
    }
  });
}

void a_rank_that_fails_wakes_all(const Ends& ends) {
  std::atomic<int> told{0}, told_later{0};
  for (const auto& end : ends) {
    CHECK(end->failure().empty());
    end->on_failure([&] { ++told; });
  }
  on_all(ends, [&](int rank, Transport& transport) {
    if (rank == 1) return transport.close();
    CHECK(!transport.wait(from_any));
    CHECK(!transport.failure().empty());
  });
  CHECK(told == kRanks);
  for (const auto& end : ends) end->on_failure([&] { ++told_later; });
  CHECK(told_later == kRanks);
  for (const auto& end : ends) end->on_failure({});
}

void the_end_of_a_process_is_told(const Connection& by) {
  const Sockets sockets = joined(by.sockets);
  const Ends ends = by.join(sockets);
  for (const int socket : sockets[1]) ::shutdown(socket, SHUT_RDWR);  // as where it is killed
  for (const size_t r : {0u, 2u}) {
    CHECK(!ends[r]->wait([](int rank) { return rank != 1; }));
    CHECK(ends[r]->failure() == "rank 1 has ended");
    ends[r]->send(1,
                  {static_cast<int>(r), 1, 1, Payload(100)});  // does not wait, nor end the process
  }
}

// Rank 0 leaves while rank 1 waits for rank 2, which is slow: rank 1 receives all of both.
void a_rank_may_leave_before_others(const Connection& by) {
  constexpr size_t kLarge = 8'000'001;  // no socket takes it at once
  Ends ends = by.make();
  std::atomic<bool> has_left{false};
  std::thread waiting([&] {
    for (const auto& [from, size] : {std::pair(0, kLarge), {2, size_t{5}}}) {
      const auto message = ends[1]->wait([from](int rank) { return rank == from; });
      CHECK(message && message->from == from && message->payload == payload_of(from, 7, size));
    }
    CHECK(has_left && ends[1]->failure().empty());
  });
  ends[0]->send(1, {0, 11, 7, payload_of(0, 7, kLarge)});
  ends[0].reset();
  has_left = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // rank 1 finds the end
  ends[2]->send(1, {2, 11, 7, payload_of(2, 7, 5)});
  waiting.join();
}

void who_needs_one_that_has_left_is_told(const Connection& by) {
  Ends ends = by.make();
  ends[0].reset();
  CHECK(!ends[1]->wait([](int rank) { return rank == 0; }));
  CHECK(ends[1]->failure() == left_too_early(0));
}

// Rank 0 sees the end of rank 1, which rank 2 has no connection to: it learns it from rank 0.
void the_failure_of_another_is_passed_on() {
  const auto from_0_to_1 = unix_sockets(), from_0_to_2 = unix_sockets(),
             from_1_to_2 = unix_sockets();
  auto end_0 = make_stream_transport(0, {-1, from_0_to_1[0], from_0_to_2[0]}, kPatience);
  const auto end_2 = make_stream_transport(2, {from_0_to_2[1], from_1_to_2[1], -1}, kPatience);
  ::close(from_0_to_1[1]);  // and rank 1 still says nothing to rank 2
  CHECK(!end_0->wait(from_any));
  end_0->close();
  end_0.reset();  // rank 2 sends to it before it reads why
  end_2->send(0, {2, 1, 1, Payload(100)});
  CHECK(!end_2->wait(from_any));
  CHECK(end_2->failure() == "rank 1 has ended");
  ::close(from_1_to_2[0]);
}

// One who says nothing, not even that it lives.
void silence_is_noticed() {
  const auto ends = tcp_sockets();
  const auto transport = make_stream_transport(0, {-1, ends[0]}, 0.5);
  const int32_t sign[] = {-100, 0, 0, 0, 0, 0};
  CHECK(::send(ends[1], sign, sizeof sign, 0) == sizeof sign);
  CHECK(!transport->wait(from_any));
  CHECK(transport->failure().find("rank 1 has not been heard of for") == 0);
  ::close(ends[1]);
}

}  // namespace

int main() {
  const std::vector<Connection> between_processes = connections();
  std::vector<std::pair<const char*, std::function<Ends()>>> all{
      {"local", [] { return make_local_transport(kRanks); }}};
  for (const Connection& by : between_processes)
    all.emplace_back(by.name, [by] { return by.make(); });
  std::vector<test::Case> cases;
  for (const auto& [name, make] : all)
    cases.push_back({name, [make] {
                       const Ends ends = make();
                       everything_arrives(ends);
                       rounds_of_answers(ends);
                       a_rank_that_fails_wakes_all(ends);
                     }});
  const std::pair<const char*, void (*)(const Connection&)> of_ends[] = {
      {"the end of a process is told", the_end_of_a_process_is_told},
      {"a rank may leave before others", a_rank_may_leave_before_others},
      {"who needs one that has left is told", who_needs_one_that_has_left_is_told}};
  for (const auto& [name, test] : of_ends)
    cases.push_back({name, [&between_processes, test] {
                       for (const Connection& by : between_processes) test(by);
                     }});
  cases.push_back({"the failure of another is passed on", the_failure_of_another_is_passed_on});
  cases.push_back({"silence is noticed", silence_is_noticed});
  return test::run_all(cases);
}
