// SPDX-License-Identifier: Apache-2.0
// What an alchemical atom has with another, and where the two meet: written once, for hosts and GPUs.
//
// Positions are those of the kernels of pairs, in single precision from the patch's centre: proxies of atoms
// without bonded terms have no more of them. Whatever is made of them is in double precision.
#pragma once

#include "computes/alchemy/operations.h"
#include "math/symmetric.h"

namespace quiltmd {

// What is scaled by lambda at a state.
struct Scales {
  double charge, van_der_waals;

  QMD_HD explicit Scales(const Lambdas& lambdas)
      : charge(1 - lambdas.of[kLambdaCoulomb]), van_der_waals(1 - lambdas.of[kLambdaVdw]) {}
  QMD_HD double of_charges(int scaled) const { return scaled == 2 ? charge * charge : charge; }
  // Its derivative by lambda.
  QMD_HD double slope_of_charges(int scaled) const { return scaled == 2 ? -2 * charge : -1; }
};

// A pair at the present state. Charges are the full ones, scaled once or twice.
struct AlchemicalPair {
  Vec3d way;  // from the other atom to the alchemical one
  double r2, a, b;
  SoftValue soft;
  double product;  // of charges
  int scaled;
  SmoothValue rest;  // of unit charges, what the mesh leaves
  double scale;      // of the product

  QMD_HD bool has_charge() const { return product != 0 && scale != 0; }
  // Over r. The potential of charges that are scaled to zero may be infinite.
  QMD_HD double force() const {
    return soft.force + (has_charge() ? scale * product * rest.force : 0);
  }
  QMD_HD double coulomb() const { return has_charge() ? scale * product * rest.energy : 0; }
  QMD_HD double slope(Lambda by, const Scales& now) const {
    if (by == kLambdaVdw) return -soft.slope;
    return product == 0 ? 0 : now.slope_of_charges(scaled) * product * rest.energy;
  }
  // The energy at a state less that now.
  QMD_HD double change(const SoftCore& core, const Scales& now, const Scales& state) const {
    double sum = 0;
    if (state.van_der_waals != now.van_der_waals)
      sum = soft_lennard_jones(core, a, b, state.van_der_waals, r2).energy - soft.energy;
    if (product != 0 && state.charge != now.charge)
      sum += (state.of_charges(scaled) - scale) * product * rest.energy;
    return sum;
  }
};

// The pairs of an operation, at the present state.
class AlchemicalPairs {
 public:
  QMD_HD explicit AlchemicalPairs(const AlchemicalForces& op)
      : now(op.conditions->lambdas),
        op_(op),
        reach2_(1.001f * static_cast<float>(op.core.cutoff2)) {}

  // Where the alchemical atom is from the centre of the patch.
  QMD_HD Vec3f from_patch(const Meeting& m) const {
    const Float4 atom = op_.slots.local[m.atom & kSlotMask];
    const Vec3f shift = op_.grid.shifts[m.atom >> kSlotBits] - op_.grid.shifts[m.code];
    return Vec3f{atom.x, atom.y, atom.z} + shift;
  }

  // Whether atom `slot` of the patch may be within the cutoff of the alchemical one, which is at `from`, and the
  // two have not met elsewhere: in single precision, with room for its rounding.
  QMD_HD bool meet(const Meeting& m, const Vec3f& from, int slot) const {
    const Float4 other = op_.slots.local[slot];
    const float x = from.x - other.x, y = from.y - other.y, z = from.z - other.z;
    if (x * x + y * y + z * z >= reach2_) return false;
    const int atom = slot_of(m.atom);
    const bool may_be_again = m.code == 0 && (m.atom >> kSlotBits != 0 || slot <= atom);
    return !may_be_again || (slot != atom && !full(slot).is_alchemical);
  }

  // The pair of an alchemical atom and another, as entries of a list; false where it does not count.
  QMD_HD bool find(uint32_t first, uint32_t second, AlchemicalPair& pair) const {
    const int i = slot_of(first), j = slot_of(second);
    pair.way = place(first) - place(second);
    pair.r2 = dot(pair.way, pair.way);
    if (pair.r2 >= op_.core.cutoff2 || op_.exclusions.has(op_.slots.atom[i], op_.slots.atom[j]))
      return false;
    const FullAtom &own = full(i), &other = full(j);
    const int64_t entry = static_cast<int64_t>(own.pair_type) * op_.types + other.pair_type;
    pair.a = op_.a[entry];
    pair.b = op_.b[entry];
    pair.soft = soft_lennard_jones(op_.core, pair.a, pair.b, now.van_der_waals, pair.r2);
    pair.product = own.charge * (other.is_alchemical ? other.charge : op_.slots.local[j].w);
    pair.scaled = 1 + other.is_alchemical;
    pair.scale = now.of_charges(pair.scaled);
    // Without charge, and no energies asked for, the potential is not needed.
    if (pair.product != 0 && (op_.energy || pair.scale != 0)) pair.rest = rest_of_mesh(pair.r2);
    return true;
  }

  // An excluded pair, whose charges are taken back from the mesh.
  QMD_HD AlchemicalPair excluded(const uint32_t* entry) const {
    const ExcludedCharges charges = op_.excluded[entry[2]];
    const Vec3d way = place(entry[0]) - place(entry[1]);
    const double r2 = dot(way, way);
    const SmoothValue smooth = smooth_coulomb(op_.smooth, r2);
    return {way,
            r2,
            0,
            0,
            {0, 0, 0},
            charges.product,
            charges.scaled,
            {-smooth.energy, -smooth.force},
            now.of_charges(charges.scaled)};
  }

  QMD_HD static int slot_of(uint32_t entry) { return static_cast<int>(entry & kSlotMask); }

  const Scales now;

 private:
  QMD_HD const FullAtom& full(int slot) const { return op_.atoms[op_.slots.atom[slot]]; }

  QMD_HD Vec3d place(uint32_t entry) const {
    const Float4 local = op_.slots.local[slot_of(entry)];
    return Vec3d{local.x, local.y, local.z} + op_.grid.exact_shifts[entry >> kSlotBits];
  }

  QMD_HD SmoothValue rest_of_mesh(double r2) const {
    const SmoothValue smooth = smooth_coulomb(op_.smooth, r2);
    const double inverse = 1 / std::sqrt(r2);
    return {inverse - smooth.energy - op_.coulomb_shift,
            inverse * inverse * inverse - smooth.force};
  }

  const AlchemicalForces& op_;
  const float reach2_;
};

}  // namespace quiltmd
