// SPDX-License-Identifier: Apache-2.0
// The event loop. Messages are kept by (schedule run, edge, sender), so a rank that is ahead never
// disturbs one that is behind.
//
// When polling pays: a poll costs a lock; a missed message costs the idle time of whoever could
// have started. The loop polls between tasks only while messages are outstanding, and not within a
// task, whose durations (times_) are far below the waits that better interleaving would save.
#include "schedule/executor.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "decomposition/assignment.h"

namespace quiltmd {
namespace {

// Events of the device: where a schedule forks from the main stream, where each stream joins it again,
// then one for each task.
constexpr int kForkEvent = 0, kJoinEvents = 1, kFirstTaskEvent = kJoinEvents + kStreamCount;

constexpr Stream kOtherStreams[] = {Stream::kSide, Stream::kHalo, Stream::kBoundary};

// The edges of messages by which ranks tell each other where their inboxes are, and of what they gather.
constexpr int kAddresses = -1, kGathered = -2;

// Name of idle time among the tasks.
constexpr const char* kWait = "wait";

}  // namespace

// The state of one run of a schedule.
struct Executor::Run final : Post {
  Run(Executor& executor, const Schedule& schedule, const RunContext& context)
      : Post(context),
        owner(executor),
        tasks(schedule.tasks()),
        missing(tasks.size()),
        children(tasks.size()) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      missing[t] = static_cast<int>(tasks[t].after.size());
      for (const TaskId before : tasks[t].after)
        children[static_cast<size_t>(before)].push_back(static_cast<TaskId>(t));
      for (const MessageEnd& m : tasks[t].awaits) {
        if (!host_carries(m)) continue;
        ++missing[t];
        waiting[key(m.edge, m.peer)] = t;
      }
      if (missing[t] == 0) ready.push_back(static_cast<TaskId>(t));
    }
    for (const auto& [k, task] : waiting)
      if (owner.arrived_.count(k)) arrive(task);
    outstanding = std::count_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
      return !owner.arrived_.count(entry.first);
    });
  }

  bool host_carries(const MessageEnd& m) const { return owner.links_.to(m.peer) == Carrier::kHost; }

  Key key(Edge edge, int from) const { return {owner.sequence_, {static_cast<int>(edge), from}}; }

  Outlet outlet(Edge edge, int to) const override { return owner.mailboxes_.outlet(edge, to); }
  Inlet inlet(Edge edge, int from) const override { return owner.mailboxes_.inlet(edge, from); }
  void exchange(const std::vector<MessageEnd>& sends, const std::vector<MessageEnd>& awaits,
                Stream stream) const override {
    std::vector<Parcel> out, in;
    for (const MessageEnd& m : sends) out.push_back(owner.mailboxes_.outgoing(m));
    for (const MessageEnd& m : awaits) in.push_back(owner.mailboxes_.incoming(m));
    try {
      owner.device_.enqueue("exchange", stream,
                            [out = std::move(out), in = std::move(in),
                             communicator = owner.links_.communicator.get()](void* cuda_stream) {
                              communicator->exchange(out, in, cuda_stream);
                            });
    } catch (const Error&) {
      owner.check_failure();  // says more, where a rank has failed
      throw;
    }
  }

  void arrive(size_t task) {
    if (--missing[task] == 0) ready.push_back(static_cast<TaskId>(task));
  }

  void take(Message message) {
    const Key k{message.sequence, {message.edge, message.from}};
    owner.note({MessageEvent::Kind::kArrived, Carrier::kHost, Stream::kMain, message.edge,
                message.from, message.sequence, message.payload.size()});
    owner.arrived_[k] = std::move(message.payload);
    const auto found = waiting.find(k);
    if (found == waiting.end()) return;  // for a later run
    --outstanding;
    arrive(found->second);
  }

  // Whether a message of the rank has yet to come.
  bool awaits(int rank) const {
    return std::any_of(waiting.begin(), waiting.end(), [&](const auto& entry) {
      return entry.first.second.second == rank && !owner.arrived_.count(entry.first);
    });
  }

  // The ready task of the highest priority; among equals the one described first.
  TaskId pop() {
    const auto best = std::min_element(ready.begin(), ready.end(), [&](TaskId a, TaskId b) {
      const auto pa = tasks[static_cast<size_t>(a)].priority;
      const auto pb = tasks[static_cast<size_t>(b)].priority;
      return pa != pb ? pa < pb : a < b;
    });
    const TaskId task = *best;
    ready.erase(best);
    return task;
  }

  // Hold the task's stream until its predecessors on other streams are done, and put the messages that
  // the host has carried where kernels find them.
  void start(TaskId id) const {
    const Task& task = tasks[static_cast<size_t>(id)];
    for (const TaskId before : task.after)
      if (tasks[static_cast<size_t>(before)].stream != task.stream)
        owner.device_.wait(kFirstTaskEvent + before, task.stream);
    for (const MessageEnd& m : task.awaits)
      if (host_carries(m)) {
        const Payload& payload = owner.arrived_.at(key(m.edge, m.peer));
        owner.note({MessageEvent::Kind::kUsed, Carrier::kHost, task.stream,
                    static_cast<int>(m.edge), m.peer, owner.sequence_, payload.size()});
        owner.mailboxes_.deliver(m, payload);
      }
  }

  // Send what the task has written, where that takes the host.
  void send(TaskId id) const {
    const Task& task = tasks[static_cast<size_t>(id)];
    for (const MessageEnd& m : task.sends)
      if (host_carries(m)) {
        Message message{owner.rank_, static_cast<int>(m.edge), owner.sequence_,
                        owner.mailboxes_.collect(m)};
        owner.note({MessageEvent::Kind::kSent, Carrier::kHost, task.stream, message.edge, m.peer,
                    message.sequence, message.payload.size()});
        owner.transport_.send(m.peer, std::move(message));
      }
  }

  // Mark the end of a task that another stream waits for.
  void mark(TaskId id) const {
    const Task& task = tasks[static_cast<size_t>(id)];
    for (const TaskId child : children[static_cast<size_t>(id)])
      if (tasks[static_cast<size_t>(child)].stream != task.stream) {
        owner.device_.signal(kFirstTaskEvent + id, task.stream);
        return;
      }
  }

  bool uses(Stream stream) const {
    return std::any_of(tasks.begin(), tasks.end(),
                       [stream](const Task& task) { return task.stream == stream; });
  }

  void finish(TaskId task) {
    for (const MessageEnd& m : tasks[static_cast<size_t>(task)].awaits)
      owner.arrived_.erase(key(m.edge, m.peer));
    for (const TaskId child : children[static_cast<size_t>(task)])
      arrive(static_cast<size_t>(child));
  }

  Executor& owner;
  const std::vector<Task>& tasks;
  std::vector<int> missing;
  std::vector<std::vector<TaskId>> children;
  std::map<Key, size_t> waiting;
  std::vector<TaskId> ready;
  std::ptrdiff_t outstanding = 0;
};

namespace {

Balance balance_of(const Task& task) {
  const bool is_message = !task.awaits.empty() || !task.sends.empty();
  return is_message && task.balance == Balance::kMovesWithPatches ? Balance::kStays : task.balance;
}

}  // namespace

void Executor::run(const Schedule& schedule, const RunContext& context) {
  Run run(*this, schedule, context);
  fork(run);
  for (size_t done = 0; done < run.tasks.size();) {
    while (run.outstanding > 0) {
      auto message = transport_.poll();
      if (!message) break;
      run.take(std::move(*message));
    }
    const double begin = clock_seconds();
    if (run.ready.empty()) {
      auto message = transport_.wait([&run](int rank) { return run.awaits(rank); });
      if (!message) throw PeerFailed(transport_.failure());
      run.take(std::move(*message));
      note(kWait, Stream::kMain, begin, Balance::kStays);
      continue;
    }
    const TaskId id = run.pop();
    const Task& task = run.tasks[static_cast<size_t>(id)];
    run.start(id);
    device_.label_launches(label_of(task));
    task.run(run);
    device_.label_launches(0);
    run.send(id);
    run.mark(id);
    note(task.name, task.stream, begin, balance_of(task));
    run.finish(id);
    ++done;
  }
  if (schedule.end() == Schedule::End::kJoined) join(run);
  mailboxes_.count(schedule.edges());
  ++sequence_;
}

void Executor::fork(const Run& run) {
  bool marked = false;
  for (const Stream stream : kOtherStreams) {
    if (!run.uses(stream)) continue;
    if (!marked) device_.signal(kForkEvent, Stream::kMain);
    marked = true;
    device_.wait(kForkEvent, stream);
  }
}

void Executor::join(const Run& run) {
  for (const Stream stream : kOtherStreams) {
    if (!run.uses(stream)) continue;
    const int event = kJoinEvents + static_cast<int>(stream);
    device_.signal(event, stream);
    device_.wait(event, Stream::kMain);
  }
}

void Executor::use(Links links) {
  links_ = std::move(links);
  if (links_.carriers.empty() || ranks_ == 1) return;
  // Kernels that wait for other ranks wait without the host.
  transport_.on_failure([this] {
    mailboxes_.stop_waiting();
    if (links_.communicator) links_.communicator->abort();
  });
  if (links_.communicator) links_.communicator->on_failure([this] { mailboxes_.stop_waiting(); });
}

Executor::Executor(int rank, int ranks, Device& device, Transport& transport, Links links)
    : Executor(rank, ranks, tree_of(MachineShape{ranks}, rank), device, transport,
               std::move(links)) {}

Executor::~Executor() {
  transport_.on_failure({});
  if (links_.communicator) links_.communicator->on_failure({});
}

void Executor::check_failure() const {
  if (const std::string failed = transport_.failure(); !failed.empty()) throw PeerFailed(failed);
  if (!links_.communicator) return;
  if (const std::string failed = links_.communicator->failure(); !failed.empty())
    throw Error(failed);
}

void Executor::connect(const std::vector<const Schedule*>& schedules) {
  const Mailboxes::Pages wanted = mailboxes_.make_room(schedules);
  if (links_.shared) mailboxes_.share(agreed(wanted));
  device_.synchronize();  // inboxes are clear before others write to them
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_ || !mailboxes_.kernels_reach(peer)) continue;
    transport_.send(peer, {rank_, kAddresses, sequence_, mailboxes_.addresses(peer)});
  }
  for (int peer = 0; peer < ranks_; ++peer)
    if (peer != rank_ && mailboxes_.kernels_reach(peer))
      mailboxes_.learn_addresses(peer, await(peer, kAddresses));
  mailboxes_.end_learning();
  // A process that maps memory may wait for its GPU, whose kernels must not wait for others meanwhile.
  if (links_.shared) gather({});
}

// The most that any rank wants.
Mailboxes::Pages Executor::agreed(const Mailboxes::Pages& wanted) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&wanted);
  Mailboxes::Pages most;
  for (const Payload& payload : gather({bytes, bytes + sizeof wanted})) {
    Mailboxes::Pages of_rank;
    std::memcpy(&of_rank, payload.data(), sizeof of_rank);
    most.bytes = std::max(most.bytes, of_rank.bytes);
    most.are_new = std::max(most.are_new, of_rank.are_new);
  }
  return most;
}

namespace {

// Values of some ranks in one payload: for each its rank and size, then its bytes.
struct GatheredHead {
  int64_t rank, size;
};

Payload packed(const std::map<int, Payload>& values) {
  Payload all;
  for (const auto& [rank, value] : values) {
    const GatheredHead head{rank, static_cast<int64_t>(value.size())};
    const auto* const bytes = reinterpret_cast<const std::byte*>(&head);
    all.insert(all.end(), bytes, bytes + sizeof head);
    all.insert(all.end(), value.begin(), value.end());
  }
  return all;
}

void unpack_into(std::map<int, Payload>& values, const Payload& all) {
  for (auto at = all.begin(); at != all.end();) {
    GatheredHead head;
    std::memcpy(&head, &*at, sizeof head);
    at += sizeof head;
    values[static_cast<int>(head.rank)] = Payload(at, at + head.size);
    at += head.size;
  }
}

}  // namespace

std::vector<Payload> Executor::gather(Payload own) {
  std::map<int, Payload> found{{rank_, std::move(own)}};
  const auto take = [&](int from) { unpack_into(found, await(from, kGathered)); };
  for (const RankTree::Child& child : tree_.children) take(child.rank);
  const Payload below = packed(found);
  if (tree_.is_at_top()) {
    for (const int peer : tree_.top) send_gathered(peer, below);
    for (const int peer : tree_.top) take(peer);
  } else {
    send_gathered(tree_.parent, below);
    take(tree_.parent);
  }
  if (!tree_.children.empty()) {
    const Payload all = packed(found);
    for (const RankTree::Child& child : tree_.children) send_gathered(child.rank, all);
  }
  ++sequence_;
  std::vector<Payload> by_rank;
  for (auto& [rank, value] : found) by_rank.push_back(std::move(value));
  return by_rank;
}

void Executor::send_gathered(int to, Payload payload) {
  transport_.send(to, {rank_, kGathered, sequence_, std::move(payload)});
}

// A message outside schedules.
Payload Executor::await(int from, int edge) {
  const Key expected{sequence_, {edge, from}};
  while (!arrived_.count(expected)) {
    auto message = transport_.wait([from](int rank) { return rank == from; });
    if (!message) {
      transport_.close();  // as engines gather outside of what they guard
      throw PeerFailed(transport_.failure());
    }
    arrived_[{message->sequence, {message->edge, message->from}}] = std::move(message->payload);
  }
  return std::move(arrived_.extract(expected).mapped());
}

void Executor::note(const std::string& name, Stream stream, double begin, Balance balance) {
  const double end = clock_seconds();
  TaskTime& time = times_[name];
  time.balance = balance;
  time.add(end - begin);
  if (keeps_spans_) spans_.push_back({name, stream, begin, end});
}

void Executor::note(MessageEvent event) {
  if (!keeps_spans_) return;
  event.time = clock_seconds();
  events_.push_back(event);
}

// 0 where nothing that it launches writes or reads messages of other devices, or nobody wants to know.
int Executor::label_of(const Task& task) {
  if (!keeps_spans_) return 0;
  KernelMessages messages;
  for (const auto& [ends, own] :
       {std::pair{&task.awaits, &messages.awaits}, std::pair{&task.sends, &messages.sends}})
    std::copy_if(ends->begin(), ends->end(), std::back_inserter(*own),
                 [this](const MessageEnd& m) { return links_.to(m.peer) != Carrier::kHost; });
  if (messages.awaits.empty() && messages.sends.empty()) return 0;
  labelled_.push_back(std::move(messages));
  return static_cast<int>(labelled_.size());
}

Executor::Undisturbed Executor::undisturbed() const {
  Undisturbed found;
  for (const auto& [name, time] : times_) {
    if (name == kWait) continue;
    (time.balance == Balance::kMovesWithComputes  ? found.of_computes
     : time.balance == Balance::kMovesWithPatches ? found.of_patches
                                                  : found.staying) += time.undisturbed();
  }
  return found;
}

void Executor::start_spans() {
  spans_.clear();
  events_.clear();
  keeps_spans_ = true;
}

std::vector<Span> Executor::take_spans() {
  keeps_spans_ = false;
  return std::exchange(spans_, {});
}

std::vector<MessageEvent> Executor::take_events(const std::vector<Span>& launches) {
  const std::vector<MessageEvent> of_kernels = kernel_events(launches, labelled_);
  events_.insert(events_.end(), of_kernels.begin(), of_kernels.end());
  labelled_.clear();
  return std::exchange(events_, {});
}

}  // namespace quiltmd
