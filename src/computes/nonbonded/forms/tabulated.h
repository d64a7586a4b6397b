// SPDX-License-Identifier: Apache-2.0
// Tabulated: energies by pair of types at equal distances, between which natural cubic splines go
// (natural_spline.h). Below the first distance the force stays what it is there; beyond the last there
// is none.

struct Tabulated {
  static constexpr const char* kName = "tabulated";
  static constexpr int kNumbers = 4;
  // The first and the last distance, and the energies from there to there.
  using Given = std::vector<double>;

  static constexpr bool ends_as(Switching kind) { return kind == Switching::kNone; }
  static const char* problem(const Given& given, const NonbondedSettings& settings) {
    if (given.size() < 6) return "a table has two distances and at least four energies";
    if (!(given[0] >= 0 && given[0] < given[1]))
      return "the first distance must not be negative, and the last must be larger";
    if (given[0] >= settings.cutoff) return "the table begins beyond the cutoff";
    if (given[1] < settings.cutoff && given.back() != 0)
      return "the table ends before the cutoff with an energy that is not zero";
    return nullptr;
  }

  // The first distance, intervals per nm, their number; room for the place of the first knot.
  static std::array<double, kNumbers> numbers(const Given& given, const NonbondedSettings&) {
    const auto intervals = static_cast<double>(given.size() - 3);
    return {given[0], intervals / (given[1] - given[0]), intervals, 0};
  }
  // For each interval the energy at its beginning and minus its derivative by the fraction; zero beyond the
  // table.
  static std::vector<std::array<double, 4>> knots(const Given& given,
                                                  const NonbondedSettings& settings) {
    const double shift = settings.potential_shift ? energy(given, settings.cutoff) : 0;
    const NaturalSpline through = spline(given);
    std::vector<std::array<double, 4>> found;
    for (const auto& [value, slope] : through.pieces())
      found.push_back({value - shift, -slope[0], -slope[1], -slope[2]});
    found.push_back({-shift, 0, 0, 0});
    return found;
  }

  template <bool kEnergy, class N, class P, class Real>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P&, const Real* table) {
    const auto distance = r.square * r.inverse, place = (distance - n.v[0]) * n.v[1];
    const auto inside = N::maximum(place, N::of(0));
    const auto interval = N::minimum(N::floor(inside), n.v[2]), f = inside - interval;
    const Numbers<N, 4> knot = N::knot(table, n.v[3] + interval);
    const auto force = N::multiply_add(f, N::multiply_add(f, knot.v[3], knot.v[2]), knot.v[1]);
    Interaction<N> pair{distance * n.v[1] * force, N::of(0)};
    if constexpr (kEnergy) {
      const auto bent = N::multiply_add(f * N::of(1.0 / 3), knot.v[3], N::of(0.5) * knot.v[2]);
      const auto below = (place - inside) * knot.v[1];
      pair.energy = knot.v[0] - f * N::multiply_add(f, bent, knot.v[1]) - below;
    }
    return pair;
  }

  static double energy(const Given& given, double r) { return spline(given)(r); }
  // The integral of E r^2 from the cutoff to the end of the table.
  static double tail(const Given& given, double cutoff) {
    return spline(given).second_moment(cutoff);
  }

 private:
  static NaturalSpline spline(const Given& given) {
    return NaturalSpline(given[0], given[1], std::span(given).subspan(2));
  }
};
