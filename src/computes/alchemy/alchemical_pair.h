// SPDX-License-Identifier: Apache-2.0
// What an alchemical atom has with another: written once, for hosts and GPUs.
//
// Positions are exact, and whatever is made of them is in double precision.
#pragma once

#include "computes/alchemy/operations.h"
#include "math/symmetric.h"

namespace quiltmd {

// The coordinates of a state that pairs depend on.
struct Scales {
  double charge, van_der_waals;

  QMD_HD explicit Scales(const Lambdas& lambdas)
      : charge(lambdas.of[kLambdaCoulomb]), van_der_waals(lambdas.of[kLambdaVdw]) {}
};

// Fraction of an atom's van der Waals interactions that is gone.
QMD_HD double absent(Core core, double lambda) {
  return core == Core::kAppears ? 1 - lambda : lambda;
}

// A product that may be of zero and infinity: the potential where atoms meet.
QMD_HD double energy_of(double charges, double potential) {
  return charges == 0 ? 0 : charges * potential;
}

// A pair at the present state, with a soft core of this form.
template <class Form>
struct AlchemicalPair {
  Vec3d way;  // from the other atom to the alchemical one
  double r2;
  TwoEnds ends;
  SoftValue soft;         // Lennard-Jones
  ChargeProduct product;  // of charges
  double charges;         // this product now
  Core core;
  SoftCharges softened;  // how
  SoftValue direct;      // potential of unit charges
  SmoothValue smooth;    // of unit charges: the part of the mesh and a shift

  QMD_HD bool has_charge() const { return charges != 0; }
  // Over r.
  QMD_HD double force() const { return soft.force + (has_charge() ? charges * direct.force : 0); }
  QMD_HD double coulomb() const { return energy_of(charges, direct.energy); }
  QMD_HD double slope(Lambda by, const Scales& now) const {
    if (by == kLambdaCoulomb) return energy_of(product.slope(now.charge), direct.energy);
    if (by != kLambdaVdw) return 0;
    const double charged = energy_of(charges, direct.slope);
    return soft.slope + (core == Core::kAppears ? charged : -charged);
  }
  // The energy at a state less that now.
  QMD_HD double change(const SoftCore& limits, const Scales& now, const Scales& state) const {
    double sum = 0;
    const bool moves = state.van_der_waals != now.van_der_waals;
    if (moves)
      sum = soft_lennard_jones<Form>(limits, ends, state.van_der_waals, r2).energy - soft.energy;
    const bool softens = moves && softened.alpha != 0;
    if (product.is_zero() || (state.charge == now.charge && !softens)) return sum;
    const double there =
        softens ? soft_coulomb<Form>(softened, absent(core, state.van_der_waals), smooth, r2).energy
                : direct.energy;
    return sum + energy_of(product.at(state.charge), there) - coulomb();
  }
};

// The pairs of an operation, at the present state.
template <class Form>
class AlchemicalPairs {
 public:
  QMD_HD explicit AlchemicalPairs(const AlchemicalForces& op)
      : now(op.conditions->lambdas), op_(op) {}

  // One that is near; false where it is beyond the cutoff, or no pair.
  QMD_HD bool near(const PlacedPair& placed, AlchemicalPair<Form>& pair) const {
    if (!put(placed, pair) || pair.r2 >= op_.core.cutoff2) return false;
    pair.soft = soft_lennard_jones<Form>(op_.core, pair.ends, now.van_der_waals, pair.r2);
    // Without charges, and without a request for energies, the potential is not needed.
    if (pair.has_charge() || (op_.energy && !pair.product.is_zero())) put_charges(pair);
    return true;
  }

  // An excluded one, whose charges are taken back from the mesh.
  QMD_HD bool excluded(const PlacedPair& placed, AlchemicalPair<Form>& pair) const {
    if (!put(placed, pair)) return false;
    pair.soft = {0, 0, 0};
    pair.smooth = smooth_coulomb(op_.smooth, pair.r2);
    pair.direct = {-pair.smooth.energy, -pair.smooth.force, 0};
    return true;
  }

  const Scales now;

 private:
  QMD_HD bool put(const PlacedPair& placed, AlchemicalPair<Form>& pair) const {
    if (placed.core == Core::kNoPair) return false;
    pair.way = place(placed.first) - place(placed.second);
    pair.r2 = dot(pair.way, pair.way);
    pair.ends = placed.ends;
    pair.product = placed.product;
    pair.charges = placed.product.at(now.charge);
    pair.core = placed.core;
    pair.softened = {0, 0, 0, 0};
    return true;
  }

  QMD_HD Vec3d place(uint32_t entry) const {
    const Float4 high = op_.slots.local[slot_of(entry)], low = op_.slots.low[slot_of(entry)];
    const Vec3d within{static_cast<double>(high.x) + low.x, static_cast<double>(high.y) + low.y,
                       static_cast<double>(high.z) + low.z};
    return within + op_.grid.exact_shifts[entry >> kSlotBits];
  }

  QMD_HD void put_charges(AlchemicalPair<Form>& pair) const {
    if (pair.core != Core::kHard)
      pair.softened = soft_charges(op_.core, pair.ends, pair.product, pair.core == Core::kAppears);
    pair.smooth = smooth_coulomb(op_.smooth, pair.r2);
    pair.smooth.energy += op_.coulomb_shift;
    pair.direct = soft_coulomb<Form>(pair.softened, absent(pair.core, now.van_der_waals),
                                     pair.smooth, pair.r2);
  }

  const AlchemicalForces& op_;
};

}  // namespace quiltmd
