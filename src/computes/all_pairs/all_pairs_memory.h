// SPDX-License-Identifier: Apache-2.0
// The memory of all pairs: the roster of clusters, where excluded atoms are, and what generalized Born
// keeps by slot; and the operations over it. It takes the place of pair lists where there is no cutoff.
#pragma once

#include <vector>

#include "computes/all_pairs/operations.h"
#include "computes/force_family.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

struct AllPairsSetup {
  PairParameters parameters;
  std::vector<float> table;  // of the pair form
};

class AllPairsMemory final : public ForceFamily {
 public:
  // The solvent is that of the system of the slots.
  AllPairsMemory(const SlotMemory& slots, AllPairsSetup setup);

  void set_plan(const RankPlan& plan) override;
  std::vector<Work> rebuild_work() override;
  std::vector<Work> step_work(Energies energies) override;
  std::vector<Handover> handovers() override;
  size_t bytes() const override { return make_.bytes(); }

  LayOutRoster lay_out_roster() const;
  BornRadii born_radii() const;
  AllPairForces all_pair_forces(Energies energies) const;
  BornForces born_forces() const;

  bool has_solvent() const { return slots_.system.solvent.has_value(); }
  Buffer<int64_t> sums, derivatives;  // by slot, of a step that is under way
  Buffer<float> radii, slopes;        // by slot

 private:
  void make_solvent(const ImplicitSolvent& solvent);
  void make_room();
  AllPairs pairs() const;
  NeckTables necks() const;
  BornSlopes born_slopes() const;

  const SlotMemory& slots_;
  AllPairsSetup setup_;
  BornConstants constants_{};
  SeriesReach reach_{};
  BufferMaker make_;
  Buffer<int32_t> exclusion_start_, excluded_, partners_;
  Buffer<float> table_;
  Buffer<int32_t> placed_index_, place_of_cluster_, roster_count_, visits_;
  Buffer<RosterEntry> roster_;
  Buffer<RosterAtom> roster_atoms_;
  Buffer<PartnerRange> partner_ranges_;
  Buffer<BornSite> site_of_atom_, sites_;
  Buffer<BornAtom> atoms_;
  Buffer<float> neck_distance_, neck_height_;
  int neck_types_ = 0;
};

}  // namespace quiltmd
