// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones whose tables follow the Lorentz-Berthelot rules: two numbers of each atom, (sigma/2,
// 2 sqrt(eps)), take the place of a look-up for each pair.

// The parameters of an i atom: half of sigma and 6 sqrt(eps). Folded, sigma becomes r_min =
// 2^(1/6) sigma; else the energy has a number of its own, sqrt(eps) / 2.
template <class N, bool kFolded>
struct ByRuleSite {
  typename N::Value half_sigma, six_root_eps, half_root_eps;
};
template <class N>
struct alignas(8) ByRuleSite<N, true> {
  typename N::Value half_sigma, six_root_eps;
};

// A pair: sigma, or r_min where constants are folded, and y = 2 (sigma/r)^6, with which
//   energy = eps (y^2 - 2 y),   force * r = 12 eps (y^2 - y).
template <class N>
struct ByRulePair {
  typename N::Value sigma, y, twelve_eps, eps;
};

// 2 (sigma/r)^6 from the sixth power of sigma/r, or of r_min/r where constants are folded.
template <class N>
QMD_FORM typename N::Value ratio_doubled(typename N::Value sixth_power) {
  if constexpr (N::kFolded) {
    return sixth_power;
  } else {
    return sixth_power + sixth_power;
  }
}

// F is Lennard-Jones with some ending at the cutoff, and has by_rule().
template <TypedForm F>
struct ByRule : F {
  static constexpr double kRootTwo6 = 1.12246204830937298;  // 2^(1/6)

  static QMD_FORM bool interacts(Float2 own) { return own.y != 0; }

  template <class N>
  using Site = ByRuleSite<N, N::kFolded>;
  template <class N>
  static QMD_FORM Site<N> site(Float2 own, const float*, int) {
    if constexpr (N::kFolded) {
      return {own.x * static_cast<float>(kRootTwo6), own.y * 3.0f};
    } else {
      return {N::of(own.x), N::of(3 * own.y), N::of(0.25f * own.y)};
    }
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> evaluate(const Site<N>& i, typename N::Value half_sigma,
                                          typename N::Value two_root_eps, const Distance<N>& r,
                                          const P& p, const float*) {
    ByRulePair<N> pair;
    pair.twelve_eps = i.six_root_eps * two_root_eps;
    if constexpr (N::kFolded) {
      pair.sigma = N::multiply_add(half_sigma, N::of(kRootTwo6), i.half_sigma);
      const auto ratio = pair.sigma * r.inverse;
      pair.y = ratio_doubled<N>(cube(ratio * ratio));
      pair.eps = pair.twelve_eps * N::of(1.0 / 12);
    } else {
      pair.sigma = i.half_sigma + half_sigma;
      pair.y = ratio_doubled<N>(cube(pair.sigma * pair.sigma * r.inverse2));
      pair.eps = i.half_root_eps * two_root_eps;
    }
    return F::template by_rule<kEnergy, N>(pair, r, p);
  }

  static std::optional<PackedPairs> pack(const System& system, const NonbondedSettings&) {
    const LorentzBerthelot rules = lorentz_berthelot(system);
    if (!rules.holds) return {};
    PackedPairs packed;
    for (const int32_t t : system.pair_types) {
      const auto type = static_cast<size_t>(t);
      packed.atoms.push_back({static_cast<float>(rules.sigma[type] / 2),
                              static_cast<float>(2 * std::sqrt(rules.epsilon[type]))});
    }
    return packed;
  }
};
