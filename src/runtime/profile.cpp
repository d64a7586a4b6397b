// SPDX-License-Identifier: Apache-2.0
// Where the time of a run goes: sums at any time, single spans while a profile is taken. Of a rank
// on a device that times its launches the launches count, of others the tasks of the executor.
#include <utility>

#include "runtime/collect.h"
#include "runtime/engine.h"

namespace quiltmd {

void Rank::start_profile() {
  recordings_.set(Recordings::Timing::kOn);
  executor_.start_spans();
  device_.start_timing();
}

std::vector<Span> Rank::stop_profile() {
  const auto tasks = executor_.take_spans();
  const auto launches = device_.take_spans();
  device_.stop_timing();
  recordings_.set(Recordings::Timing::kOff);
  return launches.empty() ? tasks : launches;
}

void Engine::start_profile() {
  for (const auto& device : devices_) device->synchronize();
  profile_begin_ = clock_seconds();
  for (const auto& rank : ranks_) rank->start_profile();
}

std::vector<Engine::RankSpan> Engine::stop_profile() {
  std::vector<RankSpan> spans;
  if (ranks_.empty() || failed_) return spans;
  for (const auto& rank : ranks_)
    for (Span& span : rank->stop_profile()) spans.push_back({rank->index(), std::move(span)});
  auto events = gather<MessageEvent>([](Rank& rank) { return rank.take_message_events(); });
  const double begin =
      gather<double>([this](Rank&) { return std::vector{profile_begin_}; }).front().front();
  const std::vector<double> leads = clock_leads(events);
  for (size_t r = 0; r < events.size(); ++r)
    for (MessageEvent& event : events[r]) event.time -= leads[r] + begin;
  for (auto& [rank, span] : spans)
    for (double* time : {&span.begin, &span.end}) *time -= leads[static_cast<size_t>(rank)] + begin;
  profiled_messages_ = join_events(events);
  return spans;
}

std::vector<Engine::RankLoad> Engine::loads() {
  std::vector<RankLoad> loads;
  for (const auto& rank : ranks_) {
    const RankPlan& plan = rank->memory().plan();
    double atoms = 0;
    for (const int p : plan.owned) atoms += atoms_in_patches_[static_cast<size_t>(p)];
    int64_t entries = 0;
    for (const auto& [compute, count] : compute_entries(rank->memory())) entries += count;
    loads.push_back({static_cast<int>(plan.owned.size()), static_cast<int>(plan.proxies.size()),
                     static_cast<int>(plan.computes.size()), plan.interior,
                     static_cast<int64_t>(atoms), entries, static_cast<double>(rank->bytes())});
  }
  return loads;
}

std::vector<Engine::TaskProfile> Engine::profile() {
  std::vector<TaskProfile> rows;
  for (const auto& rank : ranks_) {
    std::map<std::string, TaskTime> times;
    for (const Span& span : rank->launches()) {
      TaskTime& time = times[span.name];
      ++time.calls;
      time.seconds += span.end - span.begin;
    }
    for (const auto& [name, time] : times.empty() ? rank->executor().times() : times)
      rows.push_back({rank->index(), name, time.calls, time.seconds});
  }
  return rows;
}

}  // namespace quiltmd
