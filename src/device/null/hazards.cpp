// SPDX-License-Identifier: Apache-2.0
// Vector clocks (Mattern 1989): each stream counts its commands, and knows how far every other stream
// had come at the last event that it waited for. A command comes after another if its stream knows of
// it. What lies before a barrier comes before everything later and is forgotten there, so lists of
// accesses stay short.
#include "device/null/hazards.h"

#include <algorithm>
#include <array>
#include <map>

namespace quiltmd {
namespace {

using Clock = std::array<int64_t, kStreamCount>;

void catch_up(Clock& clock, const Clock& with) {
  for (size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], with[s]);
}

bool conflict(Access a, Access b) {
  if (a == Access::kDisjoint || b == Access::kDisjoint) return false;
  if (a == Access::kRead && b == Access::kRead) return false;
  return !(a == Access::kAdd && b == Access::kAdd);
}

const char* in_words(Access access) {
  switch (access) {
    case Access::kNone:
      return "holds";
    case Access::kRead:
      return "reads";
    case Access::kWrite:
      return "writes";
    case Access::kReadWrite:
      return "reads and writes";
    case Access::kAdd:
      return "adds to";
    case Access::kDisjoint:
      return "has a part of";
  }
  return "";
}

class Checker {
 public:
  std::vector<Hazard> check(const std::vector<Command>& commands) {
    for (const Command& command : commands) take(command);
    return std::move(hazards_);
  }

 private:
  struct Earlier {
    const Command* command;
    const MemoryAccess* access;
    int64_t time;  // of its stream
  };

  void take(const Command& command) {
    const auto stream = static_cast<size_t>(command.stream);
    Clock& clock = clocks_[stream];
    switch (command.kind) {
      case Command::Kind::kBarrier:
        for (const Clock& other : Clocks(clocks_))
          for (Clock& each : clocks_) catch_up(each, other);
        earlier_.clear();
        return;
      case Command::Kind::kSignal:
        events_[command.event] = clock;
        return;
      case Command::Kind::kWait:
        catch_up(clock, events_[command.event]);
        return;
      case Command::Kind::kWork:
        ++clock[stream];
        for (const MemoryAccess& access : command.accesses) compare(command, access, clock);
        for (const MemoryAccess& access : command.accesses)
          earlier_[access.allocation].push_back({&command, &access, clock[stream]});
    }
  }

  void compare(const Command& command, const MemoryAccess& access, const Clock& clock) {
    for (const Earlier& e : earlier_[access.allocation]) {
      const bool ordered = e.time <= clock[static_cast<size_t>(e.command->stream)];
      const bool apart = e.access->end <= access.begin || access.end <= e.access->begin;
      if (ordered || apart || !conflict(e.access->access, access.access)) continue;
      hazards_.push_back({e.command->name, command.name, e.access->name, access.name,
                          e.access->access, access.access});
    }
  }

  using Clocks = std::array<Clock, kStreamCount>;
  Clocks clocks_{};
  std::map<int, Clock> events_;
  std::map<size_t, std::vector<Earlier>> earlier_;  // by allocation, since the last barrier
  std::vector<Hazard> hazards_;
};

}  // namespace

std::string Hazard::describe() const {
  return first + " " + in_words(first_access) + " " + first_field + ", " + second + " " +
         in_words(second_access) + " the same memory as " + second_field +
         ", and nothing puts one before the other";
}

std::vector<Hazard> find_hazards(const std::vector<Command>& commands) {
  return Checker().check(commands);
}

}  // namespace quiltmd
