// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones that ends smoothly: between the switching distance and the cutoff the energy is
// multiplied by a polynomial (kPotential, kCharmm), or the force goes to zero while below only a
// constant is added to the energy (kCharmmForce, kGromacsForce). Parameters are looked up by types: the force fields
// made with it have pairs beyond a combination rule (NBFIX).

// E S(x), S = 1 + c2 x^2 + c3 x^3 + c4 x^4 + c5 x^5, x from 0 at the switching distance to 1 at the
// cutoff. kPotential: S = 1 - 10 x^3 + 15 x^4 - 6 x^5, x linear in r (OpenMM; GROMACS' potential-switch).
// kCharmm: S = (1 - x)^2 (1 + 2 x), x linear in r^2 (CHARMM's vswitch, Brooks et al., J. Comput. Chem.
// 4, 187 (1983)).
struct LennardJonesSwitched : LennardJones {
  static constexpr bool ends_as(Switching kind) {
    return kind == Switching::kPotential || kind == Switching::kCharmm;
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P& p) {
    const auto& s = p.switching;
    const auto a12 = n.v[0], b6 = n.v[1];
    const auto inverse6 = cube(r.inverse2);
    const auto energy =
        inverse6 * N::multiply_subtract(a12 * N::of(1.0 / 12), inverse6, b6 * N::of(1.0 / 6));
    const auto linear = N::of(s.per_r) * (r.square * r.inverse);
    const auto square = N::of(s.per_r2) * r.square;
    const auto x = N::maximum(linear + square - N::of(s.start), N::of(0));
    const auto higher = N::multiply_add(N::of(s.c5), x, N::of(s.c4));
    const auto factor = N::multiply_add(
        x * x, N::multiply_add(x, N::multiply_add(x, higher, N::of(s.c3)), N::of(s.c2)), N::of(1));
    const auto slope =
        x * N::multiply_add(x,
                            N::multiply_add(x, N::multiply_add(N::of(5 * s.c5), x, N::of(4 * s.c4)),
                                            N::of(3 * s.c3)),
                            N::of(2 * s.c2));
    const auto full = inverse6 * N::multiply_subtract(a12, inverse6, b6);
    Interaction<N> lj{
        N::multiply_subtract(full, factor, energy * slope * (linear + square + square)), N::of(0)};
    if constexpr (kEnergy) lj.energy = energy * factor;
    return lj;
  }
};

// kCharmmForce, CHARMM's vfswitch (Steinbach and Brooks, J. Comput. Chem. 15, 667 (1994)): of r^-12 and
// r^-6 remain beyond the switching distance r_s
//   k12 (r^-6 - r_c^-6)^2,  k6 (r^-3 - r_c^-3)^2;  k_2n = r_c^n / (r_c^n - r_s^n),
// and below r^-2n - (r_c r_s)^-n.
struct LennardJonesForceSwitched : LennardJones {
  static constexpr bool ends_as(Switching kind) { return kind == Switching::kCharmmForce; }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P& p) {
    const auto& s = p.switching;
    const auto inverse3 = r.inverse2 * r.inverse, inverse6 = inverse3 * inverse3;
    const auto start2 = N::of(s.start2);
    const auto beyond = [&](auto there, auto below) {
      return N::if_less(r.square, start2, N::of(below), N::of(there));
    };
    const auto twelfth = inverse6 - beyond(s.cutoff_6, 0.0f);
    const auto sixth = inverse3 - beyond(s.cutoff_3, 0.0f);
    const auto a12 = n.v[0] * beyond(s.k12, 1.0f), b6 = n.v[1] * beyond(s.k6, 1.0f);
    Interaction<N> lj{N::multiply_subtract(a12 * twelfth, inverse6, b6 * sixth * inverse3),
                      N::of(0)};
    if constexpr (kEnergy) {
      const auto constant = N::multiply_subtract(n.v[0] * N::of(1.0 / 12), beyond(0.0f, s.shift_12),
                                                 n.v[1] * N::of(1.0 / 6) * beyond(0.0f, s.shift_6));
      lj.energy = N::multiply_subtract(a12 * N::of(1.0 / 12) * twelfth, twelfth,
                                       b6 * N::of(1.0 / 6) * sixth * sixth) -
                  constant;
    }
    return lj;
  }
};

// kGromacsForce, GROMACS' force-switch (van der Spoel and van Maaren, J. Chem. Theory Comput. 2, 1 (2006);
// GROMACS Reference Manual, "Modified non-bonded interactions"): to the force m/r^(m+1) of 1/r^m, m = 12
// and 6, a_m x^2 + b_m x^3 is added, x = r - r_s beyond the switching distance, so that it and its slope
// vanish at the cutoff; the energy is shifted to end at zero.
struct LennardJonesGromacsSwitched : LennardJones {
  static constexpr bool ends_as(Switching kind) { return kind == Switching::kGromacsForce; }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P& p) {
    const auto& s = p.switching;
    const auto a12 = n.v[0], b6 = n.v[1];
    const auto inverse6 = cube(r.inverse2), distance = r.square * r.inverse;
    const auto x = N::maximum(distance - N::of(s.start), N::of(0)), x2 = x * x;
    const auto twelfth = N::multiply_add(N::of(s.third_12), x, N::of(s.second_12));
    const auto sixth = N::multiply_add(N::of(s.third_6), x, N::of(s.second_6));
    const auto full = inverse6 * N::multiply_subtract(a12, inverse6, b6);
    const auto added = N::multiply_subtract(a12, twelfth, b6 * sixth);
    Interaction<N> lj{N::multiply_add(distance * x2, added, full), N::of(0)};
    if constexpr (kEnergy) {
      const auto x3 = x2 * x, third = N::of(1.0 / 3), fourth = N::of(0.25) * x;
      const auto of_12 =
          x3 * N::multiply_add(N::of(s.third_12), fourth, N::of(s.second_12) * third);
      const auto of_6 = x3 * N::multiply_add(N::of(s.third_6), fourth, N::of(s.second_6) * third);
      const auto twelve = N::multiply_subtract(inverse6 * N::of(1.0 / 12), inverse6, of_12);
      const auto six = N::multiply_subtract(inverse6, N::of(1.0 / 6), of_6);
      lj.energy = N::multiply_subtract(a12, twelve - N::of(s.shift_12 / 12),
                                       b6 * (six - N::of(s.shift_6 / 6)));
    }
    return lj;
  }
};
