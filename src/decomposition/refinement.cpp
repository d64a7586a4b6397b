// SPDX-License-Identifier: Apache-2.0
#include "decomposition/refinement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace quiltmd {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// Who trades with whom. A share is what a rank had at the start; others may have it later.
class Places {
 public:
  Places(const Assignment& start, const std::vector<Traffic>& traffic, const MachineShape& machine)
      : machine_(machine),
        partners_(at(machine.ranks)),
        rank_of_(at(machine.ranks)),
        has_patches_(at(machine.ranks), 0) {
    for (const int rank : start.patch_rank) has_patches_[at(rank)] = 1;
    std::iota(rank_of_.begin(), rank_of_.end(), 0);
    share_of_ = rank_of_;
    add_partners(traffic);
  }

  void improve() {
    constexpr int kRounds = 8;
    constexpr double kWorthwhile = 0.002;  // of all hop-bytes, in a round
    const std::vector<int> order = busiest_first();
    double all = 0;
    for (const int share : order) all += hop_bytes_at(share, rank_of_[at(share)], -1) / 2;
    for (int round = 0; round < kRounds; ++round) {
      double gain = 0;
      for (const int share : order) gain += move_nearer(share);
      if (gain <= kWorthwhile * all) break;
      all -= gain;
    }
  }
  int rank_of(int share) const { return rank_of_[at(share)]; }

 private:
  struct Partner {
    int share;
    double bytes;
  };

  void add_partners(const std::vector<Traffic>& traffic) {
    std::map<std::pair<int, int>, double> bytes;
    for (const Traffic& t : traffic)
      if (t.from != t.to) bytes[std::minmax(t.from, t.to)] += static_cast<double>(t.bytes);
    for (const auto& [pair, sum] : bytes) {
      partners_[at(pair.first)].push_back({pair.second, sum});
      partners_[at(pair.second)].push_back({pair.first, sum});
    }
    for (auto& of_share : partners_)
      std::stable_sort(of_share.begin(), of_share.end(),
                       [](const Partner& a, const Partner& b) { return a.bytes > b.bytes; });
  }

  std::vector<int> busiest_first() const {
    std::vector<double> bytes;
    for (const auto& of_share : partners_)
      bytes.push_back(std::accumulate(of_share.begin(), of_share.end(), 0.0,
                                      [](double sum, const Partner& p) { return sum + p.bytes; }));
    std::vector<int> order;
    for (int share = 0; share < machine_.ranks; ++share)
      if (has_patches_[at(share)]) order.push_back(share);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return bytes[at(a)] > bytes[at(b)]; });
    return order;
  }

  // If a rank had the share; of messages with one other share not counted.
  double hop_bytes_at(int share, int rank, int but) const {
    double sum = 0;
    for (const Partner& p : partners_[at(share)])
      if (p.share != but) sum += p.bytes * machine_.hops(rank, rank_of_[at(p.share)]);
    return sum;
  }

  // The best trade with a rank at or beside those of the partners with most bytes; what it gains.
  double move_nearer(int share) {
    constexpr size_t kPartners = 6;
    const auto& partners = partners_[at(share)];
    std::set<int> ranks;
    for (size_t i = 0; i < std::min(kPartners, partners.size()); ++i)
      for (const int rank : machine_.near(rank_of_[at(partners[i].share)]))
        if (has_patches_[at(rank)]) ranks.insert(rank);
    double most = 0;
    int best = -1;
    for (const int rank : ranks) {
      const double gain = gain_of_trade(share, rank);
      if (gain <= most) continue;
      most = gain;
      best = rank;
    }
    if (best >= 0) trade(share, best);
    return most;
  }

  double gain_of_trade(int share, int rank) const {
    const int other = share_of_[at(rank)], own = rank_of_[at(share)];
    if (machine_.hops(own, rank) == 0 || machine_.speed(own) != machine_.speed(rank)) return 0;
    const double gain = hop_bytes_at(share, own, other) - hop_bytes_at(share, rank, other);
    if (gain <= 0) return 0;
    return gain + hop_bytes_at(other, rank, share) - hop_bytes_at(other, own, share);
  }

  void trade(int share, int rank) {
    const int other = share_of_[at(rank)], own = rank_of_[at(share)];
    rank_of_[at(share)] = rank;
    share_of_[at(rank)] = share;
    rank_of_[at(other)] = own;
    share_of_[at(own)] = other;
  }

  const MachineShape& machine_;
  std::vector<std::vector<Partner>> partners_;  // by share, those with most bytes first
  std::vector<int> rank_of_, share_of_;
  std::vector<char> has_patches_;  // by rank
};

// Computes that move, one at a time.
class Moves {
 public:
  Moves(const PatchGrid& grid, const Assignment& start, const MeasuredCosts& measured,
        const Carriage& carriage)
      : result(start),
        entry_(measured.entry),
        carriage_(carriage),
        total_(seconds_of_ranks(start, measured)),
        uses_(at(start.ranks), std::vector<int>(at(grid.size()), 0)) {
    for (int c = 0; c < grid.computes(); ++c) {
      const int rank = result.compute_rank[at(c)];
      entries_.push_back(measured.cost[at(c)] / entry_[at(rank)]);
      patches_.push_back(patches_of_compute(grid, c));
      for (const int p : patches_.back()) ++uses_[at(rank)][at(p)];
    }
  }

  double even() const { return even_seconds(total_, entry_); }
  // Moves one compute of the busiest rank if that is above the limit; false if there is none to move.
  // To a rank that stays below the limit, or else to the one that has least to do.
  bool relieve_busiest(double limit) {
    const int busiest = static_cast<int>(index_of(std::max_element(total_.begin(), total_.end())));
    const int idlest = static_cast<int>(index_of(std::min_element(total_.begin(), total_.end())));
    if (total_[at(busiest)] <= limit) return false;
    Move best;
    for (int c = 0; c < int(patches_.size()); ++c)
      if (result.compute_rank[at(c)] == busiest && entries_[at(c)] > 0)
        for (int rank = 0; rank < result.ranks; ++rank) {
          const double then = total_[at(rank)] + seconds(c, rank);
          const bool has_time = then <= limit || (rank == idlest && then < total_[at(busiest)]);
          if (rank == busiest || !has_time) continue;
          const Move move{c, rank, added(c, rank), total_[at(rank)]};
          if (best.compute < 0 || move.is_better(best)) best = move;
        }
    if (best.compute < 0) return false;
    make(best);
    return true;
  }

  // Moves each compute to the owner of one of its patches, if its proxies cost less there.
  void lower_carriage(double limit) {
    for (int c = 0; c < int(patches_.size()); ++c) {
      const int present = result.compute_rank[at(c)];
      Move best;
      for (const int p : patches_[at(c)]) {
        const int rank = result.patch_rank[at(p)];
        if (rank == present || total_[at(rank)] + seconds(c, rank) > limit) continue;
        const Move move{c, rank, added(c, rank), total_[at(rank)]};
        if (move.added < 0 && (best.compute < 0 || move.is_better(best))) best = move;
      }
      if (best.compute >= 0) make(best);
    }
  }

  Assignment result;

 private:
  struct Move {
    int compute = -1, rank = -1;
    double added = 0, total = 0;
    bool is_better(const Move& other) const {
      return added != other.added ? added < other.added : total < other.total;
    }
  };

  size_t index_of(std::vector<double>::const_iterator i) const {
    return at(int(i - total_.begin()));
  }

  double seconds(int compute, int rank) const { return entries_[at(compute)] * entry_[at(rank)]; }

  double carried(int patch, int rank) const {
    const int owner = result.patch_rank[at(patch)];
    return owner == rank ? 0
                         : carriage_.atoms[at(patch)] * (1 + carriage_.machine.hops(owner, rank));
  }
  // Additional cost of proxies if a rank took a compute from another rank.
  double added(int compute, int rank) const {
    const int present = result.compute_rank[at(compute)];
    double sum = 0;
    for (const int p : patches_[at(compute)]) {
      if (uses_[at(rank)][at(p)] == 0) sum += carried(p, rank);
      if (uses_[at(present)][at(p)] == 1) sum -= carried(p, present);
    }
    return sum;
  }

  void make(const Move& move) {
    int& rank = result.compute_rank[at(move.compute)];
    for (const int p : patches_[at(move.compute)]) {
      --uses_[at(rank)][at(p)];
      ++uses_[at(move.rank)][at(p)];
    }
    total_[at(rank)] -= seconds(move.compute, rank);
    total_[at(move.rank)] += seconds(move.compute, move.rank);
    rank = move.rank;
  }

  const std::vector<double>& entry_;  // by rank, seconds
  std::vector<double> entries_;       // by compute
  const Carriage& carriage_;
  std::vector<std::vector<int>> patches_;  // of each compute
  std::vector<double> total_;              // by rank
  std::vector<std::vector<int>> uses_;     // by rank and patch: computes of the rank that use it
};

std::vector<double> atoms_of_ranks(const Assignment& assignment, const std::vector<double>& atoms) {
  std::vector<double> sums(at(assignment.ranks), 0);
  for (size_t p = 0; p < atoms.size(); ++p) sums[at(assignment.patch_rank[p])] += atoms[p];
  return sums;
}

}  // namespace

std::vector<double> seconds_of_atoms(const Assignment& assignment, const MeasuredCosts& measured,
                                     const std::vector<double>& atoms) {
  const std::vector<double> has = atoms_of_ranks(assignment, atoms);
  std::vector<double> seconds(has.size(), 0);
  double of_atoms = 0, of_entries = 0;  // of ranks with atoms
  for (size_t rank = 0; rank < has.size(); ++rank) {
    if (has[rank] == 0) continue;
    seconds[rank] = measured.load[rank] / has[rank];
    of_atoms += seconds[rank];
    of_entries += measured.entry[rank];
  }
  for (size_t rank = 0; rank < has.size(); ++rank)
    if (has[rank] == 0) seconds[rank] = measured.entry[rank] * of_atoms / of_entries;
  return seconds;
}

MeasuredCosts with_assignment(const Assignment& other, const Assignment& present,
                              const MeasuredCosts& measured, const std::vector<double>& atoms) {
  const std::vector<double> of_atom = seconds_of_atoms(present, measured, atoms);
  const std::vector<double> had = atoms_of_ranks(present, atoms),
                            has = atoms_of_ranks(other, atoms);
  MeasuredCosts costs = measured;
  for (size_t rank = 0; rank < has.size(); ++rank)
    if (has[rank] != had[rank]) costs.load[rank] = has[rank] * of_atom[rank];
  for (size_t c = 0; c < costs.cost.size(); ++c)
    costs.cost[c] *=
        measured.entry[at(other.compute_rank[c])] / measured.entry[at(present.compute_rank[c])];
  return costs;
}

std::vector<double> seconds_of_ranks(const Assignment& assignment, const MeasuredCosts& costs) {
  std::vector<double> seconds = costs.fixed;
  for (size_t rank = 0; rank < seconds.size(); ++rank) seconds[rank] += costs.load[rank];
  for (size_t c = 0; c < costs.cost.size(); ++c)
    seconds[at(assignment.compute_rank[c])] += costs.cost[c];
  return seconds;
}

double even_seconds(const std::vector<double>& seconds, const std::vector<double>& entry) {
  double work = 0, speeds = 0;
  for (size_t rank = 0; rank < seconds.size(); ++rank) {
    work += seconds[rank] / entry[rank];
    speeds += 1 / entry[rank];
  }
  return work / speeds;
}

double hop_bytes(const std::vector<Traffic>& traffic, const MachineShape& machine) {
  return std::accumulate(traffic.begin(), traffic.end(), 0.0, [&](double sum, const Traffic& t) {
    return sum + static_cast<double>(t.bytes) * machine.hops(t.from, t.to);
  });
}

double carried_bytes(const std::vector<Traffic>& traffic, const MachineShape& machine) {
  return std::accumulate(
      traffic.begin(), traffic.end(), hop_bytes(traffic, machine),
      [](double sum, const Traffic& t) { return sum + static_cast<double>(t.bytes); });
}

Assignment trade_places(const Assignment& start, const std::vector<Traffic>& traffic,
                        const MachineShape& machine) {
  Places places(start, traffic, machine);
  places.improve();
  Assignment result = start;
  for (int& rank : result.patch_rank) rank = places.rank_of(rank);
  for (int& rank : result.compute_rank) rank = places.rank_of(rank);
  return result;
}

Assignment refine(const PatchGrid& grid, const Assignment& start, const MeasuredCosts& measured,
                  const Carriage& carriage, double tolerance) {
  Moves moves(grid, start, measured, carriage);
  const double limit = tolerance * moves.even();
  int made = 0;
  while (made < grid.computes() && moves.relieve_busiest(limit)) ++made;
  if (made > 0) moves.lower_carriage(limit);
  return std::move(moves.result);
}

}  // namespace quiltmd
