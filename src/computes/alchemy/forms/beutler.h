// SPDX-License-Identifier: Apache-2.0
// The soft core of Beutler et al., Chem. Phys. Lett. 222, 529 (1994), with the powers 1, 1 and 6 of Pham and
// Shirts, J. Chem. Phys. 135, 034114 (2011): with D = alpha x sigma^6 + r^6, where x is the absent share,
//   E = a/D^2 - b/D,
// finite where atoms meet. Charges have (alpha' x sigma^6 + r^6)^(-1/6) in place of 1/r.
struct Beutler {
  static constexpr const char* kName = "beutler";

  QMD_HD static PresentShare share(double present, double absent) { return {present, absent, 1}; }

  QMD_HD static SoftValue lennard_jones(const SoftPair& pair, double absent, double r2) {
    const double r4 = r2 * r2, widening = pair.alpha * pair.sigma6;
    const double inverse = 1 / (widening * absent + r4 * r2);
    const double push = (2 * pair.a * inverse - pair.b) * inverse * inverse;  // -dE/dD
    return {(pair.a * inverse - pair.b) * inverse, 6 * r4 * push, push * widening};
  }

  QMD_HD static SoftValue coulomb(const SoftCharges& charges, double absent,
                                  const SmoothValue& smooth, double r2) {
    const double widening = charges.alpha * charges.sigma6, r4 = r2 * r2;
    const double d = widening * absent + r4 * r2;
    const double inverse = 1 / std::sqrt(std::cbrt(d)), steep = inverse / d;
    return {inverse - smooth.energy, r4 * steep - smooth.force, widening * steep / 6};
  }
};
