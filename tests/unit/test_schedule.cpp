// SPDX-License-Identifier: Apache-2.0
// Schedule, executor, mailboxes and the local transport, apart from any physics: the order in which
// tasks run, messages that come early, late or from others, streams, and ranks that fail. Where the
// order of events matters, the test itself plays the other ranks; some cases run ranks as threads.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "device/null/hazards.h"
#include "device/null/null_device.h"
#include "runtime/recordings.h"
#include "schedule/executor.h"
#include "transport/local/local_transport.h"

using namespace quiltmd;

namespace {

using Names = std::vector<std::string>;

// A message of one word. Memory of a null device is the host's, so tests read and write messages there.
Payload payload_of(int value) {
  const MessageWord word{{static_cast<uint32_t>(value), 0, 0}, 1};
  Payload payload(sizeof word);
  std::memcpy(payload.data(), &word, sizeof word);
  return payload;
}

int value_of(const MessageWord& word) { return static_cast<int>(word.value[0]); }

int value_of(const Payload& payload) {
  MessageWord word;
  std::memcpy(&word, payload.data(), sizeof word);
  return value_of(word);
}

void write(const Outlet& out, int value) {
  *out.buffer() = {{static_cast<uint32_t>(value), 0, 0}, out.number.get()};
}

MessageEnd one_word(Edge edge, int peer) { return {edge, peer, 1}; }

// An end of a transport that tells when its rank begins to wait.
struct WatchedEnd final : Transport {
  explicit WatchedEnd(Transport& of) : end(of) {}
  void send(int to, Message message) override { end.send(to, std::move(message)); }
  std::optional<Message> poll() override { return end.poll(); }
  std::optional<Message> wait(const Awaits& awaits) override {
    if (before_wait) before_wait();
    return end.wait(awaits);
  }
  void close() override { end.close(); }
  std::string failure() const override { return end.failure(); }
  void on_failure(std::function<void()> act) override { end.on_failure(std::move(act)); }

  Transport& end;
  std::function<void()> before_wait;
};

// Rank 0 and its executor; what other ranks send it is put into its transport by hand.
struct RankZero {
  std::vector<std::unique_ptr<Transport>> ends = make_local_transport(3);
  WatchedEnd transport{*ends[0]};
  NullDevice device;
  Executor executor{0, 3, device, transport};
  Names ran;

  // Message `value` of rank `from` for run `sequence` of rank 0.
  void deliver(Edge edge, int from, int64_t sequence, int value) {
    ends[static_cast<size_t>(from)]->send(
        0, {from, static_cast<int>(edge), sequence, payload_of(value)});
  }

  // A task that notes that it ran, and the values that it received, then does `more`.
  Task task(const std::string& name, Priority priority, std::vector<TaskId> after = {},
            std::vector<MessageEnd> awaits = {}, std::function<void()> more = {}) {
    const auto run = [this, name, awaits, more](Post& post) {
      std::string note = name;
      for (const MessageEnd& m : awaits)
        note.append(" ").append(std::to_string(value_of(*post.inlet(m.edge, m.peer).buffer())));
      ran.push_back(note);
      if (more) more();
    };
    return {name, priority, Stream::kMain, std::move(after), run, std::move(awaits)};
  }

  Names run(const Schedule& schedule) {
    ran.clear();
    executor.connect({&schedule});
    executor.run(schedule);
    return ran;
  }
};

template <class Error, class Body>
std::string thrown(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

// ---- Order of tasks --------------------------------------------------------------------------

void the_most_urgent_ready_task_runs_first() {
  RankZero r;
  Schedule s;
  s.add(r.task("local", Priority::kLocal));
  s.add(r.task("long range", Priority::kLongRange));
  s.add(r.task("awaited", Priority::kAwaited));
  s.add(r.task("halo", Priority::kHalo));
  CHECK((r.run(s) == Names{"halo", "awaited", "long range", "local"}));

  // Of one priority, those described first; what a task makes ready competes at once.
  Schedule ties;
  const TaskId first = ties.add(r.task("local 1", Priority::kLocal));
  const TaskId blocked = ties.add(r.task("halo after local 1", Priority::kHalo, {first}));
  ties.add(r.task("local 2", Priority::kLocal));
  ties.add(r.task("local after both", Priority::kLocal, {first, blocked}));
  ties.add(r.task("local 3", Priority::kLocal));
  const Names expected{"local 1", "halo after local 1", "local 2", "local after both", "local 3"};
  for (int n = 0; n < 2; ++n) CHECK(r.run(ties) == expected);
}

void a_task_waits_for_earlier_ones_only() {
  RankZero r;
  Schedule s;
  const TaskId first = s.add(r.task("first", Priority::kLocal));
  for (const TaskId wrong : {first + 1, first + 2, -1})
    CHECK(thrown<std::logic_error>([&] { s.add(r.task("second", Priority::kLocal, {wrong})); }) ==
          "a task waits for a later one");
  CHECK(s.tasks().size() == 1);
}

void times_and_spans_tell_what_ran() {
  RankZero r;
  Schedule s;
  s.add(r.task("a", Priority::kLocal));
  s.add(r.task("b", Priority::kHalo));
  r.run(s);
  r.executor.start_spans();
  r.run(s);
  const std::vector<Span> spans = r.executor.take_spans();
  CHECK(spans.size() == 2 && spans[0].name == "b" && spans[1].name == "a");
  CHECK(spans[0].begin <= spans[0].end && spans[0].end <= spans[1].begin);
  r.run(s);
  CHECK(r.executor.take_spans().empty());
  CHECK(r.executor.times().at("a").calls == 3 && r.executor.times().count("wait") == 0);
}

// ---- Messages --------------------------------------------------------------------------------

void messages_may_come_early() {
  RankZero r;
  Schedule s;
  s.add(r.task("local", Priority::kLocal));
  s.add(r.task("received", Priority::kHalo, {}, {one_word(Edge::kPositions, 1)}));
  for (const int run : {2, 0, 1}) r.deliver(Edge::kPositions, 1, run, 10 + run);
  for (const int run : {0, 1, 2})
    CHECK((r.run(s) == Names{"received " + std::to_string(10 + run), "local"}));
}

void messages_may_come_late() {
  RankZero r;
  Schedule s;  // the message leaves while "local 1" runs, and goes before "local 2"
  const auto send = [&] { r.deliver(Edge::kForces, 2, 0, 5); };
  s.add(r.task("local 1", Priority::kLocal, {}, {}, send));
  s.add(r.task("received", Priority::kAwaited, {}, {one_word(Edge::kForces, 2)}));
  s.add(r.task("local 2", Priority::kLocal));
  CHECK((r.run(s) == Names{"local 1", "received 5", "local 2"}));

  // With nothing else to run the executor waits until it comes, and notes the time.
  Schedule waits;
  waits.add(r.task("received", Priority::kAwaited, {}, {one_word(Edge::kForces, 2)}));
  r.transport.before_wait = [&] { r.deliver(Edge::kForces, 2, 1, 6); };
  CHECK((r.run(waits) == Names{"received 6"}));
  CHECK(r.executor.times().at("wait").calls == 1);
}

void messages_go_to_the_task_that_awaits_them() {
  RankZero r;
  // Of another edge, of another rank, of another run: none of them lets "positions 1" run.
  const auto others = [&] {
    r.deliver(Edge::kForces, 1, 0, 2);
    r.deliver(Edge::kPositions, 2, 0, 3);
    r.deliver(Edge::kPositions, 1, 1, 4);
  };
  const auto own = [&] { r.deliver(Edge::kPositions, 1, 0, 1); };
  Schedule s;
  s.add(r.task("others sent", Priority::kLocal, {}, {}, others));
  s.add(r.task("own sent", Priority::kLocal, {}, {}, own));
  s.add(r.task("positions 1", Priority::kHalo, {}, {one_word(Edge::kPositions, 1)}));
  s.add(r.task("both", Priority::kLocal, {},
               {one_word(Edge::kPositions, 2), one_word(Edge::kForces, 1)}));
  CHECK((r.run(s) == Names{"others sent", "own sent", "positions 1 1", "both 3 2"}));

  Schedule next;  // a message is read in its run alone
  next.add(r.task("next", Priority::kHalo, {}, {one_word(Edge::kPositions, 1)}));
  CHECK((r.run(next) == Names{"next 4"}));
  Schedule reads;
  reads.add({"reads", Priority::kHalo, Stream::kMain, {}, [](Post& post) {
               (void)post.inlet(Edge::kForces, 2).buffer();
               (void)post.inlet(Edge::kCharges, 1);
             }});
  CHECK(thrown<std::out_of_range>([&] { r.run(reads); }) != "nothing");
}

void messages_of_another_length_are_refused() {
  for (const size_t words : {size_t{0}, size_t{2}}) {
    RankZero r;
    Schedule s;
    s.add(r.task("received", Priority::kHalo, {}, {one_word(Edge::kForces, 1)}));
    r.ends[1]->send(0,
                    {1, static_cast<int>(Edge::kForces), 0, Payload(words * sizeof(MessageWord))});
    CHECK(thrown<std::logic_error>([&] { r.run(s); }) ==
          "a message is longer or shorter than the receiver expects");
  }
}

void the_local_transport_delivers_once() {
  constexpr int kMessages = 500;
  const auto ends = make_local_transport(3);
  std::vector<std::thread> senders;
  for (const int from : {1, 2})
    senders.emplace_back([&ends, from] {
      for (int n = 0; n < kMessages; ++n)
        ends[static_cast<size_t>(from)]->send(0, {from, n % 4, n, payload_of(from * n)});
    });
  std::vector<int> received[3] = {{}, std::vector<int>(kMessages), std::vector<int>(kMessages)};
  for (int n = 0; n < 2 * kMessages; ++n) {
    const auto message = ends[0]->wait([](int) { return true; });
    CHECK(message && message->edge == message->sequence % 4);
    CHECK(value_of(message->payload) == message->from * message->sequence);
    ++received[message->from].at(static_cast<size_t>(message->sequence));
  }
  for (std::thread& thread : senders) thread.join();
  for (const int from : {1, 2}) CHECK(received[from] == std::vector<int>(kMessages, 1));
  for (const auto& end : ends) CHECK(!end->poll());
  ends[2]->close();
  for (const auto& end : ends) CHECK(!end->wait([](int) { return true; }));
}

// ---- Streams ---------------------------------------------------------------------------------

struct Write {
  static constexpr const char* kName = "write";
  int* to;
  void memory(MemoryUses& uses) const { QMD_USES(kWrite, to); }
};

Task writer(NullDevice& device, int* to, Stream stream, std::vector<TaskId> after = {}) {
  return {"write", Priority::kLocal, stream, std::move(after),
          [&device, to, stream](Post&) { device.launch(Write{to}, stream); }};
}

// Commands as words, with events numbered as they come: "signal 0 main".
Names words(const std::vector<Command>& commands) {
  std::map<int, int> events;
  Names all;
  for (const Command& c : commands) {
    std::string word = c.name;
    if (c.kind == Command::Kind::kSignal || c.kind == Command::Kind::kWait) {
      const auto number = events.try_emplace(c.event, static_cast<int>(events.size())).first;
      word.append(" ").append(std::to_string(number->second));
    }
    all.push_back(word + (c.stream == Stream::kMain ? " main" : " side"));
  }
  return all;
}

void streams_are_ordered_by_events() {
  RankZero r;
  Buffer<int> memory(r.device, 1);
  const auto write = [&](Stream stream, std::vector<TaskId> after = {}) {
    return writer(r.device, memory.data(), stream, std::move(after));
  };
  const auto commands = [&](const Schedule& schedule) {
    r.device.log().clear();
    r.executor.run(schedule);
    return words(r.device.log().commands());
  };
  Names expected{"signal 0 main", "wait 0 side",                                 // the fork
                 "write main",    "signal 1 main", "wait 1 side", "write side",  // there
                 "signal 2 side", "wait 2 main",   "write main"};                // and back
  for (const auto end : {Schedule::End::kOpen, Schedule::End::kJoined}) {
    Schedule s({}, end);
    const TaskId a = s.add(write(Stream::kMain));
    const TaskId b = s.add(write(Stream::kSide, {a}));
    s.add(write(Stream::kMain, {b}));
    if (end == Schedule::End::kJoined)
      for (const char* word : {"signal 3 side", "wait 3 main"}) expected.emplace_back(word);
    CHECK(commands(s) == expected);
    CHECK(find_hazards(r.device.log().commands()).empty());
  }

  Schedule one;  // a stream is in order by itself
  one.add(write(Stream::kMain, {one.add(write(Stream::kMain))}));
  CHECK((commands(one) == Names{"write main", "write main"}));

  Schedule unordered;
  unordered.add(write(Stream::kMain));
  unordered.add(write(Stream::kSide));
  commands(unordered);
  CHECK(find_hazards(r.device.log().commands()).size() == 1);
}

void a_recording_holds_the_same_commands() {
  RankZero r;
  Buffer<int> memory(r.device, 1);
  Schedule s;
  const TaskId a = s.add(writer(r.device, memory.data(), Stream::kMain));
  s.add(writer(r.device, memory.data(), Stream::kSide, {a}));
  r.device.log().clear();
  r.executor.run(s);
  const Names direct = words(r.device.log().commands());
  r.device.begin_recording();
  r.executor.run(s);
  const int recording = r.device.end_recording();
  r.device.log().clear();
  r.device.run_recording(recording);
  Names recorded = words(r.device.log().commands());
  std::erase_if(recorded, [](const std::string& word) { return word.find("record") == 0; });
  CHECK(recorded == direct);
}

// ---- Ranks as threads ------------------------------------------------------------------------

// Each rank sends a number that depends on rank and run, and sends back what it received doubled.
std::vector<int> exchange(Transport& transport, int rank, int runs) {
  const int other = 1 - rank;
  NullDevice device;
  Executor executor(rank, 2, device, transport);
  int run = 0;
  std::vector<int> returned;
  const auto positions = one_word(Edge::kPositions, other), forces = one_word(Edge::kForces, other);
  Schedule s({Edge::kPositions, Edge::kForces});
  s.add({"send",
         Priority::kHalo,
         Stream::kMain,
         {},
         [&](Post& post) { write(post.outlet(Edge::kPositions, other), 1000 * rank + run); },
         {},
         {positions}});
  s.add({"reply",
         Priority::kAwaited,
         Stream::kMain,
         {},
         [&](Post& post) {
           const int value = value_of(*post.inlet(Edge::kPositions, other).buffer());
           write(post.outlet(Edge::kForces, other), 2 * value);
         },
         {positions},
         {forces}});
  s.add({"take",
         Priority::kAwaited,
         Stream::kMain,
         {},
         [&](Post& post) {
           returned.push_back(value_of(*post.inlet(Edge::kForces, other).buffer()));
         },
         {forces}});
  executor.connect({&s});
  for (; run < runs; ++run) executor.run(s);
  return returned;
}

void two_ranks_exchange_messages() {
  constexpr int kRuns = 200;
  const auto ends = make_local_transport(2);
  std::vector<int> returned[2];
  std::vector<std::thread> ranks;
  for (const int r : {0, 1})
    ranks.emplace_back([&, r] { returned[r] = exchange(*ends[static_cast<size_t>(r)], r, kRuns); });
  for (std::thread& thread : ranks) thread.join();
  for (const int r : {0, 1}) {
    std::vector<int> expected;
    for (int run = 0; run < kRuns; ++run) expected.push_back(2 * (1000 * r + run));
    CHECK(returned[r] == expected);
  }
  for (const auto& end : ends) CHECK(!end->poll());  // each message arrived once
}

// ---- Messages without the host -----------------------------------------------------------------

// Two ranks whose kernels reach each other, and their executors; connecting takes both.
struct ReachingRanks {
  std::vector<std::unique_ptr<Transport>> ends = make_local_transport(2);
  NullDevice devices[2];
  Links links = links_by(Carrier::kKernels, 2);
  Executor executors[2] = {{0, 2, devices[0], *ends[0], links},
                           {1, 2, devices[1], *ends[1], links}};
  Schedule schedules[2] = {Schedule({Edge::kPositions}), Schedule({Edge::kPositions})};
  MessageNumber sent{}, received{};
  const MessageWord* inbox = nullptr;

  ReachingRanks() {
    schedules[0].add({"send",
                      Priority::kHalo,
                      Stream::kMain,
                      {},
                      [this](Post& post) {
                        const Outlet out = post.outlet(Edge::kPositions, 1);
                        sent = out.number;
                        write(out, 7);
                      },
                      {},
                      {one_word(Edge::kPositions, 1)}});
    schedules[1].add({"receive",
                      Priority::kHalo,
                      Stream::kMain,
                      {},
                      [this](Post& post) {
                        const Inlet in = post.inlet(Edge::kPositions, 0);
                        received = in.number;
                        inbox = in.buffer();
                      },
                      {one_word(Edge::kPositions, 0)}});
    std::thread other([this] { executors[1].connect({&schedules[1]}); });
    executors[0].connect({&schedules[0]});
    other.join();
  }
  void run() {
    for (const size_t r : {size_t{1}, size_t{0}}) executors[r].run(schedules[r]);
  }
};

// The receiver's task does not wait for the message: its kernels would, for the word of its number. Two
// buffers take turns.
void kernels_write_to_other_inboxes() {
  ReachingRanks r;
  const MessageWord* before = nullptr;
  for (uint32_t n = 1; n <= 4; ++n) {
    r.run();
    CHECK(r.sent.get() == n && r.received.get() == n);
    CHECK(r.inbox->number == n && value_of(*r.inbox) == 7);
    CHECK(r.inbox != before);
    before = r.inbox;
  }
  for (const auto& end : r.ends) CHECK(!end->poll());
}

// Each time that the block is written it signals another event. While times are taken some blocks have
// recordings of their own, which take turns, and none of them runs later.
void recordings_of_timed_blocks_take_turns() {
  NullDevice device;
  const Links links;
  Mailboxes mailboxes(device, links);
  Recordings recordings(device, mailboxes, nullptr);
  Block block{};
  block.steps = 9;
  int written = 0;
  const auto run = [&](int times) {
    for (int k = 0; k < times; ++k)
      recordings.run(block, 0, [&] { device.signal(++written, Stream::kMain); });
  };
  run(3);  // directly, recorded, again
  recordings.set(Recordings::Timing::kOn);
  constexpr int kEvery = Recordings::kEvery;
  run(2 * kEvery);  // of one recording, which the first block and one of each kEvery read
  CHECK((recordings.timed_steps() == std::vector<int64_t>{9, 9}));
  recordings.set(Recordings::Timing::kOn);  // anew
  CHECK(recordings.timed_steps().empty());
  run(1);
  CHECK(recordings.timed_steps() == std::vector<int64_t>{9});
  recordings.set(Recordings::Timing::kOff);
  CHECK(recordings.timed_steps().empty());
  run(1);
  recordings.set(Recordings::Timing::kOn);
  run(1);
  std::vector<int> ran, expected{1, 2, 2};
  expected.insert(expected.end(), 2 * kEvery + 1, 3);
  expected.insert(expected.end(), {2, 4});
  for (const Command& command : device.log().commands())
    if (command.kind == Command::Kind::kSignal) ran.push_back(command.event);
  CHECK(ran == expected);
}

// What is recorded takes its numbers from the device, which each run of the recording counts up; null
// runs no operation, so this test counts in its place.
void recordings_count_their_messages() {
  ReachingRanks r;
  r.run();
  Mailboxes& boxes = r.executors[0].mailboxes();
  boxes.upload_counts();
  for (int n = 0; n < 3; ++n) r.executors[0].run(r.schedules[0]);
  CHECK(r.sent.more == 3 && r.sent.get() == 4);
  const Mailboxes::Counts counts = boxes.end_recording();
  CHECK(counts[static_cast<size_t>(Edge::kPositions)] == 3);
  CHECK(r.devices[0].log().launches().back().name == "count_messages");
  const uint32_t* const counted = r.sent.before;
  for (uint32_t replay = 1; replay <= 2; ++replay) {
    boxes.upload_counts();  // changes nothing
    boxes.ran(counts);
    CHECK(*counted == 1);
  }
  r.executors[0].run(r.schedules[0]);
  boxes.upload_counts();
  CHECK(*counted == 1 + 2 * 3 + 1);
}

// Messages to and from rank 1 are exchanged, edge by edge; rank 2's stay as they are. What is described
// before what it now waits for moves behind it.
void exchanges_come_in_the_order_of_edges() {
  Schedule s;
  const auto add = [&](const char* name, std::vector<TaskId> after, std::vector<MessageEnd> awaits,
                       std::vector<MessageEnd> sends) {
    return s.add({name, Priority::kLongRange, Stream::kHalo, std::move(after), [](Post&) {},
                  std::move(awaits), std::move(sends)});
  };
  const Edge first = Edge::kPositions, second = Edge::kCharges, third = Edge::kForces;
  add("send forces", {}, {}, {one_word(third, 1)});
  add("read", {}, {one_word(second, 1), one_word(second, 2)}, {});
  add("send", {}, {}, {one_word(second, 1), one_word(second, 2)});
  add("only read", {}, {one_word(first, 1)}, {});
  const Schedule all = s.with_exchanges([](int peer) { return peer == 1; });
  std::map<std::string, size_t> place;
  std::vector<size_t> exchanges;
  const auto& tasks = all.tasks();
  for (size_t t = 0; t < tasks.size(); ++t) {
    place[tasks[t].name] = t;
    if (tasks[t].name == "exchange") exchanges.push_back(t);
  }
  CHECK(tasks.size() == 7 && exchanges.size() == 3);
  const auto waits = [&](size_t task, size_t before) {
    const auto& after = tasks[task].after;
    return std::find(after.begin(), after.end(), static_cast<TaskId>(before)) != after.end();
  };
  CHECK(waits(exchanges[1], exchanges[0]) && waits(exchanges[2], exchanges[1]));
  CHECK(waits(place["only read"], exchanges[0]) && tasks[place["only read"]].awaits.empty());
  CHECK(waits(exchanges[1], place["send"]) && waits(place["read"], exchanges[1]));
  CHECK(waits(exchanges[2], place["send forces"]));
  CHECK(tasks[place["read"]].awaits.size() == 1 && tasks[place["read"]].awaits[0].peer == 2);
  CHECK(tasks[place["send"]].sends.size() == 2);
  const Task& exchange = tasks[exchanges[1]];
  CHECK(exchange.awaits.size() == 1 && exchange.awaits[0].peer == 1);
  CHECK(exchange.passes_on.size() == 1 && exchange.passes_on[0].edge == second);
  CHECK(exchange.stream == Stream::kHalo && exchange.priority == Priority::kLongRange);

  Schedule endless;  // a message that depends on one of its own edge
  const TaskId read =
      endless.add({"read", Priority::kHalo, Stream::kHalo, {}, [](Post&) {}, {one_word(first, 1)}});
  endless.add(
      {"send", Priority::kHalo, Stream::kHalo, {read}, [](Post&) {}, {}, {one_word(first, 1)}});
  CHECK(thrown<std::logic_error>([&] { endless.with_exchanges([](int) { return true; }); }) ==
        "a message depends on one of the same edge or a later one");
}

// Of messages of stages up to that of an awaited one, those that do not depend on it are sent first.
void ranks_send_before_they_wait() {
  Schedule s;
  const auto add = [&](const char* name, std::vector<TaskId> after, std::vector<MessageEnd> awaits,
                       std::vector<MessageEnd> sends) {
    return s.add({name, Priority::kHalo, Stream::kMain, std::move(after), [](Post&) {},
                  std::move(awaits), std::move(sends)});
  };
  const TaskId receive = add("receive", {}, {one_word(Edge::kCharges, 1)}, {});
  const TaskId reply = add("reply", {receive}, {}, {one_word(Edge::kSpectrum, 1)});
  const TaskId early = add("early", {}, {}, {one_word(Edge::kPositions, 1)});
  const TaskId same = add("same stage", {}, {}, {one_word(Edge::kCharges, 1)});
  add("late", {}, {}, {one_word(Edge::kForces, 1)});
  const TaskId last = add("last", {}, {one_word(Edge::kSpectrum, 1)}, {});
  s.send_before_waiting();
  const auto& tasks = s.tasks();
  const auto after = [&](TaskId id) { return tasks[static_cast<size_t>(id)].after; };
  CHECK((after(receive) == std::vector<TaskId>{early, same}));
  CHECK((after(last) == std::vector<TaskId>{reply}));  // which comes after the others
  CHECK((after(reply) == std::vector<TaskId>{receive}) && after(early).empty());
}

void a_failing_rank_wakes_the_others() {
  RankZero r;
  Schedule s;
  s.add(r.task("received", Priority::kHalo, {}, {one_word(Edge::kPositions, 1)}));
  r.deliver(Edge::kPositions, 2, 0, 1);  // not what it waits for
  std::thread failing;
  r.transport.before_wait = [&] {
    failing = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      r.ends[1]->close();
    });
  };
  const std::string message = thrown<PeerFailed>([&] { r.run(s); });
  failing.join();
  CHECK(message == "another rank failed");
  CHECK(r.ran.empty());

  RankZero late;  // messages that had been sent before still arrive
  late.deliver(Edge::kPositions, 1, 0, 7);
  late.ends[1]->close();
  Schedule last;
  last.add(late.task("received", Priority::kHalo, {}, {one_word(Edge::kPositions, 1)}));
  CHECK((late.run(last) == Names{"received 7"}));
  CHECK(thrown<PeerFailed>([&] { late.run(last); }) == "another rank failed");
}

}  // namespace

int main() {
  alarm(60);  // a message that never comes fails the test instead of blocking it
  return test::run_all(
      {{"the most urgent ready task runs first", the_most_urgent_ready_task_runs_first},
       {"a task waits for earlier ones only", a_task_waits_for_earlier_ones_only},
       {"times and spans tell what ran", times_and_spans_tell_what_ran},
       {"messages may come early", messages_may_come_early},
       {"messages may come late", messages_may_come_late},
       {"messages go to the task that awaits them", messages_go_to_the_task_that_awaits_them},
       {"messages of another length are refused", messages_of_another_length_are_refused},
       {"the local transport delivers once", the_local_transport_delivers_once},
       {"streams are ordered by events", streams_are_ordered_by_events},
       {"a recording holds the same commands", a_recording_holds_the_same_commands},
       {"two ranks exchange messages", two_ranks_exchange_messages},
       {"kernels write to other inboxes", kernels_write_to_other_inboxes},
       {"recordings count their messages", recordings_count_their_messages},
       {"recordings of timed blocks take turns", recordings_of_timed_blocks_take_turns},
       {"ranks send before they wait", ranks_send_before_they_wait},
       {"exchanges come in the order of edges", exchanges_come_in_the_order_of_edges},
       {"a failing rank wakes the others", a_failing_rank_wakes_the_others}});
}
