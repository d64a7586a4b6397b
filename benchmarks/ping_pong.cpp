// SPDX-License-Identifier: Apache-2.0
// Time of a message there and one back between two processes, by each transport in turn:
//
//   g++ -O2 -std=c++20 -Isrc benchmarks/ping_pong.cpp src/transport/stream/*.cpp src/transport/ucx/*.cpp
//       -ldl -pthread -o ping_pong && ./ping_pong [path of libucp.so.0]
//
// Prints medians of rounds in us, and the load of the machine. UCX is also told to use one way alone.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "transport/stream/stream_transport.h"
#include "transport/ucx/ucx_transport.h"

using namespace quiltmd;

namespace {

using Clock = std::chrono::steady_clock;
using Sockets = std::array<int, 2>;

constexpr int kRounds = 5;
constexpr size_t kSizes[] = {64, 1024, 16'384, 65'536, 400'000, 4'000'000};

Sockets by_unix() {
  Sockets ends{};
  ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
  return ends;
}

Sockets by_tcp() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  socklen_t size = sizeof here;
  ::bind(listener, address, size);
  ::listen(listener, 1);
  ::getsockname(listener, address, &size);
  const int near = ::socket(AF_INET, SOCK_STREAM, 0);
  ::connect(near, address, size);
  const Sockets ends{near, ::accept(listener, nullptr, nullptr)};
  const int yes = 1;
  for (const int end : ends) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::close(listener);
  return ends;
}

struct Way {
  const char* name;
  Sockets (*sockets)();
  const char* ucx;  // transports that UCX may use; nothing: the sockets carry the messages
};
constexpr Way kWays[] = {{"unix", by_unix, nullptr},
                         {"tcp", by_tcp, nullptr},
                         {"ucx, all", by_unix, "all"},
                         {"ucx, tcp", by_tcp, "tcp,self"},
                         {"ucx, shared memory", by_unix, "posix,sysv,cma,self"}};

Message next(Transport& transport) {
  if (auto message = transport.poll()) return std::move(*message);
  auto message = transport.wait();
  if (!message) {
    std::fprintf(stderr, "%s\n", transport.failure().c_str());
    std::_Exit(1);
  }
  return std::move(*message);
}

// us of a message there and one back, of each size; for rank 0.
std::vector<double> times(Transport& transport, int rank) {
  std::vector<double> found;
  int64_t sequence = 0;
  for (const size_t size : kSizes) {
    const int count = size > 100'000 ? 50 : 500;
    Clock::time_point begin;
    for (int i = -count / 10; i < count; ++i, ++sequence) {
      if (i == 0) begin = Clock::now();
      if (rank == 1) next(transport);
      transport.send(1 - rank, {rank, 1, sequence, Payload(size)});
      if (rank == 0) next(transport);
    }
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    found.push_back(took.count() / count);
  }
  if (rank == 0) transport.send(1, {rank, 1, sequence, {}});
  if (rank == 1) next(transport);  // its answers have arrived
  return found;
}

std::unique_ptr<Transport> end_of(const Way& way, int rank, int socket,
                                  const std::string& library) {
  std::vector<int> sockets{-1, -1};
  sockets[static_cast<size_t>(1 - rank)] = socket;
  auto stream = make_stream_transport(rank, sockets, 60);
  if (!way.ucx) return stream;
  ::setenv("UCX_TLS", way.ucx, 1);
  return make_ucx_transport(rank, 2, std::move(stream), library);
}

// Each end in a process of its own, so that each round has UCX anew.
std::vector<double> round_of(const Way& way, const std::string& library) {
  const Sockets ends = way.sockets();
  int results[2];
  if (::pipe(results) != 0) std::abort();
  for (int rank = 0; rank < 2; ++rank) {
    if (::fork() != 0) continue;
    ::close(ends[static_cast<size_t>(1 - rank)]);
    const auto transport = end_of(way, rank, ends[static_cast<size_t>(rank)], library);
    const std::vector<double> found = times(*transport, rank);
    const auto size = found.size() * sizeof(double);
    if (rank == 0 && ::write(results[1], found.data(), size) != static_cast<ssize_t>(size))
      std::abort();
    std::_Exit(0);
  }
  for (const int end : ends) ::close(end);
  std::vector<double> found(std::size(kSizes));
  const auto size = static_cast<ssize_t>(found.size() * sizeof(double));
  ::close(results[1]);
  if (::read(results[0], found.data(), static_cast<size_t>(size)) != size) found.clear();
  ::close(results[0]);
  while (::wait(nullptr) > 0) {
  }
  return found;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string library = count > 1 ? arguments[1] : "";
  std::vector<std::vector<std::vector<double>>> rounds(std::size(kWays));
  double load[1];
  ::getloadavg(load, 1);
  std::printf("load %.1f\n\n| bytes |", load[0]);
  for (const Way& way : kWays) std::printf(" %s |", way.name);
  for (int r = 0; r < kRounds; ++r)
    for (size_t w = 0; w < rounds.size(); ++w) rounds[w].push_back(round_of(kWays[w], library));
  std::printf("\n|---|");
  for (size_t w = 0; w < rounds.size(); ++w) std::printf("---|");
  for (size_t s = 0; s < std::size(kSizes); ++s) {
    std::printf("\n| %zu |", kSizes[s]);
    for (const auto& of_way : rounds) {
      std::vector<double> all;
      for (const auto& one : of_way)
        if (!one.empty()) all.push_back(one[s]);
      std::sort(all.begin(), all.end());
      if (all.empty())
        std::printf(" - |");
      else
        std::printf(" %.1f |", all[all.size() / 2]);
    }
  }
  ::getloadavg(load, 1);
  std::printf("\n\nload %.1f\n", load[0]);
}
