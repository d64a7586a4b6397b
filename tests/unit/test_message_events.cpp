// SPDX-License-Identifier: Apache-2.0
// What a profile tells of messages: three ranks as threads, one of them slow. With an argument the
// profile is printed as JSON, for tests of what is made of it.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "device/null/null_device.h"
#include "schedule/executor.h"
#include "transport/local/local_transport.h"

using namespace quiltmd;

namespace {

constexpr int kRanks = 3, kSlow = 1, kSteps = 20;
constexpr auto kWork = std::chrono::milliseconds(3);
constexpr int kSlowness = 4;

void work(int rank) { std::this_thread::sleep_for(kWork * (rank == kSlow ? kSlowness : 1)); }

struct Profile {
  std::vector<Span> spans;
  std::vector<MessageEvent> events;
};

// A step: positions to all others, work, positions of all others, more work.
Profile run_rank(int rank, Transport& transport) {
  NullDevice device;
  Executor executor(rank, kRanks, device, transport);
  Schedule s({Edge::kPositions});
  std::vector<TaskId> received;
  for (int peer = 0; peer < kRanks; ++peer) {
    if (peer == rank) continue;
    s.add({"positions.send",
           Priority::kHalo,
           Stream::kHalo,
           {},
           [](Post&) {},
           {},
           {{Edge::kPositions, peer, 2}}});
  }
  s.add({"pairs.interior", Priority::kLocal, Stream::kSide, {}, [rank](Post&) { work(rank); }});
  for (int peer = 0; peer < kRanks; ++peer)
    if (peer != rank)
      received.push_back(s.add({"positions.receive",
                                Priority::kHalo,
                                Stream::kHalo,
                                {},
                                [](Post&) {},
                                {{Edge::kPositions, peer, 2}}}));
  s.add({"pairs.boundary", Priority::kAwaited, Stream::kSide, received,
         [rank](Post&) { work(rank); }});
  executor.connect({&s});
  executor.start_spans();
  for (int step = 0; step < kSteps; ++step) executor.run(s);
  Profile profile;
  profile.spans = executor.take_spans();
  profile.events = executor.take_events({});
  executor.run(s);  // is not watched
  CHECK(executor.take_spans().empty() && executor.take_events({}).empty());
  return profile;
}

std::vector<Profile> run_ranks() {
  const auto ends = make_local_transport(kRanks);
  std::vector<Profile> profiles(kRanks);
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r) {
    const auto i = static_cast<size_t>(r);
    threads.emplace_back([&, i, r] { profiles[i] = run_rank(r, *ends[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return profiles;
}

std::vector<MessageTimes> messages_of(const std::vector<Profile>& profiles) {
  std::vector<std::vector<MessageEvent>> events;
  for (const Profile& profile : profiles) events.push_back(profile.events);
  return join_events(events);
}

void messages_are_sent_then_arrive_then_are_used(const std::vector<Profile>& profiles) {
  const auto messages = messages_of(profiles);
  CHECK(messages.size() == static_cast<size_t>(kRanks * (kRanks - 1) * kSteps));
  for (const MessageTimes& m : messages) {
    CHECK(m.name == "positions" && m.from != m.to && m.bytes == 2 * sizeof(MessageWord));
    CHECK(m.sent <= m.arrived && m.arrived <= m.used);
    const auto is_inside = [](double time, const Span& span, const char* name) {
      return span.name == name && span.begin <= time && time <= span.end;
    };
    const auto within = [&](int rank, double time, const char* name) {
      for (const Span& span : profiles[static_cast<size_t>(rank)].spans)
        if (is_inside(time, span, name)) return true;
      return false;
    };
    CHECK(within(m.from, m.sent, "positions.send"));
    CHECK(within(m.to, m.used, "positions.receive"));
  }
}

MessageEvent event(MessageEvent::Kind kind, int peer, int64_t sequence, double time) {
  return {kind, Carrier::kHost, Stream::kHalo, static_cast<int>(Edge::kForces), peer, sequence, 8,
          time};
}

void halves_of_messages_are_left_out() {
  using enum MessageEvent::Kind;
  const auto joined = join_events(
      {{event(kSent, 1, 0, 1.0), event(kSent, 1, 1, 2.0)},
       {event(kArrived, 0, 0, 3.0), event(kUsed, 0, 0, 4.0), event(kArrived, 0, 1, 5.0)}});
  CHECK(joined.size() == 1 && joined[0].name == "forces");
  CHECK(joined[0].sent == 1 && joined[0].arrived == 3 && joined[0].used == 4);
}

// Two steps of two ranks on GPUs that reach each other: each transforms planes, whose last kernel sends a
// mark and 100 bytes, and makes lines once the mark of the other is there. Rank 1 transforms for 3 s, rank 0
// for one.
std::vector<std::vector<MessageEvent>> events_of_kernels(double lead) {
  std::vector<std::vector<MessageEvent>> events;
  for (const int rank : {0, 1}) {
    const std::vector<KernelMessages> tasks{{{}, {{Edge::kSpectrum, 1 - rank, 1, 100}}},
                                            {{{Edge::kSpectrum, 1 - rank, 1}}, {}}};
    const double ahead = rank == 1 ? lead : 0, took = rank == 1 ? 3 : 1;
    std::vector<Span> launches;
    for (const double step : {0.0, 10.0}) {
      const double begin = step + ahead, sent = begin + took;
      launches.push_back({"pairs", Stream::kSide, begin, begin + 4, 0});
      launches.push_back({"planes y", Stream::kMain, begin, begin + took / 2, 1});
      launches.push_back({"planes z", Stream::kMain, begin + took / 2, sent, 1});
      launches.push_back({"lines", Stream::kMain, sent, begin + 5, 2});
    }
    events.push_back(kernel_events(launches, tasks));
  }
  return events;
}

void messages_of_kernels_are_known_by_their_times() {
  const auto messages = join_events(events_of_kernels(0));
  CHECK(messages.size() == 4);
  for (size_t step : {0, 1}) {
    const double begin = 10.0 * static_cast<double>(step);
    const MessageTimes &first = messages[2 * step], &second = messages[2 * step + 1];
    CHECK(first.from == 0 && first.to == 1 && first.name == "spectrum");
    CHECK(first.bytes == sizeof(MessageWord) + 100 && first.carrier == Carrier::kKernels);
    CHECK(first.from_stream == Stream::kMain && first.to_stream == Stream::kMain);
    CHECK(first.sent == begin + 1 && first.arrived == begin + 1 && first.used == begin + 3);
    // Rank 0's kernel begins at 1 and waits until 3.
    CHECK(second.from == 1 && second.sent == begin + 3 && second.used == begin + 3);
  }
}

// No message of kernels arrives before it is sent; a clock that allows that stays as it is.
void clocks_of_devices_are_compared() {
  for (const double lead : {0.0, 1.5, -3.5})
    CHECK(clock_leads(events_of_kernels(lead), Carrier::kKernels)[1] == 0);
  CHECK_NEAR(clock_leads(events_of_kernels(6), Carrier::kKernels)[1], 4, 1e-12);
  CHECK_NEAR(clock_leads(events_of_kernels(-6), Carrier::kKernels)[1], -2, 1e-12);
}

// On a machine of its own rank 1 is 5 s ahead and rank 2 is behind.
void clocks_of_machines_are_compared(const std::vector<Profile>& profiles) {
  std::vector<std::vector<MessageEvent>> events;
  for (const Profile& profile : profiles) events.push_back(profile.events);
  for (const double lead : clock_leads(events, Carrier::kHost)) CHECK(lead == 0);
  const double ahead[] = {0, 5, -70};
  for (size_t r = 0; r < events.size(); ++r)
    for (MessageEvent& event : events[r]) event.time += ahead[r];
  const auto leads = clock_leads(events, Carrier::kHost);
  for (size_t r = 0; r < leads.size(); ++r) CHECK_NEAR(leads[r], ahead[r], kSlowness * 0.1);
  CHECK(clock_leads({{}, {}, {}}, Carrier::kHost) == std::vector<double>(3, 0.0));
}

void print(const std::vector<Profile>& profiles) {
  const char* comma = "";
  std::printf("{\"steps\": %d, \"spans\": [", kSteps);
  for (size_t r = 0; r < profiles.size(); ++r)
    for (const Span& s : profiles[r].spans) {
      std::printf(
          "%s{\"rank\": %zu, \"stream\": %d, \"name\": \"%s\", \"begin\": %.9f, \"end\": %.9f}",
          comma, r, static_cast<int>(s.stream), s.name.c_str(), s.begin, s.end);
      comma = ", ";
    }
  comma = "";
  std::printf("], \"messages\": [");
  for (const MessageTimes& m : messages_of(profiles)) {
    std::printf(
        "%s{\"name\": \"%s\", \"from\": %d, \"to\": %d, \"bytes\": %zu, \"sent\": %.9f, "
        "\"arrived\": %.9f, \"used\": %.9f, \"from_stream\": %d, \"to_stream\": %d, "
        "\"carrier\": \"host\"}",
        comma, m.name.c_str(), m.from, m.to, m.bytes, m.sent, m.arrived, m.used,
        static_cast<int>(m.from_stream), static_cast<int>(m.to_stream));
    comma = ", ";
  }
  std::printf("]}\n");
}

}  // namespace

int main(int arguments, char**) {
  alarm(60);  // a message that never comes fails the test instead of blocking it
  const auto profiles = run_ranks();
  if (arguments > 1) {
    print(profiles);
    return 0;
  }
  return test::run_all(
      {{"messages are sent, arrive, and are used",
        [&] { messages_are_sent_then_arrive_then_are_used(profiles); }},
       {"clocks of machines are compared", [&] { clocks_of_machines_are_compared(profiles); }},
       {"messages of kernels are known by their times",
        messages_of_kernels_are_known_by_their_times},
       {"clocks of devices are compared", clocks_of_devices_are_compared},
       {"halves of messages are left out", halves_of_messages_are_left_out}});
}
