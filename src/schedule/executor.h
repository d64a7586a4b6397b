// SPDX-License-Identifier: Apache-2.0
// The executor: an event loop that runs, of all tasks whose inputs have arrived, the one with the
// highest priority, and looks for messages in between. Tasks on different streams of the device are
// ordered by events. Messages that kernels write into the memory of other devices need no host: the
// tasks that await them are launched at once, and their kernels wait. While the device records, the
// same loop writes the schedule into a recording (a CUDA graph), so that a step is described, ordered
// and lowered in one way.
#pragma once

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "decomposition/rank_tree.h"
#include "math/error.h"
#include "schedule/mailboxes.h"
#include "schedule/message_events.h"

namespace quiltmd {

struct TaskTime {
  Balance balance = Balance::kStays;  // of the task; messages stay
  int64_t calls = 0;
  double seconds = 0;
  // Since measurements began: calls, and the shortest of them, which nothing else on the machine
  // interrupted.
  int64_t recent_calls = 0;
  double shortest = 0;

  void add(double duration) {
    ++calls;
    seconds += duration;
    shortest = recent_calls++ ? std::min(shortest, duration) : duration;
  }
  // Time of the recent calls without disturbance.
  double undisturbed() const { return static_cast<double>(recent_calls) * shortest; }
};

// Another rank failed, or did not send what this one waits for; this one only stops.
struct PeerFailed : Error {
  using Error::Error;
};

// A rank's kernels have waited for a message of another rank for too long.
struct MessageOverdue : PeerFailed {
  using PeerFailed::PeerFailed;
};

class Executor {
 public:
  // `tree`: of this rank, by which gather() goes.
  Executor(int rank, int ranks, RankTree tree, Device& device, Transport& transport,
           Links links = {})
      : rank_(rank),
        ranks_(ranks),
        tree_(std::move(tree)),
        device_(device),
        transport_(transport),
        links_(std::move(links)),
        mailboxes_(device, links_) {}
  // With ranks in a row.
  Executor(int rank, int ranks, Device& device, Transport& transport, Links links = {});
  ~Executor();
  Executor(const Executor&) = delete;

  // Before there are schedules: how messages go from here on.
  void use(Links links);
  const Links& links() const { return links_; }
  // Throws PeerFailed where a rank has failed, Error where messages have.
  void check_failure() const;
  std::string failure() const { return transport_.failure(); }

  // Make room for the messages of schedules before they run. All ranks do so together: those whose
  // kernels reach each other tell where their inboxes are.
  void connect(const std::vector<const Schedule*>& schedules);
  // Values of all ranks, by rank. All ranks call this together, while none runs a schedule.
  std::vector<Payload> gather(Payload own);

  // Run all tasks of a schedule once. Every rank runs its schedule of the same sequence number.
  void run(const Schedule& schedule, const RunContext& context = {});

  const Mailboxes& mailboxes() const { return mailboxes_; }
  Mailboxes& mailboxes() { return mailboxes_; }

  // Time spent, by task name; "wait" is time with nothing to run.
  const std::map<std::string, TaskTime>& times() const { return times_; }

  // From here on calls are recent.
  void begin_measurement() {
    for (auto& [name, time] : times_) time.recent_calls = 0;
  }
  // Seconds of tasks since then, without what else the machine did meanwhile: of work that moves with
  // computes, with patches, or with neither.
  struct Undisturbed {
    double of_computes = 0, of_patches = 0, staying = 0;
  };
  Undisturbed undisturbed() const;

  // The same one by one, and what happened to messages, from start_spans() on; take_spans() ends it.
  void start_spans();
  std::vector<Span> take_spans();
  // After take_spans(). `launches`: what the device has timed since start_spans(); those of tasks whose
  // kernels write or read messages tell of these.
  std::vector<MessageEvent> take_events(const std::vector<Span>& launches);

 private:
  struct Run;
  Mailboxes::Pages agreed(const Mailboxes::Pages& wanted);
  void fork(const Run& run);
  void join(const Run& run);
  Payload await(int from, int edge);
  void send_gathered(int to, Payload payload);
  void note(const std::string& name, Stream stream, double begin, Balance balance);
  void note(MessageEvent event);  // at this time
  int label_of(const Task& task);

  int rank_, ranks_;
  RankTree tree_;
  Device& device_;
  Transport& transport_;
  Links links_;
  Mailboxes mailboxes_;
  int64_t sequence_ = 0;
  using Key = std::pair<int64_t, std::pair<int, int>>;  // sequence, (edge, sender)
  std::map<Key, Payload> arrived_;
  std::map<std::string, TaskTime> times_;
  bool keeps_spans_ = false;
  std::vector<Span> spans_;
  std::vector<MessageEvent> events_;
  std::vector<KernelMessages> labelled_;  // by label - 1, tasks whose launches bear it
};

}  // namespace quiltmd
