// SPDX-License-Identifier: Apache-2.0
// Where the time of a run goes: sums at any time, single spans while a profile is taken. Of a rank
// on a device that times its launches the launches count, of others the tasks of the executor.
#include <map>
#include <utility>

#include "runtime/collect.h"
#include "runtime/engine.h"

namespace quiltmd {

void Rank::start_profile() {
  recordings_.set(Recordings::Timing::kOn);
  executor_.start_spans();
  device_.start_timing();
}

Rank::Profile Rank::stop_profile() {
  std::vector<Span> tasks = executor_.take_spans();
  std::vector<Span> launches = device_.take_spans();
  std::vector<MessageEvent> messages = executor_.take_events(launches);
  std::vector<int64_t> steps = recordings_.timed_steps();
  recordings_.set(Recordings::Timing::kOff);
  device_.stop_timing();
  return {std::move(launches.empty() ? tasks : launches), std::move(messages), std::move(steps)};
}

void Engine::start_profile() {
  for (const auto& device : devices_) device->synchronize();
  profile_begin_ = clock_seconds();
  for (const auto& rank : ranks_) rank->start_profile();
}

std::vector<Engine::RankSpan> Engine::stop_profile() {
  std::vector<RankSpan> spans;
  if (ranks_.empty() || failed_) return spans;
  std::map<int, Rank::Profile> profiles;
  for (const auto& rank : ranks_) profiles[rank->index()] = rank->stop_profile();
  auto events = gather<MessageEvent>(
      [&](Rank& rank) { return std::move(profiles.at(rank.index()).messages); });
  const double begin =
      gather<double>([this](Rank&) { return std::vector{profile_begin_}; }).front().front();
  const std::vector<double> hosts = clock_leads(events, Carrier::kHost);
  const std::vector<double> devices = clock_leads(events, Carrier::kKernels);
  for (size_t r = 0; r < events.size(); ++r)
    for (MessageEvent& event : events[r])
      event.time -= begin + hosts[r] + (event.carrier == Carrier::kKernels ? devices[r] : 0);
  profiled_messages_ = join_events(events);
  for (auto& [rank, profile] : profiles) {
    const auto r = static_cast<size_t>(rank);
    for (Span& span : profile.spans) {
      for (double* time : {&span.begin, &span.end}) *time -= begin + hosts[r] + devices[r];
      const int64_t steps = span.part ? profile.steps.at(static_cast<size_t>(span.part - 1)) : 0;
      spans.push_back({rank, std::move(span), steps});
    }
  }
  return spans;
}

std::vector<const Schedule*> Engine::step_forces() const {
  require_state();
  std::vector<const Schedule*> found;
  for (const auto& rank : ranks_) found.push_back(&rank->step_forces());
  return found;
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
