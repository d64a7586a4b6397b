// SPDX-License-Identifier: Apache-2.0
// The smoothstep soft core SSC(2) of Lee et al., J. Chem. Theory Comput. 16, 5512 (2020): that of Amber with
// S(s) = 6 s^5 - 15 s^4 + 10 s^3 in place of the share s, so derivatives by lambda vanish at both ends.
struct Smoothstep : Amber {
  static constexpr const char* kName = "smoothstep";

  QMD_HD static PresentShare share(double present, double absent) {
    const double both = present * absent;
    return {step(present), step(absent), 30 * both * both};
  }

 private:
  QMD_HD static double step(double s) { return s * s * s * (10 + s * (6 * s - 15)); }
};
