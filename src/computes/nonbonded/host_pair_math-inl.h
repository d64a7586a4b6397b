// SPDX-License-Identifier: Apache-2.0
// One i atom against one vector of j atoms, for the instruction set that is being compiled; included by
// host_pairs.cpp alone, once for each of them. Apart from its loops for the sake of short files.
#if defined(QUILTMD_HOST_PAIR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef QUILTMD_HOST_PAIR_MATH_INL_H
#undef QUILTMD_HOST_PAIR_MATH_INL_H
#else
#define QUILTMD_HOST_PAIR_MATH_INL_H
#endif

#include <type_traits>

#include "computes/nonbonded/host_lists-inl.h"
#include "computes/nonbonded/pair_forms.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

#define QMD_FORM HWY_INLINE
#include "computes/nonbonded/forms/list.h"
#undef QMD_FORM

// The number type of pair forms (forms/basics.h).
struct Simd {
  using Value = Vf;
  static constexpr bool kFolded = false;

  static HWY_INLINE Vf of(double value) { return hn::Set(df, static_cast<float>(value)); }
  static HWY_INLINE Vf of(Vf value) { return value; }
  static HWY_INLINE Vf negative(Vf value) { return hn::Neg(value); }
  // For x up to 127: the sum with 1.5 * 2^23 leaves the rounded x in its low bits.
  static HWY_INLINE Vf exp2(Vf x) {
    const Vf magic = hn::Set(df, 12582912.0f), least = hn::Max(x, hn::Set(df, -126.0f));
    const Vf shifted = hn::Add(least, magic);
    const Vf fraction = exp2_fraction<Simd>(hn::Sub(least, hn::Sub(shifted, magic)));
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
    return hn::BitCast(df, hn::Add(hn::BitCast(di, fraction), exponent));
  }
  // For positive normal x: the exponent such that the rest is from sqrt(1/2) to sqrt(2).
  static HWY_INLINE Vf log2(Vf x) {
    const auto bits = hn::BitCast(di, x);
    const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
    const Vf rest = hn::BitCast(df, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
    return hn::Add(hn::ConvertTo(df, exponent),
                   log2_fraction<Simd>(hn::Sub(rest, hn::Set(df, 1.0f))));
  }
  static HWY_INLINE Vf multiply_add(Vf a, Vf b, Vf c) { return hn::MulAdd(a, b, c); }
  static HWY_INLINE Vf multiply_subtract(Vf a, Vf b, Vf c) { return hn::MulSub(a, b, c); }
  static HWY_INLINE Vf negative_multiply_add(Vf a, Vf b, Vf c) { return hn::NegMulAdd(a, b, c); }
  static HWY_INLINE Vf floor(Vf x) { return hn::Floor(x); }
  static HWY_INLINE Vf minimum(Vf a, Vf b) { return hn::Min(a, b); }
  static HWY_INLINE Vf maximum(Vf a, Vf b) { return hn::Max(a, b); }
  static HWY_INLINE Vf saturated(Vf x) { return minimum(maximum(x, of(0)), of(1)); }
  static HWY_INLINE Vf if_less(Vf x, Vf y, Vf yes, Vf no) {
    return hn::IfThenElse(hn::Lt(x, y), yes, no);
  }
  template <class M>
  static HWY_INLINE Vf if_or_zero(const M& interacts, Vf a) {
    if constexpr (std::is_same_v<M, Always>) {
      return a;
    } else {
      return hn::IfThenElseZero(interacts, a);
    }
  }

  using Row = const float*;  // of the table
  template <int kCount>
  static HWY_INLINE Row row(Float2 own, const float* table, int types) {
    return table + static_cast<ptrdiff_t>(hwy::BitCastScalar<int32_t>(own.x)) * types * kCount;
  }
  template <int kCount, class P>
  static HWY_INLINE Numbers<Simd, kCount> look_up(Row i, Vf j, const P&, const float*) {
    static_assert(kCount == 2 || kCount == 4, "kNumbers of a pair form must be 2 or 4");
    const auto index = hn::ShiftLeft<kCount == 2 ? 1 : 2>(hn::BitCast(di, j));
    return gather<kCount>(i, index);
  }
  static HWY_INLINE Numbers<Simd, 4> knot(const float* table, Vf place) {
    return gather<4>(table, hn::ShiftLeft<2>(hn::ConvertTo(di, place)));
  }
  template <int kCount>
  static HWY_INLINE Numbers<Simd, kCount> gather(const float* from, hn::Vec<Di> index) {
    Numbers<Simd, kCount> numbers;
    for (int k = 0; k < kCount; ++k) numbers.v[k] = hn::GatherIndex(df, from + k, index);
    return numbers;
  }
};

// For i atoms that have no part in the pair form.
struct NoForm {
  template <class N>
  struct Site {};
  template <class N>
  static HWY_INLINE Site<N> site(Float2, const float*, int) {
    return {};
  }
  template <bool energy, class N, class P>
  static HWY_INLINE Interaction<N> evaluate(Site<N>, Vf, Vf, const Distance<N>&, const P&,
                                            const float*) {
    return {hn::Zero(df), hn::Zero(df)};
  }
};

// The compile-time choices of a kernel: `degree` is that of the force polynomial.
template <class Form_, int degree_, bool energy_>
struct Variant {
  using Form = Form_;
  static constexpr bool has_form = !std::is_same_v<Form, NoForm>;
  static constexpr int degree = degree_;
  static constexpr bool energy = energy_;
};

// One i atom, in every SIMD lane.
template <class Form>
struct IAtom {
  Vf x, y, z, charge;
  typename Form::template Site<Simd> form;
  int index;  // in its cluster
};

struct ISums {
  Vf x, y, z, form, coulomb;
};

// Coefficients of a polynomial in registers, as far as there are any.
template <int degree>
struct Polynomial {
  explicit HWY_INLINE Polynomial(const float* coefficients) {
    for (int k = 0; k <= degree; ++k) c[k] = hn::Set(df, coefficients[k]);
  }
  Vf c[degree + 1];
};

template <class V>
struct Parameters {
  HWY_INLINE Parameters(const PairParameters& p, const float* of_form)
      : table(of_form),
        cutoff2(hn::Set(df, V::has_form ? p.cutoff2 : p.coulomb_cutoff2)),
        coulomb_cutoff2(hn::Set(df, p.coulomb_cutoff2)),
        t_scale(hn::Set(df, p.t_scale)),
        shift_6(hn::Set(df, p.shift_6)),
        coulomb_shift(hn::Set(df, p.coulomb_shift)),
        force(p.ewald.force),
        energy(p.ewald.energy),
        switching(p.switching),
        on_mesh(p.on_mesh) {}
  const float* table;
  Vf cutoff2, coulomb_cutoff2, t_scale, shift_6, coulomb_shift;
  Polynomial<V::degree> force;
  Polynomial<V::energy ? kEwaldDegree : 0> energy;
  SwitchConstants<float> switching;
  const DispersionPolynomial& on_mesh;
};

// Entries of a block: with masks, without masks, or beyond the Coulomb cutoff.
enum class Part { kMasked, kPlain, kApart };

// One i atom against one block of j atoms.
template <Part part, class V>
HWY_INLINE void add_block(const IAtom<typename V::Form>& i, float* j, const Parameters<V>& p,
                          ISums& sums) {
  const Vf dx = hn::Sub(i.x, load(j, Field::kX));
  const Vf dy = hn::Sub(i.y, load(j, Field::kY));
  const Vf dz = hn::Sub(i.z, load(j, Field::kZ));
  const Vf distance2 = hn::MulAdd(dz, dz, hn::MulAdd(dy, dy, hn::Mul(dx, dx)));
  const Vf r2 = hn::Max(distance2, hn::Set(df, kClosest2));
  const Vf inverse = inverse_sqrt(r2);
  const Distance<Simd> r{r2, inverse, hn::Mul(inverse, inverse)};
  constexpr bool masked = part == Part::kMasked;
  Vf qq = hn::Zero(df);
  if constexpr (part != Part::kApart) qq = hn::Mul(i.charge, load(j, Field::kCharge));
  if constexpr (part != Part::kApart && V::has_form)
    qq = hn::IfThenElseZero(hn::Lt(r2, p.coulomb_cutoff2), qq);
  const Vf t = hn::MulSub(r2, p.t_scale, hn::Set(df, 1.0f));
  const auto pair = V::Form::template evaluate<V::energy, Simd>(
      i.form, load(j, Field::kFirst), load(j, Field::kSecond), r, p, p.table);

  Mf counts = hn::Lt(r2, p.cutoff2);
  std::conditional_t<masked, Mf, Always> interacts;
  if constexpr (masked) {
    const auto bits = hn::BitCast(di, load(j, Field::kBits));
    counts = hn::And(counts, hn::RebindMask(df, hn::TestBit(bits, hn::Set(di, 256 << i.index))));
    interacts = hn::RebindMask(df, hn::TestBit(bits, hn::Set(di, 1 << i.index)));
  }
  Vf both = hn::Mul(pair.force_r, r.inverse2);
  if constexpr (part != Part::kApart)
    both = coulomb_and_form_force<Simd, V::degree>(pair.force_r, qq, r, t, interacts, p.force.c);
  [[maybe_unused]] Vf product;
  if constexpr (FormOnMesh<typename V::Form>) {
    product = V::Form::template product<Simd>(i.form, load(j, Field::kFirst),
                                              load(j, Field::kSecond), p, p.table);
    both = hn::Add(both, force_off_mesh<Simd>(product, t, p));
  }
  const Vf force = hn::IfThenElseZero(counts, both);
  sums.x = hn::MulAdd(force, dx, sums.x);
  sums.y = hn::MulAdd(force, dy, sums.y);
  sums.z = hn::MulAdd(force, dz, sums.z);
  store(hn::NegMulAdd(force, dx, load(j, Field::kForceX)), j, Field::kForceX);
  store(hn::NegMulAdd(force, dy, load(j, Field::kForceY)), j, Field::kForceY);
  store(hn::NegMulAdd(force, dz, load(j, Field::kForceZ)), j, Field::kForceZ);

  if constexpr (V::energy) {
    if constexpr (part != Part::kApart) {
      const Vf coulomb =
          coulomb_energy<Simd, kEwaldDegree>(qq, r, t, interacts, p.coulomb_shift, p.energy.c);
      sums.coulomb = hn::Add(sums.coulomb, hn::IfThenElseZero(counts, coulomb));
    }
    Vf energy = Simd::if_or_zero(interacts, pair.energy);
    if constexpr (FormOnMesh<typename V::Form>)
      energy = hn::Add(energy, energy_off_mesh<Simd>(product, t, interacts, p));
    sums.form = hn::Add(sums.form, hn::IfThenElseZero(counts, energy));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#endif
