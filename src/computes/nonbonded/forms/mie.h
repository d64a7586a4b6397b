// SPDX-License-Identifier: Apache-2.0
// Mie: E = c epsilon ((sigma/r)^n - (sigma/r)^m), c = n/(n - m) (n/m)^(m/(n - m)): a well of depth
// epsilon, with Lennard-Jones for n = 12, m = 6 (Mie, Ann. Phys. 316, 657 (1903); Lafitte et al.,
// J. Chem. Phys. 139, 154504 (2013)). The exponents need not be whole numbers.

struct Mie {
  static constexpr const char* kName = "mie";
  static constexpr int kTables = 4, kNumbers = 4;
  using Given = std::array<double, kTables>;  // epsilon, sigma, n, m

  static constexpr bool ends_as(Switching kind) { return kind == Switching::kNone; }
  static const char* problem(const Given& given, const NonbondedSettings&) {
    const auto [epsilon, sigma, n, m] = given;
    if (epsilon < 0 || (epsilon > 0 && sigma <= 0))
      return "epsilon must not be negative, and sigma must be positive";
    if (epsilon > 0 && !(n > m && m > 3 && n <= 100))
      return "the exponents must be n > m > 3, at most 100";
    return nullptr;
  }

  // c epsilon, 1/sigma^2, n/2, m/2.
  static std::array<double, kNumbers> numbers(const Given& given, const NonbondedSettings&) {
    const auto [epsilon, sigma, n, m] = given;
    if (epsilon == 0) return {0, 1, 0, 0};
    return {scale(given), 1 / (sigma * sigma), n / 2, m / 2};
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P& p) {
    const auto logarithm = N::log2(r.square * n.v[1]);
    const auto repulsion = n.v[0] * power<N>(logarithm * n.v[2]);
    const auto attraction = n.v[0] * power<N>(logarithm * n.v[3]);
    Interaction<N> pair{N::of(2) * (n.v[2] * repulsion - n.v[3] * attraction), N::of(0)};
    if constexpr (kEnergy) {
      // log2 of cutoff^2/sigma^2; so large that the energy there is zero if nothing is shifted.
      const auto inverse_6 = N::maximum(p.shift_6, N::of(1e-37));
      const auto end = N::log2(n.v[1]) - N::of(1.0 / 3) * N::log2(inverse_6);
      const auto shift = n.v[0] * (power<N>(end * n.v[2]) - power<N>(end * n.v[3]));
      pair.energy = repulsion - attraction - shift;
    }
    return pair;
  }

  static double energy(const Given& given, double r) {
    const auto [epsilon, sigma, n, m] = given;
    if (epsilon == 0) return 0;
    return scale(given) * (std::pow(sigma / r, n) - std::pow(sigma / r, m));
  }
  // The integral of E r^2 from the cutoff to infinity.
  static double tail(const Given& given, double cutoff) {
    const auto [epsilon, sigma, n, m] = given;
    if (epsilon == 0) return 0;
    const double x = sigma / cutoff, volume = cutoff * cutoff * cutoff;
    return scale(given) * volume * (std::pow(x, n) / (n - 3) - std::pow(x, m) / (m - 3));
  }

 private:
  static double scale(const Given& given) {
    const auto [epsilon, sigma, n, m] = given;
    return epsilon * n / (n - m) * std::pow(n / m, m / (n - m));
  }
  // 2^-x, finite however close the atoms are.
  template <class N>
  static QMD_FORM typename N::Value power(typename N::Value x) {
    return N::exp2(N::negative(N::maximum(x, N::of(-100))));
  }
};
