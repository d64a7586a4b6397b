// SPDX-License-Identifier: Apache-2.0
// What an alchemical atom has with another: written once, for hosts and GPUs.
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
    const double charges = now.slope_of_charges(scaled) * product;
    return charges == 0 ? 0 : charges * rest.energy;  // which may be infinite
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
      : now(op.conditions->lambdas), op_(op) {}

  // One that is near; false where it is beyond the cutoff, or no pair.
  QMD_HD bool near(const PlacedPair& placed, AlchemicalPair& pair) const {
    if (!put(placed, pair) || pair.r2 >= op_.core.cutoff2) return false;
    pair.soft = soft_lennard_jones(op_.core, pair.a, pair.b, now.van_der_waals, pair.r2);
    // Without charge, and no energies asked for, the potential is not needed.
    if (pair.product != 0 && (op_.energy || pair.scale != 0)) pair.rest = rest_of_mesh(pair.r2);
    return true;
  }

  // An excluded one, whose charges are taken back from the mesh.
  QMD_HD bool excluded(const PlacedPair& placed, AlchemicalPair& pair) const {
    if (!put(placed, pair)) return false;
    const SmoothValue smooth = smooth_coulomb(op_.smooth, pair.r2);
    pair.soft = {0, 0, 0};
    pair.rest = {-smooth.energy, -smooth.force};
    return true;
  }

  QMD_HD static int slot_of(uint32_t entry) { return static_cast<int>(entry & kSlotMask); }

  const Scales now;

 private:
  QMD_HD bool put(const PlacedPair& placed, AlchemicalPair& pair) const {
    if (placed.scaled == 0) return false;
    pair.way = place(placed.first) - place(placed.second);
    pair.r2 = dot(pair.way, pair.way);
    pair.a = placed.a;
    pair.b = placed.b;
    pair.product = placed.product;
    pair.scaled = placed.scaled;
    pair.scale = now.of_charges(placed.scaled);
    return true;
  }

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
};

}  // namespace quiltmd
