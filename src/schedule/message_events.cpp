// SPDX-License-Identifier: Apache-2.0
#include "schedule/message_events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "schedule/schedule.h"

namespace quiltmd {

std::string edge_name(int edge) {
  switch (static_cast<Edge>(edge)) {
    case Edge::kAgree:
      return "agreement";
    case Edge::kMigrants:
      return "migrants";
    case Edge::kProxies:
      return "proxies";
    case Edge::kPositions:
      return "positions";
    case Edge::kCharges:
      return "charges";
    case Edge::kSpectrum:
      return "spectrum";
    case Edge::kSpectrumBack:
      return "spectrum back";
    case Edge::kPotential:
      return "potential";
    case Edge::kForces:
      return "forces";
    default:
      return "sums";
  }
}

std::vector<double> clock_leads(const std::vector<std::vector<MessageEvent>>& events) {
  constexpr double kNever = std::numeric_limits<double>::infinity(), kOneMachine = 1;
  std::vector<double> there(events.size(), kNever), back(events.size(), kNever);
  for (const MessageTimes& m : join_events(events)) {
    if (m.from == 0)
      there[static_cast<size_t>(m.to)] =
          std::min(there[static_cast<size_t>(m.to)], m.arrived - m.sent);
    if (m.to == 0)
      back[static_cast<size_t>(m.from)] =
          std::min(back[static_cast<size_t>(m.from)], m.arrived - m.sent);
  }
  std::vector<double> leads(events.size(), 0.0);
  for (size_t r = 0; r < events.size(); ++r) {
    if (std::max(there[r], back[r]) == kNever) continue;
    const double lead = (there[r] - back[r]) / 2;
    if (std::abs(lead) > kOneMachine) leads[r] = lead;
  }
  return leads;
}

std::vector<MessageTimes> join_events(const std::vector<std::vector<MessageEvent>>& events) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  using Key = std::tuple<int64_t, int, int, int>;  // sequence, edge, from, to
  std::map<Key, MessageTimes> messages;
  for (size_t r = 0; r < events.size(); ++r)
    for (const MessageEvent& event : events[r]) {
      const bool sent = event.kind == MessageEvent::Kind::kSent;
      const int here = static_cast<int>(r);
      const int from = sent ? here : event.peer, to = sent ? event.peer : here;
      MessageTimes& message =
          messages
              .try_emplace({event.sequence, event.edge, from, to},
                           MessageTimes{edge_name(event.edge), from, to, event.bytes, kUnknown,
                                        kUnknown, kUnknown})
              .first->second;
      double& time = sent                                         ? message.sent
                     : event.kind == MessageEvent::Kind::kArrived ? message.arrived
                                                                  : message.used;
      time = event.time;
    }
  std::vector<MessageTimes> all;
  for (auto& [key, message] : messages)
    if (std::max({message.sent, message.arrived, message.used}) < kUnknown)
      all.push_back(std::move(message));
  std::stable_sort(all.begin(), all.end(),
                   [](const MessageTimes& a, const MessageTimes& b) { return a.sent < b.sent; });
  return all;
}

}  // namespace quiltmd
