// SPDX-License-Identifier: Apache-2.0
// What terms whose parameters depend on lambda need on a rank's device for the energies of all states.
#pragma once

#include <array>
#include <vector>

#include "computes/alchemy/changed_terms.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class ChangedTermMemory {
 public:
  explicit ChangedTermMemory(const SlotMemory& slots);

  bool is_empty() const { return slots_.system.alchemy->changed_terms.empty(); }
  void take_lambdas(const Lambdas& lambdas);
  size_t bytes() const { return make_.bytes(); }

  PlaceTerms place_terms(const int8_t* computed_here) const;
  ChangedTermEnergies energies_of_states() const;

 private:
  struct Arrays {
    Buffer<int32_t> atoms;
    Buffer<uint32_t> row;
    Buffer<double> parameters;
    Buffer<uint32_t> placed;
  };
  std::vector<Lambdas> sampled_at(const Lambdas& now) const;

  const SlotMemory& slots_;
  BufferMaker make_;
  std::array<Arrays, kTermForms> arrays_;
  Buffer<int32_t> placed_count_;
  Buffer<ParameterSet> sets_;
  TermTables tables_{};
};

}  // namespace quiltmd
