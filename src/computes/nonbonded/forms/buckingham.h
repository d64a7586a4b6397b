// SPDX-License-Identifier: Apache-2.0
// Buckingham, or exp-6: E = A exp(-B r) - C/r^6 (Buckingham, Proc. R. Soc. London A 168, 264 (1938)).
// It has a barrier at short distance and falls to minus infinity within; nothing is put in the way of
// atoms that cross it. Parameters without a barrier are refused.

struct Buckingham {
  static constexpr const char* kName = "buckingham";
  static constexpr int kTables = 3, kNumbers = 4;
  using Given = std::array<double, kTables>;  // A, B, C

  static constexpr bool ends_as(Switching kind) { return kind == Switching::kNone; }
  static const char* problem(const Given& abc, const NonbondedSettings&) {
    const auto [a, b, c] = abc;
    if (a < 0 || c < 0 || (a > 0 && b <= 0))
      return "A and C must not be negative, and B must be positive";
    if (c > 0 && a * b * std::pow(7 / b, 7) * std::exp(-7) <= 6 * c)
      return "attraction exceeds repulsion at every distance: nothing keeps the atoms apart";
    return nullptr;
  }

  // A, B for powers of two, C, and the energy at the cutoff that a shift takes away.
  static std::array<double, kNumbers> numbers(const Given& abc, const NonbondedSettings& settings) {
    const double shift = settings.potential_shift ? energy(abc, settings.cutoff) : 0;
    return {abc[0], abc[1] / std::numbers::ln2, abc[2], shift};
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P&) {
    const auto power = n.v[1] * (r.square * r.inverse);
    const auto repulsion = n.v[0] * N::exp2(N::negative(power));
    const auto attraction = n.v[2] * cube(r.inverse2);
    Interaction<N> pair{
        N::multiply_subtract(power * N::of(std::numbers::ln2), repulsion, N::of(6) * attraction),
        N::of(0)};
    if constexpr (kEnergy) pair.energy = repulsion - attraction - n.v[3];
    return pair;
  }

  static double energy(const Given& abc, double r) {
    return abc[0] * std::exp(-abc[1] * r) - abc[2] * std::pow(r, -6);
  }
  // The integral of E r^2 from the cutoff to infinity.
  static double tail(const Given& abc, double cutoff) {
    const auto [a, b, c] = abc;
    const double attraction = c / (3 * cutoff * cutoff * cutoff);
    if (a == 0) return -attraction;
    const double x = b * cutoff;
    return a * std::exp(-x) * (x * x + 2 * x + 2) / (b * b * b) - attraction;
  }
};
