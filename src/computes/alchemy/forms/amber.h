// SPDX-License-Identifier: Apache-2.0
// The soft core of Amber (Steinbrecher, Mobley and Case, J. Chem. Phys. 127, 214108 (2007), and Steinbrecher, Joung
// and Case, J. Comput. Chem. 32, 3253 (2011)): that of Beutler et al. for Lennard-Jones interactions, and for
// charges 1/sqrt(beta x + r^2) in place of 1/r, with beta in nm^2. The direct part of the Ewald sum, which is
// 1/r - S(r), is multiplied by the ratio of both, so it still ends at the cutoff.
struct Amber : Beutler {
  static constexpr const char* kName = "amber";

  QMD_HD static SoftValue coulomb(const SoftCharges& charges, double absent,
                                  const SmoothValue& smooth, double r2) {
    const double r = std::sqrt(r2), left = 1 - r * smooth.energy;
    const double soft = 1 / std::sqrt(r2 + charges.alpha * absent), cube = soft * soft * soft;
    const double fall = (smooth.energy - r2 * smooth.force) * inverse_distance(r2);
    return {left * soft, fall * soft + left * cube, 0.5 * charges.alpha * left * cube};
  }
};
