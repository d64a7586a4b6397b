// SPDX-License-Identifier: Apache-2.0
// What kernels need to know of the pair interaction besides the atoms: the constants of cutoff and
// Coulomb, the pair form, and its parameters by atom and by pair of types. Built once for a
// simulation, from the system and the settings.
#pragma once

#include <cmath>
#include <vector>

#include "computes/nonbonded/ewald_polynomial.h"
#include "computes/nonbonded_settings.h"
#include "math/vec3.h"
#include "system/system.h"

namespace quiltmd {

// The constants of switching functions; of those of another kind than the settings' nothing is read.
template <class Real>
struct SwitchConstants {
  Real per_r, per_r2, start;  // x = per_r r + per_r2 r^2 - start
  Real c2, c3, c4, c5;
  Real start2;              // of the switching distance, its square
  Real cutoff_6, cutoff_3;  // 1 / cutoff^6, 1 / cutoff^3
  Real k12, k6, shift_12, shift_6;
  Real second_12, third_12, second_6, third_6;  // a_m / m and b_m / m of kGromacsForce
};

// What GROMACS' force-switch adds to 1/r^m, divided by m; and what it subtracts from the energy.
struct GromacsSwitch {
  double second, third, shift;

  GromacsSwitch(int m, double start, double cutoff) {
    const double width = cutoff - start, scale = std::pow(cutoff, -(m + 2)) / (width * width);
    second = -scale * ((m + 4) * cutoff - (m + 1) * start);
    third = scale / width * ((m + 3) * cutoff - (m + 1) * start);
    const double width3 = width * width * width;
    shift = std::pow(cutoff, -m) - m * width3 * (second / 3 + third * width / 4);
  }
};

template <class Real>
SwitchConstants<Real> switch_constants(const NonbondedSettings& settings) {
  const double start = settings.switch_distance, cutoff = settings.cutoff;
  const double start2 = start * start, cutoff2 = cutoff * cutoff;
  const double start3 = start * start2, cutoff3 = cutoff * cutoff2;
  const double start6 = start3 * start3, cutoff6 = cutoff3 * cutoff3;
  SwitchConstants<double> s{};
  if (settings.switching == Switching::kPotential) {
    s = {.per_r = 1 / (cutoff - start), .start = start / (cutoff - start)};
    s.c3 = -10, s.c4 = 15, s.c5 = -6;
  } else if (settings.switching == Switching::kCharmm) {
    s = {.per_r2 = 1 / (cutoff2 - start2), .start = start2 / (cutoff2 - start2)};
    s.c2 = -3, s.c3 = 2;
  } else if (settings.switching == Switching::kCharmmForce) {
    s.start2 = start2;
    s.cutoff_6 = 1 / cutoff6, s.cutoff_3 = 1 / cutoff3;
    s.k12 = cutoff6 / (cutoff6 - start6), s.k6 = cutoff3 / (cutoff3 - start3);
    s.shift_12 = 1 / (cutoff6 * start6), s.shift_6 = 1 / (cutoff3 * start3);
  } else if (settings.switching == Switching::kGromacsForce) {
    const GromacsSwitch of_12(12, start, cutoff), of_6(6, start, cutoff);
    s.start = start;
    s.second_12 = of_12.second, s.third_12 = of_12.third, s.shift_12 = of_12.shift;
    s.second_6 = of_6.second, s.third_6 = of_6.third, s.shift_6 = of_6.shift;
  }
  const auto real = [](double value) { return static_cast<Real>(value); };
  return {real(s.per_r),    real(s.per_r2),   real(s.start),    real(s.c2),       real(s.c3),
          real(s.c4),       real(s.c5),       real(s.start2),   real(s.cutoff_6), real(s.cutoff_3),
          real(s.k12),      real(s.k6),       real(s.shift_12), real(s.shift_6),  real(s.second_12),
          real(s.third_12), real(s.second_6), real(s.third_6)};
}

struct PairParameters {
  float cutoff2;
  float t_scale;        // 2 / cutoff^2
  float shift_6;        // 1 / cutoff^6 when the potential is shifted, else 0
  float coulomb_shift;  // energy offset of 1/r at the cutoff when shifted, else 0
  int form;             // place in PairForms: which kernels are launched
  int types;            // row length of the table of a form that looks parameters up
  EwaldPolynomial ewald;
  SwitchConstants<float> switching;
};

// The parameters of a pair form as kernels want them. What the numbers mean is the form's affair.
struct PackedPairs {
  int form = 0;
  std::vector<Float2> atoms;  // two numbers by atom (internal index)
  std::vector<float> table;   // by pair of types; empty where the atoms' numbers are enough
};

// The first of PairForms that has the name and number of tables of the system's form, and ends at the
// cutoff as the settings say. Throws Error where there is none.
int form_of(const System& system, const NonbondedSettings& settings);

// Pack with the first of PairForms that has the name of the system's form and can represent its
// tables, from number `first` on. Throws Error where none can, or
// where parameters make no sense.
PackedPairs pack_pairs(const System& system, const NonbondedSettings& settings, int first = 0);
PairParameters pair_parameters(const System& system, const NonbondedSettings& settings, int form);

// The energy of the pair form beyond the cutoff (kJ/mol), as if every atom saw the mean of all pairs
// at uniform density (Shirts et al., J. Phys. Chem. B 111, 13052 (2007)).
Constant dispersion_constant(const System& system, const NonbondedSettings& settings,
                             double volume);

}  // namespace quiltmd
