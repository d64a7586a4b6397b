// SPDX-License-Identifier: Apache-2.0
// What every pair form is made of. The files of this folder have neither guards nor namespace:
// pair_forms.h includes them for plain numbers, host_pair_math-inl.h once more for each instruction
// set, whose functions only then may call those of vectors.
//
// `N` is the number type: double in the reference, a float in a thread of a GPU, a vector of floats
// on a CPU. It has Value, arithmetic by operators and functions (multiply_add(a, b, c) = a b + c, ...),
// and look_up() for the numbers of a pair of types.
// form_concepts.h says what a form has besides.
// N::kFolded: constants are folded into operands in advance, which saves instructions where each of
// them counts (a GPU) and rounds differently.

template <class N>
struct Distance {
  typename N::Value square, inverse, inverse2;  // r^2, 1/r, 1/r^2
};

// Result of one pair: r times the force, and the energy if requested, otherwise zero.
template <class N>
struct Interaction {
  typename N::Value force_r, energy;
};

// Numbers that a form keeps for a pair of types.
template <class N, int kCount>
struct Numbers {
  typename N::Value v[kCount];
};

template <class Value>
QMD_FORM Value cube(Value x) {
  return x * x * x;
}

// Result of a pair's formula; `table`: from table_of().
template <TypedForm F, bool kEnergy, class N, class P, class Real>
QMD_FORM Interaction<N> by_formula(const Numbers<N, F::kNumbers>& numbers, const Distance<N>& r,
                                   const P& p, const Real* table) {
  if constexpr (FormWithKnots<F>) {
    return F::template formula<kEnergy, N>(numbers, r, p, table);
  } else {
    return F::template formula<kEnergy, N>(numbers, r, p);
  }
}

// A pair form whose parameters are looked up by the types of two atoms: of F it needs the formula
// and how its numbers follow from the tables of the system.
template <TypedForm F>
struct ByTable : F {
  // Whether an atom with these numbers takes part. Atoms that do not are spared the formula.
  static QMD_FORM bool interacts(Float2) { return true; }

  // An i atom, made once for all its pairs: its row of the table.
  template <class N>
  using Site = typename N::Row;
  template <class N>
  static QMD_FORM Site<N> site(Float2 own, const float* table, int types) {
    return N::template row<F::kNumbers>(own, table, types);
  }

  // `first`, `second`: the two numbers of the j atom. `p`: constants of the run; a form whose pairs
  // depend on lambda finds it there.
  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> evaluate(const Site<N>& i, typename N::Value first,
                                          typename N::Value, const Distance<N>& r, const P& p,
                                          const float* table) {
    const Numbers<N, F::kNumbers> numbers = N::template look_up<F::kNumbers>(i, first, p, table);
    return by_formula<F, kEnergy, N>(numbers, r, p, table);
  }

  static std::optional<PackedPairs> pack(const System& system, const NonbondedSettings& settings) {
    PackedPairs packed;
    const std::vector<char> takes_part = types_with_tables(system);
    for (const int32_t type : system.pair_types)
      packed.atoms.push_back(
          {std::bit_cast<float>(type), takes_part[static_cast<size_t>(type)] ? 1.0f : 0.0f});
    packed.table = table_of<F, float>(system, settings);
    return packed;
  }
};

// c[kFirst] + c[kFirst + 1] t + ... + c[kDegree] t^(kDegree - kFirst) by Horner's rule.
template <class N, int kDegree, int kFirst = 0, class C>
QMD_FORM typename N::Value horner(const C& c, typename N::Value t) {
  if constexpr (kFirst == kDegree) {
    return N::of(c[kFirst]);
  } else {
    return N::multiply_add(horner<N, kDegree, kFirst + 1>(c, t), t, N::of(c[kFirst]));
  }
}

// 2^f for |f| <= 1/2, to 2e-9 and the rounding of single precision (least squares in Chebyshev
// polynomials).
template <class N>
QMD_FORM typename N::Value exp2_fraction(typename N::Value f) {
  constexpr float kCoefficients[] = {1.0f,
                                     0.6931471825f,
                                     0.2402264625f,
                                     0.0555032901f,
                                     0.009618519805f,
                                     0.001339985989f,
                                     0.0001533757750f};
  return horner<N, 6>(kCoefficients, f);
}

// log2(1 + f) for 1 + f from sqrt(1/2) to sqrt(2), to 3e-8 of itself and the rounding of single
// precision (least squares in Chebyshev polynomials).
template <class N>
QMD_FORM typename N::Value log2_fraction(typename N::Value f) {
  constexpr float kCoefficients[] = {1.442695022f,   -0.721347332f,  0.4809105992f,
                                     -0.3607048392f, 0.2879183292f,  -0.2389203459f,
                                     0.2156698555f,  -0.2074210346f, 0.1261484623f};
  return f * horner<N, 8>(kCoefficients, f);
}
