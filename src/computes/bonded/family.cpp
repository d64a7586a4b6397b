// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/term_memory.h"
#include "computes/places.h"
#include "computes/reference.h"

namespace quiltmd {
namespace {

// Without a periodic box, energies of constant forces are those of unwrapped coordinates.
void add_reference(const ReferenceInput& in, Evaluation& out) {
  reference_bonded(in.system, in.box, in.positions, out, in.periodic ? 1 : 0);
  if (!in.periodic && has_constant_forces(in.system))
    out.energy[kEnergyOf<ConstantForceForm>] += constant_force_energy(in.system, in.positions);
}

}  // namespace

Family bonded_family() {
  return {
      .forces = "bonded terms",
      .acts = [](const System&, const NonbondedSettings&) { return true; },
      .make = [](const FamilySetup& setup) { return std::make_unique<TermMemory>(setup.slots); },
      .add_reference = add_reference};
}

}  // namespace quiltmd
