// SPDX-License-Identifier: Apache-2.0
// The memory of one rank: what lies by slot, the tables of hydrogen groups, pair lists, the families of
// forces and the long-range sum, each with memory of its own.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "computes/external/external_memory.h"

#include "computes/force_family.h"
#include "computes/lists/list_memory.h"
#include "decomposition/exchange_memory.h"
#include "decomposition/slot_memory.h"
#include "integrators/group_memory.h"
#include "schedule/links.h"
#include "schedule/long_range.h"
#include "schedule/operations.h"
#include "schedule/setup.h"

namespace quiltmd {

// Sharing of the transforms of PME: each rank does a part, in slabs (and sends the spectrum twice) or in
// pencils (and sends it four times); or each rank does all transforms, when it has the charges of all ranks.
// The results have the same bits.
enum class MeshSharing { kDistributed, kPencils, kReplicated };

// Knowledge of a rank about all ranks.
struct RankView {
  int rank = 0;
  int ranks = 1;
  std::vector<RankPlan> plans;  // by rank
  MessageRoom room = 1;
  std::vector<Carrier> carriers = {};  // of messages, by rank; empty: the host
  MeshSharing mesh = MeshSharing::kDistributed;

  const RankPlan& plan() const { return plans[static_cast<size_t>(rank)]; }
  std::vector<int> peers() const;  // the other ranks
  // Whether there are messages to others which this carries.
  bool has(Carrier carrier) const;
  std::vector<int32_t> owners(int patches) const;  // the rank of each patch
};

struct RankMemory {
  RankMemory(const Setup& setup, Device& device);

  // The conditions are those of the setup from here on.
  void update_conditions();
  // Updates data that depend on the box, after a barostat has changed the box of the conditions.
  void update_box();
  // Take over a plan for the patch grid of the setup: which patches are owned, which are proxies, which
  // computes are made here. Some buffers are made anew.
  void set_plan(const RankView& view);
  const RankPlan& plan() const { return slots.plan(); }
  // For a step that begins with pair lists of this age.
  GroupWork group_work(int list_age) const;
  // `long_range_weight`: factor of the long-range force.
  SpreadSiteForces spread_site_forces(float long_range_weight, Energies energies) const;
  // The placed terms of the family that has them.
  PlacedTerms placed_terms() const;
  size_t bytes() const;

  const Setup& setup;
  Device& device;
  SlotMemory slots;
  ExchangeMemory exchange;
  GroupMemory groups;
  const std::unique_ptr<ListMemory> lists;  // null where pairs have no cutoff
  const std::vector<std::unique_ptr<ForceFamily>> families;
  const std::unique_ptr<LongRangeSum> long_range;  // null where there is none
  const std::vector<Rebuilt*> rebuilt;             // the lists, the families and the long-range sum
  const std::unique_ptr<ExternalMemory>
      external;                 // of forces from outside; null where there are none
  Buffer<Agreement> agreement;  // of all ranks

 private:
  std::vector<std::unique_ptr<ForceFamily>> make_families() const;
  std::vector<Rebuilt*> all_rebuilt() const;
};

// The stream of work that is apart, in rebuilds and in steps: that of messages where there are none, as pairs of a rank by
// itself may be the first ones on the other.
Stream stream_apart(const RankMemory& memory, const RankView& view);

}  // namespace quiltmd
