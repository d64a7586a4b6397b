// SPDX-License-Identifier: Apache-2.0
#include "schedule/message_events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace quiltmd {

namespace {

// The messages of a carrier of which both ends are known, with the times that were noted.
std::vector<MessageTimes> both_ends(const std::vector<std::vector<MessageEvent>>& events,
                                    Carrier carrier) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  using Key = std::tuple<int64_t, int, int, int>;  // sequence, edge, from, to
  std::map<Key, MessageTimes> messages;
  for (size_t r = 0; r < events.size(); ++r)
    for (const MessageEvent& event : events[r]) {
      if (event.carrier != carrier) continue;
      const bool sent = event.kind == MessageEvent::Kind::kSent;
      const int here = static_cast<int>(r);
      const int from = sent ? here : event.peer, to = sent ? event.peer : here;
      MessageTimes& message =
          messages
              .try_emplace({event.sequence, event.edge, from, to},
                           MessageTimes{edge_name(event.edge), from, to, carrier, event.stream,
                                        event.stream, 0, kUnknown, kUnknown, kUnknown})
              .first->second;
      switch (event.kind) {
        case MessageEvent::Kind::kSent:
          message.sent = event.time;
          message.bytes = event.bytes;
          message.from_stream = event.stream;
          break;
        case MessageEvent::Kind::kArrived:
          message.arrived = event.time;
          break;
        case MessageEvent::Kind::kUsed:
          message.used = event.time;
          message.to_stream = event.stream;
      }
    }
  std::vector<MessageTimes> found;
  for (auto& [key, message] : messages)
    if (std::max({message.sent, message.arrived, message.used}) < kUnknown)
      found.push_back(std::move(message));
  return found;
}

}  // namespace

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
    case Edge::kDispersion:
      return "dispersion";
    case Edge::kDispersionSpectrum:
      return "dispersion spectrum";
    case Edge::kDispersionSpectrumBack:
      return "dispersion spectrum back";
    case Edge::kDispersionPotential:
      return "dispersion potential";
    case Edge::kExternalPositions:
      return "positions for forces from outside";
    case Edge::kExternalForces:
      return "forces from outside";
    case Edge::kForces:
      return "forces";
    default:
      return edge < static_cast<int>(Edge::kForces) ? "values" : "sums";
  }
}

std::vector<MessageEvent> kernel_events(const std::vector<Span>& launches,
                                        const std::vector<KernelMessages>& tasks) {
  std::vector<MessageEvent> events;
  for (size_t first = 0, next; first < launches.size(); first = next) {
    const Span &begin = launches[first], *end = &begin;
    for (next = first + 1; next < launches.size() && launches[next].label == begin.label; ++next)
      end = &launches[next];
    if (begin.label == 0) continue;
    const KernelMessages& task = tasks.at(static_cast<size_t>(begin.label - 1));
    const auto note = [&](MessageEvent::Kind kind, const MessageEnd& m, double time) {
      events.push_back({kind, Carrier::kKernels, begin.stream, static_cast<int>(m.edge), m.peer, 0,
                        m.bytes(), time});
    };
    for (const MessageEnd& m : task.awaits) {
      note(MessageEvent::Kind::kUsed, m, begin.begin);
      note(MessageEvent::Kind::kArrived, m, begin.end);
    }
    for (const MessageEnd& m : task.sends) note(MessageEvent::Kind::kSent, m, end->end);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const MessageEvent& a, const MessageEvent& b) { return a.time < b.time; });
  std::map<std::tuple<MessageEvent::Kind, int, int>, int64_t> before;
  for (MessageEvent& event : events)
    event.sequence = before[{event.kind, event.edge, event.peer}]++;
  return events;
}

std::vector<double> clock_leads(const std::vector<std::vector<MessageEvent>>& events,
                                Carrier carrier) {
  constexpr double kNever = std::numeric_limits<double>::infinity(), kOneMachine = 1;
  std::vector<double> there(events.size(), kNever), back(events.size(), kNever);
  for (const MessageTimes& m : both_ends(events, carrier)) {
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
    const double middle = (there[r] - back[r]) / 2;
    if (carrier == Carrier::kHost)
      leads[r] = std::abs(middle) > kOneMachine ? middle : 0;
    else
      leads[r] = -back[r] < there[r] ? std::clamp(0.0, -back[r], there[r]) : middle;
  }
  return leads;
}

std::vector<MessageTimes> join_events(const std::vector<std::vector<MessageEvent>>& events) {
  std::vector<MessageTimes> all = both_ends(events, Carrier::kHost);
  for (MessageTimes& m : both_ends(events, Carrier::kKernels)) {
    m.sent = std::min(m.sent, m.arrived);
    m.arrived = m.sent;
    m.used = std::max(m.used, m.sent);
    all.push_back(std::move(m));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const MessageTimes& a, const MessageTimes& b) { return a.sent < b.sent; });
  return all;
}

}  // namespace quiltmd
