// SPDX-License-Identifier: Apache-2.0
// The soft core of Gapsys, Seeliger and de Groot, J. Chem. Theory Comput. 8, 2373 (2012), as GROMACS has it
// (Reference Manual, "Free energy interactions"): nearer than a distance l, forces are linear in r, with the value
// and the slope that they have there. With x, the absent share,
//   l = alpha (26/7 sigma^6 x)^(1/6) for Lennard-Jones interactions, and
//   l = alpha' (1 + |q q'|) x^(1/6) for charges, with alpha' in nm and charges in e; at most the cutoff.
struct Gapsys {
  static constexpr const char* kName = "gapsys";

  QMD_HD static PresentShare share(double present, double absent) { return {present, absent, 1}; }

  QMD_HD static SoftValue lennard_jones(const SoftPair& pair, double absent, double r2) {
    const double r = std::sqrt(r2);
    const double linear = pair.alpha * std::sqrt(std::cbrt(26.0 / 7.0 * pair.sigma6 * absent));
    const double from = r < linear ? linear : r, way = r - from;
    const double i2 = 1 / (from * from), b6 = pair.b * i2 * i2 * i2;
    const double a12 = pair.a * i2 * i2 * i2 * i2 * i2 * i2;
    const double slope = (6 * b6 - 12 * a12) / from, bend = (156 * a12 - 42 * b6) * i2;
    const double third = (336 * b6 - 2184 * a12) * i2 / from;
    return {a12 - b6 + way * (slope + 0.5 * way * bend),
            -(slope + way * bend) * inverse_distance(r2), moved(third, way, linear, absent)};
  }

  QMD_HD static SoftValue coulomb(const SoftCharges& charges, double absent,
                                  const SmoothValue& smooth, double r2) {
    const double r = std::sqrt(r2), product = std::abs(charges.full) / kCoulomb;
    const double wanted = charges.alpha * (1 + product) * std::sqrt(std::cbrt(absent));
    const bool is_wide = wanted > charges.cutoff;
    const double linear = is_wide ? charges.cutoff : wanted;
    const double from = r < linear ? linear : r, way = r - from, inverse = 1 / from;
    const double slope = -inverse * inverse, bend = 2 * inverse * inverse * inverse;
    const double third = -3 * bend * inverse;
    return {inverse + way * (slope + 0.5 * way * bend) - smooth.energy,
            -(slope + way * bend) * inverse_distance(r2) - smooth.force,
            is_wide ? 0 : moved(third, way, linear, absent)};
  }

 private:
  // Derivative by the present share of an expansion about `linear`, whose third derivative is given.
  QMD_HD static double moved(double third, double way, double linear, double absent) {
    return absent > 0 ? -0.5 * third * way * way * linear / (6 * absent) : 0;
  }
};
