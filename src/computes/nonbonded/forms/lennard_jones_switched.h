// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones that ends smoothly: between the switching distance and the cutoff the energy is
// multiplied by a polynomial (kPotential, kCharmm), or the force goes to zero while below only a
// constant is added to the energy (kCharmmForce, kGromacsForce).

// Factors of a/r^12 and b/r^6 in r times the force (12 a/r^12 - 6 b/r^6) and in the energy (a/r^12
// - b/r^6), at a distance. They are the same for all pairs, so a kernel spends little time on
// them.
template <class N>
struct Ending {
  typename N::Value force_12, force_6, energy_12, energy_6;
};

// E has the ending at a distance, and its constants are p.switching; `kEnergy`: with energies.
template <class E>
struct SwitchedLennardJones : LennardJones {
  static constexpr bool ends_as(Switching kind) { return kind == E::kKind; }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P& p) {
    const Ending<N> end = E::template at<kEnergy, N>(r, p.switching);
    const auto inverse6 = cube(r.inverse2);
    const auto a12 = n.v[0] * inverse6, b6 = n.v[1];
    Interaction<N> lj{inverse6 * N::multiply_subtract(a12, end.force_12, b6 * end.force_6),
                      N::of(0)};
    if constexpr (kEnergy) {
      const auto a = a12 * N::of(1.0 / 12), b = b6 * N::of(1.0 / 6);
      lj.energy = inverse6 * N::multiply_subtract(a, end.energy_12, b * end.energy_6);
    }
    return lj;
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> by_rule(const ByRulePair<N>& pair, const Distance<N>& r,
                                         const P& p) {
    const Ending<N> end = E::template at<kEnergy, N>(r, p.switching);
    Interaction<N> lj{
        pair.y * pair.twelve_eps * N::multiply_subtract(pair.y, end.force_12, end.force_6),
        N::of(0)};
    if constexpr (kEnergy) {
      lj.energy = pair.eps * pair.y *
                  N::multiply_subtract(pair.y, end.energy_12, end.energy_6 + end.energy_6);
    }
    return lj;
  }
};

// E S(x), x from 0 at the switching distance to 1 at the cutoff. Then r times the force of 1/r^m has
// the factor S - r (dS/dr) / m, a polynomial in x as well. S = 1 - 10 x^3 + 15 x^4 - 6 x^5, x linear in r (OpenMM; GROMACS' potential-switch).
struct PotentialSwitch {
  static constexpr Switching kKind = Switching::kPotential;

  template <bool kEnergy, class N, class C>
  static QMD_FORM Ending<N> at(const Distance<N>& r, const C& c) {
    const auto linear = N::multiply_subtract(N::of(c.scale), r.square * r.inverse, N::of(c.start));
    const auto x = N::saturated(linear), x2 = x * x;
    const auto one_and = [&](auto higher) { return N::multiply_add(x2, higher, N::of(1)); };
    Ending<N> end{one_and(horner<N, 5, 2>(c.force_12, x)), one_and(horner<N, 5, 2>(c.force_6, x)),
                  N::of(0), N::of(0)};
    if constexpr (kEnergy) end.energy_12 = end.energy_6 = one_and(horner<N, 5, 2>(c.energy, x));
    return end;
  }
};

// E S(x) likewise, S = (1 - x)^2 (1 + 2 x), x linear in r^2 (CHARMM's vswitch, Brooks et al., J.
// Comput. Chem. 4, 187 (1983)). With s such that x + s is proportional to r^2, the force has the
// factor f = (1 - x) (1 + (1 + 2 s) x) for 1/r^6 and f - (x + s) x (1 - x) for 1/r^12.
struct CharmmSwitch {
  static constexpr Switching kKind = Switching::kCharmm;

  template <bool kEnergy, class N, class C>
  static QMD_FORM Ending<N> at(const Distance<N>& r, const C& c) {
    const auto x = N::saturated(N::multiply_subtract(N::of(c.scale), r.square, N::of(c.start)));
    const auto rest = N::of(1) - x, product = x * rest;
    const auto sixth = N::multiply_add(product, N::of(c.slope_6), rest);
    const auto twelfth = N::multiply_add(N::negative(x + N::of(c.start)), product, sixth);
    Ending<N> end{twelfth, sixth, N::of(0), N::of(0)};
    if constexpr (kEnergy) end.energy_12 = end.energy_6 = rest * (rest + (product + product));
    return end;
  }
};

// CHARMM's vfswitch (Steinbach and Brooks, J. Comput. Chem. 15, 667 (1994)): of r^-12 and r^-6 remain
// beyond the switching distance r_s
//   k12 (r^-6 - r_c^-6)^2,  k6 (r^-3 - r_c^-3)^2;  k_2n = r_c^n / (r_c^n - r_s^n),
// and below r^-2n - (r_c r_s)^-n.
struct CharmmForceSwitch {
  static constexpr Switching kKind = Switching::kCharmmForce;

  template <bool kEnergy, class N, class C>
  static QMD_FORM Ending<N> at(const Distance<N>& r, const C& c) {
    const auto r3 = r.square * (r.square * r.inverse), r6 = r3 * r3;
    const auto twelfth = N::multiply_subtract(N::of(-c.cutoff_6), r6, N::of(-1));
    const auto sixth = N::multiply_subtract(N::of(-c.cutoff_3), r3, N::of(-1));
    const auto k12 = N::of(c.k12) * twelfth, k6 = N::of(c.k6) * sixth;
    const auto ended = [&](auto beyond, auto below) {
      return N::if_less(r.square, N::of(c.start2), below, beyond);
    };
    Ending<N> end{ended(k12, N::of(1)), ended(k6, N::of(1)), N::of(0), N::of(0)};
    if constexpr (kEnergy) {
      end.energy_12 =
          ended(k12 * twelfth, N::multiply_subtract(N::of(-c.shift_12), r6 * r6, N::of(-1)));
      end.energy_6 = ended(k6 * sixth, N::multiply_subtract(N::of(-c.shift_6), r6, N::of(-1)));
    }
    return end;
  }
};

// GROMACS' force-switch (van der Spoel and van Maaren, J. Chem. Theory Comput. 2, 1 (2006); GROMACS
// Reference Manual, "Modified non-bonded interactions"): to the force m/r^(m+1) of 1/r^m, m = 12 and
// 6, a_m x^2 + b_m x^3 is added, x = r - r_s beyond the switching distance, so that it and its slope
// vanish at the cutoff; the energy is shifted to end at zero.
struct GromacsForceSwitch {
  static constexpr Switching kKind = Switching::kGromacsForce;

  template <bool kEnergy, class N, class C>
  static QMD_FORM Ending<N> at(const Distance<N>& r, const C& c) {
    const auto distance = r.square * r.inverse, r6 = cube(r.square);
    const auto x = N::maximum(distance - N::of(c.start), N::of(0)), x2 = x * x;
    const auto added_6 = distance * x2 * r6, added_12 = added_6 * r6;
    const auto twelfth = N::multiply_add(N::of(c.third_12), x, N::of(c.second_12));
    const auto sixth = N::multiply_add(N::of(c.third_6), x, N::of(c.second_6));
    Ending<N> end{N::multiply_add(added_12, twelfth, N::of(1)),
                  N::multiply_add(added_6, sixth, N::of(1)), N::of(0), N::of(0)};
    if constexpr (kEnergy) {
      const auto x3 = x2 * x, third = N::of(1.0 / 3), fourth = N::of(0.25) * x;
      const auto of_12 =
          x3 * N::multiply_add(N::of(c.third_12), fourth, N::of(c.second_12) * third);
      const auto of_6 = x3 * N::multiply_add(N::of(c.third_6), fourth, N::of(c.second_6) * third);
      end.energy_12 = N::of(1) - r6 * r6 * (N::of(12) * of_12 + N::of(c.shift_12));
      end.energy_6 = N::of(1) - r6 * (N::of(6) * of_6 + N::of(c.shift_6));
    }
    return end;
  }
};

using PotentialSwitched = SwitchedLennardJones<PotentialSwitch>;
using CharmmSwitched = SwitchedLennardJones<CharmmSwitch>;
using CharmmForceSwitched = SwitchedLennardJones<CharmmForceSwitch>;
using GromacsForceSwitched = SwitchedLennardJones<GromacsForceSwitch>;
