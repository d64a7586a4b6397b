// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "computes/nonbonded/pair_memory.h"
#include "computes/reference.h"

namespace quiltmd {
namespace {

// Whether pairs do anything at all, excluded ones included: there may be embedded atoms alone, a three-body
// potential, or custom pairs.
bool has_interactions(const System& system) {
  const auto is_set = [](double value) { return value != 0; };
  return std::ranges::any_of(system.charges, is_set) ||
         std::ranges::any_of(system.pair_tables, [&](const std::vector<double>& table) {
           return std::ranges::any_of(table, is_set);
         });
}

bool acts(const System& system, const NonbondedSettings& settings) {
  const bool others = system.embedded || system.three_body || !system.pair_expressions.empty();
  return uses_lists(system, settings) && (!others || has_interactions(system));
}

std::unique_ptr<ForceFamily> make(const FamilySetup& setup) {
  const int pieces = pieces_of_lists(setup.slots.system.atom_count());
  return std::make_unique<PairMemory>(setup.slots, setup.lists(),
                                      PairSetup{setup.pairs, setup.packed_pairs.table, pieces});
}

}  // namespace

Family nonbonded_family() {
  return {.forces = "pair interactions with a cutoff",
          .acts = acts,
          .make = make,
          .add_reference = [](const ReferenceInput& in, Evaluation& out) {
            reference_pairs(in.system, in.nonbonded, in.box, in.positions, out);
          }};
}

}  // namespace quiltmd
