// SPDX-License-Identifier: Apache-2.0
#include "computes/nonbonded/pair_memory.h"
#include "computes/reference.h"

namespace quiltmd {
namespace {

// Below this many atoms the lists alone do not fill a large GPU evenly, and are cut in two.
constexpr int kSmallSystem = 50000;

std::unique_ptr<ForceFamily> make(const FamilySetup& setup) {
  const int pieces = setup.slots.system.atom_count() < kSmallSystem ? 2 : 1;
  return std::make_unique<PairMemory>(setup.slots, setup.lists(),
                                      PairSetup{setup.pairs, setup.packed_pairs.table, pieces});
}

}  // namespace

Family nonbonded_family() {
  return {.forces = "pair interactions with a cutoff",
          .acts = uses_lists,
          .make = make,
          .add_reference = [](const ReferenceInput& in, Evaluation& out) {
            reference_pairs(in.system, in.nonbonded, in.box, in.positions, out);
          }};
}

}  // namespace quiltmd
