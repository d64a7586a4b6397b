// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones: E = a/r^12 - b/r^6, or 4 eps ((sigma/r)^12 - (sigma/r)^6).

struct LennardJones {
  static constexpr const char* kName = "lennard-jones";
  // Tables of the system by pair of types, and numbers that kernels look up for a pair of types.
  static constexpr int kTables = 2, kNumbers = 2;
  using Given = std::array<double, kTables>;  // a, b

  static constexpr bool ends_as(Switching kind) { return kind == Switching::kNone; }
  // Why parameters are refused, or null.
  static const char* problem(const Given&) { return nullptr; }

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

  static double energy(const Given& ab, double r) {
    return ab[0] * std::pow(r, -12) - ab[1] * std::pow(r, -6);
  }
  // The integral of E r^2 from the cutoff to infinity.
  static double tail(const Given& ab, double cutoff) {
    const double cutoff3 = cutoff * cutoff * cutoff;
    return ab[0] / (9 * cutoff3 * cutoff3 * cutoff3) - ab[1] / (3 * cutoff3);
  }
};

// The parameters of an i atom: half of sigma and 6 sqrt(eps). Folded, sigma becomes r_min =
// 2^(1/6) sigma; else the energy has a number of its own, sqrt(eps) / 2.
template <class N, bool kFolded>
struct LorentzBerthelotSite {
  typename N::Value half_sigma, six_root_eps, half_root_eps;
};
template <class N>
struct alignas(8) LorentzBerthelotSite<N, true> {
  typename N::Value half_sigma, six_root_eps;
};

// The same for tables that follow the Lorentz-Berthelot rules. Two numbers of each atom, (sigma/2,
// 2 sqrt(eps)), take the place of a look-up for each pair. With y = 2 (sigma/r)^6:
//   energy = eps (y^2 - 2 y),   force * r = 12 eps (y^2 - y).
struct LennardJonesByRule : LennardJones {
  static constexpr double kRootTwo6 = 1.12246204830937298;  // 2^(1/6)

  static QMD_FORM bool interacts(Float2 own) { return own.y != 0; }

  template <class N>
  using Site = LorentzBerthelotSite<N, N::kFolded>;
  template <class N>
  static QMD_FORM Site<N> site(Float2 own, const float*, int) {
    if constexpr (N::kFolded) {
      return {own.x * static_cast<float>(kRootTwo6), own.y * 3.0f};
    } else {
      return {N::of(own.x), N::of(3 * own.y), N::of(0.25f * own.y)};
    }
  }

  template <class N>
  static QMD_FORM typename N::Value doubled(typename N::Value sixth_power) {
    if constexpr (N::kFolded) {
      return sixth_power;  // of r_min
    } else {
      return sixth_power + sixth_power;
    }
  }
  template <class N>
  static QMD_FORM typename N::Value well(typename N::Value y) {
    return N::multiply_subtract(y, y, N::of(2) * y);
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> evaluate(const Site<N>& i, typename N::Value half_sigma,
                                          typename N::Value two_root_eps, const Distance<N>& r,
                                          const P& p, const float*) {
    typename N::Value sigma, ratio2;
    if constexpr (N::kFolded) {
      sigma = N::multiply_add(half_sigma, N::of(kRootTwo6), i.half_sigma);
      const auto ratio = sigma * r.inverse;
      ratio2 = ratio * ratio;
    } else {
      sigma = i.half_sigma + half_sigma;
      ratio2 = sigma * sigma * r.inverse2;
    }
    const auto twelve_eps = i.six_root_eps * two_root_eps;
    const auto y = doubled<N>(cube(ratio2));
    const auto scaled = y * twelve_eps;
    Interaction<N> lj{N::multiply_subtract(y, scaled, scaled), N::of(0)};
    if constexpr (kEnergy) {
      const auto at_cutoff = doubled<N>(cube(sigma * sigma) * p.shift_6);
      const auto difference = well<N>(y) - well<N>(at_cutoff);
      if constexpr (N::kFolded) {
        lj.energy = twelve_eps * N::of(1.0 / 12) * difference;
      } else {
        lj.energy = i.half_root_eps * two_root_eps * difference;
      }
    }
    return lj;
  }

  static std::optional<PackedPairs> pack(const System& system, const NonbondedSettings&) {
    const LorentzBerthelot rules = lorentz_berthelot(system);
    if (!rules.holds) return {};
    PackedPairs packed;
    for (const int32_t t : system.lj_types) {
      const auto type = static_cast<size_t>(t);
      packed.atoms.push_back({static_cast<float>(rules.sigma[type] / 2),
                              static_cast<float>(2 * std::sqrt(rules.epsilon[type]))});
    }
    return packed;
  }
};
