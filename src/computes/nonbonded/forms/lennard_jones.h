// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones: E = a/r^12 - b/r^6, or 4 eps ((sigma/r)^12 - (sigma/r)^6).

struct LennardJones {
  static constexpr const char* kName = "lennard-jones";
  // Tables of the system by pair of types, and numbers that kernels look up for a pair of types.
  static constexpr int kTables = 2, kNumbers = 2;
  using Given = std::array<double, kTables>;  // a, b

  static constexpr bool ends_as(Switching kind) { return kind == Switching::kNone; }
  // Why parameters are refused, or null.
  static const char* problem(const Given&, const NonbondedSettings&) { return nullptr; }

  static std::array<double, kNumbers> numbers(const Given& ab, const NonbondedSettings&) {
    return {12 * ab[0], 6 * ab[1]};
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P& p) {
    const auto a12 = n.v[0], b6 = n.v[1];
    const auto inverse6 = cube(r.inverse2);
    Interaction<N> lj{inverse6 * N::multiply_subtract(a12, inverse6, b6), N::of(0)};
    if constexpr (kEnergy) {
      const auto a = a12 * N::of(1.0 / 12), b = b6 * N::of(1.0 / 6);
      lj.energy = inverse6 * N::multiply_subtract(a, inverse6, b) -
                  p.shift_6 * N::multiply_subtract(a, p.shift_6, b);
    }
    return lj;
  }

  template <class N>
  static QMD_FORM typename N::Value well(typename N::Value y) {
    return N::multiply_subtract(y, y, N::of(2) * y);
  }
  // The same by the combination rules, for ByRule.
  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> by_rule(const ByRulePair<N>& pair, const Distance<N>&,
                                         const P& p) {
    const auto scaled = pair.y * pair.twelve_eps;
    Interaction<N> lj{N::multiply_subtract(pair.y, scaled, scaled), N::of(0)};
    if constexpr (kEnergy) {
      const auto at_cutoff = ratio_doubled<N>(cube(pair.sigma * pair.sigma) * p.shift_6);
      lj.energy = pair.eps * (well<N>(pair.y) - well<N>(at_cutoff));
    }
    return lj;
  }

  static double energy(const Given& ab, double r) {
    return ab[0] * std::pow(r, -12) - ab[1] * std::pow(r, -6);
  }
  // The integral of E r^2 from the cutoff to infinity.
  static double tail(const Given& ab, double cutoff) {
    const double cutoff3 = cutoff * cutoff * cutoff;
    return ab[0] / (9 * cutoff3 * cutoff3 * cutoff3) - ab[1] / (3 * cutoff3);
  }
};
