// SPDX-License-Identifier: Apache-2.0
// What alchemical atoms need on a rank's device, and their operations.
#pragma once

#include <vector>

#include "computes/alchemy/changed_term_memory.h"
#include "computes/alchemy/operations.h"
#include "computes/force_family.h"
#include "computes/nonbonded_settings.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class AlchemyMemory final : public ForceFamily {
 public:
  // Pairs are listed up to `reach`, nm.
  AlchemyMemory(const SlotMemory& slots, const NonbondedSettings& settings, double reach);

  void set_plan(const RankPlan& plan) override;
  void take_lambdas(const Lambdas& lambdas) override;
  std::vector<Work> rebuild_work() override;
  std::vector<Work> step_work(Energies energies) override;
  void make_room(const Faults& faults) override;
  size_t bytes() const override { return make_.bytes() + terms_.bytes(); }

  PlaceAlchemy place_alchemy() const;
  AlchemicalForces alchemical_forces(Energies energies) const;

 private:
  void make_excluded_pairs();
  void make_physics(const NonbondedSettings& settings);
  void make_room_for_pairs(double count);
  PlacedAlchemy placed() const;

  const SlotMemory& slots_;
  const double reach_;
  BufferMaker make_;
  SoftCore core_{};
  SmoothCoulomb smooth_{};
  double coulomb_shift_ = 0;
  Buffer<int32_t> atoms_, exclusion_start_, partners_, excluded_atoms_;
  Buffer<uint32_t> excluded_rows_;
  Buffer<FullAtom> full_atoms_;
  Buffer<ChargeProduct> excluded_;
  Buffer<double> a_, b_, series_;
  Buffer<Lambdas> states_;
  Buffer<PlacedPair> near_, placed_excluded_;
  Buffer<int32_t> counts_, placed_index_;
  Buffer<int8_t> computed_here_;
  ChangedTermMemory terms_;
};

}  // namespace quiltmd
