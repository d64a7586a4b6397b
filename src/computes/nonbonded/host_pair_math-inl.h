// SPDX-License-Identifier: Apache-2.0
// One i atom against one vector of j atoms, for the instruction set that is being compiled; included by
// host_pairs.cpp alone, once for each of them. Apart from its loops for the sake of short files.
#if defined(QUILTMD_HOST_PAIR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef QUILTMD_HOST_PAIR_MATH_INL_H
#undef QUILTMD_HOST_PAIR_MATH_INL_H
#else
#define QUILTMD_HOST_PAIR_MATH_INL_H
#endif

#include <hwy/highway.h>

#include "computes/nonbonded/host_pairs.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Df = hn::ScalableTag<float>;
using Di = hn::RebindToSigned<Df>;
using Vf = hn::Vec<Df>;
using Mf = hn::Mask<Df>;
constexpr Df df;
constexpr Di di;
using Field = ListScratch::Field;

// Pairs closer than this are computed as if they were this far apart (0.01 nm): finite, and still
// beyond any force that a time step survives.
constexpr float kClosest2 = 1e-4f;

// What Lennard-Jones terms an i atom has.
enum class Form { kNone, kLorentzBerthelot, kTable };

// The compile-time choices of a kernel: `degree` is that of the force polynomial.
template <Form form_, int degree_, bool energy_>
struct Variant {
  static constexpr Form form = form_;
  static constexpr int degree = degree_;
  static constexpr bool energy = energy_;
};

// One i atom, in every lane.
struct IAtom {
  Vf x, y, z, charge;
  Vf sigma, epsilon, epsilon6;  // halves as in slots.lj, and 6 epsilon
  const float* table;           // row of the table
  int index;                    // in its cluster
};

struct ISums {
  Vf x, y, z, lj, coulomb;
};

// A polynomial whose coefficients are in registers, as far as there are any.
template <int degree>
struct Polynomial {
  explicit HWY_INLINE Polynomial(const float* coefficients) {
    for (int k = 0; k <= degree; ++k) c[k] = hn::Set(df, coefficients[k]);
  }
  HWY_INLINE Vf operator()(Vf t) const {
    Vf sum = c[degree];
    for (int k = degree - 1; k >= 0; --k) sum = hn::MulAdd(sum, t, c[k]);
    return sum;
  }
  Vf c[degree + 1];
};

template <class V>
struct Parameters {
  explicit HWY_INLINE Parameters(const PairParameters& p)
      : cutoff2(hn::Set(df, p.cutoff2)),
        t_scale(hn::Set(df, p.t_scale)),
        lj_shift_6(hn::Set(df, p.lj_shift_6)),
        coulomb_shift(hn::Set(df, p.coulomb_shift)),
        force(p.ewald.force),
        energy(p.ewald.energy) {}
  Vf cutoff2, t_scale, lj_shift_6, coulomb_shift;
  Polynomial<V::degree> force;
  Polynomial<V::energy ? kEwaldDegree : 0> energy;
};

HWY_INLINE Vf inverse_sqrt(Vf x) {
  const Vf y = hn::ApproximateReciprocalSqrt(x);
  const Vf error = hn::NegMulAdd(hn::Mul(x, y), y, hn::Set(df, 1.0f));
#if HWY_TARGET <= HWY_AVX3  // 14 bits: one Newton step will do
  const Vf step = hn::Set(df, 0.5f);
#else  // 12 or 8 bits: a step of third order
  const Vf step = hn::MulAdd(error, hn::Set(df, 0.375f), hn::Set(df, 0.5f));
#endif
  return hn::MulAdd(hn::Mul(y, error), step, y);
}

struct LennardJones {
  Vf force;   // times r: 12 a/r^12 - 6 b/r^6
  Vf energy;  // shifted by its value at the cutoff, if wanted
};

template <class V>
HWY_INLINE LennardJones combine(const IAtom& i, Vf sigma_j, Vf epsilon_j, Vf inverse2,
                                const Parameters<V>& p) {
  const Vf sigma = hn::Add(i.sigma, sigma_j);
  const Vf sigma2 = hn::Mul(sigma, sigma);
  const Vf c2 = hn::Mul(sigma2, inverse2);
  const Vf c6 = hn::Mul(hn::Mul(c2, c2), c2);
  const Vf weight = hn::Mul(hn::Mul(i.epsilon6, epsilon_j), c6);
  LennardJones lj{hn::MulSub(weight, hn::Add(c6, c6), weight), hn::Zero(df)};
  if constexpr (V::energy) {
    const Vf at_cutoff = hn::Mul(hn::Mul(hn::Mul(sigma2, sigma2), sigma2), p.lj_shift_6);
    const Vf here = hn::MulSub(c6, c6, c6), there = hn::MulSub(at_cutoff, at_cutoff, at_cutoff);
    lj.energy = hn::Mul(hn::Mul(i.epsilon, epsilon_j), hn::Sub(here, there));
  }
  return lj;
}

template <class V>
HWY_INLINE LennardJones look_up(const IAtom& i, Vf type_j, Vf inverse2, const Parameters<V>& p) {
  const auto index = hn::ShiftLeft<1>(hn::BitCast(di, type_j));
  const Vf a12 = hn::GatherIndex(df, i.table, index);
  const Vf b6 = hn::GatherIndex(df, i.table + 1, index);
  const Vf inverse6 = hn::Mul(hn::Mul(inverse2, inverse2), inverse2);
  LennardJones lj{hn::Mul(inverse6, hn::MulSub(a12, inverse6, b6)), hn::Zero(df)};
  if constexpr (V::energy) {
    const Vf a = hn::Mul(a12, hn::Set(df, 1.0f / 12)), b = hn::Mul(b6, hn::Set(df, 1.0f / 6));
    lj.energy = hn::Sub(hn::Mul(inverse6, hn::MulSub(a, inverse6, b)),
                        hn::Mul(p.lj_shift_6, hn::MulSub(a, p.lj_shift_6, b)));
  }
  return lj;
}

// A block of j atoms: one vector of each field.
HWY_INLINE float* row(float* block, Field field) { return block + field * hn::Lanes(df); }
HWY_INLINE Vf load(float* block, Field field) { return hn::Load(df, row(block, field)); }
HWY_INLINE void store(Vf value, float* block, Field field) {
  hn::Store(value, df, row(block, field));
}

template <class V>
HWY_INLINE LennardJones lennard_jones(const IAtom& i, float* j, Vf inverse2,
                                      const Parameters<V>& p) {
  if constexpr (V::form == Form::kLorentzBerthelot) {
    return combine(i, load(j, Field::kSigma), load(j, Field::kEpsilon), inverse2, p);
  } else if constexpr (V::form == Form::kTable) {
    return look_up(i, load(j, Field::kSigma), inverse2, p);
  } else {
    return {hn::Zero(df), hn::Zero(df)};
  }
}

// One i atom against one block of j atoms.
template <bool masked, class V>
HWY_INLINE void add_block(const IAtom& i, float* j, const Parameters<V>& p, ISums& sums) {
  const Vf dx = hn::Sub(i.x, load(j, Field::kX));
  const Vf dy = hn::Sub(i.y, load(j, Field::kY));
  const Vf dz = hn::Sub(i.z, load(j, Field::kZ));
  const Vf distance2 = hn::MulAdd(dz, dz, hn::MulAdd(dy, dy, hn::Mul(dx, dx)));
  const Vf r2 = hn::Max(distance2, hn::Set(df, kClosest2));
  const Vf inverse = inverse_sqrt(r2);
  const Vf inverse2 = hn::Mul(inverse, inverse);
  const Vf qq = hn::Mul(i.charge, load(j, Field::kCharge));
  const Vf t = hn::MulSub(r2, p.t_scale, hn::Set(df, 1.0f));
  const LennardJones lj = lennard_jones(i, j, inverse2, p);

  Mf counts = hn::Lt(r2, p.cutoff2), interacts = counts;
  Vf bare = hn::Mul(hn::MulAdd(qq, inverse, lj.force), inverse2);
  if constexpr (masked) {
    const auto bits = hn::BitCast(di, load(j, Field::kBits));
    counts = hn::And(counts, hn::RebindMask(df, hn::TestBit(bits, hn::Set(di, 256 << i.index))));
    interacts = hn::RebindMask(df, hn::TestBit(bits, hn::Set(di, 1 << i.index)));
    bare = hn::IfThenElseZero(interacts, bare);
  }
  const Vf force = hn::IfThenElseZero(counts, hn::NegMulAdd(qq, p.force(t), bare));
  sums.x = hn::MulAdd(force, dx, sums.x);
  sums.y = hn::MulAdd(force, dy, sums.y);
  sums.z = hn::MulAdd(force, dz, sums.z);
  store(hn::NegMulAdd(force, dx, load(j, Field::kForceX)), j, Field::kForceX);
  store(hn::NegMulAdd(force, dy, load(j, Field::kForceY)), j, Field::kForceY);
  store(hn::NegMulAdd(force, dz, load(j, Field::kForceZ)), j, Field::kForceZ);

  if constexpr (V::energy) {
    Vf nearby = hn::Sub(inverse, p.coulomb_shift);
    if constexpr (masked) nearby = hn::IfThenElseZero(interacts, nearby);
    const Vf coulomb = hn::Mul(qq, hn::Sub(nearby, p.energy(t)));
    sums.coulomb = hn::Add(sums.coulomb, hn::IfThenElseZero(counts, coulomb));
    sums.lj = hn::Add(sums.lj, hn::IfThenElseZero(hn::And(counts, interacts), lj.energy));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#endif
