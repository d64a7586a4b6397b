// SPDX-License-Identifier: Apache-2.0
// The Coulomb interaction, in one form for every method: force/r = qq (1/r^3 - P(r^2)), energy =
// qq (1/r - Q(r^2)), P and Q the polynomials of ewald_polynomial.h in t = 2 r^2/cutoff^2 - 1. An
// excluded pair keeps -P and -Q alone, which removes what the reciprocal sum put in.

// A pair that no exclusion can concern.
struct Always {};

// Force over r. Excluded pairs (not `interacts`) keep what the reciprocal sum calls for. The constant
// of the polynomial is folded into the first product: P = polynomial[0] + t * smooth.
template <class N, int kDegree, class Mask, class C>
QMD_FORM typename N::Value coulomb_force(typename N::Value qq, const Distance<N>& r,
                                         typename N::Value t, const Mask& interacts,
                                         const C& polynomial) {
  const auto smooth = horner<N, kDegree, 1>(polynomial, t);
  const auto constant = N::negative(N::of(polynomial[0]));
  const auto bare = N::multiply_add(r.inverse2, r.inverse, constant);
  return qq * N::multiply_add(N::negative(smooth), t, N::choose(interacts, bare, constant));
}

// The same and the force of the pair form, given times r, where both are divided by r^2 at once: an
// operation less where every pair has a form.
template <class N, int kDegree, class Mask, class C>
QMD_FORM typename N::Value coulomb_and_form_force(typename N::Value form_r, typename N::Value qq,
                                                  const Distance<N>& r, typename N::Value t,
                                                  const Mask& interacts, const C& polynomial) {
  const auto bare = N::multiply_add(qq, r.inverse, form_r) * r.inverse2;
  return N::negative_multiply_add(qq, horner<N, kDegree>(polynomial, t),
                                  N::if_or_zero(interacts, bare));
}

// The energy; `shift`: 1/r at the cutoff (of the direct sum) where the potential is shifted.
template <class N, int kDegree, class Mask, class C>
QMD_FORM typename N::Value coulomb_energy(typename N::Value qq, const Distance<N>& r,
                                          typename N::Value t, const Mask& interacts,
                                          typename N::Value shift, const C& polynomial) {
  const auto bare = N::if_or_zero(interacts, r.inverse - shift);
  return qq * (bare - horner<N, kDegree>(polynomial, t));
}
