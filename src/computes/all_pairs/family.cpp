// SPDX-License-Identifier: Apache-2.0
#include "computes/all_pairs/all_pairs_memory.h"
#include "computes/reference.h"
#include "math/error.h"

namespace quiltmd {
namespace {

std::unique_ptr<ForceFamily> make(const FamilySetup& setup) {
  return std::make_unique<AllPairsMemory>(setup.slots,
                                          AllPairsSetup{setup.pairs, setup.packed_pairs.table});
}

void add_reference(const ReferenceInput& in, Evaluation& out) {
  reference_pairs(in.system, in.nonbonded, in.box, in.positions, out);
  reference_solvent(in.system, in.nonbonded, in.positions, out);
}

void refuse_unsuited(const System& system, const NonbondedSettings&, bool periodic) {
  if (system.solvent && periodic)
    throw Error(
        "implicit solvent cannot be used in a periodic box: leave out the box (box = [], --box "
        "none), and choose the method no-cutoff or cutoff");
}

}  // namespace

Family all_pairs_family() {
  return {.forces = "interactions between all pairs of atoms",
          .acts = [](const System& system,
                     const NonbondedSettings& settings) { return !uses_lists(system, settings); },
          .make = make,
          .add_reference = add_reference,
          .refuse_unsuited = refuse_unsuited};
}

}  // namespace quiltmd
