// SPDX-License-Identifier: Apache-2.0
// The memory of one rank: what lies by slot, the tables of hydrogen groups, and the families of
// forces, each with memory of its own. A new family is one more member and its place in `families`.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "computes/all_pairs/all_pairs_memory.h"
#include "computes/bonded/term_memory.h"
#include "computes/force_family.h"
#include "computes/long_range/pme/mesh_memory.h"
#include "computes/nonbonded/pair_memory.h"
#include "decomposition/exchange_memory.h"
#include "decomposition/slot_memory.h"
#include "integrators/group_memory.h"
#include "schedule/links.h"
#include "schedule/operations.h"
#include "schedule/setup.h"

namespace quiltmd {

// How ranks share the transforms of PME: each does its part of them in slabs, and sends the spectrum
// twice, or in pencils, and sends it four times; or each does all of them, once it has the charges of
// all. The results have the same bits.
enum class MeshSharing { kDistributed, kPencils, kReplicated };

// What a rank knows about all ranks.
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
  // What depends on the box follows that of the conditions, which a barostat has changed.
  void update_box();
  // Take over a plan for the patch grid of the setup: which patches are owned, which are proxies, which
  // computes are made here. Some buffers are made anew.
  void set_plan(const RankView& view);
  const RankPlan& plan() const { return slots.plan(); }
  // For a step that begins with pair lists of this age.
  GroupWork group_work(int list_age) const;
  // Of the long-range force so many times.
  SpreadSiteForces spread_site_forces(float long_range_weight, Energies energies) const;
  size_t bytes() const;

  const Setup& setup;
  Device& device;
  SlotMemory slots;
  ExchangeMemory exchange;
  GroupMemory groups;
  std::optional<PairMemory> pairs;          // with a cutoff
  std::optional<AllPairsMemory> all_pairs;  // without
  TermMemory terms;
  std::deque<MeshMemory> meshes;  // with PME: of charges; and of the dispersion
  Buffer<Agreement> agreement;    // of all ranks
  // In the order in which their work is added to a step, what other ranks await before what they
  // do not.
  const std::vector<ForceFamily*> families;

 private:
  std::vector<ForceFamily*> make_families();
};

}  // namespace quiltmd
