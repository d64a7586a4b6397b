// SPDX-License-Identifier: Apache-2.0
#include "prediction/steps.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <span>
#include <string>

#include "math/error.h"

namespace quiltmd {

// One step: the clock, dependencies and messages, which both kinds of ranks have in common.
class StepRun {
 public:
  StepRun(const StepSimulator& simulator, Network& network, const std::vector<double>& starts)
      : graph_(simulator.graph_),
        simulator_(simulator),
        network_(network),
        missing_(simulator.missing_),
        has_begun_(starts.size(), false),
        flights_(graph_.messages()) {
    const size_t n = graph_.tasks();
    times_.begin.assign(n, 0);
    times_.end.assign(n, 0);
    times_.cause.assign(n, -1);
    times_.sent.assign(graph_.messages(), 0);
    times_.arrived.assign(graph_.messages(), 0);
    times_.rank_end = starts;
    for (size_t r = 0; r < starts.size(); ++r)
      at(starts[r], What::kRankBegins, static_cast<int32_t>(r));
  }
  virtual ~StepRun() = default;

  StepTimes run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      switch (event.what) {
        case What::kRankBegins:
          begin_rank(event.which, event.time);
          break;
        case What::kHeadGoesOn:
          advance(event.which, event.time);
          break;
        case What::kArrival:
          flights_[index(event.which)] = {};
          times_.arrived[index(event.which)] = event.time;
          release(graph_.user[index(event.which)], -2 - event.which, event.time);
          break;
        default:
          happen(event.what, event.which, event.time);
      }
    }
    if (ended_ != graph_.tasks())
      throw Error("the tasks of a step wait for each other in a circle: " +
                  std::to_string(graph_.tasks() - ended_) + " of them never start");
    return std::move(times_);
  }

 protected:
  enum class What : int32_t { kRankBegins, kHeadGoesOn, kArrival, kChoice, kFixedOver, kWorkOver };
  static size_t index(int32_t i) { return static_cast<size_t>(i); }

  virtual void ready(int32_t task, double time) = 0;
  virtual void happen(What what, int32_t task, double time) = 0;

  void at(double time, What what, int32_t which) { events_.push({time, order_++, what, which}); }

  void finish(int32_t task, double time) {
    ++ended_;
    times_.end[index(task)] = time;
    double& last = times_.rank_end[index(rank(task))];
    last = std::max(last, time);
    for (const int32_t m : of(simulator_.sends_, task)) {
      times_.sent[index(m)] = time;
      flights_[index(m)] =
          network_.route(rank(task), rank(graph_.user[index(m)]), graph_.bytes[index(m)]);
      advance(m, time);
    }
    for (const int32_t other : of(simulator_.next_, task)) release(other, task, time);
  }

  int32_t rank(int32_t task) const { return graph_.rank[index(task)]; }
  std::span<const int32_t> tasks_of(int32_t r) const { return of(simulator_.of_rank_, r); }

  const TaskGraph& graph_;
  StepTimes times_;

 private:
  static std::span<const int32_t> of(const StepSimulator::Lists& lists, int32_t i) {
    const auto first = lists.first[index(i)], end = lists.first[index(i) + 1];
    return {lists.values.data() + first, static_cast<size_t>(end - first)};
  }

  struct Event {
    double time;
    int64_t order;
    What what;
    int32_t which;
    bool operator<(const Event& other) const {  // the earliest is on top
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  // Moves a message on, to the next link for which it waits or to its receiver.
  void advance(int32_t message, double time) {
    const Network::Progress progress = network_.advance(flights_[index(message)], time);
    at(progress.time, progress.has_arrived ? What::kArrival : What::kHeadGoesOn, message);
  }

  // A rank may work from now on; messages may have come before.
  void begin_rank(int32_t r, double time) {
    has_begun_[index(r)] = true;
    for (const int32_t task : tasks_of(r))
      if (missing_[index(task)] == 0) ready(task, time);
  }

  void release(int32_t task, int32_t cause, double time) {
    if (--missing_[index(task)]) return;
    times_.cause[index(task)] = cause;
    if (has_begun_[index(rank(task))]) ready(task, time);
  }

  const StepSimulator& simulator_;
  Network& network_;
  std::vector<int32_t> missing_;
  std::vector<bool> has_begun_;
  std::vector<Network::Flight> flights_;  // by message, those that are under way
  std::priority_queue<Event> events_;
  int64_t order_ = 0;
  size_t ended_ = 0;
};

namespace {

// One task at a time.
class SerialRun : public StepRun {
 public:
  SerialRun(const StepSimulator& simulator, Network& network, const std::vector<double>& starts)
      : StepRun(simulator, network, starts), ranks_(starts.size()) {}

 private:
  using Waiting = std::pair<int32_t, int32_t>;  // priority, task
  struct RankState {
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
    bool is_busy = false;
    int32_t last = -1;
  };

  void ready(int32_t task, double time) override {
    RankState& state = ranks_[index(rank(task))];
    state.waiting.emplace(graph_.priority[index(task)], task);
    if (state.is_busy) return;
    state.is_busy = true;  // chosen when all that is ready now is known
    at(time, What::kChoice, task);
  }

  void happen(What what, int32_t task, double time) override {
    RankState& state = ranks_[index(rank(task))];
    if (what == What::kWorkOver) {
      state.last = task;
      finish(task, time);
    }
    state.is_busy = !state.waiting.empty();
    if (!state.is_busy) return;
    const int32_t next = state.waiting.top().second;
    state.waiting.pop();
    if (state.last >= 0 && times_.end[index(state.last)] == time)
      times_.cause[index(next)] = state.last;  // it had to wait for the rank
    times_.begin[index(next)] = time;
    at(time + graph_.fixed[index(next)] + graph_.work[index(next)], What::kWorkOver, next);
  }

  std::vector<RankState> ranks_;
};

// Streams side by side.
class StreamsRun : public StepRun {
 public:
  StreamsRun(const StepSimulator& simulator, Network& network, const std::vector<double>& starts)
      : StepRun(simulator, network, starts),
        is_ready_(graph_.tasks(), false),
        left_(graph_.work),
        ranks_(starts.size()) {
    for (size_t r = 0; r < starts.size(); ++r)
      for (const int32_t task : tasks_of(static_cast<int32_t>(r)))
        ranks_[r].streams[index(graph_.stream[index(task)])].tasks.push_back(task);
  }

 private:
  struct Queue {
    std::vector<int32_t> tasks;
    size_t done = 0;
  };
  using Active = std::pair<int, int32_t>;  // urgency, task
  struct RankState {
    Queue streams[kStreamCount];
    std::priority_queue<Active, std::vector<Active>, std::greater<>> active;
    double since = 0;
  };

  int urgency(int32_t task) const {
    return urgency_of(static_cast<Stream>(graph_.stream[index(task)]));
  }
  Queue& queue(int32_t task) {
    return ranks_[index(rank(task))].streams[graph_.stream[index(task)]];
  }

  void ready(int32_t task, double time) override {
    is_ready_[index(task)] = true;
    advance(queue(task), time);
  }

  void advance(Queue& queue, double time) {
    if (queue.done == queue.tasks.size()) return;
    const int32_t task = queue.tasks[queue.done];
    if (!is_ready_[index(task)]) return;
    is_ready_[index(task)] = false;
    times_.begin[index(task)] = time;
    at(time + graph_.fixed[index(task)], What::kFixedOver, task);
  }

  void happen(What what, int32_t task, double time) override {
    RankState& state = ranks_[index(rank(task))];
    if (what == What::kFixedOver) {
      progress(state, time);
      state.active.emplace(urgency(task), task);
      schedule(state, time);
    } else if (!state.active.empty() && state.active.top().second == task) {
      progress(state, time);
      end_work(state, task, time);
    }
  }

  // Counts what the task in front has done since.
  void progress(RankState& state, double time) {
    if (!state.active.empty()) left_[index(state.active.top().second)] -= time - state.since;
    state.since = time;
  }

  void schedule(RankState& state, double time) {
    if (state.active.empty()) return;
    const int32_t task = state.active.top().second;
    at(time + std::max(0.0, left_[index(task)]), What::kWorkOver, task);
  }

  void end_work(RankState& state, int32_t task, double time) {
    if (left_[index(task)] > 1e-9)
      return schedule(state, time);  // another one went first meanwhile
    state.active.pop();
    Queue& own = queue(task);
    ++own.done;
    schedule(state, time);
    finish(task, time);
    if (own.done < own.tasks.size() && is_ready_[index(own.tasks[own.done])])
      times_.cause[index(own.tasks[own.done])] = task;  // it had to wait for its stream
    advance(own, time);
  }

  std::vector<bool> is_ready_;
  std::vector<double> left_;
  std::vector<RankState> ranks_;
};

}  // namespace

StepSimulator::Lists StepSimulator::grouped(const std::vector<int32_t>& by,
                                            const std::vector<int32_t>& values, size_t count) {
  Lists lists{std::vector<int64_t>(count + 1, 0), std::vector<int32_t>(values.size())};
  for (const int32_t i : by) ++lists.first[static_cast<size_t>(i) + 1];
  std::partial_sum(lists.first.begin(), lists.first.end(), lists.first.begin());
  std::vector<int64_t> next(lists.first.begin(), lists.first.end() - 1);
  for (size_t i = 0; i < by.size(); ++i)
    lists.values[static_cast<size_t>(next[static_cast<size_t>(by[i])]++)] = values[i];
  return lists;
}

StepSimulator::StepSimulator(TaskGraph graph, int ranks, RankModel model)
    : graph_(std::move(graph)), ranks_(ranks), model_(model) {
  check();
  const size_t n = graph_.tasks();
  std::vector<int32_t> numbers(std::max(n, graph_.messages()));
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto first = [&](size_t count) {
    return std::vector<int32_t>(numbers.begin(),
                                numbers.begin() + static_cast<std::ptrdiff_t>(count));
  };
  next_ = grouped(graph_.before, graph_.after, n);
  sends_ = grouped(graph_.source, first(graph_.messages()), n);
  of_rank_ = grouped(graph_.rank, first(n), static_cast<size_t>(ranks));
  missing_.assign(n, 0);
  for (const auto* awaiting : {&graph_.after, &graph_.user})
    for (const int32_t task : *awaiting) ++missing_[static_cast<size_t>(task)];
}

void StepSimulator::check() const {
  const size_t n = graph_.tasks(), m = graph_.messages();
  const bool fits = graph_.priority.size() == n && graph_.stream.size() == n &&
                    graph_.fixed.size() == n && graph_.work.size() == n &&
                    graph_.before.size() == graph_.after.size() && graph_.source.size() == m &&
                    graph_.user.size() == m;
  if (!fits) throw Error("the lists that describe the tasks of a step differ in length");
  const auto within = [](const std::vector<int32_t>& numbers, int64_t end) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [end](int32_t i) { return i >= 0 && i < end; });
  };
  const auto tasks = static_cast<int64_t>(n);
  if (!within(graph_.rank, ranks_) || !within(graph_.stream, kStreamCount) ||
      !within(graph_.before, tasks) || !within(graph_.after, tasks) ||
      !within(graph_.source, tasks) || !within(graph_.user, tasks))
    throw Error("a task names a rank, a stream or a task that does not exist");
}

StepTimes StepSimulator::run(Network& network, const std::vector<double>& starts) const {
  if (starts.size() != static_cast<size_t>(ranks_))
    throw Error("a step has " + std::to_string(starts.size()) + " start times for " +
                std::to_string(ranks_) + " ranks: give one for each");
  if (model_ == RankModel::kSerial) return SerialRun(*this, network, starts).run();
  return StreamsRun(*this, network, starts).run();
}

}  // namespace quiltmd
