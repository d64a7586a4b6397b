// SPDX-License-Identifier: Apache-2.0
// Morse: E = D (x^2 - 2 x), x = exp(-a (r - r0)): a well of depth D at r0 (Morse, Phys. Rev. 34, 57
// (1929)). Finite at r = 0.

struct Morse {
  static constexpr const char* kName = "morse";
  static constexpr int kTables = 3, kNumbers = 4;
  using Given = std::array<double, kTables>;  // D, a, r0

  static constexpr bool ends_as(Switching kind) { return kind == Switching::kNone; }
  static const char* problem(const Given& given, const NonbondedSettings&) {
    const auto [depth, steepness, bottom] = given;
    if (depth < 0 || bottom < 0 || (depth > 0 && steepness <= 0))
      return "D and r0 must not be negative, and a must be positive";
    if (steepness * bottom > 40) return "a times r0 must not be above 40: exp(2 a r0) is too large";
    return nullptr;
  }

  // D, a for powers of two, r0, and the energy at the cutoff that a shift takes away.
  static std::array<double, kNumbers> numbers(const Given& given,
                                              const NonbondedSettings& settings) {
    const double shift = settings.potential_shift ? energy(given, settings.cutoff) : 0;
    return {given[0], given[1] / std::numbers::ln2, given[2], shift};
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P&) {
    const auto distance = r.square * r.inverse;
    const auto x = N::exp2(n.v[1] * (n.v[2] - distance));
    Interaction<N> pair{
        N::of(2 * std::numbers::ln2) * n.v[0] * n.v[1] * distance * N::multiply_subtract(x, x, x),
        N::of(0)};
    if constexpr (kEnergy) pair.energy = n.v[0] * (x * (x - N::of(2))) - n.v[3];
    return pair;
  }

  static double energy(const Given& given, double r) {
    const double x = std::exp(-given[1] * (r - given[2]));
    return given[0] * (x * x - 2 * x);
  }
  // The integral of E r^2 from the cutoff to infinity.
  static double tail(const Given& given, double cutoff) {
    const auto [depth, steepness, bottom] = given;
    if (depth == 0) return 0;
    const auto part = [&](double k) {
      const double y = k * cutoff;
      return std::exp(-k * (cutoff - bottom)) * (y * y + 2 * y + 2) / (k * k * k);
    };
    return depth * (part(2 * steepness) - 2 * part(steepness));
  }
};
